// SPDX-License-Identifier: MIT
// proc_lua.c: rt.proc. Reading and waiting yield the task.
#include "proc_lua.h"

#include <lauxlib.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc_handle.h"

static void push_output(lua_State *L, struct stream *s) {
    lua_pushlstring(L, s->buf.data ? s->buf.data : "", s->buf.len);
}

// The table that describes the end; output that nobody read is in it.
static void push_result(lua_State *L, struct proc *p) {
    lua_createtable(L, 0, 8);
    push_output(L, &p->out);
    lua_setfield(L, -2, "stdout");
    push_output(L, &p->err);
    lua_setfield(L, -2, "stderr");
    if (WIFEXITED(p->status)) {
        lua_pushinteger(L, WEXITSTATUS(p->status));
        lua_setfield(L, -2, "status");
    } else {
        lua_pushinteger(L, WTERMSIG(p->status));
        lua_setfield(L, -2, "signal");
        lua_pushinteger(L, 128 + WTERMSIG(p->status)); // as a shell reports it
        lua_setfield(L, -2, "status");
    }
    lua_pushboolean(L, p->out.truncated || p->err.truncated);
    lua_setfield(L, -2, "truncated");
    lua_pushnumber(L, p->seconds);
    lua_setfield(L, -2, "seconds");
    lua_pushnumber(L, p->cpu);
    lua_setfield(L, -2, "cpu");
    if (p->layers) {
        char text[128];
        int abi;
        jail_probe(false, &abi);
        jail_describe(p->layers, abi, text, sizeof text);
        lua_pushstring(L, text);
        lua_setfield(L, -2, "jail");
    }
}

static int finish(lua_State *L, struct proc *p) {
    push_result(L, p);
    if (p->no_memory) return task_fail(L, "memory", "not enough memory for the program's output");
    if (!p->timed_out) return 1;
    int result = lua_gettop(L);
    lua_pushliteral(L, "timeout");
    lua_setfield(L, result, "code");
    lua_pushliteral(L, "the program did not end within its time limit");
    lua_setfield(L, result, "message");
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

static int wait_again(lua_State *L, int status, lua_KContext waited) {
    (void)status;
    struct proc *p = proc_handle_check(L, 1);
    if (waited) task_woken(L);
    if (p->finished) return finish(L, p);
    if (p->closed) return task_fail(L, "closed", "the handle is closed");
    return task_wait(L, &p->changed, -1, 1, wait_again);
}

static int proc_wait(lua_State *L) {
    struct proc *p = proc_handle_check(L, 1);
    lua_settop(L, 1);
    // Nobody will read what is streamed to a handle that is waited for: collect it.
    p->out.streaming = p->err.streaming = false;
    p->out.watch.events = p->err.watch.events = POLLIN;
    return wait_again(L, LUA_OK, 0);
}

static struct stream *pick(lua_State *L, struct proc *p) {
    static const char *const names[] = {"stdout", "stderr", NULL};
    return luaL_checkoption(L, 2, "stdout", names) == 0 ? &p->out : &p->err;
}

static void push_chunk(lua_State *L, struct stream *s) {
    lua_pushlstring(L, s->buf.data, s->buf.len);
    s->buf.len = 0;
    s->watch.events = POLLIN;
}

static int read_again(lua_State *L, int status, lua_KContext waited) {
    (void)status;
    struct proc *p = proc_handle_check(L, 1);
    struct stream *s = pick(L, p);
    if (waited) task_woken(L);
    if (s->buf.len) {
        push_chunk(L, s);
        return 1;
    }
    if (!s->open || p->closed) {
        lua_pushnil(L);
        return 1;
    }
    s->streaming = true;
    return task_wait(L, &p->changed, -1, 1, read_again);
}

static int proc_read(lua_State *L) {
    proc_handle_check(L, 1);
    return read_again(L, LUA_OK, 0);
}

static int write_again(lua_State *L, int status, lua_KContext waited) {
    (void)status;
    struct proc *p = proc_handle_check(L, 1);
    if (waited) task_woken(L);
    if (!p->in_open) return task_fail(L, "closed", "the program does not read its input any more");
    if (p->in.len > PROC_PAUSE_AT) return task_wait(L, &p->changed, -1, 1, write_again);
    lua_pushboolean(L, 1);
    return 1;
}

static int proc_write(lua_State *L) {
    struct proc *p = proc_handle_check(L, 1);
    size_t len;
    const char *data = luaL_checklstring(L, 2, &len);
    if (p->in_open && !bytebuf_append(&p->in, data, len)) return luaL_error(L, "not enough memory");
    if (p->in.len) p->in_watch.events = POLLOUT;
    return write_again(L, LUA_OK, 0);
}

static int proc_close_stdin(lua_State *L) {
    struct proc *p = proc_handle_check(L, 1);
    p->in_close_after = true;
    if (p->in.len == 0) proc_input_close(p);
    return 0;
}

static int proc_kill(lua_State *L) {
    struct proc *p = proc_handle_check(L, 1);
    int signal = (int)luaL_optinteger(L, 2, SIGTERM);
    if (p->child) {
        child_signal(p->child, signal);
        if (signal == SIGTERM) child_signal(p->child, SIGCONT);
    }
    return 0;
}

static int proc_pid(lua_State *L) {
    struct proc *p = proc_handle_check(L, 1);
    if (p->child)
        lua_pushinteger(L, p->child->pid);
    else
        lua_pushnil(L);
    return 1;
}

static int proc_running(lua_State *L) {
    struct proc *p = proc_handle_check(L, 1);
    lua_pushboolean(L, !p->finished && !p->closed);
    return 1;
}

const luaL_Reg proc_methods[] = {{"wait", proc_wait},
                                        {"read", proc_read},
                                        {"write", proc_write},
                                        {"close_stdin", proc_close_stdin},
                                        {"kill", proc_kill},
                                        {"pid", proc_pid},
                                        {"running", proc_running},
                                        {"close", proc_handle_close},
                                        {"__gc", proc_handle_close},
                                        {"__close", proc_handle_close},
                                        {NULL, NULL}};

// proc.run(options): start, hand chunks to the callbacks, wait. Stack: 1 options, 2 handle (to be closed),
// 3 on_stdout, 4 on_stderr.
static int run_again(lua_State *L, int status, lua_KContext waited) {
    (void)status;
    struct proc *p = proc_handle_check(L, 2);
    if (waited) task_woken(L);
    lua_settop(L, 4);
    for (int i = 0; i < 2; i++) {
        struct stream *s = i == 0 ? &p->out : &p->err;
        if (!s->streaming || s->buf.len == 0) continue;
        lua_pushvalue(L, 3 + i);
        push_chunk(L, s);
        lua_callk(L, 1, 0, 0, run_again);
        return run_again(L, LUA_OK, 0);
    }
    if (p->finished) return finish(L, p);
    return task_wait(L, &p->changed, -1, 1, run_again);
}

static int lua_run(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    if (!task_inside(L)) return luaL_error(L, "this function waits, so it must be called inside a task");
    task_check(L);
    lua_pushcfunction(L, proc_start);
    lua_pushvalue(L, 1);
    lua_call(L, 1, 2);
    if (lua_isnil(L, 2)) return 2;
    lua_settop(L, 2);
    lua_toclose(L, 2);
    for (int i = 0; i < 2; i++) {
        int kind = lua_getfield(L, 1, i == 0 ? "on_stdout" : "on_stderr");
        if (kind != LUA_TNIL && kind != LUA_TFUNCTION) return luaL_error(L, "on_stdout and on_stderr: functions expected");
    }
    return run_again(L, LUA_OK, 0);
}

// proc.find(name [, path]) -> path | nil
static int lua_find(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    const char *path = luaL_optstring(L, 2, getenv("PATH"));
    char found[4096];
    if (proc_find_program(name, path ? path : "/usr/bin:/bin", found, sizeof found) == 0)
        lua_pushstring(L, found);
    else
        lua_pushnil(L);
    return 1;
}

// proc.jail_layers() -> { bubblewrap=, landlock=abi, seccomp=, text= }
static int lua_jail_layers(lua_State *L) {
    int abi;
    unsigned layers = jail_probe(true, &abi);
    char text[128];
    lua_createtable(L, 0, 4);
    lua_pushboolean(L, (layers & JAIL_BWRAP) != 0);
    lua_setfield(L, -2, "bubblewrap");
    lua_pushinteger(L, abi);
    lua_setfield(L, -2, "landlock");
    lua_pushboolean(L, (layers & JAIL_SECCOMP) != 0);
    lua_setfield(L, -2, "seccomp");
    jail_describe(layers, abi, text, sizeof text);
    lua_pushstring(L, text);
    lua_setfield(L, -2, "text");
    return 1;
}

static int lua_self(lua_State *L) {
    lua_pushinteger(L, getpid());
    return 1;
}

int luaopen_rt_proc(lua_State *L) {
    static const luaL_Reg functions[] = {{"start", proc_start}, {"run", lua_run},   {"find", lua_find},
                                         {"jail_layers", lua_jail_layers}, {"pid", lua_self}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}

