// SPDX-License-Identifier: MIT
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPECT_VALUE, EXPECT_VALUE_OR_END, EXPECT_KEY, EXPECT_KEY_OR_END, EXPECT_AFTER, EXPECT_DONE, EXPECT_STOPPED };

void json_reader_init(struct json_reader *r, const char *text, size_t size, int max_depth) {
    memset(r, 0, sizeof *r);
    r->text = text;
    r->size = size;
    r->max_depth = max_depth <= 0 ? JSON_DEPTH_DEFAULT : max_depth > JSON_DEPTH_MAX ? JSON_DEPTH_MAX : max_depth;
    r->expect = EXPECT_VALUE;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) r->at = 3;
}

void json_reader_free(struct json_reader *r) {
    free(r->scratch);
    r->scratch = NULL;
    r->scratch_size = 0;
}

static enum json_event fail(struct json_reader *r, size_t at, const char *message) {
    r->message = message;
    r->error_at = at;
    r->expect = EXPECT_STOPPED;
    return JSON_ERROR;
}

static bool reserve(struct json_reader *r, size_t size) {
    if (size <= r->scratch_size) return true;
    size_t wanted = r->scratch_size * 2 > size ? r->scratch_size * 2 : size;
    char *grown = realloc(r->scratch, wanted);
    if (!grown) return false;
    r->scratch = grown;
    r->scratch_size = wanted;
    return true;
}

// Bytes in the UTF-8 sequence at `s`, 0 when it is malformed.
static size_t sequence(const unsigned char *s, size_t left) {
    unsigned c = s[0];
    if (c < 0x80) return 1;
    if (c < 0xC2) return 0;
    if (c < 0xE0) return left >= 2 && (s[1] & 0xC0) == 0x80 ? 2 : 0;
    if (c < 0xF0) {
        if (left < 3 || (s[1] & 0xC0) != 0x80 || (s[2] & 0xC0) != 0x80) return 0;
        if (c == 0xE0 && s[1] < 0xA0) return 0; // overlong
        if (c == 0xED && s[1] > 0x9F) return 0; // surrogate
        return 3;
    }
    if (c > 0xF4 || left < 4) return 0;
    if ((s[1] & 0xC0) != 0x80 || (s[2] & 0xC0) != 0x80 || (s[3] & 0xC0) != 0x80) return 0;
    if (c == 0xF0 && s[1] < 0x90) return 0;
    if (c == 0xF4 && s[1] > 0x8F) return 0; // past U+10FFFF
    return 4;
}

size_t json_utf8_prefix(const char *text, size_t size) {
    size_t i = 0;
    while (i < size) {
        size_t n = sequence((const unsigned char *)text + i, size - i);
        if (!n) break;
        i += n;
    }
    return i;
}

void json_position(const char *text, size_t size, size_t offset, int64_t *line, int64_t *column) {
    size_t end = offset < size ? offset : size, start = 0;
    int64_t lines = 1, columns = 1;
    for (size_t i = 0; i < end; i++)
        if (text[i] == '\n') lines++, start = i + 1;
    for (size_t i = start; i < end; i++)
        if (((unsigned char)text[i] & 0xC0) != 0x80) columns++;
    if (start == 0 && end >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) columns--;
    *line = lines;
    *column = columns;
}

static int hex4(const char *s, size_t left) {
    if (left < 4) return -1;
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = s[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static size_t put_code_point(char *out, unsigned c) {
    if (c < 0x80) return out[0] = (char)c, 1;
    if (c < 0x800) return out[0] = (char)(0xC0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)), out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63));
    return 4;
}

// Read a string whose opening quote is at r->at. Without escapes the result points into the text.
static enum json_event read_string(struct json_reader *r, enum json_event event) {
    const char *t = r->text;
    size_t start = r->at + 1, i = start, out = 0;
    bool copied = false;
    size_t run = start; // bytes from here to i are not copied yet
    for (;;) {
        if (i >= r->size) return fail(r, r->at, "this string is never closed");
        unsigned char c = (unsigned char)t[i];
        if (c == '"') break;
        if (c < 0x20)
            return fail(r, i, c == '\n' ? "a line ends inside a string" : "a control character inside a string must be escaped");
        if (c >= 0x80) {
            size_t n = sequence((const unsigned char *)t + i, r->size - i);
            if (!n) return fail(r, i, "this is not valid UTF-8");
            i += n;
            continue;
        }
        if (c != '\\') {
            i++;
            continue;
        }
        // An escape never grows: \uXXXX is 6 bytes and gives at most 3, a pair is 12 and gives 4. So the distance from
        // the start bounds the output.
        if (!reserve(r, i - start + 4)) return fail(r, i, "out of memory");
        memcpy(r->scratch + out, t + run, i - run);
        out += i - run;
        copied = true;
        if (i + 1 >= r->size) return fail(r, r->at, "this string is never closed");
        char e = t[i + 1];
        if (e == 'u') {
            int high = hex4(t + i + 2, r->size - i - 2);
            if (high < 0) return fail(r, i, "\\u needs four hexadecimal digits");
            unsigned code = (unsigned)high;
            size_t used = 6;
            if (high >= 0xDC00 && high <= 0xDFFF) return fail(r, i, "a low surrogate without its high surrogate");
            if (high >= 0xD800 && high <= 0xDBFF) {
                int low = i + 8 <= r->size && t[i + 6] == '\\' && t[i + 7] == 'u' ? hex4(t + i + 8, r->size - i - 8) : -1;
                if (low < 0xDC00 || low > 0xDFFF) return fail(r, i, "a high surrogate without its low surrogate");
                code = 0x10000 + ((unsigned)high - 0xD800) * 0x400 + ((unsigned)low - 0xDC00);
                used = 12;
            }
            out += put_code_point(r->scratch + out, code);
            i += used;
        } else {
            const char *from = "\"\\/bfnrt", *to = "\"\\/\b\f\n\r\t";
            const char *found = e ? strchr(from, e) : NULL;
            if (!found) return fail(r, i, "unknown escape in a string");
            r->scratch[out++] = to[found - from];
            i += 2;
        }
        run = i;
    }
    if (copied) {
        if (!reserve(r, i - start + 1)) return fail(r, i, "out of memory");
        memcpy(r->scratch + out, t + run, i - run);
        r->string = r->scratch;
        r->length = out + (i - run);
    } else {
        r->string = t + start;
        r->length = i - start;
    }
    r->at = i + 1;
    return event;
}

static bool is_digit(const struct json_reader *r, size_t i) { return i < r->size && r->text[i] >= '0' && r->text[i] <= '9'; }

static enum json_event read_number(struct json_reader *r) {
    const char *t = r->text;
    size_t start = r->at, i = start;
    bool negative = t[i] == '-', whole = true;
    if (negative) i++;
    if (!is_digit(r, i)) return fail(r, start, "a number needs a digit after its sign");
    size_t digits = i;
    if (t[i] == '0') {
        i++;
        if (is_digit(r, i)) return fail(r, start, "a number may not begin with 0");
    } else
        while (is_digit(r, i)) i++;
    size_t digits_end = i;
    if (i < r->size && t[i] == '.') {
        whole = false;
        i++;
        if (!is_digit(r, i)) return fail(r, start, "a number needs a digit after its point");
        while (is_digit(r, i)) i++;
    }
    if (i < r->size && (t[i] == 'e' || t[i] == 'E')) {
        whole = false;
        i++;
        if (i < r->size && (t[i] == '+' || t[i] == '-')) i++;
        if (!is_digit(r, i)) return fail(r, start, "a number needs a digit in its exponent");
        while (is_digit(r, i)) i++;
    }
    r->at = i;
    if (whole && !(negative && t[digits] == '0')) { // -0 keeps its sign only as a float
        uint64_t value = 0, limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
        bool fits = true;
        for (size_t k = digits; k < digits_end && fits; k++) {
            uint64_t digit = (uint64_t)(t[k] - '0');
            if (value > (limit - digit) / 10) fits = false;
            else value = value * 10 + digit;
        }
        if (!fits) {
            r->string = t + start;
            r->length = i - start;
            return JSON_BIG;
        }
        r->integer = negative ? (int64_t)(0 - value) : (int64_t)value;
        return JSON_INTEGER;
    }
    char small[64], *copy = small;
    if (i - start >= sizeof small) {
        if (!reserve(r, i - start + 1)) return fail(r, start, "out of memory");
        copy = r->scratch;
    }
    memcpy(copy, t + start, i - start);
    copy[i - start] = 0;
    r->number = strtod(copy, NULL);
    if (isinf(r->number)) return fail(r, start, "this number is too large for a float");
    return JSON_FLOAT;
}

static bool literal(const struct json_reader *r, const char *word, size_t length) {
    return r->size - r->at >= length && memcmp(r->text + r->at, word, length) == 0;
}

static bool inside_object(const struct json_reader *r) {
    int level = r->depth - 1;
    return r->is_object[level >> 3] >> (level & 7) & 1;
}

static enum json_event open_container(struct json_reader *r, bool object) {
    if (r->depth >= r->max_depth) return fail(r, r->at, "nested too deeply");
    int level = r->depth++;
    if (object) r->is_object[level >> 3] |= (unsigned char)(1u << (level & 7));
    else r->is_object[level >> 3] &= (unsigned char)~(1u << (level & 7));
    r->at++;
    r->expect = object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
    return object ? JSON_OBJECT_BEGIN : JSON_ARRAY_BEGIN;
}

static enum json_event close_container(struct json_reader *r, bool object) {
    r->depth--;
    r->at++;
    r->expect = r->depth ? EXPECT_AFTER : EXPECT_DONE;
    return object ? JSON_OBJECT_END : JSON_ARRAY_END;
}

static void skip_space(struct json_reader *r) {
    while (r->at < r->size) {
        char c = r->text[r->at];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r') break;
        r->at++;
    }
}

static enum json_event read_value(struct json_reader *r) {
    enum json_event event;
    char c = r->text[r->at];
    if (c == '{') return open_container(r, true);
    if (c == '[') return open_container(r, false);
    if (c == '"') event = read_string(r, JSON_STRING);
    else if (c == '-' || (c >= '0' && c <= '9')) event = read_number(r);
    else if (literal(r, "true", 4)) event = JSON_TRUE, r->at += 4;
    else if (literal(r, "false", 5)) event = JSON_FALSE, r->at += 5;
    else if (literal(r, "null", 4)) event = JSON_NULL, r->at += 4;
    else if (literal(r, "NaN", 3) || literal(r, "Infinity", 8)) return fail(r, r->at, "JSON has no NaN and no Infinity");
    else if (c == '\'') return fail(r, r->at, "strings are written with double quotes");
    else return fail(r, r->at, "expected a value");
    if (event != JSON_ERROR) r->expect = r->depth ? EXPECT_AFTER : EXPECT_DONE;
    return event;
}

enum json_event json_read(struct json_reader *r) {
    if (r->expect == EXPECT_STOPPED) return JSON_ERROR;
    skip_space(r);
    if (r->expect == EXPECT_DONE) {
        r->token = r->at;
        return r->at == r->size ? JSON_END : fail(r, r->at, "something follows the end of the value");
    }
    if (r->at == r->size)
        return fail(r, r->at, r->depth == 0 ? "there is no value" : inside_object(r) ? "an object is never closed" : "an array is never closed");
    if (r->expect == EXPECT_AFTER) {
        bool object = inside_object(r);
        char c = r->text[r->at];
        r->token = r->at;
        if (c == (object ? '}' : ']')) return close_container(r, object);
        if (c != ',') return fail(r, r->at, object ? "expected ',' or '}'" : "expected ',' or ']'");
        r->at++;
        skip_space(r);
        if (r->at == r->size) return fail(r, r->at, object ? "an object is never closed" : "an array is never closed");
        if (r->text[r->at] == (object ? '}' : ']')) return fail(r, r->at, "a comma before the end is not allowed");
        r->expect = object ? EXPECT_KEY : EXPECT_VALUE;
    }
    r->token = r->at;
    char c = r->text[r->at];
    if (r->expect == EXPECT_KEY || r->expect == EXPECT_KEY_OR_END) {
        if (c == '}' && r->expect == EXPECT_KEY_OR_END) return close_container(r, true);
        if (c != '"') return fail(r, r->at, "expected a key in double quotes");
        enum json_event event = read_string(r, JSON_KEY);
        if (event == JSON_ERROR) return event;
        skip_space(r);
        if (r->at == r->size || r->text[r->at] != ':') return fail(r, r->at, "expected ':' after a key");
        r->at++;
        r->expect = EXPECT_VALUE;
        return JSON_KEY;
    }
    if (c == ']' && r->expect == EXPECT_VALUE_OR_END) return close_container(r, false);
    return read_value(r);
}

void json_writer_init(struct json_writer *w) { memset(w, 0, sizeof *w); }

void json_writer_free(struct json_writer *w) {
    free(w->data);
    json_writer_init(w);
}

void json_put(struct json_writer *w, const char *bytes, size_t size) {
    if (w->failed || !size) return;
    if (size > w->capacity - w->size) {
        size_t wanted = w->capacity ? w->capacity * 2 : 256;
        while (wanted - w->size < size && wanted < SIZE_MAX / 2) wanted *= 2;
        char *grown = wanted - w->size < size ? NULL : realloc(w->data, wanted);
        if (!grown) {
            w->failed = true;
            return;
        }
        w->data = grown;
        w->capacity = wanted;
    }
    memcpy(w->data + w->size, bytes, size);
    w->size += size;
}

void json_put_integer(struct json_writer *w, int64_t value) {
    char text[24];
    json_put(w, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)value));
}

void json_put_double(struct json_writer *w, double value) {
    char text[40];
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) { // 15 always survive a round trip as text, 17 always identify a double
        length = snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    if (!strpbrk(text, ".e")) memcpy(text + length, ".0", 3), length += 2;
    json_put(w, text, (size_t)length);
}

bool json_put_string(struct json_writer *w, const char *text, size_t size, bool replace) {
    if (!replace && json_utf8_prefix(text, size) != size) return false;
    json_put(w, "\"", 1);
    size_t run = 0, i = 0;
    while (i < size) {
        unsigned char c = (unsigned char)text[i];
        char escape[8];
        size_t used = 1, length;
        if (c >= 0x80) {
            used = sequence((const unsigned char *)text + i, size - i);
            if (used) {
                i += used;
                continue;
            }
            used = 1;
            memcpy(escape, "\xEF\xBF\xBD", length = 3);
        } else if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7F) {
            i++;
            continue;
        } else {
            const char *from = "\"\\\b\f\n\r\t", *to = "\"\\bfnrt";
            const char *found = c ? strchr(from, c) : NULL;
            if (found) escape[0] = '\\', escape[1] = to[found - from], length = 2;
            else length = (size_t)snprintf(escape, sizeof escape, "\\u%04x", c);
        }
        json_put(w, text + run, i - run);
        json_put(w, escape, length);
        i += used;
        run = i;
    }
    json_put(w, text + run, size - run);
    json_put(w, "\"", 1);
    return true;
}
