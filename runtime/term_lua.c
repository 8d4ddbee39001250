// SPDX-License-Identifier: MIT
// term_lua.c: rt.term.
#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytebuf.h"
#include "task.h"
#include "term.h"

enum { QUEUE_MAX = 1 << 20, CHUNK = 65536, LINE_MAX_DEFAULT = 64 << 20 };

struct output {
    struct loop_watch watch;
    struct bytebuf queue;
    struct waitq drained;
    bool closed, stdout_side;
    int error; // errno of the write that closed it
    size_t step; // bytes that can be written at once when poll says yes
};

struct term {
    struct loop *loop;
    struct output out, err;
    struct loop_watch in;
    struct bytebuf input;
    struct waitq readable;
    bool in_end, skipping;
};

static const char term_key = 0;

static int term_gc(lua_State *L) {
    struct term *t = lua_touserdata(L, 1);
    loop_watch_remove(&t->out.watch);
    loop_watch_remove(&t->err.watch);
    loop_watch_remove(&t->in);
    bytebuf_free(&t->out.queue);
    bytebuf_free(&t->err.queue);
    bytebuf_free(&t->input);
    return 0;
}

// Write a piece of the queue. False when the descriptor would block (or nothing is left).
static bool output_step(struct output *o) {
    if (!o->queue.len) return false;
    size_t n = o->queue.len < o->step ? o->queue.len : o->step;
    ssize_t written = write(o->watch.fd, o->queue.data, n);
    if (written < 0) {
        if (errno == EINTR) return true;
        if (errno == EAGAIN) return false;
        o->closed = true; // EPIPE and anything worse: nobody reads this any more
        o->error = errno;
        o->queue.len = 0;
        return false;
    }
    bytebuf_consume(&o->queue, (size_t)written);
    return o->queue.len > 0;
}

static void on_writable(struct loop_watch *watch, short revents) {
    struct output *o = watch->data;
    (void)revents;
    output_step(o);
    if (!o->queue.len) loop_watch_remove(watch);
    waitq_wake(&o->drained);
}

static void on_readable(struct loop_watch *watch, short revents) {
    struct term *t = watch->data;
    (void)revents;
    loop_watch_remove(watch);
    waitq_wake(&t->readable);
}

static void output_set(struct output *o, int fd) {
    struct stat st;
    o->watch = (struct loop_watch){.fd = fd, .events = POLLOUT, .ready = on_writable, .data = o};
    // POLLOUT on a pipe or socket promises room for PIPE_BUF bytes; more could block in write.
    bool file = fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode));
    o->step = file ? CHUNK : PIPE_BUF;
}

static struct term *term_of(lua_State *L) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &term_key) == LUA_TUSERDATA) {
        struct term *t = lua_touserdata(L, -1);
        lua_pop(L, 1);
        return t;
    }
    lua_pop(L, 1);
    struct loop *loop = task_loop(L);
    struct term *t = lua_newuserdatauv(L, sizeof *t, 0);
    memset(t, 0, sizeof *t);
    t->loop = loop;
    output_set(&t->out, STDOUT_FILENO);
    output_set(&t->err, STDERR_FILENO);
    t->out.stdout_side = true;
    t->in = (struct loop_watch){.fd = STDIN_FILENO, .events = POLLIN, .ready = on_readable, .data = t};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, term_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &term_key);
    return t;
}

void term_set_stdout(lua_State *L, int fd) { output_set(&term_of(L)->out, fd); }

static void flush(struct output *o) {
    while (o->queue.len) {
        struct pollfd p = {.fd = o->watch.fd, .events = POLLOUT};
        if (poll(&p, 1, -1) < 0 && errno != EINTR) break;
        output_step(o);
    }
    loop_watch_remove(&o->watch);
    waitq_wake(&o->drained);
}

void term_flush(lua_State *L) {
    struct term *t = term_of(L);
    flush(&t->out);
    flush(&t->err);
}

bool term_stdout_closed(lua_State *L) { return term_of(L)->out.closed; }

int term_stdout_error(lua_State *L) { return term_of(L)->out.error; }

static struct output *output_of(lua_State *L, lua_KContext which) { return which == 1 ? &term_of(L)->out : &term_of(L)->err; }

static int write_again(lua_State *L, int status, lua_KContext which) {
    struct output *o = output_of(L, which);
    if (status == LUA_YIELD) task_woken(L);
    if (o->closed || term_of(L)->out.closed) {
        if (o->stdout_side) task_cancel_root(L); // the run ends quietly
        return task_fail(L, "closed", "the output is closed");
    }
    if (o->queue.len == 0 || (status == LUA_YIELD && o->queue.len < QUEUE_MAX)) {
        lua_pushboolean(L, 1);
        return 1;
    }
    return task_wait(L, &o->drained, -1, which, write_again);
}

static int write_text(lua_State *L, int which) {
    struct term *t = term_of(L);
    struct output *o = output_of(L, which);
    size_t len;
    const char *text = luaL_checklstring(L, 1, &len);
    // Once nobody reads standard output, the run ends without another word.
    if (o->closed || t->out.closed) return write_again(L, LUA_OK, which);
    bool first = o->queue.len == 0;
    if (!bytebuf_append(&o->queue, text, len)) return luaL_error(L, "not enough memory");
    if (first) { // mostly there is room at once
        struct pollfd p = {.fd = o->watch.fd, .events = POLLOUT};
        while (poll(&p, 1, 0) > 0 && output_step(o)) {}
    }
    if (o->queue.len == 0) return write_again(L, LUA_OK, which);
    if (!task_inside(L) || !lua_isyieldable(L)) {
        flush(o);
        return write_again(L, LUA_OK, which);
    }
    if (!loop_watch_add(t->loop, &o->watch)) return luaL_error(L, "not enough memory");
    return write_again(L, LUA_OK, which);
}

// term.write(text): standard output. true, or nil, err when nobody reads it.
static int lua_write(lua_State *L) { return write_text(L, 1); }

// term.error(text): standard error.
static int lua_error_text(lua_State *L) { return write_text(L, 2); }

static int fd_of(lua_State *L, int index) {
    static const char *const names[] = {"stdin", "stdout", "stderr", NULL};
    switch (luaL_checkoption(L, index, "stdout", names)) {
    case 0: return STDIN_FILENO;
    case 1: return term_of(L)->out.watch.fd;
    default: return STDERR_FILENO;
    }
}

static int lua_isatty(lua_State *L) {
    lua_pushboolean(L, isatty(fd_of(L, 1)));
    return 1;
}

// term.columns([stream]) -> width, or nil when it is not a terminal
static int lua_columns(lua_State *L) {
    struct winsize size;
    if (ioctl(fd_of(L, 1), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        lua_pushinteger(L, size.ws_col);
    else
        lua_pushnil(L);
    return 1;
}

static ssize_t read_some(lua_State *L, struct term *t) {
    if (!bytebuf_reserve(&t->input, CHUNK)) luaL_error(L, "not enough memory");
    ssize_t n;
    do n = read(STDIN_FILENO, t->input.data + t->input.len, CHUNK);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return -1;
    if (n <= 0)
        t->in_end = true;
    else
        t->input.len += (size_t)n;
    return n;
}

static bool stdin_ready(void) {
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

// Get more input, now or after waiting; continue in k.
static int more_input(lua_State *L, struct term *t, lua_KFunction k) {
    if (!task_inside(L)) {
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        poll(&p, 1, -1);
        read_some(L, t);
        return k(L, LUA_OK, 0);
    }
    if (!loop_watch_add(t->loop, &t->in)) return luaL_error(L, "not enough memory");
    return task_wait(L, &t->readable, -1, 1, k);
}

static int read_again(lua_State *L, int status, lua_KContext waited) {
    struct term *t = term_of(L);
    (void)status;
    if (waited) task_woken(L);
    if (t->input.len) {
        size_t max = (size_t)luaL_optinteger(L, 1, CHUNK), n = t->input.len < max ? t->input.len : max;
        lua_pushlstring(L, t->input.data, n);
        bytebuf_consume(&t->input, n);
        return 1;
    }
    if (t->in_end) {
        lua_pushnil(L);
        return 1;
    }
    if (stdin_ready()) {
        read_some(L, t);
        return read_again(L, LUA_OK, 0);
    }
    return more_input(L, t, read_again);
}

// term.read([max]) -> bytes, nil at the end
static int lua_read(lua_State *L) {
    luaL_argcheck(L, luaL_optinteger(L, 1, 1) > 0, 1, "a positive number expected");
    return read_again(L, LUA_OK, 0);
}

static int read_line_again(lua_State *L, int status, lua_KContext waited) {
    struct term *t = term_of(L);
    (void)status;
    if (waited) task_woken(L);
    size_t limit = (size_t)luaL_optinteger(L, 1, LINE_MAX_DEFAULT);
    for (;;) {
        char *end = t->input.len ? memchr(t->input.data, '\n', t->input.len) : NULL;
        size_t n = end ? (size_t)(end - t->input.data) : t->input.len;
        bool done = end || (t->in_end && n > 0);
        if (n > limit || (t->skipping && !done)) { // drop the line, report it once at its end
            t->skipping = true;
            if (!end) t->input.len = 0;
        }
        if (done || (t->in_end && t->skipping)) {
            bool skipped = t->skipping;
            t->skipping = false;
            if (!skipped) lua_pushlstring(L, t->input.data, n);
            if (t->input.len) bytebuf_consume(&t->input, end ? n + 1 : t->input.len);
            if (skipped) return task_fail(L, "too_long", "a line is longer than %d bytes", (int)limit);
            return 1;
        }
        if (t->in_end) {
            lua_pushnil(L);
            return 1;
        }
        if (!stdin_ready()) return more_input(L, t, read_line_again);
        read_some(L, t);
    }
}

// term.read_line([limit]) -> line without its newline, nil at the end, or nil, err for a line over the limit
static int lua_read_line(lua_State *L) { return read_line_again(L, LUA_OK, 0); }

int luaopen_rt_term(lua_State *L) {
    static const luaL_Reg functions[] = {{"write", lua_write},     {"error", lua_error_text}, {"isatty", lua_isatty},
                                         {"columns", lua_columns}, {"read", lua_read},        {"read_line", lua_read_line},
                                         {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
