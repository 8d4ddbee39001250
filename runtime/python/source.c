// SPDX-License-Identifier: MIT
#include "python/source.h"

#include <stdbool.h>
#include <string.h>

enum encoding { UTF8, ASCII, LATIN1 };

int py_utf8_length(const unsigned char *at, const unsigned char *end) {
    if (at >= end) return 0;
    if (*at < 0x80) return 1;
    int length = *at >= 0xF0 ? 4 : *at >= 0xE0 ? 3 : 2;
    if (*at < 0xC2 || *at > 0xF4 || end - at < length) return 0;
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) return 0;
    }
    if (*at == 0xE0 && at[1] < 0xA0) return 0; // overlong
    if (*at == 0xED && at[1] > 0x9F) return 0; // surrogate
    if (*at == 0xF0 && at[1] < 0x90) return 0; // overlong
    if (*at == 0xF4 && at[1] > 0x8F) return 0; // past U+10FFFF
    return length;
}

static uint32_t line_of(const char *text, const char *at) {
    uint32_t line = 1;
    for (const char *c = text; (c = memchr(c, '\n', at - c)); c++) line++;
    return line;
}

// The name in a `coding:` comment of this line, lower case with - for _, or "" when there is none.
// `*blank` tells whether the next line may hold one.
static void find_cookie(const char *line, const char *end, char name[32], bool *blank) {
    *name = 0;
    while (line < end && (*line == ' ' || *line == '\t' || *line == '\f')) line++;
    *blank = line == end || *line == '#' || *line == '\r';
    if (line == end || *line != '#') return;
    for (; end - line > 7; line++) {
        if (memcmp(line, "coding", 6) != 0 || (line[6] != ':' && line[6] != '=')) continue;
        line += 7;
        while (line < end && (*line == ' ' || *line == '\t')) line++;
        size_t length = 0;
        for (; line < end && length < 31; line++) {
            char c = *line;
            if (c >= 'A' && c <= 'Z') c |= 32;
            if (c == '_') c = '-';
            bool part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
            if (!part) break;
            name[length++] = c;
        }
        name[length] = 0;
        return;
    }
}

static bool is_one_of(const char *name, const char *const *list) {
    for (; *list; list++) {
        size_t length = strlen(*list);
        if (strncmp(name, *list, length) == 0 && (name[length] == 0 || name[length] == '-')) return true;
    }
    return false;
}

static enum encoding find_encoding(const char *text, size_t size, bool marked, bool *declared,
                                   struct py_failure *failure) {
    static const char *const utf8[] = {"utf-8", "utf8", "u8", "utf", NULL};
    static const char *const latin1[] = {"latin-1",   "iso-8859-1", "iso-latin-1", "latin1",
                                         "iso8859-1", "l1",         "8859",        NULL};
    static const char *const ascii[] = {"ascii", "us-ascii", "646", "ansi-x3.4-1968", NULL};
    const char *end = text + size, *line = text;
    *declared = marked;
    for (uint32_t number = 1; number <= 2 && line < end; number++) {
        const char *stop = memchr(line, '\n', end - line);
        if (!stop) stop = end;
        char name[32];
        bool blank;
        find_cookie(line, stop, name, &blank);
        if (*name) {
            *declared = true;
            struct py_range at = {number, 0, number, PY_NO_END};
            if (!marked && is_one_of(name, utf8)) return UTF8;
            if (marked) {
                if (strcmp(name, "utf-8") == 0 || strncmp(name, "utf-8-", 6) == 0) return UTF8;
                py_fail(failure, PY_SYNTAX_ERROR, at,
                        "encoding problem: %s with BOM; remove the byte order mark or declare utf-8", name);
            }
            if (is_one_of(name, latin1)) return LATIN1;
            if (is_one_of(name, ascii)) return ASCII;
            py_fail(failure, PY_SYNTAX_ERROR, at, "unknown encoding: %s; save the file as UTF-8", name);
        }
        if (!blank) break;
        line = stop + 1;
    }
    return UTF8;
}

// First byte that is not of the encoding, or NULL.
static const char *find_bad_byte(const char *text, const char *end, enum encoding encoding, bool *ascii) {
    *ascii = true;
    const char *at = text;
    while (at < end) {
        uint64_t word;
        if (end - at >= 8) { // eight bytes at a time while they are ASCII
            memcpy(&word, at, 8);
            if (!(word & 0x8080808080808080u)) {
                at += 8;
                continue;
            }
        }
        if ((unsigned char)*at < 0x80) {
            at++;
            continue;
        }
        *ascii = false;
        if (encoding == ASCII) return at;
        if (encoding == LATIN1) return NULL;
        int length = py_utf8_length((const unsigned char *)at, (const unsigned char *)end);
        if (!length) return at;
        at += length;
    }
    return NULL;
}

void py_source_prepare(struct py_tree *tree, const char *bytes, size_t size, struct py_failure *failure) {
    static const char mark[] = "\xEF\xBB\xBF";
    struct py_range top = {1, 0, 1, PY_NO_END};
    if (size > INT32_MAX - 64) py_fail(failure, PY_SYNTAX_ERROR, top, "source of 2 GB or more");
    bool marked = size >= 3 && memcmp(bytes, mark, 3) == 0;
    if (marked) bytes += 3, size -= 3;
    const char *end = bytes + size;
    const char *nul = memchr(bytes, 0, size);
    if (nul) {
        uint32_t line = line_of(bytes, nul);
        struct py_range at = {line, 0, line, PY_NO_END};
        py_fail(failure, PY_SYNTAX_ERROR, at, "source code cannot contain null bytes");
    }
    bool declared, ascii;
    enum encoding encoding = find_encoding(bytes, size, marked, &declared, failure);
    const char *bad = find_bad_byte(bytes, end, encoding, &ascii);
    if (bad) {
        uint32_t line = line_of(bytes, bad);
        struct py_range at = {line, 0, line, PY_NO_END};
        unsigned byte = (unsigned char)*bad;
        if (encoding == ASCII) {
            py_fail(failure, PY_SYNTAX_ERROR, at,
                    "byte 0x%02x on line %u is not of the declared encoding ascii; save the file as UTF-8", byte, line);
        }
        if (declared) {
            py_fail(failure, PY_SYNTAX_ERROR, at, "byte 0x%02x on line %u is not valid UTF-8; save the file as UTF-8",
                    byte, line);
        }
        py_fail(failure, PY_SYNTAX_ERROR, at,
                "Non-UTF-8 code starting with '\\x%02x' on line %u, but no encoding declared; "
                "save the file as UTF-8 or begin it with a line such as '# -*- coding: latin-1 -*-'",
                byte, line);
    }
    bool widen = encoding == LATIN1 && !ascii;
    if (!widen && !memchr(bytes, '\r', size)) {
        tree->source = bytes;
        tree->source_size = size;
        return;
    }
    char *copy = py_arena_alloc(&tree->arena, (widen ? 2 * size : size) + 1), *to = copy;
    if (!copy) py_fail_memory(failure);
    for (const char *at = bytes; at < end; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '\r') {
            *to++ = '\n';
            if (at + 1 < end && at[1] == '\n') at++;
        } else if (widen && c >= 0x80) {
            *to++ = (char)(0xC0 | c >> 6);
            *to++ = (char)(0x80 | (c & 0x3F));
        } else {
            *to++ = (char)c;
        }
    }
    *to = 0;
    tree->source = copy;
    tree->source_size = (size_t)(to - copy);
}
