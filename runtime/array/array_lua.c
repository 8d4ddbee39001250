// SPDX-License-Identifier: MIT
// array_lua.c: the userdata of rt.array: making arrays, fields, elements, views. Operations are in array_ops_lua.c.
// Axes and indices count from 0, negative ones from the end. Wrong use raises; so does running out of memory.
#include "array/array_lua.h"

#include <string.h>

#include "array/convert.h"
#include "run.h"

// ---- lifetime ----

static const char collect_key = 0;

// Lua does not see the bytes behind a userdata, so garbage would pile up: when array memory has grown by half (and at
// least 64 MiB) since the last look, collect.
static void collect_when_grown(lua_State *L, const struct account *account) {
    enum { SLACK = 64 << 20 };
    lua_rawgetp(L, LUA_REGISTRYINDEX, &collect_key);
    size_t *next = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (!next || account->used <= *next) return;
    lua_gc(L, LUA_GCCOLLECT);
    *next = account->used + account->used / 2 + SLACK;
}

// The account is at its limit: what Lua has dropped may be enough. The context is the main thread, which outlives any
// coroutine; every array in use is reachable, or held by C with a reference of its own.
static void reclaim(void *context) { lua_gc(context, LUA_GCCOLLECT); }

struct array *array_push(lua_State *L) {
    collect_when_grown(L, &run_state(L)->arrays);
    struct array *a = lua_newuserdatauv(L, sizeof *a, 0);
    memset(a, 0, sizeof *a);
    luaL_setmetatable(L, ARRAY_METATABLE);
    return a;
}

struct array *array_test(lua_State *L, int index) {
    return luaL_testudata(L, index, ARRAY_METATABLE);
}

struct array *array_check(lua_State *L, int index) {
    struct array *a = luaL_checkudata(L, index, ARRAY_METATABLE);
    if (!a->storage) luaL_argerror(L, index, "array is closed");
    return a;
}

int array_raise(lua_State *L, const struct array_error *err) { return luaL_error(L, "%s", err->message); }

int array_done(lua_State *L, bool ok, const struct array_error *err) { return ok ? 1 : array_raise(L, err); }

static int array_gc(lua_State *L) {
    array_close(luaL_checkudata(L, 1, ARRAY_METATABLE));
    return 0;
}

// ---- arguments ----

enum dtype array_check_dtype(lua_State *L, int index) {
    size_t length;
    const char *name = luaL_checklstring(L, index, &length);
    enum dtype t = dtype_parse(name, length);
    if (t == DTYPE_COUNT) luaL_error(L, "unknown dtype '%s'", name);
    return t;
}

int array_check_shape(lua_State *L, int index, int64_t *shape) {
    if (lua_isinteger(L, index)) {
        shape[0] = lua_tointeger(L, index);
        return 1;
    }
    luaL_checktype(L, index, LUA_TTABLE);
    lua_Integer n = luaL_len(L, index);
    if (n > ARRAY_MAX_DIMS) luaL_error(L, "an array has 0 to %d dimensions, not %I", ARRAY_MAX_DIMS, n);
    for (lua_Integer i = 0; i < n; i++) {
        int is_integer;
        lua_geti(L, index, i + 1);
        shape[i] = lua_tointegerx(L, -1, &is_integer);
        if (!is_integer) luaL_error(L, "shape: length %I is not an integer", i + 1);
        lua_pop(L, 1);
    }
    return (int)n;
}

struct operand array_check_operand(lua_State *L, int index) {
    if (lua_isboolean(L, index)) return (struct operand){.kind = OPERAND_BOOL, .i = lua_toboolean(L, index)};
    if (lua_isinteger(L, index)) return operand_int(lua_tointeger(L, index));
    if (lua_type(L, index) == LUA_TNUMBER) return operand_float(lua_tonumber(L, index));
    return operand_of(array_check(L, index));
}

int array_check_axis(lua_State *L, int index, const char *what) {
    lua_Integer axis = luaL_checkinteger(L, index);
    if (axis < -ARRAY_MAX_DIMS || axis >= ARRAY_MAX_DIMS) luaL_error(L, "%s: axis %I is out of range", what, axis);
    return (int)axis;
}

// ---- elements ----

static void push_element(lua_State *L, enum dtype t, const void *p) {
    if (dtype_is_float(t))
        lua_pushnumber(L, dtype_load(t, p));
    else if (t == DTYPE_BOOL)
        lua_pushboolean(L, *(const unsigned char *)p != 0);
    else
        lua_pushinteger(L, dtype_load_int(t, p));
}

static void store_element(lua_State *L, int index, enum dtype t, void *p) {
    if (lua_isboolean(L, index))
        dtype_store_int(t, p, lua_toboolean(L, index));
    else if (lua_isinteger(L, index))
        dtype_store_int(t, p, lua_tointeger(L, index));
    else if (lua_type(L, index) == LUA_TNUMBER)
        dtype_store(t, p, lua_tonumber(L, index));
    else
        luaL_error(L, "array element: number or boolean expected, got %s", luaL_typename(L, index));
}

static int array_at(lua_State *L) {
    const struct array *a = array_check(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2);
    if (i < 0 || i >= a->size)
        return luaL_error(L, "at: index %I is out of range for %I elements", i, (lua_Integer)a->size);
    push_element(L, a->dtype, array_element(a, i));
    return 1;
}

static int array_item(lua_State *L) {
    const struct array *a = array_check(L, 1);
    if (a->size != 1) return luaL_error(L, "item: the array has %I elements, not one", (lua_Integer)a->size);
    push_element(L, a->dtype, array_element(a, 0));
    return 1;
}

static unsigned char *element_at(lua_State *L, const char *what, const struct array *a, int first) {
    int given = lua_gettop(L) - first + 1;
    unsigned char *p = array_data(a);
    if (given != a->ndim) luaL_error(L, "%s: %d indices for %d dimensions", what, given, a->ndim);
    for (int i = 0; i < a->ndim; i++) {
        lua_Integer index = luaL_checkinteger(L, first + i);
        if (index < -a->shape[i] || index >= a->shape[i])
            luaL_error(L, "%s: index %I is out of range for axis %d of length %I", what, index, i,
                       (lua_Integer)a->shape[i]);
        p += (index < 0 ? index + a->shape[i] : index) * a->strides[i];
    }
    return p;
}

static int array_get(lua_State *L) {
    const struct array *a = array_check(L, 1);
    push_element(L, a->dtype, element_at(L, "get", a, 2));
    return 1;
}

static int array_set(lua_State *L) {
    const struct array *a = array_check(L, 1);
    store_element(L, 2, a->dtype, element_at(L, "set", a, 3));
    return 0;
}

// Flat, row-major.
static int array_totable(lua_State *L) {
    const struct array *a = array_check(L, 1);
    lua_createtable(L, a->size < 1 << 20 ? (int)a->size : 0, 0);
    for (int64_t i = 0; i < a->size; i++) {
        push_element(L, a->dtype, array_element(a, i));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int array_bytes(lua_State *L) {
    const struct array *a = array_check(L, 1);
    luaL_Buffer b;
    int64_t strides[ARRAY_MAX_DIMS];
    size_t bytes = (size_t)a->size * dtype_size(a->dtype);
    char *to = luaL_buffinitsize(L, &b, bytes);
    array_strides_of(a->dtype, a->ndim, a->shape, strides);
    if (a->size) convert_nd(a->ndim, a->shape, a->dtype, to, strides, a->dtype, array_data(a), a->strides);
    luaL_pushresultsize(&b, bytes);
    return 1;
}

// ---- making ----

static int module_new(lua_State *L) {
    struct array_error err = {0};
    int64_t shape[ARRAY_MAX_DIMS];
    enum dtype t = array_check_dtype(L, 1);
    int ndim = array_check_shape(L, 2, shape);
    bool filled = !lua_isnoneornil(L, 3);
    struct operand value = filled ? array_check_operand(L, 3) : operand_int(0);
    struct array *a = array_push(L);
    bool ok = filled ? array_create(a, &run_state(L)->arrays, t, ndim, shape, &err) && array_fill(a, value, &err)
                     : array_zeros(a, &run_state(L)->arrays, t, ndim, shape, &err);
    return array_done(L, ok, &err);
}

static int module_from(lua_State *L) {
    struct array_error err = {0};
    int64_t shape[ARRAY_MAX_DIMS];
    enum dtype t = array_check_dtype(L, 1);
    int ndim = array_check_shape(L, 2, shape);
    luaL_checktype(L, 3, LUA_TTABLE);
    struct array *a = array_push(L);
    if (!array_create(a, &run_state(L)->arrays, t, ndim, shape, &err)) return array_raise(L, &err);
    if ((lua_Integer)luaL_len(L, 3) != a->size)
        return luaL_error(L, "from: %I values for %I elements", (lua_Integer)luaL_len(L, 3), (lua_Integer)a->size);
    for (int64_t i = 0; i < a->size; i++) {
        lua_geti(L, 3, i + 1);
        store_element(L, -1, t, array_data(a) + (size_t)i * dtype_size(t));
        lua_pop(L, 1);
    }
    return 1;
}

static int module_from_bytes(lua_State *L) {
    struct array_error err = {0};
    int64_t shape[ARRAY_MAX_DIMS];
    size_t length;
    enum dtype t = array_check_dtype(L, 1);
    int ndim = array_check_shape(L, 2, shape);
    const char *bytes = luaL_checklstring(L, 3, &length);
    struct array *a = array_push(L);
    if (!array_create(a, &run_state(L)->arrays, t, ndim, shape, &err)) return array_raise(L, &err);
    if (length != a->storage->bytes)
        return luaL_error(L, "from_bytes: %I bytes for %I", (lua_Integer)length, (lua_Integer)a->storage->bytes);
    memcpy(array_data(a), bytes, length);
    if (t == DTYPE_BOOL)
        for (size_t i = 0; i < length; i++) array_data(a)[i] = array_data(a)[i] != 0;
    return 1;
}

// ---- fields ----

static void push_shape(lua_State *L, const struct array *a) {
    lua_createtable(L, a->ndim, 0);
    for (int i = 0; i < a->ndim; i++) {
        lua_pushinteger(L, a->shape[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

// Methods first, then fields.
static int array_index(lua_State *L) {
    const struct array *a = luaL_checkudata(L, 1, ARRAY_METATABLE);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    if (lua_type(L, 2) != LUA_TSTRING) return 0;
    const char *key = lua_tostring(L, 2);
    if (!a->storage) return 0;
    if (strcmp(key, "dtype") == 0)
        lua_pushstring(L, dtype_name(a->dtype));
    else if (strcmp(key, "shape") == 0)
        push_shape(L, a);
    else if (strcmp(key, "ndim") == 0)
        lua_pushinteger(L, a->ndim);
    else if (strcmp(key, "size") == 0)
        lua_pushinteger(L, a->size);
    else if (strcmp(key, "nbytes") == 0)
        lua_pushinteger(L, a->size * (int64_t)dtype_size(a->dtype));
    else if (strcmp(key, "contiguous_view") == 0)
        lua_pushboolean(L, array_is_contiguous(a));
    else
        return 0;
    return 1;
}

static int array_tostring(lua_State *L) {
    char text[192];
    const struct array *a = luaL_checkudata(L, 1, ARRAY_METATABLE);
    if (!a->storage)
        lua_pushliteral(L, "array (closed)");
    else
        lua_pushfstring(L, "array %s%s", dtype_name(a->dtype), array_format_shape(text, a->ndim, a->shape));
    return 1;
}

// ---- copies and views ----

static int array_cast_method(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    enum dtype t = array_check_dtype(L, 2);
    struct array *out = array_push(L);
    return array_done(L, array_cast(out, a, t, &err), &err);
}

// a:chip_cast(dtype): as the chip converts: float to integer rounds to nearest even and saturates.
static int array_chip_cast_method(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    enum dtype t = array_check_dtype(L, 2);
    struct array *out = array_push(L);
    if (!dtype_is_float(a->dtype) || !dtype_is_integer(t)) return array_done(L, array_cast(out, a, t, &err), &err);
    struct array *wide = array_push(L);
    if (!array_cast(wide, a, DTYPE_FLOAT64, &err)) return array_raise(L, &err);
    if (!array_create(out, &run_state(L)->arrays, t, a->ndim, a->shape, &err)) return array_raise(L, &err);
    chip_scatter_f64((size_t)a->size, t, array_data(out), (ptrdiff_t)dtype_size(t), (const double *)array_data(wide));
    array_close(wide);
    lua_pop(L, 1);
    return 1;
}

static int array_copy_method(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    struct array *out = array_push(L);
    return array_done(L, array_copy(out, a, &err), &err);
}

static int array_contiguous_method(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    struct array *out = array_push(L);
    return array_done(L, array_contiguous(out, a, &err), &err);
}

// a:reshape(shape [, view_only]): with view_only, raises rather than copies.
static int array_reshape_method(lua_State *L) {
    struct array_error err = {0};
    int64_t shape[ARRAY_MAX_DIMS];
    bool copied, view_only = lua_toboolean(L, 3);
    const struct array *a = array_check(L, 1);
    int ndim = array_check_shape(L, 2, shape);
    struct array *out = array_push(L);
    bool ok = array_view_reshape(out, a, ndim, shape, &copied, &err);
    if (ok && copied && view_only)
        return luaL_error(L, "reshape: the elements of this view cannot be reshaped without a copy");
    return array_done(L, ok, &err);
}

static int array_transpose_method(lua_State *L) {
    struct array_error err = {0};
    int64_t list[ARRAY_MAX_DIMS];
    int axes[ARRAY_MAX_DIMS];
    const struct array *a = array_check(L, 1);
    bool given = !lua_isnoneornil(L, 2);
    if (given) {
        int n = array_check_shape(L, 2, list);
        if (n != a->ndim) return luaL_error(L, "transpose: %d axes for %d dimensions", n, a->ndim);
        for (int i = 0; i < n; i++)
            axes[i] = list[i] >= -ARRAY_MAX_DIMS && list[i] <= ARRAY_MAX_DIMS ? (int)list[i] : ARRAY_MAX_DIMS;
    }
    struct array *out = array_push(L);
    return array_done(L, array_view_transpose(out, a, given ? axes : NULL, &err), &err);
}

// a:slice(axis, start, stop, step), each of the last three may be nil, with Python's meaning.
static int array_slice_method(lua_State *L) {
    struct array_error err = {0};
    char text[192];
    const struct array *a = array_check(L, 1);
    int axis = array_check_axis(L, 2, "slice");
    if (axis < 0) axis += a->ndim;
    if (axis < 0 || axis >= a->ndim)
        return luaL_error(L, "slice: axis %I is out of range for shape %s", lua_tointeger(L, 2),
                          array_format_shape(text, a->ndim, a->shape));
    int64_t n = a->shape[axis], step = luaL_optinteger(L, 5, 1);
    if (step == 0) return luaL_error(L, "slice: step is zero");
    if (step < -INT64_MAX) step = -INT64_MAX;
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    int64_t ends[2];
    for (int i = 0; i < 2; i++) {
        bool absent = lua_isnoneornil(L, 3 + i);
        int64_t v = absent ? ((i == 0) == (step > 0) ? low : high) : luaL_checkinteger(L, 3 + i);
        if (!absent && v < 0) v += n;
        ends[i] = v < low ? low : v > high ? high : v;
    }
    int64_t gap = step > 0 ? ends[1] - ends[0] : ends[0] - ends[1], size = step > 0 ? step : -step;
    int64_t count = gap > 0 ? (gap - 1) / size + 1 : 0;
    struct array *out = array_push(L);
    return array_done(L, array_view_slice(out, a, axis, count ? ends[0] : 0, count, step, &err), &err);
}

static int array_select_method(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    int axis = array_check_axis(L, 2, "select");
    lua_Integer index = luaL_checkinteger(L, 3);
    struct array *out = array_push(L);
    return array_done(L, array_view_select(out, a, axis, index, &err), &err);
}

static int array_expand_method(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    int axis = array_check_axis(L, 2, "expand");
    struct array *out = array_push(L);
    return array_done(L, array_view_expand(out, a, axis, &err), &err);
}

// a:squeeze(axis), or every axis of length 1 without an argument.
static int array_squeeze_method(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    if (lua_isnoneornil(L, 2)) {
        int64_t shape[ARRAY_MAX_DIMS];
        int ndim = 0;
        for (int i = 0; i < a->ndim; i++)
            if (a->shape[i] != 1) shape[ndim++] = a->shape[i];
        struct array *out = array_push(L);
        return array_done(L, array_view_reshape(out, a, ndim, shape, NULL, &err), &err);
    }
    int axis = array_check_axis(L, 2, "squeeze");
    struct array *out = array_push(L);
    return array_done(L, array_view_squeeze(out, a, axis, &err), &err);
}

static int array_broadcast_method(lua_State *L) {
    struct array_error err = {0};
    int64_t shape[ARRAY_MAX_DIMS];
    const struct array *a = array_check(L, 1);
    int ndim = array_check_shape(L, 2, shape);
    struct array *out = array_push(L);
    return array_done(L, array_view_broadcast(out, a, ndim, shape, &err), &err);
}

static int array_view_method(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    enum dtype t = array_check_dtype(L, 2);
    struct array *out = array_push(L);
    return array_done(L, array_view_bits(out, a, t, &err), &err);
}

static int array_fill_method(lua_State *L) {
    struct array_error err = {0};
    struct array *a = array_check(L, 1);
    if (!array_fill(a, array_check_operand(L, 2), &err)) return array_raise(L, &err);
    lua_settop(L, 1);
    return 1;
}

static int array_assign_method(lua_State *L) {
    struct array_error err = {0};
    struct array *a = array_check(L, 1);
    struct operand value = array_check_operand(L, 2);
    bool ok = value.array ? array_assign(a, value.array, &err) : array_fill(a, value, &err);
    lua_settop(L, 1);
    return array_done(L, ok, &err);
}

static int array_hash_method(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)array_hash(array_check(L, 1)));
    return 1;
}

static const luaL_Reg methods[] = {
    {"at", array_at},
    {"item", array_item},
    {"get", array_get},
    {"set", array_set},
    {"totable", array_totable},
    {"bytes", array_bytes},
    {"cast", array_cast_method},
    {"chip_cast", array_chip_cast_method},
    {"copy", array_copy_method},
    {"contiguous", array_contiguous_method},
    {"reshape", array_reshape_method},
    {"transpose", array_transpose_method},
    {"slice", array_slice_method},
    {"select", array_select_method},
    {"expand", array_expand_method},
    {"squeeze", array_squeeze_method},
    {"broadcast_to", array_broadcast_method},
    {"view", array_view_method},
    {"fill", array_fill_method},
    {"assign", array_assign_method},
    {"hash", array_hash_method},
    {"close", array_gc},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"new", module_new},
    {"from", module_from},
    {"from_bytes", module_from_bytes},
    {NULL, NULL},
};

int luaopen_rt_array(lua_State *L) {
    size_t *next = lua_newuserdatauv(L, sizeof *next, 0);
    *next = 64 << 20;
    lua_rawsetp(L, LUA_REGISTRYINDEX, &collect_key);

    struct account *account = &run_state(L)->arrays;
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    account->reclaim_context = lua_tothread(L, -1);
    account->reclaim = reclaim;
    lua_pop(L, 1);

    luaL_newmetatable(L, ARRAY_METATABLE);
    luaL_newlib(L, methods);
    lua_pushcclosure(L, array_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, array_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushcfunction(L, array_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, array_gc);
    lua_setfield(L, -2, "__close");
    lua_pop(L, 1);

    luaL_newlib(L, functions);
    array_lua_open_operations(L);
    array_lua_open_files(L);
    return 1;
}
