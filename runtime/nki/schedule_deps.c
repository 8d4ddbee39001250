// SPDX-License-Identifier: MIT
// schedule_deps.c: which instruction must wait for which: flow (read after write), anti (write after read) and output
// (write after write) dependences by overlapping regions.
//
// For each storage the accesses that a later one may still have to wait for are kept in a grid over its bytes: levels
// of eightfold finer cells, an access in the finest level whose cells are at least as long as it is, so that it lies in
// two cells at most and a search looks only where something overlaps. Column blocks of an HBM tensor all span nearly
// the whole of it, so those are kept by their place within a row instead. A write that covers an earlier access takes
// its place, because whoever depends on the earlier one depends on the write too. Accesses after which nothing is
// written (reads of inputs, of resident weights) are never kept. Tensors with an address given by the kernel share one
// storage per memory, addressed absolutely, because they may lie over each other.
#include <stdlib.h>
#include <string.h>

#include "nki/schedule.h"

#define LEVELS 6
#define NIL 0

// Accesses as kept.
struct access {
    struct nki_region at;
    uint32_t instr;
    uint32_t next; // in the cell; NIL: none
};

struct span {
    uint64_t low, length;
};

struct grid {
    uint64_t size;          // bytes it covers: of the storage, or of a row
    uint32_t *cell[LEVELS]; // 8^level heads, made when first used
    uint32_t used[LEVELS];  // accesses in the level
};

// The reads, or the writes, of one storage.
struct list {
    uint32_t head; // while it is short
    uint32_t count;
    struct grid *grid; // two: by bytes, and by columns
};

struct track {
    struct list kept[2]; // reads, writes: a read need not look at reads
    uint64_t size;       // bytes covered
    uint64_t row;        // HBM: bytes of its last dimension; 0: it has no rows
    uint32_t last_write; // index of the last instruction that writes; later reads need not be kept
    uint32_t last;       // the last access
    bool written;
    bool placed; // the kernel gave an address
};

struct builder {
    struct nki_schedule *s;
    const struct nki_machine *m;
    struct track *tracks; // per storage id; after them one for SBUF and one for PSUM addresses
    uint32_t track_count;
    struct access *pool;
    uint32_t pool_used, pool_capacity, free_list;
    struct nki_edge *edges;
    size_t edge_count, edge_capacity;
    uint32_t *stamp; // per instruction: position + 1 of its edge to the consumer under way
    uint32_t *stamp_of;
    uint32_t now;
    bool failed;
};

// --- regions
// ----------------------------------------------------------------------------------------------------------------

// Rows of `run` bytes at a constant distance. False: no such simple pattern.
static bool rows_of(const struct nki_region *g, uint64_t *run, uint64_t *step) {
    *run = g->run ? g->run : 1;
    uint64_t parts = g->parts ? g->parts : 1, rows = g->rows / parts;
    if (g->rows == UINT32_MAX) return false;
    if (rows <= 1 || *run >= g->extent) {
        *run = g->extent;
        *step = 0;
        return true;
    }
    if (g->ndim > 2 || g->flags & (NKI_REGION_REPEATS | NKI_REGION_INDIRECT)) return false;
    if ((g->extent - *run) % (rows - 1)) return false;
    *step = (g->extent - *run) / (rows - 1);
    return *step >= *run;
}

bool nki_regions_meet(const struct nki_region *a, const struct nki_region *b) {
    if ((a->parts || b->parts) && (a->part + a->parts <= b->part || b->part + b->parts <= a->part)) return false;
    if ((a->flags | b->flags) & NKI_REGION_INDIRECT) return true;
    if (a->offset + a->extent <= b->offset || b->offset + b->extent <= a->offset) return false;
    uint64_t ra, rb, sa, sb;
    if (!rows_of(a, &ra, &sa) || !rows_of(b, &rb, &sb)) return true;
    if (!sa && !sb) return true;
    if (sa && sb && sa != sb) return true;
    uint64_t step = sa ? sa : sb;
    if (ra > step || rb > step) return true;
    uint64_t ca = a->offset % step, cb = b->offset % step; // columns modulo the common distance
    uint64_t gap = cb >= ca ? cb - ca : cb + step - ca;
    return gap < ra || step - gap < rb;
}

// A write without holes that has all of `old` inside.
static bool covers(const struct nki_region *w, const struct nki_region *old) {
    uint64_t run, step;
    if (w->flags & NKI_REGION_INDIRECT || old->flags & NKI_REGION_INDIRECT) return false;
    if (w->part > old->part || w->part + w->parts < old->part + old->parts) return false;
    if (w->offset > old->offset || w->offset + w->extent < old->offset + old->extent) return false;
    return rows_of(w, &run, &step) && (step == 0 || step == run);
}

// --- edges
// ------------------------------------------------------------------------------------------------------------------

static void add_edge(struct builder *b, uint32_t from, uint8_t kind) {
    if (from >= b->now) return;
    if (b->stamp_of[from] == b->now + 1) { // known already: keep the strongest reason
        struct nki_edge *e = &b->edges[b->stamp[from]];
        if (kind == NKI_DEP_FLOW || (kind == NKI_DEP_OUTPUT && e->kind == NKI_DEP_ANTI)) e->kind = kind;
        return;
    }
    if (b->edge_count == b->edge_capacity) {
        size_t capacity = b->edge_capacity ? b->edge_capacity * 2 : 4096;
        struct nki_edge *edges = capacity < UINT32_MAX ? realloc(b->edges, capacity * sizeof *edges) : NULL;
        if (!edges) {
            b->failed = true;
            return;
        }
        b->edges = edges;
        b->edge_capacity = capacity;
    }
    b->stamp_of[from] = b->now + 1;
    b->stamp[from] = (uint32_t)b->edge_count;
    b->edges[b->edge_count++] = (struct nki_edge){.from = from, .kind = kind};
}

// --- the grid
// ---------------------------------------------------------------------------------------------------------------

static uint32_t take_access(struct builder *b) {
    if (b->free_list) {
        uint32_t k = b->free_list;
        b->free_list = b->pool[k].next;
        return k;
    }
    if (b->pool_used >= b->pool_capacity) {
        uint32_t capacity = b->pool_capacity ? b->pool_capacity * 2 : 4096;
        struct access *pool = b->pool_capacity < UINT32_MAX / 2 ? realloc(b->pool, capacity * sizeof *pool) : NULL;
        if (!pool) {
            b->failed = true;
            return NIL;
        }
        b->pool = pool;
        b->pool_capacity = capacity;
    }
    return b->pool_used++;
}

static void give_access(struct builder *b, uint32_t k) {
    b->pool[k].next = b->free_list;
    b->free_list = k;
}

static void put(struct builder *b, uint32_t *head, const struct nki_region *g, uint32_t instr) {
    uint32_t k = take_access(b);
    if (k == NIL) return;
    b->pool[k] = (struct access){.at = *g, .instr = instr, .next = *head};
    *head = k;
}

static uint64_t cell_size(const struct grid *grid, int level) {
    uint64_t cells = 1ULL << (3 * level);
    uint64_t size = (grid->size + cells - 1) / cells;
    return size ? size : 1;
}

static uint64_t cell_of(const struct grid *grid, int level, uint64_t byte) {
    uint64_t cells = 1ULL << (3 * level), at = byte / cell_size(grid, level);
    return at < cells ? at : cells - 1;
}

// Where a region lies: in the grid of columns (1) when it is a block of rows that wraps nowhere, else in that of bytes.
static int place_of(const struct track *t, const struct nki_region *g, struct span *at) {
    uint64_t run, step;
    if (t->row && rows_of(g, &run, &step) && step && step % t->row == 0 && g->offset % t->row + run <= t->row) {
        *at = (struct span){g->offset % t->row, run};
        return 1;
    }
    *at = g->flags & NKI_REGION_INDIRECT ? (struct span){0, t->size} : (struct span){g->offset, g->extent};
    return 0;
}

// The columns that a region may touch.
static struct span columns_of(const struct track *t, const struct nki_region *g) {
    uint64_t run, step;
    bool simple = rows_of(g, &run, &step) && step % t->row == 0 && g->offset % t->row + run <= t->row;
    return simple ? (struct span){g->offset % t->row, run} : (struct span){0, t->row};
}

static void put_in_grid(struct builder *b, const struct track *t, struct grid *grids, const struct nki_region *g,
                        uint32_t instr) {
    struct span at;
    struct grid *grid = &grids[place_of(t, g, &at)];
    int level = LEVELS - 1;
    while (level > 0 && cell_size(grid, level) < at.length) level--;
    if (!grid->cell[level]) {
        grid->cell[level] = calloc(1ULL << (3 * level), sizeof **grid->cell);
        if (!grid->cell[level]) {
            b->failed = true;
            return;
        }
    }
    uint64_t to = cell_of(grid, level, at.low + (at.length ? at.length - 1 : 0));
    for (uint64_t c = cell_of(grid, level, at.low); c <= to; c++) {
        put(b, &grid->cell[level][c], g, instr);
        grid->used[level]++;
    }
}

#define SHORT_LIST 12

static void keep(struct builder *b, struct track *t, const struct nki_region *g, uint32_t instr) {
    struct list *list = &t->kept[(g->flags & NKI_REGION_WRITE) != 0];
    if (list->grid) {
        put_in_grid(b, t, list->grid, g, instr);
        return;
    }
    if (list->count < SHORT_LIST) {
        put(b, &list->head, g, instr);
        list->count++;
        return;
    }
    list->grid = calloc(2, sizeof *list->grid);
    if (!list->grid) {
        b->failed = true;
        return;
    }
    list->grid[0].size = t->size;
    list->grid[1].size = t->row;
    while (list->head) {
        uint32_t k = list->head;
        struct access a = b->pool[k];
        list->head = a.next;
        give_access(b, k);
        put_in_grid(b, t, list->grid, &a.at, a.instr);
    }
    list->count = 0;
    put_in_grid(b, t, list->grid, g, instr);
}

// Edges to what is met in one list; a covering write drops it. `used` counts the list's level.
static void visit(struct builder *b, uint32_t *head, uint32_t *used, const struct nki_region *g, bool drop) {
    bool write = g->flags & NKI_REGION_WRITE;
    uint32_t *link = head;
    while (*link) {
        struct access *a = &b->pool[*link];
        bool old_write = a->at.flags & NKI_REGION_WRITE;
        if (nki_regions_meet(g, &a->at)) {
            add_edge(b, a->instr, !write ? NKI_DEP_FLOW : old_write ? NKI_DEP_OUTPUT : NKI_DEP_ANTI);
            if (drop && covers(g, &a->at)) {
                uint32_t k = *link;
                *link = a->next;
                give_access(b, k);
                --*used;
                continue;
            }
        }
        link = &a->next;
    }
}

static void visit_grid(struct builder *b, struct grid *grid, struct span at, const struct nki_region *g, bool drop) {
    for (int level = 0; level < LEVELS; level++) {
        if (!grid->used[level]) continue;
        uint64_t to = cell_of(grid, level, at.low + (at.length ? at.length - 1 : 0));
        for (uint64_t c = cell_of(grid, level, at.low); c <= to; c++)
            visit(b, &grid->cell[level][c], &grid->used[level], g, drop);
    }
}

static void look(struct builder *b, struct track *t, const struct nki_region *g, bool drop) {
    bool write = g->flags & NKI_REGION_WRITE;
    for (int which = write ? 0 : 1; which < 2; which++) {
        struct list *list = &t->kept[which];
        if (!list->grid) {
            visit(b, &list->head, &list->count, g, drop);
            continue;
        }
        struct span bytes =
            g->flags & NKI_REGION_INDIRECT ? (struct span){0, t->size} : (struct span){g->offset, g->extent};
        visit_grid(b, &list->grid[0], bytes, g, drop);
        if (t->row) visit_grid(b, &list->grid[1], columns_of(t, g), g, drop);
    }
}

// --- the record
// -------------------------------------------------------------------------------------------------------------

// The track of a region, and the region as seen from it.
static uint32_t track_of(const struct builder *b, const struct nki_region *g, struct nki_region *out) {
    *out = *g;
    if (!b->tracks[g->storage].placed) return g->storage;
    const struct nki_storage *st = b->m->storages[g->storage - 1];
    out->offset += (uint64_t)st->address_byte;
    out->part = (uint8_t)(out->part + st->address_partition);
    return b->m->storage_count + (st->buffer == NKI_PSUM ? 2 : 1);
}

// Whether the destination is also read: it must stay after what wrote it.
static bool reads_destination(const struct nki_instruction *r) {
    return r->flags & NKI_FLAG_ACCUMULATE || r->op == NKI_I_TENSOR_COPY_PREDICATED || r->op == NKI_I_DMA_COMPUTE;
}

// Instructions that go through the reduction registers of their engine keep their order.
static bool uses_registers(const struct nki_instruction *r) {
    if (r->op == NKI_I_READ_ACCUMULATOR) return true;
    if (!(r->flags & NKI_FLAG_REDUCES)) return false;
    return r->op == NKI_I_ACTIVATION || r->op == NKI_I_ACTIVATION_REDUCE || r->op == NKI_I_TENSOR_SCALAR_REDUCE ||
           r->op == NKI_I_EXPONENTIAL || r->op == NKI_I_SELECT_REDUCE || r->op == NKI_I_RANGE_SELECT;
}

static bool survey(struct builder *b) {
    const struct nki_machine *m = b->m;
    b->track_count = m->storage_count + 3;
    b->tracks = calloc(b->track_count, sizeof *b->tracks);
    if (!b->tracks) return false;
    for (uint32_t i = 0; i < m->storage_count; i++) {
        const struct nki_storage *st = m->storages[i];
        b->tracks[i + 1].size = (uint64_t)st->free_elems * nki_dtype_size(st->dtype);
        b->tracks[i + 1].placed = st->address_byte >= 0;
        if (!nki_on_chip(st->buffer) && st->ndim > 1 && st->row_elems < st->free_elems)
            b->tracks[i + 1].row = (uint64_t)st->row_elems * nki_dtype_size(st->dtype);
    }
    b->tracks[m->storage_count + 1].size = (uint64_t)m->target.sbuf_bytes;
    b->tracks[m->storage_count + 2].size = (uint64_t)m->target.psum_bytes;
    for (size_t i = 0; i < m->record.count; i++) {
        const struct nki_instruction *r = &m->record.items[i];
        for (int k = 0; k < r->operands; k++) {
            struct nki_region g;
            if (!r->region[k].storage) continue;
            struct track *t = &b->tracks[track_of(b, &r->region[k], &g)];
            t->last = (uint32_t)i;
            if (g.flags & NKI_REGION_WRITE) {
                t->written = true;
                t->last_write = (uint32_t)i;
            }
        }
    }
    return true;
}

static void one(struct builder *b, uint32_t i, const struct nki_instruction *r) {
    for (int pass = 0; pass < 2; pass++) { // reads first: a destination may be a source too
        for (int k = 0; k < r->operands; k++) {
            struct nki_region g;
            if (!r->region[k].storage) continue;
            bool write = r->region[k].flags & NKI_REGION_WRITE;
            if (write != (pass == 1)) continue;
            struct track *t = &b->tracks[track_of(b, &r->region[k], &g)];
            if (!t->written) continue;
            if (write && reads_destination(r)) {
                struct nki_region read = g;
                read.flags &= (uint8_t)~NKI_REGION_WRITE;
                look(b, t, &read, false);
            }
            look(b, t, &g, write);
            if (write ? t->last > i : t->last_write > i) keep(b, t, &g, i);
        }
    }
}

static void close_builder(struct builder *b) {
    for (uint32_t i = 0; b->tracks && i < b->track_count; i++) {
        for (int which = 0; which < 2; which++) {
            struct grid *grid = b->tracks[i].kept[which].grid;
            for (int level = 0; grid && level < 2 * LEVELS; level++) free(grid[level / LEVELS].cell[level % LEVELS]);
            free(grid);
        }
    }
    free(b->tracks);
    free(b->pool);
    free(b->stamp);
    free(b->stamp_of);
}

bool nki_schedule_dependences(struct nki_schedule *s) {
    struct builder b = {.s = s, .m = s->machine, .pool_used = 1};
    size_t n = s->count;
    b.stamp = calloc(n + 1, sizeof *b.stamp);
    b.stamp_of = calloc(n + 1, sizeof *b.stamp_of);
    s->first = calloc(n + 1, sizeof *s->first);
    bool ok = b.stamp && b.stamp_of && s->first && survey(&b);
    uint32_t registers[NKI_ENGINES] = {0}; // last user of an engine's reduction registers, +1
    for (size_t i = 0; ok && i < n; i++) {
        const struct nki_instruction *r = &s->machine->record.items[i];
        b.now = (uint32_t)i;
        s->first[i] = (uint32_t)b.edge_count;
        one(&b, (uint32_t)i, r);
        if (uses_registers(r)) {
            if (registers[r->engine]) add_edge(&b, registers[r->engine] - 1, NKI_DEP_OUTPUT);
            registers[r->engine] = (uint32_t)i + 1;
        }
        ok = !b.failed;
    }
    if (ok) s->first[n] = (uint32_t)b.edge_count;
    s->edges = b.edges;
    close_builder(&b);
    return ok;
}
