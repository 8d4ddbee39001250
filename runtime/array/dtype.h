// SPDX-License-Identifier: MIT
// dtype.h: the element types of arrays, their names, and conversion of single values between them.
//
// Values: float8_e4m3 is the IEEE-like form with infinity (largest finite 240), float8_e4m3fn the OCP form without
// infinity (448; overflow gives NaN), float8_e5m2 has infinity (57344). tfloat32 (1-8-10 bits) is stored in four bytes
// with the low 13 bits clear. bool is one byte, 0 or 1. All narrowing of floats rounds to nearest even, once, whatever
// the source. Float to integer truncates as NumPy does on x86-64; dtype_round_saturate is the chip's rule.
// Nothing here allocates; only dtype_parse can fail, and says so by DTYPE_COUNT.
#ifndef NKILN_ARRAY_DTYPE_H
#define NKILN_ARRAY_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum dtype {
    DTYPE_FLOAT64,
    DTYPE_FLOAT32,
    DTYPE_FLOAT16,
    DTYPE_BFLOAT16,
    DTYPE_TFLOAT32,
    DTYPE_FLOAT8_E4M3,
    DTYPE_FLOAT8_E4M3FN,
    DTYPE_FLOAT8_E5M2,
    DTYPE_INT8,
    DTYPE_INT16,
    DTYPE_INT32,
    DTYPE_INT64,
    DTYPE_UINT8,
    DTYPE_UINT16,
    DTYPE_UINT32,
    DTYPE_BOOL,
    DTYPE_COUNT
};

struct dtype_info {
    const char *name;
    const char *alias;  // short name, or NULL
    unsigned char size; // bytes
    bool is_float;
    bool is_integer; // bool is neither
    bool is_signed;
    int mantissa_bits; // floats: stored fraction bits, so u = 2^-(mantissa_bits + 1)
    int min_exponent;  // floats: exponent of the smallest normal number
    double max;        // largest finite value
    double min;        // lowest finite value
};

extern const struct dtype_info dtype_table[DTYPE_COUNT];

static inline size_t dtype_size(enum dtype t) { return dtype_table[t].size; }
static inline const char *dtype_name(enum dtype t) { return dtype_table[t].name; }
static inline bool dtype_is_float(enum dtype t) { return dtype_table[t].is_float; }
static inline bool dtype_is_integer(enum dtype t) { return dtype_table[t].is_integer; }

// Name or alias (float32, f32, bf16, bool, bool_ ...) of `length` bytes; DTYPE_COUNT when there is none.
enum dtype dtype_parse(const char *name, size_t length);

// NumPy's promotion, extended to the types NumPy lacks: a narrow float meeting an integer keeps the float; two
// different 16-bit floats give float32; two different float8 give bfloat16.
enum dtype dtype_promote(enum dtype a, enum dtype b);

// The float type in which NumPy evaluates exp() of an array of this type (int8 -> float16, int32 -> float64 ...).
enum dtype dtype_float_of(enum dtype t);

// One element from memory, and to memory. Integers pass exactly through the _int forms.
double dtype_load(enum dtype t, const void *p);
int64_t dtype_load_int(enum dtype t, const void *p); // floats truncate
void dtype_store(enum dtype t, void *p, double value);
void dtype_store_int(enum dtype t, void *p, int64_t value); // integers wrap

// value as it would read back after being stored as t.
double dtype_round(enum dtype t, double value);

// The chip's float to integer rule: nearest even, saturated to t's range, NaN to 0. t is an integer type.
int64_t dtype_round_saturate(enum dtype t, double value);

// Distance from |value| (rounded to t) to the next representable number of t above it; the smallest subnormal at 0.
double dtype_ulp(enum dtype t, double value);

static inline uint32_t bits_of_f32(float x) {
    uint32_t b;
    memcpy(&b, &x, 4);
    return b;
}
static inline float f32_of_bits(uint32_t b) {
    float x;
    memcpy(&x, &b, 4);
    return x;
}
static inline uint64_t bits_of_f64(double x) {
    uint64_t b;
    memcpy(&b, &x, 8);
    return b;
}
static inline double f64_of_bits(uint64_t b) {
    double x;
    memcpy(&x, &b, 8);
    return x;
}

#endif
