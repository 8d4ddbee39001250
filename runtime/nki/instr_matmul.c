// SPDX-License-Identifier: MIT
// instr_matmul.c: the Tensor Engine: nc_matmul and nc_transpose.
//
// Whether a matmul overwrites or accumulates is decided per byte of PSUM by what wrote there last: the area st->matmul
// holds what matmuls wrote. accumulate=None overwrites where no matmul wrote before and adds elsewhere.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array/gemm.h"
#include "nki/exec.h"

static uint64_t pattern_key(const struct nki_view *v, const struct nki_pattern *p) {
    uint64_t h = 0xcbf29ce484222325u;
    for (int d = 0; d < p->n; d++) h = (h ^ (uint64_t)(p->count[d] * 8191 + p->stride[d])) * 0x100000001b3u;
    return h ^ (uint64_t)v->shape[0];
}

const float *nki_block_f32(struct nki_machine *m, const struct nki_view *v, int64_t *ld) {
    struct nki_lane l;
    if (!nki_lane_open(m, &l, v, false)) return NULL;
    if (l.direct32) {
        *ld = (int64_t)l.pitch / 4;
        if (*ld >= l.free) return (const float *)(const void *)l.base;
    }
    struct nki_pattern p;
    nki_view_merge(v, &p);
    int64_t key = (int64_t)pattern_key(v, &p), rows = l.parts, cols = l.free;
    *ld = cols;
    struct nki_cache_entry *oldest = &m->cache[0];
    for (int i = 0; i < NKI_CACHE; i++) {
        struct nki_cache_entry *c = &m->cache[i];
        if (c->data && c->storage == v->st->id && c->version == v->st->version && c->dtype == v->dtype &&
            c->part == v->part && c->offset == v->offset && c->rows == rows && c->cols == cols && c->stride == key) {
            c->used = ++m->cache_clock;
            return c->data;
        }
        if (c->used < oldest->used) oldest = c;
    }
    size_t bytes = (size_t)(rows * cols) * sizeof(float);
    if (oldest->bytes < bytes) {
        free(oldest->data);
        oldest->bytes = 0;
        void *block = NULL;
        if (posix_memalign(&block, 64, bytes) != 0) {
            oldest->data = NULL;
            nki_fail_memory(m, false);
            return NULL;
        }
        oldest->data = block;
        oldest->bytes = bytes;
    }
    *oldest = (struct nki_cache_entry){.storage = v->st->id,
                                       .version = v->st->version,
                                       .dtype = v->dtype,
                                       .part = v->part,
                                       .offset = v->offset,
                                       .rows = rows,
                                       .cols = cols,
                                       .stride = key,
                                       .data = oldest->data,
                                       .bytes = oldest->bytes,
                                       .used = ++m->cache_clock};
    for (int64_t r = 0; r < rows; r++) {
        float *to = oldest->data + r * cols;
        const float *row = nki_lane_f32(&l, r, 0, cols, to);
        if (row != to) memcpy(to, row, (size_t)cols * sizeof *to);
    }
    nki_lane_close(m, &l, false);
    return oldest->data;
}

// Exact values as a tile of type `dtype` would have kept them.
static void round_row(double *row, int64_t n, int dtype) {
    enum { PIECE = 512 };
    uint64_t narrow[PIECE]; // room for any element type
    for (int64_t at = 0; at < n; at += PIECE) {
        size_t count = (size_t)(n - at < PIECE ? n - at : PIECE);
        kernels()->from_f64[dtype](count, narrow, row + at);
        kernels()->to_f64[dtype](count, row + at, narrow);
    }
}

// The same in float64, into a block of the caller's.
static const double *block_f64(struct nki_machine *m, const struct nki_view *v, int64_t *ld, double **owned) {
    struct nki_lane l;
    *owned = NULL;
    if (!nki_lane_open(m, &l, v, false)) return NULL;
    bool rounds = m->round_operands >> v->dtype & 1;
    if (!rounds && l.direct64 && (int64_t)l.pitch / 8 >= l.free) {
        *ld = (int64_t)l.pitch / 8;
        return (const double *)(const void *)l.base;
    }
    *ld = l.free;
    double *block = malloc((size_t)(l.parts * l.free) * sizeof *block);
    if (!block) {
        nki_fail_memory(m, false);
        return NULL;
    }
    for (int64_t r = 0; r < l.parts; r++) {
        const double *row = nki_lane_f64(&l, r, 0, l.free, block + r * l.free);
        if (row != block + r * l.free) memcpy(block + r * l.free, row, (size_t)l.free * sizeof *block);
        if (rounds) round_row(block + r * l.free, l.free, v->dtype);
    }
    nki_lane_close(m, &l, false);
    *owned = block;
    return block;
}

static bool fail_limit(struct nki_machine *m, const char *code, const struct nki_use *u, const char *what, int64_t got,
                       int64_t limit) {
    nki_fail(&m->err, code, "%s has %" PRId64 " %s, the limit is %" PRId64, u->name, got, what, limit);
    nki_error_view(&m->err, u->name, u->view);
    nki_error_want(&m->err, "at most %" PRId64, limit);
    nki_error_got(&m->err, "%" PRId64, got);
    nki_error_limit(&m->err, limit);
    return false;
}

static bool is_fp32(int t) { return t == DTYPE_FLOAT32 || t == DTYPE_TFLOAT32; }
static bool is_fp8(int t) { return t == DTYPE_FLOAT8_E4M3 || t == DTYPE_FLOAT8_E4M3FN || t == DTYPE_FLOAT8_E5M2; }

static bool fail_mix(struct nki_machine *m, const struct nki_use *s, const struct nki_use *v, const char *why,
                     const char *want) {
    nki_fail(&m->err, "matmul-dtype-mix", "stationary is %s and moving is %s: %s", nki_dtypes[s->view->dtype].name,
             nki_dtypes[v->view->dtype].name, why);
    nki_error_view(&m->err, s->name, s->view);
    nki_error_view(&m->err, v->name, v->view);
    nki_error_want(&m->err, "%s", want);
    nki_error_got(&m->err, "%s and %s", nki_dtypes[s->view->dtype].name, nki_dtypes[v->view->dtype].name);
    return false;
}

static bool check_types(struct nki_machine *m, const struct nki_use *u, const struct nki_matmul *o) {
    int s = u[1].view->dtype, v = u[2].view->dtype, d = u[0].view->dtype;
    if (is_fp32(s) != is_fp32(v))
        return fail_mix(m, &u[1], &u[2], "a float32 or tfloat32 operand needs the other to be one too",
                        is_fp32(s) ? nki_dtypes[s].name : nki_dtypes[v].name);
    bool fn = s == DTYPE_FLOAT8_E4M3FN || v == DTYPE_FLOAT8_E4M3FN;
    if (fn && (s == DTYPE_FLOAT8_E4M3 || v == DTYPE_FLOAT8_E4M3))
        return fail_mix(m, &u[1], &u[2], "float8_e4m3 and float8_e4m3fn cannot meet in one matmul",
                        "one float8_e4m3 form");
    if (fn && !m->target.float8_e4m3fn_matmul) return nki_need_generation(m, 4);
    if (o->perf == NKI_PERF_DOUBLE_ROW) {
        if (!m->target.double_row) return nki_need_generation(m, 3);
        if (!is_fp8(s) || !is_fp8(v))
            return fail_mix(m, &u[1], &u[2], "double_row multiplies float8 operands", "float8 operands");
    }
    bool good = d == DTYPE_FLOAT32 || (d == DTYPE_BFLOAT16 && m->target.psum_bf16);
    const char *want = m->target.psum_bf16 ? "float32 or bfloat16" : "float32";
    if (o->transpose) {
        good = d == s;
        want = nki_dtypes[s].name;
    }
    if (good) return true;
    nki_fail(&m->err, "matmul-dst-dtype", "dst must be %s, it is %s", want, nki_dtypes[d].name);
    nki_error_view(&m->err, "dst", u[0].view);
    nki_error_want(&m->err, "%s", want);
    nki_error_got(&m->err, "%s", nki_dtypes[d].name);
    return false;
}

static bool check_tiling(struct nki_machine *m, const struct nki_matmul *o, int64_t k, int64_t cols,
                         const struct nki_use *u) {
    if (!o->tiled) return true;
    bool good = true;
    for (int i = 0; i < 2; i++) {
        int64_t size = o->tile_size[i], at = o->tile_position[i];
        good = good && (size == 128 || size == 64 || (size == 32 && m->target.generation >= 3)) && at >= 0 &&
               at <= 128 && at % size == 0 && at + size <= 128;
    }
    if (good && o->perf == NKI_PERF_DOUBLE_ROW && o->tile_size[1] != 128) good = false;
    if (!good) {
        nki_fail(&m->err, "tile-position",
                 "tile_size (%" PRId64 ", %" PRId64 ") at tile_position (%" PRId64 ", %" PRId64
                 ") is no part of the engine",
                 o->tile_size[0], o->tile_size[1], o->tile_position[0], o->tile_position[1]);
        nki_error_value(&m->err, "tile_size", "(%" PRId64 ", %" PRId64 ")", o->tile_size[0], o->tile_size[1]);
        nki_error_value(&m->err, "tile_position", "(%" PRId64 ", %" PRId64 ")", o->tile_position[0],
                        o->tile_position[1]);
        nki_error_want(&m->err, "sizes 32, 64 or 128 and positions that are multiples of them, within 128");
        return false;
    }
    if (k > o->tile_size[0])
        return fail_limit(m, "matmul-k-mismatch", &u[1], "partitions in a row tile", k, o->tile_size[0]);
    if (cols > o->tile_size[1])
        return fail_limit(m, "matmul-stationary-free", &u[1], "columns in a column tile", cols, o->tile_size[1]);
    return true;
}

// A result that a matmul writes must lie in one bank.
static bool check_bank(struct nki_machine *m, const struct nki_use *dst) {
    if (m->target.psum_bank_span) return true;
    struct nki_box b;
    nki_view_bounds(dst->view, &b);
    int64_t bank = m->target.psum_bank_bytes;
    if (b.c0 / bank == (b.c1 - 1) / bank) return true;
    nki_fail(&m->err, "psum-bank-overflow",
             "dst spans bytes %" PRId64 " to %" PRId64 " of a PSUM partition and crosses a bank of %" PRId64, b.c0,
             b.c1 - 1, bank);
    m->err.doc = "trainium_inferentia2_arch";
    nki_error_view(&m->err, dst->name, dst->view);
    nki_error_want(&m->err, "at most %" PRId64 " bytes per partition, inside one bank", bank);
    nki_error_got(&m->err, "%" PRId64 " bytes from byte %" PRId64, b.c1 - b.c0, b.c0);
    nki_error_limit(&m->err, bank / (int64_t)nki_dtype_size(dst->view->dtype));
    return false;
}

enum accumulation { OVERWRITE, ACCUMULATE, MIXED };

static bool decide(struct nki_machine *m, const struct nki_view *dst, int asked, enum accumulation *how) {
    struct nki_storage *st = dst->st;
    bool all = nki_view_area(dst, &st->matmul, NKI_AREA_ALL);
    bool some = all || nki_view_area(dst, &st->matmul, NKI_AREA_ANY);
    bool other = !all && nki_view_area(dst, &st->init, NKI_AREA_ANY); // something else, or part of it, wrote here
    if (asked == 0) {
        *how = OVERWRITE;
        return true;
    }
    if (all) {
        *how = ACCUMULATE;
        return true;
    }
    bool written = nki_view_area(dst, &st->init, NKI_AREA_ALL);
    if (asked == 1) {
        if (written && m->target.accumulate_any) {
            *how = ACCUMULATE;
            return true;
        }
        nki_fail(&m->err, "accumulate-uninitialized",
                 written ? "accumulate=True adds to what another engine wrote, which is undefined on %s"
                         : "accumulate=True adds to PSUM that no matmul has written on %s",
                 m->target.name);
        nki_error_view(&m->err, "dst", dst);
        nki_error_want(&m->err, "accumulate=False in the first matmul, or no accumulate argument");
        nki_error_got(&m->err, written ? "written by another instruction" : "not written");
        return false;
    }
    if (other && !some && m->target.accumulate_any && written) {
        *how = ACCUMULATE;
        return true;
    }
    if (other && !some) {
        nki_fail(&m->err, "matmul-overwrites",
                 "the first matmul overwrites what another instruction wrote to dst; it does not add to it");
        nki_error_view(&m->err, "dst", dst);
        nki_error_want(&m->err, "no initialisation of a matmul's dst");
        nki_error_got(&m->err, "written by another instruction");
        nki_machine_warn(m);
    }
    *how = some ? MIXED : OVERWRITE;
    return true;
}

// dst += or = product, element by element where the two are mixed.
static void merge_row(struct nki_machine *m, const struct nki_view *dst, const struct nki_lane *l, int64_t p, int64_t n,
                      const float *f, const double *d, enum accumulation how) {
    struct nki_view one = *dst;
    for (int64_t i = 0; i < n; i++) {
        bool add = how == ACCUMULATE;
        if (how == MIXED) {
            // Position i of the merged free pattern, as a view of one element.
            int64_t rest = i, offset = dst->offset;
            for (int k = dst->ndim - 1; k >= 1; k--) {
                offset += rest % dst->shape[k] * dst->stride[k];
                rest /= dst->shape[k];
            }
            one.ndim = 2;
            one.part = dst->part + (int32_t)p;
            one.shape[0] = one.shape[1] = 1;
            one.offset = offset;
            add = nki_view_area(&one, &dst->st->matmul, NKI_AREA_ALL);
        }
        if (m->mode == NKI_EXACT) {
            double old = 0, x = d[i];
            if (add) x += *nki_lane_f64(l, p, i, 1, &old);
            nki_lane_put_f64(l, p, i, 1, &x);
        } else {
            float old = 0, x = f[i];
            if (add) x += *nki_lane_f32(l, p, i, 1, &old);
            nki_lane_put_f32(l, p, i, 1, &x);
        }
    }
}

// One product into dst; with double_row there are two, the second accumulating.
static bool multiply(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *s,
                     const struct nki_view *v, enum accumulation how) {
    int64_t k = s->shape[0], rows = nki_view_free_size(s), cols = nki_view_free_size(v), lda, ldb;
    struct nki_lane l;
    bool ok = false;
    if (m->mode != NKI_EXACT && how != MIXED) {
        bool taken;
        if (!nki_pending_add(m, dst, s, v, how == ACCUMULATE, &taken)) return false;
        if (taken) return true;
    }
    if (!nki_lane_open(m, &l, dst, true)) return false;
    if (m->mode == NKI_EXACT) {
        double *own_a, *own_b, *own_c = NULL;
        const double *a = block_f64(m, s, &lda, &own_a), *b = a ? block_f64(m, v, &ldb, &own_b) : NULL;
        if (!b) {
            if (a) free(own_a);
            return false;
        }
        if (l.direct64 && how != MIXED) {
            ok = gemm_f64(true, false, (size_t)rows, (size_t)cols, (size_t)k, 1.0, a, (size_t)lda, b, (size_t)ldb,
                          how == ACCUMULATE ? 1.0 : 0.0, (double *)(void *)l.base,
                          (size_t)(l.pitch ? l.pitch / 8 : cols));
        } else if ((own_c = malloc((size_t)(rows * cols) * sizeof *own_c))) {
            ok = gemm_f64(true, false, (size_t)rows, (size_t)cols, (size_t)k, 1.0, a, (size_t)lda, b, (size_t)ldb, 0.0,
                          own_c, (size_t)cols);
            for (int64_t p = 0; ok && p < rows; p++) merge_row(m, dst, &l, p, cols, NULL, own_c + p * cols, how);
        }
        free(own_a);
        free(own_b);
        free(own_c);
    } else {
        const float *a = nki_block_f32(m, s, &lda), *b = a ? nki_block_f32(m, v, &ldb) : NULL;
        if (!b) return false;
        if (l.direct32 && how != MIXED) {
            ok = gemm_f32(true, false, (size_t)rows, (size_t)cols, (size_t)k, 1.0f, a, (size_t)lda, b, (size_t)ldb,
                          how == ACCUMULATE ? 1.0f : 0.0f, (float *)(void *)l.base,
                          (size_t)(l.pitch ? l.pitch / 4 : cols));
        } else {
            float *c = nki_scratch(m, (size_t)(rows * cols) * sizeof *c);
            if (!c) return false;
            ok = gemm_f32(true, false, (size_t)rows, (size_t)cols, (size_t)k, 1.0f, a, (size_t)lda, b, (size_t)ldb,
                          0.0f, c, (size_t)cols);
            for (int64_t p = 0; ok && p < rows; p++) merge_row(m, dst, &l, p, cols, c + p * cols, NULL, how);
        }
    }
    nki_lane_close(m, &l, true);
    return ok ? true : nki_fail_memory(m, false);
}

// dst[f, p] = data[p, f], bit by bit.
static bool transpose_bits(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data) {
    struct nki_lane in, out;
    if (!nki_lane_open(m, &in, data, false) || (nki_overlap(dst, data) && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    size_t size = dtype_size(in.type);
    uint8_t *block = nki_scratch(m, (size_t)(in.parts * in.free) * size);
    if (!block) return false;
    struct nki_lane row = out;
    row.parts = 1;
    for (int64_t f = 0; f < in.free; f++) { // gather column f into a contiguous row, then place it
        int64_t rest = f;
        ptrdiff_t at = 0;
        for (int d = in.n - 1; d >= 0; d--) {
            at += (ptrdiff_t)(rest % in.count[d] * in.stride[d]);
            rest /= in.count[d];
        }
        for (int64_t p = 0; p < in.parts; p++) memcpy(block + (size_t)p * size, in.base + at + in.pitch * p, size);
        struct nki_lane from = {.base = block,
                                .pitch = 0,
                                .type = in.type,
                                .n = 1,
                                .count = {in.parts},
                                .stride = {(int64_t)size},
                                .parts = 1,
                                .free = in.parts,
                                .dense = true};
        row.base = out.base + out.pitch * f;
        nki_lane_copy(&row, &from, 0);
    }
    nki_lane_close(m, &in, false);
    return nki_lane_close(m, &out, true);
}

bool nki_nc_matmul(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *stationary,
                   const struct nki_view *moving, const struct nki_matmul *o) {
    nki_begin(m, NKI_I_NC_MATMUL);
    struct nki_use u[3] = {{.name = "dst", .view = dst, .write = true, .buffer_code = "matmul-dst-buffer"},
                           {.name = "stationary", .view = stationary, .buffer_code = "matmul-operand-buffer"},
                           {.name = "moving", .view = moving, .buffer_code = "matmul-operand-buffer"}};
    if (!nki_check(m, u, 3) || !check_types(m, u, o)) return false;
    bool pairs = o->perf == NKI_PERF_DOUBLE_ROW;
    int64_t k = stationary->shape[0], rows = nki_view_free_size(stationary), cols = nki_view_free_size(moving);
    if (k != moving->shape[0]) {
        nki_fail(&m->err, "matmul-k-mismatch",
                 "stationary has %" PRId64 " partitions and moving %" PRId64 "; both are the contraction", k,
                 moving->shape[0]);
        nki_error_view(&m->err, "stationary", stationary);
        nki_error_view(&m->err, "moving", moving);
        nki_error_want(&m->err, "%" PRId64, k);
        nki_error_got(&m->err, "%" PRId64, moving->shape[0]);
        return false;
    }
    if (pairs) {
        if (stationary->ndim < 3 || moving->ndim < 3 || stationary->shape[1] != 2 || moving->shape[1] != 2) {
            nki_fail(&m->err, "shape-mismatch", "double_row needs operands of shape [K, 2, M] and [K, 2, N]");
            nki_error_view(&m->err, "stationary", stationary);
            nki_error_view(&m->err, "moving", moving);
            nki_error_want(&m->err, "2 in dimension 1 of both");
            return false;
        }
        rows /= 2;
        cols /= 2;
    }
    if (rows > m->target.stationary_free)
        return fail_limit(m, "matmul-stationary-free", &u[1], "free elements", rows, m->target.stationary_free);
    int64_t limit = dst->dtype == DTYPE_BFLOAT16 ? m->target.moving_free_bf16 : m->target.moving_free;
    if (cols > limit) return fail_limit(m, "matmul-moving-free", &u[2], "free elements", cols, limit);
    if (!check_tiling(m, o, k, rows, u)) return false;
    int64_t want_rows = rows, want_cols = o->transpose ? k : cols;
    if (o->transpose && cols != k) {
        nki_fail(&m->err, "shape-mismatch",
                 "is_transpose needs the identity matrix of %" PRId64 " x %" PRId64 " as moving", k, k);
        nki_error_view(&m->err, "moving", moving);
        nki_error_want(&m->err, "[%" PRId64 ",%" PRId64 "]", k, k);
        return false;
    }
    if (dst->shape[0] != want_rows || nki_view_free_size(dst) != want_cols) {
        char text[96];
        nki_fail(&m->err, "shape-mismatch", "the product is [%" PRId64 ",%" PRId64 "], dst is %s", want_rows, want_cols,
                 nki_view_shape_text(text, dst));
        nki_error_view(&m->err, "dst", dst);
        nki_error_view(&m->err, "stationary", stationary);
        nki_error_view(&m->err, "moving", moving);
        nki_error_want(&m->err, "[%" PRId64 ",%" PRId64 "]", want_rows, want_cols);
        nki_error_got(&m->err, "%s", text);
        return false;
    }
    if (!check_bank(m, &u[0])) return false;
    enum accumulation how;
    if (!nki_check_initialised(m, u, 3) || !decide(m, dst, o->transpose ? 0 : o->accumulate, &how)) return false;
    uint32_t terms = (uint32_t)(pairs ? 2 * k : k);
    struct nki_effect e = {.terms = o->transpose ? 0 : terms, .accumulate = how != OVERWRITE, .moves = o->transpose};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_TENSOR, u, 3, &e);
    if (!r) return false;
    r->k = (uint16_t)terms;
    r->m = (uint16_t)rows;
    r->n = (uint16_t)cols;
    r->elements = (uint32_t)cols;
    r->flags |= (uint16_t)((how != OVERWRITE ? NKI_FLAG_ACCUMULATE : 0) | (o->transpose ? NKI_FLAG_TRANSPOSE : 0) |
                           (stationary->dtype == DTYPE_FLOAT32 ? NKI_FLAG_FP32_PASSES : 0) |
                           (o->stationary_onezero || o->moving_onezero ? NKI_FLAG_ONEZERO : 0) |
                           (pairs ? NKI_FLAG_DOUBLE_ROW : 0));
    if (o->tiled)
        for (int i = 0; i < 2; i++) {
            r->tile[i] = (uint8_t)(o->tile_position[i] / 32);
            r->tile[2 + i] = (uint8_t)(o->tile_size[i] / 32);
        }
    m->record.totals.matmul_flops += 2u * (uint64_t)terms * (uint64_t)rows * (uint64_t)cols;
    bool ok = true;
    if (m->execute && o->transpose) {
        ok = transpose_bits(m, dst, stationary);
    } else if (m->execute && pairs) {
        for (int half = 0; ok && half < 2; half++) {
            struct nki_view s, v;
            ok = nki_view_slice(&s, stationary, 1, half, half + 1, 1, &m->err) &&
                 nki_view_slice(&v, moving, 1, half, half + 1, 1, &m->err) &&
                 multiply(m, dst, &s, &v, half ? ACCUMULATE : how);
        }
    } else if (m->execute) {
        ok = multiply(m, dst, stationary, moving, how);
    }
    if (ok && !nki_view_area(dst, &dst->st->matmul, NKI_AREA_ADD)) ok = nki_fail_memory(m, false);
    return ok;
}

bool nki_nc_transpose(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data, int engine) {
    nki_begin(m, NKI_I_NC_TRANSPOSE);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "data", .view = data}};
    if (!nki_check(m, u, 2)) return false;
    int64_t p = data->shape[0], f = nki_view_free_size(data);
    bool small = p <= m->target.transpose_vector && f <= m->target.transpose_vector;
    int chosen;
    if (!nki_choose_engine(m, engine, small ? NKI_ENGINE_VECTOR : NKI_ENGINE_TENSOR, &chosen)) return false;
    int64_t limit = chosen == NKI_ENGINE_VECTOR ? m->target.transpose_vector : m->target.transpose_tensor;
    if (p > limit || f > limit) {
        nki_fail(&m->err, "transpose-limit",
                 "data is [%" PRId64 ",%" PRId64 "]; the %s engine transposes up to %" PRId64 " x %" PRId64, p, f,
                 nki_engine_names[chosen], limit, limit);
        nki_error_view(&m->err, "data", data);
        nki_error_want(&m->err, "at most %" PRId64 " x %" PRId64, limit, limit);
        nki_error_got(&m->err, "%" PRId64 " x %" PRId64, p, f);
        nki_error_limit(&m->err, limit);
        return false;
    }
    if (chosen == NKI_ENGINE_TENSOR) {
        for (int i = 0; i < 2; i++) {
            enum nki_buffer want = i ? NKI_SBUF : NKI_PSUM;
            if (u[i].view->st->buffer == want) continue;
            nki_fail(&m->err, i ? "matmul-operand-buffer" : "matmul-dst-buffer",
                     "the Tensor Engine's transpose reads SBUF and writes PSUM; %s is in %s", u[i].name,
                     nki_buffer_names[u[i].view->st->buffer]);
            nki_error_view(&m->err, u[i].name, u[i].view);
            nki_error_want(&m->err, i ? "SBUF" : "PSUM");
            nki_error_got(&m->err, "%s", nki_buffer_names[u[i].view->st->buffer]);
            return false;
        }
        if (!check_bank(m, &u[0])) return false;
    }
    if (!nki_need_same_dtype(m, &u[0], &u[1])) return false;
    if (dst->shape[0] != f || nki_view_free_size(dst) != p) {
        char text[96];
        nki_fail(&m->err, "shape-mismatch", "the transpose is [%" PRId64 ",%" PRId64 "], dst is %s", f, p,
                 nki_view_shape_text(text, dst));
        nki_error_view(&m->err, "dst", dst);
        nki_error_view(&m->err, "data", data);
        nki_error_want(&m->err, "[%" PRId64 ",%" PRId64 "]", f, p);
        nki_error_got(&m->err, "%s", text);
        return false;
    }
    if (!nki_check_initialised(m, u, 2)) return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, chosen, u, 2, &e);
    if (!r) return false;
    r->flags |= NKI_FLAG_TRANSPOSE | (engine ? NKI_FLAG_ENGINE_GIVEN : 0);
    r->elements = (uint32_t)f;
    if (chosen == NKI_ENGINE_TENSOR) {
        r->k = (uint16_t)p;
        r->m = (uint16_t)f;
        r->n = (uint16_t)p;
        r->elements = (uint32_t)p;
        if (data->dtype == DTYPE_FLOAT32) r->flags |= NKI_FLAG_FP32_PASSES;
    }
    return !m->execute || transpose_bits(m, dst, data);
}
