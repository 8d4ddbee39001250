// SPDX-License-Identifier: MIT
#include "trace/record.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Big-endian groups of seven bits; a ninth byte would hold eight.
size_t record_varint(uint8_t *p, uint64_t v) {
    if (v < 128) return p[0] = (uint8_t)v, 1;
    if (v >> 56) {
        p[8] = (uint8_t)v;
        v >>= 8;
        for (int i = 7; i >= 0; i--, v >>= 7) p[i] = (uint8_t)(v | 128);
        return 9;
    }
    uint8_t reversed[9];
    size_t n = 0;
    for (; v; v >>= 7) reversed[n++] = (uint8_t)(v | 128);
    reversed[0] &= 127;
    for (size_t i = 0; i < n; i++) p[i] = reversed[n - 1 - i];
    return n;
}

// `more` bytes of the body and a number behind them.
static bool make_body(struct record *r, size_t more) {
    if (r->body_room - r->body_bytes >= more + 16) return true;
    size_t room = r->body_room * 2 + more + 4096;
    uint8_t *grown = realloc(r->body, room);
    if (!grown) {
        r->failed = true;
        return false;
    }
    r->body = grown;
    r->body_room = room;
    return true;
}

static void put_integer(struct record *r, int64_t v) {
    uint8_t *body = r->body + r->body_bytes;
    int bytes;
    if (v == 0 || v == 1) {
        r->types[r->type_bytes++] = (uint8_t)(8 + v);
        return;
    }
    uint64_t m = v < 0 ? ~(uint64_t)v : (uint64_t)v;
    if (m < 1u << 7) r->types[r->type_bytes++] = 1, bytes = 1;
    else if (m < 1u << 15) r->types[r->type_bytes++] = 2, bytes = 2;
    else if (m < 1u << 23) r->types[r->type_bytes++] = 3, bytes = 3;
    else if (m < 1u << 31) r->types[r->type_bytes++] = 4, bytes = 4;
    else if (m < (uint64_t)1 << 47) r->types[r->type_bytes++] = 5, bytes = 6;
    else r->types[r->type_bytes++] = 6, bytes = 8;
    uint64_t big = __builtin_bswap64((uint64_t)v << (64 - 8 * bytes));
    memcpy(body, &big, 8); // there is room for more than is kept
    r->body_bytes += (size_t)bytes;
}

static void put_null(struct record *r) { r->types[r->type_bytes++] = 0; }

static void put_bytes(struct record *r, const char *bytes, size_t size) {
    r->type_bytes += record_varint(r->types + r->type_bytes, 13 + 2 * (uint64_t)size);
    if (!make_body(r, size)) return;
    memcpy(r->body + r->body_bytes, bytes, size);
    r->body_bytes += size;
}

static void put_double(struct record *r, double v) {
    if (isnan(v)) {
        put_null(r);
        return;
    }
    uint64_t bits;
    v += 0.0; // SQLite does not keep the sign of zero in a file
    memcpy(&bits, &v, 8);
    bits = __builtin_bswap64(bits);
    r->types[r->type_bytes++] = 7;
    memcpy(r->body + r->body_bytes, &bits, 8);
    r->body_bytes += 8;
}

// Whether a double is an integer that SQLite would store as one in a column of integers.
static bool is_whole(double v, int64_t *out) {
    if (!(v > -9223372036854774784.0 && v < 9223372036854774784.0) || v != floor(v)) return false;
    *out = (int64_t)v;
    return true;
}

static void real_value(struct record *r, enum bulk_affinity affinity, double v) {
    int64_t whole;
    if (affinity == BULK_INTEGER && is_whole(v, &whole)) put_integer(r, whole);
    else if (affinity == BULK_TEXT && !isnan(v)) {
        char text[48];
        sqlite3_snprintf(sizeof text, text, "%!.15g", v);
        put_bytes(r, text, strlen(text));
    } else put_double(r, v);
}

static void integer_value(struct record *r, enum bulk_affinity affinity, int64_t v) {
    if (affinity == BULK_REAL) put_double(r, (double)v);
    else if (affinity == BULK_TEXT) {
        char text[24];
        put_bytes(r, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)v));
    } else put_integer(r, v);
}

// A text that is a number, spaces around it allowed, becomes one in a column of numbers.
static bool number_of(struct column_text t, int64_t *integer, double *real, bool *is_integer) {
    char text[64];
    size_t at = 0, end = t.length;
    while (at < end && (t.bytes[at] == ' ' || (t.bytes[at] >= '\t' && t.bytes[at] <= '\r'))) at++;
    while (end > at && (t.bytes[end - 1] == ' ' || (t.bytes[end - 1] >= '\t' && t.bytes[end - 1] <= '\r'))) end--;
    if (end == at || end - at >= sizeof text) return false;
    memcpy(text, t.bytes + at, end - at);
    text[end - at] = 0;
    const char *p = text + (*text == '-' || *text == '+');
    int digits = 0, fraction = 0;
    bool whole = true;
    while (*p >= '0' && *p <= '9') p++, digits++;
    if (*p == '.') {
        whole = false;
        for (p++; *p >= '0' && *p <= '9'; p++) fraction++;
    }
    if (digits + fraction == 0) return false;
    if (*p == 'e' || *p == 'E') {
        whole = false;
        p++;
        p += *p == '-' || *p == '+';
        if (*p < '0' || *p > '9') return false;
        while (*p >= '0' && *p <= '9') p++;
    }
    if (*p) return false;
    errno = 0;
    *integer = whole ? strtoll(text, NULL, 10) : 0;
    *is_integer = whole && errno == 0;
    *real = strtod(text, NULL);
    return true;
}

static void text_value(struct record *r, enum bulk_affinity affinity, struct column_text t) {
    int64_t integer;
    double real;
    bool is_integer;
    if (!t.bytes) put_null(r);
    else if ((affinity == BULK_INTEGER || affinity == BULK_REAL) && number_of(t, &integer, &real, &is_integer)) {
        if (is_integer) integer_value(r, affinity, integer);
        else real_value(r, affinity, real);
    } else put_bytes(r, t.bytes, t.length);
}

static void put_element(struct record *r, enum bulk_affinity affinity, const struct column *c, int64_t row) {
    if (c->constant) row = 0;
    if (c->type == COLUMN_NONE || (c->valid && !c->valid[row])) {
        put_null(r);
        return;
    }
    switch (c->type) {
    case COLUMN_NONE: return;
    case COLUMN_BOOL: integer_value(r, affinity, ((const uint8_t *)c->data)[row] != 0); return;
    case COLUMN_UINT8: integer_value(r, affinity, ((const uint8_t *)c->data)[row]); return;
    case COLUMN_INT8: integer_value(r, affinity, ((const int8_t *)c->data)[row]); return;
    case COLUMN_INT16: integer_value(r, affinity, ((const int16_t *)c->data)[row]); return;
    case COLUMN_UINT16: integer_value(r, affinity, ((const uint16_t *)c->data)[row]); return;
    case COLUMN_INT32: integer_value(r, affinity, ((const int32_t *)c->data)[row]); return;
    case COLUMN_UINT32: integer_value(r, affinity, ((const uint32_t *)c->data)[row]); return;
    case COLUMN_INT64: integer_value(r, affinity, ((const int64_t *)c->data)[row]); return;
    case COLUMN_UINT64: {
        uint64_t v = ((const uint64_t *)c->data)[row];
        if (v > INT64_MAX) real_value(r, affinity, (double)v);
        else integer_value(r, affinity, (int64_t)v);
        return;
    }
    case COLUMN_FLOAT32: real_value(r, affinity, (double)((const float *)c->data)[row]); return;
    case COLUMN_FLOAT64: real_value(r, affinity, ((const double *)c->data)[row]); return;
    case COLUMN_TEXT: text_value(r, affinity, ((const struct column_text *)c->data)[row]); return;
    case COLUMN_CODES: {
        int32_t code = ((const int32_t *)c->data)[row];
        if (code < 0) put_null(r);
        else text_value(r, affinity, c->words[code]);
    }
    }
}

bool record_encode(struct record *r, const enum bulk_affinity *affinities, const struct column *columns, int count, int64_t row) {
    size_t types = (size_t)count * 9;
    if (r->types_room < types) {
        uint8_t *grown = realloc(r->types, types);
        if (!grown) return false;
        r->types = grown;
        r->types_room = types;
    }
    r->type_bytes = r->body_bytes = 0;
    r->failed = false;
    for (int i = 0; i < count && make_body(r, 0); i++) put_element(r, affinities[i], &columns[i], row);
    size_t header = r->type_bytes + 1; // the size of the header counts its own bytes
    if (header > 127) header++;
    if (header > 16383) header++;
    r->size_bytes = record_varint(r->size, header);
    return !r->failed;
}

void record_free(struct record *r) {
    free(r->types);
    free(r->body);
    *r = (struct record){0};
}
