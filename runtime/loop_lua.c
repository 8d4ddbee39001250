// SPDX-License-Identifier: MIT
// loop_lua.c: rt.task.
#include <lauxlib.h>
#include <string.h>

#include "signals.h"
#include "task_state.h"
#include "vm.h"

#define QUEUE "nkiln.queue"

static const luaL_Reg queue_methods[];

static int lua_scope(lua_State *L) { return scope_open(L, -1); }

static double check_seconds(lua_State *L, int index) {
    double seconds = luaL_checknumber(L, index);
    luaL_argcheck(L, seconds == seconds, index, "seconds expected, got NaN");
    return seconds < 0 ? 0 : seconds > 1e9 ? 1e9 : seconds;
}

static int lua_deadline(lua_State *L) {
    double until = loop_now() + check_seconds(L, 1);
    lua_remove(L, 1);
    return scope_open(L, until);
}

// Methods of a task.

static struct task *check_task(lua_State *L, int index) { return luaL_checkudata(L, index, TASK); }

static int task_method_wait_again(lua_State *L, int status, lua_KContext context) {
    (void)status;
    struct task *t = check_task(L, 1);
    if (context) task_woken(L);
    if (t->state != TASK_DONE) return task_wait(L, &t->done, -1, 1, task_method_wait_again);
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 2);
    if (t->ok) {
        lua_getfield(L, 2, "n");
        int n = (int)lua_tointeger(L, -1);
        lua_pop(L, 1);
        luaL_checkstack(L, n, "results");
        for (int i = 1; i <= n; i++) lua_rawgeti(L, 2, i);
        return n;
    }
    if (task_is_end(L, 2)) return task_fail(L, "cancelled", "the task was cancelled");
    return lua_error(L);
}

static int task_method_wait(lua_State *L) {
    if (check_task(L, 1) == tasks_of(L)->current) return luaL_error(L, "a task cannot wait for itself");
    return task_method_wait_again(L, LUA_OK, 0);
}

static int task_method_cancel(lua_State *L) {
    task_cancel(check_task(L, 1));
    return 0;
}

static int task_method_status(lua_State *L) {
    struct task *t = check_task(L, 1);
    lua_pushstring(L, t->state != TASK_DONE ? "running" : t->ok ? "done" : "failed");
    return 1;
}

const luaL_Reg task_methods[] = {{"wait", task_method_wait},
                                        {"cancel", task_method_cancel},
                                        {"status", task_method_status},
                                        {"__gc", task_gc},
                                        {NULL, NULL}};

// Queues between tasks: values in user value 1 as a Lua table from `first` to `last`.
struct value_queue {
    lua_Integer first, last;
    bool closed;
    struct waitq waiting;
};

static int lua_queue(lua_State *L) {
    struct value_queue *q = lua_newuserdatauv(L, sizeof *q, 1);
    *q = (struct value_queue){.first = 1};
    lua_newtable(L);
    lua_setiuservalue(L, -2, 1);
    task_push_metatable(L, QUEUE, queue_methods);
    lua_setmetatable(L, -2);
    return 1;
}

static int queue_put(lua_State *L) {
    struct value_queue *q = luaL_checkudata(L, 1, QUEUE);
    luaL_argcheck(L, !lua_isnoneornil(L, 2), 2, "a value expected");
    if (q->closed) return luaL_error(L, "the queue is closed");
    lua_getiuservalue(L, 1, 1);
    lua_pushvalue(L, 2);
    lua_rawseti(L, -2, ++q->last);
    waitq_wake(&q->waiting);
    return 0;
}

static int queue_take_again(lua_State *L, int status, lua_KContext waited) {
    (void)status;
    struct value_queue *q = luaL_checkudata(L, 1, QUEUE);
    bool late = waited && task_woken(L);
    if (q->first <= q->last) {
        lua_getiuservalue(L, 1, 1);
        lua_rawgeti(L, -1, q->first);
        lua_pushnil(L);
        lua_rawseti(L, -3, q->first++);
        return 1;
    }
    if (q->closed) return task_fail(L, "closed", "the queue is closed");
    if (late) return task_fail(L, "timeout", "nothing arrived in time");
    return task_wait(L, &q->waiting, lua_isnil(L, 2) ? -1 : lua_tonumber(L, 2), 1, queue_take_again);
}

// queue:take([seconds])
static int queue_take(lua_State *L) {
    luaL_checkudata(L, 1, QUEUE);
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) {
        lua_pushnumber(L, loop_now() + check_seconds(L, 2));
        lua_replace(L, 2);
    }
    return queue_take_again(L, LUA_OK, 0);
}

static int queue_close(lua_State *L) {
    struct value_queue *q = luaL_checkudata(L, 1, QUEUE);
    q->closed = true;
    waitq_wake(&q->waiting);
    return 0;
}

static int queue_length(lua_State *L) {
    struct value_queue *q = luaL_checkudata(L, 1, QUEUE);
    lua_pushinteger(L, q->last - q->first + 1);
    return 1;
}

static const luaL_Reg queue_methods[] = {
    {"put", queue_put}, {"take", queue_take}, {"close", queue_close}, {"__len", queue_length}, {NULL, NULL}};

// Module functions.

static int lua_run(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    if (task_run_root(L, lua_gettop(L) - 1) != LUA_OK) return lua_error(L);
    return lua_gettop(L);
}

static int sleep_done(lua_State *L, int status, lua_KContext context) {
    (void)status;
    (void)context;
    task_woken(L);
    return 0;
}

static int lua_sleep(lua_State *L) {
    return task_wait(L, NULL, loop_now() + check_seconds(L, 1), 0, sleep_done);
}

static int lua_now(lua_State *L) {
    lua_pushnumber(L, loop_now());
    return 1;
}

static int lua_is_cancelled(lua_State *L) {
    lua_pushboolean(L, task_is_end(L, 1));
    return 1;
}

static int lua_check(lua_State *L) {
    task_check(L);
    return 0;
}

static int lua_inside(lua_State *L) {
    lua_pushboolean(L, task_inside(L));
    return 1;
}

static int lua_interrupted(lua_State *L) {
    lua_pushboolean(L, signals_count() > 0);
    return 1;
}

int luaopen_rt_task(lua_State *L) {
    static const luaL_Reg functions[] = {{"run", lua_run},
                                         {"scope", lua_scope},
                                         {"deadline", lua_deadline},
                                         {"sleep", lua_sleep},
                                         {"now", lua_now},
                                         {"queue", lua_queue},
                                         {"check", lua_check},
                                         {"inside", lua_inside},
                                         {"is_cancelled", lua_is_cancelled},
                                         {"interrupted", lua_interrupted},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}

