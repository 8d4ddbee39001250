// SPDX-License-Identifier: MIT
// http_lua.c: rt.http, a thin binding of http.h, for worker processes.
//
//   http.request{ url=, method="GET", headers={"Name: value", ...}, body=, seconds=60, limit=bytes }
//     -> { status=, body= } | nil, { code=, message= }; codes: missing usage unreachable timeout too_large interrupted failed
#include <lauxlib.h>
#include <lua.h>

#include "http.h"
#include "run.h"

struct holder {
    struct http_answer answer;
};

static int holder_close(lua_State *L) {
    struct holder *h = lua_touserdata(L, 1);
    bytebuf_free(&h->answer.body);
    return 0;
}

static int request(lua_State *L) {
    enum { HEADERS = 32 };
    static const char *const codes[] = {"ok", "missing", "usage", "unreachable", "timeout", "too_large", "interrupted", "failed"};
    const char *headers[HEADERS + 1] = {NULL};
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, HEADERS + 12, "headers");
    struct run_state *run = run_state(L);
    struct http_request r = {.method = "GET", .interrupt = run ? &run->interrupt : NULL};
    lua_getfield(L, 1, "url");
    r.url = luaL_checkstring(L, 2);
    lua_getfield(L, 1, "method");
    r.method = luaL_optstring(L, 3, "GET");
    lua_getfield(L, 1, "body");
    r.body = luaL_optlstring(L, 4, NULL, &r.body_size);
    lua_getfield(L, 1, "seconds");
    r.seconds = luaL_optnumber(L, 5, 0);
    lua_getfield(L, 1, "limit");
    r.limit = (size_t)luaL_optinteger(L, 6, 0);
    if (lua_getfield(L, 1, "headers") == LUA_TTABLE)
        for (int i = 0; i < HEADERS && lua_rawgeti(L, 7, i + 1) == LUA_TSTRING; i++) headers[i] = lua_tostring(L, -1);
    r.headers = headers;
    struct holder *h = lua_newuserdatauv(L, sizeof *h, 0);
    *h = (struct holder){0};
    if (luaL_newmetatable(L, "rt.http.answer")) {
        lua_pushcfunction(L, holder_close);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    enum http_result result = http_perform(&r, &h->answer);
    if (result != HTTP_OK) {
        lua_pushnil(L);
        lua_createtable(L, 0, 2);
        lua_pushstring(L, codes[result]);
        lua_setfield(L, -2, "code");
        lua_pushstring(L, h->answer.message);
        lua_setfield(L, -2, "message");
        return 2;
    }
    lua_createtable(L, 0, 2);
    lua_pushinteger(L, h->answer.status);
    lua_setfield(L, -2, "status");
    lua_pushlstring(L, h->answer.body.data ? h->answer.body.data : "", h->answer.body.len);
    lua_setfield(L, -2, "body");
    return 1;
}

int luaopen_rt_http(lua_State *L);
int luaopen_rt_http(lua_State *L) {
    static const luaL_Reg functions[] = {{"request", request}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
