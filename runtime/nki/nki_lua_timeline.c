// SPDX-License-Identifier: MIT
// nki_lua_timeline.c: the tables of a timeline that count instructions. Those of DMA and dependences: nki_lua_flows.c.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nki/nki_lua_schedule.h"

static const char *const track_names[NKI_TRACKS] = {"Tensor", "Vector", "Scalar", "GpSimd", "Sync"};
static const char *const dge_names[] = {"unknown", "swdge", "hwdge", "none"};

static bool is_matmul(const struct nki_instruction *r) { return r->k && r->engine == NKI_ENGINE_TENSOR; }

// Opcodes as neuron-explorer shows them.
static const char *opcode(const struct nki_instruction *r, char buffer[48]) {
    if (is_matmul(r)) return "MATMUL";
    switch (r->op) {
    case NKI_I_DMA_COPY: return "DMA_DIRECT2D";
    case NKI_I_ACTIVATION:
    case NKI_I_ACTIVATION_REDUCE: return "ACTIVATE";
    default: break;
    }
    const char *name = nki_instr_names[r->op];
    if (strncmp(name, "nc_", 3) == 0) name += 3;
    size_t k = 0;
    for (; name[k] && k < 47; k++) buffer[k] = (char)toupper((unsigned char)name[k]);
    buffer[k] = 0;
    return buffer;
}

static const char *short_dtype(int dtype) {
    const char *name = nki_dtypes[dtype].name;
    if (strcmp(name, "bfloat16") == 0) return "bf16";
    if (strcmp(name, "float16") == 0) return "fp16";
    if (strcmp(name, "float32") == 0) return "fp32";
    if (strncmp(name, "float8", 6) == 0) return "fp8";
    return name;
}

static size_t region_text(char *out, size_t size, const char *name, const struct nki_region *g) {
    size_t bytes = nki_dtype_size(g->dtype);
    int n = snprintf(out, size, "%s=%s@%llu[%u][%u]", name, short_dtype(g->dtype), (unsigned long long)g->offset,
                     (unsigned)(g->elements > 1 ? g->stride / (bytes ? bytes : 1) : 1), g->elements);
    return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

static void operands_text(char out[256], const struct nki_instruction *r, bool load) {
    size_t k = 0;
    if (is_matmul(r)) {
        const struct nki_region *src = load || r->operands < 3 ? &r->region[1] : &r->region[2];
        k = region_text(out, 256, "src", src);
        if (!load) {
            out[k++] = ' ';
            k += region_text(out + k, 256 - k, "dst", &r->region[0]);
        }
        snprintf(out + k, 256 - k, load ? " %u*%u" : " %u*%u acc_flags=%u", (unsigned)r->k, (unsigned)r->m,
                 r->flags & NKI_FLAG_ACCUMULATE ? 0u : 1u);
        return;
    }
    out[0] = 0;
    static const char *const names[] = {"dst", "src", "src1", "src2"};
    for (int i = 0; i < r->operands && k < 250; i++) {
        const struct nki_region *g = &r->region[i];
        if (k) out[k++] = ' ';
        k += region_text(out + k, 256 - k, names[i], g);
    }
    int channels = r->operands ? r->region[0].parts : 0;
    if (r->alu[0] && k < 230) k += (size_t)snprintf(out + k, 256 - k, " op=%s", nki_ops[r->alu[0]].name);
    if (channels && k < 240) snprintf(out + k, 256 - k, " channels=%d", channels);
}

uint64_t nki_region_bytes(const struct nki_region *g) {
    uint64_t elements = g->elements;
    if (!(g->flags & NKI_REGION_HBM)) elements *= g->parts;
    return elements * nki_dtype_size(g->dtype);
}

// Bytes an instruction reads and writes, by memory: [hbm, sbuf, psum][read, write]. `part`: 0 all operands, 1 a matmul
// without its stationary matrix, 2 the stationary matrix alone.
static void traffic(const struct nki_instruction *r, int part, int64_t out[3][2]) {
    memset(out, 0, 6 * sizeof out[0][0]);
    for (int i = 0; i < r->operands; i++) {
        const struct nki_region *g = &r->region[i];
        if ((part == 2 && i != 1) || (part == 1 && i == 1)) continue;
        int where = g->flags & NKI_REGION_HBM ? 0 : g->flags & NKI_REGION_PSUM ? 2 : 1;
        int64_t bytes = (int64_t)nki_region_bytes(g);
        out[where][(g->flags & NKI_REGION_WRITE) != 0] += bytes;
    }
}

// Operations of a matmul: 2 K M N; a transpose moves data through the array without adding, and profiles count it once
// (K M N). The adjusted count weighs by how long a type takes beside bfloat16: float32 4, float8 1/2 from
// NeuronCore-v3.
static void operations(const struct nki_machine *m, const struct nki_instruction *r, int64_t *raw, int64_t *adjusted) {
    bool transpose = r->flags & NKI_FLAG_TRANSPOSE;
    *raw = (int64_t)r->k * r->m * r->n * (transpose ? 1 : 2);
    int dtype = r->operands > 1 ? r->region[1].dtype : DTYPE_BFLOAT16;
    size_t size = nki_dtype_size(dtype);
    *adjusted = dtype == DTYPE_FLOAT32 ? *raw * 4 : size == 1 && m->target.generation >= 3 ? *raw / 2 : *raw;
}

// Whole nanoseconds of two float columns, as profiles hold them: start_ts, end_ts, duration_ns.
void nki_whole_ns(lua_State *L, const double *start, const double *finish, size_t n) {
    int64_t *from = nki_column(L, "start_ts", DTYPE_INT64, n), *to = nki_column(L, "end_ts", DTYPE_INT64, n);
    int64_t *length = nki_column(L, "duration_ns", DTYPE_INT64, n);
    for (size_t i = 0; i < n; i++) {
        from[i] = llround(start[i]);
        to[i] = llround(finish[i]);
        length[i] = to[i] - from[i];
    }
}

#define EACH(b, q, i, load)                                                                                            \
    for (size_t q = 0, i = 0, load = 0; q < (b)->rows && ((i = (b)->entry[q] >> 1), (load = (b)->entry[q] & 1), true); \
         q++)

// A text column that the caller gives per site: sites[site] = text, in the table at `texts`.
static void by_site(lua_State *L, struct nki_box_schedule *b, int texts, const char *name) {
    const struct nki_instruction *items = b->s.machine->record.items;
    int32_t *codes;
    struct nki_texts *t = nki_texts_begin(L, name, b->rows, &codes);
    int32_t last_site = 0, last_code = -1;
    bool any = false;
    EACH(b, q, i, load) {
        (void)load;
        if (!any || items[i].site != last_site) {
            any = true;
            last_site = items[i].site;
            bool known = lua_rawgeti(L, texts, last_site) == LUA_TSTRING;
            last_code = nki_texts_code(L, t, known ? lua_tostring(L, -1) : NULL);
            lua_pop(L, 1);
        }
        codes[q] = last_code;
    }
    nki_texts_end(L, t, name);
}

// timeline:sites() -> list of the sites of the instructions, each once
int nki_timeline_sites(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    lua_newtable(L); // seen
    lua_newtable(L);
    lua_Integer n = 0;
    int32_t last = -1;
    for (size_t i = 0; i < b->s.count; i++) {
        int32_t site = b->s.machine->record.items[i].site;
        if (site == last) continue;
        last = site;
        bool seen = lua_rawgeti(L, -2, site) != LUA_TNIL;
        lua_pop(L, 1);
        if (seen) continue;
        lua_pushboolean(L, 1);
        lua_rawseti(L, -3, site);
        lua_pushinteger(L, site);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

// Loads of input regions that were loaded before, and their bytes.
static void repeated_loads(lua_State *L, const struct nki_machine *m, int64_t *loads, int64_t *bytes) {
    uint8_t *repeats = lua_newuserdatauv(L, m->record.count + 1, 0);
    if (!nki_schedule_reuse(m, 0, repeats)) luaL_error(L, "not enough memory");
    *loads = *bytes = 0;
    for (size_t i = 0; i < m->record.count; i++) {
        if (repeats[i] == NKI_LOAD_FIRST) continue;
        ++*loads;
        *bytes += (int64_t)m->record.items[i].bytes;
    }
    lua_pop(L, 1);
}

// timeline:totals() -> { opcodes = { {engine, opcode, count, ns}, ... }, hbm_read =, ..., flops =, ... }
int nki_timeline_totals(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    const struct nki_schedule *s = &b->s;
    enum { KINDS = NKI_INSTRS + 1 };
    int64_t count[NKI_TRACKS][KINDS] = {{0}};
    double ns[NKI_TRACKS][KINDS] = {{0}};
    int64_t moved[3][2] = {{0}}, sums[5] = {0}, from_psum = 0, from_psum_bytes = 0, movable = 0, again, again_bytes;
    double movable_ns = 0;
    repeated_loads(L, s->machine, &again, &again_bytes);
    EACH(b, q, i, load) {
        const struct nki_instruction *r = &s->machine->record.items[i];
        const struct nki_sched_row *row = &s->rows[i];
        int kind = load ? NKI_INSTRS : is_matmul(r) ? NKI_I_NC_MATMUL : r->op;
        count[row->track][kind]++;
        ns[row->track][kind] += load ? row->load_ns : row->active_end - row->start - row->visible_ns;
        int64_t t[3][2];
        traffic(r, !is_matmul(r) ? 0 : load ? 2 : 1, t);
        for (int w = 0; w < 3; w++)
            for (int d = 0; d < 2; d++) moved[w][d] += t[w][d];
        if (t[2][0] && t[1][1]) {
            from_psum++;
            from_psum_bytes += t[2][0];
        }
        if (nki_schedule_movable(s->machine, r)) {
            movable++;
            movable_ns += row->busy - row->start;
        }
        if (!is_matmul(r) || load) continue;
        int64_t raw, adjusted;
        operations(s->machine, r, &raw, &adjusted);
        sums[0] += raw;
        sums[1] += adjusted;
        if (r->flags & NKI_FLAG_TRANSPOSE) {
            sums[2] += raw;
            sums[3] += adjusted;
            sums[4]++;
        }
    }
    lua_createtable(L, 0, 16);
    lua_createtable(L, 16, 0);
    lua_Integer n = 0;
    for (int e = 0; e < NKI_TRACKS; e++) {
        for (int kind = 0; kind < KINDS; kind++) {
            if (!count[e][kind]) continue;
            char buffer[48];
            struct nki_instruction like = {.op = (uint8_t)kind};
            if (kind == NKI_I_NC_MATMUL) like.k = 1, like.engine = NKI_ENGINE_TENSOR;
            lua_createtable(L, 0, 4);
            lua_pushstring(L, track_names[e]);
            lua_setfield(L, -2, "engine");
            lua_pushstring(L, kind == NKI_INSTRS ? "LDWEIGHTS" : opcode(&like, buffer));
            lua_setfield(L, -2, "opcode");
            lua_pushinteger(L, count[e][kind]);
            lua_setfield(L, -2, "count");
            lua_pushnumber(L, ns[e][kind]);
            lua_setfield(L, -2, "ns");
            lua_rawseti(L, -2, ++n);
        }
    }
    lua_setfield(L, -2, "opcodes");
    const struct {
        const char *name;
        int64_t value;
    } fields[] = {{"hbm_read", moved[0][0]},
                  {"hbm_write", moved[0][1]},
                  {"sbuf_read", moved[1][0]},
                  {"sbuf_write", moved[1][1]},
                  {"psum_read", moved[2][0]},
                  {"psum_write", moved[2][1]},
                  {"flops", sums[0]},
                  {"adjusted_flops", sums[1]},
                  {"transpose_flops", sums[2]},
                  {"adjusted_transpose_flops", sums[3]},
                  {"transposes", sums[4]},
                  {"psum_read_sbuf_write_count", from_psum},
                  {"psum_read_sbuf_write_bytes", from_psum_bytes},
                  {"repeated_loads", again},
                  {"repeated_load_bytes", again_bytes},
                  {"movable", movable}};
    lua_pushnumber(L, movable_ns);
    lua_setfield(L, -2, "movable_ns");
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        lua_pushinteger(L, fields[k].value);
        lua_setfield(L, -2, fields[k].name);
    }
    return 1;
}

// timeline:instructions([{location = {[site] = text}, name = {[site] = text}}]) -> columns, one row per instruction in
// program order, LoadStationary before its matmul
int nki_timeline_instructions(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) luaL_checktype(L, 2, LUA_TTABLE);
    const struct nki_schedule *s = &b->s;
    const struct nki_instruction *items = s->machine->record.items;
    size_t n = b->rows;
    luaL_checkstack(L, 16, NULL);
    lua_createtable(L, 0, 48);
    double *start = nki_column(L, "start", DTYPE_FLOAT64, n), *finish = nki_column(L, "finish", DTYPE_FLOAT64, n);
    double *done = nki_column(L, "done", DTYPE_FLOAT64, n), *busy = nki_column(L, "busy", DTYPE_FLOAT64, n);
    double *wait = nki_column(L, "wait_ns", DTYPE_FLOAT64, n);
    double *ready = nki_column(L, "ready", DTYPE_FLOAT64, n);
    EACH(b, q, i, load) {
        const struct nki_sched_row *r = &s->rows[i];
        start[q] = load ? r->start + r->visible_ns - r->load_ns : r->start + r->visible_ns;
        finish[q] = load ? r->start + r->visible_ns : r->active_end;
        done[q] = load ? finish[q] : r->finish;
        busy[q] = load ? finish[q] : r->busy;
        wait[q] = load ? 0 : r->wait;
        ready[q] = r->ready;
    }
    nki_whole_ns(L, start, finish, n);
    int64_t *entry = nki_column(L, "entry", DTYPE_INT64, n), *site = nki_column(L, "site", DTYPE_INT64, n);
    int64_t *elements = nki_column(L, "elements", DTYPE_INT64, n), *flags = nki_column(L, "flags", DTYPE_INT64, n);
    int64_t *k = nki_column(L, "k", DTYPE_INT64, n), *m = nki_column(L, "m", DTYPE_INT64, n);
    int64_t *cols = nki_column(L, "n", DTYPE_INT64, n);
    int64_t *bytes = nki_column(L, "bytes", DTYPE_INT64, n);
    int64_t *descriptors = nki_column(L, "descriptors", DTYPE_INT64, n);
    int64_t *descriptor = nki_column(L, "descriptor_bytes", DTYPE_INT64, n);
    int64_t *predecessor = nki_column(L, "predecessor", DTYPE_INT64, n);
    double *moved = nki_column(L, "moved", DTYPE_FLOAT64, n), *moved_end = nki_column(L, "moved_end", DTYPE_FLOAT64, n);
    bool *transpose = nki_column(L, "transpose", DTYPE_BOOL, n);
    bool *is_load = nki_column(L, "load", DTYPE_BOOL, n), *throttled = nki_column(L, "throttled", DTYPE_BOOL, n);
    EACH(b, q, i, load) {
        const struct nki_instruction *r = &items[i];
        entry[q] = (int64_t)i;
        site[q] = r->site;
        elements[q] = load ? r->m : r->elements;
        flags[q] = r->flags;
        k[q] = r->k;
        m[q] = r->m;
        cols[q] = r->n;
        bytes[q] = (int64_t)r->bytes;
        if (r->bytes) {
            struct nki_dma_shape shape;
            nki_schedule_dma_shape(s->machine, r, &shape);
            descriptors[q] = (int64_t)shape.descriptors;
            descriptor[q] = shape.element;
        }
        predecessor[q] = s->rows[i].last ? (int64_t)b->row[s->rows[i].last - 1] : -1;
        moved[q] = s->rows[i].moved;
        moved_end[q] = s->rows[i].moved_end;
        transpose[q] = (r->flags & NKI_FLAG_TRANSPOSE) != 0;
        is_load[q] = load;
        throttled[q] = s->rows[i].throttled;
    }
    static const char *const memory[3][2] = {
        {"hbm_read", "hbm_write"}, {"sbuf_read", "sbuf_write"}, {"psum_read", "psum_write"}};
    int64_t *moves[3][2];
    for (int w = 0; w < 3; w++)
        for (int d = 0; d < 2; d++) moves[w][d] = nki_column(L, memory[w][d], DTYPE_INT64, n);
    int64_t *flops = nki_column(L, "flops", DTYPE_INT64, n);
    int64_t *adjusted = nki_column(L, "adjusted_flops", DTYPE_INT64, n);
    EACH(b, q, i, load) {
        const struct nki_instruction *r = &items[i];
        int64_t t[3][2];
        traffic(r, !is_matmul(r) ? 0 : load ? 2 : 1, t);
        for (int w = 0; w < 3; w++)
            for (int d = 0; d < 2; d++) moves[w][d][q] = t[w][d];
        if (is_matmul(r) && !load) operations(s->machine, r, &flops[q], &adjusted[q]);
    }
    static const char *const texts[] = {"engine", "opcode", "operands", "op",       "function",
                                        "dge",    "mode",   "type",     "variable", "kind"};
    static const char *const kinds[] = {NULL, "flow", "anti", "output", "engine", "memory"};
    for (size_t which = 0; which < sizeof texts / sizeof *texts; which++) {
        int32_t *codes;
        struct nki_texts *t = nki_texts_begin(L, texts[which], n, &codes);
        EACH(b, q, i, load) {
            const struct nki_instruction *r = &items[i];
            const struct nki_sched_row *row = &s->rows[i];
            char buffer[256];
            const char *text = NULL;
            switch (which) {
            case 0: text = track_names[row->track]; break;
            case 1: text = load ? "LDWEIGHTS" : opcode(r, buffer); break;
            case 2:
                operands_text(buffer, r, load);
                text = buffer;
                break;
            case 3: text = nki_instr_names[r->op]; break;
            case 4:
                if (row->track == NKI_TRACK_SCALAR && r->alu[0]) text = nki_ops[r->alu[0]].name;
                break;
            case 5:
                if (r->bytes) text = dge_names[r->dge & 3];
                break;
            case 6: text = row->mode == 4 ? "4x" : row->mode == 2 ? "2x" : NULL; break;
            case 7:
                if (is_matmul(r)) text = r->flags & NKI_FLAG_TRANSPOSE ? "TRANSPOSE" : "REGULAR";
                break;
            case 8:
                if (r->operands && r->region[0].storage)
                    text = nki_storage_name(s->machine, s->machine->storages[r->region[0].storage - 1], buffer);
                break;
            default: text = load ? NULL : kinds[row->last_kind]; break;
            }
            codes[q] = nki_texts_code(L, t, text);
        }
        nki_texts_end(L, t, texts[which]);
    }
    static const char *const given[] = {"location", "name"};
    for (int which = 0; which < 2 && lua_istable(L, 2); which++) {
        if (lua_getfield(L, 2, given[which]) == LUA_TTABLE) {
            lua_insert(L, -2); // beneath the result
            by_site(L, b, lua_gettop(L) - 1, given[which]);
            lua_remove(L, -2);
        } else {
            lua_pop(L, 1);
        }
    }
    return 1;
}
