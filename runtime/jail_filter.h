// SPDX-License-Identifier: MIT
// jail_filter.h: the seccomp filter of a jail, as BPF instructions built in the parent and applied with one call.
#ifndef NKILN_JAIL_FILTER_H
#define NKILN_JAIL_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>

enum { JAIL_FILTER_MAX = 400 };

struct jail_filter {
    struct sock_filter code[JAIL_FILTER_MAX];
    int count;
};

struct jail_filter_rules {
    bool exec, fork, net;
    bool old_truncate; // Landlock below ABI 3 lets O_TRUNC empty a file that may only be read
};

bool jail_filter_supported(void); // this kernel has seccomp filters and this architecture is known
void jail_filter_build(struct jail_filter *filter, const struct jail_filter_rules *rules);
int jail_filter_apply(const struct jail_filter *filter); // 0 or errno; needs PR_SET_NO_NEW_PRIVS

#endif
