// SPDX-License-Identifier: MIT
#include "array/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct header {
    char descr[32];
    bool has_descr, has_order, has_shape, fortran;
    int ndim;
    int64_t shape[ARRAY_MAX_DIMS];
};

struct cursor {
    const char *at, *end;
};

static void skip_space(struct cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

static bool take(struct cursor *c, char wanted) {
    skip_space(c);
    if (c->at >= c->end || *c->at != wanted) return false;
    c->at++;
    return true;
}

// A quoted string of printable ASCII without escapes: what it holds may be shown in a message.
static bool take_string(struct cursor *c, char *out, size_t size) {
    skip_space(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    size_t n = 0;
    while (c->at < c->end && *c->at != quote) {
        if (n + 1 >= size || *c->at == '\\' || *c->at < ' ' || *c->at > '~') return false;
        out[n++] = *c->at++;
    }
    if (c->at >= c->end) return false;
    c->at++;
    out[n] = 0;
    return true;
}

static bool take_word(struct cursor *c, const char *word) {
    size_t n = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

static bool take_length(struct cursor *c, int64_t *value) {
    skip_space(c);
    const char *start = c->at;
    *value = 0;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *c->at - '0', value))
            return false;
        c->at++;
    }
    if (c->at == start) return false;
    if (c->at < c->end && *c->at == 'L') c->at++; // written by Python 2
    return true;
}

static bool take_shape(struct cursor *c, struct header *h, struct array_error *err) {
    if (!take(c, '(')) return array_fail(err, ARRAY_BAD_DATA, "npy: shape is not a tuple");
    while (!take(c, ')')) {
        if (h->ndim == ARRAY_MAX_DIMS)
            return array_fail(err, ARRAY_BAD_DATA, "npy: more than %d dimensions", ARRAY_MAX_DIMS);
        if (!take_length(c, &h->shape[h->ndim++])) return array_fail(err, ARRAY_BAD_DATA, "npy: malformed shape");
        if (take(c, ',')) continue;
        if (!take(c, ')')) return array_fail(err, ARRAY_BAD_DATA, "npy: malformed shape");
        break;
    }
    h->has_shape = true;
    return true;
}

static bool parse_dict(struct cursor *c, struct header *h, struct array_error *err) {
    char key[32];
    if (!take(c, '{')) return array_fail(err, ARRAY_BAD_DATA, "npy: header is not a dictionary");
    while (!take(c, '}')) {
        if (!take_string(c, key, sizeof key) || !take(c, ':'))
            return array_fail(err, ARRAY_BAD_DATA, "npy: malformed header");
        if (strcmp(key, "descr") == 0) {
            skip_space(c);
            if (c->at < c->end && *c->at == '[')
                return array_fail(err, ARRAY_BAD_DATA, "npy: record arrays are not supported");
            if (!take_string(c, h->descr, sizeof h->descr))
                return array_fail(err, ARRAY_BAD_DATA, "npy: malformed descr");
            h->has_descr = true;
        } else if (strcmp(key, "fortran_order") == 0) {
            h->fortran = take_word(c, "True");
            if (!h->fortran && !take_word(c, "False"))
                return array_fail(err, ARRAY_BAD_DATA, "npy: malformed fortran_order");
            h->has_order = true;
        } else if (strcmp(key, "shape") == 0 && !h->has_shape) {
            if (!take_shape(c, h, err)) return false;
        } else {
            return array_fail(err, ARRAY_BAD_DATA, "npy: unexpected header key '%s'", key);
        }
        if (take(c, ',')) continue;
        if (!take(c, '}')) return array_fail(err, ARRAY_BAD_DATA, "npy: malformed header");
        break;
    }
    if (!h->has_descr || !h->has_order || !h->has_shape)
        return array_fail(err, ARRAY_BAD_DATA, "npy: header lacks descr, fortran_order or shape");
    return true;
}

// Element type on file: the type to hold it, its width, whether to swap bytes, whether it is uint64.
struct element {
    enum dtype type;
    size_t size;
    bool swap, is_uint64, is_bits;
};

static bool parse_descr(const char *descr, enum dtype hint, struct element *e, struct array_error *err) {
    static const struct {
        const char *code;
        enum dtype type;
    } known[] = {{"f8", DTYPE_FLOAT64},  {"f4", DTYPE_FLOAT32}, {"f2", DTYPE_FLOAT16}, {"i1", DTYPE_INT8},
                 {"i2", DTYPE_INT16},    {"i4", DTYPE_INT32},   {"i8", DTYPE_INT64},   {"u1", DTYPE_UINT8},
                 {"u2", DTYPE_UINT16},   {"u4", DTYPE_UINT32},  {"u8", DTYPE_INT64},   {"b1", DTYPE_BOOL},
                 {"V2", DTYPE_BFLOAT16}, {"V1", DTYPE_COUNT}};
    const char *code = descr;
    *e = (struct element){0};
    if (*code == '<' || *code == '>' || *code == '=' || *code == '|') code++;
    if (*code == 'O') return array_fail(err, ARRAY_BAD_DATA, "npy: object arrays (pickles) are refused");
    size_t i = 0, count = sizeof known / sizeof *known;
    while (i < count && strcmp(known[i].code, code) != 0) i++;
    if (i == count) return array_fail(err, ARRAY_BAD_DATA, "npy: element type '%s' is not supported", descr);
    e->type = known[i].type;
    e->size = (size_t)(code[1] - '0');
    e->swap = *descr == '>' && e->size > 1;
    e->is_uint64 = strcmp(code, "u8") == 0;
    e->is_bits = *code == 'V';
    if (hint != DTYPE_COUNT && dtype_size(hint) == e->size && (e->is_bits || *code == 'u') && !e->is_uint64)
        e->type = hint;
    if (e->type == DTYPE_COUNT)
        return array_fail(err, ARRAY_BAD_DATA, "npy: element type '%s' does not say which float8 it is; name the dtype",
                          descr);
    return true;
}

static void swap_bytes(unsigned char *p, size_t count, size_t size) {
    for (size_t i = 0; i < count; i++, p += size)
        for (size_t j = 0; j < size / 2; j++) {
            unsigned char t = p[j];
            p[j] = p[size - 1 - j];
            p[size - 1 - j] = t;
        }
}

static bool check_values(const struct array *a, const struct element *e, struct array_error *err) {
    unsigned char *p = array_data(a);
    if (e->is_uint64)
        for (int64_t i = 0; i < a->size; i++)
            if (dtype_load_int(DTYPE_INT64, p + 8 * i) < 0)
                return array_fail(err, ARRAY_BAD_DATA, "npy: uint64 element %" PRId64 " does not fit int64", i);
    if (e->type == DTYPE_BOOL)
        for (int64_t i = 0; i < a->size; i++) p[i] = p[i] != 0;
    return true;
}

bool npy_read(struct array *out, struct account *account, const void *bytes, size_t length, enum dtype hint,
              struct array_error *err) {
    const unsigned char *p = bytes;
    struct header h = {0};
    struct element e;
    if (length < 10 || memcmp(p, "\x93NUMPY", 6) != 0) return array_fail(err, ARRAY_BAD_DATA, "npy: not a .npy file");
    if (p[6] < 1 || p[6] > 3)
        return array_fail(err, ARRAY_BAD_DATA, "npy: format version %d.%d is not supported", p[6], p[7]);
    size_t start = p[6] == 1 ? 10 : 12, header;
    if (length < start) return array_fail(err, ARRAY_BAD_DATA, "npy: truncated header");
    header = p[8] | (size_t)p[9] << 8;
    if (p[6] > 1) header |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (header > length - start) return array_fail(err, ARRAY_BAD_DATA, "npy: truncated header");
    struct cursor c = {(const char *)p + start, (const char *)p + start + header};
    if (!parse_dict(&c, &h, err) || !parse_descr(h.descr, hint, &e, err)) return false;
    p += start + header;
    length -= start + header;

    int64_t reversed[ARRAY_MAX_DIMS], count = 1;
    for (int i = 0; i < h.ndim; i++) {
        reversed[i] = h.shape[h.ndim - 1 - i];
        if (__builtin_mul_overflow(count, h.shape[i] ? h.shape[i] : 1, &count))
            return array_fail(err, ARRAY_BAD_DATA, "npy: the shape is too large");
    }
    for (int i = 0; i < h.ndim; i++)
        if (h.shape[i] == 0) count = 0;
    if ((uint64_t)count > length / e.size)
        return array_fail(err, ARRAY_BAD_DATA,
                          "npy: truncated: %zu bytes of data for %" PRId64 " elements of %zu bytes", length, count,
                          e.size);
    struct array stored = {0};
    if (!array_create(&stored, account, e.type, h.ndim, h.fortran ? reversed : h.shape, err)) return false;
    if (count) memcpy(array_data(&stored), p, (size_t)count * e.size);
    if (e.swap) swap_bytes(array_data(&stored), (size_t)count, e.size);
    bool ok = check_values(&stored, &e, err);
    if (ok && h.fortran) {
        struct array turned = {0};
        ok = array_view_transpose(&turned, &stored, NULL, err) && array_contiguous(out, &turned, err);
        array_close(&turned);
    } else if (ok) {
        array_share(out, &stored);
    }
    array_close(&stored);
    return ok;
}

size_t npy_header(char *buffer, const struct array *a) {
    static const char *const descr[DTYPE_COUNT] = {"<f8", "<f4", "<f2", "<V2", "<f4", "|V1", "|V1", "|V1",
                                                   "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "|b1"};
    char shape[ARRAY_MAX_DIMS * 24 + 4], *p = shape;
    p += sprintf(p, "(");
    for (int i = 0; i < a->ndim; i++) p += sprintf(p, i ? ", %" PRId64 : "%" PRId64, a->shape[i]);
    sprintf(p, a->ndim == 1 ? ",)" : ")");
    int n = snprintf(buffer + 10, NPY_HEADER_MAX - 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                     descr[a->dtype], shape);
    size_t total = ((size_t)n + 10 + 1 + 63) / 64 * 64;
    memcpy(buffer, "\x93NUMPY\x01\x00", 8);
    buffer[8] = (char)((total - 10) & 0xff);
    buffer[9] = (char)((total - 10) >> 8);
    memset(buffer + 10 + n, ' ', total - 10 - (size_t)n - 1);
    buffer[total - 1] = '\n';
    return total;
}
