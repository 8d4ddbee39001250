// SPDX-License-Identifier: MIT
#include "python/patterns.h"

#include <string.h>

// Names bound so far by one pattern, newest first, on the C stack or in the arena.
struct bound {
    struct bound *older;
    const struct py_name *name;
};

struct pattern {
    struct py_checker *c;
    struct bound *bound;
    uint32_t names;       // bound so far, in all alternatives
    uint32_t comparisons; // of names and keys; their number grows with the square of the pattern
};

enum { MAX_COMPARISONS = 50 * 1000 * 1000 };

static void count_comparisons(struct pattern *p, uint32_t count, const struct py_node *at) {
    p->comparisons += count;
    if (p->comparisons > MAX_COMPARISONS || count > MAX_COMPARISONS) py_check_fail(p->c, at, "pattern too large");
}

static void check(struct pattern *p, const struct py_node *node, bool irrefutable_allowed);

static void bind(struct pattern *p, const struct py_name *name, const struct py_node *at) {
    if (!name) return;
    if (name->id == PY_KW___debug__) py_check_fail(p->c, at, "cannot assign to __debug__");
    count_comparisons(p, ++p->names, at);
    for (const struct bound *b = p->bound; b; b = b->older) {
        if (b->name == name) py_check_fail(p->c, at, "multiple assignments to name '%.*s' in pattern", PY_NAME(name));
    }
    struct bound *added = py_arena_alloc(&p->c->tree->arena, sizeof *added);
    if (!added) py_fail_memory(&p->c->failure);
    *added = (struct bound){p->bound, name};
    p->bound = added;
}

static void check_all(struct pattern *p, const struct py_list *patterns) {
    for (uint32_t i = 0; i < patterns->count; i++) check(p, patterns->items[i], true);
}

static void check_sequence(struct pattern *p, const struct py_MatchSequence *node) {
    bool starred = false;
    for (uint32_t i = 0; i < node->patterns->count; i++) {
        const struct py_node *part = node->patterns->items[i];
        if (part->kind != PY_MatchStar) continue;
        if (starred) py_check_fail(p->c, node, "multiple starred names in sequence pattern");
        starred = true;
    }
    check_all(p, node->patterns);
}

static bool binds(const struct bound *list, const struct bound *end, const struct py_name *name) {
    for (; list != end; list = list->older) {
        if (list->name == name) return true;
    }
    return false;
}

// Every alternative binds the same names.
static void check_alternatives(struct pattern *p, const struct py_MatchOr *node, bool irrefutable_allowed) {
    struct bound *outer = p->bound, *first = NULL;
    for (uint32_t i = 0; i < node->patterns->count; i++) {
        const struct py_node *part = node->patterns->items[i];
        p->bound = outer;
        check(p, part, irrefutable_allowed && i + 1 == node->patterns->count);
        if (i == 0) {
            first = p->bound;
            continue;
        }
        count_comparisons(p, p->names < 10000 ? p->names * p->names / 2 : MAX_COMPARISONS + 1, part);
        bool same = true;
        for (const struct bound *b = p->bound; b != outer; b = b->older) same &= binds(first, outer, b->name);
        for (const struct bound *b = first; b != outer; b = b->older) same &= binds(p->bound, outer, b->name);
        if (!same) py_check_fail(p->c, node, "alternative patterns bind different names");
    }
}

// Keys that are equal constants; others are only known when the program runs.
static bool same_key(const struct py_node *a, const struct py_node *b) {
    if (a->kind == PY_UnaryOp && b->kind == PY_UnaryOp) {
        return same_key(((const struct py_UnaryOp *)a)->operand, ((const struct py_UnaryOp *)b)->operand);
    }
    if (a->kind != PY_Constant || b->kind != PY_Constant) return false;
    const union py_value *x = &((const struct py_Constant *)a)->value, *y = &((const struct py_Constant *)b)->value;
    const bool x_int = a->op == PY_INT || a->op == PY_BOOL, y_int = b->op == PY_INT || b->op == PY_BOOL;
    if (x_int && y_int) return x->integer == y->integer;
    if (x_int && b->op == PY_FLOAT) return (double)x->integer == y->number;
    if (y_int && a->op == PY_FLOAT) return (double)y->integer == x->number;
    if (a->op != b->op) return false;
    switch (a->op) {
    case PY_NONE: return true;
    case PY_FLOAT:
    case PY_COMPLEX: return x->number == y->number;
    case PY_STR:
    case PY_BYTES: return x->str.length == y->str.length && memcmp(x->str.text, y->str.text, x->str.length) == 0;
    default: return false;
    }
}

static noreturn void fail_duplicate_key(struct pattern *p, const struct py_node *key, const struct py_node *at) {
    const struct py_Constant *constant = (const struct py_Constant *)key;
    const struct py_str text = constant->value.str;
    if (key->kind == PY_Constant && key->op == PY_STR && !memchr(text.text, '\'', text.length)) {
        int length = text.length > 80 ? 80 : (int)text.length;
        py_check_fail(p->c, at, "mapping pattern checks duplicate key ('%.*s')", length, text.text);
    }
    if (key->kind == PY_Constant && key->op == PY_INT) {
        py_check_fail(p->c, at, "mapping pattern checks duplicate key (%lld)", (long long)constant->value.integer);
    }
    py_check_fail(p->c, at, "mapping pattern checks duplicate key");
}

static void check_mapping(struct pattern *p, const struct py_MatchMapping *node) {
    for (uint32_t i = 0; i < node->keys->count; i++) {
        const struct py_node *key = node->keys->items[i];
        if (key->kind == PY_JoinedStr) {
            py_check_fail(p->c, node, "mapping pattern keys may only match literals and attribute lookups");
        }
        count_comparisons(p, i, &node->base);
        for (uint32_t j = 0; j < i; j++) {
            if (same_key(key, node->keys->items[j])) fail_duplicate_key(p, key, &node->base);
        }
    }
    check_all(p, node->patterns);
    bind(p, node->rest, &node->base);
}

static void check_class(struct pattern *p, const struct py_MatchClass *node) {
    for (uint32_t i = 0; i < node->kwd_attrs->count; i++) {
        const struct py_name *attr = node->kwd_attrs->items[i];
        if (attr->id == PY_KW___debug__)
            py_check_fail(p->c, node->kwd_patterns->items[i], "cannot assign to __debug__");
        count_comparisons(p, node->kwd_attrs->count - i, &node->base);
        for (uint32_t j = i + 1; j < node->kwd_attrs->count; j++) {
            if (attr == node->kwd_attrs->items[j]) {
                py_check_fail(p->c, node->kwd_patterns->items[j], "attribute name repeated in class pattern: %.*s",
                              PY_NAME(attr));
            }
        }
    }
    check_all(p, node->patterns);
    check_all(p, node->kwd_patterns);
}

static void check(struct pattern *p, const struct py_node *node, bool irrefutable_allowed) {
    py_check_enter(p->c, node);
    switch (node->kind) {
    case PY_MatchValue:
        if (((const struct py_MatchValue *)node)->value->kind == PY_JoinedStr) {
            py_check_fail(p->c, node, "patterns may only match literals and attribute lookups");
        }
        break;
    case PY_MatchAs: {
        const struct py_MatchAs *as = (const struct py_MatchAs *)node;
        if (!as->pattern) {
            if (!irrefutable_allowed && as->name) {
                py_check_fail(p->c, node, "name capture '%.*s' makes remaining patterns unreachable",
                              PY_NAME(as->name));
            }
            if (!irrefutable_allowed) py_check_fail(p->c, node, "wildcard makes remaining patterns unreachable");
        }
        bind(p, as->name, node);
        if (as->pattern) check(p, as->pattern, irrefutable_allowed);
        break;
    }
    case PY_MatchStar: bind(p, ((const struct py_MatchStar *)node)->name, node); break;
    case PY_MatchSequence: check_sequence(p, (const struct py_MatchSequence *)node); break;
    case PY_MatchMapping: check_mapping(p, (const struct py_MatchMapping *)node); break;
    case PY_MatchClass: check_class(p, (const struct py_MatchClass *)node); break;
    case PY_MatchOr: check_alternatives(p, (const struct py_MatchOr *)node, irrefutable_allowed); break;
    default: break;
    }
    py_check_leave(p->c);
}

void py_check_pattern(struct py_checker *c, const struct py_node *pattern, bool irrefutable_allowed) {
    struct pattern p = {.c = c};
    check(&p, pattern, irrefutable_allowed);
}
