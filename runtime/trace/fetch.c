// SPDX-License-Identifier: MIT
#include "trace/fetch.h"

#include <stdlib.h>
#include <string.h>

static bool add_value(struct column_builder *b, sqlite3_stmt *stmt, int i) {
    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER: return column_builder_integer(b, sqlite3_column_int64(stmt, i));
    case SQLITE_FLOAT: return column_builder_double(b, sqlite3_column_double(stmt, i));
    case SQLITE_NULL: return column_builder_null(b);
    default: {
        const char *bytes = sqlite3_column_blob(stmt, i);
        return column_builder_text(b, bytes ? bytes : "", (size_t)sqlite3_column_bytes(stmt, i));
    }
    }
}

bool fetch_rows(struct db_statement *s, int64_t limit, struct fetch *out, struct trace_error *err) {
    *out = (struct fetch){.count = sqlite3_column_count(s->stmt)};
    out->columns = calloc((size_t)out->count + 1, sizeof *out->columns);
    out->names = calloc((size_t)out->count + 1, sizeof *out->names);
    if (!out->columns || !out->names) return trace_fail(err, TRACE_NO_MEMORY, "out of memory");
    for (int i = 0; i < out->count; i++) {
        const char *name = sqlite3_column_name(s->stmt, i);
        out->names[i] = name ? strdup(name) : NULL;
        if (!out->names[i]) return trace_fail(err, TRACE_NO_MEMORY, "out of memory");
    }
    int result;
    db_start(s->db);
    while ((result = db_step(s)) == SQLITE_ROW) {
        if (limit && out->rows == limit)
            return trace_fail(err, TRACE_NO_MEMORY, "the query gives more than %lld rows", (long long)limit);
        for (int i = 0; i < out->count; i++)
            if (!add_value(&out->columns[i], s->stmt, i))
                return trace_fail(err, TRACE_NO_MEMORY, "out of memory after %lld rows of a query", (long long)out->rows);
        out->rows++;
    }
    if (result == SQLITE_DONE) return true;
    enum trace_status status = TRACE_SQL;
    switch (result & 0xFF) {
    case SQLITE_INTERRUPT: status = s->db->timed_out ? TRACE_TIMEOUT : TRACE_INTERRUPTED; break;
    case SQLITE_BUSY: status = TRACE_BUSY; break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: status = TRACE_BAD_DATA; break;
    case SQLITE_IOERR: status = TRACE_IO; break;
    case SQLITE_NOMEM: status = TRACE_NO_MEMORY; break;
    }
    return trace_fail(err, status, "SQL: %s", db_words(s->db, result));
}

void fetch_free(struct fetch *f) {
    for (int i = 0; f->columns && i < f->count; i++) column_builder_free(&f->columns[i]);
    for (int i = 0; f->names && i < f->count; i++) free(f->names[i]);
    free(f->names);
    free(f->columns);
    *f = (struct fetch){0};
}
