// SPDX-License-Identifier: MIT
// array_lua.h: arrays as Lua userdata with metatable "rt.array", for bindings that take or return them.
#ifndef NKILN_ARRAY_ARRAY_LUA_H
#define NKILN_ARRAY_ARRAY_LUA_H

#include <lauxlib.h>
#include <lua.h>

#include "array/array.h"

#define ARRAY_METATABLE "rt.array"

// Push a closed array; fill it with a function of array.h. Collects garbage first when array memory has grown much.
struct array *array_push(lua_State *L);

// The open array at index; raises otherwise. array_test returns NULL when the value is no array.
struct array *array_check(lua_State *L, int index);
struct array *array_test(lua_State *L, int index);

// Raise the message of a failure. array_done(L, ok, &err) raises unless ok, and returns 1 (the pushed array) otherwise.
int array_raise(lua_State *L, const struct array_error *err);
int array_done(lua_State *L, bool ok, const struct array_error *err);

// Arguments: a dtype name; a shape (list, or one integer) into shape[8], returning ndim; an array, number or boolean.
enum dtype array_check_dtype(lua_State *L, int index);
int array_check_shape(lua_State *L, int index, int64_t *shape);
struct operand array_check_operand(lua_State *L, int index);
int array_check_axis(lua_State *L, int index, const char *what);

// Parts of the module, each adding its functions to the table on top of the stack.
void array_lua_open_operations(lua_State *L);
void array_lua_open_files(lua_State *L);

int luaopen_rt_array(lua_State *L);

#endif
