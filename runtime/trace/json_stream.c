// SPDX-License-Identifier: MIT
#include "trace/json_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"

enum { BLOCK = 1 << 18, SECTION_MAX = 256 };

struct json_stream {
    char *path;
    int fd;
    char *bytes; // the window: `have` bytes, the next one to look at is at `at`
    size_t have, at, room;
    int64_t base; // offset of bytes[0] in the file
    bool ended;   // the file has no more
    bool failed;
    enum { BEFORE, KEY, ARRAY, AFTER_VALUE, AFTER_ELEMENT, DONE } state;
    char section[SECTION_MAX];
};

static bool damaged(struct json_stream *s, size_t at, const char *why, struct trace_error *err) {
    s->failed = true;
    return trace_fail(err, TRACE_BAD_DATA, "%s: at offset %lld: %s", s->path, (long long)(s->base + (int64_t)at), why);
}

bool json_stream_open(struct json_stream **out, const char *path, struct trace_error *err) {
    *out = NULL;
    struct json_stream *s = calloc(1, sizeof *s);
    if (!s) return trace_fail(err, TRACE_NO_MEMORY, "out of memory");
    s->path = strdup(path);
    s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    bool ok = true;
    if (!s->path) ok = trace_fail(err, TRACE_NO_MEMORY, "out of memory");
    else if (s->fd < 0 || fstat(s->fd, &st) != 0) ok = trace_fail_errno(err, errno, "open", path);
    else if (!S_ISREG(st.st_mode))
        ok = trace_fail(err, TRACE_IO, "open %s: %s", path, S_ISDIR(st.st_mode) ? "this is a folder" : "this is no regular file");
    if (ok) *out = s;
    else json_stream_close(s);
    return ok;
}

void json_stream_close(struct json_stream *s) {
    if (!s) return;
    if (s->fd >= 0) close(s->fd);
    free(s->bytes);
    free(s->path);
    free(s);
}

// Read more behind what is there. False: an error, or the end (then s->ended).
static bool fill(struct json_stream *s, struct trace_error *err) {
    if (s->ended) return false;
    if (s->room - s->have < BLOCK) {
        size_t room = s->room * 2 > BLOCK * 2 ? s->room * 2 : BLOCK * 2;
        if (room > JSON_RECORD_MAX * 2) {
            s->failed = true;
            return trace_fail(err, TRACE_NO_MEMORY, "%s: at offset %lld: a record of more than %zu MiB", s->path,
                              (long long)s->base, JSON_RECORD_MAX >> 20);
        }
        char *grown = realloc(s->bytes, room);
        if (!grown) {
            s->failed = true;
            return trace_fail(err, TRACE_NO_MEMORY, "out of memory");
        }
        s->bytes = grown;
        s->room = room;
    }
    for (;;) {
        ssize_t n = read(s->fd, s->bytes + s->have, BLOCK);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            s->failed = true;
            return trace_fail_errno(err, errno, "read", s->path);
        }
        s->have += (size_t)n;
        s->ended = n == 0;
        return n > 0;
    }
}

// The byte at `at`, -1 at the end of the file (or after an error: s->failed).
static int peek(struct json_stream *s, size_t at, struct trace_error *err) {
    while (at >= s->have)
        if (!fill(s, err)) return -1;
    return (unsigned char)s->bytes[at];
}

static int skip_space(struct json_stream *s, struct trace_error *err) {
    int c;
    while ((c = peek(s, s->at, err)) == ' ' || c == '\n' || c == '\r' || c == '\t') s->at++;
    return c;
}

// Behind the string that begins at `at`; 0: it does not end.
static size_t string_end(struct json_stream *s, size_t at, struct trace_error *err) {
    for (at++;;) {
        int c = peek(s, at, err);
        if (c < 0) return 0;
        if (c == '"') return at + 1;
        at += c == '\\' ? 2 : 1;
    }
}

// Behind the value that begins at `at`; 0: it does not end.
static size_t value_end(struct json_stream *s, size_t at, struct trace_error *err) {
    int c = peek(s, at, err), depth = 0;
    if (c == '"') return string_end(s, at, err);
    if (c != '{' && c != '[') {
        while ((c = peek(s, at, err)) >= 0 && c != ',' && c != ']' && c != '}' && c != ' ' && c != '\n' && c != '\r' && c != '\t') at++;
        return s->failed ? 0 : at;
    }
    do {
        c = peek(s, at, err);
        if (c < 0) return 0;
        if (c == '"') {
            if (!(at = string_end(s, at, err))) return 0;
            continue;
        }
        depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
        at++;
    } while (depth > 0);
    return at;
}

static void drop_read(struct json_stream *s) {
    if (s->at < BLOCK / 2) return;
    memmove(s->bytes, s->bytes + s->at, s->have - s->at);
    s->base += (int64_t)s->at;
    s->have -= s->at;
    s->at = 0;
}

static bool cut_off(struct json_stream *s, struct trace_error *err) {
    return s->failed ? false : damaged(s, s->have, "the file ends in the middle: is it cut off, or still being written?", err);
}

static bool read_key(struct json_stream *s, struct trace_error *err) {
    size_t end = string_end(s, s->at, err);
    if (!end) return cut_off(s, err);
    struct json_reader r;
    json_reader_init(&r, s->bytes + s->at, end - s->at, 1);
    bool ok = json_read(&r) == JSON_STRING && r.length < SECTION_MAX && !memchr(r.string, 0, r.length);
    if (ok) {
        memcpy(s->section, r.string, r.length);
        s->section[r.length] = 0;
    }
    json_reader_free(&r);
    if (!ok) return damaged(s, s->at, "this is no name of a section", err);
    s->at = end;
    if (skip_space(s, err) != ':') return s->ended || s->failed ? cut_off(s, err) : damaged(s, s->at, "':' is expected", err);
    s->at++;
    return true;
}

static bool give(struct json_stream *s, bool element, struct json_record *out, struct trace_error *err) {
    size_t end = value_end(s, s->at, err);
    if (!end) return cut_off(s, err);
    if (end == s->at) return damaged(s, s->at, "a value is expected", err);
    *out = (struct json_record){.section = s->section, .text = s->bytes + s->at, .size = end - s->at, .element = element,
                                .offset = s->base + (int64_t)s->at};
    s->at = end;
    s->state = element ? AFTER_ELEMENT : AFTER_VALUE;
    return true;
}

bool json_stream_next(struct json_stream *s, struct json_record *out, struct trace_error *err) {
    *out = (struct json_record){0};
    if (s->failed) return trace_fail(err, TRACE_WRONG_USE, "reading %s has failed before", s->path);
    drop_read(s);
    for (;;) {
        int c = skip_space(s, err);
        if (c < 0 && (s->failed || s->state != DONE)) return cut_off(s, err);
        switch (s->state) {
        case BEFORE:
            if (s->base == 0 && s->at == 0 && s->have >= 3 && memcmp(s->bytes, "\xEF\xBB\xBF", 3) == 0) {
                s->at = 3;
                continue;
            }
            if (c != '{') return damaged(s, s->at, "this is no JSON object", err);
            s->at++;
            s->state = KEY;
            if (skip_space(s, err) == '}') s->at++, s->state = DONE;
            continue;
        case KEY:
            if (c != '"') return damaged(s, s->at, "the name of a section is expected", err);
            if (!read_key(s, err)) return false;
            if ((c = skip_space(s, err)) < 0) return cut_off(s, err);
            if (c != '[') return give(s, false, out, err);
            s->at++;
            if (skip_space(s, err) == ']') s->at++, s->state = AFTER_VALUE;
            else s->state = ARRAY;
            continue;
        case ARRAY: return give(s, true, out, err);
        case AFTER_ELEMENT:
            if (c != ',' && c != ']') return damaged(s, s->at, "',' or ']' is expected", err);
            s->at++;
            s->state = c == ',' ? ARRAY : AFTER_VALUE;
            continue;
        case AFTER_VALUE:
            if (c != ',' && c != '}') return damaged(s, s->at, "',' or '}' is expected", err);
            s->at++;
            s->state = c == ',' ? KEY : DONE;
            continue;
        case DONE:
            if (c >= 0) return damaged(s, s->at, "something follows the end of the object", err);
            return true;
        }
    }
}
