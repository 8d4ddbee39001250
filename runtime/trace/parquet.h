// SPDX-License-Identifier: MIT
// parquet.h: reads a Parquet file as batches of columns, page by page.
//
// Encodings, codecs and page versions: see parquet_decode.h and codec.h. Numbers stay what they are; unsigned 64-bit
// integers are COLUMN_UINT64; times and INT96 become nanoseconds (integers that do not fit are cut to the limits of
// int64), dates "YYYY-MM-DD", decimals REAL (integers where they have no fraction and at most 18 digits), UUIDs and
// other fixed bytes text, lists JSON text.
// Memory: one page and one dictionary per column, PARQUET_MEMORY bytes in all; beyond that pages lie in nameless files
// (buffer.h), of which only what the current rows touch is in memory, and the page that is being decompressed. To that
// come a few thousand decoded rows. Who owns what: parquet_close releases a reader; columns given out are good until the next
// call. What can fail: every length and offset of the file is checked; one line names file, column, page and offset.
#ifndef NKILN_TRACE_PARQUET_H
#define NKILN_TRACE_PARQUET_H

#include "trace/parquet_meta.h"

#define PARQUET_MEMORY ((size_t)96 << 20)

struct parquet;

// `folder` is for nameless files of pages too large for `memory` bytes (NULL: /var/tmp; 0: PARQUET_MEMORY); it must outlive
// the reader.
bool parquet_open(struct parquet **out, const char *path, const char *folder, size_t memory, const struct trace_watch *watch,
                  struct trace_error *err);
void parquet_close(struct parquet *p); // NULL is fine
const struct parquet_meta *parquet_meta_of(const struct parquet *p);

// Read only the leaves whose flag is set; before the first batch.
void parquet_select(struct parquet *p, const bool *wanted);

// The next rows of all leaves: columns[i] is leaf i (COLUMN_NONE when not selected). *rows is 0 at the end.
bool parquet_next(struct parquet *p, struct column *columns, int64_t *rows, struct trace_error *err);

#endif
