// SPDX-License-Identifier: MIT
// ast.h: the tree of a Python module, shaped as CPython's `ast`. Nodes live in the parse's arena and are never freed
// alone; names are interned, so equal names are the same pointer. `py_node_info` describes every kind as data, for
// those who walk the tree without knowing it. Nothing here fails.
#ifndef NKILN_PYTHON_AST_H
#define NKILN_PYTHON_AST_H

#include <stddef.h>
#include <stdint.h>

enum py_kind {
#define NODE(kind, located) PY_##kind,
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
#include "python/ast_nodes.def"
    PY_KIND_COUNT
};

// Contexts and operators share one space of numbers; `py_op_names` spells them.
enum py_op {
    PY_Load,
    PY_Store,
    PY_Del,
    PY_And,
    PY_Or,
    PY_Add,
    PY_Sub,
    PY_Mult,
    PY_MatMult,
    PY_Div,
    PY_Mod,
    PY_Pow,
    PY_LShift,
    PY_RShift,
    PY_BitOr,
    PY_BitXor,
    PY_BitAnd,
    PY_FloorDiv,
    PY_Invert,
    PY_Not,
    PY_UAdd,
    PY_USub,
    PY_Eq,
    PY_NotEq,
    PY_Lt,
    PY_LtE,
    PY_Gt,
    PY_GtE,
    PY_Is,
    PY_IsNot,
    PY_In,
    PY_NotIn,
    PY_OP_COUNT
};
extern const char *const py_op_names[PY_OP_COUNT];

enum py_constant_type {
    PY_NONE,
    PY_BOOL,
    PY_INT,
    PY_BIGINT,
    PY_FLOAT,
    PY_COMPLEX,
    PY_STR,
    PY_BYTES,
    PY_ELLIPSIS,
    PY_CONSTANT_COUNT
};
extern const char *const py_constant_names[PY_CONSTANT_COUNT];

// An interned identifier (also a dotted module name, and "*" of an import). `id` is dense from 0; keywords come first.
struct py_name {
    uint32_t id, length, hash;
    struct py_name *next; // of the same hash bucket
    const char *text;     // UTF-8, NFKC, not terminated
};

struct py_str {
    const char *text;
    size_t length;
};

enum py_node_flag {
    PY_PARENTHESISED = 1, // the expression stood alone in parentheses
    PY_U_PREFIX = 2,      // a string written with the prefix u
    PY_COROUTINE = 4,     // a function or comprehension that awaits (set by py_check)
    PY_GENERATOR = 8,     // a function that yields (set by py_check)
};

struct py_node {
    uint8_t kind;                              // enum py_kind
    uint8_t op;                                // enum py_op; of a Constant: enum py_constant_type
    uint8_t flags;                             // enum py_node_flag
    uint8_t radix;                             // of a PY_BIGINT: 2, 8, 10 or 16
    uint32_t lineno, col, end_lineno, end_col; // lines from 1; columns from 0 in bytes of UTF-8
};

struct py_list {
    uint32_t count;
    void *items[];
};

union py_value {
    int64_t integer;   // PY_INT, PY_BOOL
    double number;     // PY_FLOAT, PY_COMPLEX (imaginary part)
    struct py_str str; // PY_STR, PY_BYTES; PY_BIGINT: digits in `radix`, underscores included
};

#undef NODE
#undef CHILD
#undef OPTIONAL
#undef LIST
#undef HOLES
#undef EXTRA
#undef IDENT
#undef OPT_IDENT
#undef IDENTS
#undef OPERATORS
#undef NUMBER
#undef VALUE
#undef END
#define NODE(kind, located)                                                                                            \
    struct py_##kind {                                                                                                 \
        struct py_node base;
#define CHILD(kind, field) struct py_node *field;
#define OPTIONAL(kind, field) struct py_node *field;
#define LIST(kind, field) struct py_list *field;
#define HOLES(kind, field) struct py_list *field;
#define EXTRA(kind, field) struct py_list *field;
#define IDENT(kind, field) struct py_name *field;
#define OPT_IDENT(kind, field) struct py_name *field;
#define IDENTS(kind, field) struct py_list *field;
#define OPERATORS(kind, field) uint8_t *field;
#define NUMBER(kind, field) int64_t field;
#define VALUE(kind, field) union py_value field;
#define END(kind)                                                                                                      \
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

enum py_field_type {
    PY_FIELD_CHILD,
    PY_FIELD_OPTIONAL,
    PY_FIELD_LIST,
    PY_FIELD_HOLES,
    PY_FIELD_EXTRA,
    PY_FIELD_IDENT,
    PY_FIELD_OPT_IDENT,
    PY_FIELD_IDENTS,
    PY_FIELD_OPERATOR,
    PY_FIELD_CONTEXT,
    PY_FIELD_OPERATORS,
    PY_FIELD_NUMBER,
    PY_FIELD_VALUE,
    PY_FIELD_NOTHING,
};

struct py_field {
    const char *name;
    uint8_t type;    // enum py_field_type
    uint16_t offset; // of the field in its struct
};

struct py_node_info {
    const char *name; // "BinOp"
    uint8_t located, field_count;
    uint16_t size;
    const struct py_field *fields;
};
extern const struct py_node_info py_node_info[PY_KIND_COUNT];

static inline void *py_field_at(const struct py_node *node, const struct py_field *field) {
    return (char *)node + field->offset;
}

#endif
