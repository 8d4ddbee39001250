// SPDX-License-Identifier: MIT
#include "db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define PROGRESS_STEPS 2000 // virtual machine instructions between two looks at the clock: well under a millisecond

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool stopped(struct db *db) {
    if (db->interrupt && *db->interrupt) return true;
    if (db->deadline > 0 && now() > db->deadline) return db->timed_out = true;
    return false;
}

static int on_progress(void *user) { return stopped(user); }

static int on_busy(void *user, int tries) {
    struct db *db = user;
    double t = now();
    if (tries == 0) db->busy_until = t + db->busy_seconds;
    if (stopped(db) || t >= db->busy_until) return 0;
    long wait = tries < 5 ? 1000000L << tries : 25000000L; // 1, 2, 4 ... 25 ms
    nanosleep(&(struct timespec){0, wait}, NULL);
    return 1;
}

// SQL given by a script reaches the one file it was opened with. VACUUM attaches a nameless file and is left alone.
static int on_authorize(void *user, int action, const char *name, const char *b, const char *c, const char *d) {
    (void)b, (void)c, (void)d;
    const struct db *db = user;
    if (action == SQLITE_ATTACH && !db->attach && (!name || (name[0] && strcmp(name, ":memory:") != 0)))
        return SQLITE_DENY;
    return SQLITE_OK;
}

static int configure(struct db *db, const struct db_options *o) {
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_handler(db->handle, on_busy, db);
    sqlite3_progress_handler(db->handle, PROGRESS_STEPS, on_progress, db);
    sqlite3_set_authorizer(db->handle, on_authorize, db);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    // Processes that switch a new file to the write-ahead log at once are told "busy" by SQLite without its busy
    // handler being asked (it could deadlock, sqlite3_busy_handler's page says), and so is one that opens while another
    // recovers or closes the log. Nothing is held here, so waiting and trying again is safe.
    int result, tries = 0;
    do {
        result = sqlite3_exec(db->handle, "PRAGMA schema_version; PRAGMA foreign_keys = on; PRAGMA temp_store = memory", NULL, NULL,
                              NULL); // reads the header
        if (result == SQLITE_OK && !o->read_only)
            result =
                sqlite3_exec(db->handle, "PRAGMA journal_mode = wal; PRAGMA synchronous = normal", NULL, NULL, NULL);
    } while ((result & 0xFF) == SQLITE_BUSY && on_busy(db, tries++));
    return result;
}

// Sorting needs room, and a confined process has no folder for temporary files: they stay in memory, within a limit.
#define HEAP_LIMIT ((sqlite3_int64)4 << 30)

static int open_handle(struct db *db, const char *name, int flags, const struct db_options *o) {
    sqlite3_hard_heap_limit64(HEAP_LIMIT);
    int result = sqlite3_open_v2(name, &db->handle, flags, NULL);
    return result == SQLITE_OK ? configure(db, o) : result;
}

// A database with a write-ahead log in a folder that we may not write to cannot be opened the usual way. When the log
// is empty nobody is writing, and reading the file as immutable is right.
static int open_immutable(struct db *db, const char *path, const struct db_options *o) {
    struct stat st;
    char *uri = sqlite3_mprintf("%s-wal", path);
    if (!uri) return SQLITE_NOMEM;
    bool busy = stat(uri, &st) == 0 && st.st_size > 0;
    sqlite3_free(uri);
    if (busy || stat(path, &st) != 0) return SQLITE_CANTOPEN;
    size_t size = strlen(path) * 3 + 32, n = 5;
    uri = sqlite3_malloc64(size);
    if (!uri) return SQLITE_NOMEM;
    memcpy(uri, "file:", n);
    for (const unsigned char *p = (const unsigned char *)path; *p;
         p++) // percent-escape what a URI would read otherwise
        if (*p == '%' || *p == '?' || *p == '#')
            n += (size_t)sprintf(uri + n, "%%%02x", *p);
        else
            uri[n++] = (char)*p;
    strcpy(uri + n, "?immutable=1");
    int result = open_handle(db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, o);
    sqlite3_free(uri);
    return result;
}

int db_open(struct db *db, const char *path, const struct db_options *o) {
    *db = (struct db){
        .interrupt = o->interrupt, .busy_seconds = o->busy_seconds, .seconds = o->seconds, .attach = o->attach};
    int flags = o->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | (o->create ? SQLITE_OPEN_CREATE : 0);
    char *name = sqlite3_mprintf("%s%s", strncmp(path, "file:", 5) == 0 ? "./" : "", path); // never a URI
    if (!name) return SQLITE_NOMEM;
    int result = open_handle(db, name, flags | SQLITE_OPEN_PRIVATECACHE, o);
    if (o->read_only && ((result & 0xFF) == SQLITE_CANTOPEN || (result & 0xFF) == SQLITE_READONLY)) {
        sqlite3_close(db->handle);
        db->handle = NULL;
        int second = open_immutable(db, name, o);
        if (second != SQLITE_CANTOPEN) result = second;
    }
    sqlite3_free(name);
    return result;
}

void db_close(struct db *db) {
    while (db->statements) db_finalize(db->statements);
    if (db->handle) sqlite3_close(db->handle); // cannot fail: no statement is left
    db->handle = NULL;
}

int db_prepare(struct db *db, const char *sql, int size, struct db_statement *s, const char **tail) {
    *s = (struct db_statement){.db = db};
    db_start(db);
    int result = sqlite3_prepare_v2(db->handle, sql, size, &s->stmt, tail);
    if (result != SQLITE_OK || !s->stmt) return result;
    s->next = db->statements;
    s->previous = &db->statements;
    if (s->next) s->next->previous = &s->next;
    db->statements = s;
    return SQLITE_OK;
}

void db_start(struct db *db) {
    db->timed_out = false;
    db->deadline = db->seconds > 0 ? now() + db->seconds : 0;
}

int db_step(struct db_statement *s) { return sqlite3_step(s->stmt); }

void db_finalize(struct db_statement *s) {
    if (!s->stmt) return;
    sqlite3_finalize(s->stmt);
    s->stmt = NULL;
    *s->previous = s->next;
    if (s->next) s->next->previous = s->previous;
}

const char *db_code(const struct db *db, int result) {
    switch (result & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "busy";
    case SQLITE_READONLY: return "read_only";
    case SQLITE_FULL: return "no_space";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return "not_a_database";
    case SQLITE_CANTOPEN: return "cannot_open";
    case SQLITE_CONSTRAINT: return "constraint";
    case SQLITE_INTERRUPT: return db->timed_out ? "timeout" : "interrupted";
    case SQLITE_IOERR: return "io";
    case SQLITE_NOMEM: return "no_memory";
    case SQLITE_TOOBIG: return "too_large";
    case SQLITE_AUTH:
    case SQLITE_PERM: return "denied";
    default: return "sql";
    }
}

const char *db_words(const struct db *db, int result) {
    switch (result & 0xFF) {
    case SQLITE_BUSY: return "in use by another run";
    case SQLITE_CANTOPEN: return "cannot be opened";
    case SQLITE_INTERRUPT: return db->timed_out ? "took longer than allowed" : "interrupted";
    case SQLITE_AUTH: return "SQL here reaches only its own database file";
    default:
        return db->handle && (sqlite3_extended_errcode(db->handle) & 0xFF) == (result & 0xFF)
                   ? sqlite3_errmsg(db->handle)
                   : sqlite3_errstr(result);
    }
}
