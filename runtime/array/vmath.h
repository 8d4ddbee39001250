// SPDX-License-Identifier: MIT
// vmath.h: transcendental functions as straight-line code, so that a loop over one is vectorised by the compiler.
//
// The d_ functions work in float64 to about one unit in the last place; float32 kernels use them too (rounding once at
// the end) except for exp and log, which have float32 forms (f_) for speed. Series coefficients are the exact Taylor
// ones where a comment names none; fitted ones state their interval and error. Only + - * / and sqrt occur, never a
// fused operation, so the result does not depend on the vector width. Included by the kernels only.
#ifndef NKILN_ARRAY_VMATH_H
#define NKILN_ARRAY_VMATH_H

#include <math.h>

#include "array/dtype.h"

#define INLINE static inline __attribute__((always_inline))

// Adding and subtracting these rounds to the nearest integer; the sum's low bits hold that integer.
#define F_MAGIC 0x1.8p23f
#define D_MAGIC 0x1.8p52

// 2^k for integral k within the normal exponents, given as a float.
INLINE double d_pow2(double k) { return f64_of_bits((bits_of_f64(k + D_MAGIC) + 1023) << 52); }
INLINE float f_pow2(float k) { return f32_of_bits((bits_of_f32(k + F_MAGIC) + 127) << 23); }

// x * 2^k for |k| <= 2044, in two steps so that subnormal and overflowing results come out right.
INLINE double d_scale(double x, double k) {
    double half = (k * 0.5 + D_MAGIC) - D_MAGIC;
    return x * d_pow2(half) * d_pow2(k - half);
}
INLINE float f_scale(float x, float k) {
    float half = (k * 0.5f + F_MAGIC) - F_MAGIC;
    return x * f_pow2(half) * f_pow2(k - half);
}

// (e^r - 1 - r) / r^2 for |r| <= 0.3475: the Taylor series to r^11 (remainder below 2^-55 of the result).
INLINE double d_exp_tail(double r) {
    double q = 1.0 / 6227020800.0;
    q = q * r + 1.0 / 479001600.0;
    q = q * r + 1.0 / 39916800.0;
    q = q * r + 1.0 / 3628800.0;
    q = q * r + 1.0 / 362880.0;
    q = q * r + 1.0 / 40320.0;
    q = q * r + 1.0 / 5040.0;
    q = q * r + 1.0 / 720.0;
    q = q * r + 1.0 / 120.0;
    q = q * r + 1.0 / 24.0;
    q = q * r + 1.0 / 6.0;
    return q * r + 0.5;
}

#define D_LN2_HI 0x1.62e42fee00000p-1 // 33 bits: n * D_LN2_HI is exact
#define D_LN2_LO 0x1.a39ef35793c76p-33
#define D_LOG2E 0x1.71547652b82fep0

INLINE double d_exp(double x) {
    double c = x > 710 ? 710 : x;
    c = c < -750 ? -750 : c;
    double n = (c * D_LOG2E + D_MAGIC) - D_MAGIC;
    double r = (c - n * D_LN2_HI) - n * D_LN2_LO;
    return d_scale(1 + (r + r * r * d_exp_tail(r)), n);
}

INLINE double d_exp2(double x) {
    double c = x > 1025 ? 1025 : x;
    c = c < -1080 ? -1080 : c;
    double n = (c + D_MAGIC) - D_MAGIC;
    double r = (c - n) * 0x1.62e42fefa39efp-1;
    return d_scale(1 + (r + r * r * d_exp_tail(r)), n);
}

INLINE double d_expm1(double x) {
    double c = x > 710 ? 710 : x;
    c = c < -60 ? -60 : c;
    double n = (c * D_LOG2E + D_MAGIC) - D_MAGIC;
    double high = c - n * D_LN2_HI, low = n * D_LN2_LO;
    double r = high - low, e = (high - r) - low;
    double p = r + (e + r * r * d_exp_tail(r)); // e^r - 1
    double over = n > 1000 ? n - 1000 : 0;      // near overflow 2^n is applied in two steps
    double s = d_pow2(n - over), t = d_pow2(over);
    double y = (p * s + (s - 1 / t)) * t;
    return x == 0 ? x : y;
}

// log(m 2^e) = e ln2 + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = f - f^2/2 + s (f^2/2 + R), with
// s = f / (2 + f) and R = 2 s^2 (1/3 + s^2/5 + s^4/7 ...).
INLINE double d_log(double x) {
    double tiny = x < 0x1p-1022 ? 0x1p54 : 1;
    uint64_t bits = bits_of_f64(x * tiny);
    double e = f64_of_bits(((bits >> 52) & 0x7ff) | 0x4330000000000000u) - 0x1p52 - 1023 - (tiny == 1 ? 0 : 54);
    double m = f64_of_bits((bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
    double above = m > 0x1.6a09e667f3bcdp0 ? 1 : 0;
    m = m * (1 - 0.5 * above);
    e = e + above;
    double f = m - 1, s = f / (2 + f), z = s * s, h = 0.5 * f * f;
    double R = 2.0 / 21;
    R = R * z + 2.0 / 19;
    R = R * z + 2.0 / 17;
    R = R * z + 2.0 / 15;
    R = R * z + 2.0 / 13;
    R = R * z + 2.0 / 11;
    R = R * z + 2.0 / 9;
    R = R * z + 2.0 / 7;
    R = R * z + 2.0 / 5;
    R = R * z + 2.0 / 3;
    R = R * z;
    double y = e * D_LN2_HI - ((h - (s * (h + R) + e * D_LN2_LO)) - f);
    y = x == 0 ? -(double)INFINITY : y;
    y = x == (double)INFINITY ? x : y;
    return x >= 0 ? y : (double)NAN;
}

INLINE double d_log1p(double x) {
    double u = 1 + x, lost = x - (u - 1);
    double c = u > 0 && u < 0x1p53 ? lost / u : 0;
    return x == 0 ? x : d_log(u) + c;
}

// log(1 + x) for 0 <= x <= 1.
INLINE double d_log1p_unit(double x) {
    double u = 1 + x;
    return d_log(u) + (x - (u - 1)) / u;
}

// sin and cos of |x| < D_TRIG_LIMIT; beyond it the caller falls back on libm. pi/2 in three parts of 33 bits.
#define D_TRIG_LIMIT 1e6
struct d_sincos {
    double sin, cos;
};
INLINE struct d_sincos d_sin_cos(double x) {
    double t = x * 0x1.45f306dc9c883p-1 + D_MAGIC;
    uint64_t quadrant = bits_of_f64(t);
    double n = t - D_MAGIC;
    double high = (x - n * 0x1.921fb54400000p0) - n * 0x1.0b4611a600000p-34;
    double low = n * 0x1.3198a2e037073p-69;
    double r = high - low, e = (high - r) - low, z = r * r;
    double s = 1.0 / 355687428096000.0;
    s = s * z - 1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z - 1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    s = r + (r * z * s + e * (1 - 0.5 * z));
    double c = 1.0 / 20922789888000.0;
    c = c * z - 1.0 / 87178291200.0;
    c = c * z + 1.0 / 479001600.0;
    c = c * z - 1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    double h = 0.5 * z, w = 1 - h;
    c = w + (((1 - w) - h) + (z * z * c - r * e));
    double swap_sin = quadrant & 1 ? c : s, swap_cos = quadrant & 1 ? s : c;
    struct d_sincos y;
    y.sin = f64_of_bits(bits_of_f64(swap_sin) ^ (quadrant & 2) << 62);
    y.cos = f64_of_bits(bits_of_f64(swap_cos) ^ ((quadrant + 1) & 2) << 62);
    y.sin = x == 0 ? x : y.sin;
    return y;
}

INLINE double d_tanh(double x) {
    double a = fabs(x), t = d_expm1(2 * (a > 22 ? 22 : a));
    return a != a ? x : copysign(t / (t + 2), x);
}

INLINE double d_sinh(double x) {
    double a = fabs(x), over = a > 709 ? 1 : 0, t = d_expm1(a - over * 0x1.62e42fefa39efp-1);
    double y = over == 0 ? 0.5 * (t + t / (t + 1)) : t;
    return a != a ? x : copysign(y, x);
}

INLINE double d_cosh(double x) {
    double a = fabs(x), over = a > 709 ? 1 : 0, t = d_exp(a - over * 0x1.62e42fefa39efp-1);
    return over == 0 ? 0.5 * t + 0.5 / t : t;
}

INLINE double d_sigmoid(double x) {
    double e = d_exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e) + (x != x ? x : 0);
}

// x sigmoid(k x); 0 at minus infinity.
INLINE double d_silu(double x, double k) {
    double e = d_exp(-fabs(k * x));
    double y = x * (x < 0 ? e : 1) / (1 + e);
    return x < -0x1.fffffffffffffp1023 ? -0.0 : y;
}

// d/dx of x sigmoid(k x): s (1 + k x (1 - s)).
INLINE double d_silu_dx(double x, double k) {
    double e = d_exp(-fabs(k * x)), s = (x < 0 ? e : 1) / (1 + e), c = (x < 0 ? 1 : e) / (1 + e);
    double limited = x > 1e4 ? 1e4 : x;
    limited = limited < -1e4 ? -1e4 : limited;
    return s * (1 + k * limited * c) + (x != x ? x : 0);
}

INLINE double d_gelu_tanh(double x) {
    double c = x > 1e3 ? 1e3 : x;
    c = c < -1e3 ? -1e3 : c;
    double e = d_exp(-fabs(1.5957691216057308 * (c + 0.044715 * c * c * c)));
    double y = x * (x < 0 ? e : 1) / (1 + e);
    return x < -1e3 ? -0.0 : y;
}

INLINE double d_softplus(double x) {
    double y = d_log1p_unit(d_exp(-fabs(x)));
    return x > 0 ? x + y : x != x ? x : y;
}

// tanh(log(1 + w)) = n / (n + 2) with n = w (w + 2), w = e^x.
INLINE double d_mish(double x) {
    double w = d_exp(x > 40 ? 40 : x), n = w * (w + 2), y = x * (n / (n + 2));
    return x < -800 ? -0.0 : y;
}

// erfc(x) for x >= 0 to about 5e-12 of its value: exp(-x^2) t p(t), t = 2 / (2 + x); p fitted for x in [0, 11].
// For float32 arguments x^2 is exact.
INLINE double d_erfc_near(double x) {
    double c = x > 11 ? 11 : x, t = 2 / (2 + c);
    double p = -1.30926583531363518e-02;
    p = p * t + 1.35901703894838494e-01;
    p = p * t - 6.22214752485842681e-01;
    p = p * t + 1.64698267616659288e+00;
    p = p * t - 2.75894169768595665e+00;
    p = p * t + 2.99661729477802785e+00;
    p = p * t - 2.10210802007643194e+00;
    p = p * t + 1.01457310282745494e+00;
    p = p * t - 4.54166035384007849e-01;
    p = p * t + 1.04150528399689385e-01;
    p = p * t + 6.22206391817629878e-02;
    p = p * t + 1.79320621518659323e-01;
    p = p * t + 2.46551707418926624e-01;
    p = p * t + 2.82110493521535721e-01;
    p = p * t + 2.82094396282745075e-01;
    return d_exp(-x * x) * (t * p);
}

// erf(x) / x as a polynomial in x^2, fitted on |x| <= 1 to 8e-13.
INLINE double d_erf_small(double z) {
    double p = 1.05629912718415752e-06;
    p = p * z - 1.38987063714410314e-05;
    p = p * z + 1.19548198316034616e-04;
    p = p * z - 8.54248905772314192e-04;
    p = p * z + 5.22377641253819920e-03;
    p = p * z - 2.68661314109383507e-02;
    p = p * z + 1.12837912853975070e-01;
    p = p * z - 3.76126388885053287e-01;
    return p * z + 1.12837916709458597e+00;
}

// For float32 results.
INLINE double d_erf_near(double x) {
    double a = fabs(x), c = a > 1 ? 1 : a;
    double small = x * d_erf_small(c * c), large = copysign(1 - d_erfc_near(a), x);
    return a < 1 ? small : large;
}
INLINE double d_erfc_full_near(double x) {
    double e = d_erfc_near(fabs(x));
    return x < 0 ? 2 - e : e;
}
INLINE double d_gelu_near(double x) {
    double y = 0.5 * x * d_erfc_full_near(x * -0.70710678118654752);
    return x < -40 ? -0.0 : y;
}
INLINE double d_gelu_dx_near(double x) {
    double c = x > 40 ? 40 : x;
    c = c < -40 ? -40 : c;
    return 0.5 * d_erfc_full_near(c * -0.70710678118654752) + c * 0.39894228040143268 * d_exp(-0.5 * c * c);
}

// arctan for float32 results: |x| > 1 through pi/2 - arctan(1/x); fitted on [0, 1] to 1.4e-12.
INLINE double d_atan_near(double x) {
    double a = fabs(x), t = a > 1 ? 1 / a : a, z = t * t;
    double p = -2.80840316361713113e-04;
    p = p * z + 2.25562840345764530e-03;
    p = p * z - 8.50969882441565684e-03;
    p = p * z + 2.03873841780502670e-02;
    p = p * z - 3.57554578541028414e-02;
    p = p * z + 5.08125638786394856e-02;
    p = p * z - 6.38403370736320142e-02;
    p = p * z + 7.62042388606858773e-02;
    p = p * z - 9.07822308823777874e-02;
    p = p * z + 1.11096394097239523e-01;
    p = p * z - 1.42856110251523422e-01;
    p = p * z + 1.99999961961320111e-01;
    p = p * z - 3.33333332779530922e-01;
    p = p * z + 9.99999999998661626e-01;
    p = p * t;
    p = a > 1 ? 1.5707963267948966 - p : p;
    return copysign(p, x);
}

// float32 exp, fitted tail on |r| <= 0.3475 (3e-9 of the result); n * F_LN2_HI is exact for |n| < 2^9.
#define F_LN2_HI 0x1.62e4p-1f
#define F_LN2_LO 0x1.7f7d1cp-20f
INLINE float f_exp(float x) {
    float c = x > 89 ? 89 : x;
    c = c < -104 ? -104 : c;
    float n = (c * 0x1.715476p0f + F_MAGIC) - F_MAGIC;
    float r = (c - n * F_LN2_HI) - n * F_LN2_LO;
    float q = 1.38142197639555065e-03f;
    q = q * r + 8.36889887389151085e-03f;
    q = q * r + 4.16684057660246521e-02f;
    q = q * r + 1.66665191279299185e-01f;
    q = q * r + 4.99999933462215995e-01f;
    return f_scale(1 + (r + r * r * q), n);
}

// float32 log: the method of d_log.
INLINE float f_log(float x) {
    float tiny = x < 0x1p-126f ? 0x1p24f : 1;
    uint32_t bits = bits_of_f32(x * tiny);
    float e = f32_of_bits(((bits >> 23) & 0xff) | 0x4b000000u) - 0x1p23f - 127 - (tiny == 1 ? 0 : 24);
    float m = f32_of_bits((bits & 0x7fffffu) | 0x3f800000u);
    float above = m > 0x1.6a09e6p0f ? 1 : 0;
    m = m * (1 - 0.5f * above);
    e = e + above;
    float f = m - 1, s = f / (2 + f), z = s * s, h = 0.5f * f * f;
    float R = 2.0f / 9;
    R = R * z + 2.0f / 7;
    R = R * z + 2.0f / 5;
    R = R * z + 2.0f / 3;
    R = R * z;
    float y = e * F_LN2_HI - ((h - (s * (h + R) + e * F_LN2_LO)) - f);
    y = x == 0 ? -INFINITY : y;
    y = x == INFINITY ? x : y;
    return x >= 0 ? y : NAN;
}

// Rounding to integral values without the instructions a baseline processor lacks.
INLINE double d_round(double x) {
    double a = fabs(x), r = (a + 0x1p52) - 0x1p52;
    return a < 0x1p52 ? copysign(r, x) : x;
}
INLINE double d_floor(double x) {
    double r = d_round(x);
    return copysign(r > x ? r - 1 : r, x);
}
INLINE double d_ceil(double x) {
    double r = d_round(x);
    return copysign(r < x ? r + 1 : r, x);
}
INLINE double d_trunc(double x) { return copysign(d_floor(fabs(x)), x); }
INLINE float f_round(float x) {
    float a = fabsf(x), r = (a + 0x1p23f) - 0x1p23f;
    return a < 0x1p23f ? copysignf(r, x) : x;
}
INLINE float f_floor(float x) {
    float r = f_round(x);
    return copysignf(r > x ? r - 1 : r, x);
}
INLINE float f_ceil(float x) {
    float r = f_round(x);
    return copysignf(r < x ? r + 1 : r, x);
}
INLINE float f_trunc(float x) { return copysignf(f_floor(fabsf(x)), x); }

#endif
