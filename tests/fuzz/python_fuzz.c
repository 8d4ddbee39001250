// SPDX-License-Identifier: MIT
// sources: runtime/python/arena.c runtime/python/ast.c runtime/python/checks.c runtime/python/failure.c
// sources: runtime/python/flow.c runtime/python/lexer.c runtime/python/lexer_literal.c runtime/python/names.c
// sources: runtime/python/number.c runtime/python/parser.c runtime/python/parser_args.c runtime/python/parser_atom.c
// sources: runtime/python/parser_compound.c runtime/python/parser_expr.c runtime/python/parser_pattern.c
// sources: runtime/python/parser_stmt.c runtime/python/patterns.c runtime/python/scopes.c runtime/python/source.c
// sources: runtime/python/strings.c runtime/python/unicode.c runtime/python/unicode_data.c
//
// python_fuzz.c: libFuzzer target for the Python parser and its checks. A tree has all its parts and positions within the
// source; an error has a place and a message. The first byte chooses the memory limit: most inputs get plenty, some get
// so little that an allocation fails along the way.
#include <stdlib.h>
#include <string.h>

#include "python/parser.h"

static void require(int condition, const char *what) {
    if (condition) return;
    (void)what; // seen in the debugger
    abort();
}

static void check_position(const struct py_node *node, uint32_t lines) {
    if (!py_node_info[node->kind].located) return;
    require(node->lineno >= 1 && node->lineno <= lines, "line in the source");
    require(node->end_lineno >= node->lineno && node->end_lineno <= lines, "end line");
    require(node->end_lineno > node->lineno || node->end_col >= node->col, "end column");
}

static void walk(struct py_tree *tree, const struct py_node *node, uint32_t lines) {
    check_position(node, lines);
    if (node->kind == PY_Constant && node->op == PY_BIGINT) {
        size_t length;
        const char *digits = py_bigint_decimal(&tree->arena, (const struct py_Constant *)node, &length);
        require(!digits || (length > 18 && strspn(digits, "0123456789") >= length), "decimal digits");
    }
    const struct py_node_info *info = &py_node_info[node->kind];
    for (int i = 0; i < info->field_count; i++) {
        void *at = py_field_at(node, &info->fields[i]);
        switch (info->fields[i].type) {
        case PY_FIELD_CHILD: require(*(struct py_node **)at != NULL, "a child"); // fall through
        case PY_FIELD_OPTIONAL:
            if (*(struct py_node **)at) walk(tree, *(struct py_node **)at, lines);
            break;
        case PY_FIELD_LIST:
        case PY_FIELD_EXTRA:
        case PY_FIELD_HOLES: {
            const struct py_list *list = *(struct py_list **)at;
            for (uint32_t j = 0; j < list->count; j++) {
                require(list->items[j] || info->fields[i].type == PY_FIELD_HOLES, "an element");
                if (list->items[j]) walk(tree, list->items[j], lines);
            }
            break;
        }
        case PY_FIELD_IDENT: require((*(struct py_name **)at)->length > 0, "a name"); break;
        default: break;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    const size_t limit = *data < 200 ? (size_t)64 << 20 : (size_t)(*data - 199) * 4096;
    size--;
    char *source = malloc(size + 1);
    if (!source) return 0;
    memcpy(source, data + 1, size);
    source[size] = 0;
    uint32_t lines = 1;
    for (size_t i = 0; i < size; i++) lines += source[i] == '\n' || source[i] == '\r';
    struct py_tree tree;
    enum py_status status = py_parse(&tree, source, size, limit);
    if (status == PY_OK) status = py_check(&tree);
    if (status == PY_OK) walk(&tree, &tree.module->base, lines);
    if (status == PY_SYNTAX) {
        require(tree.error.line >= 1 && tree.error.line <= lines, "error line");
        require(tree.error.column >= 1 && tree.error.end_line >= 1, "error column");
        require(tree.error.message[0] != 0, "error message");
    }
    require(status != PY_MEMORY || limit < (size_t)64 << 20 || size > 100000, "memory suffices");
    py_tree_free(&tree);
    free(source);
    return 0;
}
