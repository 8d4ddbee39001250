// SPDX-License-Identifier: MIT
// proc_lua.h: the children of a Lua state, shared by rt.proc and rt.worker.
#ifndef NKILN_PROC_LUA_H
#define NKILN_PROC_LUA_H

#include <lua.h>

#include "jail.h"
#include "proc.h"

struct children *proc_children(lua_State *L); // made at first use; raises when there is no memory

// A NULL-terminated vector of the strings in the table at `index`, as a userdata pushed on the stack; the strings stay
// owned by the table. nil gives NULL (a nil is pushed). Raises on anything but strings.
const char **proc_push_strings(lua_State *L, int index, const char *what);

int luaopen_rt_proc(lua_State *L);

#endif
