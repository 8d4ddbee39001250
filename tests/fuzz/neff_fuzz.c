// SPDX-License-Identifier: MIT
// sources: runtime/trace/neff.c runtime/trace/codec.c runtime/trace/json_stream.c runtime/trace/trace.c runtime/json.c
//
// neff_fuzz.c: libFuzzer target for the two readers that walk over a file of any size: a NEFF with its archive, and a JSON
// object record by record. The header's sizes are set right, so that the archive is reached. What is given out is touched; a
// refusal carries one line; a record that is right JSON is read whole.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "json.h"
#include "trace/json_stream.h"
#include "trace/neff.h"

static void check(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "neff_fuzz: %s\n", what);
    abort();
}

static void check_refusal(const struct trace_error *err) {
    check(err->status != TRACE_OK && err->message[0] && !strchr(err->message, '\n'), "refused without a line that says why");
}

static char path[64];

static bool put(const void *head, size_t head_size, const void *data, size_t size) {
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    return ftruncate(fd, 0) == 0 && pwrite(fd, head, head_size, 0) == (ssize_t)head_size &&
           pwrite(fd, data, size, (off_t)head_size) == (ssize_t)size;
}

static void try_neff(void) {
    struct neff n;
    struct trace_error err = {0};
    if (!neff_read(&n, path, true, NULL, &err)) {
        check_refusal(&err);
        return;
    }
    size_t length = 0;
    for (int i = 0; i < n.count; i++) length += strlen(n.members[i].name) + (n.members[i].size >= 0);
    check(length >= (size_t)n.count, "a member without a size");
    neff_free(&n);
}

static void try_json(void) {
    struct json_stream *s;
    struct trace_error err = {0};
    if (!json_stream_open(&s, path, &err)) return;
    struct json_record record;
    bool ok;
    while ((ok = json_stream_next(s, &record, &err)) && record.section) {
        struct json_reader r;
        json_reader_init(&r, record.text, record.size, 0);
        enum json_event event;
        while ((event = json_read(&r)) > JSON_END) continue;
        check(event == JSON_END || r.message, "damaged without a reason");
        json_reader_free(&r);
        check(strlen(record.section) < 256, "the name of a section is too long");
    }
    if (!ok) check_refusal(&err);
    json_stream_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (put("", 0, data, size)) {
        try_json();
        try_neff();
    }
    uint8_t header[NEFF_HEADER] = {0};
    uint64_t words[3] = {2, NEFF_HEADER, size};
    memcpy(header, words, sizeof words);
    if (put(header, sizeof header, data, size)) try_neff();
    return 0;
}
