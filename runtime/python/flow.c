// SPDX-License-Identifier: MIT
// What CPython's compiler refuses: statements out of place, awaits and yields out of place, impossible targets and
// calls.
#include <string.h>

#include "python/checks.h"
#include "python/patterns.h"

enum unit_kind { UNIT_MODULE, UNIT_CLASS, UNIT_FUNCTION, UNIT_ASYNC, UNIT_LAMBDA, UNIT_COMPREHENSION };

enum { MAX_BLOCKS = 20 }; // CPython's limit of statically nested blocks

enum block_kind { BLOCK_LOOP, BLOCK_OTHER, BLOCK_EXCEPT_STAR };

struct unit {
    struct unit *outer;
    uint8_t kind; // enum unit_kind
    bool generator, coroutine;
    uint8_t block_count;
    uint8_t blocks[MAX_BLOCKS]; // enum block_kind
};

struct flow {
    struct py_checker *c;
    struct unit *unit;
    uint32_t *seen, calls; // by name id: the last call with many keywords that had it
};

static void visit(void *context, struct py_node *node);

static void visit_list(struct flow *f, const struct py_list *list) { py_visit_list(list, visit, f); }

static void visit_optional(struct flow *f, struct py_node *node) {
    if (node) visit(f, node);
}

static bool in_function(const struct flow *f) { return f->unit->kind != UNIT_MODULE && f->unit->kind != UNIT_CLASS; }

static void refuse_debug(struct flow *f, const struct py_name *name, enum py_op context, const void *at) {
    if (!name || name->id != PY_KW___debug__ || context == PY_Load) return;
    py_check_fail(f->c, at, context == PY_Del ? "cannot delete __debug__" : "cannot assign to __debug__");
}

static void push_block(struct flow *f, enum block_kind kind, const struct py_node *at) {
    if (f->unit->block_count == MAX_BLOCKS) py_check_fail(f->c, at, "too many statically nested blocks");
    f->unit->blocks[f->unit->block_count++] = (uint8_t)kind;
}

static void pop_block(struct flow *f) { f->unit->block_count--; }

static void enter_unit(struct flow *f, struct unit *unit, enum unit_kind kind, const struct py_node *node) {
    *unit = (struct unit){.outer = f->unit,
                          .kind = (uint8_t)kind,
                          .generator = node->flags & PY_GENERATOR,
                          .coroutine = node->flags & PY_COROUTINE};
    f->unit = unit;
}

static void leave_unit(struct flow *f) { f->unit = f->unit->outer; }

static void check_arg(struct flow *f, const struct py_node *node) {
    if (!node) return;
    refuse_debug(f, ((const struct py_arg *)node)->arg, PY_Store, node);
}

static void check_args(struct flow *f, const struct py_list *args) {
    for (uint32_t i = 0; i < args->count; i++) check_arg(f, args->items[i]);
}

// A star of `*args: *Ts` needs no list around it.
static void visit_annotation(struct flow *f, struct py_node *node) {
    if (!node || f->c->future_annotations) return;
    visit(f, node->kind == PY_Starred ? ((struct py_Starred *)node)->value : node);
}

static void visit_arg_annotations(struct flow *f, const struct py_list *args) {
    for (uint32_t i = 0; i < args->count; i++) visit_annotation(f, ((struct py_arg *)args->items[i])->annotation);
}

// Names of the parameters, then the defaults, which belong to the scope around.
static void visit_parameters(struct flow *f, const struct py_arguments *args) {
    check_args(f, args->args);
    check_args(f, args->posonlyargs);
    check_args(f, args->kwonlyargs);
    check_arg(f, args->vararg);
    check_arg(f, args->kwarg);
    visit_list(f, args->defaults);
    visit_list(f, args->kw_defaults);
}

static void visit_function(struct flow *f, struct py_FunctionDef *node) {
    const struct py_arguments *args = (struct py_arguments *)node->args;
    visit_list(f, node->decorator_list);
    visit_parameters(f, args);
    visit_arg_annotations(f, args->args);
    visit_arg_annotations(f, args->posonlyargs);
    if (args->vararg) visit_annotation(f, ((struct py_arg *)args->vararg)->annotation);
    visit_arg_annotations(f, args->kwonlyargs);
    if (args->kwarg) visit_annotation(f, ((struct py_arg *)args->kwarg)->annotation);
    visit_annotation(f, node->returns);
    refuse_debug(f, node->name, PY_Store, node);
    struct unit unit;
    enter_unit(f, &unit, node->base.kind == PY_AsyncFunctionDef ? UNIT_ASYNC : UNIT_FUNCTION, &node->base);
    visit_list(f, node->body);
    leave_unit(f);
}

static void visit_lambda(struct flow *f, struct py_Lambda *node) {
    visit_parameters(f, (struct py_arguments *)node->args);
    struct unit unit;
    enter_unit(f, &unit, UNIT_LAMBDA, &node->base);
    visit(f, node->body);
    leave_unit(f);
}

// A list element or argument may be starred.
static void visit_elements(struct flow *f, const struct py_list *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        struct py_node *node = list->items[i];
        if (node) visit(f, node->kind == PY_Starred ? ((struct py_Starred *)node)->value : node);
    }
}

static noreturn void fail_repeated(struct flow *f, const struct py_keyword *keyword) {
    py_check_fail(f->c, keyword, "keyword argument repeated: %.*s", PY_NAME(keyword->arg));
}

// Many keywords: note by name which call saw it last, so that the time stays proportional.
static void check_many_keywords(struct flow *f, const struct py_list *keywords) {
    const uint32_t names = f->c->tree->names->count;
    if (!f->seen) {
        f->seen = py_arena_alloc(&f->c->tree->arena, names * sizeof *f->seen);
        if (!f->seen) py_fail_memory(&f->c->failure);
        memset(f->seen, 0, names * sizeof *f->seen);
    }
    f->calls++;
    for (uint32_t i = 0; i < keywords->count; i++) {
        const struct py_keyword *keyword = keywords->items[i];
        if (!keyword->arg) continue;
        refuse_debug(f, keyword->arg, PY_Store, keyword);
        if (f->seen[keyword->arg->id] == f->calls) fail_repeated(f, keyword);
        f->seen[keyword->arg->id] = f->calls;
    }
}

static void check_keywords(struct flow *f, const struct py_list *keywords) {
    if (keywords->count > 16) {
        check_many_keywords(f, keywords);
        return;
    }
    for (uint32_t i = 0; i < keywords->count; i++) {
        const struct py_keyword *keyword = keywords->items[i];
        if (!keyword->arg) continue;
        refuse_debug(f, keyword->arg, PY_Store, keyword);
        for (uint32_t j = i + 1; j < keywords->count; j++) {
            const struct py_keyword *other = keywords->items[j];
            if (other->arg == keyword->arg) fail_repeated(f, other);
        }
    }
}

static void visit_class(struct flow *f, struct py_ClassDef *node) {
    visit_list(f, node->decorator_list);
    struct unit unit;
    enter_unit(f, &unit, UNIT_CLASS, &node->base);
    visit_list(f, node->body);
    leave_unit(f);
    check_keywords(f, node->keywords);
    visit_elements(f, node->bases);
    visit_list(f, node->keywords);
    refuse_debug(f, node->name, PY_Store, node);
}

static void visit_comprehension(struct flow *f, struct py_node *node) {
    struct py_list *generators =
        node->kind == PY_DictComp ? ((struct py_DictComp *)node)->generators : ((struct py_ListComp *)node)->generators;
    const enum unit_kind outer = f->unit->kind;
    visit(f, ((struct py_comprehension *)generators->items[0])->iter);
    struct unit unit;
    enter_unit(f, &unit, UNIT_COMPREHENSION, node);
    if (unit.coroutine && node->kind != PY_GeneratorExp && outer != UNIT_ASYNC && outer != UNIT_COMPREHENSION) {
        py_check_fail(f->c, node, "asynchronous comprehension outside of an asynchronous function");
    }
    for (uint32_t i = 0; i < generators->count; i++) {
        struct py_comprehension *generator = generators->items[i];
        if (i > 0) visit(f, generator->iter);
        visit(f, generator->target);
        visit_list(f, generator->ifs);
    }
    if (node->kind == PY_DictComp) {
        visit(f, ((struct py_DictComp *)node)->key);
        visit(f, ((struct py_DictComp *)node)->value);
    } else {
        visit(f, ((struct py_ListComp *)node)->elt);
    }
    leave_unit(f);
}

static void visit_loop(struct flow *f, struct py_node *node, const struct py_list *body, const struct py_list *orelse) {
    push_block(f, BLOCK_LOOP, node);
    visit_list(f, body);
    pop_block(f);
    visit_list(f, orelse);
}

static void visit_for(struct flow *f, struct py_For *node) {
    if (node->base.kind == PY_AsyncFor && f->unit->kind != UNIT_ASYNC) {
        py_check_fail(f->c, node, "'async for' outside async function");
    }
    visit(f, node->iter);
    visit(f, node->target);
    visit_loop(f, &node->base, node->body, node->orelse);
}

static void visit_with(struct flow *f, struct py_With *node) {
    if (node->base.kind == PY_AsyncWith && f->unit->kind != UNIT_ASYNC) {
        py_check_fail(f->c, node, "'async with' outside async function");
    }
    for (uint32_t i = 0; i < node->items->count; i++) {
        struct py_withitem *item = node->items->items[i];
        visit(f, item->context_expr);
        push_block(f, BLOCK_OTHER, &node->base);
        visit_optional(f, item->optional_vars);
    }
    visit_list(f, node->body);
    for (uint32_t i = 0; i < node->items->count; i++) pop_block(f);
}

static void visit_handlers(struct flow *f, struct py_Try *node) {
    const bool star = node->base.kind == PY_TryStar;
    for (uint32_t i = 0; i < node->handlers->count; i++) {
        struct py_ExceptHandler *handler = node->handlers->items[i];
        if (!handler->exception && i + 1 < node->handlers->count) {
            py_check_fail(f->c, handler, "default 'except:' must be last");
        }
        visit_optional(f, handler->exception);
        refuse_debug(f, handler->name, PY_Store, handler);
        push_block(f, star ? BLOCK_EXCEPT_STAR : BLOCK_OTHER, &handler->base);
        push_block(f, BLOCK_OTHER, &handler->base);
        visit_list(f, handler->body);
        pop_block(f);
        pop_block(f);
    }
}

static void visit_try(struct flow *f, struct py_Try *node) {
    const bool finally = node->finalbody->count > 0, handlers = node->handlers->count > 0;
    if (finally) push_block(f, BLOCK_OTHER, &node->base);
    if (handlers) push_block(f, BLOCK_OTHER, &node->base);
    visit_list(f, node->body);
    if (handlers) {
        pop_block(f);
        push_block(f, BLOCK_OTHER, &node->base);
        visit_handlers(f, node);
        pop_block(f);
        visit_list(f, node->orelse);
    }
    if (finally) {
        pop_block(f);
        visit_list(f, node->finalbody);
    }
}

// Leaving blocks: up to the innermost loop for break and continue, all of them for return.
static bool unwind(struct flow *f, const struct py_node *node, bool to_loop) {
    for (int i = f->unit->block_count - 1; i >= 0; i--) {
        if (f->unit->blocks[i] == BLOCK_EXCEPT_STAR) {
            py_check_fail(f->c, node, "'break', 'continue' and 'return' cannot appear in an except* block");
        }
        if (to_loop && f->unit->blocks[i] == BLOCK_LOOP) return true;
    }
    return false;
}

static void visit_return(struct flow *f, struct py_Return *node) {
    if (!in_function(f)) py_check_fail(f->c, node, "'return' outside function");
    if (node->value && f->unit->kind == UNIT_ASYNC && f->unit->generator) {
        py_check_fail(f->c, node, "'return' with value in async generator");
    }
    visit_optional(f, node->value);
    unwind(f, &node->base, false);
}

static void visit_await(struct flow *f, struct py_Await *node) {
    if (!in_function(f)) py_check_fail(f->c, node, "'await' outside function");
    if (f->unit->kind != UNIT_ASYNC && f->unit->kind != UNIT_COMPREHENSION) {
        py_check_fail(f->c, node, "'await' outside async function");
    }
    visit(f, node->value);
}

static void visit_yield(struct flow *f, struct py_node *node) {
    if (!in_function(f)) py_check_fail(f->c, node, "'yield' outside function");
    if (node->kind == PY_YieldFrom && f->unit->kind == UNIT_ASYNC) {
        py_check_fail(f->c, node, "'yield from' inside async function");
    }
    py_visit_children(node, visit, f);
}

static void visit_sequence(struct flow *f, struct py_node *node, const struct py_list *elts) {
    if (node->op == PY_Store) {
        bool seen = false;
        for (uint32_t i = 0; i < elts->count; i++) {
            const struct py_node *elt = elts->items[i];
            if (elt->kind != PY_Starred) continue;
            if (seen) py_check_fail(f->c, node, "multiple starred expressions in assignment");
            if (i >= 256 || elts->count - i - 1 >= 1u << 24) {
                py_check_fail(f->c, node, "too many expressions in star-unpacking assignment");
            }
            seen = true;
        }
    }
    visit_elements(f, elts);
}

static void visit_import_from(struct flow *f, struct py_ImportFrom *node) {
    if (node->base.lineno > f->c->last_future_line && py_name_is(node->module, "__future__")) {
        py_check_fail(f->c, node, "from __future__ imports must occur at the beginning of the file");
    }
    for (uint32_t i = 0; i < node->names->count; i++) {
        const struct py_alias *alias = node->names->items[i];
        refuse_debug(f, alias->asname ? alias->asname : alias->name, PY_Store, node);
    }
}

static void visit_import(struct flow *f, struct py_Import *node) {
    for (uint32_t i = 0; i < node->names->count; i++) {
        const struct py_alias *alias = node->names->items[i];
        refuse_debug(f, alias->asname ? alias->asname : alias->name, PY_Store, node);
    }
}

static void visit_match(struct flow *f, struct py_Match *node) {
    visit(f, node->subject);
    for (uint32_t i = 0; i < node->cases->count; i++) {
        struct py_match_case *branch = node->cases->items[i];
        py_check_pattern(f->c, branch->pattern, branch->guard || i + 1 == node->cases->count);
        visit_optional(f, branch->guard);
        visit_list(f, branch->body);
    }
}

static void visit_annotated(struct flow *f, struct py_AnnAssign *node) {
    visit_optional(f, node->value);
    if (node->target->kind == PY_Name) refuse_debug(f, ((struct py_Name *)node->target)->id, PY_Store, node);
    visit(f, node->target);
    if (!f->c->future_annotations) visit(f, node->annotation);
}

static void visit_expression(struct flow *f, struct py_node *node) {
    switch (node->kind) {
    case PY_Constant: break;
    case PY_Name: refuse_debug(f, ((struct py_Name *)node)->id, node->op, node); break;
    case PY_Attribute:
        visit(f, ((struct py_Attribute *)node)->value);
        refuse_debug(f, ((struct py_Attribute *)node)->attr, node->op, node);
        break;
    case PY_Starred:
        py_check_fail(f->c, node,
                      node->op == PY_Store ? "starred assignment target must be in a list or tuple"
                                           : "can't use starred expression here");
    case PY_TypeVarTuple: visit_annotation(f, ((struct py_TypeVarTuple *)node)->default_value); break;
    case PY_Tuple:
    case PY_List: visit_sequence(f, node, ((struct py_Tuple *)node)->elts); break; // the two share a layout
    case PY_Set: visit_elements(f, ((struct py_Set *)node)->elts); break;
    case PY_Call: {
        struct py_Call *call = (struct py_Call *)node;
        check_keywords(f, call->keywords);
        visit(f, call->func);
        visit_elements(f, call->args);
        visit_list(f, call->keywords);
        break;
    }
    case PY_Lambda: visit_lambda(f, (struct py_Lambda *)node); break;
    case PY_ListComp:
    case PY_SetComp:
    case PY_DictComp:
    case PY_GeneratorExp: visit_comprehension(f, node); break;
    case PY_Await: visit_await(f, (struct py_Await *)node); break;
    case PY_Yield:
    case PY_YieldFrom: visit_yield(f, node); break;
    default: py_visit_children(node, visit, f); break;
    }
}

static void visit(void *context, struct py_node *node) {
    struct flow *f = context;
    py_check_enter(f->c, node);
    switch (node->kind) {
    case PY_FunctionDef:
    case PY_AsyncFunctionDef: visit_function(f, (struct py_FunctionDef *)node); break;
    case PY_ClassDef: visit_class(f, (struct py_ClassDef *)node); break;
    case PY_Return: visit_return(f, (struct py_Return *)node); break;
    case PY_Break:
        if (!unwind(f, node, true)) py_check_fail(f->c, node, "'break' outside loop");
        break;
    case PY_Continue:
        if (!unwind(f, node, true)) py_check_fail(f->c, node, "'continue' not properly in loop");
        break;
    case PY_While:
        visit(f, ((struct py_While *)node)->test);
        visit_loop(f, node, ((struct py_While *)node)->body, ((struct py_While *)node)->orelse);
        break;
    case PY_For:
    case PY_AsyncFor: visit_for(f, (struct py_For *)node); break;
    case PY_With:
    case PY_AsyncWith: visit_with(f, (struct py_With *)node); break;
    case PY_Try:
    case PY_TryStar: visit_try(f, (struct py_Try *)node); break;
    case PY_Match: visit_match(f, (struct py_Match *)node); break;
    case PY_AnnAssign: visit_annotated(f, (struct py_AnnAssign *)node); break;
    case PY_Assign:
        visit(f, ((struct py_Assign *)node)->value);
        visit_list(f, ((struct py_Assign *)node)->targets);
        break;
    case PY_ImportFrom: visit_import_from(f, (struct py_ImportFrom *)node); break;
    case PY_Import: visit_import(f, (struct py_Import *)node); break;
    case PY_Global:
    case PY_Nonlocal: break;
    default: visit_expression(f, node); break;
    }
    py_check_leave(f->c);
}

void py_check_flow(struct py_checker *c) {
    struct unit module = {.kind = UNIT_MODULE};
    struct flow f = {.c = c, .unit = &module};
    py_visit_list(c->tree->module->body, visit, &f);
}
