// SPDX-License-Identifier: MIT
// parquet_meta.h: the footer of a Parquet file: its columns and where their pages are.
// Source: parquet.thrift, LogicalTypes.md and README.md of apache/parquet-format.
//
// A schema is a tree; what is stored are its leaves. Each leaf becomes one column here: the leaf "a.b" of a group keeps
// its path as name, the wrappers of lists and maps ("list.element") leave none in it. A leaf under something repeated
// gives JSON arrays.
// Who owns what: parquet_meta_free releases everything. Names are copies.
#ifndef NKILN_TRACE_PARQUET_META_H
#define NKILN_TRACE_PARQUET_META_H

#include "trace/column.h"
#include "trace/trace.h"

enum parquet_type {
    PARQUET_BOOLEAN,
    PARQUET_INT32,
    PARQUET_INT64,
    PARQUET_INT96,
    PARQUET_FLOAT,
    PARQUET_DOUBLE,
    PARQUET_BYTE_ARRAY,
    PARQUET_FIXED,
};

// What stored values mean, and what they become.
enum parquet_meaning {
    MEANING_PLAIN,    // the stored type
    MEANING_UNSIGNED, // uint32 or uint64
    MEANING_TIME,     // integer times `factor`: nanoseconds
    MEANING_INT96,    // nanoseconds since 1970
    MEANING_DATE,     // "2026-11-30"
    MEANING_DECIMAL,  // an integer divided by 10^scale; scale 0 and at most 18 digits stay integers
    MEANING_FLOAT16,
    MEANING_UUID,
    MEANING_TEXT,
    MEANING_HEX, // fixed bytes without a meaning known here
};

enum { PARQUET_NESTING_MAX = 32 };

struct parquet_leaf {
    char *name;
    enum parquet_type type;
    int fixed_size; // bytes of PARQUET_FIXED
    enum parquet_meaning meaning;
    int64_t factor;
    int scale, precision;
    enum column_type out; // of the values; lists are text
    bool required;
    int max_definition, max_repetition;
    // For each repeated group, from outside: the definition level at which it has an element.
    uint8_t list_definition[PARQUET_NESTING_MAX];
};

struct parquet_chunk {
    int64_t start, size; // of the pages, dictionary included
    int64_t values;
    int8_t codec;
};

struct parquet_group {
    int64_t rows;
};

struct parquet_meta {
    struct parquet_leaf *leaves;
    int leaf_count;
    struct parquet_group *groups;
    int group_count;
    struct parquet_chunk *chunks; // [group * leaf_count + leaf]
    int64_t rows;
    char *created_by; // never NULL
    char **keys, **values; // key-value metadata
    int pairs;
};

// `size` bytes of the footer; `file_size` bounds the offsets in it, `path` is for messages.
bool parquet_meta_read(struct parquet_meta *m, const char *path, const void *footer, size_t size, int64_t file_size,
                       struct trace_error *err);
void parquet_meta_free(struct parquet_meta *m);

#endif
