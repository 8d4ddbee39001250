// SPDX-License-Identifier: MIT
#include "nki/area.h"

#include <stdlib.h>
#include <string.h>

void nki_area_open(struct nki_area *area, int64_t rows, int64_t cols) {
    *area = (struct nki_area){.rows = rows, .cols = cols, .full = rows == 0 || cols == 0};
}

static void drop_details(struct nki_area *area) {
    free(area->boxes);
    free(area->bits);
    area->boxes = NULL;
    area->bits = NULL;
    area->count = area->capacity = 0;
    area->set = 0;
}

void nki_area_close(struct nki_area *area) {
    drop_details(area);
    area->full = false;
}

void nki_area_fill(struct nki_area *area) {
    drop_details(area);
    area->full = true;
}

static bool box_contains(const struct nki_box *a, const struct nki_box *b) {
    return a->r0 <= b->r0 && a->r1 >= b->r1 && a->c0 <= b->c0 && a->c1 >= b->c1;
}

static bool box_meets(const struct nki_box *a, const struct nki_box *b) {
    return a->r0 < b->r1 && b->r0 < a->r1 && a->c0 < b->c1 && b->c0 < a->c1;
}

// The parts of a outside b, at most four.
static int box_subtract(const struct nki_box *a, const struct nki_box *b, struct nki_box out[4]) {
    int n = 0;
    int64_t r0 = a->r0, r1 = a->r1;
    if (b->r0 > r0) {
        out[n++] = (struct nki_box){r0, b->r0, a->c0, a->c1};
        r0 = b->r0;
    }
    if (b->r1 < r1) {
        out[n++] = (struct nki_box){b->r1, r1, a->c0, a->c1};
        r1 = b->r1;
    }
    if (b->c0 > a->c0) out[n++] = (struct nki_box){r0, r1, a->c0, b->c0};
    if (b->c1 < a->c1) out[n++] = (struct nki_box){r0, r1, b->c1, a->c1};
    return n;
}

static uint64_t low_mask(int64_t n) { return n >= 64 ? ~0ULL : (1ULL << n) - 1; }

// Walk the words of one row's [c0, c1); mode 1 sets, 0 clears, 2 tests all, 3 tests any. Returns the change in the
// number of set bits (modes 0 and 1) or the answer.
static int64_t walk_bits(uint64_t *bits, int64_t first, int64_t last, int mode) {
    int64_t change = 0;
    while (first < last) {
        int64_t word = first >> 6, at = first & 63;
        int64_t n = last - first < 64 - at ? last - first : 64 - at;
        uint64_t mask = low_mask(n) << at;
        uint64_t old = bits[word];
        if (mode == 1) {
            change += n - __builtin_popcountll(old & mask);
            bits[word] = old | mask;
        } else if (mode == 0) {
            change -= __builtin_popcountll(old & mask);
            bits[word] = old & ~mask;
        } else if (mode == 2) {
            if ((old & mask) != mask) return 0;
        } else if (old & mask) {
            return 1;
        }
        first += n;
    }
    return mode == 2 ? 1 : mode == 3 ? 0 : change;
}

static int64_t walk_box(const struct nki_area *area, const struct nki_box *box, int mode) {
    int64_t total = 0;
    for (int64_t r = box->r0; r < box->r1; r++) {
        int64_t base = r * area->cols;
        int64_t got = walk_bits(area->bits, base + box->c0, base + box->c1, mode);
        if (mode == 2 && !got) return 0;
        if (mode == 3 && got) return 1;
        total += got;
    }
    return mode == 2 ? 1 : mode == 3 ? 0 : total;
}

static bool become_bits(struct nki_area *area) {
    int64_t total = area->rows * area->cols;
    uint64_t *bits = calloc((size_t)((total + 63) / 64), sizeof *bits);
    if (!bits) return false;
    area->bits = bits;
    area->set = 0;
    for (int i = 0; i < area->count; i++) area->set += walk_box(area, &area->boxes[i], 1);
    free(area->boxes);
    area->boxes = NULL;
    area->count = area->capacity = 0;
    return true;
}

static bool reserve(struct nki_area *area, int n) {
    if (n <= area->capacity) return true;
    int capacity = area->capacity ? area->capacity : 4;
    while (capacity < n) capacity *= 2;
    struct nki_box *boxes = realloc(area->boxes, (size_t)capacity * sizeof *boxes);
    if (!boxes) return false;
    area->boxes = boxes;
    area->capacity = capacity;
    return true;
}

// If the union of a and b is a rectangle, make a that.
static bool unite(struct nki_box *a, const struct nki_box *b) {
    if (box_contains(b, a)) {
        *a = *b;
        return true;
    }
    if (box_contains(a, b)) return true;
    if (a->r0 == b->r0 && a->r1 == b->r1 && a->c0 <= b->c1 && b->c0 <= a->c1) {
        if (b->c0 < a->c0) a->c0 = b->c0;
        if (b->c1 > a->c1) a->c1 = b->c1;
        return true;
    }
    if (a->c0 == b->c0 && a->c1 == b->c1 && a->r0 <= b->r1 && b->r0 <= a->r1) {
        if (b->r0 < a->r0) a->r0 = b->r0;
        if (b->r1 > a->r1) a->r1 = b->r1;
        return true;
    }
    return false;
}

bool nki_area_add(struct nki_area *area, const struct nki_box *box) {
    if (area->full || nki_box_empty(box)) return true;
    if (box->r0 == 0 && box->c0 == 0 && box->r1 == area->rows && box->c1 == area->cols) {
        nki_area_fill(area);
        return true;
    }
    if (!area->bits) {
        struct nki_box add = *box;
        for (int i = 0; i < area->count;) {
            if (unite(&add, &area->boxes[i])) {
                area->boxes[i] = area->boxes[--area->count];
                i = 0;
            } else {
                i++;
            }
        }
        if (add.r0 == 0 && add.c0 == 0 && add.r1 == area->rows && add.c1 == area->cols) {
            nki_area_fill(area);
            return true;
        }
        if (!reserve(area, area->count + 1)) return false;
        area->boxes[area->count++] = add;
        return area->count <= AREA_BOXES || become_bits(area);
    }
    area->set += walk_box(area, box, 1);
    if (area->set == area->rows * area->cols) nki_area_fill(area);
    return true;
}

bool nki_area_remove(struct nki_area *area, const struct nki_box *box) {
    if (nki_box_empty(box) || nki_area_is_empty(area)) return true;
    if (area->full) {
        if (!reserve(area, 1)) return false;
        area->boxes[0] = (struct nki_box){0, area->rows, 0, area->cols};
        area->count = 1;
        area->full = false;
    }
    if (area->bits) {
        area->set += walk_box(area, box, 0);
        return true;
    }
    int before = area->count;
    if (!reserve(area, before * 4)) return false;
    for (int i = before - 1; i >= 0; i--) {
        if (!box_meets(&area->boxes[i], box)) continue;
        struct nki_box parts[4];
        int n = box_subtract(&area->boxes[i], box, parts);
        area->boxes[i] = area->boxes[--area->count];
        for (int k = 0; k < n; k++) area->boxes[area->count++] = parts[k];
    }
    return area->count <= AREA_BOXES || become_bits(area);
}

static bool covered(const struct nki_area *area, const struct nki_box *box, int from) {
    for (int i = from; i < area->count; i++) {
        const struct nki_box *b = &area->boxes[i];
        if (!box_meets(b, box)) continue;
        if (box_contains(b, box)) return true;
        struct nki_box parts[4];
        int n = box_subtract(box, b, parts);
        for (int k = 0; k < n; k++)
            if (!covered(area, &parts[k], i + 1)) return false;
        return true;
    }
    return false;
}

bool nki_area_contains(const struct nki_area *area, const struct nki_box *box) {
    if (area->full || nki_box_empty(box)) return true;
    if (area->bits) return walk_box(area, box, 2) != 0;
    return covered(area, box, 0);
}

bool nki_area_touches(const struct nki_area *area, const struct nki_box *box) {
    if (nki_box_empty(box)) return false;
    if (area->full) return true;
    if (area->bits) return walk_box(area, box, 3) != 0;
    for (int i = 0; i < area->count; i++)
        if (box_meets(&area->boxes[i], box)) return true;
    return false;
}

bool nki_area_first_gap(const struct nki_area *area, int64_t *row, int64_t *col) {
    if (area->full) return false;
    if (area->bits) {
        int64_t total = area->rows * area->cols;
        for (int64_t i = 0; i < total; i++) {
            if ((i & 63) == 0 && area->bits[i >> 6] == ~0ULL) {
                i += 63;
                continue;
            }
            if (!(area->bits[i >> 6] >> (i & 63) & 1)) {
                *row = i / area->cols;
                *col = i % area->cols;
                return true;
            }
        }
        return false;
    }
    // Move past whichever box holds the candidate, row by row; rows whose bands are alike are skipped together.
    for (int64_t r = 0; r < area->rows;) {
        int64_t c = 0, next = area->rows;
        for (bool moved = true; moved && c < area->cols;) {
            moved = false;
            for (int i = 0; i < area->count; i++) {
                const struct nki_box *b = &area->boxes[i];
                if (b->r0 > r && b->r0 < next) next = b->r0;
                if (b->r0 <= r && r < b->r1) {
                    if (b->r1 < next) next = b->r1;
                    if (b->c0 <= c && c < b->c1) {
                        c = b->c1;
                        moved = true;
                    }
                }
            }
        }
        if (c < area->cols) {
            *row = r;
            *col = c;
            return true;
        }
        r = next;
    }
    return false;
}

int64_t nki_area_missing(const struct nki_area *area) {
    int64_t total = area->rows * area->cols;
    if (area->full) return 0;
    if (area->bits) return total - area->set;
    // Boxes may overlap: count each box's part outside the earlier ones.
    int64_t have = 0;
    for (int i = 0; i < area->count; i++) {
        struct nki_box todo[256];
        int n = 1;
        todo[0] = area->boxes[i];
        for (int k = 0; k < i; k++) {
            for (int q = n - 1; q >= 0; q--) {
                if (!box_meets(&todo[q], &area->boxes[k])) continue;
                struct nki_box parts[4];
                int m = box_subtract(&todo[q], &area->boxes[k], parts);
                todo[q] = todo[--n];
                for (int z = 0; z < m && n < 256; z++) todo[n++] = parts[z];
            }
        }
        for (int q = 0; q < n; q++) have += (todo[q].r1 - todo[q].r0) * (todo[q].c1 - todo[q].c0);
    }
    return total - have;
}
