// SPDX-License-Identifier: MIT
// parquet_reader.h: what the parts of the Parquet reader share: where a column stands in its pages, and what of it is
// decoded. Not for others.
#ifndef NKILN_TRACE_PARQUET_READER_H
#define NKILN_TRACE_PARQUET_READER_H

#include "json.h"
#include "trace/buffer.h"
#include "trace/parquet.h"
#include "trace/parquet_decode.h"

enum {
    PARQUET_ROWS = 4096,             // decoded at a time
    PARQUET_TEXT_SOFT = 2 << 20,     // texts put together: a batch ends beyond this
    PARQUET_TEXT_HARD = 1 << 29,     // one text: no database takes more
};

// Numbers of Encoding and PageType.
enum {
    ENCODING_PLAIN = 0,
    ENCODING_PLAIN_DICTIONARY = 2,
    ENCODING_RLE = 3,
    ENCODING_DELTA_BINARY_PACKED = 5,
    ENCODING_DELTA_LENGTH_BYTE_ARRAY = 6,
    ENCODING_DELTA_BYTE_ARRAY = 7,
    ENCODING_RLE_DICTIONARY = 8,
    ENCODING_BYTE_STREAM_SPLIT = 9,
};

struct column_reader {
    const struct parquet_leaf *leaf;
    bool wanted;
    // in the column chunk
    int codec;
    int64_t at, end;     // offsets in the file: the next page, the end of the pages
    int64_t values_left; // entries (values and NULLs) of pages not begun
    int page;            // number of the page being read, from 0
    int64_t page_at;     // its offset
    // the page
    struct buffer bytes;
    const uint8_t *data, *data_end;
    int encoding;
    int64_t page_left; // entries
    struct hybrid definition, repetition;
    // its values; which member counts follows from the encoding
    struct hybrid codes;
    struct delta numbers;
    struct delta_texts texts;
    uint64_t bit;
    int64_t split_at, split_total;
    // the dictionary, converted
    struct buffer dictionary_bytes, dictionary;
    struct text_buffer dictionary_text;
    int64_t dictionary_count; // -1: none
    // decoded rows
    struct column out;
    int64_t used;
    unsigned turns; // batches decoded so far
    struct buffer values, raw, codes_out;
    uint8_t *valid, *levels; // PARQUET_ROWS each
    struct text_buffer text, raw_text;
    // lists
    int open;            // arrays open in the text being written
    bool row_open;       // a row is being written
    bool row_null;
    size_t row_start;
    int64_t group_rows, rows_seen; // of the row group
    int64_t *starts;               // offsets of the rows in `text`, PARQUET_ROWS + 1
    struct json_writer json;
};

struct parquet {
    char *path;
    int fd;
    int64_t size;
    struct parquet_meta meta;
    struct trace_watch watch;
    struct buffer_budget budget;
    struct buffer packed; // a page as stored
    struct buffer header; // a page's header
    struct column_reader *columns;
    int group; // being read; -1 before the first
    int64_t group_left;
};

bool parquet_damaged(struct parquet *p, const struct column_reader *c, const char *why, struct trace_error *err);
bool parquet_unsupported(struct parquet *p, const struct column_reader *c, const char *why, struct trace_error *err);

// parquet_page.c: make the next page with values the current one.
bool parquet_load_page(struct parquet *p, struct column_reader *c, struct trace_error *err);

// parquet_values.c: decode `count` values of the page (NULLs not counted) into `out` as elements of leaf->out, or fewer
// (*got) where texts grow large. *type tells whether they are codes of the dictionary (then out is c->codes_out).
bool parquet_decode_values(struct parquet *p, struct column_reader *c, int64_t count, int64_t *got,
                           enum column_type *type, struct trace_error *err);
bool parquet_decode_dictionary(struct parquet *p, struct column_reader *c, int64_t count, struct trace_error *err);

// parquet_list.c: rows of a repeated leaf as JSON text.
bool parquet_decode_lists(struct parquet *p, struct column_reader *c, struct trace_error *err);

#endif
