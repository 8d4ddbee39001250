// SPDX-License-Identifier: MIT
// unicode.h: the little of Unicode that Python source needs: which characters form names, which can be printed, the
// NFKC form of a name, characters by name. Tables come from unicode_tables.py. Pure functions; only memory can fail.
#ifndef NKILN_PYTHON_UNICODE_H
#define NKILN_PYTHON_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "python/arena.h"

uint32_t py_utf8_decode(const char *at, int length); // of a well-formed character
int py_utf8_encode(uint32_t code, char *to);         // surrogates as three bytes each; returns the length

bool py_is_name_start(uint32_t code);
bool py_is_name_part(uint32_t code);
bool py_is_printable(uint32_t code);

// NFKC of UTF-8 text in the arena, or NULL when memory runs out.
const char *py_nfkc(struct py_arena *arena, const char *text, size_t length, size_t *result_length);

// Code of the character with this name, -1 when there is none.
int32_t py_character_named(const char *name, size_t length);

#endif
