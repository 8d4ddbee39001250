// SPDX-License-Identifier: MIT
// run.h: what one run of a script or kernel shares between the C modules of a Lua state.
//
// Every Lua state owns exactly one `struct run_state`; its address sits in the state's extra space (copied by Lua to
// every coroutine of that state), so reading it costs one load. The state's creator (vm.c) allocates and frees it.
// Nothing here fails. Nothing here is shared between states or processes.
#ifndef NKILN_RUN_H
#define NKILN_RUN_H

#include <lua.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "account.h"

struct run_state {
    int32_t site;                    // call site being executed: index into the lowered module's side table, 0 = none
    uint64_t steps;                  // lowered Python operations so far
    uint64_t step_limit;             // 0 = none
    uint64_t instructions;           // NKI instructions recorded so far
    struct account arrays;           // memory of this run: arrays, machine memories, and the books beside them
    volatile sig_atomic_t interrupt; // set by a signal handler or the host: stop at the next step
    void *vm;                        // owner's data (vm.c)
    void *python;                    // struct pyops of the lowered code's helpers (python/ops_lua.c)
};

static inline struct run_state *run_state(lua_State *L) { return *(struct run_state **)lua_getextraspace(L); }

static inline void run_state_attach(lua_State *L, struct run_state *state) {
    *(struct run_state **)lua_getextraspace(L) = state;
}

#endif
