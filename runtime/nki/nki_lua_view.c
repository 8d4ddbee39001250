// SPDX-License-Identifier: MIT
// nki_lua_view.c: tensors as Python objects: subscripts, attributes, view methods.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nki/nki_lua.h"

struct range { // nl.ds(start, size)
    int64_t start, size;
};
#define RANGE "rt.nki.ds"

struct nki_view *nki_to_view(lua_State *L, struct nki_box_machine *b, int index) {
    struct nki_view *v = lua_touserdata(L, index);
    if (!v || !lua_getmetatable(L, index)) return NULL;
    bool same = lua_topointer(L, -1) == b->view_mt_at;
    lua_pop(L, 1);
    return same ? v : NULL;
}

bool nki_is_none(lua_State *L, const struct nki_box_machine *b, int index) {
    int type = lua_type(L, index);
    if (type == LUA_TNIL || type == LUA_TNONE) return true;
    return (type == LUA_TTABLE || type == LUA_TUSERDATA || type == LUA_TLIGHTUSERDATA) &&
           lua_topointer(L, index) == b->none_at;
}

struct nki_view *nki_push_view(lua_State *L, struct nki_box_machine *b, const struct nki_view *view, int handle) {
    (void)b;
    handle = lua_absindex(L, handle);
    struct nki_view *v = lua_newuserdatauv(L, sizeof *v, 1);
    *v = *view;
    lua_pushvalue(L, handle);
    lua_setiuservalue(L, -2, 1);
    return v;
}

bool nki_integer(lua_State *L, int index, int64_t *out) {
    if (lua_isinteger(L, index)) {
        *out = lua_tointeger(L, index);
        return true;
    }
    if (!lua_isboolean(L, index)) return false;
    *out = lua_toboolean(L, index);
    return true;
}

int nki_integers(lua_State *L, int index, int64_t *out, int max) {
    if (max > 0 && nki_integer(L, index, out)) return 1;
    if (!lua_istable(L, index)) return -1;
    index = lua_absindex(L, index);
    lua_Integer n = (lua_Integer)lua_rawlen(L, index);
    if (n > max) return -1;
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, index, i + 1);
        bool good = nki_integer(L, -1, &out[i]);
        lua_pop(L, 1);
        if (!good) return -1;
    }
    return (int)n;
}

// self is upvalue 1 of every function here; argument 1 is the tensor.
static struct nki_view *self_view(lua_State *L, struct nki_box_machine **b) {
    *b = nki_self(L);
    struct nki_view *v = nki_to_view(L, *b, 1);
    if (!v) luaL_argerror(L, 1, "tensor expected");
    (*b)->m.err.op = "tensor";
    (*b)->m.err.doc = "nki.language.NkiTensor";
    return v;
}

// Push a view of argument 1's storage, with the tensors' metatable.
static int push_result(lua_State *L, struct nki_box_machine *b, const struct nki_view *view) {
    lua_getiuservalue(L, 1, 1);
    nki_push_view(L, b, view, -1);
    lua_getmetatable(L, 1);
    lua_setmetatable(L, -2);
    return 1;
}

static int finish(lua_State *L, struct nki_box_machine *b, bool ok, const struct nki_view *view) {
    if (!ok) nki_raise(L, b);
    return push_result(L, b, view);
}

static void fail_index(lua_State *L, struct nki_box_machine *b, const struct nki_view *v, int at, const char *want) {
    nki_fail(&b->m.err, "index-type", "a tensor is indexed by integers, slices, nl.ds and `...`");
    nki_error_view(&b->m.err, "tensor", v);
    nki_error_want(&b->m.err, "%s", want);
    nki_error_got(&b->m.err, "%s", at ? luaL_typename(L, at) : "None");
    nki_raise(L, b);
}

// tensor.__subscript(obj, fmt, ...): fmt has one character per index; see ops_subscript of the Python side.
static int view_subscript(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    const char *fmt = luaL_checkstring(L, 2);
    struct nki_index items[NKI_MAX_DIMS + 2];
    int n = 0, at = 3;
    b->m.err.op = "subscript";
    for (; *fmt; fmt++) {
        if (n == NKI_MAX_DIMS + 2) fail_index(L, b, v, 0, "at most one index per dimension");
        struct nki_index *x = &items[n++];
        memset(x, 0, sizeof *x);
        switch (*fmt) {
        case 'i': {
            struct range *r;
            if (nki_integer(L, at, &x->start)) {
                x->kind = NKI_INDEX_INT;
            } else if ((r = luaL_testudata(L, at, RANGE))) {
                x->kind = NKI_INDEX_RANGE;
                x->start = r->start;
                x->stop = r->start + r->size;
            } else if (nki_to_view(L, b, at)) {
                fail_index(
                    L, b, v, at,
                    "an integer known when the kernel is traced; a run-time index goes through .ap(scalar_offset=)");
            } else {
                fail_index(L, b, v, at, "an integer, a slice, nl.ds or `...`");
            }
            at++;
            break;
        }
        case 's':
            x->kind = NKI_INDEX_SLICE;
            x->step = 1;
            if (!nki_is_none(L, b, at)) {
                if (!nki_integer(L, at, &x->start)) fail_index(L, b, v, at, "integer slice bounds");
                x->has_start = true;
            }
            if (!nki_is_none(L, b, at + 1)) {
                if (!nki_integer(L, at + 1, &x->stop)) fail_index(L, b, v, at + 1, "integer slice bounds");
                x->has_stop = true;
            }
            if (!nki_is_none(L, b, at + 2) && !nki_integer(L, at + 2, &x->step))
                fail_index(L, b, v, at + 2, "an integer step");
            at += 3;
            break;
        case 'e': x->kind = NKI_INDEX_ELLIPSIS; break;
        default: fail_index(L, b, v, 0, "expand_dim() to insert a dimension"); break;
        }
    }
    return finish(L, b, nki_view_index(&out, v, items, n, &b->m.err), &out);
}

static int check_int(lua_State *L, struct nki_box_machine *b, int index, const char *name) {
    int64_t n;
    if (!nki_integer(L, index, &n)) nki_bad_argument(L, b, index, name, "value-type", "an integer");
    return n > INT32_MAX ? INT32_MAX : n < INT32_MIN ? INT32_MIN : (int)n;
}

static int check_list(lua_State *L, struct nki_box_machine *b, int index, const char *name, int64_t *out) {
    int n = nki_integers(L, index, out, NKI_MAX_DIMS);
    if (n < 0) nki_bad_argument(L, b, index, name, "value-type", "a tuple of integers");
    return n;
}

static int view_slice(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    int dim = check_int(L, b, 2, "dim");
    int64_t start, end, step = 1;
    if (!nki_integer(L, 3, &start)) nki_bad_argument(L, b, 3, "start", "value-type", "an integer");
    if (!nki_integer(L, 4, &end)) nki_bad_argument(L, b, 4, "end", "value-type", "an integer");
    if (!nki_is_none(L, b, 5) && !nki_integer(L, 5, &step))
        nki_bad_argument(L, b, 5, "step", "value-type", "an integer");
    return finish(L, b, nki_view_slice(&out, v, dim, start, end, step, &b->m.err), &out);
}

// Drop `dim` of v and let a run-time index choose along it.
static int dynamic_select(lua_State *L, struct nki_box_machine *b, struct nki_view *v, int dim,
                          const struct nki_view *index, bool vector) {
    struct nki_view out = *v;
    if (vector) {
        out.shape[0] = index->shape[0];
    } else if (dim >= 0 && dim < v->ndim) {
        struct nki_view one;
        if (dim != 0 || !nki_on_chip(v->st->buffer)) {
            if (!nki_view_select(&one, v, dim, 0, &b->m.err)) nki_raise(L, b);
            out = one;
        }
    }
    return finish(L, b, nki_view_indirect(&out, v, vector, dim, index, 0, &b->m.err), &out);
}

static int view_select(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    int dim = check_int(L, b, 2, "dim");
    struct nki_view *index = nki_to_view(L, b, 3);
    if (index) return dynamic_select(L, b, v, dim, index, false);
    int64_t at;
    if (!nki_integer(L, 3, &at))
        nki_bad_argument(L, b, 3, "index", "value-type", "an integer or a tensor of one element");
    return finish(L, b, nki_view_select(&out, v, dim, at, &b->m.err), &out);
}

static int view_vector_select(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b);
    int dim = check_int(L, b, 2, "dim");
    struct nki_view *index = nki_to_view(L, b, 3);
    if (!index) nki_bad_argument(L, b, 3, "vector_offset", "not-a-tensor", "an SBUF tensor of indices");
    return dynamic_select(L, b, v, dim, index, true);
}

static int view_permute(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    int64_t dims[NKI_MAX_DIMS];
    int n = check_list(L, b, 2, "dims", dims);
    return finish(L, b, nki_view_permute(&out, v, dims, n, &b->m.err), &out);
}

static int view_broadcast(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    int dim = check_int(L, b, 2, "dim");
    return finish(L, b, nki_view_broadcast(&out, v, dim, check_int(L, b, 3, "size"), &b->m.err), &out);
}

static int view_broadcast_to(lua_State *L) { // language.lua uses it; all dimensions
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    int64_t shape[NKI_MAX_DIMS];
    int n = check_list(L, b, 2, "shape", shape);
    return finish(L, b, nki_view_broadcast_to(&out, v, shape, n, &b->m.err), &out);
}

static int view_expand(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    return finish(L, b, nki_view_expand(&out, v, check_int(L, b, 2, "dim"), &b->m.err), &out);
}

static int view_squeeze(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    return finish(L, b, nki_view_squeeze(&out, v, check_int(L, b, 2, "dim"), &b->m.err), &out);
}

static int view_split(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    int64_t shape[NKI_MAX_DIMS];
    int dim = check_int(L, b, 2, "dim"), n = check_list(L, b, 3, "shape", shape);
    return finish(L, b, nki_view_split(&out, v, dim, shape, n, &b->m.err), &out);
}

static int view_flatten(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    int first = check_int(L, b, 2, "start_dim"), last = check_int(L, b, 3, "end_dim");
    return finish(L, b, nki_view_flatten(&out, v, first, last, &b->m.err), &out);
}

static int view_reshape(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    int64_t shape[NKI_MAX_DIMS];
    int n = check_list(L, b, 2, "shape", shape);
    return finish(L, b, nki_view_reshape(&out, v, shape, n, &b->m.err), &out);
}

static int check_dtype(lua_State *L, struct nki_box_machine *b, int index) {
    const char *name = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
    int t = name ? nki_dtype_parse(name) : -1;
    if (t < 0 || !nki_dtypes[t].in_nki)
        nki_bad_argument(L, b, index, "dtype", "dtype-unsupported", "an NKI type such as nl.float32");
    return t;
}

static int view_bits(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    return finish(L, b, nki_view_bits(&out, v, check_dtype(L, b, 2), &b->m.err), &out);
}

// ap(self, pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype)
static int view_ap(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b), out;
    b->m.err.op = "ap";
    b->m.err.doc = "nki-aps";
    int64_t pattern[NKI_MAX_DIMS][2], offset = 0;
    if (!lua_istable(L, 2)) nki_bad_argument(L, b, 2, "pattern", "value-type", "a list of [stride, count] pairs");
    lua_Integer n = (lua_Integer)lua_rawlen(L, 2);
    for (lua_Integer i = 0; i < n && i < NKI_MAX_DIMS; i++) {
        lua_rawgeti(L, 2, i + 1);
        if (nki_integers(L, -1, pattern[i], 2) != 2)
            nki_bad_argument(L, b, 2, "pattern", "value-type", "a list of [stride, count] pairs");
        lua_pop(L, 1);
    }
    bool has_offset = !nki_is_none(L, b, 3);
    if (has_offset && !nki_integer(L, 3, &offset)) nki_bad_argument(L, b, 3, "offset", "value-type", "an integer");
    int dtype = nki_is_none(L, b, 7) ? v->dtype : check_dtype(L, b, 7);
    bool scalar = !nki_is_none(L, b, 4), vector = !nki_is_none(L, b, 5);
    if (scalar && vector)
        nki_bad_argument(L, b, 5, "vector_offset", "value-type", "either scalar_offset or vector_offset");
    if (!nki_view_pattern(&out, v, (const int64_t(*)[2])pattern, (int)n, has_offset, offset, dtype, &b->m.err))
        nki_raise(L, b);
    if (scalar || vector) {
        int dim = nki_is_none(L, b, 6) ? 0 : check_int(L, b, 6, "indirect_dim");
        struct nki_view *index = nki_to_view(L, b, vector ? 5 : 4);
        int64_t value = 0;
        if (!index && (vector || !nki_integer(L, 4, &value)))
            nki_bad_argument(L, b, vector ? 5 : 4, vector ? "vector_offset" : "scalar_offset", "not-a-tensor",
                             "an SBUF tensor of indices");
        if (!nki_view_indirect(&out, v, vector, dim, index, value, &b->m.err)) nki_raise(L, b);
    }
    return finish(L, b, true, &out);
}

static void push_tuple(lua_State *L, const int64_t *list, int n) { // with the Python side's tuple metatable
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, list[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_getiuservalue(L, lua_upvalueindex(1), UV_TUPLE);
    if (lua_istable(L, -1))
        lua_setmetatable(L, -2);
    else
        lua_pop(L, 1);
}

static int view_pattern(lua_State *L) { // get_pattern()
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b);
    int64_t pattern[NKI_MAX_DIMS][2];
    int n = nki_view_get_pattern(v, pattern);
    lua_createtable(L, n, 0);
    for (int d = 0; d < n; d++) {
        push_tuple(L, pattern[d], 2);
        lua_rawseti(L, -2, d + 1);
    }
    return 1;
}

static int view_is_contiguous(lua_State *L) {
    struct nki_box_machine *b;
    lua_pushboolean(L, nki_view_contiguous(self_view(L, &b)));
    return 1;
}

static int view_is_indirect(lua_State *L) {
    struct nki_box_machine *b;
    lua_pushboolean(L, self_view(L, &b)->indirect != NKI_DIRECT);
    return 1;
}

static int view_getattr(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b);
    const char *name = luaL_checkstring(L, 2);
    int64_t list[NKI_MAX_DIMS][2], flat[NKI_MAX_DIMS];
    switch (name[0]) {
    case 's':
        if (strcmp(name, "shape") == 0) {
            push_tuple(L, v->shape, v->ndim);
            return 1;
        }
        if (strcmp(name, "size") == 0) {
            lua_pushinteger(L, nki_view_size(v));
            return 1;
        }
        if (strcmp(name, "strides") == 0) {
            int n = nki_view_get_pattern(v, list);
            for (int d = 0; d < n; d++) flat[d] = list[d][0];
            push_tuple(L, flat, n);
            return 1;
        }
        break;
    case 'd':
        if (strcmp(name, "dtype") == 0) {
            lua_pushstring(L, nki_dtypes[v->dtype].name);
            return 1;
        }
        break;
    case 'n':
        if (strcmp(name, "ndim") == 0) {
            lua_pushinteger(L, v->ndim);
            return 1;
        }
        if (strcmp(name, "name") == 0) {
            lua_pushstring(L, v->st->name ? v->st->name : "");
            return 1;
        }
        break;
    case 'o':
        if (strcmp(name, "offset") == 0) {
            lua_pushinteger(L, nki_view_flat_offset(v));
            return 1;
        }
        break;
    case 'b':
        if (strcmp(name, "buffer") == 0) {
            lua_getiuservalue(L, lua_upvalueindex(1), UV_BUFFERS);
            if (lua_istable(L, -1))
                lua_rawgeti(L, -1, v->st->buffer);
            else
                lua_pushstring(L, nki_buffer_names[v->st->buffer]);
            return 1;
        }
        break;
    default: break;
    }
    return 0; // methods: the metatable's __methods, which the Python side reads
}

static int view_repr(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b);
    char shape[96];
    lua_pushfstring(L, "NkiTensor(shape=%s, dtype=%s, buffer=%s)", nki_view_shape_text(shape, v),
                    nki_dtypes[v->dtype].name, nki_buffer_names[v->st->buffer]);
    return 1;
}

static int view_len(lua_State *L) {
    struct nki_box_machine *b;
    lua_pushinteger(L, self_view(L, &b)->shape[0]);
    return 1;
}

static int view_truth(lua_State *L) {
    struct nki_box_machine *b;
    struct nki_view *v = self_view(L, &b);
    nki_fail(&b->m.err, "tensor-in-condition",
             "a tensor's values are not known while the kernel is traced, so it cannot be a condition");
    nki_error_view(&b->m.err, "tensor", v);
    nki_error_want(&b->m.err, "a condition on shapes, numbers or loop variables");
    nki_raise(L, b);
}

// Start of the storage's identity: two tensors over one storage have equal ids.
static int view_storage(lua_State *L) {
    struct nki_box_machine *b;
    lua_pushinteger(L, self_view(L, &b)->st->id);
    return 1;
}

static int new_range(lua_State *L) {
    struct nki_box_machine *b = nki_self(L);
    int64_t start, size;
    if (!nki_integer(L, 1, &start)) nki_bad_argument(L, b, 1, "start", "index-type", "an integer");
    if (!nki_integer(L, 2, &size)) nki_bad_argument(L, b, 2, "size", "index-type", "an integer");
    const int64_t far = INT64_C(1) << 40; // beyond any tensor
    start = start > far ? far : start < -far ? -far : start;
    size = size > far ? far : size < -far ? -far : size;
    struct range *r = lua_newuserdatauv(L, sizeof *r, 0);
    r->start = start;
    r->size = size;
    if (luaL_newmetatable(L, RANGE)) {
        lua_pushliteral(L, "DynamicSlice");
        lua_setfield(L, -2, "__pytype");
    }
    lua_setmetatable(L, -2);
    return 1;
}

static const luaL_Reg methods[] = {
    {"slice", view_slice},
    {"select", view_select},
    {"vector_select", view_vector_select},
    {"permute", view_permute},
    {"broadcast", view_broadcast},
    {"broadcast_to", view_broadcast_to},
    {"expand_dim", view_expand},
    {"squeeze_dim", view_squeeze},
    {"reshape_dim", view_split},
    {"flatten_dims", view_flatten},
    {"reshape", view_reshape},
    {"view", view_bits},
    {"ap", view_ap},
    {"get_pattern", view_pattern},
    {"is_contiguous", view_is_contiguous},
    {"is_indirect", view_is_indirect},
    {"storage_id", view_storage},
    {"ds", new_range},
    {NULL, NULL},
};

void nki_view_metatable(lua_State *L) {
    static const luaL_Reg hooks[] = {
        {"__subscript", view_subscript},
        {"__pygetattr", view_getattr},
        {"__pyrepr", view_repr},
        {"__tostring", view_repr},
        {"__pylen", view_len},
        {"__pytruth", view_truth},
        {NULL, NULL},
    };
    int machine = lua_gettop(L);
    lua_createtable(L, 0, 10);
    lua_pushvalue(L, machine);
    luaL_setfuncs(L, hooks, 1);
    lua_pushliteral(L, "NkiTensor");
    lua_setfield(L, -2, "__pytype");
    lua_createtable(L, 0, 20); // the methods themselves, for language.lua
    lua_pushvalue(L, machine);
    luaL_setfuncs(L, methods, 1);
    lua_setfield(L, -2, "methods");
}
