// SPDX-License-Identifier: MIT
#include "trace/thrift.h"

#include <string.h>

enum { DEPTH_MAX = 32 };

static void *wrong(struct thrift *t, const char *why, bool ran_out) {
    if (!t->why) {
        t->why = why;
        t->ran_out = ran_out;
    }
    t->at = t->end;
    return NULL;
}

static uint8_t byte(struct thrift *t) {
    if (t->at >= t->end) {
        wrong(t, "the metadata ends early", true);
        return 0;
    }
    return *t->at++;
}

uint64_t thrift_varint(struct thrift *t) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        uint8_t b = byte(t);
        if (shift == 63 && b > 1) break;
        value |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) return t->why ? 0 : value;
    }
    wrong(t, "a number in the metadata is too long", false);
    return 0;
}

static int64_t zigzag(struct thrift *t) {
    uint64_t v = thrift_varint(t);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

bool thrift_field(struct thrift *t, int *id, int *type) {
    if (t->why) return false;
    uint8_t b = byte(t);
    if (t->why || (b & 15) == THRIFT_STOP) {
        if (!t->why && b) wrong(t, "the end of a structure in the metadata is damaged", false);
        return false;
    }
    *type = b & 15;
    if (*type > THRIFT_STRUCT) return wrong(t, "a field of the metadata has an unknown type", false) != NULL;
    int64_t next = b >> 4 ? *id + (b >> 4) : zigzag(t);
    if (next < 0 || next > 32767) return wrong(t, "a field number of the metadata is out of range", false) != NULL;
    *id = (int)next;
    return !t->why;
}

static void advance(struct thrift *t, uint64_t size) {
    if (size > (uint64_t)(t->end - t->at)) wrong(t, "the metadata ends early", true);
    else t->at += size;
}

void thrift_skip(struct thrift *t, int type) {
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE: return;
    case THRIFT_I8: byte(t); return;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64: thrift_varint(t); return;
    case THRIFT_DOUBLE: advance(t, 8); return;
    case THRIFT_BINARY: advance(t, thrift_varint(t)); return;
    case THRIFT_LIST:
    case THRIFT_SET: {
        int element;
        uint32_t n = thrift_list(t, THRIFT_LIST, &element);
        if (++t->depth > DEPTH_MAX) wrong(t, "the metadata is nested too deeply", false);
        for (uint32_t i = 0; i < n && !t->why; i++) {
            if (element == THRIFT_TRUE || element == THRIFT_FALSE) byte(t);
            else thrift_skip(t, element);
        }
        t->depth--;
        return;
    }
    case THRIFT_MAP: {
        uint64_t n = thrift_varint(t);
        if (!n) return;
        uint8_t kinds = byte(t);
        if (n > (uint64_t)(t->end - t->at)) wrong(t, "the metadata ends early", true);
        if (++t->depth > DEPTH_MAX) wrong(t, "the metadata is nested too deeply", false);
        for (uint64_t i = 0; i < n && !t->why; i++)
            for (int k = 0; k < 2; k++) {
                int kind = k ? kinds & 15 : kinds >> 4;
                if (kind == THRIFT_TRUE || kind == THRIFT_FALSE) byte(t);
                else thrift_skip(t, kind);
            }
        t->depth--;
        return;
    }
    case THRIFT_STRUCT: {
        int id = 0, field;
        if (!thrift_enter(t, type)) return;
        while (thrift_field(t, &id, &field)) thrift_skip(t, field);
        thrift_leave(t);
        return;
    }
    default: wrong(t, "a field of the metadata has an unknown type", false);
    }
}

static bool expect(struct thrift *t, bool right) {
    if (!right) wrong(t, "a field of the metadata has another type than expected", false);
    return right && !t->why;
}

int64_t thrift_integer(struct thrift *t, int type) {
    if (type == THRIFT_I8) return (int8_t)byte(t);
    return expect(t, type >= THRIFT_I16 && type <= THRIFT_I64) ? zigzag(t) : 0;
}

int32_t thrift_i32(struct thrift *t, int type) {
    int64_t v = thrift_integer(t, type);
    if (v < INT32_MIN || v > INT32_MAX) {
        wrong(t, "a number of the metadata is out of range", false);
        return 0;
    }
    return (int32_t)v;
}

bool thrift_bool(struct thrift *t, int type) {
    return expect(t, type == THRIFT_TRUE || type == THRIFT_FALSE) && type == THRIFT_TRUE;
}

const char *thrift_binary(struct thrift *t, int type, size_t *size) {
    *size = 0;
    if (!expect(t, type == THRIFT_BINARY)) return "";
    uint64_t n = thrift_varint(t);
    const char *at = (const char *)t->at;
    advance(t, n);
    if (t->why) return "";
    *size = (size_t)n;
    return at;
}

uint32_t thrift_list(struct thrift *t, int type, int *element) {
    *element = THRIFT_STOP;
    if (!expect(t, type == THRIFT_LIST || type == THRIFT_SET)) return 0;
    uint8_t b = byte(t);
    uint64_t n = b >> 4 == 15 ? thrift_varint(t) : b >> 4;
    *element = b & 15;
    if (n > (uint64_t)(t->end - t->at) || n > INT32_MAX) wrong(t, "the metadata ends early", true);
    return t->why ? 0 : (uint32_t)n;
}

bool thrift_enter(struct thrift *t, int type) {
    if (!expect(t, type == THRIFT_STRUCT)) return false;
    if (++t->depth > DEPTH_MAX) wrong(t, "the metadata is nested too deeply", false);
    return !t->why;
}

void thrift_leave(struct thrift *t) { t->depth--; }
