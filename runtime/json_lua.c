// SPDX-License-Identifier: MIT
// json_lua.c: rt.json. A thin binding of json.h.
//
//   json.decode(text[, {depth=, duplicates="error"|"first"|"last", ordered=true}]) -> value | nil, {code="json", message, line, column}
//   json.encode(value[, {indent=, sort=, nonfinite="null"|"string", utf8="replace"}]) -> text; raises, naming the path
//   json.null, json.array(t), json.object(t[, keys]), json.number(digits), json.is_array(t)
//
// A table's metatable may say what it is: __jsontype = "array" | "object" | "number", and __jsonorder = list of keys.
// Decoded arrays carry the first, objects decoded with `ordered` the second and third.
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define READER "nkiln.json.reader"
#define WRITER "nkiln.json.writer"
#define ARRAY_META "nkiln.json.array"
#define NUMBER_META "nkiln.json.number"

static int reader_gc(lua_State *L) {
    json_reader_free(luaL_checkudata(L, 1, READER));
    return 0;
}

static int writer_gc(lua_State *L) {
    json_writer_free(luaL_checkudata(L, 1, WRITER));
    return 0;
}

// Decoding ------------------------------------------------------------------------------------------------------------

enum duplicates { DUPLICATES_ERROR, DUPLICATES_FIRST, DUPLICATES_LAST };

struct decoder {
    struct json_reader *reader;
    enum duplicates duplicates;
    bool ordered;
};

static void push_big(lua_State *L, const char *digits, size_t length) {
    lua_createtable(L, 0, 1);
    lua_pushlstring(L, digits, length);
    lua_setfield(L, -2, "digits");
    luaL_setmetatable(L, NUMBER_META);
}

static bool refuse(struct decoder *d, size_t at, const char *message) {
    d->reader->message = message;
    d->reader->error_at = at;
    return false;
}

// Push the value that `event` begins; on false nothing useful is on the stack and the reader holds the error.
static bool build(lua_State *L, struct decoder *d, enum json_event event) {
    struct json_reader *r = d->reader;
    switch (event) {
    case JSON_NULL: lua_pushlightuserdata(L, NULL); return true;
    case JSON_TRUE: lua_pushboolean(L, 1); return true;
    case JSON_FALSE: lua_pushboolean(L, 0); return true;
    case JSON_INTEGER: lua_pushinteger(L, r->integer); return true;
    case JSON_FLOAT: lua_pushnumber(L, r->number); return true;
    case JSON_BIG: push_big(L, r->string, r->length); return true;
    case JSON_STRING: lua_pushlstring(L, r->string, r->length); return true;
    case JSON_ARRAY_BEGIN:
        luaL_checkstack(L, 8, "JSON");
        lua_newtable(L);
        for (lua_Integer n = 1; (event = json_read(r)) != JSON_ARRAY_END; n++) {
            if (event == JSON_ERROR || !build(L, d, event)) return false;
            lua_rawseti(L, -2, n);
        }
        luaL_setmetatable(L, ARRAY_META);
        return true;
    case JSON_OBJECT_BEGIN:
        luaL_checkstack(L, 8, "JSON");
        lua_newtable(L);
        if (d->ordered) {
            lua_createtable(L, 0, 2);
            lua_pushliteral(L, "object");
            lua_setfield(L, -2, "__jsontype");
            lua_newtable(L);
            lua_pushvalue(L, -1);
            lua_setfield(L, -3, "__jsonorder");
            lua_insert(L, -3); // order, object, metatable
            lua_setmetatable(L, -2);
        }
        for (lua_Integer n = 1; (event = json_read(r)) != JSON_OBJECT_END;) {
            if (event == JSON_ERROR) return false;
            size_t key_at = r->token;
            lua_pushlstring(L, r->string, r->length);
            lua_pushvalue(L, -1);
            bool seen = lua_rawget(L, -3) != LUA_TNIL;
            lua_pop(L, 1);
            if (seen && d->duplicates == DUPLICATES_ERROR) return refuse(d, key_at, "this key occurs twice in one object");
            if (!seen && d->ordered) {
                lua_pushvalue(L, -1);
                lua_rawseti(L, -4, n++);
            }
            event = json_read(r);
            if (event == JSON_ERROR || !build(L, d, event)) return false;
            if (seen && d->duplicates == DUPLICATES_FIRST) lua_pop(L, 2);
            else lua_rawset(L, -3);
        }
        if (d->ordered) lua_remove(L, -2);
        return true;
    default: return false;
    }
}

static int decode(lua_State *L) {
    static const char *const policies[] = {"error", "first", "last", NULL};
    size_t size;
    const char *text = luaL_checklstring(L, 1, &size);
    struct decoder d = {0};
    int depth = 0;
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_settop(L, 2);
        lua_getfield(L, 2, "depth");
        depth = (int)luaL_optinteger(L, -1, 0);
        lua_getfield(L, 2, "duplicates");
        d.duplicates = (enum duplicates)luaL_checkoption(L, -1, "error", policies);
        lua_getfield(L, 2, "ordered");
        d.ordered = lua_toboolean(L, -1);
    }
    lua_settop(L, 1);
    d.reader = lua_newuserdatauv(L, sizeof *d.reader, 0);
    json_reader_init(d.reader, text, size, depth);
    luaL_setmetatable(L, READER);
    enum json_event event = json_read(d.reader);
    if (event != JSON_ERROR && build(L, &d, event) && json_read(d.reader) == JSON_END) {
        json_reader_free(d.reader);
        return 1;
    }
    int64_t line, column;
    json_position(text, size, d.reader->error_at, &line, &column);
    lua_settop(L, 2);
    lua_pushnil(L);
    lua_createtable(L, 0, 4);
    lua_pushliteral(L, "json");
    lua_setfield(L, -2, "code");
    lua_pushinteger(L, line);
    lua_setfield(L, -2, "line");
    lua_pushinteger(L, column);
    lua_setfield(L, -2, "column");
    lua_pushfstring(L, "line %I, column %I: %s", (LUAI_UACINT)line, (LUAI_UACINT)column, d.reader->message);
    lua_setfield(L, -2, "message");
    json_reader_free(d.reader);
    return 2;
}

// Encoding ------------------------------------------------------------------------------------------------------------

enum nonfinite { NONFINITE_ERROR, NONFINITE_NULL, NONFINITE_STRING };

struct encoder {
    struct json_writer *writer;
    int indent; // spaces per level, 0 = one line
    bool unsorted, replace;
    enum nonfinite nonfinite;
};

// One table on the way from the root to the value being written.
struct frame {
    const struct frame *up;
    const void *table;
    const char *key; // NULL: `index` is meant
    lua_Integer index;
    int depth;
};

static void add_path(luaL_Buffer *b, const struct frame *f) {
    if (!f) {
        luaL_addstring(b, "value");
        return;
    }
    add_path(b, f->up);
    char text[64];
    if (!f->key) {
        if (f->index > 0) luaL_addlstring(b, text, (size_t)snprintf(text, sizeof text, "[%lld]", (long long)f->index));
        return;
    }
    bool plain = f->key[0] != 0 && strspn(f->key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(f->key);
    luaL_addstring(b, plain ? "." : "[\"");
    luaL_addstring(b, f->key);
    if (!plain) luaL_addstring(b, "\"]");
}

static int refuse_value(lua_State *L, const struct frame *f, const char *what) {
    luaL_Buffer b;
    luaL_checkstack(L, LUA_MINSTACK, "JSON");
    luaL_buffinit(L, &b);
    add_path(&b, f);
    luaL_pushresult(&b);
    return luaL_error(L, "JSON cannot hold %s (at %s)", what, lua_tostring(L, -1));
}

static void break_line(struct encoder *e, int depth) {
    static const char spaces[] = "                                ";
    if (!e->indent) return;
    json_put(e->writer, "\n", 1);
    for (size_t left = (size_t)e->indent * (size_t)depth; left;) {
        size_t n = left < sizeof spaces - 1 ? left : sizeof spaces - 1;
        json_put(e->writer, spaces, n);
        left -= n;
    }
}

static void encode_value(lua_State *L, struct encoder *e, const struct frame *up);

struct key {
    const char *text;
    size_t size;
    int rank;
};

static int compare_keys(const void *a, const void *b) {
    const struct key *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    int order = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);
    return order ? order : x->size < y->size ? -1 : x->size > y->size;
}

// Give each key listed in the metatable's __jsonorder its place. Stack: table on top.
static bool rank_keys(lua_State *L, struct key *keys, size_t count) {
    if (luaL_getmetafield(L, -1, "__jsonorder") == LUA_TNIL) return false;
    bool list = lua_istable(L, -1);
    if (list) {
        lua_newtable(L);
        lua_Integer n = (lua_Integer)lua_rawlen(L, -2);
        for (lua_Integer i = n; i >= 1; i--) {
            if (lua_rawgeti(L, -2, i) != LUA_TSTRING) {
                lua_pop(L, 1);
                continue;
            }
            lua_pushinteger(L, i);
            lua_rawset(L, -3);
        }
        for (size_t i = 0; i < count; i++) {
            lua_pushlstring(L, keys[i].text, keys[i].size);
            lua_rawget(L, -2);
            if (lua_isinteger(L, -1)) keys[i].rank = (int)lua_tointeger(L, -1);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return list;
}

// Stack: the table on top, left there.
static void encode_object(lua_State *L, struct encoder *e, struct frame *here, size_t count) {
    int table = lua_gettop(L);
    struct key *keys = lua_newuserdatauv(L, (count ? count : 1) * sizeof *keys, 0);
    size_t n = 0;
    lua_pushnil(L);
    while (lua_next(L, table)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING) {
            lua_pushfstring(L, "a %s as a key of an object", luaL_typename(L, -1));
            refuse_value(L, here, lua_tostring(L, -1));
        }
        if (n == count) break;
        keys[n].text = lua_tolstring(L, -1, &keys[n].size);
        keys[n++].rank = INT_MAX;
    }
    lua_settop(L, table + 1);
    lua_pushvalue(L, table);
    bool ranked = rank_keys(L, keys, n);
    lua_pop(L, 1);
    if (ranked || !e->unsorted) qsort(keys, n, sizeof *keys, compare_keys);
    json_put(e->writer, "{", 1);
    for (size_t i = 0; i < n; i++) {
        if (i) json_put(e->writer, ",", 1);
        break_line(e, here->depth);
        here->key = keys[i].text;
        if (!json_put_string(e->writer, keys[i].text, keys[i].size, e->replace)) refuse_value(L, here, "a key that is not UTF-8");
        json_put(e->writer, e->indent ? ": " : ":", e->indent ? 2 : 1);
        lua_pushlstring(L, keys[i].text, keys[i].size);
        lua_rawget(L, table);
        encode_value(L, e, here);
    }
    if (n) break_line(e, here->depth - 1);
    json_put(e->writer, "}", 1);
    lua_settop(L, table);
}

static void encode_array(lua_State *L, struct encoder *e, struct frame *here, lua_Integer length) {
    int table = lua_gettop(L);
    json_put(e->writer, "[", 1);
    for (lua_Integer i = 1; i <= length; i++) {
        if (i > 1) json_put(e->writer, ",", 1);
        break_line(e, here->depth);
        here->index = i;
        lua_rawgeti(L, table, i);
        encode_value(L, e, here);
    }
    if (length) break_line(e, here->depth - 1);
    json_put(e->writer, "]", 1);
}

static void encode_table(lua_State *L, struct encoder *e, const struct frame *up) {
    int table = lua_gettop(L);
    struct frame here = {up, lua_topointer(L, table), NULL, 0, up ? up->depth + 1 : 1};
    for (const struct frame *f = up; f; f = f->up)
        if (f->table == here.table) refuse_value(L, up, "a table that contains itself");
    if (here.depth > JSON_DEPTH_DEFAULT) luaL_error(L, "JSON cannot hold tables nested more than %d deep", JSON_DEPTH_DEFAULT);
    char declared = 0; // first letter of __jsontype
    if (luaL_getmetafield(L, table, "__jsontype") != LUA_TNIL) {
        const char *type = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        declared = type[0];
        lua_pop(L, 1);
    }
    if (declared == 'n') {
        size_t size;
        lua_getfield(L, table, "digits");
        const char *digits = lua_tolstring(L, -1, &size);
        if (!digits) refuse_value(L, up, "a number without its digits");
        json_put(e->writer, digits, size);
        lua_settop(L, table);
        return;
    }
    size_t count = 0;
    lua_Integer listed = 0, largest = 0;
    lua_pushnil(L);
    while (lua_next(L, table)) {
        lua_pop(L, 1);
        count++;
        if (lua_isinteger(L, -1)) {
            lua_Integer key = lua_tointeger(L, -1);
            if (key >= 1) listed++;
            if (key > largest) largest = key;
        }
    }
    bool list = declared == 'a' || (declared != 'o' && listed > 0);
    if (!list) {
        encode_object(L, e, &here, count);
        return;
    }
    if (listed != (lua_Integer)count) refuse_value(L, up, "a table with both a list and named keys");
    if (largest != listed) refuse_value(L, up, "a list with holes");
    encode_array(L, e, &here, listed);
}

// Write the value on top of the stack and pop it.
static void encode_value(lua_State *L, struct encoder *e, const struct frame *up) {
    luaL_checkstack(L, 10, "JSON");
    switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN:
        if (lua_toboolean(L, -1)) json_put(e->writer, "true", 4);
        else json_put(e->writer, "false", 5);
        break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, -1)) json_put_integer(e->writer, lua_tointeger(L, -1));
        else {
            double value = lua_tonumber(L, -1);
            if (isfinite(value)) json_put_double(e->writer, value);
            else {
                const char *name = isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
                if (e->nonfinite == NONFINITE_ERROR) refuse_value(L, up, name);
                if (e->nonfinite == NONFINITE_NULL) json_put(e->writer, "null", 4);
                else json_put_string(e->writer, name, strlen(name), false);
            }
        }
        break;
    case LUA_TSTRING: {
        size_t size;
        const char *text = lua_tolstring(L, -1, &size);
        if (!json_put_string(e->writer, text, size, e->replace)) refuse_value(L, up, "text that is not UTF-8");
        break;
    }
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L, -1)) refuse_value(L, up, "a pointer");
        json_put(e->writer, "null", 4);
        break;
    case LUA_TTABLE: encode_table(L, e, up); break;
    case LUA_TNIL: refuse_value(L, up, "nil (use json.null)"); break;
    default: lua_pushfstring(L, "a %s", luaL_typename(L, -1)); refuse_value(L, up, lua_tostring(L, -1));
    }
    lua_pop(L, 1);
}

static int encode(lua_State *L) {
    static const char *const nonfinites[] = {"error", "null", "string", NULL};
    static const char *const policies[] = {"error", "replace", NULL};
    luaL_checkany(L, 1);
    struct encoder e = {0};
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_settop(L, 2);
        if (lua_getfield(L, 2, "indent") == LUA_TBOOLEAN) e.indent = lua_toboolean(L, -1) ? 2 : 0;
        else {
            lua_Integer indent = luaL_optinteger(L, -1, 0);
            luaL_argcheck(L, indent >= 0 && indent <= 16, 2, "indent is 0 to 16");
            e.indent = (int)indent;
        }
        e.unsorted = lua_getfield(L, 2, "sort") == LUA_TBOOLEAN && !lua_toboolean(L, -1);
        lua_getfield(L, 2, "nonfinite");
        e.nonfinite = (enum nonfinite)luaL_checkoption(L, -1, "error", nonfinites);
        lua_getfield(L, 2, "utf8");
        e.replace = luaL_checkoption(L, -1, "error", policies) == 1;
    }
    lua_settop(L, 1);
    e.writer = lua_newuserdatauv(L, sizeof *e.writer, 0);
    json_writer_init(e.writer);
    luaL_setmetatable(L, WRITER);
    lua_pushvalue(L, 1);
    encode_value(L, &e, NULL);
    if (e.writer->failed) return luaL_error(L, "not enough memory");
    lua_pushlstring(L, e.writer->data, e.writer->size);
    json_writer_free(e.writer);
    return 1;
}

// Marks ---------------------------------------------------------------------------------------------------------------

static int mark_array(lua_State *L) {
    if (lua_isnoneornil(L, 1)) {
        lua_settop(L, 0);
        lua_newtable(L);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_setmetatable(L, ARRAY_META);
    return 1;
}

static int mark_object(lua_State *L) {
    if (lua_isnoneornil(L, 1)) {
        lua_settop(L, 0);
        lua_newtable(L);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    lua_createtable(L, 0, 2);
    lua_pushliteral(L, "object");
    lua_setfield(L, -2, "__jsontype");
    lua_pushvalue(L, 2);
    lua_setfield(L, -2, "__jsonorder");
    lua_setmetatable(L, 1);
    lua_settop(L, 1);
    return 1;
}

static int is_array(lua_State *L) {
    bool array = false;
    if (lua_istable(L, 1) && luaL_getmetafield(L, 1, "__jsontype") != LUA_TNIL)
        array = lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), "array") == 0;
    lua_pushboolean(L, array);
    return 1;
}

static int make_number(lua_State *L) {
    size_t size;
    const char *text = luaL_checklstring(L, 1, &size);
    struct json_reader r;
    json_reader_init(&r, text, size, 0);
    enum json_event event = json_read(&r);
    bool good = (event == JSON_INTEGER || event == JSON_FLOAT || event == JSON_BIG) && json_read(&r) == JSON_END;
    json_reader_free(&r);
    luaL_argcheck(L, good, 1, "not a JSON number");
    push_big(L, text, size);
    return 1;
}

static int number_tostring(lua_State *L) {
    lua_getfield(L, 1, "digits");
    return 1;
}

static int number_eq(lua_State *L) {
    lua_getfield(L, 1, "digits");
    lua_getfield(L, 2, "digits");
    lua_pushboolean(L, lua_rawequal(L, -1, -2));
    return 1;
}

static void make_metatable(lua_State *L, const char *name, const char *field, const char *type, lua_CFunction fn) {
    luaL_newmetatable(L, name);
    if (fn) lua_pushcfunction(L, fn);
    else lua_pushstring(L, type);
    lua_setfield(L, -2, field);
    lua_pop(L, 1);
}

int luaopen_rt_json(lua_State *L);
int luaopen_rt_json(lua_State *L) {
    make_metatable(L, READER, "__gc", NULL, reader_gc);
    make_metatable(L, WRITER, "__gc", NULL, writer_gc);
    make_metatable(L, ARRAY_META, "__jsontype", "array", NULL);
    make_metatable(L, NUMBER_META, "__jsontype", "number", NULL);
    make_metatable(L, NUMBER_META, "__tostring", NULL, number_tostring);
    make_metatable(L, NUMBER_META, "__eq", NULL, number_eq);
    static const luaL_Reg functions[] = {
        {"decode", decode}, {"encode", encode}, {"array", mark_array}, {"object", mark_object},
        {"number", make_number}, {"is_array", is_array}, {NULL, NULL},
    };
    luaL_newlib(L, functions);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    return 1;
}
