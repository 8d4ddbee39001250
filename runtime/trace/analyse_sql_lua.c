// SPDX-License-Identifier: MIT
// analyse_sql_lua.c: the half of rt.analyse that speaks SQL: functions for queries, tables from queries, rows for people. A
// query that fails gives nil, {code, message} as rt.db does.
#include <lauxlib.h>
#include <limits.h>
#include <string.h>

#include "db_lua.h"
#include "trace/analyse_load.h"
#include "trace/analyse_lua.h"
#include "trace/sqlfn.h"

static int push_failure(lua_State *L, const struct db *db, int result, const char *what) {
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, db_code(db, result));
    lua_setfield(L, -2, "code");
    lua_pushfstring(L, "%s%s%s", what, *what ? ": " : "", db_words(db, result));
    lua_setfield(L, -2, "message");
    return 2;
}

static int sql_functions(lua_State *L) {
    struct db *db = db_lua_check(L, 1);
    int result = sqlfn_register(db->handle);
    if (result != SQLITE_OK) return push_failure(L, db, result, "SQL functions");
    lua_pushboolean(L, 1);
    return 1;
}

static int load(lua_State *L) {
    struct db *db = db_lua_check(L, 1);
    size_t size;
    const char *sql = luaL_checklstring(L, 2, &size);
    luaL_argcheck(L, size < INT_MAX, 2, "the statement is too long");
    struct analyse_error err;
    struct analyse_table *t = analyse_table_push(L);
    if (!analyse_table_init(t, analyse_account(L), &err)) return analyse_data_error(L, &err);
    struct db_statement s;
    int result = db_prepare(db, sql, (int)size, &s, NULL);
    if (result != SQLITE_OK) return push_failure(L, db, result, "");
    luaL_argcheck(L, s.stmt, 2, "there is no statement");
    db_start(db);
    bool fine = analyse_table_load(t, s.stmt, &result, &err);
    db_finalize(&s); // before anything that may raise: the statement is on the C stack
    if (!fine) return analyse_data_error(L, &err);
    return result == SQLITE_DONE ? 1 : push_failure(L, db, result, "");
}

// analyse.load_table(db, list of expressions, table) -> table | nil, err
static int load_table(lua_State *L) {
    struct db *db = db_lua_check(L, 1);
    const char *list = luaL_checkstring(L, 2), *name = luaL_checkstring(L, 3);
    struct analyse_error err;
    char words[200] = "";
    int result = SQLITE_DONE;
    struct analyse_table *t = analyse_table_push(L);
    if (!analyse_table_init(t, analyse_account(L), &err)) return analyse_data_error(L, &err);
    if (!analyse_load_table(db, list, name, t, &result, words, &err)) return analyse_data_error(L, &err);
    if (result == SQLITE_DONE) return 1;
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, db_code(db, result));
    lua_setfield(L, -2, "code");
    lua_pushstring(L, words);
    lua_setfield(L, -2, "message");
    return 2;
}

// analyse.select(db, sql, limit) -> { columns = {names}, rows = { {values, NULL as false}, ... }, more = bool }; nil, err.
// The statement must be the only one, give columns and write nothing. Blobs come as text x'..'.
static int select_rows(lua_State *L) {
    struct db *db = db_lua_check(L, 1);
    size_t size;
    const char *sql = luaL_checklstring(L, 2, &size), *tail = NULL;
    lua_Integer limit = luaL_optinteger(L, 3, 0), n = 0;
    luaL_argcheck(L, size < INT_MAX, 2, "the statement is too long");
    lua_settop(L, 3);
    struct db_statement *s = lua_newuserdatauv(L, sizeof *s, 0); // finalized by the connection if something raises here
    int result = db_prepare(db, sql, (int)size, s, &tail);
    if (result != SQLITE_OK) return push_failure(L, db, result, "");
    const char *wrong = !s->stmt ? "there is no statement" : NULL;
    while (tail && (*tail == ' ' || *tail == '\n' || *tail == '\t' || *tail == '\r' || *tail == ';')) tail++;
    if (s->stmt && tail < sql + size && strncmp(tail, "--", 2) != 0) wrong = "one statement is expected";
    else if (s->stmt && (!sqlite3_stmt_readonly(s->stmt) || sqlite3_column_count(s->stmt) == 0))
        wrong = "only SELECT is possible: a profile is read, never written";
    else if (s->stmt && sqlite3_bind_parameter_count(s->stmt)) wrong = "the statement has parameters, and there are no values for them";
    if (wrong) {
        db_finalize(s);
        lua_pushnil(L);
        lua_createtable(L, 0, 2);
        lua_pushliteral(L, "usage");
        lua_setfield(L, -2, "code");
        lua_pushstring(L, wrong);
        lua_setfield(L, -2, "message");
        return 2;
    }
    int columns = sqlite3_column_count(s->stmt);
    bool more = false;
    lua_createtable(L, 0, 3); // 5
    lua_createtable(L, columns, 0);
    for (int k = 0; k < columns; k++) {
        lua_pushstring(L, sqlite3_column_name(s->stmt, k));
        lua_rawseti(L, -2, k + 1);
    }
    lua_setfield(L, 5, "columns");
    lua_newtable(L); // 6
    db_start(db);
    while ((result = db_step(s)) == SQLITE_ROW) {
        if (limit && n == limit) {
            more = true;
            break;
        }
        lua_createtable(L, columns, 0);
        for (int k = 0; k < columns; k++) {
            switch (sqlite3_column_type(s->stmt, k)) {
            case SQLITE_NULL: lua_pushboolean(L, 0); break;
            case SQLITE_INTEGER: lua_pushinteger(L, sqlite3_column_int64(s->stmt, k)); break;
            case SQLITE_FLOAT: lua_pushnumber(L, sqlite3_column_double(s->stmt, k)); break;
            case SQLITE_BLOB: {
                const unsigned char *bytes = sqlite3_column_blob(s->stmt, k);
                int count = sqlite3_column_bytes(s->stmt, k);
                luaL_Buffer b;
                char *out = luaL_buffinitsize(L, &b, (size_t)count * 2 + 3), *p = out;
                *p++ = 'x', *p++ = '\'';
                for (int i = 0; i < count; i++) *p++ = "0123456789abcdef"[bytes[i] >> 4], *p++ = "0123456789abcdef"[bytes[i] & 15];
                *p++ = '\'';
                luaL_pushresultsize(&b, (size_t)(p - out));
                break;
            }
            default: {
                const char *text = (const char *)sqlite3_column_text(s->stmt, k);
                lua_pushlstring(L, text ? text : "", (size_t)sqlite3_column_bytes(s->stmt, k));
            }
            }
            lua_rawseti(L, -2, k + 1);
        }
        lua_rawseti(L, 6, ++n);
    }
    if (result != SQLITE_DONE && !more) {
        int count = push_failure(L, db, result, "");
        db_finalize(s);
        return count;
    }
    db_finalize(s);
    lua_setfield(L, 5, "rows");
    lua_pushboolean(L, more);
    lua_setfield(L, 5, "more");
    return 1;
}

void analyse_lua_open_sql(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"sql_functions", sql_functions}, {"load", load}, {"load_table", load_table}, {"select", select_rows}, {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
}
