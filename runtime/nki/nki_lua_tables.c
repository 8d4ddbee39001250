// SPDX-License-Identifier: MIT
// nki_lua_tables.c: prelude/nki/targets.lua, isa.lua and language.lua into the machine's structs.
#include <string.h>

#include "nki/nki_lua.h"

static const struct {
    const char *name;
    size_t at;
    enum { FIGURE, FLAG } kind;
} target_fields[] = {
#define FIG(n)                                                                                                         \
    { #n, offsetof(struct nki_target, n), FIGURE }
#define BOOL(n)                                                                                                        \
    { #n, offsetof(struct nki_target, n), FLAG }
    FIG(partitions),       FIG(sbuf_bytes),   FIG(psum_bytes),       FIG(psum_bank_bytes),
    FIG(stationary_free),  FIG(moving_free),  FIG(moving_free_bf16), FIG(transpose_tensor),
    FIG(transpose_vector), FIG(pattern_dims), FIG(bn_stats_free),    BOOL(psum_bank_span),
    BOOL(psum_bf16),       BOOL(bias_scalar), BOOL(scalar_copy),     BOOL(scalar_tensor_scalar_any),
    BOOL(accumulate_any),  BOOL(hwdge),       BOOL(float8),          BOOL(float8_e4m3fn_matmul),
    BOOL(double_row),      BOOL(psum_dma),
};

static void load_target(lua_State *L, struct nki_target *t, int row) {
    lua_getfield(L, row, "name");
    snprintf(t->name, sizeof t->name, "%s", luaL_checkstring(L, -1));
    lua_getfield(L, row, "generation");
    t->generation = (int)luaL_checkinteger(L, -1);
    lua_pop(L, 2);
    for (size_t i = 0; i < sizeof target_fields / sizeof *target_fields; i++) {
        int type = lua_getfield(L, row, target_fields[i].name);
        if (target_fields[i].kind == FLAG) {
            *(bool *)((char *)t + target_fields[i].at) = lua_toboolean(L, -1);
        } else {
            if (type != LUA_TNUMBER) luaL_error(L, "target %s lacks the figure %s", t->name, target_fields[i].name);
            *(int64_t *)(void *)((char *)t + target_fields[i].at) = lua_tointeger(L, -1);
        }
        lua_pop(L, 1);
    }
}

static uint32_t all_dtypes(bool with_bits) {
    uint32_t mask = 0;
    for (int t = 0; t < NKI_DTYPES; t++)
        if (nki_dtypes[t].in_nki && (with_bits || !nki_dtypes[t].bits_only)) mask |= 1u << t;
    return mask;
}

// nil: everything that has arithmetic; "any": packed types too; a list of names.
static uint32_t dtype_mask(lua_State *L, int index) {
    if (lua_isnil(L, index)) return all_dtypes(false);
    if (lua_type(L, index) == LUA_TSTRING) {
        if (strcmp(lua_tostring(L, index), "any") == 0) return all_dtypes(true);
        luaL_error(L, "dtypes: %s", lua_tostring(L, index));
    }
    uint32_t mask = 0;
    for (lua_Integer i = 1; lua_rawgeti(L, index, i) == LUA_TSTRING; i++, lua_pop(L, 1)) {
        int t = nki_dtype_parse(lua_tostring(L, -1));
        if (t < 0) luaL_error(L, "unknown type %s", lua_tostring(L, -1));
        mask |= 1u << t;
    }
    lua_pop(L, 1);
    return mask;
}

static uint32_t name_mask(lua_State *L, int index, const char *const *names, int count) {
    uint32_t mask = 0;
    for (lua_Integer i = 1; lua_rawgeti(L, index, i) == LUA_TSTRING; i++, lua_pop(L, 1)) {
        const char *name = lua_tostring(L, -1);
        int k = 0;
        while (k < count && strcmp(names[k], name) != 0) k++;
        if (strcmp(name, "hbm") == 0 && names == nki_buffer_names) {
            mask |= 1u << NKI_HBM | 1u << NKI_SHARED_HBM;
        } else if (k == count) {
            luaL_error(L, "unknown name %s", name);
        } else {
            mask |= 1u << k;
        }
    }
    lua_pop(L, 1);
    return mask;
}

static void load_row(lua_State *L, struct nki_row *r, const char *name, int row) {
    memset(r, 0, sizeof *r);
    r->present = true;
    snprintf(r->name, sizeof r->name, "nisa.%s", name);
    lua_getfield(L, row, "doc");
    snprintf(r->doc, sizeof r->doc, "%s", luaL_checkstring(L, -1));
    lua_getfield(L, row, "engines");
    if (lua_istable(L, -1)) r->engines = name_mask(L, lua_gettop(L), nki_engine_names, NKI_ENGINES);
    lua_getfield(L, row, "first_generation");
    r->first_gen = (uint8_t)luaL_optinteger(L, -1, 0);
    lua_getfield(L, row, "free_max");
    r->free_max = luaL_optinteger(L, -1, 0);
    lua_getfield(L, row, "free_min");
    r->free_min = luaL_optinteger(L, -1, 0);
    lua_pop(L, 5);
    lua_getfield(L, row, "tiles");
    if (lua_istable(L, -1)) {
        int tiles = lua_gettop(L);
        for (lua_Integer i = 1; lua_rawgeti(L, tiles, i) == LUA_TTABLE && r->operand_count < NKI_ROW_OPERANDS; i++) {
            struct nki_row_operand *o = &r->operands[r->operand_count++];
            int at = lua_gettop(L);
            lua_getfield(L, at, "name");
            snprintf(o->name, sizeof o->name, "%s", luaL_checkstring(L, -1));
            lua_getfield(L, at, "buffers");
            o->buffers = name_mask(L, lua_gettop(L), nki_buffer_names, NKI_BUFFERS);
            lua_getfield(L, at, "dtypes");
            o->dtypes = dtype_mask(L, lua_gettop(L));
            lua_settop(L, tiles);
        }
    }
    lua_settop(L, row);
}

static void load_ops(lua_State *L, struct nki_machine *m, int ops) {
    static const struct {
        const char *name;
        uint32_t flag;
    } flags[] = {{"bitvec", NKI_OPF_BITVEC},
                 {"alu", NKI_OPF_ALU},
                 {"unary", NKI_OPF_UNARY_SLOT},
                 {"reduce", NKI_OPF_REDUCE},
                 {"activation", NKI_OPF_ACTIVATION},
                 {"gpsimd", NKI_OPF_GPSIMD},
                 {"gen4", NKI_OPF_GEN4}};
    for (int op = 1; op < NKI_OPS; op++) {
        if (lua_getfield(L, ops, nki_ops[op].name) == LUA_TTABLE) {
            for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
                lua_getfield(L, -1, flags[i].name);
                if (lua_toboolean(L, -1)) m->op_flags[op] |= flags[i].flag;
                lua_pop(L, 1);
            }
        }
        lua_pop(L, 1);
    }
}

static int field_table(lua_State *L, int options, const char *name) {
    if (lua_getfield(L, options, name) != LUA_TTABLE) luaL_error(L, "a machine needs the table `%s`", name);
    return lua_gettop(L);
}

void nki_load_tables(lua_State *L, struct nki_box_machine *b, int options) {
    int top = lua_gettop(L);
    load_target(L, &b->m.target, field_table(L, options, "target"));
    int isa = field_table(L, options, "isa");
    int functions = field_table(L, isa, "functions");
    for (int i = 1; i < NKI_INSTRS; i++) {
        struct nki_row *r = &b->m.rows[i];
        if (lua_getfield(L, functions, nki_instr_names[i]) == LUA_TTABLE)
            load_row(L, r, nki_instr_names[i], lua_gettop(L));
        else
            snprintf(r->name, sizeof r->name, "nisa.%s", nki_instr_names[i]);
        lua_settop(L, functions);
    }
    int language = field_table(L, options, "language");
    load_ops(L, &b->m, field_table(L, language, "ops"));
    lua_settop(L, top);
}
