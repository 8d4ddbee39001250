// SPDX-License-Identifier: MIT
// analyse_load.h: a whole table of a database into columns, by several threads where it is large.
//
// Each thread has a connection of its own to the same file and reads its share of the rowids; the shares are put together in
// the order of the rows. Reading a row costs a microsecond, most of it inside SQLite, so this is where the time of an analysis
// of millions of rows goes. The caller's thread waits. What can fail: as analyse_table_load, and opening the file again.
#ifndef NKILN_TRACE_ANALYSE_LOAD_H
#define NKILN_TRACE_ANALYSE_LOAD_H

#include "db.h"
#include "trace/analyse.h"

// Fill an empty table with "SELECT `list` FROM `table`". *result becomes SQLite's code (SQLITE_DONE when all is well); where
// that is another one, `words` (200 bytes) says why. False: a failure of ours, in err.
bool analyse_load_table(struct db *db, const char *list, const char *table, struct analyse_table *out, int *result, char *words,
                        struct analyse_error *err);

#endif
