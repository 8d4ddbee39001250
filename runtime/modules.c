// SPDX-License-Identifier: MIT
#include "modules.h"

#include <lauxlib.h>

int luaopen_rt_analyse(lua_State *L);
int luaopen_rt_array(lua_State *L);
int luaopen_rt_db(lua_State *L);
int luaopen_rt_duckdb(lua_State *L);
int luaopen_rt_fs(lua_State *L);
int luaopen_rt_http(lua_State *L);
int luaopen_rt_json(lua_State *L);
int luaopen_rt_nki(lua_State *L);
int luaopen_rt_pack(lua_State *L);
int luaopen_rt_proc(lua_State *L);
int luaopen_rt_pyops(lua_State *L);
int luaopen_rt_python(lua_State *L);
int luaopen_rt_task(lua_State *L);
int luaopen_rt_term(lua_State *L);
int luaopen_rt_trace(lua_State *L);
int luaopen_rt_vm(lua_State *L);
int luaopen_rt_watch(lua_State *L);
int luaopen_rt_worker(lua_State *L);

const struct module_entry modules_table[] = {
    {"rt.analyse", luaopen_rt_analyse},
    {"rt.array", luaopen_rt_array},
    {"rt.db", luaopen_rt_db},
    {"rt.duckdb", luaopen_rt_duckdb},
    {"rt.fs", luaopen_rt_fs},
    {"rt.http", luaopen_rt_http},
    {"rt.json", luaopen_rt_json},
    {"rt.nki", luaopen_rt_nki},
    {"rt.pack", luaopen_rt_pack},
    {"rt.proc", luaopen_rt_proc},
    {"rt.pyops", luaopen_rt_pyops},
    {"rt.python", luaopen_rt_python},
    {"rt.task", luaopen_rt_task},
    {"rt.term", luaopen_rt_term},
    {"rt.trace", luaopen_rt_trace},
    {"rt.vm", luaopen_rt_vm},
    {"rt.watch", luaopen_rt_watch},
    {"rt.worker", luaopen_rt_worker},
    {NULL, NULL},
};

void modules_preload(lua_State *L) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    for (const struct module_entry *m = modules_table; m->name; m++) {
        lua_pushcfunction(L, m->open);
        lua_setfield(L, -2, m->name);
    }
    lua_pop(L, 1);
}
