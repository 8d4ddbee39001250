// SPDX-License-Identifier: MIT
#include "python/failure.h"

#include <stdio.h>
#include <string.h>

void py_fail(struct py_failure *failure, enum py_error_type type, struct py_range at, const char *format, ...) {
    failure->status = PY_SYNTAX;
    failure->type = type;
    failure->at = at;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(failure->message, sizeof failure->message, format, args);
    va_end(args);
    if (length >= (int)sizeof failure->message) { // do not end inside a character
        size_t end = sizeof failure->message - 1;
        while (end > 0 && ((unsigned char)failure->message[end - 1] & 0xC0) == 0x80) end--;
        if (end > 0 && (unsigned char)failure->message[end - 1] >= 0xC0) end--;
        failure->message[end] = 0;
    }
    longjmp(*failure->jump, 1);
}

void py_fail_memory(struct py_failure *failure) {
    failure->status = PY_MEMORY;
    longjmp(*failure->jump, 1);
}

// The text of line `lineno`, or NULL past the end.
static const char *find_line(const struct py_tree *tree, uint32_t lineno, size_t *length) {
    if (!tree->source) return NULL;
    const char *line = tree->source, *end = tree->source + tree->source_size;
    for (uint32_t i = 1; i < lineno; i++) {
        line = memchr(line, '\n', end - line);
        if (!line) return NULL;
        line++;
    }
    const char *stop = memchr(line, '\n', end - line);
    *length = (stop ? stop : end) - line;
    return line;
}

static uint32_t count_characters(const char *text, size_t bytes) {
    uint32_t count = 0;
    for (size_t i = 0; i < bytes; i++) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

// Byte column from 0 to character column from 1; a column past the end of the line stays as far past it.
static uint32_t character_column(const char *text, size_t length, uint32_t col) {
    if (!text) return col + 1;
    if (col <= length) return count_characters(text, col) + 1;
    return count_characters(text, length) + (col - (uint32_t)length) + 1;
}

void py_failure_finish(const struct py_failure *failure, struct py_tree *tree) {
    struct py_error *error = &tree->error;
    memset(error, 0, sizeof *error);
    error->type = failure->type;
    memcpy(error->message, failure->message, sizeof error->message);
    const struct py_range at = failure->at;
    error->line = at.lineno;
    error->text = find_line(tree, at.lineno, &error->text_length);
    error->column = character_column(error->text, error->text_length, at.col);
    error->end_line = at.end_lineno;
    size_t length = 0;
    const char *text = at.end_lineno == at.lineno ? error->text : find_line(tree, at.end_lineno, &length);
    if (at.end_lineno == at.lineno) length = error->text_length;
    if (at.end_col == PY_NO_END) {
        error->end_column = character_column(text, length, (uint32_t)length);
    } else {
        error->end_column = character_column(text, length, at.end_col);
    }
}
