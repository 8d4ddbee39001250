// SPDX-License-Identifier: MIT
// String tokens to constants: escapes, implicit concatenation, f-strings.
#include <string.h>

#include "python/parser_internal.h"
#include "python/source.h"
#include "python/unicode.h"

static int hex_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// CPython decodes from a copy in which a character beyond ASCII takes ten bytes; positions in its messages count those.
static size_t escape_position(const char *body, const char *at) {
    size_t position = 0;
    for (; body < at; body++) {
        unsigned char c = (unsigned char)*body;
        position += c < 0x80 ? 1 : (c & 0xC0) == 0x80 ? 0 : 10;
    }
    return position;
}

static noreturn void fail_escape(struct py_parser *p, const char *body, const char *from, const char *to,
                                 const char *why) {
    const struct py_range at = py_range_of_token(py_current(p));
    size_t first = escape_position(body, from), last = escape_position(body, to) - 1;
    if (first == last) {
        py_error_at(p, at, "(unicode error) 'unicodeescape' codec can't decode byte 0x5c in position %zu: %s", first,
                    why);
    }
    py_error_at(p, at, "(unicode error) 'unicodeescape' codec can't decode bytes in position %zu-%zu: %s", first, last,
                why);
}

// \x \u \U: `digits` hexadecimal digits at `at`.
static const char *decode_hex(struct py_parser *p, const char *body, const char *at, const char *end, int digits,
                              bool bytes, char **to) {
    static const char *const truncated[] = {
        [2] = "truncated \\xXX escape", [4] = "truncated \\uXXXX escape", [8] = "truncated \\UXXXXXXXX escape"};
    uint32_t code = 0;
    const char *c = at;
    for (int i = 0; i < digits; i++, c++) {
        int digit = c < end ? hex_of(*c) : -1;
        if (digit < 0) {
            if (bytes) {
                py_error_at(p, py_range_of_token(py_current(p)), "(value error) invalid \\x escape at position %zu",
                            (size_t)(at - 2 - body));
            }
            fail_escape(p, body, at - 2, c, truncated[digits]);
        }
        code = code << 4 | (uint32_t)digit;
    }
    if (code > 0x10FFFF) fail_escape(p, body, at - 2, c, "illegal Unicode character");
    if (bytes) {
        *(*to)++ = (char)code;
    } else {
        *to += py_utf8_encode(code, *to);
    }
    return c;
}

static const char *decode_named(struct py_parser *p, const char *body, const char *at, const char *end, char **to) {
    const bool brace = at < end && *at == '{';
    const char *close = brace ? memchr(at, '}', (size_t)(end - at)) : NULL;
    if (!close || close == at + 1) {
        fail_escape(p, body, at - 2, close ? close : brace ? end : at, "malformed \\N character escape");
    }
    int32_t code = py_character_named(at + 1, (size_t)(close - at - 1));
    if (code < 0) fail_escape(p, body, at - 2, close + 1, "unknown Unicode character name");
    *to += py_utf8_encode((uint32_t)code, *to);
    return close + 1;
}

// The characters that `text` stands for. `flags` as of a string token; doubled braces become one with PY_STRING_BRACES.
static struct py_str decode(struct py_parser *p, struct py_str text, int flags) {
    const bool raw = flags & PY_STRING_RAW, bytes = flags & PY_STRING_BYTES, braces = flags & PY_STRING_BRACES;
    if ((raw || !(flags & PY_STRING_ESCAPES)) && !braces) return text;
    const char *body = text.text, *at = body, *end = body + text.length;
    char *decoded = py_parser_alloc(p, text.length + 1), *to = decoded;
    while (at < end) {
        if (braces && (*at == '{' || *at == '}') && at + 1 < end && at[1] == *at) {
            *to++ = *at;
            at += 2;
            continue;
        }
        if (*at != '\\' || raw) {
            *to++ = *at++;
            continue;
        }
        if (++at == end) { // only in f-string text that ends before a field
            *to++ = '\\';
            break;
        }
        switch (*at++) {
        case '\n': break;
        case '\\': *to++ = '\\'; break;
        case '\'': *to++ = '\''; break;
        case '"': *to++ = '"'; break;
        case 'a': *to++ = '\a'; break;
        case 'b': *to++ = '\b'; break;
        case 'f': *to++ = '\f'; break;
        case 'n': *to++ = '\n'; break;
        case 'r': *to++ = '\r'; break;
        case 't': *to++ = '\t'; break;
        case 'v': *to++ = '\v'; break;
        case '0' ... '7': {
            uint32_t code = (uint32_t)(at[-1] - '0');
            for (int i = 0; i < 2 && at < end && *at >= '0' && *at <= '7'; i++)
                code = code * 8 + (uint32_t)(*at++ - '0');
            if (bytes) {
                *to++ = (char)code;
            } else {
                to += py_utf8_encode(code, to);
            }
            break;
        }
        case 'x': at = decode_hex(p, body, at, end, 2, bytes, &to); break;
        case 'u':
            if (bytes) goto unknown;
            at = decode_hex(p, body, at, end, 4, false, &to);
            break;
        case 'U':
            if (bytes) goto unknown;
            at = decode_hex(p, body, at, end, 8, false, &to);
            break;
        case 'N':
            if (bytes) goto unknown;
            at = decode_named(p, body, at, end, &to);
            break;
        default:
        unknown:
            *to++ = '\\';
            at--;
            if (!braces || (*at != '{' && *at != '}')) *to++ = *at++;
        }
    }
    *to = 0;
    return (struct py_str){decoded, (size_t)(to - decoded)};
}

static struct py_Constant *make_constant(struct py_parser *p, const struct py_token *token, struct py_str value) {
    struct py_Constant *node = py_node_alloc(p, PY_Constant);
    node->base.op = token->flags & PY_STRING_BYTES ? PY_BYTES : PY_STR;
    if (token->flags & PY_STRING_U) node->base.flags |= PY_U_PREFIX;
    node->base.lineno = token->lineno;
    node->base.col = token->col;
    node->base.end_lineno = token->end_lineno;
    node->base.end_col = token->end_col;
    node->value.str = value;
    return node;
}

// Consumes a STRING or FSTRING_MIDDLE token. Errors are reported at the token after it, as CPython does.
static struct py_Constant *parse_text(struct py_parser *p) {
    const struct py_token token = *py_current(p);
    py_advance(p);
    if ((token.flags & PY_STRING_BYTES) && (token.flags & PY_STRING_NON_ASCII)) {
        py_error_at(p, py_range_of_token(&token), "bytes can only contain ASCII literal characters");
    }
    struct py_str text = {p->tree->source + token.start, token.end - token.start};
    return make_constant(p, &token, decode(p, text, token.flags));
}

static struct py_str join(struct py_parser *p, uint32_t from, uint32_t to) {
    size_t length = 0;
    for (uint32_t i = from; i < to; i++) length += ((struct py_Constant *)p->stack[i])->value.str.length;
    char *text = py_parser_alloc(p, length + 1);
    size_t used = 0;
    for (uint32_t i = from; i < to; i++) {
        const struct py_str part = ((struct py_Constant *)p->stack[i])->value.str;
        memcpy(text + used, part.text, part.length);
        used += part.length;
    }
    text[used] = 0;
    return (struct py_str){text, used};
}

// Make one constant of each run of constants above `from`; empty ones vanish.
static void fold(struct py_parser *p, uint32_t from) {
    uint32_t kept = from;
    for (uint32_t i = from; i < p->top;) {
        struct py_Constant *first = p->stack[i];
        uint32_t end = i + 1;
        if (first->base.kind == PY_Constant) {
            while (end < p->top && ((struct py_node *)p->stack[end])->kind == PY_Constant) end++;
            const struct py_node *last = p->stack[end - 1];
            if (end - i > 1) {
                first->value.str = join(p, i, end);
                first->base.end_lineno = last->end_lineno;
                first->base.end_col = last->end_col;
            }
            if (first->value.str.length == 0) {
                i = end;
                continue;
            }
        }
        p->stack[kept++] = first;
        i = end;
    }
    p->top = kept;
}

static void parse_field(struct py_parser *p);

// Text and fields up to the closing quote of an f-string or the closing brace of a field; pushes constants and fields.
static void parse_fstring_parts(struct py_parser *p) {
    for (;;) {
        if (py_kind_now(p) == PY_T_FSTRING_MIDDLE) {
            struct py_Constant *text = parse_text(p);
            if (text->value.str.length) py_push(p, text);
        } else if (py_kind_now(p) == PY_T_LBRACE) {
            parse_field(p);
        } else {
            return;
        }
    }
}

static void diagnose_field_start(struct py_parser *p) {
    const int kind = py_kind_now(p);
    const struct py_range at = py_range_of_token(py_current(p));
    if (kind == PY_T_RBRACE) py_error_at(p, at, "f-string: valid expression required before '}'");
    if (kind == PY_T_EXCLAMATION) py_error_at(p, at, "f-string: valid expression required before '!'");
    if (kind == PY_T_COLON) py_error_at(p, at, "f-string: valid expression required before ':'");
    if (kind == PY_T_EQUAL) py_error_at(p, at, "f-string: valid expression required before '='");
}

// Text between the brace and what ends the expression, without comments and joined lines, for `{x = }`.
static struct py_str debug_text(struct py_parser *p, uint32_t from, uint32_t to) {
    const char *at = p->tree->source + from, *end = p->tree->source + to;
    if (!memchr(at, '#', to - from) && !memchr(at, '\\', to - from)) return (struct py_str){at, to - from};
    char *text = py_parser_alloc(p, to - from), *out = text;
    char quote = 0;
    while (at < end) {
        if (quote) {
            if (*at == '\\' && at + 1 < end) {
                *out++ = *at++;
            } else if (*at == quote) {
                quote = 0;
            }
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else if (*at == '#') {
            while (at < end && *at != '\n') at++;
            continue;
        } else if (*at == '\\') {
            at += 2;
            continue;
        }
        *out++ = *at++;
    }
    return (struct py_str){text, (size_t)(out - text)};
}

// { expression [=] [! conversion] [: specification] }
static void parse_field(struct py_parser *p) {
    const struct py_token open = *py_current(p);
    const struct py_start start = py_start_here(p);
    py_advance(p);
    struct py_node *value = NULL;
    if (!p->diagnose) {
        value = py_parse_yield_or_star(p);
    } else {
        diagnose_field_start(p);
        const struct py_range at = py_range_of_token(py_current(p));
        if (!py_try_with(p, py_parse_yield_or_star, true, &value)) {
            py_error_at(p, at, "f-string: expecting a valid expression after '{'");
        }
    }
    bool debug = false;
    struct py_Constant *shown = NULL;
    if (py_accept(p, PY_T_EQUAL)) {
        debug = true;
        const struct py_token *stop = py_current(p);
        shown = make_constant(p, &open, debug_text(p, open.end, stop->start));
        shown->base.col = open.end_col;
        shown->base.end_lineno = stop->lineno;
        shown->base.end_col = stop->col;
    }
    int64_t conversion = -1;
    if (py_kind_now(p) == PY_T_EXCLAMATION) {
        const struct py_token mark = *py_current(p);
        py_advance(p);
        const struct py_token *name = py_current(p);
        if (name->kind != PY_T_NAME) {
            if (p->diagnose && (name->kind == PY_T_COLON || name->kind == PY_T_RBRACE)) {
                py_error_at(p, py_range_of_token(name), "f-string: missing conversion character");
            }
            if (p->diagnose) py_error_at(p, py_range_of_token(name), "f-string: invalid conversion character");
            py_invalid(p);
        }
        if (name->start != mark.end) {
            const struct py_range both = {mark.lineno, mark.col, name->end_lineno, name->end_col};
            py_error_at(p, both, "f-string: conversion type must come right after the exclamanation mark");
        }
        const char *text = name->name->text;
        if (name->name->length != 1 || (*text != 's' && *text != 'r' && *text != 'a')) {
            py_error_at(p, py_range_of_token(name),
                        "f-string: invalid conversion character %.*s: expected 's', 'r', or 'a'",
                        (int)name->name->length, text);
        }
        conversion = *text;
        py_advance(p);
    }
    struct py_node *spec = NULL;
    if (py_kind_now(p) == PY_T_COLON) {
        const struct py_start at = py_start_here(p);
        const uint32_t from = p->top;
        py_advance(p);
        parse_fstring_parts(p);
        fold(p, from);
        struct py_JoinedStr *joined = PY_NEW(p, JoinedStr, at);
        joined->values = py_take_list(p, from);
        spec = &joined->base;
    } else if (debug && conversion < 0) {
        conversion = 'r';
    }
    if (py_kind_now(p) != PY_T_RBRACE) {
        if (p->diagnose) {
            const struct py_range at = py_range_of_token(py_current(p));
            if (spec) py_error_at(p, at, "f-string: expecting '}', or format specs");
            if (conversion >= 0 && !debug) py_error_at(p, at, "f-string: expecting ':' or '}'");
            if (debug) py_error_at(p, at, "f-string: expecting '!', or ':', or '}'");
            py_error_at(p, at, "f-string: expecting '=', or '!', or ':', or '}'");
        }
        py_invalid(p);
    }
    py_advance(p);
    struct py_FormattedValue *node = PY_NEW(p, FormattedValue, start);
    node->value = value;
    node->conversion = conversion;
    node->format_spec = spec;
    if (shown) py_push(p, shown);
    py_push(p, node);
}

struct py_node *py_parse_strings(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const uint32_t from = p->top;
    bool format = false, bytes = false, text = false;
    uint32_t tokens = 0;
    for (;; tokens++) {
        const struct py_token *token = py_current(p);
        if (token->kind == PY_T_STRING) {
            *(token->flags & PY_STRING_BYTES ? &bytes : &text) = true;
            py_push(p, parse_text(p));
        } else if (token->kind == PY_T_FSTRING_START) {
            format = text = true;
            py_enter(p, PY_EXPRESSION_WEIGHT);
            py_advance(p);
            parse_fstring_parts(p);
            py_expect(p, PY_T_FSTRING_END);
            p->depth -= PY_EXPRESSION_WEIGHT;
        } else {
            break;
        }
    }
    if (bytes && text) {
        py_error_at(p, py_range_of_token(py_current(p)), "cannot mix bytes and nonbytes literals");
    }
    if (format) {
        fold(p, from);
        struct py_JoinedStr *node = PY_NEW(p, JoinedStr, start);
        node->values = py_take_list(p, from);
        return &node->base;
    }
    struct py_Constant *node = p->stack[from];
    if (tokens > 1) {
        node->value.str = join(p, from, p->top);
        node->base.end_lineno = p->end_lineno;
        node->base.end_col = p->end_col;
    }
    p->top = from;
    return &node->base;
}
