// SPDX-License-Identifier: MIT
// proc_handle.c: following a child: pipes into buffers, the drain after its end, deadline, giving up.
#include "proc_handle.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "proc_lua.h"

#define PROC "nkiln.proc"

enum { CHUNK = 65536 };
#define DRAIN 0.5 // seconds that output may still come after the end, first from the group, then from strangers

static const char children_key = 0;

struct children_box {
    struct children *all;
};

static int children_gc(lua_State *L) {
    struct children_box *box = lua_touserdata(L, 1);
    children_free(box->all);
    box->all = NULL;
    return 0;
}

// When the root task is over nobody turns the loop any more: who still has his grace is killed.
static void end_of_root(void *data) { children_kill_given_up(data); }

struct children *proc_children(lua_State *L) {
    struct loop *loop = task_loop(L);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &children_key) == LUA_TUSERDATA) {
        struct children_box *box = lua_touserdata(L, -1);
        lua_pop(L, 1);
        if (!box->all) luaL_error(L, "this state is closing");
        return box->all;
    }
    lua_pop(L, 1);
    struct children_box *box = lua_newuserdatauv(L, sizeof *box, 0);
    box->all = NULL;
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, children_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    box->all = children_new(loop);
    if (!box->all) luaL_error(L, "not enough memory");
    task_at_end(L, end_of_root, box->all);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &children_key);
    return box->all;
}

const char **proc_push_strings(lua_State *L, int index, const char *what) {
    index = lua_absindex(L, index);
    if (lua_isnoneornil(L, index)) {
        lua_pushnil(L);
        return NULL;
    }
    if (!lua_istable(L, index)) luaL_error(L, "%s: a list of strings expected", what);
    size_t n = lua_rawlen(L, index);
    const char **list = lua_newuserdatauv(L, (n + 1) * sizeof *list, 0);
    for (size_t i = 0; i < n; i++) {
        if (lua_rawgeti(L, index, (lua_Integer)i + 1) != LUA_TSTRING) luaL_error(L, "%s: a list of strings expected", what);
        list[i] = lua_tostring(L, -1);
        if (strlen(list[i]) != lua_rawlen(L, -1)) luaL_error(L, "%s: a string contains a zero byte", what);
        lua_pop(L, 1);
    }
    list[n] = NULL;
    return list;
}

// Pipes and the end.

static void stream_close(struct stream *s) {
    if (!s->open) return;
    s->open = false;
    loop_watch_remove(&s->watch);
    close(s->watch.fd);
}

void proc_input_close(struct proc *p) {
    if (!p->in_open) return;
    p->in_open = false;
    loop_watch_remove(&p->in_watch);
    close(p->in_watch.fd);
    bytebuf_free(&p->in);
}

static void end_reached(struct proc *p) {
    if (p->child && p->child->exited) {
        child_reap(p->child);
        p->status = p->child->status;
        p->cpu = (double)(p->child->usage.ru_utime.tv_sec + p->child->usage.ru_stime.tv_sec) +
                 1e-6 * (double)(p->child->usage.ru_utime.tv_usec + p->child->usage.ru_stime.tv_usec);
    }
    if (p->child && p->child->reaped && !p->out.open && !p->err.open) {
        child_free(p->child);
        p->child = NULL;
        p->finished = true;
        p->seconds = loop_now() - p->started;
        loop_timer_stop(&p->deadline);
        loop_timer_stop(&p->drain);
        proc_input_close(p);
    }
    waitq_wake(&p->changed);
}

static void check_end(struct proc *p) {
    if (p->child && p->child->exited && !p->out.open && !p->err.open)
        end_reached(p);
    else
        waitq_wake(&p->changed);
}

static void on_output(struct loop_watch *watch, short revents) {
    struct stream *s = watch->data;
    (void)revents;
    static const size_t want = CHUNK;
    if (!bytebuf_reserve(&s->buf, want)) {
        s->proc->no_memory = true;
        stream_close(s);
        check_end(s->proc);
        return;
    }
    ssize_t n = read(watch->fd, s->buf.data + s->buf.len, want);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        stream_close(s);
        check_end(s->proc);
        return;
    }
    s->buf.len += (size_t)n;
    if (s->streaming) {
        if (s->buf.len >= PROC_PAUSE_AT) watch->events = 0;
    } else if (s->buf.len > s->limit) {
        s->buf.len = s->limit;
        s->truncated = true;
    }
    if (s->streaming) waitq_wake(&s->proc->changed);
}

static void on_input(struct loop_watch *watch, short revents) {
    struct proc *p = watch->data;
    ssize_t n = revents & POLLERR ? -1 : write(watch->fd, p->in.data, p->in.len);
    if (n < 0 && !(revents & POLLERR) && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0) { // the child does not read on; that is its business
        proc_input_close(p);
    } else {
        bytebuf_consume(&p->in, (size_t)n);
        if (p->in.len == 0) {
            watch->events = 0;
            if (p->in_close_after) proc_input_close(p);
        }
    }
    waitq_wake(&p->changed);
}

static void on_drain(struct loop_timer *timer) {
    struct proc *p = timer->data;
    if (p->child && !p->child->reaped) { // first: others of the group hold a pipe open
        end_reached(p);
        if (!p->finished) loop_timer_start(p->loop, timer, loop_now() + DRAIN);
        return;
    }
    bool paused = (p->out.open && p->out.watch.events == 0) || (p->err.open && p->err.watch.events == 0);
    if (paused) {
        loop_timer_start(p->loop, timer, loop_now() + DRAIN);
        return;
    }
    stream_close(&p->out); // then: a process that left the group does
    stream_close(&p->err);
    end_reached(p);
}

static void on_exit_of_child(struct child *child) {
    struct proc *p = child->data;
    if (p->out.open || p->err.open) loop_timer_start(p->loop, &p->drain, loop_now() + DRAIN);
    check_end(p);
}

bool proc_stream_open(struct proc *p, struct stream *s, int fd) {
    s->watch = (struct loop_watch){.fd = fd, .events = POLLIN, .ready = on_output, .data = s};
    s->open = true;
    return loop_watch_add(p->loop, &s->watch);
}

bool proc_input_open(struct proc *p, int fd) {
    p->in_watch = (struct loop_watch){.fd = fd, .events = p->in.len ? POLLOUT : 0, .ready = on_input, .data = p};
    p->in_open = true;
    if (p->in.len == 0 && p->in_close_after) {
        proc_input_close(p);
        return true;
    }
    return loop_watch_add(p->loop, &p->in_watch);
}

void proc_handle_follow(struct proc *p, struct child *child) {
    p->child = child;
    p->started = loop_now();
    child->data = p;
    child->on_exit = on_exit_of_child;
}

static void on_deadline(struct loop_timer *timer) {
    struct proc *p = timer->data;
    if (!p->child) return;
    if (!p->timed_out) {
        p->timed_out = true;
        child_signal(p->child, SIGTERM);
        child_signal(p->child, SIGCONT);
        if (p->grace > 0) {
            loop_timer_start(p->loop, timer, loop_now() + p->grace);
            return;
        }
    }
    child_signal(p->child, SIGKILL);
}

void proc_handle_give_up(struct proc *p, double grace) {
    loop_timer_stop(&p->deadline);
    loop_timer_stop(&p->drain);
    stream_close(&p->out);
    stream_close(&p->err);
    proc_input_close(p);
    bytebuf_free(&p->in);
    bytebuf_free(&p->out.buf);
    bytebuf_free(&p->err.buf);
    if (p->child) child_give_up(p->child, grace);
    p->child = NULL;
    p->closed = true;
    waitq_wake(&p->changed);
}

struct proc *proc_handle_check(lua_State *L, int index) { return luaL_checkudata(L, index, PROC); }

int proc_handle_close(lua_State *L) {
    struct proc *p = proc_handle_check(L, 1);
    if (!p->closed) proc_handle_give_up(p, p->grace);
    return 0;
}

struct proc *proc_handle_push(lua_State *L) {
    struct proc *p = lua_newuserdatauv(L, sizeof *p, 0);
    memset(p, 0, sizeof *p);
    p->loop = task_loop(L);
    p->out.proc = p->err.proc = p;
    p->deadline = (struct loop_timer){.fire = on_deadline, .data = p};
    p->drain = (struct loop_timer){.fire = on_drain, .data = p};
    if (luaL_newmetatable(L, PROC)) {
        luaL_setfuncs(L, proc_methods, 0);
        lua_pushvalue(L, -1);
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
    return p;
}
