// SPDX-License-Identifier: MIT
// ops_iter_lua.c: iteration and unpacking. ITER gives the three values of a generic `for` whose second variable is the
// item (the first only keeps the place). Every step is counted.
#include "python/ops_lua.h"

// Sequence and place -> next place, item.
static int next_item(lua_State *L) {
    lua_Integer i = lua_tointeger(L, 2) + 1;
    pv_steps(L, 1);
    lua_pushinteger(L, i);
    if (lua_rawgeti(L, 1, i) == LUA_TNIL) return 0;
    return 2;
}

static int next_range(lua_State *L) {
    lua_Integer i = lua_tointeger(L, 2);
    pv_steps(L, 1);
    lua_rawgeti(L, 1, 4);
    if (i >= lua_tointeger(L, -1)) return 0;
    lua_rawgeti(L, 1, 1);
    lua_rawgeti(L, 1, 3);
    lua_Integer value =
        (lua_Integer)((lua_Unsigned)lua_tointeger(L, -2) + (lua_Unsigned)i * (lua_Unsigned)lua_tointeger(L, -1));
    lua_pushinteger(L, i + 1);
    lua_pushinteger(L, value);
    return 2;
}

// Upvalues: dict, place, count at the start.
static int next_key(lua_State *L) {
    int dict = lua_upvalueindex(1);
    lua_Integer place = lua_tointeger(L, lua_upvalueindex(2));
    pv_steps(L, 1);
    if (pv_dict_count(L, dict) != lua_tointeger(L, lua_upvalueindex(3))) {
        pv_raise(L, "RuntimeError", "%s changed size during iteration",
                 pv_kind(L, dict) == PV_DICT ? "dictionary" : "Set");
    }
    lua_rawgeti(L, dict, 5);
    lua_Integer top = lua_tointeger(L, -1);
    lua_rawgeti(L, dict, 3);
    int keys = lua_gettop(L);
    while (++place <= top) {
        if (lua_rawgeti(L, keys, place) != LUA_TNIL) {
            lua_pushinteger(L, place);
            lua_copy(L, -1, lua_upvalueindex(2));
            lua_insert(L, -2);
            return 2;
        }
        lua_pop(L, 1);
    }
    return 0;
}

static int next_called(lua_State *L) {
    pv_steps(L, 1);
    lua_settop(L, 1);
    lua_pushinteger(L, 1);
    lua_insert(L, 1);
    lua_call(L, 0, 1);
    return lua_isnil(L, -1) ? 0 : 2;
}

// ITER(site, x) -> function, state, start
static int op_iter(lua_State *L) {
    pv_site(L, 1);
    lua_settop(L, 2);
    switch (pv_kind(L, 2)) {
    case PV_LIST:
    case PV_TUPLE: lua_pushcfunction(L, next_item); break;
    case PV_RANGE: lua_pushcfunction(L, next_range); break;
    case PV_DICT:
    case PV_SET:
    case PV_FROZENSET:
        lua_pushvalue(L, 2);
        lua_pushinteger(L, 0);
        lua_pushinteger(L, pv_dict_count(L, 2));
        lua_pushcclosure(L, next_key, 3);
        break;
    case PV_ITERATOR:
        lua_pushcfunction(L, next_called);
        lua_rawgeti(L, 2, 1);
        lua_pushinteger(L, 0);
        return 3;
    default:
        lua_pushcfunction(L, next_called);
        pv_push_slow(L, SLOW_ITER);
        lua_pushvalue(L, 2);
        lua_call(L, 1, 1);
        lua_pushinteger(L, 0);
        return 3;
    }
    lua_pushvalue(L, 2);
    lua_pushinteger(L, 0);
    return 3;
}

// RANGE(site, start, stop, step) -> start, last, step of a numeric `for`; stop and step may be absent. With `all` its
// steps are counted at once: the loop runs to its end.
static int range_loop(lua_State *L, bool all) {
    pv_site(L, 1);
    lua_Integer part[3] = {0, 0, 1};
    int n = lua_gettop(L) - 1;
    for (int k = 0; k < n; k++) {
        if (!pv_integer(L, k + 2, &part[k])) {
            if (!pv_hook(L, k + 2, "__pyindex"))
                pv_raise(L, "TypeError", "'%s' object cannot be interpreted as an integer", pv_type_name(L, k + 2));
            lua_pushvalue(L, k + 2);
            lua_call(L, 1, 1);
            part[k] = lua_tointeger(L, -1);
        }
    }
    if (n == 1) {
        part[1] = part[0];
        part[0] = 0;
    }
    if (part[2] == 0) pv_raise(L, "ValueError", "range() arg 3 must not be zero");
    bool empty = part[2] > 0 ? part[0] >= part[1] : part[0] <= part[1];
    if (all && !empty) {
        lua_Unsigned distance =
            part[2] > 0 ? (lua_Unsigned)part[1] - (lua_Unsigned)part[0] : (lua_Unsigned)part[0] - (lua_Unsigned)part[1];
        pv_steps(L, (distance - 1) / (part[2] > 0 ? (lua_Unsigned)part[2] : 0 - (lua_Unsigned)part[2]) + 1);
    }
    lua_pushinteger(L, empty ? 1 : part[0]);
    lua_pushinteger(L, empty ? 0 : part[2] > 0 ? part[1] - 1 : part[1] + 1);
    lua_pushinteger(L, empty ? 1 : part[2]);
    return 3;
}

static int op_range(lua_State *L) { return range_loop(L, false); }
static int op_range_all(lua_State *L) { return range_loop(L, true); }

// range(start, stop, step) -> range object {start, stop, step, count}
static int op_range_new(lua_State *L) {
    lua_Integer start = luaL_checkinteger(L, 1), stop = luaL_checkinteger(L, 2), step = luaL_checkinteger(L, 3);
    lua_Unsigned count = 0;
    if (step > 0 && start < stop) count = ((lua_Unsigned)stop - (lua_Unsigned)start - 1) / (lua_Unsigned)step + 1;
    if (step < 0 && start > stop) count = ((lua_Unsigned)start - (lua_Unsigned)stop - 1) / (0 - (lua_Unsigned)step) + 1;
    if (count > (lua_Unsigned)LUA_MAXINTEGER) pv_overflow(L);
    lua_createtable(L, 4, 0);
    const lua_Integer parts[] = {start, stop, step, (lua_Integer)count};
    for (int k = 0; k < 4; k++) {
        lua_pushinteger(L, parts[k]);
        lua_rawseti(L, -2, k + 1);
    }
    pv_set_kind(L, PV_RANGE);
    return 1;
}

// collect(iterable) -> plain Lua table of its items
static int op_collect(lua_State *L) {
    lua_settop(L, 1);
    lua_newtable(L);
    enum pv_kind kind = pv_kind(L, 1);
    if (kind == PV_LIST || kind == PV_TUPLE) {
        lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L, 1, i);
            lua_rawseti(L, 2, i);
        }
        return 1;
    }
    lua_pushcfunction(L, op_iter);
    lua_pushinteger(L, run_state(L)->site);
    lua_pushvalue(L, 1);
    lua_call(L, 2, 3); // function 3, state 4, place 5
    for (lua_Integer i = 1;; i++) {
        lua_pushvalue(L, 3);
        lua_pushvalue(L, 4);
        lua_pushvalue(L, 5);
        lua_call(L, 2, 2);
        if (lua_isnil(L, -2)) break;
        lua_rawseti(L, 2, i);
        lua_replace(L, 5);
    }
    lua_settop(L, 2);
    return 1;
}

static void as_sequence(lua_State *L) { // replace index 2 by a sequence of its items
    enum pv_kind kind = pv_kind(L, 2);
    if (kind == PV_LIST || kind == PV_TUPLE) return;
    if (kind == PV_NONE || (kind == PV_SCALAR && lua_type(L, 2) != LUA_TSTRING)) {
        pv_raise(L, "TypeError", "cannot unpack non-iterable %s object", pv_type_name(L, 2));
    }
    lua_pushcfunction(L, op_collect);
    lua_pushvalue(L, 2);
    lua_call(L, 1, 1);
    lua_replace(L, 2);
}

// UNPACK(site, value, n) -> n values
static int op_unpack(lua_State *L) {
    pv_site(L, 1);
    as_sequence(L);
    lua_Integer n = lua_tointeger(L, 3), have = (lua_Integer)lua_rawlen(L, 2);
    if (have > n) pv_raise(L, "ValueError", "too many values to unpack (expected %lld)", (long long)n);
    if (have < n)
        pv_raise(L, "ValueError", "not enough values to unpack (expected %lld, got %lld)", (long long)n,
                 (long long)have);
    luaL_checkstack(L, (int)n, "unpack");
    for (lua_Integer i = 1; i <= n; i++) lua_rawgeti(L, 2, i);
    return (int)n;
}

// UNPACKX(site, value, before, after) -> before values, a list, after values
static int op_unpack_star(lua_State *L) {
    pv_site(L, 1);
    as_sequence(L);
    lua_Integer before = lua_tointeger(L, 3), after = lua_tointeger(L, 4), have = (lua_Integer)lua_rawlen(L, 2);
    if (have < before + after) {
        pv_raise(L, "ValueError", "not enough values to unpack (expected at least %lld, got %lld)",
                 (long long)(before + after), (long long)have);
    }
    luaL_checkstack(L, (int)(before + after) + 4, "unpack");
    for (lua_Integer i = 1; i <= before; i++) lua_rawgeti(L, 2, i);
    lua_createtable(L, (int)(have - before - after), 0);
    for (lua_Integer i = before + 1; i <= have - after; i++) {
        lua_rawgeti(L, 2, i);
        lua_rawseti(L, -2, i - before);
    }
    pv_set_kind(L, PV_LIST);
    for (lua_Integer i = have - after + 1; i <= have; i++) lua_rawgeti(L, 2, i);
    return (int)(before + after + 1);
}

// EXTEND(site, table, iterable, star): append the items to a plain table, list or tuple; star: they are a call's
// arguments
static int op_extend(lua_State *L) {
    pv_site(L, 1);
    enum pv_kind kind = pv_kind(L, 3);
    if (lua_toboolean(L, 4) && (kind == PV_NONE || (kind == PV_SCALAR && lua_type(L, 3) != LUA_TSTRING))) {
        pv_raise(L, "TypeError", "Value after * must be an iterable, not %s", pv_type_name(L, 3));
    }
    lua_settop(L, 3);
    lua_pushcfunction(L, op_collect);
    lua_pushvalue(L, 3);
    lua_call(L, 1, 1);
    lua_Integer base = (lua_Integer)lua_rawlen(L, 2), n = (lua_Integer)lua_rawlen(L, 4);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, 4, i);
        lua_rawseti(L, 2, base + i);
    }
    return 0;
}

void pv_register_iter(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"ITER", op_iter},           {"RANGE", op_range},     {"RANGEALL", op_range_all},
        {"range", op_range_new},     {"collect", op_collect}, {"UNPACK", op_unpack},
        {"UNPACKX", op_unpack_star}, {"EXTEND", op_extend},   {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
