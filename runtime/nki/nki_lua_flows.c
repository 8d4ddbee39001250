// SPDX-License-Identifier: MIT
// nki_lua_flows.c: the tables of a timeline between instructions: DMA packets, DMA transfers, dependences.
#include <string.h>

#include "nki/nki_lua_schedule.h"

// The HBM tensor a DMA moves; the destination's where neither side is in HBM.
static const struct nki_storage *variable_of(const struct nki_machine *m, const struct nki_instruction *r) {
    for (int i = 0; i < r->operands; i++)
        if (r->region[i].flags & NKI_REGION_HBM) return m->storages[r->region[i].storage - 1];
    return r->operands ? m->storages[r->region[0].storage - 1] : NULL;
}

static const char *queue_type(const struct nki_machine *m, const struct nki_instruction *r) {
    if (r->dge == NKI_DGE_SWDGE) return "software_dynamic";
    if (r->dge == NKI_DGE_HWDGE) return "hardware_dynamic";
    const struct nki_storage *st = variable_of(m, r);
    return !st ? "data" : st->input ? "input" : st->output ? "output" : "data";
}

static const char *const queue_names[] = {"qSyncIO0", "qSyncOut0", "qScalarIO0", "qGpSimdDynamic0"};

// Positions of transfers: record entries with bytes, in program order.
static uint32_t *number_transfers(lua_State *L, const struct nki_schedule *s, size_t *count) {
    uint32_t *id = lua_newuserdatauv(L, (s->count + 1) * sizeof *id, 0);
    *count = 0;
    for (size_t i = 0; i < s->count; i++) id[i] = s->machine->record.items[i].bytes ? (uint32_t)(*count)++ : UINT32_MAX;
    return id;
}

// timeline:packets() -> columns start, finish, engine, queue, queue_name, queue_type, bytes, descriptors, transfer,
// row, variable, read
int nki_timeline_packets(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    const struct nki_schedule *s = &b->s;
    size_t n = s->packet_count, transfers;
    luaL_checkstack(L, 16, NULL);
    uint32_t *id = number_transfers(L, s, &transfers);
    uint32_t *seen = lua_newuserdatauv(L, (transfers + 1) * sizeof *seen, 0);
    memset(seen, 0, (transfers + 1) * sizeof *seen);
    lua_createtable(L, 0, 14);
    double *start = nki_column(L, "start", DTYPE_FLOAT64, n), *finish = nki_column(L, "finish", DTYPE_FLOAT64, n);
    int64_t *engine = nki_column(L, "engine", DTYPE_INT64, n), *queue = nki_column(L, "queue", DTYPE_INT64, n);
    int64_t *bytes = nki_column(L, "bytes", DTYPE_INT64, n), *desc = nki_column(L, "descriptors", DTYPE_INT64, n);
    int64_t *transfer = nki_column(L, "transfer", DTYPE_INT64, n), *row = nki_column(L, "row", DTYPE_INT64, n);
    int64_t *index = nki_column(L, "index", DTYPE_INT64, n);
    for (size_t i = 0; i < n; i++) {
        const struct nki_packet *p = &s->packets[i];
        start[i] = p->start;
        finish[i] = p->finish;
        engine[i] = p->engine;
        queue[i] = p->queue;
        bytes[i] = (int64_t)p->bytes;
        desc[i] = p->descriptors;
        transfer[i] = id[p->row];
        row[i] = b->row[p->row];
        index[i] = seen[id[p->row]]++;
    }
    nki_whole_ns(L, start, finish, n);
    static const char *const texts[] = {"queue_name", "queue_type", "variable"};
    for (int which = 0; which < 3; which++) {
        int32_t *codes;
        struct nki_texts *t = nki_texts_begin(L, texts[which], n, &codes);
        for (size_t i = 0; i < n; i++) {
            const struct nki_packet *p = &s->packets[i];
            const struct nki_instruction *r = &s->machine->record.items[p->row];
            char buffer[48];
            const char *text = which == 0   ? queue_names[p->queue & 3]
                               : which == 1 ? queue_type(s->machine, r)
                                            : nki_storage_name(s->machine, variable_of(s->machine, r), buffer);
            codes[i] = nki_texts_code(L, t, text);
        }
        nki_texts_end(L, t, texts[which]);
    }
    return 1;
}

static const char *place(const struct nki_machine *m, const struct nki_region *g, bool source) {
    if (!(g->flags & NKI_REGION_HBM)) return "[[SB]]";
    const struct nki_storage *st = m->storages[g->storage - 1];
    return st->input ? (source ? "[[INPUT]]" : "[INPUT]") : st->output ? "[OUTPUT]" : "[INTERNAL]";
}

static void side_text(char out[64], const struct nki_region *g, int what) {
    out[0] = 0;
    bool hbm = g->flags & NKI_REGION_HBM;
    switch (what) {
    case 0:
        if (!hbm && g->parts == 1) snprintf(out, 64, "%u", g->part);
        if (!hbm && g->parts > 1) snprintf(out, 64, "%u-%u", g->part, (unsigned)g->part + g->parts - 1);
        return;
    case 1:
        snprintf(out, 64, hbm ? "[%u, %u]" : "[%u, %u]", hbm ? g->rows : g->parts,
                 hbm ? (unsigned)(g->run / (nki_dtype_size(g->dtype) ? nki_dtype_size(g->dtype) : 1)) : g->elements);
        return;
    case 2: snprintf(out, 64, "[%llu]", (unsigned long long)g->offset); return;
    default:
        snprintf(out, 64, "[%u]", (unsigned)(g->stride / (nki_dtype_size(g->dtype) ? nki_dtype_size(g->dtype) : 1)));
    }
}

// timeline:transfers() -> columns, one row per DMA instruction
int nki_timeline_transfers(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    const struct nki_schedule *s = &b->s;
    const struct nki_machine *machine = s->machine;
    size_t n;
    luaL_checkstack(L, 16, NULL);
    number_transfers(L, s, &n);
    uint32_t *of = lua_newuserdatauv(L, (n + 1) * sizeof *of, 0);
    size_t at = 0;
    for (size_t i = 0; i < s->count; i++)
        if (machine->record.items[i].bytes) of[at++] = (uint32_t)i;
    lua_createtable(L, 0, 36);
    double *start = nki_column(L, "start", DTYPE_FLOAT64, n), *finish = nki_column(L, "finish", DTYPE_FLOAT64, n);
    double *trigger = nki_column(L, "trigger", DTYPE_FLOAT64, n);
    double *completion = nki_column(L, "completion", DTYPE_FLOAT64, n);
    int64_t *row = nki_column(L, "row", DTYPE_INT64, n), *queue = nki_column(L, "queue", DTYPE_INT64, n);
    int64_t *bytes = nki_column(L, "bytes", DTYPE_INT64, n), *read = nki_column(L, "read_bytes", DTYPE_INT64, n);
    int64_t *write = nki_column(L, "write_bytes", DTYPE_INT64, n);
    int64_t *descriptors = nki_column(L, "descriptors", DTYPE_INT64, n);
    int64_t *element = nki_column(L, "descriptor_bytes", DTYPE_INT64, n);
    int64_t *engines = nki_column(L, "engines", DTYPE_INT64, n);
    int64_t *read_parts = nki_column(L, "read_parts", DTYPE_INT64, n);
    int64_t *write_parts = nki_column(L, "write_parts", DTYPE_INT64, n);
    bool *transpose = nki_column(L, "transpose", DTYPE_BOOL, n);
    for (size_t i = 0; i < n; i++) {
        const struct nki_instruction *r = &machine->record.items[of[i]];
        const struct nki_sched_row *t = &s->rows[of[i]];
        struct nki_dma_shape shape;
        nki_schedule_dma_shape(machine, r, &shape);
        start[i] = t->moved;
        finish[i] = t->moved_end;
        trigger[i] = t->start;
        completion[i] = t->finish;
        row[i] = b->row[of[i]];
        queue[i] = t->queue;
        bytes[i] = (int64_t)r->bytes;
        for (int k = 0; k < r->operands; k++) {
            int64_t moved = (int64_t)nki_region_bytes(&r->region[k]);
            *(r->region[k].flags & NKI_REGION_WRITE ? &write[i] : &read[i]) += moved;
        }
        descriptors[i] = (int64_t)shape.descriptors;
        element[i] = shape.element;
        engines[i] = shape.engines;
        read_parts[i] = r->operands > 1 ? r->region[1].parts : 0;
        write_parts[i] = r->region[0].parts;
        transpose[i] = (r->flags & NKI_FLAG_TRANSPOSE) != 0;
    }
    nki_whole_ns(L, start, finish, n);
    static const char *const texts[] = {"queue_name",   "queue_type", "variable",         "op",
                                        "source",       "dest",       "read_partitions",  "read_shape",
                                        "read_offset",  "read_steps", "write_partitions", "write_shape",
                                        "write_offset", "write_steps"};
    for (int which = 0; which < 14; which++) {
        int32_t *codes;
        struct nki_texts *t = nki_texts_begin(L, texts[which], n, &codes);
        for (size_t i = 0; i < n; i++) {
            const struct nki_instruction *r = &machine->record.items[of[i]];
            const struct nki_region *dst = &r->region[0], *src = &r->region[r->operands > 1 ? 1 : 0];
            char buffer[64];
            const char *text = buffer;
            switch (which) {
            case 0: text = queue_names[s->rows[of[i]].queue & 3]; break;
            case 1: text = queue_type(machine, r); break;
            case 2: text = nki_storage_name(machine, variable_of(machine, r), buffer); break;
            case 3: text = nki_instr_names[r->op]; break;
            case 4: text = place(machine, src, true); break;
            case 5: text = place(machine, dst, false); break;
            default: side_text(buffer, which < 10 ? src : dst, (which - 6) % 4); break;
            }
            codes[i] = nki_texts_code(L, t, text);
        }
        nki_texts_end(L, t, texts[which]);
    }
    return 1;
}

// timeline:flows() -> columns in_id, out_id (rows, or transfers), in_transfer, out_transfer (bool), kind, gap_ns: every
// dependence, each DMA's trigger, and waits for room
int nki_timeline_flows(lua_State *L) {
    struct nki_box_schedule *b = nki_check_schedule(L);
    const struct nki_schedule *s = &b->s;
    size_t transfers;
    luaL_checkstack(L, 16, NULL);
    uint32_t *id = number_transfers(L, s, &transfers);
    size_t n = (size_t)s->first[s->count] + transfers;
    for (size_t i = 0; i < s->count; i++) n += s->rows[i].last_kind == NKI_DEP_MEMORY && s->rows[i].last;
    lua_createtable(L, 0, 8);
    int64_t *in = nki_column(L, "in_id", DTYPE_INT64, n), *out = nki_column(L, "out_id", DTYPE_INT64, n);
    bool *in_transfer = nki_column(L, "in_transfer", DTYPE_BOOL, n);
    bool *out_transfer = nki_column(L, "out_transfer", DTYPE_BOOL, n);
    double *gap = nki_column(L, "gap_ns", DTYPE_FLOAT64, n);
    static const char *const kinds[] = {"DGE_TRIGGER",       "FLOW_DEPENDENCE", "ANTI_DEPENDENCE",
                                        "OUTPUT_DEPENDENCE", "SBUF_CAPACITY",   "PSUM_CAPACITY"};
    int32_t *codes;
    struct nki_texts *t = nki_texts_begin(L, "kind", n, &codes);
    for (int k = 0; k < 6; k++) nki_texts_code(L, t, kinds[k]);
    size_t at = 0;
    for (size_t i = 0; i < s->count; i++) {
        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++, at++) {
            uint32_t from = s->edges[k].from;
            in_transfer[at] = id[from] != UINT32_MAX;
            in[at] = in_transfer[at] ? (int64_t)id[from] : (int64_t)b->row[from];
            out[at] = b->row[i];
            double waited = s->rows[i].start - s->rows[from].finish;
            gap[at] = waited > 0 ? waited : 0;
            codes[at] = s->edges[k].kind <= NKI_DEP_OUTPUT ? s->edges[k].kind : 1;
        }
        if (s->rows[i].last_kind == NKI_DEP_MEMORY && s->rows[i].last) { // waited for room: who gave it
            uint32_t from = s->rows[i].last - 1;
            in_transfer[at] = id[from] != UINT32_MAX;
            in[at] = in_transfer[at] ? (int64_t)id[from] : (int64_t)b->row[from];
            out[at] = b->row[i];
            double waited = s->rows[i].start - s->rows[from].finish;
            gap[at] = waited > 0 ? waited : 0;
            codes[at++] = s->machine->record.items[i].region[0].flags & NKI_REGION_PSUM ? 5 : 4;
        }
        if (id[i] == UINT32_MAX) continue;
        in[at] = b->row[i];
        out[at] = id[i];
        out_transfer[at] = true;
        gap[at] = s->rows[i].moved - s->rows[i].busy;
        codes[at++] = 0;
    }
    nki_texts_end(L, t, "kind");
    return 1;
}
