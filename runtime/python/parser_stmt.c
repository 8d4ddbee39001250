// SPDX-License-Identifier: MIT
// Simple statements, and the targets that assignment, `for`, `with` and `del` share.
#include <string.h>

#include "python/parser_internal.h"

const char *py_expression_name(const struct py_node *node) {
    switch (node->kind) {
    case PY_Attribute: return "attribute";
    case PY_Subscript: return "subscript";
    case PY_Starred: return "starred";
    case PY_Name: return "name";
    case PY_List: return "list";
    case PY_Tuple: return "tuple";
    case PY_Lambda: return "lambda";
    case PY_Call: return "function call";
    case PY_BoolOp:
    case PY_BinOp:
    case PY_UnaryOp: return "expression";
    case PY_GeneratorExp: return "generator expression";
    case PY_Yield:
    case PY_YieldFrom: return "yield expression";
    case PY_Await: return "await expression";
    case PY_ListComp: return "list comprehension";
    case PY_SetComp: return "set comprehension";
    case PY_DictComp: return "dict comprehension";
    case PY_Dict: return "dict literal";
    case PY_Set: return "set display";
    case PY_JoinedStr:
    case PY_FormattedValue: return "f-string expression";
    case PY_Constant:
        if (node->op == PY_NONE) return "None";
        if (node->op == PY_BOOL) return ((const struct py_Constant *)node)->value.integer ? "True" : "False";
        if (node->op == PY_ELLIPSIS) return "ellipsis";
        return "literal";
    case PY_Compare: return "comparison";
    case PY_IfExp: return "conditional expression";
    case PY_NamedExpr: return "named expression";
    default: return "expression";
    }
}

// The first part of `node` that cannot be a target, or NULL.
const struct py_node *py_find_bad_target(const struct py_node *node, enum py_target type) {
    switch (node->kind) {
    case PY_List:
    case PY_Tuple: {
        const struct py_list *elts = ((const struct py_Tuple *)node)->elts; // a List has the same layout
        for (uint32_t i = 0; i < elts->count; i++) {
            const struct py_node *bad = py_find_bad_target(elts->items[i], type);
            if (bad) return bad;
        }
        return NULL;
    }
    case PY_Starred:
        if (type == PY_TARGET_DEL) return node;
        return py_find_bad_target(((const struct py_Starred *)node)->value, type);
    case PY_Compare:
        // `for x in y` that was read as a comparison
        if (type == PY_TARGET_FOR) {
            const struct py_Compare *compare = (const struct py_Compare *)node;
            if (compare->ops[0] == PY_In) return py_find_bad_target(compare->left, type);
            return NULL;
        }
        return node;
    case PY_Name:
    case PY_Subscript:
    case PY_Attribute: return NULL;
    default: return node;
    }
}

void py_fail_target(struct py_parser *p, const struct py_node *node, enum py_target type) {
    py_error_at(p, py_range_of(node), type == PY_TARGET_DEL ? "cannot delete %s" : "cannot assign to %s",
                py_expression_name(node));
}

void py_make_target(struct py_parser *p, struct py_node *node, enum py_op context, enum py_target type) {
    switch (node->kind) {
    case PY_Name:
    case PY_Subscript:
    case PY_Attribute: node->op = (uint8_t)context; return;
    case PY_Starred: {
        struct py_node *value = ((struct py_Starred *)node)->value;
        if (type == PY_TARGET_DEL || value->kind == PY_Starred || (node->flags & PY_PARENTHESISED)) break;
        node->op = (uint8_t)context;
        py_make_target(p, value, context, type);
        return;
    }
    case PY_List:
    case PY_Tuple: {
        struct py_list *elts = ((struct py_Tuple *)node)->elts;
        node->op = (uint8_t)context;
        py_enter(p, 1);
        for (uint32_t i = 0; i < elts->count; i++) py_make_target(p, elts->items[i], context, type);
        p->depth--;
        return;
    }
    default: break;
    }
    py_invalid(p);
}

static bool is_single_target(const struct py_node *node) {
    return node->kind == PY_Name || node->kind == PY_Attribute || node->kind == PY_Subscript;
}

static struct py_node *parse_annotated(struct py_parser *p, struct py_start start, struct py_node *target) {
    if (!is_single_target(target)) {
        if (p->diagnose) {
            py_advance(p);
            py_parse_expression(p);
            if (target->kind == PY_List || target->kind == PY_Tuple) {
                const struct py_node *at = target;
                const struct py_list *elts = ((struct py_Tuple *)target)->elts;
                if (target->kind == PY_Tuple && !(target->flags & PY_PARENTHESISED)) at = elts->items[0];
                py_error_at(p, py_range_of(at), "only single target (not %s) can be annotated",
                            py_expression_name(target));
            }
            py_error_at(p, py_range_of(target), "illegal target for annotation");
        }
        py_invalid(p);
    }
    py_advance(p);
    struct py_node *annotation = py_parse_expression(p);
    struct py_node *value = py_accept(p, PY_T_EQUAL) ? py_parse_yield_or_star(p) : NULL;
    struct py_AnnAssign *node = PY_NEW(p, AnnAssign, start);
    target->op = PY_Store;
    node->target = target;
    node->annotation = annotation;
    node->value = value;
    node->simple = target->kind == PY_Name && !(target->flags & PY_PARENTHESISED);
    return &node->base;
}

static struct py_node *parse_augmented(struct py_parser *p, struct py_start start, struct py_node *target) {
    const int kind = py_kind_now(p);
    if (!is_single_target(target)) {
        const bool yielded =
            (target->kind == PY_Yield || target->kind == PY_YieldFrom) && !(target->flags & PY_PARENTHESISED);
        if (p->diagnose && !yielded) {
            py_advance(p);
            py_parse_yield_or_star(p);
            py_error_at(p, py_range_of(target), "'%s' is an illegal expression for augmented assignment",
                        py_expression_name(target));
        }
        py_invalid(p);
    }
    py_advance(p);
    struct py_node *value = py_parse_yield_or_star(p);
    struct py_AugAssign *node = PY_NEW(p, AugAssign, start);
    target->op = PY_Store;
    node->base.op = (uint8_t)(PY_Add + (kind - PY_T_PLUSEQUAL));
    node->target = target;
    node->value = value;
    return &node->base;
}

// The last of several expressions, or the only one.
static struct py_node *last_element(struct py_node *node) {
    if (node->kind != PY_Tuple || (node->flags & PY_PARENTHESISED)) return node;
    const struct py_list *elts = ((struct py_Tuple *)node)->elts;
    return elts->items[elts->count - 1];
}

// `left = ...` where left cannot be assigned to. The statement begins at token `from`.
static void diagnose_assignment(struct py_parser *p, struct py_node *left, uint32_t from) {
    if (!p->diagnose) return;
    const bool yielded = left->kind == PY_Yield || left->kind == PY_YieldFrom;
    const struct py_node *bad = yielded ? left : py_find_bad_target(left, PY_TARGET_STAR);
    if (!bad) return;
    const uint32_t pos = p->pos;
    p->pos = from; // its first expressions, as if a value were wanted there
    if (py_kind_now(p) != PY_KW(yield)) {
        do {
            if (!py_begins_expression(py_kind_now(p))) break;
            py_parse_star_named(p);
        } while (py_accept(p, PY_T_COMMA));
    }
    p->pos = pos;
    if (yielded && !(left->flags & PY_PARENTHESISED)) {
        py_error_at(p, py_range_of(left), "assignment to yield expression not possible");
    }
    py_fail_target(p, bad, PY_TARGET_STAR);
}

static struct py_node *parse_expression_statement(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    const uint32_t begun = p->pos;
    struct py_node *first = py_parse_yield_or_star(p);
    const int kind = py_kind_now(p);
    if (kind == PY_T_COLONEQUAL && p->diagnose) {
        const struct py_node *last = last_element(first);
        py_advance(p);
        py_parse_expression(p);
        if (last->kind != PY_Name || (last->flags & PY_PARENTHESISED)) {
            py_error_at(p, py_range_of(last), "cannot use assignment expressions with %s", py_expression_name(last));
        }
        py_invalid(p);
    }
    if (kind == PY_T_NEWLINE ||
        (kind != PY_T_EQUAL && kind != PY_T_COLON && (kind < PY_T_PLUSEQUAL || kind > PY_T_DOUBLESLASHEQUAL))) {
        struct py_Expr *node = PY_NEW(p, Expr, start);
        node->value = first;
        return &node->base;
    }
    const bool yielded = (first->kind == PY_Yield || first->kind == PY_YieldFrom) && !(first->flags & PY_PARENTHESISED);
    if (kind == PY_T_COLON && !yielded) return parse_annotated(p, start, first);
    if (kind >= PY_T_PLUSEQUAL && kind <= PY_T_DOUBLESLASHEQUAL) return parse_augmented(p, start, first);
    const uint32_t from = p->top;
    struct py_node *value = first;
    while (py_kind_now(p) == PY_T_EQUAL) {
        diagnose_assignment(p, value, begun);
        py_make_target(p, value, PY_Store, PY_TARGET_STAR);
        py_push(p, value);
        py_advance(p);
        value = py_parse_yield_or_star(p);
    }
    struct py_Assign *node = PY_NEW(p, Assign, start);
    node->targets = py_take_list(p, from);
    node->value = value;
    return &node->base;
}

static bool ends_statement(int kind) { return kind == PY_T_NEWLINE || kind == PY_T_SEMI || kind == PY_T_ENDMARKER; }

static struct py_node *parse_return(struct py_parser *p, struct py_start start) {
    py_advance(p);
    struct py_node *value = ends_statement(py_kind_now(p)) ? NULL : py_parse_star_expressions(p);
    struct py_Return *node = PY_NEW(p, Return, start);
    node->value = value;
    return &node->base;
}

static struct py_node *parse_raise(struct py_parser *p, struct py_start start) {
    py_advance(p);
    struct py_node *exc = NULL, *cause = NULL;
    if (!ends_statement(py_kind_now(p))) {
        exc = py_parse_expression(p);
        if (py_accept(p, PY_KW(from))) cause = py_parse_expression(p);
    }
    struct py_Raise *node = PY_NEW(p, Raise, start);
    node->exc = exc;
    node->cause = cause;
    return &node->base;
}

static struct py_node *parse_delete(struct py_parser *p, struct py_start start) {
    py_advance(p);
    struct py_node *targets = py_parse_star_expressions(p);
    const uint32_t from = p->top;
    if (p->diagnose || ends_statement(py_kind_now(p))) {
        const struct py_node *bad = py_find_bad_target(targets, PY_TARGET_DEL);
        if (bad && p->diagnose) py_fail_target(p, bad, PY_TARGET_DEL);
    }
    if (!ends_statement(py_kind_now(p))) py_invalid(p);
    py_make_target(p, targets, PY_Del, PY_TARGET_DEL);
    struct py_list *list;
    if (targets->kind == PY_Tuple && !(targets->flags & PY_PARENTHESISED)) {
        list = ((struct py_Tuple *)targets)->elts;
    } else {
        py_push(p, targets);
        list = py_take_list(p, from);
    }
    struct py_Delete *node = PY_NEW(p, Delete, start);
    node->targets = list;
    return &node->base;
}

static struct py_node *parse_assert(struct py_parser *p, struct py_start start) {
    py_advance(p);
    struct py_node *test = py_parse_expression(p);
    struct py_node *msg = py_accept(p, PY_T_COMMA) ? py_parse_expression(p) : NULL;
    struct py_Assert *node = PY_NEW(p, Assert, start);
    node->test = test;
    node->msg = msg;
    return &node->base;
}

static struct py_name *take_name(struct py_parser *p) {
    const struct py_token *token = py_current(p);
    if (token->kind != PY_T_NAME) py_invalid(p);
    struct py_name *name = token->name;
    py_advance(p);
    return name;
}

static struct py_node *parse_scope(struct py_parser *p, struct py_start start, bool global) {
    const uint32_t from = p->top;
    py_advance(p);
    do py_push(p, take_name(p));
    while (py_accept(p, PY_T_COMMA));
    struct py_Global *node = py_node_from(p, global ? PY_Global : PY_Nonlocal, start); // the two share a layout
    node->names = py_take_list(p, from);
    return &node->base;
}

// Imports ------------------------------------------------------------------------------------------------------------

// a.b.c as one name. Written with spaces or across lines it is joined anew.
static struct py_name *parse_dotted(struct py_parser *p) {
    struct py_name *name = take_name(p);
    if (py_kind_now(p) != PY_T_DOT) return name;
    size_t length = name->length, room = 128;
    char few[128], *text = few;
    memcpy(text, name->text, length <= room ? length : 0);
    if (length > room) {
        text = py_parser_alloc(p, room = length * 2);
        memcpy(text, name->text, length);
    }
    while (py_accept(p, PY_T_DOT)) {
        const struct py_name *part = take_name(p);
        if (length + 1 + part->length > room) {
            char *more = py_parser_alloc(p, room = (length + 1 + part->length) * 2);
            memcpy(more, text, length);
            text = more;
        }
        text[length++] = '.';
        memcpy(text + length, part->text, part->length);
        length += part->length;
    }
    char *kept = py_parser_alloc(p, length);
    memcpy(kept, text, length);
    uint32_t hash = PY_HASH_START;
    for (size_t i = 0; i < length; i++) hash = PY_HASH_STEP(hash, kept[i]);
    struct py_name *joined = py_names_intern(&p->names, kept, (uint32_t)length, hash);
    if (!joined) py_fail_memory(&p->failure);
    return joined;
}

static struct py_alias *parse_alias(struct py_parser *p, bool dotted) {
    const struct py_start start = py_start_here(p);
    struct py_name *name = dotted ? parse_dotted(p) : take_name(p);
    struct py_name *asname = py_accept(p, PY_KW(as)) ? take_name(p) : NULL;
    struct py_alias *node = PY_NEW(p, alias, start);
    node->name = name;
    node->asname = asname;
    return node;
}

static struct py_node *parse_import(struct py_parser *p, struct py_start start) {
    const uint32_t from = p->top;
    py_advance(p);
    do py_push(p, parse_alias(p, true));
    while (py_accept(p, PY_T_COMMA));
    struct py_Import *node = PY_NEW(p, Import, start);
    node->names = py_take_list(p, from);
    return &node->base;
}

static struct py_node *parse_import_from(struct py_parser *p, struct py_start start) {
    const uint32_t from = p->top;
    int64_t level = 0;
    py_advance(p);
    for (;;) {
        if (py_accept(p, PY_T_DOT)) {
            level++;
        } else if (py_accept(p, PY_T_ELLIPSIS)) {
            level += 3;
        } else {
            break;
        }
    }
    struct py_name *module = level && py_kind_now(p) == PY_KW(import) ? NULL : parse_dotted(p);
    py_expect(p, PY_KW(import));
    if (py_kind_now(p) == PY_T_STAR) {
        const struct py_start at = py_start_here(p);
        py_advance(p);
        struct py_alias *alias = PY_NEW(p, alias, at);
        alias->name = py_names_intern(&p->names, "*", 1, PY_HASH_STEP(PY_HASH_START, '*'));
        if (!alias->name) py_fail_memory(&p->failure);
        py_push(p, alias);
    } else if (py_accept(p, PY_T_LPAR)) {
        do {
            if (py_kind_now(p) == PY_T_RPAR && p->top > from) break;
            py_push(p, parse_alias(p, false));
        } while (py_accept(p, PY_T_COMMA));
        py_expect(p, PY_T_RPAR);
    } else {
        do {
            if (py_kind_now(p) == PY_T_NEWLINE && p->top > from && p->diagnose) {
                py_invalid_late(p, "trailing comma not allowed without surrounding parentheses");
            }
            py_push(p, parse_alias(p, false));
        } while (py_accept(p, PY_T_COMMA));
    }
    struct py_ImportFrom *node = PY_NEW(p, ImportFrom, start);
    node->module = module;
    node->names = py_take_list(p, from);
    node->level = level;
    return &node->base;
}

// `type X[T] = value` of Python 3.12; the current token is the soft keyword.
static struct py_node *parse_type_alias(struct py_parser *p, struct py_start start) {
    py_advance(p);
    struct py_node *name = py_parse_name(p, PY_Store);
    struct py_list *params = py_parse_type_params(p);
    py_expect(p, PY_T_EQUAL);
    struct py_node *value = py_parse_expression(p);
    struct py_TypeAlias *node = PY_NEW(p, TypeAlias, start);
    node->name = name;
    node->type_params = params ? params : py_take_list(p, p->top);
    node->value = value;
    return &node->base;
}

static struct py_node *parse_simple(struct py_parser *p) {
    const struct py_start start = py_start_here(p);
    enum py_kind alone;
    switch (py_kind_now(p)) {
    case PY_KW(return ): return parse_return(p, start);
    case PY_KW(import): return parse_import(p, start);
    case PY_KW(from): return parse_import_from(p, start);
    case PY_KW(raise): return parse_raise(p, start);
    case PY_KW(del): return parse_delete(p, start);
    case PY_KW(assert): return parse_assert(p, start);
    case PY_KW(global): return parse_scope(p, start, true);
    case PY_KW(nonlocal): return parse_scope(p, start, false);
    case PY_KW(pass): alone = PY_Pass; break;
    case PY_KW(break): alone = PY_Break; break;
    case PY_KW(continue): alone = PY_Continue; break;
    case PY_T_NAME:
        if (py_is_soft(py_current(p), PY_KW_type) && py_peek(p, 1)->kind == PY_T_NAME)
            return parse_type_alias(p, start);
        return parse_expression_statement(p);
    default: return parse_expression_statement(p);
    }
    py_advance(p);
    return py_node_from(p, alone, start);
}

void py_parse_simple_statements(struct py_parser *p) {
    for (;;) {
        py_push(p, parse_simple(p));
        if (py_kind_now(p) == PY_T_NEWLINE) break;
        py_expect(p, PY_T_SEMI);
        if (py_kind_now(p) == PY_T_NEWLINE) break;
    }
    py_forget_tokens(p);
    py_advance(p);
}
