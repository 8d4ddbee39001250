// SPDX-License-Identifier: MIT
// thrift.h: reads the compact protocol of Thrift, in which Parquet writes its metadata.
// Source: the Thrift compact protocol specification (doc/specs/thrift-compact-protocol of apache/thrift).
//
// A reader walks over bytes that the caller keeps alive and never leaves them. The first thing that is wrong sets
// `why` (a static text); from then on every read gives zero and every loop ends. `ran_out` tells that more bytes might
// have helped.
#ifndef NKILN_TRACE_THRIFT_H
#define NKILN_TRACE_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum thrift_type {
    THRIFT_STOP = 0,
    THRIFT_TRUE = 1,
    THRIFT_FALSE = 2,
    THRIFT_I8 = 3,
    THRIFT_I16 = 4,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_DOUBLE = 7,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_SET = 10,
    THRIFT_MAP = 11,
    THRIFT_STRUCT = 12,
};

struct thrift {
    const uint8_t *start, *at, *end;
    const char *why; // NULL: all is well
    bool ran_out;
    int depth;
};

static inline struct thrift thrift_over(const void *bytes, size_t size) {
    return (struct thrift){.start = bytes, .at = bytes, .end = (const uint8_t *)bytes + size};
}

uint64_t thrift_varint(struct thrift *t);

// Reads the next field's id and type inside a struct; false at its end or after an error. *id starts at 0.
// A value must be read or skipped before the next field. For THRIFT_TRUE and THRIFT_FALSE there is nothing to read.
bool thrift_field(struct thrift *t, int *id, int *type);
void thrift_skip(struct thrift *t, int type);

// Values. `type` is what thrift_field or thrift_list gave; another type than the one wanted is an error.
int64_t thrift_integer(struct thrift *t, int type);           // I8, I16, I32, I64
int32_t thrift_i32(struct thrift *t, int type);               // out of the range of int32: an error
bool thrift_bool(struct thrift *t, int type);
const char *thrift_binary(struct thrift *t, int type, size_t *size); // not terminated; never NULL
// Elements of a list; at most as many as bytes are left.
uint32_t thrift_list(struct thrift *t, int type, int *element);
// Entering a struct limits nesting; leave it when its fields are read.
bool thrift_enter(struct thrift *t, int type);
void thrift_leave(struct thrift *t);

#endif
