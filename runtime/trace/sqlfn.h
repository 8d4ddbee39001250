// SPDX-License-Identifier: MIT
// sqlfn.h: SQL functions that queries of profiles use and SQLite lacks, with DuckDB's meaning, because neuron-explorer
// answers its profiles' SQL with DuckDB and published queries are written for it.
//
// Aggregates over numbers and text, usable as window functions where a frame may move:
//   median quantile quantile_disc quantile_cont approx_quantile mode list array_agg string_agg approx_count_distinct count_if
// Aggregates, and windows over a whole partition or a frame that only grows:
//   any_value first last arg_max max_by arg_min min_by bool_and bool_or product stddev stddev_samp stddev_pop variance
//   var_samp var_pop
// Scalars:
//   greatest least ilike(as the operator MATCH) starts_with ends_with suffix prefix contains strpos split_part parse_filename
//   concat concat_ws left right regexp_matches regexp_extract if, and the mathematics that SQLite may be built without
//   matmul_k(operands) matmul_m matmul_n (integers or NULL) matmul_dtype (text or NULL), and matmul_tile, the three numbers in
//   one: k << 40 | m << 20 | n, each at most 2^20 - 1, for whoever wants them of millions of rows
// NULL is left out of every aggregate, as in DuckDB. list() gives JSON text, because SQLite has no lists. The buffered
// ones keep their group's values, counted against SQLite's own limits; a lack of memory is SQLITE_NOMEM.
#ifndef NKILN_TRACE_SQLFN_H
#define NKILN_TRACE_SQLFN_H

#include <sqlite3.h>

// Register all of them on a connection: SQLITE_OK, or SQLite's code.
int sqlfn_register(sqlite3 *db);

#endif
