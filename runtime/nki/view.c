// SPDX-License-Identifier: MIT
#include "nki/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nki/error.h"

static bool on_chip(const struct nki_view *v) { return nki_on_chip(v->st->buffer); }

void nki_view_of(struct nki_view *view, struct nki_storage *st) {
    memset(view, 0, sizeof *view);
    view->st = st;
    view->dtype = st->dtype;
    view->ndim = (uint8_t)st->ndim;
    int64_t step = 1;
    for (int d = st->ndim - 1; d >= 0; d--) {
        view->shape[d] = st->shape[d];
        view->stride[d] = step;
        step *= st->shape[d];
    }
    if (on_chip(view)) view->stride[0] = 1;
}

int64_t nki_view_size(const struct nki_view *v) {
    int64_t n = 1;
    for (int d = 0; d < v->ndim; d++) n *= v->shape[d];
    return n;
}

int64_t nki_view_free_size(const struct nki_view *v) {
    int64_t n = 1;
    for (int d = 1; d < v->ndim; d++) n *= v->shape[d];
    return n;
}

int64_t nki_view_row(const struct nki_view *v) {
    return v->st->free_elems * (int64_t)nki_dtype_size(v->st->dtype) / (int64_t)nki_dtype_size(v->dtype);
}

int64_t nki_view_flat_offset(const struct nki_view *v) { return v->offset + (int64_t)v->part * nki_view_row(v); }

bool nki_view_contiguous(const struct nki_view *v) {
    int64_t step = 1;
    for (int d = v->ndim - 1; d >= (on_chip(v) ? 1 : 0); d--) {
        if (v->shape[d] != 1 && v->stride[d] != step) return false;
        step *= v->shape[d];
    }
    return true;
}

char *nki_shape_text(char *buffer, const int64_t *shape, int ndim) {
    int at = snprintf(buffer, 96, "[");
    for (int d = 0; d < ndim && at < 80; d++)
        at += snprintf(buffer + at, 96 - (size_t)at, "%s%" PRId64, d ? "," : "", shape[d]);
    snprintf(buffer + at, 96 - (size_t)at, "]");
    return buffer;
}

char *nki_view_shape_text(char *buffer, const struct nki_view *v) { return nki_shape_text(buffer, v->shape, v->ndim); }

static bool fail_dim(const struct nki_view *v, int dim, struct nki_error *err) {
    nki_fail(err, "index-type", "dimension %d does not exist in a tensor of %d dimensions", dim, v->ndim);
    nki_error_view(err, "tensor", v);
    nki_error_want(err, "a dimension from 0 to %d", v->ndim - 1);
    nki_error_got(err, "%d", dim);
    return false;
}

static bool fail_partition(const struct nki_view *v, const char *what, struct nki_error *err) {
    nki_fail(err, "ap-partition-step", "%s the partition dimension of a tensor in %s", what,
             nki_buffer_names[v->st->buffer]);
    nki_error_view(err, "tensor", v);
    nki_error_want(err, "dimension 0 left as consecutive partitions");
    nki_error_got(err, "%s dimension 0", what);
    return false;
}

static bool fail_indirect(const struct nki_view *v, struct nki_error *err) {
    nki_fail(err, "indirect-view", "this dimension is selected by a run-time index and cannot be changed further");
    nki_error_view(err, "tensor", v);
    nki_error_want(err, "a dimension without a run-time index");
    return false;
}

static bool vector_dim(const struct nki_view *v, int dim) {
    return v->indirect == NKI_VECTOR_OFFSET && dim == v->indirect_dim;
}

static void remove_dim(struct nki_view *v, int dim) {
    for (int d = dim; d + 1 < v->ndim; d++) {
        v->shape[d] = v->shape[d + 1];
        v->stride[d] = v->stride[d + 1];
    }
    v->ndim--;
}

static void note_repeats(struct nki_view *v) {
    v->repeats = false;
    for (int d = 0; d < v->ndim; d++)
        if (v->stride[d] == 0 && v->shape[d] > 1) v->repeats = true;
}

static bool slice_dim(struct nki_view *v, int dim, int64_t start, int64_t stop, int64_t step, struct nki_error *err) {
    int64_t size = v->shape[dim];
    if (step < 1) {
        nki_fail(err, "negative-step", "a slice step must be at least 1, got %" PRId64, step);
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "step >= 1");
        nki_error_got(err, "%" PRId64, step);
        return false;
    }
    if (start < 0 || stop > size || start >= stop) {
        nki_fail(err, "out-of-bounds", "slice %" PRId64 ":%" PRId64 " of dimension %d, which has %" PRId64 " elements",
                 start, stop, dim, size);
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "0 <= start < stop <= %" PRId64, size);
        nki_error_got(err, "%" PRId64 ":%" PRId64, start, stop);
        nki_error_value(err, "dim", "%d", dim);
        nki_error_limit(err, size);
        return false;
    }
    if (start == 0 && stop == size && step == 1) return true;
    if (vector_dim(v, dim)) return fail_indirect(v, err);
    int64_t count = (stop - start + step - 1) / step;
    if (dim == 0 && on_chip(v)) {
        if (count > 1 && step != 1) return fail_partition(v, "a step over", err);
        v->part += (int32_t)(start * v->stride[0]);
    } else {
        v->offset += start * v->stride[dim];
        v->stride[dim] *= step;
    }
    v->shape[dim] = count;
    return true;
}

static bool index_dim(struct nki_view *v, int dim, int64_t index, struct nki_error *err) {
    int64_t size = v->shape[dim];
    if (index < -size || index >= size) {
        nki_fail(err, "out-of-bounds", "index %" PRId64 " of dimension %d, which has %" PRId64 " elements", index, dim,
                 size);
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "0 <= index < %" PRId64, size);
        nki_error_got(err, "%" PRId64, index);
        nki_error_value(err, "dim", "%d", dim);
        nki_error_limit(err, size);
        return false;
    }
    if (index < 0) index += size;
    return slice_dim(v, dim, index, index + 1, 1, err);
}

// Drop the dimensions marked; the last free dimension of an on-chip tensor and the last one in HBM stay.
static void drop_marked(struct nki_view *v, unsigned marked) {
    int keep = on_chip(v) ? 2 : 1;
    for (int d = v->ndim - 1; d >= 0; d--) {
        if (!(marked & 1u << d) || v->ndim <= keep || (d == 0 && on_chip(v))) continue;
        remove_dim(v, d);
        if (v->indirect == NKI_VECTOR_OFFSET && v->indirect_dim > d) v->indirect_dim--;
    }
}

bool nki_view_index(struct nki_view *out, const struct nki_view *v, const struct nki_index *items, int count,
                    struct nki_error *err) {
    *out = *v;
    int used = 0, ellipsis = -1;
    for (int i = 0; i < count; i++) {
        if (items[i].kind != NKI_INDEX_ELLIPSIS) {
            used++;
        } else if (ellipsis >= 0) {
            nki_fail(err, "index-type", "a subscript can hold one `...` only");
            nki_error_view(err, "tensor", v);
            return false;
        } else {
            ellipsis = i;
        }
    }
    if (used > v->ndim) {
        nki_fail(err, "index-type", "%d indices for a tensor of %d dimensions", used, v->ndim);
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "at most %d indices", v->ndim);
        nki_error_got(err, "%d", used);
        nki_error_limit(err, v->ndim);
        return false;
    }
    unsigned marked = 0;
    int dim = 0;
    for (int i = 0; i < count; i++) {
        const struct nki_index *x = &items[i];
        if (x->kind == NKI_INDEX_ELLIPSIS) {
            dim += v->ndim - used;
            continue;
        }
        int64_t size = v->shape[dim];
        if (x->kind == NKI_INDEX_INT) {
            if (!index_dim(out, dim, x->start, err)) return false;
            marked |= 1u << dim;
        } else if (x->kind == NKI_INDEX_RANGE) {
            if (!slice_dim(out, dim, x->start, x->stop, 1, err)) return false;
        } else {
            int64_t start = x->has_start ? x->start : 0, stop = x->has_stop ? x->stop : size;
            if (start < 0) start += size;
            if (stop < 0) stop += size;
            if (!slice_dim(out, dim, start, stop, x->step, err)) return false;
        }
        dim++;
    }
    if (marked) drop_marked(out, marked);
    if (v->repeats) note_repeats(out);
    return true;
}

bool nki_view_slice(struct nki_view *out, const struct nki_view *v, int dim, int64_t start, int64_t stop, int64_t step,
                    struct nki_error *err) {
    *out = *v;
    if (dim < 0 || dim >= v->ndim) return fail_dim(v, dim, err);
    if (!slice_dim(out, dim, start, stop, step, err)) return false;
    note_repeats(out);
    return true;
}

bool nki_view_select(struct nki_view *out, const struct nki_view *v, int dim, int64_t index, struct nki_error *err) {
    *out = *v;
    if (dim < 0 || dim >= v->ndim) return fail_dim(v, dim, err);
    if (!index_dim(out, dim, index, err)) return false;
    drop_marked(out, 1u << dim);
    note_repeats(out);
    return true;
}

bool nki_view_permute(struct nki_view *out, const struct nki_view *v, const int64_t *dims, int count,
                      struct nki_error *err) {
    unsigned seen = 0;
    bool good = count == v->ndim;
    for (int d = 0; good && d < count; d++) {
        good = dims[d] >= 0 && dims[d] < v->ndim && !(seen & 1u << dims[d]);
        if (good) seen |= 1u << dims[d];
    }
    if (!good) {
        char text[96];
        nki_fail(err, "index-type", "permute needs each dimension of the tensor once");
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "a permutation of 0..%d", v->ndim - 1);
        nki_error_got(err, "%s", nki_shape_text(text, dims, count < NKI_MAX_DIMS ? count : NKI_MAX_DIMS));
        return false;
    }
    if (on_chip(v) && dims[0] != 0) return fail_partition(v, "moving", err);
    if (v->indirect == NKI_VECTOR_OFFSET && dims[0] != 0) return fail_indirect(v, err);
    *out = *v;
    for (int d = 0; d < count; d++) {
        out->shape[d] = v->shape[dims[d]];
        out->stride[d] = v->stride[dims[d]];
    }
    return true;
}

bool nki_view_broadcast(struct nki_view *out, const struct nki_view *v, int dim, int64_t size, struct nki_error *err) {
    if (dim < 0 || dim >= v->ndim) return fail_dim(v, dim, err);
    if (on_chip(v) && dim == 0) return fail_partition(v, "broadcasting", err);
    if (vector_dim(v, dim)) return fail_indirect(v, err);
    if (v->shape[dim] != 1 || size < 1) {
        nki_fail(err, "shape-mismatch", "broadcast needs a dimension of size 1, dimension %d has %" PRId64, dim,
                 v->shape[dim]);
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "size 1 in dimension %d", dim);
        nki_error_got(err, "%" PRId64, v->shape[dim]);
        return false;
    }
    *out = *v;
    out->shape[dim] = size;
    out->stride[dim] = 0;
    note_repeats(out);
    return nki_view_countable(out, err);
}

bool nki_view_broadcast_to(struct nki_view *out, const struct nki_view *v, const int64_t *shape, int count,
                           struct nki_error *err) {
    bool good = count == v->ndim;
    for (int d = 0; good && d < count; d++) good = shape[d] >= 1 && (v->shape[d] == shape[d] || v->shape[d] == 1);
    if (!good) {
        char a[96], b[96];
        nki_shape_text(b, shape, count < NKI_MAX_DIMS ? count : NKI_MAX_DIMS);
        nki_fail(err, "shape-mismatch", "%s cannot be broadcast to %s", nki_view_shape_text(a, v), b);
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "%d dimensions, each equal or 1", count);
        nki_error_got(err, "%s", a);
        return false;
    }
    *out = *v;
    for (int d = 0; d < count; d++) {
        if (v->shape[d] == shape[d]) continue;
        out->shape[d] = shape[d];
        out->stride[d] = 0;
    }
    note_repeats(out);
    return nki_view_countable(out, err);
}

bool nki_view_expand(struct nki_view *out, const struct nki_view *v, int dim, struct nki_error *err) {
    if (dim < 0) dim += v->ndim + 1;
    if (dim < 0 || dim > v->ndim || v->ndim == NKI_MAX_DIMS) return fail_dim(v, dim, err);
    if (dim == 0 && on_chip(v)) return fail_partition(v, "inserting before", err);
    if (dim == 0 && v->indirect == NKI_VECTOR_OFFSET) return fail_indirect(v, err);
    *out = *v;
    for (int d = v->ndim; d > dim; d--) {
        out->shape[d] = v->shape[d - 1];
        out->stride[d] = v->stride[d - 1];
    }
    out->shape[dim] = 1;
    out->stride[dim] = dim < v->ndim ? v->shape[dim] * v->stride[dim] : 1;
    out->ndim++;
    return true;
}

bool nki_view_squeeze(struct nki_view *out, const struct nki_view *v, int dim, struct nki_error *err) {
    if (dim < 0 || dim >= v->ndim) return fail_dim(v, dim, err);
    if (dim == 0 && on_chip(v)) return fail_partition(v, "removing", err);
    if (vector_dim(v, dim)) return fail_indirect(v, err);
    if (v->shape[dim] != 1) {
        nki_fail(err, "shape-mismatch", "squeeze_dim needs a dimension of size 1, dimension %d has %" PRId64, dim,
                 v->shape[dim]);
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "size 1 in dimension %d", dim);
        nki_error_got(err, "%" PRId64, v->shape[dim]);
        return false;
    }
    *out = *v;
    if (v->ndim > (on_chip(v) ? 2 : 1)) remove_dim(out, dim);
    return true;
}

static bool fail_reshape(const struct nki_view *v, const char *why, const int64_t *shape, int count,
                         struct nki_error *err) {
    char a[96], b[96];
    nki_shape_text(b, shape, count < NKI_MAX_DIMS ? count : NKI_MAX_DIMS);
    nki_fail(err, "reshape-mismatch", "%s cannot become %s: %s", nki_view_shape_text(a, v), b, why);
    nki_error_view(err, "tensor", v);
    nki_error_want(err, "%s", why);
    nki_error_got(err, "%s", b);
    return false;
}

bool nki_view_split(struct nki_view *out, const struct nki_view *v, int dim, const int64_t *shape, int count,
                    struct nki_error *err) {
    if (dim < 0 || dim >= v->ndim) return fail_dim(v, dim, err);
    int64_t sizes[NKI_MAX_DIMS], known = 1;
    int infer = -1;
    if (count < 1 || v->ndim - 1 + count > NKI_MAX_DIMS)
        return fail_reshape(v, "too many dimensions", shape, count, err);
    for (int i = 0; i < count; i++) {
        sizes[i] = shape[i];
        if (shape[i] == -1 && infer < 0)
            infer = i;
        else if (shape[i] < 1)
            return fail_reshape(v, "sizes must be positive, one may be -1", shape, count, err);
        else if (shape[i] > v->shape[dim] / known)
            return fail_reshape(v, "the sizes must multiply to the dimension", shape, count, err);
        else
            known *= shape[i];
    }
    if (infer >= 0) {
        sizes[infer] = v->shape[dim] / known;
        known *= sizes[infer];
    }
    if (known != v->shape[dim] || known == 0)
        return fail_reshape(v, "the sizes must multiply to the dimension", shape, count, err);
    if (count > 1 && dim == 0 && on_chip(v)) return fail_partition(v, "splitting", err);
    if (count > 1 && vector_dim(v, dim)) return fail_indirect(v, err);
    *out = *v;
    int64_t step = v->stride[dim];
    for (int d = v->ndim - 1; d > dim; d--) {
        out->shape[d + count - 1] = v->shape[d];
        out->stride[d + count - 1] = v->stride[d];
    }
    for (int i = count - 1; i >= 0; i--) {
        out->shape[dim + i] = sizes[i];
        out->stride[dim + i] = step;
        step *= sizes[i];
    }
    out->ndim = (uint8_t)(v->ndim - 1 + count);
    return true;
}

bool nki_view_flatten(struct nki_view *out, const struct nki_view *v, int first, int last, struct nki_error *err) {
    if (first < 0 || first >= v->ndim) return fail_dim(v, first, err);
    if (last < first || last >= v->ndim) return fail_dim(v, last, err);
    if (first == 0 && last > 0 && on_chip(v)) return fail_partition(v, "merging", err);
    if (first == 0 && last > 0 && v->indirect == NKI_VECTOR_OFFSET) return fail_indirect(v, err);
    int64_t size = v->shape[last], step = v->stride[last];
    bool set = size > 1;
    for (int d = last - 1; d >= first; d--) {
        if (v->shape[d] == 1) continue;
        if (set && v->stride[d] != step * size) {
            nki_fail(err, "reshape-mismatch",
                     "dimensions %d to %d are not contiguous and cannot be merged without a copy", first, last);
            nki_error_view(err, "tensor", v);
            nki_error_want(err, "dimensions that are contiguous in memory");
            return false;
        }
        if (!set) step = v->stride[d];
        set = true;
        size *= v->shape[d];
    }
    *out = *v;
    out->shape[first] = size;
    out->stride[first] = step;
    for (int d = last + 1; d < v->ndim; d++) {
        out->shape[first + d - last] = v->shape[d];
        out->stride[first + d - last] = v->stride[d];
    }
    out->ndim = (uint8_t)(v->ndim - (last - first));
    return true;
}

bool nki_view_reshape(struct nki_view *out, const struct nki_view *v, const int64_t *shape, int count,
                      struct nki_error *err) {
    int64_t size = 1;
    double product = 1;
    if (count < 1 || count > NKI_MAX_DIMS) return fail_reshape(v, "between 1 and 8 dimensions", shape, count, err);
    for (int d = 0; d < count; d++) {
        if (shape[d] < 1) return fail_reshape(v, "sizes must be positive", shape, count, err);
        if ((product *= (double)shape[d]) > 1e13)
            return fail_reshape(v, "the number of elements must stay the same", shape, count, err);
        size *= shape[d];
    }
    if (size != nki_view_size(v))
        return fail_reshape(v, "the number of elements must stay the same", shape, count, err);
    int from = on_chip(v) || v->indirect == NKI_VECTOR_OFFSET ? 1 : 0;
    if (from && shape[0] != v->shape[0])
        return fail_reshape(v, "the partition dimension must stay as it is", shape, count, err);
    if (from && count == 1) return fail_reshape(v, "a tensor on chip has at least 2 dimensions", shape, count, err);
    *out = *v;
    // Old dimensions of size 1 say nothing of the layout.
    int64_t old_size[NKI_MAX_DIMS], old_step[NKI_MAX_DIMS];
    int old = 0;
    for (int d = from; d < v->ndim; d++) {
        if (v->shape[d] == 1) continue;
        old_size[old] = v->shape[d];
        old_step[old++] = v->stride[d];
    }
    int oi = 0, ni = from;
    while (oi < old && ni < count) {
        int64_t np = shape[ni], op = old_size[oi];
        int oj = oi + 1, nj = ni + 1;
        while (np != op) {
            if (np < op)
                np *= shape[nj++];
            else
                op *= old_size[oj++];
        }
        for (int k = oi; k + 1 < oj; k++)
            if (old_step[k] != old_size[k + 1] * old_step[k + 1])
                return fail_reshape(v, "the layout in memory does not allow it without a copy", shape, count, err);
        int64_t step = old_step[oj - 1];
        for (int k = nj - 1; k >= ni; k--) {
            out->stride[k] = step;
            step *= shape[k];
        }
        oi = oj;
        ni = nj;
    }
    for (int k = ni; k < count; k++) out->stride[k] = 1; // sizes 1
    for (int d = from; d < count; d++) out->shape[d] = shape[d];
    out->ndim = (uint8_t)count;
    note_repeats(out);
    return true;
}

bool nki_view_bits(struct nki_view *out, const struct nki_view *v, int dtype, struct nki_error *err) {
    int64_t old = (int64_t)nki_dtype_size(v->dtype), now = (int64_t)nki_dtype_size(dtype);
    int last = v->ndim - 1;
    if (v->indirect) return fail_indirect(v, err);
    *out = *v;
    out->dtype = dtype;
    if (old == now) return true;
    bool good = v->shape[last] == 1 || v->stride[last] == 1;
    if (last == 0 && on_chip(v)) good = false;
    if (good && now > old) {
        int64_t ratio = now / old;
        good = v->shape[last] % ratio == 0 && v->offset % ratio == 0;
        for (int d = on_chip(v) ? 1 : 0; good && d < last; d++) good = v->shape[d] == 1 || v->stride[d] % ratio == 0;
    }
    if (!good) {
        nki_fail(err, "reshape-mismatch", "view(%s) needs a contiguous last dimension whose bytes divide evenly",
                 nki_dtypes[dtype].name);
        nki_error_view(err, "tensor", v);
        nki_error_want(err, "a contiguous last dimension of a multiple of %" PRId64 " bytes", now);
        nki_error_got(err, "%" PRId64 " elements of %" PRId64 " bytes", v->shape[last], old);
        return false;
    }
    for (int d = on_chip(v) ? 1 : 0; d < last; d++) out->stride[d] = v->stride[d] * old / now;
    out->shape[last] = v->shape[last] * old / now;
    out->stride[last] = 1;
    out->offset = v->offset * old / now;
    return true;
}

int nki_view_get_pattern(const struct nki_view *v, int64_t (*pattern)[2]) {
    for (int d = 0; d < v->ndim; d++) {
        pattern[d][0] = d == 0 && on_chip(v) ? v->stride[0] * nki_view_row(v) : v->stride[d];
        pattern[d][1] = v->shape[d];
    }
    return v->ndim;
}
