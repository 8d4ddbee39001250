// SPDX-License-Identifier: MIT
// nki_lua.c: `rt.nki`: machines, their tables, inputs and outputs, errors as Lua tables.
//
//   local m = require("rt.nki").machine{ target=, isa=, language=, mode="chip"|"exact", round_operands={types}, execute=, poison=1|2, none=,
//   tuple= } m:input(name, data|nil, dtype, shape)   a tensor in HBM; data: an rt.array or a flat table of numbers
//   m:finish({tensor, ...}[, inputs_may_change])   checks of the end; raises
//   m:read(tensor) -> flat table   m:output_array(tensor) -> rt.array   m:record()   m:stats()   m:warnings()
//   m:functions() -> { nisa name = function of positional arguments, ndarray =, ... }   m:define(kind, name, object)
#include "nki/nki_lua.h"
#include "nki/nki_lua_schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nki/exec.h"
#include "run.h"

#define MACHINE "rt.nki.machine"
#define HANDLE "rt.nki.storage"

struct nki_box_machine *nki_self(lua_State *L) {
    struct nki_box_machine *b = lua_touserdata(L, lua_upvalueindex(1));
    b->m.site = run_state(L)->site;
    b->m.err.site = b->m.site;
    return b;
}

// --- errors
// ------------------------------------------------------------------------------------------------------------

static void set_string(lua_State *L, const char *key, const char *text) {
    if (!text || !text[0]) return;
    lua_pushstring(L, text);
    lua_setfield(L, -2, key);
}

static void push_operand(lua_State *L, const struct nki_error_operand *o) {
    lua_createtable(L, 0, 10);
    set_string(L, "name", o->name);
    if (!o->is_view) {
        set_string(L, "value", o->value);
        return;
    }
    const struct nki_view *v = &o->view;
    lua_createtable(L, v->ndim, 0);
    for (int d = 0; d < v->ndim; d++) {
        lua_pushinteger(L, v->shape[d]);
        lua_rawseti(L, -2, d + 1);
    }
    lua_setfield(L, -2, "shape");
    lua_pushstring(L, nki_dtypes[v->dtype].name);
    lua_setfield(L, -2, "dtype");
    lua_pushstring(L, nki_buffer_names[v->st->buffer]);
    lua_setfield(L, -2, "buffer");
    lua_pushinteger(L, v->st->site);
    lua_setfield(L, -2, "alloc_site");
    lua_pushinteger(L, v->st->id);
    lua_setfield(L, -2, "storage");
    lua_pushinteger(L, nki_view_row(v)); // the stride between partitions as .ap() counts it
    lua_setfield(L, -2, "row");
    if (nki_on_chip(v->st->buffer)) {
        lua_pushinteger(L, v->part);
        lua_setfield(L, -2, "partition_start");
    }
    set_string(L, "tensor", v->st->name);
    if (v->st->input) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "input");
    }
}

void nki_push_error(lua_State *L, const struct nki_error *e) {
    lua_createtable(L, 0, 10);
    lua_pushliteral(L, "nki");
    lua_setfield(L, -2, "kind");
    set_string(L, "code", e->code);
    set_string(L, "op", e->op);
    set_string(L, "doc", e->doc);
    set_string(L, "want", e->want);
    set_string(L, "got", e->got);
    set_string(L, "message", e->message);
    lua_pushinteger(L, e->site);
    lua_setfield(L, -2, "site");
    lua_pushstring(L, e->warning ? "warning" : "error");
    lua_setfield(L, -2, "severity");
    if (e->has_limit) {
        lua_pushinteger(L, e->limit);
        lua_setfield(L, -2, "limit");
    }
    lua_createtable(L, e->operand_count, 0);
    for (int i = 0; i < e->operand_count; i++) {
        push_operand(L, &e->operands[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "operands");
}

void nki_raise(lua_State *L, struct nki_box_machine *b) {
    nki_push_error(L, &b->m.err);
    b->m.err.raised = false;
    lua_error(L);
    __builtin_unreachable();
}

// A value as messages show it: text, number, None, or its type; a sequence by the first element that is no integer.
static void describe_value(lua_State *L, const struct nki_box_machine *b, int index, char *text, size_t size) {
    index = lua_absindex(L, index);
    const char *type = luaL_typename(L, index);
    bool tuple = luaL_getmetafield(L, index, "__pytype") == LUA_TSTRING;
    if (tuple) type = lua_tostring(L, -1);
    if (lua_type(L, index) == LUA_TSTRING) {
        snprintf(text, size, "'%.40s'", lua_tostring(L, index));
    } else if (lua_isinteger(L, index)) {
        snprintf(text, size, "%lld", (long long)lua_tointeger(L, index));
    } else if (lua_type(L, index) == LUA_TNUMBER) {
        snprintf(text, size, "%.17g", lua_tonumber(L, index));
    } else if (tuple && lua_istable(L, index) && (strcmp(type, "tuple") == 0 || strcmp(type, "list") == 0)) {
        char item[48] = "";
        for (lua_Integer i = 1; i <= NKI_MAX_DIMS && !*item; i++) {
            int kind = lua_rawgeti(L, index, i);
            if (kind != LUA_TNIL && kind != LUA_TTABLE && !lua_isinteger(L, -1)) describe_value(L, b, -1, item, sizeof item);
            lua_pop(L, 1);
        }
        if (*item)
            snprintf(text, size, "a %s that holds %s", type, item);
        else
            snprintf(text, size, "%s", type);
    } else {
        snprintf(text, size, "%s", nki_is_none(L, b, index) ? "None" : type);
    }
    if (tuple) lua_pop(L, 1);
}

void nki_bad_argument(lua_State *L, struct nki_box_machine *b, int index, const char *name, const char *code,
                      const char *want) {
    char text[80];
    describe_value(L, b, index, text, sizeof text);
    nki_fail(&b->m.err, code, "%s must be %s, got %s", name, want, text);
    nki_error_value(&b->m.err, name, "%s", text);
    nki_error_want(&b->m.err, "%s", want);
    nki_error_got(&b->m.err, "%s", text);
    nki_raise(L, b);
}

// --- storages
// ----------------------------------------------------------------------------------------------------------

static int handle_gc(lua_State *L) {
    struct nki_handle *h = lua_touserdata(L, 1);
    if (h->st && h->owner && h->owner->open) {
        nki_pending_forget(&h->owner->m, h->st);
        nki_storage_release(h->st, h->owner->m.account);
    }
    h->st = NULL;
    return 0;
}

void nki_push_fresh(lua_State *L, struct nki_box_machine *b, const struct nki_view *view, int machine) {
    machine = lua_absindex(L, machine);
    struct nki_handle *h = lua_newuserdatauv(L, sizeof *h, 2);
    h->st = NULL;
    h->owner = b;
    lua_pushvalue(L, machine);
    lua_setiuservalue(L, -2, 1);
    lua_getiuservalue(L, machine, UV_HANDLE_MT);
    lua_setmetatable(L, -2);
    h->st = view->st;
    nki_push_view(L, b, view, -1);
    lua_remove(L, -2);
    lua_getiuservalue(L, machine, UV_VIEW_MT);
    lua_setmetatable(L, -2);
}

// ndarray(shape, dtype, buffer, name, address)
static int op_ndarray(lua_State *L) {
    struct nki_box_machine *b = nki_self(L);
    b->m.err.op = "nl.ndarray";
    b->m.err.doc = "nki.language.ndarray";
    int64_t shape[NKI_MAX_DIMS], address[2];
    int n = nki_integers(L, 1, shape, NKI_MAX_DIMS);
    if (n < 0) nki_bad_argument(L, b, 1, "shape", "value-type", "a tuple of integers");
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : NULL;
    int dtype = name ? nki_dtype_parse(name) : -1;
    if (dtype < 0) nki_bad_argument(L, b, 2, "dtype", "dtype-unsupported", "an NKI type such as nl.float32");
    enum nki_buffer buffer = NKI_SBUF;
    if (!nki_is_none(L, b, 3)) {
        lua_pushvalue(L, 3);
        lua_rawget(L, lua_upvalueindex(2));
        int64_t id = lua_tointeger(L, -1);
        lua_pop(L, 1);
        if (id >> 16 != SYMBOL_BUFFER)
            nki_bad_argument(L, b, 3, "buffer", "value-type", "nl.sbuf, nl.psum, nl.hbm or nl.shared_hbm");
        buffer = (enum nki_buffer)(id & 0xffff);
    }
    bool placed = !nki_is_none(L, b, 5);
    if (placed && nki_integers(L, 5, address, 2) != 2)
        nki_bad_argument(L, b, 5, "address", "value-type", "a pair (partition, byte offset)");
    struct nki_view v;
    name = lua_type(L, 4) == LUA_TSTRING ? lua_tostring(L, 4) : NULL;
    if (!nki_ndarray(&b->m, &v, shape, n, dtype, buffer, name, placed ? address : NULL)) nki_raise(L, b);
    nki_push_fresh(L, b, &v, lua_upvalueindex(1));
    return 1;
}

// --- the machine
// -------------------------------------------------------------------------------------------------------

struct nki_box_machine *nki_check_machine(lua_State *L) {
    return luaL_checkudata(L, 1, MACHINE);
}

static int machine_gc(lua_State *L) {
    struct nki_box_machine *b = lua_touserdata(L, 1);
    if (b->open) nki_machine_close(&b->m);
    b->open = false;
    return 0;
}

static bool option_flag(lua_State *L, int options, const char *name, bool otherwise) {
    lua_getfield(L, options, name);
    bool r = lua_isnil(L, -1) ? otherwise : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return r;
}

static int new_machine(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct nki_box_machine *b = lua_newuserdatauv(L, sizeof *b, UV_COUNT);
    memset(b, 0, sizeof *b);
    luaL_setmetatable(L, MACHINE);
    nki_machine_open(&b->m, &run_state(L)->arrays);
    b->open = true;
    b->m.execute = option_flag(L, 1, "execute", true);
    lua_getfield(L, 1, "mode");
    const char *mode = luaL_optstring(L, -1, "chip");
    if (strcmp(mode, "exact") == 0)
        b->m.mode = NKI_EXACT;
    else if (strcmp(mode, "chip") != 0)
        return luaL_error(L, "mode must be chip or exact, got %s", mode);
    lua_pop(L, 1);
    if (lua_getfield(L, 1, "round_operands") == LUA_TTABLE) {
        for (lua_Integer i = 1; lua_geti(L, -1, i) == LUA_TSTRING; i++, lua_pop(L, 1)) {
            size_t length;
            const char *name = lua_tolstring(L, -1, &length);
            enum dtype type = dtype_parse(name, length);
            if (type == DTYPE_COUNT) return luaL_error(L, "round_operands: no type %s", name);
            b->m.round_operands |= (uint64_t)1 << type;
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    lua_getfield(L, 1, "poison");
    b->m.poison = (int)luaL_optinteger(L, -1, 1);
    lua_pop(L, 1);
    lua_getfield(L, 1, "uninitialized");
    b->m.uninitialized_warns = strcmp(luaL_optstring(L, -1, "error"), "warning") == 0;
    lua_pop(L, 1);
    nki_load_tables(L, b, 1);
    lua_createtable(L, 0, 128);
    lua_setiuservalue(L, 2, UV_SYMBOLS);
    lua_getfield(L, 1, "none");
    b->none_at = lua_isnil(L, -1) ? NULL : lua_topointer(L, -1);
    lua_setiuservalue(L, 2, UV_NONE);
    lua_getfield(L, 1, "tuple");
    lua_setiuservalue(L, 2, UV_TUPLE);
    lua_createtable(L, 4, 0);
    lua_setiuservalue(L, 2, UV_BUFFERS);
    if (luaL_newmetatable(L, HANDLE)) {
        lua_pushcfunction(L, handle_gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setiuservalue(L, 2, UV_HANDLE_MT);
    lua_settop(L, 2);
    nki_view_metatable(L);
    b->view_mt_at = lua_topointer(L, -1);
    lua_setiuservalue(L, 2, UV_VIEW_MT);
    return 1;
}

// m:define(kind, name, object): what an NKI object stands for when it is an argument.
static int machine_define(lua_State *L) {
    nki_check_machine(L);
    static const char *const kinds[] = {"op",       "engine",           "reduce_cmd", "dge_mode",
                                        "oob_mode", "matmul_perf_mode", "buffer",     NULL};
    int kind = luaL_checkoption(L, 2, NULL, kinds) + SYMBOL_OP;
    const char *name = luaL_checkstring(L, 3);
    luaL_checkany(L, 4);
    static const char *const commands[] = {"idle", "reset", "reduce", "reset_reduce", "load_reduce", NULL};
    static const char *const dges[] = {"unknown", "swdge", "hwdge", "none", NULL};
    static const char *const oobs[] = {"error", "skip", NULL};
    static const char *const perfs[] = {"none", "double_row", NULL};
    int id = -1;
    const char *const *list = NULL;
    int count = 0;
    switch (kind) {
    case SYMBOL_OP: id = (int)nki_op_parse(name); break;
    case SYMBOL_ENGINE:
        list = nki_engine_names;
        count = NKI_ENGINES;
        break;
    case SYMBOL_REDUCE_CMD:
        list = commands;
        count = 5;
        break;
    case SYMBOL_DGE:
        list = dges;
        count = 4;
        break;
    case SYMBOL_OOB:
        list = oobs;
        count = 2;
        break;
    case SYMBOL_PERF:
        list = perfs;
        count = 2;
        break;
    default:
        list = nki_buffer_names;
        count = NKI_BUFFERS;
        break;
    }
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0) id = i;
    if (id < 0 || (kind == SYMBOL_OP && id == NKI_OPS))
        return luaL_error(L, "no %s is called %s", kinds[kind - SYMBOL_OP], name);
    lua_getiuservalue(L, 1, UV_SYMBOLS);
    lua_pushvalue(L, 4);
    lua_pushinteger(L, (lua_Integer)kind << 16 | id);
    lua_rawset(L, -3);
    if (kind == SYMBOL_BUFFER) {
        lua_getiuservalue(L, 1, UV_BUFFERS);
        lua_pushvalue(L, 4);
        lua_rawseti(L, -2, id);
    }
    return 0;
}

static int machine_functions(lua_State *L) {
    nki_check_machine(L);
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, UV_SYMBOLS);
    nki_register_instructions(L, 1, 2);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, op_ndarray, 2);
    lua_setfield(L, 3, "ndarray");
    return 1;
}

// m:methods() -> the methods of tensors as functions of positional arguments, and the tensors' metatable
static int machine_methods(lua_State *L) {
    nki_check_machine(L);
    lua_getiuservalue(L, 1, UV_VIEW_MT);
    lua_getfield(L, -1, "methods");
    lua_insert(L, -2);
    return 2;
}

static struct nki_view *check_view(lua_State *L, struct nki_box_machine *b, int index) {
    struct nki_view *v = nki_to_view(L, b, index);
    if (!v) luaL_argerror(L, index, "tensor of this machine expected");
    return v;
}

static void fill_from_table(lua_State *L, struct nki_box_machine *b, struct nki_storage *st, int table) {
    enum dtype t = nki_dtypes[st->dtype].raw;
    int64_t n = st->partitions * st->free_elems;
    if ((int64_t)lua_rawlen(L, table) != n)
        luaL_error(L, "%d values expected, got %d", (int)n, (int)lua_rawlen(L, table));
    if (!nki_machine_back(&b->m, st)) nki_raise(L, b);
    for (int64_t i = 0; i < n; i++) {
        lua_rawgeti(L, table, i + 1);
        uint8_t *at = st->data + (size_t)i * st->cell;
        if (nki_dtypes[st->dtype].is_float) {
            double x = lua_tonumber(L, -1);
            if (st->cell == 8) {
                x = dtype_round(t, x); // inputs are what the chip would hold
                memcpy(at, &x, 8);
            } else {
                dtype_store(t, at, x);
            }
        } else {
            dtype_store_int(t, at, (int64_t)lua_tointeger(L, -1));
        }
        lua_pop(L, 1);
    }
    st->filled = true;
}

// m:input(name, data, dtype, shape) -> tensor
static int machine_input(lua_State *L) {
    struct nki_box_machine *b = nki_check_machine(L);
    const char *name = luaL_checkstring(L, 2), *type = luaL_checkstring(L, 4);
    int64_t shape[NKI_MAX_DIMS];
    int n = nki_integers(L, 5, shape, NKI_MAX_DIMS), dtype = nki_dtype_parse(type);
    if (n < 1) luaL_argerror(L, 5, "shape expected");
    if (dtype < 0) luaL_argerror(L, 4, "unknown element type");
    lua_settop(L, 5);
    b->m.site = 0;
    struct nki_view v;
    if (!nki_ndarray(&b->m, &v, shape, n, dtype, NKI_SHARED_HBM, name, NULL)) nki_raise(L, b);
    v.st->input = true;
    nki_area_fill(&v.st->init);
    v.st->flow[0].dtypes = 1u << dtype;
    nki_push_fresh(L, b, &v, 1);
    if (!b->m.execute || lua_isnil(L, 3)) return 1;
    if (lua_istable(L, 3))
        fill_from_table(L, b, v.st, 3);
    else if (!nki_input_array(L, b, v.st, 3, lua_gettop(L)))
        return luaL_argerror(L, 3, "an array or a table of numbers expected");
    return 1;
}

// m:read(tensor) -> flat table of its elements
static int machine_read(lua_State *L) {
    struct nki_box_machine *b = nki_check_machine(L);
    struct nki_view *v = check_view(L, b, 2);
    struct nki_lane lane;
    if (!nki_lane_open(&b->m, &lane, v, false)) nki_raise(L, b);
    lua_createtable(L, (int)(lane.parts * lane.free), 0);
    bool integer = !dtype_is_float(lane.type);
    lua_Integer k = 0;
    for (int64_t p = 0; p < lane.parts; p++) {
        for (int64_t s = 0; s < lane.free; s++) {
            if (integer) {
                int64_t x;
                nki_lane_i64(&lane, p, s, 1, &x);
                lua_pushinteger(L, x);
            } else {
                double x;
                lua_pushnumber(L, *nki_lane_f64(&lane, p, s, 1, &x));
            }
            lua_rawseti(L, -2, ++k);
        }
    }
    nki_lane_close(&b->m, &lane, false);
    return 1;
}

// m:finish(list[, inputs_may_change])
static int machine_finish(lua_State *L) {
    struct nki_box_machine *b = nki_check_machine(L);
    luaL_checktype(L, 2, LUA_TTABLE);
    bool may_change = lua_toboolean(L, 3);
    int n = (int)lua_rawlen(L, 2);
    struct nki_view *list = lua_newuserdatauv(L, (size_t)(n ? n : 1) * sizeof *list, 0);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        list[i] = *check_view(L, b, -1);
        lua_pop(L, 1);
    }
    if (!nki_machine_finish(&b->m, list, n, may_change)) nki_raise(L, b);
    return 0;
}

static int machine_warnings(lua_State *L) {
    struct nki_box_machine *b = nki_check_machine(L);
    lua_createtable(L, b->m.warning_count, 0);
    for (int i = 0; i < b->m.warning_count; i++) {
        nki_push_error(L, &b->m.warnings[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int machine_stats(lua_State *L) {
    struct nki_box_machine *b = nki_check_machine(L);
    struct nki_machine *m = &b->m;
    lua_createtable(L, 0, 10);
    lua_pushinteger(L, (lua_Integer)m->record.count);
    lua_setfield(L, -2, "instructions");
    lua_pushinteger(L, m->storage_count);
    lua_setfield(L, -2, "tensors");
    for (int which = 0; which < 2; which++) {
        int64_t peak;
        uint32_t when;
        if (!nki_capacity_peak(m, which ? NKI_PSUM : NKI_SBUF, &peak, &when)) nki_raise(L, b);
        lua_pushinteger(L, peak);
        lua_setfield(L, -2, which ? "psum_peak" : "sbuf_peak"); // bytes of a partition
    }
    lua_pushinteger(L, m->target.sbuf_bytes);
    lua_setfield(L, -2, "sbuf_limit");
    lua_pushinteger(L, m->target.psum_bytes);
    lua_setfield(L, -2, "psum_limit");
    return 1;
}

int luaopen_rt_nki(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"define", machine_define},
        {"functions", machine_functions},
        {"methods", machine_methods},
        {"input", machine_input},
        {"read", machine_read},
        {"finish", machine_finish},
        {"warnings", machine_warnings},
        {"stats", machine_stats},
        {"record", nki_lua_record},
        {"schedule", nki_lua_schedule},
        {"label", nki_lua_label},
        {"keep_order", nki_lua_keep_order},
        {"output_array", nki_output_array},
        {NULL, NULL},
    };
    static const luaL_Reg functions[] = {{"machine", new_machine}, {NULL, NULL}};
    luaL_newmetatable(L, MACHINE);
    lua_pushcfunction(L, machine_gc);
    lua_setfield(L, -2, "__gc");
    luaL_newlib(L, methods);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    nki_record_metatable(L);
    nki_schedule_metatable(L);
    luaL_newlib(L, functions);
    return 1;
}
