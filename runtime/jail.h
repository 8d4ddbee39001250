// SPDX-License-Identifier: MIT
// jail.h: what a child may touch. In-process confinement (layer B): Landlock for files, a seccomp filter for system
// calls, resource limits. It is prepared in the parent, where memory and files are at hand, and entered in the child
// with system calls only. bubblewrap (layer A) is a command line around an external program (jail_bwrap_argv).
//
// A layer that this kernel lacks is left out and reported in `layers`; the caller decides whether that is enough.
// Layer B does not restrict chmod, chown, utime and extended attributes by path, so the filter refuses those calls.
#ifndef NKILN_JAIL_H
#define NKILN_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum jail_layer {
    JAIL_LANDLOCK = 1,     // files: only the given roots
    JAIL_LANDLOCK_NET = 2, // TCP by Landlock as well (ABI 4)
    JAIL_LANDLOCK_SCOPE = 4, // signals and abstract sockets stay inside (ABI 6)
    JAIL_SECCOMP = 8,
    JAIL_BWRAP = 16,
    JAIL_TRUNCATE = 32, // Landlock ABI 3: O_TRUNC needs a write root
};

struct jail_spec {
    const char *const *read;  // NULL-terminated folders or files; missing ones are skipped. NULL = no roots
    const char *const *write; // these may be read as well
    bool exec;                // may start programs (below the read and write roots)
    bool fork;                // may start processes; threads are always allowed
    bool net;                 // may use sockets
    bool limits_only;         // resource limits without Landlock and filter: another layer confines
    uint64_t address_space;   // bytes, 0 = no limit
    uint64_t cpu_seconds;     // 0 = no limit
    uint64_t file_size;       // bytes per file, 0 = no limit
};

extern const char *const jail_system_roots[]; // NULL-terminated; readable in every jail that may start programs

struct jail; // a prepared jail; owned by whoever called jail_prepare

// What works here: a set of enum jail_layer. Tries each layer once; bubblewrap is tried by running it (only with
// `programs`). *abi gets the Landlock version, 0 = none.
unsigned jail_probe(bool programs, int *abi);

int jail_landlock_abi(void); // 0 = none

struct jail *jail_prepare(const struct jail_spec *spec); // NULL: no memory or no descriptor (errno)
void jail_free(struct jail *jail);
unsigned jail_layers(const struct jail *jail);
// In the child, after fork or in a process that gives up its rights. 0, or an errno: then the process must not go on.
int jail_enter(const struct jail *jail);

// "landlock abi 7, seccomp": for people. Writes at most `size` bytes.
void jail_describe(unsigned layers, int abi, char *out, size_t size);

// The command line of bubblewrap around `argv`: a NULL-terminated vector in one malloc block, NULL without memory.
char **jail_bwrap_argv(const char *bwrap, const struct jail_spec *spec, const char *cwd, char *const *argv);

#endif
