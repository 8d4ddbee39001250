// SPDX-License-Identifier: MIT
// json.h: exact JSON (RFC 8259), without Lua.
//
// The reader is a pull parser over text that the caller keeps alive: each json_read() returns the next event, and the
// reader's fields hold its value. It is strict: valid UTF-8 only, no lone surrogates, no trailing garbage, no nesting
// past `max_depth`. Integers that fit int64 stay integers; longer ones are handed over as their literal. A leading
// byte order mark is skipped. The writer appends to one growing buffer.
// The reader owns a scratch buffer for strings with escapes, the writer its output; both are released by their *_free.
// What can fail: malformed text (JSON_ERROR, with message and position) and memory (JSON_ERROR with message
// "out of memory"; the writer's `failed` flag).
#ifndef NKILN_JSON_H
#define NKILN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 1024
#define JSON_DEPTH_DEFAULT 512

enum json_event {
    JSON_ERROR = -1,
    JSON_END, // the document is complete and nothing but white space follows
    JSON_NULL,
    JSON_TRUE,
    JSON_FALSE,
    JSON_INTEGER, // integer
    JSON_FLOAT,   // number
    JSON_BIG,     // string, length: the digits of an integer outside int64
    JSON_STRING,  // string, length: decoded UTF-8, may hold NUL bytes
    JSON_KEY,     // string, length; the next event begins its value
    JSON_ARRAY_BEGIN,
    JSON_ARRAY_END,
    JSON_OBJECT_BEGIN,
    JSON_OBJECT_END,
};

struct json_reader {
    const char *text;
    size_t size, at;
    int depth, max_depth;
    int expect;                                      // private: what the grammar allows next
    unsigned char is_object[(JSON_DEPTH_MAX + 7) / 8]; // private: kind of each open container
    char *scratch;
    size_t scratch_size;
    size_t token; // where the last event began

    const char *string; // valid until the next json_read
    size_t length;
    int64_t integer;
    double number;

    const char *message; // of JSON_ERROR, a static string
    size_t error_at;     // byte offset of the error
};

// max_depth 0 means JSON_DEPTH_DEFAULT; larger than JSON_DEPTH_MAX is cut to it.
void json_reader_init(struct json_reader *r, const char *text, size_t size, int max_depth);
enum json_event json_read(struct json_reader *r);
void json_reader_free(struct json_reader *r);

// Line and column (both from 1, columns in characters) of a byte offset.
void json_position(const char *text, size_t size, size_t offset, int64_t *line, int64_t *column);

// Length of the longest prefix that is valid UTF-8 (no surrogates, no overlong forms); `size` when all of it is.
size_t json_utf8_prefix(const char *text, size_t size);

struct json_writer {
    char *data;
    size_t size, capacity;
    bool failed; // memory ran out; everything after is ignored
};

void json_writer_init(struct json_writer *w);
void json_writer_free(struct json_writer *w);
void json_put(struct json_writer *w, const char *bytes, size_t size); // as they are
void json_put_integer(struct json_writer *w, int64_t value);
// The shortest digits that read back as the same double, always with a '.' or an exponent. The value must be finite.
void json_put_double(struct json_writer *w, double value);
// A quoted string. Invalid UTF-8: false is returned and nothing written, unless `replace`, which puts U+FFFD.
bool json_put_string(struct json_writer *w, const char *text, size_t size, bool replace);

#endif
