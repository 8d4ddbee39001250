// SPDX-License-Identifier: MIT
// task.h: what a C primitive needs in order to block. A task is a Lua coroutine run by the loop of its Lua state.
//
// A primitive that cannot go on calls task_wait with a queue that its object wakes when something changed; the
// continuation calls task_woken, looks at its object again and waits again if it must. Both raise when the task was
// cancelled or a scope around it was given up, so a wait needs no cancel code of its own. All functions that take a
// lua_State may raise. Tasks exist in states that have a loop (task_loop makes it at first use).
#ifndef NKILN_TASK_H
#define NKILN_TASK_H

#include <lua.h>
#include <stdbool.h>

#include "loop.h"

struct task;

// Tasks that wait for one thing. Zero-initialised; wake all before the holder goes away.
struct waitq {
    struct task *first, *last;
};

struct loop *task_loop(lua_State *L); // the loop of this state; raises when there is no memory
bool task_inside(lua_State *L);       // is a task running?

// Suspend the running task until waitq_wake or `until` (loop_now seconds; < 0: no limit), then continue in k.
// Always `return task_wait(...)`. The stack below is kept for k. `queue` may be NULL (only the time limit counts).
int task_wait(lua_State *L, struct waitq *queue, double until, lua_KContext context, lua_KFunction k);
bool task_woken(lua_State *L); // first thing in k: raises when cancelled; true = the time limit was reached
void task_check(lua_State *L); // raise if the running task is to end

void waitq_wake(struct waitq *queue);

// The value a blocked coroutine yields; coroutine.resume hands it on to the loop (vm_lua.c).
void *task_token(void);
// An enclosing coroutine.resume could not hand the token on: the task runs again and will raise there.
void task_abandon_wait(lua_State *L);

// Called by the hook that a signal armed: cancel the root task if a signal asks for it, then raise if this task must end.
void task_interrupt(lua_State *L);

// Let the innermost scope of the running task own the value at `index`: its __close is called when the scope is left
// (for the root task: when it ends). Outside tasks nothing happens and __gc has to do.
void task_own(lua_State *L, int index);

// Call fn(data) whenever a root task has ended and all it owned is closed. A few per state, for its whole life.
void task_at_end(lua_State *L, void (*fn)(void *data), void *data);

bool task_is_end(lua_State *L, int index); // is this error value the end of a task?
void task_cancel_root(lua_State *L); // the whole run ends, as after a signal

// Called by the hook that the watchdog armed: deadlines of the running task that have passed take effect in the middle of
// a computation that never waits.
void task_tick(lua_State *L);

// Push nil, {code=, message=} and return 2.
int task_fail(lua_State *L, const char *code, const char *format, ...);

// Call the function with its `nargs` arguments on top of the stack as the root task and run the loop until it ended and
// all it started is gone. Returns a Lua status; results or the error value are left on the stack, as lua_pcall does.
int task_run_root(lua_State *L, int nargs);

int luaopen_rt_task(lua_State *L);

#endif
