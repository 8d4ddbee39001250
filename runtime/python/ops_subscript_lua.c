// SPDX-License-Identifier: MIT
// ops_subscript_lua.c: reading, writing and deleting by subscript. A subscript whose shape is known when it is lowered
// (`a[0:128, i, None]`) comes as a format, one character per index, and its parts as plain values, so that no slice or
// tuple is made for an object that has `__subscript`.
#include <string.h>

#include "python/ops_lua.h"

static _Noreturn void index_error(lua_State *L, const char *what) {
    pv_raise(L, "IndexError", "%s index out of range", what);
}

static int slow_get(lua_State *L, int object, int index) {
    pv_push_slow(L, SLOW_GETITEM);
    lua_pushvalue(L, object);
    lua_pushvalue(L, index);
    lua_call(L, 2, 1);
    return 1;
}

// How many values a format takes from the stack.
static int format_values(const char *format) {
    int n = 0;
    for (; *format; format++) n += *format == 'i' ? 1 : *format == 's' ? 3 : 0;
    return n;
}

// Push the format and the values of an index given as one value (an int, a slice, a tuple of both).
static int push_format(lua_State *L, int index) {
    char format[40];
    int n = 0, values = 0;
    int at = lua_gettop(L) + 1;
    lua_pushnil(L);
    bool tuple = pv_kind(L, index) == PV_TUPLE;
    lua_Integer count = tuple ? (lua_Integer)lua_rawlen(L, index) : 1;
    if (count > 32) pv_raise(L, "IndexError", "too many indices: %lld", (long long)count);
    luaL_checkstack(L, (int)count * 3 + 8, "subscript");
    for (lua_Integer i = 1; i <= count; i++) {
        if (tuple) {
            lua_rawgeti(L, index, i);
        } else {
            lua_pushvalue(L, index);
        }
        int top = lua_gettop(L);
        switch (pv_kind(L, top)) {
        case PV_NONE:
            format[n++] = 'n';
            lua_pop(L, 1);
            break;
        case PV_ELLIPSIS:
            format[n++] = 'e';
            lua_pop(L, 1);
            break;
        case PV_SLICE:
            format[n++] = 's';
            for (int k = 1; k <= 3; k++) lua_rawgeti(L, top, k);
            lua_remove(L, top);
            values += 3;
            break;
        default: format[n++] = 'i'; values += 1;
        }
    }
    format[n] = 0;
    lua_pushstring(L, format);
    lua_replace(L, at);
    return values + 1;
}

// GETITEM(site, object, index)
static int op_getitem(lua_State *L) {
    pv_site(L, 1);
    lua_Integer i;
    if (lua_type(L, 2) == LUA_TSTRING) {
        if (!pv_integer(L, 3, &i)) {
            if (pv_kind(L, 3) == PV_SLICE) return slow_get(L, 2, 3);
            pv_raise(L, "TypeError", "string indices must be integers, not '%s'", pv_type_name(L, 3));
        }
        size_t bytes;
        const char *s = lua_tolstring(L, 2, &bytes);
        size_t n = pv_str_length(s, bytes);
        if (i < 0) i += (lua_Integer)n;
        if (i < 0 || i >= (lua_Integer)n) index_error(L, "string");
        if (n == bytes) {
            lua_pushlstring(L, s + i, 1);
            return 1;
        }
        pv_push_slow(L, SLOW_STR_INDEX);
        lua_pushvalue(L, 2);
        lua_pushinteger(L, i);
        lua_call(L, 2, 1);
        return 1;
    }
    switch (pv_kind(L, 2)) {
    case PV_LIST:
    case PV_TUPLE: {
        bool list = pv_kind(L, 2) == PV_LIST;
        if (!pv_integer(L, 3, &i)) return slow_get(L, 2, 3);
        lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
        if (i < 0) i += n;
        if (i < 0 || i >= n) index_error(L, list ? "list" : "tuple");
        lua_rawgeti(L, 2, i + 1);
        return 1;
    }
    case PV_DICT:
        if (pv_dict_get(L, 2, 3)) return 1;
        return slow_get(L, 2, 3);
    case PV_OTHER:
        if (pv_hook(L, 2, "__subscript")) {
            lua_pushvalue(L, 2);
            int n = push_format(L, 3);
            lua_call(L, n + 1, 1);
            return 1;
        }
        return slow_get(L, 2, 3);
    default: return slow_get(L, 2, 3);
    }
}

// Push the index that a format and its values (from `first` on) stand for: a value, a slice or a tuple.
static void push_index(lua_State *L, const char *format, int first) {
    size_t n = strlen(format);
    if (n != 1) lua_createtable(L, (int)n, 0);
    for (size_t k = 0; k < n; k++) {
        switch (format[k]) {
        case 'i': lua_pushvalue(L, first++); break;
        case 's':
            lua_createtable(L, 3, 0);
            for (int j = 1; j <= 3; j++) {
                lua_pushvalue(L, first++);
                lua_rawseti(L, -2, j);
            }
            pv_set_kind(L, PV_SLICE);
            break;
        case 'n': pv_push_none(L); break;
        default: lua_rawgeti(L, LUA_REGISTRYINDEX, pv_ops(L)->ellipsis);
        }
        if (n != 1) lua_rawseti(L, -2, (lua_Integer)k + 1);
    }
    if (n != 1) pv_set_kind(L, PV_TUPLE);
}

// SUBSCRIPT(site, object, format, ...)
static int op_subscript(lua_State *L) {
    pv_site(L, 1);
    if (pv_hook(L, 2, "__subscript")) {
        lua_replace(L, 1);
        lua_call(L, lua_gettop(L) - 1, 1);
        return 1;
    }
    push_index(L, lua_tostring(L, 3), 4);
    if (pv_kind(L, 2) == PV_DICT && pv_dict_get(L, 2, lua_gettop(L))) return 1;
    return slow_get(L, 2, lua_gettop(L));
}

static int slow_set(lua_State *L, int object, int index, int value) {
    pv_push_slow(L, SLOW_SETITEM);
    lua_pushvalue(L, object);
    lua_pushvalue(L, index);
    lua_pushvalue(L, value);
    lua_call(L, 3, 0);
    return 0;
}

// SETITEM(site, object, index, value)
static int op_setitem(lua_State *L) {
    pv_site(L, 1);
    lua_Integer i;
    switch (pv_kind(L, 2)) {
    case PV_LIST: {
        if (!pv_integer(L, 3, &i)) return slow_set(L, 2, 3, 4);
        lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
        if (i < 0) i += n;
        if (i < 0 || i >= n) pv_raise(L, "IndexError", "list assignment index out of range");
        lua_settop(L, 4);
        lua_rawseti(L, 2, i + 1);
        return 0;
    }
    case PV_DICT: pv_dict_set(L, 2, 3, 4); return 0;
    case PV_OTHER:
        if (pv_hook(L, 2, "__setsubscript")) {
            lua_pushvalue(L, 2);
            lua_pushvalue(L, 4);
            int n = push_format(L, 3);
            lua_call(L, n + 2, 0);
            return 0;
        }
        return slow_set(L, 2, 3, 4);
    default: return slow_set(L, 2, 3, 4);
    }
}

// SETSUBSCRIPT(site, object, value, format, ...)
static int op_setsubscript(lua_State *L) {
    pv_site(L, 1);
    if (pv_hook(L, 2, "__setsubscript")) {
        lua_replace(L, 1);
        lua_call(L, lua_gettop(L) - 1, 0);
        return 0;
    }
    push_index(L, lua_tostring(L, 4), 5);
    return slow_set(L, 2, lua_gettop(L), 3);
}

// subscript_values(format) -> how many values it takes
static int op_format_values(lua_State *L) {
    lua_pushinteger(L, format_values(luaL_checkstring(L, 1)));
    return 1;
}

// SLICE(start, stop, step) -> slice
static int op_slice(lua_State *L) {
    lua_settop(L, 3);
    lua_createtable(L, 3, 0);
    for (int k = 1; k <= 3; k++) {
        lua_pushvalue(L, k);
        lua_rawseti(L, 4, k);
    }
    pv_set_kind(L, PV_SLICE);
    return 1;
}

// slice_bounds(slice, length) -> start, count, step, as Python's slice.indices
static int op_slice_bounds(lua_State *L) {
    lua_Integer n = luaL_checkinteger(L, 2), part[3];
    bool given[3];
    for (int k = 0; k < 3; k++) {
        lua_rawgeti(L, 1, k + 1);
        given[k] = !pv_is_none(L, -1);
        if (given[k] && !pv_integer(L, -1, &part[k])) {
            if (!pv_hook(L, -1, "__pyindex"))
                pv_raise(L, "TypeError", "slice indices must be integers or None or have an __index__ method");
            lua_pushvalue(L, -2);
            lua_call(L, 1, 1);
            part[k] = lua_tointeger(L, -1);
        }
    }
    lua_Integer step = given[2] ? part[2] : 1;
    if (step == 0) pv_raise(L, "ValueError", "slice step cannot be zero");
    if (step < -LUA_MAXINTEGER) step = -LUA_MAXINTEGER;
    lua_Integer low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    lua_Integer start = step > 0 ? low : high, stop = step > 0 ? high : low;
    if (given[0]) {
        start = part[0] < 0 ? part[0] + n : part[0];
        start = start < low ? low : start > high ? high : start;
    }
    if (given[1]) {
        stop = part[1] < 0 ? part[1] + n : part[1];
        stop = stop < low ? low : stop > high ? high : stop;
    }
    lua_Integer count = 0;
    if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
    if (step < 0 && start > stop) count = (start - stop - 1) / -step + 1;
    lua_pushinteger(L, start);
    lua_pushinteger(L, count);
    lua_pushinteger(L, step);
    return 3;
}

// LEN(site, object)
static int op_len(lua_State *L) {
    pv_site(L, 1);
    if (lua_type(L, 2) == LUA_TSTRING) {
        size_t bytes;
        const char *s = lua_tolstring(L, 2, &bytes);
        lua_pushinteger(L, (lua_Integer)pv_str_length(s, bytes));
        return 1;
    }
    switch (pv_kind(L, 2)) {
    case PV_LIST:
    case PV_TUPLE: lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 2)); return 1;
    case PV_DICT:
    case PV_SET:
    case PV_FROZENSET: lua_pushinteger(L, pv_dict_count(L, 2)); return 1;
    case PV_RANGE: lua_rawgeti(L, 2, 4); return 1;
    default: break;
    }
    if (pv_hook(L, 2, "__pylen")) {
        lua_pushvalue(L, 2);
        lua_call(L, 1, 1);
        return 1;
    }
    pv_raise(L, "TypeError", "object of type '%s' has no len()", pv_type_name(L, 2));
}

void pv_register_subscript(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"GETITEM", op_getitem},
        {"SUBSCRIPT", op_subscript},
        {"SETITEM", op_setitem},
        {"SETSUBSCRIPT", op_setsubscript},
        {"SLICE", op_slice},
        {"LEN", op_len},
        {"slice_bounds", op_slice_bounds},
        {"subscript_values", op_format_values},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
