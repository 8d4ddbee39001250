// SPDX-License-Identifier: MIT
// store.h: writes a profile database (SQLite) as one step.
//
// Everything goes to a temporary file beside the target, without a journal: rows of plain tables are written directly
// (bulk.h) until something needs SQLite (a query, an index, a table with keys); then it has the file. store_commit syncs it
// and gives it the target's name. Until then an older database under that name is untouched, whatever happens; a
// temporary left by a killed run is removed by the next store_open beside it. Two runs that write the same target do
// not disturb each other: the later commit stands.
// Who owns what: the caller owns a `struct store *`; store_close releases it, and without a commit nothing is left.
// Columns given to store_append are only read during the call. Memory: SQLite's page cache (STORE_CACHE_BYTES). SQLite
// sorts in files of the target's folder, whatever the system's temporary folder is: one store at a time per process may
// be sorting.
// What can fail: the world (disk, permissions) and wrong use (unknown tables), reported in `struct trace_error`.
#ifndef NKILN_TRACE_STORE_H
#define NKILN_TRACE_STORE_H

#include "trace/fetch.h"

#define STORE_CACHE_BYTES (48 << 20)

struct store;

bool store_open(struct store **out, const char *path, const struct trace_watch *watch, struct trace_error *err);
void store_close(struct store *s); // NULL is fine

// Create a table: its name, the names of its columns, and the CREATE TABLE statement that makes them.
bool store_table(struct store *s, const char *name, const char *const *columns, int count, const char *sql,
                 struct trace_error *err);
int store_find_table(const struct store *s, const char *name);                // -1: none
int store_find_column(const struct store *s, int table, const char *column);  // -1: none; letter case counts
int store_column_count(const struct store *s, int table);
int64_t store_rows(const struct store *s, int table);

// Append `rows` rows; columns[i] belongs to the table's column i (COLUMN_NONE: NULL). NaN becomes NULL.
bool store_append(struct store *s, int table, const struct column *columns, int64_t rows, struct trace_error *err);
// The result of a query over what has been appended so far.
bool store_fetch(struct store *s, const char *sql, int64_t limit, struct fetch *out, struct trace_error *err);
// Run SQL that takes no parameters and gives no rows (indices).
bool store_exec(struct store *s, const char *sql, struct trace_error *err);
bool store_commit(struct store *s, struct trace_error *err);

#endif
