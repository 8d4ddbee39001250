// SPDX-License-Identifier: MIT
// Call arguments, parameters of functions and lambdas, type parameters.
#include "python/parser_internal.h"

static bool at_for(struct py_parser *p) {
    return py_kind_now(p) == PY_KW(for) || (py_kind_now(p) == PY_KW(async) && py_peek(p, 1)->kind == PY_KW(for));
}

static struct py_range range_of_generators(const struct py_node *elt, const struct py_list *generators) {
    const struct py_comprehension *last = generators->items[generators->count - 1];
    return py_range_to(elt, last->ifs->count ? last->ifs->items[last->ifs->count - 1] : (void *)last->iter);
}

// A positional argument after a keyword: read on to where the arguments end, then complain there.
static noreturn void fail_positional(struct py_parser *p, bool unpacking) {
    while (py_accept(p, PY_T_COMMA)) {
        if (py_kind_now(p) == PY_T_RPAR) break;
        if (py_kind_now(p) == PY_T_STAR || py_kind_now(p) == PY_T_DOUBLESTAR) py_advance(p);
        py_parse_expression(p);
        if (py_accept(p, PY_T_EQUAL)) py_parse_expression(p);
    }
    py_invalid_late(p, unpacking ? "positional argument follows keyword argument unpacking"
                                 : "positional argument follows keyword argument");
}

static struct py_node *parse_keyword(struct py_parser *p, struct py_start start, struct py_name *name) {
    struct py_node *value = py_parse_expression(p);
    struct py_keyword *node = PY_NEW(p, keyword, start);
    node->arg = name;
    node->value = value;
    return &node->base;
}

// `a=` where a is not a plain name.
static void diagnose_keyword(struct py_parser *p, const struct py_node *node) {
    if (!p->diagnose || (node->kind == PY_NamedExpr && !(node->flags & PY_PARENTHESISED))) return;
    const struct py_token *equal = py_current(p);
    const struct py_range range = {node->lineno, node->col, equal->end_lineno, equal->end_col};
    if (node->kind == PY_Constant && (node->op == PY_NONE || node->op == PY_BOOL) &&
        !(node->flags & PY_PARENTHESISED)) {
        const char *word = node->op == PY_NONE                                 ? "None"
                           : ((const struct py_Constant *)node)->value.integer ? "True"
                                                                               : "False";
        py_error_at(p, range, "cannot assign to %s", word);
    }
    py_error_at(p, range, "expression cannot contain assignment, perhaps you meant \"==\"?");
}

void py_parse_arguments(struct py_parser *p, bool call, struct py_list **args, struct py_list **keywords) {
    const uint32_t from = p->top;
    uint32_t keyword_count = 0;
    bool unpacked = false;
    const struct py_start first_start = py_start_here(p);
    struct py_node *positional_late = NULL; // the first positional argument after a keyword
    while (py_kind_now(p) != PY_T_RPAR) {
        const struct py_start start = py_start_here(p);
        struct py_node *node;
        if (py_accept(p, PY_T_STAR)) {
            if (p->diagnose && p->top > from &&
                (unpacked || !py_begins_expression(py_kind_now(p)) || py_kind_now(p) == PY_T_STAR)) {
                const struct py_range range = {first_start.lineno, first_start.col, p->end_lineno, p->end_col};
                py_error_at(p, range, "iterable argument unpacking follows keyword argument unpacking");
            }
            if (unpacked) py_invalid(p);
            struct py_node *value = py_parse_expression(p);
            struct py_Starred *starred = PY_NEW(p, Starred, start);
            starred->value = value;
            node = &starred->base;
        } else if (py_accept(p, PY_T_DOUBLESTAR)) {
            node = parse_keyword(p, start, NULL);
            keyword_count++;
            unpacked = true;
        } else if (py_kind_now(p) == PY_T_NAME && py_peek(p, 1)->kind == PY_T_EQUAL) {
            struct py_name *name = py_current(p)->name;
            const struct py_range equal = {start.lineno, start.col, p->tokens[p->pos + 1].end_lineno,
                                           p->tokens[p->pos + 1].end_col};
            py_advance(p);
            py_advance(p);
            if (p->diagnose && (py_kind_now(p) == PY_T_COMMA || py_kind_now(p) == PY_T_RPAR)) py_invalid(p);
            node = parse_keyword(p, start, name);
            if (p->diagnose && at_for(p)) {
                py_parse_generators(p);
                py_error_at(p, equal, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?");
            }
            keyword_count++;
        } else {
            node = py_parse_named_argument(p);
            if (py_kind_now(p) == PY_T_EQUAL) {
                diagnose_keyword(p, node);
                py_invalid(p);
            }
            if (at_for(p)) {
                if (!call && p->top == from && !p->diagnose) py_invalid(p);
                const bool alone = p->top == from;
                struct py_list *generators = py_parse_generators(p);
                const bool last = py_kind_now(p) == PY_T_RPAR;
                if (!alone || !last || !call) {
                    if (p->diagnose && (!alone || py_kind_now(p) == PY_T_COMMA)) {
                        py_error_at(p, range_of_generators(node, generators),
                                    "Generator expression must be parenthesized");
                    }
                    py_invalid(p);
                }
                struct py_GeneratorExp *generator = py_node_alloc(p, PY_GeneratorExp);
                generator->elt = node;
                generator->generators = generators;
                node = &generator->base; // py_parse_call gives it the parentheses' extent
            }
            if (keyword_count && !positional_late) {
                if (p->diagnose) fail_positional(p, unpacked);
                positional_late = node;
            }
        }
        py_push(p, node);
        if (!py_accept(p, PY_T_COMMA)) break;
    }
    if (positional_late) py_invalid(p);
    const uint32_t total = p->top - from;
    struct py_list *values = py_parser_alloc(p, sizeof *values + (total - keyword_count) * sizeof *values->items);
    struct py_list *named = py_parser_alloc(p, sizeof *named + keyword_count * sizeof *named->items);
    values->count = named->count = 0;
    for (uint32_t i = from; i < p->top; i++) {
        struct py_node *node = p->stack[i];
        struct py_list *list = node->kind == PY_keyword ? named : values;
        list->items[list->count++] = node;
    }
    p->top = from;
    *args = values;
    *keywords = named;
}

struct py_node *py_parse_call(struct py_parser *p, struct py_start start, struct py_node *function) {
    const struct py_start open = py_start_here(p);
    py_advance(p);
    struct py_list *args, *keywords;
    py_parse_arguments(p, true, &args, &keywords);
    py_expect(p, PY_T_RPAR);
    struct py_Call *node = PY_NEW(p, Call, start);
    node->func = function;
    node->args = args;
    node->keywords = keywords;
    if (args->count == 1) {
        struct py_node *only = args->items[0];
        if (only->kind == PY_GeneratorExp && only->lineno == 0) {
            only->lineno = open.lineno;
            only->col = open.col;
            only->end_lineno = p->end_lineno;
            only->end_col = p->end_col;
        }
    }
    return &node->base;
}

// Parameters ---------------------------------------------------------------------------------------------------------

struct parameters {
    bool lambda;
    bool slash, star, bare_star, any_after_star, kwarg, defaults;
    uint32_t slash_at; // parameters before the '/'
};

static int closer_of(const struct parameters *params) { return params->lambda ? PY_T_COLON : PY_T_RPAR; }

// name [: annotation]; `starred` allows `*args: *Ts`.
static struct py_node *parse_parameter(struct py_parser *p, const struct parameters *params, bool starred) {
    const struct py_start start = py_start_here(p);
    const struct py_token *token = py_current(p);
    if (token->kind != PY_T_NAME) py_invalid(p);
    struct py_name *name = token->name;
    py_advance(p);
    struct py_node *annotation = NULL;
    if (!params->lambda && py_accept(p, PY_T_COLON)) {
        const struct py_start at = py_start_here(p);
        if (starred && py_accept(p, PY_T_STAR)) {
            struct py_node *value = py_parse_bitwise_or(p);
            struct py_Starred *node = PY_NEW(p, Starred, at);
            node->value = value;
            annotation = &node->base;
        } else {
            annotation = py_parse_expression(p);
        }
    }
    struct py_arg *node = PY_NEW(p, arg, start);
    node->arg = name;
    node->annotation = annotation;
    return &node->base;
}

static struct py_node *parse_default(struct py_parser *p) {
    const struct py_range equal = py_range_of_token(py_current(p));
    py_advance(p);
    if (p->diagnose && (py_kind_now(p) == PY_T_RPAR || py_kind_now(p) == PY_T_COMMA)) {
        py_error_at(p, equal, "expected default value expression");
    }
    return py_parse_expression(p);
}

// `(a, b)` among the parameters, as Python 2 allowed.
static void diagnose_tuple_parameter(struct py_parser *p, const struct parameters *params) {
    if (!p->diagnose || py_kind_now(p) != PY_T_LPAR || params->star || params->slash || params->defaults) return;
    struct py_range range = py_range_of_token(py_current(p));
    uint32_t names = 0, ahead = 1;
    while (py_peek(p, ahead)->kind == PY_T_NAME) {
        names++;
        ahead++;
        if (py_peek(p, ahead)->kind != PY_T_COMMA) break;
        ahead++;
    }
    const struct py_token *close = py_peek(p, ahead);
    if (names == 0 || close->kind != PY_T_RPAR) return;
    range.end_lineno = close->end_lineno;
    range.end_col = close->end_col;
    if (params->lambda) py_error_at(p, range, "Lambda expression parameters cannot be parenthesized");
    py_error_at(p, range, "Function parameters cannot be parenthesized");
}

static void fail_slash(struct py_parser *p, struct parameters *params, uint32_t count) {
    if (!p->diagnose) py_invalid(p);
    const struct py_range at = py_range_of_token(py_current(p));
    if (params->star) py_error_at(p, at, "/ must be ahead of *");
    if (params->slash) py_error_at(p, at, "/ may appear only once");
    if (count == 0 && py_peek(p, 1)->kind == PY_T_COMMA) py_error_at(p, at, "at least one argument must precede /");
    py_invalid(p);
}

static void parse_kwarg(struct py_parser *p, struct parameters *params, struct py_arguments *node) {
    py_advance(p);
    node->kwarg = parse_parameter(p, params, false);
    if (p->diagnose && py_kind_now(p) == PY_T_EQUAL) {
        py_error_at(p, py_range_of_token(py_current(p)), "var-keyword argument cannot have default value");
    }
    if (py_accept(p, PY_T_COMMA) && p->diagnose) {
        const int kind = py_kind_now(p);
        if (kind == PY_T_NAME || kind == PY_T_STAR || kind == PY_T_DOUBLESTAR || kind == PY_T_SLASH) {
            py_error_at(p, py_range_of_token(py_current(p)), "arguments cannot follow var-keyword argument");
        }
    }
    params->kwarg = true;
}

static void parse_star(struct py_parser *p, struct parameters *params, struct py_arguments *node) {
    const struct py_range star = py_range_of_token(py_current(p));
    if (params->star) {
        const int next = py_peek(p, 1)->kind;
        const struct py_arg *vararg = (const struct py_arg *)node->vararg;
        const bool starred = vararg && vararg->annotation && vararg->annotation->kind == PY_Starred;
        const int after = py_peek(p, 2)->kind;
        const bool named =
            next == PY_T_NAME && (after == PY_T_COMMA || after == PY_T_COLON || after == closer_of(params));
        if (p->diagnose && !starred && (named || next == PY_T_COMMA)) {
            py_error_at(p, star, "* argument may appear only once");
        }
        py_invalid(p);
    }
    params->star = true;
    py_advance(p);
    const int closer = closer_of(params);
    if (py_kind_now(p) == PY_T_COMMA) {
        const int next = py_peek(p, 1)->kind;
        params->bare_star = true;
        if (next == closer || next == PY_T_DOUBLESTAR) {
            if (p->diagnose && params->lambda) py_invalid_late(p, "named arguments must follow bare *");
            if (p->diagnose) py_error_at(p, star, "named arguments must follow bare *");
            py_advance(p);
            py_invalid(p);
        }
        return;
    }
    if (py_kind_now(p) == closer) {
        if (p->diagnose && params->lambda) py_invalid_late(p, "named arguments must follow bare *");
        if (p->diagnose) py_error_at(p, star, "named arguments must follow bare *");
        py_invalid(p);
    }
    node->vararg = parse_parameter(p, params, true);
    if (p->diagnose && py_kind_now(p) == PY_T_EQUAL) {
        py_error_at(p, py_range_of_token(py_current(p)), "var-positional argument cannot have default value");
    }
}

// Positional parameters sit on the stack as (arg, default or NULL) pairs, keyword-only ones follow likewise.
static void split_parameters(struct py_parser *p, struct py_arguments *node, const struct parameters *params,
                             uint32_t from, uint32_t keywords_from) {
    const uint32_t positional = (keywords_from - from) / 2, keywords = (p->top - keywords_from) / 2;
    const uint32_t before_slash = params->slash ? params->slash_at : 0;
    uint32_t defaults = 0;
    for (uint32_t i = 0; i < positional; i++) defaults += p->stack[from + 2 * i + 1] != NULL;
    struct py_list *lists[5];
    const uint32_t counts[5] = {before_slash, positional - before_slash, keywords, keywords, defaults};
    for (int i = 0; i < 5; i++) {
        lists[i] = py_parser_alloc(p, sizeof(struct py_list) + counts[i] * sizeof(void *));
        lists[i]->count = 0;
    }
#define APPEND(list, item) (lists[list]->items[lists[list]->count++] = (item))
    for (uint32_t i = 0; i < positional; i++) {
        APPEND(i < before_slash ? 0 : 1, p->stack[from + 2 * i]);
        if (p->stack[from + 2 * i + 1]) APPEND(4, p->stack[from + 2 * i + 1]);
    }
    for (uint32_t i = 0; i < keywords; i++) {
        APPEND(2, p->stack[keywords_from + 2 * i]);
        APPEND(3, p->stack[keywords_from + 2 * i + 1]);
    }
#undef APPEND
    node->posonlyargs = lists[0];
    node->args = lists[1];
    node->kwonlyargs = lists[2];
    node->kw_defaults = lists[3];
    node->defaults = lists[4];
    p->top = from;
}

struct py_arguments *py_parse_parameters(struct py_parser *p, bool lambda) {
    struct parameters params = {.lambda = lambda};
    struct py_arguments *node = py_node_alloc(p, PY_arguments);
    const uint32_t from = p->top;
    uint32_t keywords_from = UINT32_MAX;
    const int closer = closer_of(&params);
    while (py_kind_now(p) != closer) {
        switch (py_kind_now(p)) {
        case PY_T_SLASH:
            if (params.slash || params.star || p->top == from) fail_slash(p, &params, p->top - from);
            params.slash = true;
            params.slash_at = (p->top - from) / 2;
            py_advance(p);
            if (p->diagnose && py_kind_now(p) == PY_T_STAR) {
                py_error_at(p, py_range_of_token(py_current(p)), "expected comma between / and *");
            }
            break;
        case PY_T_STAR:
            parse_star(p, &params, node);
            keywords_from = p->top;
            break;
        case PY_T_DOUBLESTAR:
            parse_kwarg(p, &params, node);
            if (py_kind_now(p) != closer) py_invalid(p);
            continue;
        default: {
            diagnose_tuple_parameter(p, &params);
            struct py_node *arg = parse_parameter(p, &params, false), *value = NULL;
            if (py_kind_now(p) == PY_T_EQUAL) value = parse_default(p);
            if (!value && params.defaults && !params.star) {
                if (py_kind_now(p) != PY_T_COMMA && py_kind_now(p) != closer) py_invalid(p);
                if (p->diagnose) py_error_at(p, py_range_of(arg), "non-default argument follows default argument");
                py_invalid(p);
            }
            if (!params.star) params.defaults |= value != NULL;
            py_push(p, arg);
            py_push(p, value);
        }
        }
        if (py_kind_now(p) == closer) break;
        py_expect(p, PY_T_COMMA);
    }
    split_parameters(p, node, &params, from, keywords_from == UINT32_MAX ? p->top : keywords_from);
    return node;
}

// [T, T: bound = default, *Ts, **P] of Python 3.12 and 3.13.
struct py_list *py_parse_type_params(struct py_parser *p) {
    if (!py_accept(p, PY_T_LSQB)) return NULL;
    const uint32_t from = p->top;
    if (py_kind_now(p) == PY_T_RSQB) {
        if (p->diagnose) py_invalid_late(p, "Type parameter list cannot be empty");
        py_invalid(p);
    }
    while (py_kind_now(p) != PY_T_RSQB) {
        const struct py_start start = py_start_here(p);
        const int mark = py_kind_now(p);
        if (mark == PY_T_STAR || mark == PY_T_DOUBLESTAR) py_advance(p);
        if (py_kind_now(p) != PY_T_NAME) py_invalid(p);
        struct py_name *name = py_current(p)->name;
        py_advance(p);
        struct py_node *bound = NULL, *value = NULL;
        if (py_kind_now(p) == PY_T_COLON) {
            const struct py_range colon = py_range_of_token(py_current(p));
            py_advance(p);
            bound = py_parse_expression(p);
            if (mark == PY_T_STAR || mark == PY_T_DOUBLESTAR) {
                const char *what = bound->kind == PY_Tuple ? "constraints" : "bound";
                const char *kind = mark == PY_T_STAR ? "TypeVarTuple" : "ParamSpec";
                if (p->diagnose) py_error_at(p, colon, "cannot use %s with %s", what, kind);
                py_invalid(p);
            }
        }
        if (py_accept(p, PY_T_EQUAL)) {
            const struct py_start at = py_start_here(p);
            if (mark == PY_T_STAR && py_accept(p, PY_T_STAR)) {
                struct py_node *inner = py_parse_bitwise_or(p);
                struct py_Starred *starred = PY_NEW(p, Starred, at);
                starred->value = inner;
                value = &starred->base;
            } else {
                value = py_parse_expression(p);
            }
        }
        if (mark == PY_T_STAR) {
            struct py_TypeVarTuple *node = PY_NEW(p, TypeVarTuple, start);
            node->name = name;
            node->default_value = value;
            py_push(p, node);
        } else if (mark == PY_T_DOUBLESTAR) {
            struct py_ParamSpec *node = PY_NEW(p, ParamSpec, start);
            node->name = name;
            node->default_value = value;
            py_push(p, node);
        } else {
            struct py_TypeVar *node = PY_NEW(p, TypeVar, start);
            node->name = name;
            node->bound = bound;
            node->default_value = value;
            py_push(p, node);
        }
        if (!py_accept(p, PY_T_COMMA)) break;
    }
    py_expect(p, PY_T_RSQB);
    return py_take_list(p, from);
}
