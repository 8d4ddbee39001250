// SPDX-License-Identifier: MIT
// kernels_unary.h: part of kernels_body.h: the unary loops.

INLINE double d_erf_dx(double x) { return 1.1283791670955126 * d_exp(-x * x); }
INLINE double d_log2_near(double x) { return 1.4426950408889634 * d_log(x); }
INLINE double d_log10_near(double x) { return 0.43429448190325183 * d_log(x); }
static double gelu_libm(double x) { return x < -40 ? -0.0 : 0.5 * x * erfc(x * -0.70710678118654752); }
static double gelu_dx_libm(double x) {
    double c = x > 40 ? 40 : x < -40 ? -40 : x;
    return 0.5 * erfc(c * -0.70710678118654752) + c * 0.39894228040143268 * exp(-0.5 * c * c);
}

#define UNARY(name, T, expr)                                                                                           \
    static void name(size_t n, void *dst, const void *src) {                                                           \
        T *d = dst;                                                                                                    \
        const T *s = src;                                                                                              \
        EACH(n) {                                                                                                      \
            T x = s[i];                                                                                                \
            d[i] = (T)(expr);                                                                                          \
        }                                                                                                              \
    }
// Both float types; expr in terms of x in the row's own type, with F(f) naming a float or double function.
#define UNARY_BOTH(op, expr32, expr64) UNARY(op##_f32, float, expr32) UNARY(op##_f64, double, expr64)
// float32 computed in float64 and rounded once.
#define UNARY_WIDE(op, f)                                                                                              \
    UNARY(op##_f32, float, f((double)x))                                                                               \
    UNARY(op##_f64, double, f(x))
#define UNARY_WIDE_LIBM(op, f, libm)                                                                                   \
    UNARY(op##_f32, float, f((double)x))                                                                               \
    UNARY(op##_f64, double, libm(x))

UNARY_BOTH(copy, x, x)
UNARY_BOTH(negative, -x, -x)
UNARY_BOTH(abs, fabsf(x), fabs(x))
UNARY_BOTH(square, x *x, x *x)
UNARY_BOTH(reciprocal, 1 / x, 1 / x)
UNARY_BOTH(sqrt, sqrtf(x), sqrt(x))
UNARY_BOTH(rsqrt, 1 / sqrtf(x), 1 / sqrt(x))
UNARY_BOTH(cbrt, cbrt((double)x), cbrt(x))
UNARY_BOTH(exp, f_exp(x), d_exp(x))
UNARY_WIDE(exp2, d_exp2)
UNARY_WIDE(expm1, d_expm1)
UNARY_BOTH(log, f_log(x), d_log(x))
UNARY_WIDE_LIBM(log2, d_log2_near, log2)
UNARY_WIDE_LIBM(log10, d_log10_near, log10)
UNARY_WIDE_LIBM(log1p, d_log1p, log1p)
UNARY_WIDE(arcsin, asin)
UNARY_WIDE(arccos, acos)
UNARY_WIDE_LIBM(arctan, d_atan_near, atan)
UNARY_WIDE_LIBM(sinh, d_sinh, sinh)
UNARY_WIDE_LIBM(cosh, d_cosh, cosh)
UNARY_WIDE(tanh, d_tanh)
UNARY_WIDE(arcsinh, asinh)
UNARY_WIDE(arccosh, acosh)
UNARY_WIDE(arctanh, atanh)
UNARY_WIDE(sigmoid, d_sigmoid)
UNARY_WIDE_LIBM(erf, d_erf_near, erf)
UNARY_WIDE_LIBM(erfc, d_erfc_full_near, erfc)
UNARY_WIDE(erf_dx, d_erf_dx)
UNARY_WIDE_LIBM(gelu, d_gelu_near, gelu_libm)
UNARY_WIDE(gelu_tanh, d_gelu_tanh)
UNARY_WIDE_LIBM(gelu_dx, d_gelu_dx_near, gelu_dx_libm)
UNARY_BOTH(gelu_sigmoid, d_silu((double)x, 1.702), d_silu(x, 1.702))
UNARY_BOTH(gelu_sigmoid_dx, d_silu_dx((double)x, 1.702), d_silu_dx(x, 1.702))
UNARY_BOTH(silu, d_silu((double)x, 1), d_silu(x, 1))
UNARY_BOTH(silu_dx, d_silu_dx((double)x, 1), d_silu_dx(x, 1))
UNARY_WIDE(softplus, d_softplus)
UNARY_WIDE(mish, d_mish)
UNARY_BOTH(relu, x <= 0 ? 0 : x, x <= 0 ? 0 : x)
UNARY_BOTH(sign, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x, x > 0 ? 1 : x < 0 ? -1 : x == 0 ? 0 : x)
UNARY_BOTH(floor, f_floor(x), d_floor(x))
UNARY_BOTH(ceil, f_ceil(x), d_ceil(x))
UNARY_BOTH(round, f_round(x), d_round(x))
UNARY_BOTH(trunc, f_trunc(x), d_trunc(x))
UNARY_BOTH(isnan, x != x ? 1 : 0, x != x ? 1 : 0)
UNARY_BOTH(isinf, fabsf(x) == INFINITY ? 1 : 0, fabs(x) == (double)INFINITY ? 1 : 0)
UNARY_BOTH(isfinite, fabsf(x) < INFINITY ? 1 : 0, fabs(x) < (double)INFINITY ? 1 : 0)
UNARY_BOTH(signbit, bits_of_f32(x) >> 31, bits_of_f64(x) >> 63)
UNARY_BOTH(logical_not, x == 0 ? 1 : 0, x == 0 ? 1 : 0)

// sin, cos, tan: arguments beyond the reduction's range are redone with libm, which is rare enough to look for
// afterwards.
#define TRIG(op, T, expr, libm)                                                                                        \
    static void op(size_t n, void *dst, const void *src) {                                                             \
        enum { STEP = 256 };                                                                                           \
        T *d = dst, kept[STEP];                                                                                        \
        const T *s = src;                                                                                              \
        for (size_t start = 0; start < n; start += STEP) {                                                             \
            size_t count = n - start < STEP ? n - start : STEP;                                                        \
            const T *p = s + start;                                                                                    \
            T *q = d + start;                                                                                          \
            int far = 0;                                                                                               \
            for (size_t i = 0; i < count; i++) kept[i] = p[i];                                                         \
            for (size_t i = 0; i < count; i++) far |= !(fabs((double)kept[i]) < D_TRIG_LIMIT);                         \
            EACH(count) {                                                                                              \
                double x = (double)kept[i];                                                                            \
                struct d_sincos y = d_sin_cos(x);                                                                      \
                q[i] = (T)(expr);                                                                                      \
            }                                                                                                          \
            for (size_t i = 0; far && i < count; i++)                                                                  \
                if (!(fabs((double)kept[i]) < D_TRIG_LIMIT)) q[i] = (T)libm((double)kept[i]);                          \
        }                                                                                                              \
    }
TRIG(sin_f32, float, y.sin, sin)
TRIG(cos_f32, float, y.cos, cos)
TRIG(tan_f32, float, y.sin / y.cos, tan)
TRIG(sin_f64, double, y.sin, sin)
TRIG(cos_f64, double, y.cos, cos)
UNARY(tan_f64, double, tan(x))

#define UNARY_INT(T, U, suffix)                                                                                        \
    UNARY(copy_##suffix, T, x)                                                                                         \
    UNARY(negative_##suffix, T, 0 - (U)x)                                                                              \
    UNARY(abs_##suffix, T, x < 0 ? 0 - (U)x : (U)x)                                                                    \
    UNARY(square_##suffix, T, (U)x *(U)x)                                                                              \
    UNARY(relu_##suffix, T, x > 0 ? x : 0)                                                                             \
    UNARY(sign_##suffix, T, (x > 0) - (x < 0))                                                                         \
    UNARY(zero_##suffix, T, x ^ x)                                                                                     \
    UNARY(one_##suffix, T, (x ^ x) + 1)                                                                                \
    UNARY(signbit_##suffix, T, x < 0)                                                                                  \
    UNARY(logical_not_##suffix, T, x == 0)                                                                             \
    UNARY(invert_##suffix, T, ~x)
UNARY_INT(int32_t, uint32_t, i32)
UNARY_INT(int64_t, uint64_t, i64)
