// SPDX-License-Identifier: MIT
// host.c: the interpreter that runs the tests. A plain Lua with all standard libraries, every rt.* module, and the
// prelude on package.path. It is never installed.
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jailtry.h"
#include "modules.h"
#include "run.h"
#include "worker.h"

static int traceback(lua_State *L) {
    if (lua_type(L, 1) != LUA_TSTRING) return 1;
    luaL_traceback(L, L, lua_tostring(L, 1), 1);
    return 1;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], WORKER_ARGUMENT) == 0) return worker_main(); // tests start workers from here
    if (argc == 5 && strcmp(argv[1], "--jail-try") == 0) return jail_try(argv[2], argv[3], argv[4]);
    if (argc < 2) {
        fprintf(stderr, "usage: nkiln-lua SCRIPT.lua [ARGS]\n");
        return 2;
    }
    struct run_state run = {0};
    const char *array_limit = getenv("NKILN_TEST_ARRAY_LIMIT"); // bytes
    if (array_limit) run.arrays.limit = strtoull(array_limit, NULL, 10);
    lua_State *L = luaL_newstate();
    if (!L) return 1;
    run_state_attach(L, &run);
    luaL_openlibs(L);
    modules_preload(L);
    const char *home = getenv("NKILN_HOME");
    lua_getglobal(L, "package");
    lua_pushfstring(L, "%s/prelude/?.lua;%s/prelude/?/init.lua;%s/?.lua", home ? home : ".", home ? home : ".", home ? home : ".");
    lua_setfield(L, -2, "path");
    lua_pop(L, 1);
    lua_newtable(L);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - 1);
    }
    lua_setglobal(L, "arg");
    lua_pushcfunction(L, traceback);
    int status = luaL_loadfile(L, argv[1]);
    int nargs = 0;
    if (status == LUA_OK) {
        for (int i = 2; i < argc; i++, nargs++) lua_pushstring(L, argv[i]);
        status = lua_pcall(L, nargs, 1, 1);
    }
    int code = 0;
    if (status != LUA_OK) {
        fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
        code = 1;
    } else if (lua_isinteger(L, -1)) {
        code = (int)lua_tointeger(L, -1);
    }
    lua_close(L);
    account_close(&run.arrays);
    return code;
}
