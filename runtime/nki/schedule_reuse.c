// SPDX-License-Identifier: MIT
// schedule_reuse.c: loads that bring what was loaded before, and whether SBUF could have kept it.
//
// Published profiles show compilers keeping some of it (4096^3 matmul: stationary tiles loaded 3 times instead of 8).
// How much is the compiler's secret; what could be kept is not: a region of an input that nothing writes, when the
// bytes of a partition loaded since its last load fit in a share of SBUF.
#include <stdlib.h>
#include <string.h>

#include "nki/schedule.h"

static uint64_t key_of(const struct nki_region *g) {
    uint64_t h = (g->storage * 0x9e3779b97f4a7c15ULL) ^ (g->offset * 0xff51afd7ed558ccdULL) ^ (g->extent << 7) ^ g->run;
    h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9ULL;
    return h >> 20;
}

static bool same(const struct nki_region *a, const struct nki_region *b) {
    return a->storage == b->storage && a->offset == b->offset && a->extent == b->extent && a->run == b->run &&
           a->rows == b->rows;
}

bool nki_schedule_reuse(const struct nki_machine *m, int64_t room, uint8_t *repeats) {
    size_t n = 0, slots = 64;
    memset(repeats, NKI_LOAD_FIRST, m->record.count);
    for (size_t i = 0; i < m->record.count; i++) n += m->record.items[i].bytes != 0;
    while (slots < 2 * n) slots *= 2;
    uint32_t *seen = calloc(slots, sizeof *seen);            // index of the last load of a region, +1
    int64_t *when = calloc(slots, sizeof *when), loaded = 0; // bytes of a partition loaded until then
    bool ok = seen && when;
    for (size_t i = 0; ok && i < m->record.count; i++) {
        const struct nki_instruction *r = &m->record.items[i];
        const struct nki_region *g = &r->region[1], *to = &r->region[0];
        if (!r->bytes || r->operands < 2 || !(g->flags & NKI_REGION_HBM) || to->flags & NKI_REGION_HBM) continue;
        loaded += (int64_t)to->elements * (int64_t)nki_dtype_size(to->dtype);
        const struct nki_storage *st = m->storages[g->storage - 1];
        if (!st->input || st->written_site || g->flags & NKI_REGION_INDIRECT) continue;
        size_t k = (size_t)key_of(g) & (slots - 1);
        while (seen[k] && !same(&m->record.items[seen[k] - 1].region[1], g)) k = (k + 1) & (slots - 1);
        if (seen[k]) repeats[i] = loaded - when[k] <= room ? NKI_LOAD_KEPT : NKI_LOAD_AGAIN;
        seen[k] = (uint32_t)i + 1;
        when[k] = loaded;
    }
    free(seen);
    free(when);
    return ok;
}
