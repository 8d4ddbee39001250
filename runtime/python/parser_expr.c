// SPDX-License-Identifier: MIT
// Expressions from the conditional down to binary operators.
#include <string.h>

#include "python/parser_internal.h"

// How tightly a binary operator binds, 0 = not one.
static const uint8_t binding[PY_T_COUNT] = {
    [PY_T_VBAR] = 1,       [PY_T_CIRCUMFLEX] = 2, [PY_T_AMPER] = 3,   [PY_T_LEFTSHIFT] = 4,
    [PY_T_RIGHTSHIFT] = 4, [PY_T_PLUS] = 5,       [PY_T_MINUS] = 5,   [PY_T_STAR] = 6,
    [PY_T_AT] = 6,         [PY_T_SLASH] = 6,      [PY_T_PERCENT] = 6, [PY_T_DOUBLESLASH] = 6,
};

// While mistakes are looked for, an operator without an operand after it ends the expression before it, as in CPython.
static bool operand_follows(struct py_parser *p, uint32_t ahead) {
    int kind = py_peek(p, ahead)->kind;
    while (kind == PY_T_PLUS || kind == PY_T_MINUS || kind == PY_T_TILDE) kind = py_peek(p, ++ahead)->kind;
    return py_begins_expression(kind) && kind != PY_T_STAR && kind != PY_KW(lambda) && kind != PY_KW(not );
}

static struct py_node *parse_unary(struct py_parser *p) {
    const int kind = py_kind_now(p);
    const struct py_start start = py_start_here(p);
    if (kind == PY_T_PLUS || kind == PY_T_MINUS || kind == PY_T_TILDE) {
        py_enter(p, 1);
        py_advance(p);
        struct py_node *operand = parse_unary(p);
        struct py_UnaryOp *node = PY_NEW(p, UnaryOp, start);
        node->base.op = kind == PY_T_PLUS ? PY_UAdd : kind == PY_T_MINUS ? PY_USub : PY_Invert;
        node->operand = operand;
        p->depth--;
        return &node->base;
    }
    struct py_node *left;
    if (kind == PY_KW(await)) {
        py_advance(p);
        struct py_node *value = py_parse_primary(p);
        struct py_Await *node = PY_NEW(p, Await, start);
        node->value = value;
        left = &node->base;
    } else {
        left = py_parse_primary(p);
    }
    if (py_kind_now(p) != PY_T_DOUBLESTAR) return left;
    if (p->second && !operand_follows(p, 1)) return left;
    py_enter(p, 2);
    py_advance(p);
    struct py_node *right = parse_unary(p);
    struct py_BinOp *node = PY_NEW(p, BinOp, start);
    node->base.op = PY_Pow;
    node->left = left;
    node->right = right;
    p->depth -= 2;
    return &node->base;
}

static struct py_node *parse_binary(struct py_parser *p, int least) {
    const struct py_start start = py_start_here(p);
    struct py_node *left = parse_unary(p);
    for (;;) {
        const int kind = py_kind_now(p), bound = binding[kind];
        if (bound < least || bound == 0) return left;
        if (p->second && !operand_follows(p, 1)) return left;
        py_advance(p);
        struct py_node *right = parse_binary(p, bound + 1);
        struct py_BinOp *node = PY_NEW(p, BinOp, start);
        node->base.op = (uint8_t)(PY_Add + (kind - PY_T_PLUS));
        node->left = left;
        node->right = right;
        left = &node->base;
    }
}

struct py_node *py_parse_bitwise_or(struct py_parser *p) {
    return parse_binary(p, 1);
}

// The comparison operator at the current token, consumed; 0 when there is none.
static enum py_op accept_comparison(struct py_parser *p) {
    enum py_op op;
    const int kind = py_kind_now(p);
    const bool operator=(kind >= PY_T_EQEQUAL && kind <= PY_T_GREATEREQUAL) || kind == PY_KW(in) || kind == PY_KW(is) ||
        kind == PY_KW(not );
    if (!operator) return 0;
    if (p->second && !operand_follows(p, 1)) {
        const int next = py_peek(p, 1)->kind;
        const bool two = (kind == PY_KW(is) && next == PY_KW(not )) || (kind == PY_KW(not ) && next == PY_KW(in));
        if (!two || !operand_follows(p, 2)) return 0;
    }
    switch (kind) {
    case PY_T_EQEQUAL: op = PY_Eq; break;
    case PY_T_NOTEQUAL: op = PY_NotEq; break;
    case PY_T_LESS: op = PY_Lt; break;
    case PY_T_LESSEQUAL: op = PY_LtE; break;
    case PY_T_GREATER: op = PY_Gt; break;
    case PY_T_GREATEREQUAL: op = PY_GtE; break;
    case PY_KW(in): op = PY_In; break;
    case PY_KW(is): py_advance(p); return py_accept(p, PY_KW(not )) ? PY_IsNot : PY_Is;
    case PY_KW(not ):
        if (py_peek(p, 1)->kind != PY_KW(in)) return 0;
        py_advance(p);
        op = PY_NotIn;
        break;
    default: return 0;
    }
    py_advance(p);
    return op;
}

static struct py_node *parse_comparison(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *left = py_parse_bitwise_or(p);
    enum py_op op = accept_comparison(p);
    if (!op) return left;
    const uint32_t from = p->top;
    uint8_t few[8], *ops = few;
    uint32_t count = 0, room = sizeof few;
    do {
        if (count == room) {
            uint8_t *more = py_parser_alloc(p, room * 2);
            for (uint32_t i = 0; i < count; i++) more[i] = ops[i];
            ops = more;
            room *= 2;
        }
        ops[count++] = (uint8_t)op;
        py_push(p, py_parse_bitwise_or(p));
        op = accept_comparison(p);
    } while (op);
    struct py_Compare *node = PY_NEW(p, Compare, start);
    node->left = left;
    node->comparators = py_take_list(p, from);
    node->ops = py_parser_alloc(p, count);
    for (uint32_t i = 0; i < count; i++) node->ops[i] = ops[i];
    return &node->base;
}

static struct py_node *parse_inversion(struct py_parser *p) {
    if (py_kind_now(p) != PY_KW(not )) return parse_comparison(p);
    const struct py_start start = py_start_here(p);
    py_enter(p, 1);
    py_advance(p);
    struct py_node *operand = parse_inversion(p);
    struct py_UnaryOp *node = PY_NEW(p, UnaryOp, start);
    node->base.op = PY_Not;
    node->operand = operand;
    p->depth--;
    return &node->base;
}

static struct py_node *finish_bool(struct py_parser *p, struct py_start start, enum py_op op, uint32_t from) {
    if (p->top - from == 1) return p->stack[--p->top];
    struct py_BoolOp *node = PY_NEW(p, BoolOp, start);
    node->base.op = (uint8_t)op;
    node->values = py_take_list(p, from);
    return &node->base;
}

static bool inversion_follows(struct py_parser *p) {
    return py_peek(p, 1)->kind == PY_KW(not ) || operand_follows(p, 1);
}

static struct py_node *parse_conjunction(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *first = parse_inversion(p);
    if (py_kind_now(p) != PY_KW(and)) return first;
    const uint32_t from = p->top;
    py_push(p, first);
    while (py_kind_now(p) == PY_KW(and) && (!p->second || inversion_follows(p)) && py_accept(p, PY_KW(and)))
        py_push(p, parse_inversion(p));
    return finish_bool(p, start, PY_And, from);
}

struct py_node *py_parse_disjunction(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *first = parse_conjunction(p);
    if (py_kind_now(p) != PY_KW(or)) return first;
    const uint32_t from = p->top;
    py_push(p, first);
    while (py_kind_now(p) == PY_KW(or) && (!p->second || inversion_follows(p)) && py_accept(p, PY_KW(or)))
        py_push(p, parse_conjunction(p));
    return finish_bool(p, start, PY_Or, from);
}

static bool is_legacy(const struct py_node *node) {
    if (node->kind != PY_Name) return false;
    uint32_t id = ((const struct py_Name *)node)->id->id;
    return id == PY_KW_print || id == PY_KW_exec;
}

bool py_try_operand(struct py_parser *p, struct py_node **result) {
    const struct py_token first = *py_current(p);
    if (py_try(p, py_parse_expression, result)) return true;
    bool word = first.kind == PY_T_NAME || first.kind == PY_T_NUMBER || first.kind == PY_T_ELLIPSIS ||
                first.kind == PY_KW(None) || first.kind == PY_KW(True) || first.kind == PY_KW(False);
    if (!word) return false;
    const struct py_start start = py_start_here(p);
    py_advance(p);
    *result = py_node_from(p, PY_Pass, start); // only its range is used
    return true;
}

// Is the name a soft keyword, or what CPython takes for one: it compares only as many letters as the name has.
static bool resembles_soft_keyword(const struct py_token *token) {
    static const char *const words[] = {"_", "case", "match"};
    if (token->kind != PY_T_NAME) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(words[i], token->name->text, token->name->length) == 0) return true;
    }
    return false;
}

static struct py_node *parse_star_expression(struct py_parser *p);

// `a b`: a comma may be missing. `first` is the token `a` began with, `second` the kind of the one after it.
static void diagnose_missing_comma(struct py_parser *p, struct py_node *a, struct py_range a_range,
                                   const struct py_token *first, int second) {
    if (!py_begins_expression(py_kind_now(p)) || resembles_soft_keyword(first)) return;
    if (first->kind == PY_T_NAME && second == PY_T_STRING) return; // a bad string prefix
    const uint32_t pos = p->pos, end_lineno = p->end_lineno, end_col = p->end_col;
    struct py_node *b;
    if (!py_try_operand(p, &b)) return;
    if (p->tokens[p->pos - 1].level > 0 && !is_legacy(a)) {
        struct py_range range = {a_range.lineno, a_range.col, p->end_lineno, p->end_col};
        py_error_at(p, range, "invalid syntax. Perhaps you forgot a comma?");
    }
    p->pos = pos;
    p->end_lineno = end_lineno;
    p->end_col = end_col;
}

// The expressions after a name, with their mistakes; those of the first are found only when `fresh`.
static bool read_on(struct py_parser *p, bool fresh) {
    struct py_node *rest;
    if (fresh) return py_try_with(p, py_parse_star_expressions, true, &rest);
    if (py_kind_now(p) == PY_T_STAR || !py_try_operand(p, &rest)) return false;
    while (py_kind_now(p) == PY_T_COMMA && py_begins_expression(py_peek(p, 1)->kind)) {
        py_advance(p);
        if (!py_try_with(p, parse_star_expression, true, &rest)) break;
    }
    return true;
}

// `print a` of Python 2. After any other name, too, CPython reads on for mistakes in what follows, but not in what it
// has read already when it looked for a missing comma.
static void diagnose_legacy(struct py_parser *p, struct py_node *a, const struct py_token *first, int second) {
    const int kind = py_kind_now(p);
    if (a->kind != PY_Name || (a->flags & PY_PARENTHESISED) || kind == PY_T_LPAR) return;
    if (!py_begins_expression(kind)) return;
    const uint32_t pos = p->pos, end_lineno = p->end_lineno, end_col = p->end_col;
    if (!read_on(p, second == PY_T_STRING || resembles_soft_keyword(first))) return;
    if (is_legacy(a)) {
        struct py_range range = {first->lineno, first->col, p->end_lineno, p->end_col};
        const struct py_name *name = ((struct py_Name *)a)->id;
        py_error_at(p, range, "Missing parentheses in call to '%.*s'. Did you mean %.*s(...)?", (int)name->length,
                    name->text, (int)name->length, name->text);
    }
    p->pos = pos;
    p->end_lineno = end_lineno;
    p->end_col = end_col;
}

struct py_node *py_parse_expression(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    py_enter(p, PY_EXPRESSION_WEIGHT);
    if (py_kind_now(p) == PY_KW(lambda)) {
        struct py_node *node = py_parse_lambda(p);
        p->depth -= PY_EXPRESSION_WEIGHT;
        return node;
    }
    const struct py_token first = p->diagnose ? *py_current(p) : (struct py_token){0};
    const int second = first.kind == PY_T_NAME ? py_peek(p, 1)->kind : 0;
    struct py_node *body = py_parse_disjunction(p);
    if (p->diagnose) {
        struct py_range range = {start.lineno, start.col, p->end_lineno, p->end_col};
        diagnose_missing_comma(p, body, range, &first, second);
    }
    if (py_kind_now(p) == PY_KW(if) && (!p->second || inversion_follows(p))) {
        const uint32_t pos = p->pos;
        py_advance(p);
        struct py_node *test = py_parse_disjunction(p);
        if (p->diagnose && py_kind_now(p) != PY_KW(else) && py_kind_now(p) != PY_T_COLON) {
            struct py_range range = {start.lineno, start.col, p->end_lineno, p->end_col};
            py_error_at(p, range, "expected 'else' after 'if' expression");
        }
        if (p->second && (py_kind_now(p) != PY_KW(else) || !py_begins_expression(py_peek(p, 1)->kind))) {
            p->pos = pos;
            p->depth -= PY_EXPRESSION_WEIGHT;
            return body;
        }
        py_expect(p, PY_KW(else));
        struct py_node *orelse = py_parse_expression(p);
        struct py_IfExp *node = PY_NEW(p, IfExp, start);
        node->test = test;
        node->body = body;
        node->orelse = orelse;
        body = &node->base;
    } else if (p->diagnose) {
        diagnose_legacy(p, body, &first, second);
    }
    p->depth -= PY_EXPRESSION_WEIGHT;
    return body;
}

void py_diagnose_equal(struct py_parser *p, struct py_node *a, struct py_range range) {
    const uint32_t pos = p->pos, end_lineno = p->end_lineno, end_col = p->end_col;
    if (a->kind == PY_List || a->kind == PY_Tuple || a->kind == PY_GeneratorExp) return;
    if (!(a->flags & PY_PARENTHESISED)) {
        if (a->kind == PY_Constant && (a->op == PY_BOOL || a->op == PY_NONE)) return;
        if (a->kind == PY_BoolOp || a->kind == PY_IfExp || a->kind == PY_Lambda || a->kind == PY_NamedExpr) return;
        if (a->kind == PY_Compare || (a->kind == PY_UnaryOp && a->op == PY_Not)) return; // not a bitwise_or
    }
    const bool bare_name = a->kind == PY_Name && !(a->flags & PY_PARENTHESISED);
    py_advance(p);
    struct py_node *b;
    if (py_try(p, py_parse_bitwise_or, &b) && py_kind_now(p) != PY_T_EQUAL && py_kind_now(p) != PY_T_COLONEQUAL) {
        struct py_range both = {range.lineno, range.col, p->end_lineno, p->end_col};
        if (bare_name) py_error_at(p, both, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
        py_error_at(p, py_range_of(a), "cannot assign to %s here. Maybe you meant '==' instead of '='?",
                    py_expression_name(a));
    }
    p->pos = pos;
    p->end_lineno = end_lineno;
    p->end_col = end_col;
}

static struct py_node *parse_named(struct py_parser *p, bool argument) {
    const struct py_start start = py_start_here(p);
    struct py_node *first = py_parse_expression(p);
    if (py_kind_now(p) == PY_T_COLONEQUAL) {
        if (first->kind != PY_Name || (first->flags & PY_PARENTHESISED)) {
            if (p->diagnose && !argument) {
                struct py_node *value;
                py_advance(p);
                if (py_try(p, py_parse_expression, &value)) {
                    py_error_at(p, py_range_of(first), "cannot use assignment expressions with %s",
                                py_expression_name(first));
                }
            }
            py_invalid(p);
        }
        py_advance(p);
        struct py_node *value = py_parse_expression(p);
        struct py_NamedExpr *node = PY_NEW(p, NamedExpr, start);
        first->op = PY_Store;
        node->target = first;
        node->value = value;
        return &node->base;
    }
    if (p->diagnose && !argument && py_kind_now(p) == PY_T_EQUAL) {
        struct py_range range = {start.lineno, start.col, p->end_lineno, p->end_col};
        py_diagnose_equal(p, first, range);
    }
    return first;
}

struct py_node *py_parse_named(struct py_parser *p) {
    return parse_named(p, false);
}

struct py_node *py_parse_named_argument(struct py_parser *p) {
    return parse_named(p, true);
}

static struct py_node *finish_starred(struct py_parser *p, struct py_start start, struct py_node *value) {
    struct py_Starred *node = PY_NEW(p, Starred, start);
    node->value = value;
    return &node->base;
}

struct py_node *py_parse_star_named(struct py_parser *p) {
    if (py_kind_now(p) != PY_T_STAR) return py_parse_named(p);
    const struct py_start start = py_start_here(p);
    py_advance(p);
    return finish_starred(p, start, py_parse_bitwise_or(p));
}

static struct py_node *parse_star_expression(struct py_parser *p) {
    if (py_kind_now(p) != PY_T_STAR) return py_parse_expression(p);
    const struct py_start start = py_start_here(p);
    py_advance(p);
    return finish_starred(p, start, py_parse_bitwise_or(p));
}

// Can the current token begin an expression? Decides whether a comma is the last one.
bool py_begins_expression(int kind) {
    switch (kind) {
    case PY_T_NAME:
    case PY_T_NUMBER:
    case PY_T_STRING:
    case PY_T_FSTRING_START:
    case PY_T_LPAR:
    case PY_T_LSQB:
    case PY_T_LBRACE:
    case PY_T_ELLIPSIS:
    case PY_T_PLUS:
    case PY_T_MINUS:
    case PY_T_TILDE:
    case PY_T_STAR:
    case PY_KW(None):
    case PY_KW(True):
    case PY_KW(False):
    case PY_KW(not ):
    case PY_KW(lambda):
    case PY_KW(await): return true;
    default: return false;
    }
}

struct py_node *py_parse_star_expressions(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *first = parse_star_expression(p);
    if (py_kind_now(p) != PY_T_COMMA) return first;
    const uint32_t from = p->top;
    py_push(p, first);
    while (py_accept(p, PY_T_COMMA)) {
        if (!py_begins_expression(py_kind_now(p))) break;
        py_push(p, parse_star_expression(p));
    }
    struct py_Tuple *node = PY_NEW(p, Tuple, start);
    node->elts = py_take_list(p, from);
    return &node->base;
}

struct py_node *py_parse_yield(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    py_advance(p);
    if (py_accept(p, PY_KW(from))) {
        struct py_node *value = py_parse_expression(p);
        struct py_YieldFrom *node = PY_NEW(p, YieldFrom, start);
        node->value = value;
        return &node->base;
    }
    struct py_node *value = py_begins_expression(py_kind_now(p)) ? py_parse_star_expressions(p) : NULL;
    struct py_Yield *node = PY_NEW(p, Yield, start);
    node->value = value;
    return &node->base;
}

struct py_node *py_parse_yield_or_star(struct py_parser *p) {
    return py_kind_now(p) == PY_KW(yield) ? py_parse_yield(p) : py_parse_star_expressions(p);
}

// The targets are wrong or `in` is missing: read them as expressions, which finds the mistakes of those.
static noreturn void diagnose_targets(struct py_parser *p, uint32_t pos) {
    p->pos = pos;
    struct py_node *node = py_parse_star_expressions(p);
    const struct py_node *bad = py_find_bad_target(node, PY_TARGET_FOR);
    if (bad) py_fail_target(p, bad, PY_TARGET_FOR);
    py_invalid(p);
}

// The targets of `for` up to and including `in`: operands that do not swallow it.
static struct py_node *parse_targets(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const uint32_t from = p->top;
    bool comma = false;
    do {
        if (comma && !py_begins_expression(py_kind_now(p))) break;
        const struct py_start at = py_start_here(p);
        if (py_accept(p, PY_T_STAR)) {
            py_push(p, finish_starred(p, at, py_parse_bitwise_or(p)));
        } else {
            py_push(p, py_parse_bitwise_or(p));
        }
    } while (py_kind_now(p) == PY_T_COMMA && (comma = true, py_advance(p), true));
    struct py_node *targets;
    if (comma) {
        struct py_Tuple *node = PY_NEW(p, Tuple, start);
        node->elts = py_take_list(p, from);
        targets = &node->base;
    } else {
        targets = p->stack[--p->top];
    }
    return targets;
}

struct py_node *py_parse_targets(struct py_parser *p) {
    const uint32_t pos = p->pos;
    struct py_node *targets = NULL;
    if (!p->diagnose) {
        targets = parse_targets(p);
    } else if (!py_try_with(p, parse_targets, true, &targets) || py_kind_now(p) != PY_KW(in) ||
               py_find_bad_target(targets, PY_TARGET_FOR)) {
        diagnose_targets(p, pos);
    }
    py_make_target(p, targets, PY_Store, PY_TARGET_FOR);
    py_expect(p, PY_KW(in));
    return targets;
}

struct py_node *py_parse_lambda(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    py_advance(p);
    struct py_arguments *args = py_parse_parameters(p, true);
    py_expect(p, PY_T_COLON);
    struct py_node *body = py_parse_expression(p);
    struct py_Lambda *node = PY_NEW(p, Lambda, start);
    node->args = &args->base;
    node->body = body;
    return &node->base;
}
