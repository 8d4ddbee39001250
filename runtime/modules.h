// SPDX-License-Identifier: MIT
// modules.h: the table of C modules a Lua state can `require` as "rt.NAME". Opening one has no effect beyond its table.
#ifndef NKILN_MODULES_H
#define NKILN_MODULES_H

#include <lua.h>

struct module_entry {
    const char *name; // "rt.json"
    lua_CFunction open;
};

// Ends with a row whose name is NULL.
extern const struct module_entry modules_table[];

// Put every module into package.preload of a state that has the package library (the test host does).
void modules_preload(lua_State *L);

#endif
