// SPDX-License-Identifier: MIT
#include "python/lexer.h"

#include <stdio.h>
#include <string.h>

// What a byte can begin.
enum { C_OTHER, C_NAME, C_DIGIT, C_QUOTE, C_SPACE };

static const uint8_t class_of[256] = {
    ['a' ... 'z'] = C_NAME, ['A' ... 'Z'] = C_NAME, ['_'] = C_NAME,  [128 ... 255] = C_NAME, ['0' ... '9'] = C_DIGIT,
    ['"'] = C_QUOTE,        ['\''] = C_QUOTE,       [' '] = C_SPACE, ['\t'] = C_SPACE,       ['\f'] = C_SPACE,
};

void py_lexer_init(struct py_lexer *lexer, const char *source, size_t size, struct py_names *names,
                   struct py_failure *failure) {
    lexer->failure = failure;
    lexer->names = names;
    lexer->source = lexer->cur = lexer->line_start = source;
    lexer->end = source + size;
    lexer->lineno = 1;
    lexer->at_line_start = true;
    lexer->needs_newline = false;
    lexer->pending = lexer->indent_depth = lexer->level = lexer->fstring_depth = 0;
    lexer->indents[0] = lexer->tab_indents[0] = 0;
}

void py_lexer_fail(struct py_lexer *lexer, const char *from, const char *to, const char *format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    struct py_range at = {lexer->lineno, (uint32_t)(from - lexer->line_start), lexer->lineno,
                          (uint32_t)(to - lexer->line_start)};
    py_fail(lexer->failure, PY_SYNTAX_ERROR, at, "%s", message);
}

static void begin(struct py_lexer *lexer, struct py_token *token, const char *at) {
    token->flags = 0;
    token->lineno = lexer->lineno;
    token->col = (uint32_t)(at - lexer->line_start);
    token->start = (uint32_t)(at - lexer->source);
}

static void finish(struct py_lexer *lexer, struct py_token *token, enum py_token_kind kind, const char *at) {
    token->kind = (uint8_t)kind;
    token->level = (uint8_t)lexer->level;
    token->end_lineno = lexer->lineno;
    token->end_col = (uint32_t)(at - lexer->line_start);
    token->end = (uint32_t)(at - lexer->source);
    lexer->cur = at;
}

// At the end of the file, what comes is reported on the last line, not on the empty one after it.
static void step_back_at_end(struct py_lexer *lexer, struct py_token *token, const char *at) {
    if (at != lexer->end || at != lexer->line_start || at == lexer->source) return;
    const char *line = at - 1;
    while (line > lexer->source && line[-1] != '\n') line--;
    token->lineno = token->end_lineno = lexer->lineno - 1;
    token->col = token->end_col = (uint32_t)(at - 1 - line);
}

static noreturn void fail_line(struct py_lexer *lexer, enum py_error_type type, const char *message) {
    lexer->failure->mild = true;
    const char *stop = memchr(lexer->cur, '\n', lexer->end - lexer->cur);
    if (!stop) stop = lexer->end;
    uint32_t col = (uint32_t)(stop - lexer->line_start);
    py_fail(lexer->failure, type, (struct py_range){lexer->lineno, col, lexer->lineno, PY_NO_END}, "%s", message);
}

// A backslash that ends its line: skip both. `at` is the backslash.
static const char *skip_continuation(struct py_lexer *lexer, const char *at) {
    if (at[1] != '\n' || at + 2 == lexer->end) lexer->failure->mild = true;
    if (at[1] != '\n') {
        if (at + 1 == lexer->end) py_lexer_fail(lexer, at + 1, at + 1, "unexpected EOF while parsing");
        py_lexer_fail(lexer, at + 1, at + 2, "unexpected character after line continuation character");
    }
    if (at + 2 == lexer->end) py_lexer_fail(lexer, at + 1, at + 2, "unexpected EOF while parsing");
    at += 2;
    lexer->lineno++;
    lexer->line_start = at;
    return at;
}

// Measure the indentation of the first line that holds a token and queue INDENT or DEDENTs.
static void measure_indent(struct py_lexer *lexer) {
    const char *at = lexer->cur;
    for (;;) {
        uint32_t col = 0, tab_col = 0, continued_col = 0;
        for (;; at++) {
            if (*at == ' ') {
                col++, tab_col++;
            } else if (*at == '\t') {
                col = (col / 8 + 1) * 8, tab_col++;
            } else if (*at == '\f') {
                col = tab_col = 0;
            } else if (*at == '\\') {
                if (!continued_col) continued_col = col;
                lexer->cur = at;
                at = skip_continuation(lexer, at) - 1;
            } else {
                break;
            }
        }
        if (*at == '#') {
            const char *stop = memchr(at, '\n', lexer->end - at);
            at = stop ? stop : lexer->end;
        }
        if (*at == '\n') {
            lexer->lineno++;
            lexer->line_start = ++at;
            continue;
        }
        lexer->cur = at;
        if (at == lexer->end) col = tab_col = continued_col = 0;
        if (continued_col) col = tab_col = continued_col;
        int depth = lexer->indent_depth;
        bool tabs_agree = true;
        if (col == lexer->indents[depth]) {
            tabs_agree = tab_col == lexer->tab_indents[depth];
        } else if (col > lexer->indents[depth]) {
            if (depth + 1 >= PY_MAX_INDENT) fail_line(lexer, PY_INDENTATION_ERROR, "too many levels of indentation");
            tabs_agree = tab_col > lexer->tab_indents[depth];
            lexer->indents[++depth] = col;
            lexer->tab_indents[depth] = tab_col;
            lexer->pending = 1;
        } else {
            for (; depth > 0 && col < lexer->indents[depth]; depth--) lexer->pending--;
            if (col != lexer->indents[depth]) {
                fail_line(lexer, PY_INDENTATION_ERROR, "unindent does not match any outer indentation level");
            }
            tabs_agree = tab_col == lexer->tab_indents[depth];
        }
        if (!tabs_agree) fail_line(lexer, PY_TAB_ERROR, "inconsistent use of tabs and spaces in indentation");
        lexer->indent_depth = depth;
        return;
    }
}

static void open_bracket(struct py_lexer *lexer, const char *at, bool field) {
    if (lexer->level >= PY_MAX_LEVEL) py_lexer_fail(lexer, at, at + 1, "too many nested parentheses");
    lexer->brackets[lexer->level++] = (struct py_bracket){
        .open = *at, .field = field, .lineno = lexer->lineno, .col = (uint32_t)(at - lexer->line_start)};
}

static void close_bracket(struct py_lexer *lexer, const char *at) {
    static const char opener_of[128] = {[')'] = '(', [']'] = '[', ['}'] = '{'};
    if (lexer->level == 0) py_lexer_fail(lexer, at, at + 1, "unmatched '%c'", *at);
    struct py_bracket *top = &lexer->brackets[lexer->level - 1];
    if (top->open != opener_of[(unsigned char)*at]) {
        if (top->field) py_lexer_fail(lexer, at, at + 1, "f-string: unmatched '%c'", *at);
        if (top->lineno != lexer->lineno) {
            py_lexer_fail(lexer, at, at + 1,
                          "closing parenthesis '%c' does not match opening parenthesis '%c' on line %u", *at, top->open,
                          top->lineno);
        }
        py_lexer_fail(lexer, at, at + 1, "closing parenthesis '%c' does not match opening parenthesis '%c'", *at,
                      top->open);
    }
    lexer->level--;
    if (!top->field) return;
    struct py_fstring *string = &lexer->fstrings[lexer->fstring_depth - 1];
    string->in_text = true;
    if (lexer->level > string->level) lexer->brackets[lexer->level - 1].in_spec = false;
}

// Identifier, keyword, or a string's prefix.
static void lex_name(struct py_lexer *lexer, struct py_token *token, const char *start) {
    const char *at = start;
    uint32_t hash = PY_HASH_START;
    unsigned char seen = 0;
    while (class_of[(unsigned char)*at] == C_NAME || class_of[(unsigned char)*at] == C_DIGIT) {
        hash = PY_HASH_STEP(hash, *at);
        seen |= (unsigned char)*at++;
    }
    if (class_of[(unsigned char)*at] == C_QUOTE && at - start <= 2) {
        bool raw = false, bytes = false, unicode = false, format = false, valid = true;
        for (const char *c = start; c < at; c++) {
            bool *which = (*c | 32) == 'r'   ? &raw
                          : (*c | 32) == 'b' ? &bytes
                          : (*c | 32) == 'u' ? &unicode
                          : (*c | 32) == 'f' ? &format
                                             : NULL;
            if (!which || *which) {
                valid = false;
                break;
            }
            *which = true;
        }
        if (valid && !(unicode && at - start > 1) && !(bytes && format)) {
            py_lexer_string(lexer, token, start, at);
            return;
        }
    }
    token->name = seen < 128 ? py_names_intern(lexer->names, start, (uint32_t)(at - start), hash)
                             : py_lexer_wide_name(lexer, start, at);
    if (!token->name) py_fail_memory(lexer->failure);
    uint32_t id = token->name->id;
    // A keyword in other letters (full-width, say) normalises to the keyword's spelling but stays a name.
    finish(lexer, token, id < PY_KEYWORD_COUNT && seen < 128 ? PY_T_KEYWORD + id : PY_T_NAME, at);
}

static enum py_token_kind lex_operator(struct py_lexer *lexer, const char *at, int *length) {
#define ONE(kind) return *length = 1, PY_T_##kind
#define TWO(kind) return *length = 2, PY_T_##kind
#define THREE(kind) return *length = 3, PY_T_##kind
    char next = at[1];
    switch (*at) {
    case '(': open_bracket(lexer, at, false); ONE(LPAR);
    case '[': open_bracket(lexer, at, false); ONE(LSQB);
    case '{': open_bracket(lexer, at, false); ONE(LBRACE);
    case ')': close_bracket(lexer, at); ONE(RPAR);
    case ']': close_bracket(lexer, at); ONE(RSQB);
    case '}': close_bracket(lexer, at); ONE(RBRACE);
    case ',': ONE(COMMA);
    case ';': ONE(SEMI);
    case '~': ONE(TILDE);
    case ':':
        if (lexer->level > 0 && lexer->brackets[lexer->level - 1].field) {
            lexer->brackets[lexer->level - 1].in_spec = true;
            lexer->fstrings[lexer->fstring_depth - 1].in_text = true;
            ONE(COLON);
        }
        if (next == '=') TWO(COLONEQUAL);
        ONE(COLON);
    case '.':
        if (next == '.' && at[2] == '.') THREE(ELLIPSIS);
        ONE(DOT);
    case '=':
        if (next == '=') TWO(EQEQUAL);
        ONE(EQUAL);
    case '!':
        if (next == '=') TWO(NOTEQUAL);
        ONE(EXCLAMATION);
    case '+':
        if (next == '=') TWO(PLUSEQUAL);
        ONE(PLUS);
    case '-':
        if (next == '=') TWO(MINEQUAL);
        if (next == '>') TWO(ARROW);
        ONE(MINUS);
    case '*':
        if (next == '*' && at[2] == '=') THREE(DOUBLESTAREQUAL);
        if (next == '*') TWO(DOUBLESTAR);
        if (next == '=') TWO(STAREQUAL);
        ONE(STAR);
    case '/':
        if (next == '/' && at[2] == '=') THREE(DOUBLESLASHEQUAL);
        if (next == '/') TWO(DOUBLESLASH);
        if (next == '=') TWO(SLASHEQUAL);
        ONE(SLASH);
    case '%':
        if (next == '=') TWO(PERCENTEQUAL);
        ONE(PERCENT);
    case '@':
        if (next == '=') TWO(ATEQUAL);
        ONE(AT);
    case '&':
        if (next == '=') TWO(AMPEREQUAL);
        ONE(AMPER);
    case '|':
        if (next == '=') TWO(VBAREQUAL);
        ONE(VBAR);
    case '^':
        if (next == '=') TWO(CIRCUMFLEXEQUAL);
        ONE(CIRCUMFLEX);
    case '<':
        if (next == '<' && at[2] == '=') THREE(LEFTSHIFTEQUAL);
        if (next == '<') TWO(LEFTSHIFT);
        if (next == '=') TWO(LESSEQUAL);
        if (next == '>') TWO(UNKNOWN);
        ONE(LESS);
    case '>':
        if (next == '>' && at[2] == '=') THREE(RIGHTSHIFTEQUAL);
        if (next == '>') TWO(RIGHTSHIFT);
        if (next == '=') TWO(GREATEREQUAL);
        ONE(GREATER);
    default:
        if ((unsigned char)*at < 32 || *at == 127) {
            py_lexer_fail(lexer, at, at + 1, "invalid non-printable character U+%04X", (unsigned char)*at);
        }
        ONE(UNKNOWN);
    }
#undef ONE
#undef TWO
#undef THREE
}

static void lex_end(struct py_lexer *lexer, struct py_token *token, const char *at) {
    if (lexer->level > 0) {
        struct py_bracket *open = &lexer->brackets[lexer->level - 1];
        struct py_range range = {open->lineno, open->col, open->lineno, PY_NO_END};
        lexer->failure->mild = true;
        py_fail(lexer->failure, PY_SYNTAX_ERROR, range, "'%c' was never closed", open->open);
    }
    begin(lexer, token, at);
    if (lexer->needs_newline) { // a last line without its newline
        lexer->needs_newline = false;
        lexer->at_line_start = true;
        finish(lexer, token, PY_T_NEWLINE, at);
        token->end_col++;
        return;
    }
    if (lexer->indent_depth > 0) {
        lexer->indent_depth--;
        finish(lexer, token, PY_T_DEDENT, at);
        step_back_at_end(lexer, token, at);
        return;
    }
    finish(lexer, token, PY_T_ENDMARKER, at);
    step_back_at_end(lexer, token, at);
}

void py_lexer_next(struct py_lexer *lexer, struct py_token *token) {
    if (lexer->fstring_depth > 0 && lexer->fstrings[lexer->fstring_depth - 1].in_text) {
        py_lexer_fstring_text(lexer, token);
        return;
    }
    if (lexer->at_line_start) {
        lexer->at_line_start = false;
        measure_indent(lexer);
    }
    if (lexer->pending) {
        begin(lexer, token, lexer->cur);
        bool indent = lexer->pending > 0;
        lexer->pending += indent ? -1 : 1;
        finish(lexer, token, indent ? PY_T_INDENT : PY_T_DEDENT, lexer->cur);
        step_back_at_end(lexer, token, lexer->cur);
        return;
    }
    const char *at = lexer->cur;
    for (;;) {
        unsigned char byte = (unsigned char)*at;
        switch (class_of[byte]) {
        case C_SPACE: at++; continue;
        case C_NAME:
            lexer->needs_newline = true;
            begin(lexer, token, at);
            lex_name(lexer, token, at);
            return;
        case C_DIGIT:
            lexer->needs_newline = true;
            begin(lexer, token, at);
            lexer->cur = at;
            py_lexer_number(lexer, token);
            return;
        case C_QUOTE:
            lexer->needs_newline = true;
            begin(lexer, token, at);
            py_lexer_string(lexer, token, at, at);
            return;
        default: break;
        }
        if (byte == '\n') {
            if (lexer->level > 0) {
                lexer->lineno++;
                lexer->line_start = ++at;
                continue;
            }
            begin(lexer, token, at);
            finish(lexer, token, PY_T_NEWLINE, at + 1);
            lexer->lineno++;
            lexer->line_start = at + 1;
            lexer->at_line_start = true;
            lexer->needs_newline = false;
            return;
        }
        if (byte == '#') {
            const char *stop = memchr(at, '\n', lexer->end - at);
            at = stop ? stop : lexer->end;
            continue;
        }
        if (byte == '\\') {
            at = skip_continuation(lexer, at);
            continue;
        }
        if (at == lexer->end) {
            lexer->cur = at;
            lex_end(lexer, token, at);
            return;
        }
        lexer->needs_newline = true;
        begin(lexer, token, at);
        if (byte == '.' && class_of[(unsigned char)at[1]] == C_DIGIT) {
            lexer->cur = at;
            py_lexer_number(lexer, token);
            return;
        }
        int length;
        enum py_token_kind kind = lex_operator(lexer, at, &length);
        finish(lexer, token, kind, at + length);
        return;
    }
}
