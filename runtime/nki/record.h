// SPDX-License-Identifier: MIT
// record.h: the instruction record: what schedule, occupancy, dependences, bounds and reports read.
//
// One fixed-size entry per instruction, in program order. NKI_RECORD_VERSION changes with any change of layout or
// meaning. Entries hold no pointers: a storage is named by its id (machine.h), a source place by its site.
// nki_record_push fails (NULL) for want of memory only, the account's limit included.
#ifndef NKILN_NKI_RECORD_H
#define NKILN_NKI_RECORD_H

#include "nki/view.h"

#define NKI_RECORD_VERSION 2

enum {
    NKI_REGION_WRITE = 1,
    NKI_REGION_HBM = 2,
    NKI_REGION_PSUM = 4,
    NKI_REGION_REPEATS = 8, // a stride-0 (broadcast) access
    NKI_REGION_INDIRECT = 16,
    NKI_REGION_VECTOR = 32, // one element per partition, broadcast along the free dimension
};

// One operand: 40 bytes.
struct nki_region {
    uint32_t storage; // 0: absent
    uint8_t part;     // first partition
    uint8_t parts;    // partitions; HBM: 0
    uint8_t dtype;
    uint8_t flags;
    uint64_t offset;   // first byte touched, within a partition (HBM: within the tensor)
    uint64_t extent;   // bytes from the first to the last touched
    uint32_t elements; // per partition; HBM: in all (saturates)
    uint32_t run;      // bytes of the longest contiguous runs the pattern is made of
    uint16_t stride;   // bytes between neighbouring elements of the innermost dimension (saturates)
    uint8_t ndim;      // of the merged free pattern
    uint8_t pad;
    uint32_t rows; // runs in all: elements * size / run (saturates)
};

enum {
    NKI_FLAG_ACCUMULATE = 1,
    NKI_FLAG_TRANSPOSE = 2,
    NKI_FLAG_FP32_PASSES = 4, // matmul in float32: four passes
    NKI_FLAG_ONEZERO = 8,
    NKI_FLAG_DOUBLE_ROW = 16,
    NKI_FLAG_ENGINE_GIVEN = 32, // the kernel named the engine
    NKI_FLAG_REDUCES = 64,
    NKI_FLAG_CAST = 128,    // DMA between element types
    NKI_FLAG_ORDERED = 256, // inside nl.no_reorder: keeps its place among others of its kind
};

#define NKI_RECORD_OPERANDS 4 // operand 0 is the destination; run-time indices come last, marked as vectors

struct nki_instruction {
    uint8_t op;       // enum nki_instr
    uint8_t engine;   // enum nki_engine
    uint8_t operands; // used
    uint8_t dge;      // enum nki_dge
    int32_t site;
    uint16_t flags;
    uint8_t alu[2];      // enum nki_op
    uint32_t elements;   // per partition streamed; DMA: in all (saturates)
    uint64_t bytes;      // DMA: bytes moved (the larger side)
    uint32_t descriptor; // DMA: bytes of a descriptor, the shorter of both sides' runs
    uint16_t k, m, n;    // matmul; tile rows/columns in tile
    uint8_t tile[4];     // tile_position and tile_size / 32
    uint8_t trigger;     // DMA: enum nki_engine that the kernel chose to trigger it; 0: none chosen
    uint8_t pad;
    struct nki_region region[NKI_RECORD_OPERANDS];
};

_Static_assert(sizeof(struct nki_region) == 40, "region layout");
_Static_assert(sizeof(struct nki_instruction) <= 200, "an instruction is at most 200 bytes");

// What a run did in all, kept as instructions are pushed.
struct nki_totals {
    uint64_t per_op[NKI_INSTRS];
    uint64_t per_engine[NKI_ENGINES];
    uint64_t matmul_flops; // 2 k m n
    uint64_t dma_bytes, dma_count;
};

struct nki_record {
    struct nki_instruction *items;
    size_t count, capacity;
    struct account *account; // charged for the entries; may be NULL
    struct nki_totals totals;
};

void nki_record_close(struct nki_record *record);
struct nki_instruction *nki_record_push(struct nki_record *record);
void nki_region_of(struct nki_region *region, const struct nki_view *view, bool write);

#endif
