// SPDX-License-Identifier: MIT
// gemm.h: matrix product in float32 and float64, row-major, through OpenBLAS when it can be loaded and through our own
// blocked product otherwise.
//
// The first call loads libopenblas.so.0 with dlopen (the pthread build first, because Debian's default build may be a
// serial or reference one), multiplies a small matrix both ways, and keeps it only if the results agree. Set
// NKILN_BLAS=none to never load it, or NKILN_BLAS=/path/to/library for a particular one. Only workers should call this:
// loading starts OpenBLAS's threads. A product can fail only in our own path, for want of memory for packing: false.
#ifndef NKILN_ARRAY_GEMM_H
#define NKILN_ARRAY_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// c[m,n] = alpha * op(a)[m,k] op(b)[k,n] + beta * c, row-major with leading dimensions in elements. trans_a: a is
// stored [k,m]. With beta 0, c is not read.
bool gemm_f32(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
              const float *b, size_t ldb, float beta, float *c, size_t ldc);
bool gemm_f64(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, double alpha, const double *a, size_t lda,
              const double *b, size_t ldb, double beta, double *c, size_t ldc);

// "openblas PATH" or "own".
const char *gemm_backend(void);

// Threads OpenBLAS may use; 0 asks for its default. Our own product is serial. Returns the number in effect.
int gemm_threads(int count);

#endif
