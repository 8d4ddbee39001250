// SPDX-License-Identifier: MIT
// trace_lua.h: what the parts of rt.trace's binding share. All of it may raise.
#ifndef NKILN_TRACE_TRACE_LUA_H
#define NKILN_TRACE_TRACE_LUA_H

#include <lauxlib.h>
#include <lua.h>

#include "trace/store.h"
#include "trace/trace.h"

// nil, {code=, message=}; wrong use raises instead.
int trace_lua_failure(lua_State *L, const struct trace_error *err);
// The open store at `arg`.
struct store *trace_lua_store(lua_State *L, int arg);
void trace_lua_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction close);

int luaopen_rt_trace(lua_State *L);

#endif
