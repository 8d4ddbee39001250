// SPDX-License-Identifier: MIT
// nki_lua_array.c: kernel inputs from arrays of rt.array, and outputs to them. An input whose type and layout are what
// the storage holds is borrowed, not copied; the array stays alive with the tensor.
#include <stdlib.h>
#include <string.h>

#include "array/array_lua.h"
#include "array/convert.h"
#include "nki/exec.h"
#include "nki/nki_lua.h"
#include "run.h"

bool nki_input_array(lua_State *L, struct nki_box_machine *b, struct nki_storage *st, int index, int tensor) {
    struct array *a = array_test(L, index);
    if (!a || !a->storage) return false;
    const struct nki_dtype_info *t = &nki_dtypes[st->dtype];
    if (a->size != st->partitions * st->free_elems) luaL_argerror(L, index, "array of another size");
    if (a->dtype == t->raw && st->cell == t->size && array_is_contiguous(a)) {
        lua_getiuservalue(L, tensor, 1); // the handle
        lua_pushvalue(L, index);
        lua_setiuservalue(L, -2, 2);
        lua_pop(L, 1);
        st->data = array_data(a);
        st->borrowed = true;
        st->filled = true;
        return true;
    }
    if (!nki_machine_back(&b->m, st)) nki_raise(L, b);
    int64_t strides[ARRAY_MAX_DIMS];
    if (st->cell == t->size) {
        array_strides_of(t->raw, a->ndim, a->shape, strides);
        convert_nd(a->ndim, a->shape, t->raw, st->data, strides, a->dtype, array_data(a), a->strides);
    } else { // doubles that hold what the chip's type can hold
        array_strides_of(DTYPE_FLOAT64, a->ndim, a->shape, strides);
        convert_nd(a->ndim, a->shape, DTYPE_FLOAT64, st->data, strides, a->dtype, array_data(a), a->strides);
        if (a->dtype != t->raw) {
            double *cells = (double *)(void *)st->data;
            unsigned char chip[8 * 512];
            for (int64_t i = 0; i < a->size; i += 512) {
                size_t n = a->size - i < 512 ? (size_t)(a->size - i) : 512;
                kernels()->from_f64[t->raw](n, chip, cells + i);
                kernels()->to_f64[t->raw](n, cells + i, chip);
            }
        }
    }
    st->filled = true;
    return true;
}

// Hand a whole tensor's bytes over to an array; the tensor borrows them from then on.
static bool give_bytes(lua_State *L, struct nki_box_machine *b, struct nki_view *v, struct array *out) {
    struct nki_storage *st = v->st;
    if (nki_on_chip(st->buffer) || !st->data || st->borrowed || !st->filled || v->dtype != st->dtype ||
        v->offset != 0 || nki_view_size(v) != st->free_elems || !nki_view_contiguous(v))
        return false;
    struct storage *bytes = malloc(sizeof *bytes);
    if (!bytes) return false;
    *bytes = (struct storage){.refs = 1, .bytes = st->bytes, .account = b->m.account, .data = st->data};
    enum dtype t = st->cell == nki_dtype_size(st->dtype) ? nki_dtypes[st->dtype].raw : DTYPE_FLOAT64;
    *out = (struct array){.storage = bytes, .dtype = t, .ndim = v->ndim, .size = st->free_elems};
    memcpy(out->shape, v->shape, (size_t)v->ndim * sizeof *v->shape);
    array_strides_of(t, v->ndim, v->shape, out->strides);
    st->borrowed = true;
    lua_getiuservalue(L, 2, 1); // the handle keeps the array
    lua_pushvalue(L, -2);
    lua_setiuservalue(L, -2, 2);
    lua_pop(L, 1);
    return true;
}

int nki_output_array(lua_State *L) {
    struct nki_box_machine *b = nki_check_machine(L);
    struct nki_view *v = nki_to_view(L, b, 2);
    if (!v) return luaL_argerror(L, 2, "tensor of this machine expected");
    struct nki_lane lane;
    lua_settop(L, 2);
    struct array *out = array_push(L);
    if (give_bytes(L, b, v, out)) return 1;
    if (!nki_lane_open(&b->m, &lane, v, false)) nki_raise(L, b);
    struct array_error err;
    if (!array_create(out, &run_state(L)->arrays, lane.type, v->ndim, v->shape, &err)) {
        nki_lane_close(&b->m, &lane, false);
        return array_raise(L, &err);
    }
    size_t size = dtype_size(lane.type);
    struct nki_lane to = {.base = array_data(out),
                          .pitch = (ptrdiff_t)((size_t)lane.free * size),
                          .type = lane.type,
                          .n = 1,
                          .count = {lane.free},
                          .stride = {(int64_t)size},
                          .parts = lane.parts,
                          .free = lane.free,
                          .dense = true};
    for (int64_t p = 0; p < lane.parts; p++) nki_lane_copy(&to, &lane, p);
    nki_lane_close(&b->m, &lane, false);
    return 1;
}
