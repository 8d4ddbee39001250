// SPDX-License-Identifier: MIT
// proc_start.c: proc.start. Options to a running child: program, environment, folder, pipes, confinement.
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc_handle.h"
#include "proc_lua.h"

enum { DEFAULT_LIMIT = 64 << 20 }; // bytes kept of each output

extern char **environ;

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

int proc_start(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_checkstack(L, 60, "options");
    struct proc *p = proc_handle_push(L); // 2
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
    struct child *child = pid > 0 ? child_follow(all, pid) : NULL;
    close(pipes.in[0]);
    close(pipes.out[1]);
    if (!merge) close(pipes.err[1]);
    if (!child) {
        close(pipes.in[1]);
        close(pipes.out[0]);
        if (!merge) close(pipes.err[0]);
        bytebuf_free(&p->in);
        if (pid > 0) return task_fail(L, "failed", "cannot start %s: out of memory or descriptors", argv[0]);
        return start_failed(L, argv[0], &failed);
    }
    proc_handle_follow(p, child);
    p->in_close_after = !interactive;
    bool ok = proc_stream_open(p, &p->out, pipes.out[0]);
    if (!merge) ok &= proc_stream_open(p, &p->err, pipes.err[0]);
    ok &= proc_input_open(p, pipes.in[1]);
    if (deadline > 0) ok &= loop_timer_start(p->loop, &p->deadline, loop_now() + fmin(deadline, 1e9));
    if (!ok) {
        proc_handle_give_up(p, 0);
        return luaL_error(L, "not enough memory");
    }
    task_own(L, 2);
    lua_pushvalue(L, 2);
    return 1;
}
