// SPDX-License-Identifier: MIT
// area.h: which bytes of a tensor are in some state (initialised; written by a matmul), kept as cheaply as the kernel's
// writes allow.
//
// The plane is rows x cols bytes (on chip: partitions x bytes of a partition; HBM: rows x bytes of the last dimension).
// While the set is one of: nothing, everything, or up to AREA_BOXES rectangles, it is held as such; only a set that
// needs more becomes one bit per byte. An area owns its bits; nki_area_close frees them and may be called twice.
// Adding and removing fail (false) for want of memory only; the set is then unchanged.
#ifndef NKILN_NKI_AREA_H
#define NKILN_NKI_AREA_H

#include <stdbool.h>
#include <stdint.h>

#define AREA_BOXES 40

struct nki_box {
    int64_t r0, r1, c0, c1; // rows [r0, r1), byte columns [c0, c1)
};

struct nki_area {
    int64_t rows, cols;
    bool full;
    int count, capacity;
    struct nki_box *boxes;
    uint64_t *bits; // row-major; NULL while boxes serve
    int64_t set;    // bits set
};

static inline bool nki_box_empty(const struct nki_box *b) { return b->r0 >= b->r1 || b->c0 >= b->c1; }

void nki_area_open(struct nki_area *area, int64_t rows, int64_t cols); // the empty set
void nki_area_close(struct nki_area *area);
bool nki_area_add(struct nki_area *area, const struct nki_box *box);
bool nki_area_remove(struct nki_area *area, const struct nki_box *box);
bool nki_area_contains(const struct nki_area *area, const struct nki_box *box); // all of box
bool nki_area_touches(const struct nki_area *area, const struct nki_box *box);  // any of box
void nki_area_fill(struct nki_area *area);                                      // everything
static inline bool nki_area_is_empty(const struct nki_area *area) {
    return !area->full && !area->count && (!area->bits || !area->set);
}
// First byte not in the set, row-major; false when the set is full.
bool nki_area_first_gap(const struct nki_area *area, int64_t *row, int64_t *col);
// Bytes not in the set.
int64_t nki_area_missing(const struct nki_area *area);

#endif
