// SPDX-License-Identifier: MIT
#include "trace/parquet_decode.h"

#include <stdlib.h>
#include <string.h>

static const char *const ends_early = "the values end early";

static inline uint64_t load64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

// `width` bits from bit position `bit`; up to 64.
static inline uint64_t bits_at(const uint8_t *bits, uint64_t bit, int width) {
    const uint8_t *p = bits + (bit >> 3);
    int shift = (int)(bit & 7);
    uint64_t v = load64(p) >> shift;
    if (shift + width > 64) v |= (uint64_t)p[8] << (64 - shift);
    return width == 64 ? v : v & (((uint64_t)1 << width) - 1);
}

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (*at >= end) return false;
        uint8_t b = *(*at)++;
        v |= (uint64_t)(b & 127) << shift;
        if (!(b & 128)) return *out = v, true;
    }
    return false;
}

// Hybrid -------------------------------------------------------------------------------------------------------------

void hybrid_open(struct hybrid *h, const uint8_t *at, const uint8_t *end, int width) {
    *h = (struct hybrid){.at = at, .end = end, .width = width};
    if (width == 0 && at == end) h->repeated = INT64_MAX; // nothing to tell apart: some writers store nothing
}

static const char *next_run(struct hybrid *h) {
    uint64_t header;
    if (!read_varint(&h->at, h->end, &header)) return ends_early;
    size_t left = (size_t)(h->end - h->at);
    if (header & 1) {
        uint64_t groups = header >> 1;
        if (groups > UINT32_MAX) return "a run of levels or codes is too long";
        uint64_t bytes = groups * (uint64_t)h->width;
        h->packed = (int64_t)(groups * 8);
        if (bytes > left) { // a last group may be cut short
            bytes = left;
            h->packed = h->width ? (int64_t)(bytes * 8 / (uint64_t)h->width) : h->packed;
            if (!h->packed) return ends_early;
        }
        h->bits = h->at;
        h->bit = 0;
        h->at += bytes;
    } else {
        size_t bytes = ((size_t)h->width + 7) / 8;
        if (header >> 1 > INT64_MAX / 2) return "a run of levels or codes is too long";
        if (bytes > left) return ends_early;
        h->repeated = (int64_t)(header >> 1);
        h->value = 0;
        memcpy(&h->value, h->at, bytes);
        if (h->width < 32 && h->value >> h->width) return "a level or code is larger than its width allows";
        h->at += bytes;
    }
    return NULL;
}

const char *hybrid_read(struct hybrid *h, int64_t count, int32_t *out) {
    while (count > 0) {
        if (h->repeated) {
            int64_t n = count < h->repeated ? count : h->repeated;
            for (int64_t i = 0; i < n; i++) out[i] = (int32_t)h->value;
            h->repeated -= n, out += n, count -= n;
        } else if (h->packed) {
            int64_t n = count < h->packed ? count : h->packed;
            const int width = h->width;
            const uint64_t mask = ((uint64_t)1 << width) - 1;
            uint64_t bit = h->bit;
            for (int64_t i = 0; i < n; i++, bit += (uint64_t)width)
                out[i] = (int32_t)(load64(h->bits + (bit >> 3)) >> (bit & 7) & mask);
            h->bit = bit;
            h->packed -= n, out += n, count -= n;
        } else {
            const char *why = next_run(h);
            if (why) return why;
        }
    }
    return NULL;
}

const char *hybrid_read_bytes(struct hybrid *h, int64_t count, uint8_t *out) {
    while (count > 0) {
        if (h->repeated) {
            int64_t n = count < h->repeated ? count : h->repeated;
            memset(out, (int)h->value, (size_t)n);
            h->repeated -= n, out += n, count -= n;
        } else if (h->packed) {
            int64_t n = count < h->packed ? count : h->packed;
            const int width = h->width;
            const unsigned mask = (1u << width) - 1;
            uint64_t bit = h->bit;
            for (int64_t i = 0; i < n; i++, bit += (uint64_t)width)
                out[i] = (uint8_t)((h->bits[bit >> 3] | (unsigned)h->bits[(bit >> 3) + 1] << 8) >> (bit & 7) & mask);
            h->bit = bit;
            h->packed -= n, out += n, count -= n;
        } else {
            const char *why = next_run(h);
            if (why) return why;
        }
    }
    return NULL;
}

// Delta --------------------------------------------------------------------------------------------------------------

static uint64_t unzigzag(uint64_t v) { return v >> 1 ^ (0 - (v & 1)); }

const char *delta_open(struct delta *d, const uint8_t *at, const uint8_t *end, int64_t most) {
    uint64_t block, minis, total, first;
    *d = (struct delta){.at = at, .end = end};
    if (!read_varint(&d->at, end, &block) || !read_varint(&d->at, end, &minis) || !read_varint(&d->at, end, &total) ||
        !read_varint(&d->at, end, &first))
        return ends_early;
    if (block == 0 || block > 1 << 20 || minis == 0 || minis > 1 << 15 || block % minis || block / minis % 8)
        return "the sizes of its delta blocks are out of range";
    if (total > (uint64_t)most) return "there are more values than rows";
    d->total = total;
    d->block = (uint32_t)block;
    d->minis = (uint32_t)minis;
    d->mini = (uint32_t)minis;
    d->last = unzigzag(first);
    return NULL;
}

// Go on to the next part of a block, or the next block.
static const char *next_mini(struct delta *d) {
    if (d->mini == d->minis) {
        uint64_t least;
        if (!read_varint(&d->at, d->end, &least) || (size_t)(d->end - d->at) < d->minis) return ends_early;
        d->least = unzigzag(least);
        d->widths = d->at;
        d->at += d->minis;
        d->mini = 0;
    }
    d->width = d->widths[d->mini++];
    d->left = d->block / d->minis;
    if (d->width > 64) return "a width of its delta blocks is out of range";
    uint64_t bytes = (uint64_t)d->left / 8 * (uint64_t)d->width, room = (uint64_t)(d->end - d->at);
    if (bytes > room) { // the last part may be cut behind the last value
        uint64_t wanted = d->total - d->given;
        if (wanted > d->left || (wanted * (uint64_t)d->width + 7) / 8 > room) return ends_early;
        bytes = room;
    }
    d->bits = d->at;
    d->bit = 0;
    d->at += bytes;
    return NULL;
}

const char *delta_read(struct delta *d, int64_t count, int64_t *out) {
    if ((uint64_t)count > d->total - d->given) return "there are fewer values than rows";
    if (count && d->given == 0) { // the first value stands in the header
        *out++ = (int64_t)d->last;
        d->given++;
        count--;
    }
    while (count > 0) {
        if (!d->left) {
            const char *why = next_mini(d);
            if (why) return why;
        }
        int64_t n = count < d->left ? count : d->left;
        uint64_t last = d->last, bit = d->bit;
        const int width = d->width;
        if (width == 0)
            for (int64_t i = 0; i < n; i++) out[i] = (int64_t)(last += d->least);
        else
            for (int64_t i = 0; i < n; i++, bit += (uint64_t)width)
                out[i] = (int64_t)(last += d->least + bits_at(d->bits, bit, width));
        d->last = last;
        d->bit = bit;
        d->left -= (uint32_t)n;
        d->given += (uint64_t)n;
        out += n, count -= n;
    }
    return NULL;
}

const char *delta_finish(struct delta *d) {
    int64_t values[256];
    while (d->given < d->total) {
        uint64_t n = d->total - d->given < 256 ? d->total - d->given : 256;
        const char *why = delta_read(d, (int64_t)n, values);
        if (why) return why;
    }
    return NULL;
}

// Texts --------------------------------------------------------------------------------------------------------------

bool text_buffer_put(struct text_buffer *b, const void *bytes, size_t size) {
    if (size > b->room - b->size) {
        size_t room = b->room * 2 > 4096 ? b->room * 2 : 4096;
        while (room - b->size < size) room *= 2;
        char *grown = realloc(b->bytes, room);
        if (!grown) return false;
        b->bytes = grown;
        b->room = room;
    }
    if (size) memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
    return true;
}

void text_buffer_free(struct text_buffer *b) {
    free(b->bytes);
    *b = (struct text_buffer){0};
}

const char *delta_texts_open(struct delta_texts *d, const uint8_t *at, const uint8_t *end, bool prefixes,
                             int64_t most) {
    *d = (struct delta_texts){.end = end, .has_prefixes = prefixes};
    if (prefixes) {
        const char *why = delta_open(&d->prefixes, at, end, most);
        struct delta whole = d->prefixes;
        if (!why) why = delta_finish(&whole);
        if (why) return why;
        at = whole.at;
    }
    const char *why = delta_open(&d->lengths, at, end, most);
    struct delta whole = d->lengths;
    if (!why) why = delta_finish(&whole);
    d->at = whole.at;
    return why;
}

void delta_texts_close(struct delta_texts *d) {
    free(d->last);
    d->last = NULL;
    d->last_size = d->last_room = 0;
}

static const char *keep_last(struct delta_texts *d, size_t prefix, const uint8_t *suffix, size_t size) {
    if (prefix + size > d->last_room) {
        size_t room = (prefix + size) * 2;
        char *grown = realloc(d->last, room);
        if (!grown) return "out of memory";
        d->last = grown;
        d->last_room = room;
    }
    if (size) memcpy(d->last + prefix, suffix, size);
    d->last_size = prefix + size;
    return NULL;
}

const char *delta_texts_read(struct delta_texts *d, int64_t count, size_t limit, struct text_buffer *buffer,
                             struct column_text *out, int64_t *got, bool *offsets) {
    const char *why = NULL;
    *offsets = d->has_prefixes;
    for (*got = 0; *got < count && !why; ++*got) {
        int64_t length, prefix = 0;
        if (*got && buffer->size > limit) break;
        if ((why = delta_read(&d->lengths, 1, &length))) break;
        if (d->has_prefixes && (why = delta_read(&d->prefixes, 1, &prefix))) break;
        if (length < 0 || length > d->end - d->at) return "a text is longer than its page";
        if (prefix < 0 || (uint64_t)prefix > d->last_size) return "a text begins with more than the text before it";
        if (!d->has_prefixes) {
            out[*got] = (struct column_text){(const char *)d->at, (uint32_t)length};
        } else {
            if ((why = keep_last(d, (size_t)prefix, d->at, (size_t)length))) break;
            if (d->last_size > UINT32_MAX) return "a text is too long";
            out[*got] = (struct column_text){(const char *)(uintptr_t)buffer->size, (uint32_t)d->last_size};
            if (!text_buffer_put(buffer, d->last, d->last_size)) return "out of memory";
        }
        d->at += length;
    }
    return why;
}

const char *plain_texts_read(const uint8_t **at, const uint8_t *end, int64_t count, struct column_text *out) {
    const uint8_t *p = *at;
    for (int64_t i = 0; i < count; i++) {
        uint32_t length;
        if (end - p < 4) return ends_early;
        memcpy(&length, p, 4);
        p += 4;
        if (length > (size_t)(end - p)) return "a text is longer than its page";
        out[i] = (struct column_text){(const char *)p, length};
        p += length;
    }
    *at = p;
    return NULL;
}

const char *plain_bools_read(const uint8_t *at, const uint8_t *end, uint64_t *bit, int64_t count, uint8_t *out) {
    if (*bit + (uint64_t)count > (uint64_t)(end - at) * 8) return ends_early;
    for (int64_t i = 0; i < count; i++, ++*bit) out[i] = at[*bit >> 3] >> (*bit & 7) & 1;
    return NULL;
}

void stream_split_read(const uint8_t *at, int64_t total, int width, int64_t first, int64_t count, uint8_t *out) {
    for (int k = 0; k < width; k++) {
        const uint8_t *from = at + k * total + first;
        for (int64_t i = 0; i < count; i++) out[i * width + k] = from[i];
    }
}
