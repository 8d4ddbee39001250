// SPDX-License-Identifier: MIT
// pending.c: matmuls that accumulate into one tile of PSUM, gathered and multiplied as one.
//
// A kernel sums a long contraction in steps of 128 partitions. One product of depth 512 costs less than four of depth
// 128 with their additions, and far less when the library shares each product among threads. So the operands of a
// chip-mode matmul are converted into two panels, and the product is formed when somebody looks at the tile
// (nki_lane_open), when a panel is full, or when a matmul with another destination comes. The sum is one of float32
// products in float32, as it is without this, in an order that depends on the kernel alone.
//
// Only operands that need a conversion and are used for the first time since they were written go this way: for any
// other the converted block at hand (nki_block_f32) is cheaper than a copy.
#include <stdlib.h>
#include <string.h>

#include "array/gemm.h"
#include "nki/exec.h"

#define DEPTH 512 // most partitions gathered: the panels stay in the second-level cache

static bool fresh_operand(const struct nki_view *v) {
    return nki_dtypes[v->dtype].raw != DTYPE_FLOAT32 && v->st->operand_version != v->st->version;
}

static float *room(struct nki_machine *m, float **panel, size_t *have, size_t want) {
    if (*have < want) {
        free(*panel);
        *panel = NULL;
        *have = 0;
        void *block = NULL;
        if (posix_memalign(&block, 64, want * sizeof(float)) != 0) {
            nki_fail_memory(m, false);
            return NULL;
        }
        *panel = block;
        *have = want;
    }
    return *panel;
}

static bool gather(struct nki_machine *m, const struct nki_view *v, float *to) {
    struct nki_lane l;
    if (!nki_lane_open(m, &l, v, false)) return false;
    for (int64_t p = 0; p < l.parts; p++, to += l.free) {
        const float *row = nki_lane_f32(&l, p, 0, l.free, to);
        if (row != to) memcpy(to, row, (size_t)l.free * sizeof *to);
    }
    return nki_lane_close(m, &l, false);
}

bool nki_pending_flush(struct nki_machine *m) {
    struct nki_pending *q = &m->pending;
    if (!q->st) return true;
    q->st = NULL;
    bool ok = gemm_f32(true, false, (size_t)q->rows, (size_t)q->cols, (size_t)q->depth, 1.0f, q->a, (size_t)q->rows,
                       q->b, (size_t)q->cols, q->add ? 1.0f : 0.0f, q->dst, (size_t)q->pitch);
    return ok ? true : nki_fail_memory(m, false);
}

void nki_pending_forget(struct nki_machine *m, const struct nki_storage *st) {
    if (m->pending.st == st) m->pending.st = NULL;
}

void nki_pending_close(struct nki_machine *m) {
    free(m->pending.a);
    free(m->pending.b);
    m->pending = (struct nki_pending){0};
}

bool nki_pending_add(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *s,
                     const struct nki_view *v, bool add, bool *taken) {
    struct nki_pending *q = &m->pending;
    int64_t k = s->shape[0], rows = nki_view_free_size(s), cols = nki_view_free_size(v);
    bool fresh = fresh_operand(s) && fresh_operand(v) && s->st != dst->st && v->st != dst->st;
    s->st->operand_version = s->st->version;
    v->st->operand_version = v->st->version;
    *taken = false;
    if (!fresh) return true;
    bool same = q->st == dst->st && add && q->part == dst->part && q->offset == dst->offset && q->rows == rows &&
                q->cols == cols && q->depth + k <= DEPTH;
    if (!same) {
        struct nki_lane l;
        if (!nki_pending_flush(m) || !nki_lane_open(m, &l, dst, true)) return false;
        nki_lane_close(m, &l, true);
        if (!l.direct32 || (rows > 1 && l.pitch < (ptrdiff_t)(cols * 4))) return true;
        if (!room(m, &q->a, &q->a_have, (size_t)(DEPTH * rows)) || !room(m, &q->b, &q->b_have, (size_t)(DEPTH * cols)))
            return false;
        q->part = dst->part;
        q->offset = dst->offset;
        q->rows = rows;
        q->cols = cols;
        q->depth = 0;
        q->add = add;
        q->dst = (float *)(void *)l.base;
        q->pitch = rows > 1 ? (int64_t)l.pitch / 4 : cols;
    }
    q->st = NULL; // opening an operand must not look here
    if (!gather(m, s, q->a + q->depth * rows) || !gather(m, v, q->b + q->depth * cols)) return false;
    q->depth += k;
    q->st = dst->st;
    return *taken = true;
}
