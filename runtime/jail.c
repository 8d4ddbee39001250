// SPDX-License-Identifier: MIT
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail_filter.h"

// Landlock, as of ABI 6. Distribution headers end earlier, so the definitions are here
// (kernel documentation: Documentation/userspace-api/landlock.rst).
struct landlock_ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net; // ABI 4
    uint64_t scoped;             // ABI 6
};
struct landlock_path {
    uint64_t allowed_access;
    int32_t parent_fd;
} __attribute__((packed));

enum { LL_CREATE_VERSION = 1, LL_RULE_PATH = 1 };
#define LL_EXECUTE (1ULL << 0)
#define LL_WRITE_FILE (1ULL << 1)
#define LL_READ_FILE (1ULL << 2)
#define LL_READ_DIR (1ULL << 3)
#define LL_ALL_ABI1 ((1ULL << 13) - 1)
#define LL_REFER (1ULL << 13)     // ABI 2
#define LL_TRUNCATE (1ULL << 14)  // ABI 3
#define LL_IOCTL_DEV (1ULL << 15) // ABI 5
#define LL_MAKE_CHAR (1ULL << 6)
#define LL_MAKE_BLOCK (1ULL << 11)
#define LL_NET_BIND_CONNECT 3ULL
#define LL_SCOPE_ABSTRACT_SIGNAL 3ULL

#ifndef SYS_landlock_create_ruleset // the numbers are the same on every architecture
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

struct jail {
    int ruleset; // -1 = none
    unsigned layers;
    struct jail_filter filter;
    uint64_t address_space, cpu_seconds, file_size;
    bool fork;
};

int jail_landlock_abi(void) {
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);
    return abi > 0 ? (int)abi : 0;
}

static uint64_t all_access(int abi) {
    uint64_t all = LL_ALL_ABI1;
    if (abi >= 2) all |= LL_REFER;
    if (abi >= 3) all |= LL_TRUNCATE;
    if (abi >= 5) all |= LL_IOCTL_DEV;
    return all;
}

static bool add_root(int ruleset, const char *path, uint64_t access) {
    int fd = open(path, O_PATH | O_CLOEXEC);
    // A path that leads nowhere (missing, not a folder, a circle of links, a name too long) grants nothing.
    if (fd < 0) return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != EINTR;
    struct stat st;
    // Rights of folders do not apply to a file.
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode)) access &= LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV;
    struct landlock_path rule = {.allowed_access = access, .parent_fd = fd};
    long status = syscall(SYS_landlock_add_rule, ruleset, LL_RULE_PATH, &rule, 0);
    close(fd);
    return status == 0;
}

static bool prepare_landlock(struct jail *jail, const struct jail_spec *spec, int abi) {
    uint64_t all = all_access(abi);
    uint64_t read = LL_READ_FILE | LL_READ_DIR | (spec->exec ? LL_EXECUTE : 0);
    uint64_t write = all & ~(LL_MAKE_CHAR | LL_MAKE_BLOCK | (spec->exec ? 0 : LL_EXECUTE));
    struct landlock_ruleset rules = {.handled_access_fs = all};
    size_t size = sizeof rules.handled_access_fs;
    if (abi >= 4) size = offsetof(struct landlock_ruleset, scoped);
    if (abi >= 6) size = sizeof rules;
    if (!spec->net && abi >= 4) rules.handled_access_net = LL_NET_BIND_CONNECT;
    if (abi >= 6) rules.scoped = spec->net ? 2 : LL_SCOPE_ABSTRACT_SIGNAL;
    jail->ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (jail->ruleset < 0) return false;
    fcntl(jail->ruleset, F_SETFD, FD_CLOEXEC);
    jail->layers |= JAIL_LANDLOCK | (abi >= 3 ? JAIL_TRUNCATE : 0) | (abi >= 4 && !spec->net ? JAIL_LANDLOCK_NET : 0) |
                    (abi >= 6 ? JAIL_LANDLOCK_SCOPE : 0);
    for (const char *const *p = jail_system_roots; spec->exec && *p; p++)
        if (!add_root(jail->ruleset, *p, read)) return false;
    if (spec->exec && !(add_root(jail->ruleset, "/proc", read) && add_root(jail->ruleset, "/sys/devices/system", read))) return false;
    for (const char *const *p = spec->read; p && *p; p++)
        if (!add_root(jail->ruleset, *p, read)) return false;
    for (const char *const *p = spec->write; p && *p; p++)
        if (!add_root(jail->ruleset, *p, write)) return false;
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (!add_root(jail->ruleset, devices[i], LL_READ_FILE | (i == 0 ? LL_WRITE_FILE | (all & LL_TRUNCATE) : 0))) return false;
    return true;
}

struct jail *jail_prepare(const struct jail_spec *spec) {
    struct jail *jail = calloc(1, sizeof *jail);
    if (!jail) return NULL;
    jail->ruleset = -1;
    jail->fork = spec->fork;
    jail->address_space = spec->address_space;
    jail->cpu_seconds = spec->cpu_seconds;
    jail->file_size = spec->file_size;
    if (spec->limits_only) return jail;
    int abi = jail_landlock_abi();
    if (abi > 0 && !prepare_landlock(jail, spec, abi)) {
        int saved = errno;
        jail_free(jail);
        errno = saved;
        return NULL;
    }
    if (jail_filter_supported()) {
        struct jail_filter_rules rules = {.exec = spec->exec, .fork = spec->fork, .net = spec->net, .old_truncate = abi < 3};
        jail_filter_build(&jail->filter, &rules);
        jail->layers |= JAIL_SECCOMP;
    }
    return jail;
}

void jail_free(struct jail *jail) {
    if (!jail) return;
    if (jail->ruleset >= 0) close(jail->ruleset);
    free(jail);
}

unsigned jail_layers(const struct jail *jail) { return jail->layers; }

static void limit(int what, uint64_t soft, uint64_t hard) {
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)what, &now) != 0) return;
    if (now.rlim_max != RLIM_INFINITY && hard > now.rlim_max) hard = now.rlim_max;
    if (soft > hard) soft = hard;
    struct rlimit wanted = {.rlim_cur = soft, .rlim_max = hard};
    setrlimit((__rlimit_resource_t)what, &wanted);
}

int jail_enter(const struct jail *jail) {
    limit(RLIMIT_CORE, 0, 0);
    if (jail->address_space) limit(RLIMIT_AS, jail->address_space, jail->address_space);
    if (jail->cpu_seconds) limit(RLIMIT_CPU, jail->cpu_seconds, jail->cpu_seconds + 1); // XCPU, a second later KILL
    if (jail->file_size) limit(RLIMIT_FSIZE, jail->file_size, jail->file_size);
    if (!jail->layers) return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
    if (jail->ruleset >= 0 && syscall(SYS_landlock_restrict_self, jail->ruleset, 0) != 0) return errno;
    if (jail->layers & JAIL_SECCOMP) {
        int error = jail_filter_apply(&jail->filter);
        if (error) return error;
    }
    return 0;
}

void jail_describe(unsigned layers, int abi, char *out, size_t size) {
    size_t n = 0;
    out[0] = 0;
#define ADD(...) \
    if (n < size) n += (size_t)snprintf(out + n, size - n, __VA_ARGS__)
    if (layers & JAIL_BWRAP) ADD("bubblewrap");
    if (layers & JAIL_LANDLOCK) {
        ADD("%slandlock", n ? ", " : "");
        if (abi) ADD(" (ABI %d)", abi);
    }
    if (layers & JAIL_SECCOMP) ADD("%sseccomp", n ? ", " : "");
    if (!n) ADD("none");
#undef ADD
}
