// SPDX-License-Identifier: MIT
// Primaries and atoms: names, literals, displays, comprehensions, attributes, subscripts.
#include "python/parser_internal.h"

struct py_node *py_parse_name(struct py_parser *p, enum py_op context) {
    const struct py_token *token = py_current(p);
    if (token->kind != PY_T_NAME) py_invalid(p);
    struct py_Name *node = py_node_alloc(p, PY_Name);
    node->base.lineno = token->lineno;
    node->base.col = token->col;
    node->base.end_lineno = token->end_lineno;
    node->base.end_col = token->end_col;
    node->base.op = (uint8_t)context;
    node->id = token->name;
    py_advance(p);
    return &node->base;
}

static struct py_node *parse_constant(struct py_parser *p, enum py_constant_type type, int64_t value) {
    const struct py_start start = py_start_here(p);
    py_advance(p);
    struct py_Constant *node = PY_NEW(p, Constant, start);
    node->base.op = (uint8_t)type;
    node->value.integer = value;
    return &node->base;
}

static bool at_for(struct py_parser *p) {
    return py_kind_now(p) == PY_KW(for) || (py_kind_now(p) == PY_KW(async) && py_peek(p, 1)->kind == PY_KW(for));
}

struct py_list *py_parse_generators(struct py_parser *p) {
    const uint32_t from = p->top;
    while (at_for(p)) {
        struct py_comprehension *node = py_node_alloc(p, PY_comprehension);
        node->is_async = py_accept(p, PY_KW(async));
        py_advance(p);
        node->target = py_parse_targets(p);
        node->iter = py_parse_disjunction(p);
        const uint32_t ifs = p->top;
        while (py_accept(p, PY_KW(if))) py_push(p, py_parse_disjunction(p));
        node->ifs = py_take_list(p, ifs);
        py_push(p, node);
    }
    return py_take_list(p, from);
}

static struct py_node *finish_comprehension(struct py_parser *p, struct py_start start, enum py_kind kind,
                                            struct py_node *elt, int closer) {
    if (elt->kind == PY_Starred) {
        if (p->diagnose) {
            py_parse_generators(p);
            py_error_at(p, py_range_of(elt), "iterable unpacking cannot be used in comprehension");
        }
        py_invalid(p);
    }
    struct py_list *generators = py_parse_generators(p);
    py_expect(p, closer);
    struct py_ListComp *node = py_node_from(p, kind, start); // the three kinds share a layout
    node->elt = elt;
    node->generators = generators;
    return &node->base;
}

static bool ends_list(int kind) { return kind == PY_T_RPAR || kind == PY_T_RSQB || kind == PY_T_RBRACE; }

// `[a, b for ...]`: the target needs parentheses.
static void diagnose_bare_tuple(struct py_parser *p, const struct py_node *first, uint32_t from, struct py_range last) {
    if (!p->diagnose || !at_for(p)) return;
    const struct py_node *end = p->stack[p->top - 1];
    struct py_range range = {first->lineno, first->col, last.end_lineno, last.end_col};
    if (p->top - from > 1) range = py_range_to(first, end);
    const uint32_t pos = p->pos;
    py_parse_generators(p);
    p->pos = pos;
    py_error_at(p, range, "did you forget parentheses around the comprehension target?");
}

// The rest of a display after its first element; at the comma. Pushes every element.
static void parse_elements(struct py_parser *p, struct py_node *first, int closer, bool diagnose_tuple) {
    const uint32_t from = p->top;
    py_push(p, first);
    while (py_kind_now(p) == PY_T_COMMA) {
        const struct py_range comma = py_range_of_token(py_current(p));
        py_advance(p);
        if (py_kind_now(p) == closer) break;
        if (diagnose_tuple && at_for(p)) diagnose_bare_tuple(p, first, from, comma);
        py_push(p, py_parse_star_named(p));
    }
    if (diagnose_tuple) diagnose_bare_tuple(p, first, from, py_range_of(first));
}

// `(*a b`: CPython also reads a first starred element as an argument's, and finds the mistakes of that.
static void diagnose_starred(struct py_parser *p) {
    if (!p->diagnose || py_kind_now(p) != PY_T_STAR) return;
    const uint32_t pos = p->pos, end_lineno = p->end_lineno, end_col = p->end_col;
    struct py_node *value;
    py_advance(p);
    py_try_with(p, py_parse_expression, true, &value);
    p->pos = pos;
    p->end_lineno = end_lineno;
    p->end_col = end_col;
}

static struct py_node *parse_parenthesised(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    py_advance(p);
    if (py_kind_now(p) == PY_KW(yield)) {
        struct py_node *node = py_parse_yield(p);
        py_expect(p, PY_T_RPAR);
        node->flags |= PY_PARENTHESISED;
        return node;
    }
    const uint32_t from = p->top;
    if (py_kind_now(p) != PY_T_RPAR) {
        if (p->diagnose && py_kind_now(p) == PY_T_DOUBLESTAR) {
            const struct py_range range = py_range_of_token(py_current(p));
            py_advance(p);
            py_parse_expression(p);
            if (py_kind_now(p) == PY_T_RPAR) py_error_at(p, range, "cannot use double starred expression here");
            py_invalid(p);
        }
        diagnose_starred(p);
        struct py_node *first = py_parse_star_named(p);
        if (at_for(p)) return finish_comprehension(p, start, PY_GeneratorExp, first, PY_T_RPAR);
        if (py_kind_now(p) != PY_T_COMMA) {
            if (first->kind == PY_Starred && py_kind_now(p) == PY_T_RPAR) {
                if (p->diagnose) py_error_at(p, py_range_of(first), "cannot use starred expression here");
                py_advance(p);
                py_invalid(p);
            }
            py_expect(p, PY_T_RPAR);
            first->flags |= PY_PARENTHESISED;
            return first;
        }
        parse_elements(p, first, PY_T_RPAR, false);
    }
    py_expect(p, PY_T_RPAR);
    struct py_Tuple *node = PY_NEW(p, Tuple, start);
    node->elts = py_take_list(p, from);
    node->base.flags |= PY_PARENTHESISED;
    return &node->base;
}

static struct py_node *parse_list(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const uint32_t from = p->top;
    py_advance(p);
    if (py_kind_now(p) != PY_T_RSQB) {
        diagnose_starred(p);
        struct py_node *first = py_parse_star_named(p);
        if (at_for(p)) return finish_comprehension(p, start, PY_ListComp, first, PY_T_RSQB);
        parse_elements(p, first, PY_T_RSQB, true);
    }
    py_expect(p, PY_T_RSQB);
    struct py_List *node = PY_NEW(p, List, start);
    node->elts = py_take_list(p, from);
    return &node->base;
}

// After a key of a dictionary: its ':' and value.
static struct py_node *parse_dict_value(struct py_parser *p, struct py_node *key, bool first) {
    if (py_kind_now(p) != PY_T_COLON) {
        if (p->diagnose && !first) {
            struct py_range range = {key->lineno, key->end_col ? key->end_col - 1 : 0, key->end_lineno, PY_NO_END};
            py_error_at(p, range, "':' expected after dictionary key");
        }
        py_invalid(p);
    }
    const struct py_range colon = py_range_of_token(py_current(p));
    py_advance(p);
    if (p->diagnose && py_kind_now(p) == PY_T_STAR) {
        struct py_range range = py_range_of_token(py_current(p));
        py_advance(p);
        py_parse_bitwise_or(p);
        range.end_lineno = py_current(p)->end_lineno;
        range.end_col = PY_NO_END;
        py_error_at(p, range, "cannot use a starred expression in a dictionary value");
    }
    if (p->diagnose && (py_kind_now(p) == PY_T_RBRACE || py_kind_now(p) == PY_T_COMMA)) {
        py_error_at(p, colon, "expression expected after dictionary key and ':'");
    }
    return py_parse_expression(p);
}

static struct py_node *finish_dict(struct py_parser *p, struct py_start start, uint32_t from) {
    py_expect(p, PY_T_RBRACE);
    struct py_Dict *node = PY_NEW(p, Dict, start);
    const uint32_t count = (p->top - from) / 2;
    struct py_list *keys = py_parser_alloc(p, sizeof *keys + count * sizeof *keys->items);
    struct py_list *values = py_parser_alloc(p, sizeof *values + count * sizeof *values->items);
    keys->count = values->count = count;
    for (uint32_t i = 0; i < count; i++) {
        keys->items[i] = p->stack[from + 2 * i];
        values->items[i] = p->stack[from + 2 * i + 1];
    }
    p->top = from;
    node->keys = keys;
    node->values = values;
    return &node->base;
}

// `key: value` pairs after the first, which is on the stack already.
static struct py_node *parse_dict_rest(struct py_parser *p, struct py_start start, uint32_t from) {
    while (py_accept(p, PY_T_COMMA)) {
        if (py_kind_now(p) == PY_T_RBRACE) break;
        struct py_node *key = NULL, *value;
        if (py_accept(p, PY_T_DOUBLESTAR)) {
            value = py_parse_bitwise_or(p);
        } else {
            // As far as CPython looks for mistakes in a later key, it takes what it can and wants a ':' then.
            if (!p->diagnose || !py_try_operand(p, &key)) key = py_parse_expression(p);
            value = parse_dict_value(p, key, false);
        }
        py_push(p, key);
        py_push(p, value);
    }
    return finish_dict(p, start, from);
}

static struct py_node *parse_braces(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const uint32_t from = p->top;
    py_advance(p);
    if (py_kind_now(p) == PY_T_RBRACE) return finish_dict(p, start, from);
    if (py_kind_now(p) == PY_T_DOUBLESTAR) {
        const struct py_range stars = py_range_of_token(py_current(p));
        py_advance(p);
        struct py_node *value = py_parse_bitwise_or(p);
        if (p->diagnose && at_for(p)) {
            py_parse_generators(p);
            py_error_at(p, stars, "dict unpacking cannot be used in dict comprehension");
        }
        py_push(p, NULL);
        py_push(p, value);
        return parse_dict_rest(p, start, from);
    }
    diagnose_starred(p);
    struct py_node *first = py_parse_star_named(p);
    if (py_kind_now(p) == PY_T_COLON && first->kind != PY_Starred &&
        (first->kind != PY_NamedExpr || (first->flags & PY_PARENTHESISED))) {
        struct py_node *value = parse_dict_value(p, first, true);
        if (at_for(p)) {
            struct py_list *generators = py_parse_generators(p);
            py_expect(p, PY_T_RBRACE);
            struct py_DictComp *node = PY_NEW(p, DictComp, start);
            node->key = first;
            node->value = value;
            node->generators = generators;
            return &node->base;
        }
        py_push(p, first);
        py_push(p, value);
        return parse_dict_rest(p, start, from);
    }
    if (at_for(p)) return finish_comprehension(p, start, PY_SetComp, first, PY_T_RBRACE);
    parse_elements(p, first, PY_T_RBRACE, true);
    py_expect(p, PY_T_RBRACE);
    struct py_Set *node = PY_NEW(p, Set, start);
    node->elts = py_take_list(p, from);
    return &node->base;
}

struct py_node *py_parse_atom(struct py_parser *p) {
    switch (py_kind_now(p)) {
    case PY_T_NAME: return py_parse_name(p, PY_Load);
    case PY_T_NUMBER: {
        const struct py_start start = py_start_here(p);
        const struct py_token token = *py_current(p);
        py_advance(p);
        struct py_node *node = py_number_node(p, &token);
        node->lineno = start.lineno;
        node->col = start.col;
        node->end_lineno = p->end_lineno;
        node->end_col = p->end_col;
        return node;
    }
    case PY_T_STRING:
    case PY_T_FSTRING_START: return py_parse_strings(p);
    case PY_T_LPAR: return parse_parenthesised(p);
    case PY_T_LSQB: return parse_list(p);
    case PY_T_LBRACE: return parse_braces(p);
    case PY_T_ELLIPSIS: return parse_constant(p, PY_ELLIPSIS, 0);
    case PY_KW(None): return parse_constant(p, PY_NONE, 0);
    case PY_KW(True): return parse_constant(p, PY_BOOL, 1);
    case PY_KW(False): return parse_constant(p, PY_BOOL, 0);
    default: py_invalid(p);
    }
}

static struct py_node *parse_slice(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *lower = NULL;
    if (py_kind_now(p) != PY_T_COLON) {
        lower = py_parse_named(p);
        if (py_kind_now(p) != PY_T_COLON || (lower->kind == PY_NamedExpr && !(lower->flags & PY_PARENTHESISED)))
            return lower;
    }
    py_advance(p);
    struct py_node *upper = NULL, *step = NULL;
    int kind = py_kind_now(p);
    if (kind != PY_T_COLON && kind != PY_T_COMMA && kind != PY_T_RSQB) upper = py_parse_expression(p);
    if (py_accept(p, PY_T_COLON)) {
        kind = py_kind_now(p);
        if (kind != PY_T_COMMA && kind != PY_T_RSQB) step = py_parse_expression(p);
    }
    struct py_Slice *node = PY_NEW(p, Slice, start);
    node->lower = lower;
    node->upper = upper;
    node->step = step;
    return &node->base;
}

static struct py_node *parse_slice_or_star(struct py_parser *p) {
    if (py_kind_now(p) != PY_T_STAR) return parse_slice(p);
    const struct py_start start = py_start_here(p);
    py_advance(p);
    struct py_node *value = py_parse_expression(p);
    struct py_Starred *node = PY_NEW(p, Starred, start);
    node->value = value;
    return &node->base;
}

struct py_node *py_parse_slices(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *first = parse_slice_or_star(p);
    if (py_kind_now(p) != PY_T_COMMA && first->kind != PY_Starred) return first;
    const uint32_t from = p->top;
    py_push(p, first);
    while (py_accept(p, PY_T_COMMA)) {
        if (ends_list(py_kind_now(p))) break;
        py_push(p, parse_slice_or_star(p));
    }
    struct py_Tuple *node = PY_NEW(p, Tuple, start);
    node->elts = py_take_list(p, from);
    return &node->base;
}

static struct py_node *parse_call_here(struct py_parser *p) {
    return py_parse_call(p, py_start_here(p), py_node_alloc(p, PY_Pass)); // the caller sets start and function
}

// The second pass: a call that fails leaves what it was to call.
static bool try_call(struct py_parser *p, struct py_start start, struct py_node **node) {
    struct py_node *call;
    if (!py_try_with(p, parse_call_here, p->diagnose, &call)) return false;
    ((struct py_Call *)call)->func = *node;
    call->lineno = start.lineno;
    call->col = start.col;
    *node = call;
    return true;
}

struct py_node *py_parse_primary(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    struct py_node *node = py_parse_atom(p);
    for (;;) {
        switch (py_kind_now(p)) {
        case PY_T_DOT: {
            py_advance(p);
            const struct py_token *token = py_current(p);
            if (token->kind != PY_T_NAME) py_invalid(p);
            struct py_name *attr = token->name;
            py_advance(p);
            struct py_Attribute *next = PY_NEW(p, Attribute, start);
            next->value = node;
            next->attr = attr;
            node = &next->base;
            continue;
        }
        case PY_T_LPAR:
            if (p->second) {
                if (!try_call(p, start, &node)) return node;
            } else {
                node = py_parse_call(p, start, node);
            }
            continue;
        case PY_T_LSQB: {
            py_advance(p);
            struct py_node *slice = py_parse_slices(p);
            py_expect(p, PY_T_RSQB);
            struct py_Subscript *next = PY_NEW(p, Subscript, start);
            next->value = node;
            next->slice = slice;
            node = &next->base;
            continue;
        }
        default: return node;
        }
    }
}
