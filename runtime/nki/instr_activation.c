// SPDX-License-Identifier: MIT
// instr_activation.c: activation, activation_reduce, tensor_scalar_reduce and exponential: a function of every element,
// with an optional reduction along the free dimension into the engine's registers, one per partition.
// The documents' text for the registers: reduce_cmd idle leaves them, reset clears, reduce adds, reset_reduce clears
// and adds, load_reduce starts from a given value. Reading them out is an instruction of its own.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "nki/exec.h"

// A number or a (P, 1) tile, per partition.
struct per_partition {
    bool vector;
    double number;
    struct nki_lane lane;
};

static bool open_value(struct nki_machine *m, struct per_partition *v, const struct nki_value *value, double otherwise,
                       const struct nki_view *dst) {
    memset(v, 0, sizeof *v);
    v->number = value->kind == NKI_ABSENT ? otherwise : value->number;
    if (value->kind != NKI_VIEW) return true;
    v->vector = true;
    if (!nki_lane_open(m, &v->lane, value->view, false)) return false;
    return value->view->st != dst->st || nki_lane_detach(m, &v->lane);
}

static double value_at(const struct per_partition *v, int64_t p) {
    if (!v->vector) return v->number;
    double x;
    return *nki_lane_f64(&v->lane, p, 0, 1, &x);
}

static void close_value(struct nki_machine *m, struct per_partition *v) {
    if (v->vector) nki_lane_close(m, &v->lane, false);
}

// Write the registers into a tile of one element per partition.
static bool read_out(struct nki_machine *m, int engine, const struct nki_view *res, const double *acc,
                     const struct nki_flow *flow, double sign) {
    enum nki_instr now = m->now;
    m->now = NKI_I_READ_ACCUMULATOR;
    struct nki_use u = {.name = "reduce_res", .view = res, .write = true};
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, engine, &u, 1, &e);
    m->now = now;
    if (!r) return false;
    r->elements = 1;
    nki_flow_merge(nki_flow_of(res), flow);
    if (!m->execute) return true;
    struct nki_lane l;
    if (!nki_lane_open(m, &l, res, true)) return false;
    for (int64_t p = 0; p < l.parts; p++) {
        double x = acc[p] * sign;
        if (m->mode == NKI_EXACT)
            nki_lane_put_f64(&l, p, 0, 1, &x);
        else
            nki_lane_put_f32(&l, p, 0, 1, &(float){(float)x});
    }
    return nki_lane_close(m, &l, true);
}

static bool check_registers(struct nki_machine *m, bool known, enum nki_reduce_cmd cmd, const struct nki_view *res) {
    bool uses_old = cmd == NKI_REDUCE || (cmd == NKI_IDLE && res);
    if (known || !uses_old) return true;
    nki_fail(&m->err, "accumulator-undefined", "the reduction registers hold no defined value here");
    nki_error_value(&m->err, "reduce_cmd", cmd == NKI_REDUCE ? "nisa.reduce_cmd.reduce" : "nisa.reduce_cmd.idle");
    if (res) nki_error_view(&m->err, "reduce_res", res);
    nki_error_want(&m->err, "nisa.reduce_cmd.reset_reduce in the first instruction that reduces");
    nki_error_got(&m->err, cmd == NKI_REDUCE ? "reduce" : "idle");
    return false;
}

// Ranges outside which the Scalar Engine's approximation is not valid. [nki.api.shared]
static bool range_of(enum nki_op op, double *low, double *high, bool *magnitude) {
    *magnitude = false;
    switch (op) {
    case NKI_OP_LOG: *low = 0x1p-64, *high = 0x1p64; return true;
    case NKI_OP_SQRT: *low = 0x1p-116, *high = 0x1p118; return true;
    case NKI_OP_RSQRT: *low = 0x1p-87, *high = 0x1p97; return true;
    case NKI_OP_RECIPROCAL: *low = 0x1p-42, *high = 0x1p42, *magnitude = true; return true;
    case NKI_OP_SIN: *low = -3.14159274, *high = 3.14159274; return true;
    case NKI_OP_ARCTAN: *low = -1.57079637, *high = 1.57079637; return true;
    default: return false;
    }
}

static void check_range(struct nki_machine *m, enum nki_op op, const struct nki_view *data, double least, double most) {
    double low, high;
    bool magnitude;
    if (!range_of(op, &low, &high, &magnitude) || (least >= low && most <= high)) return;
    nki_fail(&m->err, "activation-range",
             "nl.%s is valid on [%g, %g] on the Scalar Engine and gets inputs from %g to %g", nki_ops[op].name, low,
             high, least, most);
    m->err.doc = "nki.api.shared";
    nki_error_view(&m->err, "data", data);
    nki_error_want(&m->err, magnitude ? "magnitudes from %g to %g" : "inputs from %g to %g", low, high);
    nki_error_got(&m->err, "%g to %g", least, most);
    nki_machine_warn(m);
}

struct range_seen {
    bool watch, magnitude;
    double least, most;
};

static void see(struct range_seen *seen, int64_t n, const float *f, const double *d, bool zero_is_fine) {
    for (int64_t i = 0; i < n; i++) {
        double x = f ? (double)f[i] : d[i];
        if (seen->magnitude) x = fabs(x);
        if (x == 0.0 && zero_is_fine) continue;
        if (x < seen->least) seen->least = x;
        if (x > seen->most) seen->most = x;
    }
}

static bool check_activation(struct nki_machine *m, struct nki_use *u, const struct nki_activation *a) {
    if (!nki_need_op(m, "op", a->op, NKI_OPF_ACTIVATION, "an activation function of the Scalar Engine")) return false;
    if (a->op == NKI_OP_PRELU)
        return nki_fail_op(m, "op", a->op, "available without the slope that nisa.activate2 takes");
    if (!nki_need_same_size(m, &u[1], &u[0])) return false;
    if (a->scale.kind == NKI_VIEW && !nki_need_vector(m, &u[1], &u[3], "scale-not-vector")) return false;
    if (a->bias.kind == NKI_VIEW) {
        if (!nki_need_vector(m, &u[1], &u[2], "bias-not-vector")) return false;
        uint32_t allowed = (nki_dtype_mask_float() | nki_dtype_mask_int()) & ~nki_bit(DTYPE_TFLOAT32);
        if (!nki_need_dtype(m, &u[2], allowed, "operand-dtype", "any type but tfloat32")) return false;
    } else if (a->bias.kind != NKI_ABSENT && !m->target.bias_scalar) {
        nki_fail(&m->err, "bias-not-vector", "bias must be a tile of shape (%" PRId64 ", 1) on %s, not a number",
                 u[1].view->shape[0], m->target.name);
        nki_error_view(&m->err, "data", u[1].view);
        nki_error_value(&m->err, "bias", "%g", a->bias.number);
        nki_error_want(&m->err, "[%" PRId64 ",1]", u[1].view->shape[0]);
        nki_error_got(&m->err, "a number");
        return false;
    }
    // "doesn't support setting bias on NeuronCore-v2" [nki.api.shared, engine selection]
    if (a->op == NKI_OP_RECIPROCAL && (a->bias.kind == NKI_VIEW || a->bias.number != 0.0) && m->target.generation < 3) {
        nki_fail(&m->err, "target-unsupported", "nl.reciprocal takes no bias on %s", m->target.name);
        nki_error_value(&m->err, "op", "nl.reciprocal");
        nki_error_want(&m->err, "no bias");
        return false;
    }
    if (a->reduce_op && a->reduce_op != NKI_OP_ADD)
        return nki_fail_op(m, "reduce_op", a->reduce_op, "nl.add, the only reduction of the Scalar Engine");
    bool reduces = a->cmd == NKI_REDUCE || a->cmd == NKI_RESET_REDUCE;
    if (a->cmd == NKI_LOAD_REDUCE || (reduces && !a->reduce_op)) {
        nki_fail(&m->err, "value-type",
                 a->cmd == NKI_LOAD_REDUCE ? "the Scalar Engine cannot load its reduction registers"
                                           : "reduce_cmd reduces and reduce_op is missing");
        nki_error_want(&m->err, a->cmd == NKI_LOAD_REDUCE ? "reset_reduce or reduce" : "reduce_op=nl.add");
        return false;
    }
    if (a->reduce_res) {
        struct nki_use res = {.name = "reduce_res", .view = a->reduce_res, .write = true};
        if (!nki_check(m, &res, 1) || !nki_need_vector(m, &u[1], &res, "operand-not-vector")) return false;
    }
    return check_registers(m, m->act_acc_known, a->cmd, a->reduce_res);
}

bool nki_activation(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                    const struct nki_activation *a) {
    nki_begin(m, a->combined ? NKI_I_ACTIVATION_REDUCE : NKI_I_ACTIVATION);
    struct nki_use u[4] = {{.name = "dst", .view = dst, .write = true},
                           {.name = "data", .view = data},
                           {.name = "bias", .view = a->bias.kind == NKI_VIEW ? a->bias.view : NULL, .vector = true},
                           {.name = "scale", .view = a->scale.kind == NKI_VIEW ? a->scale.view : NULL, .vector = true}};
    if (!nki_check(m, u, 4) || !check_activation(m, u, a) || !nki_check_initialised(m, u, 4)) return false;
    bool reduces = a->cmd == NKI_REDUCE || a->cmd == NKI_RESET_REDUCE;
    bool scales = a->scale.kind == NKI_VIEW || (a->scale.kind != NKI_ABSENT && a->scale.number != 1.0);
    bool shifts = a->bias.kind == NKI_VIEW || (a->bias.kind != NKI_ABSENT && a->bias.number != 0.0);
    int64_t free_size = nki_view_free_size(dst);
    struct nki_effect e = {
        .roundings = (uint32_t)(scales + shifts + (a->op != NKI_OP_COPY ? 2 : 0)),
        .functions = {a->op, scales ? NKI_OP_MULTIPLY : NKI_OP_NONE, shifts ? NKI_OP_ADD : NKI_OP_NONE}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_SCALAR, u, 4, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)a->op;
    r->elements = (uint32_t)free_size;
    if (reduces) {
        r->flags |= NKI_FLAG_REDUCES;
        r->alu[1] = (uint8_t)a->reduce_op;
    }
    if (a->cmd == NKI_RESET || a->cmd == NKI_RESET_REDUCE) {
        memset(m->act_acc, 0, sizeof m->act_acc);
        m->act_acc_known = true;
        memset(&m->act_flow, 0, sizeof m->act_flow);
    }
    if (reduces) {
        struct nki_flow f = *nki_flow_of(dst);
        f.roundings += (uint32_t)free_size;
        if (f.terms < m->act_flow.terms + (uint32_t)free_size) f.terms = m->act_flow.terms + (uint32_t)free_size;
        nki_flow_merge(&m->act_flow, &f);
    }
    if (m->execute) {
        struct nki_lane l[2];
        struct per_partition scale, bias;
        if (!nki_lane_open(m, &l[1], data, false) || (nki_overlap(dst, data) && !nki_lane_detach(m, &l[1])) ||
            !open_value(m, &scale, &a->scale, 1.0, dst) || !open_value(m, &bias, &a->bias, 0.0, dst) ||
            !nki_lane_open(m, &l[0], dst, true))
            return false;
        if (!scale.vector && !bias.vector && !reduces) nki_lanes_flatten((struct nki_lane *const[]){&l[0], &l[1]}, 2);
        double low, high;
        struct range_seen seen = {.least = (double)INFINITY, .most = -(double)INFINITY};
        seen.watch = range_of(a->op, &low, &high, &seen.magnitude);
        const struct kernels *k = kernels();
        for (int64_t p = 0; p < l[0].parts; p++) {
            double s64 = value_at(&scale, p), b64 = value_at(&bias, p);
            float s = (float)s64, b = (float)b64;
            for (int64_t at = 0; at < l[0].free; at += NKI_CHUNK) {
                int64_t n = l[0].free - at < NKI_CHUNK ? l[0].free - at : NKI_CHUNK;
                if (m->mode == NKI_EXACT) {
                    double x[NKI_CHUNK], z[NKI_CHUNK];
                    const double *in = nki_lane_f64(&l[1], p, at, n, x);
                    double *out = nki_lane_out_f64(&l[0], p, at, z);
                    if (scales) {
                        nki_row_binary_f64(NKI_OP_MULTIPLY, n, out, in, 1, &s64, 0);
                        in = out;
                    }
                    if (shifts) {
                        nki_row_binary_f64(NKI_OP_ADD, n, out, in, 1, &b64, 0);
                        in = out;
                    }
                    if (seen.watch) see(&seen, n, NULL, in, a->op == NKI_OP_SQRT);
                    nki_row_unary_f64(a->op, n, out, in);
                    if (reduces) m->act_acc[p] += nki_row_reduce_f64(NKI_OP_ADD, n, out);
                    nki_lane_put_f64(&l[0], p, at, n, out);
                    continue;
                }
                float x[NKI_CHUNK], z[NKI_CHUNK];
                const float *in = nki_lane_f32(&l[1], p, at, n, x);
                float *out = nki_lane_out_f32(&l[0], p, at, z);
                if (a->op == NKI_OP_EXP && (scales || shifts)) {
                    k->exp_scale_bias_f32((size_t)n, out, in, s, b);
                } else {
                    if (scales || shifts) {
                        k->scale_bias_f32((size_t)n, out, in, s, b);
                        in = out;
                    }
                    if (seen.watch) see(&seen, n, in, NULL, a->op == NKI_OP_SQRT);
                    if (a->op != NKI_OP_COPY || in != out) nki_row_unary_f32(a->op, n, out, in);
                }
                if (reduces)
                    m->act_acc[p] = (double)((float)m->act_acc[p] + (float)nki_row_reduce_f32(NKI_OP_ADD, n, out));
                nki_lane_put_f32(&l[0], p, at, n, out);
            }
        }
        close_value(m, &scale);
        close_value(m, &bias);
        nki_lane_close(m, &l[1], false);
        nki_lane_close(m, &l[0], true);
        if (seen.watch && seen.least <= seen.most) check_range(m, a->op, data, seen.least, seen.most);
    }
    if (a->reduce_res) return read_out(m, NKI_ENGINE_SCALAR, a->reduce_res, m->act_acc, &m->act_flow, 1.0);
    return true;
}

// --- Vector Engine registers
// ---------------------------------------------------------------------------------------------

bool nki_vector_reduce_begin(struct nki_machine *m, enum nki_reduce_cmd cmd, enum nki_op op,
                             const struct nki_value *init) {
    if (cmd == NKI_RESET_REDUCE || cmd == NKI_RESET) {
        double start = nki_reduce_identity(op);
        for (int p = 0; p < NKI_PARTITIONS; p++) m->dve_acc[p] = start;
        m->dve_acc_known = true;
        memset(&m->dve_flow, 0, sizeof m->dve_flow);
    } else if (cmd == NKI_LOAD_REDUCE) {
        m->dve_acc_known = true;
        memset(&m->dve_flow, 0, sizeof m->dve_flow);
        struct per_partition v;
        struct nki_view none = {.st = NULL};
        if (m->execute) {
            if (!open_value(m, &v, init, 0.0, &none)) return false;
            for (int64_t p = 0; p < NKI_PARTITIONS && (!v.vector || p < v.lane.parts); p++)
                m->dve_acc[p] = value_at(&v, p);
            close_value(m, &v);
        }
    } else if (cmd == NKI_IDLE) {
        m->dve_acc_known = false; // the engine may change them
    }
    return true;
}

bool nki_vector_reduce_check(struct nki_machine *m, enum nki_reduce_cmd cmd, const struct nki_view *res) {
    return check_registers(m, m->dve_acc_known && cmd != NKI_IDLE, cmd, res);
}

bool nki_vector_reduce_end(struct nki_machine *m, const struct nki_view *res, bool negate) {
    return !res || read_out(m, NKI_ENGINE_VECTOR, res, m->dve_acc, &m->dve_flow, negate ? -1.0 : 1.0);
}

bool nki_tensor_scalar_reduce(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                              const struct nki_scalar_reduce *o) {
    nki_begin(m, NKI_I_TENSOR_SCALAR_REDUCE);
    bool unary = nki_op_is_unary(o->step.op);
    struct nki_use u[3] = {{.name = "dst", .view = dst, .write = true},
                           {.name = "data", .view = data},
                           {.name = "operand0",
                            .view = o->step.operand.kind == NKI_VIEW && !unary ? o->step.operand.view : NULL,
                            .vector = true}};
    if (!nki_check(m, u, 3) || !nki_need_same_size(m, &u[1], &u[0])) return false;
    if (!nki_need_op(m, "op0", o->step.op, NKI_OPF_ALU | NKI_OPF_UNARY_SLOT, "an arithmetic operator")) return false;
    if (m->op_flags[o->step.op] & NKI_OPF_BITVEC) return nki_fail_op(m, "op0", o->step.op, "an arithmetic operator");
    if (u[2].view &&
        (!nki_need_vector(m, &u[1], &u[2], "operand-not-vector") ||
         !nki_need_dtype(m, &u[2], nki_bit(DTYPE_FLOAT32), "operand-dtype", "float32 for an arithmetic operator")))
        return false;
    enum nki_op op = o->reduce_op;
    if (op != NKI_OP_ADD && op != NKI_OP_MULTIPLY && op != NKI_OP_MAX && op != NKI_OP_MIN && op != NKI_OP_MAXIMUM &&
        op != NKI_OP_MINIMUM)
        return nki_fail_op(m, "reduce_op", op, "nl.add, nl.multiply, nl.max or nl.min");
    if (o->cmd != NKI_RESET_REDUCE && o->cmd != NKI_REDUCE && o->cmd != NKI_LOAD_REDUCE) {
        nki_fail(&m->err, "value-type", "reduce_cmd must be reset_reduce, reduce or load_reduce here");
        nki_error_want(&m->err, "reset_reduce, reduce or load_reduce");
        return false;
    }
    if ((o->cmd == NKI_LOAD_REDUCE) != (o->init.kind != NKI_ABSENT)) {
        nki_fail(&m->err, "value-type", "reduce_init goes with reduce_cmd.load_reduce, and only with it");
        nki_error_want(&m->err, "both or neither");
        return false;
    }
    if (o->reduce_res) {
        struct nki_use res = {.name = "reduce_res", .view = o->reduce_res, .write = true};
        if (!nki_check(m, &res, 1) || !nki_need_vector(m, &u[1], &res, "operand-not-vector")) return false;
    }
    if (!nki_vector_reduce_check(m, o->cmd, o->reduce_res) || !nki_check_initialised(m, u, 3)) return false;
    int64_t free_size = nki_view_free_size(dst);
    struct nki_effect e = {.roundings = 1, .functions = {o->step.op}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 3, &e);
    if (!r) return false;
    r->alu[0] = (uint8_t)o->step.op;
    r->alu[1] = (uint8_t)op;
    r->flags |= NKI_FLAG_REDUCES;
    r->elements = (uint32_t)free_size;
    if (!nki_vector_reduce_begin(m, o->cmd, op, &o->init)) return false;
    struct nki_flow f = *nki_flow_of(dst);
    if (op == NKI_OP_ADD || op == NKI_OP_MULTIPLY) {
        f.roundings += (uint32_t)free_size;
        if (f.terms < m->dve_flow.terms + (uint32_t)free_size) f.terms = m->dve_flow.terms + (uint32_t)free_size;
    }
    nki_flow_merge(&m->dve_flow, &f);
    if (m->execute) {
        struct nki_lane l[2];
        struct per_partition operand;
        if (!nki_lane_open(m, &l[1], data, false) || (nki_overlap(dst, data) && !nki_lane_detach(m, &l[1])) ||
            !open_value(m, &operand, &o->step.operand, 0.0, dst) || !nki_lane_open(m, &l[0], dst, true))
            return false;
        for (int64_t p = 0; p < l[0].parts; p++) {
            double v64 = unary ? 0.0 : value_at(&operand, p);
            float v = (float)v64;
            for (int64_t at = 0; at < l[0].free; at += NKI_CHUNK) {
                int64_t n = l[0].free - at < NKI_CHUNK ? l[0].free - at : NKI_CHUNK;
                if (m->mode == NKI_EXACT) {
                    double x[NKI_CHUNK], z[NKI_CHUNK];
                    const double *in = nki_lane_f64(&l[1], p, at, n, x);
                    if (unary)
                        nki_row_unary_f64(o->step.op, n, z, in);
                    else if (o->step.reverse)
                        nki_row_binary_f64(o->step.op, n, z, &v64, 0, in, 1);
                    else
                        nki_row_binary_f64(o->step.op, n, z, in, 1, &v64, 0);
                    m->dve_acc[p] = nki_reduce_combine(op, m->dve_acc[p], nki_row_reduce_f64(op, n, z), true);
                    nki_lane_put_f64(&l[0], p, at, n, z);
                } else {
                    float x[NKI_CHUNK], z[NKI_CHUNK];
                    const float *in = nki_lane_f32(&l[1], p, at, n, x);
                    if (unary)
                        nki_row_unary_f32(o->step.op, n, z, in);
                    else if (o->step.reverse)
                        nki_row_binary_f32(o->step.op, n, z, &v, 0, in, 1);
                    else
                        nki_row_binary_f32(o->step.op, n, z, in, 1, &v, 0);
                    m->dve_acc[p] = nki_reduce_combine(op, m->dve_acc[p], nki_row_reduce_f32(op, n, z), false);
                    nki_lane_put_f32(&l[0], p, at, n, z);
                }
            }
        }
        close_value(m, &operand);
        nki_lane_close(m, &l[1], false);
        nki_lane_close(m, &l[0], true);
    }
    return nki_vector_reduce_end(m, o->reduce_res, o->negate);
}

bool nki_exponential(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src,
                     const struct nki_value *max_value, const struct nki_view *reduce_res, enum nki_reduce_cmd cmd,
                     const struct nki_value *init) {
    nki_begin(m, NKI_I_EXPONENTIAL);
    struct nki_use u[3] = {
        {.name = "dst", .view = dst, .write = true},
        {.name = "src", .view = src},
        {.name = "max_value", .view = max_value->kind == NKI_VIEW ? max_value->view : NULL, .vector = true}};
    if (!nki_check(m, u, 3) || !nki_need_same_size(m, &u[1], &u[0])) return false;
    if (u[2].view && !nki_need_vector(m, &u[1], &u[2], "operand-not-vector")) return false;
    if (reduce_res) {
        struct nki_use res = {.name = "reduce_res", .view = reduce_res, .write = true};
        if (!nki_check(m, &res, 1) || !nki_need_vector(m, &u[1], &res, "operand-not-vector")) return false;
    }
    bool starts = init->kind == NKI_VIEW || (init->kind != NKI_ABSENT && init->number != 0.0);
    if (starts && cmd != NKI_LOAD_REDUCE) {
        nki_fail(&m->err, "value-type", "reduce_init goes with reduce_cmd.load_reduce, and only with it");
        nki_error_want(&m->err, "reduce_cmd=nisa.reduce_cmd.load_reduce, or no reduce_init");
        return false;
    }
    if (!nki_vector_reduce_check(m, cmd, reduce_res) || !nki_check_initialised(m, u, 3)) return false;
    int64_t free_size = nki_view_free_size(dst);
    struct nki_effect e = {.roundings = 3, .functions = {NKI_OP_EXP, NKI_OP_SUBTRACT}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 3, &e);
    if (!r) return false;
    r->alu[0] = NKI_OP_EXP;
    r->elements = (uint32_t)free_size;
    if (!nki_vector_reduce_begin(m, cmd, NKI_OP_ADD, init)) return false;
    if (cmd != NKI_IDLE) {
        struct nki_flow f = *nki_flow_of(dst);
        f.roundings += (uint32_t)free_size;
        f.terms = m->dve_flow.terms + (uint32_t)free_size;
        nki_flow_merge(&m->dve_flow, &f);
    }
    if (m->execute) {
        struct nki_lane l[2];
        struct per_partition top;
        if (!nki_lane_open(m, &l[1], src, false) || (nki_overlap(dst, src) && !nki_lane_detach(m, &l[1])) ||
            !open_value(m, &top, max_value, 0.0, dst) || !nki_lane_open(m, &l[0], dst, true))
            return false;
        for (int64_t p = 0; p < l[0].parts; p++) {
            double v = value_at(&top, p);
            for (int64_t at = 0; at < l[0].free; at += NKI_CHUNK) {
                int64_t n = l[0].free - at < NKI_CHUNK ? l[0].free - at : NKI_CHUNK;
                double x[NKI_CHUNK], z[NKI_CHUNK];
                if (m->mode == NKI_EXACT) {
                    nki_row_binary_f64(NKI_OP_SUBTRACT, n, z, nki_lane_f64(&l[1], p, at, n, x), 1, &v, 0);
                    nki_row_unary_f64(NKI_OP_EXP, n, z, z);
                    if (cmd != NKI_IDLE) m->dve_acc[p] += nki_row_reduce_f64(NKI_OP_ADD, n, z);
                    nki_lane_put_f64(&l[0], p, at, n, z);
                } else {
                    float *out = (float *)(void *)z;
                    kernels()->exp_scale_bias_f32((size_t)n, out, nki_lane_f32(&l[1], p, at, n, (float *)(void *)x),
                                                  1.0f, -(float)v);
                    if (cmd != NKI_IDLE)
                        m->dve_acc[p] = (double)((float)m->dve_acc[p] + (float)nki_row_reduce_f32(NKI_OP_ADD, n, out));
                    nki_lane_put_f32(&l[0], p, at, n, out);
                }
            }
        }
        close_value(m, &top);
        nki_lane_close(m, &l[1], false);
        nki_lane_close(m, &l[0], true);
    }
    return nki_vector_reduce_end(m, reduce_res, false);
}
