// SPDX-License-Identifier: MIT
// nki_lua_record.c: the record as seen from Lua: record:len(), record:get(i), record:totals().
#include <string.h>

#include "nki/nki_lua.h"

#define RECORD "rt.nki.record"

// m:record() -> userdata that keeps the machine
int nki_lua_record(lua_State *L) {
    struct nki_box_machine **r = lua_newuserdatauv(L, sizeof *r, 1);
    *r = lua_touserdata(L, 1);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, RECORD);
    return 1;
}

static struct nki_machine *machine_of(lua_State *L) {
    struct nki_box_machine **r = luaL_checkudata(L, 1, RECORD);
    return &(*r)->m;
}

static void set_int(lua_State *L, const char *key, int64_t n) {
    lua_pushinteger(L, n);
    lua_setfield(L, -2, key);
}

static void set_text(lua_State *L, const char *key, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static int record_len(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)machine_of(L)->record.count);
    return 1;
}

static void push_region(lua_State *L, struct nki_machine *m, const struct nki_region *r) {
    lua_createtable(L, 0, 14);
    const struct nki_storage *st = m->storages[r->storage - 1];
    set_int(L, "storage", r->storage);
    set_text(L, "buffer", nki_buffer_names[st->buffer]);
    if (st->name) set_text(L, "name", st->name);
    set_text(L, "dtype", nki_dtypes[r->dtype].name);
    set_int(L, "part", r->part);
    set_int(L, "parts", r->parts);
    set_int(L, "offset", (int64_t)r->offset);
    set_int(L, "extent", (int64_t)r->extent);
    set_int(L, "elements", r->elements);
    set_int(L, "run", r->run);
    set_int(L, "rows", r->rows);
    set_int(L, "stride", r->stride);
    lua_pushboolean(L, r->flags & NKI_REGION_WRITE);
    lua_setfield(L, -2, "write");
    if (r->flags & NKI_REGION_VECTOR) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "vector");
    }
}

// record:get(i) -> table; i from 1
static int record_get(lua_State *L) {
    struct nki_machine *m = machine_of(L);
    lua_Integer i = luaL_checkinteger(L, 2);
    if (i < 1 || (size_t)i > m->record.count) return 0;
    const struct nki_instruction *r = &m->record.items[i - 1];
    static const char *const dge[] = {"unknown", "swdge", "hwdge", "none"};
    lua_createtable(L, 0, 16);
    set_text(L, "op", nki_instr_names[r->op]);
    set_text(L, "engine", nki_engine_names[r->engine]);
    set_int(L, "site", r->site);
    set_int(L, "elements", r->elements);
    if (r->alu[0]) set_text(L, "op0", nki_ops[r->alu[0]].name);
    if (r->alu[1]) set_text(L, "op1", nki_ops[r->alu[1]].name);
    if (r->bytes) {
        set_int(L, "bytes", (int64_t)r->bytes);
        set_int(L, "descriptor", r->descriptor);
        set_text(L, "dge", dge[r->dge & 3]);
    }
    if (r->k) {
        set_int(L, "k", r->k);
        set_int(L, "m", r->m);
        set_int(L, "n", r->n);
    }
    static const struct {
        const char *name;
        int flag;
    } flags[] = {{"accumulate", NKI_FLAG_ACCUMULATE},
                 {"transpose", NKI_FLAG_TRANSPOSE},
                 {"cast", NKI_FLAG_CAST},
                 {"engine_given", NKI_FLAG_ENGINE_GIVEN},
                 {"reduces", NKI_FLAG_REDUCES},
                 {"fp32_passes", NKI_FLAG_FP32_PASSES}};
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
        if (!(r->flags & flags[k].flag)) continue;
        lua_pushboolean(L, true);
        lua_setfield(L, -2, flags[k].name);
    }
    lua_createtable(L, r->operands, 0);
    for (int k = 0; k < r->operands; k++) {
        push_region(L, m, &r->region[k]);
        lua_rawseti(L, -2, k + 1);
    }
    lua_setfield(L, -2, "operands");
    return 1;
}

static void push_flow(lua_State *L, const struct nki_flow *f) {
    set_int(L, "contraction", f->terms);
    set_int(L, "roundings", f->roundings);
    set_int(L, "depth", f->depth);
    set_int(L, "narrow16", f->narrow16);
    set_int(L, "narrow8", f->narrow8);
    lua_pushboolean(L, f->bits);
    lua_setfield(L, -2, "bit_view");
    lua_pushboolean(L, f->to_int);
    lua_setfield(L, -2, "to_integer");
    lua_createtable(L, 4, 0);
    lua_Integer n = 0;
    for (int t = 0; t < NKI_DTYPES; t++) {
        if (!(f->dtypes & 1u << t)) continue;
        lua_pushstring(L, nki_dtypes[t].name);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "dtypes");
    lua_createtable(L, 4, 0);
    n = 0;
    for (int op = 1; op < NKI_OPS && op < 64; op++) {
        if (!(f->functions & 1ULL << op)) continue;
        lua_pushstring(L, nki_ops[op].name);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "functions");
}

// record:totals() -> { instructions=, ops={}, engines={}, matmul_flops=, dma_bytes=, dma_count=, tensors={ per HBM
// tensor } }
static int record_totals(lua_State *L) {
    struct nki_machine *m = machine_of(L);
    const struct nki_totals *t = &m->record.totals;
    lua_createtable(L, 0, 8);
    set_int(L, "version", NKI_RECORD_VERSION);
    set_int(L, "instructions", (int64_t)m->record.count);
    set_int(L, "matmul_flops", (int64_t)t->matmul_flops);
    set_int(L, "dma_bytes", (int64_t)t->dma_bytes);
    set_int(L, "dma_count", (int64_t)t->dma_count);
    lua_createtable(L, 0, 16);
    for (int i = 1; i < NKI_INSTRS; i++)
        if (t->per_op[i]) set_int(L, nki_instr_names[i], (int64_t)t->per_op[i]);
    lua_setfield(L, -2, "ops");
    lua_createtable(L, 0, 8);
    for (int i = 0; i < NKI_ENGINES; i++)
        if (t->per_engine[i]) set_int(L, nki_engine_names[i], (int64_t)t->per_engine[i]);
    lua_setfield(L, -2, "engines");
    // Traffic per HBM tensor. Shortest descriptor runs, because they decide what a DMA costs.
    uint64_t(*bytes)[4] = lua_newuserdatauv(L, (m->storage_count + 1) * sizeof *bytes, 0);
    memset(bytes, 0, (m->storage_count + 1) * sizeof *bytes);
    for (size_t i = 0; i < m->record.count; i++) {
        const struct nki_instruction *r = &m->record.items[i];
        if (!r->bytes) continue;
        for (int k = 0; k < r->operands; k++) {
            const struct nki_region *g = &r->region[k];
            if (!(g->flags & NKI_REGION_HBM)) continue;
            bool write = g->flags & NKI_REGION_WRITE;
            bytes[g->storage][write] += (uint64_t)r->elements * nki_dtype_size(g->dtype);
            uint64_t *run = &bytes[g->storage][2 + write];
            if (!*run || r->descriptor < *run) *run = r->descriptor;
        }
    }
    int at = lua_gettop(L);
    lua_createtable(L, 8, 0);
    lua_Integer n = 0;
    for (uint32_t i = 0; i < m->storage_count; i++) {
        const struct nki_storage *st = m->storages[i];
        if (nki_on_chip(st->buffer)) continue;
        lua_createtable(L, 0, 20);
        set_int(L, "storage", st->id);
        if (st->name) set_text(L, "name", st->name);
        set_text(L, "dtype", nki_dtypes[st->dtype].name);
        set_int(L, "bytes", st->free_elems * (int64_t)nki_dtype_size(st->dtype));
        set_int(L, "bytes_read", (int64_t)bytes[st->id][0]);
        set_int(L, "bytes_written", (int64_t)bytes[st->id][1]);
        set_int(L, "shortest_read", (int64_t)bytes[st->id][2]);
        set_int(L, "shortest_write", (int64_t)bytes[st->id][3]);
        set_text(L, "role", st->input ? "input" : st->output ? "output" : st->constant ? "constant" : "scratch");
        push_flow(L, &st->flow[0]);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, at - 1, "tensors");
    lua_settop(L, at - 1);
    return 1;
}

void nki_record_metatable(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"len", record_len}, {"get", record_get}, {"totals", record_totals}, {NULL, NULL}};
    luaL_newmetatable(L, RECORD);
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, record_len);
    lua_setfield(L, -2, "__len");
    lua_pop(L, 1);
}
