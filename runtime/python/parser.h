// SPDX-License-Identifier: MIT
// parser.h: Python source to tree, strict as CPython, in plain C.
//
// `py_parse` accepts the grammar of Python 3.11 to 3.13 and fills a `struct py_tree`, which the caller owns and gives
// back with `py_tree_free`, whatever the outcome. Strings and names of the tree may point into the source, so the
// source must outlive the tree. What can fail: PY_SYNTAX (the source; `error` says where and why, in CPython's words)
// and PY_MEMORY (malloc or the caller's limit). The C stack used is bounded, however deep the source is nested. No Lua,
// no global state.
#ifndef NKILN_PYTHON_PARSER_H
#define NKILN_PYTHON_PARSER_H

#include <stddef.h>
#include <stdint.h>

#include "python/arena.h"
#include "python/ast.h"
#include "python/names.h"

enum py_status { PY_OK, PY_SYNTAX, PY_MEMORY };

enum py_error_type { PY_SYNTAX_ERROR, PY_INDENTATION_ERROR, PY_TAB_ERROR };

struct py_error {
    enum py_error_type type;
    uint32_t line, column;         // from 1; columns count characters
    uint32_t end_line, end_column; // end_column is one past the last character
    const char *text;              // the line, without its newline; NULL when there is none
    size_t text_length;
    char message[512];
};

struct py_tree {
    struct py_arena arena;
    struct py_Module *module;
    struct py_names *names;
    const char *source; // UTF-8 with \n line ends: the caller's text, or a copy in the arena
    size_t source_size;
    struct py_error error; // meaningful after PY_SYNTAX
};

// `memory_limit` bounds the bytes of the whole parse, 0 = none. `source[size]` must be readable and 0 (as Lua strings
// are).
enum py_status py_parse(struct py_tree *tree, const char *source, size_t size, size_t memory_limit);

// What CPython's symbol table and compiler refuse in a tree that parses: names, scopes, flow. Fills `tree->error`.
enum py_status py_check(struct py_tree *tree);

void py_tree_free(struct py_tree *tree);

// A PY_BIGINT's value as decimal digits in the tree's arena; NULL when memory runs out.
const char *py_bigint_decimal(struct py_arena *arena, const struct py_Constant *constant, size_t *length);

#endif
