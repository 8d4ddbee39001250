// SPDX-License-Identifier: MIT
// instr_elementwise.c: tensor_tensor, tensor_scalar, scalar_tensor_tensor, reciprocal, tensor_copy, memset and
// tensor_copy_predicated.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "nki/exec.h"

static bool is_bitvec(struct nki_machine *m, enum nki_op op) { return m->op_flags[op] & NKI_OPF_BITVEC; }

static bool is_int32(const struct nki_view *v) { return v->dtype == DTYPE_INT32 || v->dtype == DTYPE_UINT32; }

// Lanes of a destination and up to two sources, sources copied first where they share memory with the destination.
static bool open_lanes(struct nki_machine *m, const struct nki_use *uses, int count, struct nki_lane *lanes) {
    for (int i = 1; i < count; i++) {
        if (!uses[i].view) continue;
        if (!nki_lane_open(m, &lanes[i], uses[i].view, false)) return false;
        if (nki_overlap(uses[0].view, uses[i].view) && !nki_lane_detach(m, &lanes[i])) return false;
    }
    return nki_lane_open(m, &lanes[0], uses[0].view, true);
}

static bool close_lanes(struct nki_machine *m, const struct nki_use *uses, int count, struct nki_lane *lanes) {
    for (int i = 0; i < count; i++)
        if (uses[i].view) nki_lane_close(m, &lanes[i], i == 0);
    return true;
}

bool nki_tensor_tensor(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *a,
                       const struct nki_view *b, enum nki_op op, int engine) {
    nki_begin(m, NKI_I_TENSOR_TENSOR);
    struct nki_use u[3] = {
        {.name = "dst", .view = dst, .write = true}, {.name = "data1", .view = a}, {.name = "data2", .view = b}};
    if (!nki_check(m, u, 3)) return false;
    if (!nki_need_op(m, "op", op, NKI_OPF_ALU | NKI_OPF_BITVEC, "a binary operator of the Vector Engine")) return false;
    if (nki_op_is_unary(op)) return nki_fail_op(m, "op", op, "a binary operator of the Vector Engine");
    if (!nki_need_same_size(m, &u[1], &u[2]) || !nki_need_same_size(m, &u[1], &u[0])) return false;
    if (!nki_need_not_both_psum(m, &u[1], &u[2])) return false;
    bool bits = is_bitvec(m, op);
    bool psum = dst->st->buffer == NKI_PSUM || a->st->buffer == NKI_PSUM || b->st->buffer == NKI_PSUM;
    bool ints = is_int32(dst) && is_int32(a) && is_int32(b);
    int automatic =
        m->op_flags[op] & NKI_OPF_GPSIMD || (ints && !bits && !psum) ? NKI_ENGINE_GPSIMD : NKI_ENGINE_VECTOR;
    if (bits) {
        for (int i = 0; i < 3; i++)
            if (!nki_need_dtype(m, &u[i], nki_dtype_mask_int(), "operand-dtype",
                                "an integer type for a bitwise operator"))
                return false;
    }
    int chosen;
    if (!nki_choose_engine(m, engine, automatic, &chosen) || !nki_need_reach(m, chosen, u, 3)) return false;
    if (m->op_flags[op] & NKI_OPF_GPSIMD && chosen != NKI_ENGINE_GPSIMD) {
        nki_fail(&m->err, "engine-unsupported", "nl.%s runs on the GpSimd Engine only", nki_ops[op].name);
        nki_error_want(&m->err, "gpsimd");
        nki_error_got(&m->err, "%s", nki_engine_names[chosen]);
        return false;
    }
    if (!nki_check_initialised(m, u, 3)) return false;
    struct nki_effect e = {.roundings = bits ? 0 : 1, .sum = false, .bits = bits, .functions = {op}};
    struct nki_instruction *r = nki_commit(m, chosen, u, 3, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)op;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (engine) r->flags |= NKI_FLAG_ENGINE_GIVEN;
    if (!m->execute) return true;
    struct nki_lane l[3];
    if (!open_lanes(m, u, 3, l)) return false;
    nki_lanes_flatten((struct nki_lane *const[]){&l[0], &l[1], &l[2]}, 3);
    bool integer = ints && chosen == NKI_ENGINE_GPSIMD && !bits && kernels()->binary[ROW_I64][nki_ops[op].binary];
    for (int64_t p = 0; p < l[0].parts; p++) {
        for (int64_t s = 0; s < l[0].free; s += NKI_CHUNK) {
            int64_t n = l[0].free - s < NKI_CHUNK ? l[0].free - s : NKI_CHUNK;
            if (bits) {
                int32_t x[NKI_CHUNK], y[NKI_CHUNK];
                nki_lane_bits(&l[1], p, s, n, x);
                nki_lane_bits(&l[2], p, s, n, y);
                kernels()->binary[ROW_I32][nki_ops[op].binary]((size_t)n, x, x, 1, y, 1);
                nki_lane_put_bits(&l[0], p, s, n, x);
            } else if (integer) {
                int64_t x[NKI_CHUNK], y[NKI_CHUNK];
                nki_lane_i64(&l[1], p, s, n, x);
                nki_lane_i64(&l[2], p, s, n, y);
                kernels()->binary[ROW_I64][nki_ops[op].binary]((size_t)n, x, x, 1, y, 1);
                nki_lane_put_i64(&l[0], p, s, n, x);
            } else if (m->mode == NKI_EXACT) {
                double x[NKI_CHUNK], y[NKI_CHUNK], z[NKI_CHUNK];
                double *out = nki_lane_out_f64(&l[0], p, s, z);
                nki_row_binary_f64(op, n, out, nki_lane_f64(&l[1], p, s, n, x), 1, nki_lane_f64(&l[2], p, s, n, y), 1);
                nki_lane_put_f64(&l[0], p, s, n, out);
            } else {
                float x[NKI_CHUNK], y[NKI_CHUNK], z[NKI_CHUNK];
                float *out = nki_lane_out_f32(&l[0], p, s, z);
                nki_row_binary_f32(op, n, out, nki_lane_f32(&l[1], p, s, n, x), 1, nki_lane_f32(&l[2], p, s, n, y), 1);
                nki_lane_put_f32(&l[0], p, s, n, out);
            }
        }
    }
    return close_lanes(m, u, 3, l);
}

// --- tensor_scalar
// ----------------------------------------------------------------------------------------------------

static bool check_step(struct nki_machine *m, const struct nki_use *data, const struct nki_scalar_step *step,
                       struct nki_use *operand, const char *op_name, bool slots_unary) {
    enum nki_op op = step->op;
    const char *want = "an operator of tensor_scalar";
    if (!nki_need_op(m, op_name, op, NKI_OPF_ALU | NKI_OPF_BITVEC | (slots_unary ? NKI_OPF_UNARY_SLOT : 0), want))
        return false;
    bool unary = nki_op_is_unary(op);
    if (unary) {
        bool zero = step->operand.kind == NKI_ABSENT || (step->operand.kind != NKI_VIEW && step->operand.number == 0.0);
        if (zero) return true;
        nki_fail(&m->err, "value-type", "nl.%s takes one input, so %s must be None or 0", nki_ops[op].name,
                 operand->name);
        nki_error_value(&m->err, op_name, "nl.%s", nki_ops[op].name);
        nki_error_want(&m->err, "None or 0");
        return false;
    }
    if (step->operand.kind == NKI_ABSENT) {
        nki_fail(&m->err, "missing-argument", "nl.%s takes two inputs and %s is missing", nki_ops[op].name,
                 operand->name);
        nki_error_value(&m->err, op_name, "nl.%s", nki_ops[op].name);
        nki_error_want(&m->err, "a number or a tile of shape (%" PRId64 ", 1)", data->view->shape[0]);
        return false;
    }
    if (step->operand.kind == NKI_VIEW) {
        operand->view = step->operand.view;
        operand->vector = true;
        if (!nki_check(m, operand, 1)) return false;
        if (!nki_need_vector(m, data, operand, "operand-not-vector")) return false;
        if (is_bitvec(m, op))
            return nki_need_dtype(m, operand, nki_dtype_mask_int(), "operand-dtype",
                                  "an integer type for a bitwise operator");
        // scalar_tensor_tensor: "All input tiles can be any supported NKI data type" [nki.isa.scalar_tensor_tensor]
        if (!slots_unary) return true;
        return nki_need_dtype(m, operand, nki_bit(DTYPE_FLOAT32), "operand-dtype",
                              "float32 for an arithmetic operator");
    }
    if (is_bitvec(m, op) && step->operand.kind != NKI_INT) {
        nki_fail(&m->err, "value-type", "%s must be an integer for the bitwise operator nl.%s", operand->name,
                 nki_ops[op].name);
        nki_error_value(&m->err, operand->name, "%g", step->operand.number);
        nki_error_want(&m->err, "an integer");
        return false;
    }
    return true;
}

struct scalar_lane {
    bool used, unary, vector, reverse;
    enum nki_op op;
    double number;
    int32_t bits;
    struct nki_lane lane;
};

static bool open_scalar(struct nki_machine *m, struct scalar_lane *s, const struct nki_scalar_step *step,
                        const struct nki_view *dst) {
    memset(s, 0, sizeof *s);
    if (!step || !step->op) return true;
    s->used = true;
    s->op = step->op;
    s->unary = nki_op_is_unary(step->op);
    s->reverse = step->reverse;
    s->number = step->operand.number;
    s->bits = (int32_t)(uint32_t)(uint64_t)step->operand.integer;
    if (step->operand.kind != NKI_VIEW || s->unary) return true;
    s->vector = true;
    if (!nki_lane_open(m, &s->lane, step->operand.view, false)) return false;
    return !nki_overlap(dst, step->operand.view) && dst->st != step->operand.view->st ? true
                                                                                      : nki_lane_detach(m, &s->lane);
}

static void close_scalar(struct nki_machine *m, struct scalar_lane *s) {
    if (s->vector) nki_lane_close(m, &s->lane, false);
}

static void apply_f32(const struct scalar_lane *s, int64_t p, int64_t n, float *out, const float *in) {
    if (s->unary) {
        nki_row_unary_f32(s->op, n, out, in);
        return;
    }
    float value = (float)s->number;
    if (s->vector) value = *nki_lane_f32(&s->lane, p, 0, 1, &value);
    if (s->reverse)
        nki_row_binary_f32(s->op, n, out, &value, 0, in, 1);
    else
        nki_row_binary_f32(s->op, n, out, in, 1, &value, 0);
}

static void apply_f64(const struct scalar_lane *s, int64_t p, int64_t n, double *out, const double *in) {
    if (s->unary) {
        nki_row_unary_f64(s->op, n, out, in);
        return;
    }
    double value = s->number;
    if (s->vector) value = *nki_lane_f64(&s->lane, p, 0, 1, &value);
    if (s->reverse)
        nki_row_binary_f64(s->op, n, out, &value, 0, in, 1);
    else
        nki_row_binary_f64(s->op, n, out, in, 1, &value, 0);
}

static void apply_bits(const struct scalar_lane *s, int64_t p, int64_t n, int32_t *out, const int32_t *in) {
    if (s->unary) {
        kernels()->unary[ROW_I32][nki_ops[s->op].unary]((size_t)n, out, in);
        return;
    }
    int32_t value = s->bits;
    if (s->vector) nki_lane_bits(&s->lane, p, 0, 1, &value);
    if (s->reverse)
        kernels()->binary[ROW_I32][nki_ops[s->op].binary]((size_t)n, out, &value, 0, in, 1);
    else
        kernels()->binary[ROW_I32][nki_ops[s->op].binary]((size_t)n, out, in, 1, &value, 0);
}

// The Scalar Engine up to trn2 takes multiply-add, multiply and add.
static bool scalar_engine_pair(enum nki_op op0, enum nki_op op1) {
    return (op0 == NKI_OP_MULTIPLY && (op1 == NKI_OP_ADD || !op1)) || (op0 == NKI_OP_ADD && !op1);
}

bool nki_tensor_scalar(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                       const struct nki_scalar_step *first, const struct nki_scalar_step *second, int engine) {
    nki_begin(m, NKI_I_TENSOR_SCALAR);
    struct nki_use u[4] = {{.name = "dst", .view = dst, .write = true},
                           {.name = "data", .view = data},
                           {.name = "operand0"},
                           {.name = "operand1"}};
    if (!nki_check(m, u, 2)) return false;
    if (!nki_need_same_size(m, &u[1], &u[0])) return false;
    if (!check_step(m, &u[1], first, &u[2], "op0", true)) return false;
    if (second->op && !check_step(m, &u[1], second, &u[3], "op1", true)) return false;
    if (!second->op && second->operand.kind != NKI_ABSENT) {
        nki_fail(&m->err, "value-type", "operand1 is given without op1");
        nki_error_want(&m->err, "op1 and operand1 together, or neither");
        return false;
    }
    bool bits = is_bitvec(m, first->op);
    if (second->op && is_bitvec(m, second->op) != bits) {
        nki_fail(&m->err, "op-unsupported",
                 "nl.%s and nl.%s cannot be combined: both must be bitwise or both arithmetic", nki_ops[first->op].name,
                 nki_ops[second->op].name);
        nki_error_value(&m->err, "op0", "nl.%s", nki_ops[first->op].name);
        nki_error_value(&m->err, "op1", "nl.%s", nki_ops[second->op].name);
        nki_error_want(&m->err, "two operators of one kind");
        return false;
    }
    if (bits) {
        for (int i = 0; i < 2; i++)
            if (!nki_need_dtype(m, &u[i], nki_dtype_mask_int(), "operand-dtype",
                                "an integer type for a bitwise operator"))
                return false;
    }
    bool gpsimd = (m->op_flags[first->op] | (second->op ? m->op_flags[second->op] : 0)) & NKI_OPF_GPSIMD;
    int chosen;
    if (!nki_choose_engine(m, engine, gpsimd ? NKI_ENGINE_GPSIMD : NKI_ENGINE_VECTOR, &chosen)) return false;
    const char *why = NULL, *better = "vector";
    if (gpsimd && chosen != NKI_ENGINE_GPSIMD) {
        why = "this operator runs on the GpSimd Engine only";
        better = "gpsimd";
    } else if (bits && chosen != NKI_ENGINE_VECTOR) {
        why = "bitwise operators run on the Vector Engine only";
    } else if (chosen == NKI_ENGINE_GPSIMD && !gpsimd && first->op != NKI_OP_RSQRT) {
        why = "the GpSimd Engine takes rsqrt here"; // "only allowed for rsqrt" [nki.isa.tensor_scalar]
    } else if (chosen == NKI_ENGINE_SCALAR && !m->target.scalar_tensor_scalar_any &&
               !scalar_engine_pair(first->op, second->op)) {
        why = "the Scalar Engine takes multiply and add, multiply, or add here";
    }
    if (why) {
        nki_fail(&m->err, "engine-unsupported", "%s", why);
        nki_error_value(&m->err, "op0", "nl.%s", nki_ops[first->op].name);
        if (second->op) nki_error_value(&m->err, "op1", "nl.%s", nki_ops[second->op].name);
        nki_error_want(&m->err, "%s", better);
        nki_error_got(&m->err, "%s", nki_engine_names[chosen]);
        return false;
    }
    if (!nki_need_reach(m, chosen, u, 4) || !nki_check_initialised(m, u, 4)) return false;
    struct nki_effect e = {.roundings = bits         ? 0
                                        : second->op ? 2
                                                     : 1,
                           .bits = bits,
                           .functions = {first->op, second->op}};
    struct nki_instruction *r = nki_commit(m, chosen, u, 4, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)first->op;
    r->alu[1] = (uint8_t)second->op;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (engine) r->flags |= NKI_FLAG_ENGINE_GIVEN;
    if (!m->execute) return true;
    struct nki_lane l[2];
    struct scalar_lane s0, s1;
    if (!open_scalar(m, &s0, first, dst) || !open_scalar(m, &s1, second, dst) || !open_lanes(m, u, 2, l)) return false;
    if (!s0.vector && !s1.vector) nki_lanes_flatten((struct nki_lane *const[]){&l[0], &l[1]}, 2);
    for (int64_t p = 0; p < l[0].parts; p++) {
        for (int64_t s = 0; s < l[0].free; s += NKI_CHUNK) {
            int64_t n = l[0].free - s < NKI_CHUNK ? l[0].free - s : NKI_CHUNK;
            if (bits) {
                int32_t x[NKI_CHUNK];
                nki_lane_bits(&l[1], p, s, n, x);
                apply_bits(&s0, p, n, x, x);
                if (s1.used) apply_bits(&s1, p, n, x, x);
                nki_lane_put_bits(&l[0], p, s, n, x);
            } else if (m->mode == NKI_EXACT) {
                double x[NKI_CHUNK], z[NKI_CHUNK];
                double *out = nki_lane_out_f64(&l[0], p, s, z);
                apply_f64(&s0, p, n, out, nki_lane_f64(&l[1], p, s, n, x));
                if (s1.used) apply_f64(&s1, p, n, out, out);
                nki_lane_put_f64(&l[0], p, s, n, out);
            } else {
                float x[NKI_CHUNK], z[NKI_CHUNK];
                float *out = nki_lane_out_f32(&l[0], p, s, z);
                apply_f32(&s0, p, n, out, nki_lane_f32(&l[1], p, s, n, x));
                if (s1.used) apply_f32(&s1, p, n, out, out);
                nki_lane_put_f32(&l[0], p, s, n, out);
            }
        }
    }
    close_scalar(m, &s0);
    close_scalar(m, &s1);
    return close_lanes(m, u, 2, l);
}

bool nki_scalar_tensor_tensor(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                              const struct nki_scalar_step *first, enum nki_op op1, const struct nki_view *other,
                              bool reverse1) {
    nki_begin(m, NKI_I_SCALAR_TENSOR_TENSOR);
    struct nki_use u[4] = {{.name = "dst", .view = dst, .write = true},
                           {.name = "data", .view = data},
                           {.name = "operand1", .view = other},
                           {.name = "operand0"}};
    if (!nki_check(m, u, 3)) return false;
    if (is_bitvec(m, first->op)) return nki_fail_op(m, "op0", first->op, "an arithmetic operator");
    if (!nki_need_op(m, "op1", op1, NKI_OPF_ALU, "an arithmetic operator")) return false;
    if (nki_op_is_unary(op1)) return nki_fail_op(m, "op1", op1, "a binary arithmetic operator");
    if (!nki_need_same_size(m, &u[1], &u[2]) || !nki_need_same_size(m, &u[1], &u[0])) return false;
    if (!check_step(m, &u[1], first, &u[3], "op0", false)) return false;
    if (!nki_need_not_both_psum(m, &u[1], &u[2]) || !nki_check_initialised(m, u, 4)) return false;
    struct nki_effect e = {.roundings = 2, .functions = {first->op, op1}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 4, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)first->op;
    r->alu[1] = (uint8_t)op1;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (!m->execute) return true;
    struct nki_lane l[3];
    struct scalar_lane s0;
    if (!open_scalar(m, &s0, first, dst) || !open_lanes(m, u, 3, l)) return false;
    if (!s0.vector) nki_lanes_flatten((struct nki_lane *const[]){&l[0], &l[1], &l[2]}, 3);
    for (int64_t p = 0; p < l[0].parts; p++) {
        for (int64_t s = 0; s < l[0].free; s += NKI_CHUNK) {
            int64_t n = l[0].free - s < NKI_CHUNK ? l[0].free - s : NKI_CHUNK;
            if (m->mode == NKI_EXACT) {
                double x[NKI_CHUNK], y[NKI_CHUNK], z[NKI_CHUNK];
                apply_f64(&s0, p, n, z, nki_lane_f64(&l[1], p, s, n, x));
                const double *t = nki_lane_f64(&l[2], p, s, n, y);
                if (reverse1)
                    nki_row_binary_f64(op1, n, z, t, 1, z, 1);
                else
                    nki_row_binary_f64(op1, n, z, z, 1, t, 1);
                nki_lane_put_f64(&l[0], p, s, n, z);
            } else {
                float x[NKI_CHUNK], y[NKI_CHUNK], z[NKI_CHUNK];
                apply_f32(&s0, p, n, z, nki_lane_f32(&l[1], p, s, n, x));
                const float *t = nki_lane_f32(&l[2], p, s, n, y);
                if (reverse1)
                    nki_row_binary_f32(op1, n, z, t, 1, z, 1);
                else
                    nki_row_binary_f32(op1, n, z, z, 1, t, 1);
                nki_lane_put_f32(&l[0], p, s, n, z);
            }
        }
    }
    close_scalar(m, &s0);
    return close_lanes(m, u, 3, l);
}

// --- one input
// ---------------------------------------------------------------------------------------------------------

// dst = f(src), or a copy: bit by bit between equal types, else through float32.
static bool run_unary(struct nki_machine *m, const struct nki_use *u, enum nki_op op) {
    struct nki_lane l[2];
    if (!open_lanes(m, u, 2, l)) return false;
    nki_lanes_flatten((struct nki_lane *const[]){&l[0], &l[1]}, 2);
    bool copy = op == NKI_OP_COPY && l[0].type == l[1].type;
    for (int64_t p = 0; p < l[0].parts; p++) {
        if (copy) {
            nki_lane_copy(&l[0], &l[1], p);
            continue;
        }
        for (int64_t s = 0; s < l[0].free; s += NKI_CHUNK) {
            int64_t n = l[0].free - s < NKI_CHUNK ? l[0].free - s : NKI_CHUNK;
            if (m->mode == NKI_EXACT) {
                double x[NKI_CHUNK], z[NKI_CHUNK];
                const double *in = nki_lane_f64(&l[1], p, s, n, x);
                if (op != NKI_OP_COPY) {
                    nki_row_unary_f64(op, n, z, in);
                    in = z;
                }
                nki_lane_put_f64(&l[0], p, s, n, in);
            } else {
                float x[NKI_CHUNK], z[NKI_CHUNK];
                const float *in = nki_lane_f32(&l[1], p, s, n, x);
                if (op != NKI_OP_COPY) {
                    nki_row_unary_f32(op, n, z, in);
                    in = z;
                }
                nki_lane_put_f32(&l[0], p, s, n, in);
            }
        }
    }
    return close_lanes(m, u, 2, l);
}

bool nki_reciprocal(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data) {
    nki_begin(m, NKI_I_RECIPROCAL);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "data", .view = data}};
    if (!nki_check(m, u, 2) || !nki_need_same_size(m, &u[1], &u[0]) || !nki_check_initialised(m, u, 2)) return false;
    struct nki_effect e = {.roundings = 1, .functions = {NKI_OP_RECIPROCAL}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 2, &e);
    if (!r) return false;
    r->elements = (uint32_t)nki_view_free_size(dst);
    return !m->execute || run_unary(m, u, NKI_OP_RECIPROCAL);
}

bool nki_tensor_copy(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src, int engine) {
    nki_begin(m, NKI_I_TENSOR_COPY);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "src", .view = src}};
    if (!nki_check(m, u, 2) || !nki_need_same_size(m, &u[1], &u[0])) return false;
    if (nki_dtypes[src->dtype].bits_only != nki_dtypes[dst->dtype].bits_only ||
        (nki_dtypes[src->dtype].bits_only && src->dtype != dst->dtype))
        return nki_need_same_dtype(m, &u[0], &u[1]);
    int chosen;
    if (!nki_choose_engine(m, engine, NKI_ENGINE_VECTOR, &chosen) || !nki_need_reach(m, chosen, u, 2)) return false;
    if (chosen == NKI_ENGINE_SCALAR && !m->target.scalar_copy) {
        nki_fail(&m->err, "engine-unsupported", "tensor_copy does not run on the Scalar Engine of NeuronCore-v2");
        nki_error_value(&m->err, "engine", "nisa.engine.scalar");
        nki_error_want(&m->err, "vector or gpsimd, or nisa.activation with op=nl.copy");
        nki_error_got(&m->err, "scalar");
        return false;
    }
    if (!nki_check_initialised(m, u, 2)) return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, chosen, u, 2, &e);
    if (!r) return false;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (engine) r->flags |= NKI_FLAG_ENGINE_GIVEN;
    return !m->execute || run_unary(m, u, NKI_OP_COPY);
}

bool nki_memset(struct nki_machine *m, const struct nki_view *dst, const struct nki_value *value, int engine) {
    nki_begin(m, NKI_I_MEMSET);
    struct nki_use u[1] = {{.name = "dst", .view = dst, .write = true}};
    if (!nki_check(m, u, 1)) return false;
    const struct nki_dtype_info *t = &nki_dtypes[dst->dtype];
    const char *want = NULL;
    if (value->kind == NKI_VIEW || value->kind == NKI_ABSENT)
        want = "a number";
    else if (t->is_int && value->kind != NKI_INT)
        want = "an integer, because the tile holds integers";
    else if (t->bits_only && t->size > 1 && value->number != 0.0)
        want = "0, the only value a packed type takes";
    else if (t->is_int &&
             (value->integer < (int64_t)dtype_table[t->raw].min || value->integer > (int64_t)dtype_table[t->raw].max) &&
             dst->dtype != DTYPE_BOOL)
        want = "a value in the range of the tile's type";
    if (want) {
        nki_fail(&m->err, "memset-type", "the value for a tile of %s must be %s", t->name, want);
        nki_error_view(&m->err, "dst", dst);
        if (value->kind == NKI_INT)
            nki_error_value(&m->err, "value", "%" PRId64, value->integer);
        else if (value->kind == NKI_FLOAT)
            nki_error_value(&m->err, "value", "%.17g", value->number);
        nki_error_want(&m->err, "%s", want);
        nki_error_got(&m->err, value->kind == NKI_INT     ? "an integer"
                               : value->kind == NKI_FLOAT ? "a float"
                                                          : "no number");
        return false;
    }
    int chosen;
    if (!nki_choose_engine(m, engine, NKI_ENGINE_VECTOR, &chosen) || !nki_need_reach(m, chosen, u, 1)) return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, chosen, u, 1, &e);
    if (!r) return false;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (engine) r->flags |= NKI_FLAG_ENGINE_GIVEN;
    if (value->number == 0.0)
        r->alu[0] = NKI_OP_NONE;
    else
        r->alu[0] = NKI_OP_COPY;
    if (!m->execute) return true;
    struct nki_lane l;
    if (!nki_lane_open(m, &l, dst, true)) return false;
    nki_lanes_flatten((struct nki_lane *const[]){&l}, 1);
    if (l.dense && value->number == 0.0 && !signbit(value->number)) {
        for (int64_t p = 0; p < l.parts; p++) memset(l.base + l.pitch * p, 0, (size_t)l.free * dtype_size(l.type));
        return nki_lane_close(m, &l, true);
    }
    int64_t n = l.free < NKI_CHUNK ? l.free : NKI_CHUNK;
    int64_t ints[NKI_CHUNK];
    double floats[NKI_CHUNK];
    for (int64_t i = 0; i < n; i++) {
        ints[i] = value->integer;
        floats[i] = value->number;
    }
    for (int64_t p = 0; p < l.parts; p++) {
        for (int64_t s = 0; s < l.free; s += NKI_CHUNK) {
            int64_t k = l.free - s < NKI_CHUNK ? l.free - s : NKI_CHUNK;
            if (t->is_int || t->bits_only)
                nki_lane_put_i64(&l, p, s, k, ints);
            else
                nki_lane_put_f64(&l, p, s, k, floats);
        }
    }
    return nki_lane_close(m, &l, true);
}

bool nki_copy_predicated(struct nki_machine *m, const struct nki_view *dst, const struct nki_value *src,
                         const struct nki_view *predicate, bool reverse) {
    nki_begin(m, NKI_I_TENSOR_COPY_PREDICATED);
    struct nki_use u[3] = {{.name = "dst", .view = dst, .write = true, .read_too = true},
                           {.name = "predicate", .view = predicate},
                           {.name = "src"}};
    if (src->kind == NKI_VIEW) u[2].view = src->view;
    if (!nki_check(m, u, 3) || !nki_need_same_size(m, &u[0], &u[1])) return false;
    uint32_t unsigned_types = nki_bit(DTYPE_UINT8) | nki_bit(DTYPE_UINT16) | nki_bit(DTYPE_UINT32);
    if (!nki_need_dtype(m, &u[1], unsigned_types, "operand-dtype", "uint8, uint16 or uint32")) return false;
    if (u[2].view && (!nki_need_same_size(m, &u[0], &u[2]) || !nki_need_same_dtype(m, &u[2], &u[0]) ||
                      !nki_need_not_both_psum(m, &u[2], &u[1])))
        return false;
    if (!nki_check_initialised(m, u, 3)) return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 3, &e);
    if (!r) return false;
    r->elements = (uint32_t)nki_view_free_size(dst);
    if (!m->execute) return true;
    struct nki_lane l[3];
    if (!open_lanes(m, u, 3, l)) return false;
    for (int64_t p = 0; p < l[0].parts; p++) {
        for (int64_t s = 0; s < l[0].free; s += NKI_CHUNK) {
            int64_t n = l[0].free - s < NKI_CHUNK ? l[0].free - s : NKI_CHUNK;
            int32_t mask[NKI_CHUNK];
            double old[NKI_CHUNK], in[NKI_CHUNK], out[NKI_CHUNK];
            nki_lane_bits(&l[1], p, s, n, mask);
            const double *keep = nki_lane_f64(&l[0], p, s, n, old);
            const double *take = u[2].view ? nki_lane_f64(&l[2], p, s, n, in) : NULL;
            for (int64_t i = 0; i < n; i++) out[i] = (mask[i] != 0) != reverse ? take ? take[i] : src->number : keep[i];
            nki_lane_put_f64(&l[0], p, s, n, out);
        }
    }
    return close_lanes(m, u, 3, l);
}
