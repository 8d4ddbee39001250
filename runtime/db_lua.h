// SPDX-License-Identifier: MIT
// db_lua.h: databases of rt.db, for other bindings that take one. All of it may raise.
#ifndef NKILN_DB_LUA_H
#define NKILN_DB_LUA_H

#include <lua.h>

#include "db.h"

// The open database at `arg`; raises otherwise.
struct db *db_lua_check(lua_State *L, int arg);
// Push a database opened read-only and return 1, or push nil, err and return 2.
int db_lua_open_readonly(lua_State *L, const char *path);
// Prepare the SQL at index 2 for the database at index 1, and put the statement at index 1. Returns 0, or how many
// results (nil, err) were pushed.
int db_lua_prepare(lua_State *L, struct db_statement **out);
// Bind the arguments from `first` to the top of the stack: values in order, or one table.
void db_lua_bind(lua_State *L, sqlite3_stmt *stmt, int first);

#endif
