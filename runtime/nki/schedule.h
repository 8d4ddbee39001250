// SPDX-License-Identifier: MIT
// schedule.h: the schedule model: from a machine's record to a timeline of engines, DMA engines and queues.
//
// Pure C. A schedule is a value: nki_schedule_run fills it, nki_schedule_close frees it; it refers to the machine's
// record (rows are numbered as the record's items) and must not outlive it. Failures: no memory, or an interrupt
// (struct nki_schedule_watch); both leave a closed schedule.
//
// What the model is: the five engines of a NeuronCore each take instructions from their own part of the program, in
// program order or, as the compiler's scheduling pass may (NKI scheduling APIs, language guide: operations without data
// dependences may be reordered), the first ready one of the next `window`. An instruction waits for the data it reads
// and for the places it overwrites (schedule_deps.c). A tensor allocated anew in every iteration is fresh memory, so a
// load starts as soon as SBUF has room for it: memory is given out in program order, up to the capacity. Costs are
// those of schedule_cost.c with the constants of prelude/nki/targets.lua. Times are nanoseconds from the start of the
// execution on the device. Everything is modelled; counts (bytes, descriptors, operations) are the program's own.
#ifndef NKILN_NKI_SCHEDULE_H
#define NKILN_NKI_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nki/machine.h"

#define NKI_SCHEDULE_VERSION "1"

// Constants, in the order and with the names of `schedule` in prelude/nki/targets.lua. GHz, cycles of the engine, ns,
// bytes, bytes per ns; units are in the names. All doubles.
#define NKI_SCHEDULE_FIGURES(X)                                                                                        \
    X(tensor_ghz) /* clocks */                                                                                         \
    X(vector_ghz)                                                                                                      \
    X(scalar_ghz)                                                                                                      \
    X(gpsimd_ghz)                                                                                                      \
    X(sync_ghz)                                                                                                        \
    X(matmul_floor_cycles)    /* shortest interval between matmuls */                                                  \
    X(matmul_gap_cycles)      /* between matmuls back to back */                                                       \
    X(matmul_latency_cycles)  /* from the last moving column in to the last result out */                              \
    X(load_columns_per_cycle) /* LoadStationary */                                                                     \
    X(fp32_passes)            /* of a float32 matmul */                                                                \
    X(throttle_window_ns)     /* 0: this generation has no such limit */                                               \
    X(throttle_share)         /* of the clock while limited, and utilisation under which it engages */                 \
    X(vector_gap_cycles)      /* beyond the elements, back to back */                                                  \
    X(vector_latency_cycles)  /* until a dependent instruction may read */                                             \
    X(scalar_gap_cycles)                                                                                               \
    X(scalar_latency_cycles)                                                                                           \
    X(gpsimd_gap_cycles)                                                                                               \
    X(gpsimd_latency_cycles)                                                                                           \
    X(two_input_cycles)       /* per element, both operands in SBUF */                                                 \
    X(two_input_16bit_cycles) /* the same, all operands 16 bits wide */                                                \
    X(scan_cycles)            /* tensor_tensor_scan, per element */                                                    \
    X(vector_4x_cycles)       /* copy and tensor_scalar, 16 bits, SBUF, contiguous */                                  \
    X(vector_2x_cycles)       /* the same, strided or one side in PSUM */                                              \
    X(scalar_16bit_cycles)    /* Scalar Engine per element, all operands 16 bits wide */                               \
    X(reciprocal_cycles)      /* Vector Engine, per element */                                                         \
    X(strided_factor)         /* an operand whose elements lie over 16 bytes apart */                                  \
    X(accumulator_cycles)     /* reading or setting reduction registers */                                             \
    X(register_cycles)        /* register_load, register_store */                                                      \
    X(semaphore_ns)           /* from one engine to another */                                                         \
    X(dma_engines)                                                                                                     \
    X(dma_bytes_per_ns)        /* one engine, one long descriptor */                                                   \
    X(dma_descriptor_ns)       /* one more descriptor */                                                               \
    X(dma_least_bytes)         /* a shorter descriptor costs as much */                                                \
    X(dma_apart_bytes)         /* HBM rows at multiples of this distance */                                            \
    X(dma_apart_ns)            /* cost a descriptor this much more */                                                  \
    X(dma_start_ns)            /* from the trigger to the first packet */                                              \
    X(dma_done_ns)             /* from the last packet to the semaphore */                                             \
    X(dma_trigger_ns)          /* on the engine that triggers */                                                       \
    X(dma_hwdge_ns)            /* hardware DGE, per instruction */                                                     \
    X(dma_swdge_ns)            /* GpSimd makes descriptors: per instruction */                                         \
    X(dma_swdge_descriptor_ns) /* and per descriptor */                                                                \
    X(dma_transpose_hbm)       /* share of the DMA rate */                                                             \
    X(dma_transpose_sbuf)                                                                                              \
    X(hbm_bytes_per_ns)   /* one stack, reads and writes */                                                            \
    X(vector_gpsimd_port) /* 1: share the SBUF port; 2: only in the 2x and 4x modes; 0: never */                       \
    X(vector_scalar_port) /* 1: share the PSUM port */                                                                 \
    X(launch_ns)          /* before the first instruction */                                                           \
    X(finish_ns)          /* after the last */                                                                         \
    X(keep_share)         /* of SBUF that could keep loaded tiles: loads repeated within it cost nothing */            \
    X(window)             /* instructions the scheduling pass looks ahead, per engine; 1: program order */

struct nki_schedule_model {
#define FIELD(name) double name;
    NKI_SCHEDULE_FIGURES(FIELD)
#undef FIELD
    int generation;
};

// Rows of engines in the timeline. DMA triggers are rows of the engine that triggers.
enum nki_track { NKI_TRACK_TENSOR, NKI_TRACK_VECTOR, NKI_TRACK_SCALAR, NKI_TRACK_GPSIMD, NKI_TRACK_SYNC, NKI_TRACKS };

enum nki_dependence { NKI_DEP_NONE, NKI_DEP_FLOW, NKI_DEP_ANTI, NKI_DEP_OUTPUT, NKI_DEP_ENGINE, NKI_DEP_MEMORY };

// What an instruction costs, before anything waits.
struct nki_cost {
    double busy_ns;    // until the engine takes the next one
    double latency_ns; // from then until a dependent one may start
    double load_ns;    // matmul: LoadStationary
    uint8_t track;
    uint8_t mode; // Vector: 1, 2 or 4
    bool dma;
    bool psum; // touches PSUM
};

// One instruction of the record.
struct nki_sched_row {
    double start;      // takes the engine
    double busy;       // the engine is free again
    double finish;     // results are there (DMA: the semaphore)
    double ready;      // operands and places were ready
    double wait;       // the engine stood still for it
    double active_end; // end of the row as a profiler shows it: finish, or the next row's start
    double load_ns;    // matmul: time of its LoadStationary
    double visible_ns; // of it not hidden behind the matmul before
    double moved;      // DMA: first packet starts
    double moved_end;  // DMA: last packet ends
    uint32_t last;     // the predecessor that was ready last, +1; 0: none
    uint8_t last_kind; // enum nki_dependence
    uint8_t track;
    uint8_t mode;
    uint8_t throttled;
    uint16_t queue; // DMA: queue 0..15
};

struct nki_packet {
    double start, finish;
    uint32_t row;         // of the record
    uint32_t descriptors; // data descriptors
    uint64_t bytes;
    uint8_t engine, queue;
};

struct nki_edge {
    uint32_t from;
    uint8_t kind;
};

struct nki_span {
    double start, finish;
};

struct nki_occupancy {
    double time;
    int64_t sbuf[4]; // bytes of a partition in use, per quarter of the partitions
    int64_t psum;    // the same of PSUM, greatest quarter
};

struct nki_schedule {
    const struct nki_machine *machine;
    struct nki_schedule_model model;
    size_t count;
    struct nki_sched_row *rows;
    struct nki_edge *edges; // by consumer: edges[first[i]] .. edges[first[i + 1] - 1]
    uint32_t *first;        // count + 1
    struct nki_packet *packets;
    size_t packet_count, packet_capacity;
    struct nki_span *throttled; // spans of a limited Tensor Engine clock
    size_t throttled_count, throttled_capacity;
    struct nki_occupancy *memory;
    size_t memory_count, memory_capacity;
    double total_ns;          // device start to stop
    double first_ns, last_ns; // first trigger or instruction, last result
    uint64_t overcommits;     // storages given memory beyond the capacity, because nothing else could go on
};

struct nki_schedule_watch {
    bool (*stop)(void *context, size_t done, size_t total); // called now and then; true: give up
    void *context;
};

enum nki_schedule_status { NKI_SCHEDULE_OK, NKI_SCHEDULE_MEMORY, NKI_SCHEDULE_STOPPED, NKI_SCHEDULE_TOO_LARGE };

enum nki_schedule_status nki_schedule_run(struct nki_schedule *s, const struct nki_machine *m,
                                          const struct nki_schedule_model *model,
                                          const struct nki_schedule_watch *watch);
void nki_schedule_close(struct nki_schedule *s);

// --- parts
enum nki_track nki_schedule_track(const struct nki_instruction *r);
// On the engine of `track`: the instruction's own, or NKI_TRACK_SCALAR for one that may move there.
void nki_schedule_cost(const struct nki_machine *m, const struct nki_schedule_model *c, const struct nki_instruction *r,
                       enum nki_track track, struct nki_cost *out);
// A Vector instruction whose engine the kernel left open and that the Scalar Engine can run.
bool nki_schedule_movable(const struct nki_machine *m, const struct nki_instruction *r);
// Data descriptors of a DMA and the DMA engines they go to: per engine counts (descriptors) and bytes.
struct nki_dma_shape {
    uint64_t descriptors; // in all
    uint32_t element;     // bytes of one
    int engines;          // with work
    uint32_t per_engine[16];
    uint64_t bytes[16];
};
void nki_schedule_dma_shape(const struct nki_machine *m, const struct nki_instruction *r, struct nki_dma_shape *out);
double nki_schedule_dma_service(const struct nki_machine *m, const struct nki_schedule_model *c,
                                const struct nki_instruction *r, const struct nki_dma_shape *shape, int engine);

// Loads of regions loaded before: per entry of the record. NKI_LOAD_KEPT: no more than `room` bytes of a partition were
// loaded in between. False: no memory.
enum { NKI_LOAD_FIRST, NKI_LOAD_KEPT, NKI_LOAD_AGAIN };
bool nki_schedule_reuse(const struct nki_machine *m, int64_t room, uint8_t *repeats);

// Dependences of the record: fills edges and first. False: no memory.
bool nki_schedule_dependences(struct nki_schedule *s);
// Whether two regions of one storage share an element, as far as their description tells; errs towards true.
bool nki_regions_meet(const struct nki_region *a, const struct nki_region *b);

#endif
