// SPDX-License-Identifier: MIT
#include "array/convert.h"

#include <stdlib.h>

#include "array/bits.h"

enum { BLOCK = 512 };

#define COPY_STRIDED(T)                                                                                                \
    for (size_t i = 0; i < n; i++, d += dst_stride, s += src_stride) {                                                 \
        T v;                                                                                                           \
        memcpy(&v, s, sizeof v);                                                                                       \
        memcpy(d, &v, sizeof v);                                                                                       \
    }

void copy_strided(size_t n, size_t size, void *dst, ptrdiff_t dst_stride, const void *src, ptrdiff_t src_stride) {
    unsigned char *d = dst;
    const unsigned char *s = src;
    if (n == 0) return;
    if (dst_stride == (ptrdiff_t)size && src_stride == (ptrdiff_t)size) {
        memcpy(dst, src, n * size);
        return;
    }
    switch (size) {
    case 1: COPY_STRIDED(uint8_t) break;
    case 2: COPY_STRIDED(uint16_t) break;
    case 4: COPY_STRIDED(uint32_t) break;
    default: COPY_STRIDED(uint64_t) break;
    }
}

// Integer to integer: the source's sign decides the extension, the destination only its width.
#define INTEGERS(S, D)                                                                                                 \
    {                                                                                                                  \
        const S *s = src;                                                                                              \
        D *d = dst;                                                                                                    \
        for (size_t i = 0; i < n; i++) d[i] = (D)s[i];                                                                 \
        return;                                                                                                        \
    }
#define INTEGERS_FROM(S)                                                                                               \
    switch (dtype_size(dst_type)) {                                                                                    \
    case 1: INTEGERS(S, uint8_t)                                                                                       \
    case 2: INTEGERS(S, uint16_t)                                                                                      \
    case 4: INTEGERS(S, uint32_t)                                                                                      \
    default: INTEGERS(S, uint64_t)                                                                                     \
    }
#define TRUTH(S)                                                                                                       \
    {                                                                                                                  \
        const S *s = src;                                                                                              \
        uint8_t *d = dst;                                                                                              \
        for (size_t i = 0; i < n; i++) d[i] = s[i] != 0;                                                               \
        return;                                                                                                        \
    }

static void convert_integers(size_t n, enum dtype dst_type, void *dst, enum dtype src_type, const void *src) {
    if (dst_type == DTYPE_BOOL) {
        switch (dtype_size(src_type)) {
        case 1: TRUTH(uint8_t)
        case 2: TRUTH(uint16_t)
        case 4: TRUTH(uint32_t)
        default: TRUTH(uint64_t)
        }
    }
    switch (src_type) {
    case DTYPE_INT8: INTEGERS_FROM(int8_t)
    case DTYPE_INT16: INTEGERS_FROM(int16_t)
    case DTYPE_INT32: INTEGERS_FROM(int32_t)
    case DTYPE_UINT16: INTEGERS_FROM(uint16_t)
    case DTYPE_UINT32: INTEGERS_FROM(uint32_t)
    case DTYPE_INT64: INTEGERS_FROM(int64_t)
    default: INTEGERS_FROM(uint8_t)
    }
}

// Contiguous both sides.
static void convert_contiguous(size_t n, enum dtype dst_type, void *dst, enum dtype src_type, const void *src) {
    const struct kernels *k = kernels();
    if (dst_type == src_type) {
        memcpy(dst, src, n * dtype_size(dst_type));
    } else if (!dtype_is_float(dst_type) && !dtype_is_float(src_type)) {
        convert_integers(n, dst_type, dst, src_type, src);
    } else if (dst_type == DTYPE_FLOAT64) {
        k->to_f64[src_type](n, dst, src);
    } else if (src_type == DTYPE_FLOAT64) {
        k->from_f64[dst_type](n, dst, src);
    } else if (dst_type == DTYPE_FLOAT32) {
        k->to_f32[src_type](n, dst, src);
    } else if (src_type == DTYPE_FLOAT32 || src_type == DTYPE_TFLOAT32) {
        k->from_f32[dst_type](n, dst, src);
    } else {
        float middle[BLOCK];
        unsigned char *d = dst;
        const unsigned char *s = src;
        for (size_t i = 0; i < n; i += BLOCK) {
            size_t count = n - i < BLOCK ? n - i : BLOCK;
            k->to_f32[src_type](count, middle, s + i * dtype_size(src_type));
            k->from_f32[dst_type](count, d + i * dtype_size(dst_type), middle);
        }
    }
}

void convert_row(size_t n, enum dtype dst_type, void *dst, ptrdiff_t dst_stride, enum dtype src_type, const void *src,
                 ptrdiff_t src_stride) {
    size_t dst_size = dtype_size(dst_type), src_size = dtype_size(src_type);
    bool dst_dense = dst_stride == (ptrdiff_t)dst_size, src_dense = src_stride == (ptrdiff_t)src_size;
    if (n == 0) return;
    if (dst_type == src_type) {
        copy_strided(n, dst_size, dst, dst_stride, src, src_stride);
        return;
    }
    if (dst_dense && src_dense) {
        convert_contiguous(n, dst_type, dst, src_type, src);
        return;
    }
    if (n == 1) {
        convert_contiguous(1, dst_type, dst, src_type, src);
        return;
    }
    uint64_t from[BLOCK], to[BLOCK];
    unsigned char *d = dst;
    const unsigned char *s = src;
    if (src_stride == 0) { // one value: convert once
        convert_contiguous(1, dst_type, to, src_type, src);
        copy_strided(n, dst_size, dst, dst_stride, to, 0);
        return;
    }
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t count = n - i < BLOCK ? n - i : BLOCK;
        const void *in = s;
        if (!src_dense) {
            copy_strided(count, src_size, from, (ptrdiff_t)src_size, s, src_stride);
            in = from;
        }
        if (dst_dense) {
            convert_contiguous(count, dst_type, d, src_type, in);
        } else {
            convert_contiguous(count, dst_type, to, src_type, in);
            copy_strided(count, dst_size, d, dst_stride, to, (ptrdiff_t)dst_size);
        }
        d += (ptrdiff_t)count * dst_stride;
        s += (ptrdiff_t)count * src_stride;
    }
}

// Two-dimensional piece whose source runs fast along the other axis: in square tiles, so that each cache line that is
// fetched serves several rows.
static void convert_tiled(int64_t rows, int64_t columns, enum dtype dst_type, unsigned char *dst, int64_t dst_row,
                          int64_t dst_column, enum dtype src_type, const unsigned char *src, int64_t src_row,
                          int64_t src_column) {
    enum { TILE = 32 };
    for (int64_t r = 0; r < rows; r += TILE) {
        int64_t r_count = rows - r < TILE ? rows - r : TILE;
        for (int64_t c = 0; c < columns; c += TILE) {
            int64_t c_count = columns - c < TILE ? columns - c : TILE;
            for (int64_t i = 0; i < r_count; i++)
                convert_row((size_t)c_count, dst_type, dst + (r + i) * dst_row + c * dst_column, dst_column, src_type,
                            src + (r + i) * src_row + c * src_column, src_column);
        }
    }
}

void convert_nd(int ndim, const int64_t *shape, enum dtype dst_type, void *dst, const int64_t *dst_strides,
                enum dtype src_type, const void *src, const int64_t *src_strides) {
    int64_t size[CONVERT_MAX_DIMS], ds[CONVERT_MAX_DIMS], ss[CONVERT_MAX_DIMS];
    int dims = 0;
    // Drop axes of length 1 and join neighbours that both sides walk evenly.
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 0) return;
        if (shape[i] == 1) continue;
        if (dims && ds[dims - 1] == dst_strides[i] * shape[i] && ss[dims - 1] == src_strides[i] * shape[i]) {
            size[dims - 1] *= shape[i];
            ds[dims - 1] = dst_strides[i];
            ss[dims - 1] = src_strides[i];
        } else {
            size[dims] = shape[i];
            ds[dims] = dst_strides[i];
            ss[dims] = src_strides[i];
            dims++;
        }
    }
    if (dims == 0) {
        convert_row(1, dst_type, dst, 0, src_type, src, 0);
        return;
    }
    // The axis along which the source is dense goes next to last where the last one is not.
    bool tiled = false;
    int64_t last = llabs(ss[dims - 1]);
    if (dims >= 2 && last >= 64 && size[dims - 1] >= 8) {
        for (int i = 0; i < dims - 1; i++) {
            if (ss[i] == 0 || llabs(ss[i]) >= last || llabs(ss[i]) > 8 || size[i] < 8) continue;
            int64_t n = size[i], d = ds[i], s = ss[i];
            for (int j = i; j < dims - 2; j++) {
                size[j] = size[j + 1];
                ds[j] = ds[j + 1];
                ss[j] = ss[j + 1];
            }
            size[dims - 2] = n;
            ds[dims - 2] = d;
            ss[dims - 2] = s;
            tiled = true;
            break;
        }
    }
    int inner = tiled ? 2 : 1, outer = dims - inner;
    int64_t index[CONVERT_MAX_DIMS] = {0};
    unsigned char *d = dst;
    const unsigned char *s = src;
    for (;;) {
        if (tiled)
            convert_tiled(size[dims - 2], size[dims - 1], dst_type, d, ds[dims - 2], ds[dims - 1], src_type, s,
                          ss[dims - 2], ss[dims - 1]);
        else
            convert_row((size_t)size[dims - 1], dst_type, d, ds[dims - 1], src_type, s, ss[dims - 1]);
        int axis = outer - 1;
        for (; axis >= 0; axis--) {
            d += ds[axis];
            s += ss[axis];
            if (++index[axis] < size[axis]) break;
            d -= ds[axis] * size[axis];
            s -= ss[axis] * size[axis];
            index[axis] = 0;
        }
        if (axis < 0) return;
    }
}

static void dense_strides(int ndim, const int64_t *shape, int64_t size, int64_t *strides) {
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = size;
        size *= shape[i];
    }
}

void gather_nd_f32(int ndim, const int64_t *shape, float *dst, enum dtype type, const void *src,
                   const int64_t *strides) {
    int64_t dense[CONVERT_MAX_DIMS];
    dense_strides(ndim, shape, 4, dense);
    convert_nd(ndim, shape, DTYPE_FLOAT32, dst, dense, type, src, strides);
}

void gather_nd_f64(int ndim, const int64_t *shape, double *dst, enum dtype type, const void *src,
                   const int64_t *strides) {
    int64_t dense[CONVERT_MAX_DIMS];
    dense_strides(ndim, shape, 8, dense);
    convert_nd(ndim, shape, DTYPE_FLOAT64, dst, dense, type, src, strides);
}

void scatter_nd_f32(int ndim, const int64_t *shape, enum dtype type, void *dst, const int64_t *strides,
                    const float *src) {
    int64_t dense[CONVERT_MAX_DIMS];
    dense_strides(ndim, shape, 4, dense);
    convert_nd(ndim, shape, type, dst, strides, DTYPE_FLOAT32, src, dense);
}

void scatter_nd_f64(int ndim, const int64_t *shape, enum dtype type, void *dst, const int64_t *strides,
                    const double *src) {
    int64_t dense[CONVERT_MAX_DIMS];
    dense_strides(ndim, shape, 8, dense);
    convert_nd(ndim, shape, type, dst, strides, DTYPE_FLOAT64, src, dense);
}

// Rounded and clamped first, so that the plain conversion that follows is exact. The largest float32 not above the
// maximum of a 32-bit type is not that maximum, hence float64 for those.
void chip_scatter_f64(size_t n, enum dtype type, void *dst, ptrdiff_t stride, const double *src) {
    if (!dtype_is_integer(type)) {
        scatter_f64(n, type, dst, stride, src);
        return;
    }
    const struct dtype_info *info = &dtype_table[type];
    unsigned char *d = dst;
    if (type == DTYPE_INT64) {
        for (size_t i = 0; i < n; i++, d += stride) dtype_store_int(type, d, dtype_round_saturate(type, src[i]));
        return;
    }
    double rounded[BLOCK];
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t count = n - i < BLOCK ? n - i : BLOCK;
        kernels()->unary[ROW_F64][UNARY_ROUND](count, rounded, src + i);
        for (size_t j = 0; j < count; j++) {
            double x = rounded[j];
            x = x > info->max ? info->max : x;
            x = x < info->min ? info->min : x;
            rounded[j] = x == x ? x : 0;
        }
        scatter_f64(count, type, d, stride, rounded);
        d += (ptrdiff_t)count * stride;
    }
}

void chip_scatter_f32(size_t n, enum dtype type, void *dst, ptrdiff_t stride, const float *src) {
    if (!dtype_is_integer(type)) {
        scatter_f32(n, type, dst, stride, src);
        return;
    }
    double wide[BLOCK];
    unsigned char *d = dst;
    for (size_t i = 0; i < n; i += BLOCK) {
        size_t count = n - i < BLOCK ? n - i : BLOCK;
        kernels()->to_f64[DTYPE_FLOAT32](count, wide, src + i);
        chip_scatter_f64(count, type, d, stride, wide);
        d += (ptrdiff_t)count * stride;
    }
}
