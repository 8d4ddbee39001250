// SPDX-License-Identifier: MIT
// watch_lua.c: rt.watch.
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"
#include "watch.h"

#define WATCH "nkiln.watch"

struct watch {
    struct watcher *watcher; // NULL when closed
    struct waitq changed;
};

static void on_ready(void *data) {
    struct watch *w = data;
    waitq_wake(&w->changed);
}

static struct watch *check_watch(lua_State *L) { return luaL_checkudata(L, 1, WATCH); }

static int watch_close(lua_State *L) {
    struct watch *w = check_watch(L);
    watcher_free(w->watcher);
    w->watcher = NULL;
    waitq_wake(&w->changed);
    return 0;
}

static int paths_gc(lua_State *L) {
    char ***box = lua_touserdata(L, 1);
    free(*box);
    *box = NULL;
    return 0;
}

static int next_again(lua_State *L, int status, lua_KContext waited) {
    struct watch *w = check_watch(L);
    (void)status;
    bool late = waited && task_woken(L);
    if (!w->watcher) return task_fail(L, "closed", "the watch is closed");
    lua_settop(L, 2);
    char **paths = watcher_take(w->watcher);
    if (paths) {
        size_t n = 0;
        while (paths[n]) n++;
        char ***box = lua_newuserdatauv(L, sizeof *box, 0); // holds the block: pushing strings can raise
        *box = paths;
        lua_createtable(L, 0, 1);
        lua_pushcfunction(L, paths_gc);
        lua_setfield(L, -2, "__gc");
        lua_setmetatable(L, -2);
        lua_createtable(L, (int)n, 0);
        for (size_t i = 0; i < n; i++) {
            lua_pushstring(L, paths[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        return 1;
    }
    if (late) return task_fail(L, "timeout", "nothing changed in time");
    return task_wait(L, &w->changed, lua_isnil(L, 2) ? -1 : lua_tonumber(L, 2), 1, next_again);
}

// watch:next([seconds]) -> list of changed paths | nil, err
static int watch_next(lua_State *L) {
    check_watch(L);
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) {
        double seconds = luaL_checknumber(L, 2);
        lua_pushnumber(L, loop_now() + (seconds > 0 ? seconds : 0));
        lua_replace(L, 2);
    }
    return next_again(L, LUA_OK, 0);
}

static int watch_add(lua_State *L) {
    struct watch *w = check_watch(L);
    const char *path = luaL_checkstring(L, 2);
    if (!w->watcher) return luaL_error(L, "the watch is closed");
    int error = watcher_add(w->watcher, path);
    if (error) return task_fail(L, "failed", "cannot watch %s: %s", path, strerror(error));
    lua_pushboolean(L, 1);
    return 1;
}

static int watch_polling(lua_State *L) {
    struct watch *w = check_watch(L);
    lua_pushboolean(L, w->watcher && watcher_polling(w->watcher));
    return 1;
}

// watch.new{ path, ... } -> watch | nil, err
static int watch_new(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct loop *loop = task_loop(L);
    struct watch *w = lua_newuserdatauv(L, sizeof *w, 0);
    memset(w, 0, sizeof *w);
    if (luaL_newmetatable(L, WATCH)) {
        static const luaL_Reg methods[] = {{"next", watch_next},     {"add", watch_add},       {"polling", watch_polling}, {"close", watch_close},
                                           {"__close", watch_close}, {"__gc", watch_close},    {NULL, NULL}};
        luaL_setfuncs(L, methods, 0);
        lua_pushvalue(L, -1);
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
    w->watcher = watcher_new(loop, on_ready, w);
    if (!w->watcher) return luaL_error(L, "not enough memory");
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 1); i++) {
        lua_rawgeti(L, 1, i);
        const char *path = luaL_checkstring(L, -1);
        int error = watcher_add(w->watcher, path);
        if (error) return task_fail(L, "failed", "cannot watch %s: %s", path, strerror(error));
        lua_pop(L, 1);
    }
    task_own(L, 2);
    return 1;
}

int luaopen_rt_watch(lua_State *L) {
    static const luaL_Reg functions[] = {{"new", watch_new}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
