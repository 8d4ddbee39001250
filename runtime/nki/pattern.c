// SPDX-License-Identifier: MIT
// pattern.c: explicit access patterns (.ap), run-time indices, and what bytes of a storage a view covers.
#include <inttypes.h>
#include <string.h>

#include "nki/error.h"
#include "nki/view.h"

static bool on_chip(const struct nki_view *v) { return nki_on_chip(v->st->buffer); }

bool nki_view_pattern(struct nki_view *out, const struct nki_view *v, const int64_t (*pattern)[2], int count,
                      bool has_offset, int64_t offset, int dtype, struct nki_error *err) {
    if (count < 1 || count > NKI_MAX_DIMS) {
        nki_fail(err, "index-type", "an access pattern has 1 to %d [stride, count] pairs", NKI_MAX_DIMS);
        nki_error_view(err, "tensor", v);
        nki_error_got(err, "%d pairs", count);
        return false;
    }
    double reach = 0; // beyond this, 64-bit arithmetic could overflow
    struct nki_view r;
    memset(&r, 0, sizeof r);
    r.st = v->st;
    r.dtype = dtype;
    int64_t row = nki_view_row(&r);
    int64_t old = (int64_t)nki_dtype_size(v->dtype), now = (int64_t)nki_dtype_size(dtype);
    // The view's own offset, in the new type's elements, and what the caller adds.
    bool far = has_offset && (offset > (int64_t)1e15 || offset < -(int64_t)1e15);
    int64_t flat = nki_view_flat_offset(v) * old / now + (has_offset && !far ? offset : 0);
    int first = 0;
    for (int d = 0; d < count; d++) {
        if (pattern[d][1] < 1) {
            nki_fail(err, "index-type", "an access pattern counts at least 1 element in each dimension");
            nki_error_view(err, "tensor", v);
            nki_error_want(err, "count >= 1");
            nki_error_got(err, "count %" PRId64 " in dimension %d", pattern[d][1], d);
            return false;
        }
        r.shape[d] = pattern[d][1];
        r.stride[d] = pattern[d][0];
        double step = (double)pattern[d][0] * (double)pattern[d][1];
        reach += step < 0 ? -step : step;
        if (pattern[d][0] == 0 && pattern[d][1] > 1) r.repeats = true;
    }
    r.ndim = (uint8_t)count;
    if (!nki_view_countable(&r, err)) return false;
    if (reach > 1e15 || far) {
        nki_fail(err, "ap-out-of-range", "the access pattern reaches outside the tensor's storage");
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "elements 0..%" PRId64, row - 1);
        nki_error_limit(err, row);
        return false;
    }
    if (on_chip(v)) {
        if (pattern[0][0] != row && pattern[0][1] > 1) {
            nki_fail(
                err, "ap-partition-step",
                "the first stride of an access pattern on chip is the partition step and must be the tensor's %" PRId64
                " elements per partition, got %" PRId64,
                row, pattern[0][0]);
            nki_error_view(err, "tensor", v);
            nki_error_want(err, "%" PRId64, row);
            nki_error_got(err, "%" PRId64, pattern[0][0]);
            nki_error_limit(err, row);
            return false;
        }
        r.part = (int32_t)(flat / row);
        r.offset = flat % row;
        r.stride[0] = 1;
        first = 1;
        if (count == 1) { // a tensor on chip keeps a free dimension
            r.shape[1] = 1;
            r.stride[1] = 1;
            r.ndim = 2;
        }
    } else {
        r.offset = flat;
    }
    int64_t low = r.offset, high = r.offset;
    for (int d = first; d < count; d++) {
        if (pattern[d][0] < 0)
            low += pattern[d][0] * (pattern[d][1] - 1);
        else
            high += pattern[d][0] * (pattern[d][1] - 1);
    }
    int64_t parts = on_chip(v) ? v->st->partitions : 0;
    if (flat < 0 || low < 0 || high >= row || (on_chip(v) && r.part + r.shape[0] > parts)) {
        nki_fail(err, "ap-out-of-range", "the access pattern reaches outside the tensor's storage");
        nki_error_view(err, "tensor", v);
        if (on_chip(v)) {
            nki_error_want(err, "elements 0..%" PRId64 " of partitions 0..%" PRId64, row - 1, parts - 1);
            nki_error_got(err, "elements %" PRId64 "..%" PRId64 " of partitions %d..%" PRId64, low, high, r.part,
                          r.part + r.shape[0] - 1);
        } else {
            nki_error_want(err, "elements 0..%" PRId64, row - 1);
            nki_error_got(err, "elements %" PRId64 "..%" PRId64, low, high);
        }
        nki_error_limit(err, row);
        return false;
    }
    *out = r;
    return true;
}

static bool fail_index(const struct nki_view *base, const char *name, const struct nki_view *index, const char *want,
                       struct nki_error *err) {
    nki_fail(err, "indirect-index", "%s must be %s", name, want);
    nki_error_view(err, "tensor", base);
    if (index) nki_error_view(err, name, index);
    nki_error_want(err, "%s", want);
    return false;
}

bool nki_view_indirect(struct nki_view *out, const struct nki_view *base, bool vector, int dim,
                       const struct nki_view *index, int64_t value, struct nki_error *err) {
    const char *name = vector ? "vector_offset" : "scalar_offset";
    if (base->indirect) {
        nki_fail(err, "indirect-view", "a tensor can have one run-time index only");
        nki_error_view(err, "tensor", base);
        nki_error_want(err, "a tensor without a run-time index");
        return false;
    }
    if (dim < 0 || dim >= base->ndim || (vector && dim != 0) || (dim == 0 && on_chip(base))) {
        nki_fail(err, "indirect-index",
                 vector ? "vector_offset works on dimension 0 of a tensor in HBM"
                        : "scalar_offset cannot select dimension %d here",
                 dim);
        nki_error_view(err, "tensor", base);
        nki_error_want(err,
                       vector ? "indirect_dim 0 of a tensor in HBM" : "a dimension of the tensor, not the partitions");
        nki_error_got(err, "%d", dim);
        return false;
    }
    if (index) {
        bool is_int = nki_dtypes[index->dtype].is_int;
        if (index->st->buffer != NKI_SBUF || !is_int)
            return fail_index(base, name, index, "an integer tensor in SBUF", err);
        if (!vector && nki_view_size(index) != 1) return fail_index(base, name, index, "a tensor of one element", err);
        if (vector && (index->ndim != 2 || index->shape[0] * index->shape[1] < out->shape[0]))
            return fail_index(base, name, index, "a 2-D tensor with an index per row", err);
    }
    out->indirect = vector ? NKI_VECTOR_OFFSET : NKI_SCALAR_OFFSET;
    out->indirect_dim = 0;
    out->indirect_step = base->stride[dim];
    out->indirect_size = base->shape[dim];
    if (vector) out->stride[0] = base->stride[0];
    out->index_value = value;
    if (index) {
        out->index_st = index->st;
        out->index_dtype = index->dtype;
        out->index_part = index->part;
        out->index_offset = index->offset;
        out->index_count = index->shape[0];
        out->index_cols = index->ndim > 1 ? index->shape[1] : 1;
        out->index_col_stride = index->ndim > 1 ? index->stride[1] : 1;
    }
    return true;
}

bool nki_view_inside(const struct nki_view *v) {
    double low = (double)v->offset, high = low;
    for (int d = on_chip(v) ? 1 : 0; d < v->ndim; d++) {
        double reach = (double)v->stride[d] * (double)(v->shape[d] - 1);
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    if (on_chip(v) && (v->part < 0 || v->part + (v->stride[0] ? v->shape[0] : 1) > v->st->partitions)) return false;
    return low >= 0 && high < (double)nki_view_row(v);
}

bool nki_view_countable(const struct nki_view *v, struct nki_error *err) {
    double n = 1;
    for (int d = 0; d < v->ndim; d++) n *= (double)v->shape[d];
    if (n <= 1e13) return true;
    nki_fail(err, "value-type", "a view of %.3g elements", n);
    nki_error_want(err, "a view that some memory could hold");
    return false;
}

bool nki_view_resolve(struct nki_view *out, const struct nki_view *v, int64_t value, struct nki_error *err) {
    *out = *v;
    out->indirect = NKI_DIRECT;
    out->index_st = NULL;
    if (value >= 0 && value <= nki_view_row(v)) {
        out->offset += value * v->indirect_step;
        if (nki_view_inside(out)) return true;
    }
    nki_fail(err, "out-of-bounds", "run-time index %" PRId64 " reaches outside the tensor", value);
    nki_error_view(err, "tensor", v);
    nki_error_want(err, "an index from 0 to %" PRId64, v->indirect_size - 1);
    nki_error_got(err, "%" PRId64, value);
    nki_error_limit(err, v->indirect_size);
    return false;
}

void nki_view_merge(const struct nki_view *v, struct nki_pattern *p) {
    p->n = 0;
    for (int d = on_chip(v) ? 1 : 0; d < v->ndim; d++) {
        if (v->shape[d] == 1) continue;
        int k = p->n - 1;
        if (k >= 0 && p->stride[k] == v->stride[d] * v->shape[d]) {
            p->count[k] *= v->shape[d];
            p->stride[k] = v->stride[d];
        } else {
            p->count[p->n] = v->shape[d];
            p->stride[p->n++] = v->stride[d];
        }
    }
}

// Which elements are touched, whatever the order: repeats dropped, strides positive and descending, merged.
static int64_t cover(const struct nki_view *v, struct nki_pattern *p) {
    int64_t offset = v->offset, count[NKI_MAX_DIMS], stride[NKI_MAX_DIMS];
    int n = 0;
    for (int d = on_chip(v) ? 1 : 0; d < v->ndim; d++) {
        if (v->shape[d] == 1 || v->stride[d] == 0) continue;
        int64_t s = v->stride[d];
        if (s < 0) {
            offset += s * (v->shape[d] - 1);
            s = -s;
        }
        int k = n++;
        while (k > 0 && stride[k - 1] < s) {
            stride[k] = stride[k - 1];
            count[k] = count[k - 1];
            k--;
        }
        stride[k] = s;
        count[k] = v->shape[d];
    }
    p->n = 0;
    for (int d = 0; d < n; d++) {
        int k = p->n - 1;
        if (k >= 0 && p->stride[k] == stride[d] * count[d]) {
            p->count[k] *= count[d];
            p->stride[k] = stride[d];
        } else {
            p->count[p->n] = count[d];
            p->stride[p->n++] = stride[d];
        }
    }
    return offset;
}

static void partition_rows(const struct nki_view *v, struct nki_box *box) {
    box->r0 = v->part;
    box->r1 = v->part + (v->stride[0] == 0 ? 1 : v->shape[0]);
}

// Elements of this view's type in a row of the storage's area.
static int64_t area_row(const struct nki_view *v) {
    return v->st->row_elems * (int64_t)nki_dtype_size(v->st->dtype) / (int64_t)nki_dtype_size(v->dtype);
}

bool nki_view_box(const struct nki_view *v, struct nki_box *box) {
    int64_t size = (int64_t)nki_dtype_size(v->dtype);
    struct nki_pattern p;
    int64_t off = cover(v, &p);
    if (v->indirect) return false;
    if (on_chip(v)) {
        partition_rows(v, box);
        if (p.n > 1 || (p.n == 1 && p.stride[0] != 1)) return false;
        box->c0 = off * size;
        box->c1 = (off + (p.n ? p.count[0] : 1)) * size;
        return true;
    }
    int64_t row = area_row(v);
    if (row == 0) return false;
    int64_t r = off / row, c = off % row, rows = 1, run = 1;
    if (p.n == 1 && p.stride[0] == 1) {
        run = p.count[0];
        if (c + run > row) {
            if (c != 0 || run % row != 0) return false;
            rows = run / row;
            run = row;
        }
    } else if (p.n == 1 && p.stride[0] == row) {
        rows = p.count[0];
    } else if (p.n == 2 && p.stride[1] == 1 && p.stride[0] == row) {
        rows = p.count[0];
        run = p.count[1];
        if (c + run > row) return false;
    } else if (p.n != 0) {
        return false;
    }
    *box = (struct nki_box){r, r + rows, c * size, (c + run) * size};
    return true;
}

void nki_view_bounds(const struct nki_view *v, struct nki_box *box) {
    int64_t size = (int64_t)nki_dtype_size(v->dtype);
    struct nki_pattern p;
    int64_t low = cover(v, &p), high = low;
    for (int d = 0; d < p.n; d++) high += p.stride[d] * (p.count[d] - 1);
    if (on_chip(v)) {
        partition_rows(v, box);
        if (v->indirect) {
            box->c0 = 0;
            box->c1 = v->st->init.cols;
        } else {
            box->c0 = low * size;
            box->c1 = (high + 1) * size;
        }
        return;
    }
    if (v->indirect) {
        *box = (struct nki_box){0, v->st->init.rows, 0, v->st->init.cols};
        return;
    }
    int64_t row = area_row(v);
    box->r0 = low / row;
    box->r1 = high / row + 1;
    bool one_row = box->r1 - box->r0 == 1;
    bool column = p.n == 2 && p.stride[0] % row == 0;
    box->c0 = one_row || column ? low % row * size : 0;
    box->c1 = one_row  ? (high % row + 1) * size
              : column ? (low % row + p.stride[1] * (p.count[1] - 1) + 1) * size
                       : v->st->init.cols;
    if (box->c1 > v->st->init.cols) {
        box->c0 = 0;
        box->c1 = v->st->init.cols;
    }
}

static bool act(struct nki_area *area, const struct nki_box *box, enum nki_area_action action, bool *any) {
    switch (action) {
    case NKI_AREA_ADD: return nki_area_add(area, box);
    case NKI_AREA_REMOVE: return nki_area_remove(area, box);
    case NKI_AREA_ALL: return nki_area_contains(area, box);
    case NKI_AREA_ANY: *any = *any || nki_area_touches(area, box); return true;
    }
    return true;
}

// One contiguous run of `count` elements from `start` in HBM, cut at rows.
static bool act_run(const struct nki_view *v, struct nki_area *area, int64_t start, int64_t count,
                    enum nki_area_action action, bool *any) {
    int64_t size = (int64_t)nki_dtype_size(v->dtype), row = area_row(v);
    while (count > 0) {
        int64_t r = start / row, c = start % row, n = row - c < count ? row - c : count, rows = 1;
        if (c == 0 && count >= row) {
            rows = count / row;
            n = rows * row;
        }
        struct nki_box box = {r, r + rows, c * size, rows > 1 || n == row ? row * size : (c + n) * size};
        if (!act(area, &box, action, any)) return false;
        start += n;
        count -= n;
    }
    return true;
}

bool nki_view_area(const struct nki_view *v, struct nki_area *area, enum nki_area_action action) {
    struct nki_box box;
    bool any = false;
    if (area->full && action == NKI_AREA_ALL) return true;
    if (nki_view_box(v, &box)) return act(area, &box, action, &any) && (action != NKI_AREA_ANY || any);
    nki_view_bounds(v, &box);
    if (action == NKI_AREA_ALL && nki_area_contains(area, &box)) return true;
    if ((action == NKI_AREA_ANY || action == NKI_AREA_REMOVE) && !nki_area_touches(area, &box))
        return action != NKI_AREA_ANY;
    if (v->indirect) { // which elements is known at run time only: a write counts as reaching all it may reach
        if (action == NKI_AREA_ADD) return nki_area_add(area, &box);
        return action != NKI_AREA_ALL;
    }
    struct nki_pattern p;
    int64_t off = cover(v, &p);
    int64_t size = (int64_t)nki_dtype_size(v->dtype);
    int64_t run = p.n && p.stride[p.n - 1] == 1 ? p.count[--p.n] : 1;
    int64_t at[NKI_MAX_DIMS] = {0};
    struct nki_box rows = box;
    for (;;) {
        int64_t start = off;
        for (int d = 0; d < p.n; d++) start += at[d] * p.stride[d];
        bool ok;
        if (on_chip(v)) {
            rows.c0 = start * size;
            rows.c1 = (start + run) * size;
            ok = act(area, &rows, action, &any);
        } else {
            ok = act_run(v, area, start, run, action, &any);
        }
        if (!ok) return false;
        if (any) return true;
        int d = p.n - 1;
        while (d >= 0 && ++at[d] == p.count[d]) at[d--] = 0;
        if (d < 0) break;
    }
    return action != NKI_AREA_ANY;
}
