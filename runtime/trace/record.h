// SPDX-License-Identifier: MIT
// record.h: one row of columns as a record of SQLite's file format: the types of its values, then their bytes.
// Source: "Record Format" in "Database File Format" of the SQLite documentation (sqlite.org/fileformat2.html).
//
// Values are converted as the affinity of their column asks, as INSERT would. A zeroed `struct record` is empty; it is used
// for row after row and keeps its memory until record_free. What can fail: memory.
#ifndef NKILN_TRACE_RECORD_H
#define NKILN_TRACE_RECORD_H

#include "trace/column.h"

enum bulk_affinity { BULK_INTEGER, BULK_REAL, BULK_TEXT, BULK_NONE };

struct record {
    uint8_t size[9]; // of the header: itself and the types
    size_t size_bytes;
    uint8_t *types, *body;
    size_t type_bytes, body_bytes;
    size_t types_room, body_room;
    bool failed; // private
};

// Row `row` of `count` columns; false: out of memory.
bool record_encode(struct record *r, const enum bulk_affinity *affinities, const struct column *columns, int count, int64_t row);
void record_free(struct record *r);

// SQLite's variable-length integer, up to nine bytes; returns how many.
size_t record_varint(uint8_t *p, uint64_t v);

#endif
