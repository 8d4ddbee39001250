// SPDX-License-Identifier: MIT
// parquet_values.c: from the bytes of a page to the elements of a column.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trace/parquet_reader.h"

static const char *const few = "the values end early";

// Bytes of an element as it is stored; texts and fixed bytes are struct column_text.
static size_t stored_size(enum parquet_type type) {
    static const size_t sizes[] = {1, 4, 8, 12, 4, 8, sizeof(struct column_text), sizeof(struct column_text)};
    return sizes[type];
}

static bool is_text(enum parquet_type type) { return type == PARQUET_BYTE_ARRAY || type == PARQUET_FIXED; }

static void settle(struct column_text *texts, int64_t count, const struct text_buffer *b) {
    const char *base = b->bytes ? b->bytes : "";
    for (int64_t i = 0; i < count; i++) texts[i].bytes = base + (uintptr_t)texts[i].bytes;
}

static const char *fixed_texts(struct column_reader *c, int64_t count, struct column_text *out) {
    int64_t width = c->leaf->fixed_size;
    if (c->encoding == ENCODING_BYTE_STREAM_SPLIT) {
        if (count > c->split_total - c->split_at) return few;
        static const char none[64];
        for (int64_t left = count * width; left > 0; left -= (int64_t)sizeof none)
            if (!text_buffer_put(&c->raw_text, none, left < (int64_t)sizeof none ? (size_t)left : sizeof none)) return "out of memory";
        stream_split_read(c->data, c->split_total, (int)width, c->split_at, count, (uint8_t *)c->raw_text.bytes);
        c->split_at += count;
        for (int64_t i = 0; i < count; i++) out[i] = (struct column_text){c->raw_text.bytes + i * width, (uint32_t)width};
        return NULL;
    }
    if (count > (c->data_end - c->data) / width) return few;
    for (int64_t i = 0; i < count; i++, c->data += width) out[i] = (struct column_text){(const char *)c->data, (uint32_t)width};
    return NULL;
}

static const char *plain(struct column_reader *c, int64_t count, void *out) {
    enum parquet_type type = c->leaf->type;
    if (type == PARQUET_BOOLEAN) return plain_bools_read(c->data, c->data_end, &c->bit, count, out);
    if (type == PARQUET_BYTE_ARRAY) return plain_texts_read(&c->data, c->data_end, count, out);
    if (type == PARQUET_FIXED) return fixed_texts(c, count, out);
    int64_t width = (int64_t)stored_size(type);
    if (count > (c->data_end - c->data) / width) return few;
    memcpy(out, c->data, (size_t)(count * width));
    c->data += count * width;
    return NULL;
}

static const char *delta_numbers(struct column_reader *c, int64_t count, void *out) {
    if (c->leaf->type == PARQUET_INT64) return delta_read(&c->numbers, count, out);
    int64_t wide[256];
    for (int32_t *to = out; count > 0; to += 256, count -= 256) {
        int64_t n = count < 256 ? count : 256;
        const char *why = delta_read(&c->numbers, n, wide);
        if (why) return why;
        for (int64_t i = 0; i < n; i++) to[i] = (int32_t)(uint32_t)(uint64_t)wide[i];
    }
    return NULL;
}

// Values as stored. *got may be less than count for texts that are put together.
static const char *read_stored(struct column_reader *c, int64_t count, void *out, int64_t *got) {
    const struct parquet_leaf *leaf = c->leaf;
    const char *why = NULL;
    *got = count;
    c->raw_text.size = 0;
    switch (c->encoding) {
    case ENCODING_PLAIN: return plain(c, count, out);
    case ENCODING_RLE: return hybrid_read_bytes(&c->codes, count, out);
    case ENCODING_DELTA_BINARY_PACKED: return delta_numbers(c, count, out);
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY:
    case ENCODING_DELTA_BYTE_ARRAY: {
        bool offsets;
        why = delta_texts_read(&c->texts, count, PARQUET_TEXT_SOFT, &c->raw_text, out, got, &offsets);
        if (why) return why;
        if (offsets) settle(out, *got, &c->raw_text);
        if (leaf->type == PARQUET_FIXED)
            for (int64_t i = 0; i < *got; i++)
                if (((struct column_text *)out)[i].length != (uint32_t)leaf->fixed_size) return "a value has not the fixed length";
        return NULL;
    }
    case ENCODING_BYTE_STREAM_SPLIT:
        if (leaf->type == PARQUET_FIXED) return fixed_texts(c, count, out);
        if (count > c->split_total - c->split_at) return few;
        stream_split_read(c->data, c->split_total, (int)stored_size(leaf->type), c->split_at, count, out);
        c->split_at += count;
        return NULL;
    }
    return "its encoding is unknown";
}

// Meanings -----------------------------------------------------------------------------------------------------------

static int64_t times(int64_t value, int64_t factor) {
    int64_t out;
    if (!__builtin_mul_overflow(value, factor, &out)) return out;
    return value < 0 ? INT64_MIN : INT64_MAX;
}

// Eight bytes of nanoseconds in a day, four of the Julian day.
static int64_t int96_nanoseconds(const uint8_t *p) {
    int64_t nanoseconds, out;
    int32_t day;
    memcpy(&nanoseconds, p, 8);
    memcpy(&day, p + 8, 4);
    int64_t days = times((int64_t)day - 2440588, 86400000000000); // Julian day of 1970-01-01
    if (!__builtin_add_overflow(days, nanoseconds, &out)) return out;
    return days < 0 ? INT64_MIN : INT64_MAX;
}

// Proleptic Gregorian date of a day number since 1970-01-01.
static int date_text(int64_t days, char out[32]) {
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153, day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
    return snprintf(out, 32, "%04lld-%02d-%02d", (long long)(yoe + era * 400 + (month <= 2)), (int)month, (int)day);
}

static double half(const char *bytes) {
    uint16_t h;
    memcpy(&h, bytes, 2);
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double v = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return h >> 15 ? -v : v;
}

// A big-endian two's complement integer of any length.
static void big_integer(struct column_text t, int64_t *integer, double *number) {
    const uint8_t *p = (const uint8_t *)t.bytes;
    bool negative = t.length && p[0] >> 7;
    if (t.length <= 8) {
        uint64_t v = negative ? UINT64_MAX : 0;
        for (uint32_t i = 0; i < t.length; i++) v = v << 8 | p[i];
        *integer = (int64_t)v;
        *number = (double)(int64_t)v;
        return;
    }
    if (t.length <= 16) {
        unsigned __int128 v = negative ? ~(unsigned __int128)0 : 0;
        for (uint32_t i = 0; i < t.length; i++) v = v << 8 | p[i];
        __int128 s = (__int128)v;
        *integer = s > INT64_MAX ? INT64_MAX : s < INT64_MIN ? INT64_MIN : (int64_t)s;
        *number = (double)s;
        return;
    }
    double v = negative ? -1 : 0;
    for (uint32_t i = 0; i < t.length; i++) v = v * 256 + p[i];
    *number = v;
    *integer = v > 9.2e18 ? INT64_MAX : v < -9.2e18 ? INT64_MIN : (int64_t)v;
}

static void decimals(const struct parquet_leaf *leaf, const void *in, int64_t count, void *out) {
    double divisor = 1;
    for (int i = 0; i < leaf->scale; i++) divisor *= 10;
    for (int64_t i = 0; i < count; i++) {
        int64_t integer;
        double number;
        if (leaf->type == PARQUET_INT32) number = (double)(integer = ((const int32_t *)in)[i]);
        else if (leaf->type == PARQUET_INT64) number = (double)(integer = ((const int64_t *)in)[i]);
        else big_integer(((const struct column_text *)in)[i], &integer, &number);
        if (leaf->out == COLUMN_INT64) ((int64_t *)out)[i] = integer;
        else ((double *)out)[i] = number / divisor;
    }
}

// Texts made from values: `put` writes one.
static const char *spell(const struct parquet_leaf *leaf, const void *in, int64_t i, struct text_buffer *b) {
    static const char digits[] = "0123456789abcdef";
    if (leaf->meaning == MEANING_DATE) {
        char text[32];
        return text_buffer_put(b, text, (size_t)date_text(((const int32_t *)in)[i], text)) ? NULL : "out of memory";
    }
    const struct column_text *t = &((const struct column_text *)in)[i];
    for (uint32_t k = 0; k < t->length; k++) {
        uint8_t byte = (uint8_t)t->bytes[k];
        char text[3] = {'-', digits[byte >> 4], digits[byte & 15]};
        bool dash = leaf->meaning == MEANING_UUID && (k == 4 || k == 6 || k == 8 || k == 10);
        if (!text_buffer_put(b, dash ? text : text + 1, dash ? 3 : 2)) return "out of memory";
    }
    return NULL;
}

static const char *convert(const struct parquet_leaf *leaf, const void *in, int64_t count, void *out, struct text_buffer *b) {
    switch (leaf->meaning) {
    case MEANING_TIME:
        for (int64_t i = 0; i < count; i++)
            ((int64_t *)out)[i] = times(leaf->type == PARQUET_INT32 ? ((const int32_t *)in)[i] : ((const int64_t *)in)[i], leaf->factor);
        return NULL;
    case MEANING_INT96:
        for (int64_t i = 0; i < count; i++) ((int64_t *)out)[i] = int96_nanoseconds((const uint8_t *)in + i * 12);
        return NULL;
    case MEANING_DECIMAL: decimals(leaf, in, count, out); return NULL;
    case MEANING_FLOAT16:
        for (int64_t i = 0; i < count; i++) ((float *)out)[i] = (float)half(((const struct column_text *)in)[i].bytes);
        return NULL;
    default: { // DATE, UUID, HEX
        struct column_text *texts = out;
        for (int64_t i = 0; i < count; i++) {
            size_t from = b->size;
            const char *why = spell(leaf, in, i, b);
            if (why) return why;
            texts[i] = (struct column_text){(const char *)(uintptr_t)from, (uint32_t)(b->size - from)};
        }
        settle(texts, count, b);
        return NULL;
    }
    }
}

static bool is_direct(const struct parquet_leaf *leaf) {
    return leaf->meaning == MEANING_PLAIN || leaf->meaning == MEANING_UNSIGNED || leaf->meaning == MEANING_TEXT;
}

// Values in the form of leaf->out into `out`, which has room for `count`; made texts go to `b`.
static bool read_values(struct parquet *p, struct column_reader *c, int64_t count, void *out, struct text_buffer *b,
                        int64_t *got, struct trace_error *err) {
    void *stored = out;
    if (!is_direct(c->leaf)) {
        if (!buffer_reserve(&c->raw, (size_t)count * stored_size(c->leaf->type) + PARQUET_PAD, &p->budget, err)) return false;
        stored = c->raw.bytes;
    }
    const char *why = read_stored(c, count, stored, got);
    if (!why && stored != out) why = convert(c->leaf, stored, *got, out, b);
    return !why || parquet_damaged(p, c, why, err);
}

bool parquet_decode_dictionary(struct parquet *p, struct column_reader *c, int64_t count, struct trace_error *err) {
    size_t size = column_size(c->leaf->out);
    // Each value takes a bit at least, so a hostile count cannot claim more than its page is worth.
    if (count > (c->data_end - c->data) * 8) return parquet_damaged(p, c, few, err);
    if (!buffer_reserve(&c->dictionary, (size_t)count * size + PARQUET_PAD, &p->budget, err)) return false;
    int64_t got;
    c->encoding = ENCODING_PLAIN;
    c->bit = 0;
    c->dictionary_text.size = 0;
    if (!read_values(p, c, count, c->dictionary.bytes, &c->dictionary_text, &got, err)) return false;
    c->dictionary_count = count;
    buffer_free(&c->raw, &p->budget);
    if (!is_text(c->leaf->type)) buffer_free(&c->dictionary_bytes, &p->budget); // texts point into it
    return true;
}

// Codes to numbers.
static void gather(size_t size, const void *dictionary, const int32_t *codes, int64_t count, void *out) {
    switch (size) {
    case 1:
        for (int64_t i = 0; i < count; i++) ((uint8_t *)out)[i] = ((const uint8_t *)dictionary)[codes[i]];
        break;
    case 4:
        for (int64_t i = 0; i < count; i++) ((uint32_t *)out)[i] = ((const uint32_t *)dictionary)[codes[i]];
        break;
    default:
        for (int64_t i = 0; i < count; i++) ((uint64_t *)out)[i] = ((const uint64_t *)dictionary)[codes[i]];
    }
}

bool parquet_decode_values(struct parquet *p, struct column_reader *c, int64_t count, int64_t *got, enum column_type *type,
                           struct trace_error *err) {
    const struct parquet_leaf *leaf = c->leaf;
    size_t size = column_size(leaf->out);
    *type = leaf->out;
    *got = count;
    if (!buffer_reserve(&c->values, (size_t)PARQUET_ROWS * size + PARQUET_PAD, &p->budget, err)) return false;
    if (c->encoding != ENCODING_PLAIN_DICTIONARY && c->encoding != ENCODING_RLE_DICTIONARY)
        return read_values(p, c, count, c->values.bytes, &c->text, got, err);
    if (!buffer_reserve(&c->codes_out, (size_t)PARQUET_ROWS * sizeof(int32_t), &p->budget, err)) return false;
    int32_t *codes = (int32_t *)c->codes_out.bytes;
    const char *why = hybrid_read(&c->codes, count, codes);
    if (why) return parquet_damaged(p, c, why, err);
    uint32_t largest = 0;
    for (int64_t i = 0; i < count; i++) largest = (uint32_t)codes[i] > largest ? (uint32_t)codes[i] : largest;
    if (count && largest >= c->dictionary_count) return parquet_damaged(p, c, "a code is not in its dictionary", err);
    if (leaf->out == COLUMN_TEXT) *type = COLUMN_CODES;
    else gather(size, c->dictionary.bytes, codes, count, c->values.bytes);
    return true;
}
