// SPDX-License-Identifier: MIT
// worker.c: the worker's side.
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"
#include "jail.h"
#include "pack.h"
#include "task.h"
#include "vm.h"

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif
#ifndef ADDRESS_SANITIZER
#define ADDRESS_SANITIZER 0
#endif

_Static_assert(sizeof(struct worker_page) <= WORKER_PAGE_SIZE, "one page");

// Of a worker's memory, kept from arrays and tiles: Lua must be able to run when they have taken all they may.
#define RESERVE ((size_t)64 << 20)

// One per process: the signal handler has no other way to reach it.
static struct {
    struct vm *vm;
    struct frame_conn conn;
    size_t output;
    char jail[128];
} worker;

static void on_cpu_time(int signal) {
    (void)signal;
    int saved = errno;
    if (worker.vm) vm_kill(worker.vm, VM_KILL_CPU);
    errno = saved;
}

// Fires once when the limit is reached and then every 50 ms: the first may hit between two coroutines.
static void arm_cpu_limit(double seconds) {
    struct sigaction action = {.sa_handler = on_cpu_time, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)((seconds - floor(seconds)) * 1e6)},
                              .it_interval = {.tv_usec = 50000}};
    if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0) timer.it_value.tv_usec = 1;
    setitimer(ITIMER_PROF, &timer, NULL);
}

static void send_packed(lua_State *L, uint32_t kind, int index) {
    struct pack_writer *writer = pack_push_writer(L);
    pack_write(L, writer, index);
    if (writer->out.len > worker.output && kind == FRAME_RESULT) {
        lua_createtable(L, 0, 2);
        lua_pushliteral(L, "output");
        lua_setfield(L, -2, "code");
        lua_pushfstring(L, "the result is larger than its limit (%d MiB)", (int)(worker.output >> 20));
        lua_setfield(L, -2, "message");
        lua_error(L);
    }
    int error = frame_send(worker.conn.fd, kind, writer->out.data, writer->out.len, writer->fds, writer->fd_count, true);
    lua_pop(L, 1);
    if (error) luaL_error(L, "the host does not answer: %s", strerror(error));
}

// ctx.progress(table)
static int ctx_progress(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    send_packed(L, FRAME_PROGRESS, 1);
    return 0;
}

static void push_frame(lua_State *L, struct frame *frame) {
    pack_read(L, frame->data, frame->len, frame->fds, frame->fd_count);
}

static int read_frame(lua_State *L) {
    push_frame(L, lua_touserdata(L, 1));
    return 1;
}

// Wait for a frame of this kind and push its value.
static void receive(lua_State *L, uint32_t kind) {
    struct frame frame;
    int error;
    while ((error = frame_next(&worker.conn, &frame, SIZE_MAX)) == EAGAIN) {
        error = frame_fill(&worker.conn, true);
        if (error) break;
        if (worker.conn.end) _exit(1); // the host is gone, and with it whoever wants a result
    }
    if (!error && frame.kind != kind) error = EPROTO;
    if (error) luaL_error(L, "the host does not answer: %s", strerror(error));
    lua_pushcfunction(L, read_frame);
    lua_pushlightuserdata(L, &frame);
    int status = lua_pcall(L, 1, 1, 0);
    frame_free(&frame);
    if (status != LUA_OK) lua_error(L);
}

// ctx.call(name, value) -> answer of the host's on_call; what it raised is raised here
static int ctx_call(lua_State *L) {
    luaL_checkstring(L, 1);
    lua_settop(L, 2);
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, 1);
    lua_setfield(L, 3, "name");
    lua_pushvalue(L, 2);
    lua_setfield(L, 3, "value");
    send_packed(L, FRAME_CALL, 3);
    receive(L, FRAME_REPLY);
    lua_getfield(L, -1, "ok");
    bool ok = lua_toboolean(L, -1);
    lua_pop(L, 1);
    if (!ok) {
        lua_getfield(L, -1, "error");
        return lua_error(L);
    }
    lua_getfield(L, -1, "values");
    lua_getfield(L, -1, "n");
    int n = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    luaL_checkstack(L, n, "answer");
    int values = lua_gettop(L);
    for (int i = 1; i <= n; i++) lua_rawgeti(L, values, i);
    return n;
}

static lua_Number field_number(lua_State *L, int table, const char *key) {
    lua_getfield(L, table, key);
    lua_Number value = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
}

static const char *const library_roots[] = {"/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64", "/lib", "/lib64",
                                            "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives",
                                            "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system",
                                            "/sys/fs/cgroup"}; // DuckDB ends the process where it may not look for its share

// Number of paths added to `out`; strings stay owned by the table.
static size_t add_roots(lua_State *L, int rights, const char *key, const char **out, size_t room) {
    size_t n = 0;
    if (lua_getfield(L, rights, key) == LUA_TTABLE)
        for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, -1) && n < room; i++) {
            if (lua_rawgeti(L, -1, i) == LUA_TSTRING) out[n++] = lua_tostring(L, -1);
            lua_pop(L, 1);
        }
    lua_pop(L, 1);
    return n;
}

// Give up every right that the request does not need. Returns 0 or an errno that must end the worker.
static int confine(lua_State *L, int spec, double memory, double cpu) {
    enum { ROOTS = 64, LIBRARIES = sizeof library_roots / sizeof *library_roots };
    static const char *const network_roots[] = {"/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/gai.conf",
                                                "/etc/ssl", "/etc/pki", "/etc/services"}; // for a worker that may use sockets
    enum { NETWORK = sizeof network_roots / sizeof *network_roots };
    const char *read[ROOTS + LIBRARIES + NETWORK + 2] = {0}, *write[ROOTS + 1] = {0};
    memcpy(read, library_roots, sizeof library_roots);
    size_t n = LIBRARIES;
    bool net = false;
    const char *home = vm_home(L);
    if (home) read[n++] = home;
    if (lua_getfield(L, spec, "rights") == LUA_TTABLE) {
        int rights = lua_gettop(L);
        lua_getfield(L, rights, "net");
        net = lua_toboolean(L, -1);
        lua_pop(L, 1);
        for (size_t i = 0; net && i < NETWORK; i++) read[n++] = network_roots[i];
        add_roots(L, rights, "read", read + n, ROOTS);
        add_roots(L, rights, "write", write, ROOTS);
    }
    lua_pop(L, 1);
    struct jail_spec jail_spec = {.read = read, .write = write, .net = net};
    // The outer wall: what the account does not see are libraries, thread stacks, working memory of instructions and
    // frames. The address sanitizer reserves more than that.
    if (memory > 0 && !ADDRESS_SANITIZER) jail_spec.address_space = (uint64_t)(memory * 1.25) + (2ULL << 30);
    if (cpu > 0) jail_spec.cpu_seconds = (uint64_t)ceil(cpu) + 1;
    struct jail *jail = jail_prepare(&jail_spec);
    if (!jail) return errno;
    int error = jail_enter(jail);
    int abi;
    unsigned layers = jail_layers(jail);
    jail_probe(false, &abi);
    jail_describe(layers, abi, worker.jail, sizeof worker.jail);
    jail_free(jail);
    return error;
}

// Runs in protected mode. 1 = the start frame's value.
static int run(lua_State *L) {
    static const luaL_Reg ctx[] = {{"progress", ctx_progress}, {"call", ctx_call}, {NULL, NULL}};
    lua_getglobal(L, "require");
    lua_getfield(L, 1, "module");
    lua_call(L, 1, 1);
    if (lua_type(L, -1) != LUA_TTABLE || lua_getfield(L, -1, "run") != LUA_TFUNCTION) return luaL_error(L, "the module has no function `run`");
    lua_getfield(L, 1, "request");
    luaL_newlib(L, ctx);
    if (task_run_root(L, 2) != LUA_OK) return lua_error(L);
    return lua_gettop(L) - 2; // below: request table, module
}

static int send_result(lua_State *L) {
    send_packed(L, FRAME_RESULT, 1);
    return 0;
}

// The error value on top becomes a table that can be sent.
static void push_error(lua_State *L, int status) {
    int value = lua_gettop(L);
    lua_createtable(L, 0, 4);
    int out = lua_gettop(L);
    const char *code = "error";
    bool out_of_memory = status == LUA_ERRMEM;
    if (worker.vm->killed) code = vm_kill_code((enum vm_kill)worker.vm->killed);
    if (lua_type(L, value) == LUA_TSTRING && strstr(lua_tostring(L, value), "not enough memory")) out_of_memory = true;
    if (out_of_memory) code = "memory";
    lua_pushstring(L, code);
    lua_setfield(L, out, "code");
    if (lua_type(L, value) == LUA_TTABLE && strcmp(code, "error") == 0) {
        lua_pushvalue(L, value);
        lua_setfield(L, out, "value"); // an error with fields of its own is handed on as it is
    }
    if (out_of_memory) {
        lua_pushliteral(L, "not enough memory within the limit");
    } else if (lua_type(L, value) == LUA_TSTRING) {
        const char *text = lua_tostring(L, value), *trace = strstr(text, "\nstack traceback:");
        if (trace) {
            lua_pushstring(L, trace + 1);
            lua_setfield(L, out, "traceback");
            lua_pushlstring(L, text, (size_t)(trace - text));
        } else {
            lua_pushvalue(L, value);
        }
    } else {
        luaL_tolstring(L, value, NULL);
    }
    lua_setfield(L, out, "message");
}

static int make_result(lua_State *L) { // status, values...
    int status = (int)lua_tointeger(L, 1);
    int count = lua_gettop(L) - 1;
    lua_createtable(L, 0, 3);
    int out = lua_gettop(L);
    if (status == LUA_OK) {
        lua_pushboolean(L, 1);
        lua_setfield(L, out, "ok");
        if (count >= 1) lua_pushvalue(L, 2);
        else lua_pushnil(L);
        lua_setfield(L, out, "value");
        if (count >= 2) {
            lua_pushvalue(L, 3);
            lua_setfield(L, out, "second");
        }
    } else {
        lua_pushvalue(L, 2);
        push_error(L, status);
        lua_setfield(L, out, "error");
        lua_settop(L, out);
    }
    lua_pushstring(L, worker.jail);
    lua_setfield(L, out, "jail");
    lua_pushinteger(L, (lua_Integer)worker.vm->peak);
    lua_setfield(L, out, "lua_bytes");
    return 1;
}

static int receive_start(lua_State *L) {
    receive(L, FRAME_START);
    return 1;
}

static int open_state(lua_State *L) {
    vm_open_trusted(L);
    return 0;
}

// Send what is on top; if it cannot be packed, send the reason instead.
static bool deliver(lua_State *L) {
    lua_pushcfunction(L, send_result);
    lua_insert(L, -2);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK) return true;
    lua_pushcfunction(L, make_result);
    lua_insert(L, -2);
    lua_pushinteger(L, LUA_ERRRUN);
    lua_insert(L, -2);
    if (lua_pcall(L, 2, 1, 0) != LUA_OK) return false;
    lua_getfield(L, -1, "error");
    lua_pushnil(L);
    lua_setfield(L, -2, "traceback");
    lua_pop(L, 1);
    lua_pushcfunction(L, send_result);
    lua_insert(L, -2);
    return lua_pcall(L, 1, 0, 0) == LUA_OK;
}

int worker_main(void) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // again: exec of a set-id file would have cleared it
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGINT, SIG_IGN); // the host decides
    fcntl(WORKER_SOCKET_FD, F_SETFD, FD_CLOEXEC);
    fcntl(WORKER_PAGE_FD, F_SETFD, FD_CLOEXEC);
    struct worker_page *page = mmap(NULL, WORKER_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, WORKER_PAGE_FD, 0);
    close(WORKER_PAGE_FD);
    if (page == MAP_FAILED) {
        fprintf(stderr, "nkiln: " WORKER_ARGUMENT " is for internal use\n");
        return 2;
    }
    worker.conn.fd = WORKER_SOCKET_FD;
    worker.vm = vm_new(NULL, &page->run);
    if (!worker.vm) return 1;
    lua_State *L = worker.vm->L;
    lua_pushcfunction(L, receive_start);
    if (lua_pcall(L, 0, 1, 0) != LUA_OK) return 1;
    int spec = lua_gettop(L);
    lua_getfield(L, spec, "home");
    vm_set_home(L, lua_tostring(L, -1));
    lua_pop(L, 1);
    double memory = field_number(L, spec, "memory"), cpu = field_number(L, spec, "cpu");
    worker.output = (size_t)field_number(L, spec, "output");
    int error = confine(L, spec, memory, cpu);
    if (error) {
        fprintf(stderr, "nkiln: the worker could not confine itself: %s\n", strerror(error));
        return 1;
    }
    lua_pushcfunction(L, open_state);
    if (lua_pcall(L, 0, 0, 0) != LUA_OK) return 1;
    if (memory > 0) {
        struct account *account = &page->run.arrays;
        account->limit = (size_t)memory;
        account->reserve = account->limit / 16 < RESERVE ? account->limit / 16 : RESERVE;
    }
    page->run.step_limit = (uint64_t)field_number(L, spec, "steps");
    if (cpu > 0) arm_cpu_limit(cpu);
    lua_pushcfunction(L, vm_traceback);
    int handler = lua_gettop(L);
    lua_pushcfunction(L, run);
    lua_pushvalue(L, spec);
    int status = lua_pcall(L, 1, LUA_MULTRET, handler);
    // What follows must work also in a killed state that is out of memory.
    vm_lift_memory(worker.vm);
    int killed = worker.vm->killed;
    if (killed) {
        signal(SIGPROF, SIG_IGN);
        lua_sethook(L, NULL, 0, 0);
    }
    lua_pushcfunction(L, make_result);
    lua_pushinteger(L, status);
    lua_rotate(L, handler + 1, 2);
    if (lua_pcall(L, lua_gettop(L) - handler - 1, 1, 0) != LUA_OK) return 1;
    if (!deliver(L)) return 1;
    fflush(NULL);
    _exit(0);
}
