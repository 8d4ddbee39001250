// SPDX-License-Identifier: MIT
#include "nki/types.h"

#include <string.h>

#define FLOAT(t, n, s) [t] = {.name = n, .raw = t, .size = s, .is_float = true, .in_nki = true}
#define INT(t, n, s) [t] = {.name = n, .raw = t, .size = s, .is_int = true, .in_nki = true}
#define BITS(t, n, r, s) [t] = {.name = n, .raw = r, .size = s, .bits_only = true, .in_nki = true}

const struct nki_dtype_info nki_dtypes[NKI_DTYPES] = {
    [DTYPE_FLOAT64] = {.name = "float64", .raw = DTYPE_FLOAT64, .size = 8, .is_float = true},
    FLOAT(DTYPE_FLOAT32, "float32", 4),
    FLOAT(DTYPE_FLOAT16, "float16", 2),
    FLOAT(DTYPE_BFLOAT16, "bfloat16", 2),
    FLOAT(DTYPE_TFLOAT32, "tfloat32", 4),
    FLOAT(DTYPE_FLOAT8_E4M3, "float8_e4m3", 1),
    FLOAT(DTYPE_FLOAT8_E4M3FN, "float8_e4m3fn", 1),
    FLOAT(DTYPE_FLOAT8_E5M2, "float8_e5m2", 1),
    INT(DTYPE_INT8, "int8", 1),
    INT(DTYPE_INT16, "int16", 2),
    INT(DTYPE_INT32, "int32", 4),
    [DTYPE_INT64] = {.name = "int64", .raw = DTYPE_INT64, .size = 8, .is_int = true},
    INT(DTYPE_UINT8, "uint8", 1),
    INT(DTYPE_UINT16, "uint16", 2),
    INT(DTYPE_UINT32, "uint32", 4),
    INT(DTYPE_BOOL, "bool_", 1),
    BITS(NKI_FLOAT8_E8M0FNU, "float8_e8m0fnu", DTYPE_UINT8, 1),
    BITS(NKI_FLOAT8_E5M2_X4, "float8_e5m2_x4", DTYPE_UINT32, 4),
    BITS(NKI_FLOAT8_E4M3FN_X4, "float8_e4m3fn_x4", DTYPE_UINT32, 4),
    BITS(NKI_FLOAT4_E2M1FN_X4, "float4_e2m1fn_x4", DTYPE_UINT16, 2),
};

int nki_dtype_parse(const char *name) {
    for (int t = 0; t < NKI_DTYPES; t++)
        if (strcmp(nki_dtypes[t].name, name) == 0) return t;
    enum dtype t = dtype_parse(name, strlen(name));
    return t == DTYPE_COUNT ? -1 : (int)t;
}

const char *const nki_buffer_names[NKI_BUFFERS] = {"sbuf", "psum", "private_hbm", "shared_hbm"};

const char *const nki_engine_names[NKI_ENGINES] = {
    [NKI_ENGINE_UNKNOWN] = "unknown", [NKI_ENGINE_TENSOR] = "tensor", [NKI_ENGINE_SCALAR] = "scalar",
    [NKI_ENGINE_GPSIMD] = "gpsimd",   [NKI_ENGINE_DMA] = "dma",       [NKI_ENGINE_VECTOR] = "vector",
    [NKI_ENGINE_SYNC] = "sync",
};

#define BIN(id, n, b) [NKI_OP_##id] = {n, BINARY_##b, UNARY_COUNT}
#define UN(id, n, u) [NKI_OP_##id] = {n, BINARY_COUNT, UNARY_##u}
#define NEITHER(id, n) [NKI_OP_##id] = {n, BINARY_COUNT, UNARY_COUNT}

const struct nki_op_info nki_ops[NKI_OPS] = {
    NEITHER(NONE, "none"),
    BIN(ADD, "add", ADD),
    BIN(SUBTRACT, "subtract", SUBTRACT),
    BIN(MULTIPLY, "multiply", MULTIPLY),
    BIN(DIVIDE, "divide", DIVIDE),
    BIN(MAXIMUM, "maximum", MAXIMUM),
    BIN(MINIMUM, "minimum", MINIMUM),
    NEITHER(ABS_MAX, "abs_max"),
    NEITHER(ABS_MIN, "abs_min"),
    BIN(POWER, "power", POWER),
    BIN(MOD, "mod", REMAINDER),
    BIN(FMOD, "fmod", FMOD),
    BIN(EQUAL, "equal", EQUAL),
    BIN(NOT_EQUAL, "not_equal", NOT_EQUAL),
    BIN(LESS, "less", LESS),
    BIN(LESS_EQUAL, "less_equal", LESS_EQUAL),
    BIN(GREATER, "greater", GREATER),
    BIN(GREATER_EQUAL, "greater_equal", GREATER_EQUAL),
    BIN(LOGICAL_AND, "logical_and", LOGICAL_AND),
    BIN(LOGICAL_OR, "logical_or", LOGICAL_OR),
    BIN(LOGICAL_XOR, "logical_xor", LOGICAL_XOR),
    BIN(BITWISE_AND, "bitwise_and", BITWISE_AND),
    BIN(BITWISE_OR, "bitwise_or", BITWISE_OR),
    BIN(BITWISE_XOR, "bitwise_xor", BITWISE_XOR),
    BIN(LEFT_SHIFT, "left_shift", LEFT_SHIFT),
    BIN(RIGHT_SHIFT, "right_shift", RIGHT_SHIFT_LOGICAL),
    UN(INVERT, "invert", INVERT),
    UN(LOGICAL_NOT, "logical_not", LOGICAL_NOT),
    UN(COPY, "copy", COPY),
    UN(BYPASS, "bypass", COPY),
    UN(NEGATIVE, "negative", NEGATIVE),
    UN(ABS, "abs", ABS),
    UN(SQUARE, "square", SQUARE),
    UN(SQRT, "sqrt", SQRT),
    UN(RSQRT, "rsqrt", RSQRT),
    UN(RECIPROCAL, "reciprocal", RECIPROCAL),
    UN(EXP, "exp", EXP),
    UN(LOG, "log", LOG),
    UN(SIN, "sin", SIN),
    UN(COS, "cos", COS),
    UN(TAN, "tan", TAN),
    UN(ARCTAN, "arctan", ARCTAN),
    UN(TANH, "tanh", TANH),
    UN(SIGMOID, "sigmoid", SIGMOID),
    UN(RELU, "relu", RELU),
    UN(PRELU, "prelu", COUNT),
    UN(GELU, "gelu", GELU),
    UN(GELU_DX, "gelu_dx", GELU_DX),
    UN(GELU_APPRX_TANH, "gelu_apprx_tanh", GELU_TANH),
    UN(GELU_APPRX_SIGMOID, "gelu_apprx_sigmoid", GELU_SIGMOID),
    UN(GELU_APPRX_SIGMOID_DX, "gelu_apprx_sigmoid_dx", GELU_SIGMOID_DX),
    UN(SILU, "silu", SILU),
    UN(SILU_DX, "silu_dx", SILU_DX),
    UN(SOFTPLUS, "softplus", SOFTPLUS),
    UN(MISH, "mish", MISH),
    UN(ERF, "erf", ERF),
    UN(ERF_DX, "erf_dx", ERF_DX),
    UN(SIGN, "sign", SIGN),
    UN(FLOOR, "floor", FLOOR),
    UN(CEIL, "ceil", CEIL),
    UN(TRUNC, "trunc", TRUNC),
    NEITHER(MAX, "max"),
    NEITHER(MIN, "min"),
    NEITHER(SUM, "sum"),
    NEITHER(AVERAGE, "average"),
};

enum nki_op nki_op_parse(const char *name) {
    for (int op = 1; op < NKI_OPS; op++)
        if (strcmp(nki_ops[op].name, name) == 0) return (enum nki_op)op;
    return NKI_OPS;
}

const char *const nki_instr_names[NKI_INSTRS] = {
    [NKI_I_NONE] = "none",
    [NKI_I_DMA_COPY] = "dma_copy",
    [NKI_I_DMA_TRANSPOSE] = "dma_transpose",
    [NKI_I_DMA_COMPUTE] = "dma_compute",
    [NKI_I_TENSOR_COPY] = "tensor_copy",
    [NKI_I_MEMSET] = "memset",
    [NKI_I_TENSOR_COPY_PREDICATED] = "tensor_copy_predicated",
    [NKI_I_TENSOR_TENSOR] = "tensor_tensor",
    [NKI_I_TENSOR_SCALAR] = "tensor_scalar",
    [NKI_I_SCALAR_TENSOR_TENSOR] = "scalar_tensor_tensor",
    [NKI_I_TENSOR_REDUCE] = "tensor_reduce",
    [NKI_I_TENSOR_PARTITION_REDUCE] = "tensor_partition_reduce",
    [NKI_I_TENSOR_SCALAR_CUMULATIVE] = "tensor_scalar_cumulative",
    [NKI_I_ACTIVATION] = "activation",
    [NKI_I_ACTIVATION_REDUCE] = "activation_reduce",
    [NKI_I_TENSOR_SCALAR_REDUCE] = "tensor_scalar_reduce",
    [NKI_I_RECIPROCAL] = "reciprocal",
    [NKI_I_NC_MATMUL] = "nc_matmul",
    [NKI_I_NC_TRANSPOSE] = "nc_transpose",
    [NKI_I_IOTA] = "iota",
    [NKI_I_AFFINE_SELECT] = "affine_select",
    [NKI_I_RANGE_SELECT] = "range_select",
    [NKI_I_SELECT_REDUCE] = "select_reduce",
    [NKI_I_TENSOR_TENSOR_SCAN] = "tensor_tensor_scan",
    [NKI_I_BN_STATS] = "bn_stats",
    [NKI_I_BN_AGGR] = "bn_aggr",
    [NKI_I_NC_N_GATHER] = "nc_n_gather",
    [NKI_I_NC_STREAM_SHUFFLE] = "nc_stream_shuffle",
    [NKI_I_MAX8] = "max8",
    [NKI_I_NC_FIND_INDEX8] = "nc_find_index8",
    [NKI_I_NC_MATCH_REPLACE8] = "nc_match_replace8",
    [NKI_I_EXPONENTIAL] = "exponential",
    [NKI_I_REGISTER_LOAD] = "register_load",
    [NKI_I_REGISTER_STORE] = "register_store",
    [NKI_I_DROPOUT] = "dropout",
    [NKI_I_RNG] = "rng",
    [NKI_I_READ_ACCUMULATOR] = "read_accumulator",
    [NKI_I_CONSTANT] = "constant",
};

enum nki_instr nki_instr_parse(const char *name) {
    for (int i = 1; i < NKI_INSTRS; i++)
        if (strcmp(nki_instr_names[i], name) == 0) return (enum nki_instr)i;
    return NKI_INSTRS;
}
