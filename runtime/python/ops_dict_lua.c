// SPDX-License-Identifier: MIT
// ops_dict_lua.c: dicts and sets. See ops_lua.h for the layout.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "python/ops_lua.h"

enum { MAP = 1, SLOTS, KEYS, COUNT, TOP };

// A growing byte string inside a userdata at a fixed stack place, since nested tuples leave values on the stack.
struct text {
    char *bytes;
    size_t size, room;
};

static int text_free(lua_State *L) {
    struct text *text = lua_touserdata(L, 1);
    free(text->bytes);
    text->bytes = NULL;
    return 0;
}

static void text_add(lua_State *L, struct text *text, const char *bytes, size_t size) {
    if (text->size + size > text->room) {
        size_t room = (text->size + size) * 2 + 64;
        char *grown = realloc(text->bytes, room);
        if (!grown) luaL_error(L, "not enough memory");
        text->bytes = grown;
        text->room = room;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

static void add_value(lua_State *L, struct text *text, int index, int depth);

static void add_tuple(lua_State *L, struct text *text, int index, int depth) {
    if (depth > 100) pv_raise(L, "RecursionError", "maximum recursion depth exceeded while hashing a tuple");
    luaL_checkstack(L, 4, "tuple");
    text_add(L, text, "(", 1);
    lua_Unsigned n = lua_rawlen(L, index);
    for (lua_Unsigned i = 1; i <= n; i++) {
        lua_rawgeti(L, index, (lua_Integer)i);
        add_value(L, text, lua_gettop(L), depth + 1);
        lua_pop(L, 1);
    }
    text_add(L, text, ")", 1);
}

// A string that starts with byte 0xff is never UTF-8, so the form of a tuple cannot equal a str key.
static void add_value(lua_State *L, struct text *text, int index, int depth) {
    char small[64];
    lua_Integer exact;
    switch (lua_type(L, index)) {
    case LUA_TBOOLEAN:
    case LUA_TNUMBER:
        if (pv_integer(L, index, &exact) ||
            (!lua_isinteger(L, index) && lua_numbertointeger(lua_tonumber(L, index), &exact) &&
             (lua_Number)exact == lua_tonumber(L, index))) {
            snprintf(small, sizeof small, "i%lld,", (long long)exact);
        } else {
            snprintf(small, sizeof small, "f%a,", lua_tonumber(L, index));
        }
        text_add(L, text, small, strlen(small));
        return;
    case LUA_TSTRING: {
        size_t n;
        const char *s = lua_tolstring(L, index, &n);
        snprintf(small, sizeof small, "s%zu:", n);
        text_add(L, text, small, strlen(small));
        text_add(L, text, s, n);
        return;
    }
    default: break;
    }
    if (pv_kind(L, index) == PV_TUPLE) {
        add_tuple(L, text, index, depth);
        return;
    }
    pv_dict_key(L, index);
    if (lua_type(L, -1) == LUA_TSTRING || lua_type(L, -1) == LUA_TNUMBER) {
        add_value(L, text, lua_gettop(L), depth);
    } else {
        snprintf(small, sizeof small, "o%p,", lua_topointer(L, -1));
        text_add(L, text, small, strlen(small));
    }
    lua_pop(L, 1);
}

static void push_tuple_key(lua_State *L, int index) {
    struct text *text = lua_newuserdatauv(L, sizeof *text, 0);
    memset(text, 0, sizeof *text);
    if (luaL_newmetatable(L, "rt.pyops.text")) {
        lua_pushcfunction(L, text_free);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    text_add(L, text, "\xff", 1);
    add_tuple(L, text, index, 0);
    lua_pushlstring(L, text->bytes, text->size);
    free(text->bytes);
    text->bytes = NULL;
    lua_remove(L, -2);
}

void pv_dict_key(lua_State *L, int key) {
    key = lua_absindex(L, key);
    switch (lua_type(L, key)) {
    case LUA_TBOOLEAN: lua_pushinteger(L, lua_toboolean(L, key)); return;
    case LUA_TNUMBER:
        if (!lua_isinteger(L, key) && isnan(lua_tonumber(L, key))) {
            lua_pushstring(L, "\xffnan");
            return;
        }
        lua_pushvalue(L, key);
        return;
    case LUA_TSTRING:
    case LUA_TFUNCTION: lua_pushvalue(L, key); return;
    case LUA_TNIL: pv_raise(L, "TypeError", "an unbound value cannot be a key");
    default: break;
    }
    switch (pv_kind(L, key)) {
    case PV_TUPLE: push_tuple_key(L, key); return;
    case PV_LIST:
    case PV_DICT:
    case PV_SET:
    case PV_SLICE: pv_raise(L, "TypeError", "unhashable type: '%s'", pv_type_name(L, key));
    case PV_FROZENSET:
    case PV_RANGE:
    case PV_BYTES:
    case PV_OTHER: break;
    default: lua_pushvalue(L, key); return;
    }
    if (pv_hook(L, key, "__pyhash")) {
        lua_pushvalue(L, key);
        lua_call(L, 1, 1);
        pv_dict_key(L, -1);
        lua_remove(L, -2);
        return;
    }
    lua_pushvalue(L, key);
}

bool pv_dict_get(lua_State *L, int dict, int key) {
    lua_rawgeti(L, dict, MAP);
    int type = lua_type(L, key);
    if (type == LUA_TSTRING || (type == LUA_TNUMBER && lua_isinteger(L, key))) {
        lua_pushvalue(L, key);
    } else {
        pv_dict_key(L, key);
    }
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pop(L, 2);
        return false;
    }
    lua_remove(L, -2);
    return true;
}

static lua_Integer field(lua_State *L, int dict, int which) {
    lua_rawgeti(L, dict, which);
    lua_Integer value = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return value;
}

static void set_field(lua_State *L, int dict, int which, lua_Integer value) {
    lua_pushinteger(L, value);
    lua_rawseti(L, dict, which);
}

lua_Integer pv_dict_count(lua_State *L, int dict) { return field(L, dict, COUNT); }

void pv_dict_set(lua_State *L, int dict, int key, int value) {
    int top = lua_gettop(L);
    lua_rawgeti(L, dict, MAP);
    pv_dict_key(L, key);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, top + 1) == LUA_TNIL) {
        lua_Integer place = field(L, dict, TOP) + 1;
        lua_rawgeti(L, dict, SLOTS);
        lua_pushvalue(L, top + 2);
        lua_pushinteger(L, place);
        lua_rawset(L, -3);
        lua_rawgeti(L, dict, KEYS);
        lua_pushvalue(L, key);
        lua_rawseti(L, -2, place);
        set_field(L, dict, TOP, place);
        set_field(L, dict, COUNT, field(L, dict, COUNT) + 1);
    }
    lua_pushvalue(L, top + 2);
    lua_pushvalue(L, value);
    lua_rawset(L, top + 1);
    lua_settop(L, top);
}

// Close the holes that deletions leave once they are the larger part.
static void compact(lua_State *L, int dict) {
    lua_Integer top = field(L, dict, TOP), count = field(L, dict, COUNT), to = 0;
    if (top < 32 || top < count * 2) return;
    lua_rawgeti(L, dict, KEYS);
    lua_rawgeti(L, dict, SLOTS);
    int keys = lua_gettop(L) - 1, slots = keys + 1;
    for (lua_Integer i = 1; i <= top; i++) {
        if (lua_rawgeti(L, keys, i) != LUA_TNIL) {
            to++;
            pv_dict_key(L, -1);
            lua_pushinteger(L, to);
            lua_rawset(L, slots);
            lua_rawseti(L, keys, to);
        } else {
            lua_pop(L, 1);
        }
    }
    for (lua_Integer i = to + 1; i <= top; i++) {
        lua_pushnil(L);
        lua_rawseti(L, keys, i);
    }
    lua_pop(L, 2);
    set_field(L, dict, TOP, to);
}

bool pv_dict_delete(lua_State *L, int dict, int key) {
    int top = lua_gettop(L);
    lua_rawgeti(L, dict, SLOTS);
    pv_dict_key(L, key);
    lua_pushvalue(L, -1);
    if (lua_rawget(L, top + 1) == LUA_TNIL) {
        lua_settop(L, top);
        return false;
    }
    lua_Integer place = lua_tointeger(L, -1);
    lua_pushvalue(L, top + 2);
    lua_pushnil(L);
    lua_rawset(L, top + 1);
    lua_rawgeti(L, dict, MAP);
    lua_pushvalue(L, top + 2);
    lua_pushnil(L);
    lua_rawset(L, -3);
    lua_rawgeti(L, dict, KEYS);
    lua_pushnil(L);
    lua_rawseti(L, -2, place);
    set_field(L, dict, COUNT, field(L, dict, COUNT) - 1);
    lua_settop(L, top);
    return true;
}

void pv_dict_new(lua_State *L, enum pv_kind kind, int size) {
    lua_createtable(L, 5, 0);
    lua_createtable(L, 0, size);
    lua_rawseti(L, -2, MAP);
    lua_createtable(L, 0, size);
    lua_rawseti(L, -2, SLOTS);
    lua_createtable(L, size, 0);
    lua_rawseti(L, -2, KEYS);
    lua_pushinteger(L, 0);
    lua_rawseti(L, -2, COUNT);
    lua_pushinteger(L, 0);
    lua_rawseti(L, -2, TOP);
    pv_set_kind(L, kind);
}

// DICT({k1, v1, k2, v2, ...}, site) -> dict
static int op_dict(lua_State *L) {
    if (lua_tointeger(L, 2) > 0) pv_site(L, 2);
    lua_settop(L, 1);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    pv_dict_new(L, PV_DICT, (int)(n / 2));
    for (lua_Integer i = 1; i < n; i += 2) {
        lua_rawgeti(L, 1, i);
        lua_rawgeti(L, 1, i + 1);
        pv_dict_set(L, 2, 3, 4);
        lua_settop(L, 2);
    }
    return 1;
}

static int make_set(lua_State *L, enum pv_kind kind) {
    if (lua_tointeger(L, 2) > 0) pv_site(L, 2);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    lua_settop(L, 1);
    pv_dict_new(L, kind, (int)n);
    lua_pushboolean(L, 1);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, 1, i);
        pv_dict_set(L, 2, 4, 3);
        lua_settop(L, 3);
    }
    lua_settop(L, 2);
    return 1;
}

static int op_set(lua_State *L) { return make_set(L, PV_SET); }
static int op_frozenset(lua_State *L) { return make_set(L, PV_FROZENSET); }

// The same for Lua code: get(dict, key) -> value or nil, set(dict, key, value), delete(dict, key) -> boolean.
static int op_get(lua_State *L) { return pv_dict_get(L, 1, 2) ? 1 : 0; }

static int op_put(lua_State *L) {
    lua_settop(L, 3);
    pv_dict_set(L, 1, 2, 3);
    return 0;
}

static int op_delete(lua_State *L) {
    lua_settop(L, 2);
    lua_pushboolean(L, pv_dict_delete(L, 1, 2));
    compact(L, 1);
    return 1;
}

// next_key(dict, place) -> place, key, value; for generic `for`.
static int op_next_key(lua_State *L) {
    lua_Integer place = lua_tointeger(L, 2), top = field(L, 1, TOP);
    lua_settop(L, 1);
    lua_rawgeti(L, 1, KEYS);
    while (++place <= top) {
        if (lua_rawgeti(L, 2, place) != LUA_TNIL) {
            lua_pushinteger(L, place);
            lua_insert(L, -2);
            pv_dict_get(L, 1, lua_gettop(L));
            return 3;
        }
        lua_pop(L, 1);
    }
    return 0;
}

// items(dict) -> next_key, dict, 0
static int op_entries(lua_State *L) {
    lua_settop(L, 1);
    lua_pushcfunction(L, op_next_key);
    lua_insert(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

static int op_key(lua_State *L) {
    pv_dict_key(L, 1);
    return 1;
}

void pv_register_dict(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"DICT", op_dict},           {"SET", op_set},
        {"FROZENSET", op_frozenset}, {"dict_get", op_get},
        {"dict_set", op_put},        {"dict_delete", op_delete},
        {"dict_next", op_next_key},  {"dict_entries", op_entries},
        {"dict_key", op_key},        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
