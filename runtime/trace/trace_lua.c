// SPDX-License-Identifier: MIT
// trace_lua.c: rt.trace, profile files. The store and the reading of queries as columns; trace.meta.lua is its contract.
// Wrong use raises; a failure of the world returns nil, {code=, message=}.
#include "trace/trace_lua.h"

#include <stdlib.h>
#include <string.h>

#include "array/array_lua.h"
#include "db_lua.h"
#include "run.h"
#include "trace/fetch.h"

#define STORE "rt.trace.store"
#define FETCH "rt.trace.fetch"

int trace_lua_failure(lua_State *L, const struct trace_error *err) {
    if (err->status == TRACE_WRONG_USE) return luaL_error(L, "%s", err->message);
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, trace_code(err->status));
    lua_setfield(L, -2, "code");
    lua_pushstring(L, err->message);
    lua_setfield(L, -2, "message");
    return 2;
}

// Lua columns -> struct column ----------------------------------------------------------------------------------------

static enum column_type type_of(enum dtype t) {
    switch (t) {
    case DTYPE_BOOL: return COLUMN_BOOL;
    case DTYPE_INT8: return COLUMN_INT8;
    case DTYPE_INT16: return COLUMN_INT16;
    case DTYPE_INT32: return COLUMN_INT32;
    case DTYPE_INT64: return COLUMN_INT64;
    case DTYPE_UINT8: return COLUMN_UINT8;
    case DTYPE_UINT16: return COLUMN_UINT16;
    case DTYPE_UINT32: return COLUMN_UINT32;
    case DTYPE_FLOAT32: return COLUMN_FLOAT32;
    case DTYPE_FLOAT64: return COLUMN_FLOAT64;
    default: return COLUMN_NONE; // the narrow floats
    }
}

// The array at `index` as contiguous elements of a type that columns have; pushes what must stay alive.
static const struct array *plain_array(lua_State *L, int index, const char *name, enum dtype wanted) {
    const struct array *a = array_check(L, index);
    if (a->ndim != 1) luaL_error(L, "column %s: a rank 1 array is expected, this one has %d dimensions", name, a->ndim);
    enum dtype t = wanted != DTYPE_COUNT ? wanted : type_of(a->dtype) == COLUMN_NONE ? DTYPE_FLOAT32 : a->dtype;
    struct array_error err;
    struct array *out = array_push(L);
    if (!(a->dtype == t ? array_contiguous(out, a, &err) : array_cast(out, a, t, &err))) array_raise(L, &err);
    return out;
}

// The list at the top of the stack as words; pushes a userdata that holds their places. The list keeps them alive.
static void read_words(lua_State *L, const char *name, struct column *c) {
    lua_Integer n = luaL_len(L, -1);
    if (n > INT32_MAX) luaL_error(L, "column %s: too many values", name);
    struct column_text *words = lua_newuserdatauv(L, (size_t)(n ? n : 1) * sizeof *words, 0);
    for (lua_Integer i = 1; i <= n; i++) {
        size_t length;
        if (lua_geti(L, -2, i) != LUA_TSTRING) luaL_error(L, "column %s: value %I is no text", name, i);
        const char *bytes = lua_tolstring(L, -1, &length);
        if (length > INT32_MAX) luaL_error(L, "column %s: value %I is too long", name, i);
        words[i - 1] = (struct column_text){bytes, (uint32_t)length};
        lua_pop(L, 1);
    }
    c->words = words;
    c->word_count = (int32_t)n;
}

static void read_table_column(lua_State *L, int index, const char *name, struct column *c) {
    if (lua_getfield(L, index, "codes") != LUA_TNIL) {
        const struct array *a = plain_array(L, lua_gettop(L), name, DTYPE_INT32);
        c->type = COLUMN_CODES;
        c->data = array_data(a);
        c->count = a->size;
        if (lua_getfield(L, index, "values") != LUA_TTABLE) luaL_error(L, "column %s has codes but no values", name);
        read_words(L, name, c);
    } else {
        lua_pop(L, 1);
        if (lua_getfield(L, index, "array") == LUA_TNIL) lua_geti(L, index, 1);
        if (!array_test(L, -1)) luaL_error(L, "column %s: an array, or codes and values, are expected", name);
        const struct array *a = plain_array(L, lua_gettop(L), name, DTYPE_COUNT);
        c->type = type_of(a->dtype);
        c->data = array_data(a);
        c->count = a->size;
    }
    if (lua_getfield(L, index, "valid") != LUA_TNIL) {
        const struct array *v = plain_array(L, lua_gettop(L), name, DTYPE_BOOL);
        if (v->size != c->count) luaL_error(L, "column %s: %I elements, but valid has %I", name, c->count, v->size);
        c->valid = array_data(v);
    }
}

// One value for every row lives in `cell`.
union cell {
    int64_t integer;
    double number;
    struct column_text text;
};

static void read_constant(lua_State *L, int index, const char *name, struct column *c, union cell *cell) {
    c->constant = true;
    c->count = 1;
    c->data = cell;
    if (lua_isboolean(L, index) || lua_isinteger(L, index)) {
        c->type = COLUMN_INT64;
        cell->integer = lua_isboolean(L, index) ? lua_toboolean(L, index) : lua_tointeger(L, index);
    } else if (lua_type(L, index) == LUA_TNUMBER) {
        c->type = COLUMN_FLOAT64;
        cell->number = lua_tonumber(L, index);
    } else if (lua_type(L, index) == LUA_TSTRING) {
        size_t length;
        const char *bytes = lua_tolstring(L, index, &length);
        if (length > INT32_MAX) luaL_error(L, "column %s: too long", name);
        c->type = COLUMN_TEXT;
        cell->text = (struct column_text){bytes, (uint32_t)length};
    } else if (lua_islightuserdata(L, index) && !lua_touserdata(L, index)) { // json.null
        *c = (struct column){.type = COLUMN_NONE};
    } else {
        luaL_error(L, "column %s is a %s", name, luaL_typename(L, index));
    }
}

// Store --------------------------------------------------------------------------------------------------------------

struct store *trace_lua_store(lua_State *L, int arg) {
    struct store **s = luaL_checkudata(L, arg, STORE);
    if (!*s) luaL_error(L, "this store is closed");
    return *s;
}

static int store_abort(lua_State *L) {
    struct store **s = luaL_checkudata(L, 1, STORE);
    store_close(*s);
    *s = NULL;
    return 0;
}

// {name =, columns = { {name =, ...}, ... }, sql =, indices =} at index; the store's userdata is at `store`.
static bool add_table(lua_State *L, int store, int index, struct trace_error *err) {
    struct store *s = trace_lua_store(L, store);
    luaL_checktype(L, index, LUA_TTABLE);
    int top = lua_gettop(L);
    lua_getfield(L, index, "name");
    lua_getfield(L, index, "sql");
    if (!lua_isstring(L, top + 1) || !lua_isstring(L, top + 2) || lua_getfield(L, index, "columns") != LUA_TTABLE)
        luaL_error(L, "a table is { name =, columns = { { name = } ... }, sql = }");
    int count = (int)luaL_len(L, -1);
    const char **names = lua_newuserdatauv(L, (size_t)(count + 1) * sizeof *names, 0);
    luaL_checkstack(L, count + 10, "columns");
    for (int i = 0; i < count; i++) {
        lua_geti(L, top + 3, i + 1);
        if (!lua_istable(L, -1) || lua_getfield(L, -1, "name") != LUA_TSTRING)
            luaL_error(L, "column %d of %s has no name", i + 1, lua_tostring(L, top + 1));
        names[i] = lua_tostring(L, -1);
        lua_remove(L, -2); // the name stays, so that it lives
    }
    if (!store_table(s, lua_tostring(L, top + 1), names, count, lua_tostring(L, top + 2), err)) return false;
    lua_settop(L, top);
    lua_getiuservalue(L, store, 1);
    if (lua_getfield(L, index, "indices") == LUA_TTABLE)
        for (lua_Integer i = 1, n = luaL_len(L, -1); i <= n; i++) {
            lua_geti(L, -1, i);
            lua_rawseti(L, -3, luaL_len(L, -3) + 1);
        }
    lua_settop(L, top);
    return true;
}

static int store_create(lua_State *L) {
    size_t size;
    const char *path = luaL_checklstring(L, 1, &size);
    luaL_argcheck(L, strlen(path) == size, 1, "a path cannot hold a NUL byte");
    if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    struct run_state *run = run_state(L);
    struct trace_watch watch = {.interrupt = run ? &run->interrupt : NULL};
    struct store **s = lua_newuserdatauv(L, sizeof *s, 1); // its value: SQL of the indices to make
    *s = NULL;
    luaL_setmetatable(L, STORE);
    lua_newtable(L);
    lua_setiuservalue(L, 3, 1);
    struct trace_error err;
    if (!store_open(s, path, &watch, &err)) return trace_lua_failure(L, &err);
    lua_Integer count = lua_isnil(L, 2) ? 0 : luaL_len(L, 2);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_geti(L, 2, i);
        if (!add_table(L, 3, 4, &err)) {
            store_close(*s);
            *s = NULL;
            return trace_lua_failure(L, &err);
        }
        lua_settop(L, 3);
    }
    return 1;
}

static int store_add_table(lua_State *L) {
    struct trace_error err;
    if (!add_table(L, 1, 2, &err)) return trace_lua_failure(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int check_table(lua_State *L, const struct store *s, int arg) {
    int table = store_find_table(s, luaL_checkstring(L, arg));
    if (table < 0) luaL_error(L, "the store has no table %s", lua_tostring(L, arg));
    return table;
}

static int check_column(lua_State *L, const struct store *s, int table, int name) {
    int column = lua_type(L, name) == LUA_TSTRING ? store_find_column(s, table, lua_tostring(L, name)) : -1;
    if (column < 0) luaL_error(L, "table %s has no column %s", lua_tostring(L, 2), luaL_tolstring(L, name, NULL));
    return column;
}

static int store_append_columns(lua_State *L) {
    struct store *s = trace_lua_store(L, 1);
    int table = check_table(L, s, 2), count = store_column_count(s, table);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    struct column *columns = lua_newuserdatauv(L, (size_t)count * sizeof *columns, 0);
    union cell *cells = lua_newuserdatauv(L, (size_t)count * sizeof *cells, 0);
    memset(columns, 0, (size_t)count * sizeof *columns);
    int64_t rows = -1;
    lua_pushnil(L);
    while (lua_next(L, 3)) { // whatever a column needs stays on the stack below the key
        luaL_checkstack(L, 12, "columns");
        int value = lua_gettop(L), i = check_column(L, s, table, value - 1);
        const char *name = lua_tostring(L, value - 1);
        if (lua_istable(L, value)) read_table_column(L, value, name, &columns[i]);
        else if (array_test(L, value)) {
            const struct array *a = plain_array(L, value, name, DTYPE_COUNT);
            columns[i].type = type_of(a->dtype);
            columns[i].data = array_data(a);
            columns[i].count = a->size;
        } else {
            read_constant(L, value, name, &columns[i], &cells[i]);
        }
        if (columns[i].type != COLUMN_NONE && !columns[i].constant) {
            if (rows >= 0 && rows != columns[i].count)
                luaL_error(L, "table %s: column %s has %I rows, the others %I", lua_tostring(L, 2), name,
                           (lua_Integer)columns[i].count, (lua_Integer)rows);
            rows = columns[i].count;
        }
        lua_pushvalue(L, value - 1);
    }
    if (rows < 0) rows = 1; // constants only: one row
    struct trace_error err;
    if (!store_append(s, table, columns, rows, &err)) return trace_lua_failure(L, &err);
    lua_pushinteger(L, rows);
    return 1;
}

struct builders {
    struct column_builder *columns;
    int count;
};

// Rows as Lua tables: for short tables.
static int add_rows(lua_State *L) {
    struct store *s = trace_lua_store(L, 1);
    struct builders *b = lua_touserdata(L, 4);
    int table = check_table(L, s, 2);
    lua_Integer rows = luaL_len(L, 3);
    for (lua_Integer r = 1; r <= rows; r++) {
        if (lua_geti(L, 3, r) != LUA_TTABLE) return luaL_error(L, "row %I is a %s", r, luaL_typename(L, -1));
        for (lua_pushnil(L); lua_next(L, 5); lua_pop(L, 1)) {
            struct column_builder *c = &b->columns[check_column(L, s, table, 6)];
            bool ok = true;
            if (lua_isboolean(L, 7)) ok = column_builder_integer(c, lua_toboolean(L, 7));
            else if (lua_isinteger(L, 7)) ok = column_builder_integer(c, lua_tointeger(L, 7));
            else if (lua_type(L, 7) == LUA_TNUMBER) ok = column_builder_double(c, lua_tonumber(L, 7));
            else if (lua_type(L, 7) == LUA_TSTRING) {
                size_t length;
                const char *bytes = lua_tolstring(L, 7, &length);
                ok = column_builder_text(c, bytes, length);
            } else if (!(lua_islightuserdata(L, 7) && !lua_touserdata(L, 7)))
                return luaL_error(L, "row %I: column %s is a %s", r, lua_tostring(L, 6), luaL_typename(L, 7));
            if (!ok) return luaL_error(L, "out of memory");
        }
        for (int i = 0; i < b->count; i++)
            if (b->columns[i].count < r && !column_builder_null(&b->columns[i])) return luaL_error(L, "out of memory");
        lua_settop(L, 4);
    }
    struct trace_error err;
    struct column *views = lua_newuserdatauv(L, (size_t)b->count * sizeof *views, 0);
    for (int i = 0; i < b->count; i++) views[i] = column_builder_view(&b->columns[i]);
    if (!store_append(s, table, views, rows, &err)) return trace_lua_failure(L, &err);
    lua_pushinteger(L, rows);
    return 1;
}

static int store_append_rows(lua_State *L) {
    struct store *s = trace_lua_store(L, 1);
    int table = check_table(L, s, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    struct builders b = {.count = store_column_count(s, table)};
    lua_pushcfunction(L, add_rows);
    lua_insert(L, 1);
    b.columns = calloc((size_t)b.count, sizeof *b.columns);
    if (!b.columns) return luaL_error(L, "out of memory");
    lua_pushlightuserdata(L, &b);
    int status = lua_pcall(L, 4, LUA_MULTRET, 0);
    for (int i = 0; i < b.count; i++) column_builder_free(&b.columns[i]);
    free(b.columns);
    return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

static int store_run_sql(lua_State *L) {
    struct trace_error err;
    if (!store_exec(trace_lua_store(L, 1), luaL_checkstring(L, 2), &err)) return trace_lua_failure(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int store_index(lua_State *L) {
    struct store *s = trace_lua_store(L, 1);
    lua_getiuservalue(L, 1, 1);
    for (lua_Integer i = 1, n = luaL_len(L, -1); i <= n; i++) {
        struct trace_error err;
        lua_geti(L, -1, i);
        if (!store_exec(s, luaL_checkstring(L, -1), &err)) return trace_lua_failure(L, &err);
        lua_pop(L, 1);
    }
    lua_newtable(L); // each is made once
    lua_setiuservalue(L, 1, 1);
    lua_pushboolean(L, 1);
    return 1;
}

static int store_finish(lua_State *L) {
    struct trace_error err;
    bool ok = store_commit(trace_lua_store(L, 1), &err);
    store_abort(L);
    if (!ok) return trace_lua_failure(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int store_count(lua_State *L) {
    struct store *s = trace_lua_store(L, 1);
    lua_pushinteger(L, store_rows(s, check_table(L, s, 2)));
    return 1;
}

static int store_has(lua_State *L) {
    struct store *s = trace_lua_store(L, 1);
    lua_pushboolean(L, store_find_table(s, luaL_checkstring(L, 2)) >= 0);
    return 1;
}

// Queries as columns -------------------------------------------------------------------------------------------------

static int fetch_gc(lua_State *L) {
    fetch_free(luaL_checkudata(L, 1, FETCH));
    return 0;
}

void trace_lua_push_elements(lua_State *L, enum dtype type, const void *data, int64_t count) {
    struct array_error err;
    struct array *a = array_push(L);
    if (!array_create(a, &run_state(L)->arrays, type, 1, &count, &err)) array_raise(L, &err);
    if (count) memcpy(array_data(a), data, (size_t)count * dtype_size(type));
}

// Push what a builder holds: an array, { array, valid = }, or { codes =, values = }.
void trace_lua_push_builder(lua_State *L, const struct column_builder *b) {
    static const int64_t none = 0;
    const void *data = b->data ? b->data : &none;
    if (b->type == COLUMN_CODES) {
        lua_createtable(L, 0, 2);
        trace_lua_push_elements(L, DTYPE_INT32, data, b->count);
        lua_setfield(L, -2, "codes");
        lua_createtable(L, b->dictionary.count, 0);
        for (int32_t i = 0; i < b->dictionary.count; i++) {
            lua_pushlstring(L, b->dictionary.words[i].bytes, b->dictionary.words[i].length);
            lua_rawseti(L, -2, i + 1);
        }
        lua_setfield(L, -2, "values");
        return;
    }
    if (b->valid) lua_createtable(L, 1, 1);
    trace_lua_push_elements(L, b->type == COLUMN_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_INT64, data, b->count);
    if (!b->valid) return;
    lua_rawseti(L, -2, 1);
    trace_lua_push_elements(L, DTYPE_BOOL, b->valid, b->count);
    lua_setfield(L, -2, "valid");
}

// { names =, columns =, rows = }; the builders are emptied on the way.
static void push_fetch(lua_State *L, struct fetch *f) {
    lua_createtable(L, 0, 3);
    lua_createtable(L, f->count, 0);
    lua_createtable(L, 0, f->count);
    for (int i = 0; i < f->count; i++) {
        lua_pushstring(L, f->names[i]);
        lua_rawseti(L, -3, i + 1);
        trace_lua_push_builder(L, &f->columns[i]);
        column_builder_free(&f->columns[i]);
        lua_setfield(L, -2, f->names[i]);
    }
    lua_setfield(L, -3, "columns");
    lua_setfield(L, -2, "names");
    lua_pushinteger(L, f->rows);
    lua_setfield(L, -2, "rows");
}

static struct fetch *new_fetch(lua_State *L) {
    struct fetch *f = lua_newuserdatauv(L, sizeof *f, 0);
    *f = (struct fetch){0};
    luaL_setmetatable(L, FETCH);
    return f;
}

static int store_columns(lua_State *L) {
    struct store *s = trace_lua_store(L, 1);
    const char *sql = luaL_checkstring(L, 2);
    lua_Integer limit = luaL_optinteger(L, 3, 0);
    struct fetch *f = new_fetch(L);
    struct trace_error err;
    bool ok = store_fetch(s, sql, limit, f, &err);
    if (ok) push_fetch(L, f);
    fetch_free(f);
    return ok ? 1 : trace_lua_failure(L, &err);
}

// (db or path, sql, params, options)
static int columns_of(lua_State *L) {
    luaL_checkstring(L, 2);
    lua_settop(L, 4);
    double seconds = 0;
    lua_Integer limit = 0;
    if (!lua_isnil(L, 4)) {
        luaL_checktype(L, 4, LUA_TTABLE);
        lua_getfield(L, 4, "seconds");
        seconds = luaL_optnumber(L, -1, 0);
        lua_getfield(L, 4, "limit");
        limit = luaL_optinteger(L, -1, 0);
        lua_settop(L, 4);
    }
    bool own = lua_type(L, 1) == LUA_TSTRING;
    if (own) {
        int n = db_lua_open_readonly(L, lua_tostring(L, 1));
        if (n == 2) return 2;
        lua_pushvalue(L, 1); // the path, for messages
        lua_pushvalue(L, 5);
        lua_replace(L, 1);
    } else {
        db_lua_check(L, 1);
        lua_settop(L, 6);
        lua_pushvalue(L, 1);
        lua_replace(L, 5);
    }
    struct db *db = db_lua_check(L, 5); // stays at 5: closed by collection when it is ours
    double before = db->seconds;
    struct db_statement *statement = NULL;
    if (db_lua_prepare(L, &statement)) return 2;
    if (!sqlite3_stmt_readonly(statement->stmt)) return luaL_error(L, "trace.columns takes a query that only reads");
    lua_settop(L, 6);
    int first = lua_gettop(L) + 1;
    if (!lua_isnil(L, 3)) lua_pushvalue(L, 3);
    db_lua_bind(L, statement->stmt, first);
    lua_settop(L, 6);
    struct fetch *f = new_fetch(L);
    struct trace_error err;
    db->seconds = seconds > 0 ? seconds : before;
    bool ok = fetch_rows(statement, limit, f, &err);
    db->seconds = before;
    if (!ok) {
        fetch_free(f);
        db_finalize(statement);
        if (own) db_close(db);
        return trace_lua_failure(L, &err);
    }
    push_fetch(L, f);
    fetch_free(f);
    db_finalize(statement);
    if (own) db_close(db);
    return 1;
}

// Module -------------------------------------------------------------------------------------------------------------

void trace_lua_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction close) {
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

int luaopen_rt_trace(lua_State *L) {
    static const luaL_Reg store_methods[] = {
        {"table", store_add_table}, {"append", store_append_columns}, {"rows", store_append_rows},
        {"exec", store_run_sql},    {"commit", store_finish},         {"abort", store_abort},
        {"count", store_count},     {"has", store_has},               {"index", store_index},
        {"columns", store_columns},
        {NULL, NULL},
    };
    static const luaL_Reg none[] = {{NULL, NULL}};
    static const luaL_Reg functions[] = {{"store_create", store_create}, {"columns", columns_of}, {NULL, NULL}};
    luaL_requiref(L, "rt.array", luaopen_rt_array, 0); // columns are arrays
    lua_pop(L, 1);
    trace_lua_class(L, STORE, store_methods, store_abort);
    trace_lua_class(L, FETCH, none, fetch_gc);
    luaL_newlib(L, functions);
    trace_lua_open_files(L);
    return 1;
}
