// SPDX-License-Identifier: MIT
// worker.h: the same binary as a child, for work that must not run in the host: kernels, references, skills of others.
//
// The host starts it as "--worker" with two inherited descriptors: 3 = the socket for frames (frame.h), 4 = one page
// of shared memory with the run_state, so the host sees counters and the current call site even during a long C call,
// and after a crash. The worker confines itself (jail.h), then requires a prelude module and calls its run function.
// It ends with one result frame. Everything else is an abnormal end, told apart by its wait status.
#ifndef NKILN_WORKER_H
#define NKILN_WORKER_H

#include <lua.h>
#include <stdint.h>

#include "run.h"

enum { WORKER_SOCKET_FD = 3, WORKER_PAGE_FD = 4, WORKER_PAGE_SIZE = 4096 };
#define WORKER_ARGUMENT "--worker"

// Lives in memory that a worker may scribble on: the host copies numbers out and checks them.
struct worker_page {
    struct run_state run;
};

int worker_main(void); // the worker's whole life; returns an exit status

int luaopen_rt_worker(lua_State *L);

#endif
