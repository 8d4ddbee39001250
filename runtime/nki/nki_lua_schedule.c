// SPDX-License-Identifier: MIT
// nki_lua_schedule.c: m:schedule(model) -> timeline, and the timeline's small tables. The large ones are in
// nki_lua_timeline.c and nki_lua_flows.c; runtime/nki/nki.meta.lua documents them.
#include "nki/nki_lua_schedule.h"

#include <stdlib.h>
#include <string.h>

#include "array/array_lua.h"
#include "run.h"

#define TIMELINE "rt.nki.timeline"
#define TEXTS "rt.nki.texts"

struct nki_box_schedule *nki_check_schedule(lua_State *L) {
    return luaL_checkudata(L, 1, TIMELINE);
}

// --- columns
// ----------------------------------------------------------------------------------------------------------------

void *nki_column(lua_State *L, const char *name, enum dtype dtype, size_t n) {
    struct array *a = array_push(L);
    int64_t shape[1] = {(int64_t)n};
    struct array_error err;
    if (!array_zeros(a, &run_state(L)->arrays, dtype, 1, shape, &err)) array_raise(L, &err);
    void *data = array_data(a);
    lua_setfield(L, -2, name);
    return data;
}

static int texts_gc(lua_State *L) {
    struct nki_texts *t = lua_touserdata(L, 1);
    for (size_t i = 0; i < t->count; i++) free(t->text[i]);
    free(t->text);
    free(t->slot);
    *t = (struct nki_texts){0};
    return 0;
}

void nki_texts_metatable(lua_State *L) {
    luaL_newmetatable(L, TEXTS);
    lua_pushcfunction(L, texts_gc);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
}

// Stack: table -> table, collector
struct nki_texts *nki_texts_begin(lua_State *L, const char *name, size_t n, int32_t **codes) {
    lua_createtable(L, 0, 2);
    *codes = nki_column(L, "codes", DTYPE_INT32, n);
    lua_setfield(L, -2, name);
    struct nki_texts *t = lua_newuserdatauv(L, sizeof *t, 0);
    *t = (struct nki_texts){0};
    luaL_setmetatable(L, TEXTS);
    return t;
}

static uint32_t hash_text(const char *text) {
    uint32_t h = 2166136261u;
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 16777619u;
    return h;
}

static bool grow_texts(struct nki_texts *t) {
    size_t slots = t->slots ? t->slots * 2 : 256;
    uint32_t *slot = calloc(slots, sizeof *slot);
    char **text = realloc(t->text, slots / 2 * sizeof *text);
    if (text) t->text = text;
    if (!slot || !text) {
        free(slot);
        return false;
    }
    t->capacity = slots / 2;
    for (size_t i = 0; i < t->count; i++) {
        size_t k = hash_text(t->text[i]) & (slots - 1);
        while (slot[k]) k = (k + 1) & (slots - 1);
        slot[k] = (uint32_t)i + 1;
    }
    free(t->slot);
    t->slot = slot;
    t->slots = slots;
    return true;
}

int32_t nki_texts_code(lua_State *L, struct nki_texts *t, const char *text) {
    if (!text) return -1;
    if (t->count == t->capacity && !grow_texts(t)) luaL_error(L, "not enough memory");
    size_t k = hash_text(text) & (t->slots - 1);
    for (; t->slot[k]; k = (k + 1) & (t->slots - 1))
        if (strcmp(t->text[t->slot[k] - 1], text) == 0) return (int32_t)t->slot[k] - 1;
    char *copy = strdup(text);
    if (!copy) luaL_error(L, "not enough memory");
    t->text[t->count++] = copy;
    t->slot[k] = (uint32_t)t->count;
    return (int32_t)t->count - 1;
}

// Stack: table, collector -> table
void nki_texts_end(lua_State *L, struct nki_texts *t, const char *name) {
    lua_getfield(L, -2, name);
    lua_createtable(L, (int)t->count, 0);
    for (size_t i = 0; i < t->count; i++) {
        lua_pushstring(L, t->text[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "values");
    lua_pop(L, 2);
}

const char *nki_storage_name(const struct nki_machine *m, const struct nki_storage *st, char buffer[48]) {
    if (st->name && st->name[0]) return st->name;
    for (int i = 0; i < m->label_count && !nki_on_chip(st->buffer); i++)
        if (m->labels[i].storage == st->id) return m->labels[i].text;
    snprintf(buffer, 48, "tensor_%u", st->id);
    return buffer;
}

// --- running
// ----------------------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    size_t at;
} figures[] = {
#define ENTRY(name) {#name, offsetof(struct nki_schedule_model, name)},
    NKI_SCHEDULE_FIGURES(ENTRY)
#undef ENTRY
};

static void load_model(lua_State *L, int index, struct nki_schedule_model *model) {
    luaL_checktype(L, index, LUA_TTABLE);
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (lua_getfield(L, index, figures[i].name) != LUA_TNUMBER)
            luaL_error(L, "the schedule model lacks the figure %s", figures[i].name);
        *(double *)(void *)((char *)model + figures[i].at) = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    bool positive = model->tensor_ghz > 0 && model->vector_ghz > 0 && model->scalar_ghz > 0 && model->gpsimd_ghz > 0 &&
                    model->sync_ghz > 0 && model->load_columns_per_cycle > 0 && model->throttle_share > 0 &&
                    model->dma_engines == 16 && model->dma_bytes_per_ns > 0 && model->hbm_bytes_per_ns > 0 &&
                    model->dma_apart_bytes >= 1 && model->dma_transpose_hbm > 0 && model->dma_transpose_sbuf > 0;
    if (!positive) luaL_error(L, "the schedule model's clocks and rates must be positive, and it has 16 DMA engines");
}

struct watching {
    lua_State *L;
    int progress; // stack index of the function, 0: none
};

// Called in the middle of pure C that owns memory: what the function raises is kept back until that is freed.
static bool watch_step(void *context, size_t done, size_t total) {
    struct watching *w = context;
    if (run_state(w->L)->interrupt) return true;
    if (!w->progress) return false;
    lua_pushvalue(w->L, w->progress);
    lua_pushinteger(w->L, (lua_Integer)done);
    lua_pushinteger(w->L, (lua_Integer)total);
    if (lua_pcall(w->L, 2, 0, 0) == LUA_OK) return false;
    lua_replace(w->L, w->progress); // the error takes the function's place
    return true;
}

static int timeline_gc(lua_State *L) {
    struct nki_box_schedule *b = lua_touserdata(L, 1);
    nki_schedule_close(&b->s);
    free(b->row);
    free(b->entry);
    b->row = b->entry = NULL;
    return 0;
}

static bool number_rows(struct nki_box_schedule *b) {
    const struct nki_record *record = &b->s.machine->record;
    size_t n = b->s.count;
    b->row = malloc((n + 1) * sizeof *b->row);
    b->entry = malloc((2 * n + 1) * sizeof *b->entry);
    if (!b->row || !b->entry) return false;
    for (size_t i = 0; i < n; i++) {
        if (record->items[i].k && b->s.rows[i].track == NKI_TRACK_TENSOR) b->entry[b->rows++] = (uint32_t)(2 * i + 1);
        b->row[i] = (uint32_t)b->rows;
        b->entry[b->rows++] = (uint32_t)(2 * i);
    }
    return true;
}

int nki_lua_schedule(lua_State *L) {
    struct nki_box_machine *m = nki_check_machine(L);
    struct nki_schedule_model model = {.generation = m->m.target.generation};
    load_model(L, 2, &model);
    luaL_requiref(L, "rt.array", luaopen_rt_array, 0); // the columns' metatable
    lua_settop(L, 3);
    struct watching w = {.L = L};
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        if (lua_getfield(L, 3, "progress") != LUA_TNIL) w.progress = lua_gettop(L);
    }
    struct nki_box_schedule *b = lua_newuserdatauv(L, sizeof *b, 1);
    memset(b, 0, sizeof *b);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, TIMELINE);
    struct nki_schedule_watch watch = {.stop = watch_step, .context = &w};
    enum nki_schedule_status status = nki_schedule_run(&b->s, &m->m, &model, &watch);
    if (status == NKI_SCHEDULE_OK && !number_rows(b)) status = NKI_SCHEDULE_MEMORY;
    if (status == NKI_SCHEDULE_OK) return 1;
    if (status == NKI_SCHEDULE_STOPPED && w.progress && !lua_isfunction(L, w.progress)) {
        lua_pushvalue(L, w.progress);
        return lua_error(L);
    }
    static const struct {
        const char *code, *message;
    } words[] = {
        [NKI_SCHEDULE_MEMORY] = {"memory-limit", "not enough memory to schedule the kernel"},
        [NKI_SCHEDULE_STOPPED] = {"cancelled", "the schedule was interrupted"},
        [NKI_SCHEDULE_TOO_LARGE] = {"too-large", "the kernel has more instructions than a schedule can hold"},
    };
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, words[status].code);
    lua_setfield(L, -2, "code");
    lua_pushstring(L, words[status].message);
    lua_setfield(L, -2, "message");
    return 2;
}

// m:label(tensor, name): a name for a tensor the kernel gave none, as profiles show it
int nki_lua_label(lua_State *L) {
    struct nki_box_machine *m = nki_check_machine(L);
    struct nki_view *v = nki_to_view(L, m, 2);
    const char *name = luaL_checkstring(L, 3);
    luaL_argcheck(L, v, 2, "a tensor is expected");
    if (v->st->name) return 0;
    struct nki_label *labels = realloc(m->m.labels, (size_t)(m->m.label_count + 1) * sizeof *labels);
    if (!labels) luaL_error(L, "not enough memory");
    m->m.labels = labels;
    char *text = strdup(name);
    if (!text) luaL_error(L, "not enough memory");
    labels[m->m.label_count++] = (struct nki_label){.storage = v->st->id, .text = text};
    return 0;
}

// m:keep_order(enter): a block of nl.no_reorder begins (true) or ends
int nki_lua_keep_order(lua_State *L) {
    struct nki_box_machine *m = nki_check_machine(L);
    m->m.ordered += lua_toboolean(L, 2) ? 1 : -1;
    if (m->m.ordered < 0) m->m.ordered = 0;
    return 0;
}

// --- small tables
// -----------------------------------------------------------------------------------------------------------

static int by_start(const void *a, const void *b) {
    const struct nki_span *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

// timeline:active() -> { {engine =, start = column, finish = column}, ... }: merged intervals per engine; the DMA
// engines together are the last
static int timeline_active(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    static const char *const names[] = {"Tensor", "Vector", "Scalar", "GpSimd", "Sync", "DMA"};
    const struct nki_schedule *s = &b->s;
    size_t most = s->count > s->packet_count ? s->count : s->packet_count;
    struct nki_span *spans = lua_newuserdatauv(L, (most + 1) * sizeof *spans, 0);
    lua_createtable(L, 6, 0);
    for (int e = 0; e < 6; e++) {
        size_t n = 0;
        if (e < NKI_TRACKS) {
            for (size_t i = 0; i < s->count; i++) {
                const struct nki_sched_row *r = &s->rows[i];
                if (r->track == e && r->active_end > r->start) spans[n++] = (struct nki_span){r->start, r->active_end};
            }
        } else {
            for (size_t i = 0; i < s->packet_count; i++)
                spans[n++] = (struct nki_span){s->packets[i].start, s->packets[i].finish};
        }
        qsort(spans, n, sizeof *spans, by_start);
        size_t k = 0;
        for (size_t i = 0; i < n; i++) {
            if (k && spans[i].start <= spans[k - 1].finish) {
                if (spans[i].finish > spans[k - 1].finish) spans[k - 1].finish = spans[i].finish;
            } else {
                spans[k++] = spans[i];
            }
        }
        lua_createtable(L, 0, 4);
        lua_pushstring(L, names[e]);
        lua_setfield(L, -2, "engine");
        double *start = nki_column(L, "start", DTYPE_FLOAT64, k), *finish = nki_column(L, "finish", DTYPE_FLOAT64, k);
        double sum = 0;
        for (size_t i = 0; i < k; i++) {
            start[i] = spans[i].start;
            finish[i] = spans[i].finish;
            sum += spans[i].finish - spans[i].start;
        }
        lua_pushnumber(L, sum);
        lua_setfield(L, -2, "ns");
        lua_rawseti(L, -2, e + 1);
    }
    return 1;
}

// timeline:tensors() -> list of HBM tensors
static int timeline_tensors(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    const struct nki_machine *m = b->s.machine;
    uint64_t(*traffic)[4] = lua_newuserdatauv(L, (m->storage_count + 1) * sizeof *traffic, 0);
    memset(traffic, 0, (m->storage_count + 1) * sizeof *traffic);
    for (size_t i = 0; i < m->record.count; i++) {
        const struct nki_instruction *r = &m->record.items[i];
        for (int k = 0; r->bytes && k < r->operands; k++) {
            const struct nki_region *g = &r->region[k];
            if (!(g->flags & NKI_REGION_HBM)) continue;
            bool write = g->flags & NKI_REGION_WRITE;
            traffic[g->storage][write] += (uint64_t)r->elements * nki_dtype_size(g->dtype);
            traffic[g->storage][2 + write]++;
        }
    }
    lua_createtable(L, 8, 0);
    lua_Integer n = 0;
    for (uint32_t i = 0; i < m->storage_count; i++) {
        const struct nki_storage *st = m->storages[i];
        if (nki_on_chip(st->buffer)) continue;
        char text[48];
        lua_createtable(L, 0, 10);
        lua_pushstring(L, nki_storage_name(m, st, text));
        lua_setfield(L, -2, "name");
        lua_pushstring(L, st->input ? "IN" : st->output ? "OUT" : "INTERNAL");
        lua_setfield(L, -2, "role");
        lua_pushstring(L, nki_dtypes[st->dtype].name);
        lua_setfield(L, -2, "dtype");
        lua_createtable(L, st->ndim, 0);
        for (int d = 0; d < st->ndim; d++) {
            lua_pushinteger(L, st->shape[d]);
            lua_rawseti(L, -2, d + 1);
        }
        lua_setfield(L, -2, "shape");
        const int64_t values[] = {st->free_elems * (int64_t)nki_dtype_size(st->dtype),
                                  st->id,
                                  (int64_t)traffic[st->id][0],
                                  (int64_t)traffic[st->id][1],
                                  (int64_t)traffic[st->id][2],
                                  (int64_t)traffic[st->id][3]};
        static const char *const keys[] = {"bytes", "storage", "bytes_read", "bytes_written", "loads", "stores"};
        for (int k = 0; k < 6; k++) {
            lua_pushinteger(L, values[k]);
            lua_setfield(L, -2, keys[k]);
        }
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

// timeline:memory() -> columns time, sbuf_0 .. sbuf_3, psum
static int timeline_memory(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    size_t n = b->s.memory_count;
    lua_createtable(L, 0, 6);
    double *time = nki_column(L, "time", DTYPE_FLOAT64, n);
    for (size_t i = 0; i < n; i++) time[i] = b->s.memory[i].time;
    for (int q = 0; q < 4; q++) {
        char name[24];
        snprintf(name, sizeof name, "sbuf_%d", q);
        int64_t *bytes = nki_column(L, name, DTYPE_INT64, n);
        for (size_t i = 0; i < n; i++) bytes[i] = b->s.memory[i].sbuf[q];
    }
    int64_t *bytes = nki_column(L, "psum", DTYPE_INT64, n);
    for (size_t i = 0; i < n; i++) bytes[i] = b->s.memory[i].psum;
    return 1;
}

// timeline:throttle() -> columns start, finish
static int timeline_throttle(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    size_t n = b->s.throttled_count;
    lua_createtable(L, 0, 2);
    double *start = nki_column(L, "start", DTYPE_FLOAT64, n), *finish = nki_column(L, "finish", DTYPE_FLOAT64, n);
    for (size_t i = 0; i < n; i++) {
        start[i] = b->s.throttled[i].start;
        finish[i] = b->s.throttled[i].finish;
    }
    return 1;
}

static int timeline_index(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    const char *key = luaL_checkstring(L, 2);
    if (strcmp(key, "total_ns") == 0)
        lua_pushnumber(L, b->s.total_ns);
    else if (strcmp(key, "first_ns") == 0)
        lua_pushnumber(L, b->s.first_ns);
    else if (strcmp(key, "last_ns") == 0)
        lua_pushnumber(L, b->s.last_ns);
    else if (strcmp(key, "model_version") == 0)
        lua_pushliteral(L, NKI_SCHEDULE_VERSION);
    else if (strcmp(key, "count") == 0)
        lua_pushinteger(L, (lua_Integer)b->s.count);
    else if (strcmp(key, "rows") == 0)
        lua_pushinteger(L, (lua_Integer)b->rows);
    else if (strcmp(key, "packet_count") == 0)
        lua_pushinteger(L, (lua_Integer)b->s.packet_count);
    else if (strcmp(key, "overcommits") == 0)
        lua_pushinteger(L, (lua_Integer)b->s.overcommits);
    else {
        lua_pushvalue(L, 2);
        lua_rawget(L, lua_upvalueindex(1));
    }
    return 1;
}

void nki_schedule_metatable(lua_State *L) {
    static const luaL_Reg methods[] = {{"instructions", nki_timeline_instructions},
                                       {"packets", nki_timeline_packets},
                                       {"transfers", nki_timeline_transfers},
                                       {"flows", nki_timeline_flows},
                                       {"sites", nki_timeline_sites},
                                       {"totals", nki_timeline_totals},
                                       {"active", timeline_active},
                                       {"tensors", timeline_tensors},
                                       {"memory", timeline_memory},
                                       {"throttle", timeline_throttle},
                                       {NULL, NULL}};
    nki_texts_metatable(L);
    luaL_newmetatable(L, TIMELINE);
    lua_pushcfunction(L, timeline_gc);
    lua_setfield(L, -2, "__gc");
    luaL_newlib(L, methods);
    lua_pushcclosure(L, timeline_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
