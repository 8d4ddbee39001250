// SPDX-License-Identifier: MIT
// commit.c: entering an instruction in the record: regions, live ranges, initialised areas, and what the values went
// through.
#include <string.h>

#include "nki/exec.h"

struct nki_flow *nki_flow_of(const struct nki_view *view) {
    struct nki_storage *st = view->st;
    if (st->buffer != NKI_PSUM) return &st->flow[0];
    int64_t bank = view->offset * (int64_t)nki_dtype_size(view->dtype) / 2048;
    return &st->flow[bank < 0 ? 0 : bank >= NKI_FLOWS ? NKI_FLOWS - 1 : bank];
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }
static uint32_t plus(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }

void nki_flow_merge(struct nki_flow *into, const struct nki_flow *from) {
    into->terms = larger(into->terms, from->terms);
    into->roundings = larger(into->roundings, from->roundings);
    into->depth = larger(into->depth, from->depth);
    into->narrow16 = larger(into->narrow16, from->narrow16);
    into->narrow8 = larger(into->narrow8, from->narrow8);
    into->dtypes |= from->dtypes;
    into->functions |= from->functions;
    into->bits |= from->bits;
    into->to_int |= from->to_int;
}

static void flow_through(const struct nki_use *uses, int count, const struct nki_effect *e, bool covers,
                         struct nki_flow *out) {
    struct nki_flow f = {0};
    const struct nki_view *dst = uses[0].view;
    bool from_float = false;
    for (int i = 0; i < count; i++) {
        const struct nki_use *u = &uses[i];
        if (!u->view || (u->write && !u->read_too)) continue;
        struct nki_flow g = *nki_flow_of(u->view);
        g.dtypes |= nki_bit(u->view->dtype);
        g.bits |= u->view->dtype != u->view->st->dtype;
        from_float |= nki_dtypes[u->view->dtype].is_float;
        if (e->sum || e->terms) { // products and sums of several operands: each brings its own roundings
            uint32_t roundings = plus(f.roundings, g.roundings), n16 = plus(f.narrow16, g.narrow16),
                     n8 = plus(f.narrow8, g.narrow8);
            if (!e->sum) {
                nki_flow_merge(&f, &g);
                f.roundings = roundings;
                f.narrow16 = n16;
                f.narrow8 = n8;
                continue;
            }
        }
        nki_flow_merge(&f, &g);
    }
    uint32_t terms = e->terms;
    struct nki_flow *old = nki_flow_of(dst);
    if (e->accumulate) {
        terms = plus(terms, old->terms);
        f.roundings = larger(f.roundings, old->roundings);
        f.depth = larger(f.depth, old->depth);
    }
    f.terms = larger(f.terms, terms);
    f.roundings = plus(f.roundings, plus(e->roundings, e->terms));
    f.depth = plus(f.depth, 1);
    f.dtypes |= nki_bit(dst->dtype);
    f.bits |= e->bits || dst->dtype != dst->st->dtype;
    if (from_float && nki_dtypes[dst->dtype].is_int && !e->bits) f.to_int = true;
    if (nki_dtypes[dst->dtype].is_float) {
        size_t size = nki_dtype_size(dst->dtype);
        if (size == 2) f.narrow16 = plus(f.narrow16, 1);
        if (size == 1) f.narrow8 = plus(f.narrow8, 1);
    }
    for (int i = 0; i < 3; i++)
        if (e->functions[i]) f.functions |= 1ULL << (e->functions[i] & 63);
    if (!covers) nki_flow_merge(&f, old);
    *out = f;
}

// The indices of a gather or scatter: read like any operand, though no stream of the instruction.
static void index_region(struct nki_region *region, const struct nki_view *v) {
    struct nki_view index;
    nki_view_of(&index, v->index_st);
    index.dtype = v->index_dtype;
    index.part = v->index_part;
    index.offset = v->index_offset;
    index.ndim = 2;
    index.shape[0] = v->index_count;
    index.shape[1] = v->index_cols;
    index.stride[0] = 1;
    index.stride[1] = v->index_col_stride;
    nki_region_of(region, &index, false);
    region->flags |= NKI_REGION_VECTOR;
}

struct nki_instruction *nki_commit(struct nki_machine *m, int engine, const struct nki_use *uses, int count,
                                   const struct nki_effect *effect) {
    struct nki_instruction *r = nki_record_push(&m->record);
    if (!r) {
        nki_fail_memory(m, true);
        return NULL;
    }
    uint32_t index = (uint32_t)m->record.count;
    r->op = (uint8_t)m->now;
    r->engine = (uint8_t)engine;
    r->site = m->site;
    if (m->ordered > 0) r->flags |= NKI_FLAG_ORDERED;
    m->record.totals.per_op[m->now]++;
    m->record.totals.per_engine[engine]++;
    // Reads first: a destination may be a source too.
    struct nki_flow flow;
    const struct nki_view *dst = uses[0].view;
    bool writes = uses[0].write;
    struct nki_box box;
    bool is_box = writes && nki_view_box(dst, &box);
    bool covers = is_box && box.r0 == 0 && box.c0 == 0 && box.r1 == dst->st->init.rows && box.c1 == dst->st->init.cols;
    if (writes) flow_through(uses, count, effect, covers && !effect->accumulate, &flow);
    int k = 0;
    for (int i = 0; i < count; i++) {
        const struct nki_use *u = &uses[i];
        if (!u->view) continue;
        if (k < NKI_RECORD_OPERANDS) {
            nki_region_of(&r->region[k], u->view, u->write);
            if (u->vector) r->region[k].flags |= NKI_REGION_VECTOR;
            k++;
        }
        struct nki_storage *st = u->view->st;
        if (!u->write || u->read_too) st->last_read = index;
        if (u->view->index_st) u->view->index_st->last_read = index;
    }
    for (int i = 0; i < count && k < NKI_RECORD_OPERANDS; i++) // indices are read too
        if (uses[i].view && uses[i].view->index_st) index_region(&r->region[k++], uses[i].view);
    r->operands = (uint8_t)k;
    for (int i = 0; i < count; i++) {
        const struct nki_use *u = &uses[i];
        if (!u->view || !u->write) continue;
        struct nki_storage *st = u->view->st;
        if (!st->first_write) st->first_write = index;
        if (st->last_read < index) st->last_read = index;
        if (st->input && !st->written_site) st->written_site = m->site ? m->site : -1;
        st->version++;
        if (i == 0) {
            if (!st->init.full) {
                bool ok = is_box ? nki_area_add(&st->init, &box) : nki_view_area(u->view, &st->init, NKI_AREA_ADD);
                if (!ok) {
                    nki_fail_memory(m, false);
                    return NULL;
                }
            }
            *nki_flow_of(dst) = flow;
        } else {
            if (!nki_view_area(u->view, &st->init, NKI_AREA_ADD)) {
                nki_fail_memory(m, false);
                return NULL;
            }
            nki_flow_merge(nki_flow_of(u->view), &flow);
        }
        if (st->buffer == NKI_PSUM && m->now != NKI_I_NC_MATMUL && !nki_area_is_empty(&st->matmul) &&
            !nki_view_area(u->view, &st->matmul, NKI_AREA_REMOVE)) {
            nki_fail_memory(m, false);
            return NULL;
        }
    }
    return r;
}
