// SPDX-License-Identifier: MIT
// trace.h: what the readers and writers of profile files share: how they fail, and how they are watched and stopped.
//
// Nothing in this folder knows Lua (the binding trace_lua.c apart) or arrays. A function that can fail returns false
// and fills `struct trace_error`: one line that says what, where and what to do.
#ifndef NKILN_TRACE_TRACE_H
#define NKILN_TRACE_TRACE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum trace_status {
    TRACE_OK,
    TRACE_WRONG_USE,   // a mistake of the caller
    TRACE_BAD_DATA,    // a file that is damaged, cut off or not what it should be
    TRACE_UNSUPPORTED, // a file that is right as far as can be seen, but uses what is not known here
    TRACE_MISSING,     // a library is needed that is not here
    TRACE_NOT_FOUND,   // no such file
    TRACE_IO,
    TRACE_NO_SPACE,
    TRACE_NO_MEMORY, // memory ran out, or a limit would be passed
    TRACE_BUSY,      // another process uses the database
    TRACE_SQL,
    TRACE_TIMEOUT,
    TRACE_INTERRUPTED,
};

struct trace_error {
    enum trace_status status;
    char message[700];
};

// Fills *err and returns false.
bool trace_fail(struct trace_error *err, enum trace_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// The same for errno.
bool trace_fail_errno(struct trace_error *err, int error, const char *what, const char *path);
// "bad_data" and so on, for scripts.
const char *trace_code(enum trace_status status);

// Looked at every few thousand rows; any member may be NULL.
struct trace_watch {
    const volatile sig_atomic_t *interrupt;
    void (*progress)(void *user, const char *table, int64_t rows);
    void *user;
};

static inline bool trace_stopped(const struct trace_watch *watch) {
    return watch && watch->interrupt && *watch->interrupt;
}

#endif
