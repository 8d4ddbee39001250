// SPDX-License-Identifier: MIT
// task.c: tasks. One struct tasks per Lua state, made at first use, holds the loop and the queue of tasks that can run.
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "signals.h"
#include "task_state.h"
#include "vm.h"

enum { STUBBORN = 100 }; // ends caught before a task is stopped at every instruction
#define ENDED "nkiln.cancelled" // metatable of the error that ends a task

static const char tasks_key = 0;
static const char token = 0;

void *task_token(void) { return (void *)&token; }

void task_queue_add(struct waitq *q, struct task *t) {
    t->queue = q;
    t->queue_next = NULL;
    t->queue_prev = q->last;
    if (q->last)
        q->last->queue_next = t;
    else
        q->first = t;
    q->last = t;
}

void task_queue_remove(struct task *t) {
    struct waitq *q = t->queue;
    if (!q) return;
    if (t->queue_prev)
        t->queue_prev->queue_next = t->queue_next;
    else
        q->first = t->queue_next;
    if (t->queue_next)
        t->queue_next->queue_prev = t->queue_prev;
    else
        q->last = t->queue_prev;
    t->queue = NULL;
}

void task_wake(struct task *t) {
    if (t->state != TASK_WAITING) return;
    task_queue_remove(t);
    loop_timer_stop(&t->timer);
    t->state = TASK_READY;
    task_queue_add(&t->all->ready, t);
}

void waitq_wake(struct waitq *queue) {
    while (queue->first) task_wake(queue->first);
}

static void on_timer(struct loop_timer *timer) {
    struct task *t = timer->data;
    t->timed_out = true;
    task_wake(t);
}

static int tasks_gc(lua_State *L) {
    struct tasks *ts = lua_touserdata(L, 1);
    loop_watch_remove(&ts->signals);
    loop_free(ts->loop);
    ts->loop = NULL;
    return 0;
}

void task_cancel(struct task *t) {
    if (t->state == TASK_DONE || t->cancelled) return;
    t->cancelled = true;
    task_wake(t);
}

static void on_signal(struct loop_watch *watch, short revents) {
    (void)revents;
    struct tasks *ts = watch->data;
    signals_drain();
    if (ts->root) task_cancel(ts->root);
}

struct tasks *tasks_of(lua_State *L) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &tasks_key) == LUA_TUSERDATA) {
        struct tasks *ts = lua_touserdata(L, -1);
        lua_pop(L, 1);
        if (!ts->loop) luaL_error(L, "this state is closing");
        return ts;
    }
    lua_pop(L, 1);
    struct tasks *ts = lua_newuserdatauv(L, sizeof *ts, 0);
    memset(ts, 0, sizeof *ts);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, tasks_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    ts->loop = loop_new();
    if (!ts->loop) luaL_error(L, "not enough memory");
    signal(SIGPIPE, SIG_IGN); // a closed pipe is an error of one write, not the end of the process
    lua_rawsetp(L, LUA_REGISTRYINDEX, &tasks_key);
    return ts;
}

struct loop *task_loop(lua_State *L) { return tasks_of(L)->loop; }

void task_at_end(lua_State *L, void (*fn)(void *data), void *data) {
    struct tasks *ts = tasks_of(L);
    for (size_t i = 0; i < sizeof ts->at_end / sizeof *ts->at_end; i++)
        if (!ts->at_end[i].fn) {
            ts->at_end[i].fn = fn;
            ts->at_end[i].data = data;
            return;
        }
    luaL_error(L, "too many functions to call at the end");
}

bool task_inside(lua_State *L) { return tasks_of(L)->current != NULL; }

struct task *task_current(lua_State *L) {
    struct task *t = tasks_of(L)->current;
    if (!t) luaL_error(L, "this function waits, so it must be called inside a task");
    return t;
}

int task_fail(lua_State *L, const char *code, const char *format, ...) {
    lua_pushnil(L);
    lua_createtable(L, 0, 2);
    va_list args;
    va_start(args, format);
    lua_pushvfstring(L, format, args);
    va_end(args);
    lua_setfield(L, -2, "message");
    lua_pushstring(L, code);
    lua_setfield(L, -2, "code");
    return 2;
}

static int ended_tostring(lua_State *L) {
    lua_getfield(L, 1, "message");
    return 1;
}

static void push_ended(lua_State *L, const char *message) {
    lua_createtable(L, 0, 2);
    lua_pushliteral(L, "cancelled");
    lua_setfield(L, -2, "code");
    lua_pushstring(L, message);
    lua_setfield(L, -2, "message");
    if (luaL_newmetatable(L, ENDED)) {
        lua_pushcfunction(L, ended_tostring);
        lua_setfield(L, -2, "__tostring");
    }
    lua_setmetatable(L, -2);
}

bool task_is_end(lua_State *L, int index) {
    if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return false;
    luaL_getmetatable(L, ENDED);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

// Why the running task must end now, or NULL. A scope ends its body, not the task outside it.
static const char *must_end(const struct task *t) {
    if (t->cancelled) return "cancelled";
    for (const struct scope *s = t->inner; s; s = s->outer) {
        if (s->end == SCOPE_FAILED) return "cancelled: another task of the scope failed";
        if (s->end == SCOPE_TIMEOUT) return "cancelled: the time limit was reached";
    }
    return NULL;
}

static void on_stubborn(lua_State *L, lua_Debug *ar) {
    (void)ar;
    struct task *t = tasks_of(L)->current;
    const char *why = t ? must_end(t) : NULL;
    if (!why) {
        vm_restore_hook(L);
        return;
    }
    push_ended(L, why);
    lua_error(L);
}

static void task_raise_end(lua_State *L, struct task *t, const char *why) {
    if (++t->ends > STUBBORN) lua_sethook(L, on_stubborn, LUA_MASKCOUNT, 1);
    push_ended(L, why);
    lua_error(L);
}

void task_check(lua_State *L) {
    struct task *t = tasks_of(L)->current;
    const char *why = t ? must_end(t) : NULL;
    if (why) task_raise_end(L, t, why);
}

void task_interrupt(lua_State *L) {
    struct tasks *ts = tasks_of(L);
    if (signals_count() > 0 && ts->root) task_cancel(ts->root);
    if (ts->current) {
        // The loop would cancel children one by one as their owners unwind; a busy child must end right now.
        ts->current->cancelled = true;
        task_raise_end(L, ts->current, "cancelled");
    }
    if (signals_count() > 0) luaL_error(L, "interrupted");
}

void task_tick(lua_State *L) {
    struct task *t = tasks_of(L)->current;
    double now = loop_now();
    // The scopes that this task opened, then the one that it belongs to, those around it, and so on up to the root.
    for (struct scope *s = t ? t->inner : NULL; t; t = s ? s->owner : NULL) {
        for (struct scope *around = s; around; around = around->outer)
            if (around->timer.loop && around->timer.when <= now) {
                loop_timer_stop(&around->timer);
                scope_give_up(around, SCOPE_TIMEOUT);
            }
        s = t->scope;
    }
    task_check(L);
}

void task_cancel_root(lua_State *L) {
    struct tasks *ts = tasks_of(L);
    if (ts->root) task_cancel(ts->root);
}

int task_wait_raw(lua_State *L, struct task *t, struct waitq *queue, double until, lua_KContext context, lua_KFunction k) {
    if (!lua_isyieldable(L)) return luaL_error(L, "cannot wait here: a C function or metamethod is in between");
    t->timed_out = false;
    if (until >= 0 && !loop_timer_start(t->all->loop, &t->timer, until)) return luaL_error(L, "not enough memory");
    t->state = TASK_WAITING;
    if (queue) task_queue_add(queue, t);
    lua_pushlightuserdata(L, task_token());
    return lua_yieldk(L, 1, context, k);
}

int task_wait(lua_State *L, struct waitq *queue, double until, lua_KContext context, lua_KFunction k) {
    struct task *t = task_current(L);
    task_check(L);
    return task_wait_raw(L, t, queue, until, context, k);
}

bool task_woken(lua_State *L) {
    task_check(L);
    return task_current(L)->timed_out;
}

void task_abandon_wait(lua_State *L) {
    struct task *t = task_current(L);
    task_wake(t);
    task_queue_remove(t);
    t->state = TASK_RUNNING;
}

// Running tasks.

// The value on top of L is the error (or table of results) of t. Pops it.
static void task_finish(lua_State *L, struct task *t, bool ok) {
    struct scope *s = t->scope;
    t->state = TASK_DONE;
    t->ok = ok;
    loop_timer_stop(&t->timer);
    lua_rawgeti(L, LUA_REGISTRYINDEX, t->ref);
    int self = lua_gettop(L);
    bool ended = !ok && task_is_end(L, self - 1);
    if (!ok && !ended && s && s->end == SCOPE_OPEN) {
        lua_getiuservalue(L, self, 3); // the scope
        lua_pushvalue(L, self - 1);
        lua_setiuservalue(L, -2, 1);
        lua_pop(L, 1);
        scope_give_up(s, SCOPE_FAILED);
    }
    lua_pushvalue(L, self - 1);
    lua_setiuservalue(L, self, 2);
    lua_pushnil(L);
    lua_setiuservalue(L, self, 1);
    t->co = NULL;
    task_leave_scope(t);
    waitq_wake(&t->done);
    lua_pushnil(L);
    lua_setiuservalue(L, self, 3);
    scope_close_owned(L, self, 4);
    luaL_unref(L, LUA_REGISTRYINDEX, t->ref);
    t->ref = LUA_NOREF;
    lua_settop(L, self - 2);
}

static void task_step(lua_State *L, struct tasks *ts, struct task *t) {
    task_queue_remove(t);
    t->state = TASK_RUNNING;
    ts->current = t;
    int count = 0, nargs = t->nargs;
    t->nargs = 0;
    int status = vm_resume(t->co, L, nargs, &count);
    ts->current = NULL;
    if (status == LUA_YIELD) {
        lua_pop(t->co, count);
        if (t->state == TASK_RUNNING) { // a plain coroutine.yield of the task body: let others run
            t->state = TASK_READY;
            task_queue_add(&ts->ready, t);
        }
        return;
    }
    luaL_checkstack(L, 8, "task");
    if (status == LUA_OK && lua_checkstack(t->co, 4) && lua_toboolean(t->co, -count)) { // true, results
        lua_State *co = t->co;
        lua_createtable(co, count - 1, 1);
        lua_insert(co, -count);
        for (int i = count - 1; i >= 1; i--) lua_rawseti(co, -1 - i, i);
        lua_pushinteger(co, count - 1);
        lua_setfield(co, -2, "n");
        lua_xmove(co, L, 1);
        task_finish(L, t, true);
        return;
    }
    lua_xmove(t->co, L, 1);
    task_finish(L, t, false);
}

static int body_end(lua_State *L, int status, lua_KContext ok) {
    (void)status;
    struct task *t = task_current(L);
    struct scope *busy = scopes_close(L, t, NULL);
    if (busy) return task_wait_raw(L, t, &busy->idle, -1, ok, body_end);
    lua_pushboolean(L, (int)ok);
    lua_replace(L, 1); // over the message handler
    return lua_gettop(L);
}

static int body_done(lua_State *L, int status, lua_KContext context) {
    (void)context;
    return body_end(L, LUA_OK, status == LUA_OK || status == LUA_YIELD);
}

// function, arguments -> ok, results
static int task_body(lua_State *L) {
    const char *why = must_end(task_current(L));
    if (why) { // cancelled before it began
        lua_pushboolean(L, 0);
        push_ended(L, why);
        return 2;
    }
    lua_pushcfunction(L, vm_traceback);
    lua_insert(L, 1);
    return body_done(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 1, 0, body_done), 0);
}

int task_gc(lua_State *L) {
    struct task *t = lua_touserdata(L, 1);
    loop_timer_stop(&t->timer);
    task_queue_remove(t);
    return 0;
}

void task_push_metatable(lua_State *L, const char *name, const luaL_Reg *methods) {
    if (luaL_newmetatable(L, name)) {
        luaL_setfuncs(L, methods, 0);
        lua_pushvalue(L, -1);
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
}

struct task *task_push_new(lua_State *L, struct tasks *ts, int nargs, int scope) {
    luaL_checkstack(L, nargs + 8, "task");
    struct task *t = lua_newuserdatauv(L, sizeof *t, 4);
    memset(t, 0, sizeof *t);
    t->all = ts;
    t->ref = LUA_NOREF;
    t->timer = (struct loop_timer){.fire = on_timer, .data = t};
    task_push_metatable(L, TASK, task_methods);
    lua_setmetatable(L, -2);
    t->co = lua_newthread(L);
    lua_setiuservalue(L, -2, 1);
    if (scope) {
        lua_pushvalue(L, scope);
        lua_setiuservalue(L, -2, 3);
    }
    lua_pushvalue(L, -1);
    t->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    lua_insert(L, -(nargs + 2));
    if (!lua_checkstack(t->co, nargs + 8)) luaL_error(L, "not enough memory");
    lua_pushcfunction(t->co, task_body);
    lua_xmove(L, t->co, nargs + 1);
    t->nargs = nargs + 1;
    t->state = TASK_READY;
    task_queue_add(&ts->ready, t);
    return t;
}

int task_run_root(lua_State *L, int nargs) {
    struct tasks *ts = tasks_of(L);
    if (ts->current) return luaL_error(L, "a task is running already");
    if (ts->root) return luaL_error(L, "the loop is running already");
    struct task *root = task_push_new(L, ts, nargs, 0);
    int self = lua_gettop(L);
    ts->root = root;
    if (signals_fd() >= 0 && !ts->signals.loop) {
        ts->signals = (struct loop_watch){.fd = signals_fd(), .events = POLLIN, .ready = on_signal, .data = ts};
        loop_watch_add(ts->loop, &ts->signals);
    }
    while (root->state != TASK_DONE) {
        // One round of what can run now; tasks woken meanwhile wait for the next, so descriptors get their turn.
        struct task *last = ts->ready.last;
        while (ts->ready.first) {
            struct task *t = ts->ready.first;
            task_step(L, ts, t);
            if (t == last) break;
        }
        if (root->state == TASK_DONE) break;
        loop_turn(ts->loop, ts->ready.first ? 0 : -1);
    }
    ts->root = NULL;
    loop_watch_remove(&ts->signals);
    for (size_t i = 0; i < sizeof ts->at_end / sizeof *ts->at_end; i++)
        if (ts->at_end[i].fn) ts->at_end[i].fn(ts->at_end[i].data);
    bool ok = root->ok;
    lua_getiuservalue(L, self, 2);
    if (!ok) {
        lua_replace(L, self);
        return LUA_ERRRUN;
    }
    lua_getfield(L, -1, "n");
    int n = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    luaL_checkstack(L, n, "results");
    for (int i = 1; i <= n; i++) lua_rawgeti(L, self + 1, i);
    lua_remove(L, self);
    lua_remove(L, self);
    return LUA_OK;
}
