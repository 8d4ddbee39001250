// SPDX-License-Identifier: MIT
#include "trace/column.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 << 10, FIRST_ROWS = 256 };

struct column_chunk {
    struct column_chunk *next;
    size_t used, size;
    char bytes[];
};

size_t column_size(enum column_type type) {
    switch (type) {
    case COLUMN_NONE: return 0;
    case COLUMN_BOOL:
    case COLUMN_INT8:
    case COLUMN_UINT8: return 1;
    case COLUMN_INT16:
    case COLUMN_UINT16: return 2;
    case COLUMN_INT32:
    case COLUMN_UINT32:
    case COLUMN_FLOAT32:
    case COLUMN_CODES: return 4;
    case COLUMN_INT64:
    case COLUMN_UINT64:
    case COLUMN_FLOAT64: return 8;
    case COLUMN_TEXT: return sizeof(struct column_text);
    }
    return 0;
}

// Dictionary ---------------------------------------------------------------------------------------------------------

static uint32_t hash_bytes(const char *bytes, uint32_t length) {
    uint64_t h = length * 0x9E3779B97F4A7C15u, word;
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    if (length) {
        word = 0;
        memcpy(&word, bytes, length);
        h = (h ^ word) * 0xD6E8FEB86659FD93u;
        h ^= h >> 32;
    }
    h *= 0xD6E8FEB86659FD93u;
    return (uint32_t)(h >> 32);
}

static char *chunk_copy(struct column_dictionary *d, const char *bytes, uint32_t length) {
    struct column_chunk *c = d->chunks;
    if (!c || c->size - c->used < length) {
        size_t size = length > CHUNK_BYTES / 4 ? length : CHUNK_BYTES;
        struct column_chunk *fresh = malloc(sizeof *fresh + size);
        if (!fresh) return NULL;
        fresh->used = 0;
        fresh->size = size;
        if (c && size != CHUNK_BYTES) { // a large text has a chunk of its own behind the one being filled
            fresh->next = c->next;
            c->next = fresh;
        } else {
            fresh->next = c;
            d->chunks = fresh;
        }
        c = fresh;
    }
    char *out = c->bytes + c->used;
    if (length) memcpy(out, bytes, length);
    c->used += length;
    d->bytes += length;
    return out;
}

static bool dictionary_grow(struct column_dictionary *d) {
    if (d->count == INT32_MAX) return false;
    if (d->count == d->capacity) {
        int32_t wanted = d->capacity ? d->capacity > INT32_MAX / 2 ? INT32_MAX : d->capacity * 2 : 16;
        struct column_text *words = realloc(d->words, (size_t)wanted * sizeof *words);
        if (!words) return false;
        d->words = words;
        uint32_t *hashes = realloc(d->hashes, (size_t)wanted * sizeof *hashes);
        if (!hashes) return false;
        d->hashes = hashes;
        d->capacity = wanted;
    }
    if (d->slot_count / 2 > (uint32_t)d->count) return true;
    uint32_t wanted = d->slot_count ? d->slot_count * 2 : 64;
    if (wanted < d->slot_count) return false;
    int32_t *slots = calloc(wanted, sizeof *slots);
    if (!slots) return false;
    for (int32_t i = 0; i < d->count; i++) {
        uint32_t at = d->hashes[i] & (wanted - 1);
        while (slots[at]) at = (at + 1) & (wanted - 1);
        slots[at] = i + 1;
    }
    free(d->slots);
    d->slots = slots;
    d->slot_count = wanted;
    return true;
}

int32_t column_dictionary_add(struct column_dictionary *d, const char *bytes, uint32_t length) {
    uint32_t hash = hash_bytes(bytes, length), at = 0;
    if (d->slot_count)
        for (at = hash & (d->slot_count - 1); d->slots[at]; at = (at + 1) & (d->slot_count - 1)) {
            int32_t code = d->slots[at] - 1;
            if (d->hashes[code] == hash && d->words[code].length == length &&
                memcmp(d->words[code].bytes, bytes, length) == 0)
                return code;
        }
    uint32_t before = d->slot_count;
    if (!dictionary_grow(d)) return -1;
    if (before != d->slot_count)
        for (at = hash & (d->slot_count - 1); d->slots[at];) at = (at + 1) & (d->slot_count - 1);
    char *copy = chunk_copy(d, bytes, length);
    if (!copy) return -1;
    d->words[d->count] = (struct column_text){copy, length};
    d->hashes[d->count] = hash;
    d->slots[at] = d->count + 1;
    return d->count++;
}

void column_dictionary_free(struct column_dictionary *d) {
    while (d->chunks) {
        struct column_chunk *next = d->chunks->next;
        free(d->chunks);
        d->chunks = next;
    }
    free(d->words);
    free(d->hashes);
    free(d->slots);
    memset(d, 0, sizeof *d);
}

// Builder ------------------------------------------------------------------------------------------------------------

static bool make_room(struct column_builder *b) {
    if (b->count < b->capacity) return true;
    int64_t wanted = b->capacity ? b->capacity * 2 : FIRST_ROWS;
    void *data = realloc(b->data, (size_t)wanted * 8); // wide enough for every type a builder can have
    if (!data) return false;
    b->data = data;
    if (b->valid) {
        uint8_t *valid = realloc(b->valid, (size_t)wanted);
        if (!valid) return false;
        b->valid = valid;
    }
    b->capacity = wanted;
    return true;
}

static bool has_value(const struct column_builder *b, int64_t i) { return !b->valid || b->valid[i]; }

// Numbers already there become texts, as SQLite would spell them.
static bool become_text(struct column_builder *b) {
    if (b->type == COLUMN_CODES) return true;
    for (int64_t i = 0; i < b->count; i++) { // all words first: a failure must leave the numbers
        char text[40];
        if (!has_value(b, i)) continue;
        int n = b->type == COLUMN_INT64 ? snprintf(text, sizeof text, "%lld", (long long)((int64_t *)b->data)[i])
                                        : snprintf(text, sizeof text, "%.15g", ((double *)b->data)[i]);
        if (column_dictionary_add(&b->dictionary, text, (uint32_t)n) < 0) return false;
    }
    for (int64_t i = 0; i < b->count; i++) {
        char text[40];
        int32_t code = -1;
        if (has_value(b, i)) {
            int n = b->type == COLUMN_INT64 ? snprintf(text, sizeof text, "%lld", (long long)((int64_t *)b->data)[i])
                                            : snprintf(text, sizeof text, "%.15g", ((double *)b->data)[i]);
            code = column_dictionary_add(&b->dictionary, text, (uint32_t)n);
        }
        ((int32_t *)b->data)[i] = code; // behind the numbers still to be read: an element is half as wide
    }
    b->type = COLUMN_CODES;
    return true;
}

static void become_double(struct column_builder *b) {
    for (int64_t i = 0; i < b->count; i++) ((double *)b->data)[i] = (double)((int64_t *)b->data)[i];
    b->type = COLUMN_FLOAT64;
}

static bool added(struct column_builder *b) {
    if (b->valid) b->valid[b->count] = 1;
    b->count++;
    return true;
}

bool column_builder_integer(struct column_builder *b, int64_t value) {
    if (!make_room(b)) return false;
    if (b->type == COLUMN_NONE) b->type = COLUMN_INT64;
    if (b->type == COLUMN_CODES) {
        char text[24];
        return column_builder_text(b, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
    }
    if (b->type == COLUMN_INT64) ((int64_t *)b->data)[b->count] = value;
    else ((double *)b->data)[b->count] = (double)value;
    return added(b);
}

bool column_builder_double(struct column_builder *b, double value) {
    if (!make_room(b)) return false;
    if (b->type == COLUMN_NONE) b->type = COLUMN_FLOAT64;
    if (b->type == COLUMN_CODES) {
        char text[40];
        return column_builder_text(b, text, (size_t)snprintf(text, sizeof text, "%.15g", value));
    }
    if (b->type == COLUMN_INT64) become_double(b);
    ((double *)b->data)[b->count] = value;
    return added(b);
}

bool column_builder_text(struct column_builder *b, const char *bytes, size_t length) {
    if (length > UINT32_MAX || !make_room(b) || !become_text(b)) return false;
    int32_t code = -1;
    if (b->last < b->dictionary.count && b->count) { // often the same as in the row before
        const struct column_text *w = &b->dictionary.words[b->last];
        if (w->length == length && memcmp(w->bytes, bytes, length) == 0) code = b->last;
    }
    if (code < 0) code = column_dictionary_add(&b->dictionary, bytes, (uint32_t)length);
    if (code < 0) return false;
    b->last = code;
    ((int32_t *)b->data)[b->count] = code;
    return added(b);
}

bool column_builder_null(struct column_builder *b) {
    if (!make_room(b)) return false;
    if (!b->valid) {
        b->valid = malloc((size_t)b->capacity);
        if (!b->valid) return false;
        memset(b->valid, 1, (size_t)b->count);
    }
    b->valid[b->count] = 0;
    if (b->type == COLUMN_CODES) ((int32_t *)b->data)[b->count] = -1;
    else ((int64_t *)b->data)[b->count] = 0; // 0.0 has the same bits
    b->count++;
    return true;
}

void column_builder_clear(struct column_builder *b) {
    column_dictionary_free(&b->dictionary);
    free(b->valid);
    b->valid = NULL;
    b->count = 0;
    b->last = 0;
    b->type = COLUMN_NONE;
}

void column_builder_free(struct column_builder *b) {
    column_builder_clear(b);
    free(b->data);
    memset(b, 0, sizeof *b);
}

struct column column_builder_view(const struct column_builder *b) {
    return (struct column){.type = b->type,
                           .count = b->count,
                           .data = b->data,
                           .valid = b->valid,
                           .words = b->dictionary.words,
                           .word_count = b->dictionary.count};
}

size_t column_builder_bytes(const struct column_builder *b) {
    return (size_t)b->capacity * 9 + b->dictionary.bytes +
           (size_t)b->dictionary.capacity * (sizeof(struct column_text) + 4) + (size_t)b->dictionary.slot_count * 4;
}
