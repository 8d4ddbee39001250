// SPDX-License-Identifier: MIT
// array_ops_lua.c: the operations of rt.array on whole arrays.
#include <math.h>
#include <string.h>

#include "array/array_lua.h"
#include "array/convert.h"
#include "array/gemm.h"
#include "run.h"

static int module_unary(lua_State *L) {
    struct array_error err = {0};
    const char *name = luaL_checkstring(L, 1);
    enum unary_op op = unary_parse(name);
    if (op == UNARY_COUNT) return luaL_error(L, "unary: no operation '%s'", name);
    const struct array *a = array_check(L, 2);
    struct array *out = array_push(L);
    return array_done(L, array_unary(out, op, a, &err), &err);
}

static int module_binary(lua_State *L) {
    struct array_error err = {0};
    const char *name = luaL_checkstring(L, 1);
    enum binary_op op = binary_parse(name);
    if (op == BINARY_COUNT) return luaL_error(L, "binary: no operation '%s'", name);
    struct operand a = array_check_operand(L, 2), b = array_check_operand(L, 3);
    struct array *out = array_push(L);
    return array_done(L, array_binary(out, op, a, b, &err), &err);
}

static int module_compare(lua_State *L) {
    struct array_error err = {0};
    const char *name = luaL_checkstring(L, 1);
    enum compare_op op = compare_parse(name);
    if (op == COMPARE_COUNT) return luaL_error(L, "compare_op: no operation '%s'", name);
    struct operand a = array_check_operand(L, 2), b = array_check_operand(L, 3);
    struct array *out = array_push(L);
    return array_done(L, array_compare(out, op, a, b, &err), &err);
}

static int module_where(lua_State *L) {
    struct array_error err = {0};
    const struct array *condition = array_check(L, 1);
    struct operand a = array_check_operand(L, 2), b = array_check_operand(L, 3);
    struct array *out = array_push(L);
    return array_done(L, array_where(out, condition, a, b, &err), &err);
}

// array.clip(a, low, high): either bound may be nil.
static int module_clip(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    bool low = !lua_isnoneornil(L, 2), high = !lua_isnoneornil(L, 3);
    struct operand bounds[2] = {low ? array_check_operand(L, 2) : operand_int(0),
                                high ? array_check_operand(L, 3) : operand_int(0)};
    struct array *out = array_push(L);
    bool ok = low && high ? array_clip(out, a, bounds[0], bounds[1], &err)
              : low       ? array_binary(out, BINARY_MAXIMUM, operand_of(a), bounds[0], &err)
              : high      ? array_binary(out, BINARY_MINIMUM, operand_of(a), bounds[1], &err)
                          : array_copy(out, a, &err);
    return array_done(L, ok, &err);
}

static int one_axis(lua_State *L, int index, const char *what, const struct array *a) {
    char text[192];
    int axis = array_check_axis(L, index, what);
    if (axis < -a->ndim || axis >= a->ndim)
        luaL_error(L, "%s: axis %d is out of range for shape %s", what, axis,
                   array_format_shape(text, a->ndim, a->shape));
    return axis < 0 ? axis + a->ndim : axis;
}

// nil: all axes; an integer; or a list.
static unsigned check_axes(lua_State *L, int index, const char *what, const struct array *a) {
    unsigned mask = 0;
    if (lua_isnoneornil(L, index)) return (1u << a->ndim) - 1;
    if (lua_type(L, index) != LUA_TTABLE) return 1u << one_axis(L, index, what, a);
    lua_Integer n = luaL_len(L, index);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_geti(L, index, i);
        unsigned bit = 1u << one_axis(L, -1, what, a);
        if (mask & bit) luaL_error(L, "%s: axis %I is given twice", what, lua_tointeger(L, -1));
        mask |= bit;
        lua_pop(L, 1);
    }
    return mask;
}

// array.reduce(op, a, axes, keepdims [, ddof]); argmax and argmin take one axis or none.
static int module_reduce(lua_State *L) {
    struct array_error err = {0};
    const char *name = luaL_checkstring(L, 1);
    const struct array *a = array_check(L, 2);
    bool keepdims = lua_toboolean(L, 4);
    if (strcmp(name, "argmax") == 0 || strcmp(name, "argmin") == 0) {
        bool flat = lua_isnoneornil(L, 3);
        int axis = flat ? 0 : one_axis(L, 3, name, a);
        struct array *out = array_push(L);
        return array_done(L, array_arg_reduce(out, name[3] == 'm' && name[4] == 'a', a, axis, flat, keepdims, &err),
                          &err);
    }
    enum array_reduction op = array_reduction_parse(name);
    if (op == ARRAY_REDUCTION_COUNT) return luaL_error(L, "reduce: no operation '%s'", name);
    unsigned axes = check_axes(L, 3, name, a);
    double ddof = luaL_optnumber(L, 5, 0);
    struct array *out = array_push(L);
    if (op == ARRAY_VAR || op == ARRAY_STD)
        return array_done(L, array_variance(out, a, axes, keepdims, ddof, op == ARRAY_STD, &err), &err);
    return array_done(L, array_reduce(out, op, a, axes, keepdims, &err), &err);
}

static int module_cumulative(lua_State *L) {
    struct array_error err = {0};
    static const char *const names[] = {"sum", "prod", "max", "min", NULL};
    enum reduce_op op = (enum reduce_op)luaL_checkoption(L, 1, NULL, names);
    const struct array *a = array_check(L, 2);
    int axis = one_axis(L, 3, "cumulative", a);
    struct array *out = array_push(L);
    return array_done(L, array_cumulative(out, op, a, axis, &err), &err);
}

static int module_matmul(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1), *b = array_check(L, 2);
    struct array *out = array_push(L);
    return array_done(L, array_matmul(out, a, b, &err), &err);
}

static int module_concat(lua_State *L) {
    enum { MOST = 4096 };
    struct array_error err = {0};
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_Integer n = luaL_len(L, 1);
    int axis = array_check_axis(L, 2, "concat");
    if (n < 1 || n > MOST) return luaL_error(L, "concat: 1 to %d arrays, not %I", MOST, n);
    const struct array **list = lua_newuserdatauv(L, (size_t)n * sizeof *list, 0);
    for (lua_Integer i = 0; i < n; i++) {
        lua_geti(L, 1, i + 1);
        list[i] = array_test(L, -1);
        if (!list[i] || !list[i]->storage) return luaL_error(L, "concat: element %I is no open array", i + 1);
        lua_pop(L, 1); // the list keeps it alive
    }
    struct array *out = array_push(L);
    return array_done(L, array_concat(out, list, (int)n, axis, &err), &err);
}

// array.arange(stop) or array.arange(start, stop [, step [, dtype]]). The second value fixes the step, as in NumPy.
static int module_arange(lua_State *L) {
    struct array_error err = {0};
    bool single = lua_isnoneornil(L, 2);
    bool integers =
        lua_isinteger(L, 1) && (single || lua_isinteger(L, 2)) && (lua_isnoneornil(L, 3) || lua_isinteger(L, 3));
    double start = single ? 0 : luaL_checknumber(L, 1), stop = luaL_checknumber(L, single ? 1 : 2),
           step = luaL_optnumber(L, 3, 1);
    enum dtype t = lua_isnoneornil(L, 4) ? (integers ? DTYPE_INT64 : DTYPE_FLOAT64) : array_check_dtype(L, 4);
    double length = ceil((stop - start) / step);
    if (step == 0 || !(fabs(length) < 0x1p53))
        return luaL_error(L, "arange: step %f does not lead from %f to %f", step, start, stop);
    int64_t count = length > 0 ? (int64_t)length : 0;
    struct array *a = array_push(L);
    if (!array_create(a, &run_state(L)->arrays, t, 1, &count, &err)) return array_raise(L, &err);
    unsigned char *p = array_data(a);
    const size_t size = dtype_size(t);
    double first = dtype_round(t, start), delta = dtype_round(t, dtype_round(t, start + step) - first);
    int64_t whole = integers ? (single ? 0 : lua_tointeger(L, 1)) : 0,
            whole_step = integers ? luaL_optinteger(L, 3, 1) : 1;
    for (int64_t i = 0; i < count; i++, p += size) {
        if (integers && !dtype_is_float(t))
            dtype_store_int(t, p, whole + i * whole_step);
        else if (i == 1)
            dtype_store(t, p, start + step);
        else if (t == DTYPE_FLOAT64)
            dtype_store(t, p, first + (double)i * delta);
        else
            dtype_store(t, p, first + (double)((float)i * (float)delta));
    }
    return 1;
}

static int module_promote(lua_State *L) {
    lua_pushstring(L, dtype_name(dtype_promote(array_check_dtype(L, 1), array_check_dtype(L, 2))));
    return 1;
}

// array.dtype(name) -> its properties, or nil when there is no such type.
static int module_dtype(lua_State *L) {
    size_t length;
    const char *name = luaL_checklstring(L, 1, &length);
    enum dtype t = dtype_parse(name, length);
    if (t == DTYPE_COUNT) return 0;
    const struct dtype_info *info = &dtype_table[t];
    lua_createtable(L, 0, 8);
    lua_pushstring(L, info->name);
    lua_setfield(L, -2, "name");
    lua_pushinteger(L, info->size);
    lua_setfield(L, -2, "size");
    lua_pushboolean(L, info->is_float);
    lua_setfield(L, -2, "is_float");
    lua_pushboolean(L, info->is_integer);
    lua_setfield(L, -2, "is_integer");
    lua_pushboolean(L, info->is_signed);
    lua_setfield(L, -2, "is_signed");
    lua_pushinteger(L, info->mantissa_bits);
    lua_setfield(L, -2, "mantissa_bits");
    lua_pushnumber(L, info->max);
    lua_setfield(L, -2, "max");
    lua_pushnumber(L, info->min);
    lua_setfield(L, -2, "min");
    lua_pushinteger(L, info->min_exponent);
    lua_setfield(L, -2, "min_exponent");
    return 1;
}

static int module_round(lua_State *L) {
    lua_pushnumber(L, dtype_round(array_check_dtype(L, 1), luaL_checknumber(L, 2)));
    return 1;
}

static int module_bits_equal(lua_State *L) {
    lua_pushboolean(L, array_bits_equal(array_check(L, 1), array_check(L, 2)));
    return 1;
}

static int module_memory(lua_State *L) {
    const struct account *account = &run_state(L)->arrays;
    lua_pushinteger(L, (lua_Integer)account->used);
    lua_pushinteger(L, (lua_Integer)account->peak);
    lua_pushinteger(L, (lua_Integer)account->limit);
    lua_pushinteger(L, (lua_Integer)account->kept);
    return 4;
}

static int module_backend(lua_State *L) {
    lua_pushstring(L, gemm_backend());
    lua_pushstring(L, kernels()->name);
    return 2;
}

static int module_threads(lua_State *L) {
    lua_pushinteger(L, gemm_threads((int)luaL_optinteger(L, 1, 0)));
    return 1;
}

static const luaL_Reg functions[] = {
    {"unary", module_unary},
    {"binary", module_binary},
    {"compare_op", module_compare},
    {"where", module_where},
    {"clip", module_clip},
    {"reduce", module_reduce},
    {"cumulative", module_cumulative},
    {"matmul", module_matmul},
    {"concat", module_concat},
    {"arange", module_arange},
    {"promote", module_promote},
    {"dtype", module_dtype},
    {"round", module_round},
    {"bits_equal", module_bits_equal},
    {"memory", module_memory},
    {"backend", module_backend},
    {"threads", module_threads},
    {NULL, NULL},
};

void array_lua_open_operations(lua_State *L) { luaL_setfuncs(L, functions, 0); }
