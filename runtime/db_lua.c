// SPDX-License-Identifier: MIT
// db_lua.c: rt.db. A thin binding of db.h.
//
//   db.open(path[, {readonly=, create=, busy=seconds, timeout=seconds, attach=}]) -> d | nil, err
//   d:exec(sql, ...) -> rows changed        several statements where no parameters are given
//   d:query(sql, ...) -> list of rows, list of column names
//   d:row(sql, ...) -> first row or nil     d:value(sql, ...) -> first value of it or nil
//   for row in d:rows(sql, ...) do ... end  closed when the loop ends; a failure raises
//   d:prepare(sql) -> s; s:exec(...) s:query(...) s:row(...) s:value(...) s:rows(...) s:close()
//   d:transaction(fn) -> what fn(d) returns; rolled back when it raises or returns nil, err. Nests.
//   d:timeout(seconds|nil) d:changes() d:last_id() d:in_transaction() d:close(); db.blob(bytes)
// Parameters: values in order, or one table (positions, or names without their ":"). nil and json.null are NULL, a boolean
// is 0 or 1, a string is text, db.blob(s) a blob. NULL comes back as an absent field. NaN, which SQLite would turn into
// NULL, raises. A failure of the world returns nil, {code=, message=, sql=}.
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <math.h>
#include <string.h>

#include "db.h"
#include "db_lua.h"
#include "run.h"

#define DB "nkiln.db"
#define STATEMENT "nkiln.db.statement"
#define BLOB "nkiln.db.blob"

struct handle {
    struct db db;
    int depth;      // open transactions
};

static int push_failure(lua_State *L, const struct db *db, int result, const char *what, const char *detail) {
    lua_pushnil(L);
    lua_createtable(L, 0, 3);
    lua_pushstring(L, db_code(db, result));
    lua_setfield(L, -2, "code");
    lua_pushfstring(L, "%s: %s", what, db_words(db, result));
    lua_setfield(L, -2, "message");
    if (detail) {
        lua_pushstring(L, detail);
        lua_setfield(L, -2, "sql");
    }
    return 2;
}

static struct handle *check_handle(lua_State *L, int arg) {
    struct handle *h = luaL_checkudata(L, arg, DB);
    if (!h->db.handle) luaL_error(L, "this database is closed");
    return h;
}

struct db *db_lua_check(lua_State *L, int arg) { return &check_handle(L, arg)->db; }

static int handle_close(lua_State *L) {
    struct handle *h = luaL_checkudata(L, 1, DB);
    db_close(&h->db);
    return 0;
}

static int statement_close(lua_State *L) {
    db_finalize(luaL_checkudata(L, 1, STATEMENT));
    return 0;
}

static int push_open(lua_State *L, const char *path, const struct db_options *o) {
    struct handle *h = lua_newuserdatauv(L, sizeof *h, 0);
    *h = (struct handle){0};
    luaL_setmetatable(L, DB);
    int result = db_open(&h->db, path, o);
    if (result == SQLITE_OK) return 1;
    lua_pushfstring(L, "open %s", path);
    int n = push_failure(L, &h->db, result, lua_tostring(L, -1), NULL);
    db_close(&h->db);
    return n;
}

static int open_db(lua_State *L) {
    size_t size;
    const char *path = luaL_checklstring(L, 1, &size);
    luaL_argcheck(L, strlen(path) == size, 1, "a path cannot hold a NUL byte");
    struct db_options o = {.create = true, .busy_seconds = 5};
    struct run_state *run = run_state(L);
    o.interrupt = run ? &run->interrupt : NULL;
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_getfield(L, 2, "readonly");
        o.read_only = lua_toboolean(L, -1);
        if (lua_getfield(L, 2, "create") != LUA_TNIL) o.create = lua_toboolean(L, -1);
        lua_getfield(L, 2, "attach");
        o.attach = lua_toboolean(L, -1);
        lua_getfield(L, 2, "busy");
        o.busy_seconds = luaL_optnumber(L, -1, 5);
        lua_getfield(L, 2, "timeout");
        o.seconds = luaL_optnumber(L, -1, 0);
    }
    return push_open(L, path, &o);
}

int db_lua_open_readonly(lua_State *L, const char *path) {
    struct run_state *run = run_state(L);
    struct db_options o = {.read_only = true, .busy_seconds = 5, .interrupt = run ? &run->interrupt : NULL};
    return push_open(L, path, &o);
}

// Binding and reading -------------------------------------------------------------------------------------------------

static void bind_value(lua_State *L, sqlite3_stmt *stmt, int position, int at) {
    int result = SQLITE_OK;
    switch (lua_type(L, at)) {
    case LUA_TNONE:
    case LUA_TNIL: result = sqlite3_bind_null(stmt, position); break;
    case LUA_TBOOLEAN: result = sqlite3_bind_int(stmt, position, lua_toboolean(L, at)); break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, at)) result = sqlite3_bind_int64(stmt, position, lua_tointeger(L, at));
        else {
            if (isnan(lua_tonumber(L, at))) luaL_error(L, "parameter %d is NaN, which SQLite cannot store", position);
            result = sqlite3_bind_double(stmt, position, lua_tonumber(L, at));
        }
        break;
    case LUA_TSTRING: {
        size_t size;
        const char *text = lua_tolstring(L, at, &size);
        result = sqlite3_bind_text64(stmt, position, text, size, SQLITE_TRANSIENT, SQLITE_UTF8);
        break;
    }
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L, at)) luaL_error(L, "parameter %d is a pointer", position);
        result = sqlite3_bind_null(stmt, position);
        break;
    case LUA_TTABLE:
        if (luaL_getmetafield(L, at, "__name") == LUA_TSTRING && strcmp(lua_tostring(L, -1), BLOB) == 0) {
            size_t size;
            lua_getfield(L, at, "bytes");
            const char *bytes = luaL_checklstring(L, -1, &size);
            result = sqlite3_bind_blob64(stmt, position, size ? bytes : "", size, SQLITE_TRANSIENT);
            lua_pop(L, 2);
            break;
        } // fall through
    default: luaL_error(L, "parameter %d is a %s", position, luaL_typename(L, at));
    }
    if (result != SQLITE_OK) luaL_error(L, "parameter %d: %s", position, sqlite3_errstr(result));
}

static bool is_parameter_table(lua_State *L, int at) {
    if (!lua_istable(L, at)) return false;
    if (luaL_getmetafield(L, at, "__name") == LUA_TNIL) return true;
    bool blob = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), BLOB) == 0;
    lua_pop(L, 1);
    return !blob;
}

// Bind the arguments from `first` to the top of the stack.
void db_lua_bind(lua_State *L, sqlite3_stmt *stmt, int first) {
    int wanted = sqlite3_bind_parameter_count(stmt), given = lua_gettop(L) - first + 1;
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    if (given == 1 && is_parameter_table(L, first)) {
        for (int i = 1; i <= wanted; i++) {
            const char *name = sqlite3_bind_parameter_name(stmt, i);
            if (name && name[0] != '?') lua_getfield(L, first, name + 1);
            else lua_geti(L, first, i);
            bind_value(L, stmt, i, lua_gettop(L));
            lua_pop(L, 1);
        }
        lua_pushnil(L);
        while (lua_next(L, first)) { // a misspelt name would silently be NULL
            lua_pop(L, 1);
            bool known = lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 && lua_tointeger(L, -1) <= wanted;
            if (lua_type(L, -1) == LUA_TSTRING)
                for (int i = 1; i <= wanted && !known; i++) {
                    const char *name = sqlite3_bind_parameter_name(stmt, i);
                    known = name && strcmp(name + 1, lua_tostring(L, -1)) == 0;
                }
            if (!known && !(lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "n") == 0))
                luaL_error(L, "the statement has no parameter %s", luaL_tolstring(L, -1, NULL));
        }
        return;
    }
    if (given != wanted) luaL_error(L, "the statement has %d parameters, %d were given", wanted, given);
    for (int i = 1; i <= wanted; i++) bind_value(L, stmt, i, first + i - 1);
}

static void push_column(lua_State *L, sqlite3_stmt *stmt, int i) {
    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER: lua_pushinteger(L, sqlite3_column_int64(stmt, i)); break;
    case SQLITE_FLOAT: lua_pushnumber(L, sqlite3_column_double(stmt, i)); break;
    case SQLITE_NULL: lua_pushnil(L); break;
    default: {
        const void *bytes = sqlite3_column_blob(stmt, i); // text and blob alike: the bytes as they are
        lua_pushlstring(L, bytes ? bytes : "", (size_t)sqlite3_column_bytes(stmt, i));
    }
    }
}

static void push_row(lua_State *L, sqlite3_stmt *stmt) {
    int columns = sqlite3_column_count(stmt);
    lua_createtable(L, 0, columns);
    for (int i = 0; i < columns; i++) {
        push_column(L, stmt, i);
        lua_setfield(L, -2, sqlite3_column_name(stmt, i));
    }
}

// Running -------------------------------------------------------------------------------------------------------------

static struct db_statement *new_statement(lua_State *L, int handle) {
    struct db_statement *s = lua_newuserdatauv(L, sizeof *s, 1);
    *s = (struct db_statement){0};
    luaL_setmetatable(L, STATEMENT);
    lua_pushvalue(L, handle); // the connection outlives its statements
    lua_setiuservalue(L, -2, 1);
    return s;
}

// Prepare the SQL at index 2 and put the statement at index 1, where the connection was. On failure returns how many
// results were pushed; 0 is success.
static int prepare_argument(lua_State *L, struct db_statement **out) {
    struct handle *h = check_handle(L, 1);
    size_t size;
    const char *sql = luaL_checklstring(L, 2, &size), *tail = NULL;
    luaL_argcheck(L, size < INT_MAX, 2, "the statement is too long");
    struct db_statement *s = new_statement(L, 1);
    int result = db_prepare(&h->db, sql, (int)size, s, &tail);
    if (result != SQLITE_OK) return push_failure(L, &h->db, result, "prepare", sql);
    if (!s->stmt) luaL_argerror(L, 2, "there is no statement");
    while (tail && (*tail == ' ' || *tail == '\n' || *tail == '\t' || *tail == '\r' || *tail == ';')) tail++;
    if (tail && tail < sql + size && strncmp(tail, "--", 2) != 0) luaL_argerror(L, 2, "one statement is expected here");
    lua_replace(L, 1);
    *out = s;
    return 0;
}

int db_lua_prepare(lua_State *L, struct db_statement **out) { return prepare_argument(L, out); }

static struct db_statement *check_statement(lua_State *L) {
    struct db_statement *s = luaL_checkudata(L, 1, STATEMENT);
    if (!s->stmt) luaL_error(L, "this statement is closed");
    return s;
}

static int step_failure(lua_State *L, struct db_statement *s, int result) {
    int n = push_failure(L, s->db, result, "SQL", sqlite3_sql(s->stmt));
    sqlite3_reset(s->stmt);
    return n;
}

static int run_exec(lua_State *L, struct db_statement *s, int first) {
    int before = sqlite3_total_changes(s->db->handle), result;
    db_lua_bind(L, s->stmt, first);
    db_start(s->db);
    do result = db_step(s);
    while (result == SQLITE_ROW);
    if (result != SQLITE_DONE) return step_failure(L, s, result);
    sqlite3_reset(s->stmt);
    lua_pushinteger(L, sqlite3_total_changes(s->db->handle) - before);
    return 1;
}

static int run_query(lua_State *L, struct db_statement *s, int first) {
    db_lua_bind(L, s->stmt, first);
    lua_newtable(L);
    int result;
    db_start(s->db);
    for (lua_Integer n = 1; (result = db_step(s)) == SQLITE_ROW; n++) {
        push_row(L, s->stmt);
        lua_rawseti(L, -2, n);
    }
    if (result != SQLITE_DONE) return step_failure(L, s, result);
    int columns = sqlite3_column_count(s->stmt);
    lua_createtable(L, columns, 0);
    for (int i = 0; i < columns; i++) {
        lua_pushstring(L, sqlite3_column_name(s->stmt, i));
        lua_rawseti(L, -2, i + 1);
    }
    sqlite3_reset(s->stmt);
    return 2;
}

static int run_first(lua_State *L, struct db_statement *s, int first, bool whole) {
    db_lua_bind(L, s->stmt, first);
    db_start(s->db);
    int result = db_step(s);
    if (result == SQLITE_DONE) lua_pushnil(L);
    else if (result != SQLITE_ROW) return step_failure(L, s, result);
    else if (whole) push_row(L, s->stmt);
    else push_column(L, s->stmt, 0);
    sqlite3_reset(s->stmt);
    return 1;
}

static int run_row(lua_State *L, struct db_statement *s, int first) { return run_first(L, s, first, true); }
static int run_value(lua_State *L, struct db_statement *s, int first) { return run_first(L, s, first, false); }

static int next_row(lua_State *L) {
    struct db_statement *s = luaL_checkudata(L, lua_upvalueindex(1), STATEMENT);
    if (!s->stmt) return 0; // finished, or the database was closed
    db_start(s->db);        // the loop's body does not count
    int result = db_step(s);
    if (result == SQLITE_ROW) {
        push_row(L, s->stmt);
        return 1;
    }
    if (result == SQLITE_DONE) {
        if (lua_toboolean(L, lua_upvalueindex(2))) db_finalize(s);
        else sqlite3_reset(s->stmt);
        return 0;
    }
    step_failure(L, s, result);
    lua_getfield(L, -1, "message");
    return luaL_error(L, "%s", lua_tostring(L, -1));
}

static int rows_of(lua_State *L, struct db_statement *s, int first, bool own) {
    db_lua_bind(L, s->stmt, first);
    db_start(s->db);
    lua_pushvalue(L, 1);
    lua_pushboolean(L, own);
    lua_pushcclosure(L, next_row, 2);
    if (!own) return 1;
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushvalue(L, 1); // closed when the loop is left
    return 4;
}

static int run_rows(lua_State *L, struct db_statement *s, int first) { return rows_of(L, s, first, false); }
static int run_own_rows(lua_State *L, struct db_statement *s, int first) { return rows_of(L, s, first, true); }

// On the connection: prepare, run, finalize. On a statement: run.
static int with_sql(lua_State *L, int (*run)(lua_State *, struct db_statement *, int)) {
    struct db_statement *s = NULL;
    int failed = prepare_argument(L, &s);
    if (failed) return failed;
    int n = run(L, s, 3);
    if (run != run_own_rows) db_finalize(s);
    return n;
}

static int handle_exec(lua_State *L) {
    if (lua_gettop(L) > 2) return with_sql(L, run_exec);
    struct handle *h = check_handle(L, 1);
    size_t size;
    const char *sql = luaL_checklstring(L, 2, &size), *end = sql + size;
    luaL_argcheck(L, size < INT_MAX, 2, "the statement is too long");
    int before = sqlite3_total_changes(h->db.handle);
    while (sql < end) {
        struct db_statement *s = new_statement(L, 1);
        const char *tail = end;
        int result = db_prepare(&h->db, sql, (int)(end - sql), s, &tail);
        if (result == SQLITE_OK && s->stmt) {
            if (sqlite3_bind_parameter_count(s->stmt)) luaL_error(L, "the statement has parameters, none were given");
            db_start(&h->db);
            do result = db_step(s);
            while (result == SQLITE_ROW);
            if (result == SQLITE_DONE) result = SQLITE_OK;
        }
        if (result != SQLITE_OK) {
            int n = push_failure(L, &h->db, result, "SQL", sql);
            db_finalize(s);
            return n;
        }
        db_finalize(s);
        lua_pop(L, 1);
        sql = tail;
    }
    lua_pushinteger(L, sqlite3_total_changes(h->db.handle) - before);
    return 1;
}

static int handle_query(lua_State *L) { return with_sql(L, run_query); }
static int handle_row(lua_State *L) { return with_sql(L, run_row); }
static int handle_value(lua_State *L) { return with_sql(L, run_value); }
static int handle_rows(lua_State *L) {
    int n = with_sql(L, run_own_rows);
    if (n == 4) return n;
    lua_getfield(L, -1, "message"); // an iterator has no second result to carry an error
    return luaL_error(L, "%s", lua_tostring(L, -1));
}
static int statement_exec(lua_State *L) { return run_exec(L, check_statement(L), 2); }
static int statement_query(lua_State *L) { return run_query(L, check_statement(L), 2); }
static int statement_row(lua_State *L) { return run_row(L, check_statement(L), 2); }
static int statement_value(lua_State *L) { return run_value(L, check_statement(L), 2); }
static int statement_rows(lua_State *L) { return run_rows(L, check_statement(L), 2); }

static int handle_prepare(lua_State *L) {
    struct db_statement *s = NULL;
    lua_settop(L, 2);
    int failed = prepare_argument(L, &s);
    if (failed) return failed;
    lua_settop(L, 1);
    return 1;
}

// Transactions --------------------------------------------------------------------------------------------------------

static int run_words(struct handle *h, const char *outer, const char *inner, int depth) {
    char sql[64];
    if (depth == 0) return sqlite3_exec(h->db.handle, outer, NULL, NULL, NULL);
    sqlite3_snprintf(sizeof sql, sql, inner, depth);
    return sqlite3_exec(h->db.handle, sql, NULL, NULL, NULL);
}

static void roll_back(struct handle *h) {
    if (!h->db.handle || sqlite3_get_autocommit(h->db.handle)) return; // some errors have rolled back already
    db_start(&h->db);
    h->db.deadline = 0;
    const volatile sig_atomic_t *interrupt = h->db.interrupt;
    h->db.interrupt = NULL; // undoing is not stopped halfway
    if (h->depth == 0) sqlite3_exec(h->db.handle, "ROLLBACK", NULL, NULL, NULL);
    else run_words(h, "", "ROLLBACK TO nkiln_%d", h->depth), run_words(h, "", "RELEASE nkiln_%d", h->depth);
    h->db.interrupt = interrupt;
}

// Stack: the connection at 1, the results of fn (or its error) from 2 on.
static int finish_transaction(lua_State *L, int status, lua_KContext context) {
    (void)context;
    struct handle *h = luaL_checkudata(L, 1, DB);
    h->depth--;
    bool failed = status != LUA_OK && status != LUA_YIELD;
    if (failed || (lua_gettop(L) >= 3 && lua_isnil(L, 2) && !lua_isnil(L, 3))) {
        roll_back(h);
        return failed ? lua_error(L) : lua_gettop(L) - 1;
    }
    if (!h->db.handle) return luaL_error(L, "the database was closed inside its transaction");
    db_start(&h->db);
    int result = run_words(h, "COMMIT", "RELEASE nkiln_%d", h->depth);
    if (result == SQLITE_OK) return lua_gettop(L) - 1;
    int n = push_failure(L, &h->db, result, "commit", NULL);
    roll_back(h);
    return n;
}

static int handle_transaction(lua_State *L) {
    struct handle *h = check_handle(L, 1);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    db_start(&h->db);
    // IMMEDIATE takes the write lock at once: a lock that is taken later could fail in the middle.
    int result = run_words(h, "BEGIN IMMEDIATE", "SAVEPOINT nkiln_%d", h->depth);
    if (result != SQLITE_OK) return push_failure(L, &h->db, result, "begin", NULL);
    h->depth++;
    lua_pushvalue(L, 1);
    return finish_transaction(L, lua_pcallk(L, 1, LUA_MULTRET, 0, 0, finish_transaction), 0);
}

// Small things --------------------------------------------------------------------------------------------------------

static int handle_timeout(lua_State *L) {
    struct handle *h = check_handle(L, 1);
    h->db.seconds = luaL_optnumber(L, 2, 0);
    return 0;
}

static int handle_changes(lua_State *L) {
    lua_pushinteger(L, sqlite3_changes(check_handle(L, 1)->db.handle));
    return 1;
}

static int handle_last_id(lua_State *L) {
    lua_pushinteger(L, sqlite3_last_insert_rowid(check_handle(L, 1)->db.handle));
    return 1;
}

static int handle_in_transaction(lua_State *L) {
    lua_pushboolean(L, !sqlite3_get_autocommit(check_handle(L, 1)->db.handle));
    return 1;
}

static int blob(lua_State *L) {
    luaL_checkstring(L, 1);
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "bytes");
    luaL_setmetatable(L, BLOB);
    return 1;
}

static void define_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction close) {
    luaL_newmetatable(L, name);
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__close");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

int luaopen_rt_db(lua_State *L);
int luaopen_rt_db(lua_State *L) {
    static const luaL_Reg handle_methods[] = {
        {"exec", handle_exec},       {"query", handle_query},   {"row", handle_row},         {"value", handle_value},
        {"rows", handle_rows},       {"prepare", handle_prepare}, {"transaction", handle_transaction}, {"timeout", handle_timeout},
        {"changes", handle_changes}, {"last_id", handle_last_id}, {"in_transaction", handle_in_transaction}, {"close", handle_close},
        {NULL, NULL},
    };
    static const luaL_Reg statement_methods[] = {
        {"exec", statement_exec}, {"query", statement_query}, {"row", statement_row}, {"value", statement_value},
        {"rows", statement_rows}, {"close", statement_close}, {NULL, NULL},
    };
    static const luaL_Reg functions[] = {{"open", open_db}, {"blob", blob}, {NULL, NULL}};
    define_class(L, DB, handle_methods, handle_close);
    define_class(L, STATEMENT, statement_methods, statement_close);
    luaL_newmetatable(L, BLOB);
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}
