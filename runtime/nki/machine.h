// SPDX-License-Identifier: MIT
// machine.h: the NKI machine: memories, limits, the record, and every instruction it executes.
//
// A kernel's calls arrive one by one in program order. Each is validated against the tables given at creation,
// recorded, and, unless the machine only follows shapes, executed at once. A machine belongs to one Lua state and one
// run; it owns storages, record and errors, and nothing of it is shared. An instruction returns true, or false with
// machine.err filled: a refusal that names the operands, the limit and the document. Warnings are kept in a list and do
// not stop the run. Lack of memory is the error memory-limit. Arithmetic: chip mode converts inputs to float32,
// computes in float32 and rounds to the destination's type once; exact mode computes in float64 and does not round
// floats at all.
#ifndef NKILN_NKI_MACHINE_H
#define NKILN_NKI_MACHINE_H

#include "nki/error.h"
#include "nki/record.h"

#define NKI_ROW_OPERANDS 8

// One row of prelude/nki/isa.lua, as far as the machine reads it.
struct nki_row_operand {
    char name[24];
    uint32_t buffers; // bit per enum nki_buffer
    uint32_t dtypes;  // bit per element type
};
struct nki_row {
    bool present;
    char name[40]; // "nisa.tensor_tensor"
    char doc[48];  // "nki.isa.tensor_tensor"
    uint32_t engines;
    uint8_t engine_default;
    uint8_t first_gen;
    int operand_count;
    struct nki_row_operand operands[NKI_ROW_OPERANDS];
    int64_t free_max; // elements per partition; 0: no limit of its own
    int64_t free_min;
};

// Hardware figures, from prelude/nki/targets.lua.
struct nki_target {
    char name[16];
    int generation; // 2 trn1/inf2, 3 trn2, 4 trn3
    int64_t partitions;
    int64_t sbuf_bytes; // usable, of one partition
    int64_t psum_bytes, psum_bank_bytes;
    int64_t stationary_free, moving_free, moving_free_bf16;
    int64_t transpose_tensor, transpose_vector;
    int64_t pattern_dims; // free dimensions of an access pattern
    int64_t bn_stats_free;
    bool psum_bank_span;           // one matmul may write across banks
    bool psum_bf16;                // a matmul may write bfloat16
    bool bias_scalar;              // activation takes a number as bias
    bool scalar_copy;              // tensor_copy runs on the Scalar Engine
    bool scalar_tensor_scalar_any; // the Scalar Engine takes any arithmetic pair of tensor_scalar
    bool accumulate_any;           // matmul may accumulate on what another instruction wrote
    bool hwdge;
    bool float8;
    bool float8_e4m3fn_matmul;
    bool double_row;
    bool psum_dma;
};

enum nki_mode { NKI_CHIP, NKI_EXACT };

// A parameter that takes a number or a tile.
struct nki_value {
    enum { NKI_ABSENT, NKI_INT, NKI_FLOAT, NKI_VIEW } kind;
    double number;
    int64_t integer;
    const struct nki_view *view;
};

struct nki_cache_entry {
    uint32_t storage, version;
    int dtype;
    int32_t part;
    int64_t offset, rows, cols;
    int64_t stride;
    float *data;
    size_t bytes;
    uint64_t used;
};
#define NKI_CACHE 24

// Matmuls into one tile of PSUM whose product is still to be formed (pending.c).
struct nki_pending {
    struct nki_storage *st; // NULL: none
    int32_t part;
    int64_t offset, rows, cols, depth;
    bool add;   // to what the tile holds
    float *dst; // the tile's first element, `pitch` elements between partitions
    int64_t pitch;
    float *a, *b; // [depth, rows] and [depth, cols]
    size_t a_have, b_have;
};

struct nki_machine {
    struct nki_target target;
    struct nki_row rows[NKI_INSTRS];
    uint32_t op_flags[NKI_OPS];
    enum nki_mode mode;
    uint64_t round_operands; // exact mode: types (1 << dtype) to which matmul operands in tiles of that type are rounded
    bool execute;
    int poison;
    bool uninitialized_warns;
    int32_t site; // set by the binding before each call
    int ordered;  // blocks of nl.no_reorder that are open
    // Names given afterwards to tensors without one (outputs), by storage id.
    struct nki_label {
        uint32_t storage;
        char *text;
    } *labels;
    int label_count;

    struct nki_storage **storages; // by id - 1
    uint32_t storage_count, storage_capacity;
    struct account *account;
    struct nki_record record;
    struct nki_error err;
    struct nki_error *warnings;
    int warning_count, warning_capacity;

    // Reduction registers, one per partition.
    double act_acc[NKI_PARTITIONS], dve_acc[NKI_PARTITIONS];
    bool act_acc_known, dve_acc_known;
    struct nki_flow act_flow, dve_flow;

    struct nki_cache_entry cache[NKI_CACHE];
    uint64_t cache_clock;
    struct nki_pending pending;
    void *scratch; // working rows; grows
    size_t scratch_bytes;
    uint64_t random; // state of the machine's own generator

    // The instruction under way.
    enum nki_instr now;
};

bool nki_machine_open(struct nki_machine *m, struct account *account); // closed before; tables are the caller's to fill
void nki_machine_close(struct nki_machine *m);

struct nki_storage *nki_machine_storage(struct nki_machine *m, enum nki_buffer buffer, int dtype, const int64_t *shape,
                                        int ndim,
                                        const char *name); // NULL: m->err
// Bytes for a storage that executes; called at the first use. False: memory-limit.
bool nki_machine_back(struct nki_machine *m, struct nki_storage *st);
void nki_machine_warn(struct nki_machine *m); // move m->err to the warnings

// After the kernel: outputs written and in shared HBM, capacity over live ranges.
bool nki_machine_finish(struct nki_machine *m, const struct nki_view *outputs, int count, bool inputs_may_change);
// The longest sum, chain and types behind a tensor.
void nki_flow_merge(struct nki_flow *into, const struct nki_flow *from);

// nl.ndarray.
bool nki_ndarray(struct nki_machine *m, struct nki_view *out, const int64_t *shape, int ndim, int dtype,
                 enum nki_buffer buffer, const char *name, const int64_t *address);

// Instructions. `engine` NKI_ENGINE_UNKNOWN lets the machine choose as the documents say.
struct nki_dma_options {
    enum nki_dge dge;
    enum nki_oob oob;
    int engine;
    bool prioritised; // a quality-of-service level is given
};
bool nki_dma_copy(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src,
                  const struct nki_dma_options *o);
bool nki_dma_transpose(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src,
                       const int64_t *axes, int count, const struct nki_dma_options *o);
bool nki_dma_compute(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *const *srcs, int count,
                     enum nki_op op, const struct nki_dma_options *o);
bool nki_tensor_copy(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src, int engine);
bool nki_memset(struct nki_machine *m, const struct nki_view *dst, const struct nki_value *value, int engine);
bool nki_copy_predicated(struct nki_machine *m, const struct nki_view *dst, const struct nki_value *src,
                         const struct nki_view *predicate, bool reverse);
bool nki_tensor_tensor(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *a,
                       const struct nki_view *b, enum nki_op op, int engine);
struct nki_scalar_step {
    enum nki_op op;
    struct nki_value operand;
    bool reverse;
};
bool nki_tensor_scalar(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                       const struct nki_scalar_step *first, const struct nki_scalar_step *second, int engine);
bool nki_scalar_tensor_tensor(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                              const struct nki_scalar_step *first, enum nki_op op1, const struct nki_view *other,
                              bool reverse1);
bool nki_reciprocal(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data);
struct nki_activation {
    enum nki_op op;
    struct nki_value bias, scale;
    enum nki_op reduce_op;
    const struct nki_view *reduce_res;
    enum nki_reduce_cmd cmd;
    bool combined; // nisa.activation_reduce
};
bool nki_activation(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                    const struct nki_activation *a);
bool nki_tensor_reduce(struct nki_machine *m, const struct nki_view *dst, enum nki_op op, const struct nki_view *data,
                       const int64_t *axes, int axis_count, bool negate, bool keepdims);
struct nki_scalar_reduce {
    struct nki_scalar_step step;
    enum nki_op reduce_op;
    const struct nki_view *reduce_res;
    enum nki_reduce_cmd cmd;
    struct nki_value init;
    bool negate;
};
bool nki_tensor_scalar_reduce(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                              const struct nki_scalar_reduce *r);
struct nki_matmul {
    bool stationary_onezero, moving_onezero, transpose;
    int accumulate; // -1 none, 0 false, 1 true
    bool tiled;
    int64_t tile_position[2], tile_size[2];
    enum nki_perf perf;
};
bool nki_nc_matmul(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *stationary,
                   const struct nki_view *moving, const struct nki_matmul *o);
bool nki_nc_transpose(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data, int engine);
struct nki_affine {
    int count;
    int64_t step[4], num[4];
    int64_t offset, channel_multiplier;
};
bool nki_iota(struct nki_machine *m, const struct nki_view *dst, const struct nki_affine *a);
bool nki_affine_select(struct nki_machine *m, const struct nki_view *dst, const struct nki_affine *a,
                       const struct nki_view *on_true, double on_false, enum nki_op cmp);
bool nki_scan(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *a, const struct nki_view *b,
              const struct nki_value *initial, enum nki_op op0, enum nki_op op1, bool reverse0, bool reverse1);
bool nki_partition_reduce(struct nki_machine *m, const struct nki_view *dst, enum nki_op op,
                          const struct nki_view *data);
bool nki_exponential(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src,
                     const struct nki_value *max_value, const struct nki_view *reduce_res, enum nki_reduce_cmd cmd,
                     const struct nki_value *init);
bool nki_bn_stats(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data);
bool nki_bn_aggr(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data);
struct nki_range_select {
    enum nki_op op0, op1;
    const struct nki_view *bound0, *bound1;
    enum nki_reduce_cmd cmd;
    const struct nki_view *reduce_res;
    int64_t start;
    double on_false;
};
bool nki_range_select_op(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *on_true,
                         const struct nki_range_select *r);
bool nki_select_reduce(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *predicate,
                       const struct nki_view *on_true, const struct nki_value *on_false,
                       const struct nki_view *reduce_res, enum nki_reduce_cmd cmd, bool reverse);
bool nki_cumulative(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src, enum nki_op op0,
                    enum nki_op op1, const struct nki_value *imm0, const struct nki_value *imm1,
                    enum nki_reduce_cmd cmd);
bool nki_find_index8(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                     const struct nki_view *vals);
bool nki_match_replace8(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                        const struct nki_view *vals, double imm, const struct nki_view *dst_idx);
bool nki_max8(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src);
bool nki_n_gather(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                  const struct nki_view *indices);
bool nki_stream_shuffle(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src,
                        const int64_t *mask);
bool nki_constant(struct nki_machine *m, const struct nki_view *dst, bool identity); // contents placed at load time

#endif
