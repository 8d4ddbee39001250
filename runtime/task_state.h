// SPDX-License-Identifier: MIT
// task_state.h: what task.c (running tasks), task_scope.c (scopes) and loop_lua.c (rt.task) share. Nobody else needs it.
//
// Ending a task early is *sticky*: from the moment it is cancelled, or a scope around it is given up, every wait raises.
// A pcall may catch one of these errors and gets it again at the next wait; a task that keeps on catching is then
// stopped at every instruction (task_raise_end).
#ifndef NKILN_TASK_STATE_H
#define NKILN_TASK_STATE_H

#include <lauxlib.h>

#include "task.h"

#define TASK "nkiln.task"
#define SCOPE "nkiln.scope"

enum task_state { TASK_READY, TASK_RUNNING, TASK_WAITING, TASK_DONE };
enum scope_end { SCOPE_OPEN, SCOPE_FAILED, SCOPE_TIMEOUT };

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
    bool open;
    int status; // of the body
    struct loop_timer timer;
    struct waitq idle; // the owner, joining
};

struct tasks {
    struct loop *loop;
    struct task *current, *root;
    struct waitq ready;
    struct loop_watch signals;
    struct {
        void (*fn)(void *data);
        void *data;
    } at_end[4];
};

struct tasks *tasks_of(lua_State *L);       // made at first use
struct task *task_current(lua_State *L);    // raises outside a task
void task_queue_add(struct waitq *queue, struct task *task);
void task_queue_remove(struct task *task);
void task_wake(struct task *task);
void task_cancel(struct task *task);
// As task_wait, without the check whether the task must end: for joining.
int task_wait_raw(lua_State *L, struct task *task, struct waitq *queue, double until, lua_KContext context, lua_KFunction k);
// Make a ready task of the function and `nargs` arguments on top of the stack; they are replaced by the task. `scope`
// is the stack index of the owning scope, 0 for the root.
struct task *task_push_new(lua_State *L, struct tasks *all, int nargs, int scope);
void task_push_metatable(lua_State *L, const char *name, const luaL_Reg *methods);
extern const luaL_Reg task_methods[];

int task_gc(lua_State *L);
void task_leave_scope(struct task *task); // a task that is done
void scope_give_up(struct scope *scope, enum scope_end end); // its children are cancelled and its owner's waits raise
// Call __close of everything in the table that is user value `slot` of the object at `index`. The handlers are C
// functions that give resources up at once; an error in one does not keep the others.
void scope_close_owned(lua_State *L, int index, int slot);
// Close the scopes of `owner` from the innermost up to and including `last` (NULL: all). Inner ones are still open only
// when a coroutine with a scope in it was dropped. Returns a scope whose children must be waited for first, or NULL.
struct scope *scopes_close(lua_State *L, struct task *owner, const struct scope *last);
int scope_open(lua_State *L, double until); // stack: the body. until < 0: no time limit

#endif
