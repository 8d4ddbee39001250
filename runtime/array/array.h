// SPDX-License-Identifier: MIT
// array.h: strided arrays over shared typed storage.
//
// A `struct array` is a value: a view (type, shape, byte strides, offset) that holds one reference to its storage. A
// zeroed struct is closed and owns nothing; array_close closes one again and may be called twice. Functions that make
// an array take a closed `out` and leave it closed when they fail. Storage bytes are charged to the account given at
// creation until the last view closes; the account must outlive every array.
// A function that can fail returns false and fills `struct array_error`: wrong shapes, types or axes; too many bytes
// for the account; no memory. Results are always fresh, row-major arrays, except those of the array_view_ functions,
// which share storage. Up to 8 dimensions. Elementwise operations broadcast and promote as NumPy does.
#ifndef NKILN_ARRAY_ARRAY_H
#define NKILN_ARRAY_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "account.h"
#include "array/dtype.h"
#include "array/kernels.h"

#define ARRAY_MAX_DIMS 8

struct storage {
    size_t refs;
    size_t bytes;
    struct account *account; // may be NULL
    unsigned char *data;     // 64-byte aligned
};

struct array {
    struct storage *storage; // NULL: closed
    enum dtype dtype;
    int ndim;
    int64_t shape[ARRAY_MAX_DIMS];
    int64_t strides[ARRAY_MAX_DIMS]; // bytes
    int64_t offset;                  // bytes
    int64_t size;                    // elements
};

enum array_status { ARRAY_OK, ARRAY_WRONG_USE, ARRAY_LIMIT, ARRAY_NO_MEMORY, ARRAY_BAD_DATA };

struct array_error {
    enum array_status status;
    char message[256];
};

// An operand of an elementwise operation: an array, or a number that adapts to the other operand's type.
struct operand {
    const struct array *array; // NULL: a number
    enum { OPERAND_BOOL, OPERAND_INT, OPERAND_FLOAT } kind;
    int64_t i; // bool and int
    double f;  // float
};

static inline unsigned char *array_data(const struct array *a) { return a->storage->data + a->offset; }
static inline struct operand operand_of(const struct array *a) { return (struct operand){.array = a}; }
static inline struct operand operand_float(double f) { return (struct operand){.kind = OPERAND_FLOAT, .f = f}; }
static inline struct operand operand_int(int64_t i) { return (struct operand){.kind = OPERAND_INT, .i = i}; }

bool array_fail(struct array_error *err, enum array_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Making and closing. array_create leaves the elements unset; array_zeros clears them.
bool array_create(struct array *out, struct account *account, enum dtype dtype, int ndim, const int64_t *shape,
                  struct array_error *err);
bool array_zeros(struct array *out, struct account *account, enum dtype dtype, int ndim, const int64_t *shape,
                 struct array_error *err);
void array_close(struct array *a);
void array_share(struct array *out, const struct array *a); // another view of the same elements
bool array_is_contiguous(const struct array *a);

// "[2,3]" into a buffer of at least 160 bytes; returns it.
char *array_format_shape(char *buffer, int ndim, const int64_t *shape);

// Elements.
void array_strides_of(enum dtype dtype, int ndim, const int64_t *shape, int64_t *strides);
unsigned char *array_element(const struct array *a, int64_t linear); // row-major index, 0 <= linear < size
bool array_fill(struct array *a, struct operand value, struct array_error *err);
bool array_assign(struct array *dst, const struct array *src, struct array_error *err); // broadcasts and converts
bool array_cast(struct array *out, const struct array *a, enum dtype dtype, struct array_error *err);
bool array_copy(struct array *out, const struct array *a, struct array_error *err);
bool array_contiguous(struct array *out, const struct array *a, struct array_error *err); // shares when it is already

// Views. Negative axes count from the end. reshape copies only when it must (*copied tells; may be NULL).
bool array_view_reshape(struct array *out, const struct array *a, int ndim, const int64_t *shape, bool *copied,
                        struct array_error *err); // one entry may be -1
bool array_view_transpose(struct array *out, const struct array *a, const int *axes,
                          struct array_error *err); // NULL: reverse
bool array_view_slice(struct array *out, const struct array *a, int axis, int64_t start, int64_t count, int64_t step,
                      struct array_error *err); // start in range, step may be negative
bool array_view_select(struct array *out, const struct array *a, int axis, int64_t index, struct array_error *err);
bool array_view_expand(struct array *out, const struct array *a, int axis, struct array_error *err);
bool array_view_squeeze(struct array *out, const struct array *a, int axis,
                        struct array_error *err); // axis of length 1
bool array_view_broadcast(struct array *out, const struct array *a, int ndim, const int64_t *shape,
                          struct array_error *err);
bool array_view_bits(struct array *out, const struct array *a, enum dtype dtype,
                     struct array_error *err); // same item size

// Elementwise. The account is the first array operand's.
bool array_unary(struct array *out, enum unary_op op, const struct array *a, struct array_error *err);
bool array_binary(struct array *out, enum binary_op op, struct operand a, struct operand b, struct array_error *err);
bool array_compare(struct array *out, enum compare_op op, struct operand a, struct operand b, struct array_error *err);
bool array_where(struct array *out, const struct array *condition, struct operand a, struct operand b,
                 struct array_error *err);
bool array_clip(struct array *out, const struct array *a, struct operand low, struct operand high,
                struct array_error *err);

// Reductions over the axes whose bit is set in `axes`. Integers and bool sum to int64 and average to float64; narrow
// floats are summed in float32 and rounded once. Names: sum prod max min abs_max sum_square mean var std any all
// count_nonzero. array_arg_reduce works along one axis, or over the row-major order of all elements when `flat`.
enum array_reduction {
    ARRAY_SUM,
    ARRAY_PROD,
    ARRAY_MAX,
    ARRAY_MIN,
    ARRAY_ABS_MAX,
    ARRAY_SUM_SQUARE,
    ARRAY_MEAN,
    ARRAY_VAR,
    ARRAY_STD,
    ARRAY_ANY,
    ARRAY_ALL,
    ARRAY_COUNT_NONZERO,
    ARRAY_REDUCTION_COUNT
};
enum array_reduction array_reduction_parse(const char *name);
bool array_reduce(struct array *out, enum array_reduction op, const struct array *a, unsigned axes, bool keepdims,
                  struct array_error *err);
// Variance, or standard deviation when `root`, dividing by the count less ddof.
bool array_variance(struct array *out, const struct array *a, unsigned axes, bool keepdims, double ddof, bool root,
                    struct array_error *err);
bool array_arg_reduce(struct array *out, bool maximum, const struct array *a, int axis, bool flat, bool keepdims,
                      struct array_error *err);
bool array_cumulative(struct array *out, enum reduce_op op, const struct array *a, int axis, struct array_error *err);

// Contraction over the last axis of a and the last but one of b, batched as NumPy's matmul.
bool array_matmul(struct array *out, const struct array *a, const struct array *b, struct array_error *err);
bool array_concat(struct array *out, const struct array *const *list, int count, int axis, struct array_error *err);

// 64-bit hash of type, shape and element bits in row-major order.
uint64_t array_hash(const struct array *a);
bool array_bits_equal(const struct array *a, const struct array *b);

#endif
