// SPDX-License-Identifier: MIT
// elementwise.c: type rules and the block loop of unary, binary, comparing and selecting operations.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "array/array.h"
#include "array/convert.h"
#include "array/walk.h"

static const enum dtype row_dtype[ROW_TYPES] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_INT32, DTYPE_INT64};

// The row type in which elements of t are computed.
static enum row_type row_of(enum dtype t) {
    if (t == DTYPE_FLOAT64) return ROW_F64;
    if (dtype_is_float(t)) return ROW_F32;
    return t == DTYPE_INT64 || t == DTYPE_UINT32 ? ROW_I64 : ROW_I32;
}

typedef void apply_fn(const void *context, size_t n, void *dst, const struct walk *w);

static bool broadcast_shape(const char *name, const struct operand *operands, int count, int *ndim, int64_t *shape,
                            struct array_error *err) {
    *ndim = 0;
    for (int k = 0; k < count; k++)
        if (operands[k].array && operands[k].array->ndim > *ndim) *ndim = operands[k].array->ndim;
    for (int i = 0; i < *ndim; i++) {
        shape[i] = 1;
        for (int k = 0; k < count; k++) {
            const struct array *a = operands[k].array;
            int j = a ? i - (*ndim - a->ndim) : -1;
            if (j < 0 || a->shape[j] == 1 || a->shape[j] == shape[i]) continue;
            if (shape[i] == 1) {
                shape[i] = a->shape[j];
                continue;
            }
            char text[3][192] = {"", "", ""};
            int shown = 0;
            for (int m = 0; m < count; m++)
                if (operands[m].array)
                    array_format_shape(text[shown++], operands[m].array->ndim, operands[m].array->shape);
            return array_fail(err, ARRAY_WRONG_USE, "%s: shapes %s%s%s%s%s do not broadcast", name, text[0],
                              shown == 3 ? ", " : " and ", text[1], shown == 3 ? " and " : "", text[2]);
        }
    }
    return true;
}

// A large operand that runs fast along another axis than the last is straightened first: walking it row by row would
// fetch a cache line for every element.
static bool runs_badly(const struct array *a) {
    if (a->size < 65536 || a->ndim < 2) return false;
    int64_t last = a->strides[a->ndim - 1], size = (int64_t)dtype_size(a->dtype);
    if (a->shape[a->ndim - 1] == 1 || (last >= 0 && last < 64)) return false;
    for (int i = 0; i < a->ndim - 1; i++)
        if (a->strides[i] == size && a->shape[i] >= 8) return true;
    return false;
}

static bool run(struct array *out, const char *name, enum dtype result, enum dtype computed,
                const struct operand *operands, const enum dtype *wanted, const enum dtype *as, int count,
                apply_fn *apply, const void *context, struct array_error *err) {
    int ndim;
    int64_t shape[ARRAY_MAX_DIMS];
    struct array straight[WALK_INPUTS] = {{0}}, wide[WALK_INPUTS] = {{0}};
    uint64_t values[WALK_INPUTS];
    static const int64_t none[ARRAY_MAX_DIMS];
    struct account *account = NULL;
    bool ok = false;
    if (!broadcast_shape(name, operands, count, &ndim, shape, err)) return false;
    for (int k = count - 1; k >= 0; k--)
        if (operands[k].array) account = operands[k].array->storage->account;
    if (!array_create(out, account, result, ndim, shape, err)) return false;

    struct walk w;
    walk_shape(&w, ndim, shape);
    for (int k = 0; k < count; k++) {
        const struct array *a = operands[k].array;
        if (!a) {
            // A number takes the result's type first (as[k]), as NumPy's does, then the computing type.
            uint64_t cell = 0;
            if (operands[k].kind == OPERAND_FLOAT)
                dtype_store(as[k], &cell, operands[k].f);
            else
                dtype_store_int(as[k], &cell, operands[k].i);
            convert_row(1, wanted[k], &values[k], 0, as[k], &cell, 0);
            walk_add(&w, &values[k], wanted[k], none, wanted[k]);
            continue;
        }
        if (runs_badly(a)) {
            if (!array_cast(&straight[k], a, wanted[k], err)) goto done;
            a = &straight[k];
        }
        if (!array_view_broadcast(&wide[k], a, ndim, shape, err)) goto done;
        walk_add(&w, array_data(&wide[k]), a->dtype, wide[k].strides, wanted[k]);
    }
    uint64_t block[WALK_BLOCK];
    unsigned char *to = array_data(out);
    const size_t size = dtype_size(result);
    walk_start(&w);
    while (walk_next(&w)) {
        if (computed == result) {
            apply(context, w.count, to, &w);
        } else {
            apply(context, w.count, block, &w);
            convert_row(w.count, result, to, (ptrdiff_t)size, computed, block, (ptrdiff_t)dtype_size(computed));
        }
        to += w.count * size;
    }
    ok = true;
done:
    for (int k = 0; k < count; k++) {
        array_close(&straight[k]);
        array_close(&wide[k]);
    }
    if (!ok) array_close(out);
    return ok;
}

// ---- unary ----

typedef void unary_fn(size_t n, void *dst, const void *src);

static void apply_unary(const void *context, size_t n, void *dst, const struct walk *w) {
    unary_fn *const *fn = context;
    if (w->step[0]) {
        (*fn)(n, dst, w->row[0]);
    } else { // a repeated value: compute once, then spread
        uint64_t one;
        (*fn)(1, &one, w->row[0]);
        enum dtype computed = w->in[0].want;
        convert_row(n, computed, dst, (ptrdiff_t)dtype_size(computed), computed, &one, 0);
    }
}

static bool keeps_integers(enum unary_op op) {
    switch (op) {
    case UNARY_COPY:
    case UNARY_NEGATIVE:
    case UNARY_ABS:
    case UNARY_SQUARE:
    case UNARY_RELU:
    case UNARY_SIGN:
    case UNARY_FLOOR:
    case UNARY_CEIL:
    case UNARY_ROUND:
    case UNARY_TRUNC: return true;
    default: return false;
    }
}

static bool gives_bool(enum unary_op op) {
    return op == UNARY_ISNAN || op == UNARY_ISINF || op == UNARY_ISFINITE || op == UNARY_SIGNBIT ||
           op == UNARY_LOGICAL_NOT;
}

bool array_unary(struct array *out, enum unary_op op, const struct array *a, struct array_error *err) {
    enum dtype in = a->dtype, result = in;
    const char *name = unary_name(op);
    if (op == UNARY_COPY) return array_copy(out, a, err);
    if (op == UNARY_INVERT && in == DTYPE_BOOL) op = UNARY_LOGICAL_NOT;
    if (op == UNARY_INVERT && dtype_is_float(in))
        return array_fail(err, ARRAY_WRONG_USE, "%s: needs an integer array, not %s", name, dtype_name(in));
    if (op == UNARY_NEGATIVE && in == DTYPE_BOOL)
        return array_fail(err, ARRAY_WRONG_USE, "%s: not defined for bool", name);
    if (op == UNARY_ABS && in == DTYPE_BOOL) return array_copy(out, a, err);
    if (gives_bool(op))
        result = DTYPE_BOOL;
    else if (op != UNARY_INVERT && !keeps_integers(op))
        in = result = dtype_float_of(in);
    else if (in == DTYPE_BOOL)
        in = result = DTYPE_INT8;
    enum row_type row = row_of(in);
    unary_fn *fn = kernels()->unary[row][op];
    if (!fn) return array_fail(err, ARRAY_WRONG_USE, "%s: not defined for %s", name, dtype_name(a->dtype));
    struct operand operand = operand_of(a);
    return run(out, name, result, row_dtype[row], &operand, &row_dtype[row], &row_dtype[row], 1, apply_unary, &fn, err);
}

// ---- binary ----

typedef void binary_fn(size_t n, void *dst, const void *a, size_t a_step, const void *b, size_t b_step);
typedef void compare_fn(size_t n, uint8_t *dst, const void *a, size_t a_step, const void *b, size_t b_step);

static void apply_binary(const void *context, size_t n, void *dst, const struct walk *w) {
    binary_fn *const *fn = context;
    (*fn)(n, dst, w->row[0], w->step[0], w->row[1], w->step[1]);
}

static void apply_compare(const void *context, size_t n, void *dst, const struct walk *w) {
    compare_fn *const *fn = context;
    (*fn)(n, dst, w->row[0], w->step[0], w->row[1], w->step[1]);
}

// The common type of two operands, numbers being weak. `wide` lets an integer that does not fit widen the type (for
// comparisons); otherwise it is refused.
static bool common_type(const char *name, struct operand a, struct operand b, bool wide, enum dtype *type,
                        struct array_error *err) {
    if (a.array && b.array) {
        *type = dtype_promote(a.array->dtype, b.array->dtype);
        return true;
    }
    if (!a.array && !b.array) return array_fail(err, ARRAY_WRONG_USE, "%s: neither operand is an array", name);
    struct operand number = a.array ? b : a;
    enum dtype t = a.array ? a.array->dtype : b.array->dtype;
    if (number.kind == OPERAND_FLOAT && !dtype_is_float(t)) t = DTYPE_FLOAT64;
    if (number.kind == OPERAND_INT && t == DTYPE_BOOL) t = DTYPE_INT64;
    if (number.kind == OPERAND_INT && dtype_is_integer(t) && t != DTYPE_INT64) {
        const struct dtype_info *info = &dtype_table[t];
        if ((double)number.i > info->max || (double)number.i < info->min) {
            if (!wide)
                return array_fail(err, ARRAY_WRONG_USE, "%s: %" PRId64 " does not fit %s", name, number.i, info->name);
            t = DTYPE_INT64;
        }
    }
    *type = t;
    return true;
}

static bool is_bitwise(enum binary_op op) { return op >= BINARY_BITWISE_AND && op <= BINARY_RIGHT_SHIFT_LOGICAL; }

static enum binary_op op_for_bool(enum binary_op op) {
    switch (op) {
    case BINARY_ADD:
    case BINARY_MAXIMUM:
    case BINARY_FMAX:
    case BINARY_BITWISE_OR: return BINARY_LOGICAL_OR;
    case BINARY_MULTIPLY:
    case BINARY_MINIMUM:
    case BINARY_FMIN:
    case BINARY_BITWISE_AND: return BINARY_LOGICAL_AND;
    case BINARY_BITWISE_XOR: return BINARY_LOGICAL_XOR;
    default: return op;
    }
}

// NumPy refuses integers raised to a negative power.
static bool has_negative(struct operand b) {
    if (!b.array) return b.kind == OPERAND_INT && b.i < 0;
    if (!dtype_table[b.array->dtype].is_signed) return false;
    for (int64_t i = 0; i < b.array->size; i++)
        if (dtype_load_int(b.array->dtype, array_element(b.array, i)) < 0) return true;
    return false;
}

bool array_binary(struct array *out, enum binary_op op, struct operand a, struct operand b, struct array_error *err) {
    const char *name = binary_name(op);
    enum dtype t;
    if (op >= BINARY_EQUAL && op <= BINARY_GREATER_EQUAL)
        return array_compare(out, (enum compare_op)(COMPARE_EQUAL + (op - BINARY_EQUAL)), a, b, err);
    if (!common_type(name, a, b, false, &t, err)) return false;
    enum dtype result = t;
    if (t == DTYPE_BOOL) {
        if (op == BINARY_SUBTRACT)
            return array_fail(err, ARRAY_WRONG_USE, "subtract: not defined for bool; use logical_xor");
        op = op_for_bool(op);
        if (op < BINARY_LOGICAL_AND && op != BINARY_DIVIDE) result = t = DTYPE_INT8;
    }
    if (is_bitwise(op) && dtype_is_float(t))
        return array_fail(err, ARRAY_WRONG_USE, "%s: needs integer operands, not %s", name, dtype_name(t));
    if (op == BINARY_DIVIDE && !dtype_is_float(t)) result = t = DTYPE_FLOAT64;
    if (op >= BINARY_ARCTAN2 && op <= BINARY_LOGADDEXP) {
        // each operand becomes a float of its own width first: int16 with uint16 is float32
        result = t = a.array && b.array ? dtype_promote(dtype_float_of(a.array->dtype), dtype_float_of(b.array->dtype))
                                        : dtype_float_of(t);
    }
    if (op >= BINARY_LOGICAL_AND) result = DTYPE_BOOL;
    if (op == BINARY_POWER && dtype_is_integer(t) && has_negative(b))
        return array_fail(err, ARRAY_WRONG_USE, "power: integers to negative integer powers are not allowed");
    enum row_type row = row_of(t);
    enum dtype wanted[2] = {row_dtype[row], row_dtype[row]}, as[2] = {t, t};
    struct operand operands[2] = {a, b};
    struct array unsigned_view = {0};
    if (op == BINARY_RIGHT_SHIFT_LOGICAL && a.array && (t == DTYPE_INT8 || t == DTYPE_INT16) && a.array->dtype == t) {
        unsigned_view = *a.array; // borrowed view: zeros must come in from the left
        unsigned_view.dtype = t == DTYPE_INT8 ? DTYPE_UINT8 : DTYPE_UINT16;
        operands[0].array = &unsigned_view;
    }
    binary_fn *fn = kernels()->binary[row][op];
    if (!fn) return array_fail(err, ARRAY_WRONG_USE, "%s: not defined for %s", name, dtype_name(t));
    return run(out, name, result, row_dtype[row], operands, wanted, as, 2, apply_binary, &fn, err);
}

bool array_compare(struct array *out, enum compare_op op, struct operand a, struct operand b, struct array_error *err) {
    enum dtype t;
    if (!common_type(compare_name(op), a, b, true, &t, err)) return false;
    enum row_type row = row_of(t);
    enum dtype wanted[2] = {row_dtype[row], row_dtype[row]}, as[2] = {t, t};
    struct operand operands[2] = {a, b};
    compare_fn *fn = kernels()->compare[row][op];
    return run(out, compare_name(op), DTYPE_BOOL, DTYPE_BOOL, operands, wanted, as, 2, apply_compare, &fn, err);
}

// ---- selection ----

static void apply_where(const void *context, size_t n, void *dst, const struct walk *w) {
    const int *index = context;
    const uint8_t *condition = w->row[0];
    uint8_t spread[WALK_BLOCK];
    if (!w->step[0]) {
        memset(spread, *condition, n);
        condition = spread;
    }
    kernels()->select[*index](n, dst, condition, w->row[1], w->step[1], w->row[2], w->step[2]);
}

bool array_where(struct array *out, const struct array *condition, struct operand a, struct operand b,
                 struct array_error *err) {
    enum dtype t;
    if (!a.array && !b.array) {
        t = a.kind == OPERAND_FLOAT || b.kind == OPERAND_FLOAT ? DTYPE_FLOAT64
            : a.kind == OPERAND_INT || b.kind == OPERAND_INT   ? DTYPE_INT64
                                                               : DTYPE_BOOL;
    } else if (!common_type("where", a, b, false, &t, err)) {
        return false;
    }
    int index = dtype_size(t) == 1 ? 0 : dtype_size(t) == 2 ? 1 : dtype_size(t) == 4 ? 2 : 3;
    struct operand operands[3] = {operand_of(condition), a, b};
    enum dtype wanted[3] = {DTYPE_BOOL, t, t};
    return run(out, "where", t, t, operands, wanted, wanted, 3, apply_where, &index, err);
}

bool array_clip(struct array *out, const struct array *a, struct operand low, struct operand high,
                struct array_error *err) {
    struct array raised = {0};
    if (!array_binary(&raised, BINARY_MAXIMUM, operand_of(a), low, err)) return false;
    bool ok = array_binary(out, BINARY_MINIMUM, operand_of(&raised), high, err);
    array_close(&raised);
    return ok;
}
