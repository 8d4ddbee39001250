// SPDX-License-Identifier: MIT
// account.h: bytes held by arrays and machine memories; a limit of 0 means none. Whoever allocates asks first
// (account_admits), then adds to `used` (account_add); whoever frees subtracts. Nothing here fails.
#ifndef NKILN_ACCOUNT_H
#define NKILN_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

struct account {
    size_t used;
    size_t peak;
    size_t limit;
    // Frees what is no longer in use but not yet collected; may be NULL. Must not allocate from the account.
    void (*reclaim)(void *context);
    void *reclaim_context;
};

static inline bool account_fits(const struct account *a, size_t bytes) {
    return !a->limit || (bytes <= a->limit && a->used <= a->limit - bytes);
}

// Whether `bytes` more are within the limit, garbage having been collected if that was needed.
static inline bool account_admits(struct account *a, size_t bytes) {
    if (account_fits(a, bytes)) return true;
    if (a->reclaim && bytes <= a->limit) a->reclaim(a->reclaim_context);
    return account_fits(a, bytes);
}

static inline void account_add(struct account *a, size_t bytes) {
    a->used += bytes;
    if (a->used > a->peak) a->peak = a->used;
}

#endif
