// SPDX-License-Identifier: MIT
// worker_lua.c: rt.worker, the host's side. One userdata per worker: its process, socket, shared page and captured
// output. Frames stay bytes until a task waits; then progress and calls are handed to the functions of the caller.
// A handle that is closed, collected or left behind by its scope kills its worker.
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame.h"
#include "pack.h"
#include "proc_lua.h"
#include "task.h"
#include "vm.h"
#include "worker.h"

#define WORKER "nkiln.worker"
#define HEARTBEAT 0.1 // seconds between two progress reports made from the counters

enum {
    PAUSE_AT = 4 << 20,  // bytes of frames that wait for a task
    TAIL = 16384,        // bytes kept of what a worker wrote to its standard output and error
};
static const double default_memory = 4.0 * (1 << 30), default_output = 1024.0 * (1 << 20);

// User values: 1 = on_progress, 2 = on_call, 3 = the result frame's table, 4 = last progress table.
struct worker {
    struct loop *loop;
    struct child *child; // NULL after the end
    struct frame_conn conn;
    struct loop_watch socket, output;
    struct bytebuf tail;
    struct worker_page *page;
    struct loop_timer wall, heartbeat;
    bool has_result, timed_out, cancelled, closed, output_open, socket_open, beat;
    int broken; // errno of a frame that could not be read
    int status;
    double started, seconds, cpu;
    size_t output_limit;
    struct waitq changed;
};

static void socket_close(struct worker *w) {
    if (!w->socket_open) return;
    w->socket_open = false;
    loop_watch_remove(&w->socket);
}

static void output_close(struct worker *w) {
    if (!w->output_open) return;
    w->output_open = false;
    loop_watch_remove(&w->output);
    close(w->output.fd);
}

static void on_socket(struct loop_watch *watch, short revents) {
    struct worker *w = watch->data;
    (void)revents;
    int error = frame_fill(&w->conn, false);
    if (error && error != EAGAIN) w->broken = error;
    if (w->conn.end || w->broken)
        socket_close(w);
    else if (w->conn.in.len >= PAUSE_AT)
        watch->events = 0;
    waitq_wake(&w->changed);
}

static void on_output(struct loop_watch *watch, short revents) {
    struct worker *w = watch->data;
    (void)revents;
    char chunk[4096];
    ssize_t n = read(watch->fd, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0 || !bytebuf_append(&w->tail, chunk, (size_t)n)) {
        output_close(w);
        waitq_wake(&w->changed);
        return;
    }
    if (w->tail.len > 2 * TAIL) bytebuf_consume(&w->tail, w->tail.len - TAIL);
}

static void on_wall(struct loop_timer *timer) {
    struct worker *w = timer->data;
    w->timed_out = true;
    if (w->child) child_signal(w->child, SIGKILL);
}

static void on_heartbeat(struct loop_timer *timer) {
    struct worker *w = timer->data;
    w->beat = true;
    waitq_wake(&w->changed);
}

static void on_exit_of_worker(struct child *child) {
    struct worker *w = child->data;
    child_reap(child);
    w->status = child->status;
    w->cpu = (double)(child->usage.ru_utime.tv_sec + child->usage.ru_stime.tv_sec) +
             1e-6 * (double)(child->usage.ru_utime.tv_usec + child->usage.ru_stime.tv_usec);
    w->seconds = loop_now() - w->started;
    child_free(child);
    w->child = NULL;
    loop_timer_stop(&w->wall);
    loop_timer_stop(&w->heartbeat);
    waitq_wake(&w->changed);
}

static void give_up(struct worker *w) {
    w->closed = true;
    loop_timer_stop(&w->wall);
    loop_timer_stop(&w->heartbeat);
    if (w->child) child_give_up(w->child, 0);
    w->child = NULL;
    socket_close(w);
    output_close(w);
    frame_conn_close(&w->conn);
    bytebuf_free(&w->tail);
    if (w->page) munmap(w->page, WORKER_PAGE_SIZE);
    w->page = NULL;
    waitq_wake(&w->changed);
}

static struct worker *check_worker(lua_State *L, int index) { return luaL_checkudata(L, index, WORKER); }

static int worker_close(lua_State *L) {
    struct worker *w = check_worker(L, 1);
    if (!w->closed) give_up(w);
    return 0;
}

static const luaL_Reg worker_methods[];

static struct worker *push_worker(lua_State *L) {
    struct worker *w = lua_newuserdatauv(L, sizeof *w, 4);
    memset(w, 0, sizeof *w);
    w->conn.fd = -1;
    w->loop = task_loop(L);
    w->wall = (struct loop_timer){.fire = on_wall, .data = w};
    w->heartbeat = (struct loop_timer){.fire = on_heartbeat, .data = w};
    if (luaL_newmetatable(L, WORKER)) {
        luaL_setfuncs(L, worker_methods, 0);
        lua_pushvalue(L, -1);
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
    lua_setmetatable(L, -2);
    return w;
}

static double limit_of(lua_State *L, int limits, const char *key, double standard) {
    if (!limits) return standard;
    int kind = lua_getfield(L, limits, key);
    if (kind != LUA_TNIL && (kind != LUA_TNUMBER || !(lua_tonumber(L, -1) >= 0))) luaL_error(L, "limits.%s: a number expected", key);
    double value = kind == LUA_TNIL ? standard : lua_tonumber(L, -1);
    lua_pop(L, 1);
    return fmin(value, 1e15);
}

// A worker starts from a known environment: what programs need to find themselves, and settings of this program and of
// the libraries it loads.
static size_t clean_environment(const char **out, size_t room) {
    static const char *const kept[] = {"PATH=", "HOME=", "LANG=", "LC_", "TZ=", "LD_LIBRARY_PATH=", "OPENBLAS_", "OMP_", "GOTO_",
                                       "ASAN_", "UBSAN_", "LSAN_", "NKILN_"};
    extern char **environ;
    size_t n = 0;
    for (char **e = environ; *e && n < room; e++)
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
            if (strncmp(*e, kept[i], strlen(kept[i])) == 0) {
                out[n++] = *e;
                break;
            }
    return n;
}

static struct worker_page *new_page(int *fd) {
    *fd = memfd_create("nkiln-run", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd < 0) return NULL;
    struct worker_page *page = MAP_FAILED;
    // Sealed in size: a worker that shrinks it would take the host down with SIGBUS.
    if (ftruncate(*fd, WORKER_PAGE_SIZE) == 0 && fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        page = mmap(NULL, WORKER_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (page != MAP_FAILED) return page;
    int saved = errno;
    close(*fd);
    *fd = -1;
    errno = saved;
    return NULL;
}

// Start the process; 0 or errno. On failure nothing is left open except what is in `w`.
static int launch(struct worker *w, struct children *all) {
    int pair[2] = {-1, -1}, out[2] = {-1, -1}, page_fd = -1, error = 0;
    const char *env[512] = {0};
    clean_environment(env, 511);
    static char *const argv[] = {"nkiln", WORKER_ARGUMENT, NULL};
    w->page = new_page(&page_fd);
    if (!w->page || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        error = errno;
    } else {
        int extra[2] = {pair[1], page_fd};
        struct proc_spawn spawn = {.path = "/proc/self/exe", .argv = argv, .envp = (char *const *)env, .in = -1, .out = out[1], .err = out[1],
                                   .extra = extra, .extra_count = 2};
        struct proc_error failed;
        pid_t pid = proc_spawn(&spawn, &failed);
        if (pid < 0)
            error = failed.error;
        else if (!(w->child = child_follow(all, pid)))
            error = ENOMEM;
    }
    if (page_fd >= 0) close(page_fd);
    if (pair[1] >= 0) close(pair[1]);
    if (out[1] >= 0) close(out[1]);
    if (error) {
        if (pair[0] >= 0) close(pair[0]);
        if (out[0] >= 0) close(out[0]);
        return error;
    }
    w->started = loop_now();
    w->child->data = w;
    w->child->on_exit = on_exit_of_worker;
    w->conn.fd = pair[0];
    w->socket = (struct loop_watch){.fd = pair[0], .events = POLLIN, .ready = on_socket, .data = w};
    w->output = (struct loop_watch){.fd = out[0], .events = POLLIN, .ready = on_output, .data = w};
    w->socket_open = w->output_open = true;
    return loop_watch_add(w->loop, &w->socket) && loop_watch_add(w->loop, &w->output) ? 0 : ENOMEM;
}

// worker.start{ module=, request=, limits=, rights=, home=, on_progress=, on_call= } -> handle | nil, err
static int lua_start(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct worker *w = push_worker(L); // 2
    int limits = 0;
    if (lua_getfield(L, 1, "limits") != LUA_TNIL) {
        limits = lua_gettop(L);
        luaL_checktype(L, limits, LUA_TTABLE);
    }
    static const char *const callbacks[] = {"on_progress", "on_call"};
    for (int i = 0; i < 2; i++) {
        int kind = lua_getfield(L, 1, callbacks[i]);
        if (kind != LUA_TNIL && kind != LUA_TFUNCTION) return luaL_error(L, "%s: a function expected", callbacks[i]);
        lua_setiuservalue(L, 2, i + 1);
    }
    // The start frame.
    lua_createtable(L, 0, 8);
    int spec = lua_gettop(L);
    if (lua_getfield(L, 1, "module") != LUA_TSTRING) return luaL_error(L, "module: a name expected");
    lua_setfield(L, spec, "module");
    lua_getfield(L, 1, "request");
    lua_setfield(L, spec, "request");
    lua_getfield(L, 1, "rights");
    lua_setfield(L, spec, "rights");
    const char *home = vm_home(L);
    if (lua_getfield(L, 1, "home") != LUA_TSTRING) lua_pushstring(L, home ? home : ""); // a folder of Lua files of its own
    lua_setfield(L, spec, "home");
    double wall = limit_of(L, limits, "wall", 0);
    w->output_limit = (size_t)limit_of(L, limits, "output", default_output);
    lua_pushnumber(L, limit_of(L, limits, "memory", default_memory));
    lua_setfield(L, spec, "memory");
    lua_pushnumber(L, limit_of(L, limits, "cpu", 0));
    lua_setfield(L, spec, "cpu");
    lua_pushnumber(L, limit_of(L, limits, "steps", 0));
    lua_setfield(L, spec, "steps");
    lua_pushnumber(L, (lua_Number)w->output_limit);
    lua_setfield(L, spec, "output");
    struct pack_writer *writer = pack_push_writer(L);
    pack_write(L, writer, spec);
    int error = launch(w, proc_children(L));
    if (!error) error = frame_send(w->conn.fd, FRAME_START, writer->out.data, writer->out.len, writer->fds, writer->fd_count, false);
    // A worker that died before it read its request is reported by wait, with what it wrote.
    if (error && error != EPIPE && error != ECONNRESET) {
        give_up(w);
        return task_fail(L, "unavailable", "a worker process could not be started: %s", strerror(error));
    }
    if (wall > 0) loop_timer_start(w->loop, &w->wall, loop_now() + wall);
    task_own(L, 2);
    lua_pushvalue(L, 2);
    return 1;
}

// What the counters of the worker say now.
static void push_counters(lua_State *L, struct worker *w) {
    volatile struct run_state *run = &w->page->run;
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, (lua_Integer)run->instructions);
    lua_setfield(L, -2, "instructions");
    lua_pushinteger(L, (lua_Integer)run->steps);
    lua_setfield(L, -2, "steps");
    lua_pushinteger(L, run->site);
    lua_setfield(L, -2, "site");
    lua_pushinteger(L, (lua_Integer)run->arrays.peak);
    lua_setfield(L, -2, "array_bytes");
    lua_pushnumber(L, (w->child ? loop_now() : w->started + w->seconds) - w->started);
    lua_setfield(L, -2, "seconds");
}

static void push_info(lua_State *L, struct worker *w) {
    push_counters(L, w);
    lua_pushnumber(L, w->cpu);
    lua_setfield(L, -2, "cpu");
    if (lua_getiuservalue(L, 1, 3) == LUA_TTABLE) {
        lua_getfield(L, -1, "jail");
        lua_setfield(L, -3, "jail");
        lua_getfield(L, -1, "lua_bytes");
        lua_setfield(L, -3, "lua_bytes");
    }
    lua_pop(L, 1);
    lua_pushlstring(L, w->tail.data ? w->tail.data : "", w->tail.len);
    lua_setfield(L, -2, "output");
}

// nil, err with the counters in err.info
static int fail(lua_State *L, struct worker *w, const char *code, const char *message) {
    task_fail(L, code, "%s", message);
    push_info(L, w);
    lua_setfield(L, -2, "info");
    return 2;
}

static int finish_result(lua_State *L, struct worker *w) {
    lua_settop(L, 1);
    lua_getiuservalue(L, 1, 3); // 2
    lua_getfield(L, 2, "ok");
    if (lua_toboolean(L, -1)) {
        lua_getfield(L, 2, "value");
        if (lua_isnil(L, -1) && lua_getfield(L, 2, "second") != LUA_TNIL) return 2; // the function returned nil, err
        lua_settop(L, 4);
        push_info(L, w);
        return 2;
    }
    lua_getfield(L, 2, "error");
    if (lua_getfield(L, -1, "value") == LUA_TTABLE) {
        lua_pushnil(L);
        lua_insert(L, -2);
        return 2;
    }
    lua_pop(L, 1);
    push_info(L, w);
    lua_setfield(L, -2, "info");
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

static int finish_abnormal(lua_State *L, struct worker *w) {
    char message[256];
    if (w->cancelled) return fail(L, w, "cancelled", "the worker was cancelled");
    if (w->timed_out) return fail(L, w, "timeout", "the work did not end within its time limit");
    if (w->broken == EFBIG) return fail(L, w, "output", "the result is larger than its limit");
    if (w->broken) {
        snprintf(message, sizeof message, "the worker sent something unreadable: %s", strerror(w->broken));
        return fail(L, w, "crashed", message);
    }
    if (WIFSIGNALED(w->status)) {
        int signal = WTERMSIG(w->status);
        if (signal == SIGXCPU) return fail(L, w, "cpu", "CPU time limit reached");
        if (signal == SIGKILL)
            snprintf(message, sizeof message, "the worker was killed from outside (out of memory?)");
        else
            snprintf(message, sizeof message, "the worker crashed: %s", strsignal(signal));
    } else {
        snprintf(message, sizeof message, "the worker ended with status %d and no result", WEXITSTATUS(w->status));
    }
    return fail(L, w, "crashed", message);
}

static int wait_again(lua_State *L, int status, lua_KContext waited);

// Stack: 1 handle, 2 = true, results... of on_call; or false, error.
static int call_done(lua_State *L, int status, lua_KContext context) {
    struct worker *w = check_worker(L, 1);
    (void)context;
    lua_createtable(L, 0, 2);
    int answer = lua_gettop(L);
    if (status == LUA_OK || status == LUA_YIELD) {
        int n = answer - 2;
        lua_createtable(L, n, 1);
        for (int i = 1; i <= n; i++) {
            lua_pushvalue(L, 1 + i);
            lua_rawseti(L, -2, i);
        }
        lua_pushinteger(L, n);
        lua_setfield(L, -2, "n");
        lua_setfield(L, answer, "values");
        lua_pushboolean(L, 1);
        lua_setfield(L, answer, "ok");
    } else {
        task_check(L); // the end of this task is not an answer
        lua_pushvalue(L, answer - 1);
        lua_setfield(L, answer, "error");
    }
    struct pack_writer *writer = pack_push_writer(L);
    pack_write(L, writer, answer);
    int error = w->conn.fd < 0 ? EPIPE : frame_send(w->conn.fd, FRAME_REPLY, writer->out.data, writer->out.len, writer->fds, writer->fd_count, false);
    if (error && w->child) child_signal(w->child, SIGKILL); // it does not listen
    lua_settop(L, 1);
    return wait_again(L, LUA_OK, 0);
}

static int no_call(lua_State *L) { return luaL_error(L, "the host answers no calls from this worker"); }

static int read_frame(lua_State *L) {
    struct frame *frame = lua_touserdata(L, 1);
    pack_read(L, frame->data, frame->len, frame->fds, frame->fd_count);
    return 1;
}

// Take the next frame and push its value. Returns the kind, 0 when there is none.
static uint32_t next_message(lua_State *L, struct worker *w) {
    struct frame frame;
    if (w->broken || w->conn.fd < 0) return 0;
    int error = frame_next(&w->conn, &frame, w->output_limit + 65536);
    if (w->conn.in.len < PAUSE_AT) w->socket.events = POLLIN;
    if (error == EAGAIN) return 0;
    uint32_t kind = frame.kind;
    if (!error) {
        lua_pushcfunction(L, read_frame);
        lua_pushlightuserdata(L, &frame);
        if (lua_pcall(L, 1, 1, 0) != LUA_OK || (kind != FRAME_PROGRESS && kind != FRAME_CALL && kind != FRAME_RESULT) || !lua_istable(L, -1))
            error = EPROTO;
        frame_free(&frame);
    }
    if (error) {
        w->broken = error;
        if (w->child) child_signal(w->child, SIGKILL);
        return 0;
    }
    return kind;
}

static int wait_again(lua_State *L, int status, lua_KContext waited) {
    (void)status;
    struct worker *w = check_worker(L, 1);
    if (waited) task_woken(L);
    for (;;) {
        lua_settop(L, 1);
        if (w->closed && !w->cancelled) return task_fail(L, "closed", "the handle is closed");
        if (w->closed) return task_fail(L, "cancelled", "the worker was cancelled");
        uint32_t kind = w->has_result || w->cancelled ? 0 : next_message(L, w);
        if (kind == FRAME_RESULT) {
            lua_setiuservalue(L, 1, 3);
            w->has_result = true;
            loop_timer_stop(&w->wall);
            if (w->child) child_signal(w->child, SIGKILL); // all it had to do is done
        } else if (kind == FRAME_PROGRESS) {
            if (lua_getiuservalue(L, 1, 1) == LUA_TFUNCTION) {
                lua_insert(L, -2);
                push_counters(L, w); // what the worker says itself wins
                lua_pushnil(L);
                while (lua_next(L, -2)) {
                    lua_pushvalue(L, -2);
                    if (lua_rawget(L, -5) == LUA_TNIL) {
                        lua_pop(L, 1);
                        lua_pushvalue(L, -2);
                        lua_insert(L, -2);
                        lua_rawset(L, -5);
                    } else {
                        lua_pop(L, 2);
                    }
                }
                lua_pop(L, 1);
                lua_callk(L, 1, 0, 0, wait_again);
            }
        } else if (kind == FRAME_CALL) {
            lua_getfield(L, 2, "name");
            lua_getfield(L, 2, "value");
            if (lua_getiuservalue(L, 1, 2) != LUA_TFUNCTION) {
                lua_pop(L, 1);
                lua_pushcfunction(L, no_call);
            }
            lua_replace(L, 2);
            lua_insert(L, 3); // handle, function, value, name
            lua_insert(L, 3); // handle, function, name, value
            return call_done(L, lua_pcallk(L, 2, LUA_MULTRET, 0, 0, call_done), 0);
        } else if (!w->child && (w->has_result || w->cancelled || w->timed_out || w->broken || !w->socket_open) && !w->output_open) {
            socket_close(w);
            frame_conn_close(&w->conn);
            return w->has_result ? finish_result(L, w) : finish_abnormal(L, w);
        } else {
            if (w->beat && w->child && !w->has_result && lua_getiuservalue(L, 1, 1) == LUA_TFUNCTION) {
                w->beat = false;
                push_counters(L, w);
                lua_callk(L, 1, 0, 0, wait_again);
                continue;
            }
            lua_settop(L, 1);
            if (w->child && !w->heartbeat.loop && !w->has_result && lua_getiuservalue(L, 1, 1) == LUA_TFUNCTION)
                loop_timer_start(w->loop, &w->heartbeat, loop_now() + HEARTBEAT);
            lua_settop(L, 1);
            return task_wait(L, &w->changed, -1, 1, wait_again);
        }
    }
}

// handle:wait() -> result, info | nil, err
static int worker_wait(lua_State *L) {
    check_worker(L, 1);
    lua_settop(L, 1);
    return wait_again(L, LUA_OK, 0);
}

static int worker_cancel(lua_State *L) {
    struct worker *w = check_worker(L, 1);
    if (!w->child || w->has_result) return 0;
    w->cancelled = true;
    child_signal(w->child, SIGKILL);
    waitq_wake(&w->changed);
    return 0;
}

static int worker_counters(lua_State *L) {
    struct worker *w = check_worker(L, 1);
    if (!w->page) return luaL_error(L, "the handle is closed");
    push_counters(L, w);
    return 1;
}

static int worker_pid(lua_State *L) {
    struct worker *w = check_worker(L, 1);
    if (w->child)
        lua_pushinteger(L, w->child->pid);
    else
        lua_pushnil(L);
    return 1;
}

static const luaL_Reg worker_methods[] = {{"wait", worker_wait},         {"cancel", worker_cancel}, {"counters", worker_counters},
                                          {"pid", worker_pid},           {"close", worker_close},   {"__close", worker_close},
                                          {"__gc", worker_close},        {NULL, NULL}};

int luaopen_rt_worker(lua_State *L) {
    static const luaL_Reg functions[] = {{"start", lua_start}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
