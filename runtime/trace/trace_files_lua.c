// SPDX-License-Identifier: MIT
// trace_files_lua.c: the readers of rt.trace: Parquet files as columns, or straight into a store.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"
#include "trace/codec.h"
#include "trace/json_stream.h"
#include "trace/neff.h"
#include "trace/parquet.h"
#include "trace/trace_lua.h"

#define PARQUET "rt.trace.parquet"
#define JSON "rt.trace.json"
#define NEFF "rt.trace.neff"

struct handle {
    struct parquet *parquet;
    struct column *columns; // of the batch that was read last
    int64_t rows, used;     // of it
    bool failed;
};

static const char *check_path(lua_State *L, int arg) {
    size_t size;
    const char *path = luaL_checklstring(L, arg, &size);
    luaL_argcheck(L, strlen(path) == size, arg, "a path cannot hold a NUL byte");
    return path;
}

static struct trace_watch watch_of(lua_State *L) {
    struct run_state *run = run_state(L);
    return (struct trace_watch){.interrupt = run ? &run->interrupt : NULL};
}

static struct handle *check_parquet(lua_State *L) {
    struct handle *h = luaL_checkudata(L, 1, PARQUET);
    if (!h->parquet) luaL_error(L, "this file is closed");
    return h;
}

static int parquet_gc(lua_State *L) {
    struct handle *h = luaL_checkudata(L, 1, PARQUET);
    parquet_close(h->parquet);
    free(h->columns);
    *h = (struct handle){0};
    return 0;
}

static int open_parquet(lua_State *L) {
    const char *path = check_path(L, 1), *folder = luaL_optstring(L, 2, NULL);
    lua_Integer memory = luaL_optinteger(L, 3, 0);
    luaL_argcheck(L, memory >= 0, 3, "a number of bytes is expected");
    struct handle *h = lua_newuserdatauv(L, sizeof *h, 1); // its value keeps the folder's name
    *h = (struct handle){0};
    luaL_setmetatable(L, PARQUET);
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, -2, 1);
    struct trace_watch watch = watch_of(L);
    struct trace_error err;
    if (!parquet_open(&h->parquet, path, folder, (size_t)memory, &watch, &err)) return trace_lua_failure(L, &err);
    h->columns = calloc((size_t)parquet_meta_of(h->parquet)->leaf_count + 1, sizeof *h->columns);
    return h->columns ? 1 : luaL_error(L, "out of memory");
}

static const char *type_name(const struct parquet_leaf *leaf) {
    if (leaf->max_repetition) return "str";
    switch (leaf->out) {
    case COLUMN_BOOL: return "bool";
    case COLUMN_INT32:
    case COLUMN_UINT32: return "i32";
    case COLUMN_INT64:
    case COLUMN_UINT64: return "i64";
    case COLUMN_FLOAT32: return "f32";
    case COLUMN_FLOAT64: return "f64";
    default: return "str";
    }
}

static void set_integer(lua_State *L, const char *name, lua_Integer value) {
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
}

static int parquet_info(lua_State *L) {
    const struct parquet_meta *m = parquet_meta_of(check_parquet(L)->parquet);
    lua_createtable(L, 0, 6);
    set_integer(L, "rows", m->rows);
    set_integer(L, "groups", m->group_count);
    lua_pushstring(L, m->created_by);
    lua_setfield(L, -2, "created_by");
    lua_createtable(L, m->leaf_count, 0);
    for (int i = 0; i < m->leaf_count; i++) {
        const struct parquet_leaf *leaf = &m->leaves[i];
        lua_createtable(L, 0, 4);
        lua_pushstring(L, leaf->name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, type_name(leaf));
        lua_setfield(L, -2, "type");
        lua_pushboolean(L, leaf->required);
        lua_setfield(L, -2, "required");
        lua_pushboolean(L, leaf->max_repetition > 0);
        lua_setfield(L, -2, "list");
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "fields");
    lua_createtable(L, 0, m->pairs);
    for (int i = 0; i < m->pairs; i++) {
        lua_pushstring(L, m->values[i]);
        lua_setfield(L, -2, m->keys[i]);
    }
    lua_setfield(L, -2, "metadata");
    return 1;
}

static bool add_element(struct column_builder *b, const struct column *c, int64_t i) {
    if (c->type == COLUMN_NONE || (c->valid && !c->valid[i])) return column_builder_null(b);
    switch (c->type) {
    case COLUMN_BOOL: return column_builder_integer(b, ((const uint8_t *)c->data)[i]);
    case COLUMN_INT32: return column_builder_integer(b, ((const int32_t *)c->data)[i]);
    case COLUMN_UINT32: return column_builder_integer(b, ((const uint32_t *)c->data)[i]);
    case COLUMN_INT64: return column_builder_integer(b, ((const int64_t *)c->data)[i]);
    case COLUMN_UINT64: {
        uint64_t v = ((const uint64_t *)c->data)[i];
        return v > INT64_MAX ? column_builder_double(b, (double)v) : column_builder_integer(b, (int64_t)v);
    }
    case COLUMN_FLOAT32: return column_builder_double(b, (double)((const float *)c->data)[i]);
    case COLUMN_FLOAT64: return column_builder_double(b, ((const double *)c->data)[i]);
    case COLUMN_TEXT: {
        const struct column_text *t = &((const struct column_text *)c->data)[i];
        return t->bytes ? column_builder_text(b, t->bytes, t->length) : column_builder_null(b);
    }
    case COLUMN_CODES: {
        int32_t code = ((const int32_t *)c->data)[i];
        return code < 0 ? column_builder_null(b) : column_builder_text(b, c->words[code].bytes, c->words[code].length);
    }
    default: return false;
    }
}

// Make sure that rows of a batch are at hand; false at the end or after a failure (then err->status tells).
static bool fill(struct handle *h, struct trace_error *err) {
    err->status = TRACE_OK;
    if (h->failed) return trace_fail(err, TRACE_WRONG_USE, "reading this file has failed before");
    if (h->used < h->rows) return true;
    h->used = 0;
    if (!parquet_next(h->parquet, h->columns, &h->rows, err)) {
        h->rows = 0;
        h->failed = true;
        return false;
    }
    return h->rows > 0;
}

static int read_rows(lua_State *L) { // handle, limit, builders
    struct handle *h = lua_touserdata(L, 1);
    int64_t limit = lua_tointeger(L, 2), rows = 0;
    struct column_builder *b = lua_touserdata(L, 3);
    const struct parquet_meta *m = parquet_meta_of(h->parquet);
    struct trace_error err;
    while (rows < limit && fill(h, &err)) {
        int64_t n = h->rows - h->used < limit - rows ? h->rows - h->used : limit - rows;
        for (int k = 0; k < m->leaf_count; k++)
            for (int64_t i = 0; i < n; i++)
                if (!add_element(&b[k], &h->columns[k], h->used + i)) return luaL_error(L, "out of memory");
        h->used += n;
        rows += n;
    }
    if (rows < limit && err.status != TRACE_OK) return trace_lua_failure(L, &err);
    if (!rows) return 0;
    lua_createtable(L, 0, m->leaf_count);
    for (int k = 0; k < m->leaf_count; k++) {
        trace_lua_push_builder(L, &b[k]);
        lua_setfield(L, -2, m->leaves[k].name);
    }
    lua_pushinteger(L, rows);
    return 2;
}

static int parquet_read(lua_State *L) {
    struct handle *h = check_parquet(L);
    lua_Integer limit = luaL_optinteger(L, 2, 65536);
    luaL_argcheck(L, limit > 0, 2, "a number of rows is expected");
    int count = parquet_meta_of(h->parquet)->leaf_count;
    struct column_builder *b = calloc((size_t)count + 1, sizeof *b);
    if (!b) return luaL_error(L, "out of memory");
    lua_settop(L, 1);
    lua_pushcfunction(L, read_rows);
    lua_insert(L, 1);
    lua_pushinteger(L, limit);
    lua_pushlightuserdata(L, b);
    int status = lua_pcall(L, 3, LUA_MULTRET, 0);
    for (int i = 0; i < count; i++) column_builder_free(&b[i]);
    free(b);
    return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

// (store, table, targets, limit): targets[k] is the name of field k's column, or false.
static int parquet_into(lua_State *L) {
    struct handle *h = check_parquet(L);
    struct store *s = trace_lua_store(L, 2);
    int table = store_find_table(s, luaL_checkstring(L, 3));
    if (table < 0) return luaL_error(L, "the store has no table %s", lua_tostring(L, 3));
    luaL_checktype(L, 4, LUA_TTABLE);
    lua_Integer limit = luaL_optinteger(L, 5, INT64_MAX);
    const struct parquet_meta *m = parquet_meta_of(h->parquet);
    int count = store_column_count(s, table);
    int *source = lua_newuserdatauv(L, (size_t)count * sizeof *source, 0);
    struct column *columns = lua_newuserdatauv(L, (size_t)count * sizeof *columns, 0);
    for (int i = 0; i < count; i++) source[i] = -1;
    for (int k = 0; k < m->leaf_count; k++) {
        if (lua_geti(L, 4, k + 1) == LUA_TSTRING) {
            int i = store_find_column(s, table, lua_tostring(L, -1));
            if (i < 0 || source[i] >= 0)
                return luaL_error(L, "table %s has no column %s, or it is given twice", lua_tostring(L, 3), lua_tostring(L, -1));
            source[i] = k;
        }
        lua_pop(L, 1);
    }
    int64_t rows = 0;
    struct trace_error err;
    while (rows < limit && fill(h, &err)) {
        int64_t n = h->rows;
        for (int i = 0; i < count; i++) columns[i] = source[i] < 0 ? (struct column){0} : h->columns[source[i]];
        h->used = h->rows;
        if (!store_append(s, table, columns, n, &err)) return trace_lua_failure(L, &err);
        rows += n;
    }
    if (rows < limit && err.status != TRACE_OK) return trace_lua_failure(L, &err);
    lua_pushinteger(L, rows);
    return 1;
}

// Read what is left and keep nothing: how many rows. For measuring, and to check a file.
static int parquet_skim(lua_State *L) {
    struct handle *h = check_parquet(L);
    int64_t rows = 0;
    struct trace_error err;
    while (fill(h, &err)) {
        rows += h->rows - h->used;
        h->used = h->rows;
    }
    if (err.status != TRACE_OK) return trace_lua_failure(L, &err);
    lua_pushinteger(L, rows);
    return 1;
}

static int parquet_choose(lua_State *L) {
    struct handle *h = check_parquet(L);
    const struct parquet_meta *m = parquet_meta_of(h->parquet);
    luaL_checktype(L, 2, LUA_TTABLE);
    bool *wanted = lua_newuserdatauv(L, (size_t)m->leaf_count + 1, 0);
    for (int k = 0; k < m->leaf_count; k++) {
        lua_geti(L, 2, k + 1);
        wanted[k] = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    parquet_select(h->parquet, wanted);
    return 0;
}

// NEFF and JSON ------------------------------------------------------------------------------------------------------

static int neff_gc(lua_State *L) {
    neff_free(luaL_checkudata(L, 1, NEFF));
    return 0;
}

static void set_text(lua_State *L, const char *name, const char *text) {
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

static void set_hex(lua_State *L, const char *name, const uint8_t *bytes, int size) {
    char text[65] = "";
    for (int i = 0; i < size; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    set_text(L, name, text);
}

static int read_neff(lua_State *L) {
    const char *path = check_path(L, 1);
    bool list = true;
    if (!lua_isnoneornil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        list = lua_getfield(L, 2, "members") == LUA_TNIL || lua_toboolean(L, -1);
    }
    struct neff *n = lua_newuserdatauv(L, sizeof *n, 0);
    memset(n, 0, sizeof *n);
    luaL_setmetatable(L, NEFF);
    struct trace_watch watch = watch_of(L);
    struct trace_error err;
    if (!neff_read(n, path, list, &watch, &err)) return trace_lua_failure(L, &err);
    lua_createtable(L, 0, 14);
    set_text(L, "path", path);
    set_integer(L, "size", (lua_Integer)n->data_size + NEFF_HEADER);
    set_integer(L, "pkg_version", (lua_Integer)n->package_version);
    set_integer(L, "major", (lua_Integer)n->major);
    set_integer(L, "minor", (lua_Integer)n->minor);
    set_text(L, "build", n->build);
    set_integer(L, "tpb", n->cores);
    set_hex(L, "hash", n->hash, n->package_version == 2 ? 16 : 32); // an md5 fills half of the field
    set_hex(L, "uuid", n->uuid, 16);
    set_text(L, "name", n->name);
    set_integer(L, "features", (lua_Integer)n->feature_bits);
    set_integer(L, "lnc", n->lnc);
    lua_pushboolean(L, n->gzipped);
    lua_setfield(L, -2, "gzipped");
    if (list) {
        lua_createtable(L, n->count, 0);
        for (int i = 0; i < n->count; i++) {
            lua_createtable(L, 0, 2);
            set_text(L, "name", n->members[i].name);
            set_integer(L, "size", n->members[i].size);
            lua_rawseti(L, -2, i + 1);
        }
        lua_setfield(L, -2, "members");
    }
    neff_free(n);
    return 1;
}

static int json_gc(lua_State *L) {
    struct json_stream **s = luaL_checkudata(L, 1, JSON);
    json_stream_close(*s);
    *s = NULL;
    return 0;
}

static int json_open(lua_State *L) {
    struct json_stream **s = lua_newuserdatauv(L, sizeof *s, 0);
    *s = NULL;
    luaL_setmetatable(L, JSON);
    struct trace_error err;
    return json_stream_open(s, check_path(L, 1), &err) ? 1 : trace_lua_failure(L, &err);
}

static int json_next(lua_State *L) {
    struct json_stream **s = luaL_checkudata(L, 1, JSON);
    if (!*s) return luaL_error(L, "this file is closed");
    struct trace_watch watch = watch_of(L);
    struct json_record record;
    struct trace_error err;
    if (trace_stopped(&watch)) {
        trace_fail(&err, TRACE_INTERRUPTED, "interrupted");
        return trace_lua_failure(L, &err);
    }
    if (!json_stream_next(*s, &record, &err)) return trace_lua_failure(L, &err);
    if (!record.section) return 0;
    lua_pushstring(L, record.section);
    lua_pushlstring(L, record.text, record.size);
    lua_pushboolean(L, record.element);
    lua_pushinteger(L, record.offset);
    return 4;
}

static int codec_needs(lua_State *L) {
    static const int codecs[] = {CODEC_SNAPPY, CODEC_GZIP, CODEC_ZSTD, CODEC_LZ4_RAW, CODEC_BROTLI};
    lua_createtable(L, 0, 5);
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        struct trace_error err;
        if (codec_load(codecs[i], &err)) lua_pushboolean(L, 1);
        else lua_pushstring(L, err.message);
        lua_setfield(L, -2, codec_name(codecs[i]));
    }
    return 1;
}

void trace_lua_open_files(lua_State *L) {
    static const luaL_Reg methods[] = {
        {"info", parquet_info}, {"read", parquet_read},  {"into", parquet_into}, {"skim", parquet_skim},
        {"select", parquet_choose}, {"close", parquet_gc}, {NULL, NULL},
    };
    static const luaL_Reg none[] = {{NULL, NULL}}, json_methods[] = {{"next", json_next}, {"close", json_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"parquet_open", open_parquet}, {"neff", read_neff}, {"json_open", json_open}, {"codecs", codec_needs}, {NULL, NULL},
    };
    trace_lua_class(L, PARQUET, methods, parquet_gc);
    trace_lua_class(L, NEFF, none, neff_gc);
    trace_lua_class(L, JSON, json_methods, json_gc);
    luaL_setfuncs(L, functions, 0);
}
