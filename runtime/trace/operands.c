// SPDX-License-Identifier: MIT
#include "trace/operands.h"

#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Digits at *p, as a number no greater than 2^31; false when there are none.
static bool number(const char **p, int64_t *out) {
    if (!is_digit(**p)) return false;
    for (*out = 0; is_digit(**p); ++*p)
        if (*out < INT64_C(1) << 31) *out = *out * 10 + (**p - '0');
    return *out <= INT64_C(1) << 31;
}

// "[a,b,c]" at *p: the product of its numbers (absolute values), or false.
static bool list(const char **p, int64_t *product) {
    if (**p != '[') return false;
    ++*p;
    *product = 1;
    for (;;) {
        int64_t value;
        if (**p == '-') ++*p;
        if (!number(p, &value)) return false;
        if (*product < INT64_C(1) << 31 && value) *product *= value;
        else if (!value) *product = 0;
        if (**p == ']') break;
        if (*(*p)++ != ',') return false;
    }
    ++*p;
    return *product <= INT64_C(1) << 31;
}

// [DTYPE@]ADDRESS[strides][counts], up to `end`.
static bool parse_access(const char *p, const char *end, struct operands *out) {
    const char *at = memchr(p, '@', (size_t)(end - p)), *bracket = memchr(p, '[', (size_t)(end - p));
    if (!bracket) return false;
    if (at && at < bracket && (size_t)(at - p) < sizeof out->dtype) {
        memcpy(out->dtype, p, (size_t)(at - p));
        out->dtype[at - p] = 0;
    }
    int64_t strides, counts;
    p = bracket;
    if (!list(&p, &strides) || !list(&p, &counts) || p != end) return false;
    out->n = counts;
    return true;
}

bool operands_parse(const char *p, struct operands *out) {
    *out = (struct operands){0};
    while (*p) {
        while (is_blank(*p)) p++;
        const char *end = p;
        while (*end && !is_blank(*end)) end++;
        if (strncmp(p, "src=", 4) == 0 && out->n == 0) parse_access(p + 4, end, out);
        else {
            const char *q = p;
            int64_t a, b;
            if (number(&q, &a) && *q == '*') {
                q++;
                if (number(&q, &b) && q == end) out->k = a, out->m = b;
            }
        }
        p = end;
    }
    return out->k > 0 || out->n > 0;
}
