// SPDX-License-Identifier: MIT
// nki_lua_ops.c: the instructions as functions of positional arguments, in the order of prelude/nki/isa.lua.
// Upvalues: 1 the machine, 2 the symbol table.
#include <math.h>
#include <string.h>

#include "nki/nki_lua.h"
#include "run.h"

struct call {
    lua_State *L;
    struct nki_box_machine *b;
    const char *op;
};

static struct call start(lua_State *L, enum nki_instr instr) {
    struct call c = {L, nki_self(L), NULL};
    c.b->m.err.op = c.b->m.rows[instr].name;
    c.b->m.err.doc = c.b->m.rows[instr].doc;
    return c;
}

static int done(struct call *c, bool ok) {
    if (!ok) nki_raise(c->L, c->b);
    run_state(c->L)->instructions++;
    lua_getiuservalue(c->L, lua_upvalueindex(1), UV_NONE);
    return 1;
}

static const struct nki_view *tile(struct call *c, int i, const char *name) {
    const struct nki_view *v = nki_to_view(c->L, c->b, i);
    if (!v) nki_bad_argument(c->L, c->b, i, name, "not-a-tensor", "a tensor");
    return v;
}

static const struct nki_view *tile_or_none(struct call *c, int i, const char *name) {
    return nki_is_none(c->L, c->b, i) ? NULL : tile(c, i, name);
}

// Number of a symbol of the kind wanted; -1 when the value is none.
static int symbol_of(struct call *c, int i, enum nki_symbol kind) {
    lua_State *L = c->L;
    lua_pushvalue(L, i);
    lua_rawget(L, lua_upvalueindex(2));
    int64_t id = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return id >> 16 == kind ? (int)(id & 0xffff) : -1;
}

static int symbol(struct call *c, int i, enum nki_symbol kind, const char *name, int otherwise, const char *want) {
    if (nki_is_none(c->L, c->b, i)) return otherwise;
    int id = symbol_of(c, i, kind);
    if (id < 0) nki_bad_argument(c->L, c->b, i, name, "value-type", want);
    return id;
}

static int engine(struct call *c, int i) {
    return symbol(c, i, SYMBOL_ENGINE, "engine", NKI_ENGINE_UNKNOWN, "a member of nisa.engine");
}

static enum nki_op op(struct call *c, int i, const char *name) {
    if (nki_is_none(c->L, c->b, i)) return NKI_OP_NONE;
    int id = symbol_of(c, i, SYMBOL_OP);
    if (id < 0) nki_bad_argument(c->L, c->b, i, name, "op-unsupported", "an operator such as nl.add");
    return (enum nki_op)id;
}

static enum nki_op op_needed(struct call *c, int i, const char *name) {
    enum nki_op o = op(c, i, name);
    if (!o) nki_bad_argument(c->L, c->b, i, name, "op-unsupported", "an operator such as nl.add");
    return o;
}

static bool flag(struct call *c, int i, const char *name) {
    if (nki_is_none(c->L, c->b, i)) return false;
    if (lua_isboolean(c->L, i)) return lua_toboolean(c->L, i);
    int64_t n;
    if (nki_integer(c->L, i, &n)) return n != 0;
    nki_bad_argument(c->L, c->b, i, name, "value-type", "True or False");
}

static bool number(struct call *c, int i, struct nki_value *v) {
    lua_State *L = c->L;
    if (nki_integer(L, i, &v->integer)) {
        v->kind = NKI_INT;
        v->number = (double)v->integer;
        return true;
    }
    if (lua_type(L, i) != LUA_TNUMBER) return false;
    v->kind = NKI_FLOAT;
    v->number = lua_tonumber(L, i);
    v->integer = (int64_t)(v->number > 9e18 ? 0 : v->number < -9e18 ? 0 : isnan(v->number) ? 0 : v->number);
    return true;
}

static struct nki_value value(struct call *c, int i, const char *name) {
    struct nki_value v = {.kind = NKI_ABSENT};
    if (nki_is_none(c->L, c->b, i) || number(c, i, &v)) return v;
    v.view = nki_to_view(c->L, c->b, i);
    if (!v.view) nki_bad_argument(c->L, c->b, i, name, "value-type", "a number or a tensor");
    v.kind = NKI_VIEW;
    return v;
}

static double plain(struct call *c, int i, const char *name, double otherwise) {
    struct nki_value v;
    if (nki_is_none(c->L, c->b, i)) return otherwise;
    if (!number(c, i, &v)) nki_bad_argument(c->L, c->b, i, name, "value-type", "a number");
    return v.number;
}

static int64_t integer(struct call *c, int i, const char *name, int64_t otherwise) {
    int64_t n;
    if (nki_is_none(c->L, c->b, i)) return otherwise;
    if (!nki_integer(c->L, i, &n)) nki_bad_argument(c->L, c->b, i, name, "value-type", "an integer");
    return n;
}

// None given where the parameter is a number or a tile: an argument left out is nil or its default here.
static void refuse_none(struct call *c, int i, const char *name, const char *want) {
    if (!lua_isnoneornil(c->L, i) && nki_is_none(c->L, c->b, i)) nki_bad_argument(c->L, c->b, i, name, "value-type", want);
}

// DMA quality of service: 0 to 3, from NeuronCore-v4 on. [nki.isa.dma_copy]
static bool priority(struct call *c, int i) {
    if (nki_is_none(c->L, c->b, i)) return false;
    int64_t level;
    if (!nki_integer(c->L, i, &level) || level < 0 || level > 3)
        nki_bad_argument(c->L, c->b, i, "priority", "value-type", "a level from 0 to 3");
    return true;
}

static struct nki_dma_options dma_options(struct call *c, int oob, int dge, int eng) {
    struct nki_dma_options o = {0};
    if (oob) o.oob = (enum nki_oob)symbol(c, oob, SYMBOL_OOB, "oob_mode", NKI_OOB_ERROR, "a member of nisa.oob_mode");
    if (dge) o.dge = (enum nki_dge)symbol(c, dge, SYMBOL_DGE, "dge_mode", NKI_DGE_UNKNOWN, "a member of nisa.dge_mode");
    if (eng) o.engine = engine(c, eng);
    return o;
}

static int op_dma_copy(lua_State *L) {
    struct call c = start(L, NKI_I_DMA_COPY);
    const struct nki_view *dst = tile(&c, 1, "dst"), *src = tile(&c, 2, "src");
    struct nki_dma_options o = dma_options(&c, 4, 5, 6);
    o.prioritised = priority(&c, 3);
    return done(&c, nki_dma_copy(&c.b->m, dst, src, &o));
}

static int op_tensor_copy(lua_State *L) {
    struct call c = start(L, NKI_I_TENSOR_COPY);
    const struct nki_view *dst = tile(&c, 1, "dst"), *src = tile(&c, 2, "src");
    return done(&c, nki_tensor_copy(&c.b->m, dst, src, engine(&c, 3)));
}

static int op_memset(lua_State *L) {
    struct call c = start(L, NKI_I_MEMSET);
    const struct nki_view *dst = tile(&c, 1, "dst");
    struct nki_value v = value(&c, 2, "value");
    return done(&c, nki_memset(&c.b->m, dst, &v, engine(&c, 3)));
}

static int op_copy_predicated(lua_State *L) {
    struct call c = start(L, NKI_I_TENSOR_COPY_PREDICATED);
    const struct nki_view *dst = tile(&c, 1, "dst");
    refuse_none(&c, 2, "src", "a number or a tensor");
    struct nki_value src = value(&c, 2, "src");
    const struct nki_view *predicate = tile(&c, 3, "predicate");
    return done(&c, nki_copy_predicated(&c.b->m, dst, &src, predicate, flag(&c, 4, "reverse_pred")));
}

static int op_tensor_tensor(lua_State *L) {
    struct call c = start(L, NKI_I_TENSOR_TENSOR);
    const struct nki_view *dst = tile(&c, 1, "dst"), *a = tile(&c, 2, "data1"), *b = tile(&c, 3, "data2");
    enum nki_op o = op_needed(&c, 4, "op");
    return done(&c, nki_tensor_tensor(&c.b->m, dst, a, b, o, engine(&c, 5)));
}

static int op_tensor_scalar(lua_State *L) {
    struct call c = start(L, NKI_I_TENSOR_SCALAR);
    const struct nki_view *dst = tile(&c, 1, "dst"), *data = tile(&c, 2, "data");
    struct nki_scalar_step s0 = {op_needed(&c, 3, "op0"), value(&c, 4, "operand0"), flag(&c, 5, "reverse0")};
    struct nki_scalar_step s1 = {op(&c, 6, "op1"), value(&c, 7, "operand1"), flag(&c, 8, "reverse1")};
    return done(&c, nki_tensor_scalar(&c.b->m, dst, data, &s0, &s1, engine(&c, 9)));
}

static int op_scalar_tensor_tensor(lua_State *L) {
    struct call c = start(L, NKI_I_SCALAR_TENSOR_TENSOR);
    const struct nki_view *dst = tile(&c, 1, "dst"), *data = tile(&c, 2, "data");
    struct nki_scalar_step s0 = {op_needed(&c, 3, "op0"), value(&c, 4, "operand0"), flag(&c, 7, "reverse0")};
    enum nki_op op1 = op_needed(&c, 5, "op1");
    const struct nki_view *other = tile(&c, 6, "operand1");
    return done(&c, nki_scalar_tensor_tensor(&c.b->m, dst, data, &s0, op1, other, flag(&c, 8, "reverse1")));
}

static int op_reciprocal(lua_State *L) {
    struct call c = start(L, NKI_I_RECIPROCAL);
    const struct nki_view *dst = tile(&c, 1, "dst"), *data = tile(&c, 2, "data");
    return done(&c, nki_reciprocal(&c.b->m, dst, data));
}

// axes, tile_position and the like: a tuple, a list or one integer.
static int integers(struct call *c, int i, const char *name, int64_t *out, int max) {
    int n = nki_integers(c->L, i, out, max);
    if (n < 0) nki_bad_argument(c->L, c->b, i, name, "value-type", "integers");
    return n;
}

static int op_dma_transpose(lua_State *L) {
    struct call c = start(L, NKI_I_DMA_TRANSPOSE);
    const struct nki_view *dst = tile(&c, 1, "dst"), *src = tile(&c, 2, "src");
    int64_t axes[NKI_MAX_DIMS];
    int n = nki_is_none(L, c.b, 3) ? 0 : integers(&c, 3, "axes", axes, NKI_MAX_DIMS);
    struct nki_dma_options o = dma_options(&c, 6, 5, 0);
    o.prioritised = priority(&c, 4);
    return done(&c, nki_dma_transpose(&c.b->m, dst, src, axes, n, &o));
}

static int op_dma_compute(lua_State *L) {
    struct call c = start(L, NKI_I_DMA_COMPUTE);
    const struct nki_view *dst = tile(&c, 1, "dst"), *srcs[17];
    if (!lua_istable(L, 2)) nki_bad_argument(L, c.b, 2, "srcs", "value-type", "a list of tensors");
    int n = (int)lua_rawlen(L, 2);
    for (int i = 0; i < n && i < 17; i++) {
        lua_rawgeti(L, 2, i + 1);
        srcs[i] = tile(&c, lua_gettop(L), "srcs");
        lua_pop(L, 1);
    }
    enum nki_op o = op_needed(&c, 3, "reduce_op");
    if (lua_istable(L, 4) && !nki_is_none(L, c.b, 4)) {
        if ((int)lua_rawlen(L, 4) != n) nki_bad_argument(L, c.b, 4, "scales", "value-type", "one number for every source");
        for (int i = 1; lua_rawgeti(L, 4, i) != LUA_TNIL; i++, lua_pop(L, 1))
            if (lua_tonumber(L, -1) != 1.0)
                nki_bad_argument(L, c.b, -1, "scales", "value-type", "1.0 for every source");
        lua_pop(L, 1);
    }
    struct nki_dma_options options = dma_options(&c, 6, 0, 0);
    return done(&c, nki_dma_compute(&c.b->m, dst, srcs, n, o, &options));
}

static enum nki_reduce_cmd command(struct call *c, int i, enum nki_reduce_cmd otherwise) {
    return (enum nki_reduce_cmd)symbol(c, i, SYMBOL_REDUCE_CMD, "reduce_cmd", otherwise, "a member of nisa.reduce_cmd");
}

static int op_activation(lua_State *L) {
    struct call c = start(L, NKI_I_ACTIVATION);
    const struct nki_view *dst = tile(&c, 1, "dst");
    struct nki_activation a = {.op = op_needed(&c, 2, "op")};
    const struct nki_view *data = tile(&c, 3, "data");
    a.bias = value(&c, 4, "bias");
    refuse_none(&c, 5, "scale", "a number or a float32 tile");
    a.scale = value(&c, 5, "scale");
    a.reduce_op = op(&c, 6, "reduce_op");
    a.reduce_res = tile_or_none(&c, 7, "reduce_res");
    a.cmd = command(&c, 8, NKI_IDLE);
    return done(&c, nki_activation(&c.b->m, dst, data, &a));
}

static int op_activation_reduce(lua_State *L) {
    struct call c = start(L, NKI_I_ACTIVATION_REDUCE);
    const struct nki_view *dst = tile(&c, 1, "dst");
    struct nki_activation a = {.op = op_needed(&c, 2, "op"), .combined = true, .cmd = NKI_RESET_REDUCE};
    const struct nki_view *data = tile(&c, 3, "data");
    a.reduce_op = op_needed(&c, 4, "reduce_op");
    a.reduce_res = tile_or_none(&c, 5, "reduce_res");
    a.bias = value(&c, 6, "bias");
    refuse_none(&c, 7, "scale", "a number or a float32 tile");
    a.scale = value(&c, 7, "scale");
    return done(&c, nki_activation(&c.b->m, dst, data, &a));
}

static int op_tensor_scalar_reduce(lua_State *L) {
    struct call c = start(L, NKI_I_TENSOR_SCALAR_REDUCE);
    const struct nki_view *dst = tile(&c, 1, "dst"), *data = tile(&c, 2, "data");
    struct nki_scalar_reduce r = {.step = {op_needed(&c, 3, "op0"), value(&c, 4, "operand0"), flag(&c, 7, "reverse0")},
                                  .reduce_op = op_needed(&c, 5, "reduce_op"),
                                  .reduce_res = tile_or_none(&c, 6, "reduce_res"),
                                  .cmd = command(&c, 8, NKI_RESET_REDUCE),
                                  .init = value(&c, 9, "reduce_init"),
                                  .negate = flag(&c, 10, "reduce_res_negate")};
    // "not supported yet" [nki.isa.tensor_scalar_reduce]
    if (r.step.reverse) nki_bad_argument(L, c.b, 7, "reverse0", "value-type", "False: it is not supported yet");
    return done(&c, nki_tensor_scalar_reduce(&c.b->m, dst, data, &r));
}

static int op_exponential(lua_State *L) {
    struct call c = start(L, NKI_I_EXPONENTIAL);
    const struct nki_view *dst = tile(&c, 1, "dst"), *src = tile(&c, 2, "src");
    struct nki_value top = value(&c, 3, "max_value"), init = value(&c, 6, "reduce_init");
    return done(&c, nki_exponential(&c.b->m, dst, src, &top, tile_or_none(&c, 4, "reduce_res"),
                                    command(&c, 5, NKI_IDLE), &init));
}

static int op_tensor_reduce(lua_State *L) {
    struct call c = start(L, NKI_I_TENSOR_REDUCE);
    const struct nki_view *dst = tile(&c, 1, "dst");
    enum nki_op o = op_needed(&c, 2, "op");
    const struct nki_view *data = tile(&c, 3, "data");
    int64_t axes[NKI_MAX_DIMS];
    int n = integers(&c, 4, "axis", axes, NKI_MAX_DIMS);
    return done(&c, nki_tensor_reduce(&c.b->m, dst, o, data, axes, n, flag(&c, 5, "negate"), flag(&c, 6, "keepdims")));
}

static int op_partition_reduce(lua_State *L) {
    struct call c = start(L, NKI_I_TENSOR_PARTITION_REDUCE);
    const struct nki_view *dst = tile(&c, 1, "dst");
    enum nki_op o = op_needed(&c, 2, "op");
    return done(&c, nki_partition_reduce(&c.b->m, dst, o, tile(&c, 3, "data")));
}

static int op_nc_matmul(lua_State *L) {
    struct call c = start(L, NKI_I_NC_MATMUL);
    const struct nki_view *dst = tile(&c, 1, "dst"), *stationary = tile(&c, 2, "stationary"),
                          *moving = tile(&c, 3, "moving");
    struct nki_matmul o = {.stationary_onezero = flag(&c, 4, "is_stationary_onezero"),
                           .moving_onezero = flag(&c, 5, "is_moving_onezero"),
                           .transpose = flag(&c, 6, "is_transpose"),
                           .accumulate = nki_is_none(L, c.b, 7) ? -1 : flag(&c, 7, "accumulate")};
    int at = nki_is_none(L, c.b, 8) ? 0 : integers(&c, 8, "tile_position", o.tile_position, 2);
    int size = nki_is_none(L, c.b, 9) ? 0 : integers(&c, 9, "tile_size", o.tile_size, 2);
    o.tiled = at == 2 && size == 2;
    if (!o.tiled && (at || size))
        nki_bad_argument(L, c.b, at ? 8 : 9, at ? "tile_position" : "tile_size", "tile-position",
                         "given as a pair together with the other");
    o.perf =
        (enum nki_perf)symbol(&c, 10, SYMBOL_PERF, "perf_mode", NKI_PERF_NONE, "a member of nisa.matmul_perf_mode");
    return done(&c, nki_nc_matmul(&c.b->m, dst, stationary, moving, &o));
}

static int op_nc_transpose(lua_State *L) {
    struct call c = start(L, NKI_I_NC_TRANSPOSE);
    const struct nki_view *dst = tile(&c, 1, "dst"), *data = tile(&c, 2, "data");
    return done(&c, nki_nc_transpose(&c.b->m, dst, data, engine(&c, 3)));
}

static struct nki_affine affine(struct call *c, int pattern, int offset, int multiplier) {
    lua_State *L = c->L;
    struct nki_affine a = {.offset = integer(c, offset, "offset", 0),
                           .channel_multiplier = integer(c, multiplier, "channel_multiplier", 0)};
    if (a.offset != (int32_t)a.offset) nki_bad_argument(L, c->b, offset, "offset", "value-type", "a 32-bit integer");
    if (a.channel_multiplier != (int32_t)a.channel_multiplier)
        nki_bad_argument(L, c->b, multiplier, "channel_multiplier", "value-type", "a 32-bit integer");
    bool good = lua_istable(L, pattern) && lua_rawlen(L, pattern) >= 1 && lua_rawlen(L, pattern) <= 4;
    for (lua_Integer i = 1; good && i <= (lua_Integer)lua_rawlen(L, pattern); i++) {
        int64_t pair[2];
        lua_rawgeti(L, pattern, i);
        good = nki_integers(L, -1, pair, 2) == 2 && pair[1] >= 1 && pair[1] <= INT32_MAX && pair[0] == (int32_t)pair[0];
        lua_pop(L, 1);
        if (!good) break;
        a.step[a.count] = pair[0];
        a.num[a.count++] = pair[1];
    }
    if (!good) nki_bad_argument(L, c->b, pattern, "pattern", "value-type", "1 to 4 pairs [step, count]");
    return a;
}

static int op_iota(lua_State *L) {
    struct call c = start(L, NKI_I_IOTA);
    const struct nki_view *dst = tile(&c, 1, "dst");
    struct nki_affine a = affine(&c, 2, 3, 4);
    return done(&c, nki_iota(&c.b->m, dst, &a));
}

static int op_affine_select(lua_State *L) {
    struct call c = start(L, NKI_I_AFFINE_SELECT);
    const struct nki_view *dst = tile(&c, 1, "dst");
    struct nki_affine a = affine(&c, 2, 7, 3);
    const struct nki_view *on_true = tile(&c, 4, "on_true_tile");
    refuse_none(&c, 5, "on_false_value", "a number");
    double on_false = plain(&c, 5, "on_false_value", 0.0);
    enum nki_op cmp = op(&c, 6, "cmp_op");
    return done(&c, nki_affine_select(&c.b->m, dst, &a, on_true, on_false, cmp ? cmp : NKI_OP_EQUAL));
}

static int op_scan(lua_State *L) {
    struct call c = start(L, NKI_I_TENSOR_TENSOR_SCAN);
    const struct nki_view *dst = tile(&c, 1, "dst"), *a = tile(&c, 2, "data0"), *b = tile(&c, 3, "data1");
    struct nki_value initial = value(&c, 4, "initial");
    enum nki_op op0 = op_needed(&c, 5, "op0"), op1 = op_needed(&c, 6, "op1");
    return done(&c, nki_scan(&c.b->m, dst, a, b, &initial, op0, op1, flag(&c, 7, "reverse0"), flag(&c, 8, "reverse1")));
}

static int op_bn_stats(lua_State *L) {
    struct call c = start(L, NKI_I_BN_STATS);
    const struct nki_view *dst = tile(&c, 1, "dst");
    return done(&c, nki_bn_stats(&c.b->m, dst, tile(&c, 2, "data")));
}

static int op_bn_aggr(lua_State *L) {
    struct call c = start(L, NKI_I_BN_AGGR);
    const struct nki_view *dst = tile(&c, 1, "dst");
    return done(&c, nki_bn_aggr(&c.b->m, dst, tile(&c, 2, "data")));
}

static int op_max8(lua_State *L) {
    struct call c = start(L, NKI_I_MAX8);
    const struct nki_view *dst = tile(&c, 1, "dst");
    return done(&c, nki_max8(&c.b->m, dst, tile(&c, 2, "src")));
}

static int op_cumulative(lua_State *L) {
    struct call c = start(L, NKI_I_TENSOR_SCALAR_CUMULATIVE);
    const struct nki_view *dst = tile(&c, 1, "dst"), *src = tile(&c, 2, "src");
    enum nki_op op0 = op_needed(&c, 3, "op0"), op1 = op_needed(&c, 4, "op1");
    struct nki_value imm0 = value(&c, 5, "imm0"), imm1 = value(&c, 6, "imm1");
    return done(&c, nki_cumulative(&c.b->m, dst, src, op0, op1, &imm0, &imm1, command(&c, 7, NKI_RESET_REDUCE)));
}

static int op_find_index8(lua_State *L) {
    struct call c = start(L, NKI_I_NC_FIND_INDEX8);
    const struct nki_view *dst = tile(&c, 1, "dst"), *data = tile(&c, 2, "data");
    return done(&c, nki_find_index8(&c.b->m, dst, data, tile(&c, 3, "vals")));
}

static int op_match_replace8(lua_State *L) {
    struct call c = start(L, NKI_I_NC_MATCH_REPLACE8);
    const struct nki_view *dst = tile(&c, 1, "dst"), *data = tile(&c, 2, "data"), *vals = tile(&c, 3, "vals");
    double imm = plain(&c, 4, "imm", 0.0);
    return done(&c, nki_match_replace8(&c.b->m, dst, data, vals, imm, tile_or_none(&c, 5, "dst_idx")));
}

static int op_range_select(lua_State *L) {
    struct call c = start(L, NKI_I_RANGE_SELECT);
    const struct nki_view *dst = tile(&c, 1, "dst"), *on_true = tile(&c, 2, "on_true_tile");
    struct nki_range_select r = {.op0 = op_needed(&c, 3, "comp_op0"), .op1 = op_needed(&c, 4, "comp_op1")};
    r.bound0 = tile(&c, 5, "bound0");
    r.bound1 = tile(&c, 6, "bound1");
    r.cmd = command(&c, 7, NKI_RESET_REDUCE);
    r.reduce_res = tile_or_none(&c, 8, "reduce_res");
    enum nki_op o = op(&c, 9, "reduce_op");
    if (o && o != NKI_OP_MAXIMUM) nki_bad_argument(L, c.b, 9, "reduce_op", "op-unsupported", "nl.maximum");
    r.start = integer(&c, 10, "range_start", 0);
    // Positions are compared in float32, exact to 2^24. [nki.isa.range_select]
    if (r.start < -(1 << 24) || r.start + nki_view_free_size(dst) > 1 << 24)
        nki_bad_argument(L, c.b, 10, "range_start", "value-type", "an integer, with every position within 2^24");
    r.on_false = plain(&c, 11, "on_false_value", -3.4028234663852886e38);
    return done(&c, nki_range_select_op(&c.b->m, dst, on_true, &r));
}

static int op_select_reduce(lua_State *L) {
    struct call c = start(L, NKI_I_SELECT_REDUCE);
    const struct nki_view *dst = tile(&c, 1, "dst"), *predicate = tile(&c, 2, "predicate"),
                          *on_true = tile(&c, 3, "on_true");
    struct nki_value on_false = value(&c, 4, "on_false");
    const struct nki_view *res = tile_or_none(&c, 5, "reduce_res");
    enum nki_reduce_cmd cmd = command(&c, 6, NKI_IDLE);
    enum nki_op o = op(&c, 7, "reduce_op");
    if (o && o != NKI_OP_MAXIMUM) nki_bad_argument(L, c.b, 7, "reduce_op", "op-unsupported", "nl.maximum");
    return done(&c,
                nki_select_reduce(&c.b->m, dst, predicate, on_true, &on_false, res, cmd, flag(&c, 8, "reverse_pred")));
}

static int op_n_gather(lua_State *L) {
    struct call c = start(L, NKI_I_NC_N_GATHER);
    const struct nki_view *dst = tile(&c, 1, "dst"), *data = tile(&c, 2, "data");
    return done(&c, nki_n_gather(&c.b->m, dst, data, tile(&c, 3, "indices")));
}

static int op_stream_shuffle(lua_State *L) {
    struct call c = start(L, NKI_I_NC_STREAM_SHUFFLE);
    const struct nki_view *dst = tile(&c, 1, "dst"), *src = tile(&c, 2, "src");
    int64_t mask[32];
    if (nki_integers(L, 3, mask, 32) != 32)
        nki_bad_argument(L, c.b, 3, "shuffle_mask", "value-type", "a list of 32 integers");
    return done(&c, nki_stream_shuffle(&c.b->m, dst, src, mask));
}

static int op_constant(lua_State *L) { // constant(dst, identity)
    struct call c = start(L, NKI_I_CONSTANT);
    const struct nki_view *dst = tile(&c, 1, "dst");
    return done(&c, nki_constant(&c.b->m, dst, flag(&c, 2, "identity")));
}

static const struct {
    enum nki_instr instr;
    lua_CFunction fn;
} functions[] = {
    {NKI_I_DMA_COPY, op_dma_copy},
    {NKI_I_TENSOR_COPY, op_tensor_copy},
    {NKI_I_MEMSET, op_memset},
    {NKI_I_TENSOR_COPY_PREDICATED, op_copy_predicated},
    {NKI_I_TENSOR_TENSOR, op_tensor_tensor},
    {NKI_I_TENSOR_SCALAR, op_tensor_scalar},
    {NKI_I_SCALAR_TENSOR_TENSOR, op_scalar_tensor_tensor},
    {NKI_I_RECIPROCAL, op_reciprocal},
    {NKI_I_DMA_TRANSPOSE, op_dma_transpose},
    {NKI_I_DMA_COMPUTE, op_dma_compute},
    {NKI_I_ACTIVATION, op_activation},
    {NKI_I_ACTIVATION_REDUCE, op_activation_reduce},
    {NKI_I_TENSOR_SCALAR_REDUCE, op_tensor_scalar_reduce},
    {NKI_I_EXPONENTIAL, op_exponential},
    {NKI_I_TENSOR_REDUCE, op_tensor_reduce},
    {NKI_I_TENSOR_PARTITION_REDUCE, op_partition_reduce},
    {NKI_I_NC_MATMUL, op_nc_matmul},
    {NKI_I_NC_TRANSPOSE, op_nc_transpose},
    {NKI_I_IOTA, op_iota},
    {NKI_I_AFFINE_SELECT, op_affine_select},
    {NKI_I_TENSOR_TENSOR_SCAN, op_scan},
    {NKI_I_BN_STATS, op_bn_stats},
    {NKI_I_BN_AGGR, op_bn_aggr},
    {NKI_I_MAX8, op_max8},
    {NKI_I_TENSOR_SCALAR_CUMULATIVE, op_cumulative},
    {NKI_I_NC_FIND_INDEX8, op_find_index8},
    {NKI_I_NC_MATCH_REPLACE8, op_match_replace8},
    {NKI_I_RANGE_SELECT, op_range_select},
    {NKI_I_SELECT_REDUCE, op_select_reduce},
    {NKI_I_NC_N_GATHER, op_n_gather},
    {NKI_I_NC_STREAM_SHUFFLE, op_stream_shuffle},
    {NKI_I_CONSTANT, op_constant},
};

void nki_register_instructions(lua_State *L, int machine, int symbols) {
    machine = lua_absindex(L, machine);
    symbols = lua_absindex(L, symbols);
    lua_createtable(L, 0, 64);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lua_pushvalue(L, machine);
        lua_pushvalue(L, symbols);
        lua_pushcclosure(L, functions[i].fn, 2);
        lua_setfield(L, -2, nki_instr_names[functions[i].instr]);
    }
}
