// SPDX-License-Identifier: MIT
// kernels_avx512.c: the row kernels for x86-64 processors with AVX-512 F, BW, DQ and VL.
#if defined(__x86_64__)
#define KERNELS_TABLE kernels_avx512
#define KERNELS_NAME "avx512"
#include "array/kernels_body.h"
#else
typedef int kernels_avx512_is_for_x86_64;
#endif
