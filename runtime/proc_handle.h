// SPDX-License-Identifier: MIT
// proc_handle.h: what a running child is to rt.proc: one userdata with its three pipes, what it wrote so far, and its
// end. proc_handle.c follows it through the loop, proc_start.c begins it, proc_lua.c is the Lua module. A handle that is
// closed, collected or left behind by its scope gives its child to the reaper.
#ifndef NKILN_PROC_HANDLE_H
#define NKILN_PROC_HANDLE_H

#include <lauxlib.h>
#include <stdbool.h>

#include "bytebuf.h"
#include "proc.h"
#include "task.h"

enum { PROC_PAUSE_AT = 1 << 20 }; // bytes waiting for a reader (or a writer) before a pipe is left alone

struct stream {
    struct proc *proc;
    struct loop_watch watch;
    struct bytebuf buf;
    size_t limit;
    bool open, streaming, truncated;
};

struct proc {
    struct loop *loop;
    struct child *child; // NULL when reaped or given up
    struct stream out, err;
    struct loop_watch in_watch;
    struct bytebuf in;
    bool in_open, in_close_after, finished, timed_out, closed, no_memory;
    int status;
    double started, seconds, cpu, grace;
    struct loop_timer deadline, drain;
    struct waitq changed;
    unsigned layers;
};


struct proc *proc_handle_push(lua_State *L);
struct proc *proc_handle_check(lua_State *L, int index);
int proc_handle_close(lua_State *L); // __close, __gc, :close()
bool proc_stream_open(struct proc *proc, struct stream *stream, int fd);
bool proc_input_open(struct proc *proc, int fd);
void proc_input_close(struct proc *proc);
void proc_handle_follow(struct proc *proc, struct child *child); // from now on its end is seen
void proc_handle_give_up(struct proc *proc, double grace);
extern const luaL_Reg proc_methods[];

// proc.start(options) -> handle | nil, err
int proc_start(lua_State *L);

#endif
