// SPDX-License-Identifier: MIT
#include "array/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array/walk.h"

static bool same_shape(const char *what, const struct array *a, const struct array *b, struct array_error *err) {
    char x[192], y[192];
    bool same = a->ndim == b->ndim;
    for (int i = 0; same && i < a->ndim; i++) same = a->shape[i] == b->shape[i];
    if (same) return true;
    return array_fail(err, ARRAY_WRONG_USE, "%s: shapes %s and %s differ", what,
                      array_format_shape(x, a->ndim, a->shape), array_format_shape(y, b->ndim, b->shape));
}

static double ratio(double error, double size) { return error == 0 ? 0 : size == 0 ? INFINITY : error / size; }
static double relative_l2(double error2, double expected2) { return sqrt(ratio(error2, expected2)); }

// Spacing of a format at |x|, from x's own binade.
static double spacing(const struct dtype_info *info, double x) {
    int e = (int)(bits_of_f64(x) >> 52 & 0x7ff) - 1023;
    if (!info->is_float) return 1;
    if (e < info->min_exponent) e = info->min_exponent;
    return ldexp(1, e - info->mantissa_bits);
}

static int ulp_bin(double ulps) {
    static const double edges[COMPARE_ULP_BINS - 1] = {0, 0.5, 1, 2, 4, 8, 64};
    int i = 0;
    while (i < COMPARE_ULP_BINS - 1 && ulps > edges[i]) i++;
    return i;
}

// Sums of squares of errors and of expected values over one row or tile.
struct squares {
    double error, expected;
};

struct layout {
    int64_t columns, rows, tile_rows, tile_columns, tiles_down, tiles_across;
};

static void one(struct compare_result *r, const struct compare_options *o, const struct dtype_info *info, int64_t index,
                double x, double y, double bound, double *error2, double *expected2) {
    if (!isfinite(x) || !isfinite(y)) {
        r->nonfinite_actual += !isfinite(x);
        r->nonfinite_expected += !isfinite(y);
        if (x == y || (isnan(x) && isnan(y))) return;
        if (r->mismatches++ == 0) r->first_mismatch = index;
        r->differing++;
        return;
    }
    double e = fabs(x - y), size = fabs(y);
    r->compared++;
    *error2 = e * e;
    *expected2 = y * y;
    if (size > r->max_expected) r->max_expected = size;
    if (e > r->max_abs || r->max_abs_index < 0) {
        r->max_abs = e;
        r->max_abs_index = index;
        r->actual_at_worst = x;
        r->expected_at_worst = y;
    }
    if (e == 0) {
        r->ulp_bins[0]++;
        return;
    }
    r->differing++;
    r->mean_error += x - y;
    double rel = ratio(e, size), ulps = e / spacing(info, y);
    if (rel > r->max_rel) {
        r->max_rel = rel;
        r->max_rel_index = index;
    }
    if (ulps > r->max_ulp) {
        r->max_ulp = ulps;
        r->max_ulp_index = index;
    }
    r->ulp_bins[ulp_bin(ulps)]++;
    if (!o->bound) return;
    double q = ratio(e, bound);
    if (!(q <= 1)) r->over_bound++;
    if (q > r->worst_ratio || isnan(q)) {
        r->worst_ratio = isnan(q) ? INFINITY : q;
        r->worst_ratio_index = index;
    }
}

static void start_result(struct compare_result *r, int64_t count) {
    memset(r, 0, sizeof *r);
    r->count = count;
    r->max_abs_index = r->max_rel_index = r->worst_row = r->worst_ratio_index = r->first_mismatch = r->max_ulp_index =
        -1;
    r->worst_tile[0] = r->worst_tile[1] = r->worst_tile[2] = -1;
}

static void worst_of_tiles(struct compare_result *r, const struct layout *l, const struct squares *tiles,
                           int64_t count) {
    for (int64_t t = 0; t < count; t++) {
        double v = relative_l2(tiles[t].error, tiles[t].expected);
        if (v <= r->worst_tile_l2 && r->worst_tile[0] >= 0) continue;
        r->worst_tile_l2 = v;
        r->worst_tile[0] = t / (l->tiles_down * l->tiles_across);
        r->worst_tile[1] = t / l->tiles_across % l->tiles_down * l->tile_rows;
        r->worst_tile[2] = t % l->tiles_across * l->tile_columns;
    }
}

bool compare_arrays(struct compare_result *r, const struct array *actual, const struct array *expected,
                    const struct compare_options *o, struct array_error *err) {
    struct array bound = {0};
    struct layout l = {.columns = 1, .rows = 1};
    struct squares *tiles = NULL, row = {0}, all = {0};
    double dot = 0, actual2 = 0;
    int64_t tile_count = 0;
    if (!same_shape("errors", actual, expected, err)) return false;
    if (o->bound && !array_view_broadcast(&bound, o->bound, actual->ndim, actual->shape, err)) return false;
    start_result(r, actual->size);
    if (actual->ndim >= 1) l.columns = actual->shape[actual->ndim - 1];
    if (actual->ndim >= 2) l.rows = actual->shape[actual->ndim - 2];
    if (o->tile_rows > 0 && o->tile_columns > 0 && actual->size) {
        l.tile_rows = o->tile_rows;
        l.tile_columns = o->tile_columns;
        l.tiles_down = (l.rows - 1) / l.tile_rows + 1;
        l.tiles_across = (l.columns - 1) / l.tile_columns + 1;
        tile_count = actual->size / (l.rows * l.columns) * l.tiles_down * l.tiles_across;
        tiles = calloc((size_t)tile_count, sizeof *tiles);
        if (!tiles) {
            array_close(&bound);
            return array_fail(err, ARRAY_NO_MEMORY, "errors: out of memory");
        }
    }
    const struct dtype_info *info = &dtype_table[o->ulp_dtype == DTYPE_COUNT ? actual->dtype : o->ulp_dtype];
    struct walk w;
    walk_shape(&w, actual->ndim, actual->shape);
    walk_add(&w, array_data(actual), actual->dtype, actual->strides, DTYPE_FLOAT64);
    walk_add(&w, array_data(expected), expected->dtype, expected->strides, DTYPE_FLOAT64);
    if (o->bound) walk_add(&w, array_data(&bound), bound.dtype, bound.strides, DTYPE_FLOAT64);
    walk_start(&w);
    int64_t column = 0, row_index = 0;
    while (walk_next(&w)) {
        const double *x = w.row[0], *y = w.row[1], *b = o->bound ? w.row[2] : NULL;
        for (size_t i = 0; i < w.count; i++) {
            double e2 = 0, y2 = 0, xi = x[i * w.step[0]], yi = y[i * w.step[1]];
            one(r, o, info, w.start + (int64_t)i, xi, yi, b ? b[i * w.step[2]] : 0, &e2, &y2);
            if (isfinite(xi) && isfinite(yi)) {
                dot += xi * yi;
                actual2 += xi * xi;
            }
            row.error += e2;
            row.expected += y2;
            if (tiles) {
                int64_t t = (row_index / l.rows * l.tiles_down + row_index % l.rows / l.tile_rows) * l.tiles_across +
                            column / l.tile_columns;
                tiles[t].error += e2;
                tiles[t].expected += y2;
            }
            if (++column < l.columns) continue;
            double v = relative_l2(row.error, row.expected);
            if (v > r->worst_row_l2 || r->worst_row < 0) {
                r->worst_row_l2 = v;
                r->worst_row = row_index;
            }
            all.error += row.error;
            all.expected += row.expected;
            row = (struct squares){0};
            column = 0;
            row_index++;
        }
    }
    r->rel_l2 = relative_l2(all.error, all.expected);
    r->mean_error = r->compared ? r->mean_error / (double)r->compared : 0;
    r->cosine = actual2 > 0 && all.expected > 0 ? dot / (sqrt(actual2) * sqrt(all.expected)) : actual2 == all.expected;
    worst_of_tiles(r, &l, tiles, tile_count);
    free(tiles);
    array_close(&bound);
    return true;
}

bool compare_along(struct array *out, const struct array *actual, const struct array *expected, int axis, bool rows,
                   struct array_error *err) {
    char text[192];
    if (!same_shape("errors", actual, expected, err)) return false;
    int64_t shape[ARRAY_MAX_DIMS], inner = 1, length = 1;
    int ndim = rows ? (actual->ndim ? actual->ndim - 1 : 0) : 1;
    memcpy(shape, actual->shape, sizeof shape);
    if (!rows) {
        if (axis < 0) axis += actual->ndim;
        if (axis < 0 || axis >= actual->ndim)
            return array_fail(err, ARRAY_WRONG_USE, "errors: no such axis in shape %s",
                              array_format_shape(text, actual->ndim, actual->shape));
        length = shape[0] = actual->shape[axis];
        for (int i = axis + 1; i < actual->ndim; i++) inner *= actual->shape[i];
    } else {
        if (actual->ndim) inner = actual->shape[actual->ndim - 1];
        for (int i = 0; i < ndim; i++) length *= shape[i];
    }
    if (!array_create(out, actual->storage->account, DTYPE_FLOAT64, ndim, shape, err)) return false;
    struct squares *sums = calloc((size_t)length + 1, sizeof *sums);
    if (!sums) {
        array_close(out);
        return array_fail(err, ARRAY_NO_MEMORY, "errors: out of memory");
    }
    struct walk w;
    walk_shape(&w, actual->ndim, actual->shape);
    walk_add(&w, array_data(actual), actual->dtype, actual->strides, DTYPE_FLOAT64);
    walk_add(&w, array_data(expected), expected->dtype, expected->strides, DTYPE_FLOAT64);
    walk_start(&w);
    while (walk_next(&w)) {
        const double *x = w.row[0], *y = w.row[1];
        for (size_t i = 0; i < w.count; i++) {
            double xi = x[i * w.step[0]], yi = y[i * w.step[1]];
            struct squares *s = &sums[(w.start + (int64_t)i) / inner % length];
            if (isfinite(xi) && isfinite(yi)) {
                s->error += (xi - yi) * (xi - yi);
                s->expected += yi * yi;
            } else if (!(xi == yi || (isnan(xi) && isnan(yi)))) {
                s->error = INFINITY;
            }
        }
    }
    double *to = (double *)array_data(out);
    for (int64_t i = 0; i < out->size; i++) to[i] = relative_l2(sums[i].error, sums[i].expected);
    free(sums);
    return true;
}

struct moments {
    double xx, yy, xy, x, y, n;
};

static void moments_of(struct moments *m, const struct array *actual, const struct array *expected) {
    struct walk w;
    memset(m, 0, sizeof *m);
    walk_shape(&w, actual->ndim, actual->shape);
    walk_add(&w, array_data(actual), actual->dtype, actual->strides, DTYPE_FLOAT64);
    walk_add(&w, array_data(expected), expected->dtype, expected->strides, DTYPE_FLOAT64);
    walk_start(&w);
    while (walk_next(&w)) {
        const double *x = w.row[0], *y = w.row[1];
        for (size_t i = 0; i < w.count; i++) {
            double xi = x[i * w.step[0]], yi = y[i * w.step[1]];
            if (!isfinite(xi) || !isfinite(yi)) continue;
            m->xx += xi * xi;
            m->yy += yi * yi;
            m->xy += xi * yi;
            m->x += xi;
            m->y += yi;
            m->n++;
        }
    }
}

// Sum of (x - scale y - offset)^2, in a second pass: from the moments alone it would drown in cancellation.
static double residual(const struct array *actual, const struct array *expected, double scale, double offset) {
    struct walk w;
    double sum = 0;
    walk_shape(&w, actual->ndim, actual->shape);
    walk_add(&w, array_data(actual), actual->dtype, actual->strides, DTYPE_FLOAT64);
    walk_add(&w, array_data(expected), expected->dtype, expected->strides, DTYPE_FLOAT64);
    walk_start(&w);
    while (walk_next(&w)) {
        const double *x = w.row[0], *y = w.row[1];
        for (size_t i = 0; i < w.count; i++) {
            double xi = x[i * w.step[0]], yi = y[i * w.step[1]], e = xi - (scale * yi + offset);
            if (isfinite(xi) && isfinite(yi)) sum += e * e;
        }
    }
    return sum;
}

bool compare_fit(struct compare_fit *out, const struct array *actual, const struct array *expected,
                 struct array_error *err) {
    struct moments m;
    if (!same_shape("fit", actual, expected, err)) return false;
    moments_of(&m, actual, expected);
    out->scale = m.yy > 0 ? m.xy / m.yy : 0;
    out->offset = m.n > 0 ? (m.x - m.y) / m.n : 0;
    double scaled2 = m.yy * out->scale * out->scale;
    out->scale_residual = relative_l2(residual(actual, expected, out->scale, 0), scaled2);
    out->offset_residual = relative_l2(residual(actual, expected, 1, out->offset), m.yy);
    out->rel_l2 = relative_l2(residual(actual, expected, 1, 0), m.yy);
    out->cosine = m.xx > 0 && m.yy > 0 ? m.xy / (sqrt(m.xx) * sqrt(m.yy)) : m.xx == m.yy;
    return true;
}

bool compare_shift(struct compare_shift *out, const struct array *actual, const struct array *expected, int axis,
                   int64_t most, struct array_error *err) {
    char text[192];
    if (!same_shape("shift", actual, expected, err)) return false;
    if (axis < 0) axis += actual->ndim;
    if (axis < 0 || axis >= actual->ndim)
        return array_fail(err, ARRAY_WRONG_USE, "shift: no such axis in shape %s",
                          array_format_shape(text, actual->ndim, actual->shape));
    const int64_t n = actual->shape[axis];
    out->shift = 0;
    out->rel_l2 = INFINITY;
    for (int64_t k = -most; k <= most; k++) {
        int64_t size = k < 0 ? -k : k;
        if (k == 0 || size >= n) continue;
        struct array x = {0}, y = {0};
        bool ok = array_view_slice(&x, actual, axis, k > 0 ? k : 0, n - size, 1, err) &&
                  array_view_slice(&y, expected, axis, k > 0 ? 0 : -k, n - size, 1, err);
        if (ok) {
            struct moments m;
            moments_of(&m, &x, &y);
            double v = relative_l2(residual(&x, &y, 1, 0), m.yy);
            if (v < out->rel_l2 && m.n > 0) {
                out->rel_l2 = v;
                out->shift = k;
            }
        }
        array_close(&x);
        array_close(&y);
        if (!ok) return false;
    }
    return true;
}
