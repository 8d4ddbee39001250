// SPDX-License-Identifier: MIT
// lane.c: reading and writing tiles row by row, with conversion between the type held and the type computed in.
#include <stdlib.h>
#include <string.h>

#include "array/convert.h"
#include "nki/exec.h"

bool nki_fail_memory(struct nki_machine *m, bool refused) {
    nki_fail(&m->err, "memory-limit", refused ? "the memory limit of this run is reached" : "out of memory");
    nki_error_want(&m->err, refused ? "less memory in use at once" : "more memory");
    return false;
}

void *nki_scratch(struct nki_machine *m, size_t bytes) {
    if (bytes > m->scratch_bytes) {
        free(m->scratch);
        m->scratch = NULL;
        m->scratch_bytes = 0;
        if (posix_memalign(&m->scratch, 64, bytes) != 0) {
            m->scratch = NULL;
            nki_fail_memory(m, false);
            return NULL;
        }
        m->scratch_bytes = bytes;
    }
    return m->scratch;
}

// Own the bytes, and give them defined contents unless the write about to happen defines all of them.
static bool prepare_write(struct nki_machine *m, const struct nki_view *v) {
    struct nki_storage *st = v->st;
    if (st->borrowed) {
        bool refused;
        uint8_t *copy = account_take(m->account, st->bytes, &refused);
        if (!copy) return nki_fail_memory(m, refused);
        memcpy(copy, st->data, st->bytes);
        st->data = copy;
        st->borrowed = false;
    }
    if (!st->filled) {
        struct nki_box b;
        bool all = nki_view_box(v, &b) && b.r0 == 0 && b.c0 == 0 && b.r1 == st->init.rows && b.c1 == st->init.cols;
        if (all)
            st->filled = true;
        else
            nki_storage_poison(st, m->poison);
    }
    return true;
}

// Exact mode, a float tensor seen as another type: work on a copy in the chip's layout.
static bool make_shadow(struct nki_machine *m, struct nki_lane *lane, struct nki_storage *st) {
    size_t size = nki_dtype_size(st->dtype);
    size_t elements = (size_t)(st->partitions * st->free_elems);
    lane->shadow_bytes = elements * size;
    lane->shadow = malloc(lane->shadow_bytes ? lane->shadow_bytes : 1);
    if (!lane->shadow) return nki_fail_memory(m, false);
    if (!st->filled) nki_storage_poison(st, m->poison);
    kernels()->from_f64[nki_dtypes[st->dtype].raw](elements, lane->shadow, (const double *)(const void *)st->data);
    lane->shadowed = st;
    return true;
}

bool nki_lane_open(struct nki_machine *m, struct nki_lane *lane, const struct nki_view *v, bool write) {
    struct nki_storage *st = v->st;
    memset(lane, 0, sizeof *lane);
    if (m->pending.st == st && !nki_pending_flush(m)) return false;
    if (!nki_machine_back(m, st)) return false;
    if (write && !prepare_write(m, v)) return false;
    if (!write && !st->filled) nki_storage_poison(st, m->poison);
    uint8_t *data = st->data;
    size_t pitch = st->pitch, size = st->cell;
    lane->type = nki_dtypes[v->dtype].raw;
    if (st->cell != nki_dtype_size(st->dtype)) { // floats held as doubles
        if (v->dtype == st->dtype) {
            lane->type = DTYPE_FLOAT64;
        } else {
            if (!make_shadow(m, lane, st)) return false;
            data = lane->shadow;
            size = nki_dtype_size(v->dtype);
            pitch = (size_t)st->free_elems * nki_dtype_size(st->dtype);
        }
    } else {
        size = nki_dtype_size(v->dtype);
    }
    bool chip = nki_on_chip(st->buffer);
    lane->parts = chip ? v->shape[0] : 1;
    lane->pitch = chip ? (ptrdiff_t)pitch * (ptrdiff_t)v->stride[0] : 0;
    lane->base = data + (chip ? (size_t)v->part * pitch : 0) + (size_t)v->offset * size;
    struct nki_pattern p;
    nki_view_merge(v, &p);
    lane->n = p.n;
    lane->free = 1;
    for (int d = 0; d < p.n; d++) {
        lane->count[d] = p.count[d];
        lane->stride[d] = p.stride[d] * (int64_t)size;
        lane->free *= p.count[d];
    }
    lane->dense = p.n == 0 || (p.n == 1 && p.stride[0] == 1);
    lane->direct32 = lane->dense && lane->type == DTYPE_FLOAT32;
    lane->direct64 = lane->dense && lane->type == DTYPE_FLOAT64;
    return true;
}

bool nki_lane_close(struct nki_machine *m, struct nki_lane *lane, bool written) {
    (void)m;
    if (lane->shadow && lane->shadowed && written) {
        // Back to doubles, only where the bits changed: the rest keeps its exact value.
        struct nki_storage *st = lane->shadowed;
        enum dtype t = nki_dtypes[st->dtype].raw;
        size_t size = nki_dtype_size(st->dtype), n = lane->shadow_bytes / size;
        double *cells = (double *)(void *)st->data;
        for (size_t i = 0; i < n; i++) {
            unsigned char now[8];
            dtype_store(t, now, cells[i]);
            if (memcmp(now, lane->shadow + i * size, size) != 0) cells[i] = dtype_load(t, lane->shadow + i * size);
        }
    }
    free(lane->shadow);
    lane->shadow = NULL;
    return true;
}

bool nki_lane_detach(struct nki_machine *m, struct nki_lane *lane) {
    size_t size = dtype_size(lane->type);
    size_t bytes = (size_t)(lane->parts * lane->free) * size;
    uint8_t *block = malloc(bytes ? bytes : 1);
    if (!block) return nki_fail_memory(m, false);
    struct nki_lane copy = *lane;
    copy.base = block;
    copy.pitch = (ptrdiff_t)((size_t)lane->free * size);
    copy.n = 1;
    copy.count[0] = lane->free;
    copy.stride[0] = (int64_t)size;
    copy.dense = true;
    copy.direct32 = lane->type == DTYPE_FLOAT32;
    copy.direct64 = lane->type == DTYPE_FLOAT64;
    for (int64_t p = 0; p < lane->parts; p++) nki_lane_copy(&copy, lane, p);
    free(lane->shadow);
    copy.shadow = block;
    copy.shadowed = NULL;
    *lane = copy;
    return true;
}

void nki_lanes_flatten(struct nki_lane *const *lanes, int count) {
    int64_t parts = lanes[0]->parts, free_size = lanes[0]->free;
    for (int i = 0; i < count; i++) {
        const struct nki_lane *l = lanes[i];
        if (!l->dense || l->parts != parts || l->free != free_size) return;
        if (l->pitch != (ptrdiff_t)(free_size * (int64_t)dtype_size(l->type))) return;
    }
    for (int i = 0; i < count; i++) {
        struct nki_lane *l = lanes[i];
        l->n = 1;
        l->count[0] = l->free = parts * free_size;
        l->stride[0] = (int64_t)dtype_size(l->type);
        l->parts = 1;
    }
}

static uint8_t *row_at(const struct nki_lane *l, int64_t p) { return l->base + l->pitch * p; }

// Visit elements start .. start + n of a row as runs of one stride: pointer, stride, count, place in the row.
struct walk {
    const struct nki_lane *lane;
    uint8_t *row;
    int64_t at[NKI_MAX_DIMS];
    int64_t left, done;
    uint8_t *run;
    int64_t run_count, run_stride;
};

static void walk_open(struct walk *w, const struct nki_lane *l, int64_t p, int64_t start, int64_t n) {
    w->lane = l;
    w->row = row_at(l, p);
    w->left = n;
    w->done = 0;
    w->run_count = 0;
    for (int d = l->n - 1; d >= 0; d--) {
        w->at[d] = start % l->count[d];
        start /= l->count[d];
    }
}

static bool walk_next(struct walk *w) {
    const struct nki_lane *l = w->lane;
    w->done += w->run_count;
    w->left -= w->run_count;
    if (w->left <= 0) return false;
    int last = l->n - 1;
    if (w->run_count) { // carry
        w->at[last] = 0;
        int d = last - 1;
        while (d >= 0 && ++w->at[d] == l->count[d]) w->at[d--] = 0;
    }
    uint8_t *q = w->row;
    for (int d = 0; d < l->n; d++) q += w->at[d] * l->stride[d];
    w->run = q;
    w->run_count = last >= 0 ? l->count[last] - w->at[last] : 1;
    w->run_stride = last >= 0 ? l->stride[last] : 0;
    if (w->run_count > w->left) w->run_count = w->left;
    return true;
}

const float *nki_lane_f32(const struct nki_lane *l, int64_t p, int64_t start, int64_t n, float *buffer) {
    uint8_t *row = row_at(l, p);
    if (l->direct32) return (const float *)(const void *)row + start;
    if (l->n <= 1) {
        int64_t stride = l->n ? l->stride[0] : 0;
        gather_f32((size_t)n, buffer, l->type, row + start * stride,
                   (ptrdiff_t)(l->n ? stride : (int64_t)dtype_size(l->type)));
        return buffer;
    }
    if (start == 0 && n == l->free) {
        gather_nd_f32(l->n, l->count, buffer, l->type, row, l->stride);
        return buffer;
    }
    struct walk w;
    for (walk_open(&w, l, p, start, n); walk_next(&w);)
        gather_f32((size_t)w.run_count, buffer + w.done, l->type, w.run, (ptrdiff_t)w.run_stride);
    return buffer;
}

const double *nki_lane_f64(const struct nki_lane *l, int64_t p, int64_t start, int64_t n, double *buffer) {
    uint8_t *row = row_at(l, p);
    if (l->direct64) return (const double *)(const void *)row + start;
    struct walk w;
    for (walk_open(&w, l, p, start, n); walk_next(&w);)
        gather_f64((size_t)w.run_count, buffer + w.done, l->type, w.run,
                   (ptrdiff_t)(l->n ? w.run_stride : (int64_t)dtype_size(l->type)));
    return buffer;
}

void nki_lane_i64(const struct nki_lane *l, int64_t p, int64_t start, int64_t n, int64_t *buffer) {
    struct walk w;
    for (walk_open(&w, l, p, start, n); walk_next(&w);)
        convert_row((size_t)w.run_count, DTYPE_INT64, buffer + w.done, 8, l->type, w.run, (ptrdiff_t)w.run_stride);
}

static enum dtype unsigned_of(enum dtype t) {
    switch (dtype_size(t)) {
    case 1: return DTYPE_UINT8;
    case 2: return DTYPE_UINT16;
    default: return DTYPE_UINT32;
    }
}

void nki_lane_bits(const struct nki_lane *l, int64_t p, int64_t start, int64_t n, int32_t *buffer) {
    struct walk w;
    for (walk_open(&w, l, p, start, n); walk_next(&w);)
        convert_row((size_t)w.run_count, DTYPE_INT32, buffer + w.done, 4, unsigned_of(l->type), w.run,
                    (ptrdiff_t)w.run_stride);
}

float *nki_lane_out_f32(const struct nki_lane *l, int64_t p, int64_t start, float *buffer) {
    return l->direct32 ? (float *)(void *)row_at(l, p) + start : buffer;
}

double *nki_lane_out_f64(const struct nki_lane *l, int64_t p, int64_t start, double *buffer) {
    return l->direct64 ? (double *)(void *)row_at(l, p) + start : buffer;
}

void nki_lane_put_f32(const struct nki_lane *l, int64_t p, int64_t start, int64_t n, const float *from) {
    uint8_t *row = row_at(l, p);
    if (l->direct32 && (const void *)from == (const void *)((float *)(void *)row + start)) return;
    bool whole = l->n <= 1;
    if (whole && dtype_is_float(l->type)) {
        int64_t stride = l->n ? l->stride[0] : (int64_t)dtype_size(l->type);
        scatter_f32((size_t)n, l->type, row + start * stride, (ptrdiff_t)stride, from);
        return;
    }
    struct walk w;
    for (walk_open(&w, l, p, start, n); walk_next(&w);)
        chip_scatter_f32((size_t)w.run_count, l->type, w.run, (ptrdiff_t)w.run_stride, from + w.done);
}

void nki_lane_put_f64(const struct nki_lane *l, int64_t p, int64_t start, int64_t n, const double *from) {
    if (l->direct64 && (const void *)from == (const void *)((double *)(void *)row_at(l, p) + start)) return;
    struct walk w;
    for (walk_open(&w, l, p, start, n); walk_next(&w);)
        chip_scatter_f64((size_t)w.run_count, l->type, w.run, (ptrdiff_t)w.run_stride, from + w.done);
}

void nki_lane_put_i64(const struct nki_lane *l, int64_t p, int64_t start, int64_t n, const int64_t *from) {
    struct walk w;
    for (walk_open(&w, l, p, start, n); walk_next(&w);)
        convert_row((size_t)w.run_count, l->type, w.run, (ptrdiff_t)w.run_stride, DTYPE_INT64, from + w.done, 8);
}

void nki_lane_put_bits(const struct nki_lane *l, int64_t p, int64_t start, int64_t n, const int32_t *from) {
    struct walk w;
    for (walk_open(&w, l, p, start, n); walk_next(&w);)
        convert_row((size_t)w.run_count, unsigned_of(l->type), w.run, (ptrdiff_t)w.run_stride, DTYPE_INT32,
                    from + w.done, 4);
}

void nki_lane_copy(const struct nki_lane *dst, const struct nki_lane *src, int64_t p) {
    size_t size = dtype_size(dst->type);
    if (dst->dense && src->dense) {
        memmove(row_at(dst, p), row_at(src, p), (size_t)dst->free * size);
        return;
    }
    // Runs of both sides, cut to the shorter.
    struct walk a, b;
    walk_open(&a, dst, p, 0, dst->free);
    walk_open(&b, src, p, 0, src->free);
    bool more = walk_next(&a) && walk_next(&b);
    int64_t ia = 0, ib = 0;
    while (more) {
        int64_t n = a.run_count - ia < b.run_count - ib ? a.run_count - ia : b.run_count - ib;
        copy_strided((size_t)n, size, a.run + ia * a.run_stride, (ptrdiff_t)a.run_stride, b.run + ib * b.run_stride,
                     (ptrdiff_t)b.run_stride);
        ia += n;
        ib += n;
        if (ia == a.run_count) {
            more = walk_next(&a);
            ia = 0;
        }
        if (more && ib == b.run_count) {
            more = walk_next(&b);
            ib = 0;
        }
    }
}

bool nki_overlap(const struct nki_view *dst, const struct nki_view *src) {
    if (dst->st != src->st) return false;
    bool same = dst->dtype == src->dtype && dst->part == src->part && dst->offset == src->offset;
    if (same) {
        struct nki_pattern a, b;
        nki_view_merge(dst, &a);
        nki_view_merge(src, &b);
        same = a.n == b.n;
        for (int d = 0; same && d < a.n; d++) same = a.count[d] == b.count[d] && a.stride[d] == b.stride[d];
        if (same) return false;
    }
    struct nki_box x, y;
    nki_view_bounds(dst, &x);
    nki_view_bounds(src, &y);
    return x.r0 < y.r1 && y.r0 < x.r1 && x.c0 < y.c1 && y.c0 < x.c1;
}
