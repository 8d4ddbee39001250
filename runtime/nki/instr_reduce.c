// SPDX-License-Identifier: MIT
// instr_reduce.c: tensor_reduce, tensor_partition_reduce, tensor_tensor_scan, tensor_scalar_cumulative,
// bn_stats and bn_aggr.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "nki/exec.h"

static bool fail_axis(struct nki_machine *m, const char *code, const struct nki_view *data, const int64_t *axes,
                      int count, const char *why) {
    char text[96];
    nki_fail(&m->err, code, "%s", why);
    nki_error_view(&m->err, "data", data);
    nki_error_value(&m->err, "axis", "%s", nki_shape_text(text, axes, count < NKI_MAX_DIMS ? count : NKI_MAX_DIMS));
    nki_error_want(&m->err, "the last free dimensions, ending at %d", data->ndim - 1);
    nki_error_got(&m->err, "%s", text);
    return false;
}

// Reduction of one run of a row.
static void reduce_bits(enum nki_op op, int64_t n, const int32_t *a, int32_t *acc, bool first) {
    for (int64_t i = 0; i < n; i++) {
        if (first && i == 0)
            *acc = a[0];
        else
            kernels()->binary[ROW_I32][nki_ops[op].binary](1, acc, acc, 1, &a[i], 1);
    }
}

bool nki_tensor_reduce(struct nki_machine *m, const struct nki_view *dst, enum nki_op op, const struct nki_view *data,
                       const int64_t *axes, int axis_count, bool negate, bool keepdims) {
    (void)keepdims; // a shape only: the number of elements per partition is what is checked
    nki_begin(m, NKI_I_TENSOR_REDUCE);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "data", .view = data}};
    if (!nki_check(m, u, 2)) return false;
    if (!nki_need_op(m, "op", op, NKI_OPF_REDUCE, "a reduction operator")) return false;
    bool bits = m->op_flags[op] & NKI_OPF_BITVEC;
    unsigned gone = 0;
    int64_t reduced = 1;
    for (int i = 0; i < axis_count; i++) {
        int64_t a = axes[i] < 0 ? axes[i] + data->ndim : axes[i];
        if (a == 0)
            return fail_axis(m, "axis-not-free", data, axes, axis_count,
                             "axis 0 is the partition dimension, which this instruction cannot reduce");
        if (a < 0 || a >= data->ndim || gone & 1u << a)
            return fail_axis(m, "axis-not-trailing", data, axes, axis_count, "no such axis, or one named twice");
        gone |= 1u << a;
        reduced *= data->shape[a];
    }
    for (int d = data->ndim - 1, left = axis_count; left > 0; d--, left--)
        if (!(gone & 1u << d))
            return fail_axis(m, "axis-not-trailing", data, axes, axis_count,
                             "the reduced axes must be the last ones, without a gap");
    if (axis_count == 0) return fail_axis(m, "axis-not-trailing", data, axes, axis_count, "no axis to reduce");
    int64_t kept = nki_view_free_size(data) / reduced;
    if (!nki_need_partitions(m, &u[1], &u[0])) return false;
    if (nki_view_free_size(dst) != kept) {
        nki_fail(&m->err, "free-size-mismatch",
                 "the reduction leaves %" PRId64 " elements per partition, dst has %" PRId64, kept,
                 nki_view_free_size(dst));
        nki_error_view(&m->err, "dst", dst);
        nki_error_view(&m->err, "data", data);
        nki_error_want(&m->err, "%" PRId64, kept);
        nki_error_got(&m->err, "%" PRId64, nki_view_free_size(dst));
        return false;
    }
    if (bits) {
        for (int i = 0; i < 2; i++)
            if (!nki_need_dtype(m, &u[i], nki_dtype_mask_int(), "operand-dtype",
                                "an integer type for a bitwise operator"))
                return false;
        if (negate) return nki_fail_op(m, "op", op, "an arithmetic operator, which negate=True needs");
    }
    if (!nki_check_initialised(m, u, 2)) return false;
    bool sums = op == NKI_OP_ADD || op == NKI_OP_SUBTRACT || op == NKI_OP_MULTIPLY;
    struct nki_effect e = {.terms = sums ? (uint32_t)reduced : 0, .sum = true, .bits = bits, .functions = {op}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 2, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)op;
    r->flags |= NKI_FLAG_REDUCES;
    r->elements = (uint32_t)nki_view_free_size(data);
    if (!m->execute) return true;
    struct nki_lane in, out;
    if (!nki_lane_open(m, &in, data, false) || (nki_overlap(dst, data) && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    // As many whole runs at a time as fit a chunk; longer runs in pieces.
    enum nki_op later = op == NKI_OP_SUBTRACT ? NKI_OP_ADD : op; // a - b - c = a - (b + c)
    int64_t runs = reduced >= NKI_CHUNK ? 1 : NKI_CHUNK / reduced;
    for (int64_t p = 0; p < in.parts; p++) {
        for (int64_t o = 0; o < kept; o += runs) {
            int64_t n = kept - o < runs ? kept - o : runs;
            float f32[NKI_CHUNK], res32[NKI_CHUNK];
            double f64[NKI_CHUNK], res64[NKI_CHUNK];
            int32_t i32[NKI_CHUNK], res_bits[NKI_CHUNK];
            for (int64_t at = 0; at < reduced; at += NKI_CHUNK) {
                int64_t len = reduced - at < NKI_CHUNK ? reduced - at : NKI_CHUNK;
                int64_t load = runs == 1 ? len : n * reduced;
                if (bits) nki_lane_bits(&in, p, o * reduced + at, load, i32);
                const float *row32 =
                    bits || m->mode == NKI_EXACT ? NULL : nki_lane_f32(&in, p, o * reduced + at, load, f32);
                const double *row64 =
                    bits || m->mode != NKI_EXACT ? NULL : nki_lane_f64(&in, p, o * reduced + at, load, f64);
                for (int64_t k = 0; k < n; k++) {
                    if (bits) {
                        reduce_bits(op, len, i32 + k * reduced, &res_bits[k], at == 0);
                    } else if (row64) {
                        double x = nki_row_reduce_f64(at ? later : op, len, row64 + k * reduced);
                        res64[k] = at == 0 ? x : nki_reduce_combine(op, res64[k], x, true);
                    } else {
                        double x = nki_row_reduce_f32(at ? later : op, len, row32 + k * reduced);
                        res32[k] = at == 0 ? (float)x : (float)nki_reduce_combine(op, (double)res32[k], x, false);
                    }
                }
            }
            if (bits) {
                nki_lane_put_bits(&out, p, o, n, res_bits);
            } else if (m->mode == NKI_EXACT) {
                for (int64_t k = 0; negate && k < n; k++) res64[k] = -res64[k];
                nki_lane_put_f64(&out, p, o, n, res64);
            } else {
                for (int64_t k = 0; negate && k < n; k++) res32[k] = -res32[k];
                nki_lane_put_f32(&out, p, o, n, res32);
            }
        }
    }
    nki_lane_close(m, &in, false);
    return nki_lane_close(m, &out, true);
}

bool nki_partition_reduce(struct nki_machine *m, const struct nki_view *dst, enum nki_op op,
                          const struct nki_view *data) {
    nki_begin(m, NKI_I_TENSOR_PARTITION_REDUCE);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "data", .view = data}};
    if (!nki_check(m, u, 2)) return false;
    bool bits = op == NKI_OP_BITWISE_OR || op == NKI_OP_BITWISE_AND;
    if (op != NKI_OP_ADD && op != NKI_OP_AVERAGE && op != NKI_OP_MAXIMUM && op != NKI_OP_MAX && !bits)
        return nki_fail_op(m, "op", op, "add, average, maximum, bitwise_or or bitwise_and");
    struct nki_view one = *data;
    one.shape[0] = 1;
    struct nki_use want = {.name = "data", .view = &one};
    if (!nki_need_same_size(m, &want, &u[0]) || !nki_check_initialised(m, u, 2)) return false;
    if (bits)
        for (int i = 0; i < 2; i++)
            if (!nki_need_dtype(m, &u[i], nki_dtype_mask_int(), "operand-dtype",
                                "an integer type for a bitwise operator"))
                return false;
    struct nki_effect e = {.terms = (uint32_t)data->shape[0], .sum = true, .bits = bits, .functions = {op}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_GPSIMD, u, 2, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)op;
    r->elements = (uint32_t)nki_view_free_size(data);
    if (!m->execute) return true;
    struct nki_lane in, out;
    if (!nki_lane_open(m, &in, data, false) || (nki_overlap(dst, data) && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    enum nki_op step = op == NKI_OP_AVERAGE ? NKI_OP_ADD : op == NKI_OP_MAX ? NKI_OP_MAXIMUM : op;
    for (int64_t at = 0; at < in.free; at += NKI_CHUNK) {
        int64_t n = in.free - at < NKI_CHUNK ? in.free - at : NKI_CHUNK;
        double x[NKI_CHUNK], z[NKI_CHUNK];
        float y[NKI_CHUNK], w[NKI_CHUNK];
        int32_t b[NKI_CHUNK], c[NKI_CHUNK];
        for (int64_t p = 0; p < in.parts; p++) {
            if (bits) {
                nki_lane_bits(&in, p, at, n, p ? b : c);
                if (p) kernels()->binary[ROW_I32][nki_ops[step].binary]((size_t)n, c, c, 1, b, 1);
            } else if (m->mode == NKI_EXACT) {
                const double *row = nki_lane_f64(&in, p, at, n, x);
                if (p)
                    nki_row_binary_f64(step, n, z, z, 1, row, 1);
                else
                    memcpy(z, row, (size_t)n * sizeof *z);
            } else {
                const float *row = nki_lane_f32(&in, p, at, n, y);
                if (p)
                    nki_row_binary_f32(step, n, w, w, 1, row, 1);
                else
                    memcpy(w, row, (size_t)n * sizeof *w);
            }
        }
        for (int64_t i = 0; op == NKI_OP_AVERAGE && i < n; i++) {
            z[i] /= (double)in.parts;
            w[i] /= (float)in.parts;
        }
        if (bits)
            nki_lane_put_bits(&out, 0, at, n, c);
        else if (m->mode == NKI_EXACT)
            nki_lane_put_f64(&out, 0, at, n, z);
        else
            nki_lane_put_f32(&out, 0, at, n, w);
    }
    nki_lane_close(m, &in, false);
    return nki_lane_close(m, &out, true);
}

// --- scan
// ---------------------------------------------------------------------------------------------------------------

static double step64(enum nki_op op, double a, double b) {
    switch (op) {
    case NKI_OP_ADD: return a + b;
    case NKI_OP_MULTIPLY: return a * b;
    case NKI_OP_SUBTRACT: return a - b;
    default: {
        double r;
        nki_row_binary_f64(op, 1, &r, &a, 1, &b, 1);
        return r;
    }
    }
}

static float step32(enum nki_op op, float a, float b) {
    switch (op) {
    case NKI_OP_ADD: return a + b;
    case NKI_OP_MULTIPLY: return a * b;
    case NKI_OP_SUBTRACT: return a - b;
    default: {
        float r;
        nki_row_binary_f32(op, 1, &r, &a, 1, &b, 1);
        return r;
    }
    }
}

bool nki_scan(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *a, const struct nki_view *b,
              const struct nki_value *initial, enum nki_op op0, enum nki_op op1, bool reverse0, bool reverse1) {
    nki_begin(m, NKI_I_TENSOR_TENSOR_SCAN);
    struct nki_use u[4] = {
        {.name = "dst", .view = dst, .write = true},
        {.name = "data0", .view = a},
        {.name = "data1", .view = b},
        {.name = "initial", .view = initial->kind == NKI_VIEW ? initial->view : NULL, .vector = true}};
    if (!nki_check(m, u, 4)) return false;
    if (!nki_need_op(m, "op0", op0, NKI_OPF_ALU, "a binary arithmetic operator") ||
        !nki_need_op(m, "op1", op1, NKI_OPF_ALU, "a binary arithmetic operator"))
        return false;
    if (!nki_need_same_size(m, &u[1], &u[2]) || !nki_need_same_size(m, &u[1], &u[0]) ||
        !nki_need_not_both_psum(m, &u[1], &u[2]))
        return false;
    if (u[3].view && !nki_need_vector(m, &u[1], &u[3], "operand-not-vector")) return false;
    if (initial->kind == NKI_ABSENT) {
        nki_fail(&m->err, "missing-argument", "initial must be a number or a tile of shape (%" PRId64 ", 1)",
                 a->shape[0]);
        nki_error_want(&m->err, "a number or a tile of shape (%" PRId64 ", 1)", a->shape[0]);
        return false;
    }
    if (!nki_check_initialised(m, u, 4)) return false;
    int64_t free_size = nki_view_free_size(dst);
    struct nki_effect e = {.terms = (uint32_t)free_size, .roundings = (uint32_t)free_size, .functions = {op0, op1}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 4, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)op0;
    r->alu[1] = (uint8_t)op1;
    r->elements = (uint32_t)free_size;
    if (!m->execute) return true;
    struct nki_lane l[4];
    for (int i = 1; i < 4; i++) {
        if (!u[i].view) continue;
        if (!nki_lane_open(m, &l[i], u[i].view, false)) return false;
        if (dst->st == u[i].view->st && (i == 3 || nki_overlap(dst, u[i].view)) && !nki_lane_detach(m, &l[i]))
            return false;
    }
    if (!nki_lane_open(m, &l[0], dst, true)) return false;
    for (int64_t p = 0; p < l[0].parts; p++) {
        double state = initial->number;
        if (u[3].view) state = *nki_lane_f64(&l[3], p, 0, 1, &state);
        for (int64_t at = 0; at < free_size; at += NKI_CHUNK) {
            int64_t n = free_size - at < NKI_CHUNK ? free_size - at : NKI_CHUNK;
            if (m->mode == NKI_EXACT) {
                double x[NKI_CHUNK], y[NKI_CHUNK], z[NKI_CHUNK];
                const double *d0 = nki_lane_f64(&l[1], p, at, n, x), *d1 = nki_lane_f64(&l[2], p, at, n, y);
                for (int64_t i = 0; i < n; i++) {
                    double t = reverse0 ? step64(op0, state, d0[i]) : step64(op0, d0[i], state);
                    z[i] = state = reverse1 ? step64(op1, d1[i], t) : step64(op1, t, d1[i]);
                }
                nki_lane_put_f64(&l[0], p, at, n, z);
            } else {
                float x[NKI_CHUNK], y[NKI_CHUNK], z[NKI_CHUNK], s = (float)state;
                const float *d0 = nki_lane_f32(&l[1], p, at, n, x), *d1 = nki_lane_f32(&l[2], p, at, n, y);
                if (op0 == NKI_OP_MULTIPLY && op1 == NKI_OP_ADD) {
                    for (int64_t i = 0; i < n; i++) z[i] = s = d0[i] * s + d1[i];
                } else {
                    for (int64_t i = 0; i < n; i++) {
                        float t = reverse0 ? step32(op0, s, d0[i]) : step32(op0, d0[i], s);
                        z[i] = s = reverse1 ? step32(op1, d1[i], t) : step32(op1, t, d1[i]);
                    }
                }
                state = (double)s;
                nki_lane_put_f32(&l[0], p, at, n, z);
            }
        }
    }
    for (int i = 1; i < 4; i++)
        if (u[i].view) nki_lane_close(m, &l[i], false);
    return nki_lane_close(m, &l[0], true);
}

bool nki_cumulative(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src, enum nki_op op0,
                    enum nki_op op1, const struct nki_value *imm0, const struct nki_value *imm1,
                    enum nki_reduce_cmd cmd) {
    nki_begin(m, NKI_I_TENSOR_SCALAR_CUMULATIVE);
    struct nki_use u[4] = {
        {.name = "dst", .view = dst, .write = true},
        {.name = "src", .view = src},
        {.name = "imm0", .view = imm0->kind == NKI_VIEW ? imm0->view : NULL, .vector = true},
        {.name = "imm1", .view = imm1->kind == NKI_VIEW ? imm1->view : NULL, .vector = true},
    };
    if (!nki_check(m, u, 4) || !nki_need_same_size(m, &u[1], &u[0])) return false;
    if (!nki_need_op(m, "op0", op0, NKI_OPF_ALU, "an arithmetic operator")) return false;
    bool sums = op1 == NKI_OP_ADD || op1 == NKI_OP_SUBTRACT || op1 == NKI_OP_MULTIPLY;
    if (!sums && op1 != NKI_OP_MAXIMUM && op1 != NKI_OP_MINIMUM)
        return nki_fail_op(m, "op1", op1, "add, subtract, multiply, maximum or minimum");
    uint32_t wide = nki_bit(DTYPE_INT32) | nki_bit(DTYPE_UINT32);
    uint32_t allowed = (nki_dtype_mask_float() | nki_dtype_mask_int()) & ~wide;
    for (int i = 0; i < 2; i++)
        if (!nki_need_dtype(m, &u[i], allowed, "operand-dtype", "a float or an integer of 8 or 16 bits")) return false;
    for (int i = 2; i < 4; i++) {
        if (!u[i].view) continue;
        if (!nki_need_vector(m, &u[1], &u[i], "operand-not-vector") ||
            !nki_need_dtype(m, &u[i], nki_bit(DTYPE_FLOAT32), "operand-dtype", "float32"))
            return false;
    }
    if (imm0->kind == NKI_ABSENT || (cmd == NKI_LOAD_REDUCE) != (imm1->kind != NKI_ABSENT)) {
        bool first = imm0->kind == NKI_ABSENT;
        nki_fail(&m->err, first ? "missing-argument" : "value-type",
                 first ? "imm0 is missing" : "imm1 goes with reduce_cmd.load_reduce, and only with it");
        nki_error_want(&m->err, first ? "a number or a tile of one value per partition" : "both or neither");
        return false;
    }
    if (cmd != NKI_RESET_REDUCE && cmd != NKI_REDUCE && cmd != NKI_LOAD_REDUCE) {
        nki_fail(&m->err, "value-type", "reduce_cmd must be reset_reduce, reduce or load_reduce here");
        nki_error_want(&m->err, "reset_reduce, reduce or load_reduce");
        return false;
    }
    if (!nki_vector_reduce_check(m, cmd, NULL) || !nki_check_initialised(m, u, 4)) return false;
    int64_t free_size = nki_view_free_size(dst);
    struct nki_effect e = {.terms = sums ? (uint32_t)free_size : 0, .sum = true, .functions = {op0, op1}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 4, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)op0;
    r->alu[1] = (uint8_t)op1;
    r->elements = (uint32_t)free_size;
    enum nki_op start = op1 == NKI_OP_SUBTRACT ? NKI_OP_ADD : op1; // both begin at 0
    if (!nki_vector_reduce_begin(m, cmd, start, imm1)) return false;
    nki_flow_merge(&m->dve_flow, nki_flow_of(dst));
    if (!m->execute) return true;
    struct nki_lane in, out, scalar;
    if (!nki_lane_open(m, &in, src, false) || (nki_overlap(dst, src) && !nki_lane_detach(m, &in))) return false;
    if (u[2].view && (!nki_lane_open(m, &scalar, u[2].view, false) || !nki_lane_detach(m, &scalar))) return false;
    if (!nki_lane_open(m, &out, dst, true)) return false;
    for (int64_t p = 0; p < out.parts; p++) {
        double imm = imm0->number, state = m->dve_acc[p];
        if (u[2].view) imm = *nki_lane_f64(&scalar, p, 0, 1, &imm);
        for (int64_t at = 0; at < free_size; at += NKI_CHUNK) {
            int64_t n = free_size - at < NKI_CHUNK ? free_size - at : NKI_CHUNK;
            if (m->mode == NKI_EXACT) {
                double x[NKI_CHUNK], z[NKI_CHUNK];
                const double *row = nki_lane_f64(&in, p, at, n, x);
                for (int64_t i = 0; i < n; i++) z[i] = state = step64(op1, step64(op0, row[i], imm), state);
                nki_lane_put_f64(&out, p, at, n, z);
            } else {
                float x[NKI_CHUNK], z[NKI_CHUNK], s = (float)state;
                const float *row = nki_lane_f32(&in, p, at, n, x);
                for (int64_t i = 0; i < n; i++) z[i] = s = step32(op1, step32(op0, row[i], (float)imm), s);
                state = (double)s;
                nki_lane_put_f32(&out, p, at, n, z);
            }
        }
        m->dve_acc[p] = state;
    }
    nki_lane_close(m, &in, false);
    if (u[2].view) nki_lane_close(m, &scalar, false);
    return nki_lane_close(m, &out, true);
}

// --- statistics
// ---------------------------------------------------------------------------------------------------------

bool nki_need_free(struct nki_machine *m, const struct nki_use *u, int64_t want, const char *text) {
    int64_t got = nki_view_free_size(u->view);
    if (got == want) return true;
    nki_fail(&m->err, "free-size-mismatch", "%s must hold %s, it has %" PRId64 " elements per partition", u->name, text,
             got);
    nki_error_view(&m->err, u->name, u->view);
    nki_error_want(&m->err, "%" PRId64, want);
    nki_error_got(&m->err, "%" PRId64, got);
    return false;
}

bool nki_need_free_range(struct nki_machine *m, const struct nki_use *u, int64_t low, int64_t high) {
    int64_t got = nki_view_free_size(u->view);
    if (got >= low && got <= high) return true;
    nki_fail(&m->err, "free-exceeds-limit",
             "%s has %" PRId64 " elements per partition; %" PRId64 " to %" PRId64 " are possible", u->name, got, low,
             high);
    nki_error_view(&m->err, u->name, u->view);
    nki_error_want(&m->err, "%" PRId64 " to %" PRId64, low, high);
    nki_error_got(&m->err, "%" PRId64, got);
    nki_error_limit(&m->err, got < low ? low : high);
    return false;
}

bool nki_bn_stats(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data) {
    nki_begin(m, NKI_I_BN_STATS);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "data", .view = data}};
    if (!nki_check(m, u, 2) || !nki_need_partitions(m, &u[1], &u[0]) ||
        !nki_need_free_range(m, &u[1], 1, m->target.bn_stats_free) || !nki_need_free(m, &u[0], 6, "6 statistics") ||
        !nki_check_initialised(m, u, 2))
        return false;
    int64_t n = nki_view_free_size(data);
    struct nki_effect e = {.terms = (uint32_t)n, .roundings = 3, .sum = true, .functions = {NKI_OP_ADD, NKI_OP_SQUARE}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 2, &e);
    if (!r) return false;
    r->elements = (uint32_t)n;
    if (!m->execute) return true;
    struct nki_lane in, out;
    if (!nki_lane_open(m, &in, data, false) || (nki_overlap(dst, data) && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    for (int64_t p = 0; p < in.parts; p++) {
        double x[512], stats[6] = {0};
        const double *row = nki_lane_f64(&in, p, 0, n, x);
        for (int half = 0; half < 2; half++) {
            double count = 0, sum = 0, square = 0;
            for (int64_t i = half; i < n; i += 2) {
                sum += row[i];
                count++;
            }
            double mean = count ? sum / count : 0;
            for (int64_t i = half; i < n; i += 2) square += (row[i] - mean) * (row[i] - mean);
            stats[half * 3] = count;
            stats[half * 3 + 1] = mean;
            stats[half * 3 + 2] = square;
        }
        if (m->mode == NKI_EXACT) {
            nki_lane_put_f64(&out, p, 0, 6, stats);
        } else {
            float s32[6];
            for (int i = 0; i < 6; i++) s32[i] = (float)stats[i];
            nki_lane_put_f32(&out, p, 0, 6, s32);
        }
    }
    nki_lane_close(m, &in, false);
    return nki_lane_close(m, &out, true);
}

bool nki_bn_aggr(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data) {
    nki_begin(m, NKI_I_BN_AGGR);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "data", .view = data}};
    if (!nki_check(m, u, 2) || !nki_need_partitions(m, &u[1], &u[0]) ||
        !nki_need_free(m, &u[0], 2, "a mean and a variance"))
        return false;
    int64_t n = nki_view_free_size(data);
    if (n % 3 != 0) {
        nki_fail(&m->err, "free-size-mismatch",
                 "data holds (count, mean, variance x count) triples, %" PRId64 " elements are none", n);
        nki_error_view(&m->err, "data", data);
        nki_error_want(&m->err, "a multiple of 3");
        nki_error_got(&m->err, "%" PRId64, n);
        return false;
    }
    if (!nki_check_initialised(m, u, 2)) return false;
    struct nki_effect e = {.terms = (uint32_t)(n / 3), .roundings = 4, .sum = true, .functions = {NKI_OP_ADD}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 2, &e);
    if (!r) return false;
    r->elements = (uint32_t)n;
    if (!m->execute) return true;
    struct nki_lane in, out;
    if (!nki_lane_open(m, &in, data, false) || (nki_overlap(dst, data) && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    double *buffer = nki_scratch(m, (size_t)n * sizeof *buffer);
    if (!buffer) return false;
    for (int64_t p = 0; p < in.parts; p++) {
        const double *t = nki_lane_f64(&in, p, 0, n, buffer);
        double count = 0, mean = 0, square = 0;
        for (int64_t i = 0; i < n; i += 3) {
            count += t[i];
            mean += t[i] * t[i + 1];
        }
        mean = count ? mean / count : 0;
        for (int64_t i = 0; i < n; i += 3) square += t[i + 2] + t[i] * (t[i + 1] - mean) * (t[i + 1] - mean);
        double res[2] = {mean, count ? square / count : 0};
        if (m->mode == NKI_EXACT)
            nki_lane_put_f64(&out, p, 0, 2, res);
        else
            nki_lane_put_f32(&out, p, 0, 2, (float[2]){(float)res[0], (float)res[1]});
    }
    nki_lane_close(m, &in, false);
    return nki_lane_close(m, &out, true);
}
