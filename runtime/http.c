// SPDX-License-Identifier: MIT
#include "http.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// libcurl's interface, as far as it is used [curl.se/libcurl/c]; the numbers are part of its stable ABI.
enum {
    OPT_WRITEDATA = 10001, OPT_URL = 10002, OPT_ERRORBUFFER = 10010, OPT_WRITEFUNCTION = 20011, OPT_POSTFIELDS = 10015,
    OPT_HTTPHEADER = 10023, OPT_CUSTOMREQUEST = 10036, OPT_NOPROGRESS = 43, OPT_POST = 47, OPT_FOLLOWLOCATION = 52,
    OPT_XFERINFODATA = 10057, OPT_NOSIGNAL = 99, OPT_HTTPGET = 80, OPT_TIMEOUT_MS = 155, OPT_CONNECTTIMEOUT_MS = 156,
    OPT_POSTFIELDSIZE_LARGE = 30120, OPT_NOPROXY = 10177, OPT_PROTOCOLS = 181, OPT_XFERINFOFUNCTION = 20219,
    INFO_RESPONSE_CODE = 0x200002,
    E_COULDNT_RESOLVE_HOST = 6, E_COULDNT_CONNECT = 7, E_WRITE_ERROR = 23, E_OPERATION_TIMEDOUT = 28, E_ABORTED_BY_CALLBACK = 42,
    E_UNSUPPORTED_PROTOCOL = 1, E_URL_MALFORMAT = 3,
    PROTO_HTTP = 1, PROTO_HTTPS = 2, GLOBAL_DEFAULT = 3,
};

static struct {
    int (*global_init)(long);
    void *(*easy_init)(void);
    int (*easy_setopt)(void *, int, ...);
    int (*easy_perform)(void *);
    int (*easy_getinfo)(void *, int, ...);
    void (*easy_cleanup)(void *);
    const char *(*easy_strerror)(int);
    void *(*slist_append)(void *, const char *);
    void (*slist_free_all)(void *);
} curl; // filled once; a worker process is one thread

static bool load(char *message, size_t size) {
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"};
    static const char *const symbols[] = {"curl_global_init",  "curl_easy_init",    "curl_easy_setopt",
                                          "curl_easy_perform", "curl_easy_getinfo", "curl_easy_cleanup",
                                          "curl_easy_strerror", "curl_slist_append", "curl_slist_free_all"};
    if (curl.easy_init) return true;
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(message, size, "libcurl is not on this machine");
        return false;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *function = dlsym(library, symbols[i]);
        if (!function) {
            snprintf(message, size, "this libcurl has no %s", symbols[i]);
            memset(&curl, 0, sizeof curl);
            return false;
        }
        memcpy((char *)&curl + i * sizeof function, &function, sizeof function); // the order of the struct
    }
    curl.global_init(GLOBAL_DEFAULT);
    return true;
}

struct transfer {
    struct http_answer *answer;
    size_t limit;
    const volatile sig_atomic_t *interrupt;
    bool too_large;
};

static size_t on_data(char *data, size_t size, size_t count, void *user) {
    struct transfer *t = user;
    size_t bytes = size * count;
    if (t->answer->body.len + bytes > t->limit) {
        t->too_large = true;
        return 0;
    }
    return bytebuf_append(&t->answer->body, data, bytes) ? bytes : 0;
}

static int on_progress(void *user, int64_t a, int64_t b, int64_t c, int64_t d) {
    (void)a, (void)b, (void)c, (void)d;
    const struct transfer *t = user;
    return t->interrupt && *t->interrupt;
}

enum http_result http_perform(const struct http_request *r, struct http_answer *answer) {
    *answer = (struct http_answer){0};
    if (strncmp(r->url, "http://", 7) != 0 && strncmp(r->url, "https://", 8) != 0) {
        snprintf(answer->message, sizeof answer->message, "an address begins with http:// or https://");
        return HTTP_WRONG_USE;
    }
    if (!load(answer->message, sizeof answer->message)) return HTTP_MISSING;
    char words[256] = "";
    struct transfer t = {answer, r->limit ? r->limit : (size_t)64 << 20, r->interrupt, false};
    void *easy = curl.easy_init(), *headers = NULL;
    if (!easy) {
        snprintf(answer->message, sizeof answer->message, "no memory for a request");
        return HTTP_FAILED;
    }
    for (size_t i = 0; r->headers && r->headers[i]; i++) headers = curl.slist_append(headers, r->headers[i]);
    double seconds = r->seconds > 0 ? r->seconds : 60;
    curl.easy_setopt(easy, OPT_URL, r->url);
    curl.easy_setopt(easy, OPT_ERRORBUFFER, words);
    curl.easy_setopt(easy, OPT_NOSIGNAL, 1L);
    curl.easy_setopt(easy, OPT_FOLLOWLOCATION, 0L);
    curl.easy_setopt(easy, OPT_PROTOCOLS, (long)(PROTO_HTTP | PROTO_HTTPS));
    curl.easy_setopt(easy, OPT_NOPROXY, "localhost,127.0.0.1,::1");
    curl.easy_setopt(easy, OPT_TIMEOUT_MS, (long)(seconds * 1000) + 1);
    curl.easy_setopt(easy, OPT_CONNECTTIMEOUT_MS, (long)((seconds < 10 ? seconds : 10) * 1000) + 1);
    curl.easy_setopt(easy, OPT_WRITEFUNCTION, on_data);
    curl.easy_setopt(easy, OPT_WRITEDATA, (void *)&t);
    curl.easy_setopt(easy, OPT_XFERINFOFUNCTION, on_progress);
    curl.easy_setopt(easy, OPT_XFERINFODATA, (void *)&t);
    curl.easy_setopt(easy, OPT_NOPROGRESS, 0L);
    if (headers) curl.easy_setopt(easy, OPT_HTTPHEADER, headers);
    if (r->body) {
        curl.easy_setopt(easy, OPT_POST, 1L);
        curl.easy_setopt(easy, OPT_POSTFIELDSIZE_LARGE, (int64_t)r->body_size);
        curl.easy_setopt(easy, OPT_POSTFIELDS, r->body);
    } else curl.easy_setopt(easy, OPT_HTTPGET, 1L);
    curl.easy_setopt(easy, OPT_CUSTOMREQUEST, r->method);
    int code = curl.easy_perform(easy);
    curl.easy_getinfo(easy, INFO_RESPONSE_CODE, &answer->status);
    curl.easy_cleanup(easy);
    curl.slist_free_all(headers);
    if (code == 0) return HTTP_OK;
    snprintf(answer->message, sizeof answer->message, "%.200s", words[0] ? words : curl.easy_strerror(code));
    for (char *p = answer->message; *p; p++)
        if ((unsigned char)*p < 32) *p = ' ';
    switch (code) {
    case E_COULDNT_RESOLVE_HOST:
    case E_COULDNT_CONNECT: return HTTP_UNREACHABLE;
    case E_OPERATION_TIMEDOUT: return HTTP_TIMEOUT;
    case E_ABORTED_BY_CALLBACK: return HTTP_INTERRUPTED;
    case E_URL_MALFORMAT:
    case E_UNSUPPORTED_PROTOCOL: return HTTP_WRONG_USE;
    case E_WRITE_ERROR: return t.too_large ? HTTP_TOO_LARGE : HTTP_FAILED;
    default: return HTTP_FAILED;
    }
}
