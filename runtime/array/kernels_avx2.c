// SPDX-License-Identifier: MIT
// kernels_avx2.c: the row kernels for x86-64 processors with AVX2; compiled with -mavx2.
#if defined(__x86_64__)
#define KERNELS_TABLE kernels_avx2
#define KERNELS_NAME "avx2"
#include "array/kernels_body.h"
#else
typedef int kernels_avx2_is_for_x86_64;
#endif
