// SPDX-License-Identifier: MIT
// matmul.c: batched contraction of strided arrays through gemm.
#include <string.h>

#include "array/array.h"
#include "array/convert.h"
#include "array/gemm.h"

// A matrix that gemm can read in place: one of its axes dense, the other at least as far apart as it is long.
static bool gemm_layout(const struct array *a, bool *trans, size_t *ld) {
    const int64_t size = (int64_t)dtype_size(a->dtype);
    const int64_t rows = a->shape[a->ndim - 2], columns = a->shape[a->ndim - 1];
    const int64_t row = a->strides[a->ndim - 2], column = a->strides[a->ndim - 1];
    if ((column == size || columns == 1) && (rows == 1 || (row % size == 0 && row >= columns * size))) {
        *trans = false;
        *ld = rows == 1 ? (size_t)columns : (size_t)(row / size);
        return true;
    }
    if ((row == size || rows == 1) && (columns == 1 || (column % size == 0 && column >= rows * size))) {
        *trans = true;
        *ld = columns == 1 ? (size_t)rows : (size_t)(column / size);
        return true;
    }
    return false;
}

// a as an array of type `computed` whose matrices gemm can read.
static bool prepare(struct array *out, const struct array *a, enum dtype computed, bool *trans, size_t *ld,
                    struct array_error *err) {
    bool ready = a->dtype == computed || (a->dtype == DTYPE_TFLOAT32 && computed == DTYPE_FLOAT32);
    if (ready && gemm_layout(a, trans, ld)) {
        array_share(out, a);
        return true;
    }
    if (!array_cast(out, a, computed, err)) return false;
    *trans = false;
    *ld = (size_t)a->shape[a->ndim - 1];
    return true;
}

static void multiply_integers(size_t m, size_t n, size_t k, const int64_t *a, const int64_t *b, int64_t *c,
                              int64_t *row) {
    const struct kernels *kn = kernels();
    memset(c, 0, m * n * sizeof *c);
    for (size_t i = 0; i < m; i++)
        for (size_t p = 0; p < k; p++) {
            kn->binary[ROW_I64][BINARY_MULTIPLY](n, row, b + p * n, 1, a + i * k + p, 0);
            kn->binary[ROW_I64][BINARY_ADD](n, c + i * n, c + i * n, 1, row, 1);
        }
}

static bool product(struct array *out, const struct array *a, const struct array *b, enum dtype computed,
                    struct array_error *err) {
    struct array x = {0}, y = {0}, wide_x = {0}, wide_y = {0}, scratch = {0};
    bool trans_x = false, trans_y = false, ok = true;
    size_t ld_x = 0, ld_y = 0;
    const size_t m = (size_t)a->shape[a->ndim - 2], k = (size_t)a->shape[a->ndim - 1],
                 n = (size_t)b->shape[b->ndim - 1];
    int64_t shape[ARRAY_MAX_DIMS], batch[ARRAY_MAX_DIMS];
    const int ndim = out->ndim, lead = ndim - 2;
    memcpy(shape, out->shape, sizeof shape);
    if (out->size == 0) return true;
    if (k == 0) return array_fill(out, operand_int(0), err);
    ok = prepare(&x, a, computed, &trans_x, &ld_x, err) && prepare(&y, b, computed, &trans_y, &ld_y, err);
    memcpy(batch, shape, sizeof batch);
    batch[lead] = (int64_t)m;
    batch[lead + 1] = (int64_t)k;
    ok = ok && array_view_broadcast(&wide_x, &x, ndim, batch, err);
    batch[lead] = (int64_t)k;
    batch[lead + 1] = (int64_t)n;
    ok = ok && array_view_broadcast(&wide_y, &y, ndim, batch, err);
    const int64_t row_length = (int64_t)n;
    if (ok && computed == DTYPE_INT64) {
        ok = array_create(&scratch, out->storage->account, DTYPE_INT64, 1, &row_length, err);
        // the integer loop wants dense matrices
        for (int side = 0; ok && side < 2; side++) {
            struct array *w = side ? &wide_y : &wide_x, dense = {0};
            if (!array_is_contiguous(w)) {
                ok = array_copy(&dense, w, err);
                array_close(w);
                *w = dense;
            }
        }
    }
    if (ok) {
        int64_t batches = out->size / (int64_t)(m * n), index[ARRAY_MAX_DIMS] = {0};
        const unsigned char *px = array_data(&wide_x), *py = array_data(&wide_y);
        unsigned char *to = array_data(out);
        size_t rows = m;
        // One right-hand matrix for a dense stack of left-hand ones is a single taller product.
        bool tall = lead > 0 && !trans_x && computed != DTYPE_INT64;
        for (int i = 0; i < lead && tall; i++) tall = shape[i] == 1 || wide_y.strides[i] == 0;
        int64_t expected = (int64_t)(m * ld_x * dtype_size(computed));
        for (int i = lead - 1; i >= 0 && tall; i--) {
            tall = shape[i] == 1 || wide_x.strides[i] == expected;
            expected *= shape[i];
        }
        if (tall) {
            rows *= (size_t)batches;
            batches = 1;
        }
        for (int64_t i = 0; i < batches && ok; i++) {
            if (computed == DTYPE_FLOAT32)
                ok = gemm_f32(trans_x, trans_y, rows, n, k, 1, (const float *)px, ld_x, (const float *)py, ld_y, 0,
                              (float *)to, n);
            else if (computed == DTYPE_FLOAT64)
                ok = gemm_f64(trans_x, trans_y, rows, n, k, 1, (const double *)px, ld_x, (const double *)py, ld_y, 0,
                              (double *)to, n);
            else
                multiply_integers(m, n, k, (const int64_t *)px, (const int64_t *)py, (int64_t *)to,
                                  (int64_t *)array_data(&scratch));
            if (!ok) array_fail(err, ARRAY_NO_MEMORY, "matmul: out of memory");
            to += m * n * dtype_size(computed);
            for (int axis = lead - 1; axis >= 0; axis--) {
                px += wide_x.strides[axis];
                py += wide_y.strides[axis];
                if (++index[axis] < shape[axis]) break;
                px -= wide_x.strides[axis] * shape[axis];
                py -= wide_y.strides[axis] * shape[axis];
                index[axis] = 0;
            }
        }
    }
    array_close(&x);
    array_close(&y);
    array_close(&wide_x);
    array_close(&wide_y);
    array_close(&scratch);
    return ok;
}

bool array_matmul(struct array *out, const struct array *a, const struct array *b, struct array_error *err) {
    char sa[192], sb[192];
    struct array x = {0}, y = {0}, raw = {0}, cut = {0};
    array_format_shape(sa, a->ndim, a->shape);
    array_format_shape(sb, b->ndim, b->shape);
    if (a->ndim == 0 || b->ndim == 0)
        return array_fail(err, ARRAY_WRONG_USE, "matmul: shapes %s and %s: a scalar cannot be contracted", sa, sb);
    bool ok = a->ndim == 1 ? array_view_expand(&x, a, 0, err) : (array_share(&x, a), true);
    ok = ok && (b->ndim == 1 ? array_view_expand(&y, b, 1, err) : (array_share(&y, b), true));
    int64_t shape[ARRAY_MAX_DIMS];
    int ndim = x.ndim > y.ndim ? x.ndim : y.ndim;
    if (ok && x.shape[x.ndim - 1] != y.shape[y.ndim - 2])
        ok = array_fail(err, ARRAY_WRONG_USE, "matmul: shapes %s and %s: contraction lengths %lld and %lld differ", sa,
                        sb, (long long)x.shape[x.ndim - 1], (long long)y.shape[y.ndim - 2]);
    for (int i = 0; ok && i < ndim - 2; i++) {
        int jx = i - (ndim - x.ndim), jy = i - (ndim - y.ndim);
        int64_t lx = jx < 0 ? 1 : x.shape[jx], ly = jy < 0 ? 1 : y.shape[jy];
        shape[i] = lx == 1 ? ly : lx;
        if (lx != 1 && ly != 1 && lx != ly)
            ok = array_fail(err, ARRAY_WRONG_USE, "matmul: shapes %s and %s: batch axes do not broadcast", sa, sb);
    }
    const enum dtype result = dtype_promote(a->dtype, b->dtype);
    const enum dtype computed = result == DTYPE_FLOAT64  ? DTYPE_FLOAT64
                                : dtype_is_float(result) ? DTYPE_FLOAT32
                                                         : DTYPE_INT64;
    if (ok) {
        shape[ndim - 2] = x.shape[x.ndim - 2];
        shape[ndim - 1] = y.shape[y.ndim - 1];
        ok =
            array_create(&raw, a->storage->account, computed, ndim, shape, err) && product(&raw, &x, &y, computed, err);
    }
    array_close(&x);
    array_close(&y);
    if (ok && b->ndim == 1) {
        ok = array_view_squeeze(&cut, &raw, -1, err);
        array_close(&raw);
        raw = cut;
    }
    if (ok && a->ndim == 1) {
        ok = array_view_squeeze(&cut, &raw, b->ndim == 1 ? -1 : -2, err);
        array_close(&raw);
        raw = cut;
    }
    if (ok && raw.dtype != result)
        ok = array_cast(out, &raw, result, err);
    else if (ok)
        array_share(out, &raw);
    array_close(&raw);
    return ok;
}
