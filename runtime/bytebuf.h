// SPDX-License-Identifier: MIT
// bytebuf.h: a growable run of bytes. The holder owns it and frees it with bytebuf_free (also fine on a zeroed one).
// Growing can fail (false); the content is then as before.
#ifndef NKILN_BYTEBUF_H
#define NKILN_BYTEBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytebuf {
    char *data;
    size_t len, cap;
};

// Room for `more` bytes after the content.
static inline bool bytebuf_reserve(struct bytebuf *b, size_t more) {
    if (more > SIZE_MAX / 2 - b->len) return false;
    if (b->cap - b->len >= more) return true;
    size_t cap = b->cap ? b->cap * 2 : 256;
    while (cap < b->len + more) cap *= 2;
    char *data = realloc(b->data, cap);
    if (!data) return false;
    b->data = data;
    b->cap = cap;
    return true;
}

static inline bool bytebuf_append(struct bytebuf *b, const void *data, size_t len) {
    if (len == 0) return true;
    if (!bytebuf_reserve(b, len)) return false;
    memcpy(b->data + b->len, data, len);
    b->len += len;
    return true;
}

// Drop the first n bytes.
static inline void bytebuf_consume(struct bytebuf *b, size_t n) {
    if (n < b->len) memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
}

static inline void bytebuf_free(struct bytebuf *b) {
    free(b->data);
    b->data = NULL;
    b->len = b->cap = 0;
}

#endif
