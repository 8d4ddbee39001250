// SPDX-License-Identifier: MIT
// vm_globals.c: what Lua code can see. Two allow-lists (prelude, scripts) and the wrappers that make the standard
// functions fit: text-only load, no finalizers from scripts, sizes bounded, coroutines that let tasks block inside.
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "task.h"
#include "vm.h"

enum {
    MAX_STRING = 1 << 26, // bytes string.rep may make
    MAX_ITEMS = 1 << 26   // elements one table function may walk
};

static int copy_fields(lua_State *L, int from, int to, const char *const *names) {
    for (; *names; names++)
        if (lua_getfield(L, from, *names) != LUA_TNIL)
            lua_setfield(L, to, *names);
        else
            lua_pop(L, 1);
    return 0;
}

// string.rep(s, n [, sep]) with a bound on the result. Upvalue: the original.
static int bounded_rep(lua_State *L) {
    size_t len, sep_len;
    luaL_checklstring(L, 1, &len);
    lua_Integer n = luaL_checkinteger(L, 2);
    luaL_optlstring(L, 3, "", &sep_len);
    if (n > 0 && len + sep_len > 0 && (lua_Unsigned)n > MAX_STRING / (len + sep_len))
        return luaL_error(L, "resulting string too large");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

// A table function that loops in C up to #t: a `__len` could claim any length. Upvalue: the original.
static int bounded_walk(lua_State *L) {
    if (lua_type(L, 1) == LUA_TTABLE && luaL_getmetafield(L, 1, "__len") != LUA_TNIL) {
        lua_pop(L, 1);
        if (luaL_len(L, 1) > MAX_ITEMS) return luaL_error(L, "table too large");
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

static int bounded_range(lua_State *L, int first, int last) {
    lua_Integer a = luaL_optinteger(L, first, 1), b = luaL_optinteger(L, last, 0);
    if (b >= a && (lua_Unsigned)b - (lua_Unsigned)a >= MAX_ITEMS) return luaL_error(L, "range too large");
    return bounded_walk(L);
}

static int bounded_move(lua_State *L) { return bounded_range(L, 2, 3); }

static int bounded_concat(lua_State *L) { return bounded_range(L, 3, 4); }

static void wrap(lua_State *L, int table, const char *name, lua_CFunction wrapper) {
    lua_getfield(L, table, name);
    lua_pushcclosure(L, wrapper, 1);
    lua_setfield(L, table, name);
}

void vm_open_strings(lua_State *L) {
    static const char *const names[] = {"byte", "char", "find",   "format",   "gmatch", "gsub", "len", "lower",
                                        "match", "pack", "packsize", "rep", "reverse", "sub",  "unpack", "upper", NULL};
    lua_pushcfunction(L, luaopen_string); // also sets the metatable of strings, rebuilt below
    lua_call(L, 0, 1);
    lua_newtable(L);
    int all = lua_gettop(L) - 1, safe = all + 1;
    copy_fields(L, all, safe, names);
    wrap(L, safe, "rep", bounded_rep);
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, safe);
    lua_setfield(L, -2, "__index"); // the arithmetic metamethods of strings stay Lua's
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
    lua_replace(L, all);
}

// load(chunk [, name [, mode [, env]]]): text only; the default environment is upvalue 1.
static int text_load(lua_State *L) {
    size_t len;
    lua_settop(L, 4);
    const char *mode = luaL_optstring(L, 3, "t");
    if (!strchr(mode, 't')) {
        lua_pushnil(L);
        lua_pushliteral(L, "only text chunks can be loaded");
        return 2;
    }
    if (lua_type(L, 1) != LUA_TSTRING) { // a function that returns pieces
        luaL_checktype(L, 1, LUA_TFUNCTION);
        lua_newtable(L);
        size_t total = 0;
        for (lua_Integer i = 1;; i++) {
            lua_pushvalue(L, 1);
            lua_call(L, 0, 1);
            if (lua_isnil(L, -1)) break;
            if (lua_type(L, -1) != LUA_TSTRING) return luaL_error(L, "reader function must return a string");
            total += lua_rawlen(L, -1);
            if (lua_rawlen(L, -1) == 0) break;
            if (total > MAX_STRING) return luaL_error(L, "chunk too large");
            lua_rawseti(L, 5, i);
        }
        lua_settop(L, 5);
        luaL_Buffer b;
        luaL_buffinit(L, &b);
        for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 5); i++) {
            lua_rawgeti(L, 5, i);
            luaL_addvalue(&b);
        }
        luaL_pushresult(&b);
        if (lua_isnil(L, 2)) {
            lua_pushliteral(L, "=(load)");
            lua_replace(L, 2);
        }
        lua_replace(L, 1);
        lua_settop(L, 4);
    }
    const char *source = lua_tolstring(L, 1, &len);
    const char *name = luaL_optstring(L, 2, source);
    bool own_env = !lua_isnone(L, 4) && !lua_isnil(L, 4);
    if (luaL_loadbufferx(L, source, len, name, "t") != LUA_OK) {
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    lua_pushvalue(L, own_env ? 4 : lua_upvalueindex(1));
    if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
    return 1;
}

// Scripts may not have finalizers: Lua runs them with hooks off, so no limit would hold inside.
static int plain_setmetatable(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    int kind = lua_type(L, 2);
    luaL_argexpected(L, kind == LUA_TNIL || kind == LUA_TTABLE, 2, "nil or table");
    if (kind == LUA_TTABLE) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL) return luaL_error(L, "__gc is not available to scripts");
        lua_pop(L, 1);
    }
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) return luaL_error(L, "cannot change a protected metatable");
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

static int count_garbage(lua_State *L) {
    const char *what = luaL_optstring(L, 1, "count");
    if (strcmp(what, "count") != 0) return luaL_error(L, "only collectgarbage(\"count\") is available to scripts");
    lua_pushnumber(L, (lua_Number)lua_gc(L, LUA_GCCOUNT) + (lua_Number)lua_gc(L, LUA_GCCOUNTB) / 1024);
    return 1;
}

// Message handlers of scripts. An error raised by a hook reaches the handler while hooks are still off, so a handler
// that loops would never be stopped: errors that end the script pass by it. Upvalue 1 = the script's handler.
static int guarded_handler(lua_State *L) {
    struct vm *vm = vm_of(L);
    if ((vm && (vm->killed || vm->interrupted)) || task_is_end(L, 1)) return 1;
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

static int xpcall_done(lua_State *L, int status, lua_KContext context) {
    if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)context;
    lua_pushboolean(L, 0);
    lua_pushvalue(L, -2);
    return 2;
}

static int guarded_xpcall(lua_State *L) {
    int n = lua_gettop(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, guarded_handler, 1);
    lua_replace(L, 2);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2); // function, handler, true, function, arguments
    return xpcall_done(L, lua_pcallk(L, n - 2, LUA_MULTRET, 2, 2, xpcall_done), 2);
}

// Coroutines. The body runs under pcall, because a coroutine that dies with an error keeps Lua's hooks off while its
// pending __close handlers run, and no limit would hold there.

static int body_done(lua_State *L, int status, lua_KContext context) {
    (void)context;
    lua_pushboolean(L, status == LUA_OK || status == LUA_YIELD);
    lua_insert(L, 1);
    return lua_gettop(L);
}

static int body(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    return body_done(L, lua_pcallk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, 0, body_done), 0);
}

static int co_create(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, body, 1);
    lua_xmove(L, co, 1);
    return 1;
}

static lua_State *check_thread(lua_State *L, int index) {
    lua_State *co = lua_tothread(L, index);
    luaL_argexpected(L, co, index, "coroutine");
    return co;
}

static const char *co_state(lua_State *L, lua_State *co) {
    if (L == co) return "running";
    lua_Debug ar;
    switch (lua_status(co)) {
    case LUA_YIELD: return "suspended";
    case LUA_OK:
        if (lua_getstack(co, 0, &ar)) return "normal";
        return lua_gettop(co) == 0 ? "dead" : "suspended";
    default: return "dead";
    }
}

enum { AS_RESUME = 0, AS_WRAP = 1 };

static int resume_step(lua_State *L, lua_State *co, int nargs, lua_KContext how);

static int resume_again(lua_State *L, int status, lua_KContext how) {
    (void)status;
    return resume_step(L, how == AS_WRAP ? lua_tothread(L, lua_upvalueindex(1)) : lua_tothread(L, 1), 0, how);
}

static int resume_result(lua_State *L, bool ok, int count, lua_KContext how) {
    if (how == AS_WRAP) {
        if (ok) return count;
        return lua_error(L); // the message already names its place
    }
    lua_pushboolean(L, ok);
    lua_insert(L, -(count + 1));
    return count + 1;
}

static int resume_step(lua_State *L, lua_State *co, int nargs, lua_KContext how) {
    int count = 0;
    int status = vm_resume(co, L, nargs, &count);
    if (status == LUA_YIELD && count == 1 && lua_touserdata(co, -1) == task_token()) {
        // The coroutine blocks on behalf of its task: hand that on to the loop, and go on here afterwards.
        lua_pop(co, 1);
        if (!lua_isyieldable(L)) {
            task_abandon_wait(L);
            return luaL_error(L, "cannot wait here: a C function or metamethod is in between");
        }
        lua_pushlightuserdata(L, task_token());
        return lua_yieldk(L, 1, how, resume_again);
    }
    if (status != LUA_OK && status != LUA_YIELD) { // outside the protected body: no memory for it
        lua_xmove(co, L, 1);
        return resume_result(L, false, 1, how);
    }
    if (!lua_checkstack(L, count + 1)) {
        lua_pop(co, count);
        return luaL_error(L, "too many results to resume");
    }
    lua_xmove(co, L, count);
    if (status == LUA_YIELD) return resume_result(L, true, count, how);
    bool ok = lua_toboolean(L, -count);
    lua_remove(L, -count);
    return resume_result(L, ok, count - 1, how);
}

static int resume_start(lua_State *L, lua_State *co, int nargs, lua_KContext how) {
    const char *state = co_state(L, co);
    if (strcmp(state, "suspended") != 0) {
        if (how == AS_WRAP) return luaL_error(L, "cannot resume %s coroutine", strcmp(state, "dead") ? "non-suspended" : "dead");
        lua_pushboolean(L, 0);
        lua_pushfstring(L, "cannot resume %s coroutine", strcmp(state, "dead") ? "non-suspended" : "dead");
        return 2;
    }
    if (!lua_checkstack(co, nargs)) return luaL_error(L, "too many arguments to resume");
    lua_xmove(L, co, nargs);
    return resume_step(L, co, nargs, how);
}

static int co_resume(lua_State *L) { return resume_start(L, check_thread(L, 1), lua_gettop(L) - 1, AS_RESUME); }

static int co_call(lua_State *L) {
    return resume_start(L, lua_tothread(L, lua_upvalueindex(1)), lua_gettop(L), AS_WRAP);
}

static int co_wrap(lua_State *L) {
    co_create(L);
    lua_pushcclosure(L, co_call, 1);
    return 1;
}

static int co_status(lua_State *L) {
    lua_pushstring(L, co_state(L, check_thread(L, 1)));
    return 1;
}

static int co_close(lua_State *L) {
    lua_State *co = check_thread(L, 1);
    const char *state = co_state(L, co);
    if (strcmp(state, "suspended") != 0 && strcmp(state, "dead") != 0)
        return luaL_error(L, "cannot close a %s coroutine", state);
    if (vm_close_coroutine(co, L) == LUA_OK) {
        lua_settop(co, 0);
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushboolean(L, 0);
    lua_xmove(co, L, 1);
    return 2;
}

static void push_coroutine_library(lua_State *L) {
    static const luaL_Reg own[] = {{"create", co_create}, {"resume", co_resume}, {"wrap", co_wrap},
                                   {"status", co_status}, {"close", co_close},   {NULL, NULL}};
    static const char *const kept[] = {"yield", "isyieldable", "running", NULL};
    lua_pushcfunction(L, luaopen_coroutine);
    lua_call(L, 0, 1);
    lua_newtable(L);
    copy_fields(L, lua_gettop(L) - 1, lua_gettop(L), kept);
    luaL_setfuncs(L, own, 0);
    lua_remove(L, -2);
}

static const char *const base_names[] = {"_VERSION", "assert", "error",    "getmetatable", "ipairs", "next",     "pairs", "pcall",
                                         "rawequal", "rawget", "rawlen",   "rawset",       "select", "tonumber", "tostring",
                                         "type",     "xpcall", NULL};
static const char *const os_script[] = {"clock", "date", "difftime", "time", NULL};
static const char *const os_trusted[] = {"clock", "date", "difftime", "time", "getenv", NULL};
static const char *const table_names[] = {"concat", "insert", "move", "pack", "remove", "sort", "unpack", NULL};

// Push a fresh copy of the library that `open` makes, limited to `names` (NULL: all).
static void push_library(lua_State *L, lua_CFunction open, const char *const *names) {
    lua_pushcfunction(L, open);
    lua_call(L, 0, 1);
    if (!names) return;
    lua_newtable(L);
    copy_fields(L, lua_gettop(L) - 1, lua_gettop(L), names);
    lua_remove(L, -2);
}

static void fill_common(lua_State *L, int env) {
    // luaopen_base writes into the state's globals; it runs once, in vm_open_trusted, before any environment is made.
    lua_pushglobaltable(L);
    if (!lua_rawequal(L, -1, env)) copy_fields(L, lua_gettop(L), env, base_names);
    lua_pop(L, 1);
    lua_pushvalue(L, env);
    lua_setfield(L, env, "_G");
    push_library(L, luaopen_table, table_names);
    lua_setfield(L, env, "table");
    push_library(L, luaopen_math, NULL);
    lua_setfield(L, env, "math");
    push_library(L, luaopen_utf8, NULL);
    lua_setfield(L, env, "utf8");
    push_coroutine_library(L);
    lua_setfield(L, env, "coroutine");
    lua_pushvalue(L, env);
    lua_pushcclosure(L, text_load, 1);
    lua_setfield(L, env, "load");
}

static int env_require(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    if (lua_istable(L, lua_upvalueindex(1)) && lua_getfield(L, lua_upvalueindex(1), name) != LUA_TNIL) return 1;
    return luaL_error(L, "module '%s' is not available to scripts", name);
}

void vm_push_environment(lua_State *L, int modules) {
    if (modules) modules = lua_absindex(L, modules);
    lua_newtable(L);
    int env = lua_gettop(L);
    fill_common(L, env);
    // Strings: a copy of the one safe table, so that a script that changes it changes only its own.
    lua_pushliteral(L, "");
    luaL_getmetafield(L, -1, "__index");
    lua_newtable(L);
    lua_pushnil(L);
    while (lua_next(L, -3)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_setfield(L, env, "string");
    lua_settop(L, env);
    push_library(L, luaopen_os, os_script);
    lua_setfield(L, env, "os");
    lua_getfield(L, env, "table");
    for (const char *const *n = (const char *const[]){"insert", "remove", "sort", "unpack", NULL}; *n; n++)
        wrap(L, env + 1, *n, bounded_walk);
    wrap(L, env + 1, "move", bounded_move);
    wrap(L, env + 1, "concat", bounded_concat);
    lua_settop(L, env);
    lua_pushcfunction(L, plain_setmetatable);
    lua_setfield(L, env, "setmetatable");
    lua_pushcfunction(L, guarded_xpcall);
    lua_setfield(L, env, "xpcall");
    lua_pushcfunction(L, count_garbage);
    lua_setfield(L, env, "collectgarbage");
    if (modules)
        lua_pushvalue(L, modules);
    else
        lua_pushnil(L);
    lua_pushcclosure(L, env_require, 1);
    lua_setfield(L, env, "require");
}

void vm_open_trusted(lua_State *L) {
    lua_pushcfunction(L, luaopen_base);
    lua_call(L, 0, 1);
    int env = lua_gettop(L);
    static const char *const gone[] = {"dofile", "loadfile", "print", "warn", NULL};
    for (const char *const *name = gone; *name; name++) {
        lua_pushnil(L);
        lua_setfield(L, env, *name);
    }
    vm_open_strings(L);
    lua_setfield(L, env, "string");
    fill_common(L, env);
    push_library(L, luaopen_os, os_trusted);
    lua_setfield(L, env, "os");
    vm_push_require(L);
    lua_pop(L, 1);
    lua_setfield(L, env, "require");
    lua_settop(L, env - 1);
}
