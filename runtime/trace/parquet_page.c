// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "trace/codec.h"
#include "trace/parquet_reader.h"
#include "trace/thrift.h"

enum { DATA_PAGE = 0, INDEX_PAGE = 1, DICTIONARY_PAGE = 2, DATA_PAGE_V2 = 3 };
enum { HEADER_FIRST = 512, HEADER_MAX = 16 << 20 };

struct page_header {
    int type, stored, size; // bytes as stored, and decompressed
    int values, encoding, definition_encoding, repetition_encoding;
    int definition_size, repetition_size; // version 2
    bool compressed;
    bool has_crc, has_body;
    uint32_t crc;
    int64_t length; // of the header itself
};

static bool read_exactly(struct parquet *p, const struct column_reader *c, int64_t at, void *out, size_t size,
                         struct trace_error *err) {
    uint8_t *to = out;
    while (size) {
        ssize_t n = pread(p->fd, to, size, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return trace_fail_errno(err, errno, "read", p->path);
        if (n == 0) return parquet_damaged(p, c, "the file ends inside the page", err);
        to += n, at += n, size -= (size_t)n;
    }
    return true;
}

static void read_body(struct thrift *t, int type, struct page_header *h, bool second) {
    int id = 0, kind;
    if (!thrift_enter(t, type)) return;
    h->has_body = true;
    h->compressed = true;
    h->definition_encoding = h->repetition_encoding = ENCODING_RLE;
    while (thrift_field(t, &id, &kind)) {
        if (id == 1) h->values = thrift_i32(t, kind);
        else if (id == 2 && !second) h->encoding = thrift_i32(t, kind);
        else if (id == 3 && h->type == DATA_PAGE) h->definition_encoding = thrift_i32(t, kind);
        else if (id == 4 && h->type == DATA_PAGE) h->repetition_encoding = thrift_i32(t, kind);
        else if (id == 4 && second) h->encoding = thrift_i32(t, kind);
        else if (id == 5 && second) h->definition_size = thrift_i32(t, kind);
        else if (id == 6 && second) h->repetition_size = thrift_i32(t, kind);
        else if (id == 7 && second) h->compressed = thrift_bool(t, kind);
        else thrift_skip(t, kind);
    }
    thrift_leave(t);
}

static void parse_header(struct thrift *t, struct page_header *h) {
    int id = 0, kind;
    *h = (struct page_header){.type = -1, .stored = -1, .size = -1, .values = -1, .encoding = -1};
    while (thrift_field(t, &id, &kind)) {
        if (id == 1) h->type = thrift_i32(t, kind);
        else if (id == 2) h->size = thrift_i32(t, kind);
        else if (id == 3) h->stored = thrift_i32(t, kind);
        else if (id == 4) h->has_crc = true, h->crc = (uint32_t)thrift_i32(t, kind);
        else if ((id == 5 && h->type == DATA_PAGE) || (id == 7 && h->type == DICTIONARY_PAGE) ||
                 (id == 8 && h->type == DATA_PAGE_V2))
            read_body(t, kind, h, id == 8);
        else thrift_skip(t, kind);
    }
    h->length = t->at - t->start;
}

static bool read_header(struct parquet *p, struct column_reader *c, struct page_header *h, struct trace_error *err) {
    for (int64_t window = HEADER_FIRST;; window *= 8) {
        int64_t size = window < c->end - c->at ? window : c->end - c->at;
        if (!buffer_reserve(&p->header, (size_t)size, &p->budget, err)) return false;
        if (!read_exactly(p, c, c->at, p->header.bytes, (size_t)size, err)) return false;
        struct thrift t = thrift_over(p->header.bytes, (size_t)size);
        parse_header(&t, h);
        if (!t.why) break;
        if (!t.ran_out || size < window || window > HEADER_MAX) return parquet_damaged(p, c, t.why, err);
    }
    int64_t room = c->end - c->at - h->length;
    if (h->type < DATA_PAGE || h->stored < 0 || h->size < 0) return parquet_damaged(p, c, "its header is incomplete", err);
    if (h->stored > room) return parquet_damaged(p, c, "it is longer than its column", err);
    if (h->type > DATA_PAGE_V2 || h->type == INDEX_PAGE) return true; // skipped
    if (!h->has_body || h->values < 0 || h->encoding < 0) return parquet_damaged(p, c, "its header is incomplete", err);
    if (h->type != DICTIONARY_PAGE && h->values > c->values_left)
        return parquet_damaged(p, c, "it has more values than its column", err);
    int64_t levels = (int64_t)h->definition_size + h->repetition_size;
    if (h->definition_size < 0 || h->repetition_size < 0 || levels > h->stored || levels > h->size)
        return parquet_damaged(p, c, "its levels are longer than the page", err);
    return true;
}

// The page's bytes, decompressed, into `into`, with room to read past the end.
static bool read_page(struct parquet *p, struct column_reader *c, const struct page_header *h, struct buffer *into,
                      struct trace_error *err) {
    int64_t at = c->at + h->length;
    size_t levels = (size_t)h->definition_size + (size_t)h->repetition_size, size = (size_t)h->size, stored = (size_t)h->stored;
    bool packed = c->codec != CODEC_NONE && h->compressed;
    if (!packed && stored != size) return parquet_damaged(p, c, "its two sizes differ, but it is not compressed", err);
    if (packed && !codec_load(c->codec, err)) {
        struct trace_error why = *err;
        return trace_fail(err, why.status, "%s: column %s is %s", p->path, c->leaf->name, why.message);
    }
    if (!buffer_reserve(into, size + PARQUET_PAD, &p->budget, err)) return false;
    struct buffer *raw = packed ? &p->packed : into;
    if (packed && !buffer_reserve(raw, stored + PARQUET_PAD, &p->budget, err)) return false;
    if (!read_exactly(p, c, at, raw->bytes, stored, err)) return false;
    if (h->has_crc && codec_crc32(0, raw->bytes, stored) != h->crc) return parquet_damaged(p, c, "its checksum differs", err);
    if (packed) {
        memcpy(into->bytes, raw->bytes, levels);
        const char *why = size == levels ? NULL
                                         : codec_decompress(c->codec, raw->bytes + levels, stored - levels,
                                                            into->bytes + levels, size - levels);
        if (why) return parquet_damaged(p, c, why, err);
        buffer_rest(raw);
    }
    memset(into->bytes + size, 0, PARQUET_PAD);
    buffer_rest(into);
    return true;
}

static int bits_for(int max) {
    int bits = 0;
    while (max >> bits) bits++;
    return bits;
}

// Levels in front of version 1 values: a four-byte length, then the runs.
static const char *levels_v1(const uint8_t **at, const uint8_t *end, int encoding, int max, struct hybrid *out) {
    uint32_t length;
    if (!max) return NULL;
    if (encoding != ENCODING_RLE) return "its levels have an encoding that is not supported";
    if (end - *at < 4) return "its levels end early";
    memcpy(&length, *at, 4);
    *at += 4;
    if (length > (size_t)(end - *at)) return "its levels are longer than the page";
    hybrid_open(out, *at, *at + length, bits_for(max));
    *at += length;
    return NULL;
}

static bool begin_values(struct parquet *p, struct column_reader *c, struct trace_error *err) {
    const struct parquet_leaf *leaf = c->leaf;
    const enum parquet_type type = leaf->type;
    const char *why = NULL;
    bool fits = true;
    switch (c->encoding) {
    case ENCODING_PLAIN: c->bit = 0; break;
    case ENCODING_PLAIN_DICTIONARY:
    case ENCODING_RLE_DICTIONARY:
        if (c->dictionary_count < 0) return parquet_damaged(p, c, "it uses a dictionary, but there is none", err);
        if (c->data == c->data_end) { // no values at all, or all NULL
            hybrid_open(&c->codes, c->data, c->data, 1);
            break;
        }
        if (*c->data > 32) return parquet_damaged(p, c, "the width of its codes is out of range", err);
        hybrid_open(&c->codes, c->data + 1, c->data_end, *c->data);
        break;
    case ENCODING_RLE: {
        uint32_t length;
        fits = type == PARQUET_BOOLEAN;
        if (!fits) break;
        if (c->data_end - c->data < 4) {
            hybrid_open(&c->codes, c->data, c->data, 1);
            break;
        }
        memcpy(&length, c->data, 4);
        if (length > (size_t)(c->data_end - c->data - 4)) return parquet_damaged(p, c, "its values are longer than the page", err);
        hybrid_open(&c->codes, c->data + 4, c->data + 4 + length, 1);
        break;
    }
    case ENCODING_DELTA_BINARY_PACKED:
        fits = type == PARQUET_INT32 || type == PARQUET_INT64;
        if (!fits) break;
        if (c->data == c->data_end) c->numbers = (struct delta){0}; // all NULL
        else why = delta_open(&c->numbers, c->data, c->data_end, c->page_left);
        break;
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY:
    case ENCODING_DELTA_BYTE_ARRAY: {
        bool prefixes = c->encoding == ENCODING_DELTA_BYTE_ARRAY;
        fits = type == PARQUET_BYTE_ARRAY || (prefixes && type == PARQUET_FIXED);
        delta_texts_close(&c->texts);
        if (!fits) break;
        if (c->data == c->data_end) c->texts = (struct delta_texts){.has_prefixes = prefixes};
        else why = delta_texts_open(&c->texts, c->data, c->data_end, prefixes, c->page_left);
        break;
    }
    case ENCODING_BYTE_STREAM_SPLIT: {
        static const int widths[] = {0, 4, 8, 0, 4, 8, 0, 0};
        int64_t width = type == PARQUET_FIXED ? leaf->fixed_size : widths[type], size = c->data_end - c->data;
        fits = width > 0;
        if (!fits) break;
        if (size % width) return parquet_damaged(p, c, "the length of its values is no multiple of their width", err);
        c->split_at = 0;
        c->split_total = size / width;
        break;
    }
    default: return parquet_unsupported(p, c, "its values have an encoding that is not supported", err);
    }
    if (!fits) return parquet_damaged(p, c, "its encoding is not one for its type", err);
    return !why || parquet_damaged(p, c, why, err);
}

static bool begin_page(struct parquet *p, struct column_reader *c, const struct page_header *h, struct trace_error *err) {
    const struct parquet_leaf *leaf = c->leaf;
    const uint8_t *at = c->bytes.bytes, *end = at + h->size;
    c->page_left = h->values;
    c->values_left -= h->values;
    c->encoding = h->encoding;
    if (h->type == DATA_PAGE) {
        const char *why = levels_v1(&at, end, h->repetition_encoding, leaf->max_repetition, &c->repetition);
        if (!why) why = levels_v1(&at, end, h->definition_encoding, leaf->max_definition, &c->definition);
        if (why) return parquet_damaged(p, c, why, err);
    } else {
        hybrid_open(&c->repetition, at, at + h->repetition_size, bits_for(leaf->max_repetition));
        at += h->repetition_size;
        hybrid_open(&c->definition, at, at + h->definition_size, bits_for(leaf->max_definition));
        at += h->definition_size;
    }
    c->data = at;
    c->data_end = end;
    return begin_values(p, c, err);
}

bool parquet_load_page(struct parquet *p, struct column_reader *c, struct trace_error *err) {
    for (;;) {
        c->page++;
        c->page_at = c->at;
        if (c->at >= c->end) return parquet_damaged(p, c, "its column ends before all values came", err);
        struct page_header h;
        if (!read_header(p, c, &h, err)) return false;
        if (h.type == DICTIONARY_PAGE) {
            if (c->dictionary_count >= 0) return parquet_damaged(p, c, "a second dictionary", err);
            if (h.encoding != ENCODING_PLAIN && h.encoding != ENCODING_PLAIN_DICTIONARY)
                return parquet_unsupported(p, c, "its dictionary has an encoding that is not supported", err);
            if (!read_page(p, c, &h, &c->dictionary_bytes, err)) return false;
            c->data = c->dictionary_bytes.bytes;
            c->data_end = c->data + h.size;
            if (!parquet_decode_dictionary(p, c, h.values, err)) return false;
        } else if ((h.type == DATA_PAGE || h.type == DATA_PAGE_V2) && h.values) {
            if (!read_page(p, c, &h, &c->bytes, err) || !begin_page(p, c, &h, err)) return false;
        }
        c->at += h.length + h.stored;
        if (c->page_left) return true;
    }
}
