// SPDX-License-Identifier: MIT
// signals.h: what the process does on SIGINT, SIGTERM and SIGHUP, and the list of process groups to end with it.
//
// The first signal is a request: it is counted, the loop is woken through a descriptor, and a callback may arm a hook in
// a running Lua state. A second signal, or 180 ms without an orderly exit, kills the listed groups and leaves with 130.
// A signal handler needs process-wide state; all of it is in signals.c. SIGPIPE and SIGXFSZ are ignored: a closed pipe is
// EPIPE, a file beyond the shell's limit EFBIG.
#ifndef NKILN_SIGNALS_H
#define NKILN_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

// Install the handlers; `notify` runs inside the handler and must be async-signal-safe. False: no descriptor left.
bool signals_install(void (*notify)(void *data), void *data);
int signals_fd(void);    // readable after a signal; -1 before signals_install
int signals_count(void); // signals so far
void signals_drain(void);

// Call `tick` (async-signal-safe) every 50 ms of CPU time that this process spends: a computation that never waits is
// reminded of its deadlines. NULL stops it.
void signals_watchdog(void (*tick)(void *data), void *data);

// Process groups that end with this process. The list is bounded; a group that does not fit still dies by PDEATHSIG.
void signals_group_add(pid_t group);
void signals_group_remove(pid_t group);
void signals_kill_groups(void); // async-signal-safe

#endif
