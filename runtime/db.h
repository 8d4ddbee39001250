// SPDX-License-Identifier: MIT
// db.h: SQLite, opened the same way everywhere. Plain C.
//
// A `struct db` is one connection: write-ahead log, foreign keys on, no extensions, no other file reachable from SQL
// (ATTACH and VACUUM INTO are refused unless asked for), a bounded wait where another process holds the lock, and
// statements that stop at an interrupt or a deadline. A `struct db_statement` is a prepared statement; the connection
// keeps a list of them and finalizes what is left when it closes, so closing in any order is fine.
// Who owns what: the caller owns the memory of both structs; db_close and db_finalize release what is inside, and may be
// called again. What can fail: opening, preparing and stepping, with a SQLite result code; db_code() and db_words() turn
// it into the code and the words a script sees.
#ifndef NKILN_DB_H
#define NKILN_DB_H

#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>

struct db_statement {
    sqlite3_stmt *stmt; // NULL when finalized
    struct db *db;
    struct db_statement *next, **previous;
};

struct db {
    sqlite3 *handle; // NULL when closed
    struct db_statement *statements;
    const volatile sig_atomic_t *interrupt; // NULL, or a flag that stops the running statement
    double busy_seconds;                    // how long to wait for another process's lock
    double seconds;                         // time one statement may take, 0 = any
    double deadline;                        // of the running statement, monotonic seconds, 0 = none
    double busy_until;
    bool timed_out, attach;
};

struct db_options {
    bool read_only, create, attach;
    double busy_seconds, seconds;
    const volatile sig_atomic_t *interrupt;
};

int db_open(struct db *db, const char *path, const struct db_options *options);
void db_close(struct db *db);

// Prepare the first statement of `sql`. *tail points after it. An empty statement (white space, a comment) gives
// SQLITE_OK with statement->stmt == NULL.
int db_prepare(struct db *db, const char *sql, int size, struct db_statement *statement, const char **tail);
// Begin counting time; call it before the first db_step of an execution.
void db_start(struct db *db);
int db_step(struct db_statement *statement);
void db_finalize(struct db_statement *statement);

const char *db_code(const struct db *db, int result);
const char *db_words(const struct db *db, int result);

#endif
