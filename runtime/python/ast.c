// SPDX-License-Identifier: MIT
#include "python/ast.h"

const char *const py_op_names[PY_OP_COUNT] = {
    "Load", "Store",  "Del",    "And",   "Or",     "Add",    "Sub",      "Mult",   "MatMult", "Div",   "Mod",
    "Pow",  "LShift", "RShift", "BitOr", "BitXor", "BitAnd", "FloorDiv", "Invert", "Not",     "UAdd",  "USub",
    "Eq",   "NotEq",  "Lt",     "LtE",   "Gt",     "GtE",    "Is",       "IsNot",  "In",      "NotIn",
};

const char *const py_constant_names[PY_CONSTANT_COUNT] = {
    "None", "bool", "int", "bigint", "float", "complex", "str", "bytes", "ellipsis",
};

// First every kind's fields, then one row per kind.
#define NODE(kind, located) static const struct py_field fields_of_##kind[] = {
#define CHILD(kind, field) {#field, PY_FIELD_CHILD, offsetof(struct py_##kind, field)},
#define OPTIONAL(kind, field) {#field, PY_FIELD_OPTIONAL, offsetof(struct py_##kind, field)},
#define LIST(kind, field) {#field, PY_FIELD_LIST, offsetof(struct py_##kind, field)},
#define HOLES(kind, field) {#field, PY_FIELD_HOLES, offsetof(struct py_##kind, field)},
#define EXTRA(kind, field) {#field, PY_FIELD_EXTRA, offsetof(struct py_##kind, field)},
#define IDENT(kind, field) {#field, PY_FIELD_IDENT, offsetof(struct py_##kind, field)},
#define OPT_IDENT(kind, field) {#field, PY_FIELD_OPT_IDENT, offsetof(struct py_##kind, field)},
#define IDENTS(kind, field) {#field, PY_FIELD_IDENTS, offsetof(struct py_##kind, field)},
#define OPERATOR(kind, field) {#field, PY_FIELD_OPERATOR, 0},
#define CONTEXT(kind, field) {#field, PY_FIELD_CONTEXT, 0},
#define OPERATORS(kind, field) {#field, PY_FIELD_OPERATORS, offsetof(struct py_##kind, field)},
#define NUMBER(kind, field) {#field, PY_FIELD_NUMBER, offsetof(struct py_##kind, field)},
#define VALUE(kind, field) {#field, PY_FIELD_VALUE, offsetof(struct py_##kind, field)},
#define NOTHING(kind, field) {#field, PY_FIELD_NOTHING, 0},
#define END(kind)                                                                                                      \
    { NULL, 0, 0 }                                                                                                     \
    }                                                                                                                  \
    ;
#include "python/ast_nodes.def"

#undef NODE
#undef CHILD
#undef OPTIONAL
#undef LIST
#undef HOLES
#undef EXTRA
#undef IDENT
#undef OPT_IDENT
#undef IDENTS
#undef OPERATOR
#undef CONTEXT
#undef OPERATORS
#undef NUMBER
#undef VALUE
#undef NOTHING
#undef END
#define NODE(kind, located)                                                                                            \
    [PY_##kind] = {#kind, located, sizeof fields_of_##kind / sizeof(struct py_field) - 1, sizeof(struct py_##kind),    \
                   fields_of_##kind},
#define CHILD(kind, field)
#define OPTIONAL(kind, field)
#define LIST(kind, field)
#define HOLES(kind, field)
#define EXTRA(kind, field)
#define IDENT(kind, field)
#define OPT_IDENT(kind, field)
#define IDENTS(kind, field)
#define OPERATOR(kind, field)
#define CONTEXT(kind, field)
#define OPERATORS(kind, field)
#define NUMBER(kind, field)
#define VALUE(kind, field)
#define NOTHING(kind, field)
#define END(kind)

const struct py_node_info py_node_info[PY_KIND_COUNT] = {
#include "python/ast_nodes.def"
};
