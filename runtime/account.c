// SPDX-License-Identifier: MIT
#include "account.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// A kept block is nobody's: the address sanitizer reports whoever touches it.
#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#ifdef WATCHED
#include <sanitizer/asan_interface.h>
#define FORBID(block, bytes) ASAN_POISON_MEMORY_REGION(block, bytes)
#define ALLOW(block, bytes) ASAN_UNPOISON_MEMORY_REGION(block, bytes)
#else
#define FORBID(block, bytes) (void)0
#define ALLOW(block, bytes) (void)0
#endif

#define HUGE_PAGE ((size_t)2 << 20)
// A collection costs less than zeroing this many bytes of fresh pages while the Lua state has a few megabytes; its cost
// grows with the state.
#define COLLECT_AFTER ((size_t)32 << 20)

static size_t rounded(size_t bytes) {
    return bytes < ACCOUNT_LARGE ? (bytes + 63) / 64 * 64 : (bytes + 4095) / 4096 * 4096;
}

static void drop(struct account *a, int slot) {
    ALLOW(a->slots[slot].block, a->slots[slot].bytes);
    free(a->slots[slot].block);
    a->kept -= a->slots[slot].bytes;
    a->kept_count--;
    memmove(&a->slots[slot], &a->slots[slot + 1], (size_t)(a->kept_count - slot) * sizeof a->slots[0]);
}

void account_close(struct account *a) {
    while (a->kept_count) drop(a, a->kept_count - 1);
}

// Within the limit, kept blocks given up as needed?
static bool fits(struct account *a, size_t bytes, size_t limit) {
    if (!a->limit) return true;
    if (bytes > limit) return false;
    while (a->kept_count && a->used + a->books + a->kept > limit - bytes) drop(a, 0);
    return a->used + a->books + a->kept <= limit - bytes;
}

static void collect(struct account *a) {
    a->taken = 0;
    if (a->reclaim) a->reclaim(a->reclaim_context);
}

// The newest kept block of this size: its bytes may still be in the processor's cache.
static void *find(struct account *a, size_t bytes) {
    for (int i = a->kept_count - 1; i >= 0; i--) {
        if (a->slots[i].bytes != bytes) continue;
        void *block = a->slots[i].block;
        a->kept -= bytes;
        a->kept_count--;
        memmove(&a->slots[i], &a->slots[i + 1], (size_t)(a->kept_count - i) * sizeof a->slots[0]);
        ALLOW(block, bytes);
        return block;
    }
    return NULL;
}

static void *fresh(size_t bytes) {
    void *block = NULL;
    size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : 64;
    if (posix_memalign(&block, align, bytes) != 0) return NULL;
    if (align == HUGE_PAGE) madvise(block, bytes, MADV_HUGEPAGE); // a hint; refusal changes nothing
    return block;
}

void *account_take(struct account *a, size_t bytes, bool *refused) {
    *refused = false;
    if (bytes > SIZE_MAX / 2) return NULL;
    size_t size = rounded(bytes ? bytes : 1);
    if (!a) return fresh(size);
    void *block = size >= ACCOUNT_LARGE ? find(a, size) : NULL;
    if (!block && size >= ACCOUNT_LARGE && a->taken + size >= COLLECT_AFTER && (a->taken + size) / 8 >= a->books) {
        collect(a);
        block = find(a, size);
    }
    if (!block) {
        size_t limit = a->limit > a->reserve ? a->limit - a->reserve : 0;
        if (!fits(a, size, limit)) {
            if (size <= limit) collect(a);
            block = find(a, size);
            if (!block && !fits(a, size, limit)) {
                *refused = true;
                return NULL;
            }
        }
    }
    if (!block) block = fresh(size);
    if (!block && a->kept_count) { // the system's own limit
        account_close(a);
        block = fresh(size);
    }
    if (!block) return NULL;
    a->used += bytes;
    if (a->used > a->peak) a->peak = a->used;
    if (size >= ACCOUNT_LARGE) a->taken += size;
    return block;
}

void account_give(struct account *a, void *block, size_t bytes) {
    if (!block) return;
    size_t size = rounded(bytes ? bytes : 1);
    if (a) a->used -= bytes;
    if (!a || size < ACCOUNT_LARGE || size > ACCOUNT_KEPT) {
        free(block);
        return;
    }
    while (a->kept_count == ACCOUNT_SLOTS || a->kept + size > ACCOUNT_KEPT) drop(a, 0);
    a->slots[a->kept_count].block = block;
    a->slots[a->kept_count++].bytes = size;
    a->kept += size;
    FORBID(block, size);
}

static size_t with_slack(const struct account *a, size_t limit) { return a->strain == 2 ? limit + limit / 16 : limit; }

static bool books_fit(struct account *a, size_t bytes) {
    size_t own = with_slack(a, a->books_limit);
    if (a->books_limit && (bytes > own || a->books > own - bytes)) return false;
    return fits(a, bytes, with_slack(a, a->limit));
}

bool account_admits_books(struct account *a, size_t bytes) {
    if (books_fit(a, bytes)) {
        bool roomy = (!a->books_limit || a->books < a->books_limit / 8 * 7) &&
                     (!a->limit || a->used + a->books < a->limit / 8 * 7);
        if (a->strain == 1 || roomy) a->strain = 0; // the slack closes when there is room again
        return true;
    }
    if (a->strain < 2) a->strain++;
    return false;
}

bool account_charge(struct account *a, size_t bytes) {
    if (!account_admits_books(a, bytes)) {
        collect(a);
        if (!account_admits_books(a, bytes)) return false;
    }
    a->books += bytes;
    return true;
}

void account_discharge(struct account *a, size_t bytes) { a->books -= bytes; }
