// SPDX-License-Identifier: MIT
// Numbers, strings and the text of f-strings. Values are made later, by the parser (number.c, strings.c).
#include <stdio.h>
#include <string.h>

#include "python/lexer.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_hex(char c) { return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }
static bool is_name_byte(char c) {
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || (unsigned char)c >= 128;
}

static void finish(struct py_lexer *lexer, struct py_token *token, enum py_token_kind kind, const char *at) {
    token->kind = (uint8_t)kind;
    token->level = (uint8_t)lexer->level;
    token->end_lineno = lexer->lineno;
    token->end_col = (uint32_t)(at - lexer->line_start);
    lexer->cur = at;
}

// Complain about the last character before `at`, as CPython does.
#define fail_before(lexer, at, ...) py_lexer_fail(lexer, (at)-1, at, __VA_ARGS__)

// Does this word stand here alone? The words that begin with i are not checked that far, as in CPython.
static bool at_word(const char *at, const char *word) {
    size_t length = strlen(word);
    return strncmp(at, word, length) == 0 && !is_name_byte(at[length]);
}

// A number may touch a keyword (`1if x else y`) but no other name.
static void check_number_end(struct py_lexer *lexer, const char *at, const char *kind) {
    if (!is_name_byte(*at)) return;
    const bool keyword = at_word(at, "and") || at_word(at, "else") || at_word(at, "for") || at_word(at, "not") ||
                         at_word(at, "or") || (*at == 'i' && (at[1] == 'f' || at[1] == 'n' || at[1] == 's'));
    if (!keyword) fail_before(lexer, at, "invalid %s literal", kind);
}

// Digits with single underscores between them; `at` is the first digit.
static const char *skip_digits(struct py_lexer *lexer, const char *at) {
    for (;;) {
        while (is_digit(*at)) at++;
        if (*at != '_') return at;
        at++;
        if (!is_digit(*at)) fail_before(lexer, at, "invalid decimal literal");
    }
}

static const char *skip_radix(struct py_lexer *lexer, const char *at, int radix, const char *kind) {
    at += 2;
    do {
        if (*at == '_') at++;
        bool first = true;
        for (;; at++, first = false) {
            bool fits = radix == 16 ? is_hex(*at) : *at >= '0' && *at < '0' + radix;
            if (fits) continue;
            if (radix < 16 && is_digit(*at)) {
                py_lexer_fail(lexer, at, at + 1, "invalid digit '%c' in %s literal", *at, kind);
            }
            if (first) fail_before(lexer, at, "invalid %s literal", kind);
            break;
        }
    } while (*at == '_');
    check_number_end(lexer, at, kind);
    return at;
}

void py_lexer_number(struct py_lexer *lexer, struct py_token *token) {
    const char *start = lexer->cur, *at = start;
    char second = (char)(start[1] | 32);
    if (*at == '0' && (second == 'x' || second == 'o' || second == 'b')) {
        token->flags = second == 'x' ? PY_NUMBER_HEX : second == 'o' ? PY_NUMBER_OCTAL : PY_NUMBER_BINARY;
        at = second == 'x'   ? skip_radix(lexer, at, 16, "hexadecimal")
             : second == 'o' ? skip_radix(lexer, at, 8, "octal")
                             : skip_radix(lexer, at, 2, "binary");
        token->end = (uint32_t)(at - lexer->source);
        finish(lexer, token, PY_T_NUMBER, at);
        return;
    }
    const char *zeros_end = NULL; // of leading zeros that a nonzero digit follows
    if (*at == '0') {
        for (;;) {
            if (*at == '_') {
                at++;
                if (!is_digit(*at)) fail_before(lexer, at, "invalid decimal literal");
            }
            if (*at != '0') break;
            at++;
        }
        if (is_digit(*at)) {
            zeros_end = at;
            at = skip_digits(lexer, at);
        }
    } else if (*at != '.') {
        at = skip_digits(lexer, at);
    }
    if (*at == '.') {
        token->flags = PY_NUMBER_FLOAT;
        at++;
        if (is_digit(*at)) at = skip_digits(lexer, at);
    }
    if (*at == 'e' || *at == 'E') {
        const char *digits = at + 1;
        bool sign = *digits == '+' || *digits == '-';
        if (sign) digits++;
        if (is_digit(*digits)) {
            token->flags = PY_NUMBER_FLOAT;
            at = skip_digits(lexer, digits);
        } else if (sign) {
            fail_before(lexer, digits, "invalid decimal literal");
        } else {
            check_number_end(lexer, at, "decimal");
        }
    }
    if (*at == 'j' || *at == 'J') {
        token->flags = PY_NUMBER_FLOAT | PY_NUMBER_IMAGINARY;
        at++;
        check_number_end(lexer, at, "imaginary");
    } else {
        if (zeros_end && !(token->flags & PY_NUMBER_FLOAT)) {
            py_lexer_fail(lexer, start, zeros_end,
                          "leading zeros in decimal integer literals are not permitted; "
                          "use an 0o prefix for octal integers");
        }
        check_number_end(lexer, at, "decimal");
    }
    token->end = (uint32_t)(at - lexer->source);
    finish(lexer, token, PY_T_NUMBER, at);
}

static void fail_unterminated(struct py_lexer *lexer, const struct py_range *at, const char *what) {
    py_fail(lexer->failure, PY_SYNTAX_ERROR, *at, "unterminated %s literal (detected at line %u)", what, lexer->lineno);
}

static void begin_fstring(struct py_lexer *lexer, struct py_token *token, const char *quote, bool triple) {
    if (lexer->fstring_depth >= PY_MAX_FSTRINGS) py_lexer_fail(lexer, quote, quote + 1, "too many nested f-strings");
    lexer->fstrings[lexer->fstring_depth++] = (struct py_fstring){
        .quote = *quote,
        .triple = triple,
        .raw = token->flags & PY_STRING_RAW,
        .in_text = true,
        .level = (uint8_t)lexer->level,
        .lineno = token->lineno,
        .col = token->col,
    };
    const char *at = quote + (triple ? 3 : 1);
    token->end = (uint32_t)(at - lexer->source);
    finish(lexer, token, PY_T_FSTRING_START, at);
}

// `start` .. `quote` is the prefix.
void py_lexer_string(struct py_lexer *lexer, struct py_token *token, const char *start, const char *quote) {
    bool format = false;
    for (const char *c = start; c < quote; c++) {
        char letter = (char)(*c | 32);
        if (letter == 'r') token->flags |= PY_STRING_RAW;
        if (letter == 'b') token->flags |= PY_STRING_BYTES;
        if (*c == 'u') token->flags |= PY_STRING_U; // not U: CPython notes only the small one
        if (letter == 'f') format = true;
    }
    bool triple = quote[1] == *quote && quote[2] == *quote;
    if (format) {
        begin_fstring(lexer, token, quote, triple);
        return;
    }
    struct py_range begun = {lexer->lineno, token->col, lexer->lineno, token->col + (uint32_t)(quote - start) + 1};
    const char *body = quote + (triple ? 3 : 1), *at = body;
    const char mark = *quote;
    unsigned char seen = 0;
    for (;; at++) {
        char c = *at;
        if (c == mark && (!triple || (at[1] == mark && at[2] == mark))) break;
        seen |= (unsigned char)c;
        if (c == '\\') {
            token->flags |= PY_STRING_ESCAPES;
            c = *++at;
            seen |= (unsigned char)c;
            if (c == '\n') {
                lexer->lineno++;
                lexer->line_start = at + 1;
                continue;
            }
            if (c) continue;
        }
        if (c == '\n' && triple) {
            lexer->lineno++;
            lexer->line_start = at + 1;
        } else if ((c == '\n' || c == 0) && (c || at >= lexer->end)) {
            // The quote that should have ended an f-string's field is read as the start of a string.
            struct py_fstring *outer = lexer->fstring_depth ? &lexer->fstrings[lexer->fstring_depth - 1] : NULL;
            if (outer && outer->quote == mark && outer->triple == triple) {
                py_fail(lexer->failure, PY_SYNTAX_ERROR, begun, "f-string: expecting '}'");
            }
            if (triple && lexer->lineno > begun.lineno && at > lexer->source && at[-1] == '\n') lexer->lineno--;
            fail_unterminated(lexer, &begun, triple ? "triple-quoted string" : "string");
        }
    }
    if (seen >= 128) token->flags |= PY_STRING_NON_ASCII;
    token->start = (uint32_t)(body - lexer->source);
    token->end = (uint32_t)(at - lexer->source);
    finish(lexer, token, PY_T_STRING, at + (triple ? 3 : 1));
}

// Inside an f-string, outside its fields: text up to the next field or the end, or the brace or quote that comes now.
void py_lexer_fstring_text(struct py_lexer *lexer, struct py_token *token) {
    struct py_fstring *string = &lexer->fstrings[lexer->fstring_depth - 1];
    const bool in_spec = lexer->level > string->level;
    // As in CPython, a field within a specification ends the part where braces are not doubled and a line may not end.
    const bool plain_spec = in_spec && lexer->brackets[lexer->level - 1].in_spec;
    const char *at = lexer->cur;
    int width = string->triple ? 3 : 1;
    token->flags = string->raw ? PY_STRING_RAW : 0;
    token->lineno = lexer->lineno;
    token->col = (uint32_t)(at - lexer->line_start);
    token->start = (uint32_t)(at - lexer->source);
    for (;; at++) {
        char c = *at;
        if (c == string->quote && (!string->triple || (at[1] == c && at[2] == c))) break;
        if ((unsigned char)c >= 128) token->flags |= PY_STRING_NON_ASCII;
        if (c == '{') {
            if (at[1] != '{' || plain_spec) break;
            token->flags |= PY_STRING_BRACES;
            at++;
        } else if (c == '}') {
            if (at[1] != '}' || in_spec) break;
            token->flags |= PY_STRING_BRACES;
            at++;
        } else if (c == '\\') {
            token->flags |= PY_STRING_ESCAPES;
            c = at[1];
            if (c == '{' || c == '}') continue;
            if (c == 'N' && at[2] == '{' && !string->raw) {
                const char *close = at + 3;
                while (*close != '}' && *close != '\n' && *close != string->quote && close < lexer->end) close++;
                at = *close == '}' ? close : close - 1;
                continue;
            }
            if ((unsigned char)c >= 128) token->flags |= PY_STRING_NON_ASCII;
            if (c || at + 1 < lexer->end) at++;
            if (c == '\n') {
                lexer->lineno++;
                lexer->line_start = at + 1;
            }
        } else if (c == '\n' && string->triple) {
            lexer->lineno++;
            lexer->line_start = at + 1;
        } else if (plain_spec && !string->triple && (c == '\n' || (c == 0 && at >= lexer->end))) {
            break;
        } else if ((c == '\n' || c == 0) && (c || at >= lexer->end)) {
            struct py_range begun = {string->lineno, string->col, string->lineno, string->col + 1};
            if (string->triple && at > lexer->source && at[-1] == '\n') lexer->lineno--;
            fail_unterminated(lexer, &begun, string->triple ? "triple-quoted f-string" : "f-string");
        }
    }
    token->end = (uint32_t)(at - lexer->source);
    if (token->end > token->start) {
        finish(lexer, token, PY_T_FSTRING_MIDDLE, at);
        return;
    }
    if (*at == '{') {
        int fields = 0;
        for (int i = string->level; i < lexer->level; i++) fields += lexer->brackets[i].field;
        if (fields >= PY_MAX_FIELDS) py_lexer_fail(lexer, at, at + 1, "f-string: expressions nested too deeply");
        if (lexer->level >= PY_MAX_LEVEL) py_lexer_fail(lexer, at, at + 1, "too many nested parentheses");
        lexer->brackets[lexer->level++] = (struct py_bracket){
            .open = '{', .field = true, .lineno = lexer->lineno, .col = (uint32_t)(at - lexer->line_start)};
        string->in_text = false;
        token->end++;
        finish(lexer, token, PY_T_LBRACE, at + 1);
        return;
    }
    if (*at == '}') {
        if (!in_spec) py_lexer_fail(lexer, at, at + 1, "f-string: single '}' is not allowed");
        lexer->level--; // back in the text around the field
        if (lexer->level > string->level) lexer->brackets[lexer->level - 1].in_spec = false;
        token->end++;
        finish(lexer, token, PY_T_RBRACE, at + 1);
        return;
    }
    if (*at == '\n' || at == lexer->end) { // ends the specification; the field may go on to its brace
        string->in_text = false;
        py_lexer_next(lexer, token);
        return;
    }
    // A field that is still open is the parser's to complain about.
    for (int i = string->level; i < lexer->level; i++) lexer->brackets[i].field = false;
    lexer->fstring_depth--;
    token->end += (uint32_t)width;
    finish(lexer, token, PY_T_FSTRING_END, at + width);
}
