// SPDX-License-Identifier: MIT
// The match statement and its patterns.
#include "python/parser_internal.h"

static struct py_node *parse_pattern(struct py_parser *p);
static struct py_node *parse_or_pattern(struct py_parser *p);

// `_` binds nothing: NULL. A name with '.', '(' or '=' after it is no capture.
static struct py_name *parse_capture(struct py_parser *p) {
    const struct py_token *token = py_current(p);
    if (token->kind != PY_T_NAME) py_invalid(p);
    struct py_name *name = token->name;
    py_advance(p);
    const int next = py_kind_now(p);
    if (next == PY_T_DOT || next == PY_T_LPAR || next == PY_T_EQUAL) py_invalid(p);
    return name->id == PY_KW__ ? NULL : name;
}

static struct py_node *parse_star_pattern(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    py_advance(p);
    struct py_name *name = parse_capture(p);
    struct py_MatchStar *node = PY_NEW(p, MatchStar, start);
    node->name = name;
    return &node->base;
}

static struct py_node *parse_maybe_star(struct py_parser *p) {
    return py_kind_now(p) == PY_T_STAR ? parse_star_pattern(p) : parse_pattern(p);
}

static struct py_node *parse_signed(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const bool negative = py_accept(p, PY_T_MINUS);
    if (py_kind_now(p) != PY_T_NUMBER) py_invalid(p);
    struct py_node *number = py_parse_atom(p);
    if (!negative) return number;
    struct py_UnaryOp *node = PY_NEW(p, UnaryOp, start);
    node->base.op = PY_USub;
    node->operand = number;
    return &node->base;
}

// A number, perhaps negative, perhaps with an imaginary part.
static struct py_node *parse_number(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *real = parse_signed(p);
    const int kind = py_kind_now(p);
    if (kind != PY_T_PLUS && kind != PY_T_MINUS) return real;
    const struct py_node *number = real->kind == PY_UnaryOp ? ((struct py_UnaryOp *)real)->operand : real;
    if (number->op == PY_COMPLEX) py_error_at(p, py_range_of(number), "real number required in complex literal");
    py_advance(p);
    if (py_kind_now(p) != PY_T_NUMBER) py_invalid(p);
    struct py_node *imaginary = py_parse_atom(p);
    if (imaginary->op != PY_COMPLEX)
        py_error_at(p, py_range_of(imaginary), "imaginary number required in complex literal");
    struct py_BinOp *node = PY_NEW(p, BinOp, start);
    node->base.op = kind == PY_T_PLUS ? PY_Add : PY_Sub;
    node->left = real;
    node->right = imaginary;
    return &node->base;
}

static struct py_node *value_pattern(struct py_parser *p, struct py_start start, struct py_node *value) {
    struct py_MatchValue *node = PY_NEW(p, MatchValue, start);
    node->value = value;
    return &node->base;
}

static struct py_node *parse_singleton(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_Constant *constant = (struct py_Constant *)py_parse_atom(p);
    struct py_MatchSingleton *node = PY_NEW(p, MatchSingleton, start);
    node->base.op = constant->base.op;
    node->value = constant->value;
    return &node->base;
}

static struct py_node *parse_attributes(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *node = py_parse_name(p, PY_Load);
    while (py_accept(p, PY_T_DOT)) {
        if (py_kind_now(p) != PY_T_NAME) py_invalid(p);
        struct py_name *attr = py_current(p)->name;
        py_advance(p);
        struct py_Attribute *next = PY_NEW(p, Attribute, start);
        next->value = node;
        next->attr = attr;
        node = &next->base;
    }
    return node;
}

static struct py_node *parse_class_pattern(struct py_parser *p, struct py_start start, struct py_node *cls) {
    const uint32_t from = p->top;
    py_advance(p);
    uint32_t keywords = 0;
    struct py_node *first_late = NULL, *last_late = NULL;
    while (py_kind_now(p) != PY_T_RPAR) {
        const struct py_token *token = py_current(p);
        struct py_name *name = NULL;
        if (token->kind == PY_T_NAME && py_peek(p, 1)->kind == PY_T_EQUAL) {
            name = py_current(p)->name;
            py_advance(p);
            py_advance(p);
            keywords++;
            if (last_late) break;
        }
        struct py_node *pattern = parse_pattern(p);
        if (!name && keywords) {
            if (!first_late) first_late = pattern;
            last_late = pattern;
        }
        py_push(p, name);
        py_push(p, pattern);
        if (!py_accept(p, PY_T_COMMA)) break;
    }
    if (first_late) {
        if (p->diagnose)
            py_error_at(p, py_range_to(first_late, last_late), "positional patterns follow keyword patterns");
        py_invalid(p);
    }
    py_expect(p, PY_T_RPAR);
    struct py_MatchClass *node = PY_NEW(p, MatchClass, start);
    const uint32_t positional = (p->top - from) / 2 - keywords;
    struct py_list *lists[3];
    for (int i = 0; i < 3; i++) {
        lists[i] = py_parser_alloc(p, sizeof(struct py_list) + (i ? keywords : positional) * sizeof(void *));
        lists[i]->count = 0;
    }
    for (uint32_t i = from; i < p->top; i += 2) {
        struct py_list *list = p->stack[i] ? lists[2] : lists[0];
        if (p->stack[i]) lists[1]->items[lists[1]->count++] = p->stack[i];
        list->items[list->count++] = p->stack[i + 1];
    }
    p->top = from;
    node->cls = cls;
    node->patterns = lists[0];
    node->kwd_attrs = lists[1];
    node->kwd_patterns = lists[2];
    return &node->base;
}

static struct py_node *parse_name_pattern(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *name = parse_attributes(p);
    const int next = py_kind_now(p);
    if (next == PY_T_LPAR) return parse_class_pattern(p, start, name);
    if (next == PY_T_EQUAL) py_invalid(p);
    if (name->kind == PY_Attribute) return value_pattern(p, start, name);
    struct py_MatchAs *node = PY_NEW(p, MatchAs, start);
    struct py_name *id = ((struct py_Name *)name)->id;
    node->name = id->id == PY_KW__ ? NULL : id;
    return &node->base;
}

static struct py_node *parse_mapping(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const uint32_t from = p->top;
    py_advance(p);
    struct py_name *rest = NULL;
    while (py_kind_now(p) != PY_T_RBRACE) {
        if (py_accept(p, PY_T_DOUBLESTAR)) {
            rest = parse_capture(p);
            if (!rest) py_invalid(p);
            py_accept(p, PY_T_COMMA);
            break;
        }
        struct py_node *key;
        switch (py_kind_now(p)) {
        case PY_T_NUMBER:
        case PY_T_MINUS: key = parse_number(p); break;
        case PY_T_NAME:
            key = parse_attributes(p);
            if (key->kind != PY_Attribute) py_invalid(p);
            break;
        case PY_T_STRING:
        case PY_T_FSTRING_START:
        case PY_KW(None):
        case PY_KW(True):
        case PY_KW(False): key = py_parse_atom(p); break;
        default: py_invalid(p);
        }
        py_expect(p, PY_T_COLON);
        py_push(p, key);
        py_push(p, parse_pattern(p));
        if (!py_accept(p, PY_T_COMMA)) break;
    }
    py_expect(p, PY_T_RBRACE);
    struct py_MatchMapping *node = PY_NEW(p, MatchMapping, start);
    const uint32_t count = (p->top - from) / 2;
    node->keys = py_parser_alloc(p, sizeof(struct py_list) + count * sizeof(void *));
    node->patterns = py_parser_alloc(p, sizeof(struct py_list) + count * sizeof(void *));
    node->keys->count = node->patterns->count = count;
    for (uint32_t i = 0; i < count; i++) {
        node->keys->items[i] = p->stack[from + 2 * i];
        node->patterns->items[i] = p->stack[from + 2 * i + 1];
    }
    p->top = from;
    node->rest = rest;
    return &node->base;
}

// Patterns after `first` and its comma; pushes all of them.
static void parse_sequence_rest(struct py_parser *p, struct py_node *first) {
    py_push(p, first);
    while (py_accept(p, PY_T_COMMA)) {
        const int kind = py_kind_now(p);
        if (kind == PY_T_RPAR || kind == PY_T_RSQB || kind == PY_T_COLON || kind == PY_KW(if) || kind == PY_T_NEWLINE)
            break;
        py_push(p, parse_maybe_star(p));
    }
}

static struct py_node *finish_sequence(struct py_parser *p, struct py_start start, uint32_t from) {
    struct py_MatchSequence *node = PY_NEW(p, MatchSequence, start);
    node->patterns = py_take_list(p, from);
    return &node->base;
}

static struct py_node *parse_group_or_sequence(struct py_parser *p, int closer) {
    const struct py_start start = py_start_here(p);
    const uint32_t from = p->top;
    py_advance(p);
    if (py_kind_now(p) != closer) {
        struct py_node *first = parse_maybe_star(p);
        if (closer == PY_T_RPAR && py_kind_now(p) == PY_T_RPAR && first->kind != PY_MatchStar) {
            py_advance(p);
            return first; // a group keeps the extent of what it holds
        }
        if (closer == PY_T_RPAR && py_kind_now(p) != PY_T_COMMA) py_invalid(p);
        parse_sequence_rest(p, first);
    }
    py_expect(p, closer);
    return finish_sequence(p, start, from);
}

static struct py_node *parse_closed(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    switch (py_kind_now(p)) {
    case PY_T_NUMBER:
    case PY_T_MINUS: {
        struct py_node *number = parse_number(p);
        return value_pattern(p, start, number);
    }
    case PY_T_STRING:
    case PY_T_FSTRING_START: {
        struct py_node *text = py_parse_strings(p);
        return value_pattern(p, start, text);
    }
    case PY_KW(None):
    case PY_KW(True):
    case PY_KW(False): return parse_singleton(p);
    case PY_T_NAME: return parse_name_pattern(p);
    case PY_T_LPAR: return parse_group_or_sequence(p, PY_T_RPAR);
    case PY_T_LSQB: return parse_group_or_sequence(p, PY_T_RSQB);
    case PY_T_LBRACE: return parse_mapping(p);
    default: py_invalid(p);
    }
}

static struct py_node *parse_or_pattern(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *first = parse_closed(p);
    if (py_kind_now(p) != PY_T_VBAR) return first;
    const uint32_t from = p->top;
    py_push(p, first);
    while (py_accept(p, PY_T_VBAR)) py_push(p, parse_closed(p));
    struct py_MatchOr *node = PY_NEW(p, MatchOr, start);
    node->patterns = py_take_list(p, from);
    return &node->base;
}

static struct py_node *parse_pattern(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    py_enter(p, PY_EXPRESSION_WEIGHT);
    struct py_node *pattern = parse_or_pattern(p);
    if (py_accept(p, PY_KW(as))) {
        const struct py_token *token = py_current(p);
        if (p->diagnose && py_is_soft(token, PY_KW__)) {
            py_error_at(p, py_range_of_token(token), "cannot use '_' as a target");
        }
        if (p->diagnose && token->kind != PY_T_NAME) {
            struct py_node *target = py_parse_expression(p);
            py_error_at(p, py_range_of(target), "invalid pattern target");
        }
        struct py_name *name = parse_capture(p);
        if (!name) py_invalid(p);
        struct py_MatchAs *node = PY_NEW(p, MatchAs, start);
        node->pattern = pattern;
        node->name = name;
        pattern = &node->base;
    }
    p->depth -= PY_EXPRESSION_WEIGHT;
    return pattern;
}

struct py_node *py_parse_pattern_top(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const uint32_t from = p->top;
    struct py_node *first = parse_maybe_star(p);
    if (py_kind_now(p) != PY_T_COMMA) {
        if (first->kind == PY_MatchStar) py_invalid(p);
        return first;
    }
    parse_sequence_rest(p, first);
    return finish_sequence(p, start, from);
}

static bool ends_in_colon(struct py_parser *p) {
    int last = 0;
    for (uint32_t ahead = 1;; ahead++) {
        const int kind = py_peek(p, ahead)->kind;
        if (kind == PY_T_NEWLINE || kind == PY_T_ENDMARKER || kind == PY_T_SEMI) return last == PY_T_COLON;
        last = kind;
    }
}

// `match` may be an ordinary name. Does the statement that begins with it end in ':' as a match statement's first line?
static bool is_match_statement(struct py_parser *p) {
    switch (py_peek(p, 1)->kind) {
    case PY_T_NAME:
    case PY_T_NUMBER:
    case PY_T_STRING:
    case PY_T_FSTRING_START:
    case PY_T_LBRACE:
    case PY_T_ELLIPSIS:
    case PY_T_TILDE:
    case PY_KW(None):
    case PY_KW(True):
    case PY_KW(False):
    case PY_KW(lambda):
    case PY_KW(await): return true; // nothing else could follow
    case PY_T_LPAR:
    case PY_T_LSQB:
    case PY_T_MINUS:
    case PY_T_PLUS:
    case PY_T_STAR:
    case PY_KW(not ): break;
    default: return false;
    }
    return py_scan(p, ends_in_colon);
}

static void parse_case(struct py_parser *p) {
    const uint32_t lineno = py_current(p)->lineno;
    struct py_match_case *node = py_node_alloc(p, PY_match_case);
    py_advance(p);
    node->pattern = py_parse_pattern_top(p);
    if (py_accept(p, PY_KW(if))) node->guard = py_parse_named(p);
    py_expect_colon(p);
    node->body = py_parse_block(p, "'case' statement", lineno);
    py_push(p, node);
}

static struct py_node *parse_subject(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const uint32_t from = p->top;
    struct py_node *first = py_parse_star_named(p);
    if (py_kind_now(p) != PY_T_COMMA) {
        if (first->kind == PY_Starred) py_invalid(p);
        return first;
    }
    py_push(p, first);
    while (py_accept(p, PY_T_COMMA)) {
        if (py_kind_now(p) == PY_T_COLON) break;
        py_push(p, py_parse_star_named(p));
    }
    struct py_Tuple *node = PY_NEW(p, Tuple, start);
    node->elts = py_take_list(p, from);
    return &node->base;
}

// Once something is wrong, CPython takes any line that could begin a match statement for one without its ':'.
static void diagnose_match(struct py_parser *p) {
    const uint32_t pos = p->pos, end_lineno = p->end_lineno, end_col = p->end_col;
    struct py_node *subject;
    py_advance(p);
    if (py_try(p, parse_subject, &subject) && py_kind_now(p) == PY_T_NEWLINE) py_invalid_late(p, "expected ':'");
    p->pos = pos;
    p->end_lineno = end_lineno;
    p->end_col = end_col;
}

// NULL when the statement is not a match statement.
struct py_node *py_parse_match(struct py_parser *p) {
    if (!is_match_statement(p)) {
        if (p->diagnose) diagnose_match(p);
        return NULL;
    }
    const struct py_start start = py_start_here(p);
    const uint32_t pos = p->pos;
    py_advance(p);
    struct py_node *subject = parse_subject(p);
    if (p->second && py_kind_now(p) == PY_T_COLON && py_peek(p, 1)->kind != PY_T_NEWLINE) {
        p->pos = pos; // `match (x): y`, which may be an annotation
        return NULL;
    }
    py_expect_colon(p);
    py_expect(p, PY_T_NEWLINE);
    py_require_indent(p, "'match' statement", start.lineno);
    py_enter(p, PY_BLOCK_WEIGHT);
    py_advance(p);
    const uint32_t from = p->top;
    do {
        if (!py_is_soft(py_current(p), PY_KW_case)) py_invalid(p);
        parse_case(p);
    } while (py_kind_now(p) != PY_T_DEDENT);
    py_advance(p);
    p->depth -= PY_BLOCK_WEIGHT;
    struct py_Match *node = PY_NEW(p, Match, start);
    node->subject = subject;
    node->cases = py_take_list(p, from);
    return &node->base;
}
