// SPDX-License-Identifier: MIT
// kernels.h: loops over contiguous rows of float32, float64, int32 and int64. Everything elementwise in arrays and in
// the NKI machine ends here; other element types are converted to one of the four first (convert.h).
//
// The kernels are compiled several times (baseline, AVX2, AVX-512; NEON is aarch64's baseline) from one text, and
// the widest one this processor has is picked when the program starts (NKILN_SIMD=base|avx2|avx512 narrows the choice).
// No kernel uses fused multiply-add and every reduction has a fixed order, so all variants give the same bits.
// + - * / sqrt are the IEEE operations; float32 transcendentals are within 2 ulp; float64 ones within 2 ulp.
//
// dst may be the same row as a source, but must not overlap one otherwise. A table entry is NULL where an operation
// has no meaning for the type (bitwise on floats). Nothing allocates, nothing fails.
#ifndef NKILN_ARRAY_KERNELS_H
#define NKILN_ARRAY_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array/dtype.h"

enum row_type { ROW_F32, ROW_F64, ROW_I32, ROW_I64, ROW_TYPES };

enum unary_op {
    UNARY_COPY,
    UNARY_NEGATIVE,
    UNARY_ABS,
    UNARY_SQUARE,
    UNARY_RECIPROCAL,
    UNARY_SQRT,
    UNARY_RSQRT,
    UNARY_CBRT,
    UNARY_EXP,
    UNARY_EXP2,
    UNARY_EXPM1,
    UNARY_LOG,
    UNARY_LOG2,
    UNARY_LOG10,
    UNARY_LOG1P,
    UNARY_SIN,
    UNARY_COS,
    UNARY_TAN,
    UNARY_ARCSIN,
    UNARY_ARCCOS,
    UNARY_ARCTAN,
    UNARY_SINH,
    UNARY_COSH,
    UNARY_TANH,
    UNARY_ARCSINH,
    UNARY_ARCCOSH,
    UNARY_ARCTANH,
    UNARY_SIGMOID,
    UNARY_ERF,
    UNARY_ERFC,
    UNARY_ERF_DX,          // 2/sqrt(pi) exp(-x^2)
    UNARY_GELU,            // x Phi(x)
    UNARY_GELU_TANH,       // 0.5 x (1 + tanh(sqrt(2/pi)(x + 0.044715 x^3)))
    UNARY_GELU_SIGMOID,    // x sigmoid(1.702 x)
    UNARY_GELU_DX,         // d/dx of UNARY_GELU
    UNARY_GELU_SIGMOID_DX, // d/dx of UNARY_GELU_SIGMOID
    UNARY_SILU,            // x sigmoid(x)
    UNARY_SILU_DX,
    UNARY_SOFTPLUS, // log(1 + exp(x))
    UNARY_MISH,     // x tanh(softplus(x))
    UNARY_RELU,     // NaN stays NaN
    UNARY_SIGN,
    UNARY_FLOOR,
    UNARY_CEIL,
    UNARY_ROUND, // to nearest even
    UNARY_TRUNC,
    UNARY_ISNAN, // these give 1 or 0 of the row's own type
    UNARY_ISINF,
    UNARY_ISFINITE,
    UNARY_SIGNBIT,
    UNARY_LOGICAL_NOT,
    UNARY_INVERT, // integers
    UNARY_COUNT
};

enum binary_op {
    BINARY_ADD,
    BINARY_SUBTRACT,
    BINARY_MULTIPLY,
    BINARY_DIVIDE,
    BINARY_FLOOR_DIVIDE,
    BINARY_REMAINDER, // sign of the divisor, as Python's %
    BINARY_FMOD,      // sign of the dividend, as C's
    BINARY_POWER,
    BINARY_MAXIMUM, // NaN if either is
    BINARY_MINIMUM,
    BINARY_FMAX, // the other if one is NaN
    BINARY_FMIN,
    BINARY_ABS_MAX, // the maximum of absolute values
    BINARY_ABS_MIN,
    BINARY_ARCTAN2,
    BINARY_HYPOT,
    BINARY_COPYSIGN,
    BINARY_LOGADDEXP,
    BINARY_BITWISE_AND, // integers, as the five after it
    BINARY_BITWISE_OR,
    BINARY_BITWISE_XOR,
    BINARY_LEFT_SHIFT, // counts outside 0..width-1 give 0 (or the sign for arithmetic right shift)
    BINARY_RIGHT_SHIFT,
    BINARY_RIGHT_SHIFT_LOGICAL,
    BINARY_LOGICAL_AND, // 1 or 0 of the row's own type, as the rest
    BINARY_LOGICAL_OR,
    BINARY_LOGICAL_XOR,
    BINARY_EQUAL,
    BINARY_NOT_EQUAL,
    BINARY_LESS,
    BINARY_LESS_EQUAL,
    BINARY_GREATER,
    BINARY_GREATER_EQUAL,
    BINARY_COUNT
};

enum compare_op {
    COMPARE_EQUAL,
    COMPARE_NOT_EQUAL,
    COMPARE_LESS,
    COMPARE_LESS_EQUAL,
    COMPARE_GREATER,
    COMPARE_GREATER_EQUAL,
    COMPARE_COUNT
};

enum reduce_op {
    REDUCE_SUM,
    REDUCE_PROD,
    REDUCE_MAX, // NaN if any is
    REDUCE_MIN,
    REDUCE_ABS_MAX,
    REDUCE_SUM_SQUARE,
    REDUCE_COUNT
};

struct kernels {
    const char *name;
    void (*unary[ROW_TYPES][UNARY_COUNT])(size_t n, void *dst, const void *src);
    // Steps are 0 (one value for the whole row) or 1.
    void (*binary[ROW_TYPES][BINARY_COUNT])(size_t n, void *dst, const void *a, size_t a_step, const void *b,
                                            size_t b_step);
    void (*compare[ROW_TYPES][COMPARE_COUNT])(size_t n, uint8_t *dst, const void *a, size_t a_step, const void *b,
                                              size_t b_step);
    // *result: one value of the row's type. n >= 1 for max and min; an empty sum is 0, an empty product 1.
    void (*reduce[ROW_TYPES][REDUCE_COUNT])(size_t n, void *result, const void *src);
    // Running sum, product, maximum, minimum: dst[i] = dst[i-1] op src[i], dst[0] = src[0].
    void (*scan[ROW_TYPES][REDUCE_COUNT])(size_t n, void *dst, const void *src);
    // dst[i] = condition[i] ? a[i] : b[i] for elements of 1, 2, 4, 8 bytes (index 0..3).
    void (*select[4])(size_t n, void *dst, const uint8_t *condition, const void *a, size_t a_step, const void *b,
                      size_t b_step);
    // Contiguous conversion of each element type from and to the two float row types, values as dtype_load/store.
    void (*to_f32[DTYPE_COUNT])(size_t n, float *dst, const void *src);
    void (*from_f32[DTYPE_COUNT])(size_t n, void *dst, const float *src);
    void (*to_f64[DTYPE_COUNT])(size_t n, double *dst, const void *src);
    void (*from_f64[DTYPE_COUNT])(size_t n, void *dst, const double *src);
    // dst[i] = exp(src[i] * scale + bias).
    void (*exp_scale_bias_f32)(size_t n, float *dst, const float *src, float scale, float bias);
    // dst[i] = src[i] * scale + bias, two roundings.
    void (*scale_bias_f32)(size_t n, float *dst, const float *src, float scale, float bias);
    // Fallback contraction: packed panels, c[mr][nr] = sum_k a[k][mr] b[k][nr]. See gemm.c.
    void (*gemm_f32)(size_t k, const float *a, const float *b, float *c);
    void (*gemm_f64)(size_t k, const double *a, const double *b, double *c);
    size_t gemm_mr, gemm_nr_f32, gemm_nr_f64;
};

// The table for this processor.
const struct kernels *kernels(void);

// Names as the Lua API spells them; the count of the enum when there is no such operation.
enum unary_op unary_parse(const char *name);
enum binary_op binary_parse(const char *name);
enum compare_op compare_parse(const char *name);
const char *unary_name(enum unary_op op);
const char *binary_name(enum binary_op op);
const char *compare_name(enum compare_op op);

static inline void unary_f32(enum unary_op op, size_t n, float *dst, const float *src) {
    kernels()->unary[ROW_F32][op](n, dst, src);
}
static inline void unary_f64(enum unary_op op, size_t n, double *dst, const double *src) {
    kernels()->unary[ROW_F64][op](n, dst, src);
}
static inline void binary_f32(enum binary_op op, size_t n, float *dst, const float *a, const float *b) {
    kernels()->binary[ROW_F32][op](n, dst, a, 1, b, 1);
}
static inline void binary_f64(enum binary_op op, size_t n, double *dst, const double *a, const double *b) {
    kernels()->binary[ROW_F64][op](n, dst, a, 1, b, 1);
}
// a[i] op b
static inline void binary_f32_scalar(enum binary_op op, size_t n, float *dst, const float *a, float b) {
    kernels()->binary[ROW_F32][op](n, dst, a, 1, &b, 0);
}
static inline void binary_f64_scalar(enum binary_op op, size_t n, double *dst, const double *a, double b) {
    kernels()->binary[ROW_F64][op](n, dst, a, 1, &b, 0);
}
// a op b[i]
static inline void scalar_binary_f32(enum binary_op op, size_t n, float *dst, float a, const float *b) {
    kernels()->binary[ROW_F32][op](n, dst, &a, 0, b, 1);
}
static inline void scalar_binary_f64(enum binary_op op, size_t n, double *dst, double a, const double *b) {
    kernels()->binary[ROW_F64][op](n, dst, &a, 0, b, 1);
}
static inline float reduce_f32(enum reduce_op op, size_t n, const float *src) {
    float r;
    kernels()->reduce[ROW_F32][op](n, &r, src);
    return r;
}
static inline double reduce_f64(enum reduce_op op, size_t n, const double *src) {
    double r;
    kernels()->reduce[ROW_F64][op](n, &r, src);
    return r;
}

#endif
