// SPDX-License-Identifier: MIT
#include "duckdb.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytebuf.h"

// DuckDB's C interface, as far as it is used [duckdb.org/docs/stable/clients/c/api]. Its header is not needed.
struct result {
    uint64_t columns, rows, changed;
    void *deprecated_columns;
    char *deprecated_message;
    void *internal;
};
enum { SUCCESS = 0 };
enum { T_BOOLEAN = 1, T_BIGINT = 5, T_UTINYINT = 6, T_UBIGINT = 9, T_FLOAT = 10, T_DOUBLE = 11, T_HUGEINT = 16, T_DECIMAL = 19,
       T_LIST = 24, T_STRUCT = 25, T_MAP = 26, T_UNION = 28, T_UHUGEINT = 32, T_ARRAY = 33 };

struct duckdb_functions {
    int (*create_config)(void **);
    int (*set_config)(void *, const char *, const char *);
    void (*destroy_config)(void **);
    int (*open_ext)(const char *, void **, void *, char **);
    int (*connect)(void *, void **);
    int (*query)(void *, const char *, struct result *);
    const char *(*result_error)(struct result *);
    uint64_t (*column_count)(struct result *);
    const char *(*column_name)(struct result *, uint64_t);
    int (*column_type)(struct result *, uint64_t);
    uint64_t (*row_count)(struct result *);
    bool (*value_is_null)(struct result *, uint64_t, uint64_t);
    int64_t (*value_int64)(struct result *, uint64_t, uint64_t);
    double (*value_double)(struct result *, uint64_t, uint64_t);
    char *(*value_varchar)(struct result *, uint64_t, uint64_t);
    void (*destroy_result)(struct result *);
    void (*free)(void *);
    void (*disconnect)(void **);
    void (*close)(void **);
};

static const struct {
    const char *name;
    size_t at;
} symbols[] = {
#define SYMBOL(name, field) {"duckdb_" name, offsetof(struct duckdb_functions, field)}
    SYMBOL("create_config", create_config), SYMBOL("set_config", set_config),     SYMBOL("destroy_config", destroy_config),
    SYMBOL("open_ext", open_ext),           SYMBOL("connect", connect),           SYMBOL("query", query),
    SYMBOL("result_error", result_error),   SYMBOL("column_count", column_count), SYMBOL("column_name", column_name),
    SYMBOL("column_type", column_type),     SYMBOL("row_count", row_count),       SYMBOL("value_is_null", value_is_null),
    SYMBOL("value_int64", value_int64),     SYMBOL("value_double", value_double), SYMBOL("value_varchar", value_varchar),
    SYMBOL("destroy_result", destroy_result), SYMBOL("free", free),               SYMBOL("disconnect", disconnect),
    SYMBOL("close", close),
#undef SYMBOL
};

static bool fail(struct duckdb_error *err, const char *what, const char *words) {
    snprintf(err->message, sizeof err->message, "%s%s%s", what, *what ? ": " : "", words);
    for (char *p = err->message; *p; p++)
        if ((unsigned char)*p < 32) *p = ' ';
    return false;
}

static bool load(struct duckdb *d, const char *path, struct duckdb_error *err) {
    d->library = dlopen(path && *path ? path : "libduckdb.so", RTLD_NOW | RTLD_LOCAL);
    d->call = calloc(1, sizeof *d->call);
    err->missing = d->library == NULL;
    if (!d->library) return fail(err, "DuckDB", dlerror());
    if (!d->call) return fail(err, "DuckDB", "no memory");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *function = dlsym(d->library, symbols[i].name);
        if (!function) return fail(err, "this is no library of DuckDB, it has no", symbols[i].name);
        memcpy((char *)d->call + symbols[i].at, &function, sizeof function);
    }
    return true;
}

static bool put_quoted(struct bytebuf *b, const char *text) {
    bool fine = bytebuf_append(b, "'", 1);
    for (; *text && fine; text++) fine = bytebuf_append(b, text, 1) && (*text != '\'' || bytebuf_append(b, "'", 1));
    return fine && bytebuf_append(b, "'", 1);
}

static bool put(struct bytebuf *b, const char *text) { return bytebuf_append(b, text, strlen(text)); }

// Reading in the folders is all that is left.
static bool confine(struct duckdb *d, const char *const *folders, struct duckdb_error *err) {
    struct bytebuf sql = {0};
    bool fine = put(&sql, "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false; SET temp_directory = ''; "
                          "SET allowed_directories = [");
    for (size_t i = 0; folders && folders[i] && fine; i++) fine = (i == 0 || put(&sql, ", ")) && put_quoted(&sql, folders[i]);
    fine = fine && put(&sql, "]; SET enable_external_access = false; SET lock_configuration = true") && bytebuf_append(&sql, "", 1);
    if (!fine) fail(err, "DuckDB", "no memory");
    else fine = duckdb_query(d, sql.data, NULL, NULL, err);
    bytebuf_free(&sql);
    return fine;
}

bool duckdb_open(struct duckdb *d, const char *path, const char *const *folders, size_t memory, struct duckdb_error *err) {
    *d = (struct duckdb){0};
    *err = (struct duckdb_error){0};
    void *config = NULL;
    char limit[32], *words = NULL;
    bool fine = load(d, path, err);
    if (fine && (d->call->create_config(&config) != SUCCESS)) fine = fail(err, "DuckDB", "no configuration");
    // Threads and memory as this machine has them, whatever control groups say.
    if (fine) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        snprintf(limit, sizeof limit, "%ld", cores < 1 ? 1 : cores > 8 ? 8 : cores);
        d->call->set_config(config, "threads", limit);
        snprintf(limit, sizeof limit, "%zuMB", memory ? memory >> 20 : (size_t)1024);
        d->call->set_config(config, "memory_limit", limit);
    }
    if (fine && d->call->open_ext(NULL, &d->database, config, &words) != SUCCESS) fine = fail(err, "DuckDB", words ? words : "does not open");
    if (words) d->call->free(words);
    if (config) d->call->destroy_config(&config);
    if (fine && d->call->connect(d->database, &d->connection) != SUCCESS) fine = fail(err, "DuckDB", "does not connect");
    fine = fine && confine(d, folders, err);
    if (!fine) duckdb_close(d);
    return fine;
}

void duckdb_close(struct duckdb *d) {
    if (d->connection) d->call->disconnect(&d->connection);
    if (d->database) d->call->close(&d->database);
    free(d->call);
    if (d->library) dlclose(d->library);
    *d = (struct duckdb){0};
}

static bool nested(int type) {
    return type == T_LIST || type == T_STRUCT || type == T_MAP || type == T_UNION || type == T_ARRAY;
}

static char *read_value(struct duckdb *d, struct result *r, uint64_t column, uint64_t row, int type, struct duckdb_value *out) {
    *out = (struct duckdb_value){.kind = DUCKDB_NULL};
    if (d->call->value_is_null(r, column, row)) return NULL;
    if ((type >= T_BOOLEAN && type <= T_BIGINT) || (type >= T_UTINYINT && type < T_UBIGINT)) {
        out->kind = DUCKDB_INT;
        out->i = d->call->value_int64(r, column, row);
        return NULL;
    }
    if (type == T_FLOAT || type == T_DOUBLE || type == T_DECIMAL) {
        out->kind = DUCKDB_REAL;
        out->f = d->call->value_double(r, column, row);
        return NULL;
    }
    char *text = d->call->value_varchar(r, column, row);
    if (text && (type == T_HUGEINT || type == T_UHUGEINT || type == T_UBIGINT)) { // sums of integers are of 128 bits
        char *end;
        errno = 0;
        out->i = strtoll(text, &end, 10);
        out->kind = DUCKDB_INT;
        if (errno || *end) out->kind = DUCKDB_REAL, out->f = strtod(text, NULL);
        return text;
    }
    out->kind = DUCKDB_TEXT;
    out->text = text ? text : "";
    return text;
}

bool duckdb_query(struct duckdb *d, const char *sql, duckdb_row row, void *user, struct duckdb_error *err) {
    struct result r;
    memset(&r, 0, sizeof r);
    if (d->call->query(d->connection, sql, &r) != SUCCESS) {
        const char *words = d->call->result_error(&r);
        fail(err, "", words ? words : "the query failed");
        d->call->destroy_result(&r);
        return false;
    }
    bool fine = true;
    uint64_t columns = d->call->column_count(&r), rows = row ? d->call->row_count(&r) : 0;
    struct duckdb_value *values = calloc(columns + 1, sizeof *values);
    int *types = calloc(columns + 1, sizeof *types);
    char **texts = calloc(columns + 1, sizeof *texts);
    if (!values || !types || !texts) fine = fail(err, "DuckDB", "no memory");
    bool deep = false;
    for (uint64_t c = 0; fine && c < columns; c++) {
        types[c] = d->call->column_type(&r, c);
        deep = deep || nested(types[c]);
        values[c] = (struct duckdb_value){.kind = DUCKDB_TEXT, .text = d->call->column_name(&r, c)};
    }
    if (fine && deep && row) { // the plain interface has no words for nested values: ask for their text
        struct bytebuf text = {0};
        fine = put(&text, "SELECT ");
        for (uint64_t c = 0; fine && c < columns; c++) {
            char part[80];
            snprintf(part, sizeof part, nested(types[c]) ? "%sCAST(c%llu AS VARCHAR) AS " : "%sc%llu AS ", c ? ", " : "", (unsigned long long)c);
            fine = put(&text, part) && bytebuf_append(&text, "\"", 1);
            for (const char *p = values[c].text; *p && fine; p++)
                fine = bytebuf_append(&text, p, 1) && (*p != '"' || bytebuf_append(&text, p, 1));
            fine = fine && bytebuf_append(&text, "\"", 1);
        }
        size_t size = strlen(sql);
        while (size && (sql[size - 1] == ';' || (unsigned char)sql[size - 1] <= ' ')) size--;
        fine = fine && put(&text, " FROM (") && bytebuf_append(&text, sql, size) && put(&text, "\n) AS t(");
        for (uint64_t c = 0; fine && c < columns; c++) {
            char part[40];
            snprintf(part, sizeof part, "%sc%llu", c ? ", " : "", (unsigned long long)c);
            fine = put(&text, part);
        }
        fine = fine && put(&text, ")") && bytebuf_append(&text, "", 1);
        if (!fine) fail(err, "DuckDB", "no memory");
        else fine = duckdb_query(d, text.data, row, user, err);
        bytebuf_free(&text);
    } else if (fine && row) {
        bool more = row(user, -1, (int)columns, values);
        for (uint64_t k = 0; more && k < rows; k++) {
            for (uint64_t c = 0; c < columns; c++) texts[c] = read_value(d, &r, c, k, types[c], values + c);
            more = row(user, (int64_t)k, (int)columns, values);
            for (uint64_t c = 0; c < columns; c++)
                if (texts[c]) d->call->free(texts[c]);
        }
    }
    free(values);
    free(types);
    free(texts);
    d->call->destroy_result(&r);
    return fine;
}
