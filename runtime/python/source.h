// SPDX-License-Identifier: MIT
// source.h: the bytes of a Python file to the text the lexer reads: byte order mark and encoding cookie obeyed, UTF-8
// verified, \r\n and \r made \n. Uses the caller's bytes where nothing changes and the arena otherwise. Fails (through
// the failure's jump) on NUL bytes, bytes that are not of the declared encoding, encodings other than UTF-8, ASCII and
// Latin-1, and sources of 2 GB and more.
#ifndef NKILN_PYTHON_SOURCE_H
#define NKILN_PYTHON_SOURCE_H

#include "python/failure.h"

// Sets tree->source and tree->source_size.
void py_source_prepare(struct py_tree *tree, const char *bytes, size_t size, struct py_failure *failure);

// Length of the well-formed UTF-8 character at `at`, 0 when there is none.
int py_utf8_length(const unsigned char *at, const unsigned char *end);

#endif
