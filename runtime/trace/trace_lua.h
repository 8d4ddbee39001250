// SPDX-License-Identifier: MIT
// trace_lua.h: what the parts of rt.trace's binding share. All of it may raise.
#ifndef NKILN_TRACE_TRACE_LUA_H
#define NKILN_TRACE_TRACE_LUA_H

#include <lauxlib.h>
#include <lua.h>

#include "array/dtype.h"
#include "trace/store.h"
#include "trace/trace.h"

// nil, {code=, message=}; wrong use raises instead.
int trace_lua_failure(lua_State *L, const struct trace_error *err);
// The open store at `arg`.
struct store *trace_lua_store(lua_State *L, int arg);
// Push a fresh array of `count` elements; and what a builder holds: an array, { array, valid = } or { codes =, values = }.
void trace_lua_push_elements(lua_State *L, enum dtype type, const void *data, int64_t count);
void trace_lua_push_builder(lua_State *L, const struct column_builder *b);
// trace_files_lua.c: adds its functions to the table on top of the stack.
void trace_lua_open_files(lua_State *L);
void trace_lua_class(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction close);

int luaopen_rt_trace(lua_State *L);

#endif
