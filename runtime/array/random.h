// SPDX-License-Identifier: MIT
// random.h: input data for tests and verification. Element i of an array depends on the seed, the distribution and i
// alone (Philox 4x32-10 with counter i), so the same request gives the same bits on every machine, in any order.
#ifndef NKILN_ARRAY_RANDOM_H
#define NKILN_ARRAY_RANDOM_H

#include "array/array.h"

enum random_dist {
    RANDOM_NORMAL,       // mean + scale * N(0, 1)
    RANDOM_UNIFORM,      // [low, high)
    RANDOM_ALL_EQUAL,    // one value drawn from N(0, 1) * scale, everywhere
    RANDOM_LARGE,        // +-[1/2, 1) * scale; by default 1e4, or a quarter of the type's largest value if less
    RANDOM_TINY,         // +-2^u, u uniform from the smallest subnormal to twice the smallest normal number
    RANDOM_SIGNED_ZEROS, // +0 and -0
    RANDOM_OUTLIER,      // normal, and one element of 1e4 (or the type's largest value if less)
    RANDOM_INTEGERS,     // integers of [low, high], by default [-8, 8]: products and short sums are exact
    RANDOM_CANCELLATION, // along the last axis v, -v(1 + d), with d about 2^-8: sums nearly cancel
    RANDOM_NAN_ROW,      // normal, and one row (last axis) of NaN
    RANDOM_INF_ROW,      // normal, and one row of +inf
    RANDOM_HOT_ROW,      // normal, one row times 1e4
    RANDOM_HOT_COLUMN,   // normal, one column times 1e4
    RANDOM_EXTREMES,     // largest, smallest normal and subnormal numbers, 0, 1, with either sign
    RANDOM_COUNT
};

struct random_request {
    enum random_dist dist;
    uint64_t seed;
    double scale, mean;
    double low, high; // for uniform and integers
    bool scale_given, range_given;
};

enum random_dist random_parse(const char *name);

// Fill a contiguous array. *special: the row, column or element singled out, -1 when the distribution has none.
void random_fill(struct array *a, const struct random_request *request, int64_t *special);

// 128 random bits for (seed, stream, counter).
void random_bits(uint64_t seed, uint32_t stream, uint64_t counter, uint32_t out[4]);

#endif
