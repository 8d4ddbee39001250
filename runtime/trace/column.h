// SPDX-License-Identifier: MIT
// column.h: columns of a table: a view of typed elements, and a builder that grows one value by value.
//
// A `struct column` owns nothing; whoever made it keeps its memory alive. A `struct column_builder` owns what it holds
// until column_builder_free; a zeroed builder is empty. Text is dictionary-coded in a builder: equal texts are stored
// once. What can fail: memory, reported by false (the builder stays valid, the value is not in it).
#ifndef NKILN_TRACE_COLUMN_H
#define NKILN_TRACE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum column_type {
    COLUMN_NONE, // no such column: NULL in every row
    COLUMN_BOOL, // uint8_t, 0 or 1
    COLUMN_INT8,
    COLUMN_INT16,
    COLUMN_INT32,
    COLUMN_INT64,
    COLUMN_UINT8,
    COLUMN_UINT16,
    COLUMN_UINT32,
    COLUMN_UINT64, // in a database: REAL where it does not fit int64
    COLUMN_FLOAT32,
    COLUMN_FLOAT64,
    COLUMN_CODES, // int32_t index into `words`, -1 NULL
    COLUMN_TEXT,  // struct column_text; bytes NULL is NULL
};

struct column_text {
    const char *bytes; // not terminated
    uint32_t length;
};

struct column {
    enum column_type type;
    bool constant;        // `data` holds one element, the same for every row
    int64_t count;        // rows
    const void *data;
    const uint8_t *valid; // one byte a row, 0 is NULL; or no pointer: every row has a value
    const struct column_text *words;
    int32_t word_count;
};

size_t column_size(enum column_type type); // bytes of an element

// Texts, each stored once and given a number in order of arrival.
struct column_dictionary {
    struct column_text *words;
    int32_t count, capacity;
    int32_t *slots; // hash table of code + 1, 0 empty
    uint32_t *hashes; // of the words
    uint32_t slot_count;
    struct column_chunk *chunks;
    size_t bytes; // of text
};

// The code of a text, added when it is new; -1: out of memory, or more than 2^31 - 1 words.
int32_t column_dictionary_add(struct column_dictionary *d, const char *bytes, uint32_t length);
void column_dictionary_free(struct column_dictionary *d);

struct column_builder {
    enum column_type type; // NONE, INT64, FLOAT64 or CODES, whatever holds all values so far
    int64_t count, capacity;
    void *data;
    uint8_t *valid; // NULL while there is no NULL
    int32_t last;   // the code added last
    struct column_dictionary dictionary;
};

bool column_builder_integer(struct column_builder *b, int64_t value);
bool column_builder_double(struct column_builder *b, double value);
bool column_builder_text(struct column_builder *b, const char *bytes, size_t length);
bool column_builder_null(struct column_builder *b);
void column_builder_clear(struct column_builder *b); // no rows, memory kept, type forgotten
void column_builder_free(struct column_builder *b);
struct column column_builder_view(const struct column_builder *b);
size_t column_builder_bytes(const struct column_builder *b); // memory held

#endif
