// SPDX-License-Identifier: MIT
// kernels_reduce.h: part of kernels_body.h: reductions and running reductions.
//
// A float reduction runs over blocks of 512 elements; inside a block element i belongs to lane i mod (2 L), L lanes to
// a 64-byte vector, and lanes are combined by halving; blocks are combined pairwise. The order depends on n alone, and
// a sum's error grows with 16 + log2(n), as NumPy's pairwise sum does.

enum { REDUCE_BLOCK = 512, REDUCE_LEVELS = 56 };

typedef float v_f32 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double v_f64 __attribute__((vector_size(64), aligned(8), may_alias));
typedef int32_t v_i32 __attribute__((vector_size(64), may_alias));
typedef int64_t v_i64 __attribute__((vector_size(64), may_alias));

// JOIN_V(acc, x): vectors; JOIN(acc, x): single values. PREPARE: applied to each element first.
#define REDUCE_FLOAT(name, T, V, M, INIT, PREPARE, PREPARE_V, JOIN, JOIN_V)                                            \
    static T name##_block(size_t n, const T *p) {                                                                      \
        enum { L = 64 / sizeof(T) };                                                                                   \
        if (n < 8) {                                                                                                   \
            T r = PREPARE(p[0]);                                                                                       \
            for (size_t i = 1; i < n; i++) r = JOIN(r, PREPARE(p[i]));                                                 \
            return r;                                                                                                  \
        }                                                                                                              \
        const T init = INIT;                                                                                           \
        V a0 = (V){0} + init, a1 = a0;                                                                                 \
        size_t i = 0;                                                                                                  \
        for (; i + 2 * L <= n; i += 2 * L) {                                                                           \
            V x0 = PREPARE_V(*(const V *)(p + i), V, M), x1 = PREPARE_V(*(const V *)(p + i + L), V, M);                \
            a0 = JOIN_V(a0, x0, V, M);                                                                                 \
            a1 = JOIN_V(a1, x1, V, M);                                                                                 \
        }                                                                                                              \
        T lane[2 * L];                                                                                                 \
        memcpy(lane, &a0, sizeof a0);                                                                                  \
        memcpy(lane + L, &a1, sizeof a1);                                                                              \
        for (size_t j = 0; i + j < n; j++) lane[j] = JOIN(lane[j], PREPARE(p[i + j]));                                 \
        for (size_t half = L; half; half /= 2)                                                                         \
            for (size_t j = 0; j < half; j++) lane[j] = JOIN(lane[j], lane[j + half]);                                 \
        return lane[0];                                                                                                \
    }                                                                                                                  \
    static void name(size_t n, void *result, const void *src) {                                                        \
        const T *p = src;                                                                                              \
        T stack[REDUCE_LEVELS], r;                                                                                     \
        size_t top = 0, block = 0;                                                                                     \
        if (n == 0) {                                                                                                  \
            static const T none = 0;                                                                                   \
            p = &none;                                                                                                 \
            *(T *)result = INIT;                                                                                       \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t i = 0; i < n; i += REDUCE_BLOCK, block++) {                                                        \
            r = name##_block(n - i < REDUCE_BLOCK ? n - i : REDUCE_BLOCK, p + i);                                      \
            for (size_t m = block; m & 1; m >>= 1) {                                                                   \
                top--;                                                                                                 \
                r = JOIN(stack[top], r);                                                                               \
            }                                                                                                          \
            stack[top++] = r;                                                                                          \
        }                                                                                                              \
        r = stack[--top];                                                                                              \
        while (top) {                                                                                                  \
            top--;                                                                                                     \
            r = JOIN(stack[top], r);                                                                                   \
        }                                                                                                              \
        *(T *)result = r;                                                                                              \
    }

#define SAME(x) (x)
#define SAME_V(x, V, M) (x)
#define SQUARE(x) ((x) * (x))
#define SQUARE_V(x, V, M) ((x) * (x))
#define ABS_F32(x) fabsf(x)
#define ABS_F64(x) fabs(x)
#define PLUS(a, b) ((a) + (b))
#define PLUS_V(a, b, V, M) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define TIMES_V(a, b, V, M) ((a) * (b))
// b replaces a when larger or NaN; a NaN in a is never replaced by a number.
#define LARGER(a, b) ((b) > (a) || (b) != (b) ? (b) : (a))
#define SMALLER(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#define PICK_V(mask, a, b, V, M) ((V)(((M)(b) & (mask)) | ((M)(a) & ~(mask))))
#define LARGER_V(a, b, V, M) PICK_V(((M)((b) > (a)) | (M)((b) != (b))), a, b, V, M)
#define SMALLER_V(a, b, V, M) PICK_V(((M)((b) < (a)) | (M)((b) != (b))), a, b, V, M)

#define ABS_V32(x, V, M) ((V)((M)(x)&0x7fffffff))
#define ABS_V64(x, V, M) ((V)((M)(x)&0x7fffffffffffffff))

REDUCE_FLOAT(r_sum_f32, float, v_f32, v_i32, 0, SAME, SAME_V, PLUS, PLUS_V)
REDUCE_FLOAT(r_sum_f64, double, v_f64, v_i64, 0, SAME, SAME_V, PLUS, PLUS_V)
REDUCE_FLOAT(r_prod_f32, float, v_f32, v_i32, 1, SAME, SAME_V, TIMES, TIMES_V)
REDUCE_FLOAT(r_prod_f64, double, v_f64, v_i64, 1, SAME, SAME_V, TIMES, TIMES_V)
REDUCE_FLOAT(r_max_f32, float, v_f32, v_i32, p[0], SAME, SAME_V, LARGER, LARGER_V)
REDUCE_FLOAT(r_max_f64, double, v_f64, v_i64, p[0], SAME, SAME_V, LARGER, LARGER_V)
REDUCE_FLOAT(r_min_f32, float, v_f32, v_i32, p[0], SAME, SAME_V, SMALLER, SMALLER_V)
REDUCE_FLOAT(r_min_f64, double, v_f64, v_i64, p[0], SAME, SAME_V, SMALLER, SMALLER_V)
REDUCE_FLOAT(r_abs_max_f32, float, v_f32, v_i32, fabsf(p[0]), ABS_F32, ABS_V32, LARGER, LARGER_V)
REDUCE_FLOAT(r_abs_max_f64, double, v_f64, v_i64, fabs(p[0]), ABS_F64, ABS_V64, LARGER, LARGER_V)
REDUCE_FLOAT(r_sum_square_f32, float, v_f32, v_i32, 0, SQUARE, SQUARE_V, PLUS, PLUS_V)
REDUCE_FLOAT(r_sum_square_f64, double, v_f64, v_i64, 0, SQUARE, SQUARE_V, PLUS, PLUS_V)

// Integers wrap, so any order gives the same result.
#define REDUCE_INT(name, T, U, INIT, expr)                                                                             \
    static void name(size_t n, void *result, const void *src) {                                                        \
        const T *p = src;                                                                                              \
        T r = n ? (INIT) : 0;                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                                               \
            T x = p[i];                                                                                                \
            r = (T)(expr);                                                                                             \
        }                                                                                                              \
        *(T *)result = r;                                                                                              \
    }
#define REDUCE_INTS(T, U, suffix)                                                                                      \
    REDUCE_INT(r_sum_##suffix, T, U, 0, (U)r + (U)x)                                                                   \
    REDUCE_INT(r_max_##suffix, T, U, p[0], x > r ? x : r)                                                              \
    REDUCE_INT(r_min_##suffix, T, U, p[0], x < r ? x : r)                                                              \
    REDUCE_INT(r_abs_max_##suffix, T, U, 0, ABS_INT(U, x) > (U)r ? ABS_INT(U, x) : (U)r)                               \
    REDUCE_INT(r_sum_square_##suffix, T, U, 0, (U)r + (U)x * (U)x)                                                     \
    static void r_prod_##suffix(size_t n, void *result, const void *src) {                                             \
        const T *p = src;                                                                                              \
        U r = 1;                                                                                                       \
        for (size_t i = 0; i < n; i++) r *= (U)p[i];                                                                   \
        *(T *)result = (T)r;                                                                                           \
    }
REDUCE_INTS(int32_t, uint32_t, i32)
REDUCE_INTS(int64_t, uint64_t, i64)

#define SCAN(name, T, expr)                                                                                            \
    static void name(size_t n, void *dst, const void *src) {                                                           \
        T *d = dst;                                                                                                    \
        const T *s = src;                                                                                              \
        if (!n) return;                                                                                                \
        T r = s[0];                                                                                                    \
        d[0] = r;                                                                                                      \
        for (size_t i = 1; i < n; i++) {                                                                               \
            T x = s[i];                                                                                                \
            r = (T)(expr);                                                                                             \
            d[i] = r;                                                                                                  \
        }                                                                                                              \
    }
#define SCANS(T, U, suffix)                                                                                            \
    SCAN(scan_sum_##suffix, T, (U)r + (U)x)                                                                            \
    SCAN(scan_prod_##suffix, T, (U)r *(U)x)                                                                            \
    SCAN(scan_max_##suffix, T, LARGER(r, x))                                                                           \
    SCAN(scan_min_##suffix, T, SMALLER(r, x))
SCANS(float, float, f32)
SCANS(double, double, f64)
SCANS(int32_t, uint32_t, i32)
SCANS(int64_t, uint64_t, i64)
