// SPDX-License-Identifier: MIT
// memory.h: the storages behind tensors, in HBM, SBUF and PSUM.
//
// SBUF and PSUM storages are partition-major: partition p starts at p * pitch bytes. HBM storages are one row-major
// block. In exact mode a float element is held as a double (`cell` bytes), everything else as on the chip; addresses,
// limits and the initialised area always count the chip's bytes.
// A storage's description lives as long as the machine (the record refers to it); its bytes only until
// nki_storage_release. Fresh bytes are undefined until the first write: a write that covers the storage needs no fill,
// any other first poisons it (nki_storage_poison). Both are charged to the account; a refusal or a lack of memory is
// the only failure.
#ifndef NKILN_NKI_MEMORY_H
#define NKILN_NKI_MEMORY_H

#include "nki/area.h"
#include "nki/types.h"
#include "run.h"

// What a tensor's values have been through, as an upper estimate merged over the whole tensor (PSUM: over a bank).
struct nki_flow {
    uint32_t terms;     // longest sum: contraction length or reduced elements, accumulation included
    uint32_t roundings; // float32 roundings on the longest path
    uint32_t depth;     // instructions on the longest path
    uint32_t narrow16;  // roundings to a 16-bit float on the longest path
    uint32_t narrow8;   // roundings to an 8-bit float
    uint32_t dtypes;    // bit per element type a value was stored as
    uint64_t functions; // bit per enum nki_op applied
    bool bits;          // a bit view or a bitwise operator was on the way
    bool to_int;        // a float became an integer
};
#define NKI_FLOWS 8

struct nki_storage {
    uint32_t id;      // from 1
    uint32_t version; // changes with every write
    uint32_t operand_version; // of the contents last used by a matmul
    enum nki_buffer buffer;
    int dtype;
    int32_t site; // where it was allocated
    char *name;
    int ndim;
    int64_t shape[NKI_MAX_DIMS];
    int64_t partitions; // HBM: 1
    int64_t free_elems; // elements of one partition; HBM: of everything
    int64_t row_elems;  // HBM: elements of the last dimension; on chip = free_elems
    size_t cell;        // bytes of an element as held
    size_t pitch;       // bytes between partitions as held
    size_t bytes;       // bytes held
    uint8_t *data;      // NULL: shape-only, or released
    bool filled;        // data has defined contents everywhere
    bool borrowed;      // data belongs to someone else; copied before the first write
    bool input;         // an argument of the kernel
    bool output;
    bool constant;
    int64_t address_partition, address_byte; // -1: the compiler's choice
    int32_t written_site;                    // first write to an input
    uint32_t first_write, last_read;         // indexes into the record, +1; 0: never
    struct nki_area init;                    // initialised elements
    struct nki_area matmul;                  // PSUM: written by a matmul since any other write
    struct nki_flow flow[];                  // PSUM: NKI_FLOWS, one per bank; else one
};

// A description for `buffer`, all zeros but that and the name (NULL or empty: none). NULL: *refused says whether the
// account's limit forbids it.
struct nki_storage *nki_storage_open(struct account *account, enum nki_buffer buffer, const char *name, bool *refused);
// Give the bytes back, and what is known about each of them. The description stays.
void nki_storage_release(struct nki_storage *st, struct account *account);
// Release and free the description.
void nki_storage_close(struct nki_storage *st, struct account *account);

// Fill with the poison of pattern 1 or 2: 1 is NaN in floats and 0x55 bytes in integers, 2 a finite float of about
// -11,000 (in the narrow types the most negative finite value that fits) and 0xAA bytes.
void nki_storage_poison(struct nki_storage *st, int pattern);

#endif
