// SPDX-License-Identifier: MIT
// analyse_lua.h: what the two halves of the binding of rt.analyse share.
#ifndef NKILN_TRACE_ANALYSE_LUA_H
#define NKILN_TRACE_ANALYSE_LUA_H

#include <lua.h>

#include "trace/analyse.h"

// The account of the run that this state belongs to.
struct account *analyse_account(lua_State *L);
// Raise {code="bad-profile", message=}.
int analyse_data_error(lua_State *L, const struct analyse_error *err);
// Push a closed table, to be made with analyse_table_init.
struct analyse_table *analyse_table_push(lua_State *L);
// Add the functions that make tables from SQL to the module on top of the stack.
void analyse_lua_open_sql(lua_State *L);

#endif
