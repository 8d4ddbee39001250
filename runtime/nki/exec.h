// SPDX-License-Identifier: MIT
// exec.h: what the instructions share: checking operands, recording, and walking tiles row by row. Internal to nki/.
//
// An instruction runs in four steps: nki_begin, checks (nki_check and the nki_need_ family; each returns false with
// m->err filled), nki_commit (record, live ranges, initialised areas, flow), and, when the machine executes, lanes.
#ifndef NKILN_NKI_EXEC_H
#define NKILN_NKI_EXEC_H

#include "nki/machine.h"

// One tile operand. The destination comes first.
struct nki_use {
    const char *name; // parameter name in the row
    const struct nki_view *view;
    bool write;
    bool read_too;           // a destination that is also read
    bool vector;             // one element per partition
    const char *buffer_code; // error code when the memory is wrong; NULL: buffer-not-allowed
};

const struct nki_row *nki_begin(struct nki_machine *m, enum nki_instr instr);
bool nki_check(struct nki_machine *m, const struct nki_use *uses, int count);
bool nki_check_initialised(struct nki_machine *m, const struct nki_use *uses, int count);

bool nki_need_same_size(struct nki_machine *m, const struct nki_use *a, const struct nki_use *b);
bool nki_need_partitions(struct nki_machine *m, const struct nki_use *a, const struct nki_use *b);
bool nki_need_vector(struct nki_machine *m, const struct nki_use *data, const struct nki_use *vector, const char *code);
bool nki_need_not_both_psum(struct nki_machine *m, const struct nki_use *a, const struct nki_use *b);
bool nki_need_same_dtype(struct nki_machine *m, const struct nki_use *a, const struct nki_use *b);
bool nki_need_dtype(struct nki_machine *m, const struct nki_use *u, uint32_t mask, const char *code, const char *want);
// Elements per partition: exactly `want`, said as `text`; or a range.
bool nki_need_free(struct nki_machine *m, const struct nki_use *u, int64_t want, const char *text);
bool nki_need_free_range(struct nki_machine *m, const struct nki_use *u, int64_t low, int64_t high);
bool nki_need_reach(struct nki_machine *m, int engine, const struct nki_use *uses,
                    int count); // GpSimd cannot access PSUM
bool nki_need_op(struct nki_machine *m, const char *name, enum nki_op op, uint32_t flags, const char *want);
bool nki_need_generation(struct nki_machine *m, int generation);
bool nki_choose_engine(struct nki_machine *m, int asked, int automatic, int *engine);
bool nki_fail_op(struct nki_machine *m, const char *name, enum nki_op op, const char *want);

uint32_t nki_dtype_mask_int(void);
uint32_t nki_dtype_mask_float(void);
static inline uint32_t nki_bit(int n) { return 1u << n; }

// What an instruction does to the values that pass through it.
struct nki_effect {
    uint32_t terms;     // length of a sum it forms (0: none)
    uint32_t roundings; // float32 roundings added; terms are added to it
    bool sum;           // operands add up: both count
    bool accumulate;    // onto the destination's own history
    bool moves;         // no arithmetic
    bool bits;
    enum nki_op functions[3];
};
// Record the instruction and note its writes. NULL: no memory. The pointer is valid until the next push.
struct nki_instruction *nki_commit(struct nki_machine *m, int engine, const struct nki_use *uses, int count,
                                   const struct nki_effect *effect);
struct nki_flow *nki_flow_of(const struct nki_view *view);

// A tile as an instruction walks it: one row of `free` elements per partition.
struct nki_lane {
    uint8_t *base;                                     // first partition, first element
    ptrdiff_t pitch;                                   // bytes between partitions
    enum dtype type;                                   // as held
    int n;                                             // merged free dimensions
    int64_t count[NKI_MAX_DIMS], stride[NKI_MAX_DIMS]; // elements, bytes
    int64_t parts, free;
    bool dense;              // elements of a partition are contiguous
    bool direct32, direct64; // float32 or float64, contiguous: usable in place
    // A bit view of a float tensor in exact mode works on a copy in the chip's layout.
    struct nki_storage *shadowed;
    uint8_t *shadow;
    size_t shadow_bytes;
};
#define NKI_CHUNK 2048 // elements of a row worked on at a time

bool nki_lane_open(struct nki_machine *m, struct nki_lane *lane, const struct nki_view *view, bool write);
bool nki_lane_close(struct nki_machine *m, struct nki_lane *lane, bool written); // always true, for chaining
// Read from a copy of the tile instead: for a source that shares memory with the destination.
bool nki_lane_detach(struct nki_machine *m, struct nki_lane *lane);
// Treat lanes that are all dense and packed as one long row.
void nki_lanes_flatten(struct nki_lane *const *lanes, int count);
// Elements start .. start + n of partition p's row: where they are, or copied into buffer.
const float *nki_lane_f32(const struct nki_lane *lane, int64_t p, int64_t start, int64_t n, float *buffer);
const double *nki_lane_f64(const struct nki_lane *lane, int64_t p, int64_t start, int64_t n, double *buffer);
void nki_lane_i64(const struct nki_lane *lane, int64_t p, int64_t start, int64_t n, int64_t *buffer);
void nki_lane_bits(const struct nki_lane *lane, int64_t p, int64_t start, int64_t n,
                   int32_t *buffer); // zero-extended bits
// Where to compute the result: in place or in buffer; then put.
float *nki_lane_out_f32(const struct nki_lane *lane, int64_t p, int64_t start, float *buffer);
double *nki_lane_out_f64(const struct nki_lane *lane, int64_t p, int64_t start, double *buffer);
void nki_lane_put_f32(const struct nki_lane *lane, int64_t p, int64_t start, int64_t n, const float *from);
void nki_lane_put_f64(const struct nki_lane *lane, int64_t p, int64_t start, int64_t n, const double *from);
void nki_lane_put_i64(const struct nki_lane *lane, int64_t p, int64_t start, int64_t n, const int64_t *from);
void nki_lane_put_bits(const struct nki_lane *lane, int64_t p, int64_t start, int64_t n, const int32_t *from);
void nki_lane_copy(const struct nki_lane *dst, const struct nki_lane *src, int64_t p); // equal types, bit by bit

// Working memory of at least `bytes`, contents lost at the next call. NULL: memory-limit is filled.
void *nki_scratch(struct nki_machine *m, size_t bytes);
// A tile's float32 or float64 contents as one contiguous block [parts, free], from a small cache when it was converted
// before and not written since.
const float *nki_block_f32(struct nki_machine *m, const struct nki_view *view, int64_t *ld);
// Gather a matmul of two tiles into dst (adding to it or not) to be multiplied later; *taken is false when it has to be
// done now. Whatever opens dst's storage forms the product first.
bool nki_pending_add(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *stationary,
                     const struct nki_view *moving, bool add, bool *taken);
bool nki_pending_flush(struct nki_machine *m);
void nki_pending_forget(struct nki_machine *m, const struct nki_storage *st); // its bytes are given back
void nki_pending_close(struct nki_machine *m);
// If dst shares memory with src in another arrangement, src must be read in full first.
bool nki_overlap(const struct nki_view *dst, const struct nki_view *src);
bool nki_check_capacity(struct nki_machine *m, enum nki_buffer buffer);
// Highest need of one partition's bytes, and the instruction (index + 1) at which it occurs.
bool nki_capacity_peak(struct nki_machine *m, enum nki_buffer buffer, int64_t *peak, uint32_t *when);
bool nki_fail_memory(struct nki_machine *m, bool refused);

// The Vector Engine's reduction registers around an instruction that reduces: check before the commit, begin after it,
// fold into m->dve_acc and m->dve_flow, end.
bool nki_vector_reduce_check(struct nki_machine *m, enum nki_reduce_cmd cmd, const struct nki_view *res);
bool nki_vector_reduce_begin(struct nki_machine *m, enum nki_reduce_cmd cmd, enum nki_op op,
                             const struct nki_value *init);
bool nki_vector_reduce_end(struct nki_machine *m, const struct nki_view *res, bool negate);

// Row operations shared by the elementwise instructions.
void nki_row_binary_f32(enum nki_op op, int64_t n, float *dst, const float *a, int a_step, const float *b, int b_step);
void nki_row_binary_f64(enum nki_op op, int64_t n, double *dst, const double *a, int a_step, const double *b,
                        int b_step);
void nki_row_unary_f32(enum nki_op op, int64_t n, float *dst, const float *a);
void nki_row_unary_f64(enum nki_op op, int64_t n, double *dst, const double *a);
double nki_reduce_identity(enum nki_op op);
double nki_reduce_combine(enum nki_op op, double a, double b, bool exact);
double nki_row_reduce_f32(enum nki_op op, int64_t n, const float *a);
double nki_row_reduce_f64(enum nki_op op, int64_t n, const double *a);

#endif
