// SPDX-License-Identifier: MIT
// types.h: the vocabulary of the NKI machine: element types, memories, engines, operators, instructions and their
// names.
//
// Numbers of enums that NKI documents (engine, reduce_cmd, dge_mode, oob_mode, nc_version) are NKI's own. Plain
// constants and table look-ups: nothing allocates, nothing fails except a parse, which says so by a count or -1.
#ifndef NKILN_NKI_TYPES_H
#define NKILN_NKI_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array/dtype.h"
#include "array/kernels.h"

#define NKI_MAX_DIMS 8
#define NKI_PARTITIONS 128

// Element types: those of arrays, and NKI types that the machine moves as bits only.
enum {
    NKI_FLOAT8_E8M0FNU = DTYPE_COUNT, // a power-of-two scale in one byte
    NKI_FLOAT8_E5M2_X4,               // four values in four bytes
    NKI_FLOAT8_E4M3FN_X4,
    NKI_FLOAT4_E2M1FN_X4, // four values in two bytes
    NKI_DTYPES
};

struct nki_dtype_info {
    const char *name;
    enum dtype raw; // how arrays hold it
    uint8_t size;   // bytes
    bool is_float;  // arithmetic float
    bool is_int;    // integer or bool
    bool bits_only; // no arithmetic: moved bit by bit
    bool in_nki;    // has an nl name (float64 and int64 have not)
};

extern const struct nki_dtype_info nki_dtypes[NKI_DTYPES];
static inline size_t nki_dtype_size(int t) { return nki_dtypes[t].size; }
int nki_dtype_parse(const char *name); // -1: none

enum nki_buffer { NKI_SBUF, NKI_PSUM, NKI_HBM, NKI_SHARED_HBM, NKI_BUFFERS };
static inline bool nki_on_chip(enum nki_buffer b) { return b == NKI_SBUF || b == NKI_PSUM; }
extern const char *const nki_buffer_names[NKI_BUFFERS];

enum nki_engine {
    NKI_ENGINE_UNKNOWN = 0,
    NKI_ENGINE_TENSOR = 1,
    NKI_ENGINE_SCALAR = 2,
    NKI_ENGINE_GPSIMD = 3,
    NKI_ENGINE_DMA = 4,
    NKI_ENGINE_VECTOR = 5,
    NKI_ENGINE_SYNC = 6,
    NKI_ENGINES = 7
};
extern const char *const nki_engine_names[NKI_ENGINES];

enum nki_reduce_cmd { NKI_IDLE, NKI_RESET, NKI_REDUCE, NKI_RESET_REDUCE, NKI_LOAD_REDUCE };
enum nki_dge { NKI_DGE_UNKNOWN, NKI_DGE_SWDGE, NKI_DGE_HWDGE, NKI_DGE_NONE };
enum nki_oob { NKI_OOB_ERROR, NKI_OOB_SKIP };
enum nki_perf { NKI_PERF_NONE, NKI_PERF_DOUBLE_ROW };

// Operators: what `op=nl.NAME` can name.
enum nki_op {
    NKI_OP_NONE,
    NKI_OP_ADD,
    NKI_OP_SUBTRACT,
    NKI_OP_MULTIPLY,
    NKI_OP_DIVIDE,
    NKI_OP_MAXIMUM,
    NKI_OP_MINIMUM,
    NKI_OP_ABS_MAX,
    NKI_OP_ABS_MIN,
    NKI_OP_POWER,
    NKI_OP_MOD,
    NKI_OP_FMOD,
    NKI_OP_EQUAL,
    NKI_OP_NOT_EQUAL,
    NKI_OP_LESS,
    NKI_OP_LESS_EQUAL,
    NKI_OP_GREATER,
    NKI_OP_GREATER_EQUAL,
    NKI_OP_LOGICAL_AND,
    NKI_OP_LOGICAL_OR,
    NKI_OP_LOGICAL_XOR,
    NKI_OP_BITWISE_AND,
    NKI_OP_BITWISE_OR,
    NKI_OP_BITWISE_XOR,
    NKI_OP_LEFT_SHIFT,
    NKI_OP_RIGHT_SHIFT,
    NKI_OP_FIRST_UNARY,
    NKI_OP_INVERT = NKI_OP_FIRST_UNARY,
    NKI_OP_LOGICAL_NOT,
    NKI_OP_COPY,
    NKI_OP_BYPASS,
    NKI_OP_NEGATIVE,
    NKI_OP_ABS,
    NKI_OP_SQUARE,
    NKI_OP_SQRT,
    NKI_OP_RSQRT,
    NKI_OP_RECIPROCAL,
    NKI_OP_EXP,
    NKI_OP_LOG,
    NKI_OP_SIN,
    NKI_OP_COS,
    NKI_OP_TAN,
    NKI_OP_ARCTAN,
    NKI_OP_TANH,
    NKI_OP_SIGMOID,
    NKI_OP_RELU,
    NKI_OP_PRELU,
    NKI_OP_GELU,
    NKI_OP_GELU_DX,
    NKI_OP_GELU_APPRX_TANH,
    NKI_OP_GELU_APPRX_SIGMOID,
    NKI_OP_GELU_APPRX_SIGMOID_DX,
    NKI_OP_SILU,
    NKI_OP_SILU_DX,
    NKI_OP_SOFTPLUS,
    NKI_OP_MISH,
    NKI_OP_ERF,
    NKI_OP_ERF_DX,
    NKI_OP_SIGN,
    NKI_OP_FLOOR,
    NKI_OP_CEIL,
    NKI_OP_TRUNC,
    NKI_OP_MAX, // nl.max and nl.min: reductions, accepted as operators only where the document says so
    NKI_OP_MIN,
    NKI_OP_SUM,
    NKI_OP_AVERAGE,
    NKI_OPS
};

struct nki_op_info {
    const char *name;
    enum binary_op binary; // BINARY_COUNT: not a binary operator (or done here: abs_max, abs_min)
    enum unary_op unary;   // UNARY_COUNT: not a unary one
};
extern const struct nki_op_info nki_ops[NKI_OPS];
enum nki_op nki_op_parse(const char *name); // NKI_OPS: none
static inline bool nki_op_is_unary(enum nki_op op) { return op >= NKI_OP_FIRST_UNARY && op < NKI_OP_MAX; }

// What the tables of prelude/nki/language.lua say of an operator.
enum {
    NKI_OPF_BITVEC = 1,      // acts on bits, integers only
    NKI_OPF_ALU = 2,         // binary operator of the Vector Engine's arithmetic unit
    NKI_OPF_UNARY_SLOT = 4,  // unary operator allowed in op0/op1 of tensor_scalar
    NKI_OPF_REDUCE = 8,      // legal reduction
    NKI_OPF_ACTIVATION = 16, // activation function of the Scalar Engine
    NKI_OPF_GPSIMD = 32,     // runs on GpSimd only
    NKI_OPF_GEN4 = 64        // NeuronCore-v4 only
};

// Instructions as recorded. The names are those of nki.isa, and two that some of them emit besides.
enum nki_instr {
    NKI_I_NONE,
    NKI_I_DMA_COPY,
    NKI_I_DMA_TRANSPOSE,
    NKI_I_DMA_COMPUTE,
    NKI_I_TENSOR_COPY,
    NKI_I_MEMSET,
    NKI_I_TENSOR_COPY_PREDICATED,
    NKI_I_TENSOR_TENSOR,
    NKI_I_TENSOR_SCALAR,
    NKI_I_SCALAR_TENSOR_TENSOR,
    NKI_I_TENSOR_REDUCE,
    NKI_I_TENSOR_PARTITION_REDUCE,
    NKI_I_TENSOR_SCALAR_CUMULATIVE,
    NKI_I_ACTIVATION,
    NKI_I_ACTIVATION_REDUCE,
    NKI_I_TENSOR_SCALAR_REDUCE,
    NKI_I_RECIPROCAL,
    NKI_I_NC_MATMUL,
    NKI_I_NC_TRANSPOSE,
    NKI_I_IOTA,
    NKI_I_AFFINE_SELECT,
    NKI_I_RANGE_SELECT,
    NKI_I_SELECT_REDUCE,
    NKI_I_TENSOR_TENSOR_SCAN,
    NKI_I_BN_STATS,
    NKI_I_BN_AGGR,
    NKI_I_NC_N_GATHER,
    NKI_I_NC_STREAM_SHUFFLE,
    NKI_I_MAX8,
    NKI_I_NC_FIND_INDEX8,
    NKI_I_NC_MATCH_REPLACE8,
    NKI_I_EXPONENTIAL,
    NKI_I_REGISTER_LOAD,
    NKI_I_REGISTER_STORE,
    NKI_I_DROPOUT,
    NKI_I_RNG,
    NKI_I_READ_ACCUMULATOR, // reads the reduction registers of ScalarE or VectorE into a tile
    NKI_I_CONSTANT,         // a constant placed in memory at load time (shared_constant, shared_identity_matrix)
    NKI_INSTRS
};
extern const char *const nki_instr_names[NKI_INSTRS];
enum nki_instr nki_instr_parse(const char *name); // NKI_INSTRS: none

#endif
