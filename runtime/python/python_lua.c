// SPDX-License-Identifier: MIT
// rt.python: the parser for Lua.
//
//   parse(source [, filename [, limit]])  the tree as nested tables, shaped as CPython's ast, or nil, error
//   check(source [, limit])               true, or nil, error: parses and checks, builds no tables
//   parse_only(source [, limit])          true, or nil, error: the C tree alone, without the checks of names and scopes
// `limit` bounds the bytes of the C tree. ExceptHandler's `type` is called `exception`, because `type` names the kind.
//
// An error is {code="syntax", etype=, message=, line=, column=, end_line=, end_column=, text=} with lines and character
// columns from 1, or {code="memory", message=}. Raises only on wrong argument types and when Lua itself runs out of
// memory. The C tree is owned by a userdata, so it is freed whatever happens.
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>

#include "python/parser.h"

static const char tree_type[] = "nkiln.python.tree";

static int tree_gc(lua_State *L) {
    py_tree_free(luaL_checkudata(L, 1, tree_type));
    return 0;
}

static struct py_tree *push_tree(lua_State *L) {
    struct py_tree *tree = lua_newuserdatauv(L, sizeof *tree, 0);
    *tree = (struct py_tree){0};
    luaL_setmetatable(L, tree_type);
    return tree;
}

static int push_error(lua_State *L, const struct py_tree *tree, enum py_status status) {
    static const char *const types[] = {"SyntaxError", "IndentationError", "TabError"};
    lua_pushnil(L);
    lua_createtable(L, 0, 8);
    if (status == PY_MEMORY) {
        lua_pushliteral(L, "memory");
        lua_setfield(L, -2, "code");
        lua_pushliteral(L, "out of memory while parsing");
        lua_setfield(L, -2, "message");
        return 2;
    }
    const struct py_error *error = &tree->error;
    lua_pushliteral(L, "syntax");
    lua_setfield(L, -2, "code");
    lua_pushstring(L, types[error->type]);
    lua_setfield(L, -2, "etype");
    lua_pushstring(L, error->message);
    lua_setfield(L, -2, "message");
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {{"line", error->line},
                   {"column", error->column},
                   {"end_line", error->end_line},
                   {"end_column", error->end_column}};
    for (size_t i = 0; i < 4; i++) {
        lua_pushinteger(L, numbers[i].value);
        lua_setfield(L, -2, numbers[i].name);
    }
    if (error->text) {
        lua_pushlstring(L, error->text, error->text_length);
        lua_setfield(L, -2, "text");
    }
    return 2;
}

// Conversion ---------------------------------------------------------------------------------------------------------

// Strings that recur (field names, kinds, operators) sit in one table by number, so that a field costs two table reads
// and no hashing of C strings.
enum {
    STRING_KIND = 1,
    STRING_OP = STRING_KIND + PY_KIND_COUNT,
    STRING_CONSTANT = STRING_OP + PY_OP_COUNT,
    STRING_TYPE = STRING_CONSTANT + PY_CONSTANT_COUNT,
    STRING_LINENO,
    STRING_COL,
    STRING_END_LINENO,
    STRING_END_COL,
    STRING_KIND_OF,
    STRING_VALUE,
    STRING_FIELDS, // each kind's fields, from field_base
};

struct converter {
    lua_State *L;
    struct py_tree *tree;
    int names;   // stack index: table from name id + 1 to string
    int strings; // stack index: the table of strings above
    uint16_t field_base[PY_KIND_COUNT];
};

static void convert(struct converter *c, const struct py_node *node);

static void add_string(lua_State *L, int at, const char *text) {
    lua_pushstring(L, text);
    lua_rawseti(L, -2, at);
}

// Leaves the table of strings on the stack.
static void push_strings(struct converter *c) {
    static const char *const fixed[] = {"type",           "lineno",  "col_offset", "end_lineno",
                                        "end_col_offset", "kind_of", "value"};
    lua_State *L = c->L;
    lua_createtable(L, 512, 0);
    int next = STRING_FIELDS;
    for (int kind = 0; kind < PY_KIND_COUNT; kind++) {
        const struct py_node_info *info = &py_node_info[kind];
        add_string(L, STRING_KIND + kind, info->name);
        c->field_base[kind] = (uint16_t)next;
        for (int i = 0; i < info->field_count; i++) add_string(L, next++, info->fields[i].name);
    }
    for (int i = 0; i < PY_OP_COUNT; i++) add_string(L, STRING_OP + i, py_op_names[i]);
    for (int i = 0; i < PY_CONSTANT_COUNT; i++) add_string(L, STRING_CONSTANT + i, py_constant_names[i]);
    for (int i = 0; i < (int)(sizeof fixed / sizeof *fixed); i++) add_string(L, STRING_TYPE + i, fixed[i]);
}

static void push_string(struct converter *c, int at) { lua_rawgeti(c->L, c->strings, at); }

static void set_integer(struct converter *c, int name, int64_t value) {
    push_string(c, name);
    lua_pushinteger(c->L, value);
    lua_rawset(c->L, -3);
}

static void push_name(struct converter *c, const struct py_name *name) {
    if (lua_rawgeti(c->L, c->names, name->id + 1) == LUA_TNIL) {
        lua_pop(c->L, 1);
        lua_pushlstring(c->L, name->text, name->length);
        lua_pushvalue(c->L, -1);
        lua_rawseti(c->L, c->names, name->id + 1);
    }
}

static void convert_list(struct converter *c, const struct py_list *list, bool names) {
    lua_createtable(c->L, (int)list->count, 0);
    for (uint32_t i = 0; i < list->count; i++) {
        if (names) {
            push_name(c, list->items[i]);
        } else if (list->items[i]) {
            convert(c, list->items[i]);
        } else {
            lua_pushboolean(c->L, 0);
        }
        lua_rawseti(c->L, -2, i + 1);
    }
}

static void convert_value(struct converter *c, const struct py_node *node) {
    lua_State *L = c->L;
    const union py_value *value = &((const struct py_Constant *)node)->value;
    push_string(c, STRING_KIND_OF);
    push_string(c, STRING_CONSTANT + node->op);
    lua_rawset(L, -3);
    if (node->op == PY_NONE || node->op == PY_ELLIPSIS) return;
    if (node->flags & PY_U_PREFIX) {
        lua_pushliteral(L, "u");
        lua_setfield(L, -2, "kind");
    }
    push_string(c, STRING_VALUE);
    switch (node->op) {
    case PY_BOOL: lua_pushboolean(L, value->integer != 0); break;
    case PY_INT: lua_pushinteger(L, value->integer); break;
    case PY_FLOAT:
    case PY_COMPLEX: lua_pushnumber(L, value->number); break;
    case PY_BIGINT: {
        size_t length;
        const char *digits = py_bigint_decimal(&c->tree->arena, (const struct py_Constant *)node, &length);
        if (!digits) luaL_error(L, "not enough memory");
        lua_pushlstring(L, digits, length);
        break;
    }
    default: lua_pushlstring(L, value->str.text, value->str.length); break;
    }
    lua_rawset(L, -3);
}

static void push_operators(struct converter *c, const struct py_Compare *node) {
    const uint32_t count = node->comparators->count;
    lua_createtable(c->L, (int)count, 0);
    for (uint32_t i = 0; i < count; i++) {
        push_string(c, STRING_OP + node->ops[i]);
        lua_rawseti(c->L, -2, i + 1);
    }
}

// Sets one field of the table on top of the stack; `name` is its string's number.
static void convert_field(struct converter *c, const struct py_node *node, const struct py_field *field, int name) {
    lua_State *L = c->L;
    void *at = py_field_at(node, field);
    switch (field->type) {
    case PY_FIELD_CHILD:
    case PY_FIELD_OPTIONAL:
    case PY_FIELD_IDENT:
    case PY_FIELD_OPT_IDENT:
        if (!*(void **)at) return;
        break;
    case PY_FIELD_EXTRA:
        if ((*(struct py_list **)at)->count == 0) return;
        break;
    case PY_FIELD_VALUE: convert_value(c, node); return;
    default: break;
    }
    push_string(c, name);
    switch (field->type) {
    case PY_FIELD_CHILD:
    case PY_FIELD_OPTIONAL: convert(c, *(struct py_node **)at); break;
    case PY_FIELD_LIST:
    case PY_FIELD_HOLES:
    case PY_FIELD_EXTRA: convert_list(c, *(struct py_list **)at, false); break;
    case PY_FIELD_IDENTS: convert_list(c, *(struct py_list **)at, true); break;
    case PY_FIELD_IDENT:
    case PY_FIELD_OPT_IDENT: push_name(c, *(struct py_name **)at); break;
    case PY_FIELD_OPERATOR:
    case PY_FIELD_CONTEXT: push_string(c, STRING_OP + node->op); break;
    case PY_FIELD_OPERATORS: push_operators(c, (const struct py_Compare *)node); break;
    case PY_FIELD_NUMBER: lua_pushinteger(L, *(int64_t *)at); break;
    default: lua_newtable(L); break; // PY_FIELD_NOTHING
    }
    lua_rawset(L, -3);
}

static void convert(struct converter *c, const struct py_node *node) {
    lua_State *L = c->L;
    const struct py_node_info *info = &py_node_info[node->kind];
    luaL_checkstack(L, 8, "tree too deep");
    lua_createtable(L, 0, info->field_count + (info->located ? 5 : 1));
    push_string(c, STRING_TYPE);
    push_string(c, STRING_KIND + node->kind);
    lua_rawset(L, -3);
    const int base = c->field_base[node->kind];
    for (int i = 0; i < info->field_count; i++) convert_field(c, node, &info->fields[i], base + i);
    if (info->located) {
        set_integer(c, STRING_LINENO, node->lineno);
        set_integer(c, STRING_COL, node->col);
        set_integer(c, STRING_END_LINENO, node->end_lineno);
        set_integer(c, STRING_END_COL, node->end_col);
    }
}

static int parse(lua_State *L) {
    size_t size;
    const char *source = luaL_checklstring(L, 1, &size);
    luaL_optstring(L, 2, NULL);
    const lua_Integer limit = luaL_optinteger(L, 3, 0);
    luaL_argcheck(L, limit >= 0, 3, "a limit is not negative");
    lua_settop(L, 1);
    struct py_tree *tree = push_tree(L);
    enum py_status status = py_parse(tree, source, size, (size_t)limit);
    if (status == PY_OK) status = py_check(tree);
    if (status != PY_OK) return push_error(L, tree, status);
    struct converter c = {.L = L, .tree = tree};
    lua_createtable(L, (int)tree->names->count, 0);
    c.names = lua_gettop(L);
    push_strings(&c);
    c.strings = lua_gettop(L);
    convert(&c, &tree->module->base);
    py_tree_free(tree);
    return 1;
}

static int run(lua_State *L, bool checks) {
    size_t size;
    const char *source = luaL_checklstring(L, 1, &size);
    const lua_Integer limit = luaL_optinteger(L, 2, 0);
    luaL_argcheck(L, limit >= 0, 2, "a limit is not negative");
    struct py_tree *tree = push_tree(L);
    enum py_status status = py_parse(tree, source, size, (size_t)limit);
    if (status == PY_OK && checks) status = py_check(tree);
    if (status != PY_OK) return push_error(L, tree, status);
    py_tree_free(tree);
    lua_pushboolean(L, 1);
    return 1;
}

static int check(lua_State *L) { return run(L, true); }

static int parse_only(lua_State *L) { return run(L, false); }

int luaopen_rt_python(lua_State *L) {
    static const luaL_Reg methods[] = {{"__gc", tree_gc}, {"__close", tree_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"parse", parse}, {"check", check}, {"parse_only", parse_only}, {NULL, NULL}};
    if (luaL_newmetatable(L, tree_type)) luaL_setfuncs(L, methods, 0);
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}
