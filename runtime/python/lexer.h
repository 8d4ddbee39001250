// SPDX-License-Identifier: MIT
// lexer.h: Python source text to tokens, one at a time, f-strings included (as Python 3.12 tokenises them: start,
// middle and end tokens with ordinary tokens in between). The parser owns the lexer and calls `py_lexer_next` until it
// has seen PY_T_ENDMARKER. A malformed token jumps to the failure's `jump`; nothing else fails, no memory is taken
// except for names that need normalising. The source must be valid UTF-8 with \n line ends and a 0 after its last byte.
#ifndef NKILN_PYTHON_LEXER_H
#define NKILN_PYTHON_LEXER_H

#include "python/failure.h"
#include "python/names.h"

enum py_token_kind {
    PY_T_ENDMARKER, // this and the next three take no room on a line: they never end a node
    PY_T_NEWLINE,
    PY_T_INDENT,
    PY_T_DEDENT,
    PY_T_NAME,
    PY_T_NUMBER,
    PY_T_STRING,
    PY_T_FSTRING_START,
    PY_T_FSTRING_MIDDLE,
    PY_T_FSTRING_END,
    PY_T_LPAR,
    PY_T_RPAR,
    PY_T_LSQB,
    PY_T_RSQB,
    PY_T_LBRACE,
    PY_T_RBRACE,
    PY_T_COLON,
    PY_T_COMMA,
    PY_T_SEMI,
    PY_T_DOT,
    PY_T_ELLIPSIS,
    PY_T_ARROW,
    PY_T_COLONEQUAL,
    PY_T_EXCLAMATION,
    PY_T_EQUAL,
    // Augmented assignments, in the order of the operators they hold (PY_Add ...).
    PY_T_PLUSEQUAL,
    PY_T_MINEQUAL,
    PY_T_STAREQUAL,
    PY_T_ATEQUAL,
    PY_T_SLASHEQUAL,
    PY_T_PERCENTEQUAL,
    PY_T_DOUBLESTAREQUAL,
    PY_T_LEFTSHIFTEQUAL,
    PY_T_RIGHTSHIFTEQUAL,
    PY_T_VBAREQUAL,
    PY_T_CIRCUMFLEXEQUAL,
    PY_T_AMPEREQUAL,
    PY_T_DOUBLESLASHEQUAL,
    // Binary operators, in the same order.
    PY_T_PLUS,
    PY_T_MINUS,
    PY_T_STAR,
    PY_T_AT,
    PY_T_SLASH,
    PY_T_PERCENT,
    PY_T_DOUBLESTAR,
    PY_T_LEFTSHIFT,
    PY_T_RIGHTSHIFT,
    PY_T_VBAR,
    PY_T_CIRCUMFLEX,
    PY_T_AMPER,
    PY_T_DOUBLESLASH,
    PY_T_TILDE,
    PY_T_EQEQUAL,
    PY_T_NOTEQUAL,
    PY_T_LESS,
    PY_T_LESSEQUAL,
    PY_T_GREATER,
    PY_T_GREATEREQUAL,
    PY_T_UNKNOWN, // a character of no token, and "<>"
    PY_T_KEYWORD, // + enum py_word
    PY_T_COUNT = PY_T_KEYWORD + PY_KEYWORD_COUNT
};
#define PY_KW(word) (PY_T_KEYWORD + PY_KW_##word)

enum py_token_flag {
    // of strings and f-string parts
    PY_STRING_RAW = 1,
    PY_STRING_BYTES = 2,
    PY_STRING_U = 4,
    PY_STRING_ESCAPES = 8, // holds a backslash
    PY_STRING_BRACES = 16, // f-string text with doubled braces
    PY_STRING_NON_ASCII = 32,
    // of numbers
    PY_NUMBER_HEX = 1,
    PY_NUMBER_OCTAL = 2,
    PY_NUMBER_BINARY = 4,
    PY_NUMBER_FLOAT = 8,
    PY_NUMBER_IMAGINARY = 16,
};

struct py_token {
    uint8_t kind;  // enum py_token_kind
    uint8_t flags; // enum py_token_flag
    uint8_t level; // brackets open after it
    uint32_t lineno, col, end_lineno, end_col;
    uint32_t start, end;  // byte offsets; of a string and f-string text: of its body, without prefix and quotes
    struct py_name *name; // of names and keywords
};

// CPython's limits.
enum { PY_MAX_LEVEL = 200, PY_MAX_INDENT = 100, PY_MAX_FSTRINGS = 150, PY_MAX_FIELDS = 3 };

struct py_bracket {
    char open;
    bool field;   // the brace of an f-string replacement field
    bool in_spec; // that field has reached its format specification
    uint32_t lineno, col;
};

struct py_fstring {
    char quote;
    bool triple, raw;
    bool in_text;  // the next token is text, not an expression
    uint8_t level; // brackets open outside it
    uint32_t lineno, col;
};

struct py_lexer {
    struct py_failure *failure;
    struct py_names *names;
    const char *source, *end; // *end == 0
    const char *cur, *line_start;
    uint32_t lineno;
    bool at_line_start, needs_newline;
    int pending; // indents (> 0) or dedents (< 0) to hand out
    int indent_depth, level, fstring_depth;
    uint32_t indents[PY_MAX_INDENT], tab_indents[PY_MAX_INDENT]; // columns with tabs of 8 and of 1
    struct py_bracket brackets[PY_MAX_LEVEL];
    struct py_fstring fstrings[PY_MAX_FSTRINGS];
};

void py_lexer_init(struct py_lexer *lexer, const char *source, size_t size, struct py_names *names,
                   struct py_failure *failure);
void py_lexer_next(struct py_lexer *lexer, struct py_token *token);

// For the lexer's own files.
void py_lexer_number(struct py_lexer *lexer, struct py_token *token);
void py_lexer_string(struct py_lexer *lexer, struct py_token *token, const char *start, const char *quote);
void py_lexer_fstring_text(struct py_lexer *lexer, struct py_token *token);
struct py_name *py_lexer_wide_name(struct py_lexer *lexer, const char *start, const char *end);
noreturn void py_lexer_fail(struct py_lexer *lexer, const char *from, const char *to, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
