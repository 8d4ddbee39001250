// SPDX-License-Identifier: MIT
#include "trace/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool trace_fail(struct trace_error *err, enum trace_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    err->status = status;
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    for (char *p = err->message; *p; p++) // names come from files: a line stays a line
        if ((unsigned char)*p < ' ' || *p == 127) *p = '?';
    return false;
}

bool trace_fail_errno(struct trace_error *err, int error, const char *what, const char *path) {
    enum trace_status status = error == ENOENT || error == ENOTDIR    ? TRACE_NOT_FOUND
                               : error == ENOSPC || error == EDQUOT || error == EFBIG ? TRACE_NO_SPACE
                               : error == ENOMEM                      ? TRACE_NO_MEMORY
                                                                      : TRACE_IO;
    return trace_fail(err, status, "%s %s: %s", what, path, strerror(error));
}

const char *trace_code(enum trace_status status) {
    static const char *const names[] = {
        [TRACE_OK] = "ok",
        [TRACE_WRONG_USE] = "wrong_use",
        [TRACE_BAD_DATA] = "bad_data",
        [TRACE_UNSUPPORTED] = "unsupported",
        [TRACE_MISSING] = "missing",
        [TRACE_NOT_FOUND] = "not_found",
        [TRACE_IO] = "io",
        [TRACE_NO_SPACE] = "no_space",
        [TRACE_NO_MEMORY] = "no_memory",
        [TRACE_BUSY] = "busy",
        [TRACE_SQL] = "sql",
        [TRACE_TIMEOUT] = "timeout",
        [TRACE_INTERRUPTED] = "interrupted",
    };
    return names[status];
}
