// SPDX-License-Identifier: MIT
// ops_method_lua.c: calls of methods, and calls that Lua itself can make once the callee is found.
#include "python/ops_lua.h"

// Push the method that `object.name` calls with the object as its first argument: one of a built-in type, or a function
// found in the classes of an instance. False and nothing pushed when the attribute is anything else.
static bool find_method(lua_State *L, int object, int name) {
    int top = lua_gettop(L);
    enum pv_kind kind;
    switch (lua_type(L, object)) {
    case LUA_TSTRING: lua_rawgeti(L, LUA_REGISTRYINDEX, pv_ops(L)->str_methods); break;
    case LUA_TNUMBER:
    case LUA_TBOOLEAN: lua_rawgeti(L, LUA_REGISTRYINDEX, pv_ops(L)->num_methods); break;
    default:
        if (!pv_metatable(L, object, &kind)) return false;
        if (kind == PV_MODULE) {
            lua_settop(L, top);
            return false;
        }
        if (kind == PV_OTHER && lua_istable(L, object) && lua_rawgeti(L, top + 1, PV_META_CLASS) == LUA_TTABLE) {
            lua_pushvalue(L, name);
            if (lua_rawget(L, object) != LUA_TNIL) { // an attribute of its own hides the class's
                lua_settop(L, top);
                return false;
            }
            lua_rawgeti(L, top + 2, PV_CLASS_ORDER);
            int order = lua_gettop(L);
            lua_Integer n = (lua_Integer)lua_rawlen(L, order);
            for (lua_Integer i = 1; i <= n; i++) {
                lua_rawgeti(L, order, i);
                lua_rawgeti(L, -1, PV_CLASS_NAMESPACE);
                lua_pushvalue(L, name);
                int type = lua_rawget(L, -2);
                if (type == LUA_TFUNCTION || (type == LUA_TUSERDATA && pv_kind(L, -1) == PV_CALLABLE)) {
                    lua_replace(L, top + 1);
                    lua_settop(L, top + 1);
                    return true;
                }
                if (type != LUA_TNIL) break;
                lua_settop(L, order);
            }
            lua_settop(L, top);
            return false;
        }
        lua_settop(L, top + 1);
        if (lua_rawgeti(L, top + 1, PV_META_METHODS) == LUA_TNIL) {
            lua_pop(L, 1);
            lua_pushstring(L, "__methods");
            if (lua_rawget(L, top + 1) == LUA_TNIL) {
                lua_settop(L, top);
                return false;
            }
        }
    }
    lua_pushvalue(L, name);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_settop(L, top);
        return false;
    }
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
    return true;
}

static void any_attribute(lua_State *L, int object, int name) {
    if (pv_attribute(L, object, name)) return;
    pv_push_error(L, "AttributeError", NULL, "'%s' object has no attribute '%s'", pv_type_name(L, object),
                  lua_tostring(L, name));
    lua_error(L);
}

// Turn object, name, arguments... at index o into callee, arguments...; returns the callee's index.
static int resolve_method(lua_State *L, int o) {
    if (find_method(L, o, o + 1)) {
        lua_copy(L, o, o + 1);
        lua_replace(L, o);
        return o;
    }
    any_attribute(L, o, o + 1);
    lua_replace(L, o + 1);
    return o + 1;
}

// list.append(x), the most frequent call of a method.
static bool is_append(lua_State *L, int object, int name) {
    if (lua_gettop(L) != name + 1 || pv_kind(L, object) != PV_LIST) return false;
    lua_rawgeti(L, LUA_REGISTRYINDEX, pv_ops(L)->append);
    bool same = lua_rawequal(L, -1, name);
    lua_pop(L, 1);
    return same;
}

// METHOD(site, object, name, ...) -> function, arguments
static int op_method(lua_State *L) {
    pv_site(L, 1);
    if (is_append(L, 2, 3)) {
        pv_steps(L, 1);
        lua_rawseti(L, 2, (lua_Integer)lua_rawlen(L, 2) + 1);
        pv_push_none(L);
        pv_push_slow(L, SLOW_IDENTITY);
        lua_insert(L, -2);
        return 2;
    }
    return pv_call(L, resolve_method(L, 2), NULL, true);
}

// METHODK(site, keywords, object, name, ...) -> function, arguments
static int op_method_keywords(lua_State *L) {
    pv_site(L, 1);
    return pv_call(L, resolve_method(L, 3), lua_touserdata(L, 2), true);
}

// Upvalue: a callee. Its first argument is dropped.
static int call_without_self(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(1));
    if (lua_gettop(L) > 1) {
        lua_replace(L, 1);
    }
    return pv_call(L, 1, NULL, false);
}

// Upvalue: a callee that Lua cannot call.
static int call_any(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    return pv_call(L, 1, NULL, false);
}

// METH(site, object, name, count) -> what lowered code calls at once with the object and its count - 1 arguments.
static int op_meth(lua_State *L) {
    pv_site(L, 1);
    pv_steps(L, 1);
    pv_ops(L)->last_count = (int)lua_tointeger(L, 4);
    if (find_method(L, 2, 3)) return 1;
    any_attribute(L, 2, 3);
    lua_pushcclosure(L, call_without_self, 1);
    return 1;
}

// CALLEE(site, f, count) -> what lowered code calls at once with count arguments.
static int op_callee(lua_State *L) {
    pv_site(L, 1);
    pv_ops(L)->last_count = (int)lua_tointeger(L, 3);
    lua_settop(L, 2);
    if (lua_type(L, 2) == LUA_TFUNCTION) {
        pv_steps(L, 1);
        return 1;
    }
    enum pv_kind kind = pv_kind(L, 2);
    if (kind == PV_CALLABLE) return 1;
    if (kind == PV_SCALAR || kind == PV_NONE)
        pv_raise(L, "TypeError", "'%s' object is not callable", pv_type_name(L, 2));
    lua_pushcclosure(L, call_any, 1);
    return 1;
}

void pv_register_method(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"METHOD", op_method}, {"METHODK", op_method_keywords}, {"METH", op_meth}, {"CALLEE", op_callee}, {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
