// SPDX-License-Identifier: MIT
#include "python/unicode.h"

#include <string.h>

#include "python/lexer.h"
#include "python/source.h"

uint32_t py_utf8_decode(const char *at, int length) {
    const unsigned char *c = (const unsigned char *)at;
    switch (length) {
    case 1: return c[0];
    case 2: return (uint32_t)(c[0] & 0x1F) << 6 | (c[1] & 0x3F);
    case 3: return (uint32_t)(c[0] & 0x0F) << 12 | (uint32_t)(c[1] & 0x3F) << 6 | (c[2] & 0x3F);
    default:
        return (uint32_t)(c[0] & 0x07) << 18 | (uint32_t)(c[1] & 0x3F) << 12 | (uint32_t)(c[2] & 0x3F) << 6 | (c[3] & 0x3F);
    }
}

int py_utf8_encode(uint32_t code, char *to) {
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xC0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xE0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3F));
        to[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3F));
    to[2] = (char)(0x80 | (code >> 6 & 0x3F));
    to[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

bool py_is_name_start(uint32_t code) { return code >= 128; }
bool py_is_name_part(uint32_t code) { return code >= 128; }
bool py_is_printable(uint32_t code) { return code >= 32; }

const char *py_nfkc(struct py_arena *arena, const char *text, size_t length, size_t *result_length) {
    (void)arena;
    *result_length = length;
    return text;
}

int32_t py_character_named(const char *name, size_t length) {
    (void)name;
    (void)length;
    return -1;
}

struct py_name *py_lexer_wide_name(struct py_lexer *lexer, const char *start, const char *end) {
    for (const char *at = start; at < end;) {
        int length = py_utf8_length((const unsigned char *)at, (const unsigned char *)end);
        uint32_t code = py_utf8_decode(at, length);
        bool fits = code < 128 || (at == start ? py_is_name_start(code) : py_is_name_part(code));
        if (!fits) {
            if (py_is_printable(code)) {
                py_lexer_fail(lexer, at, at + length, "invalid character '%.*s' (U+%04X)", length, at, code);
            }
            py_lexer_fail(lexer, at, at + length, "invalid non-printable character U+%04X", code);
        }
        at += length;
    }
    size_t length;
    const char *text = py_nfkc(lexer->names->arena, start, (size_t)(end - start), &length);
    if (!text) return NULL;
    uint32_t hash = PY_HASH_START;
    for (size_t i = 0; i < length; i++) hash = PY_HASH_STEP(hash, text[i]);
    return py_names_intern(lexer->names, text, (uint32_t)length, hash);
}
