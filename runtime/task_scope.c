// SPDX-License-Identifier: MIT
// task_scope.c: a scope owns the tasks started in it and the handles opened in it; leaving it cancels and joins the
// tasks and closes the handles. It is left only after all of that is over.
#include <string.h>

#include "task_state.h"
#include "vm.h"

static const luaL_Reg scope_methods[];

void task_leave_scope(struct task *t) {
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
void scope_give_up(struct scope *s, enum scope_end end) {
    if (s->end == SCOPE_OPEN) s->end = end;
    for (struct task *t = s->children; t; t = t->sibling_next) task_cancel(t);
    // An owner that is joining already waits in `idle` and stays there until the children are gone.
    if (s->owner && s->owner->queue != &s->idle) task_wake(s->owner);
}

// Call __close of everything in the table that is user value `slot` of the object at `index`. The handlers are C
// functions that give resources up at once; an error in one does not keep the others.
void scope_close_owned(lua_State *L, int index, int slot) {
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

// Close the scopes of `owner` from the innermost up to and including `last` (NULL: all). Inner ones are still open only
// when a coroutine with a scope in it was dropped. Returns a scope whose children must be waited for first, or NULL.
struct scope *scopes_close(lua_State *L, struct task *owner, const struct scope *last) {
    while (owner->inner) {
        struct scope *s = owner->inner;
        loop_timer_stop(&s->timer);
        for (struct task *t = s->children; t; t = t->sibling_next) task_cancel(t);
        if (s->children) return s;
        luaL_checkstack(L, 8, "scope");
        lua_rawgetp(L, LUA_REGISTRYINDEX, s);
        owner->inner = s->outer;
        s->open = false;
        s->owner = NULL;
        scope_close_owned(L, lua_gettop(L), 2);
        lua_pop(L, 1);
        lua_pushnil(L);
        lua_rawsetp(L, LUA_REGISTRYINDEX, s);
        if (s == last) break;
    }
    return NULL;
}

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
    for (struct task *t = s->children; t; t = t->sibling_next) task_cancel(t);
    return scope_join(L, LUA_OK, index);
}

static int scope_join(lua_State *L, int status, lua_KContext index) {
    (void)status;
    struct scope *s = lua_touserdata(L, (int)index);
    struct task *owner = s->owner;
    struct scope *busy = scopes_close(L, owner, s);
    if (busy) return task_wait_raw(L, owner, &busy->idle, -1, index, scope_join);
    owner->ends = 0;
    if (s->end == SCOPE_FAILED) {
        lua_getiuservalue(L, (int)index, 1);
        return lua_error(L);
    }
    if (s->status != LUA_OK) {
        if (s->end == SCOPE_TIMEOUT && !owner->cancelled && task_is_end(L, -1))
            return task_fail(L, "timeout", "the time limit was reached");
        return lua_error(L);
    }
    return lua_gettop(L) - (int)index - 1;
}

int scope_open(lua_State *L, double until) {
    struct task *owner = task_current(L);
    luaL_checktype(L, 1, LUA_TFUNCTION);
    task_check(L);
    lua_settop(L, 1);
    struct scope *s = lua_newuserdatauv(L, sizeof *s, 2);
    memset(s, 0, sizeof *s);
    s->owner = owner;
    s->outer = owner->inner;
    s->timer = (struct loop_timer){.fire = on_deadline, .data = s};
    task_push_metatable(L, SCOPE, scope_methods);
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

static int scope_spawn(lua_State *L) {
    struct scope *s = check_scope(L, 1);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    if (!s->open) return luaL_error(L, "the scope is closed");
    struct task *t = task_push_new(L, s->owner->all, lua_gettop(L) - 2, 1);
    t->scope = s;
    t->sibling_next = s->children;
    if (s->children) s->children->sibling_prev = t;
    s->children = t;
    if (s->end != SCOPE_OPEN || s->status != LUA_OK) task_cancel(t);
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
    for (struct task *t = s->children; t; t = t->sibling_next) task_cancel(t);
    return 0;
}

static const luaL_Reg scope_methods[] = {
    {"spawn", scope_spawn}, {"wait", scope_wait}, {"cancel", scope_cancel}, {"__gc", scope_gc}, {NULL, NULL}};

