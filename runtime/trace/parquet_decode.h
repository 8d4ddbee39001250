// SPDX-License-Identifier: MIT
// parquet_decode.h: Parquet's encodings of values and levels, each as a decoder that gives any number of values at a
// time. Source: Encodings.md of apache/parquet-format.
//
// Decoders read from a page that the caller keeps alive. After the last byte of a page PAD more bytes must be readable
// (their content does not matter). A read that would need bytes past the page's end returns why (a static text); NULL is
// success. Numbers are little-endian, as is the machine.
#ifndef NKILN_TRACE_PARQUET_DECODE_H
#define NKILN_TRACE_PARQUET_DECODE_H

#include "trace/column.h"

enum { PARQUET_PAD = 16 };

// Runs of equal values mixed with bit-packed ones: levels, dictionary codes, booleans.
struct hybrid {
    const uint8_t *at, *end;
    int width;        // bits, 0..32
    int64_t repeated; // left of a run of `value`
    uint32_t value;
    int64_t packed; // left of a bit-packed run
    const uint8_t *bits;
    uint64_t bit;
};

void hybrid_open(struct hybrid *h, const uint8_t *at, const uint8_t *end, int width);
const char *hybrid_read(struct hybrid *h, int64_t count, int32_t *out);
const char *hybrid_read_bytes(struct hybrid *h, int64_t count, uint8_t *out); // width at most 8

// DELTA_BINARY_PACKED: integers. `at` is where the reader stands; behind the last value it is the end of the data.
struct delta {
    const uint8_t *at, *end;
    uint64_t total, given; // values
    uint64_t last, least;  // last value, smallest delta of the block
    uint32_t block, minis; // values in a block, parts of it
    uint32_t mini, left;   // part being read, values left in it
    const uint8_t *widths, *bits;
    uint64_t bit;
    int width;
};

// `most`: how many values there may be.
const char *delta_open(struct delta *d, const uint8_t *at, const uint8_t *end, int64_t most);
const char *delta_read(struct delta *d, int64_t count, int64_t *out);
const char *delta_finish(struct delta *d); // reads to the end, so that `at` is behind the data

// Texts of DELTA_LENGTH_BYTE_ARRAY point into the page. Those of DELTA_BYTE_ARRAY are put together in `buffer`.
struct delta_texts {
    struct delta lengths, prefixes;
    const uint8_t *at, *end;
    bool has_prefixes;
    char *last; // the text read last (with prefixes)
    size_t last_size, last_room;
};

const char *delta_texts_open(struct delta_texts *d, const uint8_t *at, const uint8_t *end, bool prefixes,
                             int64_t most);
void delta_texts_close(struct delta_texts *d);

// Texts put together: a growing buffer in which offsets stay right when it moves.
struct text_buffer {
    char *bytes;
    size_t size, room;
};

bool text_buffer_put(struct text_buffer *b, const void *bytes, size_t size);
void text_buffer_free(struct text_buffer *b);

// Reads `count` texts, or fewer (at least one) when `buffer` holds more than `limit` bytes: *got. Texts of the buffer are
// given as offsets in `bytes`, to be turned into pointers when the buffer no longer moves; *offsets tells.
const char *delta_texts_read(struct delta_texts *d, int64_t count, size_t limit, struct text_buffer *buffer,
                             struct column_text *out, int64_t *got, bool *offsets);

// PLAIN byte arrays: a four-byte length, then the bytes. *at moves on.
const char *plain_texts_read(const uint8_t **at, const uint8_t *end, int64_t count, struct column_text *out);
// PLAIN booleans: bits from *bit on.
const char *plain_bools_read(const uint8_t *at, const uint8_t *end, uint64_t *bit, int64_t count, uint8_t *out);
// BYTE_STREAM_SPLIT: values first .. first + count of `total` values of `width` bytes.
void stream_split_read(const uint8_t *at, int64_t total, int width, int64_t first, int64_t count, uint8_t *out);

#endif
