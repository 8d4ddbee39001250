// SPDX-License-Identifier: MIT
// The symbol table: which scope binds which name, and what is wrong with that.
#include <string.h>

#include "python/checks.h"

enum scope_kind {
    SCOPE_MODULE,
    SCOPE_CLASS,
    SCOPE_FUNCTION,
    SCOPE_ANNOTATION,
    SCOPE_TYPE_BOUND,
    SCOPE_TYPE_ALIAS,
    SCOPE_TYPE_PARAMS
};

enum symbol_flag {
    SYMBOL_LOCAL = 1,
    SYMBOL_PARAM = 2,
    SYMBOL_GLOBAL = 4,
    SYMBOL_NONLOCAL = 8,
    SYMBOL_USED = 16,
    SYMBOL_ANNOTATED = 32,
    SYMBOL_IMPORTED = 64,
    SYMBOL_ITERATED = 128, // target of a comprehension
    SYMBOL_TYPE_PARAM = 256,
    SYMBOL_BOUND = SYMBOL_LOCAL | SYMBOL_PARAM | SYMBOL_IMPORTED | SYMBOL_TYPE_PARAM,
};

struct scope {
    struct scope *parent;
    uint32_t id;
    uint8_t kind;          // enum scope_kind
    uint8_t comprehension; // enum py_kind of the comprehension whose scope this is, 0 = none
    bool iter_target;      // visiting a comprehension's target
    uint32_t iter_exprs;   // visiting so many comprehensions' iterables
    bool coroutine, generator;
};

struct symbol {
    uint32_t scope, name, flags; // flags 0 = an empty slot
};

struct directive { // a nonlocal statement's name
    struct directive *next;
    struct scope *scope;
    const struct py_name *name;
    const struct py_node *statement;
};

struct scopes {
    struct py_checker *c;
    struct scope *current;
    uint32_t scope_count;
    struct symbol *symbols; // open addressing
    uint32_t symbol_count, mask;
    struct directive *directives, **last;
};

static void visit(void *context, struct py_node *node);

static void *allocate(struct scopes *s, size_t size) {
    void *block = py_arena_alloc(&s->c->tree->arena, size);
    if (!block) py_fail_memory(&s->c->failure);
    return block;
}

static struct symbol *find_slot(struct symbol *symbols, uint32_t mask, uint32_t scope, uint32_t name) {
    uint32_t at = (scope * 0x9E3779B1u ^ name * 0x85EBCA77u);
    at ^= at >> 15;
    for (;; at++) {
        struct symbol *symbol = &symbols[at & mask];
        if (!symbol->flags || (symbol->scope == scope && symbol->name == name)) return symbol;
    }
}

static struct symbol *make_symbols(struct scopes *s, uint32_t size) {
    struct symbol *symbols = allocate(s, size * sizeof *symbols);
    memset(symbols, 0, size * sizeof *symbols);
    return symbols;
}

static void add_flags(struct scopes *s, const struct scope *scope, const struct py_name *name, uint32_t flags) {
    struct symbol *symbol = find_slot(s->symbols, s->mask, scope->id, name->id);
    if (!symbol->flags) {
        *symbol = (struct symbol){scope->id, name->id, 0};
        s->symbol_count++;
    }
    symbol->flags |= flags;
    if (s->symbol_count <= s->mask / 2) return;
    uint32_t mask = s->mask * 2 + 1;
    struct symbol *symbols = make_symbols(s, mask + 1);
    for (uint32_t i = 0; i <= s->mask; i++) {
        const struct symbol *old = &s->symbols[i];
        if (old->flags) *find_slot(symbols, mask, old->scope, old->name) = *old;
    }
    s->symbols = symbols;
    s->mask = mask;
}

static uint32_t flags_of(const struct scopes *s, const struct scope *scope, const struct py_name *name) {
    return find_slot(s->symbols, s->mask, scope->id, name->id)->flags;
}

// Bind a name in the current scope. `at` is blamed.
static void define(struct scopes *s, const struct py_name *name, uint32_t flags, const void *at) {
    uint32_t old = flags_of(s, s->current, name);
    if ((flags & SYMBOL_PARAM) && (old & SYMBOL_PARAM)) {
        py_check_fail(s->c, at, "duplicate argument '%.*s' in function definition", PY_NAME(name));
    }
    if ((flags & SYMBOL_TYPE_PARAM) && (old & SYMBOL_TYPE_PARAM)) {
        py_check_fail(s->c, at, "duplicate type parameter '%.*s'", PY_NAME(name));
    }
    if (s->current->iter_target) {
        if (old & (SYMBOL_GLOBAL | SYMBOL_NONLOCAL)) {
            py_check_fail(s->c, at, "comprehension inner loop cannot rebind assignment expression target '%.*s'",
                          PY_NAME(name));
        }
        flags |= SYMBOL_ITERATED;
    }
    add_flags(s, s->current, name, flags);
}

static void enter(struct scopes *s, enum scope_kind kind) {
    struct scope *scope = allocate(s, sizeof *scope);
    *scope = (struct scope){.parent = s->current, .id = s->scope_count++, .kind = (uint8_t)kind};
    if (s->current && s->current->iter_exprs > 0) scope->iter_exprs = 1;
    s->current = scope;
}

static void leave(struct scopes *s) { s->current = s->current->parent; }

static void visit_list(struct scopes *s, const struct py_list *list) { py_visit_list(list, visit, s); }

static void visit_optional(struct scopes *s, struct py_node *node) {
    if (node) visit(s, node);
}

// Some scopes allow neither assignment expressions nor yield nor await.
static void refuse_in_annotation(struct scopes *s, const struct py_node *node, const char *what) {
    switch (s->current->kind) {
    case SCOPE_ANNOTATION: py_check_fail(s->c, node, "%s cannot be used within an annotation", what);
    case SCOPE_TYPE_BOUND: py_check_fail(s->c, node, "%s cannot be used within a TypeVar bound", what);
    case SCOPE_TYPE_ALIAS: py_check_fail(s->c, node, "%s cannot be used within a type alias", what);
    case SCOPE_TYPE_PARAMS: py_check_fail(s->c, node, "%s cannot be used within the definition of a generic", what);
    default: break;
    }
}

static void visit_annotation(struct scopes *s, struct py_node *annotation) {
    if (!annotation) return;
    if (s->c->future_annotations) enter(s, SCOPE_ANNOTATION);
    visit(s, annotation);
    if (s->c->future_annotations) leave(s);
}

static void visit_arg_annotations(struct scopes *s, const struct py_list *args) {
    for (uint32_t i = 0; i < args->count; i++) visit_annotation(s, ((struct py_arg *)args->items[i])->annotation);
}

static void visit_annotations(struct scopes *s, const struct py_arguments *args, struct py_node *returns) {
    visit_arg_annotations(s, args->posonlyargs);
    visit_arg_annotations(s, args->args);
    if (args->vararg) visit_annotation(s, ((struct py_arg *)args->vararg)->annotation);
    if (args->kwarg) visit_annotation(s, ((struct py_arg *)args->kwarg)->annotation);
    visit_arg_annotations(s, args->kwonlyargs);
    visit_annotation(s, returns);
}

static void define_args(struct scopes *s, const struct py_list *args) {
    for (uint32_t i = 0; i < args->count; i++) {
        const struct py_arg *arg = args->items[i];
        define(s, arg->arg, SYMBOL_PARAM, arg);
    }
}

static void define_parameters(struct scopes *s, const struct py_arguments *args) {
    define_args(s, args->posonlyargs);
    define_args(s, args->args);
    define_args(s, args->kwonlyargs);
    if (args->vararg) define(s, ((struct py_arg *)args->vararg)->arg, SYMBOL_PARAM, args->vararg);
    if (args->kwarg) define(s, ((struct py_arg *)args->kwarg)->arg, SYMBOL_PARAM, args->kwarg);
}

static void visit_type_param(struct scopes *s, const struct py_name *name, struct py_node *bound, struct py_node *value,
                             const struct py_node *node) {
    define(s, name, SYMBOL_TYPE_PARAM, node);
    enter(s, SCOPE_TYPE_BOUND);
    visit_optional(s, bound);
    visit_optional(s, value);
    leave(s);
}

static void visit_type_params(struct scopes *s, const struct py_list *params) {
    bool defaulted = false;
    for (uint32_t i = 0; i < params->count; i++) {
        struct py_node *node = params->items[i];
        struct py_node *bound = NULL, *value;
        const struct py_name *name;
        if (node->kind == PY_TypeVar) {
            name = ((struct py_TypeVar *)node)->name;
            bound = ((struct py_TypeVar *)node)->bound;
            value = ((struct py_TypeVar *)node)->default_value;
        } else {
            name = ((struct py_ParamSpec *)node)->name; // a TypeVarTuple has the same layout
            value = ((struct py_ParamSpec *)node)->default_value;
        }
        visit_type_param(s, name, bound, value, node);
        if (value) {
            defaulted = true;
        } else if (defaulted) {
            py_check_fail(s->c, node, "non-default type parameter '%.*s' follows default type parameter",
                          PY_NAME(name));
        }
    }
}

static void visit_function(struct scopes *s, struct py_FunctionDef *node) {
    const struct py_arguments *args = (struct py_arguments *)node->args;
    define(s, node->name, SYMBOL_LOCAL, node);
    visit_list(s, args->defaults);
    visit_list(s, args->kw_defaults);
    visit_list(s, node->decorator_list);
    const bool generic = node->type_params->count > 0;
    if (generic) {
        enter(s, SCOPE_TYPE_PARAMS);
        visit_type_params(s, node->type_params);
    }
    visit_annotations(s, args, node->returns);
    enter(s, SCOPE_FUNCTION);
    s->current->coroutine = node->base.kind == PY_AsyncFunctionDef;
    define_parameters(s, args);
    visit_list(s, node->body);
    if (s->current->coroutine) node->base.flags |= PY_COROUTINE;
    if (s->current->generator) node->base.flags |= PY_GENERATOR;
    leave(s);
    if (generic) leave(s);
}

static void visit_class(struct scopes *s, struct py_ClassDef *node) {
    define(s, node->name, SYMBOL_LOCAL, node);
    const bool generic = node->type_params->count > 0;
    if (!generic) {
        visit_list(s, node->bases);
        visit_list(s, node->keywords);
    }
    visit_list(s, node->decorator_list);
    if (generic) {
        enter(s, SCOPE_TYPE_PARAMS);
        visit_type_params(s, node->type_params);
        visit_list(s, node->bases);
        visit_list(s, node->keywords);
    }
    enter(s, SCOPE_CLASS);
    visit_list(s, node->body);
    leave(s);
    if (generic) leave(s);
}

static void visit_lambda(struct scopes *s, struct py_Lambda *node) {
    const struct py_arguments *args = (struct py_arguments *)node->args;
    visit_list(s, args->defaults);
    visit_list(s, args->kw_defaults);
    enter(s, SCOPE_FUNCTION);
    define_parameters(s, args);
    visit(s, node->body);
    if (s->current->generator) node->base.flags |= PY_GENERATOR;
    leave(s);
}

static void visit_generator(struct scopes *s, struct py_comprehension *node, bool outermost) {
    s->current->iter_target = true;
    visit(s, node->target);
    s->current->iter_target = false;
    if (!outermost) {
        s->current->iter_exprs++;
        visit(s, node->iter);
        s->current->iter_exprs--;
    }
    visit_list(s, node->ifs);
    if (node->is_async) s->current->coroutine = true;
}

static void visit_comprehension(struct scopes *s, struct py_node *node) {
    struct py_list *generators =
        node->kind == PY_DictComp ? ((struct py_DictComp *)node)->generators : ((struct py_ListComp *)node)->generators;
    struct py_comprehension *first = generators->items[0];
    s->current->iter_exprs++;
    visit(s, first->iter);
    s->current->iter_exprs--;
    enter(s, SCOPE_FUNCTION);
    s->current->comprehension = node->kind;
    if (first->is_async) s->current->coroutine = true;
    for (uint32_t i = 0; i < generators->count; i++) visit_generator(s, generators->items[i], i == 0);
    if (node->kind == PY_DictComp) {
        visit(s, ((struct py_DictComp *)node)->key);
        visit(s, ((struct py_DictComp *)node)->value);
    } else {
        visit(s, ((struct py_ListComp *)node)->elt);
    }
    const bool coroutine = s->current->coroutine;
    if (coroutine) node->flags |= PY_COROUTINE;
    leave(s);
    if (coroutine && node->kind != PY_GeneratorExp) s->current->coroutine = true;
}

// `:=` in a comprehension binds in the function or module around it.
static void bind_outside_comprehension(struct scopes *s, const struct py_node *node, const struct py_name *name) {
    for (struct scope *scope = s->current; scope; scope = scope->parent) {
        const uint32_t flags = flags_of(s, scope, name);
        if (scope->comprehension) {
            if ((flags & SYMBOL_ITERATED) && (flags & SYMBOL_LOCAL)) {
                py_check_fail(s->c, node, "assignment expression cannot rebind comprehension iteration variable '%.*s'",
                              PY_NAME(name));
            }
            continue;
        }
        switch (scope->kind) {
        case SCOPE_FUNCTION:
            add_flags(s, s->current, name, flags & SYMBOL_GLOBAL ? SYMBOL_GLOBAL : SYMBOL_NONLOCAL);
            add_flags(s, scope, name, SYMBOL_LOCAL);
            return;
        case SCOPE_MODULE:
            add_flags(s, s->current, name, SYMBOL_GLOBAL);
            add_flags(s, scope, name, SYMBOL_GLOBAL);
            return;
        case SCOPE_CLASS:
            py_check_fail(s->c, node, "assignment expression within a comprehension cannot be used in a class body");
        case SCOPE_TYPE_PARAMS:
            py_check_fail(
                s->c, node,
                "assignment expression within a comprehension cannot be used within the definition of a generic");
        case SCOPE_TYPE_ALIAS:
            py_check_fail(s->c, node, "assignment expression within a comprehension cannot be used in a type alias");
        case SCOPE_TYPE_BOUND:
            py_check_fail(s->c, node, "assignment expression within a comprehension cannot be used in a TypeVar bound");
        default: break;
        }
    }
}

static void visit_named(struct scopes *s, struct py_NamedExpr *node) {
    refuse_in_annotation(s, &node->base, "named expression");
    const struct py_name *name = ((struct py_Name *)node->target)->id;
    if (s->current->iter_exprs > 0) {
        py_check_fail(s->c, node, "assignment expression cannot be used in a comprehension iterable expression");
    }
    if (s->current->comprehension) bind_outside_comprehension(s, &node->base, name);
    visit(s, node->value);
    visit(s, node->target);
}

static void visit_yield(struct scopes *s, struct py_node *node) {
    refuse_in_annotation(s, node, "yield expression");
    py_visit_children(node, visit, s);
    s->current->generator = true;
    switch (s->current->comprehension) {
    case PY_ListComp: py_check_fail(s->c, node, "'yield' inside list comprehension");
    case PY_SetComp: py_check_fail(s->c, node, "'yield' inside set comprehension");
    case PY_DictComp: py_check_fail(s->c, node, "'yield' inside dict comprehension");
    case PY_GeneratorExp: py_check_fail(s->c, node, "'yield' inside generator expression");
    default: break;
    }
}

static void visit_directive(struct scopes *s, struct py_Global *node, bool global) {
    const char *word = global ? "global" : "nonlocal";
    for (uint32_t i = 0; i < node->names->count; i++) {
        const struct py_name *name = node->names->items[i];
        const uint32_t flags = flags_of(s, s->current, name);
        if (flags & SYMBOL_PARAM) py_check_fail(s->c, node, "name '%.*s' is parameter and %s", PY_NAME(name), word);
        if (flags & SYMBOL_USED)
            py_check_fail(s->c, node, "name '%.*s' is used prior to %s declaration", PY_NAME(name), word);
        if (flags & SYMBOL_ANNOTATED)
            py_check_fail(s->c, node, "annotated name '%.*s' can't be %s", PY_NAME(name), word);
        if (flags & SYMBOL_LOCAL) {
            py_check_fail(s->c, node, "name '%.*s' is assigned to before %s declaration", PY_NAME(name), word);
        }
        define(s, name, global ? SYMBOL_GLOBAL : SYMBOL_NONLOCAL, node);
        struct directive *directive = allocate(s, sizeof *directive);
        *directive = (struct directive){.scope = s->current, .name = name, .statement = &node->base};
        *s->last = directive;
        s->last = &directive->next;
    }
}

static void visit_annotated(struct scopes *s, struct py_AnnAssign *node) {
    if (node->target->kind == PY_Name) {
        const struct py_name *name = ((struct py_Name *)node->target)->id;
        const uint32_t flags = flags_of(s, s->current, name);
        if (node->simple && (flags & (SYMBOL_GLOBAL | SYMBOL_NONLOCAL)) && s->current->kind != SCOPE_MODULE) {
            py_check_fail(s->c, node, "annotated name '%.*s' can't be %s", PY_NAME(name),
                          flags & SYMBOL_GLOBAL ? "global" : "nonlocal");
        }
        if (node->simple) {
            define(s, name, SYMBOL_ANNOTATED | SYMBOL_LOCAL, node->target);
        } else if (node->value) {
            define(s, name, SYMBOL_LOCAL, node->target);
        }
    } else {
        visit(s, node->target);
    }
    visit_annotation(s, node->annotation);
    visit_optional(s, node->value);
}

static void visit_alias(struct scopes *s, struct py_alias *node) {
    const struct py_name *name = node->asname ? node->asname : node->name;
    if (py_name_is(name, "*")) {
        if (s->current->kind != SCOPE_MODULE) py_check_fail(s->c, node, "import * only allowed at module level");
        return;
    }
    const char *dot = node->asname ? NULL : memchr(name->text, '.', name->length);
    if (dot) { // import a.b binds a
        uint32_t hash = PY_HASH_START;
        for (const char *at = name->text; at < dot; at++) hash = PY_HASH_STEP(hash, *at);
        name = py_names_intern(s->c->tree->names, name->text, (uint32_t)(dot - name->text), hash);
        if (!name) py_fail_memory(&s->c->failure);
    }
    define(s, name, SYMBOL_IMPORTED | SYMBOL_LOCAL, node);
}

static void visit_type_alias(struct scopes *s, struct py_TypeAlias *node) {
    visit(s, node->name);
    const bool generic = node->type_params->count > 0;
    if (generic) {
        enter(s, SCOPE_TYPE_PARAMS);
        visit_type_params(s, node->type_params);
    }
    enter(s, SCOPE_TYPE_ALIAS);
    visit(s, node->value);
    leave(s);
    if (generic) leave(s);
}

static void define_optional(struct scopes *s, const struct py_name *name, const struct py_node *node) {
    if (name) define(s, name, SYMBOL_LOCAL, node);
}

static void visit(void *context, struct py_node *node) {
    struct scopes *s = context;
    py_check_enter(s->c, node);
    switch (node->kind) {
    case PY_FunctionDef:
    case PY_AsyncFunctionDef: visit_function(s, (struct py_FunctionDef *)node); break;
    case PY_ClassDef: visit_class(s, (struct py_ClassDef *)node); break;
    case PY_Lambda: visit_lambda(s, (struct py_Lambda *)node); break;
    case PY_ListComp:
    case PY_SetComp:
    case PY_DictComp:
    case PY_GeneratorExp: visit_comprehension(s, node); break;
    case PY_NamedExpr: visit_named(s, (struct py_NamedExpr *)node); break;
    case PY_Yield:
    case PY_YieldFrom: visit_yield(s, node); break;
    case PY_Await:
        refuse_in_annotation(s, node, "await expression");
        py_visit_children(node, visit, s);
        s->current->coroutine = true;
        break;
    case PY_AsyncFor:
    case PY_AsyncWith:
        py_visit_children(node, visit, s);
        s->current->coroutine = true;
        break;
    case PY_Global: visit_directive(s, (struct py_Global *)node, true); break;
    case PY_Nonlocal: visit_directive(s, (struct py_Global *)node, false); break; // the two share a layout
    case PY_AnnAssign: visit_annotated(s, (struct py_AnnAssign *)node); break;
    case PY_alias: visit_alias(s, (struct py_alias *)node); break;
    case PY_TypeAlias: visit_type_alias(s, (struct py_TypeAlias *)node); break;
    case PY_Name:
        if (node->op == PY_Load) {
            add_flags(s, s->current, ((struct py_Name *)node)->id, SYMBOL_USED);
        } else {
            define(s, ((struct py_Name *)node)->id, SYMBOL_LOCAL, node);
        }
        break;
    case PY_ExceptHandler: {
        struct py_ExceptHandler *handler = (struct py_ExceptHandler *)node;
        visit_optional(s, handler->exception);
        define_optional(s, handler->name, node);
        visit_list(s, handler->body);
        break;
    }
    case PY_MatchAs:
        py_visit_children(node, visit, s);
        define_optional(s, ((struct py_MatchAs *)node)->name, node);
        break;
    case PY_MatchStar: define_optional(s, ((struct py_MatchStar *)node)->name, node); break;
    case PY_MatchMapping:
        py_visit_children(node, visit, s);
        define_optional(s, ((struct py_MatchMapping *)node)->rest, node);
        break;
    case PY_Constant: break;
    default: py_visit_children(node, visit, s); break;
    }
    py_check_leave(s->c);
}

// A nonlocal name must be bound by a function around its scope.
static void check_nonlocal(struct scopes *s, const struct directive *directive) {
    const struct py_name *name = directive->name;
    const uint32_t flags = flags_of(s, directive->scope, name);
    if (!(flags & SYMBOL_NONLOCAL)) return;
    if (flags & SYMBOL_GLOBAL) {
        py_check_fail(s->c, directive->statement, "name '%.*s' is nonlocal and global", PY_NAME(name));
    }
    if (directive->scope->kind == SCOPE_MODULE) {
        py_check_fail(s->c, directive->statement, "nonlocal declaration not allowed at module level");
    }
    for (const struct scope *scope = directive->scope->parent; scope; scope = scope->parent) {
        if (scope->kind == SCOPE_CLASS && py_name_is(name, "__class__")) return;
        if (scope->kind == SCOPE_CLASS || scope->kind == SCOPE_MODULE) continue;
        const uint32_t outer = flags_of(s, scope, name);
        if (outer & SYMBOL_TYPE_PARAM) {
            py_check_fail(s->c, directive->statement, "nonlocal binding not allowed for type parameter '%.*s'",
                          PY_NAME(name));
        }
        if (outer & SYMBOL_GLOBAL) break;
        if (outer & SYMBOL_NONLOCAL) continue;
        if (outer & SYMBOL_BOUND) return;
    }
    py_check_fail(s->c, directive->statement, "no binding for nonlocal '%.*s' found", PY_NAME(name));
}

void py_check_scopes(struct py_checker *c) {
    struct scopes s = {.c = c, .mask = 255};
    s.symbols = make_symbols(&s, s.mask + 1);
    s.last = &s.directives;
    enter(&s, SCOPE_MODULE);
    visit_list(&s, c->tree->module->body);
    for (const struct directive *d = s.directives; d; d = d->next) check_nonlocal(&s, d);
}
