// SPDX-License-Identifier: MIT
// vm.h: a Lua state with limits. One struct vm owns one lua_State and its run_state.
//
// Memory is limited by the allocator (Lua reports "not enough memory"), CPU time and executed instructions by a count
// hook. Once a limit is reached the state is *killed*: the hook fires at every following instruction, so pcall,
// coroutines and __close handlers get nothing done and the outermost call ends. One C call that never returns (a
// pathological string pattern) is not stopped by this; code that is not trusted runs in a worker process.
// A state has one of two sets of globals, both allow-lists (vm_globals.c): the trusted one for the prelude, and the
// script environment. Functions that take a lua_State may raise; vm_new returns NULL when there is no memory.
#ifndef NKILN_VM_H
#define NKILN_VM_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "run.h"

#define NKILN_VERSION "0.1.0"

enum vm_kill { VM_ALIVE = 0, VM_KILL_CPU, VM_KILL_STEPS, VM_KILL_CANCEL };

struct vm_limits {
    size_t memory;  // bytes of Lua memory and what else counts as books (account.h); 0 = none
    double cpu;     // seconds of process CPU time from now; 0 = none
    uint64_t steps; // Lua instructions; 0 = none
};

struct vm {
    lua_State *L;
    struct run_state *run; // `own`, or a page shared with the host (worker.c)
    struct run_state own;
    size_t used, peak;
    struct vm_limits limits;
    double cpu_start;
    uint64_t steps;
    volatile sig_atomic_t killed;      // enum vm_kill
    volatile sig_atomic_t interrupted; // a signal asks the host to end
    volatile sig_atomic_t ticked;      // time to look at deadlines
    lua_State *volatile running;       // the coroutine that executes now
};

// A state without any library. `run` may be NULL.
struct vm *vm_new(const struct vm_limits *limits, struct run_state *run);
void vm_free(struct vm *vm);
struct vm *vm_of(lua_State *L); // NULL in a state that vm_new did not make

// Set or change limits of a living state; CPU time and steps count from here.
void vm_set_limits(struct vm *vm, const struct vm_limits *limits);
void vm_limit_memory(struct vm *vm, size_t bytes); // that limit alone; 0 = none
void vm_lift_memory(struct vm *vm);                // none any more, the run's own neither: for what must still be said
// Async-signal-safe: the next instruction of the running coroutine raises.
void vm_kill(struct vm *vm, enum vm_kill why);
void vm_interrupt(struct vm *vm); // the same, for a signal that asks the host to end in order
void vm_interrupt_clear(struct vm *vm);
// Async-signal-safe: at the next instruction the running task looks whether a deadline has passed (task_tick).
void vm_tick(struct vm *vm);
void vm_restore_hook(lua_State *L); // after another hook: the one that the limits of this state need, if any
const char *vm_kill_code(enum vm_kill why); // "cpu", "steps", "cancelled"

// The only caller of lua_resume: keeps `running` right, and carries a kill to the resumer.
int vm_resume(lua_State *co, lua_State *from, int nargs, int *nresults);
// Close a suspended or dead coroutine; its pending __close handlers run.
int vm_close_coroutine(lua_State *co, lua_State *from);

// Message handler for lua_pcall: a string gets a traceback (once), any other value passes unchanged.
int vm_traceback(lua_State *L);

// Globals. vm_open_trusted fills _G of a state made by vm_new; vm_push_environment pushes a fresh script environment
// whose `require` knows only the table at `modules` (0 = none).
void vm_open_trusted(lua_State *L);
void vm_push_environment(lua_State *L, int modules);
void vm_open_strings(lua_State *L); // the string library, with its metatable protected

// Files of the program: "prelude/cli.lua", "skills/x/SKILL.md". From the home folder, else the embedded copy.
const char *vm_home(lua_State *L); // NULL when only the embedded copy exists; valid as long as the state
void vm_set_home(lua_State *L, const char *home); // "" = embedded copy only
// Push the bytes, return true; or push nothing and return false.
bool vm_push_resource(lua_State *L, const char *path);
// Push a `require` function with its own table of loaded modules, and that table.
void vm_push_require(lua_State *L);
// vm.resources(prefix) -> sorted list of names below it ("skills"), from the home folder and the embedded copy.
int vm_list_resources(lua_State *L);
// A name that came from outside and is safe to join to the home folder.
bool vm_resource_name_ok(const char *path);

int luaopen_rt_vm(lua_State *L);

#endif
