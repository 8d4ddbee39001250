// SPDX-License-Identifier: MIT
// checks.h: what CPython refuses after parsing, in its three steps: future imports, the symbol table (names and
// scopes), the compiler (control flow, calls, targets, patterns). Each step walks the whole tree and stops at the first
// error. Used by py_check alone; failures leave through the failure's jump.
#ifndef NKILN_PYTHON_CHECKS_H
#define NKILN_PYTHON_CHECKS_H

#include "python/failure.h"
#include "python/names.h"

struct py_checker {
    struct py_failure failure;
    struct py_tree *tree;
    uint32_t depth;
    bool future_annotations;   // from __future__ import annotations
    uint32_t last_future_line; // 0 = no future import
};

enum { PY_CHECK_DEPTH = 6000 };

#define py_check_fail(c, node, ...) py_fail(&(c)->failure, PY_SYNTAX_ERROR, py_check_range(node), __VA_ARGS__)
static inline struct py_range py_check_range(const void *node) {
    const struct py_node *n = node;
    return (struct py_range){n->lineno, n->col, n->end_lineno, n->end_col};
}
#define PY_NAME(name) (int)(name)->length, (name)->text // for "%.*s"

// Enter one level of the tree; counts down in py_check_leave.
static inline void py_check_enter(struct py_checker *c, const struct py_node *node) {
    if (++c->depth > PY_CHECK_DEPTH) py_check_fail(c, node, "too deeply nested: maximum recursion depth exceeded");
}
static inline void py_check_leave(struct py_checker *c) { c->depth--; }

typedef void (*py_visit_fn)(void *context, struct py_node *node);
void py_visit_children(struct py_node *node, py_visit_fn visit, void *context); // in the order of the fields
void py_visit_list(const struct py_list *list, py_visit_fn visit, void *context);

bool py_name_is(const struct py_name *name, const char *text);

void py_check_future(struct py_checker *c);
void py_check_scopes(struct py_checker *c);
void py_check_flow(struct py_checker *c);

#endif
