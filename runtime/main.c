// SPDX-License-Identifier: MIT
// main.c: arguments, then the prelude's `cli.main(arguments)` as the first task, then its exit status.
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "signals.h"
#include "task.h"
#include "term.h"
#include "vm.h"
#include "worker.h"

// A descriptor 0, 1 or 2 that the caller closed would be taken by the next file we open.
static void open_standard_descriptors(void) {
    int fd;
    do fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2) close(fd);
}

// Keep a private copy of standard output and point descriptor 1 at standard error: what a library prints by itself
// cannot get between the lines of a protocol or a JSON value.
static int take_stdout(void) {
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
    if (fd < 0) return STDOUT_FILENO;
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        close(fd);
        return STDOUT_FILENO;
    }
    return fd;
}

static void on_signal(void *data) { vm_interrupt(data); }

static void on_tick(void *data) { vm_tick(data); }

struct start {
    int argc;
    char **argv;
    int out;
};

// Returns the status that cli.main returned.
static int run(lua_State *L) {
    struct start *start = lua_touserdata(L, 1);
    vm_open_trusted(L);
    term_set_stdout(L, start->out);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "cli");
    lua_call(L, 1, 1);
    if (lua_getfield(L, -1, "main") != LUA_TFUNCTION) return luaL_error(L, "prelude/cli.lua has no function `main`");
    lua_createtable(L, start->argc, 1);
    for (int i = 0; i < start->argc; i++) {
        lua_pushstring(L, start->argv[i]);
        lua_rawseti(L, -2, i);
    }
    int status = task_run_root(L, 1);
    if (status != LUA_OK) return lua_error(L);
    return lua_gettop(L) - 2; // below: start, cli
}

static int report(lua_State *L) {
    const char *text = luaL_tolstring(L, 1, NULL);
    fprintf(stderr, "nkiln: %s\n", text);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], WORKER_ARGUMENT) == 0) return worker_main();
    open_standard_descriptors();
    struct vm *vm = vm_new(NULL, NULL);
    if (!vm || !signals_install(on_signal, vm)) {
        fprintf(stderr, "nkiln: not enough memory or descriptors to start\n");
        return 1;
    }
    signals_watchdog(on_tick, vm);
    lua_State *L = vm->L;
    struct start start = {.argc = argc, .argv = argv, .out = take_stdout()};
    lua_pushcfunction(L, vm_traceback);
    lua_pushcfunction(L, run);
    lua_pushlightuserdata(L, &start);
    int status = lua_pcall(L, 1, 1, 1);
    signals_watchdog(NULL, NULL);
    int code = 0;
    if (signals_count() > 0) {
        code = 130;
        signals_kill_groups();
    } else if (term_stdout_closed(L)) {
        code = 1; // what was asked for could not be delivered; whoever closed the pipe knows
        int error = term_stdout_error(L);
        if (error != EPIPE) fprintf(stderr, "nkiln: the output could not be written: %s\n", strerror(error));
    } else if (status != LUA_OK) {
        code = 1;
        lua_pushcfunction(L, report);
        lua_insert(L, -2);
        lua_pcall(L, 1, 0, 0);
    } else if (lua_isinteger(L, -1)) {
        code = (int)lua_tointeger(L, -1);
    }
    if (code != 130 && !term_stdout_closed(L)) term_flush(L);
    vm_interrupt_clear(vm);
    vm_free(vm);
    return code;
}
