// SPDX-License-Identifier: MIT
#include "nki/record.h"

#include <stdlib.h>
#include <string.h>

void nki_record_close(struct nki_record *record) {
    free(record->items);
    if (record->account) account_discharge(record->account, record->capacity * sizeof *record->items);
    record->items = NULL;
    record->count = record->capacity = 0;
}

struct nki_instruction *nki_record_push(struct nki_record *record) {
    if (record->count == record->capacity) {
        size_t capacity = record->capacity ? record->capacity + record->capacity / 2 : 256;
        size_t more = (capacity - record->capacity) * sizeof *record->items;
        if (record->account && !account_charge(record->account, more)) return NULL;
        struct nki_instruction *items = realloc(record->items, capacity * sizeof *items);
        if (!items) {
            if (record->account) account_discharge(record->account, more);
            return NULL;
        }
        record->items = items;
        record->capacity = capacity;
    }
    struct nki_instruction *i = &record->items[record->count++];
    memset(i, 0, sizeof *i);
    return i;
}

static uint32_t clip32(int64_t n) { return n > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)n; }

void nki_region_of(struct nki_region *r, const struct nki_view *v, bool write) {
    bool chip = nki_on_chip(v->st->buffer);
    int64_t size = (int64_t)nki_dtype_size(v->dtype);
    struct nki_pattern p;
    nki_view_merge(v, &p);
    int64_t low = v->offset, high = v->offset, elements = 1;
    for (int d = 0; d < p.n; d++) {
        elements *= p.count[d];
        if (p.stride[d] < 0)
            low += p.stride[d] * (p.count[d] - 1);
        else
            high += p.stride[d] * (p.count[d] - 1);
    }
    int64_t stride = p.n ? p.stride[p.n - 1] : 1;
    int64_t run = p.n && stride == 1 ? p.count[p.n - 1] : 1;
    r->storage = v->st->id;
    r->part = (uint8_t)(chip ? v->part : 0);
    r->parts = (uint8_t)(chip ? v->shape[0] : 0);
    r->dtype = (uint8_t)v->dtype;
    r->flags = (uint8_t)((write ? NKI_REGION_WRITE : 0) | (chip ? 0 : NKI_REGION_HBM) |
                         (v->st->buffer == NKI_PSUM ? NKI_REGION_PSUM : 0) | (v->repeats ? NKI_REGION_REPEATS : 0) |
                         (v->indirect ? NKI_REGION_INDIRECT : 0));
    r->offset = (uint64_t)(low * size);
    r->extent = (uint64_t)((high - low + 1) * size);
    r->elements = clip32(elements);
    r->run = clip32(run * size);
    if (stride < 0) stride = -stride;
    r->stride = (uint16_t)(stride * size > 0xffff ? 0xffff : stride * size);
    r->ndim = (uint8_t)p.n;
    r->rows = clip32(elements / run * (chip ? v->shape[0] : 1));
}
