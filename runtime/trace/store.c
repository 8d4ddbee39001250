// SPDX-License-Identifier: MIT
#include "trace/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db.h"
#include "trace/bulk.h"

#define MARK ".part-" // between the target's name and six random characters

enum { LOOK_ROWS = 4096 };

struct store_table {
    char *name;
    char **columns;
    int count;
    int64_t rows;
    int bulk;  // its number while the file is written directly, -1: it waits for SQLite
    char *sql; // of a waiting table
    sqlite3_stmt *insert;
    int slots;      // parameters of `insert`
    int *parameter; // of each column, 0: not in the statement
};

struct store {
    char *path, *temporary;
    int fd; // of the temporary, locked so that nobody takes it for a leftover
    bool committed;
    struct bulk *bulk; // not NULL: tables are written directly, SQLite has not opened the file
    sqlite3 *db;       // of the file; before, a database in memory that says what a CREATE TABLE means
    struct trace_watch watch;
    struct store_table *tables;
    int count, capacity;
};

static bool no_memory(struct trace_error *err) { return trace_fail(err, TRACE_NO_MEMORY, "out of memory"); }

static bool fail_sql(const struct store *s, int result, const char *what, struct trace_error *err) {
    const char *words = sqlite3_errmsg(s->db);
    switch (result & 0xFF) {
    case SQLITE_FULL:
        return trace_fail(err, TRACE_NO_SPACE, "%s: no space left (or the file would be too large)", s->path);
    case SQLITE_NOMEM: return no_memory(err);
    case SQLITE_INTERRUPT: return trace_fail(err, TRACE_INTERRUPTED, "%s: interrupted", s->path);
    case SQLITE_IOERR: {
        int code = sqlite3_system_errno(s->db);
        bool full = code == ENOSPC || code == EDQUOT || code == EFBIG;
        return trace_fail(err, full ? TRACE_NO_SPACE : TRACE_IO, "write %s: %s", s->path, code ? strerror(code) : words);
    }
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM: return trace_fail(err, TRACE_IO, "write %s: %s", s->path, words);
    default: return trace_fail(err, TRACE_SQL, "%s: %s: %s", s->path, what, words);
    }
}

static int on_progress(void *user) { return trace_stopped(user); }

// Temporaries ---------------------------------------------------------------------------------------------------------

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Remove what killed runs left beside the target: a temporary that nobody holds locked.
static void remove_leftovers(const char *path) {
    const char *base = base_of(path);
    size_t length = strlen(base), mark = strlen(MARK);
    char *folder = base == path ? strdup(".") : strndup(path, (size_t)(base - path));
    DIR *dir = folder ? opendir(folder) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strncmp(e->d_name, base, length) != 0 || strncmp(e->d_name + length, MARK, mark) != 0 ||
            strlen(e->d_name) != length + mark + 6)
            continue;
        int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(dir), e->d_name, 0);
        close(fd);
    }
    if (dir) closedir(dir);
    free(folder);
}

// The mode is given at creation: a confined worker may not change it later.
static bool make_temporary(struct store *s, struct trace_error *err) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t base = strlen(s->path), size = base + sizeof MARK + 6;
    struct stat old;
    mode_t mode = stat(s->path, &old) == 0 && S_ISREG(old.st_mode) ? old.st_mode & 0777 : 0666;
    s->temporary = malloc(size);
    if (!s->temporary) return no_memory(err);
    snprintf(s->temporary, size, "%s" MARK "XXXXXX", s->path);
    char *random = s->temporary + size - 7;
    for (int tries = 0; s->fd < 0 && tries < 100; tries++) {
        uint8_t bytes[6];
        if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) return trace_fail_errno(err, errno, "create", s->path);
        for (int i = 0; i < 6; i++) random[i] = letters[bytes[i] % (sizeof letters - 1)];
        s->fd = open(s->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        if (s->fd < 0 && errno != EEXIST) break;
        // Another run that begins right now may have taken it for a leftover before it was locked. (A file system
        // without locks is one where nobody takes anything.)
        struct stat made;
        bool held = s->fd >= 0 && flock(s->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        if (s->fd >= 0 && (held || fstat(s->fd, &made) != 0 || made.st_nlink == 0)) {
            close(s->fd);
            unlink(s->temporary);
            s->fd = -1;
        }
    }
    if (s->fd < 0) {
        int error = errno;
        free(s->temporary);
        s->temporary = NULL;
        return trace_fail_errno(err, error, "create", s->path);
    }
    return true;
}

static bool open_handle(struct store *s, const char *file, struct trace_error *err) {
    char *name = sqlite3_mprintf("%s%s", strncmp(file, "file:", 5) == 0 ? "./" : "", file);
    if (!name) return no_memory(err);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    int result = sqlite3_open_v2(name, &s->db, flags, NULL);
    sqlite3_free(name);
    if (result != SQLITE_OK) return s->db ? fail_sql(s, result, "open", err) : no_memory(err);
    sqlite3_extended_result_codes(s->db, 1);
    sqlite3_progress_handler(s->db, 10000, on_progress, &s->watch);
    return true;
}

// End the direct writing: from here on SQLite has the file.
static bool seal(struct store *s, struct trace_error *err) {
    if (!s->bulk) return true;
    if (!bulk_finish(s->bulk, err)) return false;
    bulk_close(s->bulk);
    s->bulk = NULL;
    sqlite3_close(s->db);
    s->db = NULL;
    if (!open_handle(s, s->temporary, err)) return false;
    char sql[300];
    snprintf(sql, sizeof sql,
             "PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA locking_mode = exclusive; PRAGMA cache_size = -%d; BEGIN",
             STORE_CACHE_BYTES / 1024);
    int result = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    for (int i = 0; result == SQLITE_OK && i < s->count; i++)
        if (s->tables[i].sql) result = sqlite3_exec(s->db, s->tables[i].sql, NULL, NULL, NULL);
    return result == SQLITE_OK || fail_sql(s, result, "begin", err);
}

bool store_open(struct store **out, const char *path, const struct trace_watch *watch, struct trace_error *err) {
    *out = NULL;
    struct stat st;
    if (!*base_of(path)) return trace_fail(err, TRACE_IO, "write %s: a file name is needed", path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return trace_fail(err, TRACE_IO, "write %s: %s", path,
                          S_ISDIR(st.st_mode) ? "this is a folder; name a file" : "this is not a regular file");
    struct store *s = calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    s->fd = -1;
    if (watch) s->watch = *watch;
    // A link stays a link: what it points to is replaced.
    s->path = realpath(path, NULL);
    if (!s->path) s->path = strdup(path);
    bool ok = s->path || no_memory(err);
    if (ok) remove_leftovers(s->path);
    ok = ok && make_temporary(s, err) && open_handle(s, ":memory:", err);
    if (ok && !(s->bulk = bulk_open(s->fd, s->path))) ok = no_memory(err);
    if (!ok) {
        store_close(s);
        return false;
    }
    *out = s;
    return true;
}

static void free_table(struct store_table *t) {
    sqlite3_finalize(t->insert);
    for (int i = 0; i < t->count; i++) free(t->columns[i]);
    free(t->columns);
    free(t->parameter);
    free(t->name);
    free(t->sql);
}

static int close_database(struct store *s) {
    for (int i = 0; i < s->count; i++) {
        sqlite3_finalize(s->tables[i].insert);
        s->tables[i].insert = NULL;
    }
    int result = s->db ? sqlite3_close(s->db) : SQLITE_OK;
    s->db = NULL;
    return result;
}

void store_close(struct store *s) {
    if (!s) return;
    close_database(s);
    bulk_close(s->bulk);
    if (s->temporary && !s->committed) unlink(s->temporary);
    if (s->fd >= 0) close(s->fd);
    for (int i = 0; i < s->count; i++) free_table(&s->tables[i]);
    free(s->tables);
    free(s->temporary);
    free(s->path);
    free(s);
}

// Tables -------------------------------------------------------------------------------------------------------------

int store_find_table(const struct store *s, const char *name) {
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->tables[i].name, name) == 0) return i;
    return -1;
}

int store_find_column(const struct store *s, int table, const char *column) {
    const struct store_table *t = &s->tables[table];
    for (int i = 0; i < t->count; i++)
        if (strcmp(t->columns[i], column) == 0) return i;
    return -1;
}

int store_column_count(const struct store *s, int table) { return s->tables[table].count; }
int64_t store_rows(const struct store *s, int table) { return s->tables[table].rows; }

static enum bulk_affinity affinity_of(const char *type) {
    // The rules of "Determination Of Column Affinity" (sqlite.org/datatype3.html) for the types that are used here.
    if (sqlite3_stricmp(type, "INTEGER") == 0) return BULK_INTEGER;
    if (sqlite3_stricmp(type, "REAL") == 0) return BULK_REAL;
    if (sqlite3_stricmp(type, "TEXT") == 0) return BULK_TEXT;
    return BULK_NONE;
}

// Ask the database in memory what the statement made: a plain table is written directly, one with keys, constraints or
// other types waits for SQLite.
static bool plan_table(struct store *s, struct store_table *t, const char *sql, struct trace_error *err) {
    static const char *const question =
        "SELECT x.name, x.type, x.pk OR x.\"notnull\" OR x.hidden, m.sql, m.sql LIKE '%WITHOUT%' OR m.sql LIKE '%STRICT%' OR "
        "m.sql LIKE '%CHECK%' OR m.sql LIKE '%REFERENCES%' OR EXISTS (SELECT 1 FROM pragma_index_list(m.name)) "
        "FROM sqlite_master m, pragma_table_xinfo(m.name) x WHERE m.type = 'table' AND m.name = ?1 ORDER BY x.cid";
    enum bulk_affinity *affinities = calloc((size_t)t->count, sizeof *affinities);
    sqlite3_stmt *stmt = NULL;
    char *kept = NULL;
    if (!affinities) return no_memory(err);
    int result = sqlite3_prepare_v2(s->db, question, -1, &stmt, NULL), i = 0;
    bool plain = true, ok = result == SQLITE_OK;
    if (ok) sqlite3_bind_text(stmt, 1, t->name, -1, SQLITE_STATIC);
    while (ok && (result = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0), *type = (const char *)sqlite3_column_text(stmt, 1);
        if (i >= t->count || !name || strcmp(name, t->columns[i]) != 0) break;
        affinities[i] = affinity_of(type ? type : "");
        plain = plain && affinities[i] != BULK_NONE && !sqlite3_column_int(stmt, 2) && !sqlite3_column_int(stmt, 4);
        if (i++ == 0) kept = strdup((const char *)sqlite3_column_text(stmt, 3));
    }
    if (!ok || (result != SQLITE_DONE && result != SQLITE_ROW)) ok = fail_sql(s, result, t->name, err);
    else if (result == SQLITE_ROW || i != t->count)
        ok = trace_fail(err, TRACE_WRONG_USE, "table %s: its columns are not those of its CREATE TABLE", t->name);
    else if (!kept) ok = no_memory(err);
    else if (plain) ok = (t->bulk = bulk_table(s->bulk, t->name, kept, affinities, t->count)) >= 0 || no_memory(err);
    else ok = (t->sql = strdup(sql)) != NULL || no_memory(err);
    sqlite3_finalize(stmt);
    free(affinities);
    free(kept);
    return ok;
}

bool store_table(struct store *s, const char *name, const char *const *columns, int count, const char *sql,
                 struct trace_error *err) {
    if (store_find_table(s, name) >= 0)
        return trace_fail(err, TRACE_WRONG_USE, "table %s is there already", name);
    if (count < 1 || count > 2000) return trace_fail(err, TRACE_WRONG_USE, "table %s has %d columns", name, count);
    if (s->count == s->capacity) {
        int wanted = s->capacity ? s->capacity * 2 : 16;
        struct store_table *grown = realloc(s->tables, (size_t)wanted * sizeof *grown);
        if (!grown) return no_memory(err);
        s->tables = grown;
        s->capacity = wanted;
    }
    int result = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    if (result != SQLITE_OK) return fail_sql(s, result, name, err);
    struct store_table t = {.name = strdup(name), .columns = calloc((size_t)count, sizeof(char *)),
                            .parameter = calloc((size_t)count, sizeof(int)), .bulk = -1};
    bool ok = t.name && t.columns && t.parameter;
    for (int i = 0; ok && i < count; i++, t.count++) ok = (t.columns[i] = strdup(columns[i])) != NULL;
    ok = ok ? !s->bulk || plan_table(s, &t, sql, err) : no_memory(err);
    if (!ok) {
        free_table(&t);
        return false;
    }
    s->tables[s->count++] = t;
    return true;
}

bool store_fetch(struct store *s, const char *sql, int64_t limit, struct fetch *out, struct trace_error *err) {
    struct db db = {0};
    struct db_statement statement;
    *out = (struct fetch){0};
    if (!seal(s, err)) return false;
    db.handle = s->db;
    int result = db_prepare(&db, sql, -1, &statement, NULL);
    if (result != SQLITE_OK) return fail_sql(s, result, "SQL", err);
    if (!statement.stmt || !sqlite3_stmt_readonly(statement.stmt)) {
        db_finalize(&statement);
        return trace_fail(err, TRACE_WRONG_USE, "a query that only reads is expected");
    }
    bool ok = fetch_rows(&statement, limit, out, err);
    db_finalize(&statement);
    return ok;
}

// Sorting an index may need files, and a confined worker has no folder for them but the target's.
static void sort_beside(const struct store *s, bool begin) {
    sqlite3_free(sqlite3_temp_directory);
    sqlite3_temp_directory = NULL;
    const char *base = base_of(s->path);
    if (begin) sqlite3_temp_directory = base == s->path ? sqlite3_mprintf(".") : sqlite3_mprintf("%.*s", (int)(base - s->path), s->path);
}

bool store_exec(struct store *s, const char *sql, struct trace_error *err) {
    if (!seal(s, err)) return false;
    sort_beside(s, true);
    int result = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    sort_beside(s, false);
    return result == SQLITE_OK || fail_sql(s, result, "SQL", err);
}

// Appending ----------------------------------------------------------------------------------------------------------

// An insert statement for the columns that are given; kept as long as the same ones are given.
static bool prepare_insert(struct store *s, struct store_table *t, const struct column *columns,
                           struct trace_error *err) {
    bool same = t->insert != NULL;
    for (int i = 0; same && i < t->count; i++) same = (columns[i].type != COLUMN_NONE) == (t->parameter[i] != 0);
    if (same) return true;
    sqlite3_finalize(t->insert);
    t->insert = NULL;
    sqlite3_str *sql = sqlite3_str_new(s->db);
    sqlite3_str_appendf(sql, "INSERT INTO \"%w\" VALUES (", t->name);
    t->slots = 0;
    for (int i = 0; i < t->count; i++) {
        t->parameter[i] = columns[i].type == COLUMN_NONE ? 0 : ++t->slots;
        sqlite3_str_appendf(sql, "%s%s", i ? "," : "", t->parameter[i] ? "?" : "NULL");
    }
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    if (!text) return no_memory(err);
    int result = sqlite3_prepare_v3(s->db, text, -1, SQLITE_PREPARE_PERSISTENT, &t->insert, NULL);
    sqlite3_free(text);
    return result == SQLITE_OK || fail_sql(s, result, t->name, err);
}

static bool look(struct store *s, const struct store_table *t, struct trace_error *err) {
    if (trace_stopped(&s->watch)) return trace_fail(err, TRACE_INTERRUPTED, "%s: interrupted", s->path);
    if (s->watch.progress) s->watch.progress(s->watch.user, t->name, t->rows);
    return true;
}

static int bind_text(sqlite3_stmt *stmt, int p, struct column_text text) {
    if (!text.bytes) return sqlite3_bind_null(stmt, p);
    return sqlite3_bind_text64(stmt, p, text.bytes, text.length, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_element(sqlite3_stmt *stmt, int p, const struct column *c, int64_t row) {
    if (c->constant) row = 0;
    if (c->valid && !c->valid[row]) return sqlite3_bind_null(stmt, p);
    switch (c->type) {
    case COLUMN_NONE: return SQLITE_OK;
    case COLUMN_BOOL: return sqlite3_bind_int(stmt, p, ((const uint8_t *)c->data)[row] != 0);
    case COLUMN_UINT8: return sqlite3_bind_int(stmt, p, ((const uint8_t *)c->data)[row]);
    case COLUMN_INT8: return sqlite3_bind_int(stmt, p, ((const int8_t *)c->data)[row]);
    case COLUMN_INT16: return sqlite3_bind_int(stmt, p, ((const int16_t *)c->data)[row]);
    case COLUMN_UINT16: return sqlite3_bind_int(stmt, p, ((const uint16_t *)c->data)[row]);
    case COLUMN_INT32: return sqlite3_bind_int(stmt, p, ((const int32_t *)c->data)[row]);
    case COLUMN_UINT32: return sqlite3_bind_int64(stmt, p, ((const uint32_t *)c->data)[row]);
    case COLUMN_INT64: return sqlite3_bind_int64(stmt, p, ((const int64_t *)c->data)[row]);
    case COLUMN_UINT64: {
        uint64_t value = ((const uint64_t *)c->data)[row];
        return value > INT64_MAX ? sqlite3_bind_double(stmt, p, (double)value)
                                 : sqlite3_bind_int64(stmt, p, (int64_t)value);
    }
    case COLUMN_FLOAT32: return sqlite3_bind_double(stmt, p, (double)((const float *)c->data)[row]);
    case COLUMN_FLOAT64: return sqlite3_bind_double(stmt, p, ((const double *)c->data)[row]);
    case COLUMN_TEXT: return bind_text(stmt, p, ((const struct column_text *)c->data)[row]);
    case COLUMN_CODES: {
        int32_t code = ((const int32_t *)c->data)[row];
        return code < 0 ? sqlite3_bind_null(stmt, p) : bind_text(stmt, p, c->words[code]);
    }
    }
    return SQLITE_MISUSE;
}

static bool check_columns(const struct store_table *t, const struct column *columns, int64_t rows,
                          struct trace_error *err) {
    for (int i = 0; i < t->count; i++) {
        const struct column *c = &columns[i];
        if (c->type == COLUMN_NONE) continue;
        if (c->count != rows && !(c->constant && c->count == 1))
            return trace_fail(err, TRACE_WRONG_USE, "%s.%s has %lld rows, %lld are wanted", t->name, t->columns[i],
                              (long long)c->count, (long long)rows);
        if (c->type != COLUMN_CODES) continue;
        const int32_t *codes = c->data;
        for (int64_t k = 0; k < c->count; k++)
            if (codes[k] < -1 || codes[k] >= c->word_count)
                return trace_fail(err, TRACE_WRONG_USE, "%s.%s: code %d in row %lld, there are %d values", t->name,
                                  t->columns[i], codes[k], (long long)k, c->word_count);
    }
    return true;
}

// Rows from .. from + rows of a column.
static struct column part_of(const struct column *c, int64_t from, int64_t rows) {
    struct column part = *c;
    if (c->constant || c->type == COLUMN_NONE) return part;
    part.count = rows;
    part.data = (const uint8_t *)c->data + (size_t)from * column_size(c->type);
    if (c->valid) part.valid += from;
    return part;
}

static bool append_directly(struct store *s, struct store_table *t, const struct column *columns, int64_t rows,
                            struct trace_error *err) {
    struct column part[2000];
    for (int64_t row = 0; row < rows; row += LOOK_ROWS) {
        if (!look(s, t, err)) return false;
        int64_t n = rows - row < LOOK_ROWS ? rows - row : LOOK_ROWS;
        for (int i = 0; i < t->count; i++) part[i] = part_of(&columns[i], row, n);
        if (!bulk_append(s->bulk, t->bulk, part, n, err)) return false;
        t->rows += n;
    }
    return true;
}

bool store_append(struct store *s, int table, const struct column *columns, int64_t rows, struct trace_error *err) {
    struct store_table *t = &s->tables[table];
    if (!check_columns(t, columns, rows, err)) return false;
    if (s->bulk && t->bulk >= 0) return append_directly(s, t, columns, rows, err);
    if ((rows && !seal(s, err)) || !rows) return !rows;
    if (!prepare_insert(s, t, columns, err)) return false;
    sqlite3_stmt *stmt = t->insert;
    int moving[2000], count = 0, result = SQLITE_OK; // columns to bind for every row; the others are bound once
    for (int i = 0; i < t->count; i++) {
        if (!t->parameter[i]) continue;
        if (!columns[i].constant) moving[count++] = i;
        else if (rows) result = bind_element(stmt, t->parameter[i], &columns[i], 0);
        if (result != SQLITE_OK) return fail_sql(s, result, t->name, err);
    }
    for (int64_t row = 0; row < rows; row++) {
        if (row % LOOK_ROWS == 0 && !look(s, t, err)) return false;
        for (int k = 0; k < count && result == SQLITE_OK; k++)
            result = bind_element(stmt, t->parameter[moving[k]], &columns[moving[k]], row);
        if (result != SQLITE_OK) return fail_sql(s, result, t->name, err);
        result = sqlite3_step(stmt);
        int reset = sqlite3_reset(stmt);
        if (result != SQLITE_DONE) return fail_sql(s, reset != SQLITE_OK ? reset : result, t->name, err);
        result = SQLITE_OK;
        t->rows++;
    }
    sqlite3_clear_bindings(stmt); // they point into the caller's memory
    return true;
}

// Commit -------------------------------------------------------------------------------------------------------------

// A write-ahead log or a rollback journal belongs to the database that is being replaced: SQLite would apply it to the
// new one. Let SQLite finish it; what is left of something that is no database is removed.
static bool settle_old(struct store *s, struct trace_error *err) {
    static const char *const suffixes[] = {"-wal", "-journal", "-shm"};
    bool found = false;
    char name[PATH_MAX];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", s->path, suffixes[i]);
        found |= access(name, F_OK) == 0;
    }
    if (!found) return true;
    struct db old;
    int result = db_open(&old, s->path, &(struct db_options){.busy_seconds = 2});
    if (result == SQLITE_OK)
        result = sqlite3_exec(old.handle, "PRAGMA wal_checkpoint(truncate); PRAGMA journal_mode = delete", NULL, NULL, NULL);
    db_close(&old);
    if ((result & 0xFF) == SQLITE_BUSY || (result & 0xFF) == SQLITE_LOCKED)
        return trace_fail(err, TRACE_BUSY, "replace %s: in use by another run; close it and try again", s->path);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "%s%s", s->path, suffixes[i]);
        unlink(name);
    }
    return true;
}

static bool sync_folder(struct store *s, struct trace_error *err) {
    const char *base = base_of(s->path);
    char *folder = base == s->path ? strdup(".") : strndup(s->path, (size_t)(base - s->path));
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    bool ok = fd >= 0 && (fsync(fd) == 0 || errno == EINVAL);
    if (!ok) trace_fail_errno(err, errno, "sync the folder of", s->path);
    if (fd >= 0) close(fd);
    free(folder);
    return ok;
}

bool store_commit(struct store *s, struct trace_error *err) {
    if (!seal(s, err)) return false;
    int result = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
    if (result != SQLITE_OK) return fail_sql(s, result, "commit", err);
    result = close_database(s);
    if (result != SQLITE_OK) return trace_fail(err, TRACE_IO, "write %s: %s", s->path, sqlite3_errstr(result));
    if (fsync(s->fd) != 0) return trace_fail_errno(err, errno, "write", s->path);
    if (!settle_old(s, err)) return false;
    if (rename(s->temporary, s->path) != 0) return trace_fail_errno(err, errno, "replace", s->path);
    s->committed = true;
    return sync_folder(s, err);
}
