// SPDX-License-Identifier: MIT
// vm_lua.c: rt.vm. Environments for scripts, text-only load, files of the program, and runs in a state of their own.
#include <dlfcn.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "embed.h"
#include "pack.h"
#include "task.h"
#include "vm.h"

#define STATE "nkiln.vm"

// lua-cjson and LuaFileSystem: linked where the distribution has a library to link, else its loadable module.
#ifdef NKILN_LINKED_CJSON
int luaopen_cjson(lua_State *L);
#else
#define luaopen_cjson NULL
#endif
#ifdef NKILN_LINKED_LFS
int luaopen_lfs(lua_State *L);
#else
#define luaopen_lfs NULL
#endif

static lua_CFunction find_library(const char *name, lua_CFunction linked) {
    if (linked) return linked;
    static const char *const folders[] = {"/usr/local/lib/lua/5.4", "/usr/lib64/lua/5.4", "/usr/lib/lua/5.4",
#if defined(__x86_64__)
                                          "/usr/lib/x86_64-linux-gnu/lua/5.4"
#else
                                          "/usr/lib/aarch64-linux-gnu/lua/5.4"
#endif
    };
    char path[256], symbol[64];
    snprintf(symbol, sizeof symbol, "luaopen_%s", name);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s.so", folders[i], name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void *function = library ? dlsym(library, symbol) : NULL;
        if (function) {
            lua_CFunction open;
            memcpy(&open, &function, sizeof open);
            return open;
        }
    }
    return NULL;
}

// LuaFileSystem behind a check of every path. Upvalues: 1 = the function, 2 = check, 3 = "read" or "write".
static int confined_call(lua_State *L) {
    luaL_checkstring(L, 1);
    int count = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    lua_pushvalue(L, lua_upvalueindex(3));
    lua_call(L, 2, 2);
    if (!lua_isstring(L, -2)) { // nil, err
        if (lua_istable(L, -1)) {
            lua_getfield(L, -1, "message");
            lua_replace(L, -2);
        }
        if (!lua_isstring(L, -1)) {
            lua_pop(L, 1);
            lua_pushfstring(L, "%s: not permitted", lua_tostring(L, 1));
        }
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    lua_pop(L, 1);
    lua_replace(L, 1);
    lua_settop(L, count);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, count, LUA_MULTRET);
    return lua_gettop(L);
}

// Push the confined lfs table, or nil where the library is missing. `check` is the stack index of the check function.
static void push_confined_lfs(lua_State *L, int check) {
    static const char *const functions[][2] = {{"attributes", "read"}, {"symlinkattributes", "read"}, {"dir", "read"},
                                               {"mkdir", "write"},     {"rmdir", "write"},            {"touch", "write"}};
    check = lua_absindex(L, check);
    lua_CFunction open = find_library("lfs", luaopen_lfs);
    if (!open) {
        lua_pushnil(L);
        return;
    }
    lua_pushcfunction(L, open);
    lua_call(L, 0, 1);
    lua_newtable(L);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lua_getfield(L, -2, functions[i][0]);
        lua_pushvalue(L, check);
        lua_pushstring(L, functions[i][1]);
        lua_pushcclosure(L, confined_call, 3);
        lua_setfield(L, -2, functions[i][0]);
    }
    lua_getfield(L, -2, "_VERSION");
    lua_setfield(L, -2, "_VERSION");
    lua_remove(L, -2);
}

// vm.environment{ globals = { ctx = ... }, modules = { name = table }, lfs = check } -> globals table.
// check(path, "read" | "write") returns the path to use, or nil, err.
static int lua_environment(lua_State *L) {
    if (lua_isnoneornil(L, 1)) {
        lua_settop(L, 0);
        lua_newtable(L);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_newtable(L); // 2: modules
    lua_CFunction cjson = find_library("cjson", luaopen_cjson);
    if (cjson) {
        lua_pushcfunction(L, cjson);
        lua_call(L, 0, 1); // a fresh table and configuration each time
        lua_setfield(L, 2, "cjson");
    }
    if (lua_getfield(L, 1, "lfs") == LUA_TFUNCTION) {
        push_confined_lfs(L, -1);
        lua_setfield(L, 2, "lfs");
    }
    lua_settop(L, 2);
    if (lua_getfield(L, 1, "modules") == LUA_TTABLE) {
        lua_pushnil(L);
        while (lua_next(L, 3)) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, 2);
        }
    }
    lua_settop(L, 2);
    vm_push_environment(L, 2); // 3
    if (lua_getfield(L, 1, "globals") == LUA_TTABLE) {
        lua_pushnil(L);
        while (lua_next(L, 4)) {
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_rawset(L, 3);
        }
    }
    lua_settop(L, 3);
    return 1;
}

// Text only. Pushes the function and returns true, or pushes an error table {code="syntax", message, line}.
static bool load_text(lua_State *L, int source, const char *name, int env) {
    size_t len;
    const char *text = lua_tolstring(L, source, &len);
    if (luaL_loadbufferx(L, text, len, name, "t") == LUA_OK) {
        if (env) {
            lua_pushvalue(L, env);
            if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
        }
        return true;
    }
    int message = lua_gettop(L);
    const char *why = lua_tostring(L, message);
    lua_createtable(L, 0, 3);
    lua_pushliteral(L, "syntax");
    lua_setfield(L, -2, "code");
    lua_pushvalue(L, message);
    lua_setfield(L, -2, "message");
    // "NAME:LINE: what": the name may hold colons, the first ":digits: " ends it.
    for (const char *p = why ? strchr(why, ':') : NULL; p; p = strchr(p + 1, ':')) {
        int line = 0, n = 0;
        if (sscanf(p, ":%d:%n", &line, &n) == 1 && n > 0) {
            lua_pushinteger(L, line);
            lua_setfield(L, -2, "line");
            break;
        }
    }
    lua_remove(L, message);
    return false;
}

// vm.load(source, chunkname, env) -> function | nil, err
static int lua_load_text(lua_State *L) {
    luaL_checktype(L, 1, LUA_TSTRING);
    const char *name = luaL_checkstring(L, 2);
    luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    if (load_text(L, 1, name, 3)) return 1;
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

static int state_gc(lua_State *L) {
    struct vm **box = lua_touserdata(L, 1);
    vm_free(*box);
    *box = NULL;
    return 0;
}

// In the new state, protected. Arguments: source, chunk name, script environment wanted, packed arguments (light).
static int isolated_main(lua_State *L) {
    struct bytebuf *packed = lua_touserdata(L, 4);
    if (lua_toboolean(L, 3)) {
        vm_open_trusted(L);
        vm_push_environment(L, 0);
    } else {
        lua_newtable(L);
    }
    int env = lua_gettop(L);
    if (!load_text(L, 1, lua_tostring(L, 2), env)) return lua_error(L);
    pack_read(L, packed->data, packed->len, NULL, 0);
    lua_call(L, 1, 1);
    struct pack_writer *writer = pack_push_writer(L);
    pack_write(L, writer, -2);
    lua_pushlstring(L, writer->out.data, writer->out.len);
    return 1;
}

static size_t size_option(lua_State *L, const char *key, double standard) {
    lua_getfield(L, 1, key);
    double value = lua_isnil(L, -1) ? standard : luaL_checknumber(L, -1);
    lua_pop(L, 1);
    if (!(value >= 0)) luaL_error(L, "%s: a number >= 0 expected", key);
    return (size_t)fmin(value, 1e15);
}

// vm.isolated{ source=, name=, globals="none"|"script", arg=, memory=, cpu=, steps= } -> value | nil, err
// Runs the chunk in a fresh state that is gone afterwards. `arg` is its only argument; it returns one plain value.
static int lua_isolated(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct vm_limits limits = {.memory = size_option(L, "memory", 64 << 20), .steps = size_option(L, "steps", 1e8)};
    lua_getfield(L, 1, "cpu");
    limits.cpu = luaL_optnumber(L, -1, 5);
    lua_settop(L, 1);
    if (lua_getfield(L, 1, "source") != LUA_TSTRING) return luaL_error(L, "source: a string expected"); // 2
    lua_getfield(L, 1, "name");                                                                          // 3
    const char *name = luaL_optstring(L, 3, "=(chunk)");
    static const char *const kinds[] = {"none", "script", NULL};
    lua_getfield(L, 1, "globals"); // 4
    int script = luaL_checkoption(L, 4, "none", kinds);
    struct pack_writer *arg = pack_push_writer(L); // 5
    lua_getfield(L, 1, "arg");                     // 6
    pack_write(L, arg, 6);
    struct vm **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = NULL;
    if (luaL_newmetatable(L, STATE)) {
        lua_pushcfunction(L, state_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    struct vm *vm = *box = vm_new(&limits, NULL);
    if (!vm) return luaL_error(L, "not enough memory");
    size_t len;
    const char *source = lua_tolstring(L, 2, &len);
    // Strings are copied into the new state; when even that does not fit, the message says so.
    lua_State *S = vm->L;
    int status;
    if (limits.memory && len > limits.memory / 4) {
        status = LUA_ERRMEM;
    } else {
        vm_limit_memory(vm, 0); // nothing catches an error here yet
        lua_pushcfunction(S, isolated_main);
        lua_pushlstring(S, source, len);
        lua_pushstring(S, name);
        lua_pushboolean(S, script);
        lua_pushlightuserdata(S, &arg->out);
        vm_limit_memory(vm, limits.memory);
        status = lua_pcall(S, 4, 1, 0);
    }
    if (status == LUA_OK) {
        const char *packed = lua_tolstring(S, -1, &len);
        pack_read(L, packed, len, NULL, 0);
        vm_free(vm);
        *box = NULL;
        return 1;
    }
    lua_pushnil(L);
    lua_createtable(L, 0, 3);
    const char *code = status == LUA_ERRMEM ? "memory" : vm->killed ? vm_kill_code((enum vm_kill)vm->killed) : "error";
    vm_lift_memory(vm);
    vm->killed = VM_ALIVE;
    lua_sethook(S, NULL, 0, 0);
    if (status != LUA_ERRMEM && lua_istable(S, -1)) { // code, message and line of a table
        static const char *const fields[] = {"code", "message", "line"};
        for (size_t i = 0; i < 3; i++) {
            lua_pushstring(S, fields[i]);
            lua_rawget(S, -2);
            if (lua_isinteger(S, -1))
                lua_pushinteger(L, lua_tointeger(S, -1));
            else
                lua_pushstring(L, lua_tostring(S, -1));
            lua_setfield(L, -2, fields[i]);
            lua_pop(S, 1);
        }
    } else {
        const char *message = status == LUA_ERRMEM ? "not enough memory within the limit" : lua_tostring(S, -1);
        lua_pushstring(L, message ? message : "an error without a message");
        lua_setfield(L, -2, "message");
    }
    if (lua_getfield(L, -1, "code") == LUA_TNIL) {
        lua_pushstring(L, code);
        lua_setfield(L, -3, "code");
    }
    lua_pop(L, 1);
    vm_free(vm);
    *box = NULL;
    return 2;
}

// vm.limit{ cpu=, steps=, memory= }: limits of this state from now on; absent = none.
static int lua_limit(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    struct vm *vm = vm_of(L);
    if (!vm) return luaL_error(L, "this state has no limits");
    struct vm_limits limits = {.memory = size_option(L, "memory", 0), .steps = size_option(L, "steps", 0)};
    lua_getfield(L, 1, "cpu");
    limits.cpu = luaL_optnumber(L, -1, 0);
    vm_set_limits(vm, &limits);
    return 0;
}

// vm.memory() -> bytes in use, peak
static int lua_memory(lua_State *L) {
    struct vm *vm = vm_of(L);
    size_t used = vm ? vm->used : (size_t)lua_gc(L, LUA_GCCOUNT) * 1024 + (size_t)lua_gc(L, LUA_GCCOUNTB);
    lua_pushinteger(L, (lua_Integer)used);
    lua_pushinteger(L, (lua_Integer)(vm ? vm->peak : used));
    return 2;
}

static int lua_resource(lua_State *L) {
    const char *path = luaL_checkstring(L, 1);
    if (strlen(path) != lua_rawlen(L, 1) || !vm_resource_name_ok(path)) return task_fail(L, "usage", "not a resource name: %s", path);
    if (vm_push_resource(L, path)) return 1;
    return task_fail(L, "not_found", "no such resource: %s", path);
}

static int lua_home(lua_State *L) {
    lua_pushstring(L, vm_home(L)); // nil: embedded copy only
    return 1;
}

static int lua_executable(lua_State *L) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    if (n > 0)
        lua_pushlstring(L, path, (size_t)n);
    else
        lua_pushnil(L);
    return 1;
}

// vm.generation() -> require, loaded: a loader with modules of its own, for loading a new version aside
static int lua_generation(lua_State *L) {
    vm_push_require(L);
    return 2;
}

int luaopen_rt_vm(lua_State *L) {
    static const luaL_Reg functions[] = {{"environment", lua_environment},
                                         {"load", lua_load_text},
                                         {"isolated", lua_isolated},
                                         {"limit", lua_limit},
                                         {"memory", lua_memory},
                                         {"resource", lua_resource},
                                         {"resources", vm_list_resources},
                                         {"home", lua_home},
                                         {"executable", lua_executable},
                                         {"generation", lua_generation},
                                         {"traceback", vm_traceback},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_pushliteral(L, NKILN_VERSION);
    lua_setfield(L, -2, "version");
    return 1;
}
