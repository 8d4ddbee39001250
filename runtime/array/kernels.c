// SPDX-License-Identifier: MIT
#include "array/kernels.h"

#include <stdlib.h>

extern const struct kernels kernels_base;
#if defined(__x86_64__)
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

// Decided once, before main, and constant from then on.
static const struct kernels *chosen = &kernels_base;

__attribute__((constructor)) static void choose(void) {
#if defined(__x86_64__)
    const char *wish = getenv("NKILN_SIMD");
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (wish && strcmp(wish, "base") == 0) avx2 = avx512 = false;
    if (wish && strcmp(wish, "avx2") == 0) avx512 = false;
    if (avx512)
        chosen = &kernels_avx512;
    else if (avx2)
        chosen = &kernels_avx2;
#endif
}

const struct kernels *kernels(void) { return chosen; }

static const char *const unary_names[] = {
    "copy",     "negative", "abs",         "square",       "reciprocal", "sqrt",
    "rsqrt",    "cbrt",     "exp",         "exp2",         "expm1",      "log",
    "log2",     "log10",    "log1p",       "sin",          "cos",        "tan",
    "arcsin",   "arccos",   "arctan",      "sinh",         "cosh",       "tanh",
    "arcsinh",  "arccosh",  "arctanh",     "sigmoid",      "erf",        "erfc",
    "erf_dx",   "gelu",     "gelu_tanh",   "gelu_sigmoid", "gelu_dx",    "gelu_sigmoid_dx",
    "silu",     "silu_dx",  "softplus",    "mish",         "relu",       "sign",
    "floor",    "ceil",     "round",       "trunc",        "isnan",      "isinf",
    "isfinite", "signbit",  "logical_not", "invert",
};

static const char *const binary_names[] = {
    "add",         "subtract",   "multiply",      "divide",     "floor_divide", "remainder",
    "fmod",        "power",      "maximum",       "minimum",    "fmax",         "fmin",
    "abs_max",     "abs_min",    "arctan2",       "hypot",      "copysign",     "logaddexp",
    "bitwise_and", "bitwise_or", "bitwise_xor",   "left_shift", "right_shift",  "right_shift_logical",
    "logical_and", "logical_or", "logical_xor",   "equal",      "not_equal",    "less",
    "less_equal",  "greater",    "greater_equal",
};

static const char *const compare_names[] = {
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
};

_Static_assert(sizeof unary_names / sizeof *unary_names == UNARY_COUNT, "a name for every unary operation");
_Static_assert(sizeof binary_names / sizeof *binary_names == BINARY_COUNT, "a name for every binary operation");
_Static_assert(sizeof compare_names / sizeof *compare_names == COMPARE_COUNT, "a name for every comparison");

static int find(const char *const *names, int count, const char *name) {
    int i = 0;
    while (i < count && strcmp(names[i], name) != 0) i++;
    return i;
}

enum unary_op unary_parse(const char *name) { return (enum unary_op)find(unary_names, UNARY_COUNT, name); }
enum binary_op binary_parse(const char *name) { return (enum binary_op)find(binary_names, BINARY_COUNT, name); }
enum compare_op compare_parse(const char *name) { return (enum compare_op)find(compare_names, COMPARE_COUNT, name); }
const char *unary_name(enum unary_op op) { return unary_names[op]; }
const char *binary_name(enum binary_op op) { return binary_names[op]; }
const char *compare_name(enum compare_op op) { return compare_names[op]; }
