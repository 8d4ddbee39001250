// SPDX-License-Identifier: MIT
// compare.h: how far one array is from another, measured every way the verifier asks for in one pass, in float64.
//
// An element takes part in the error figures when both values are finite. Elsewhere the two agree if both are NaN or
// both the same infinity; otherwise they are a mismatch, counted apart. A relative error against an expected 0 is
// infinite unless the actual value is 0 too; the same holds for the rel-L2 of a row or tile whose expected values are
// all 0. Indices are row-major element indices, -1 when there is none.
#ifndef NKILN_ARRAY_COMPARE_H
#define NKILN_ARRAY_COMPARE_H

#include "array/array.h"

enum { COMPARE_ULP_BINS = 8 }; // exact, <= 0.5, <= 1, <= 2, <= 4, <= 8, <= 64, more

struct compare_options {
    const struct array *bound;       // non-negative, broadcasts to the shape; NULL: no bound
    int64_t tile_rows, tile_columns; // over the last two axes; 0: no tiles
    enum dtype ulp_dtype;            // spacing in which ulp figures are given; DTYPE_COUNT: the actual array's type
};

struct compare_result {
    int64_t count, compared; // elements; those finite in both
    double max_abs, max_rel, rel_l2, max_expected, mean_error, cosine;
    int64_t max_abs_index, max_rel_index;
    double actual_at_worst, expected_at_worst; // at max_abs_index
    int64_t differing;                         // elements whose values differ
    double worst_row_l2, worst_tile_l2;
    int64_t worst_row;     // index over the axes before the last
    int64_t worst_tile[3]; // batch (over the axes before the last two), first row, first column
    int64_t over_bound, worst_ratio_index;
    double worst_ratio; // |error| / bound; infinite where the bound is 0 and the error is not
    int64_t nonfinite_actual, nonfinite_expected, mismatches, first_mismatch;
    double max_ulp;
    int64_t max_ulp_index, ulp_bins[COMPARE_ULP_BINS];
};

bool compare_arrays(struct compare_result *out, const struct array *actual, const struct array *expected,
                    const struct compare_options *options, struct array_error *err);

// rel-L2 for each index along one axis (all other axes summed over), or for each row when rows (axis ignored): float64.
bool compare_along(struct array *out, const struct array *actual, const struct array *expected, int axis, bool rows,
                   struct array_error *err);

// Least-squares actual = scale * expected, and actual = expected + offset, with what each leaves (rel-L2).
struct compare_fit {
    double scale, scale_residual, offset, offset_residual, rel_l2, cosine;
};
bool compare_fit(struct compare_fit *out, const struct array *actual, const struct array *expected,
                 struct array_error *err);

// The shift k, 1 <= |k| <= most, with actual[i] = expected[i - k] along axis most nearly (over what overlaps).
struct compare_shift {
    int64_t shift;
    double rel_l2;
};
bool compare_shift(struct compare_shift *out, const struct array *actual, const struct array *expected, int axis,
                   int64_t most, struct array_error *err);

#endif
