// SPDX-License-Identifier: MIT
#include "array/gemm.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/kernels.h"

// Block sizes of our own product: a panel of A (MC x KC) stays in the second-level cache, one of B (KC x NC) in the
// third.
enum { MC = 120, KC = 256, NC = 512 };

#define MIN(a, b) ((a) < (b) ? (a) : (b))

// A in panels of mr rows, B in panels of nr columns, each stored k by k; short panels are filled up with zeros.
#define OWN_GEMM(name, T, NR, BLOCK)                                                                                   \
    static bool name(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, T alpha, const T *a, size_t lda,        \
                     const T *b, size_t ldb, T beta, T *c, size_t ldc) {                                               \
        const struct kernels *kn = kernels();                                                                          \
        const size_t mr = kn->gemm_mr, nr = kn->NR;                                                                    \
        for (size_t i = 0; i < m; i++) {                                                                               \
            T *row = c + i * ldc;                                                                                      \
            if (beta == 0)                                                                                             \
                memset(row, 0, n * sizeof(T));                                                                         \
            else if (beta != 1)                                                                                        \
                for (size_t j = 0; j < n; j++) row[j] *= beta;                                                         \
        }                                                                                                              \
        if (m == 0 || n == 0 || k == 0) return true;                                                                   \
        const size_t kc_max = MIN(k, (size_t)KC), nc_max = (MIN(n, (size_t)NC) + nr - 1) / nr * nr;                    \
        const size_t mc_max = (MIN(m, (size_t)MC) + mr - 1) / mr * mr;                                                 \
        T *packed = aligned_alloc(64, ((mc_max + nc_max) * kc_max + mr * nr) * sizeof(T) / 64 * 64 + 64);              \
        if (!packed) return false;                                                                                     \
        T *pa = packed + nc_max * kc_max, *block = pa + mc_max * kc_max;                                               \
        for (size_t j0 = 0; j0 < n; j0 += NC) {                                                                        \
            const size_t nc = MIN(n - j0, (size_t)NC);                                                                 \
            for (size_t p0 = 0; p0 < k; p0 += KC) {                                                                    \
                const size_t kc = MIN(k - p0, (size_t)KC);                                                             \
                T *to = packed;                                                                                        \
                for (size_t j = 0; j < nc; j += nr)                                                                    \
                    for (size_t p = 0; p < kc; p++)                                                                    \
                        for (size_t x = 0; x < nr; x++, to++) {                                                        \
                            size_t column = j0 + j + x, row = p0 + p;                                                  \
                            *to = j + x >= nc ? 0 : trans_b ? b[column * ldb + row] : b[row * ldb + column];           \
                        }                                                                                              \
                for (size_t i0 = 0; i0 < m; i0 += MC) {                                                                \
                    const size_t mc = MIN(m - i0, (size_t)MC);                                                         \
                    to = pa;                                                                                           \
                    for (size_t i = 0; i < mc; i += mr)                                                                \
                        for (size_t p = 0; p < kc; p++)                                                                \
                            for (size_t x = 0; x < mr; x++, to++) {                                                    \
                                size_t row = i0 + i + x, column = p0 + p;                                              \
                                *to = i + x >= mc ? 0 : trans_a ? a[column * lda + row] : a[row * lda + column];       \
                            }                                                                                          \
                    for (size_t j = 0; j < nc; j += nr)                                                                \
                        for (size_t i = 0; i < mc; i += mr) {                                                          \
                            kn->BLOCK(kc, pa + i * kc, packed + j * kc, block);                                        \
                            const size_t rows = MIN(mr, mc - i), columns = MIN(nr, nc - j);                            \
                            for (size_t y = 0; y < rows; y++) {                                                        \
                                T *row = c + (i0 + i + y) * ldc + j0 + j;                                              \
                                const T *from = block + y * nr;                                                        \
                                for (size_t x = 0; x < columns; x++) row[x] += alpha * from[x];                        \
                            }                                                                                          \
                        }                                                                                              \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        free(packed);                                                                                                  \
        return true;                                                                                                   \
    }

OWN_GEMM(own_gemm_f32, float, gemm_nr_f32, gemm_f32)
OWN_GEMM(own_gemm_f64, double, gemm_nr_f64, gemm_f64)

typedef void cblas_sgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                            int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void cblas_dgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a,
                            int lda, const double *b, int ldb, double beta, double *c, int ldc);

// The loaded library: a property of the process, found once.
static struct {
    bool tried;
    cblas_sgemm_fn *sgemm;
    cblas_dgemm_fn *dgemm;
    void (*set_threads)(int);
    int (*get_threads)(void);
    int default_threads;
    char name[512];
} blas;

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

// A library of the right name that multiplies wrongly (other integer width, broken build) must not be used.
static bool agrees(void) {
    enum { M = 5, N = 19, K = 23 };
    float a[M * K], b[K * N], c[M * N], own[M * N];
    double da[M * K], db[K * N], dc[M * N], down[M * N];
    for (int i = 0; i < M * K; i++) da[i] = a[i] = (float)((i * 37) % 17 - 8);
    for (int i = 0; i < K * N; i++) db[i] = b[i] = (float)((i * 53) % 23 - 11);
    for (int i = 0; i < M * N; i++) dc[i] = down[i] = c[i] = own[i] = 1;
    blas.sgemm(ROW_MAJOR, TRANS, NO_TRANS, M, N, K, 2, a, M, b, N, 1, c, N);
    blas.dgemm(ROW_MAJOR, TRANS, NO_TRANS, M, N, K, 2, da, M, db, N, 1, dc, N);
    if (!own_gemm_f32(true, false, M, N, K, 2, a, M, b, N, 1, own, N)) return false;
    if (!own_gemm_f64(true, false, M, N, K, 2, da, M, db, N, 1, down, N)) return false;
    for (int i = 0; i < M * N; i++)
        if (c[i] != own[i] || dc[i] != down[i]) return false; // small integers: exact in any order
    return true;
}

static bool try_library(const char *path) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return false;
    *(void **)&blas.sgemm = dlsym(handle, "cblas_sgemm");
    *(void **)&blas.dgemm = dlsym(handle, "cblas_dgemm");
    *(void **)&blas.set_threads = dlsym(handle, "openblas_set_num_threads");
    *(void **)&blas.get_threads = dlsym(handle, "openblas_get_num_threads");
    if (!blas.sgemm || !blas.dgemm || !agrees()) {
        blas.sgemm = NULL;
        blas.dgemm = NULL;
        dlclose(handle);
        return false;
    }
    blas.default_threads = blas.get_threads ? blas.get_threads() : 1;
    snprintf(blas.name, sizeof blas.name, "openblas %s", path);
    return true;
}

static void find_blas(void) {
    static const char *const candidates[] = {
#if defined(__x86_64__)
        "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
#elif defined(__aarch64__)
        "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
#endif
        "libopenblasp.so.0",
        "libopenblas.so.0",
    };
    if (blas.tried) return;
    blas.tried = true;
    snprintf(blas.name, sizeof blas.name, "own");
    const char *wish = getenv("NKILN_BLAS");
    if (wish && strcmp(wish, "none") == 0) return;
    if (wish && *wish) {
        try_library(wish);
        return;
    }
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (try_library(candidates[i])) return;
}

static bool fits(size_t m, size_t n, size_t k, size_t lda, size_t ldb, size_t ldc) {
    return m <= INT_MAX && n <= INT_MAX && k <= INT_MAX && lda <= INT_MAX && ldb <= INT_MAX && ldc <= INT_MAX && m &&
           n && k;
}

bool gemm_f32(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
              const float *b, size_t ldb, float beta, float *c, size_t ldc) {
    find_blas();
    if (!blas.sgemm || !fits(m, n, k, lda, ldb, ldc))
        return own_gemm_f32(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    blas.sgemm(ROW_MAJOR, trans_a ? TRANS : NO_TRANS, trans_b ? TRANS : NO_TRANS, (int)m, (int)n, (int)k, alpha, a,
               (int)lda, b, (int)ldb, beta, c, (int)ldc);
    return true;
}

bool gemm_f64(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, double alpha, const double *a, size_t lda,
              const double *b, size_t ldb, double beta, double *c, size_t ldc) {
    find_blas();
    if (!blas.dgemm || !fits(m, n, k, lda, ldb, ldc))
        return own_gemm_f64(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    blas.dgemm(ROW_MAJOR, trans_a ? TRANS : NO_TRANS, trans_b ? TRANS : NO_TRANS, (int)m, (int)n, (int)k, alpha, a,
               (int)lda, b, (int)ldb, beta, c, (int)ldc);
    return true;
}

const char *gemm_backend(void) {
    find_blas();
    return blas.name;
}

int gemm_threads(int count) {
    find_blas();
    if (!blas.set_threads || !blas.get_threads) return 1;
    if (count > 0)
        blas.set_threads(count);
    else
        blas.set_threads(blas.default_threads);
    return blas.get_threads();
}
