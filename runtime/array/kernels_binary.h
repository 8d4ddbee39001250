// SPDX-License-Identifier: MIT
// kernels_binary.h: part of kernels_body.h: binary, comparing and selecting loops.

// NumPy's divmod: the remainder takes the divisor's sign and the quotient is adjusted with it.
#define DIVMOD(T, suffix, FMOD, FLOOR, COPYSIGN)                                                                       \
    static T floor_divide_one_##suffix(T a, T b) {                                                                     \
        if (b == 0) return a / b;                                                                                      \
        T mod = FMOD(a, b), div = (a - mod) / b;                                                                       \
        if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;                                                                \
        if (div == 0) return COPYSIGN(0, a / b);                                                                       \
        T whole = FLOOR(div);                                                                                          \
        return div - whole > (T)0.5 ? whole + 1 : whole;                                                               \
    }                                                                                                                  \
    static T remainder_one_##suffix(T a, T b) {                                                                        \
        T mod = FMOD(a, b);                                                                                            \
        if (b == 0) return mod;                                                                                        \
        if (mod == 0) return COPYSIGN(0, b);                                                                           \
        return (b < 0) != (mod < 0) ? mod + b : mod;                                                                   \
    }
DIVMOD(float, f32, fmodf, floorf, copysignf)
DIVMOD(double, f64, fmod, floor, copysign)

INLINE double logaddexp_of(double x, double y) {
    double high = x > y ? x : y, gap = fabs(x - y);
    double r = high + d_log1p_unit(d_exp(-gap));
    return x == y ? x + 0.69314718055994531 : x != x || y != y ? x + y : r;
}

#define BINARY_LOOPS(D, T, expr)                                                                                       \
    D *d = dst;                                                                                                        \
    const T *pa = a, *pb = b;                                                                                          \
    if (a_step && b_step) {                                                                                            \
        EACH(n) {                                                                                                      \
            T x = pa[i], y = pb[i];                                                                                    \
            d[i] = (D)(expr);                                                                                          \
        }                                                                                                              \
    } else if (a_step) {                                                                                               \
        const T y = *pb;                                                                                               \
        EACH(n) {                                                                                                      \
            T x = pa[i];                                                                                               \
            d[i] = (D)(expr);                                                                                          \
        }                                                                                                              \
    } else if (b_step) {                                                                                               \
        const T x = *pa;                                                                                               \
        EACH(n) {                                                                                                      \
            T y = pb[i];                                                                                               \
            d[i] = (D)(expr);                                                                                          \
        }                                                                                                              \
    } else {                                                                                                           \
        const T x = *pa, y = *pb;                                                                                      \
        const D v = (D)(expr);                                                                                         \
        EACH(n) d[i] = v;                                                                                              \
    }
#define BINARY(name, T, expr)                                                                                          \
    static void name(size_t n, void *dst, const void *a, size_t a_step, const void *b, size_t b_step) {                \
        BINARY_LOOPS(T, T, expr)                                                                                       \
    }
#define COMPARE(name, T, expr)                                                                                         \
    static void name(size_t n, uint8_t *dst, const void *a, size_t a_step, const void *b, size_t b_step) {             \
        BINARY_LOOPS(uint8_t, T, expr)                                                                                 \
    }
#define BINARY_BOTH(op, expr32, expr64) BINARY(op##_f32, float, expr32) BINARY(op##_f64, double, expr64)

BINARY_BOTH(add, x + y, x + y)
BINARY_BOTH(subtract, x - y, x - y)
BINARY_BOTH(multiply, x *y, x *y)
BINARY_BOTH(divide, x / y, x / y)
BINARY_BOTH(maximum, x >= y || x != x ? x : y, x >= y || x != x ? x : y)
BINARY_BOTH(minimum, x <= y || x != x ? x : y, x <= y || x != x ? x : y)
BINARY_BOTH(fmax, x >= y || y != y ? x : y, x >= y || y != y ? x : y)
BINARY_BOTH(fmin, x <= y || y != y ? x : y, x <= y || y != y ? x : y)
BINARY_BOTH(abs_max, fabsf(x) >= fabsf(y) || x != x ? fabsf(x) : fabsf(y),
            fabs(x) >= fabs(y) || x != x ? fabs(x) : fabs(y))
BINARY_BOTH(abs_min, fabsf(x) <= fabsf(y) || x != x ? fabsf(x) : fabsf(y),
            fabs(x) <= fabs(y) || x != x ? fabs(x) : fabs(y))
BINARY_BOTH(fmod, fmodf(x, y), fmod(x, y))
BINARY_BOTH(floor_divide, floor_divide_one_f32(x, y), floor_divide_one_f64(x, y))
BINARY_BOTH(remainder, remainder_one_f32(x, y), remainder_one_f64(x, y))
BINARY_BOTH(arctan2, atan2((double)x, (double)y), atan2(x, y))
BINARY_BOTH(hypot, sqrt((double)x *x + (double)y * y), hypot(x, y))
BINARY_BOTH(copysign, copysignf(x, y), copysign(x, y))
BINARY_BOTH(logaddexp, logaddexp_of((double)x, (double)y), logaddexp_of(x, y))
BINARY_BOTH(logical_and, x != 0 && y != 0 ? 1 : 0, x != 0 && y != 0 ? 1 : 0)
BINARY_BOTH(logical_or, x != 0 || y != 0 ? 1 : 0, x != 0 || y != 0 ? 1 : 0)
BINARY_BOTH(logical_xor, (x != 0) != (y != 0) ? 1 : 0, (x != 0) != (y != 0) ? 1 : 0)

// float32 power in float64 for positive finite bases; the other lanes are redone by libm. Common constant exponents
// have exact short forms.
static void power_f32(size_t n, void *dst, const void *a, size_t a_step, const void *b, size_t b_step) {
    enum { STEP = 256 };
    const float *x = a, *y = b;
    float *d = dst;
    if (!b_step && *y == 2) {
        multiply_f32(n, dst, a, a_step, a, a_step);
        return;
    }
    if (!b_step && *y == 1) {
        float zero = 0;
        subtract_f32(n, dst, a, a_step, &zero, 0);
        return;
    }
    for (size_t start = 0; start < n; start += STEP) {
        size_t count = n - start < STEP ? n - start : STEP;
        float keep_x[STEP], keep_y[STEP];
        int special = 0;
        for (size_t i = 0; i < count; i++) {
            keep_x[i] = x[(start + i) * a_step];
            keep_y[i] = y[(start + i) * b_step];
        }
        for (size_t i = 0; i < count; i++)
            special |= !(keep_x[i] > 0 && keep_x[i] < INFINITY && fabsf(keep_y[i]) < INFINITY);
        EACH(count) d[start + i] = (float)d_exp((double)keep_y[i] * d_log((double)keep_x[i]));
        for (size_t i = 0; special && i < count; i++)
            if (!(keep_x[i] > 0 && keep_x[i] < INFINITY && fabsf(keep_y[i]) < INFINITY))
                d[start + i] = (float)pow((double)keep_x[i], (double)keep_y[i]);
    }
}
BINARY(power_f64, double, y == 2 ? x * x : pow(x, y))

// Integers wrap; division by zero gives 0, as NumPy's does.
#define DIVMOD_INT(T, U, suffix)                                                                                       \
    static T floor_divide_one_##suffix(T a, T b) {                                                                     \
        if (b == 0) return 0;                                                                                          \
        if (b == -1) return (T)(0 - (U)a);                                                                             \
        T q = a / b;                                                                                                   \
        return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;                                                           \
    }                                                                                                                  \
    static T remainder_one_##suffix(T a, T b) {                                                                        \
        if (b == 0 || b == -1) return 0;                                                                               \
        T r = a % b;                                                                                                   \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                                               \
    }                                                                                                                  \
    static T power_one_##suffix(T a, T b) {                                                                            \
        U base = (U)a, r = 1;                                                                                          \
        if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;                                                 \
        for (; b; b >>= 1, base *= base)                                                                               \
            if (b & 1) r *= base;                                                                                      \
        return (T)r;                                                                                                   \
    }
DIVMOD_INT(int32_t, uint32_t, i32)
DIVMOD_INT(int64_t, uint64_t, i64)

#define ABS_INT(U, x) ((x) < 0 ? 0 - (U)(x) : (U)(x))
#define BINARY_INT(T, U, suffix, WIDTH)                                                                                \
    BINARY(add_##suffix, T, (U)x + (U)y)                                                                               \
    BINARY(subtract_##suffix, T, (U)x - (U)y)                                                                          \
    BINARY(multiply_##suffix, T, (U)x *(U)y)                                                                           \
    BINARY(floor_divide_##suffix, T, floor_divide_one_##suffix(x, y))                                                  \
    BINARY(remainder_##suffix, T, remainder_one_##suffix(x, y))                                                        \
    BINARY(fmod_##suffix, T, y == 0 || y == -1 ? 0 : x % y)                                                            \
    BINARY(power_##suffix, T, power_one_##suffix(x, y))                                                                \
    BINARY(maximum_##suffix, T, x > y ? x : y)                                                                         \
    BINARY(minimum_##suffix, T, x < y ? x : y)                                                                         \
    BINARY(abs_max_##suffix, T, ABS_INT(U, x) > ABS_INT(U, y) ? ABS_INT(U, x) : ABS_INT(U, y))                         \
    BINARY(abs_min_##suffix, T, ABS_INT(U, x) < ABS_INT(U, y) ? ABS_INT(U, x) : ABS_INT(U, y))                         \
    BINARY(bitwise_and_##suffix, T, x &y)                                                                              \
    BINARY(bitwise_or_##suffix, T, x | y)                                                                              \
    BINARY(bitwise_xor_##suffix, T, x ^ y)                                                                             \
    BINARY(left_shift_##suffix, T, (U)y < WIDTH ? (U)x << ((U)y & (WIDTH - 1)) : 0)                                    \
    BINARY(right_shift_##suffix, T, (U)y < WIDTH ? x >> ((U)y & (WIDTH - 1)) : x >> (WIDTH - 1))                       \
    BINARY(right_shift_logical_##suffix, T, (U)y < WIDTH ? (U)x >> ((U)y & (WIDTH - 1)) : 0)                           \
    BINARY(logical_and_##suffix, T, x != 0 && y != 0)                                                                  \
    BINARY(logical_or_##suffix, T, x != 0 || y != 0)                                                                   \
    BINARY(logical_xor_##suffix, T, (x != 0) != (y != 0))
BINARY_INT(int32_t, uint32_t, i32, 32)
BINARY_INT(int64_t, uint64_t, i64, 64)

// Comparisons, once giving bytes and once giving 1 or 0 of the row's type.
#define COMPARISONS(T, suffix)                                                                                         \
    COMPARE(c_equal_##suffix, T, x == y)                                                                               \
    COMPARE(c_not_equal_##suffix, T, x != y)                                                                           \
    COMPARE(c_less_##suffix, T, x < y)                                                                                 \
    COMPARE(c_less_equal_##suffix, T, x <= y)                                                                          \
    COMPARE(c_greater_##suffix, T, x > y)                                                                              \
    COMPARE(c_greater_equal_##suffix, T, x >= y)                                                                       \
    BINARY(equal_##suffix, T, x == y ? 1 : 0)                                                                          \
    BINARY(not_equal_##suffix, T, x != y ? 1 : 0)                                                                      \
    BINARY(less_##suffix, T, x < y ? 1 : 0)                                                                            \
    BINARY(less_equal_##suffix, T, x <= y ? 1 : 0)                                                                     \
    BINARY(greater_##suffix, T, x > y ? 1 : 0)                                                                         \
    BINARY(greater_equal_##suffix, T, x >= y ? 1 : 0)
COMPARISONS(float, f32)
COMPARISONS(double, f64)
COMPARISONS(int32_t, i32)
COMPARISONS(int64_t, i64)

#define SELECT(name, T)                                                                                                \
    static void name(size_t n, void *dst, const uint8_t *condition, const void *a, size_t a_step, const void *b,       \
                     size_t b_step) {                                                                                  \
        T *d = dst;                                                                                                    \
        const T *pa = a, *pb = b;                                                                                      \
        if (a_step && b_step) {                                                                                        \
            EACH(n) {                                                                                                  \
                T x = pa[i], y = pb[i];                                                                                \
                d[i] = condition[i] ? x : y;                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            EACH(n) {                                                                                                  \
                T x = pa[i * a_step], y = pb[i * b_step];                                                              \
                d[i] = condition[i] ? x : y;                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }
SELECT(select_1, uint8_t)
SELECT(select_2, uint16_t)
SELECT(select_4, uint32_t)
SELECT(select_8, uint64_t)
