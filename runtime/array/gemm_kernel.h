// SPDX-License-Identifier: MIT
// gemm_kernel.h: part of kernels_body.h: the inner block of our own matrix product. A block of C stays in registers
// while one column of packed A (GEMM_MR values) meets one row of packed B (two vectors) per step of k. The block's size
// is chosen so that the registers of the variant hold it. Sums run over k in order, so every variant gives the same
// result.

#if defined(__AVX512F__)
enum { GEMM_BYTES = 64, GEMM_MR = 12 };
#elif defined(__AVX2__)
enum { GEMM_BYTES = 32, GEMM_MR = 6 };
#elif defined(__aarch64__)
enum { GEMM_BYTES = 16, GEMM_MR = 12 };
#else
enum { GEMM_BYTES = 16, GEMM_MR = 6 };
#endif
enum { GEMM_NR_F32 = 2 * GEMM_BYTES / 4, GEMM_NR_F64 = 2 * GEMM_BYTES / 8 };

typedef float g_f32 __attribute__((vector_size(GEMM_BYTES), aligned(4), may_alias));
typedef double g_f64 __attribute__((vector_size(GEMM_BYTES), aligned(8), may_alias));

#if defined(__clang__)
#define UNROLL_ROWS _Pragma("clang loop unroll(full)")
#else
#define UNROLL_ROWS _Pragma("GCC unroll 16")
#endif

#define GEMM_BLOCK(name, T, V)                                                                                         \
    static void name(size_t k, const T *a, const T *b, T *c) {                                                         \
        enum { L = GEMM_BYTES / sizeof(T) };                                                                           \
        V low[GEMM_MR] = {0}, high[GEMM_MR] = {0};                                                                     \
        for (size_t p = 0; p < k; p++, a += GEMM_MR, b += 2 * L) {                                                     \
            V b0 = *(const V *)b, b1 = *(const V *)(b + L);                                                            \
            UNROLL_ROWS for (int i = 0; i < GEMM_MR; i++) {                                                            \
                low[i] += a[i] * b0;                                                                                   \
                high[i] += a[i] * b1;                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        UNROLL_ROWS for (int i = 0; i < GEMM_MR; i++) {                                                                \
            *(V *)(c + (size_t)i * 2 * L) = low[i];                                                                    \
            *(V *)(c + (size_t)i * 2 * L + L) = high[i];                                                               \
        }                                                                                                              \
    }
GEMM_BLOCK(gemm_block_f32, float, g_f32)
GEMM_BLOCK(gemm_block_f64, double, g_f64)
