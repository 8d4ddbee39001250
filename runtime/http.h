// SPDX-License-Identifier: MIT
// http.h: one HTTP request with libcurl, which is loaded when the first is made (dlopen), so that nothing depends on it.
//
// http_perform blocks until the answer is complete, its limits are reached, or the flag `interrupt` is set: for worker
// processes, never for the host. Only http and https; redirects are not followed; no proxy for the machine itself; no
// credentials from files. What can fail: no libcurl (HTTP_MISSING), no connection, the deadline, an answer larger than its
// limit. A status of 400 and above is an answer, not a failure.
#ifndef NKILN_HTTP_H
#define NKILN_HTTP_H

#include <signal.h>
#include <stddef.h>

#include "bytebuf.h"

enum http_result { HTTP_OK, HTTP_MISSING, HTTP_WRONG_USE, HTTP_UNREACHABLE, HTTP_TIMEOUT, HTTP_TOO_LARGE, HTTP_INTERRUPTED, HTTP_FAILED };

struct http_request {
    const char *method, *url;    // GET, POST ...
    const char *const *headers;  // "Name: value", ends with NULL; or NULL
    const char *body;            // NULL: none
    size_t body_size;
    double seconds;              // for all of it; 0: 60
    size_t limit;                // bytes of the answer; 0: 64 MiB
    const volatile sig_atomic_t *interrupt;
};

struct http_answer {
    long status;
    struct bytebuf body; // the caller frees it
    char message[256];   // why it failed, one line
};

enum http_result http_perform(const struct http_request *request, struct http_answer *answer);

#endif
