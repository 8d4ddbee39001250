// SPDX-License-Identifier: MIT
// account.h: the memory of one run: what it may hold in all, and its large blocks, which are kept for reuse.
//
// Two kinds of bytes count against one limit: `used`, the blocks of arrays and of the NKI machine's memories, and
// `books`, everything that grows with the length of a program: the Lua state (vm.c), the machine's descriptions of
// tensors and its record. Books have a limit of their own besides. A limit of 0 means none.
//
// Freed blocks of at least ACCOUNT_LARGE bytes are kept, up to ACCOUNT_KEPT bytes: a kernel asks for tiles of the same
// size again and again, and a fresh page costs more than most instructions do on it. Kept bytes count against the limit
// and are the first to go. A block's contents are undefined, whether it is fresh or not.
//
// Lua does not see how large the blocks behind its objects are, so garbage is collected from here (`reclaim`): when a
// request is over the limit, and when a large block is not among the kept ones although many bytes were handed out
// since the last collection. Whoever asks for a block therefore holds what it uses where the collector sees it.
//
// An account belongs to one thread. All zeros is an account without limits; account_close frees what it keeps.
#ifndef NKILN_ACCOUNT_H
#define NKILN_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#define ACCOUNT_LARGE ((size_t)32 << 10)
#define ACCOUNT_KEPT ((size_t)128 << 20)
#define ACCOUNT_SLOTS 128

struct account {
    size_t used;  // bytes of blocks handed out
    size_t peak;  // the most that `used` was
    size_t books; // bytes charged one by one
    size_t limit; // of used + books + kept
    size_t books_limit;
    size_t reserve; // bytes below the limit that only books may take
    int strain;     // 0; 1: books were refused once; 2: refused in earnest, and the slack is open
    size_t kept;
    size_t taken;   // bytes of large blocks handed out since the last collection
    int kept_count; // oldest first
    struct {
        void *block;
        size_t bytes;
    } slots[ACCOUNT_SLOTS];
    // Frees what is no longer in use but not yet collected; may be NULL. Must not take from the account.
    void (*reclaim)(void *context);
    void *reclaim_context;
};

// A block of at least `bytes`, aligned to 64. NULL: *refused says whether the limit forbids it, else the system has no
// memory. The account may be NULL: nothing is counted or kept then.
void *account_take(struct account *a, size_t bytes, bool *refused);
// Give it back, with the same size. NULL is no block.
void account_give(struct account *a, void *block, size_t bytes);
// Whether books may grow by `bytes`; kept blocks are given up for it. A caller that collects garbage after a refusal
// asks again at once (Lua's allocator does): a second refusal in a row is meant, and opens a sixteenth of the limit as
// slack, so that the error can be told without a collection for every word of it.
bool account_admits_books(struct account *a, size_t bytes);
// Count `bytes` allocated elsewhere among the books, or refuse. Discharge what was charged.
bool account_charge(struct account *a, size_t bytes);
void account_discharge(struct account *a, size_t bytes);
void account_close(struct account *a); // frees the kept blocks; may be called again, and the account used on

#endif
