// SPDX-License-Identifier: MIT
// duckdb_lua.c: rt.duckdb, a thin binding of duckdb.h.
//
//   duckdb.open{ library = path | nil, folders = {...}, memory = bytes } -> d | nil, err (code "missing": no library)
//   d:exec(sql) -> true | nil, err        d:select(sql, limit) -> { columns, rows (NULL is false), more } | nil, err
//   d:close()
#include <lauxlib.h>
#include <lua.h>

#include "duckdb.h"

#define DUCKDB "nkiln.duckdb"

static int push_error(lua_State *L, const struct duckdb_error *err) {
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, err->missing ? "missing" : "sql");
    lua_setfield(L, -2, "code");
    lua_pushstring(L, err->message);
    lua_setfield(L, -2, "message");
    return 2;
}

static struct duckdb *check(lua_State *L) {
    struct duckdb *d = luaL_checkudata(L, 1, DUCKDB);
    luaL_argcheck(L, d->connection, 1, "it is closed");
    return d;
}

static int open_duckdb(lua_State *L) {
    enum { FOLDERS = 32 };
    const char *folders[FOLDERS + 1] = {NULL};
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_getfield(L, 1, "library");
    const char *library = luaL_optstring(L, 2, NULL);
    lua_getfield(L, 1, "memory");
    lua_Integer memory = luaL_optinteger(L, 3, 0);
    if (lua_getfield(L, 1, "folders") == LUA_TTABLE)
        for (int i = 0; i < FOLDERS && lua_rawgeti(L, 4, i + 1) == LUA_TSTRING; i++) folders[i] = lua_tostring(L, -1); // stays on the stack
    struct duckdb *d = lua_newuserdatauv(L, sizeof *d, 0);
    *d = (struct duckdb){0};
    luaL_setmetatable(L, DUCKDB);
    struct duckdb_error err;
    return duckdb_open(d, library, folders, memory > 0 ? (size_t)memory : 0, &err) ? 1 : push_error(L, &err);
}

struct target {
    lua_State *L;
    lua_Integer limit;
    bool more, no_memory;
};

// Rows go to the table at the top of the stack; an error of Lua must not jump over DuckDB's frames.
static int put_row(lua_State *L) {
    int64_t row = *(int64_t *)lua_touserdata(L, 2);
    int columns = (int)lua_tointeger(L, 3);
    const struct duckdb_value *values = lua_touserdata(L, 4);
    lua_createtable(L, columns, 0);
    for (int i = 0; i < columns; i++) {
        switch (values[i].kind) {
        case DUCKDB_NULL: lua_pushboolean(L, 0); break;
        case DUCKDB_INT: lua_pushinteger(L, values[i].i); break;
        case DUCKDB_REAL: lua_pushnumber(L, values[i].f); break;
        case DUCKDB_TEXT: lua_pushstring(L, values[i].text); break;
        }
        lua_rawseti(L, -2, i + 1);
    }
    if (row < 0) lua_setfield(L, 1, "columns");
    else {
        lua_getfield(L, 1, "rows");
        lua_pushvalue(L, -2);
        lua_rawseti(L, -2, (lua_Integer)row + 1);
    }
    return 0;
}

static bool on_row(void *user, int64_t row, int columns, const struct duckdb_value *values) {
    struct target *t = user;
    lua_State *L = t->L;
    if (t->limit && row >= t->limit) {
        t->more = true;
        return false;
    }
    lua_pushcfunction(L, put_row);
    lua_pushvalue(L, -2);
    lua_pushlightuserdata(L, &row);
    lua_pushinteger(L, columns);
    lua_pushlightuserdata(L, (void *)values);
    t->no_memory = lua_pcall(L, 4, 0, 0) != LUA_OK;
    if (t->no_memory) lua_pop(L, 1);
    return !t->no_memory;
}

static int select_rows(lua_State *L) {
    struct duckdb *d = check(L);
    const char *sql = luaL_checkstring(L, 2);
    struct target t = {.L = L, .limit = luaL_optinteger(L, 3, 0)};
    struct duckdb_error err = {0};
    luaL_checkstack(L, 8, "rows");
    lua_settop(L, 3);
    lua_createtable(L, 0, 3);
    lua_newtable(L);
    lua_setfield(L, 4, "rows");
    if (!duckdb_query(d, sql, on_row, &t, &err)) return push_error(L, &err);
    if (t.no_memory) return luaL_error(L, "not enough memory");
    lua_pushboolean(L, t.more);
    lua_setfield(L, 4, "more");
    return 1;
}

static int exec(lua_State *L) {
    struct duckdb_error err = {0};
    if (!duckdb_query(check(L), luaL_checkstring(L, 2), NULL, NULL, &err)) return push_error(L, &err);
    lua_pushboolean(L, 1);
    return 1;
}

static int close_duckdb(lua_State *L) {
    duckdb_close(luaL_checkudata(L, 1, DUCKDB));
    return 0;
}

int luaopen_rt_duckdb(lua_State *L);
int luaopen_rt_duckdb(lua_State *L) {
    static const luaL_Reg methods[] = {{"select", select_rows}, {"exec", exec}, {"close", close_duckdb}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"open", open_duckdb}, {NULL, NULL}};
    luaL_newmetatable(L, DUCKDB);
    lua_pushcfunction(L, close_duckdb);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, close_duckdb);
    lua_setfield(L, -2, "__close");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}
