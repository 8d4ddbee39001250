// SPDX-License-Identifier: MIT
#include "array/dtype.h"

#include <math.h>

#include "array/bits.h"

// Rows in enum order: name, alias, size, float, integer, signed, fraction bits, smallest normal exponent, max, min.
const struct dtype_info dtype_table[DTYPE_COUNT] = {
    {"float64", "f64", 8, true, false, true, 52, -1022, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023},
    {"float32", "f32", 4, true, false, true, 23, -126, 0x1.fffffep127, -0x1.fffffep127},
    {"float16", "f16", 2, true, false, true, 10, -14, 65504, -65504},
    {"bfloat16", "bf16", 2, true, false, true, 7, -126, 0x1.fep127, -0x1.fep127},
    {"tfloat32", "tf32", 4, true, false, true, 10, -126, 0x1.ffcp127, -0x1.ffcp127},
    {"float8_e4m3", "f8e4m3", 1, true, false, true, 3, -6, 240, -240},
    {"float8_e4m3fn", "f8e4m3fn", 1, true, false, true, 3, -6, 448, -448},
    {"float8_e5m2", "f8e5m2", 1, true, false, true, 2, -14, 57344, -57344},
    {"int8", "i8", 1, false, true, true, 0, 0, 127, -128},
    {"int16", "i16", 2, false, true, true, 0, 0, 32767, -32768},
    {"int32", "i32", 4, false, true, true, 0, 0, 2147483647.0, -2147483648.0},
    {"int64", "i64", 8, false, true, true, 0, 0, 0x1.fffffffffffffp62, -0x1p63},
    {"uint8", "u8", 1, false, true, false, 0, 0, 255, 0},
    {"uint16", "u16", 2, false, true, false, 0, 0, 65535, 0},
    {"uint32", "u32", 4, false, true, false, 0, 0, 4294967295.0, 0},
    {"bool", "bool_", 1, false, false, false, 0, 0, 1, 0},
};

enum dtype dtype_parse(const char *name, size_t length) {
    for (int t = 0; t < DTYPE_COUNT; t++) {
        const char *n = dtype_table[t].name, *a = dtype_table[t].alias;
        if (strlen(n) == length && memcmp(n, name, length) == 0) return (enum dtype)t;
        if (strlen(a) == length && memcmp(a, name, length) == 0) return (enum dtype)t;
    }
    return DTYPE_COUNT;
}

static bool is_float8(enum dtype t) {
    return t == DTYPE_FLOAT8_E4M3 || t == DTYPE_FLOAT8_E4M3FN || t == DTYPE_FLOAT8_E5M2;
}

static enum dtype promote_floats(enum dtype a, enum dtype b) {
    if (a == b) return a;
    if (a == DTYPE_FLOAT64 || b == DTYPE_FLOAT64) return DTYPE_FLOAT64;
    if (is_float8(a) && is_float8(b)) return DTYPE_BFLOAT16;
    if (is_float8(a)) return b;
    if (is_float8(b)) return a;
    return DTYPE_FLOAT32; // two of float32, tfloat32, float16, bfloat16
}

static enum dtype promote_integers(enum dtype a, enum dtype b) {
    const struct dtype_info *x = &dtype_table[a], *y = &dtype_table[b];
    if (x->is_signed == y->is_signed) return x->size >= y->size ? a : b;
    if (y->is_signed) return promote_integers(b, a);
    if (x->size > y->size) return a; // a is signed and wider than the unsigned b
    return y->size == 1 ? DTYPE_INT16 : y->size == 2 ? DTYPE_INT32 : DTYPE_INT64;
}

static enum dtype promote_float_integer(enum dtype f, enum dtype i) {
    size_t size = dtype_size(i);
    if (f == DTYPE_FLOAT64) return f;
    if (f == DTYPE_FLOAT32) return size <= 2 ? f : DTYPE_FLOAT64;
    if (f == DTYPE_FLOAT16) return size == 1 ? f : size == 2 ? DTYPE_FLOAT32 : DTYPE_FLOAT64;
    return f;
}

enum dtype dtype_promote(enum dtype a, enum dtype b) {
    if (a == b) return a;
    if (a == DTYPE_BOOL) return b;
    if (b == DTYPE_BOOL) return a;
    bool af = dtype_is_float(a), bf = dtype_is_float(b);
    if (af && bf) return promote_floats(a, b);
    if (af) return promote_float_integer(a, b);
    if (bf) return promote_float_integer(b, a);
    return promote_integers(a, b);
}

enum dtype dtype_float_of(enum dtype t) {
    if (dtype_is_float(t)) return t;
    return dtype_size(t) == 1 ? DTYPE_FLOAT16 : dtype_size(t) == 2 ? DTYPE_FLOAT32 : DTYPE_FLOAT64;
}

#define LOAD(T)                                                                                                        \
    T v;                                                                                                               \
    memcpy(&v, p, sizeof v)

double dtype_load(enum dtype t, const void *p) {
    switch (t) {
    case DTYPE_FLOAT64: {
        LOAD(double);
        return v;
    }
    case DTYPE_FLOAT32:
    case DTYPE_TFLOAT32: {
        LOAD(float);
        return v;
    }
    case DTYPE_FLOAT16: {
        LOAD(uint16_t);
        return f32_of_f16(v);
    }
    case DTYPE_BFLOAT16: {
        LOAD(uint16_t);
        return f32_of_bf16(v);
    }
    case DTYPE_FLOAT8_E4M3: {
        LOAD(uint8_t);
        return f32_of_e4m3(v);
    }
    case DTYPE_FLOAT8_E4M3FN: {
        LOAD(uint8_t);
        return f32_of_e4m3fn(v);
    }
    case DTYPE_FLOAT8_E5M2: {
        LOAD(uint8_t);
        return f32_of_e5m2(v);
    }
    default: return (double)dtype_load_int(t, p);
    }
}

int64_t dtype_load_int(enum dtype t, const void *p) {
    switch (t) {
    case DTYPE_INT8: {
        LOAD(int8_t);
        return v;
    }
    case DTYPE_INT16: {
        LOAD(int16_t);
        return v;
    }
    case DTYPE_INT32: {
        LOAD(int32_t);
        return v;
    }
    case DTYPE_INT64: {
        LOAD(int64_t);
        return v;
    }
    case DTYPE_UINT8:
    case DTYPE_BOOL: {
        LOAD(uint8_t);
        return v;
    }
    case DTYPE_UINT16: {
        LOAD(uint16_t);
        return v;
    }
    case DTYPE_UINT32: {
        LOAD(uint32_t);
        return v;
    }
    default: return i64_of_f64(dtype_load(t, p));
    }
}

#define STORE(T, value)                                                                                                \
    {                                                                                                                  \
        T v = (T)(value);                                                                                              \
        memcpy(p, &v, sizeof v);                                                                                       \
        return;                                                                                                        \
    }

void dtype_store(enum dtype t, void *p, double x) {
    switch (t) {
    case DTYPE_FLOAT64: STORE(double, x)
    case DTYPE_FLOAT32: STORE(float, x)
    case DTYPE_TFLOAT32: STORE(float, tf32_of_f32(f32_odd_of_f64(x)))
    case DTYPE_FLOAT16: STORE(uint16_t, f16_of_f32(f32_odd_of_f64(x)))
    case DTYPE_BFLOAT16: STORE(uint16_t, bf16_of_f32(f32_odd_of_f64(x)))
    case DTYPE_FLOAT8_E4M3: STORE(uint8_t, e4m3_of_f32(f32_odd_of_f64(x)))
    case DTYPE_FLOAT8_E4M3FN: STORE(uint8_t, e4m3fn_of_f32(f32_odd_of_f64(x)))
    case DTYPE_FLOAT8_E5M2: STORE(uint8_t, e5m2_of_f32(f32_odd_of_f64(x)))
    case DTYPE_INT8: STORE(int8_t, i32_of_f64(x))
    case DTYPE_INT16: STORE(int16_t, i32_of_f64(x))
    case DTYPE_INT32: STORE(int32_t, i32_of_f64(x))
    case DTYPE_INT64: STORE(int64_t, i64_of_f64(x))
    case DTYPE_UINT8: STORE(uint8_t, i32_of_f64(x))
    case DTYPE_UINT16: STORE(uint16_t, i32_of_f64(x))
    case DTYPE_UINT32: STORE(uint32_t, i64_of_f64(x))
    case DTYPE_BOOL: STORE(uint8_t, x != 0)
    case DTYPE_COUNT: return;
    }
}

void dtype_store_int(enum dtype t, void *p, int64_t x) {
    switch (t) {
    case DTYPE_INT8:
    case DTYPE_UINT8: STORE(uint8_t, x)
    case DTYPE_INT16:
    case DTYPE_UINT16: STORE(uint16_t, x)
    case DTYPE_INT32:
    case DTYPE_UINT32: STORE(uint32_t, x)
    case DTYPE_INT64: STORE(int64_t, x)
    case DTYPE_BOOL: STORE(uint8_t, x != 0)
    case DTYPE_FLOAT64: STORE(double, x)
    case DTYPE_FLOAT32: STORE(float, x)
    default: dtype_store(t, p, (double)(float)x); // as the rows convert: through float32
    }
}

double dtype_round(enum dtype t, double value) {
    unsigned char cell[8];
    dtype_store(t, cell, value);
    return dtype_load(t, cell);
}

int64_t dtype_round_saturate(enum dtype t, double value) {
    if (isnan(value)) return 0;
    if (t == DTYPE_BOOL) return value != 0;
    double r = rint(value);
    if (t == DTYPE_INT64) return r >= 0x1p63 ? INT64_MAX : r < -0x1p63 ? INT64_MIN : (int64_t)r;
    const struct dtype_info *info = &dtype_table[t];
    return r > info->max ? (int64_t)info->max : r < info->min ? (int64_t)info->min : (int64_t)r;
}

double dtype_ulp(enum dtype t, double value) {
    const struct dtype_info *info = &dtype_table[t];
    if (!info->is_float) return 1;
    double x = fabs(dtype_round(t, value));
    if (!(x <= info->max)) return NAN;
    int e = info->min_exponent;
    if (x > ldexp(1, e)) e = ilogb(x);
    return ldexp(1, e - info->mantissa_bits);
}
