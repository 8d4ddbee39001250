// SPDX-License-Identifier: MIT
// Compound statements, except `match`.
#include "python/parser_internal.h"

// After a header: the ':'.
void py_expect_colon(struct py_parser *p) {
    if (py_kind_now(p) == PY_T_NEWLINE && p->diagnose) py_invalid_late(p, "expected ':'");
    py_expect(p, PY_T_COLON);
}

void py_require_indent(struct py_parser *p, const char *what, uint32_t lineno) {
    if (py_kind_now(p) == PY_T_INDENT) return;
    if (!p->diagnose) py_invalid(p);
    py_indentation_late(p, "expected an indented block after %s on line %u", what, lineno);
}

struct py_list *py_parse_block(struct py_parser *p, const char *what, uint32_t lineno) {
    const uint32_t from = p->top;
    if (py_kind_now(p) != PY_T_NEWLINE) {
        py_parse_simple_statements(p);
        return py_take_list(p, from);
    }
    py_advance(p);
    py_require_indent(p, what, lineno);
    py_enter(p, PY_BLOCK_WEIGHT);
    py_advance(p);
    do py_parse_statement(p);
    while (py_kind_now(p) != PY_T_DEDENT && py_kind_now(p) != PY_T_ENDMARKER);
    py_expect(p, PY_T_DEDENT);
    p->depth -= PY_BLOCK_WEIGHT;
    return py_take_list(p, from);
}

static struct py_list *parse_else(struct py_parser *p) {
    const uint32_t lineno = py_current(p)->lineno;
    if (!py_accept(p, PY_KW(else))) return py_take_list(p, p->top);
    py_expect_forced(p, PY_T_COLON, ":");
    return py_parse_block(p, "'else' statement", lineno);
}

// An `elif` is an If in the `orelse` of the one before; built without recursion, ended from the inside out.
static struct py_node *parse_if(struct py_parser *p) {
    const uint32_t from = p->top;
    for (;;) {
        const struct py_start start = py_start_here(p);
        const bool elif = py_kind_now(p) == PY_KW(elif);
        py_advance(p);
        struct py_If *node = py_node_alloc(p, PY_If);
        node->base.lineno = start.lineno;
        node->base.col = start.col;
        node->test = py_parse_named(p);
        py_expect_colon(p);
        node->body = py_parse_block(p, elif ? "'elif' statement" : "'if' statement", start.lineno);
        py_push(p, node);
        if (py_kind_now(p) != PY_KW(elif)) break;
    }
    struct py_list *orelse = parse_else(p);
    for (;;) {
        struct py_If *node = p->stack[--p->top];
        node->orelse = orelse;
        node->base.end_lineno = p->end_lineno;
        node->base.end_col = p->end_col;
        if (p->top == from) return &node->base;
        const uint32_t mark = p->top;
        py_push(p, node);
        orelse = py_take_list(p, mark);
    }
}

static struct py_node *parse_while(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    py_advance(p);
    struct py_node *test = py_parse_named(p);
    py_expect_colon(p);
    struct py_list *body = py_parse_block(p, "'while' statement", start.lineno);
    struct py_list *orelse = parse_else(p);
    struct py_While *node = PY_NEW(p, While, start);
    node->test = test;
    node->body = body;
    node->orelse = orelse;
    return &node->base;
}

static struct py_node *parse_for(struct py_parser *p, struct py_start start, bool is_async) {
    const uint32_t lineno = py_current(p)->lineno;
    py_advance(p);
    struct py_node *target = py_parse_targets(p);
    struct py_node *iter = py_parse_star_expressions(p);
    py_expect_colon(p);
    struct py_list *body = py_parse_block(p, "'for' statement", lineno);
    struct py_list *orelse = parse_else(p);
    struct py_For *node = py_node_from(p, is_async ? PY_AsyncFor : PY_For, start); // the two share a layout
    node->target = target;
    node->iter = iter;
    node->body = body;
    node->orelse = orelse;
    return &node->base;
}

static void parse_with_item(struct py_parser *p) {
    struct py_withitem *item = py_node_alloc(p, PY_withitem);
    item->context_expr = py_parse_expression(p);
    if (py_accept(p, PY_KW(as))) {
        const struct py_start start = py_start_here(p);
        if (py_accept(p, PY_T_STAR)) {
            struct py_node *value = py_parse_bitwise_or(p);
            struct py_Starred *starred = PY_NEW(p, Starred, start);
            starred->value = value;
            item->optional_vars = &starred->base;
        } else {
            item->optional_vars = py_parse_expression(p);
        }
        const int next = py_kind_now(p);
        if (p->diagnose && (next == PY_T_COMMA || next == PY_T_RPAR || next == PY_T_COLON)) {
            const struct py_node *bad = py_find_bad_target(item->optional_vars, PY_TARGET_STAR);
            if (bad) py_fail_target(p, bad, PY_TARGET_STAR);
        }
        py_make_target(p, item->optional_vars, PY_Store, PY_TARGET_STAR);
    }
    py_push(p, item);
}

// Does the '(' at the current token hold `as` at its own level? Then it encloses the items of a `with`.
static bool encloses_items(struct py_parser *p) {
    int depth = 0;
    for (uint32_t ahead = 0;; ahead++) {
        switch (py_peek(p, ahead)->kind) {
        case PY_T_LPAR:
        case PY_T_LSQB:
        case PY_T_LBRACE: depth++; break;
        case PY_T_RPAR:
        case PY_T_RSQB:
        case PY_T_RBRACE:
            if (--depth == 0) return false;
            break;
        case PY_KW(as):
            if (depth == 1) return true;
            break;
        case PY_T_ENDMARKER:
        case PY_T_NEWLINE: return false;
        default: break;
        }
    }
}

// `with (a, b):` was read as a tuple; its elements are the items, unless one could only stand in a tuple.
static bool tuple_to_items(struct py_parser *p, struct py_node *node) {
    if (node->kind != PY_Tuple || !(node->flags & PY_PARENTHESISED)) return false;
    const struct py_list *elts = ((struct py_Tuple *)node)->elts;
    if (elts->count == 0) return false;
    for (uint32_t i = 0; i < elts->count; i++) {
        const struct py_node *elt = elts->items[i];
        if (elt->kind == PY_Starred || (elt->kind == PY_NamedExpr && !(elt->flags & PY_PARENTHESISED))) return false;
    }
    for (uint32_t i = 0; i < elts->count; i++) {
        struct py_withitem *item = py_node_alloc(p, PY_withitem);
        item->context_expr = elts->items[i];
        py_push(p, item);
    }
    return true;
}

struct py_node *py_parse_with(struct py_parser *p, struct py_start start, bool is_async) {
    const uint32_t from = p->top, lineno = py_current(p)->lineno;
    py_advance(p);
    if (py_kind_now(p) == PY_T_LPAR && py_scan(p, encloses_items)) {
        py_advance(p);
        do {
            if (py_kind_now(p) == PY_T_RPAR && p->top > from) break;
            parse_with_item(p);
        } while (py_accept(p, PY_T_COMMA));
        py_expect(p, PY_T_RPAR);
    } else {
        const bool parenthesis = py_kind_now(p) == PY_T_LPAR;
        do parse_with_item(p);
        while (py_accept(p, PY_T_COMMA));
        if (parenthesis && p->top - from == 1 && py_kind_now(p) == PY_T_COLON) {
            struct py_withitem *only = p->stack[from];
            if (!only->optional_vars) {
                p->top = from;
                if (!tuple_to_items(p, only->context_expr)) p->top = from + 1;
            }
        }
    }
    struct py_list *items = py_take_list(p, from);
    py_expect_colon(p);
    struct py_list *body = py_parse_block(p, "'with' statement", lineno);
    struct py_With *node = py_node_from(p, is_async ? PY_AsyncWith : PY_With, start); // the two share a layout
    node->items = items;
    node->body = body;
    return &node->base;
}

static struct py_node *parse_except(struct py_parser *p, bool *star) {
    const struct py_start start = py_start_here(p);
    py_advance(p);
    *star = py_accept(p, PY_T_STAR);
    struct py_node *type = NULL;
    struct py_name *name = NULL;
    const int kind = py_kind_now(p);
    if (*star && p->diagnose && (kind == PY_T_NEWLINE || kind == PY_T_COLON)) {
        py_invalid_late(p, "expected one or more exception types");
    }
    if (*star || kind != PY_T_COLON) {
        if (kind == PY_T_NEWLINE && p->diagnose) py_invalid_late(p, "expected ':'");
        type = py_parse_expression(p);
        if (py_kind_now(p) == PY_T_COMMA && p->diagnose) {
            struct py_range range = py_range_of(type);
            py_advance(p);
            py_parse_star_expressions(p);
            if (py_accept(p, PY_KW(as)) && py_kind_now(p) == PY_T_NAME) py_advance(p);
            if (py_kind_now(p) == PY_T_COLON) {
                range.end_lineno = py_current(p)->end_lineno;
                range.end_col = PY_NO_END;
                py_error_at(p, range, "multiple exception types must be parenthesized");
            }
            py_invalid(p);
        }
        if (py_accept(p, PY_KW(as))) {
            if (py_kind_now(p) != PY_T_NAME) py_invalid(p);
            name = py_current(p)->name;
            py_advance(p);
        }
    }
    py_expect_colon(p);
    struct py_list *body = py_parse_block(p, *star ? "'except*' statement" : "'except' statement", start.lineno);
    struct py_ExceptHandler *node = PY_NEW(p, ExceptHandler, start);
    node->exception = type;
    node->name = name;
    node->body = body;
    return &node->base;
}

struct py_node *py_parse_try(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const uint32_t from = p->top;
    py_advance(p);
    py_expect_forced(p, PY_T_COLON, ":");
    struct py_list *body = py_parse_block(p, "'try' statement", start.lineno);
    if (py_kind_now(p) != PY_KW(except) && py_kind_now(p) != PY_KW(finally)) {
        if (p->diagnose) py_invalid_late(p, "expected 'except' or 'finally' block");
        py_invalid(p);
    }
    bool star = false;
    while (py_kind_now(p) == PY_KW(except)) {
        const struct py_range at = py_range_of_token(py_current(p));
        const bool first = p->top == from;
        const bool next_star = py_peek(p, 1)->kind == PY_T_STAR;
        if (!first && next_star != star) {
            if (p->diagnose) {
                struct py_range range = at;
                if (next_star) range.end_col = py_peek(p, 1)->end_col;
                py_error_at(p, range, "cannot have both 'except' and 'except*' on the same 'try'");
            }
            py_invalid(p);
        }
        struct py_node *handler = parse_except(p, &star);
        py_push(p, handler);
    }
    struct py_list *handlers = py_take_list(p, from);
    struct py_list *orelse = handlers->count ? parse_else(p) : py_take_list(p, p->top);
    struct py_list *finalbody;
    const uint32_t lineno = py_current(p)->lineno;
    if (py_accept(p, PY_KW(finally))) {
        py_expect_forced(p, PY_T_COLON, ":");
        finalbody = py_parse_block(p, "'finally' statement", lineno);
    } else {
        finalbody = py_take_list(p, p->top);
    }
    struct py_Try *node = py_node_from(p, star ? PY_TryStar : PY_Try, start); // the two share a layout
    node->body = body;
    node->handlers = handlers;
    node->orelse = orelse;
    node->finalbody = finalbody;
    return &node->base;
}

static struct py_node *type_params(struct py_parser *p) {
    return (struct py_node *)py_parse_type_params(p);
} // for py_try

static struct py_node *parse_function(struct py_parser *p, struct py_start start, struct py_list *decorators,
                                      bool is_async) {
    const uint32_t lineno = py_current(p)->lineno;
    py_advance(p);
    if (py_kind_now(p) != PY_T_NAME) py_invalid(p);
    struct py_name *name = py_current(p)->name;
    py_advance(p);
    struct py_node *params = NULL; // a list, in truth
    if (py_kind_now(p) == PY_T_LSQB) py_try(p, type_params, &params);
    py_expect_forced(p, PY_T_LPAR, "(");
    struct py_arguments *args = py_parse_parameters(p, false);
    py_expect(p, PY_T_RPAR);
    struct py_node *returns = NULL;
    if (py_kind_now(p) == PY_T_ARROW) {
        const uint32_t pos = p->pos;
        py_advance(p);
        if (!py_try_operand(p, &returns)) p->pos = pos; // CPython wants the ':' already here
    }
    py_expect_forced(p, PY_T_COLON, ":");
    struct py_list *body = py_parse_block(p, "function definition", lineno);
    // The two kinds share a layout.
    struct py_FunctionDef *node = py_node_from(p, is_async ? PY_AsyncFunctionDef : PY_FunctionDef, start);
    node->name = name;
    node->args = &args->base;
    node->body = body;
    node->decorator_list = decorators ? decorators : py_take_list(p, p->top);
    node->returns = returns;
    node->type_params = params ? (struct py_list *)params : py_take_list(p, p->top);
    return &node->base;
}

static struct py_node *parse_class(struct py_parser *p, struct py_start start, struct py_list *decorators) {
    py_advance(p);
    if (py_kind_now(p) != PY_T_NAME) py_invalid(p);
    struct py_name *name = py_current(p)->name;
    py_advance(p);
    struct py_list *type_params = py_parse_type_params(p), *bases = NULL, *keywords = NULL;
    if (py_accept(p, PY_T_LPAR)) {
        py_parse_arguments(p, false, &bases, &keywords);
        py_expect(p, PY_T_RPAR);
    }
    py_expect_colon(p);
    struct py_list *body = py_parse_block(p, "class definition", start.lineno);
    struct py_ClassDef *node = PY_NEW(p, ClassDef, start);
    struct py_list *none = py_take_list(p, p->top);
    node->name = name;
    node->bases = bases ? bases : none;
    node->keywords = keywords ? keywords : none;
    node->body = body;
    node->decorator_list = decorators ? decorators : none;
    node->type_params = type_params ? type_params : none;
    return &node->base;
}

static struct py_node *parse_async(struct py_parser *p, struct py_start start, struct py_list *decorators) {
    py_advance(p);
    const int kind = py_kind_now(p);
    if (kind == PY_KW(def)) return parse_function(p, start, decorators, true);
    if (decorators) py_invalid(p);
    if (kind == PY_KW(for)) return parse_for(p, start, true);
    if (kind == PY_KW(with)) return py_parse_with(p, start, true);
    py_invalid(p);
}

static struct py_node *parse_decorated(struct py_parser *p) {
    const uint32_t from = p->top;
    while (py_accept(p, PY_T_AT)) {
        py_push(p, py_parse_named(p));
        py_expect(p, PY_T_NEWLINE);
    }
    struct py_list *decorators = py_take_list(p, from);
    const struct py_start start = py_start_here(p);
    switch (py_kind_now(p)) {
    case PY_KW(def): return parse_function(p, start, decorators, false);
    case PY_KW(class): return parse_class(p, start, decorators);
    case PY_KW(async): return parse_async(p, start, decorators);
    default: py_invalid(p);
    }
}

void py_parse_statement(struct py_parser *p) {
    py_forget_tokens(p);
    const struct py_start start = py_start_here(p);
    struct py_node *node;
    switch (py_kind_now(p)) {
    case PY_KW(if): node = parse_if(p); break;
    case PY_KW(for): node = parse_for(p, start, false); break;
    case PY_KW(while): node = parse_while(p); break;
    case PY_KW(with): node = py_parse_with(p, start, false); break;
    case PY_KW(try): node = py_parse_try(p); break;
    case PY_KW(def): node = parse_function(p, start, NULL, false); break;
    case PY_KW(class): node = parse_class(p, start, NULL); break;
    case PY_KW(async): node = parse_async(p, start, NULL); break;
    case PY_T_AT: node = parse_decorated(p); break;
    case PY_T_NAME:
        node = py_is_soft(py_current(p), PY_KW_match) ? py_parse_match(p) : NULL;
        if (!node) {
            py_parse_simple_statements(p);
            return;
        }
        break;
    default: py_parse_simple_statements(p); return;
    }
    py_push(p, node);
}
