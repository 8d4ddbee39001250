// SPDX-License-Identifier: MIT
// bulk.h: writes the tables of a new SQLite database directly, page after page, several times faster than INSERT.
// Source: "Database File Format" of the SQLite documentation (sqlite.org/fileformat2.html).
//
// Only what is needed for a fresh file: rowid tables without constraints, rows in order, no free pages, no indices (SQLite
// makes them afterwards, and everything else).
// Who owns what: the caller owns the descriptor; bulk_close releases the rest. Memory: a page per table, 12 bytes per page
// written, and one row. What can fail: disk and memory.
#ifndef NKILN_TRACE_BULK_H
#define NKILN_TRACE_BULK_H

#include "trace/record.h"
#include "trace/trace.h"

enum { BULK_PAGE = 8192 };

struct bulk;

// `path` is for messages. The file is empty.
struct bulk *bulk_open(int fd, const char *path); // NULL: out of memory
void bulk_close(struct bulk *b);                  // NULL is fine
// `sql` is the CREATE TABLE statement as SQLite would keep it. Gives the table's number, -1 without memory.
int bulk_table(struct bulk *b, const char *name, const char *sql, const enum bulk_affinity *affinities, int count);
bool bulk_append(struct bulk *b, int table, const struct column *columns, int64_t rows, struct trace_error *err);
// Write what is left and the schema. After this the file is a database.
bool bulk_finish(struct bulk *b, struct trace_error *err);

#endif
