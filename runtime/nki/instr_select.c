// SPDX-License-Identifier: MIT
// instr_select.c: instructions about positions: iota, affine_select, range_select, select_reduce, nc_n_gather,
// nc_stream_shuffle, and constants placed in memory when the kernel is loaded.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "nki/exec.h"

// The affine value of each element of a row, in 32-bit arithmetic that wraps.
static void affine_row(const struct nki_affine *a, int64_t p, int64_t start, int64_t n, int64_t *out) {
    int64_t at[4], rest = start;
    for (int d = a->count - 1; d >= 0; d--) {
        at[d] = rest % a->num[d];
        rest /= a->num[d];
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t v = a->offset + p * a->channel_multiplier;
        for (int d = 0; d < a->count; d++) v += at[d] * a->step[d];
        out[i] = (int32_t)(uint32_t)(uint64_t)v;
        for (int d = a->count - 1; d >= 0 && ++at[d] == a->num[d]; d--) at[d] = 0;
    }
}

static bool check_pattern(struct nki_machine *m, const struct nki_use *dst, const struct nki_affine *a) {
    int64_t n = 1;
    for (int d = 0; d < a->count; d++) n = n > INT32_MAX ? n : n * a->num[d];
    int64_t free_size = nki_view_free_size(dst->view);
    if (n == free_size) return true;
    nki_fail(&m->err, "pattern-size", "the pattern makes %" PRId64 " values per partition, %s has %" PRId64 " elements",
             n, dst->name, free_size);
    nki_error_view(&m->err, dst->name, dst->view);
    nki_error_value(&m->err, "pattern", "%" PRId64 " values", n);
    nki_error_want(&m->err, "%" PRId64, free_size);
    nki_error_got(&m->err, "%" PRId64, n);
    return false;
}

bool nki_iota(struct nki_machine *m, const struct nki_view *dst, const struct nki_affine *a) {
    nki_begin(m, NKI_I_IOTA);
    struct nki_use u[1] = {{.name = "dst", .view = dst, .write = true}};
    if (!nki_check(m, u, 1) || !check_pattern(m, &u[0], a)) return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_GPSIMD, u, 1, &e);
    if (!r) return false;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (!m->execute) return true;
    struct nki_lane l;
    if (!nki_lane_open(m, &l, dst, true)) return false;
    for (int64_t p = 0; p < l.parts; p++) {
        for (int64_t s = 0; s < l.free; s += NKI_CHUNK) {
            int64_t n = l.free - s < NKI_CHUNK ? l.free - s : NKI_CHUNK, v[NKI_CHUNK];
            affine_row(a, p, s, n, v);
            nki_lane_put_i64(&l, p, s, n, v);
        }
    }
    return nki_lane_close(m, &l, true);
}

static bool compare(enum nki_op op, double a, double b) {
    switch (op) {
    case NKI_OP_EQUAL: return a == b;
    case NKI_OP_NOT_EQUAL: return a != b;
    case NKI_OP_LESS: return a < b;
    case NKI_OP_LESS_EQUAL: return a <= b;
    case NKI_OP_GREATER: return a > b;
    default: return a >= b;
    }
}

static bool is_compare(enum nki_op op) { return op >= NKI_OP_EQUAL && op <= NKI_OP_GREATER_EQUAL; }

// Write chosen values: bit by bit where the types are equal, so that selected integers stay exact.
static void put_chosen(struct nki_machine *m, const struct nki_lane *dst, int64_t p, int64_t s, int64_t n,
                       const double *v) {
    if (m->mode == NKI_EXACT || !dtype_is_float(dst->type)) {
        nki_lane_put_f64(dst, p, s, n, v);
        return;
    }
    float f[NKI_CHUNK];
    for (int64_t i = 0; i < n; i++) f[i] = (float)v[i];
    nki_lane_put_f32(dst, p, s, n, f);
}

bool nki_affine_select(struct nki_machine *m, const struct nki_view *dst, const struct nki_affine *a,
                       const struct nki_view *on_true, double on_false, enum nki_op cmp) {
    nki_begin(m, NKI_I_AFFINE_SELECT);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "on_true_tile", .view = on_true}};
    if (!nki_check(m, u, 2)) return false;
    if (!is_compare(cmp)) return nki_fail_op(m, "cmp_op", cmp, "a comparison");
    if (!nki_need_same_size(m, &u[1], &u[0]) || !check_pattern(m, &u[0], a) || !nki_check_initialised(m, u, 2))
        return false;
    struct nki_effect e = {.moves = true, .functions = {cmp}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_GPSIMD, u, 2, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)cmp;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (!m->execute) return true;
    struct nki_lane in, out;
    if (!nki_lane_open(m, &in, on_true, false) || (nki_overlap(dst, on_true) && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    for (int64_t p = 0; p < out.parts; p++) {
        for (int64_t s = 0; s < out.free; s += NKI_CHUNK) {
            int64_t n = out.free - s < NKI_CHUNK ? out.free - s : NKI_CHUNK, v[NKI_CHUNK];
            double x[NKI_CHUNK], z[NKI_CHUNK];
            affine_row(a, p, s, n, v);
            const double *t = nki_lane_f64(&in, p, s, n, x);
            for (int64_t i = 0; i < n; i++) z[i] = compare(cmp, (double)v[i], 0.0) ? t[i] : on_false;
            put_chosen(m, &out, p, s, n, z);
        }
    }
    nki_lane_close(m, &in, false);
    return nki_lane_close(m, &out, true);
}

// Fold a row of chosen values into the Vector Engine's registers.
static void fold_max(struct nki_machine *m, int64_t p, int64_t n, const double *v) {
    m->dve_acc[p] = nki_reduce_combine(NKI_OP_MAXIMUM, m->dve_acc[p], nki_row_reduce_f64(NKI_OP_MAXIMUM, n, v), true);
}

bool nki_range_select_op(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *on_true,
                         const struct nki_range_select *o) {
    nki_begin(m, NKI_I_RANGE_SELECT);
    struct nki_use u[4] = {{.name = "dst", .view = dst, .write = true},
                           {.name = "on_true_tile", .view = on_true},
                           {.name = "bound0", .view = o->bound0, .vector = true},
                           {.name = "bound1", .view = o->bound1, .vector = true}};
    if (!nki_check(m, u, 4)) return false;
    if (!is_compare(o->op0) || o->op0 == NKI_OP_NOT_EQUAL)
        return nki_fail_op(m, "comp_op0", o->op0, "equal, less, less_equal, greater or greater_equal");
    if (!is_compare(o->op1) || o->op1 == NKI_OP_NOT_EQUAL)
        return nki_fail_op(m, "comp_op1", o->op1, "equal, less, less_equal, greater or greater_equal");
    if (!nki_need_same_size(m, &u[1], &u[0]) || !nki_need_vector(m, &u[1], &u[2], "operand-not-vector") ||
        !nki_need_vector(m, &u[1], &u[3], "operand-not-vector"))
        return false;
    if (o->on_false > -3.4028234e38) {
        nki_fail(&m->err, "value-type", "on_false_value must be the lowest float32, -3.4028235e+38");
        nki_error_value(&m->err, "on_false_value", "%g", o->on_false);
        nki_error_want(&m->err, "-3.4028235e+38");
        return false;
    }
    if (o->reduce_res) {
        struct nki_use res = {.name = "reduce_res", .view = o->reduce_res, .write = true};
        if (!nki_check(m, &res, 1) || !nki_need_vector(m, &u[1], &res, "operand-not-vector")) return false;
    }
    if (!nki_vector_reduce_check(m, o->cmd, o->reduce_res) || !nki_check_initialised(m, u, 4)) return false;
    struct nki_effect e = {.moves = true, .functions = {o->op0, o->op1, NKI_OP_MAXIMUM}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 4, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)o->op0;
    r->alu[1] = (uint8_t)o->op1;
    r->elements = (uint32_t)nki_view_free_size(dst);
    struct nki_value none = {.kind = NKI_ABSENT};
    if (!nki_vector_reduce_begin(m, o->cmd, NKI_OP_MAXIMUM, &none)) return false;
    nki_flow_merge(&m->dve_flow, nki_flow_of(dst));
    if (m->execute) {
        struct nki_lane in, out, low, high;
        if (!nki_lane_open(m, &in, on_true, false) || (nki_overlap(dst, on_true) && !nki_lane_detach(m, &in)) ||
            !nki_lane_open(m, &low, o->bound0, false) || !nki_lane_open(m, &high, o->bound1, false) ||
            !nki_lane_open(m, &out, dst, true))
            return false;
        for (int64_t p = 0; p < out.parts; p++) {
            double b0, b1;
            b0 = *nki_lane_f64(&low, p, 0, 1, &b0);
            b1 = *nki_lane_f64(&high, p, 0, 1, &b1);
            for (int64_t s = 0; s < out.free; s += NKI_CHUNK) {
                int64_t n = out.free - s < NKI_CHUNK ? out.free - s : NKI_CHUNK;
                double x[NKI_CHUNK], z[NKI_CHUNK];
                const double *t = nki_lane_f64(&in, p, s, n, x);
                for (int64_t i = 0; i < n; i++) {
                    double at = (double)(float)(o->start + s + i);
                    z[i] = compare(o->op0, at, b0) && compare(o->op1, at, b1) ? t[i] : o->on_false;
                }
                if (o->cmd != NKI_IDLE) fold_max(m, p, n, z);
                put_chosen(m, &out, p, s, n, z);
            }
        }
        nki_lane_close(m, &in, false);
        nki_lane_close(m, &low, false);
        nki_lane_close(m, &high, false);
        nki_lane_close(m, &out, true);
    }
    return nki_vector_reduce_end(m, o->reduce_res, false);
}

bool nki_select_reduce(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *predicate,
                       const struct nki_view *on_true, const struct nki_value *on_false,
                       const struct nki_view *reduce_res, enum nki_reduce_cmd cmd, bool reverse) {
    nki_begin(m, NKI_I_SELECT_REDUCE);
    struct nki_use u[4] = {
        {.name = "dst", .view = dst, .write = true},
        {.name = "predicate", .view = predicate},
        {.name = "on_true", .view = on_true},
        {.name = "on_false", .view = on_false->kind == NKI_VIEW ? on_false->view : NULL, .vector = true}};
    if (!nki_check(m, u, 4) || !nki_need_same_size(m, &u[2], &u[1]) || !nki_need_same_size(m, &u[2], &u[0]) ||
        !nki_need_not_both_psum(m, &u[2], &u[1]))
        return false;
    uint32_t allowed = (nki_dtype_mask_float() | nki_dtype_mask_int()) &
                       ~(nki_bit(DTYPE_TFLOAT32) | nki_bit(DTYPE_INT32) | nki_bit(DTYPE_UINT32));
    if (!nki_need_dtype(m, &u[2], allowed, "operand-dtype", "any type but tfloat32, int32 and uint32")) return false;
    if (u[3].view && !nki_need_vector(m, &u[2], &u[3], "operand-not-vector")) return false;
    if (reduce_res) {
        struct nki_use res = {.name = "reduce_res", .view = reduce_res, .write = true};
        if (!nki_check(m, &res, 1) || !nki_need_vector(m, &u[2], &res, "operand-not-vector")) return false;
    }
    if (!nki_vector_reduce_check(m, cmd, reduce_res) || !nki_check_initialised(m, u, 4)) return false;
    struct nki_effect e = {.moves = true, .functions = {NKI_OP_MAXIMUM}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 4, &e);
    if (!r) return false;
    r->elements = (uint32_t)nki_view_free_size(dst);
    struct nki_value none = {.kind = NKI_ABSENT};
    if (!nki_vector_reduce_begin(m, cmd, NKI_OP_MAXIMUM, &none)) return false;
    nki_flow_merge(&m->dve_flow, nki_flow_of(dst));
    if (m->execute) {
        struct nki_lane in, mask, out, other;
        if (!nki_lane_open(m, &in, on_true, false) || (nki_overlap(dst, on_true) && !nki_lane_detach(m, &in)) ||
            !nki_lane_open(m, &mask, predicate, false) || (nki_overlap(dst, predicate) && !nki_lane_detach(m, &mask)) ||
            (u[3].view && (!nki_lane_open(m, &other, on_false->view, false) || !nki_lane_detach(m, &other))) ||
            !nki_lane_open(m, &out, dst, true))
            return false;
        for (int64_t p = 0; p < out.parts; p++) {
            double f = on_false->number;
            if (u[3].view) f = *nki_lane_f64(&other, p, 0, 1, &f);
            for (int64_t s = 0; s < out.free; s += NKI_CHUNK) {
                int64_t n = out.free - s < NKI_CHUNK ? out.free - s : NKI_CHUNK;
                double x[NKI_CHUNK], z[NKI_CHUNK];
                int32_t keep[NKI_CHUNK];
                const double *t = nki_lane_f64(&in, p, s, n, x);
                nki_lane_bits(&mask, p, s, n, keep);
                for (int64_t i = 0; i < n; i++) z[i] = (keep[i] != 0) != reverse ? t[i] : f;
                if (cmd != NKI_IDLE) fold_max(m, p, n, z);
                put_chosen(m, &out, p, s, n, z);
            }
        }
        nki_lane_close(m, &in, false);
        nki_lane_close(m, &mask, false);
        if (u[3].view) nki_lane_close(m, &other, false);
        nki_lane_close(m, &out, true);
    }
    return nki_vector_reduce_end(m, reduce_res, false);
}

bool nki_n_gather(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                  const struct nki_view *indices) {
    nki_begin(m, NKI_I_NC_N_GATHER);
    struct nki_use u[3] = {{.name = "dst", .view = dst, .write = true},
                           {.name = "data", .view = data},
                           {.name = "indices", .view = indices}};
    if (!nki_check(m, u, 3) || !nki_need_same_size(m, &u[2], &u[0]) || !nki_need_partitions(m, &u[1], &u[0]) ||
        !nki_need_same_dtype(m, &u[0], &u[1]) || !nki_check_initialised(m, u, 3))
        return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_GPSIMD, u, 3, &e);
    if (!r) return false;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (!m->execute) return true;
    struct nki_lane in, at, out;
    if (!nki_lane_open(m, &in, data, false) || (dst->st == data->st && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &at, indices, false) || (dst->st == indices->st && !nki_lane_detach(m, &at)) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    bool ok = true;
    for (int64_t p = 0; ok && p < out.parts; p++) {
        for (int64_t i = 0; ok && i < out.free; i++) {
            int64_t k, bits;
            nki_lane_i64(&at, p, i, 1, &k);
            if (k < 0 || k >= in.free) {
                nki_fail(&m->err, "out-of-bounds",
                         "index %" PRId64 " of partition %" PRId64 " is outside data's %" PRId64 " elements", k, p,
                         in.free);
                nki_error_view(&m->err, "data", data);
                nki_error_view(&m->err, "indices", indices);
                nki_error_want(&m->err, "0 <= index < %" PRId64, in.free);
                nki_error_got(&m->err, "%" PRId64, k);
                nki_error_limit(&m->err, in.free);
                ok = false;
            } else if (dtype_is_float(in.type)) {
                double x;
                x = *nki_lane_f64(&in, p, k, 1, &x);
                nki_lane_put_f64(&out, p, i, 1, &x);
            } else {
                nki_lane_i64(&in, p, k, 1, &bits);
                nki_lane_put_i64(&out, p, i, 1, &bits);
            }
        }
    }
    nki_lane_close(m, &in, false);
    nki_lane_close(m, &at, false);
    nki_lane_close(m, &out, true);
    return ok;
}

bool nki_stream_shuffle(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src,
                        const int64_t *mask) {
    nki_begin(m, NKI_I_NC_STREAM_SHUFFLE);
    bool keeps = false;
    for (int i = 0; i < 32; i++) {
        keeps = keeps || mask[i] == 255;
        if ((mask[i] >= 0 && mask[i] < 32) || mask[i] == 255) continue;
        nki_fail(&m->err, "value-type", "shuffle_mask[%d] is %" PRId64, i, mask[i]);
        nki_error_value(&m->err, "shuffle_mask", "%" PRId64, mask[i]);
        nki_error_want(&m->err, "0 to 31, or 255");
        return false;
    }
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "src", .view = src}};
    if (!nki_check(m, u, 2) || !nki_need_same_dtype(m, &u[0], &u[1])) return false;
    struct nki_view one = *src;
    one.shape[0] = dst->shape[0];
    struct nki_use like = {.name = "src", .view = &one};
    if (!nki_need_same_size(m, &like, &u[0]) || !nki_check_initialised(m, u, 2)) return false;
    u[0].read_too = keeps;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 2, &e);
    if (!r) return false;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (!m->execute) return true;
    struct nki_lane in, out;
    if (!nki_lane_open(m, &in, src, false) || (dst->st == src->st && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    for (int64_t p = 0; p < out.parts; p++) {
        int64_t from = mask[p % 32] == 255 ? -1 : p / 32 * 32 + mask[p % 32];
        if (from < 0 || from >= in.parts) continue;
        struct nki_lane row = in, to = out;
        row.base += in.pitch * from;
        to.base += out.pitch * p;
        nki_lane_copy(&to, &row, 0);
    }
    nki_lane_close(m, &in, false);
    return nki_lane_close(m, &out, true);
}

bool nki_constant(struct nki_machine *m, const struct nki_view *dst, bool identity) {
    nki_begin(m, NKI_I_CONSTANT);
    struct nki_use u[1] = {{.name = "dst", .view = dst, .write = true}};
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_DMA, u, 1, &e);
    if (!r) return false;
    r->elements = (uint32_t)nki_view_size(dst);
    if (!m->execute || !identity) return true;
    struct nki_lane l;
    if (!nki_lane_open(m, &l, dst, true)) return false;
    for (int64_t p = 0; p < l.parts; p++)
        for (int64_t i = 0; i < l.free; i++) {
            double x = i == p ? 1.0 : 0.0;
            nki_lane_put_f64(&l, p, i, 1, &x);
        }
    return nki_lane_close(m, &l, true);
}
