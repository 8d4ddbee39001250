// SPDX-License-Identifier: MIT
// ops_call_lua.c: calls. The binder maps positional and keyword arguments to parameters. For a Python function it
// returns the Lua function and its arguments, and the lowered code calls it, so that recursion in Python does not nest
// C calls (Lua allows about 200). A native function is called here. What a call site's keywords mean for the callee is
// remembered at the site, so the usual call costs one comparison.
#include <stdio.h>
#include <string.h>

#include "python/ops_lua.h"

enum { PARAMS_MAX = 200, MAP_MAX = 64 };

struct pv_signature {
    int positional, posonly, kwonly, params; // params = positional + kwonly
    bool varargs, kwargs, python;
    const char *name;   // anchored, as the names are, in user value 1
    const char **names; // params of them, in the space behind
    bool *required;     // params of them
};

struct pv_callable {
    const struct pv_signature
        *signature; // anchored in user value 2; user value 1 = Lua function, 3 = defaults, 4 = info
};

struct pv_keywords {
    int count;
    int arguments;      // for which `map` was made
    const void *bound;  // signature for which `map` was made, NULL = none
    const char **names; // anchored in user value 1
    uint8_t map[MAP_MAX];
};

enum { FN = 1, SIGNATURE, DEFAULTS, INFO };

// signature{ name=, params={...}, positional=, posonly=, varargs=, kwargs=, python=, required={bool...} } -> userdata
static int op_signature(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "params");
    int params = (int)lua_rawlen(L, -1);
    if (params > PARAMS_MAX) return luaL_error(L, "more than %d parameters", PARAMS_MAX);
    struct pv_signature *s = lua_newuserdatauv(L, sizeof *s + (size_t)params * (sizeof(char *) + 1), 1);
    memset(s, 0, sizeof *s);
    s->params = params;
    s->names = (const char **)(s + 1);
    s->required = (bool *)(s->names + params);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, 3, 1);
    lua_getfield(L, 1, "required");
    for (int i = 0; i < params; i++) {
        lua_rawgeti(L, 2, i + 1);
        s->names[i] = luaL_checkstring(L, -1);
        lua_rawgeti(L, 4, i + 1);
        s->required[i] = lua_toboolean(L, -1);
        lua_pop(L, 2);
    }
    if (lua_getfield(L, 1, "qualname") == LUA_TNIL) lua_getfield(L, 1, "name");
    s->name = luaL_checkstring(L, -1);
    lua_getfield(L, 1, "positional");
    s->positional = (int)luaL_checkinteger(L, -1);
    lua_getfield(L, 1, "posonly");
    s->posonly = (int)luaL_optinteger(L, -1, 0);
    s->kwonly = params - s->positional;
    lua_getfield(L, 1, "varargs");
    s->varargs = lua_toboolean(L, -1);
    lua_getfield(L, 1, "kwargs");
    s->kwargs = lua_toboolean(L, -1);
    lua_getfield(L, 1, "python");
    s->python = lua_toboolean(L, -1);
    lua_settop(L, 3);
    return 1;
}

// callable(signature, fn, defaults, info) -> userdata
static int op_callable(lua_State *L) {
    lua_settop(L, 4);
    struct pv_callable *c = lua_newuserdatauv(L, sizeof *c, 4);
    c->signature = lua_touserdata(L, 1);
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, 5, FN);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, 5, SIGNATURE);
    lua_pushvalue(L, 3);
    lua_setiuservalue(L, 5, DEFAULTS);
    lua_pushvalue(L, 4);
    lua_setiuservalue(L, 5, INFO);
    pv_set_kind(L, PV_CALLABLE);
    return 1;
}

// callable_parts(callable) -> fn, signature's description, defaults, info
static int op_callable_parts(lua_State *L) {
    if (pv_kind(L, 1) != PV_CALLABLE) return 0;
    lua_getiuservalue(L, 1, FN);
    lua_getiuservalue(L, 1, SIGNATURE);
    lua_getiuservalue(L, -1, 1);
    lua_remove(L, -2);
    lua_getiuservalue(L, 1, DEFAULTS);
    lua_getiuservalue(L, 1, INFO);
    return 4;
}

// keywords{names} -> userdata for one call site
static int op_keywords(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    int count = (int)lua_rawlen(L, 1);
    struct pv_keywords *k = lua_newuserdatauv(L, sizeof *k + (size_t)count * sizeof(char *), 1);
    memset(k, 0, sizeof *k);
    k->names = (const char **)(k + 1);
    k->count = count;
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, 1, i + 1);
        k->names[i] = luaL_checkstring(L, -1);
        lua_pop(L, 1);
    }
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, 2, 1);
    return 1;
}

// --- errors ---------------------------------------------------------------------------------------------------------

static _Noreturn void bind_error(lua_State *L, const struct pv_signature *s, const char *code, const char *param,
                                 const char *message) {
    pv_push_error(L, "TypeError", code, "%s() %s", s->name, message);
    lua_pushstring(L, s->name);
    lua_setfield(L, -2, "func");
    if (param) {
        lua_pushstring(L, param);
        lua_setfield(L, -2, "param");
    }
    lua_createtable(L, s->params, 0);
    for (int i = 0; i < s->params; i++) {
        lua_pushstring(L, s->names[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "params");
    lua_error(L);
    __builtin_unreachable();
}

static _Noreturn void missing_error(lua_State *L, const struct pv_signature *s, const bool *missing) {
    char text[1024];
    const char *first = NULL;
    bool positional = false;
    int count = 0;
    for (int i = 0; i < s->positional; i++) positional |= missing[i];
    int from = positional ? 0 : s->positional, to = positional ? s->positional : s->params, seen = 0;
    for (int i = from; i < to; i++) count += missing[i];
    size_t n = (size_t)snprintf(text, sizeof text, "missing %d required %s argument%s: ", count,
                                positional ? "positional" : "keyword-only", count > 1 ? "s" : "");
    for (int i = from; i < to && n < sizeof text; i++) {
        if (!missing[i]) continue;
        if (!first) first = s->names[i];
        seen++;
        const char *glue = seen == 1 ? "" : seen < count ? ", " : count == 2 ? " and " : ", and ";
        n += (size_t)snprintf(text + n, sizeof text - n, "%s'%s'", glue, s->names[i]);
    }
    bind_error(L, s, "missing-argument", first, text);
}

static _Noreturn void count_error(lua_State *L, const struct pv_signature *s, int given, int given_kwonly) {
    char text[256], extra[96] = "";
    int least = 0;
    for (int i = 0; i < s->positional; i++) least += s->required[i];
    if (given_kwonly) {
        snprintf(extra, sizeof extra, " positional argument%s (and %d keyword-only argument%s)", given == 1 ? "" : "s",
                 given_kwonly, given_kwonly == 1 ? "" : "s");
    }
    if (least == s->positional) {
        snprintf(text, sizeof text, "takes %d positional argument%s but %d%s %s given", least, least == 1 ? "" : "s",
                 given, extra, given == 1 && !given_kwonly ? "was" : "were");
    } else {
        snprintf(text, sizeof text, "takes from %d to %d positional arguments but %d%s %s given", least, s->positional,
                 given, extra, given == 1 && !given_kwonly ? "was" : "were");
    }
    bind_error(L, s, "too-many-arguments", NULL, text);
}

// --- binding --------------------------------------------------------------------------------------------------------

static int find_parameter(const struct pv_signature *s, const char *name, int from) {
    for (int i = from; i < s->params; i++) {
        if (s->names[i] == name || strcmp(s->names[i], name) == 0) return i;
    }
    return -1;
}

// map[i] = which argument (from 1) parameter i takes, 0 = none. Keywords that only **kwargs takes are left out.
static void make_map(lua_State *L, const struct pv_signature *s, int positional, const struct pv_keywords *k,
                     uint8_t *map) {
    int keywords = k ? k->count : 0;
    if (positional + keywords > 250) pv_raise(L, "TypeError", "%s() called with more than 250 arguments", s->name);
    memset(map, 0, (size_t)s->params);
    for (int i = 0; i < positional && i < s->positional; i++) map[i] = (uint8_t)(i + 1);
    int given_kwonly = 0;
    for (int j = 0; j < keywords; j++) {
        int i = find_parameter(s, k->names[j], s->posonly);
        char text[256];
        if (i < 0) {
            if (s->kwargs) continue;
            if (find_parameter(s, k->names[j], 0) >= 0) {
                snprintf(text, sizeof text, "got some positional-only arguments passed as keyword arguments: '%s'",
                         k->names[j]);
                bind_error(L, s, "unexpected-keyword", k->names[j], text);
            }
            snprintf(text, sizeof text, "got an unexpected keyword argument '%s'", k->names[j]);
            bind_error(L, s, "unexpected-keyword", k->names[j], text);
        }
        if (map[i]) {
            snprintf(text, sizeof text, "got multiple values for argument '%s'", k->names[j]);
            bind_error(L, s, "duplicate-argument", k->names[j], text);
        }
        if (i >= s->positional) given_kwonly++;
        map[i] = (uint8_t)(positional + j + 1);
    }
    if (positional > s->positional && !s->varargs) count_error(L, s, positional, given_kwonly);
    bool missing[PARAMS_MAX], any = false;
    for (int i = 0; i < s->params; i++) any |= missing[i] = s->required[i] && !map[i];
    if (any) missing_error(L, s, missing);
}

// Push the arguments for `s` from those above index f; returns how many.
static int push_bound(lua_State *L, const struct pv_signature *s, int f, struct pv_keywords *k, int defaults) {
    int given = lua_gettop(L) - f - (defaults ? 2 : 1); // the callee and its defaults were pushed behind them
    int keywords = k ? k->count : 0, positional = given - keywords;
    uint8_t local[PARAMS_MAX];
    uint8_t *map = local;
    luaL_checkstack(L, s->params + given + 8, "call");
    if (k && s->params <= MAP_MAX) {
        map = k->map;
        if (k->bound != s || k->arguments != given) {
            k->bound = NULL;
            make_map(L, s, positional, k, map);
            k->bound = s;
            k->arguments = given;
        }
    } else {
        make_map(L, s, positional, k, map);
    }
    for (int i = 0; i < s->params; i++) {
        if (map[i]) {
            lua_pushvalue(L, f + map[i]);
        } else if (!defaults) {
            lua_pushnil(L);
        } else if (lua_rawgeti(L, defaults, i + 1) == LUA_TNIL) {
            lua_pop(L, 1);
            pv_push_none(L);
        }
    }
    int pushed = s->params;
    int extra = positional > s->positional ? positional - s->positional : 0;
    if (s->varargs && s->python) {
        lua_createtable(L, extra, 0);
        for (int i = 0; i < extra; i++) {
            lua_pushvalue(L, f + s->positional + i + 1);
            lua_rawseti(L, -2, i + 1);
        }
        pv_set_kind(L, PV_TUPLE);
        pushed++;
    }
    if (s->kwargs) {
        pv_dict_new(L, PV_DICT, 0);
        int dict = lua_gettop(L);
        for (int j = 0; j < keywords; j++) {
            if (find_parameter(s, k->names[j], s->posonly) >= 0) continue;
            lua_pushstring(L, k->names[j]);
            pv_dict_set(L, dict, dict + 1, f + positional + j + 1);
            lua_settop(L, dict);
        }
        pushed++;
    }
    if (s->varargs && !s->python) {
        for (int i = 0; i < extra; i++) lua_pushvalue(L, f + s->positional + i + 1);
        pushed += extra;
    }
    return pushed;
}

static _Noreturn void not_callable(lua_State *L, int f) {
    pv_raise(L, "TypeError", "'%s' object is not callable", pv_type_name(L, f));
}

// Put the pieces of a call in place: a Lua function or callable at f, its self inserted. True when an object was made
// whose __init__ is being called.
static bool resolve(lua_State *L, int f) {
    bool construct = false;
    for (int hops = 0; hops < 8; hops++) {
        int type = lua_type(L, f);
        if (type == LUA_TFUNCTION) return construct;
        enum pv_kind kind = pv_kind(L, f);
        if (kind == PV_CALLABLE) return construct;
        if (kind == PV_SCALAR || kind == PV_NONE) not_callable(L, f);
        if (kind == PV_METHOD) {
            lua_rawgeti(L, f, 2);
            lua_rawgeti(L, f, 1);
            lua_insert(L, f + 1);
            lua_replace(L, f);
            continue;
        }
        pv_push_slow(L, SLOW_CALLEE);
        lua_pushvalue(L, f);
        lua_call(L, 1, 3);
        if (lua_isnil(L, -3)) not_callable(L, f);
        construct = construct || lua_toboolean(L, -1);
        lua_pop(L, 1);
        if (lua_isnil(L, -1)) {
            lua_pop(L, 1);
        } else {
            lua_insert(L, f + 1);
        }
        lua_replace(L, f);
    }
    not_callable(L, f);
}

// The Lua function at index fn and everything above it, as results or called.
static int finish(lua_State *L, int fn, bool construct, bool tail) {
    if (construct) {
        pv_push_slow(L, SLOW_INIT);
        lua_insert(L, fn);
    }
    if (tail) return lua_gettop(L) - fn + 1;
    lua_call(L, lua_gettop(L) - fn, 1);
    return 1;
}

static int native_result(lua_State *L, bool tail) {
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        pv_push_none(L);
    }
    if (!tail) return 1;
    pv_push_slow(L, SLOW_IDENTITY);
    lua_insert(L, -2);
    return 2;
}

int pv_call(lua_State *L, int f, struct pv_keywords *k, bool tail) {
    pv_steps(L, 1);
    bool construct = lua_type(L, f) == LUA_TFUNCTION ? false : resolve(L, f);
    if (k && k->count == 0) k = NULL;
    if (lua_type(L, f) == LUA_TFUNCTION) {
        pv_ops(L)->last_count = lua_gettop(L) - f;
        if (!k) {
            if (!lua_iscfunction(L, f)) return finish(L, f, construct, tail);
            lua_call(L, lua_gettop(L) - f, 1);
            return native_result(L, tail);
        }
        lua_rawgeti(L, LUA_REGISTRYINDEX, pv_ops(L)->info);
        lua_pushvalue(L, f);
        lua_rawget(L, -2);
        lua_remove(L, -2);
        const struct pv_signature *s = lua_touserdata(L, -1);
        if (!s) pv_raise(L, "TypeError", "this function takes no keyword arguments");
        lua_pop(L, 1);
        lua_pushvalue(L, f);
        int fn = lua_gettop(L);
        push_bound(L, s, f, k, 0);
        return finish(L, fn, construct, tail);
    }
    const struct pv_signature *s = ((struct pv_callable *)lua_touserdata(L, f))->signature;
    if (s->python) {
        lua_getiuservalue(L, f, FN);
        int fn = lua_gettop(L);
        push_bound(L, s, f, k, 0);
        return finish(L, fn, construct, tail);
    }
    lua_getiuservalue(L, f, DEFAULTS);
    lua_getiuservalue(L, f, FN);
    int fn = lua_gettop(L);
    int count = push_bound(L, s, f, k, fn - 1);
    if (construct) {
        pv_push_slow(L, SLOW_INIT);
        lua_insert(L, fn);
        count++;
    }
    lua_call(L, count, 1);
    return native_result(L, tail);
}

// --- what lowered code calls
// ------------------------------------------------------------------------------------------

// BIND(site, f, ...) -> function, arguments
static int op_bind(lua_State *L) {
    pv_site(L, 1);
    return pv_call(L, 2, NULL, true);
}

// BINDK(site, keywords, f, ...) -> function, arguments
static int op_bind_keywords(lua_State *L) {
    pv_site(L, 1);
    return pv_call(L, 3, lua_touserdata(L, 2), true);
}

// CALL(site, f, ...), CALLK(site, keywords, f, ...) -> result, for callees that are likely native
static int op_call(lua_State *L) {
    pv_site(L, 1);
    return pv_call(L, 2, NULL, false);
}

static int op_call_keywords(lua_State *L) {
    pv_site(L, 1);
    return pv_call(L, 3, lua_touserdata(L, 2), false);
}

// bind(f, ...) -> function, arguments: for Lua code, leaves the site alone
static int op_bind_plain(lua_State *L) { return pv_call(L, 1, NULL, true); }

static int call_spread(lua_State *L, int list, int dict, bool tail);

// BINDV(site, f, list, dict or nil) -> function, arguments: starred calls
static int op_bind_spread(lua_State *L) {
    pv_site(L, 1);
    lua_remove(L, 1);
    return call_spread(L, 2, 3, true);
}

// bind_spread(f, list, dict or nil) -> function, arguments
static int op_bind_spread_plain(lua_State *L) { return call_spread(L, 2, 3, true); }

static int call_spread(lua_State *L, int list, int dict, bool tail) {
    lua_settop(L, 3);
    lua_Integer n = (lua_Integer)lua_rawlen(L, list);
    int count = lua_istable(L, dict) ? (int)pv_dict_count(L, dict) : 0;
    if (n + count > 250) pv_raise(L, "TypeError", "a call with more than 250 arguments is not supported");
    luaL_checkstack(L, (int)n + count * 2 + 20, "call");
    struct pv_keywords *k = NULL;
    if (count) {
        k = lua_newuserdatauv(L, sizeof *k + (size_t)count * sizeof(char *), 0);
        memset(k, 0, sizeof *k);
        k->names = (const char **)(k + 1);
        k->count = count;
    }
    lua_pushvalue(L, 1);
    int f = lua_gettop(L);
    for (lua_Integer i = 1; i <= n; i++) lua_rawgeti(L, list, i);
    if (count) {
        lua_rawgeti(L, dict, 5);
        lua_Integer top = lua_tointeger(L, -1);
        lua_pop(L, 1);
        lua_rawgeti(L, dict, 3); // keys, moved below f so that only arguments lie above it
        lua_insert(L, f);
        f++;
        int filled = 0;
        for (lua_Integer i = 1; i <= top && filled < count; i++) {
            if (lua_rawgeti(L, f - 1, i) == LUA_TNIL) {
                lua_pop(L, 1);
                continue;
            }
            if (lua_type(L, -1) != LUA_TSTRING) pv_raise(L, "TypeError", "keywords must be strings");
            k->names[filled++] = lua_tostring(L, -1);
            if (!pv_dict_get(L, dict, lua_gettop(L))) lua_pushnil(L);
            lua_remove(L, -2);
        }
    }
    return pv_call(L, f, k, tail);
}

// ARITY(signature): the arguments of the call just bound do not fit a function that checks them itself.
static int op_arity(lua_State *L) {
    const struct pv_signature *s = lua_touserdata(L, 1);
    int given = pv_ops(L)->last_count;
    if (given > s->positional) count_error(L, s, given, 0);
    bool missing[PARAMS_MAX] = {0};
    for (int i = given; i < s->positional; i++) missing[i] = s->required[i];
    missing_error(L, s, missing);
}

// __call of a callable, for Lua code that calls one as a function.
static int callable_call(lua_State *L) { return pv_call(L, 1, NULL, false); }

void pv_register_call(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"signature", op_signature},
        {"callable", op_callable},
        {"callable_parts", op_callable_parts},
        {"callable_call", callable_call},
        {"keywords", op_keywords},
        {"BIND", op_bind},
        {"BINDK", op_bind_keywords},
        {"BINDV", op_bind_spread},
        {"CALL", op_call},
        {"CALLK", op_call_keywords},
        {"ARITY", op_arity},
        {"bind", op_bind_plain},
        {"bind_spread", op_bind_spread_plain},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
