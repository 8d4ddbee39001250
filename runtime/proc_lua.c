// SPDX-License-Identifier: MIT
// proc_lua.c: rt.proc. One userdata per child: its three pipes, what it wrote so far, and its end. Reading and waiting
// yield the task. A handle that is closed, collected or left behind by its scope gives its child to the reaper.
#include "proc_lua.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytebuf.h"
#include "task.h"

#define PROC "nkiln.proc"

enum {
    CHUNK = 65536,
    PAUSE_AT = 1 << 20,        // bytes waiting for a reader before its pipe is left alone
    DEFAULT_LIMIT = 64 << 20,  // bytes kept of each output
};
#define DRAIN 0.5 // seconds that output may still come after the end, first from the group, then from strangers

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

static const char children_key = 0;
extern char **environ;

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

static void input_close(struct proc *p) {
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
        input_close(p);
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
        if (s->buf.len >= PAUSE_AT) watch->events = 0;
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
        input_close(p);
    } else {
        bytebuf_consume(&p->in, (size_t)n);
        if (p->in.len == 0) {
            watch->events = 0;
            if (p->in_close_after) input_close(p);
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

static void give_up(struct proc *p, double grace) {
    loop_timer_stop(&p->deadline);
    loop_timer_stop(&p->drain);
    stream_close(&p->out);
    stream_close(&p->err);
    input_close(p);
    bytebuf_free(&p->out.buf);
    bytebuf_free(&p->err.buf);
    if (p->child) child_give_up(p->child, grace);
    p->child = NULL;
    p->closed = true;
    waitq_wake(&p->changed);
}

static struct proc *check_proc(lua_State *L, int index) { return luaL_checkudata(L, index, PROC); }

static int proc_close(lua_State *L) {
    struct proc *p = check_proc(L, 1);
    if (!p->closed) give_up(p, p->grace);
    return 0;
}

static const luaL_Reg proc_methods[];

static struct proc *push_proc(lua_State *L) {
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

// Options.

static const char *opt_string(lua_State *L, int table, const char *key, const char *standard) {
    int kind = lua_getfield(L, table, key);
    if (kind == LUA_TNIL) {
        lua_pop(L, 1);
        return standard;
    }
    if (kind != LUA_TSTRING) luaL_error(L, "%s: a string expected", key);
    return lua_tostring(L, -1); // stays on the stack
}

static double opt_number(lua_State *L, int table, const char *key, double standard) {
    int kind = lua_getfield(L, table, key);
    if (kind != LUA_TNIL && (kind != LUA_TNUMBER || lua_tonumber(L, -1) != lua_tonumber(L, -1)))
        luaL_error(L, "%s: a number expected", key);
    double value = kind == LUA_TNIL ? standard : lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
}

// NAME=VALUE strings from `env` (the whole environment) or from the host's with `setenv` changes (false removes).
static const char **push_environment(lua_State *L, int table) {
    lua_newtable(L);
    int list = lua_gettop(L);
    lua_Integer n = 0;
    int changes = 0;
    if (lua_getfield(L, table, "env") == LUA_TNIL) {
        if (lua_getfield(L, table, "setenv") != LUA_TNIL) changes = lua_gettop(L);
        for (char **e = environ; *e; e++) {
            size_t len = strcspn(*e, "=");
            if (changes) {
                lua_pushlstring(L, *e, len);
                bool changed = lua_gettable(L, changes) != LUA_TNIL;
                lua_pop(L, 1);
                if (changed) continue;
            }
            lua_pushstring(L, *e);
            lua_rawseti(L, list, ++n);
        }
    } else {
        changes = lua_gettop(L);
    }
    if (changes) {
        luaL_checktype(L, changes, LUA_TTABLE);
        lua_pushnil(L);
        while (lua_next(L, changes)) {
            if (lua_type(L, -2) != LUA_TSTRING) luaL_error(L, "env: names must be strings");
            if (lua_type(L, -1) != LUA_TBOOLEAN || lua_toboolean(L, -1)) {
                const char *value = luaL_tolstring(L, -1, NULL), *name = lua_tostring(L, -3);
                lua_pushfstring(L, "%s=%s", name, value);
                lua_rawseti(L, list, ++n);
                lua_pop(L, 1);
            }
            lua_pop(L, 1);
        }
    }
    lua_settop(L, list);
    return proc_push_strings(L, list, "env");
}

static const char *path_of(const char *const *env) {
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0) return *env + 5;
    return "/usr/local/bin:/usr/bin:/bin";
}

struct pipes {
    int in[2], out[2], err[2];
};

static void close_pair(int pair[2]) {
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0) close(pair[i]);
    pair[0] = pair[1] = -1;
}

static bool open_pipes(struct pipes *pipes, bool merge) {
    *pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(pipes->in, O_CLOEXEC) == 0 && pipe2(pipes->out, O_CLOEXEC) == 0 && (merge || pipe2(pipes->err, O_CLOEXEC) == 0)) {
        fcntl(pipes->in[1], F_SETFL, O_NONBLOCK); // our ends only
        fcntl(pipes->out[0], F_SETFL, O_NONBLOCK);
        if (!merge) fcntl(pipes->err[0], F_SETFL, O_NONBLOCK);
        return true;
    }
    int saved = errno;
    close_pair(pipes->in);
    close_pair(pipes->out);
    close_pair(pipes->err);
    errno = saved;
    return false;
}

static bool stream_open(struct proc *p, struct stream *s, int fd) {
    s->watch = (struct loop_watch){.fd = fd, .events = POLLIN, .ready = on_output, .data = s};
    s->open = true;
    return loop_watch_add(p->loop, &s->watch);
}

static int start_failed(lua_State *L, const char *program, const struct proc_error *error) {
    const char *why = strerror(error->error);
    switch (error->stage) {
    case PROC_CWD: return task_fail(L, error->error == ENOENT ? "not_found" : "failed", "cannot start %s: folder: %s", program, why);
    case PROC_JAIL: return task_fail(L, "unavailable", "cannot start %s: confinement: %s", program, why);
    case PROC_EXEC:
        return task_fail(L,
                         error->error == ENOENT                              ? "not_found"
                         : error->error == EACCES || error->error == EPERM ? "not_permitted"
                         : error->error == ENOEXEC                           ? "not_executable"
                                                                             : "failed",
                         "cannot start %s: %s", program, why);
    default: return task_fail(L, "failed", "cannot start %s: %s", program, why);
    }
}

struct jail_box {
    struct jail *jail;
    char **argv; // bubblewrap's command line
};

static int jail_box_gc(lua_State *L) {
    struct jail_box *box = lua_touserdata(L, 1);
    jail_free(box->jail);
    free(box->argv);
    *box = (struct jail_box){0};
    return 0;
}

static struct jail_box *push_jail_box(lua_State *L) {
    struct jail_box *box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = (struct jail_box){0};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, jail_box_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    return box;
}

static bool opt_true(lua_State *L, int table, const char *key) {
    lua_getfield(L, table, key);
    bool value = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return value;
}

// Reads options.jail. Pushes what must stay alive. Returns false after pushing nil, err: no layer works here.
static bool setup_jail(lua_State *L, int options, const char *cwd, char *const **argv, const char **path, struct jail_box *box,
                       unsigned *layers, const char *search) {
    if (lua_getfield(L, options, "jail") == LUA_TNIL) return true;
    int table = lua_gettop(L);
    luaL_checktype(L, table, LUA_TTABLE);
    struct jail_spec spec = {.exec = true, .fork = true, .net = opt_true(L, table, "net")};
    lua_getfield(L, table, "read");
    spec.read = (const char *const *)proc_push_strings(L, -1, "jail.read");
    lua_getfield(L, table, "write");
    spec.write = (const char *const *)proc_push_strings(L, -1, "jail.write");
    spec.cpu_seconds = (uint64_t)ceil(opt_number(L, table, "cpu", 0));
    spec.file_size = (uint64_t)opt_number(L, table, "file_size", 0);
    spec.address_space = (uint64_t)opt_number(L, table, "memory", 0);
    const char *layer = opt_string(L, table, "layer", "auto");
    int abi;
    unsigned have = jail_probe(strcmp(layer, "landlock") != 0, &abi);
    if ((have & JAIL_BWRAP) && strcmp(layer, "landlock") != 0) {
        char bwrap[4096];
        if (proc_find_program("bwrap", search, bwrap, sizeof bwrap) != 0 &&
            proc_find_program("bwrap", "/usr/bin:/bin:/usr/local/bin", bwrap, sizeof bwrap) != 0)
            luaL_error(L, "bubblewrap went away");
        char **inner = (char **)*argv;
        char *first = inner[0];
        inner[0] = (char *)*path; // found by the caller's PATH
        box->argv = jail_bwrap_argv(bwrap, &spec, cwd, inner);
        inner[0] = first;
        if (!box->argv) luaL_error(L, "not enough memory");
        *argv = box->argv;
        *path = lua_pushstring(L, bwrap);
        *layers = JAIL_BWRAP;
        spec.limits_only = true;
        box->jail = jail_prepare(&spec);
        if (!box->jail) luaL_error(L, "not enough memory");
        return true;
    }
    if (strcmp(layer, "bwrap") == 0 || !(have & JAIL_LANDLOCK) || !(have & JAIL_SECCOMP)) {
        task_fail(L, "unavailable", "confinement is not available here: bubblewrap %s, landlock ABI %d, seccomp %s",
                  have & JAIL_BWRAP ? "works" : "does not work", abi, have & JAIL_SECCOMP ? "works" : "missing");
        return false;
    }
    box->jail = jail_prepare(&spec);
    if (!box->jail) {
        task_fail(L, "unavailable", "confinement could not be prepared: %s", strerror(errno));
        return false;
    }
    *layers = jail_layers(box->jail);
    return true;
}

// proc.start(options) -> handle | nil, err
static int lua_start(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 60, "options");
    struct proc *p = push_proc(L); // 2
    lua_getfield(L, 1, "argv");    // 3
    const char **argv = proc_push_strings(L, 3, "argv");
    if (!argv || !argv[0]) return luaL_error(L, "argv: a program expected");
    const char **env = push_environment(L, 1);
    const char *cwd = opt_string(L, 1, "cwd", NULL);
    p->grace = opt_number(L, 1, "grace", 2);
    double deadline = opt_number(L, 1, "deadline", 0);
    p->out.limit = (size_t)fmax(0, fmin(opt_number(L, 1, "stdout_limit", DEFAULT_LIMIT), 1e12));
    p->err.limit = (size_t)fmax(0, fmin(opt_number(L, 1, "stderr_limit", DEFAULT_LIMIT), 1e12));
    bool merge = opt_true(L, 1, "merge");
    p->out.streaming = opt_true(L, 1, "stream") || opt_true(L, 1, "on_stdout");
    p->err.streaming = opt_true(L, 1, "stream") || opt_true(L, 1, "on_stderr");
    bool interactive = opt_true(L, 1, "interactive");
    char found[4096];
    const char *search = path_of(env);
    int error = proc_find_program(argv[0], search, found, sizeof found);
    if (error) {
        struct proc_error e = {PROC_EXEC, error};
        return start_failed(L, argv[0], &e);
    }
    const char *path = found;
    // With a folder of its own, a relative program is still meant from the caller's.
    char absolute[8192];
    if (cwd && found[0] != '/') {
        char here[4096];
        if (getcwd(here, sizeof here)) {
            snprintf(absolute, sizeof absolute, "%s/%s", here, found);
            path = absolute;
        }
    }
    struct jail_box *box = push_jail_box(L);
    char *const *run = (char *const *)argv;
    if (!setup_jail(L, 1, cwd, &run, &path, box, &p->layers, search)) return 2;
    if (lua_getfield(L, 1, "input") != LUA_TNIL) {
        size_t len;
        const char *input = luaL_checklstring(L, -1, &len);
        if (!bytebuf_append(&p->in, input, len)) return luaL_error(L, "not enough memory");
    }
    struct children *all = proc_children(L);
    struct pipes pipes;
    if (!open_pipes(&pipes, merge)) {
        bytebuf_free(&p->in);
        return task_fail(L, "failed", "cannot start %s: %s", argv[0], strerror(errno));
    }
    struct proc_spawn spawn = {.path = path,
                               .argv = run,
                               .envp = (char *const *)env,
                               .cwd = box->argv ? NULL : cwd,
                               .in = pipes.in[0],
                               .out = pipes.out[1],
                               .err = merge ? pipes.out[1] : pipes.err[1],
                               .jail = box->jail};
    struct proc_error failed;
    pid_t pid = proc_spawn(&spawn, &failed);
    p->child = pid > 0 ? child_follow(all, pid) : NULL;
    close(pipes.in[0]);
    close(pipes.out[1]);
    if (!merge) close(pipes.err[1]);
    if (!p->child) {
        close(pipes.in[1]);
        close(pipes.out[0]);
        if (!merge) close(pipes.err[0]);
        bytebuf_free(&p->in);
        if (pid > 0) return task_fail(L, "failed", "cannot start %s: out of memory or descriptors", argv[0]);
        return start_failed(L, argv[0], &failed);
    }
    p->started = loop_now();
    p->child->data = p;
    p->child->on_exit = on_exit_of_child;
    bool ok = stream_open(p, &p->out, pipes.out[0]);
    if (!merge) ok &= stream_open(p, &p->err, pipes.err[0]);
    p->in_watch = (struct loop_watch){.fd = pipes.in[1], .events = POLLOUT, .ready = on_input, .data = p};
    p->in_open = true;
    p->in_close_after = !interactive;
    if (p->in.len == 0 && !interactive)
        input_close(p);
    else
        ok &= loop_watch_add(p->loop, &p->in_watch);
    if (p->in_open && p->in.len == 0) p->in_watch.events = 0;
    if (deadline > 0) ok &= loop_timer_start(p->loop, &p->deadline, loop_now() + fmin(deadline, 1e9));
    if (!ok) {
        give_up(p, 0);
        return luaL_error(L, "not enough memory");
    }
    task_own(L, 2);
    lua_pushvalue(L, 2);
    return 1;
}

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
    struct proc *p = check_proc(L, 1);
    if (waited) task_woken(L);
    if (p->finished) return finish(L, p);
    if (p->closed) return task_fail(L, "closed", "the handle is closed");
    return task_wait(L, &p->changed, -1, 1, wait_again);
}

static int proc_wait(lua_State *L) {
    struct proc *p = check_proc(L, 1);
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
    struct proc *p = check_proc(L, 1);
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
    check_proc(L, 1);
    return read_again(L, LUA_OK, 0);
}

static int write_again(lua_State *L, int status, lua_KContext waited) {
    (void)status;
    struct proc *p = check_proc(L, 1);
    if (waited) task_woken(L);
    if (!p->in_open) return task_fail(L, "closed", "the program does not read its input any more");
    if (p->in.len > PAUSE_AT) return task_wait(L, &p->changed, -1, 1, write_again);
    lua_pushboolean(L, 1);
    return 1;
}

static int proc_write(lua_State *L) {
    struct proc *p = check_proc(L, 1);
    size_t len;
    const char *data = luaL_checklstring(L, 2, &len);
    if (p->in_open && !bytebuf_append(&p->in, data, len)) return luaL_error(L, "not enough memory");
    if (p->in.len) p->in_watch.events = POLLOUT;
    return write_again(L, LUA_OK, 0);
}

static int proc_close_stdin(lua_State *L) {
    struct proc *p = check_proc(L, 1);
    p->in_close_after = true;
    if (p->in.len == 0) input_close(p);
    return 0;
}

static int proc_kill(lua_State *L) {
    struct proc *p = check_proc(L, 1);
    int signal = (int)luaL_optinteger(L, 2, SIGTERM);
    if (p->child) {
        child_signal(p->child, signal);
        if (signal == SIGTERM) child_signal(p->child, SIGCONT);
    }
    return 0;
}

static int proc_pid(lua_State *L) {
    struct proc *p = check_proc(L, 1);
    if (p->child)
        lua_pushinteger(L, p->child->pid);
    else
        lua_pushnil(L);
    return 1;
}

static int proc_running(lua_State *L) {
    struct proc *p = check_proc(L, 1);
    lua_pushboolean(L, !p->finished && !p->closed);
    return 1;
}

static const luaL_Reg proc_methods[] = {{"wait", proc_wait},
                                        {"read", proc_read},
                                        {"write", proc_write},
                                        {"close_stdin", proc_close_stdin},
                                        {"kill", proc_kill},
                                        {"pid", proc_pid},
                                        {"running", proc_running},
                                        {"close", proc_close},
                                        {"__gc", proc_close},
                                        {"__close", proc_close},
                                        {NULL, NULL}};

// proc.run(options): start, hand chunks to the callbacks, wait. Stack: 1 options, 2 handle (to be closed),
// 3 on_stdout, 4 on_stderr.
static int run_again(lua_State *L, int status, lua_KContext waited) {
    (void)status;
    struct proc *p = check_proc(L, 2);
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
    lua_pushcfunction(L, lua_start);
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
    static const luaL_Reg functions[] = {{"start", lua_start}, {"run", lua_run},   {"find", lua_find},
                                         {"jail_layers", lua_jail_layers}, {"pid", lua_self}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
