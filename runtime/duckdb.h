// SPDX-License-Identifier: MIT
// duckdb.h: DuckDB, when its library is on this machine: opened with dlopen, asked one question, shut.
//
// A `struct duckdb` is an in-memory database that may read files of the granted folders and nothing else: no extensions, no
// network, no other file, and its settings are locked before any SQL of a user runs. Zeroed is closed; closing twice is fine.
// Values come as integers, floats or text, nested types as text. What can fail: loading the library, opening, a query; false
// with a message of one line. It computes with threads of its own, so it belongs in a worker process.
#ifndef NKILN_DUCKDB_H
#define NKILN_DUCKDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct duckdb_functions;

struct duckdb {
    void *library, *database, *connection;
    struct duckdb_functions *call;
};

struct duckdb_error {
    bool missing; // the library is not here
    char message[400];
};

struct duckdb_value {
    enum { DUCKDB_NULL, DUCKDB_INT, DUCKDB_REAL, DUCKDB_TEXT } kind;
    int64_t i;
    double f;
    const char *text; // until the next value
};

// Called for each row; false stops. `columns` on the first call with row -1 gives the names in text.
typedef bool (*duckdb_row)(void *user, int64_t row, int columns, const struct duckdb_value *values);

// `path` is the library; NULL or "" looks where the system's libraries are. `folders` ends with NULL.
bool duckdb_open(struct duckdb *d, const char *path, const char *const *folders, size_t memory, struct duckdb_error *err);
// Run one statement, `row` for each of its rows (may be NULL).
bool duckdb_query(struct duckdb *d, const char *sql, duckdb_row row, void *user, struct duckdb_error *err);
void duckdb_close(struct duckdb *d);

#endif
