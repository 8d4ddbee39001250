// SPDX-License-Identifier: MIT
// kernels_body.h: the text of the row kernels. kernels_base.c, kernels_avx2.c and kernels_avx512.c include it once each
// with their own compiler flags and KERNELS_TABLE set to the name of the table they define; everything else is static.
#include <math.h>

#include "array/bits.h"
#include "array/kernels.h"
#include "array/vmath.h"

// In-place use (dst == src) carries no dependence between iterations; say so, or the loop would be versioned and run
// one element at a time exactly then.
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" // loops that call libm stay scalar
#define EACH(n) _Pragma("clang loop vectorize(assume_safety)") for (size_t i = 0; i < (n); i++)
#else
#define EACH(n) _Pragma("GCC ivdep") for (size_t i = 0; i < (n); i++)
#endif

#include "array/kernels_unary.h"

#include "array/kernels_binary.h"

#include "array/kernels_reduce.h"

#include "array/gemm_kernel.h"

// ---- conversion ----

#define TO(name, D, S, expr)                                                                                           \
    static void name(size_t n, D *dst, const void *src) {                                                              \
        const S *s = src;                                                                                              \
        EACH(n) {                                                                                                      \
            S x = s[i];                                                                                                \
            dst[i] = (D)(expr);                                                                                        \
        }                                                                                                              \
    }
#define FROM(name, D, S, expr)                                                                                         \
    static void name(size_t n, void *dst, const S *src) {                                                              \
        D *d = dst;                                                                                                    \
        EACH(n) {                                                                                                      \
            S x = src[i];                                                                                              \
            d[i] = (D)(expr);                                                                                          \
        }                                                                                                              \
    }
#define TO_BOTH(type, S, expr) TO(to_f32_##type, float, S, expr) TO(to_f64_##type, double, S, expr)
#define FROM_FLOAT(type, D, f)                                                                                         \
    FROM(from_f32_##type, D, float, f(x)) FROM(from_f64_##type, D, double, f(f32_odd_of_f64(x)))

TO_BOTH(float64, double, x)
TO_BOTH(float32, float, x)
TO_BOTH(float16, uint16_t, f32_of_f16(x))
TO_BOTH(bfloat16, uint16_t, f32_of_bf16(x))
TO_BOTH(float8_e4m3, uint8_t, f32_of_e4m3(x))
TO_BOTH(float8_e4m3fn, uint8_t, f32_of_e4m3fn(x))
TO_BOTH(float8_e5m2, uint8_t, f32_of_e5m2(x))
TO_BOTH(int8, int8_t, x)
TO_BOTH(int16, int16_t, x)
TO_BOTH(int32, int32_t, x)
TO_BOTH(int64, int64_t, x)
TO_BOTH(uint8, uint8_t, x)
TO_BOTH(uint16, uint16_t, x)
TO_BOTH(uint32, uint32_t, x)

FROM(from_f32_float64, double, float, x)
FROM(from_f64_float64, double, double, x)
FROM(from_f32_float32, float, float, x)
FROM(from_f64_float32, float, double, x)
FROM_FLOAT(tfloat32, float, tf32_of_f32)
FROM_FLOAT(float16, uint16_t, f16_of_f32)
FROM_FLOAT(bfloat16, uint16_t, bf16_of_f32)
FROM_FLOAT(float8_e4m3, uint8_t, e4m3_of_f32)
FROM_FLOAT(float8_e4m3fn, uint8_t, e4m3fn_of_f32)
FROM_FLOAT(float8_e5m2, uint8_t, e5m2_of_f32)
FROM(from_f32_int8, int8_t, float, i32_of_f32(x))
FROM(from_f64_int8, int8_t, double, i32_of_f64(x))
FROM(from_f32_int16, int16_t, float, i32_of_f32(x))
FROM(from_f64_int16, int16_t, double, i32_of_f64(x))
FROM(from_f32_int32, int32_t, float, i32_of_f32(x))
FROM(from_f64_int32, int32_t, double, i32_of_f64(x))
FROM(from_f32_int64, int64_t, float, i64_of_f32(x))
FROM(from_f64_int64, int64_t, double, i64_of_f64(x))
FROM(from_f32_uint32, uint32_t, float, i64_of_f32(x))
FROM(from_f64_uint32, uint32_t, double, i64_of_f64(x))
FROM(from_f32_bool, uint8_t, float, x != 0)
FROM(from_f64_bool, uint8_t, double, x != 0)

static void exp_scale_bias_f32(size_t n, float *dst, const float *src, float scale, float bias) {
    EACH(n) dst[i] = f_exp(src[i] * scale + bias);
}
static void scale_bias_f32(size_t n, float *dst, const float *src, float scale, float bias) {
    EACH(n) dst[i] = src[i] * scale + bias;
}

// ---- the table ----

const struct kernels KERNELS_TABLE =
    {
        .name = KERNELS_NAME,
        .unary[ROW_F32] =
            {
                [UNARY_COPY] = copy_f32,
                [UNARY_NEGATIVE] = negative_f32,
                [UNARY_ABS] = abs_f32,
                [UNARY_SQUARE] = square_f32,
                [UNARY_RECIPROCAL] = reciprocal_f32,
                [UNARY_SQRT] = sqrt_f32,
                [UNARY_RSQRT] = rsqrt_f32,
                [UNARY_CBRT] = cbrt_f32,
                [UNARY_EXP] = exp_f32,
                [UNARY_EXP2] = exp2_f32,
                [UNARY_EXPM1] = expm1_f32,
                [UNARY_LOG] = log_f32,
                [UNARY_LOG2] = log2_f32,
                [UNARY_LOG10] = log10_f32,
                [UNARY_LOG1P] = log1p_f32,
                [UNARY_SIN] = sin_f32,
                [UNARY_COS] = cos_f32,
                [UNARY_TAN] = tan_f32,
                [UNARY_ARCSIN] = arcsin_f32,
                [UNARY_ARCCOS] = arccos_f32,
                [UNARY_ARCTAN] = arctan_f32,
                [UNARY_SINH] = sinh_f32,
                [UNARY_COSH] = cosh_f32,
                [UNARY_TANH] = tanh_f32,
                [UNARY_ARCSINH] = arcsinh_f32,
                [UNARY_ARCCOSH] = arccosh_f32,
                [UNARY_ARCTANH] = arctanh_f32,
                [UNARY_SIGMOID] = sigmoid_f32,
                [UNARY_ERF] = erf_f32,
                [UNARY_ERFC] = erfc_f32,
                [UNARY_ERF_DX] = erf_dx_f32,
                [UNARY_GELU] = gelu_f32,
                [UNARY_GELU_TANH] = gelu_tanh_f32,
                [UNARY_GELU_SIGMOID] = gelu_sigmoid_f32,
                [UNARY_GELU_DX] = gelu_dx_f32,
                [UNARY_GELU_SIGMOID_DX] = gelu_sigmoid_dx_f32,
                [UNARY_SILU] = silu_f32,
                [UNARY_SILU_DX] = silu_dx_f32,
                [UNARY_SOFTPLUS] = softplus_f32,
                [UNARY_MISH] = mish_f32,
                [UNARY_RELU] = relu_f32,
                [UNARY_SIGN] = sign_f32,
                [UNARY_FLOOR] = floor_f32,
                [UNARY_CEIL] = ceil_f32,
                [UNARY_ROUND] = round_f32,
                [UNARY_TRUNC] = trunc_f32,
                [UNARY_ISNAN] = isnan_f32,
                [UNARY_ISINF] = isinf_f32,
                [UNARY_ISFINITE] = isfinite_f32,
                [UNARY_SIGNBIT] = signbit_f32,
                [UNARY_LOGICAL_NOT] = logical_not_f32,
            },
        .unary[ROW_F64] =
            {
                [UNARY_COPY] = copy_f64,
                [UNARY_NEGATIVE] = negative_f64,
                [UNARY_ABS] = abs_f64,
                [UNARY_SQUARE] = square_f64,
                [UNARY_RECIPROCAL] = reciprocal_f64,
                [UNARY_SQRT] = sqrt_f64,
                [UNARY_RSQRT] = rsqrt_f64,
                [UNARY_CBRT] = cbrt_f64,
                [UNARY_EXP] = exp_f64,
                [UNARY_EXP2] = exp2_f64,
                [UNARY_EXPM1] = expm1_f64,
                [UNARY_LOG] = log_f64,
                [UNARY_LOG2] = log2_f64,
                [UNARY_LOG10] = log10_f64,
                [UNARY_LOG1P] = log1p_f64,
                [UNARY_SIN] = sin_f64,
                [UNARY_COS] = cos_f64,
                [UNARY_TAN] = tan_f64,
                [UNARY_ARCSIN] = arcsin_f64,
                [UNARY_ARCCOS] = arccos_f64,
                [UNARY_ARCTAN] = arctan_f64,
                [UNARY_SINH] = sinh_f64,
                [UNARY_COSH] = cosh_f64,
                [UNARY_TANH] = tanh_f64,
                [UNARY_ARCSINH] = arcsinh_f64,
                [UNARY_ARCCOSH] = arccosh_f64,
                [UNARY_ARCTANH] = arctanh_f64,
                [UNARY_SIGMOID] = sigmoid_f64,
                [UNARY_ERF] = erf_f64,
                [UNARY_ERFC] = erfc_f64,
                [UNARY_ERF_DX] = erf_dx_f64,
                [UNARY_GELU] = gelu_f64,
                [UNARY_GELU_TANH] = gelu_tanh_f64,
                [UNARY_GELU_SIGMOID] = gelu_sigmoid_f64,
                [UNARY_GELU_DX] = gelu_dx_f64,
                [UNARY_GELU_SIGMOID_DX] = gelu_sigmoid_dx_f64,
                [UNARY_SILU] = silu_f64,
                [UNARY_SILU_DX] = silu_dx_f64,
                [UNARY_SOFTPLUS] = softplus_f64,
                [UNARY_MISH] = mish_f64,
                [UNARY_RELU] = relu_f64,
                [UNARY_SIGN] = sign_f64,
                [UNARY_FLOOR] = floor_f64,
                [UNARY_CEIL] = ceil_f64,
                [UNARY_ROUND] = round_f64,
                [UNARY_TRUNC] = trunc_f64,
                [UNARY_ISNAN] = isnan_f64,
                [UNARY_ISINF] = isinf_f64,
                [UNARY_ISFINITE] = isfinite_f64,
                [UNARY_SIGNBIT] = signbit_f64,
                [UNARY_LOGICAL_NOT] = logical_not_f64,
            },
        .unary[ROW_I32] =
            {
                [UNARY_COPY] = copy_i32,
                [UNARY_NEGATIVE] = negative_i32,
                [UNARY_ABS] = abs_i32,
                [UNARY_SQUARE] = square_i32,
                [UNARY_RELU] = relu_i32,
                [UNARY_SIGN] = sign_i32,
                [UNARY_FLOOR] = copy_i32,
                [UNARY_CEIL] = copy_i32,
                [UNARY_ROUND] = copy_i32,
                [UNARY_TRUNC] = copy_i32,
                [UNARY_ISNAN] = zero_i32,
                [UNARY_ISINF] = zero_i32,
                [UNARY_ISFINITE] = one_i32,
                [UNARY_SIGNBIT] = signbit_i32,
                [UNARY_LOGICAL_NOT] = logical_not_i32,
                [UNARY_INVERT] = invert_i32,
            },
        .unary[ROW_I64] =
            {
                [UNARY_COPY] = copy_i64,
                [UNARY_NEGATIVE] = negative_i64,
                [UNARY_ABS] = abs_i64,
                [UNARY_SQUARE] = square_i64,
                [UNARY_RELU] = relu_i64,
                [UNARY_SIGN] = sign_i64,
                [UNARY_FLOOR] = copy_i64,
                [UNARY_CEIL] = copy_i64,
                [UNARY_ROUND] = copy_i64,
                [UNARY_TRUNC] = copy_i64,
                [UNARY_ISNAN] = zero_i64,
                [UNARY_ISINF] = zero_i64,
                [UNARY_ISFINITE] = one_i64,
                [UNARY_SIGNBIT] = signbit_i64,
                [UNARY_LOGICAL_NOT] = logical_not_i64,
                [UNARY_INVERT] = invert_i64,
            },
        .binary[ROW_F32] =
            {
                [BINARY_ADD] = add_f32,
                [BINARY_SUBTRACT] = subtract_f32,
                [BINARY_MULTIPLY] = multiply_f32,
                [BINARY_DIVIDE] = divide_f32,
                [BINARY_FLOOR_DIVIDE] = floor_divide_f32,
                [BINARY_REMAINDER] = remainder_f32,
                [BINARY_FMOD] = fmod_f32,
                [BINARY_POWER] = power_f32,
                [BINARY_MAXIMUM] = maximum_f32,
                [BINARY_MINIMUM] = minimum_f32,
                [BINARY_FMAX] = fmax_f32,
                [BINARY_FMIN] = fmin_f32,
                [BINARY_ABS_MAX] = abs_max_f32,
                [BINARY_ABS_MIN] = abs_min_f32,
                [BINARY_ARCTAN2] = arctan2_f32,
                [BINARY_HYPOT] = hypot_f32,
                [BINARY_COPYSIGN] = copysign_f32,
                [BINARY_LOGADDEXP] = logaddexp_f32,
                [BINARY_LOGICAL_AND] = logical_and_f32,
                [BINARY_LOGICAL_OR] = logical_or_f32,
                [BINARY_LOGICAL_XOR] = logical_xor_f32,
                [BINARY_EQUAL] = equal_f32,
                [BINARY_NOT_EQUAL] = not_equal_f32,
                [BINARY_LESS] = less_f32,
                [BINARY_LESS_EQUAL] = less_equal_f32,
                [BINARY_GREATER] = greater_f32,
                [BINARY_GREATER_EQUAL] = greater_equal_f32,
            },
        .binary[ROW_F64] =
            {
                [BINARY_ADD] = add_f64,
                [BINARY_SUBTRACT] = subtract_f64,
                [BINARY_MULTIPLY] = multiply_f64,
                [BINARY_DIVIDE] = divide_f64,
                [BINARY_FLOOR_DIVIDE] = floor_divide_f64,
                [BINARY_REMAINDER] = remainder_f64,
                [BINARY_FMOD] = fmod_f64,
                [BINARY_POWER] = power_f64,
                [BINARY_MAXIMUM] = maximum_f64,
                [BINARY_MINIMUM] = minimum_f64,
                [BINARY_FMAX] = fmax_f64,
                [BINARY_FMIN] = fmin_f64,
                [BINARY_ABS_MAX] = abs_max_f64,
                [BINARY_ABS_MIN] = abs_min_f64,
                [BINARY_ARCTAN2] = arctan2_f64,
                [BINARY_HYPOT] = hypot_f64,
                [BINARY_COPYSIGN] = copysign_f64,
                [BINARY_LOGADDEXP] = logaddexp_f64,
                [BINARY_LOGICAL_AND] = logical_and_f64,
                [BINARY_LOGICAL_OR] = logical_or_f64,
                [BINARY_LOGICAL_XOR] = logical_xor_f64,
                [BINARY_EQUAL] = equal_f64,
                [BINARY_NOT_EQUAL] = not_equal_f64,
                [BINARY_LESS] = less_f64,
                [BINARY_LESS_EQUAL] = less_equal_f64,
                [BINARY_GREATER] = greater_f64,
                [BINARY_GREATER_EQUAL] = greater_equal_f64,
            },
        .binary[ROW_I32] =
            {
                [BINARY_ADD] = add_i32,
                [BINARY_SUBTRACT] = subtract_i32,
                [BINARY_MULTIPLY] = multiply_i32,
                [BINARY_FLOOR_DIVIDE] = floor_divide_i32,
                [BINARY_REMAINDER] = remainder_i32,
                [BINARY_FMOD] = fmod_i32,
                [BINARY_POWER] = power_i32,
                [BINARY_MAXIMUM] = maximum_i32,
                [BINARY_MINIMUM] = minimum_i32,
                [BINARY_FMAX] = maximum_i32,
                [BINARY_FMIN] = minimum_i32,
                [BINARY_ABS_MAX] = abs_max_i32,
                [BINARY_ABS_MIN] = abs_min_i32,
                [BINARY_BITWISE_AND] = bitwise_and_i32,
                [BINARY_BITWISE_OR] = bitwise_or_i32,
                [BINARY_BITWISE_XOR] = bitwise_xor_i32,
                [BINARY_LEFT_SHIFT] = left_shift_i32,
                [BINARY_RIGHT_SHIFT] = right_shift_i32,
                [BINARY_RIGHT_SHIFT_LOGICAL] = right_shift_logical_i32,
                [BINARY_LOGICAL_AND] = logical_and_i32,
                [BINARY_LOGICAL_OR] = logical_or_i32,
                [BINARY_LOGICAL_XOR] = logical_xor_i32,
                [BINARY_EQUAL] = equal_i32,
                [BINARY_NOT_EQUAL] = not_equal_i32,
                [BINARY_LESS] = less_i32,
                [BINARY_LESS_EQUAL] = less_equal_i32,
                [BINARY_GREATER] = greater_i32,
                [BINARY_GREATER_EQUAL] = greater_equal_i32,
            },
        .binary[ROW_I64] =
            {
                [BINARY_ADD] = add_i64,
                [BINARY_SUBTRACT] = subtract_i64,
                [BINARY_MULTIPLY] = multiply_i64,
                [BINARY_FLOOR_DIVIDE] = floor_divide_i64,
                [BINARY_REMAINDER] = remainder_i64,
                [BINARY_FMOD] = fmod_i64,
                [BINARY_POWER] = power_i64,
                [BINARY_MAXIMUM] = maximum_i64,
                [BINARY_MINIMUM] = minimum_i64,
                [BINARY_FMAX] = maximum_i64,
                [BINARY_FMIN] = minimum_i64,
                [BINARY_ABS_MAX] = abs_max_i64,
                [BINARY_ABS_MIN] = abs_min_i64,
                [BINARY_BITWISE_AND] = bitwise_and_i64,
                [BINARY_BITWISE_OR] = bitwise_or_i64,
                [BINARY_BITWISE_XOR] = bitwise_xor_i64,
                [BINARY_LEFT_SHIFT] = left_shift_i64,
                [BINARY_RIGHT_SHIFT] = right_shift_i64,
                [BINARY_RIGHT_SHIFT_LOGICAL] = right_shift_logical_i64,
                [BINARY_LOGICAL_AND] = logical_and_i64,
                [BINARY_LOGICAL_OR] = logical_or_i64,
                [BINARY_LOGICAL_XOR] = logical_xor_i64,
                [BINARY_EQUAL] = equal_i64,
                [BINARY_NOT_EQUAL] = not_equal_i64,
                [BINARY_LESS] = less_i64,
                [BINARY_LESS_EQUAL] = less_equal_i64,
                [BINARY_GREATER] = greater_i64,
                [BINARY_GREATER_EQUAL] = greater_equal_i64,
            },
        .compare[ROW_F32] =
            {
                [COMPARE_EQUAL] = c_equal_f32,
                [COMPARE_NOT_EQUAL] = c_not_equal_f32,
                [COMPARE_LESS] = c_less_f32,
                [COMPARE_LESS_EQUAL] = c_less_equal_f32,
                [COMPARE_GREATER] = c_greater_f32,
                [COMPARE_GREATER_EQUAL] = c_greater_equal_f32,
            },
        .compare[ROW_F64] =
            {
                [COMPARE_EQUAL] = c_equal_f64,
                [COMPARE_NOT_EQUAL] = c_not_equal_f64,
                [COMPARE_LESS] = c_less_f64,
                [COMPARE_LESS_EQUAL] = c_less_equal_f64,
                [COMPARE_GREATER] = c_greater_f64,
                [COMPARE_GREATER_EQUAL] = c_greater_equal_f64,
            },
        .compare[ROW_I32] =
            {
                [COMPARE_EQUAL] = c_equal_i32,
                [COMPARE_NOT_EQUAL] = c_not_equal_i32,
                [COMPARE_LESS] = c_less_i32,
                [COMPARE_LESS_EQUAL] = c_less_equal_i32,
                [COMPARE_GREATER] = c_greater_i32,
                [COMPARE_GREATER_EQUAL] = c_greater_equal_i32,
            },
        .compare[ROW_I64] =
            {
                [COMPARE_EQUAL] = c_equal_i64,
                [COMPARE_NOT_EQUAL] = c_not_equal_i64,
                [COMPARE_LESS] = c_less_i64,
                [COMPARE_LESS_EQUAL] = c_less_equal_i64,
                [COMPARE_GREATER] = c_greater_i64,
                [COMPARE_GREATER_EQUAL] = c_greater_equal_i64,
            },
        .reduce[ROW_F32] =
            {
                [REDUCE_SUM] = r_sum_f32,
                [REDUCE_PROD] = r_prod_f32,
                [REDUCE_MAX] = r_max_f32,
                [REDUCE_MIN] = r_min_f32,
                [REDUCE_ABS_MAX] = r_abs_max_f32,
                [REDUCE_SUM_SQUARE] = r_sum_square_f32,
            },
        .reduce[ROW_F64] =
            {
                [REDUCE_SUM] = r_sum_f64,
                [REDUCE_PROD] = r_prod_f64,
                [REDUCE_MAX] = r_max_f64,
                [REDUCE_MIN] = r_min_f64,
                [REDUCE_ABS_MAX] = r_abs_max_f64,
                [REDUCE_SUM_SQUARE] = r_sum_square_f64,
            },
        .reduce[ROW_I32] =
            {
                [REDUCE_SUM] = r_sum_i32,
                [REDUCE_PROD] = r_prod_i32,
                [REDUCE_MAX] = r_max_i32,
                [REDUCE_MIN] = r_min_i32,
                [REDUCE_ABS_MAX] = r_abs_max_i32,
                [REDUCE_SUM_SQUARE] = r_sum_square_i32,
            },
        .reduce[ROW_I64] =
            {
                [REDUCE_SUM] = r_sum_i64,
                [REDUCE_PROD] = r_prod_i64,
                [REDUCE_MAX] = r_max_i64,
                [REDUCE_MIN] = r_min_i64,
                [REDUCE_ABS_MAX] = r_abs_max_i64,
                [REDUCE_SUM_SQUARE] = r_sum_square_i64,
            },
        .scan[ROW_F32] =
            {
                [REDUCE_SUM] = scan_sum_f32,
                [REDUCE_PROD] = scan_prod_f32,
                [REDUCE_MAX] = scan_max_f32,
                [REDUCE_MIN] = scan_min_f32,
            },
        .scan[ROW_F64] =
            {
                [REDUCE_SUM] = scan_sum_f64,
                [REDUCE_PROD] = scan_prod_f64,
                [REDUCE_MAX] = scan_max_f64,
                [REDUCE_MIN] = scan_min_f64,
            },
        .scan[ROW_I32] =
            {
                [REDUCE_SUM] = scan_sum_i32,
                [REDUCE_PROD] = scan_prod_i32,
                [REDUCE_MAX] = scan_max_i32,
                [REDUCE_MIN] = scan_min_i32,
            },
        .scan[ROW_I64] =
            {
                [REDUCE_SUM] = scan_sum_i64,
                [REDUCE_PROD] = scan_prod_i64,
                [REDUCE_MAX] = scan_max_i64,
                [REDUCE_MIN] = scan_min_i64,
            },
        .select = {select_1, select_2, select_4, select_8},
        .to_f32 =
            {
                [DTYPE_FLOAT64] = to_f32_float64,
                [DTYPE_FLOAT32] = to_f32_float32,
                [DTYPE_FLOAT16] = to_f32_float16,
                [DTYPE_BFLOAT16] = to_f32_bfloat16,
                [DTYPE_TFLOAT32] = to_f32_float32,
                [DTYPE_FLOAT8_E4M3] = to_f32_float8_e4m3,
                [DTYPE_FLOAT8_E4M3FN] = to_f32_float8_e4m3fn,
                [DTYPE_FLOAT8_E5M2] = to_f32_float8_e5m2,
                [DTYPE_INT8] = to_f32_int8,
                [DTYPE_INT16] = to_f32_int16,
                [DTYPE_INT32] = to_f32_int32,
                [DTYPE_INT64] = to_f32_int64,
                [DTYPE_UINT8] = to_f32_uint8,
                [DTYPE_UINT16] = to_f32_uint16,
                [DTYPE_UINT32] = to_f32_uint32,
                [DTYPE_BOOL] = to_f32_uint8,
            },
        .to_f64 =
            {
                [DTYPE_FLOAT64] = to_f64_float64,
                [DTYPE_FLOAT32] = to_f64_float32,
                [DTYPE_FLOAT16] = to_f64_float16,
                [DTYPE_BFLOAT16] = to_f64_bfloat16,
                [DTYPE_TFLOAT32] = to_f64_float32,
                [DTYPE_FLOAT8_E4M3] = to_f64_float8_e4m3,
                [DTYPE_FLOAT8_E4M3FN] = to_f64_float8_e4m3fn,
                [DTYPE_FLOAT8_E5M2] = to_f64_float8_e5m2,
                [DTYPE_INT8] = to_f64_int8,
                [DTYPE_INT16] = to_f64_int16,
                [DTYPE_INT32] = to_f64_int32,
                [DTYPE_INT64] = to_f64_int64,
                [DTYPE_UINT8] = to_f64_uint8,
                [DTYPE_UINT16] = to_f64_uint16,
                [DTYPE_UINT32] = to_f64_uint32,
                [DTYPE_BOOL] = to_f64_uint8,
            },
        .from_f32 =
            {
                [DTYPE_FLOAT64] = from_f32_float64,
                [DTYPE_FLOAT32] = from_f32_float32,
                [DTYPE_FLOAT16] = from_f32_float16,
                [DTYPE_BFLOAT16] = from_f32_bfloat16,
                [DTYPE_TFLOAT32] = from_f32_tfloat32,
                [DTYPE_FLOAT8_E4M3] = from_f32_float8_e4m3,
                [DTYPE_FLOAT8_E4M3FN] = from_f32_float8_e4m3fn,
                [DTYPE_FLOAT8_E5M2] = from_f32_float8_e5m2,
                [DTYPE_INT8] = from_f32_int8,
                [DTYPE_INT16] = from_f32_int16,
                [DTYPE_INT32] = from_f32_int32,
                [DTYPE_INT64] = from_f32_int64,
                [DTYPE_UINT8] = from_f32_int8,
                [DTYPE_UINT16] = from_f32_int16,
                [DTYPE_UINT32] = from_f32_uint32,
                [DTYPE_BOOL] = from_f32_bool,
            },
        .from_f64 =
            {
                [DTYPE_FLOAT64] = from_f64_float64,
                [DTYPE_FLOAT32] = from_f64_float32,
                [DTYPE_FLOAT16] = from_f64_float16,
                [DTYPE_BFLOAT16] = from_f64_bfloat16,
                [DTYPE_TFLOAT32] = from_f64_tfloat32,
                [DTYPE_FLOAT8_E4M3] = from_f64_float8_e4m3,
                [DTYPE_FLOAT8_E4M3FN] = from_f64_float8_e4m3fn,
                [DTYPE_FLOAT8_E5M2] = from_f64_float8_e5m2,
                [DTYPE_INT8] = from_f64_int8,
                [DTYPE_INT16] = from_f64_int16,
                [DTYPE_INT32] = from_f64_int32,
                [DTYPE_INT64] = from_f64_int64,
                [DTYPE_UINT8] = from_f64_int8,
                [DTYPE_UINT16] = from_f64_int16,
                [DTYPE_UINT32] = from_f64_uint32,
                [DTYPE_BOOL] = from_f64_bool,
            },
        .exp_scale_bias_f32 = exp_scale_bias_f32,
        .scale_bias_f32 = scale_bias_f32,
        .gemm_f32 = gemm_block_f32,
        .gemm_f64 = gemm_block_f64,
        .gemm_mr = GEMM_MR,
        .gemm_nr_f32 = GEMM_NR_F32,
        .gemm_nr_f64 = GEMM_NR_F64,
};
