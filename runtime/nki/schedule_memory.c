// SPDX-License-Identifier: MIT
// schedule_memory.c: SBUF and PSUM during the simulation: who has room, since when, and who gave it back.
//
// A tensor has its memory from its first write to the end of its last access. Both memories are given out in one
// program order: a load far ahead never takes the room that an earlier instruction needs, and loads run ahead no
// further than the accumulators of what lies between fit in PSUM, as a compiler that places tensors in order lets them.
// Counted as capacity.c counts it: bytes of a partition times quarters of the partitions. Tensors whose address the
// kernel gave take part in none of this: what lies over each other shows as a dependence.
#include "nki/schedule_sim.h"

#include <stdlib.h>
#include <string.h>

static bool survey_storages(struct sim *x) {
    uint32_t n = x->m->storage_count;
    x->place = calloc(n + 1, sizeof *x->place);
    if (!x->place) return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct nki_storage *st = x->m->storages[i];
        x->place[i + 1] = (struct place){
            .bytes = st->free_elems * (int64_t)nki_dtype_size(st->dtype),
            .quarters = st->partitions <= 32   ? 1
                        : st->partitions <= 64 ? 2
                                               : 4,
            .psum = st->buffer == NKI_PSUM,
            .managed = nki_on_chip(st->buffer) && st->address_byte < 0, // an address given: the kernel places it
        };
    }
    return true;
}

static void sample(struct sim *x, double time) {
    struct nki_schedule *s = x->s;
    if (x->sample_seen++ % x->sample_skip) return;
    if (s->memory_count && s->memory[s->memory_count - 1].time == time) s->memory_count--;
    if (s->memory_count == SAMPLES) {
        for (size_t i = 0; i < SAMPLES / 2; i++) s->memory[i] = s->memory[2 * i];
        s->memory_count = SAMPLES / 2;
        x->sample_skip *= 2;
    }
    struct nki_occupancy *o = &s->memory[s->memory_count++];
    o->time = time;
    memcpy(o->sbuf, x->quarter[0], sizeof o->sbuf);
    o->psum = x->quarter[1][0];
}

static void account(struct sim *x, uint32_t storage, int sign, double time) {
    const struct place *st = &x->place[storage];
    int which = st->psum, n = st->quarters;
    x->used[which] += sign * st->bytes * n;
    for (int q = 0; q < n; q++) x->quarter[which][q] += sign * st->bytes;
    sample(x, time);
}

void nki_sim_memory_admit(struct sim *x, double time, uint32_t freed, bool force) {
    while (x->order_next < x->order_count) {
        uint32_t storage = x->order[x->order_next];
        const struct place *st = &x->place[storage];
        if (x->used[st->psum] + st->bytes * st->quarters > x->limit[st->psum]) {
            if (!force) return;
            force = false;
            x->s->overcommits++;
        }
        account(x, storage, 1, time);
        nki_sim_settle(x, x->needs[x->order_next], time, freed, NKI_DEP_MEMORY);
        x->order_next++;
    }
}

static void heap_push(struct sim *x, double time, uint32_t storage) {
    if (x->heap_count == x->heap_capacity) {
        uint32_t capacity = x->heap_capacity ? x->heap_capacity * 2 : 1024;
        struct release *heap = realloc(x->heap, capacity * sizeof *heap);
        if (!heap) {
            x->failed = true;
            return;
        }
        x->heap = heap;
        x->heap_capacity = capacity;
    }
    uint32_t k = x->heap_count++;
    while (k && x->heap[(k - 1) / 2].time > time) {
        x->heap[k] = x->heap[(k - 1) / 2];
        k = (k - 1) / 2;
    }
    x->heap[k] = (struct release){.time = time, .storage = storage};
}

static struct release heap_pop(struct sim *x) {
    struct release top = x->heap[0], last = x->heap[--x->heap_count];
    uint32_t k = 0;
    for (;;) {
        uint32_t child = 2 * k + 1;
        if (child >= x->heap_count) break;
        if (child + 1 < x->heap_count && x->heap[child + 1].time < x->heap[child].time) child++;
        if (x->heap[child].time >= last.time) break;
        x->heap[k] = x->heap[child];
        k = child;
    }
    x->heap[k] = last;
    return top;
}

void nki_sim_memory_until(struct sim *x, double time) {
    uint32_t freed = 0;
    while (x->heap_count && x->heap[0].time <= time) {
        struct release r = heap_pop(x);
        account(x, r.storage, -1, r.time);
        freed = x->releaser[r.storage] + 1;
    }
    nki_sim_memory_admit(x, time, freed, false);
}

bool nki_sim_memory_waited_for(const struct sim *x) { return x->heap_count && x->order_next < x->order_count; }

void nki_sim_memory_used(struct sim *x, uint32_t i, double time) {
    const struct nki_instruction *r = &x->m->record.items[i];
    for (int k = 0; k < r->operands; k++) {
        uint32_t id = r->region[k].storage;
        if (!x->place[id].managed) continue;
        if (time >= x->released[id]) {
            x->released[id] = time;
            x->releaser[id] = i;
        }
        if (!--x->left[id]) heap_push(x, x->released[id], id);
    }
}

bool nki_sim_memory_open(struct sim *x) {
    uint32_t n = x->m->storage_count;
    x->left = calloc(n + 1, sizeof *x->left);
    x->released = calloc(n + 1, sizeof *x->released);
    x->releaser = calloc(n + 1, sizeof *x->releaser);
    x->s->memory = malloc(SAMPLES * sizeof *x->s->memory);
    x->order = calloc(n + 1, sizeof *x->order);
    x->needs = calloc(n + 1, sizeof *x->needs);
    bool ok = survey_storages(x) && x->left && x->released && x->releaser && x->s->memory && x->order && x->needs;
    if (!ok) return false;
    x->sample_skip = 1;
    x->limit[0] = x->m->target.sbuf_bytes * 4;
    x->limit[1] = x->m->target.psum_bytes * 4;
    for (size_t i = 0; i < x->s->count; i++) {
        const struct nki_instruction *r = &x->m->record.items[i];
        for (int k = 0; k < r->operands; k++) {
            uint32_t id = r->region[k].storage;
            if (!x->place[id].managed || x->left[id]++) continue;
            x->order[x->order_count] = id;
            x->needs[x->order_count++] = (uint32_t)i;
            x->state[i].pending++;
        }
    }
    return true;
}

void nki_sim_memory_close(struct sim *x) {
    // The rest comes free, for the record of occupancy.
    while (x->place && x->s->memory && x->heap_count) {
        struct release r = heap_pop(x);
        account(x, r.storage, -1, r.time);
    }
    free(x->order);
    free(x->needs);
    free(x->place);
    free(x->left);
    free(x->released);
    free(x->releaser);
    free(x->heap);
}
