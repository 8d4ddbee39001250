// SPDX-License-Identifier: MIT
// rt.python: the parser for Lua.
//
//   parse(source [, filename])  the tree as nested tables, shaped as CPython's ast, or nil, error
//   check(source)               true, or nil, error: parses and checks, builds no tables
//   parse_only(source)          true, or nil, error: the C tree alone, without the checks of names and scopes
//
// An error is {code="syntax", etype=, message=, line=, column=, end_line=, end_column=, text=} with lines and character
// columns from 1, or {code="memory", message=}. Raises only on wrong argument types and when Lua itself runs out of memory.
// The C tree is owned by a userdata, so it is freed whatever happens.
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
    } numbers[] = {{"line", error->line}, {"column", error->column}, {"end_line", error->end_line}, {"end_column", error->end_column}};
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

// A table of constant strings sits at `strings`: field names, kind names, operators, at the indices below.
enum { STRINGS_KIND = 1, STRINGS_OP = STRINGS_KIND + PY_KIND_COUNT, STRINGS_CONSTANT = STRINGS_OP + PY_OP_COUNT };

struct converter {
    lua_State *L;
    struct py_tree *tree;
    int names; // stack index: table from name id + 1 to string
};

static void convert(struct converter *c, const struct py_node *node);

static void set_integer(lua_State *L, const char *name, int64_t value) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
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
    lua_pushstring(L, py_constant_names[node->op]);
    lua_setfield(L, -2, "kind_of");
    switch (node->op) {
    case PY_BOOL: lua_pushboolean(L, value->integer != 0); break;
    case PY_INT: lua_pushinteger(L, value->integer); break;
    case PY_FLOAT:
    case PY_COMPLEX: lua_pushnumber(L, value->number); break;
    case PY_STR:
    case PY_BYTES:
        if (node->flags & PY_U_PREFIX) {
            lua_pushliteral(L, "u");
            lua_setfield(L, -2, "kind");
        }
        lua_pushlstring(L, value->str.text, value->str.length);
        break;
    case PY_BIGINT: {
        size_t length;
        const char *digits = py_bigint_decimal(&c->tree->arena, (const struct py_Constant *)node, &length);
        if (!digits) luaL_error(L, "not enough memory");
        lua_pushlstring(L, digits, length);
        break;
    }
    default: return;
    }
    lua_setfield(L, -2, "value");
}

static void convert_field(struct converter *c, const struct py_node *node, const struct py_field *field) {
    lua_State *L = c->L;
    void *at = py_field_at(node, field);
    switch (field->type) {
    case PY_FIELD_CHILD:
    case PY_FIELD_OPTIONAL:
        if (!*(struct py_node **)at) return;
        convert(c, *(struct py_node **)at);
        break;
    case PY_FIELD_LIST:
    case PY_FIELD_HOLES: convert_list(c, *(struct py_list **)at, false); break;
    case PY_FIELD_EXTRA:
        if ((*(struct py_list **)at)->count == 0) return;
        convert_list(c, *(struct py_list **)at, false);
        break;
    case PY_FIELD_IDENTS: convert_list(c, *(struct py_list **)at, true); break;
    case PY_FIELD_IDENT:
    case PY_FIELD_OPT_IDENT:
        if (!*(struct py_name **)at) return;
        push_name(c, *(struct py_name **)at);
        break;
    case PY_FIELD_OPERATOR:
    case PY_FIELD_CONTEXT: lua_pushstring(L, py_op_names[node->op]); break;
    case PY_FIELD_OPERATORS: {
        const uint8_t *ops = *(uint8_t **)at;
        const uint32_t count = ((const struct py_Compare *)node)->comparators->count;
        lua_createtable(L, (int)count, 0);
        for (uint32_t i = 0; i < count; i++) {
            lua_pushstring(L, py_op_names[ops[i]]);
            lua_rawseti(L, -2, i + 1);
        }
        break;
    }
    case PY_FIELD_NUMBER: lua_pushinteger(L, *(int64_t *)at); break;
    case PY_FIELD_NOTHING: lua_newtable(L); break;
    case PY_FIELD_VALUE: convert_value(c, node); return;
    }
    lua_setfield(L, -2, field->name);
}

static void convert(struct converter *c, const struct py_node *node) {
    lua_State *L = c->L;
    const struct py_node_info *info = &py_node_info[node->kind];
    luaL_checkstack(L, 8, "tree too deep");
    lua_createtable(L, 0, info->field_count + (info->located ? 5 : 1));
    lua_pushstring(L, info->name);
    lua_setfield(L, -2, "type");
    for (int i = 0; i < info->field_count; i++) convert_field(c, node, &info->fields[i]);
    if (info->located) {
        set_integer(L, "lineno", node->lineno);
        set_integer(L, "col_offset", node->col);
        set_integer(L, "end_lineno", node->end_lineno);
        set_integer(L, "end_col_offset", node->end_col);
    }
}

static int parse(lua_State *L) {
    size_t size;
    const char *source = luaL_checklstring(L, 1, &size);
    luaL_optstring(L, 2, NULL);
    lua_settop(L, 1);
    struct py_tree *tree = push_tree(L);
    enum py_status status = py_parse(tree, source, size, 0);
    if (status == PY_OK) status = py_check(tree);
    if (status != PY_OK) return push_error(L, tree, status);
    lua_createtable(L, (int)tree->names->count, 0);
    struct converter c = {.L = L, .tree = tree, .names = lua_gettop(L)};
    convert(&c, &tree->module->base);
    py_tree_free(tree);
    return 1;
}

static int run(lua_State *L, bool checks) {
    size_t size;
    const char *source = luaL_checklstring(L, 1, &size);
    struct py_tree *tree = push_tree(L);
    enum py_status status = py_parse(tree, source, size, 0);
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
