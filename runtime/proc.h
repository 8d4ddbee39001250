// SPDX-License-Identifier: MIT
// proc.h: child processes. proc_spawn starts one; struct child follows it to its end through the loop.
//
// Contract of a spawned process: its own process group; descriptors 0, 1, 2 as given (or /dev/null), then `extra` as
// 3, 4, ...; every other descriptor closed; default signal actions and an empty mask; dies when its parent dies. A
// failure to start is reported with its errno and the step that failed, before any child is visible to the caller.
//
// A struct child belongs to the list of its loop until it is reaped. Its group stays killable until then, because the
// leader is left a zombie: child_reap kills what is left of the group and then collects the status. child_give_up hands
// a child to the reaper: TERM, KILL after a grace, reap, free. children_kill_all ends everything, without waiting long.
#ifndef NKILN_PROC_H
#define NKILN_PROC_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "jail.h"
#include "loop.h"

enum proc_stage { PROC_FORK = 1, PROC_CWD, PROC_DESCRIPTORS, PROC_JAIL, PROC_EXEC };

struct proc_spawn {
    const char *path; // absolute or relative to the caller's folder
    char *const *argv, *const *envp;
    const char *cwd; // NULL = the caller's
    int in, out, err; // -1 = /dev/null
    const int *extra;
    int extra_count;
    const struct jail *jail; // NULL = none
};

struct proc_error {
    int stage; // enum proc_stage
    int error; // errno
};

// The pid, or -1 with *error filled.
pid_t proc_spawn(const struct proc_spawn *spawn, struct proc_error *error);

// End and collect a spawned process that nobody follows: its group gets KILL. pid <= 0: nothing.
void proc_forget(pid_t pid);

// Find `name` in `path` (a PATH value). Writes an absolute or relative path; 0, or ENOENT, or EACCES.
int proc_find_program(const char *name, const char *path, char *out, size_t size);

struct children; // all children of one loop

struct child {
    struct children *all;
    struct child *next, *prev;
    pid_t pid;
    int pidfd; // -1: this kernel has none, the child is polled
    struct loop_watch watch;
    struct loop_timer timer; // polling, or the KILL that follows a TERM
    bool exited, reaped, given_up;
    int status; // wait status, after child_reap
    struct rusage usage;
    void (*on_exit)(struct child *child); // the leader ended; not reaped yet. May call child_reap
    void *data;
};

struct children *children_new(struct loop *loop);
void children_free(struct children *all); // kills and reaps what is left
void children_kill_all(struct children *all);
void children_kill_given_up(struct children *all); // those whose grace is running

// Follow a spawned pid. On failure (memory, descriptors) the process is killed and reaped and NULL returned.
struct child *child_follow(struct children *all, pid_t pid);
void child_signal(struct child *child, int signal); // to the group; harmless after the end
void child_reap(struct child *child);               // after exited: kill the rest of the group, collect the status
void child_free(struct child *child);               // after reaped
void child_give_up(struct child *child, double grace); // grace 0 = KILL at once

#endif
