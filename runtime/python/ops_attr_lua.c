// SPDX-License-Identifier: MIT
// ops_attr_lua.c: attributes. A module is a table whose string keys are its attributes; an instance of a class is a
// table whose string keys are its own, with a metatable whose `__class` is {namespace, method resolution order, name,
// ...}.
#include <string.h>

#include "python/ops_lua.h"

static void push_method(lua_State *L, int self, int fn) {
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, self);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, fn);
    lua_rawseti(L, -2, 2);
    pv_set_kind(L, PV_METHOD);
}

// Look the name up in the classes of an instance and bind what is found.
static bool class_attribute(lua_State *L, int object, int name) {
    int top = lua_gettop(L); // the class
    lua_rawgeti(L, top, PV_CLASS_ORDER);
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, top + 1, i);
        lua_rawgeti(L, -1, PV_CLASS_NAMESPACE);
        lua_pushvalue(L, name);
        int type = lua_rawget(L, -2);
        if (type == LUA_TNIL) {
            lua_settop(L, top + 1);
            continue;
        }
        int value = lua_gettop(L);
        if (type == LUA_TFUNCTION || (type == LUA_TUSERDATA && pv_kind(L, value) == PV_CALLABLE)) {
            push_method(L, object, value);
        } else if (pv_hook(L, value, "__pyget")) {
            lua_pushvalue(L, value);
            lua_pushvalue(L, object);
            lua_pushvalue(L, top);
            lua_call(L, 3, 1);
        }
        lua_replace(L, top);
        lua_settop(L, top);
        return true;
    }
    lua_settop(L, top - 1);
    return false;
}

bool pv_attribute(lua_State *L, int object, int name) {
    int top = lua_gettop(L);
    enum pv_kind kind;
    bool meta = pv_metatable(L, object, &kind);
    if (kind == PV_MODULE) {
        lua_pushvalue(L, name);
        if (lua_rawget(L, object) != LUA_TNIL) {
            lua_remove(L, top + 1);
            return true;
        }
    } else if (kind == PV_OTHER && meta) {
        if (lua_istable(L, object) && lua_rawgeti(L, top + 1, PV_META_CLASS) == LUA_TTABLE) {
            lua_pushvalue(L, name);
            if (lua_rawget(L, object) != LUA_TNIL) {
                lua_replace(L, top + 1);
                lua_settop(L, top + 1);
                return true;
            }
            lua_pop(L, 1);
            if (class_attribute(L, object, name)) {
                lua_replace(L, top + 1);
                lua_settop(L, top + 1);
                return true;
            }
        }
        lua_settop(L, top + 1);
        lua_pushstring(L, "__pygetattr");
        if (lua_rawget(L, top + 1) != LUA_TNIL) {
            lua_pushvalue(L, object);
            lua_pushvalue(L, name);
            lua_call(L, 2, 1);
            if (!lua_isnil(L, -1)) {
                lua_remove(L, top + 1);
                return true;
            }
        }
    }
    lua_settop(L, top);
    pv_push_slow(L, SLOW_ATTR);
    lua_pushvalue(L, object);
    lua_pushvalue(L, name);
    lua_call(L, 2, 1);
    if (!lua_isnil(L, -1)) return true;
    lua_pop(L, 1);
    return false;
}

static _Noreturn void no_attribute(lua_State *L, int object, int name) {
    if (pv_kind(L, object) == PV_MODULE) {
        lua_rawgeti(L, object, 1);
        pv_push_error(L, "AttributeError", "unknown-name", "module '%s' has no attribute '%s'", lua_tostring(L, -1),
                      lua_tostring(L, name));
        lua_rawgeti(L, object, 1);
        lua_setfield(L, -2, "module");
        lua_pushvalue(L, name);
        lua_setfield(L, -2, "name");
    } else {
        pv_push_error(L, "AttributeError", NULL, "'%s' object has no attribute '%s'", pv_type_name(L, object),
                      lua_tostring(L, name));
    }
    lua_error(L);
    __builtin_unreachable();
}

// ATTR(site, object, name) -> value
static int op_attr(lua_State *L) {
    pv_site(L, 1);
    if (!pv_attribute(L, 2, 3)) no_attribute(L, 2, 3);
    return 1;
}

// KATTR(cache, place, site, object, name) -> value. The attributes of a native module never change, so the value is
// kept.
static int op_cached_attr(lua_State *L) {
    pv_site(L, 3);
    if (!pv_attribute(L, 4, 5)) no_attribute(L, 4, 5);
    if (pv_kind(L, 4) == PV_MODULE) {
        lua_rawgeti(L, 4, 2); // native
        if (lua_toboolean(L, -1)) {
            lua_pushvalue(L, 6);
            lua_rawseti(L, 1, lua_tointeger(L, 2));
        }
        lua_settop(L, 6);
    }
    return 1;
}

// SETATTR(site, object, name, value)
static int op_setattr(lua_State *L) {
    pv_site(L, 1);
    lua_settop(L, 4);
    enum pv_kind kind;
    if (lua_istable(L, 2) && pv_metatable(L, 2, &kind) && kind == PV_OTHER &&
        lua_rawgeti(L, 5, PV_META_CLASS) == LUA_TTABLE) {
        lua_rawgeti(L, 6, PV_CLASS_GUARD); // true when some class in the order guards assignment
        if (!lua_toboolean(L, -1)) {
            lua_settop(L, 4);
            lua_rawset(L, 2);
            return 0;
        }
    }
    lua_settop(L, 4);
    pv_push_slow(L, SLOW_SETATTR);
    lua_insert(L, 2);
    lua_call(L, 3, 0);
    return 0;
}

// getattr(object, name) -> value or nil: for Lua code
static int op_getattr(lua_State *L) {
    luaL_checktype(L, 2, LUA_TSTRING);
    lua_settop(L, 2);
    return pv_attribute(L, 1, 2) ? 1 : 0;
}

void pv_register_attr(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"ATTR", op_attr}, {"KATTR", op_cached_attr}, {"SETATTR", op_setattr}, {"getattr", op_getattr}, {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
