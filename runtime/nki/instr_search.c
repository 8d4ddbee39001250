// SPDX-License-Identifier: MIT
// instr_search.c: max8, nc_find_index8 and nc_match_replace8: the steps of a top-k on the Vector Engine.
#include <string.h>

#include "nki/exec.h"

bool nki_max8(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *src) {
    const struct nki_row *row = nki_begin(m, NKI_I_MAX8);
    struct nki_use u[2] = {{.name = "dst", .view = dst, .write = true}, {.name = "src", .view = src}};
    if (!nki_check(m, u, 2) || !nki_need_partitions(m, &u[1], &u[0]) ||
        !nki_need_free_range(m, &u[1], row->free_min, row->free_max) || !nki_need_free(m, &u[0], 8, "8 values") ||
        !nki_check_initialised(m, u, 2))
        return false;
    struct nki_effect e = {.moves = true, .functions = {NKI_OP_MAXIMUM}};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 2, &e);
    if (!r) return false;
    int64_t n = nki_view_free_size(src);
    r->elements = (uint32_t)n;
    if (!m->execute) return true;
    struct nki_lane in, out;
    if (!nki_lane_open(m, &in, src, false) || (nki_overlap(dst, src) && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    double *buffer = nki_scratch(m, (size_t)n * sizeof *buffer);
    if (!buffer) return false;
    for (int64_t p = 0; p < in.parts; p++) {
        const double *x = nki_lane_f64(&in, p, 0, n, buffer);
        double best[8];
        int have = 0;
        for (int64_t i = 0; i < n; i++) {
            int k = have;
            while (k > 0 && best[k - 1] < x[i]) k--;
            if (k == 8) continue;
            if (have < 8) have++;
            for (int q = have - 1; q > k; q--) best[q] = best[q - 1];
            best[k] = x[i];
        }
        nki_lane_put_f64(&out, p, 0, 8, best);
    }
    nki_lane_close(m, &in, false);
    return nki_lane_close(m, &out, true);
}

static bool need_eight(struct nki_machine *m, struct nki_use *u, int data, int vals) {
    const struct nki_row *row = &m->rows[m->now];
    return nki_need_partitions(m, &u[data], &u[vals]) && nki_need_partitions(m, &u[data], &u[0]) &&
           nki_need_free_range(m, &u[data], row->free_min, row->free_max) && nki_need_free(m, &u[vals], 8, "8 values");
}

bool nki_find_index8(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                     const struct nki_view *vals) {
    nki_begin(m, NKI_I_NC_FIND_INDEX8);
    struct nki_use u[3] = {
        {.name = "dst", .view = dst, .write = true}, {.name = "data", .view = data}, {.name = "vals", .view = vals}};
    if (!nki_check(m, u, 3) || !need_eight(m, u, 1, 2) || !nki_need_free(m, &u[0], 8, "8 positions") ||
        !nki_check_initialised(m, u, 3))
        return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 3, &e);
    if (!r) return false;
    int64_t n = nki_view_free_size(data);
    r->elements = (uint32_t)n;
    if (!m->execute) return true;
    struct nki_lane in, want, out;
    if (!nki_lane_open(m, &in, data, false) || !nki_lane_open(m, &want, vals, false) ||
        !nki_lane_open(m, &out, dst, true))
        return false;
    double *buffer = nki_scratch(m, (size_t)n * sizeof *buffer);
    if (!buffer) return false;
    int64_t absent = nki_dtype_size(dst->dtype) == 2 ? 0xffff : 0xffffffff;
    for (int64_t p = 0; p < in.parts; p++) {
        double keep[8];
        const double *x = nki_lane_f64(&in, p, 0, n, buffer), *v = nki_lane_f64(&want, p, 0, 8, keep);
        int64_t found[8];
        for (int k = 0; k < 8; k++) { // equal values take successive positions
            int64_t from = 0;
            for (int q = 0; q < k; q++)
                if (v[q] == v[k] && found[q] != absent) from = found[q] + 1;
            while (from < n && x[from] != v[k]) from++;
            found[k] = from < n ? from : absent;
        }
        nki_lane_put_i64(&out, p, 0, 8, found);
    }
    nki_lane_close(m, &in, false);
    nki_lane_close(m, &want, false);
    return nki_lane_close(m, &out, true);
}

bool nki_match_replace8(struct nki_machine *m, const struct nki_view *dst, const struct nki_view *data,
                        const struct nki_view *vals, double imm, const struct nki_view *dst_idx) {
    nki_begin(m, NKI_I_NC_MATCH_REPLACE8);
    struct nki_use u[4] = {{.name = "dst", .view = dst, .write = true},
                           {.name = "data", .view = data},
                           {.name = "vals", .view = vals},
                           {.name = "dst_idx", .view = dst_idx, .write = true}};
    if (!nki_check(m, u, 4) || !need_eight(m, u, 1, 2) || !nki_need_same_size(m, &u[1], &u[0])) return false;
    if (dst_idx && (!nki_need_partitions(m, &u[1], &u[3]) || !nki_need_free(m, &u[3], 8, "8 positions"))) return false;
    if (!nki_check_initialised(m, u, 3)) return false;
    struct nki_effect e = {.moves = true};
    struct nki_instruction *r = nki_commit(m, NKI_ENGINE_VECTOR, u, 4, &e);
    if (!r) return false;
    int64_t n = nki_view_free_size(data);
    r->elements = (uint32_t)n;
    if (!m->execute) return true;
    struct nki_lane in, want, out, at;
    if (!nki_lane_open(m, &in, data, false) || (nki_overlap(dst, data) && !nki_lane_detach(m, &in)) ||
        !nki_lane_open(m, &want, vals, false) || !nki_lane_open(m, &out, dst, true) ||
        (dst_idx && !nki_lane_open(m, &at, dst_idx, true)))
        return false;
    double *buffer = nki_scratch(m, (size_t)n * 2 * sizeof *buffer);
    if (!buffer) return false;
    double *z = buffer + n;
    int64_t absent = dst_idx && nki_dtype_size(dst_idx->dtype) == 2 ? 0xffff : 0xffffffff;
    for (int64_t p = 0; p < in.parts; p++) {
        double keep[8];
        const double *x = nki_lane_f64(&in, p, 0, n, buffer), *v = nki_lane_f64(&want, p, 0, 8, keep);
        memcpy(z, x, (size_t)n * sizeof *z);
        int64_t found[8];
        for (int k = 7; k >= 0; k--) { // last value first: of equal values the last takes the first position
            int64_t from = 0;
            for (int q = 7; q > k; q--)
                if (v[q] == v[k] && found[q] != absent) from = found[q] + 1;
            while (from < n && x[from] != v[k]) from++;
            found[k] = from < n ? from : absent;
            if (from < n) z[from] = imm;
        }
        nki_lane_put_f64(&out, p, 0, n, z);
        if (dst_idx) nki_lane_put_i64(&at, p, 0, 8, found);
    }
    nki_lane_close(m, &in, false);
    nki_lane_close(m, &want, false);
    nki_lane_close(m, &out, true);
    return !dst_idx || nki_lane_close(m, &at, true);
}
