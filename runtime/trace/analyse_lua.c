// SPDX-License-Identifier: MIT
// analyse_lua.c: the tables of rt.analyse, a thin binding of analyse.h. The contract is in analyse.meta.lua. Making tables from SQL
// is in analyse_sql_lua.c.
//
// What goes wrong for reasons of the data (text where numbers belong, too many rows, no memory) raises
// {code="bad-profile", message=}. Wrong use raises a message.
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <string.h>

#include "run.h"
#include "trace/analyse_lua.h"

#define TABLE "rt.analyse.table"
#define ROWS "rt.analyse.rows"

struct account *analyse_account(lua_State *L) {
    struct run_state *run = run_state(L);
    return run ? &run->arrays : NULL;
}

int analyse_data_error(lua_State *L, const struct analyse_error *err) {
    lua_createtable(L, 0, 2);
    lua_pushliteral(L, "bad-profile");
    lua_setfield(L, -2, "code");
    lua_pushstring(L, err->message);
    lua_setfield(L, -2, "message");
    return lua_error(L);
}

static struct analyse_table *check_table(lua_State *L, int arg) {
    struct analyse_table *t = luaL_checkudata(L, arg, TABLE);
    luaL_argcheck(L, t->columns, arg, "this table is closed");
    return t;
}

// The selection at this argument; nil is every row.
static struct analyse_rows *check_rows(lua_State *L, int arg) {
    if (lua_isnoneornil(L, arg)) return NULL;
    struct analyse_rows *r = luaL_checkudata(L, arg, ROWS);
    luaL_argcheck(L, r->index, arg, "these rows are closed");
    return r;
}

static struct analyse_column *check_column(lua_State *L, const struct analyse_table *t, int arg) {
    const char *name = luaL_checkstring(L, arg);
    struct analyse_column *c = analyse_column_find(t, name);
    if (!c) luaL_error(L, "the table has no column %s", name);
    return c;
}

static struct analyse_rows *new_rows(lua_State *L) {
    struct analyse_rows *r = lua_newuserdatauv(L, sizeof *r, 0);
    *r = (struct analyse_rows){0};
    luaL_setmetatable(L, ROWS);
    return r;
}

struct analyse_table *analyse_table_push(lua_State *L) {
    struct analyse_table *t = lua_newuserdatauv(L, sizeof *t, 0);
    *t = (struct analyse_table){0};
    luaL_setmetatable(L, TABLE);
    return t;
}

static int table_close(lua_State *L) {
    analyse_table_close(luaL_checkudata(L, 1, TABLE));
    return 0;
}

static int rows_close(lua_State *L) {
    analyse_rows_close(luaL_checkudata(L, 1, ROWS));
    return 0;
}

// Shape -------------------------------------------------------------------------------------------------------------------

static int table_rows(lua_State *L) {
    lua_pushinteger(L, analyse_count(check_table(L, 1), check_rows(L, 2)));
    return 1;
}

static int table_names(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    lua_createtable(L, t->count, 0);
    for (int i = 0; i < t->count; i++) {
        lua_pushstring(L, t->columns[i].name);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int table_bytes(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)check_table(L, 1)->bytes);
    return 1;
}

static void push_value(lua_State *L, const struct analyse_column *c, int64_t row) {
    if (analyse_is_null(c, row)) lua_pushnil(L);
    else if (c->type == ANALYSE_TEXT) {
        const struct analyse_word *w = c->dictionary->words + c->i32[row];
        lua_pushlstring(L, w->text, w->size);
    } else if (c->type == ANALYSE_F64) lua_pushnumber(L, c->f64[row]);
    else lua_pushinteger(L, analyse_integer(c, row));
}

// t:value(row, name): rows count from 0.
static int table_value(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    lua_Integer row = luaL_checkinteger(L, 2);
    luaL_argcheck(L, row >= 0 && row < t->rows, 2, "there is no such row");
    push_value(L, check_column(L, t, 3), row);
    return 1;
}

// t:list(rows, name): the values, NULL as false.
static int table_list(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    struct analyse_rows *in = check_rows(L, 2);
    struct analyse_column *c = check_column(L, t, 3);
    int64_t n = analyse_count(t, in);
    luaL_argcheck(L, n < INT_MAX, 2, "too many rows for a list");
    lua_createtable(L, (int)n, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = analyse_row(in, i);
        if (analyse_is_null(c, row)) lua_pushboolean(L, 0);
        else push_value(L, c, row);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

// t:drop(name)
static int table_drop(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    struct analyse_column *c = check_column(L, t, 2);
    analyse_column_drop(t, c);
    memmove(c, c + 1, (size_t)(t->columns + t->count - c - 1) * sizeof *c);
    t->columns[--t->count] = (struct analyse_column){0};
    return 0;
}

// Choosing rows -------------------------------------------------------------------------------------------------------------

static int table_where(lua_State *L) {
    static const char *const tests[] = {"=", "<>", "<", "<=", ">", ">=", NULL};
    struct analyse_table *t = check_table(L, 1);
    struct analyse_rows *in = check_rows(L, 2);
    struct analyse_column *c = check_column(L, t, 3);
    int test = luaL_checkoption(L, 4, NULL, tests);
    double value = luaL_checknumber(L, 5);
    struct analyse_error err;
    struct analyse_rows *out = new_rows(L);
    return analyse_where_number(t, in, c, (enum analyse_test)test, value, out, &err) ? 1 : analyse_data_error(L, &err);
}

// t:pick(rows, name, function(text) -> boolean | list of texts[, also NULL])
static int table_pick(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    struct analyse_rows *in = check_rows(L, 2);
    struct analyse_column *c = check_column(L, t, 3);
    bool null = lua_toboolean(L, 5);
    struct analyse_error err;
    if (c->type != ANALYSE_TEXT) { // a column of nothing but NULL
        bool empty = true;
        for (int64_t i = 0; i < t->rows && empty; i++) empty = analyse_is_null(c, i);
        struct analyse_rows *none = new_rows(L);
        if (!empty) {
            analyse_fail(&err, "the column %s holds numbers, text is expected", c->name);
            return analyse_data_error(L, &err);
        }
        if (null) return analyse_where_null(t, in, c, true, none, &err) ? 1 : analyse_data_error(L, &err);
        return analyse_where_null(t, in, c, false, none, &err) ? 1 : analyse_data_error(L, &err);
    }
    int32_t words = c->dictionary->count;
    uint8_t *accept = lua_newuserdatauv(L, (size_t)words + 1, 0);
    memset(accept, 0, (size_t)words + 1);
    if (lua_isfunction(L, 4)) {
        for (int32_t k = 0; k < words; k++) {
            lua_pushvalue(L, 4);
            lua_pushlstring(L, c->dictionary->words[k].text, c->dictionary->words[k].size);
            lua_call(L, 1, 1);
            accept[k] = (uint8_t)lua_toboolean(L, -1);
            lua_pop(L, 1);
        }
    } else {
        luaL_checktype(L, 4, LUA_TTABLE);
        for (lua_Integer i = 1; lua_geti(L, 4, i) != LUA_TNIL; i++) {
            size_t size;
            const char *text = luaL_checklstring(L, -1, &size);
            int32_t code = size < UINT32_MAX ? analyse_word_find(c->dictionary, text, (uint32_t)size) : -1;
            if (code >= 0) accept[code] = 1;
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    struct analyse_rows *out = new_rows(L);
    return analyse_where_code(t, in, c, accept, null, out, &err) ? 1 : analyse_data_error(L, &err);
}

static int where_null(lua_State *L, bool null) {
    struct analyse_table *t = check_table(L, 1);
    struct analyse_rows *in = check_rows(L, 2);
    struct analyse_column *c = check_column(L, t, 3);
    struct analyse_error err;
    struct analyse_rows *out = new_rows(L);
    return analyse_where_null(t, in, c, null, out, &err) ? 1 : analyse_data_error(L, &err);
}
static int table_null(lua_State *L) { return where_null(L, true); }
static int table_present(lua_State *L) { return where_null(L, false); }

static int table_order(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    struct analyse_rows *in = check_rows(L, 2);
    struct analyse_column *c = check_column(L, t, 3);
    struct analyse_error err;
    struct analyse_rows *out = new_rows(L);
    return analyse_order(t, in, c, out, &err) ? 1 : analyse_data_error(L, &err);
}

// A list of column names at `arg` into `columns`; returns how many.
static int check_keys(lua_State *L, const struct analyse_table *t, int arg, const struct analyse_column **columns) {
    luaL_checktype(L, arg, LUA_TTABLE);
    int n = (int)luaL_len(L, arg);
    luaL_argcheck(L, n <= ANALYSE_MAX_KEYS, arg, "too many keys");
    for (int i = 0; i < n; i++) {
        lua_geti(L, arg, i + 1);
        columns[i] = check_column(L, t, lua_gettop(L));
        lua_pop(L, 1);
    }
    return n;
}

static int table_distinct(lua_State *L) {
    const struct analyse_column *keys[ANALYSE_MAX_KEYS];
    struct analyse_table *t = check_table(L, 1);
    struct analyse_rows *in = check_rows(L, 2);
    int n = check_keys(L, t, 3, keys);
    struct analyse_error err;
    struct analyse_rows *out = new_rows(L);
    return analyse_distinct(t, in, n, keys, out, &err) ? 1 : analyse_data_error(L, &err);
}

static int table_best(lua_State *L) {
    const struct analyse_column *keys[ANALYSE_MAX_KEYS];
    struct analyse_table *t = check_table(L, 1);
    struct analyse_rows *in = check_rows(L, 2);
    int n = check_keys(L, t, 3, keys);
    struct analyse_column *value = check_column(L, t, 4);
    struct analyse_error err;
    struct analyse_rows *out = new_rows(L);
    return analyse_best(t, in, n, keys, value, out, &err) ? 1 : analyse_data_error(L, &err);
}

// Groups ------------------------------------------------------------------------------------------------------------------------

static bool read_request(lua_State *L, const struct analyse_table *t, int at, struct analyse_request *r) {
    static const char *const kinds[] = {"count", "sum",      "min",      "max",   "mean", "any",
                                        "mode",  "quantile", "distinct", "union", "total", NULL};
    *r = (struct analyse_request){.t0 = -ANALYSE_FAR, .t1 = ANALYSE_FAR, .fraction = 0.5};
    lua_geti(L, at, 2);
    int kind = luaL_checkoption(L, -1, NULL, kinds);
    bool total = kind == ANALYSE_UNION + 1; // a sum that is 0 where there is nothing to add
    r->kind = total ? ANALYSE_SUM : (enum analyse_aggregate)kind;
    lua_pop(L, 1);
    if (lua_geti(L, at, 3) != LUA_TNIL) r->column = check_column(L, t, lua_gettop(L));
    lua_pop(L, 1);
    lua_geti(L, at, 4);
    if (r->kind == ANALYSE_QUANTILE) {
        r->fraction = luaL_optnumber(L, -1, 0.5);
        if (!(r->fraction >= 0 && r->fraction <= 1)) luaL_error(L, "a quantile lies between 0 and 1");
    } else if (r->kind == ANALYSE_UNION) {
        r->second = check_column(L, t, lua_gettop(L));
        lua_geti(L, at, 5);
        r->t0 = luaL_optinteger(L, -1, -ANALYSE_FAR);
        lua_geti(L, at, 6);
        r->t1 = luaL_optinteger(L, -1, ANALYSE_FAR);
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
    return total;
}

struct holder { // what must be given back when something raises
    struct analyse_groups groups;
    struct analyse_value *values;
    size_t bytes;
    struct account *account;
};

static int holder_close(lua_State *L) {
    struct holder *h = lua_touserdata(L, 1);
    analyse_groups_close(&h->groups);
    analyse_give(h->account, h->values, h->bytes);
    h->values = NULL;
    return 0;
}

// t:group(rows, keys, { {as, kind, column, ...}, ... }) -> list of rows, in the order the groups first appear
static int table_group(lua_State *L) {
    const struct analyse_column *keys[ANALYSE_MAX_KEYS];
    struct analyse_table *t = check_table(L, 1);
    struct analyse_rows *in = check_rows(L, 2);
    int n = check_keys(L, t, 3, keys);
    luaL_checktype(L, 4, LUA_TTABLE);
    lua_settop(L, 4);
    struct holder *h = lua_newuserdatauv(L, sizeof *h, 0);
    *h = (struct holder){.account = t->account};
    if (luaL_newmetatable(L, "rt.analyse.holder")) {
        lua_pushcfunction(L, holder_close);
        lua_setfield(L, -2, "__gc");
        lua_pushcfunction(L, holder_close);
        lua_setfield(L, -2, "__close");
    }
    lua_setmetatable(L, -2);
    lua_toclose(L, 5);
    struct analyse_error err;
    if (!analyse_group(t, in, n, keys, &h->groups, &err)) return analyse_data_error(L, &err);
    int64_t count = h->groups.count;
    luaL_argcheck(L, count < INT_MAX, 3, "too many groups for a list");
    h->bytes = (size_t)count * sizeof *h->values;
    h->values = analyse_take(t->account, h->bytes, &err);
    if (!h->values) {
        h->bytes = 0;
        return analyse_data_error(L, &err);
    }
    lua_createtable(L, (int)count, 0); // index 6
    for (int64_t k = 0; k < count; k++) {
        lua_createtable(L, 0, n + 4);
        for (int i = 0; i < n; i++) {
            push_value(L, keys[i], h->groups.first[k]);
            lua_setfield(L, -2, keys[i]->name);
        }
        lua_rawseti(L, 6, k + 1);
    }
    for (lua_Integer a = 1; lua_geti(L, 4, a) == LUA_TTABLE; a++) { // the request at 7
        struct analyse_request r;
        lua_geti(L, 7, 1);
        luaL_checkstring(L, 8); // the name at 8
        bool total = read_request(L, t, 7, &r);
        if (!analyse_aggregate(t, in, &h->groups, &r, h->values, &err)) return analyse_data_error(L, &err);
        for (int64_t k = 0; k < count; k++) {
            const struct analyse_value *v = h->values + k;
            lua_rawgeti(L, 6, k + 1);
            lua_pushvalue(L, 8);
            if (v->kind == ANALYSE_INTEGER) lua_pushinteger(L, v->i);
            else if (v->kind == ANALYSE_FLOAT) lua_pushnumber(L, v->f);
            else if (v->kind == ANALYSE_ROW) push_value(L, r.column, v->i);
            else if (total) lua_pushinteger(L, 0);
            else lua_pushnil(L);
            lua_rawset(L, 9);
            lua_settop(L, 8);
        }
        lua_settop(L, 6);
    }
    lua_settop(L, 6);
    return 1;
}

// Intervals -----------------------------------------------------------------------------------------------------------------------

static void give_intervals(const struct analyse_table *t, struct analyse_interval *list, int64_t capacity) {
    analyse_give(t->account, list, (size_t)capacity * sizeof *list);
}

// t:union(rows, start, end[, t0, t1]) -> ns
static int table_union(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    struct analyse_rows *in = check_rows(L, 2);
    struct analyse_column *start = check_column(L, t, 3), *end = check_column(L, t, 4);
    int64_t t0 = luaL_optinteger(L, 5, -ANALYSE_FAR), t1 = luaL_optinteger(L, 6, ANALYSE_FAR), n = 0, capacity = 0;
    struct analyse_interval *list;
    struct analyse_error err;
    if (!analyse_intervals(t, in, start, end, t0, t1, &list, &n, &capacity, &err)) return analyse_data_error(L, &err);
    lua_pushinteger(L, analyse_interval_union(list, n));
    give_intervals(t, list, capacity);
    return 1;
}

// t:common(rows, start, end, other, rows, start, end[, t0, t1]) -> ns that both unions cover
static int table_common(lua_State *L) {
    struct analyse_table *a = check_table(L, 1), *b = check_table(L, 5);
    struct analyse_rows *in = check_rows(L, 2), *other = check_rows(L, 6);
    struct analyse_column *start = check_column(L, a, 3), *end = check_column(L, a, 4);
    struct analyse_column *from = check_column(L, b, 7), *to = check_column(L, b, 8);
    int64_t t0 = luaL_optinteger(L, 9, -ANALYSE_FAR), t1 = luaL_optinteger(L, 10, ANALYSE_FAR), n, m, room, space;
    struct analyse_interval *x, *y;
    struct analyse_error err;
    if (!analyse_intervals(a, in, start, end, t0, t1, &x, &n, &room, &err)) return analyse_data_error(L, &err);
    if (!analyse_intervals(b, other, from, to, t0, t1, &y, &m, &space, &err)) {
        give_intervals(a, x, room);
        return analyse_data_error(L, &err);
    }
    lua_pushinteger(L, analyse_interval_common(x, n, y, m));
    give_intervals(a, x, room);
    give_intervals(b, y, space);
    return 1;
}

// Joining and computing -------------------------------------------------------------------------------------------------------------

// t:lookup(new, column, other, key[, rows of other])
static int table_lookup(lua_State *L) {
    struct analyse_table *t = check_table(L, 1), *other = check_table(L, 4);
    const char *name = luaL_checkstring(L, 2);
    struct analyse_column *c = check_column(L, t, 3), *key = check_column(L, other, 5);
    struct analyse_error err;
    return analyse_lookup(t, c, other, check_rows(L, 6), key, name, &err) ? 0 : analyse_data_error(L, &err);
}

// t:tally(new, key, other, rows, key of other[, value])
static int table_tally(lua_State *L) {
    struct analyse_table *t = check_table(L, 1), *other = check_table(L, 4);
    const char *name = luaL_checkstring(L, 2);
    struct analyse_column *key = check_column(L, t, 3), *other_key = check_column(L, other, 6);
    struct analyse_column *value = lua_isnoneornil(L, 7) ? NULL : check_column(L, other, 7);
    struct analyse_error err;
    return analyse_tally(t, key, other, check_rows(L, 5), other_key, value, name, &err) ? 0 : analyse_data_error(L, &err);
}

// t:running(new, rows, column, initial)
static int table_running(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    const char *name = luaL_checkstring(L, 2);
    struct analyse_rows *in = check_rows(L, 3);
    struct analyse_column *c = check_column(L, t, 4);
    lua_Integer initial = luaL_checkinteger(L, 5);
    struct analyse_error err;
    return analyse_running(t, in, c, initial, name, &err) ? 0 : analyse_data_error(L, &err);
}

// t:bits(new, column, shift, width)
static int table_bits(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    const char *name = luaL_checkstring(L, 2);
    struct analyse_column *c = check_column(L, t, 3);
    lua_Integer shift = luaL_checkinteger(L, 4), width = luaL_checkinteger(L, 5);
    luaL_argcheck(L, shift >= 0 && width > 0 && width < 32 && shift + width <= 64, 4, "there are no such bits");
    struct analyse_error err;
    return analyse_bits(t, c, (int)shift, (int)width, name, &err) ? 0 : analyse_data_error(L, &err);
}

// t:adopt(other): other's columns move here, and other is closed
static int table_adopt(lua_State *L) {
    struct analyse_table *t = check_table(L, 1), *from = check_table(L, 2);
    struct analyse_error err;
    if (!analyse_table_adopt(t, from, &err)) return analyse_data_error(L, &err);
    analyse_table_close(from);
    return 0;
}

// t:shift(new, rows, column)
static int table_shift(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    const char *name = luaL_checkstring(L, 2);
    struct analyse_rows *in = check_rows(L, 3);
    struct analyse_column *c = check_column(L, t, 4);
    struct analyse_error err;
    return analyse_shift(t, in, c, name, &err) ? 0 : analyse_data_error(L, &err);
}

// t:fetch(new, at, other, column)
static int table_fetch(lua_State *L) {
    struct analyse_table *t = check_table(L, 1), *other = check_table(L, 4);
    const char *name = luaL_checkstring(L, 2);
    struct analyse_column *at = check_column(L, t, 3), *from = check_column(L, other, 5);
    for (int64_t i = 0; at->type == ANALYSE_I32 && i < t->rows; i++)
        if (!analyse_is_null(at, i) && (at->i32[i] < 0 || at->i32[i] >= other->rows))
            return luaL_error(L, "%s names rows that the other table does not have", at->name);
    struct analyse_error err;
    return analyse_fetch(t, at, from, name, &err) ? 0 : analyse_data_error(L, &err);
}

// t:compute(new, a, op, b or number)
static int table_compute(lua_State *L) {
    static const char *const ops[] = {"+", "-", "*", "/", "min", "max", NULL};
    static const char codes[] = "+-*/mM";
    struct analyse_table *t = check_table(L, 1);
    const char *name = luaL_checkstring(L, 2);
    struct analyse_column *a = check_column(L, t, 3), *b = NULL;
    int op = luaL_checkoption(L, 4, NULL, ops);
    double number = 0;
    if (lua_type(L, 5) == LUA_TNUMBER) number = lua_tonumber(L, 5);
    else b = check_column(L, t, 5);
    struct analyse_error err;
    return analyse_compute(t, a, codes[op], b, number, name, &err) ? 0 : analyse_data_error(L, &err);
}

// t:step(new, rows, column[, key])
static int table_step(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    const char *name = luaL_checkstring(L, 2);
    struct analyse_rows *in = check_rows(L, 3);
    struct analyse_column *c = check_column(L, t, 4), *key = lua_isnoneornil(L, 5) ? NULL : check_column(L, t, 5);
    struct analyse_error err;
    return analyse_step(t, in, c, key, name, &err) ? 0 : analyse_data_error(L, &err);
}

// t:derive(new, column, function(text) -> text or nil): another text for each distinct text.
static int table_derive(lua_State *L) {
    struct analyse_table *t = check_table(L, 1);
    const char *name = luaL_checkstring(L, 2);
    struct analyse_column *c = check_column(L, t, 3);
    luaL_checktype(L, 4, LUA_TFUNCTION);
    struct analyse_error err;
    struct analyse_column *made = analyse_column_add(t, name, ANALYSE_TEXT, false, &err);
    if (!made) return analyse_data_error(L, &err);
    made->dictionary = analyse_dictionary_new(t->account);
    for (int64_t i = 0; i < t->rows; i++) made->i32[i] = -1;
    if (!made->dictionary) return luaL_error(L, "no memory for a dictionary");
    if (c->type != ANALYSE_TEXT) return 0; // nothing but NULL, or numbers: nothing to derive from
    int32_t words = c->dictionary->count;
    int32_t *codes = lua_newuserdatauv(L, ((size_t)words + 1) * sizeof *codes, 0);
    for (int32_t k = 0; k < words; k++) {
        lua_pushvalue(L, 4);
        lua_pushlstring(L, c->dictionary->words[k].text, c->dictionary->words[k].size);
        lua_call(L, 1, 1);
        size_t size;
        const char *text = lua_isnil(L, -1) ? NULL : luaL_checklstring(L, -1, &size);
        codes[k] = text ? analyse_word_add(made->dictionary, text, (uint32_t)size) : -1;
        lua_pop(L, 1);
    }
    for (int64_t i = 0; i < t->rows; i++) made->i32[i] = c->i32[i] < 0 ? -1 : codes[c->i32[i]];
    return 0;
}

static int rows_count(lua_State *L) {
    lua_pushinteger(L, check_rows(L, 1)->count);
    return 1;
}

// r:first(n): the first n rows of the selection
static int rows_first(lua_State *L) {
    struct analyse_rows *r = check_rows(L, 1);
    lua_Integer n = luaL_checkinteger(L, 2);
    if (n > r->count) n = r->count;
    if (n < 0) n = 0;
    struct analyse_error err;
    struct analyse_rows *out = new_rows(L);
    if (!analyse_rows_init(out, r->account, n, &err)) return analyse_data_error(L, &err);
    memcpy(out->index, r->index, (size_t)n * sizeof *r->index);
    return 1;
}

static void define(lua_State *L, const char *name, const luaL_Reg *methods, lua_CFunction close) {
    luaL_newmetatable(L, name);
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__close");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

int luaopen_rt_analyse(lua_State *L);
int luaopen_rt_analyse(lua_State *L) {
    static const luaL_Reg table_methods[] = {
        {"rows", table_rows},       {"names", table_names},       {"bytes", table_bytes},   {"value", table_value},
        {"list", table_list},       {"drop", table_drop},         {"where", table_where},   {"pick", table_pick},
        {"null", table_null},       {"present", table_present},   {"order", table_order},   {"distinct", table_distinct},
        {"best", table_best},       {"group", table_group},       {"union", table_union},   {"common", table_common},
        {"lookup", table_lookup},   {"fetch", table_fetch},       {"compute", table_compute}, {"step", table_step},
        {"tally", table_tally},     {"running", table_running}, {"shift", table_shift},
        {"bits", table_bits},       {"adopt", table_adopt},
        {"derive", table_derive},   {"close", table_close},       {NULL, NULL},
    };
    static const luaL_Reg rows_methods[] = {
        {"count", rows_count}, {"first", rows_first}, {"close", rows_close}, {NULL, NULL},
    };
    define(L, TABLE, table_methods, table_close);
    define(L, ROWS, rows_methods, rows_close);
    lua_newtable(L);
    analyse_lua_open_sql(L);
    return 1;
}
