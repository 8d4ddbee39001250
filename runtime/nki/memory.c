// SPDX-License-Identifier: MIT
#include "nki/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *nki_pool_take(struct nki_pool *pool, size_t bytes, bool *refused) {
    *refused = false;
    if (bytes == 0) bytes = 64;
    struct account *a = pool->account;
    if (a && !account_admits(a, bytes)) {
        *refused = true;
        return NULL;
    }
    void *block = NULL;
    for (int i = 0; i < NKI_POOL_SLOTS; i++) {
        if (pool->slots[i].block && pool->slots[i].bytes == bytes) {
            block = pool->slots[i].block;
            pool->slots[i].block = NULL;
            pool->held -= bytes;
            break;
        }
    }
    if (!block) {
        size_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : 64;
        if (posix_memalign(&block, align, bytes) != 0) return NULL;
        if (align == HUGE_PAGE) madvise(block, bytes, MADV_HUGEPAGE); // a hint; refusal changes nothing
    }
    if (a) account_add(a, bytes);
    pool->fresh += bytes;
    return block;
}

void nki_pool_give(struct nki_pool *pool, void *block, size_t bytes) {
    if (!block) return;
    if (bytes == 0) bytes = 64;
    if (pool->account) pool->account->used -= bytes;
    if (bytes > pool->held_limit) {
        free(block);
        return;
    }
    int slot = pool->next;
    for (int i = 0; i < NKI_POOL_SLOTS; i++) {
        if (!pool->slots[i].block) {
            slot = i;
            break;
        }
    }
    if (pool->slots[slot].block) {
        free(pool->slots[slot].block);
        pool->held -= pool->slots[slot].bytes;
        pool->next = (pool->next + 1) % NKI_POOL_SLOTS;
    }
    pool->slots[slot].block = block;
    pool->slots[slot].bytes = bytes;
    pool->held += bytes;
    for (int i = 0; i < NKI_POOL_SLOTS && pool->held > pool->held_limit; i++) {
        if (i == slot || !pool->slots[i].block) continue;
        free(pool->slots[i].block);
        pool->slots[i].block = NULL;
        pool->held -= pool->slots[i].bytes;
    }
}

void nki_pool_close(struct nki_pool *pool) {
    for (int i = 0; i < NKI_POOL_SLOTS; i++) {
        free(pool->slots[i].block);
        pool->slots[i].block = NULL;
    }
    pool->held = 0;
}

void nki_storage_release(struct nki_storage *st, struct nki_pool *pool) {
    if (st->data && !st->borrowed) nki_pool_give(pool, st->data, st->bytes);
    st->data = NULL;
    st->borrowed = false;
}

void nki_storage_close(struct nki_storage *st, struct nki_pool *pool) {
    if (!st) return;
    nki_storage_release(st, pool);
    nki_area_close(&st->init);
    nki_area_close(&st->matmul);
    free(st->name);
    free(st);
}

void nki_storage_poison(struct nki_storage *st, int pattern) {
    if (!st->data || st->filled) return;
    st->filled = true;
    const struct nki_dtype_info *info = &nki_dtypes[st->dtype];
    if (!info->is_float) {
        memset(st->data, pattern == 2 ? 0xAA : 0x55, st->bytes);
        return;
    }
    unsigned char unit[8];
    double value = pattern == 2 ? -11000.0 : (double)NAN;
    if (pattern == 2 && dtype_table[info->raw].max < 11000.0) value = dtype_table[info->raw].min;
    if (st->cell == 8)
        memcpy(unit, &value, 8);
    else
        dtype_store(info->raw, unit, value);
    size_t have = st->cell < st->bytes ? st->cell : st->bytes;
    memcpy(st->data, unit, have);
    while (have < st->bytes) {
        size_t n = have < st->bytes - have ? have : st->bytes - have;
        if (n > 1 << 16) n = 1 << 16;
        memcpy(st->data + have, st->data, n);
        have += n;
    }
}
