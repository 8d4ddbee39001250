// SPDX-License-Identifier: MIT
// Number tokens to values: integers beyond 64 bits stay digits, floats are the double nearest to what is written.
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "python/parser_internal.h"

// CPython refuses longer decimal literals (their conversion takes quadratic time).
enum { MAX_DECIMAL_DIGITS = 4300 };
// CPython takes hexadecimal, octal and binary ones of any length. Here they become decimal, so they have an end too.
enum { MAX_DIGITS = 16384 };

static int digit_of(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

static void make_integer(struct py_parser *p, const struct py_token *token, struct py_Constant *node) {
    const char *at = p->tree->source + token->start, *end = p->tree->source + token->end;
    int radix = token->flags & PY_NUMBER_HEX      ? 16
                : token->flags & PY_NUMBER_OCTAL  ? 8
                : token->flags & PY_NUMBER_BINARY ? 2
                                                  : 10;
    if (radix != 10) at += 2;
    while (at < end - 1 && (*at == '0' || *at == '_')) at++;
    uint64_t value = 0;
    size_t digits = 0;
    bool wide = false;
    for (const char *c = at; c < end; c++) {
        if (*c == '_') continue;
        digits++;
        wide |= __builtin_mul_overflow(value, (uint64_t)radix, &value);
        wide |= __builtin_add_overflow(value, (uint64_t)digit_of(*c), &value);
    }
    if (!wide && value <= INT64_MAX) {
        node->base.op = PY_INT;
        node->value.integer = (int64_t)value;
        return;
    }
    if (radix == 10 && digits > MAX_DECIMAL_DIGITS) {
        py_fail(
            &p->failure, PY_SYNTAX_ERROR, py_range_of_token(token),
            "Exceeds the limit (%d digits) for integer string conversion: value has %zu digits; use "
            "sys.set_int_max_str_digits() to increase the limit - Consider hexadecimal for huge integer literals to "
            "avoid decimal conversion limits.",
            MAX_DECIMAL_DIGITS, digits);
    }
    if (digits > MAX_DIGITS) {
        py_fail(&p->failure, PY_SYNTAX_ERROR, py_range_of_token(token), "integer literal of more than %d digits",
                MAX_DIGITS);
    }
    node->base.op = PY_BIGINT;
    node->base.radix = (uint8_t)radix;
    node->value.str = (struct py_str){at, (size_t)(end - at)};
}

// Exact for up to 2^53 and a power of ten up to 22: one correctly rounded operation.
static bool fast_double(const char *at, const char *end, double *result) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    uint64_t mantissa = 0;
    int exponent = 0;
    bool point = false;
    for (; at < end && (*at | 32) != 'e'; at++) {
        if (*at == '_') continue;
        if (*at == '.') {
            point = true;
            continue;
        }
        if (mantissa >= (1ull << 53) / 10) return false;
        mantissa = mantissa * 10 + (uint64_t)(*at - '0');
        exponent -= point;
    }
    if (at < end) {
        at++;
        int sign = *at == '-' ? -1 : 1, value = 0;
        if (*at == '-' || *at == '+') at++;
        for (; at < end; at++) {
            if (*at == '_') continue;
            value = value * 10 + (*at - '0');
            if (value > 400) return false;
        }
        exponent += sign * value;
    }
    if (exponent < -22 || exponent > 22) return false;
    *result = exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
    return true;
}

static double make_double(struct py_parser *p, const char *at, const char *end) {
    double value;
    if (fast_double(at, end, &value)) return value;
    char small[64], *text = small;
    size_t length = 0, room = (size_t)(end - at) + 1;
    if (room > sizeof small && !(text = py_parser_alloc(p, room))) py_fail_memory(&p->failure);
    for (const char *c = at; c < end; c++) {
        if (*c != '_') text[length++] = *c;
    }
    text[length] = 0;
    // The process may run under a locale that writes a comma.
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain) py_fail_memory(&p->failure);
    value = strtod_l(text, NULL, plain);
    freelocale(plain);
    return value;
}

struct py_node *py_number_node(struct py_parser *p, const struct py_token *token) {
    struct py_Constant *node = py_node_alloc(p, PY_Constant);
    if (!(token->flags & PY_NUMBER_FLOAT)) {
        make_integer(p, token, node);
    } else {
        bool imaginary = token->flags & PY_NUMBER_IMAGINARY;
        node->base.op = imaginary ? PY_COMPLEX : PY_FLOAT;
        node->value.number = make_double(p, p->tree->source + token->start, p->tree->source + token->end - imaginary);
    }
    return &node->base;
}

const char *py_bigint_decimal(struct py_arena *arena, const struct py_Constant *constant, size_t *length) {
    const struct py_str digits = constant->value.str;
    const int radix = constant->base.radix;
    if (radix == 10) {
        char *text = py_arena_alloc(arena, digits.length + 1);
        if (!text) return NULL;
        size_t used = 0;
        for (size_t i = 0; i < digits.length; i++) {
            if (digits.text[i] != '_') text[used++] = digits.text[i];
        }
        text[used] = 0;
        *length = used;
        return text;
    }
    // Groups of nine decimal digits, least significant first; digits of the literal come in by up to 24 bits.
    const size_t bits = digits.length * (radix == 16 ? 4 : radix == 8 ? 3 : 1);
    const size_t room = bits / 29 + 2;
    uint32_t *groups = py_arena_alloc(arena, room * sizeof *groups);
    char *text = py_arena_alloc(arena, room * 9 + 1);
    if (!groups || !text) return NULL;
    size_t count = 1;
    groups[0] = 0;
    const uint32_t batch_limit = 1u << 24;
    for (size_t i = 0; i < digits.length;) {
        uint32_t batch = 0, scale = 1;
        for (; i < digits.length && scale < batch_limit; i++) {
            if (digits.text[i] == '_') continue;
            batch = batch * (uint32_t)radix + (uint32_t)digit_of(digits.text[i]);
            scale *= (uint32_t)radix;
        }
        uint64_t carry = batch;
        for (size_t g = 0; g < count; g++) {
            uint64_t value = (uint64_t)groups[g] * scale + carry;
            groups[g] = (uint32_t)(value % 1000000000);
            carry = value / 1000000000;
        }
        if (carry) groups[count++] = (uint32_t)carry;
    }
    size_t used = 0;
    for (size_t g = count; g-- > 0;) {
        uint32_t value = groups[g];
        for (int place = 8; place >= 0; place--) {
            text[used + (size_t)place] = (char)('0' + value % 10);
            value /= 10;
        }
        used += 9;
    }
    size_t zeros = 0;
    while (zeros + 1 < used && text[zeros] == '0') zeros++;
    text[used] = 0;
    *length = used - zeros;
    return text + zeros;
}
