// SPDX-License-Identifier: MIT
// instr_dma.c: dma_copy, dma_transpose, dma_compute. Both sides are walked in the order of their access patterns, so
// shapes may differ while the number of elements is the same. Types are converted through float32.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array/convert.h"
#include "nki/exec.h"

static bool is_dma_bits(const struct nki_view *a, const struct nki_view *b) { return a->dtype == b->dtype; }

// One side of a transfer as byte address plus a list of (count, stride): all dimensions, partitions first.
struct side {
    uint8_t *base;
    enum dtype type;
    int n;
    int64_t count[NKI_MAX_DIMS + 3], stride[NKI_MAX_DIMS + 3];
    struct nki_lane lane;
};

static bool open_side(struct nki_machine *m, struct side *s, const struct nki_view *v, bool write) {
    if (!nki_lane_open(m, &s->lane, v, write)) return false;
    s->base = s->lane.base;
    s->type = s->lane.type;
    s->n = 0;
    if (s->lane.parts > 1 || s->lane.n == 0) {
        s->count[s->n] = s->lane.parts;
        s->stride[s->n++] = s->lane.pitch;
    }
    for (int d = 0; d < s->lane.n; d++) {
        int k = s->n - 1;
        if (k >= 0 && s->stride[k] == s->lane.count[d] * s->lane.stride[d]) {
            s->count[k] *= s->lane.count[d];
            s->stride[k] = s->lane.stride[d];
        } else {
            s->count[s->n] = s->lane.count[d];
            s->stride[s->n++] = s->lane.stride[d];
        }
    }
    return true;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

// Split `s` into outer dimensions and one inner run of `run` elements, which divides its innermost count.
static void split(struct side *s, int64_t run) {
    int k = s->n - 1;
    if (s->count[k] == run) return;
    int64_t inner = s->stride[k];
    s->count[k] /= run;
    s->stride[k] = inner * run;
    s->count[s->n] = run;
    s->stride[s->n++] = inner;
}

static void move_run(int64_t n, const struct side *dst, uint8_t *to, const struct side *src, const uint8_t *from,
                     bool bits, bool exact) {
    ptrdiff_t ds = (ptrdiff_t)dst->stride[dst->n - 1], ss = (ptrdiff_t)src->stride[src->n - 1];
    size_t size = dtype_size(dst->type);
    if (bits) {
        if (ds == (ptrdiff_t)size && ss == (ptrdiff_t)size)
            memmove(to, from, (size_t)n * size);
        else
            copy_strided((size_t)n, size, to, ds, from, ss);
    } else if (exact) {
        double row[256];
        for (int64_t i = 0; i < n; i += 256) {
            int64_t k = n - i < 256 ? n - i : 256;
            gather_f64((size_t)k, row, src->type, from + i * ss, ss);
            chip_scatter_f64((size_t)k, dst->type, to + i * ds, ds, row);
        }
    } else {
        float row[256];
        for (int64_t i = 0; i < n; i += 256) {
            int64_t k = n - i < 256 ? n - i : 256;
            gather_f32((size_t)k, row, src->type, from + i * ss, ss);
            chip_scatter_f32((size_t)k, dst->type, to + i * ds, ds, row);
        }
    }
}

// Move all elements of src to dst in pattern order.
static bool transfer(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src) {
    struct side d, s;
    if (!open_side(m, &s, src, false)) return false;
    if (nki_overlap(dst, src)) {
        if (!nki_lane_detach(m, &s.lane)) return false;
        s.base = s.lane.base;
        s.n = 1;
        s.count[0] = s.lane.parts * s.lane.free;
        s.stride[0] = (int64_t)dtype_size(s.type);
    }
    if (!open_side(m, &d, dst, true)) return false;
    bool bits = is_dma_bits(dst, src);
    // Equal inner runs on both sides: cut both to their common divisor.
    int64_t run = gcd(d.count[d.n - 1], s.count[s.n - 1]);
    split(&d, run);
    split(&s, run);
    int64_t di[NKI_MAX_DIMS + 3] = {0}, si[NKI_MAX_DIMS + 3] = {0};
    int64_t total = nki_view_size(dst) / run;
    uint8_t *to = d.base, *from = s.base;
    for (int64_t k = 0; k < total; k++) {
        move_run(run, &d, to, &s, from, bits, m->mode == NKI_EXACT);
        for (int q = d.n - 2; q >= 0; q--) {
            to += d.stride[q];
            if (++di[q] < d.count[q]) break;
            to -= d.stride[q] * d.count[q];
            di[q] = 0;
        }
        for (int q = s.n - 2; q >= 0; q--) {
            from += s.stride[q];
            if (++si[q] < s.count[q]) break;
            from -= s.stride[q] * s.count[q];
            si[q] = 0;
        }
    }
    nki_lane_close(m, &s.lane, false);
    return nki_lane_close(m, &d.lane, true);
}

// The index values of an indirect view, in order.
static int64_t *read_index(struct nki_machine *m, const struct nki_view *v, int64_t count) {
    struct nki_storage *st = v->index_st;
    int64_t *list = malloc((size_t)(count ? count : 1) * sizeof *list);
    if (!list) {
        nki_fail_memory(m, false);
        return NULL;
    }
    if (!nki_machine_back(m, st)) {
        free(list);
        return NULL;
    }
    size_t size = nki_dtype_size(v->index_dtype);
    for (int64_t i = 0; i < count; i++) { // down the partitions, then the next column
        int64_t p = i % v->index_count, c = i / v->index_count;
        const uint8_t *at = st->data + (size_t)(v->index_part + p) * st->pitch +
                            (size_t)(v->index_offset + c * v->index_col_stride) * size;
        list[i] = dtype_load_int(nki_dtypes[v->index_dtype].raw, at);
    }
    return list;
}

static bool fail_oob(struct nki_machine *m, const char *name, const struct nki_view *v, int64_t index) {
    nki_fail(&m->err, "out-of-bounds", "run-time index %" PRId64 " of %s is outside 0..%" PRId64, index, name,
             v->indirect_size - 1);
    nki_error_view(&m->err, name, v);
    nki_error_want(&m->err, "an index from 0 to %" PRId64, v->indirect_size - 1);
    nki_error_got(&m->err, "%" PRId64, index);
    nki_error_limit(&m->err, v->indirect_size);
    return false;
}

// Row i of a view in HBM that a vector of indices selects.
static void indirect_row(struct nki_view *row, const struct nki_view *v, int64_t index) {
    *row = *v;
    row->indirect = NKI_DIRECT;
    row->index_st = NULL;
    row->offset += index * v->indirect_step;
    row->shape[0] = 1;
}

static bool index_ready(struct nki_machine *m, const char *name, const struct nki_view *v) {
    if (!v->index_st) return true;
    struct nki_view index;
    nki_view_of(&index, v->index_st);
    index.part = v->index_part;
    index.offset = v->index_offset;
    index.ndim = 2;
    index.shape[0] = v->index_count;
    index.shape[1] = v->index_cols;
    index.stride[1] = v->index_col_stride;
    struct nki_use u = {.name = name, .view = &index};
    return nki_check_initialised(m, &u, 1);
}

// Execute a transfer with a run-time index on one or both sides.
static bool transfer_indirect(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src,
                              enum nki_oob oob) {
    struct nki_view d = *dst, s = *src;
    struct nki_view *both[2] = {&d, &s};
    for (int i = 0; i < 2; i++) {
        if (both[i]->indirect != NKI_SCALAR_OFFSET) continue;
        int64_t value = both[i]->index_value;
        if (both[i]->index_st) {
            int64_t *list = read_index(m, both[i], 1);
            if (!list) return false;
            value = list[0];
            free(list);
        }
        struct nki_view fixed;
        if (!nki_view_resolve(&fixed, both[i], value, &m->err)) {
            if (oob == NKI_OOB_ERROR) return false;
            m->err.raised = false;
            return true;
        }
        *both[i] = fixed;
    }
    if (!d.indirect && !s.indirect) return transfer(m, &d, &s);
    const struct nki_view *v = d.indirect ? &d : &s;
    int64_t rows = v->shape[0];
    if ((d.indirect && s.indirect) || (d.indirect ? s.shape[0] : d.shape[0]) != rows) {
        nki_fail(&m->err, "shape-mismatch", "a gather or scatter needs a row on the other side for each index");
        nki_error_view(&m->err, "dst", dst);
        nki_error_view(&m->err, "src", src);
        nki_error_want(&m->err, "%" PRId64 " rows", rows);
        return false;
    }
    int64_t *list = read_index(m, v, rows);
    bool ok = list != NULL;
    for (int64_t i = 0; ok && i < rows; i++) {
        if (list[i] < 0 || list[i] >= v->indirect_size) {
            if (oob == NKI_OOB_SKIP) continue;
            ok = fail_oob(m, d.indirect ? "dst" : "src", v, list[i]);
            break;
        }
        struct nki_view a = d, b = s;
        indirect_row(d.indirect ? &a : &b, v, list[i]);
        if (!nki_view_inside(d.indirect ? &a : &b)) {
            ok = fail_oob(m, d.indirect ? "dst" : "src", v, list[i]);
            break;
        }
        if (!nki_view_slice(d.indirect ? &b : &a, d.indirect ? &s : &d, 0, i, i + 1, 1, &m->err))
            ok = false;
        else
            ok = transfer(m, &a, &b);
    }
    free(list);
    return ok;
}

static bool check_dma(struct nki_machine *m, const struct nki_use *u, int count, const struct nki_dma_options *o,
                      int *engine) {
    for (int i = 0; i < count; i++) {
        if (u[i].view->st->buffer == NKI_PSUM && !m->target.psum_dma) {
            nki_fail(&m->err, "psum-dma", "%s is in PSUM, which DMA does not reach", u[i].name);
            nki_error_view(&m->err, u[i].name, u[i].view);
            nki_error_want(&m->err, "SBUF or HBM");
            nki_error_got(&m->err, "psum");
            return false;
        }
    }
    if (!nki_check(m, u, count)) return false;
    if (o->prioritised && !nki_need_generation(m, 4)) return false;
    *engine = NKI_ENGINE_DMA;
    if (o->dge == NKI_DGE_HWDGE) {
        if (!m->target.hwdge) return nki_need_generation(m, 3);
        for (int i = 0; i < count; i++) {
            if (u[i].view->indirect != NKI_VECTOR_OFFSET) continue;
            nki_fail(&m->err, "indirect-view", "hardware DGE cannot gather or scatter");
            nki_error_view(&m->err, u[i].name, u[i].view);
            nki_error_want(&m->err, "dge_mode unknown or swdge");
            return false;
        }
    }
    if (o->engine != NKI_ENGINE_UNKNOWN) {
        bool good = o->dge == NKI_DGE_HWDGE && (o->engine == NKI_ENGINE_SYNC || o->engine == NKI_ENGINE_SCALAR);
        if (!good) {
            nki_fail(&m->err, "engine-unsupported",
                     "engine= chooses who triggers hardware DGE: sync or scalar, with dge_mode=hwdge");
            nki_error_value(&m->err, "engine", "nisa.engine.%s", nki_engine_names[o->engine]);
            nki_error_want(&m->err, "engine.sync or engine.scalar with dge_mode.hwdge");
            nki_error_got(&m->err, "%s", nki_engine_names[o->engine]);
            return false;
        }
    }
    for (int i = 0; i < count; i++)
        if (u[i].view->indirect &&
            !index_ready(m, u[i].view->indirect == NKI_VECTOR_OFFSET ? "vector_offset" : "scalar_offset", u[i].view))
            return false;
    return true;
}

static void note_dma(struct nki_machine *m, struct nki_instruction *r, const struct nki_view *dst,
                     const struct nki_view *src, const struct nki_dma_options *o) {
    uint64_t elements = (uint64_t)nki_view_size(dst);
    uint64_t db = elements * nki_dtype_size(dst->dtype), sb = elements * nki_dtype_size(src->dtype);
    r->elements = elements > UINT32_MAX ? UINT32_MAX : (uint32_t)elements;
    r->bytes = db > sb ? db : sb;
    r->dge = (uint8_t)(o->dge != NKI_DGE_UNKNOWN                                                  ? o->dge
                       : dst->indirect == NKI_VECTOR_OFFSET || src->indirect == NKI_VECTOR_OFFSET ? NKI_DGE_SWDGE
                       : dst->indirect || src->indirect                                           ? NKI_DGE_HWDGE
                                                                                                  : NKI_DGE_NONE);
    uint32_t a = r->region[0].run, b = r->region[1].run;
    r->descriptor = a < b ? a : b;
    if (dst->dtype != src->dtype) r->flags |= NKI_FLAG_CAST;
    if (o->engine) {
        r->flags |= NKI_FLAG_ENGINE_GIVEN;
        r->trigger = (uint8_t)o->engine;
    }
    m->record.totals.dma_bytes += r->bytes;
    m->record.totals.dma_count++;
}

bool nki_dma_copy(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src,
                  const struct nki_dma_options *o) {
    nki_begin(m, NKI_I_DMA_COPY);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "src", .view = src}};
    int engine;
    if (!check_dma(m, u, 2, o, &engine)) return false;
    if (nki_view_size(dst) != nki_view_size(src)) {
        nki_fail(&m->err, "shape-mismatch", "dst holds %" PRId64 " elements, src %" PRId64, nki_view_size(dst),
                 nki_view_size(src));
        nki_error_view(&m->err, "dst", dst);
        nki_error_view(&m->err, "src", src);
        nki_error_want(&m->err, "%" PRId64 " elements", nki_view_size(src));
        nki_error_got(&m->err, "%" PRId64, nki_view_size(dst));
        return false;
    }
    if (dst->dtype != src->dtype && (nki_dtypes[dst->dtype].bits_only || nki_dtypes[src->dtype].bits_only))
        return nki_need_same_dtype(m, &u[0], &u[1]);
    if (o->dge == NKI_DGE_HWDGE && dst->dtype != src->dtype) {
        nki_fail(&m->err, "hwdge-dtype", "hardware DGE moves bytes and cannot convert %s to %s",
                 nki_dtypes[src->dtype].name, nki_dtypes[dst->dtype].name);
        m->err.doc = "nki-dge";
        nki_error_view(&m->err, "dst", dst);
        nki_error_view(&m->err, "src", src);
        nki_error_want(&m->err, "%s", nki_dtypes[src->dtype].name);
        nki_error_got(&m->err, "%s", nki_dtypes[dst->dtype].name);
        return false;
    }
    if (!nki_check_initialised(m, u, 2)) return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, engine, u, 2, &e);
    if (!r) return false;
    note_dma(m, r, dst, src, o);
    if (!m->execute) return true;
    if (dst->indirect || src->indirect) return transfer_indirect(m, dst, src, o->oob);
    return transfer(m, dst, src);
}

// --- transpose
// ------------------------------------------------------------------------------------------------------------

// The dimensions of v in the order of axes, partitions included.
static bool open_permuted(struct nki_machine *m, struct side *s, const struct nki_view *v, const int64_t *axes) {
    if (!nki_lane_open(m, &s->lane, v, false)) return false;
    s->base = s->lane.base;
    s->type = s->lane.type;
    s->n = v->ndim;
    int64_t size = (int64_t)dtype_size(s->type);
    for (int d = 0; d < v->ndim; d++) {
        int64_t a = axes[d];
        s->count[d] = v->shape[a];
        s->stride[d] = a == 0 && nki_on_chip(v->st->buffer) ? (int64_t)s->lane.pitch : v->stride[a] * size;
    }
    return true;
}

static bool fail_axes(struct nki_machine *m, const struct nki_view *src, const int64_t *axes, int count,
                      const char *want) {
    char text[96];
    nki_fail(&m->err, "transpose-axes", "these axes are not possible for a tensor of %d dimensions", src->ndim);
    nki_error_view(&m->err, "src", src);
    nki_error_value(&m->err, "axes", "%s", nki_shape_text(text, axes, count < NKI_MAX_DIMS ? count : NKI_MAX_DIMS));
    nki_error_want(&m->err, "%s", want);
    nki_error_got(&m->err, "%s", text);
    return false;
}

static bool fail_hwdge(struct nki_machine *m, const struct nki_view *src, const char *want) {
    nki_fail(&m->err, "transpose-limit", "hardware DGE cannot transpose this tensor: it needs %s", want);
    nki_error_view(&m->err, "src", src);
    nki_error_want(&m->err, "%s", want);
    return false;
}

bool nki_dma_transpose(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src,
                       const int64_t *axes, int count, const struct nki_dma_options *o) {
    nki_begin(m, NKI_I_DMA_TRANSPOSE);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "src", .view = src}};
    int engine;
    if (!check_dma(m, u, 2, o, &engine)) return false;
    static const int64_t usual[3][4] = {{1, 0}, {2, 1, 0}, {3, 1, 2, 0}};
    if (src->ndim < 2 || src->ndim > 4) return fail_axes(m, src, axes, count, "a tensor of 2, 3 or 4 dimensions");
    const int64_t *order = usual[src->ndim - 2];
    if (count && (count != src->ndim || memcmp(axes, order, (size_t)count * sizeof *axes) != 0))
        return fail_axes(m, src, axes, count,
                         src->ndim == 2   ? "(1, 0)"
                         : src->ndim == 3 ? "(2, 1, 0)"
                                          : "(3, 1, 2, 0)");
    if (src->indirect || dst->indirect) {
        nki_fail(&m->err, "op-not-simulated",
                 "an indirect dma_transpose is an NKI operation that the machine does not execute");
        nki_error_view(&m->err, "src", src);
        return false;
    }
    bool fits = dst->ndim == src->ndim;
    for (int d = 0; fits && d < src->ndim; d++) fits = dst->shape[d] == src->shape[order[d]];
    if (!fits) {
        char a[96], b[96];
        int64_t want[4];
        for (int d = 0; d < src->ndim; d++) want[d] = src->shape[order[d]];
        nki_fail(&m->err, "shape-mismatch", "the transpose is %s, dst is %s", nki_shape_text(a, want, src->ndim),
                 nki_view_shape_text(b, dst));
        nki_error_view(&m->err, "dst", dst);
        nki_error_view(&m->err, "src", src);
        nki_error_want(&m->err, "%s", a);
        nki_error_got(&m->err, "%s", b);
        return false;
    }
    if (!nki_need_same_dtype(m, &u[0], &u[1])) return false;
    if (o->dge == NKI_DGE_SWDGE || o->dge == NKI_DGE_NONE) {
        nki_fail(&m->err, "value-type", "a direct dma_transpose takes dge_mode unknown or hwdge");
        nki_error_want(&m->err, "nisa.dge_mode.unknown or nisa.dge_mode.hwdge");
        return false;
    }
    if (o->dge == NKI_DGE_HWDGE) {
        int64_t first = src->shape[0], last = src->shape[src->ndim - 1];
        bool rows = src->ndim == 2 ? first == 16
                                   : (first == 1 || first == 2 || first == 4 || first == 8 || first == 16) &&
                                         first * src->shape[src->ndim - 2] % 16 == 0;
        if (!rows)
            return fail_hwdge(m, src,
                              src->ndim == 2
                                  ? "16 rows"
                                  : "1, 2, 4, 8 or 16 rows, times the last dimension but one a multiple of 16");
        if (last > 128) return fail_hwdge(m, src, "a last dimension of at most 128");
        if (nki_dtype_size(src->dtype) != 2) return fail_hwdge(m, src, "a 2-byte type");
    }
    if (!nki_check_initialised(m, u, 2)) return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, engine, u, 2, &e);
    if (!r) return false;
    note_dma(m, r, dst, src, o);
    r->flags |= NKI_FLAG_TRANSPOSE;
    if (!m->execute) return true;
    struct side s, d;
    static const int64_t same[4] = {0, 1, 2, 3};
    if (!open_permuted(m, &s, src, order)) return false;
    struct nki_lane keep = s.lane;
    if (dst->st == src->st && !nki_lane_detach(m, &keep)) return false;
    if (keep.base != s.lane.base) { // a copy, contiguous in the source's order
        int64_t step = (int64_t)dtype_size(s.type), strides[4];
        for (int k = src->ndim - 1; k >= 0; k--) {
            strides[k] = step;
            step *= src->shape[k];
        }
        s.base = keep.base;
        for (int k = 0; k < src->ndim; k++) s.stride[k] = strides[order[k]];
        s.lane = keep;
    }
    if (!nki_lane_open(m, &d.lane, dst, true)) return false;
    nki_lane_close(m, &d.lane, true);
    if (!open_permuted(m, &d, dst, same)) return false;
    int64_t at[4] = {0};
    int n = src->ndim;
    int64_t total = nki_view_size(dst) / d.count[n - 1];
    for (int64_t k = 0; k < total; k++) {
        uint8_t *to = d.base, *from = s.base;
        for (int q = 0; q + 1 < n; q++) {
            to += at[q] * d.stride[q];
            from += at[q] * s.stride[q];
        }
        copy_strided((size_t)d.count[n - 1], dtype_size(d.type), to, (ptrdiff_t)d.stride[n - 1], from,
                     (ptrdiff_t)s.stride[n - 1]);
        int q = n - 2;
        while (q >= 0 && ++at[q] == d.count[q]) at[q--] = 0;
    }
    nki_lane_close(m, &s.lane, false);
    return nki_lane_close(m, &d.lane, true);
}

bool nki_dma_compute(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *const *srcs, int count,
                     enum nki_op op, const struct nki_dma_options *o) {
    nki_begin(m, NKI_I_DMA_COMPUTE);
    struct nki_use u[17] = {{.name = "dst", .view = dst, .write = true}};
    if (count < 1 || count > 16) {
        nki_fail(&m->err, "value-type", "dma_compute adds 1 to 16 tensors, %d given", count);
        nki_error_want(&m->err, "1 to 16 tensors");
        nki_error_got(&m->err, "%d", count);
        nki_error_limit(&m->err, 16);
        return false;
    }
    for (int i = 0; i < count; i++) u[i + 1] = (struct nki_use){.name = "srcs", .view = srcs[i]};
    int engine;
    if (!check_dma(m, u, count + 1, o, &engine)) return false;
    if (op != NKI_OP_ADD) return nki_fail_op(m, "reduce_op", op, "nl.add, the only one dma_compute has");
    for (int i = 0; i <= count; i++) {
        if (u[i].view->indirect) {
            nki_fail(&m->err, "op-not-simulated",
                     "dma_compute with run-time indices is an NKI operation that the machine does not execute");
            nki_error_view(&m->err, u[i].name, u[i].view);
            return false;
        }
        if (nki_view_size(u[i].view) == nki_view_size(dst)) continue;
        nki_fail(&m->err, "shape-mismatch", "all tensors of dma_compute hold the same number of elements");
        nki_error_view(&m->err, "dst", dst);
        nki_error_view(&m->err, "srcs", u[i].view);
        nki_error_want(&m->err, "%" PRId64 " elements", nki_view_size(dst));
        nki_error_got(&m->err, "%" PRId64, nki_view_size(u[i].view));
        return false;
    }
    if (!nki_check_initialised(m, u, count + 1)) return false;
    struct nki_effect e = {.roundings = (uint32_t)count, .sum = true, .functions = {NKI_OP_ADD}};
    struct nki_instruction *r = nki_commit(m, engine, u, count + 1, &e);
    if (!r) return false;
    note_dma(m, r, dst, srcs[0], o);
    r->alu[0] = (uint8_t)op;
    if (!m->execute) return true;
    // Every source as one flat row of float64: the sum of few float32 values needs no more.
    struct nki_lane out;
    int64_t n = nki_view_size(dst);
    double *sum = calloc((size_t)n, sizeof *sum);
    if (!sum) return nki_fail_memory(m, false);
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        struct nki_lane in;
        if (!nki_lane_open(m, &in, srcs[i], false)) {
            ok = false;
            break;
        }
        for (int64_t p = 0; p < in.parts; p++) {
            for (int64_t s = 0; s < in.free; s += NKI_CHUNK) {
                int64_t len = in.free - s < NKI_CHUNK ? in.free - s : NKI_CHUNK;
                double x[NKI_CHUNK];
                const double *row = nki_lane_f64(&in, p, s, len, x);
                double *to = sum + p * in.free + s;
                for (int64_t k = 0; k < len; k++)
                    to[k] = m->mode == NKI_EXACT ? to[k] + row[k] : (double)((float)to[k] + (float)row[k]);
            }
        }
        nki_lane_close(m, &in, false);
    }
    if (ok && nki_lane_open(m, &out, dst, true)) {
        for (int64_t p = 0; p < out.parts; p++) nki_lane_put_f64(&out, p, 0, out.free, sum + p * out.free);
        nki_lane_close(m, &out, true);
    } else {
        ok = false;
    }
    free(sum);
    return ok;
}
