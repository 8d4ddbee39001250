// SPDX-License-Identifier: MIT
#include "trace/neff.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/codec.h"

enum { BLOCK = 512, PIECE = 1 << 16 };

// The archive as a stream of bytes, decompressed or not.
struct source {
    const char *path;
    int fd;
    struct codec_stream *gzip;
    uint8_t in[PIECE], out[PIECE];
    const uint8_t *next;
    size_t left;         // of `in`
    size_t at, have;     // of `out`
    int64_t offset;      // in the archive, decompressed
    bool done;
    struct trace_error *err;
};

static bool damaged(struct source *s, const char *why) {
    return trace_fail(s->err, TRACE_BAD_DATA, "%s: the archive is damaged at offset %lld of its contents: %s", s->path,
                      (long long)s->offset, why);
}

static bool refill(struct source *s) { // false: the end, or an error (s->err->status)
    s->at = s->have = 0;
    while (!s->have && !s->done) {
        if (!s->left) {
            ssize_t n = read(s->fd, s->in, PIECE);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return trace_fail_errno(s->err, errno, "read", s->path);
            if (n == 0) {
                s->done = true;
                return s->gzip ? damaged(s, "its gzip data ends early") : false;
            }
            s->next = s->in, s->left = (size_t)n;
        }
        if (!s->gzip) {
            memcpy(s->out, s->next, s->left);
            s->have = s->left, s->left = 0;
            break;
        }
        const char *why = codec_stream_read(s->gzip, &s->next, &s->left, s->out, PIECE, &s->have, &s->done);
        if (why) return damaged(s, why);
    }
    return s->have > 0;
}

// `size` bytes to `to` (NULL: skipped); returns how many came.
static int64_t take(struct source *s, void *to, int64_t size) {
    int64_t got = 0;
    while (got < size && (s->at < s->have || refill(s))) {
        int64_t n = (int64_t)(s->have - s->at) < size - got ? (int64_t)(s->have - s->at) : size - got;
        if (to) memcpy((uint8_t *)to + got, s->out + s->at, (size_t)n);
        s->at += (size_t)n, got += n, s->offset += n;
    }
    return got;
}

// A number of a tar header: octal digits, or base 256 behind a set top bit.
static int64_t tar_number(const uint8_t *p, int size) {
    uint64_t v = 0;
    if (p[0] & 128) {
        v = p[0] & 63;
        for (int i = 1; i < size; i++) {
            if (v >> 55) return -1;
            v = v << 8 | p[i];
        }
        return (int64_t)v;
    }
    int i = 0;
    while (i < size && p[i] == ' ') i++;
    for (; i < size && p[i] >= '0' && p[i] <= '7'; i++) v = v << 3 | (uint64_t)(p[i] - '0');
    return i < size && p[i] && p[i] != ' ' ? -1 : (int64_t)v;
}

static bool right_checksum(const uint8_t *block) {
    int64_t sum = 0;
    for (int i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : block[i];
    return tar_number(block + 148, 8) == sum;
}

// The path of a pax header's records ("27 path=...\n"), or NULL.
static char *pax_path(const char *text, size_t size) {
    char *path = NULL;
    for (size_t at = 0; at < size;) {
        size_t length = 0, i = at;
        for (; i < size && text[i] >= '0' && text[i] <= '9' && length < size; i++) length = length * 10 + (size_t)(text[i] - '0');
        if (length < i - at + 2 || length > size - at) break;
        if (length > i - at + 7 && memcmp(text + i, " path=", 6) == 0) {
            free(path);
            path = strndup(text + i + 6, at + length - 1 - (i + 6));
        }
        at += length;
    }
    return path;
}

static bool add_member(struct neff *n, char *name, int64_t size, struct source *s) {
    if (n->count >= NEFF_MEMBERS_MAX) {
        free(name);
        return damaged(s, "it has too many members");
    }
    if ((n->count & (n->count - 1)) == 0) {
        struct neff_member *grown = realloc(n->members, (size_t)(n->count ? n->count * 2 : 1) * sizeof *grown);
        if (!grown) free(name);
        if (!grown) return trace_fail(s->err, TRACE_NO_MEMORY, "out of memory");
        n->members = grown;
    }
    if (!name) return trace_fail(s->err, TRACE_NO_MEMORY, "out of memory");
    n->members[n->count++] = (struct neff_member){name, size};
    return true;
}

static char *header_name(const uint8_t *block) {
    char name[BLOCK];
    size_t prefix = memcmp(block + 257, "ustar", 5) == 0 ? strnlen((const char *)block + 345, 155) : 0;
    memcpy(name, block + 345, prefix);
    if (prefix) name[prefix++] = '/';
    size_t length = strnlen((const char *)block, 100);
    memcpy(name + prefix, block, length);
    return strndup(name, prefix + length);
}

static bool list_members(struct neff *n, struct source *s, const struct trace_watch *watch) {
    char *longer = NULL; // the next member's name, where it does not fit its header
    bool ok = true;
    for (;;) {
        uint8_t block[BLOCK];
        s->err->status = TRACE_OK;
        int64_t got = take(s, block, BLOCK);
        if (s->err->status != TRACE_OK) ok = false;
        else if (trace_stopped(watch)) ok = trace_fail(s->err, TRACE_INTERRUPTED, "%s: interrupted", s->path);
        else if (got && got < BLOCK) ok = damaged(s, "it ends inside a header");
        if (!ok || !got) break;
        bool empty = true;
        for (int i = 0; i < BLOCK && empty; i++) empty = !block[i];
        if (empty) break;
        int64_t size = tar_number(block + 124, 12);
        if (!right_checksum(block) || size < 0 || size > INT64_MAX - BLOCK) {
            ok = damaged(s, "this is no tar header");
            break;
        }
        char type = (char)block[156];
        bool names = type == 'L' || type == 'x';
        if (names && size <= PIECE) {
            char *text = malloc((size_t)size + 1);
            if (!text) ok = trace_fail(s->err, TRACE_NO_MEMORY, "out of memory");
            else if (take(s, text, size) < size) ok = s->err->status != TRACE_OK ? false : damaged(s, "it ends inside a member");
            if (ok) {
                char *name = type == 'L' ? strndup(text, (size_t)size) : pax_path(text, (size_t)size);
                if (name) {
                    free(longer);
                    longer = name;
                }
            }
            free(text);
        } else {
            if (type == '0' || !type || type == '7') {
                ok = add_member(n, longer ? longer : header_name(block), size, s);
                longer = NULL;
            } else if (!names && type != 'g') {
                free(longer);
                longer = NULL;
            }
            if (ok && take(s, NULL, size) < size) ok = s->err->status != TRACE_OK ? false : damaged(s, "it ends inside a member");
        }
        if (!ok) break;
        take(s, NULL, (BLOCK - size % BLOCK) % BLOCK);
    }
    free(longer);
    return ok;
}

static uint64_t u64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static uint32_t u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static bool no_neff(const char *path, const char *why, struct trace_error *err) {
    return trace_fail(err, TRACE_BAD_DATA, "%s: this is no NEFF: %s", path, why);
}

static bool read_header(struct neff *n, const char *path, int fd, int64_t size, struct trace_error *err) {
    uint8_t h[NEFF_HEADER + BLOCK] = {0};
    if (size < NEFF_HEADER) return no_neff(path, size ? "it is shorter than its header of 1024 bytes" : "the file is empty", err);
    ssize_t got = pread(fd, h, sizeof h, 0);
    if (got < NEFF_HEADER) return got < 0 ? trace_fail_errno(err, errno, "read", path) : no_neff(path, "it became shorter", err);
    n->package_version = u64(h);
    n->data_size = u64(h + 16);
    n->major = u64(h + 24), n->minor = u64(h + 32);
    memcpy(n->build, h + 40, 128);
    n->cores = u32(h + 168);
    memcpy(n->hash, h + 172, 32);
    memcpy(n->uuid, h + 204, 16);
    memcpy(n->name, h + 220, 256);
    n->feature_bits = u64(h + 544);
    n->lnc = u32(h + 552);
    if (u64(h + 8) != NEFF_HEADER) return no_neff(path, "its header does not say that it has 1024 bytes", err);
    if (n->package_version != 1 && n->package_version != 2) return no_neff(path, "its package version is neither 1 nor 2", err);
    if (n->data_size != (uint64_t)(size - NEFF_HEADER))
        return trace_fail(err, TRACE_BAD_DATA, "%s: the header says that %llu bytes follow, there are %lld: is it cut off, or still being written?",
                          path, (unsigned long long)n->data_size, (long long)(size - NEFF_HEADER));
    n->gzipped = h[NEFF_HEADER] == 0x1f && h[NEFF_HEADER + 1] == 0x8b;
    if (!n->gzipped && memcmp(h + NEFF_HEADER + 257, "ustar", 5) != 0) return no_neff(path, "no archive follows its header", err);
    return true;
}

bool neff_read(struct neff *out, const char *path, bool list, const struct trace_watch *watch, struct trace_error *err) {
    *out = (struct neff){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        int error = errno;
        if (fd >= 0) close(fd);
        return trace_fail_errno(err, error, "open", path);
    }
    bool ok = S_ISREG(st.st_mode) || trace_fail(err, TRACE_IO, "open %s: this is no regular file", path);
    ok = ok && read_header(out, path, fd, st.st_size, err);
    if (ok && list) {
        struct source *s = calloc(1, sizeof *s);
        if (!s) ok = trace_fail(err, TRACE_NO_MEMORY, "out of memory");
        else {
            s->path = path, s->fd = fd, s->err = err;
            ok = lseek(fd, NEFF_HEADER, SEEK_SET) >= 0 && (!out->gzipped || codec_stream_open(&s->gzip, err)) && list_members(out, s, watch);
            codec_stream_close(s->gzip);
        }
        free(s);
    }
    close(fd);
    if (!ok) neff_free(out);
    return ok;
}

void neff_free(struct neff *n) {
    for (int i = 0; i < n->count; i++) free(n->members[i].name);
    free(n->members);
    n->members = NULL;
    n->count = 0;
}
