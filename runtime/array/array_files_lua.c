// SPDX-License-Identifier: MIT
// array_files_lua.c: the parts of rt.array about data from outside and its comparison: .npy, random arrays, errors.
#include <string.h>

#include "array/array_lua.h"
#include "array/compare.h"
#include "array/convert.h"
#include "array/npy.h"
#include "array/random.h"
#include "run.h"

// ---- .npy ----

// array.read_npy(bytes [, dtype]) -> array, or nil, { code = "bad-file", message = }.
static int module_read_npy(lua_State *L) {
    struct array_error err = {0};
    size_t length;
    const char *bytes = luaL_checklstring(L, 1, &length);
    enum dtype hint = lua_isnoneornil(L, 2) ? DTYPE_COUNT : array_check_dtype(L, 2);
    struct array *a = array_push(L);
    if (npy_read(a, &run_state(L)->arrays, bytes, length, hint, &err)) return 1;
    if (err.status != ARRAY_BAD_DATA) return array_raise(L, &err);
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushliteral(L, "bad-file");
    lua_setfield(L, -2, "code");
    lua_pushstring(L, err.message);
    lua_setfield(L, -2, "message");
    return 2;
}

static int module_write_npy(lua_State *L) {
    const struct array *a = array_check(L, 1);
    char header[NPY_HEADER_MAX];
    luaL_Buffer b;
    int64_t strides[ARRAY_MAX_DIMS];
    size_t head = npy_header(header, a), bytes = (size_t)a->size * dtype_size(a->dtype);
    char *to = luaL_buffinitsize(L, &b, head + bytes);
    memcpy(to, header, head);
    array_strides_of(a->dtype, a->ndim, a->shape, strides);
    if (a->size) convert_nd(a->ndim, a->shape, a->dtype, to + head, strides, a->dtype, array_data(a), a->strides);
    luaL_pushresultsize(&b, head + bytes);
    return 1;
}

// Upvalues: the array, row-major; the first element of the next piece, -1 for the header.
static int npy_piece(lua_State *L) {
    enum { PIECE = 1 << 20 }; // bytes
    const struct array *a = array_check(L, lua_upvalueindex(1));
    lua_Integer from = lua_tointeger(L, lua_upvalueindex(2)), to = 0;
    if (from < 0) {
        char header[NPY_HEADER_MAX];
        lua_pushlstring(L, header, npy_header(header, a));
    } else if (from == a->size) {
        return 0;
    } else {
        size_t size = dtype_size(a->dtype);
        to = from + (lua_Integer)(PIECE / size);
        if (to > a->size) to = a->size;
        lua_pushlstring(L, (const char *)array_data(a) + (size_t)from * size, (size_t)(to - from) * size);
    }
    lua_pushinteger(L, to);
    lua_replace(L, lua_upvalueindex(2));
    return 1;
}

// array.npy_pieces(a) -> function that gives the file of write_npy piece by piece, then nil. The array must stay as it is.
static int module_npy_pieces(lua_State *L) {
    struct array_error err = {0};
    const struct array *a = array_check(L, 1);
    struct array *packed = array_push(L);
    if (!array_contiguous(packed, a, &err)) return array_raise(L, &err);
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, npy_piece, 2);
    return 1;
}

// ---- random ----

static double number_field(lua_State *L, int index, const char *name, double otherwise, bool *given) {
    lua_getfield(L, index, name);
    bool present = !lua_isnil(L, -1);
    double x = otherwise;
    if (present) {
        int is_number;
        x = lua_tonumberx(L, -1, &is_number);
        if (!is_number) luaL_error(L, "random: %s is not a number", name);
        if (given) *given = true;
    }
    lua_pop(L, 1);
    return x;
}

// array.random{ dtype=, shape=, seed=, dist="normal", scale=1, mean=0, low=, high= } -> array, the index singled out.
static int module_random(lua_State *L) {
    struct array_error err = {0};
    struct random_request r = {0};
    int64_t shape[ARRAY_MAX_DIMS], special;
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_getfield(L, 1, "dtype");
    lua_getfield(L, 1, "shape");
    enum dtype t = lua_isnil(L, 2) ? DTYPE_FLOAT32 : array_check_dtype(L, 2);
    int ndim = array_check_shape(L, 3, shape);
    lua_getfield(L, 1, "seed");
    if (!lua_isnil(L, -1) && !lua_isinteger(L, -1)) return luaL_error(L, "random: seed is not an integer");
    r.seed = (uint64_t)lua_tointeger(L, -1);
    lua_getfield(L, 1, "dist");
    const char *name = lua_isnil(L, -1) ? "normal" : luaL_checkstring(L, -1);
    r.dist = random_parse(name);
    if (r.dist == RANDOM_COUNT) return luaL_error(L, "random: no distribution '%s'", name);
    r.scale = number_field(L, 1, "scale", 1, &r.scale_given);
    r.mean = number_field(L, 1, "mean", 0, NULL);
    bool low = false, high = false;
    r.low = number_field(L, 1, "low", 0, &low);
    r.high = number_field(L, 1, "high", 1, &high);
    if (low != high) return luaL_error(L, "random: low and high go together");
    r.range_given = low;
    struct array *a = array_push(L);
    if (!array_create(a, &run_state(L)->arrays, t, ndim, shape, &err)) return array_raise(L, &err);
    random_fill(a, &r, &special);
    if (special < 0) return 1;
    lua_pushinteger(L, special);
    return 2;
}

// ---- comparison ----

static void set_number(lua_State *L, const char *name, double x) {
    lua_pushnumber(L, x);
    lua_setfield(L, -2, name);
}

// Indices: nil for none.
static void set_index(lua_State *L, const char *name, int64_t i) {
    if (i < 0) return;
    lua_pushinteger(L, i);
    lua_setfield(L, -2, name);
}

static void set_integer(lua_State *L, const char *name, int64_t i) {
    lua_pushinteger(L, i);
    lua_setfield(L, -2, name);
}

static void push_result(lua_State *L, const struct compare_result *r, bool bound, bool tiles) {
    static const char *const bins[COMPARE_ULP_BINS] = {"0", "0.5", "1", "2", "4", "8", "64", "more"};
    lua_createtable(L, 0, 32);
    set_integer(L, "count", r->count);
    set_integer(L, "compared", r->compared);
    set_integer(L, "differing", r->differing);
    set_number(L, "max_abs", r->max_abs);
    set_index(L, "max_abs_index", r->max_abs_index);
    set_number(L, "max_rel", r->max_rel);
    set_index(L, "max_rel_index", r->max_rel_index);
    set_number(L, "rel_l2", r->rel_l2);
    set_number(L, "max_expected", r->max_expected);
    set_number(L, "mean_error", r->mean_error);
    set_number(L, "cosine", r->cosine);
    if (r->max_abs_index >= 0) {
        set_number(L, "actual", r->actual_at_worst);
        set_number(L, "expected", r->expected_at_worst);
    }
    set_number(L, "worst_row_l2", r->worst_row_l2);
    set_index(L, "worst_row", r->worst_row);
    if (tiles) {
        set_number(L, "worst_tile_l2", r->worst_tile_l2);
        lua_createtable(L, 3, 0);
        for (int i = 0; i < 3; i++) {
            lua_pushinteger(L, r->worst_tile[i]);
            lua_rawseti(L, -2, i + 1);
        }
        lua_setfield(L, -2, "worst_tile");
    }
    if (bound) {
        set_integer(L, "over_bound", r->over_bound);
        set_number(L, "worst_ratio", r->worst_ratio);
        set_index(L, "worst_ratio_index", r->worst_ratio_index);
    }
    set_integer(L, "nonfinite_actual", r->nonfinite_actual);
    set_integer(L, "nonfinite_expected", r->nonfinite_expected);
    set_integer(L, "mismatches", r->mismatches);
    set_index(L, "first_mismatch", r->first_mismatch);
    set_number(L, "max_ulp", r->max_ulp);
    set_index(L, "max_ulp_index", r->max_ulp_index);
    lua_createtable(L, 0, COMPARE_ULP_BINS);
    for (int i = 0; i < COMPARE_ULP_BINS; i++) set_integer(L, bins[i], r->ulp_bins[i]);
    lua_setfield(L, -2, "ulp_histogram");
}

// array.errors(actual, expected [, { bound = array or number, tile = { p, f }, ulp = dtype }]) -> table of figures.
static int module_errors(lua_State *L) {
    struct array_error err = {0};
    struct compare_options o = {.ulp_dtype = DTYPE_COUNT};
    struct compare_result r;
    const struct array *actual = array_check(L, 1), *expected = array_check(L, 2);
    lua_settop(L, 3);
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        lua_getfield(L, 3, "bound"); // 4
        if (lua_type(L, 4) == LUA_TNUMBER) {
            struct array *one = array_push(L);
            if (!array_create(one, &run_state(L)->arrays, DTYPE_FLOAT64, 0, NULL, &err)) return array_raise(L, &err);
            array_fill(one, operand_float(lua_tonumber(L, 4)), &err);
            o.bound = one;
        } else if (!lua_isnil(L, 4)) {
            o.bound = array_check(L, 4);
        }
        lua_getfield(L, 3, "ulp");
        if (!lua_isnil(L, -1)) o.ulp_dtype = array_check_dtype(L, lua_gettop(L));
        lua_getfield(L, 3, "tile");
        if (!lua_isnil(L, -1)) {
            int64_t tile[ARRAY_MAX_DIMS];
            if (array_check_shape(L, lua_gettop(L), tile) != 2 || tile[0] < 1 || tile[1] < 1)
                return luaL_error(L, "errors: tile is { partitions, free }");
            o.tile_rows = tile[0];
            o.tile_columns = tile[1];
        }
    }
    if (!compare_arrays(&r, actual, expected, &o, &err)) return array_raise(L, &err);
    push_result(L, &r, o.bound != NULL, o.tile_rows > 0);
    return 1;
}

// array.row_errors(actual, expected) -> rel-L2 of each row; array.axis_errors(actual, expected, axis) -> for each
// index.
static int module_row_errors(lua_State *L) {
    struct array_error err = {0};
    const struct array *actual = array_check(L, 1), *expected = array_check(L, 2);
    struct array *out = array_push(L);
    return array_done(L, compare_along(out, actual, expected, 0, true, &err), &err);
}

static int module_axis_errors(lua_State *L) {
    struct array_error err = {0};
    const struct array *actual = array_check(L, 1), *expected = array_check(L, 2);
    int axis = array_check_axis(L, 3, "axis_errors");
    struct array *out = array_push(L);
    return array_done(L, compare_along(out, actual, expected, axis, false, &err), &err);
}

// array.fit(actual, expected) -> { scale, scale_residual, offset, offset_residual, rel_l2, cosine }.
static int module_fit(lua_State *L) {
    struct array_error err = {0};
    struct compare_fit f;
    if (!compare_fit(&f, array_check(L, 1), array_check(L, 2), &err)) return array_raise(L, &err);
    lua_createtable(L, 0, 6);
    set_number(L, "scale", f.scale);
    set_number(L, "scale_residual", f.scale_residual);
    set_number(L, "offset", f.offset);
    set_number(L, "offset_residual", f.offset_residual);
    set_number(L, "rel_l2", f.rel_l2);
    set_number(L, "cosine", f.cosine);
    return 1;
}

// array.shift(actual, expected, axis [, most = 4]) -> k, rel-L2 of actual[i] against expected[i - k] where both exist.
static int module_shift(lua_State *L) {
    struct array_error err = {0};
    struct compare_shift s;
    const struct array *actual = array_check(L, 1), *expected = array_check(L, 2);
    int axis = array_check_axis(L, 3, "shift");
    lua_Integer most = luaL_optinteger(L, 4, 4);
    if (most < 1 || most > 4096) return luaL_error(L, "shift: from 1 to 4096 steps");
    if (!compare_shift(&s, actual, expected, axis, most, &err)) return array_raise(L, &err);
    lua_pushinteger(L, s.shift);
    lua_pushnumber(L, s.rel_l2);
    return 2;
}

static const luaL_Reg functions[] = {
    {"read_npy", module_read_npy}, {"write_npy", module_write_npy},   {"random", module_random},
    {"errors", module_errors},     {"row_errors", module_row_errors}, {"axis_errors", module_axis_errors},
    {"fit", module_fit},           {"shift", module_shift},           {"npy_pieces", module_npy_pieces},
    {NULL, NULL},
};

void array_lua_open_files(lua_State *L) { luaL_setfuncs(L, functions, 0); }
