// SPDX-License-Identifier: MIT
// fetch.h: the result of a query as columns.
//
// The type of a column follows its values: integers, doubles (also when both occur), or text (also when numbers occur
// among texts; blobs count as text). A column without any value has type COLUMN_NONE.
// Who owns what: the caller closes a `struct fetch` with fetch_free, also after a failure. What can fail: the query (its
// deadline included) and memory.
#ifndef NKILN_TRACE_FETCH_H
#define NKILN_TRACE_FETCH_H

#include "db.h"
#include "trace/column.h"
#include "trace/trace.h"

struct fetch {
    int count;
    char **names;
    struct column_builder *columns;
    int64_t rows;
};

// Step a prepared and bound statement to its end. `limit` rows at most (0: all); more is TRACE_NO_MEMORY.
bool fetch_rows(struct db_statement *statement, int64_t limit, struct fetch *out, struct trace_error *err);
void fetch_free(struct fetch *f);

#endif
