// SPDX-License-Identifier: MIT
// json_stream.h: a JSON object of any size, record by record: { "section": [ record, record, ... ], "other": value, ... }.
//
// Only the bytes of one record are held, at most JSON_RECORD_MAX. A record is found by its brackets and quotes; whether it
// is right JSON inside is for the reader of the record to say. Who owns what: json_stream_close releases a stream; a
// record is good until the next call. What can fail: the file, and what is no such object; the message has the offset.
#ifndef NKILN_TRACE_JSON_STREAM_H
#define NKILN_TRACE_JSON_STREAM_H

#include "trace/trace.h"

#define JSON_RECORD_MAX ((size_t)64 << 20)

struct json_stream;

struct json_record {
    const char *section; // terminated; NULL at the end of the object
    const char *text;    // of the record, not terminated
    size_t size;
    bool element; // one of an array, not the value itself
    int64_t offset; // in the file
};

bool json_stream_open(struct json_stream **out, const char *path, struct trace_error *err);
void json_stream_close(struct json_stream *s); // NULL is fine
bool json_stream_next(struct json_stream *s, struct json_record *out, struct trace_error *err);

#endif
