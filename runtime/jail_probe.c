// SPDX-License-Identifier: MIT
// jail_probe.c: which layers work here, found by trying, and the command line of bubblewrap.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jail.h"
#include "jail_filter.h"
#include "proc.h"
#include "signals.h"

// Where programs, libraries and their settings are. A jail that may start programs can read these.
const char *const jail_system_roots[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix/store", NULL};

static bool try_bwrap(void) {
    char path[4096];
    const char *search = getenv("PATH");
    if (proc_find_program("bwrap", search ? search : "/usr/bin:/bin", path, sizeof path) != 0) return false;
    static const char *const probe[] = {"true", NULL};
    struct jail_spec spec = {.exec = true, .fork = true};
    char **argv = jail_bwrap_argv(path, &spec, "/", (char *const *)probe);
    if (!argv) return false;
    static char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    struct proc_spawn spawn = {.path = path, .argv = argv, .envp = env, .in = -1, .out = -1, .err = -1};
    struct proc_error error;
    pid_t pid = proc_spawn(&spawn, &error);
    free(argv);
    if (pid < 0) return false;
    pid_t group = pid;
    bool ok = false;
    for (int i = 0; i < 200; i++) { // usually 5 ms; a second at most
        int status;
        pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid) {
            ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            pid = -1;
            signals_group_remove(group);
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = i < 20 ? 1000000 : 5000000}, NULL);
    }
    proc_forget(pid);
    return ok;
}

unsigned jail_probe(bool programs, int *abi) {
    // A fact about this machine, found once per process.
    static int bwrap = -1;
    static int landlock = -1;
    static unsigned layers;
    if (landlock < 0) {
        struct jail_spec spec = {0};
        struct jail *jail = jail_prepare(&spec);
        layers = jail ? jail_layers(jail) & (JAIL_LANDLOCK | JAIL_SECCOMP | JAIL_TRUNCATE | JAIL_LANDLOCK_NET | JAIL_LANDLOCK_SCOPE) : 0;
        jail_free(jail);
        landlock = jail_landlock_abi();
    }
    if (programs && bwrap < 0) bwrap = try_bwrap();
    *abi = landlock;
    return layers | (bwrap > 0 ? JAIL_BWRAP : 0);
}

char **jail_bwrap_argv(const char *bwrap, const struct jail_spec *spec, const char *cwd, char *const *argv) {
    size_t count = 40, args = 0;
    for (const char *const *p = jail_system_roots; *p; p++) count += 3;
    for (const char *const *p = spec->read; p && *p; p++) count += 3;
    for (const char *const *p = spec->write; p && *p; p++) count += 3;
    for (; argv[args]; args++) count++;
    char **out = malloc(count * sizeof *out);
    if (!out) return NULL;
    size_t n = 0;
#define ADD(...) \
    do { \
        const char *words[] = {__VA_ARGS__}; \
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) out[n++] = (char *)words[w]; \
    } while (0)
    ADD(bwrap, "--die-with-parent", "--new-session", "--unshare-all");
    if (spec->net) ADD("--share-net");
    ADD("--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp");
    for (const char *const *p = jail_system_roots; *p; p++) ADD("--ro-bind-try", *p, *p);
    for (const char *const *p = spec->read; p && *p; p++) ADD("--ro-bind-try", *p, *p);
    for (const char *const *p = spec->write; p && *p; p++) ADD("--bind-try", *p, *p);
    if (cwd) ADD("--chdir", cwd);
    ADD("--");
    for (size_t i = 0; i < args; i++) out[n++] = argv[i];
    out[n] = NULL;
#undef ADD
    return out;
}
