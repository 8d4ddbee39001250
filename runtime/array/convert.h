// SPDX-License-Identifier: MIT
// convert.h: moving elements between strided memory of any element type and contiguous rows. Strides are in bytes and
// may be zero or negative; source and destination must not overlap. Values convert as dtype_load and dtype_store do;
// equal types are copied bit by bit. Nothing allocates, nothing fails.
#ifndef NKILN_ARRAY_CONVERT_H
#define NKILN_ARRAY_CONVERT_H

#include "array/dtype.h"
#include "array/kernels.h"

#define CONVERT_MAX_DIMS 8

// n elements, one stride each side.
void convert_row(size_t n, enum dtype dst_type, void *dst, ptrdiff_t dst_stride, enum dtype src_type, const void *src,
                 ptrdiff_t src_stride);

// The same over a shape of up to 8 dimensions, row-major; either side's strides may describe any layout.
void convert_nd(int ndim, const int64_t *shape, enum dtype dst_type, void *dst, const int64_t *dst_strides,
                enum dtype src_type, const void *src, const int64_t *src_strides);

// A strided row or block into a contiguous buffer of float32 or float64, and back.
static inline void gather_f32(size_t n, float *dst, enum dtype type, const void *src, ptrdiff_t stride) {
    if (stride == (ptrdiff_t)dtype_size(type))
        kernels()->to_f32[type](n, dst, src);
    else
        convert_row(n, DTYPE_FLOAT32, dst, 4, type, src, stride);
}
static inline void gather_f64(size_t n, double *dst, enum dtype type, const void *src, ptrdiff_t stride) {
    if (stride == (ptrdiff_t)dtype_size(type))
        kernels()->to_f64[type](n, dst, src);
    else
        convert_row(n, DTYPE_FLOAT64, dst, 8, type, src, stride);
}
static inline void scatter_f32(size_t n, enum dtype type, void *dst, ptrdiff_t stride, const float *src) {
    if (stride == (ptrdiff_t)dtype_size(type))
        kernels()->from_f32[type](n, dst, src);
    else
        convert_row(n, type, dst, stride, DTYPE_FLOAT32, src, 4);
}
static inline void scatter_f64(size_t n, enum dtype type, void *dst, ptrdiff_t stride, const double *src) {
    if (stride == (ptrdiff_t)dtype_size(type))
        kernels()->from_f64[type](n, dst, src);
    else
        convert_row(n, type, dst, stride, DTYPE_FLOAT64, src, 8);
}
void gather_nd_f32(int ndim, const int64_t *shape, float *dst, enum dtype type, const void *src,
                   const int64_t *strides);
void gather_nd_f64(int ndim, const int64_t *shape, double *dst, enum dtype type, const void *src,
                   const int64_t *strides);
void scatter_nd_f32(int ndim, const int64_t *shape, enum dtype type, void *dst, const int64_t *strides,
                    const float *src);
void scatter_nd_f64(int ndim, const int64_t *shape, enum dtype type, void *dst, const int64_t *strides,
                    const double *src);

// The chip's float to integer conversion (nearest even, saturating, NaN to 0) where type is an integer type, and plain
// conversion otherwise.
void chip_scatter_f32(size_t n, enum dtype type, void *dst, ptrdiff_t stride, const float *src);
void chip_scatter_f64(size_t n, enum dtype type, void *dst, ptrdiff_t stride, const double *src);

// Elements of `size` bytes (1, 2, 4, 8) moved without conversion.
void copy_strided(size_t n, size_t size, void *dst, ptrdiff_t dst_stride, const void *src, ptrdiff_t src_stride);

#endif
