// SPDX-License-Identifier: MIT
#include "trace/analyse_load.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/sqlfn.h"

enum { MOST_THREADS = 4, WORTH_A_THREAD = 100000 }; // rowids

struct share {
    const char *path, *sql;
    struct db_options options;
    int64_t low, high;
    struct account account; // an account belongs to one thread
    struct analyse_table table;
    struct analyse_error err;
    bool fine;
    int result;
    char words[200];
    pthread_t thread;
    bool started;
};

static int bind_and_load(struct db *db, const char *sql, int64_t low, int64_t high, struct analyse_table *out, bool *fine,
                         char *words, struct analyse_error *err) {
    struct db_statement s;
    int result = db_prepare(db, sql, -1, &s, NULL);
    *fine = true;
    if (result == SQLITE_OK) {
        if (sqlite3_bind_parameter_count(s.stmt) == 2) {
            sqlite3_bind_int64(s.stmt, 1, low);
            sqlite3_bind_int64(s.stmt, 2, high);
        }
        db_start(db);
        *fine = analyse_table_load(out, s.stmt, &result, err);
    }
    if (result != SQLITE_DONE) snprintf(words, 200, "%s", db_words(db, result));
    db_finalize(&s);
    return result;
}

static void *load_share(void *user) {
    struct share *s = user;
    struct db db;
    s->fine = true;
    s->result = db_open(&db, s->path, &s->options);
    if (s->result == SQLITE_OK) s->result = sqlfn_register(db.handle);
    if (s->result == SQLITE_OK) s->result = bind_and_load(&db, s->sql, s->low, s->high, &s->table, &s->fine, s->words, &s->err);
    else snprintf(s->words, sizeof s->words, "%s", db_words(&db, s->result));
    db_close(&db);
    return NULL;
}

// First and last rowid; false for a table without.
static bool rowids(struct db *db, const char *table, int64_t *low, int64_t *high) {
    char *sql = sqlite3_mprintf("SELECT min(rowid), max(rowid) FROM \"%w\"", table);
    struct db_statement s;
    bool found = sql && db_prepare(db, sql, -1, &s, NULL) == SQLITE_OK;
    if (found) {
        db_start(db);
        found = db_step(&s) == SQLITE_ROW && sqlite3_column_type(s.stmt, 0) == SQLITE_INTEGER;
        *low = sqlite3_column_int64(s.stmt, 0), *high = sqlite3_column_int64(s.stmt, 1);
        db_finalize(&s);
    }
    sqlite3_free(sql);
    return found;
}

static bool by_threads(struct db *db, const char *sql, int threads, int64_t low, int64_t high, struct analyse_table *out, int *result,
                       char *words, struct analyse_error *err) {
    struct share shares[MOST_THREADS];
    memset(shares, 0, sizeof shares);
    const struct account *mine = out->account;
    size_t held = mine ? mine->used + mine->books : 0, left = mine && mine->limit > held ? mine->limit - held : 0;
    int64_t step = (high - low) / threads + 1;
    bool fine = true;
    *result = SQLITE_DONE;
    for (int i = 0; i < threads; i++) {
        struct share *s = shares + i;
        s->path = sqlite3_db_filename(db->handle, "main");
        s->sql = sql;
        s->options = (struct db_options){
            .read_only = true, .busy_seconds = db->busy_seconds, .seconds = db->seconds, .interrupt = db->interrupt};
        s->low = low + i * step;
        s->high = i == threads - 1 ? high : s->low + step - 1;
        if (mine && mine->limit) s->account.limit = left / 2 / (size_t)threads + 1;
        s->result = SQLITE_DONE;
        s->fine = analyse_table_init(&s->table, &s->account, &s->err);
        // Where no thread can be had, the share is read here.
        s->started = s->fine && pthread_create(&s->thread, NULL, load_share, s) == 0;
        if (s->fine && !s->started) load_share(s);
    }
    for (int i = 0; i < threads; i++) {
        struct share *s = shares + i;
        if (s->started) pthread_join(s->thread, NULL);
        if (fine && *result == SQLITE_DONE) {
            fine = s->fine;
            *result = s->result;
            if (!fine) *err = s->err;
            else if (*result != SQLITE_DONE) {
                snprintf(words, 200, "%s", s->words);
                db->timed_out = (*result & 0xFF) == SQLITE_INTERRUPT && !(db->interrupt && *db->interrupt);
            } else fine = analyse_table_append(out, &s->table, err);
        }
        analyse_table_close(&s->table);
        account_close(&s->account);
    }
    // The threads opened the file by its name: it must still be the one that the connection has.
    int moved = 0;
    sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (fine && moved) return analyse_fail(err, "the profile was replaced while it was read: ask again");
    return fine;
}

bool analyse_load_table(struct db *db, const char *list, const char *table, struct analyse_table *out, int *result, char *words,
                        struct analyse_error *err) {
    int64_t low = 0, high = -1;
    const char *path = sqlite3_db_filename(db->handle, "main");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    bool shared = path && *path && sqlite3_threadsafe() && rowids(db, table, &low, &high);
    uint64_t range = shared ? (uint64_t)high - (uint64_t)low : 0;
    int threads = range >= INT64_MAX ? 1 : (int)(range / WORTH_A_THREAD < MOST_THREADS ? range / WORTH_A_THREAD : MOST_THREADS);
    if (threads > cores) threads = (int)cores;
    char *sql = sqlite3_mprintf(threads > 1 ? "SELECT %s FROM \"%w\" WHERE rowid BETWEEN ? AND ?" : "SELECT %s FROM \"%w\"", list, table);
    if (!sql) return analyse_fail(err, "no memory for a statement");
    bool fine = true;
    if (threads > 1) fine = by_threads(db, sql, threads, low, high, out, result, words, err);
    else *result = bind_and_load(db, sql, 0, 0, out, &fine, words, err);
    sqlite3_free(sql);
    return fine;
}
