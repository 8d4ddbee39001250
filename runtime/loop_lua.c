// SPDX-License-Identifier: MIT
// loop_lua.c: rt.task. Tasks are coroutines; a scope owns the tasks started in it, and leaving it cancels and joins
// them. One struct tasks per Lua state, made at first use, holds the loop and the queue of tasks that can run.
//
// Ending a task early is *sticky*: from the moment it is cancelled, or a scope around it is given up, every wait raises.
// A pcall may catch one of these errors and gets it again at the next wait; a task that keeps on catching is then
// stopped at every instruction (see raise_end).
#include <errno.h>
#include <lauxlib.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "signals.h"
#include "task.h"
#include "vm.h"

#define TASK "nkiln.task"
#define SCOPE "nkiln.scope"
#define QUEUE "nkiln.queue"
#define ENDED "nkiln.cancelled" // metatable of the error that ends a task

enum task_state { TASK_READY, TASK_RUNNING, TASK_WAITING, TASK_DONE };
enum scope_end { SCOPE_OPEN, SCOPE_FAILED, SCOPE_TIMEOUT };
enum { STUBBORN = 100 }; // ends caught before a task is stopped at every instruction

// User values: 1 = coroutine, 2 = results {n=} or the error, 3 = scope, 4 = what the root task owns.
struct task {
    struct tasks *all;
    lua_State *co;
    enum task_state state;
    int nargs;
    bool ok, cancelled, timed_out;
    int ends; // times the end was raised
    int ref;  // keeps the userdata alive until it is done
    struct scope *scope, *inner;
    struct task *sibling_next, *sibling_prev;
    struct task *queue_next, *queue_prev; // in a waitq, or in the ready queue
    struct waitq *queue;
    struct loop_timer timer;
    struct waitq done;
};

// User values: 1 = error of the child that failed, 2 = what the scope owns: a table with weak keys.
struct scope {
    struct task *owner;
    struct scope *outer;
    struct task *children;
    enum scope_end end;
    bool has_deadline, open;
    int status; // of the body
    struct loop_timer timer;
    struct waitq idle; // the owner, joining
};

struct tasks {
    struct loop *loop;
    struct task *current, *root;
    struct waitq ready;
    struct loop_watch signals;
    bool interrupted;
};

static const char tasks_key = 0;
static const char token = 0;

void *task_token(void) { return (void *)&token; }

static void queue_add(struct waitq *q, struct task *t) {
    t->queue = q;
    t->queue_next = NULL;
    t->queue_prev = q->last;
    if (q->last)
        q->last->queue_next = t;
    else
        q->first = t;
    q->last = t;
}

static void queue_remove(struct task *t) {
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

static void task_wake(struct task *t) {
    if (t->state != TASK_WAITING) return;
    queue_remove(t);
    loop_timer_stop(&t->timer);
    t->state = TASK_READY;
    queue_add(&t->all->ready, t);
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

static void cancel(struct task *t) {
    if (t->state == TASK_DONE || t->cancelled) return;
    t->cancelled = true;
    task_wake(t);
}

static void on_signal(struct loop_watch *watch, short revents) {
    (void)revents;
    struct tasks *ts = watch->data;
    signals_drain();
    if (ts->root) cancel(ts->root);
    ts->interrupted = true;
}

static struct tasks *tasks_of(lua_State *L) {
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

bool task_inside(lua_State *L) { return tasks_of(L)->current != NULL; }

static struct task *current(lua_State *L) {
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

static bool is_ended(lua_State *L, int index) {
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
        lua_sethook(L, NULL, 0, 0);
        return;
    }
    push_ended(L, why);
    lua_error(L);
}

static void raise_end(lua_State *L, struct task *t, const char *why) {
    if (++t->ends > STUBBORN) lua_sethook(L, on_stubborn, LUA_MASKCOUNT, 1);
    push_ended(L, why);
    lua_error(L);
}

void task_check(lua_State *L) {
    struct task *t = tasks_of(L)->current;
    const char *why = t ? must_end(t) : NULL;
    if (why) raise_end(L, t, why);
}

void task_interrupt(lua_State *L) {
    struct tasks *ts = tasks_of(L);
    if (signals_count() > 0 && ts->root) cancel(ts->root);
    if (ts->current) {
        // The loop would cancel children one by one as their owners unwind; a busy child must end right now.
        ts->current->cancelled = true;
        raise_end(L, ts->current, "cancelled");
    }
    if (signals_count() > 0) luaL_error(L, "interrupted");
}

void task_cancel_root(lua_State *L) {
    struct tasks *ts = tasks_of(L);
    if (ts->root) cancel(ts->root);
}

static int wait_raw(lua_State *L, struct task *t, struct waitq *queue, double until, lua_KContext context, lua_KFunction k) {
    if (!lua_isyieldable(L)) return luaL_error(L, "cannot wait here: a C function or metamethod is in between");
    t->timed_out = false;
    if (until >= 0 && !loop_timer_start(t->all->loop, &t->timer, until)) return luaL_error(L, "not enough memory");
    t->state = TASK_WAITING;
    if (queue) queue_add(queue, t);
    lua_pushlightuserdata(L, task_token());
    return lua_yieldk(L, 1, context, k);
}

int task_wait(lua_State *L, struct waitq *queue, double until, lua_KContext context, lua_KFunction k) {
    struct task *t = current(L);
    task_check(L);
    return wait_raw(L, t, queue, until, context, k);
}

bool task_woken(lua_State *L) {
    task_check(L);
    return current(L)->timed_out;
}

void task_abandon_wait(lua_State *L) {
    struct task *t = current(L);
    task_wake(t);
    queue_remove(t);
    t->state = TASK_RUNNING;
}

// Running tasks.

static void child_unlink(struct task *t) {
    struct scope *s = t->scope;
    if (!s) return;
    if (t->sibling_prev)
        t->sibling_prev->sibling_next = t->sibling_next;
    else
        s->children = t->sibling_next;
    if (t->sibling_next) t->sibling_next->sibling_prev = t->sibling_prev;
    t->scope = NULL;
    if (!s->children) waitq_wake(&s->idle);
}

// Give up a scope: its children are cancelled and its owner's waits raise.
static void scope_give_up(struct scope *s, enum scope_end end) {
    if (s->end == SCOPE_OPEN) s->end = end;
    for (struct task *t = s->children; t; t = t->sibling_next) cancel(t);
    // An owner that is joining already waits in `idle` and stays there until the children are gone.
    if (s->owner && s->owner->queue != &s->idle) task_wake(s->owner);
}

// Call __close of everything in the table that is user value `slot` of the object at `index`. The handlers are C
// functions that give resources up at once; an error in one does not keep the others.
static void close_owned(lua_State *L, int index, int slot) {
    if (lua_getiuservalue(L, index, slot) == LUA_TTABLE) {
        luaL_checkstack(L, 8, "scope");
        lua_pushnil(L);
        while (lua_next(L, -2)) {
            lua_pop(L, 1);
            if (luaL_getmetafield(L, -1, "__close") != LUA_TNIL) {
                lua_pushvalue(L, -2);
                if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
            }
        }
    }
    lua_pop(L, 1);
}

static const char weak_key = 0;

void task_own(lua_State *L, int index) {
    struct task *t = tasks_of(L)->current;
    if (!t || (!t->inner && t != t->all->root && !t->scope)) return;
    luaL_checkstack(L, 8, "scope");
    index = lua_absindex(L, index);
    int slot = 2;
    if (t->inner) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, t->inner);
    } else if (t->scope) { // a child without a scope of its own: the scope that it belongs to
        lua_rawgetp(L, LUA_REGISTRYINDEX, t->scope);
    } else {
        lua_rawgeti(L, LUA_REGISTRYINDEX, t->ref);
        slot = 4;
    }
    if (lua_getiuservalue(L, -1, slot) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        if (lua_rawgetp(L, LUA_REGISTRYINDEX, &weak_key) != LUA_TTABLE) {
            lua_pop(L, 1);
            lua_createtable(L, 0, 1);
            lua_pushliteral(L, "k");
            lua_setfield(L, -2, "__mode");
            lua_pushvalue(L, -1);
            lua_rawsetp(L, LUA_REGISTRYINDEX, &weak_key);
        }
        lua_setmetatable(L, -2);
        lua_pushvalue(L, -1);
        lua_setiuservalue(L, -3, slot);
    }
    lua_pushvalue(L, index);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    lua_pop(L, 2);
}

static void on_deadline(struct loop_timer *timer) { scope_give_up(timer->data, SCOPE_TIMEOUT); }

// The value on top of L is the error (or table of results) of t. Pops it.
static void task_finish(lua_State *L, struct task *t, bool ok) {
    struct scope *s = t->scope;
    t->state = TASK_DONE;
    t->ok = ok;
    loop_timer_stop(&t->timer);
    lua_rawgeti(L, LUA_REGISTRYINDEX, t->ref);
    int self = lua_gettop(L);
    bool ended = !ok && is_ended(L, self - 1);
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
    child_unlink(t);
    waitq_wake(&t->done);
    lua_pushnil(L);
    lua_setiuservalue(L, self, 3);
    close_owned(L, self, 4);
    luaL_unref(L, LUA_REGISTRYINDEX, t->ref);
    t->ref = LUA_NOREF;
    lua_settop(L, self - 2);
}

static void task_step(lua_State *L, struct tasks *ts, struct task *t) {
    queue_remove(t);
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
            queue_add(&ts->ready, t);
        }
        return;
    }
    luaL_checkstack(L, 8, "task");
    if (status == LUA_OK && lua_toboolean(t->co, -count)) { // true, results
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

// Close the scopes of `owner` from the innermost up to and including `last` (NULL: all). Inner ones are still open only
// when a coroutine with a scope in it was dropped. Returns a scope whose children must be waited for first, or NULL.
static struct scope *scopes_close(lua_State *L, struct task *owner, const struct scope *last) {
    while (owner->inner) {
        struct scope *s = owner->inner;
        loop_timer_stop(&s->timer);
        for (struct task *t = s->children; t; t = t->sibling_next) cancel(t);
        if (s->children) return s;
        luaL_checkstack(L, 8, "scope");
        lua_rawgetp(L, LUA_REGISTRYINDEX, s);
        owner->inner = s->outer;
        s->open = false;
        s->owner = NULL;
        close_owned(L, lua_gettop(L), 2);
        lua_pop(L, 1);
        lua_pushnil(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, s);
        if (s == last) break;
    }
    return NULL;
}

static int body_end(lua_State *L, int status, lua_KContext ok) {
    (void)status;
    struct task *t = current(L);
    struct scope *busy = scopes_close(L, t, NULL);
    if (busy) return wait_raw(L, t, &busy->idle, -1, ok, body_end);
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
    lua_pushcfunction(L, vm_traceback);
    lua_insert(L, 1);
    return body_done(L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 1, 0, body_done), 0);
}

static int task_gc(lua_State *L) {
    struct task *t = lua_touserdata(L, 1);
    loop_timer_stop(&t->timer);
    queue_remove(t);
    return 0;
}

static void push_metatable(lua_State *L, const char *name, const luaL_Reg *methods) {
    if (luaL_newmetatable(L, name)) {
        luaL_setfuncs(L, methods, 0);
        lua_pushvalue(L, -1);
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
}

static const luaL_Reg task_methods[], scope_methods[], queue_methods[];

// Make a ready task of the function and `nargs` arguments on top of the stack; they are replaced by the task. `scope`
// is the stack index of the owning scope, 0 for the root.
static struct task *task_push_new(lua_State *L, struct tasks *ts, int nargs, int scope) {
    luaL_checkstack(L, nargs + 8, "task");
    struct task *t = lua_newuserdatauv(L, sizeof *t, 4);
    memset(t, 0, sizeof *t);
    t->all = ts;
    t->ref = LUA_NOREF;
    t->timer = (struct loop_timer){.fire = on_timer, .data = t};
    push_metatable(L, TASK, task_methods);
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
    queue_add(&ts->ready, t);
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

// Scopes.

static struct scope *check_scope(lua_State *L, int index) { return luaL_checkudata(L, index, SCOPE); }

// An open scope is anchored in the registry, so this runs for closed ones and when the state closes.
static int scope_gc(lua_State *L) {
    struct scope *s = lua_touserdata(L, 1);
    loop_timer_stop(&s->timer);
    return 0;
}

static int scope_join(lua_State *L, int status, lua_KContext index);

// Stack at `index`: scope, message handler, then the body's results or its error.
static int scope_leave(lua_State *L, int status, lua_KContext index) {
    struct scope *s = lua_touserdata(L, (int)index);
    s->status = status == LUA_YIELD ? LUA_OK : status;
    loop_timer_stop(&s->timer);
    for (struct task *t = s->children; t; t = t->sibling_next) cancel(t);
    return scope_join(L, LUA_OK, index);
}

static int scope_join(lua_State *L, int status, lua_KContext index) {
    (void)status;
    struct scope *s = lua_touserdata(L, (int)index);
    struct task *owner = s->owner;
    struct scope *busy = scopes_close(L, owner, s);
    if (busy) return wait_raw(L, owner, &busy->idle, -1, index, scope_join);
    owner->ends = 0;
    if (s->end == SCOPE_FAILED) {
        lua_getiuservalue(L, (int)index, 1);
        return lua_error(L);
    }
    if (s->status != LUA_OK) {
        if (s->end == SCOPE_TIMEOUT && !owner->cancelled && is_ended(L, -1))
            return task_fail(L, "timeout", "the time limit was reached");
        return lua_error(L);
    }
    return lua_gettop(L) - (int)index - 1;
}

static int scope_open(lua_State *L, double until) {
    struct task *owner = current(L);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    task_check(L);
    lua_settop(L, 1);
    struct scope *s = lua_newuserdatauv(L, sizeof *s, 2);
    memset(s, 0, sizeof *s);
    s->owner = owner;
    s->outer = owner->inner;
    s->timer = (struct loop_timer){.fire = on_deadline, .data = s};
    push_metatable(L, SCOPE, scope_methods);
    lua_setmetatable(L, -2);
    if (until >= 0 && !loop_timer_start(owner->all->loop, &s->timer, until)) return luaL_error(L, "not enough memory");
    s->open = true;
    owner->inner = s;
    lua_pushvalue(L, 2); // found by task_own while it is open
    lua_rawsetp(L, LUA_REGISTRYINDEX, s);
    lua_pushcfunction(L, vm_traceback);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2); // 1 body, 2 scope, 3 handler, 4 body, 5 scope
    return scope_leave(L, lua_pcallk(L, 1, LUA_MULTRET, 3, 2, scope_leave), 2);
}

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

static int scope_spawn(lua_State *L) {
    struct scope *s = check_scope(L, 1);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    if (!s->open) return luaL_error(L, "the scope is closed");
    struct task *t = task_push_new(L, s->owner->all, lua_gettop(L) - 2, 1);
    t->scope = s;
    t->sibling_next = s->children;
    if (s->children) s->children->sibling_prev = t;
    s->children = t;
    if (s->end != SCOPE_OPEN || s->status != LUA_OK) cancel(t);
    return 1;
}

static int scope_wait_again(lua_State *L, int status, lua_KContext context) {
    (void)status;
    (void)context;
    struct scope *s = check_scope(L, 1);
    task_check(L);
    if (s->children) return task_wait(L, &s->children->done, -1, 0, scope_wait_again);
    return 0;
}

static int scope_wait(lua_State *L) { return scope_wait_again(L, LUA_OK, 0); }

static int scope_cancel(lua_State *L) {
    struct scope *s = check_scope(L, 1);
    for (struct task *t = s->children; t; t = t->sibling_next) cancel(t);
    return 0;
}

static const luaL_Reg scope_methods[] = {
    {"spawn", scope_spawn}, {"wait", scope_wait}, {"cancel", scope_cancel}, {"__gc", scope_gc}, {NULL, NULL}};

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
    if (is_ended(L, 2)) return task_fail(L, "cancelled", "the task was cancelled");
    return lua_error(L);
}

static int task_method_wait(lua_State *L) {
    if (check_task(L, 1) == tasks_of(L)->current) return luaL_error(L, "a task cannot wait for itself");
    return task_method_wait_again(L, LUA_OK, 0);
}

static int task_method_cancel(lua_State *L) {
    cancel(check_task(L, 1));
    return 0;
}

static int task_method_status(lua_State *L) {
    struct task *t = check_task(L, 1);
    lua_pushstring(L, t->state != TASK_DONE ? "running" : t->ok ? "done" : "failed");
    return 1;
}

static const luaL_Reg task_methods[] = {{"wait", task_method_wait},
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
    push_metatable(L, QUEUE, queue_methods);
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
    lua_pushboolean(L, is_ended(L, 1));
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
