// SPDX-License-Identifier: MIT
// array.c: storage, views, element access, copies. Elementwise operations are in elementwise.c, reductions in reduce.c.
#include "array/array.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array/convert.h"

bool array_fail(struct array_error *err, enum array_status status, const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return false;
}

char *array_format_shape(char *buffer, int ndim, const int64_t *shape) {
    char *p = buffer;
    *p++ = '[';
    for (int i = 0; i < ndim; i++) p += sprintf(p, "%s%" PRId64, i ? "," : "", shape[i]);
    strcpy(p, "]");
    return buffer;
}

// ---- storage ----

static struct storage *storage_create(struct account *account, size_t bytes, struct array_error *err) {
    bool refused;
    unsigned char *data = account_take(account, bytes, &refused);
    if (refused) {
        array_fail(err, ARRAY_LIMIT, "array of %zu bytes: over the limit of %zu bytes (%zu in use)", bytes,
                   account->limit, account->used);
        return NULL;
    }
    struct storage *s = data ? malloc(sizeof *s) : NULL;
    if (!s) {
        account_give(account, data, bytes);
        array_fail(err, ARRAY_NO_MEMORY, "array of %zu bytes: out of memory", bytes);
        return NULL;
    }
    s->refs = 1;
    s->bytes = bytes;
    s->account = account;
    s->data = data;
    return s;
}

bool array_create(struct array *out, struct account *account, enum dtype dtype, int ndim, const int64_t *shape,
                  struct array_error *err) {
    char text[192];
    if (ndim < 0 || ndim > ARRAY_MAX_DIMS)
        return array_fail(err, ARRAY_WRONG_USE, "an array has 0 to %d dimensions, not %d", ARRAY_MAX_DIMS, ndim);
    int64_t size = 1, bytes;
    bool empty = false, over = false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0)
            return array_fail(err, ARRAY_WRONG_USE, "shape %s has a negative length",
                              array_format_shape(text, ndim, shape));
        if (shape[i] == 0)
            empty = true;
        else
            over |= __builtin_mul_overflow(size, shape[i], &size);
    }
    over |= __builtin_mul_overflow(size, (int64_t)dtype_size(dtype), &bytes);
    if (over) return array_fail(err, ARRAY_LIMIT, "shape %s is too large", array_format_shape(text, ndim, shape));
    if (empty) size = bytes = 0;
    struct storage *storage = storage_create(account, (size_t)bytes, err);
    if (!storage) return false;
    memset(out, 0, sizeof *out);
    out->storage = storage;
    out->dtype = dtype;
    out->ndim = ndim;
    out->size = size;
    if (ndim) memcpy(out->shape, shape, (size_t)ndim * sizeof *shape);
    array_strides_of(dtype, ndim, shape, out->strides);
    return true;
}

bool array_zeros(struct array *out, struct account *account, enum dtype dtype, int ndim, const int64_t *shape,
                 struct array_error *err) {
    if (!array_create(out, account, dtype, ndim, shape, err)) return false;
    memset(out->storage->data, 0, out->storage->bytes);
    return true;
}

void array_close(struct array *a) {
    struct storage *s = a->storage;
    if (!s) return;
    a->storage = NULL;
    if (--s->refs) return;
    account_give(s->account, s->data, s->bytes);
    free(s);
}

void array_share(struct array *out, const struct array *a) {
    *out = *a;
    out->storage->refs++;
}

void array_strides_of(enum dtype dtype, int ndim, const int64_t *shape, int64_t *strides) {
    int64_t stride = (int64_t)dtype_size(dtype);
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape[i] ? shape[i] : 1;
    }
}

bool array_is_contiguous(const struct array *a) {
    int64_t stride = (int64_t)dtype_size(a->dtype);
    if (a->size == 0) return true;
    for (int i = a->ndim - 1; i >= 0; i--) {
        if (a->shape[i] != 1 && a->strides[i] != stride) return false;
        stride *= a->shape[i];
    }
    return true;
}

unsigned char *array_element(const struct array *a, int64_t linear) {
    unsigned char *p = array_data(a);
    for (int i = a->ndim - 1; i >= 0; i--) {
        p += linear % a->shape[i] * a->strides[i];
        linear /= a->shape[i];
    }
    return p;
}

// ---- copies ----

bool array_fill(struct array *a, struct operand value, struct array_error *err) {
    uint64_t cell = 0;
    static const int64_t none[ARRAY_MAX_DIMS];
    (void)err;
    if (value.array) return array_assign(a, value.array, err);
    if (value.kind == OPERAND_FLOAT)
        dtype_store(a->dtype, &cell, value.f);
    else
        dtype_store_int(a->dtype, &cell, value.i);
    convert_nd(a->ndim, a->shape, a->dtype, array_data(a), a->strides, a->dtype, &cell, none);
    return true;
}

// Whether two views may touch a common byte (their extents overlap).
static bool overlap(const struct array *a, const struct array *b) {
    if (a->storage != b->storage) return false;
    int64_t low[2], high[2];
    const struct array *both[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        low[k] = high[k] = both[k]->offset;
        for (int i = 0; i < both[k]->ndim; i++) {
            int64_t span = (both[k]->shape[i] - 1) * both[k]->strides[i];
            if (span < 0)
                low[k] += span;
            else
                high[k] += span;
        }
        high[k] += (int64_t)dtype_size(both[k]->dtype);
    }
    return low[0] < high[1] && low[1] < high[0];
}

bool array_assign(struct array *dst, const struct array *src, struct array_error *err) {
    struct array wide = {0}, copy = {0};
    if (!array_view_broadcast(&wide, src, dst->ndim, dst->shape, err)) {
        char a[192], b[192];
        return array_fail(err, ARRAY_WRONG_USE, "assign: shape %s does not broadcast to %s",
                          array_format_shape(a, src->ndim, src->shape), array_format_shape(b, dst->ndim, dst->shape));
    }
    if (overlap(dst, src)) {
        if (!array_copy(&copy, &wide, err)) {
            array_close(&wide);
            return false;
        }
        array_close(&wide);
        wide = copy;
    }
    if (dst->size)
        convert_nd(dst->ndim, dst->shape, dst->dtype, array_data(dst), dst->strides, wide.dtype, array_data(&wide),
                   wide.strides);
    array_close(&wide);
    return true;
}

bool array_cast(struct array *out, const struct array *a, enum dtype dtype, struct array_error *err) {
    if (!array_create(out, a->storage->account, dtype, a->ndim, a->shape, err)) return false;
    if (a->size)
        convert_nd(a->ndim, a->shape, dtype, array_data(out), out->strides, a->dtype, array_data(a), a->strides);
    return true;
}

bool array_copy(struct array *out, const struct array *a, struct array_error *err) {
    return array_cast(out, a, a->dtype, err);
}

bool array_contiguous(struct array *out, const struct array *a, struct array_error *err) {
    if (!array_is_contiguous(a)) return array_copy(out, a, err);
    array_share(out, a);
    return true;
}

// ---- views ----

static bool fix_axis(const char *what, const struct array *a, int *axis, int limit, struct array_error *err) {
    char text[192];
    if (*axis < -limit || *axis >= limit)
        return array_fail(err, ARRAY_WRONG_USE, "%s: axis %d is out of range for shape %s", what, *axis,
                          array_format_shape(text, a->ndim, a->shape));
    if (*axis < 0) *axis += limit;
    return true;
}

// Strides of `shape` over the elements of a without moving them, if there are such.
static bool reshape_strides(const struct array *a, int ndim, const int64_t *shape, int64_t *strides) {
    int64_t old_shape[ARRAY_MAX_DIMS], old_strides[ARRAY_MAX_DIMS];
    int old = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] == 1) continue;
        old_shape[old] = a->shape[i];
        old_strides[old++] = a->strides[i];
    }
    int oi = 0, ni = 0;
    while (oi < old && ni < ndim) {
        int oj = oi + 1, nj = ni + 1;
        int64_t op = old_shape[oi], np = shape[ni];
        while (op != np) {
            if (op < np)
                op *= old_shape[oj++];
            else
                np *= shape[nj++];
        }
        for (int k = oi; k < oj - 1; k++)
            if (old_strides[k] != old_shape[k + 1] * old_strides[k + 1]) return false;
        strides[nj - 1] = old_strides[oj - 1];
        for (int k = nj - 1; k > ni; k--) strides[k - 1] = strides[k] * shape[k];
        oi = oj;
        ni = nj;
    }
    for (; ni < ndim; ni++) strides[ni] = (int64_t)dtype_size(a->dtype); // only axes of length 1 are left
    return true;
}

bool array_view_reshape(struct array *out, const struct array *a, int ndim, const int64_t *shape, bool *copied,
                        struct array_error *err) {
    int64_t full[ARRAY_MAX_DIMS], known = 1;
    int free_axis = -1;
    char from[192], to[192];
    bool wrong = ndim < 0 || ndim > ARRAY_MAX_DIMS;
    if (copied) *copied = false;
    for (int i = 0; i < ndim && !wrong; i++) {
        full[i] = shape[i];
        if (shape[i] >= 0) {
            wrong = __builtin_mul_overflow(known, shape[i], &known);
        } else {
            wrong = shape[i] != -1 || free_axis >= 0;
            free_axis = i;
        }
    }
    if (!wrong && free_axis >= 0) {
        wrong = known == 0 || a->size % known != 0;
        full[free_axis] = wrong ? 0 : a->size / known;
    } else if (!wrong) {
        wrong = known != a->size;
    }
    if (wrong) {
        if (ndim < 0 || ndim > ARRAY_MAX_DIMS)
            return array_fail(err, ARRAY_WRONG_USE, "reshape: an array has 0 to %d dimensions, not %d", ARRAY_MAX_DIMS,
                              ndim);
        return array_fail(err, ARRAY_WRONG_USE, "reshape: shape %s cannot become %s",
                          array_format_shape(from, a->ndim, a->shape), array_format_shape(to, ndim, shape));
    }
    int64_t strides[ARRAY_MAX_DIMS];
    if (a->size == 0) {
        array_strides_of(a->dtype, ndim, full, strides);
    } else if (!reshape_strides(a, ndim, full, strides)) {
        struct array dense = {0};
        if (!array_copy(&dense, a, err)) return false;
        *out = dense;
        array_strides_of(a->dtype, ndim, full, strides);
        if (copied) *copied = true;
        a = NULL;
    }
    if (a) array_share(out, a);
    out->ndim = ndim;
    memcpy(out->shape, full, (size_t)ndim * sizeof *full);
    memcpy(out->strides, strides, (size_t)ndim * sizeof *strides);
    return true;
}

bool array_view_transpose(struct array *out, const struct array *a, const int *axes, struct array_error *err) {
    unsigned seen = 0;
    int order[ARRAY_MAX_DIMS];
    for (int i = 0; i < a->ndim; i++) {
        order[i] = axes ? axes[i] : a->ndim - 1 - i;
        if (!fix_axis("transpose", a, &order[i], a->ndim, err)) return false;
        if (seen & 1u << order[i])
            return array_fail(err, ARRAY_WRONG_USE, "transpose: axis %d is given twice", order[i]);
        seen |= 1u << order[i];
    }
    array_share(out, a);
    for (int i = 0; i < a->ndim; i++) {
        out->shape[i] = a->shape[order[i]];
        out->strides[i] = a->strides[order[i]];
    }
    return true;
}

bool array_view_slice(struct array *out, const struct array *a, int axis, int64_t start, int64_t count, int64_t step,
                      struct array_error *err) {
    char text[192];
    if (!fix_axis("slice", a, &axis, a->ndim, err)) return false;
    int64_t n = a->shape[axis], span = 0, last = start;
    bool over =
        count > 0 && (__builtin_mul_overflow(count - 1, step, &span) || __builtin_add_overflow(start, span, &last));
    if (count < 0 || step == 0 || over || (count > 0 && (start < 0 || start >= n || last < 0 || last >= n)))
        return array_fail(err, ARRAY_WRONG_USE,
                          "slice: %" PRId64 " elements from %" PRId64 " by %" PRId64 " leave axis %d of shape %s",
                          count, start, step, axis, array_format_shape(text, a->ndim, a->shape));
    array_share(out, a);
    if (count > 0) out->offset += start * a->strides[axis];
    out->shape[axis] = count;
    if (count > 1) out->strides[axis] = a->strides[axis] * step;
    out->size = count;
    for (int i = 0; i < a->ndim; i++)
        if (i != axis) out->size *= a->shape[i];
    return true;
}

static void drop_axis(struct array *a, int axis) {
    a->ndim--;
    for (int i = axis; i < a->ndim; i++) {
        a->shape[i] = a->shape[i + 1];
        a->strides[i] = a->strides[i + 1];
    }
}

bool array_view_select(struct array *out, const struct array *a, int axis, int64_t index, struct array_error *err) {
    char text[192];
    if (!fix_axis("select", a, &axis, a->ndim, err)) return false;
    int64_t n = a->shape[axis];
    if (index < -n || index >= n)
        return array_fail(err, ARRAY_WRONG_USE, "select: index %" PRId64 " is out of range for axis %d of shape %s",
                          index, axis, array_format_shape(text, a->ndim, a->shape));
    if (index < 0) index += n;
    if (!array_view_slice(out, a, axis, index, 1, 1, err)) return false;
    drop_axis(out, axis);
    return true;
}

bool array_view_expand(struct array *out, const struct array *a, int axis, struct array_error *err) {
    if (a->ndim == ARRAY_MAX_DIMS)
        return array_fail(err, ARRAY_WRONG_USE, "expand: an array has at most %d dimensions", ARRAY_MAX_DIMS);
    if (!fix_axis("expand", a, &axis, a->ndim + 1, err)) return false;
    array_share(out, a);
    for (int i = a->ndim; i > axis; i--) {
        out->shape[i] = out->shape[i - 1];
        out->strides[i] = out->strides[i - 1];
    }
    out->shape[axis] = 1;
    out->strides[axis] = (int64_t)dtype_size(a->dtype);
    out->ndim++;
    return true;
}

bool array_view_squeeze(struct array *out, const struct array *a, int axis, struct array_error *err) {
    char text[192];
    if (!fix_axis("squeeze", a, &axis, a->ndim, err)) return false;
    if (a->shape[axis] != 1)
        return array_fail(err, ARRAY_WRONG_USE, "squeeze: axis %d of shape %s is not of length 1", axis,
                          array_format_shape(text, a->ndim, a->shape));
    array_share(out, a);
    drop_axis(out, axis);
    return true;
}

bool array_view_broadcast(struct array *out, const struct array *a, int ndim, const int64_t *shape,
                          struct array_error *err) {
    char from[192], to[192];
    bool wrong = ndim < a->ndim || ndim > ARRAY_MAX_DIMS;
    int64_t size = 1;
    for (int i = 0; i < ndim && !wrong; i++) {
        int j = i - (ndim - a->ndim);
        wrong = shape[i] < 0 || (j >= 0 && a->shape[j] != shape[i] && a->shape[j] != 1) ||
                __builtin_mul_overflow(size, shape[i], &size);
    }
    if (wrong)
        return array_fail(err, ARRAY_WRONG_USE, "broadcast_to: shape %s does not broadcast to %s",
                          array_format_shape(from, a->ndim, a->shape),
                          ndim > ARRAY_MAX_DIMS ? "more than 8 dimensions" : array_format_shape(to, ndim, shape));
    array_share(out, a);
    out->ndim = ndim;
    out->size = size;
    for (int i = 0; i < ndim; i++) {
        int j = i - (ndim - a->ndim);
        out->shape[i] = shape[i];
        out->strides[i] = j < 0 || (a->shape[j] == 1 && shape[i] != 1) ? 0 : a->strides[j];
    }
    return true;
}

bool array_view_bits(struct array *out, const struct array *a, enum dtype dtype, struct array_error *err) {
    if (dtype_size(dtype) != dtype_size(a->dtype))
        return array_fail(err, ARRAY_WRONG_USE, "view: %s and %s differ in size", dtype_name(a->dtype),
                          dtype_name(dtype));
    array_share(out, a);
    out->dtype = dtype;
    return true;
}

bool array_concat(struct array *out, const struct array *const *list, int count, int axis, struct array_error *err) {
    char x[192], y[192];
    if (count < 1) return array_fail(err, ARRAY_WRONG_USE, "concat: no arrays");
    const struct array *first = list[0];
    if (!fix_axis("concat", first, &axis, first->ndim, err)) return false;
    enum dtype dtype = first->dtype;
    int64_t shape[ARRAY_MAX_DIMS];
    memcpy(shape, first->shape, sizeof shape);
    for (int k = 1; k < count; k++) {
        bool same = list[k]->ndim == first->ndim;
        for (int i = 0; same && i < first->ndim; i++) same = i == axis || list[k]->shape[i] == first->shape[i];
        if (!same)
            return array_fail(err, ARRAY_WRONG_USE, "concat: shapes %s and %s differ off axis %d",
                              array_format_shape(x, first->ndim, first->shape),
                              array_format_shape(y, list[k]->ndim, list[k]->shape), axis);
        dtype = dtype_promote(dtype, list[k]->dtype);
        shape[axis] += list[k]->shape[axis];
    }
    if (!array_create(out, first->storage->account, dtype, first->ndim, shape, err)) return false;
    unsigned char *at = array_data(out);
    for (int k = 0; k < count; k++) {
        if (list[k]->size)
            convert_nd(list[k]->ndim, list[k]->shape, dtype, at, out->strides, list[k]->dtype, array_data(list[k]),
                       list[k]->strides);
        at += list[k]->shape[axis] * out->strides[axis];
    }
    return true;
}

// ---- identity ----

static uint64_t mix(uint64_t h) {
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

uint64_t array_hash(const struct array *a) {
    enum { BLOCK = 4096 };
    uint64_t h = mix((uint64_t)a->dtype + 1);
    for (int i = 0; i < a->ndim; i++) h = mix(h ^ (uint64_t)a->shape[i]) + (uint64_t)i;
    unsigned char buffer[BLOCK];
    const size_t size = dtype_size(a->dtype);
    const bool direct = array_is_contiguous(a);
    const int64_t per_block = (int64_t)(BLOCK / size);
    uint64_t lane[4] = {h, h ^ 0x9e3779b97f4a7c15u, h ^ 0xbf58476d1ce4e5b9u, h ^ 0x94d049bb133111ebu};
    for (int64_t start = 0; start < a->size; start += per_block) {
        int64_t count = a->size - start < per_block ? a->size - start : per_block;
        const unsigned char *p = buffer;
        size_t bytes = (size_t)count * size;
        if (direct)
            p = array_data(a) + (size_t)start * size;
        else
            for (int64_t i = 0; i < count; i++) memcpy(buffer + (size_t)i * size, array_element(a, start + i), size);
        size_t i = 0;
        for (; i + 32 <= bytes; i += 32)
            for (int j = 0; j < 4; j++) {
                uint64_t w;
                memcpy(&w, p + i + 8 * j, 8);
                lane[j] = (lane[j] ^ w) * 0x9fb21c651e98df25u;
                lane[j] ^= lane[j] >> 29;
            }
        for (; i < bytes; i++) lane[0] = (lane[0] ^ p[i]) * 0x100000001b3u;
    }
    return mix(mix(mix(lane[0]) + lane[1]) + mix(lane[2]) + lane[3]);
}

bool array_bits_equal(const struct array *a, const struct array *b) {
    if (a->dtype != b->dtype || a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->shape[i] != b->shape[i]) return false;
    if (a->size == 0) return true;
    size_t size = dtype_size(a->dtype);
    if (array_is_contiguous(a) && array_is_contiguous(b))
        return memcmp(array_data(a), array_data(b), (size_t)a->size * size) == 0;
    for (int64_t i = 0; i < a->size; i++)
        if (memcmp(array_element(a, i), array_element(b, i), size) != 0) return false;
    return true;
}
