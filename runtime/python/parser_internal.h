// SPDX-License-Identifier: MIT
// parser_internal.h: what the parser's files share. A recursive descent parser over a window of tokens: tokens are
// lexed when the parser reaches them and forgotten when a statement ends, so a file costs its tree and little else.
//
// A source is parsed once for its tree. When that fails without a particular reason it is parsed a second time with
// `diagnose` set, as CPython does: then each rule also looks for the well-known mistakes, and the first one found is
// the error reported; if there is none, it is "invalid syntax" where the first pass stopped. Functions either return a
// node or leave through the failure's jump.
#ifndef NKILN_PYTHON_PARSER_INTERNAL_H
#define NKILN_PYTHON_PARSER_INTERNAL_H

#include "python/lexer.h"

struct py_start {
    uint32_t lineno, col;
};

struct py_parser {
    struct py_failure failure;
    struct py_tree *tree;
    struct py_names names;
    struct py_lexer lexer;
    struct py_token *tokens; // the window: `pos` is the current token, always lexed
    uint32_t pos, fill, capacity;
    uint64_t dropped;             // tokens that have left the window
    uint32_t end_lineno, end_col; // end of the last token consumed that takes room
    void **stack;                 // elements of lists being collected
    uint32_t top, stack_capacity;
    uint32_t depth;          // weight of the rules entered
    bool diagnose;           // look for well-known mistakes
    bool second;             // the second pass
    bool generic;            // the failure is a plain "invalid syntax"
    struct py_token stopped; // the furthest token looked at when something failed, and how many tokens in it is
    uint64_t stopped_at;
    uint64_t effort, effort_limit; // expressions entered by the second pass, which tries some again and again
};

// CPython's parser gives up at 6000 nested rules; nesting is weighed so that ours uses about 2 MB of stack at most.
enum { PY_MAX_DEPTH = 6000, PY_EXPRESSION_WEIGHT = 12, PY_BLOCK_WEIGHT = 12 };

// Memory and nodes ---------------------------------------------------------------------------------------------------

void *py_parser_alloc(struct py_parser *p, size_t size);
void *py_node_alloc(struct py_parser *p, enum py_kind kind);                       // all fields zero
void *py_node_from(struct py_parser *p, enum py_kind kind, struct py_start start); // ends at the last token consumed
#define PY_NEW(p, kind, start) ((struct py_##kind *)py_node_from(p, PY_##kind, start))

void py_push_slow(struct py_parser *p, void *item);
static inline void py_push(struct py_parser *p, void *item) {
    if (p->top == p->stack_capacity) {
        py_push_slow(p, item);
        return;
    }
    p->stack[p->top++] = item;
}
struct py_list *py_take_list(struct py_parser *p, uint32_t from); // pops everything above `from` into a list

// Tokens -------------------------------------------------------------------------------------------------------------

void py_fill(struct py_parser *p); // lex one more token into the window
static inline struct py_token *py_current(struct py_parser *p) { return &p->tokens[p->pos]; }
static inline int py_kind_now(struct py_parser *p) { return p->tokens[p->pos].kind; }
static inline void py_advance(struct py_parser *p) {
    const struct py_token *token = &p->tokens[p->pos++];
    if (token->kind > PY_T_DEDENT) {
        p->end_lineno = token->end_lineno;
        p->end_col = token->end_col;
    }
    if (p->pos == p->fill) py_fill(p);
}
static inline bool py_accept(struct py_parser *p, int kind) {
    if (py_kind_now(p) != kind) return false;
    py_advance(p);
    return true;
}
struct py_token *py_peek(struct py_parser *p, uint32_t ahead); // 0 is the current token
// Look ahead without meeting the lexer's errors early: false when there is one.
bool py_scan(struct py_parser *p, bool (*scan)(struct py_parser *p));
void py_forget_tokens(struct py_parser *p); // everything before the current token but one
static inline struct py_start py_start_here(struct py_parser *p) {
    const struct py_token *token = py_current(p);
    return (struct py_start){token->lineno, token->col};
}
static inline bool py_is_soft(const struct py_token *token, enum py_word word) {
    return token->kind == PY_T_NAME && token->name->id == (uint32_t)word;
}

// Errors -------------------------------------------------------------------------------------------------------------

noreturn void py_invalid(struct py_parser *p);                           // "invalid syntax" at the current token
noreturn void py_invalid_late(struct py_parser *p, const char *message); // a message at the furthest token seen
noreturn void py_indentation_late(struct py_parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define py_error_at(p, range, ...) py_fail(&(p)->failure, PY_SYNTAX_ERROR, range, __VA_ARGS__)
void py_expect(struct py_parser *p, int kind);                              // or "invalid syntax"
void py_expect_forced(struct py_parser *p, int kind, const char *spelling); // or "expected '(' ..."
void py_enter(struct py_parser *p, uint32_t weight);                        // a level deeper, or the nesting error

static inline struct py_range py_range_of_token(const struct py_token *token) {
    return (struct py_range){token->lineno, token->col, token->end_lineno, token->end_col};
}
static inline struct py_range py_range_of(const void *node) {
    const struct py_node *n = node;
    return (struct py_range){n->lineno, n->col, n->end_lineno, n->end_col};
}
static inline struct py_range py_range_to(const void *first, const void *last) {
    const struct py_node *a = first, *b = last;
    return (struct py_range){a->lineno, a->col, b->end_lineno, b->end_col};
}
const char *py_expression_name(const struct py_node *node); // "function call", as messages call it

// Run `parse` without diagnosis; false and the position restored when it fails. Errors of the lexer pass through.
typedef struct py_node *(*py_parse_fn)(struct py_parser *p);
bool py_try(struct py_parser *p, py_parse_fn parse, struct py_node **result);
bool py_try_with(struct py_parser *p, py_parse_fn parse, bool diagnosing, struct py_node **result);

// The same for an expression that may stop early, as CPython's parser does: `f(x y` still yields `f`.
bool py_try_operand(struct py_parser *p, struct py_node **result);
// At the '=' of `a = b` where a value is wanted: ':=' or '==' may be meant. Fails with that advice or returns.
void py_diagnose_equal(struct py_parser *p, struct py_node *a, struct py_range range);
bool py_begins_expression(int kind); // can a token of this kind begin an expression?

// Rules --------------------------------------------------------------------------------------------------------------

struct py_node *py_parse_expression(struct py_parser *p);
struct py_node *py_parse_disjunction(struct py_parser *p);
struct py_node *py_parse_bitwise_or(struct py_parser *p);
struct py_node *py_parse_named(struct py_parser *p);      // named_expression
struct py_node *py_parse_star_named(struct py_parser *p); // star_named_expression
struct py_node *py_parse_star_expressions(struct py_parser *p);
struct py_node *py_parse_yield(struct py_parser *p);
struct py_node *py_parse_yield_or_star(struct py_parser *p); // annotated_rhs and right sides
struct py_node *py_parse_primary(struct py_parser *p);
struct py_node *py_parse_atom(struct py_parser *p);
struct py_node *py_parse_named_argument(struct py_parser *p); // as py_parse_named, without its diagnosis of "="
struct py_node *py_parse_slices(struct py_parser *p);
struct py_node *py_parse_call(struct py_parser *p, struct py_start start, struct py_node *function); // at the '('
// Up to the ')'. A bare generator is the sole argument of a call, never of a class.
void py_parse_arguments(struct py_parser *p, bool call, struct py_list **args, struct py_list **keywords);
struct py_list *py_parse_generators(struct py_parser *p); // for_if_clauses
struct py_node *py_parse_targets(struct py_parser *p);    // star_targets and `in`
struct py_node *py_parse_lambda(struct py_parser *p);
struct py_arguments *py_parse_parameters(struct py_parser *p, bool lambda); // up to ')' or ':'
struct py_list *py_parse_type_params(struct py_parser *p);                  // at the '[', or NULL
struct py_node *py_parse_strings(struct py_parser *p);
struct py_node *py_number_node(struct py_parser *p, const struct py_token *token);
struct py_node *py_parse_pattern_top(struct py_parser *p); // patterns
struct py_node *py_parse_name(struct py_parser *p, enum py_op context);
struct py_node *py_parse_match(struct py_parser *p);
struct py_node *py_parse_try(struct py_parser *p);
struct py_node *py_parse_with(struct py_parser *p, struct py_start start, bool is_async);
void py_parse_statement(struct py_parser *p);                                           // pushes one or more statements
void py_parse_simple_statements(struct py_parser *p);                                   // a line of them
struct py_list *py_parse_block(struct py_parser *p, const char *what, uint32_t lineno); // after the ':'
void py_expect_colon(struct py_parser *p);
void py_require_indent(struct py_parser *p, const char *what, uint32_t lineno); // after the NEWLINE

enum py_target { PY_TARGET_STAR, PY_TARGET_FOR, PY_TARGET_DEL };
// Turn a parsed expression into a target, or fail naming the part that cannot be one.
void py_make_target(struct py_parser *p, struct py_node *node, enum py_op context, enum py_target type);
const struct py_node *py_find_bad_target(const struct py_node *node, enum py_target type);
noreturn void py_fail_target(struct py_parser *p, const struct py_node *node, enum py_target type);

#endif
