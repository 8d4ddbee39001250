// SPDX-License-Identifier: MIT
// buffer.h: large pieces of memory under one limit. What would pass the limit lives in a nameless file instead, mapped:
// the system may write it out and take the memory back, so a file with huge pages is read slowly, not refused.
//
// A zeroed `struct buffer` is empty. buffer_reserve does not keep the contents. What can fail: memory, and disk space.
#ifndef NKILN_TRACE_BUFFER_H
#define NKILN_TRACE_BUFFER_H

#include "trace/trace.h"

struct buffer_budget {
    size_t used, limit; // bytes
    const char *folder; // of nameless files; NULL: /var/tmp
};

struct buffer {
    uint8_t *bytes;
    size_t room;
    bool mapped;
};

// At least `size` bytes. A buffer much larger than that is given back first.
bool buffer_reserve(struct buffer *b, size_t size, struct buffer_budget *budget, struct trace_error *err);
// The contents are not needed in memory now (mapped ones only; they stay readable).
void buffer_rest(struct buffer *b);
void buffer_free(struct buffer *b, struct buffer_budget *budget);

#endif
