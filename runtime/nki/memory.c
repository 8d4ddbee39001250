// SPDX-License-Identifier: MIT
#include "nki/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t description(enum nki_buffer buffer, const char *name) {
    size_t flows = buffer == NKI_PSUM ? NKI_FLOWS : 1;
    return sizeof(struct nki_storage) + flows * sizeof(struct nki_flow) + (name ? strlen(name) + 1 : 0);
}

struct nki_storage *nki_storage_open(struct account *account, enum nki_buffer buffer, const char *name, bool *refused) {
    if (name && !name[0]) name = NULL;
    size_t bytes = description(buffer, name);
    *refused = !account_charge(account, bytes);
    if (*refused) return NULL;
    struct nki_storage *st = calloc(1, bytes);
    if (!st) {
        account_discharge(account, bytes);
        return NULL;
    }
    st->buffer = buffer;
    if (name) { // behind the flows
        size_t length = strlen(name) + 1;
        st->name = (char *)st + bytes - length;
        memcpy(st->name, name, length);
    }
    return st;
}

void nki_storage_release(struct nki_storage *st, struct account *account) {
    if (st->data && !st->borrowed) account_give(account, st->data, st->bytes);
    st->data = NULL;
    st->borrowed = false;
    nki_area_close(&st->init);
    nki_area_close(&st->matmul);
}

void nki_storage_close(struct nki_storage *st, struct account *account) {
    if (!st) return;
    nki_storage_release(st, account);
    account_discharge(account, description(st->buffer, st->name));
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
