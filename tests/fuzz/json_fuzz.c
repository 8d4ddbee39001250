// SPDX-License-Identifier: MIT
// sources: runtime/json.c
// json_fuzz.c: libFuzzer target. Whatever the reader accepts, the writer reproduces: read, write, read again, write
// again, and both texts must be equal. Rejected text must carry a message and a position inside the text.
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "json_fuzz: %s\n", what);
    abort();
}

// Write every event of `text` into `w`; false when the text is malformed.
static bool copy(struct json_writer *w, const char *text, size_t size) {
    struct json_reader r;
    json_reader_init(&r, text, size, 0);
    bool comma = false, good = false;
    for (;;) {
        enum json_event event = json_read(&r);
        if (event == JSON_END || event == JSON_ERROR) {
            good = event == JSON_END;
            break;
        }
        bool end = event == JSON_ARRAY_END || event == JSON_OBJECT_END;
        if (comma && !end) json_put(w, ",", 1);
        comma = true;
        switch (event) {
        case JSON_NULL: json_put(w, "null", 4); break;
        case JSON_TRUE: json_put(w, "true", 4); break;
        case JSON_FALSE: json_put(w, "false", 5); break;
        case JSON_INTEGER: json_put_integer(w, r.integer); break;
        case JSON_FLOAT: json_put_double(w, r.number); break;
        case JSON_BIG: json_put(w, r.string, r.length); break;
        case JSON_STRING: check(json_put_string(w, r.string, r.length, false), "a string came out as invalid UTF-8"); break;
        case JSON_KEY:
            check(json_put_string(w, r.string, r.length, false), "a key came out as invalid UTF-8");
            json_put(w, ":", 1);
            comma = false;
            break;
        case JSON_ARRAY_BEGIN: json_put(w, "[", 1), comma = false; break;
        case JSON_OBJECT_BEGIN: json_put(w, "{", 1), comma = false; break;
        case JSON_ARRAY_END: json_put(w, "]", 1); break;
        default: json_put(w, "}", 1); break;
        }
    }
    if (!good) {
        int64_t line, column;
        check(r.message && r.message[0] && r.error_at <= size, "an error without message or position");
        json_position(text, size, r.error_at, &line, &column);
        check(line >= 1 && column >= 1, "a position before the first character");
        check(json_read(&r) == JSON_ERROR, "reading went on after an error");
    }
    json_reader_free(&r);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size ? size : 1); // an exact copy, so that reading past its end is seen
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    struct json_writer first, second;
    json_writer_init(&first);
    json_writer_init(&second);
    if (copy(&first, text, size)) {
        check(copy(&second, first.data, first.size), "written text was not accepted again");
        check(first.size == second.size && memcmp(first.data, second.data, first.size) == 0, "two round trips differ");
    }
    json_writer_free(&second);
    json_writer_free(&first);
    free(text);
    return 0;
}
