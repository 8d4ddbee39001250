// SPDX-License-Identifier: MIT
// failure.h: how lexer, parser and checks give up. The entry point sets `jump`; whoever finds an error records it and
// jumps there. All memory is the arena's or the entry point's, so nothing leaks. Columns are byte offsets from 0 here
// and become character columns from 1 at the very end (`py_failure_finish`).
#ifndef NKILN_PYTHON_FAILURE_H
#define NKILN_PYTHON_FAILURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdnoreturn.h>

#include "python/parser.h"

struct py_range {
    uint32_t lineno, col, end_lineno, end_col;
};

#define PY_NO_END UINT32_MAX // an end_col that CPython leaves unset

struct py_failure {
    jmp_buf *jump;
    bool from_lexer; // the lexer is at work
    bool mild;       // an error of the lexer that matters only where the parser meets it
    enum py_status status;
    enum py_error_type type;
    struct py_range at;
    char message[512];
};

noreturn void py_fail(struct py_failure *failure, enum py_error_type type, struct py_range at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
noreturn void py_fail_memory(struct py_failure *failure);

// Copy the failure into `tree->error`: character columns and the text of the line.
void py_failure_finish(const struct py_failure *failure, struct py_tree *tree);

#endif
