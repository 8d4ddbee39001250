// SPDX-License-Identifier: MIT
#include "python/checks.h"

#include <string.h>

bool py_name_is(const struct py_name *name, const char *text) {
    return name && name->length == strlen(text) && memcmp(name->text, text, name->length) == 0;
}

void py_visit_list(const struct py_list *list, py_visit_fn visit, void *context) {
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i]) visit(context, list->items[i]);
    }
}

void py_visit_children(struct py_node *node, py_visit_fn visit, void *context) {
    const struct py_node_info *info = &py_node_info[node->kind];
    for (int i = 0; i < info->field_count; i++) {
        void *at = py_field_at(node, &info->fields[i]);
        switch (info->fields[i].type) {
        case PY_FIELD_CHILD:
        case PY_FIELD_OPTIONAL:
            if (*(struct py_node **)at) visit(context, *(struct py_node **)at);
            break;
        case PY_FIELD_LIST:
        case PY_FIELD_HOLES:
        case PY_FIELD_EXTRA: py_visit_list(*(struct py_list **)at, visit, context); break;
        default: break;
        }
    }
}

// Only the docstring and other future imports may stand before a future import.
void py_check_future(struct py_checker *c) {
    static const char *const features[] = {"nested_scopes",  "generators",     "division",         "absolute_import",
                                           "with_statement", "print_function", "unicode_literals", "barry_as_FLUFL",
                                           "generator_stop", "annotations"};
    const struct py_list *body = c->tree->module->body;
    bool done = false; // a statement that ends the place for future imports; others may follow it on its line
    uint32_t last_line = 0;
    for (uint32_t i = 0; i < body->count; i++) {
        const struct py_node *node = body->items[i];
        if (done && node->lineno > last_line) return;
        last_line = node->lineno;
        if (i == 0 && node->kind == PY_Expr) {
            const struct py_node *value = ((const struct py_Expr *)node)->value;
            if (value->kind == PY_Constant && value->op == PY_STR) continue; // the docstring
        }
        const struct py_ImportFrom *import = (const struct py_ImportFrom *)node;
        if (node->kind != PY_ImportFrom || !py_name_is(import->module, "__future__")) {
            done = true;
            continue;
        }
        if (done) py_check_fail(c, node, "from __future__ imports must occur at the beginning of the file");
        for (uint32_t j = 0; j < import->names->count; j++) {
            const struct py_alias *alias = import->names->items[j];
            if (py_name_is(alias->name, "braces")) py_check_fail(c, node, "not a chance");
            bool known = false;
            for (size_t f = 0; f < sizeof features / sizeof *features; f++)
                known |= py_name_is(alias->name, features[f]);
            if (!known) py_check_fail(c, node, "future feature %.*s is not defined", PY_NAME(alias->name));
            c->future_annotations |= py_name_is(alias->name, "annotations");
        }
        c->last_future_line = node->lineno;
    }
}

enum py_status py_check(struct py_tree *tree) {
    jmp_buf here;
    struct py_checker c = {.failure = {.jump = &here}, .tree = tree};
    if (setjmp(here) == 0) {
        py_check_future(&c);
        py_check_scopes(&c);
        py_check_flow(&c);
        return PY_OK;
    }
    if (c.failure.status == PY_SYNTAX) py_failure_finish(&c.failure, tree);
    return c.failure.status;
}
