// SPDX-License-Identifier: MIT
// kernels_base.c: the row kernels for the processor the compiler was told to assume (x86-64 baseline, or NEON on
// aarch64).
#define KERNELS_TABLE kernels_base
#define KERNELS_NAME "base"
#include "array/kernels_body.h"
