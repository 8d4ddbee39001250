// SPDX-License-Identifier: MIT
// sources: runtime/trace/parquet.c runtime/trace/parquet_page.c runtime/trace/parquet_values.c runtime/trace/parquet_list.c
// sources: runtime/trace/parquet_meta.c runtime/trace/parquet_decode.c runtime/trace/thrift.c runtime/trace/codec.c
// sources: runtime/trace/buffer.c runtime/trace/trace.c runtime/trace/column.c runtime/json.c
//
// parquet_fuzz.c: libFuzzer target. Every byte of every column that is given out is touched; a refusal carries one line; a
// file gives as many rows as its footer says, or fails.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/parquet.h"

enum { MOST_ROWS = 300000 };

static void check(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "parquet_fuzz: %s\n", what);
    abort();
}

static uint64_t touched;

static void touch(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) touched += ((const uint8_t *)bytes)[i];
}

static void touch_column(const struct column *c, int64_t rows) {
    check(c->count == rows, "columns of different lengths");
    if (c->valid) touch(c->valid, (size_t)rows);
    touch(c->data, (size_t)rows * column_size(c->type));
    for (int64_t i = 0; i < rows; i++) {
        if (c->type == COLUMN_TEXT) {
            const struct column_text *t = &((const struct column_text *)c->data)[i];
            check(t->bytes || (c->valid && !c->valid[i]), "a text without bytes that is not NULL");
            if (t->bytes) touch(t->bytes, t->length);
        } else if (c->type == COLUMN_CODES) {
            int32_t code = ((const int32_t *)c->data)[i];
            check(code >= -1 && code < c->word_count, "a code outside of its dictionary");
            if (code >= 0) touch(c->words[code].bytes, c->words[code].length);
        }
    }
}

static void check_refusal(const struct trace_error *err) {
    check(err->status != TRACE_OK && err->message[0] && !strchr(err->message, '\n'), "refused without a line that says why");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size) return 0;
    struct trace_error err = {0};
    struct parquet *p;
    if (!parquet_open(&p, path, "/tmp", 0, NULL, &err)) {
        check_refusal(&err);
        return 0;
    }
    const struct parquet_meta *m = parquet_meta_of(p);
    struct column *columns = calloc((size_t)m->leaf_count + 1, sizeof *columns);
    int64_t rows, total = 0;
    bool ok;
    while ((ok = parquet_next(p, columns, &rows, &err)) && rows && total < MOST_ROWS) {
        for (int i = 0; i < m->leaf_count; i++) touch_column(&columns[i], rows);
        total += rows;
    }
    if (!ok) check_refusal(&err);
    else check(total == m->rows || total >= MOST_ROWS, "another number of rows than the footer says");
    free(columns);
    parquet_close(p);
    return 0;
}
