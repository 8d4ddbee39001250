// SPDX-License-Identifier: MIT
// bits.h: single-value conversion between float32/float64 and the narrow formats, written without branches so that a
// compiler vectorises loops over it. Used by dtype.c and, in every variant, by the kernels. Rounding is to nearest
// even.
#ifndef NKILN_ARRAY_BITS_H
#define NKILN_ARRAY_BITS_H

#include "array/dtype.h"

// Widening. An f16 (or e5m2, its upper byte) becomes a float32 by placing the fields and multiplying by 2^112, which
// also normalises subnormals; infinities and NaN get their exponent set.
static inline float f32_of_f16(uint16_t h) {
    uint32_t magnitude = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t bits = bits_of_f32(f32_of_bits(magnitude) * 0x1p112f);
    bits |= magnitude >= 0x0f800000u ? 0x7f800000u : 0u;
    return f32_of_bits(bits | (uint32_t)(h & 0x8000u) << 16);
}
static inline float f32_of_bf16(uint16_t h) { return f32_of_bits((uint32_t)h << 16); }
static inline float f32_of_e5m2(uint8_t b) { return f32_of_f16((uint16_t)((unsigned)b << 8)); }
static inline float f32_of_e4m3(uint8_t b) {
    uint32_t magnitude = (uint32_t)(b & 0x7fu) << 20;
    uint32_t bits = bits_of_f32(f32_of_bits(magnitude) * 0x1p120f);
    bits |= magnitude >= 0x07800000u ? 0x7f800000u : 0u;
    return f32_of_bits(bits | (uint32_t)(b & 0x80u) << 24);
}
static inline float f32_of_e4m3fn(uint8_t b) {
    uint32_t magnitude = (uint32_t)(b & 0x7fu) << 20;
    uint32_t bits = bits_of_f32(f32_of_bits(magnitude) * 0x1p120f);
    bits |= magnitude == 0x07f00000u ? 0x7fc00000u : 0u;
    return f32_of_bits(bits | (uint32_t)(b & 0x80u) << 24);
}

// Narrowing to a format of `mantissa` fraction bits and exponent bias `bias`: the code (sign apart) of a finite value,
// correct below the overflow threshold. Adding `magic` lets the addition round where the result is subnormal.
static inline uint32_t narrow_code(uint32_t magnitude, unsigned mantissa, uint32_t bias, float magic) {
    unsigned shift = 23 - mantissa;
    uint32_t normal =
        (magnitude - ((127 - bias) << 23) + ((1u << (shift - 1)) - 1) + ((magnitude >> shift) & 1)) >> shift;
    uint32_t subnormal = bits_of_f32(f32_of_bits(magnitude) + magic) - bits_of_f32(magic);
    return magnitude < (128 - bias) << 23 ? subnormal : normal;
}
static inline uint16_t f16_of_f32(float x) {
    uint32_t bits = bits_of_f32(x), magnitude = bits & 0x7fffffffu;
    uint32_t code = narrow_code(magnitude, 10, 15, 0.5f);
    code = magnitude >= 0x47800000u ? 0x7c00u : code;
    code = magnitude > 0x7f800000u ? (0x7e00u | ((magnitude >> 13) & 0x3ffu)) : code;
    return (uint16_t)(code | (bits >> 16 & 0x8000u));
}
static inline uint16_t bf16_of_f32(float x) {
    uint32_t bits = bits_of_f32(x), magnitude = bits & 0x7fffffffu;
    uint32_t code = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(magnitude > 0x7f800000u ? (bits >> 16 | 0x40u) : code);
}
static inline uint8_t e5m2_of_f32(float x) {
    uint32_t bits = bits_of_f32(x), magnitude = bits & 0x7fffffffu;
    uint32_t code = narrow_code(magnitude, 2, 15, 0x1p7f);
    code = magnitude >= 0x47800000u ? 0x7cu : code;
    code = magnitude > 0x7f800000u ? 0x7eu : code;
    return (uint8_t)(code | (bits >> 24 & 0x80u));
}
static inline uint8_t e4m3_of_f32(float x) {
    uint32_t bits = bits_of_f32(x), magnitude = bits & 0x7fffffffu;
    uint32_t code = narrow_code(magnitude, 3, 7, 0x1p14f);
    code = magnitude >= 0x43800000u ? 0x78u : code; // 256 and above
    code = magnitude > 0x7f800000u ? 0x7cu : code;
    return (uint8_t)(code | (bits >> 24 & 0x80u));
}
static inline uint8_t e4m3fn_of_f32(float x) {
    uint32_t bits = bits_of_f32(x), magnitude = bits & 0x7fffffffu;
    uint32_t code = narrow_code(magnitude, 3, 7, 0x1p14f);
    code = magnitude > 0x43e80000u ? 0x7fu : code; // above 464, which ties down to 448
    return (uint8_t)(code | (bits >> 24 & 0x80u));
}
static inline float tf32_of_f32(float x) {
    uint32_t bits = bits_of_f32(x), magnitude = bits & 0x7fffffffu;
    uint32_t code = (bits + 0xfffu + (bits >> 13 & 1)) & 0xffffe000u;
    return f32_of_bits(magnitude > 0x7f800000u ? (bits | 0x400000u) & 0xffffe000u : code);
}

// float64 to float32 rounded to odd: a second rounding to a narrower format then equals a single one.
static inline float f32_odd_of_f64(double x) {
    float f = (float)x;
    double back = (double)f;
    uint32_t bits = bits_of_f32(f);
    uint64_t xm = bits_of_f64(x) & 0x7fffffffffffffffu, bm = bits_of_f64(back) & 0x7fffffffffffffffu;
    uint32_t odd = (bits - (bm > xm ? 1u : 0u)) | 1u;
    return f32_of_bits(xm == bm || xm > 0x7ff0000000000000u ? bits : odd);
}

// Float to integer as NumPy on x86-64: truncation; what does not fit becomes the most negative value of the conversion
// width (32 bits for 8- and 16-bit targets, 64 bits for uint32), cut to the target.
static inline int32_t i32_of_f32(float x) { return x >= -0x1p31f && x < 0x1p31f ? (int32_t)x : INT32_MIN; }
static inline int64_t i64_of_f32(float x) { return x >= -0x1p63f && x < 0x1p63f ? (int64_t)x : INT64_MIN; }
static inline int32_t i32_of_f64(double x) { return x > -0x1p31 - 1 && x < 0x1p31 ? (int32_t)x : INT32_MIN; }
static inline int64_t i64_of_f64(double x) { return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN; }

#endif
