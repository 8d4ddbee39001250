// SPDX-License-Identifier: MIT
// rowops.c: operators over rows, and reductions, by enum nki_op.
#include <math.h>
#include <string.h>

#include "nki/exec.h"

// abs_max and abs_min keep the sign of the input they choose; a tie chooses the second.
#define ABS_PICK(name, type, fabs_, test)                                                                              \
    static void name(int64_t n, type *dst, const type *a, int a_step, const type *b, int b_step) {                     \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            type x = a[i * a_step], y = b[i * b_step];                                                                 \
            dst[i] = fabs_(x) test fabs_(y) ? x : y;                                                                   \
        }                                                                                                              \
    }
ABS_PICK(abs_max_f32, float, fabsf, >)
ABS_PICK(abs_min_f32, float, fabsf, <)
ABS_PICK(abs_max_f64, double, fabs, >)
ABS_PICK(abs_min_f64, double, fabs, <)

void nki_row_binary_f32(enum nki_op op, int64_t n, float *dst, const float *a, int a_step, const float *b, int b_step) {
    if (op == NKI_OP_ABS_MAX)
        abs_max_f32(n, dst, a, a_step, b, b_step);
    else if (op == NKI_OP_ABS_MIN)
        abs_min_f32(n, dst, a, a_step, b, b_step);
    else
        kernels()->binary[ROW_F32][nki_ops[op].binary]((size_t)n, dst, a, (size_t)a_step, b, (size_t)b_step);
}

void nki_row_binary_f64(enum nki_op op, int64_t n, double *dst, const double *a, int a_step, const double *b,
                        int b_step) {
    if (op == NKI_OP_ABS_MAX)
        abs_max_f64(n, dst, a, a_step, b, b_step);
    else if (op == NKI_OP_ABS_MIN)
        abs_min_f64(n, dst, a, a_step, b, b_step);
    else
        kernels()->binary[ROW_F64][nki_ops[op].binary]((size_t)n, dst, a, (size_t)a_step, b, (size_t)b_step);
}

void nki_row_unary_f32(enum nki_op op, int64_t n, float *dst, const float *a) {
    kernels()->unary[ROW_F32][nki_ops[op].unary]((size_t)n, dst, a);
}

void nki_row_unary_f64(enum nki_op op, int64_t n, double *dst, const double *a) {
    kernels()->unary[ROW_F64][nki_ops[op].unary]((size_t)n, dst, a);
}

double nki_reduce_identity(enum nki_op op) {
    switch (op) {
    case NKI_OP_MULTIPLY:
    case NKI_OP_LOGICAL_AND: return 1.0;
    case NKI_OP_MAXIMUM:
    case NKI_OP_MAX: return -(double)INFINITY;
    case NKI_OP_MINIMUM:
    case NKI_OP_MIN: return (double)INFINITY;
    default: return 0.0;
    }
}

double nki_reduce_combine(enum nki_op op, double a, double b, bool exact) {
    if (op == NKI_OP_MAX) op = NKI_OP_MAXIMUM;
    if (op == NKI_OP_MIN) op = NKI_OP_MINIMUM;
    if (exact) {
        double r;
        nki_row_binary_f64(op, 1, &r, &a, 1, &b, 1);
        return r;
    }
    float x = (float)a, y = (float)b, r;
    nki_row_binary_f32(op, 1, &r, &x, 1, &y, 1);
    return (double)r;
}

// Operators without a reduction kernel go element by element: logical ones and subtract are rare.
#define REDUCE(name, type, suffix, ROW)                                                                                \
    double name(enum nki_op op, int64_t n, const type *a) {                                                            \
        const struct kernels *k = kernels();                                                                           \
        type r;                                                                                                        \
        switch (op) {                                                                                                  \
        case NKI_OP_ADD: k->reduce[ROW][REDUCE_SUM]((size_t)n, &r, a); return (double)r;                               \
        case NKI_OP_MULTIPLY: k->reduce[ROW][REDUCE_PROD]((size_t)n, &r, a); return (double)r;                         \
        case NKI_OP_MAXIMUM:                                                                                           \
        case NKI_OP_MAX: k->reduce[ROW][REDUCE_MAX]((size_t)n, &r, a); return (double)r;                               \
        case NKI_OP_MINIMUM:                                                                                           \
        case NKI_OP_MIN: k->reduce[ROW][REDUCE_MIN]((size_t)n, &r, a); return (double)r;                               \
        default: break;                                                                                                \
        }                                                                                                              \
        r = a[0];                                                                                                      \
        for (int64_t i = 1; i < n; i++) nki_row_binary_##suffix(op, 1, &r, &r, 1, &a[i], 1);                           \
        return (double)r;                                                                                              \
    }
REDUCE(nki_row_reduce_f32, float, f32, ROW_F32)
REDUCE(nki_row_reduce_f64, double, f64, ROW_F64)
