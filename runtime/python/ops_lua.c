// SPDX-License-Identifier: MIT
#include "python/ops_lua.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[PV_KINDS] = {
    "list",     "tuple",    "dict",   "set",   "frozenset", "range",    "slice", "module",
    "callable", "iterator", "method", "class", "none",      "ellipsis", "bytes",
};

static const char *const slow_names[SLOW_COUNT] = {
    "binop",  "compare",   "attr", "setattr", "getitem", "setitem",  "iter",
    "callee", "str_index", "name", "init",    "format",  "identity",
};

bool pv_metatable(lua_State *L, int index, enum pv_kind *kind) {
    int type = lua_type(L, index);
    if (type != LUA_TTABLE && type != LUA_TUSERDATA) {
        *kind = PV_SCALAR;
        return false;
    }
    *kind = PV_OTHER;
    if (!lua_getmetatable(L, index)) return false;
    const void *mt = lua_topointer(L, -1);
    const struct pyops *ops = pv_ops(L);
    for (int k = 0; k < PV_KINDS; k++) {
        if (ops->mt[k] == mt) {
            *kind = (enum pv_kind)k;
            break;
        }
    }
    return true;
}

enum pv_kind pv_kind(lua_State *L, int index) {
    enum pv_kind kind;
    if (pv_metatable(L, index, &kind)) lua_pop(L, 1);
    return kind;
}

bool pv_hook(lua_State *L, int index, const char *name) {
    int type = lua_type(L, index);
    if ((type != LUA_TTABLE && type != LUA_TUSERDATA) || !lua_getmetatable(L, index)) return false;
    lua_pushstring(L, name);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pop(L, 2);
        return false;
    }
    lua_remove(L, -2);
    return true;
}

const char *pv_type_name(lua_State *L, int index) {
    switch (lua_type(L, index)) {
    case LUA_TNIL:
    case LUA_TNONE: return "unbound";
    case LUA_TBOOLEAN: return "bool";
    case LUA_TNUMBER: return lua_isinteger(L, index) ? "int" : "float";
    case LUA_TSTRING: return "str";
    case LUA_TFUNCTION: return "function";
    default: break;
    }
    struct pyops *ops = pv_ops(L);
    index = lua_absindex(L, index);
    pv_push_slow(L, SLOW_NAME);
    lua_pushvalue(L, index);
    lua_call(L, 1, 1);
    const char *name = lua_tostring(L, -1);
    snprintf(ops->name, sizeof ops->name, "%s", name ? name : "object");
    lua_pop(L, 1);
    return ops->name;
}

static void push_error(lua_State *L, const char *etype, const char *code, const char *format, va_list args) {
    char message[1024];
    vsnprintf(message, sizeof message, format, args);
    lua_createtable(L, 0, 6);
    lua_pushstring(L, etype ? "python" : "nki");
    lua_setfield(L, -2, "kind");
    if (etype) {
        lua_pushstring(L, etype);
        lua_setfield(L, -2, "etype");
    }
    if (code) {
        lua_pushstring(L, code);
        lua_setfield(L, -2, "code");
    }
    lua_pushstring(L, message);
    lua_setfield(L, -2, "message");
    lua_pushinteger(L, run_state(L)->site);
    lua_setfield(L, -2, "site");
}

void pv_push_error(lua_State *L, const char *etype, const char *code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    push_error(L, etype, code, format, args);
    va_end(args);
}

void pv_raise(lua_State *L, const char *etype, const char *format, ...) {
    va_list args;
    va_start(args, format);
    push_error(L, etype, NULL, format, args);
    va_end(args);
    lua_error(L);
    __builtin_unreachable();
}

void pv_overflow(lua_State *L) {
    pv_push_error(L, NULL, "integer-overflow", "the result does not fit in 64 bits, the size of nkiln's integers");
    lua_error(L);
    __builtin_unreachable();
}

void pv_step_slow(lua_State *L) {
    struct run_state *run = run_state(L);
    if (run->interrupt) {
        pv_push_error(L, NULL, "interrupted", "interrupted");
    } else {
        uint64_t limit = run->step_limit;
        pv_push_error(L, NULL, "step-limit", "stopped after %llu steps", (unsigned long long)limit);
    }
    // The step is counted at a loop's back edge or a call, where no operation's site is current: the line is the
    // frame's.
    lua_Debug frame;
    for (int level = 0; lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (frame.currentline > 0 && frame.source[0] == '@' && frame.source[1] == '=') {
            lua_pushinteger(L, frame.currentline);
            lua_setfield(L, -2, "line");
            lua_pushboolean(L, 0);
            lua_setfield(L, -2, "site");
            break;
        }
    }
    lua_error(L);
}

bool pv_truth(lua_State *L, int index) {
    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN: return lua_toboolean(L, index);
    case LUA_TNUMBER: return lua_isinteger(L, index) ? lua_tointeger(L, index) != 0 : lua_tonumber(L, index) != 0;
    case LUA_TSTRING: return lua_rawlen(L, index) > 0;
    case LUA_TNIL: return false;
    case LUA_TTABLE:
    case LUA_TUSERDATA: break;
    default: return true;
    }
    index = lua_absindex(L, index);
    switch (pv_kind(L, index)) {
    case PV_NONE: return false;
    case PV_LIST:
    case PV_TUPLE: return lua_rawlen(L, index) > 0;
    case PV_DICT:
    case PV_SET:
    case PV_FROZENSET: return pv_dict_count(L, index) > 0;
    case PV_RANGE: {
        lua_rawgeti(L, index, 4);
        bool some = lua_tointeger(L, -1) > 0;
        lua_pop(L, 1);
        return some;
    }
    case PV_OTHER:
    case PV_BYTES: break;
    default: return true;
    }
    bool by_length = false;
    if (!pv_hook(L, index, "__pytruth")) {
        if (!pv_hook(L, index, "__pylen")) return true;
        by_length = true;
    }
    lua_pushvalue(L, index);
    lua_call(L, 1, 1);
    bool truth = by_length ? lua_tointeger(L, -1) != 0 : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return truth;
}

// TRUE(value, site) -> boolean
static int op_true(lua_State *L) {
    if (lua_type(L, 1) > LUA_TSTRING && lua_isinteger(L, 2)) pv_site(L, 2);
    lua_pushboolean(L, pv_truth(L, 1));
    return 1;
}

static int op_not(lua_State *L) {
    lua_pushboolean(L, !pv_truth(L, 1));
    return 1;
}

// STEP(count) -> 0: called once in a while by loops and functions with the steps they took.
static int op_step(lua_State *L) {
    pv_steps(L, (uint64_t)lua_tointeger(L, 1));
    lua_pushinteger(L, 0);
    return 1;
}

// UNBOUND(site, value, name) -> value, unless it is unbound.
static int op_unbound(lua_State *L) {
    if (!lua_isnil(L, 2)) {
        lua_settop(L, 2);
        return 1;
    }
    pv_site(L, 1);
    pv_raise(L, "UnboundLocalError", "cannot access local variable '%s' where it is not associated with a value",
             lua_tostring(L, 3));
}

// FREE(site, value, name) -> value, unless it is unbound.
static int op_free(lua_State *L) {
    if (!lua_isnil(L, 2)) {
        lua_settop(L, 2);
        return 1;
    }
    pv_site(L, 1);
    pv_raise(L, "NameError",
             "cannot access free variable '%s' where it is not associated with a value in enclosing scope",
             lua_tostring(L, 3));
}

static int make(lua_State *L, enum pv_kind kind) {
    lua_settop(L, 1);
    pv_set_kind(L, kind);
    return 1;
}

static int op_list(lua_State *L) { return make(L, PV_LIST); }
static int op_tuple(lua_State *L) { return make(L, PV_TUPLE); }

static int op_type_name(lua_State *L) {
    lua_pushstring(L, pv_type_name(L, 1));
    return 1;
}

// kind(value) -> "list", "tuple" ... "other", "scalar"
static int op_kind(lua_State *L) {
    enum pv_kind kind = pv_kind(L, 1);
    lua_pushstring(L, kind < PV_KINDS ? kind_names[kind] : kind == PV_OTHER ? "other" : "scalar");
    return 1;
}

static int field_ref(lua_State *L, int table, const char *name) {
    if (lua_getfield(L, table, name) == LUA_TNIL) luaL_error(L, "rt.pyops.setup: %s is missing", name);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

// setup{ metatables={list=...}, none=, ellipsis=, info=, str_methods=, num_methods=, slow={binop=...} }, once per
// state.
static int op_setup(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    struct pyops *ops = lua_newuserdatauv(L, sizeof *ops, 0);
    memset(ops, 0, sizeof *ops);
    luaL_ref(L, LUA_REGISTRYINDEX);
    lua_getfield(L, 1, "metatables");
    for (int k = 0; k < PV_KINDS; k++) {
        lua_getfield(L, -1, kind_names[k]);
        ops->mt[k] = lua_topointer(L, -1);
        lua_pop(L, 1);
        ops->mt_ref[k] = field_ref(L, lua_gettop(L), kind_names[k]);
    }
    lua_getfield(L, 1, "slow");
    for (int k = 0; k < SLOW_COUNT; k++) ops->slow[k] = field_ref(L, lua_gettop(L), slow_names[k]);
    ops->none = field_ref(L, 1, "none");
    ops->ellipsis = field_ref(L, 1, "ellipsis");
    ops->info = field_ref(L, 1, "info");
    ops->str_methods = field_ref(L, 1, "str_methods");
    ops->num_methods = field_ref(L, 1, "num_methods");
    lua_pushstring(L, "append");
    ops->append = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_rawgeti(L, LUA_REGISTRYINDEX, ops->none);
    ops->none_at = lua_topointer(L, -1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, ops->ellipsis);
    ops->ellipsis_at = lua_topointer(L, -1);
    run_state(L)->python = ops;
    return 0;
}

static int op_site(lua_State *L) {
    lua_pushinteger(L, run_state(L)->site);
    if (lua_isinteger(L, 1)) pv_site(L, 1);
    return 1;
}

// Forget the nesting of comparisons that an error cut short.
static int op_reset(lua_State *L) {
    pv_ops(L)->depth = 0;
    return 0;
}

static int op_limit(lua_State *L) {
    struct run_state *run = run_state(L);
    lua_pushinteger(L, (lua_Integer)run->steps);
    if (lua_isinteger(L, 1)) {
        run->step_limit = (uint64_t)lua_tointeger(L, 1);
        run->steps = 0;
    }
    return 1;
}

// interrupt(boolean): ask the program to stop at its next step, or take that back
static int op_interrupt(lua_State *L) {
    run_state(L)->interrupt = lua_toboolean(L, 1);
    return 0;
}

// trace(level) -> {{source, line, function}, ...} innermost first: the frames of lowered Python code, at most 2 x 64.
static int op_trace(lua_State *L) {
    lua_newtable(L);
    lua_Debug frame;
    int count = 0;
    int depth = 0; // a level is found by walking, so the deepest one is searched for in halves
    for (int step = 1 << 24; step > 0; step >>= 1) {
        if (lua_getstack(L, depth + step - 1, &frame)) depth += step;
    }
    for (int level = (int)luaL_optinteger(L, 1, 1); lua_getstack(L, level, &frame); level++) {
        if (count == 64 && depth - level > 64) level = depth - 64;
        if (!lua_getstack(L, level, &frame)) break;
        lua_getinfo(L, "Slf", &frame);
        if (frame.currentline > 0 && frame.source[0] == '@' && frame.source[1] == '=') {
            lua_createtable(L, 3, 0);
            lua_pushstring(L, frame.source + 2);
            lua_rawseti(L, -2, 1);
            lua_pushinteger(L, frame.currentline);
            lua_rawseti(L, -2, 2);
            lua_pushvalue(L, -2);
            lua_rawseti(L, -2, 3);
            lua_rawseti(L, -3, ++count);
        }
        lua_pop(L, 1);
    }
    return 1;
}

void pv_register_core(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"setup", op_setup},         {"TRUE", op_true},           {"NOT", op_not},     {"STEP", op_step},
        {"UNBOUND", op_unbound},     {"FREE", op_free},           {"LIST", op_list},   {"TUPLE", op_tuple},
        {"type_name", op_type_name}, {"kind", op_kind},           {"site", op_site},   {"limit", op_limit},
        {"reset", op_reset},         {"interrupt", op_interrupt}, {"trace", op_trace}, {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}

int luaopen_rt_pyops(lua_State *L);
int luaopen_rt_pyops(lua_State *L) {
    lua_newtable(L);
    pv_register_core(L);
    pv_register_arith(L);
    pv_register_compare(L);
    pv_register_subscript(L);
    pv_register_dict(L);
    pv_register_call(L);
    pv_register_method(L);
    pv_register_attr(L);
    pv_register_iter(L);
    pv_register_text(L);
    return 1;
}
