// SPDX-License-Identifier: MIT
#include "array/random.h"

#include <math.h>
#include <string.h>

#include "array/convert.h"

static const char *const names[] = {"normal",       "uniform", "all_equal",  "large",        "tiny",
                                    "signed_zeros", "outlier", "integers",   "cancellation", "nan_row",
                                    "inf_row",      "hot_row", "hot_column", "extremes"};
_Static_assert(sizeof names / sizeof *names == RANDOM_COUNT, "a name for every distribution");

enum random_dist random_parse(const char *name) {
    int i = 0;
    while (i < RANDOM_COUNT && strcmp(names[i], name) != 0) i++;
    return (enum random_dist)i;
}

// Philox 4x32-10 (Salmon et al., SC 2011): counter (counter, stream), key seed.
void random_bits(uint64_t seed, uint32_t stream, uint64_t counter, uint32_t out[4]) {
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = stream, c3 = 0;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

enum { BLOCK = 1024, STREAM_ELEMENT = 0, STREAM_SINGLE = 1 };

static double unit(uint32_t high, uint32_t low) { return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53; }

// Two independent uniforms per element: u in [0, 1), v in (0, 1].
static void uniforms(uint64_t seed, uint32_t stream, uint64_t first, size_t n, double *u, double *v) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits[4];
        random_bits(seed, stream, first + i, bits);
        u[i] = unit(bits[0], bits[1]);
        v[i] = 1 - unit(bits[2], bits[3]);
    }
}

// Box-Muller with the row kernels, whose results do not depend on the machine. Overwrites v.
static void normals(size_t n, double *u, double *v) {
    const struct kernels *k = kernels();
    k->unary[ROW_F64][UNARY_LOG](n, v, v);
    for (size_t i = 0; i < n; i++) {
        v[i] = -2 * v[i];
        u[i] = 6.2831853071795865 * u[i];
    }
    k->unary[ROW_F64][UNARY_SQRT](n, v, v);
    k->unary[ROW_F64][UNARY_COS](n, u, u);
    k->binary[ROW_F64][BINARY_MULTIPLY](n, u, u, 1, v, 1);
}

static double clamp_to(const struct dtype_info *info, double x) {
    return x > info->max ? info->max : x < info->min ? info->min : x;
}

static double extreme(const struct dtype_info *info, double u) {
    int pick = (int)(u * 12);
    double sign = pick & 1 ? -1 : 1;
    if (!info->is_float) {
        const double values[6] = {info->max, info->min, 0, 1, info->is_signed ? -1 : 2, info->max - 1};
        return values[pick / 2];
    }
    const double values[6] = {
        info->max,    ldexp(1, info->min_exponent), ldexp(1, info->min_exponent - info->mantissa_bits), 0, 1,
        info->max / 2};
    return sign * values[pick / 2];
}

// What an element is, from its uniforms and (for most) a normal deviate z.
static double element(const struct random_request *r, const struct dtype_info *info, double u, double v, double z,
                      double peak) {
    double sign = v > 0.5 ? 1 : -1;
    switch (r->dist) {
    case RANDOM_UNIFORM: return r->low + u * (r->high - r->low);
    case RANDOM_LARGE: return sign * (0.5 + 0.5 * u) * (r->scale_given ? r->scale : fmin(1e4, info->max / 4));
    case RANDOM_SIGNED_ZEROS: return sign * 0.0;
    case RANDOM_INTEGERS: return floor(r->low + u * (r->high - r->low + 1));
    case RANDOM_EXTREMES: return extreme(info, u);
    case RANDOM_TINY: {
        double span = info->mantissa_bits + 1;
        return sign *
               ldexp(1 + (u * span - floor(u * span)), info->min_exponent - info->mantissa_bits + (int)(u * span));
    }
    case RANDOM_ALL_EQUAL: return peak;
    default: return r->mean + r->scale * z;
    }
}

static int64_t pick(const struct random_request *r, int64_t count) {
    uint32_t bits[4];
    random_bits(r->seed, STREAM_SINGLE, 0, bits);
    return count > 0 ? (int64_t)(unit(bits[0], bits[1]) * (double)count) : -1;
}

static int64_t single_out(const struct random_request *r, int64_t size, int64_t columns) {
    switch (r->dist) {
    case RANDOM_OUTLIER: return pick(r, size);
    case RANDOM_NAN_ROW:
    case RANDOM_INF_ROW:
    case RANDOM_HOT_ROW: return pick(r, size / columns);
    case RANDOM_HOT_COLUMN: return pick(r, columns);
    default: return -1;
    }
}

static double adjust(const struct random_request *r, const struct dtype_info *info, double x, int64_t i,
                     int64_t columns, int64_t special) {
    switch (r->dist) {
    case RANDOM_OUTLIER: return i == special ? clamp_to(info, 1e4) : x;
    case RANDOM_NAN_ROW: return i / columns == special ? NAN : x;
    case RANDOM_INF_ROW: return i / columns == special ? INFINITY : x;
    case RANDOM_HOT_ROW: return i / columns == special ? clamp_to(info, x * 1e4) : x;
    case RANDOM_HOT_COLUMN: return i % columns == special ? clamp_to(info, x * 1e4) : x;
    default: return x;
    }
}

void random_fill(struct array *a, const struct random_request *request, int64_t *special) {
    struct random_request r = *request;
    const struct dtype_info *info = &dtype_table[a->dtype];
    const int64_t columns = a->ndim && a->shape[a->ndim - 1] ? a->shape[a->ndim - 1] : 1;
    double u[BLOCK], v[BLOCK], z[BLOCK], w[BLOCK], peak;
    unsigned char *to = array_data(a);
    const size_t size = dtype_size(a->dtype);
    if (!r.range_given) {
        bool whole = r.dist == RANDOM_INTEGERS;
        r.low = whole ? (info->is_signed ? -8 : 0) : info->is_float ? 0 : info->is_signed ? -100 : 0;
        r.high = whole ? 8 : info->is_float ? 1 : 101;
        if (a->dtype == DTYPE_BOOL) r.high = whole ? 1 : 2;
    }
    uniforms(r.seed, STREAM_SINGLE, 1, 1, u, v);
    normals(1, u, v);
    peak = r.mean + r.scale * u[0];
    *special = single_out(&r, a->size, columns);
    for (int64_t start = 0; start < a->size; start += BLOCK) {
        size_t n = (size_t)(a->size - start < BLOCK ? a->size - start : BLOCK);
        uniforms(r.seed, STREAM_ELEMENT, (uint64_t)start, n, u, v);
        memcpy(z, u, n * sizeof *z);
        memcpy(w, v, n * sizeof *w);
        normals(n, z, w);
        for (size_t i = 0; i < n; i++) {
            int64_t at = start + (int64_t)i;
            double x = element(&r, info, u[i], v[i], z[i], peak);
            if (r.dist == RANDOM_CANCELLATION && at % columns % 2 == 1 && at > 0) {
                // the deviate of the element before, negated and nudged
                double pu, pv;
                uniforms(r.seed, STREAM_ELEMENT, (uint64_t)at - 1, 1, &pu, &pv);
                normals(1, &pu, &pv);
                x = -(r.mean + r.scale * pu) * (1 + (u[i] - 0.5) * 0x1p-7);
            }
            z[i] = adjust(&r, info, x, at, columns, *special);
        }
        // Integer types take the nearest integer within their range.
        chip_scatter_f64(n, a->dtype, to + (size_t)start * size, (ptrdiff_t)size, z);
    }
}
