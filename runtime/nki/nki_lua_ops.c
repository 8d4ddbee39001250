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

__attribute__((unused)) static const struct nki_view *tile_or_none(struct call *c, int i, const char *name) {
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

__attribute__((unused)) static double plain(struct call *c, int i, const char *name, double otherwise) {
    struct nki_value v;
    if (nki_is_none(c->L, c->b, i)) return otherwise;
    if (!number(c, i, &v)) nki_bad_argument(c->L, c->b, i, name, "value-type", "a number");
    return v.number;
}

__attribute__((unused)) static int64_t integer(struct call *c, int i, const char *name, int64_t otherwise) {
    int64_t n;
    if (nki_is_none(c->L, c->b, i)) return otherwise;
    if (!nki_integer(c->L, i, &n)) nki_bad_argument(c->L, c->b, i, name, "value-type", "an integer");
    return n;
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
