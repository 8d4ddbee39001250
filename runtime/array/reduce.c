// SPDX-License-Identifier: MIT
// reduce.c: reductions over any axes, arg-reductions, running reductions.
#include <string.h>

#include "array/array.h"
#include "array/convert.h"
#include "array/walk.h"

static const char *const reduction_names[] = {"sum",  "prod", "max", "min", "abs_max", "sum_square",
                                              "mean", "var",  "std", "any", "all",     "count_nonzero"};
_Static_assert(sizeof reduction_names / sizeof *reduction_names == ARRAY_REDUCTION_COUNT, "a name for every reduction");

enum array_reduction array_reduction_parse(const char *name) {
    int i = 0;
    while (i < ARRAY_REDUCTION_COUNT && strcmp(reduction_names[i], name) != 0) i++;
    return (enum array_reduction)i;
}

static const enum dtype row_dtype[ROW_TYPES] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_INT32, DTYPE_INT64};
static const enum binary_op joining[REDUCE_COUNT] = {BINARY_ADD,     BINARY_MULTIPLY, BINARY_MAXIMUM,
                                                     BINARY_MINIMUM, BINARY_ABS_MAX,  BINARY_ADD};

// Axes of one group (kept or reduced), joined where neighbours are evenly spaced.
struct axes {
    int ndim;
    int64_t shape[ARRAY_MAX_DIMS], strides[ARRAY_MAX_DIMS], size;
};

static void axes_of(struct axes *g, const struct array *a, unsigned mask) {
    g->ndim = 0;
    g->size = 1;
    for (int i = 0; i < a->ndim; i++) {
        if (!(mask & 1u << i)) continue;
        g->size *= a->shape[i];
        if (a->shape[i] == 1) continue;
        if (g->ndim && g->strides[g->ndim - 1] == a->strides[i] * a->shape[i]) {
            g->shape[g->ndim - 1] *= a->shape[i];
            g->strides[g->ndim - 1] = a->strides[i];
        } else {
            g->shape[g->ndim] = a->shape[i];
            g->strides[g->ndim++] = a->strides[i];
        }
    }
}

// Step an index over the first `ndim` axes of a group in row-major order, moving *at; false after the last.
static bool advance(const struct axes *g, int ndim, int64_t *index, const unsigned char **at) {
    for (int i = ndim - 1; i >= 0; i--) {
        *at += g->strides[i];
        if (++index[i] < g->shape[i]) return true;
        *at -= g->strides[i] * g->shape[i];
        index[i] = 0;
    }
    return false;
}

static int64_t smallest_stride(const struct axes *g) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < g->ndim; i++) {
        int64_t s = g->strides[i] < 0 ? -g->strides[i] : g->strides[i];
        if (s < best) best = s;
    }
    return best;
}

struct job {
    enum reduce_op op;
    enum row_type row;
    enum dtype source;
    struct axes kept, gone;
    const unsigned char *base;
    unsigned char *out; // contiguous, of row_dtype[row]
};

// One result: everything below `at`. Blocks are joined pairwise, as the kernels do inside a block.
static void reduce_one(const struct job *j, const unsigned char *at, void *result) {
    const struct kernels *k = kernels();
    const enum dtype computed = row_dtype[j->row];
    const size_t size = dtype_size(computed);
    const bool same = j->source == computed || (j->source == DTYPE_TFLOAT32 && computed == DTYPE_FLOAT32);
    if (j->gone.ndim <= 1) {
        size_t n = (size_t)j->gone.size;
        int64_t stride = j->gone.ndim ? j->gone.strides[0] : (int64_t)dtype_size(j->source);
        if (same && stride == (int64_t)size) {
            k->reduce[j->row][j->op](n, result, at);
            return;
        }
        if (n <= WALK_BLOCK) {
            uint64_t buffer[WALK_BLOCK];
            convert_row(n, computed, buffer, (ptrdiff_t)size, j->source, at, stride);
            k->reduce[j->row][j->op](n, result, buffer);
            return;
        }
    }
    struct walk w;
    uint64_t stack[64];
    unsigned top = 0, block = 0;
    walk_shape(&w, j->gone.ndim, j->gone.shape);
    walk_add(&w, at, j->source, j->gone.strides, computed);
    walk_start(&w);
    while (walk_next(&w)) {
        uint64_t part, spread[WALK_BLOCK];
        const void *row = w.row[0];
        if (!w.step[0]) {
            convert_row(w.count, computed, spread, (ptrdiff_t)size, computed, row, 0);
            row = spread;
        }
        k->reduce[j->row][j->op](w.count, &part, row);
        for (unsigned m = block++; m & 1; m >>= 1)
            k->binary[j->row][joining[j->op]](1, &part, &stack[--top], 1, &part, 1);
        stack[top++] = part;
    }
    uint64_t all = stack[--top];
    while (top) k->binary[j->row][joining[j->op]](1, &all, &stack[--top], 1, &all, 1);
    memcpy(result, &all, size);
}

static void reduce_along_memory(const struct job *j) {
    const size_t size = dtype_size(row_dtype[j->row]);
    int64_t index[ARRAY_MAX_DIMS] = {0};
    const unsigned char *at = j->base;
    unsigned char *out = j->out;
    if (j->kept.size == 0) return;
    do {
        reduce_one(j, at, out);
        out += size;
    } while (advance(&j->kept, j->kept.ndim, index, &at));
}

// acc = row, or acc joined with row.
static void join(const struct job *j, bool first, size_t n, void *acc, const void *row) {
    const struct kernels *k = kernels();
    if (first)
        k->unary[j->row][UNARY_COPY](n, acc, row);
    else
        k->binary[j->row][joining[j->op]](n, acc, acc, 1, row, 1);
}

// The last kept axis runs along memory: whole rows are joined, 64 rows to a group and 64 groups to a section, so that
// the error of a sum grows with 128 + rows / 4096.
static void reduce_across_memory(const struct job *j) {
    enum { GROUP = 64 };
    const struct kernels *k = kernels();
    const enum dtype computed = row_dtype[j->row];
    const size_t size = dtype_size(computed);
    const bool same = j->source == computed || (j->source == DTYPE_TFLOAT32 && computed == DTYPE_FLOAT32);
    const int last = j->kept.ndim - 1;
    const int64_t length = j->kept.shape[last], stride = j->kept.strides[last];
    int64_t kept_index[ARRAY_MAX_DIMS] = {0};
    const unsigned char *outer = j->base;
    unsigned char *out = j->out;
    uint64_t buffer[WALK_BLOCK], group[WALK_BLOCK], section[WALK_BLOCK];
    do {
        for (int64_t start = 0; start < length; start += WALK_BLOCK) {
            size_t n = (size_t)(length - start < WALK_BLOCK ? length - start : WALK_BLOCK);
            int64_t index[ARRAY_MAX_DIMS] = {0};
            const unsigned char *at = outer + start * stride;
            unsigned char *total = out + (size_t)start * size;
            int64_t rows = 0;
            bool more;
            do {
                const void *row = at;
                if (!same || stride != (int64_t)size) {
                    convert_row(n, computed, buffer, (ptrdiff_t)size, j->source, at, stride);
                    row = buffer;
                }
                if (j->op == REDUCE_SUM_SQUARE || j->op == REDUCE_ABS_MAX) {
                    k->unary[j->row][j->op == REDUCE_ABS_MAX ? UNARY_ABS : UNARY_SQUARE](n, buffer, row);
                    row = buffer;
                }
                join(j, rows % GROUP == 0, n, group, row);
                rows++;
                more = advance(&j->gone, j->gone.ndim, index, &at);
                if (!more || rows % GROUP == 0) join(j, (rows - 1) / GROUP % GROUP == 0, n, section, group);
                if (!more || rows % (GROUP * GROUP) == 0) join(j, rows <= GROUP * GROUP, n, total, section);
            } while (more);
        }
        out += (size_t)length * size;
    } while (advance(&j->kept, last, kept_index, &outer));
}

static void result_shape(const struct array *a, unsigned axes, bool keepdims, int *ndim, int64_t *shape) {
    *ndim = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (!(axes & 1u << i))
            shape[(*ndim)++] = a->shape[i];
        else if (keepdims)
            shape[(*ndim)++] = 1;
    }
}

// The plain reductions, in the computing type.
static bool reduce_raw(struct array *out, const char *name, enum reduce_op op, const struct array *a, enum row_type row,
                       unsigned axes, bool keepdims, struct array_error *err) {
    int ndim;
    int64_t shape[ARRAY_MAX_DIMS];
    struct job j = {.op = op, .row = row, .source = a->dtype, .base = array_data(a)};
    axes_of(&j.kept, a, ~axes);
    axes_of(&j.gone, a, axes);
    result_shape(a, axes, keepdims, &ndim, shape);
    char text[192];
    if (j.gone.size == 0 && j.kept.size && (op == REDUCE_MAX || op == REDUCE_MIN || op == REDUCE_ABS_MAX))
        return array_fail(err, ARRAY_WRONG_USE, "%s: no elements to reduce in shape %s", name,
                          array_format_shape(text, a->ndim, a->shape));
    if (!array_create(out, a->storage->account, row_dtype[row], ndim, shape, err)) return false;
    if (j.gone.size == 0) return array_fill(out, operand_int(op == REDUCE_PROD), err);
    if (out->size == 0) return true;
    j.out = array_data(out);
    int last = j.kept.ndim - 1;
    if (last >= 0 && j.kept.shape[last] >= 8 && smallest_stride(&j.kept) < smallest_stride(&j.gone))
        reduce_across_memory(&j);
    else
        reduce_along_memory(&j);
    return true;
}

static enum row_type row_for_sum(enum dtype t) {
    return t == DTYPE_FLOAT64 ? ROW_F64 : dtype_is_float(t) ? ROW_F32 : ROW_I64;
}

// Turn `raw` (closed on return) into `out` of type t.
static bool finish(struct array *out, struct array *raw, enum dtype t, struct array_error *err) {
    bool ok = true;
    if (raw->dtype == t)
        *out = *raw;
    else {
        ok = array_cast(out, raw, t, err);
        array_close(raw);
    }
    return ok;
}

static int64_t count_of(const struct array *a, unsigned axes) {
    int64_t count = 1;
    for (int i = 0; i < a->ndim; i++)
        if (axes & 1u << i) count *= a->shape[i];
    return count;
}

static bool mean_raw(struct array *out, const struct array *a, enum row_type row, unsigned axes, bool keepdims,
                     struct array_error *err) {
    struct array sum = {0};
    if (!reduce_raw(&sum, "mean", REDUCE_SUM, a, row, axes, keepdims, err)) return false;
    bool ok = array_binary(out, BINARY_DIVIDE, operand_of(&sum), operand_float((double)count_of(a, axes)), err);
    array_close(&sum);
    return ok;
}

bool array_variance(struct array *out, const struct array *a, unsigned axes, bool keepdims, double ddof, bool root,
                    struct array_error *err) {
    enum dtype result = dtype_is_float(a->dtype) ? a->dtype : DTYPE_FLOAT64;
    enum row_type row = result == DTYPE_FLOAT64 ? ROW_F64 : ROW_F32;
    struct array mean = {0}, gap = {0}, sum = {0}, value = {0}, rooted = {0};
    bool ok = mean_raw(&mean, a, row, axes, true, err) &&
              array_binary(&gap, BINARY_SUBTRACT, operand_of(a), operand_of(&mean), err);
    array_close(&mean);
    ok = ok && reduce_raw(&sum, "var", REDUCE_SUM_SQUARE, &gap, row, axes, keepdims, err);
    array_close(&gap);
    double divisor = (double)count_of(a, axes) - ddof;
    ok = ok && array_binary(&value, BINARY_DIVIDE, operand_of(&sum), operand_float(divisor > 0 ? divisor : 0), err);
    array_close(&sum);
    if (ok && root) {
        ok = array_unary(&rooted, UNARY_SQRT, &value, err);
        array_close(&value);
        value = rooted;
    }
    return ok && finish(out, &value, result, err);
}

bool array_reduce(struct array *out, enum array_reduction op, const struct array *a, unsigned axes, bool keepdims,
                  struct array_error *err) {
    struct array raw = {0}, truth = {0};
    const bool is_float = dtype_is_float(a->dtype);
    const enum dtype sum_type = is_float ? a->dtype : DTYPE_INT64;
    switch (op) {
    case ARRAY_SUM:
    case ARRAY_PROD:
    case ARRAY_SUM_SQUARE: {
        enum reduce_op r = op == ARRAY_SUM ? REDUCE_SUM : op == ARRAY_PROD ? REDUCE_PROD : REDUCE_SUM_SQUARE;
        return reduce_raw(&raw, reduction_names[op], r, a, row_for_sum(a->dtype), axes, keepdims, err) &&
               finish(out, &raw, sum_type, err);
    }
    case ARRAY_MAX:
    case ARRAY_MIN:
    case ARRAY_ABS_MAX: {
        enum reduce_op r = op == ARRAY_MAX ? REDUCE_MAX : op == ARRAY_MIN ? REDUCE_MIN : REDUCE_ABS_MAX;
        enum row_type row = row_for_sum(a->dtype);
        if (row == ROW_I64 && a->dtype != DTYPE_INT64 && a->dtype != DTYPE_UINT32) row = ROW_I32;
        return reduce_raw(&raw, reduction_names[op], r, a, row, axes, keepdims, err) &&
               finish(out, &raw, a->dtype, err);
    }
    case ARRAY_MEAN: {
        enum dtype t = is_float ? a->dtype : DTYPE_FLOAT64;
        return mean_raw(&raw, a, t == DTYPE_FLOAT64 ? ROW_F64 : ROW_F32, axes, keepdims, err) &&
               finish(out, &raw, t, err);
    }
    case ARRAY_VAR:
    case ARRAY_STD: return array_variance(out, a, axes, keepdims, 0, op == ARRAY_STD, err);
    case ARRAY_ANY:
    case ARRAY_ALL:
    case ARRAY_COUNT_NONZERO: {
        if (!array_compare(&truth, COMPARE_NOT_EQUAL, operand_of(a), operand_int(0), err)) return false;
        bool ok;
        if (op == ARRAY_COUNT_NONZERO)
            ok = reduce_raw(out, "count_nonzero", REDUCE_SUM, &truth, ROW_I64, axes, keepdims, err);
        else if (count_of(a, axes) == 0)
            ok = reduce_raw(&raw, "all", op == ARRAY_ALL ? REDUCE_PROD : REDUCE_SUM, &truth, ROW_I32, axes, keepdims,
                            err) &&
                 finish(out, &raw, DTYPE_BOOL, err);
        else
            ok = reduce_raw(&raw, "any", op == ARRAY_ALL ? REDUCE_MIN : REDUCE_MAX, &truth, ROW_I32, axes, keepdims,
                            err) &&
                 finish(out, &raw, DTYPE_BOOL, err);
        array_close(&truth);
        return ok;
    }
    case ARRAY_REDUCTION_COUNT: break;
    }
    return array_fail(err, ARRAY_WRONG_USE, "reduce: no such reduction");
}

// ---- along one axis ----

static bool axis_last(struct array *out, const char *name, const struct array *a, int axis, struct array_error *err) {
    char text[192];
    int order[ARRAY_MAX_DIMS];
    if (axis < -a->ndim || axis >= a->ndim)
        return array_fail(err, ARRAY_WRONG_USE, "%s: axis %d is out of range for shape %s", name, axis,
                          array_format_shape(text, a->ndim, a->shape));
    if (axis < 0) axis += a->ndim;
    int n = 0;
    for (int i = 0; i < a->ndim; i++)
        if (i != axis) order[n++] = i;
    order[n] = axis;
    return array_view_transpose(out, a, order, err);
}

// Index of the first maximum or minimum of a contiguous row; the first NaN wins.
#define ARG_ROW(name, T)                                                                                               \
    static int64_t name(const struct kernels *k, enum row_type type, bool maximum, size_t n, const T *row) {           \
        T best;                                                                                                        \
        k->reduce[type][maximum ? REDUCE_MAX : REDUCE_MIN](n, &best, row);                                             \
        for (size_t i = 0; i < n; i++)                                                                                 \
            if (row[i] == best || (best != best && row[i] != row[i])) return (int64_t)i;                               \
        return 0;                                                                                                      \
    }
ARG_ROW(arg_f32, float)
ARG_ROW(arg_f64, double)
ARG_ROW(arg_i64, int64_t)

bool array_arg_reduce(struct array *out, bool maximum, const struct array *a, int axis, bool flat, bool keepdims,
                      struct array_error *err) {
    const char *name = maximum ? "argmax" : "argmin";
    struct array line = {0}, turned = {0}, rows = {0};
    const enum row_type row = row_for_sum(a->dtype);
    const int64_t all = -1;
    char text[192];
    bool ok = flat ? array_view_reshape(&line, a, 1, &all, NULL, err) : (array_share(&line, a), true);
    if (ok && line.ndim == 0) { // a single number
        array_close(&line);
        ok = array_view_expand(&line, a, 0, err);
        axis = 0;
    }
    ok = ok && axis_last(&turned, name, &line, flat ? 0 : axis, err);
    if (ok && turned.shape[turned.ndim - 1] == 0)
        ok = array_fail(err, ARRAY_WRONG_USE, "%s: no elements in shape %s", name,
                        array_format_shape(text, a->ndim, a->shape));
    ok = ok && (turned.dtype == row_dtype[row] ? array_contiguous(&rows, &turned, err)
                                               : array_cast(&rows, &turned, row_dtype[row], err));
    if (ok) {
        int64_t shape[ARRAY_MAX_DIMS];
        int ndim = 0;
        if (flat) {
            if (keepdims)
                for (; ndim < a->ndim; ndim++) shape[ndim] = 1;
        } else {
            result_shape(a, a->ndim ? 1u << (axis < 0 ? axis + a->ndim : axis) : 0, keepdims, &ndim, shape);
        }
        ok = array_create(out, a->storage->account, DTYPE_INT64, ndim, shape, err);
    }
    if (ok) {
        const size_t n = (size_t)rows.shape[rows.ndim - 1];
        int64_t *to = (int64_t *)array_data(out);
        const unsigned char *from = array_data(&rows);
        for (int64_t i = 0; i < out->size; i++, from += n * dtype_size(rows.dtype)) {
            if (row == ROW_F32)
                to[i] = arg_f32(kernels(), row, maximum, n, (const float *)from);
            else if (row == ROW_F64)
                to[i] = arg_f64(kernels(), row, maximum, n, (const double *)from);
            else
                to[i] = arg_i64(kernels(), row, maximum, n, (const int64_t *)from);
        }
    }
    array_close(&line);
    array_close(&turned);
    array_close(&rows);
    return ok;
}

bool array_cumulative(struct array *out, enum reduce_op op, const struct array *a, int axis, struct array_error *err) {
    enum dtype result = dtype_is_float(a->dtype) ? a->dtype : DTYPE_INT64;
    if ((op == REDUCE_MAX || op == REDUCE_MIN)) result = a->dtype;
    const enum row_type row = row_for_sum(a->dtype);
    struct array turned = {0}, rows = {0}, target = {0};
    if (op > REDUCE_MIN) return array_fail(err, ARRAY_WRONG_USE, "cumulative: sum, prod, max or min");
    bool ok = axis_last(&turned, "cumulative", a, axis, err) && array_cast(&rows, &turned, row_dtype[row], err) &&
              array_create(out, a->storage->account, result, a->ndim, a->shape, err);
    if (ok && a->size) {
        const size_t n = (size_t)rows.shape[rows.ndim - 1];
        unsigned char *at = array_data(&rows);
        for (int64_t i = 0; i < rows.size; i += (int64_t)n, at += n * dtype_size(rows.dtype))
            kernels()->scan[row][op](n, at, at);
        ok = axis_last(&target, "cumulative", out, axis, err) && array_assign(&target, &rows, err);
    }
    array_close(&turned);
    array_close(&rows);
    array_close(&target);
    if (!ok) array_close(out);
    return ok;
}
