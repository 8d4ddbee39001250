// SPDX-License-Identifier: MIT
// schedule.c: the simulation: engines take instructions in order of time, waiting for dependences, memory and ports.
//
// Each stream of instructions (the five engines, and loads and stores apart, because a store that waits for its data
// must not hold up the loads behind it) shows a window of its next instructions. The one that can start first starts;
// that fixes when its results are there, which may make others ready. Starts are thus taken in order of time, and
// memory that becomes free is given out in between.
#include "nki/schedule_sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void nki_sim_settle(struct sim *x, uint32_t i, double time, uint32_t from, uint8_t kind) {
    struct state *t = &x->state[i];
    if (time > t->ready || !t->kind) {
        if (time > t->ready) t->ready = time;
        t->from = from;
        t->kind = kind;
    }
    t->pending--;
    if (!t->pending) x->window[t->stream].dirty = true;
}

// --- windows
// ----------------------------------------------------------------------------------------------------------------

static enum stream stream_of(const struct nki_instruction *r) {
    enum nki_track track = nki_schedule_track(r);
    if (!r->bytes || track != NKI_TRACK_SYNC) return (enum stream)track;
    return r->operands && r->region[0].flags & NKI_REGION_HBM ? ST_STORE : ST_LOAD;
}

static const uint8_t track_of_stream[STREAMS] = {NKI_TRACK_TENSOR, NKI_TRACK_VECTOR, NKI_TRACK_SCALAR, NKI_TRACK_GPSIMD,
                                                 NKI_TRACK_SYNC,   NKI_TRACK_SYNC,   NKI_TRACK_SYNC};

static uint16_t tiles_of(const struct nki_instruction *r) {
    if (!r->tile[2] || !r->tile[3]) return 0xffff;
    uint16_t mask = 0;
    for (int i = r->tile[0]; i < r->tile[0] + r->tile[2] && i < 4; i++)
        for (int j = r->tile[1]; j < r->tile[1] + r->tile[3] && j < 4; j++) mask |= (uint16_t)(1u << (4 * i + j));
    return mask ? mask : 0xffff;
}

static void refill(struct sim *x, enum stream st) {
    struct window *w = &x->window[st];
    while (w->count < x->depth && w->next < x->length[st]) {
        struct slot *slot = &w->slot[w->count++];
        slot->instr = x->list[st][w->next++];
        const struct nki_instruction *r = &x->m->record.items[slot->instr];
        nki_schedule_cost(x->m, x->c, r, nki_schedule_track(r), &slot->cost);
        slot->movable = st == ST_VECTOR && nki_schedule_movable(x->m, r);
        slot->tiles = st == ST_TENSOR ? tiles_of(r) : 0;
        slot->ordered = r->flags & NKI_FLAG_ORDERED;
        w->dirty = true;
    }
}

static double tiles_free(const struct sim *x, uint16_t tiles) {
    if (tiles == 0xffff) return x->tile_last;
    double t = 0;
    for (int i = 0; i < 16; i++)
        if (tiles >> i & 1 && x->tile_free[i] > t) t = x->tile_free[i];
    return t;
}

// When the engine and its ports are free for this instruction.
static double port_free(const struct sim *x, const struct slot *slot) {
    const struct nki_cost *cost = &slot->cost;
    double t = x->free[cost->track];
    if (cost->track == NKI_TRACK_TENSOR && !cost->dma) {
        t = tiles_free(x, slot->tiles);
    }
    if (cost->dma) return t;
    int gp = (int)x->c->vector_gpsimd_port;
    if (gp && cost->track == NKI_TRACK_VECTOR && (gp == 1 || cost->mode > 1) && x->free[NKI_TRACK_GPSIMD] > t)
        t = x->free[NKI_TRACK_GPSIMD];
    if (gp && cost->track == NKI_TRACK_GPSIMD && (gp == 1 || x->vector_fast) && x->free[NKI_TRACK_VECTOR] > t)
        t = x->free[NKI_TRACK_VECTOR];
    if (x->c->vector_scalar_port > 0 && cost->psum) {
        if (cost->track == NKI_TRACK_VECTOR && x->scalar_psum_free > t) t = x->scalar_psum_free;
        if (cost->track == NKI_TRACK_SCALAR && x->vector_psum_free > t) t = x->vector_psum_free;
    }
    return t;
}

// The compiler picks the engine of such an instruction by workload. Published profiles show the Vector engine where
// both are idle, so the other must end sooner by some margin.
#define MOVE_MARGIN_NS 100

// When a movable instruction would start on the Scalar engine; infinite when that is no gain.
static double moved_start(const struct sim *x, const struct slot *slot, double ready, double start) {
    struct slot other = *slot;
    nki_schedule_cost(x->m, x->c, &x->m->record.items[slot->instr], NKI_TRACK_SCALAR, &other.cost);
    double there = ready + x->c->semaphore_ns + x->c->vector_latency_cycles / x->c->vector_ghz;
    if (port_free(x, &other) > there) there = port_free(x, &other);
    double ends = start + slot->cost.busy_ns + slot->cost.latency_ns;
    return there + other.cost.busy_ns + other.cost.latency_ns + MOVE_MARGIN_NS < ends ? there : INFINITY;
}

static void choose(struct sim *x, enum stream st) {
    struct window *w = &x->window[st];
    w->dirty = w->moved = false;
    w->choice = -1;
    w->start = INFINITY;
    bool held = false; // an instruction of a no_reorder block has not started yet
    for (int i = 0; i < w->count; i++) {
        const struct state *t = &x->state[w->slot[i].instr];
        if (w->slot[i].ordered && held) continue;
        held |= w->slot[i].ordered;
        if (t->pending) continue;
        double start = port_free(x, &w->slot[i]);
        if (t->ready > start) start = t->ready;
        bool moved = false;
        if (w->slot[i].movable && start > t->ready) { // it would wait for the engine
            double there = moved_start(x, &w->slot[i], t->ready, start);
            moved = there < start;
            if (moved) start = there;
        }
        if (start < w->start) {
            w->start = start;
            w->choice = i;
            w->moved = moved;
            if (start <= x->now) return;
        }
    }
}

// --- the Tensor Engine's clock
// ----------------------------------------------------------------------------------------------

// After work begins the engine runs at a share of its rate, and again whenever its utilisation over the window falls
// below that share [neuron-explorer glossary, dI/dt throttling].
static bool limited(struct sim *x, double t) {
    double window = x->c->throttle_window_ns;
    if (window <= 0) return false;
    double from = t - window;
    while (x->ring_tail != x->ring_head && x->ring[x->ring_tail % RING].finish <= from)
        x->ring_sum -= x->ring[x->ring_tail++ % RING].amount;
    if (x->ring_tail == x->ring_head) x->ring_sum = 0;
    double sum = x->ring_sum;
    if (x->ring_tail != x->ring_head) {
        const struct work *w = &x->ring[x->ring_tail % RING];
        if (w->start < from && w->finish > w->start) sum -= w->amount * (from - w->start) / (w->finish - w->start);
    }
    return sum < window * x->c->throttle_share * 0.97;
}

static void did_work(struct sim *x, double start, double finish, double amount) {
    if (x->c->throttle_window_ns <= 0) return;
    if (x->ring_head - x->ring_tail == RING) x->ring_sum -= x->ring[x->ring_tail++ % RING].amount;
    x->ring[x->ring_head++ % RING] = (struct work){start, finish, amount};
    x->ring_sum += amount;
}

static void note_throttle(struct sim *x, double start, double finish) {
    struct nki_schedule *s = x->s;
    if (s->throttled_count && start <= s->throttled[s->throttled_count - 1].finish + 100) {
        if (finish > s->throttled[s->throttled_count - 1].finish) s->throttled[s->throttled_count - 1].finish = finish;
        return;
    }
    if (s->throttled_count == s->throttled_capacity) {
        size_t capacity = s->throttled_capacity ? s->throttled_capacity * 2 : 256;
        struct nki_span *spans = realloc(s->throttled, capacity * sizeof *spans);
        if (!spans) {
            x->failed = true;
            return;
        }
        s->throttled = spans;
        s->throttled_capacity = capacity;
    }
    s->throttled[s->throttled_count++] = (struct nki_span){start, finish};
}

// --- starting an instruction
// ------------------------------------------------------------------------------------------------

static void start_matmul(struct sim *x, struct nki_sched_row *row, const struct slot *slot) {
    double busy = slot->cost.busy_ns, load = slot->cost.load_ns, latency = slot->cost.latency_ns;
    double free = tiles_free(x, slot->tiles);
    double visible = row->start > free ? load : load > x->last_busy ? load - x->last_busy : 0;
    x->last_busy = busy;
    double amount = busy + visible;
    row->throttled = limited(x, row->start);
    double slow = row->throttled ? 1 / x->c->throttle_share : 1;
    row->busy = row->start + amount * slow;
    row->finish = row->busy + latency * slow;
    row->load_ns = load * slow;
    row->visible_ns = visible * slow;
    // Tiles of the array that work side by side count once: by their share of it.
    double share = __builtin_popcount(slot->tiles) / 16.0;
    did_work(x, row->start, row->busy, amount * share);
    if (row->throttled) note_throttle(x, row->start, row->busy);
    for (int i = 0; i < 16; i++)
        if (slot->tiles >> i & 1) x->tile_free[i] = row->busy;
    if (row->busy > x->tile_last) x->tile_last = row->busy;
}

static void add_packet(struct sim *x, const struct nki_packet *p) {
    struct nki_schedule *s = x->s;
    if (s->packet_count == s->packet_capacity) {
        size_t capacity = s->packet_capacity ? s->packet_capacity * 2 : 4096;
        struct nki_packet *packets = realloc(s->packets, capacity * sizeof *packets);
        if (!packets) {
            x->failed = true;
            return;
        }
        s->packets = packets;
        s->packet_capacity = capacity;
    }
    s->packets[s->packet_count++] = *p;
}

static void start_dma(struct sim *x, struct nki_sched_row *row, const struct slot *slot, enum stream st) {
    if (x->repeats && x->repeats[slot->instr] == NKI_LOAD_KEPT) { // taken to be there
        row->busy = row->finish = row->moved = row->moved_end = row->start;
        return;
    }
    const struct nki_schedule_model *c = x->c;
    const struct nki_instruction *r = &x->m->record.items[slot->instr];
    row->busy = row->start + slot->cost.busy_ns;
    row->queue = st == ST_STORE    ? QUEUE_STORE
                 : st == ST_SCALAR ? QUEUE_SCALAR
                 : st == ST_GPSIMD ? QUEUE_GPSIMD
                                   : QUEUE_LOAD;
    double sent = row->busy;
    if (r->dge == NKI_DGE_HWDGE) { // two descriptor generators, one beside Sync and one beside Scalar
        double *dge = &x->dge_free[st == ST_SCALAR];
        if (sent > *dge) *dge = sent;
        *dge += c->dma_hwdge_ns;
        sent = *dge;
    }
    struct nki_dma_shape shape;
    nki_schedule_dma_shape(x->m, r, &shape);
    double arrive = sent + c->dma_start_ns, first = INFINITY, last = 0;
    double service = 0;
    int like = -1; // an engine with the same share
    for (int e = 0; e < 16; e++) {
        if (!shape.per_engine[e]) continue;
        if (like < 0 || shape.per_engine[e] != shape.per_engine[like] || shape.bytes[e] != shape.bytes[like])
            service = nki_schedule_dma_service(x->m, c, r, &shape, e);
        like = e;
        double begin = x->dma_free[e] > arrive ? x->dma_free[e] : arrive;
        double end = begin + service;
        x->dma_free[e] = end;
        if (begin < first) first = begin;
        if (end > last) last = end;
        add_packet(x, &(struct nki_packet){.start = begin,
                                           .finish = end,
                                           .row = slot->instr,
                                           .descriptors = shape.per_engine[e],
                                           .bytes = shape.bytes[e],
                                           .engine = (uint8_t)e,
                                           .queue = (uint8_t)row->queue});
    }
    row->moved = first;
    row->moved_end = last;
    row->finish = last + c->dma_done_ns;
}

// When `to` may start because of what `from` did.
static double available(const struct sim *x, uint32_t from, uint32_t to, uint8_t kind) {
    const struct nki_sched_row *row = &x->s->rows[from];
    const struct nki_instruction *a = &x->m->record.items[from], *b = &x->m->record.items[to];
    if (a->bytes) return row->finish;
    bool same = row->track == track_of_stream[x->state[to].stream] && !b->bytes;
    if (same && (row->track == NKI_TRACK_TENSOR || kind != NKI_DEP_FLOW))
        return row->busy; // the pipeline keeps the order
    double t = kind == NKI_DEP_ANTI ? row->busy : row->finish;
    return same ? t : t + x->c->semaphore_ns;
}

static void issue(struct sim *x, enum stream st) {
    struct window *w = &x->window[st];
    struct slot slot = w->slot[w->choice];
    uint32_t i = slot.instr;
    struct nki_sched_row *row = &x->s->rows[i];
    struct state *t = &x->state[i];
    row->start = w->start;
    row->ready = t->ready;
    row->track = track_of_stream[st];
    if (w->moved) {
        row->track = NKI_TRACK_SCALAR;
        nki_schedule_cost(x->m, x->c, &x->m->record.items[i], NKI_TRACK_SCALAR, &slot.cost);
    }
    row->mode = slot.cost.mode;
    double before = x->free[row->track];
    row->wait = row->start > before ? row->start - before : 0;
    row->last_kind = before > t->ready ? NKI_DEP_ENGINE : t->kind;
    row->last = before > t->ready ? x->last_row[row->track] : t->from;
    if (slot.cost.dma) {
        start_dma(x, row, &slot, st);
    } else if (st == ST_TENSOR) {
        start_matmul(x, row, &slot);
    } else {
        row->busy = row->start + slot.cost.busy_ns;
        row->finish = row->busy + slot.cost.latency_ns;
    }
    if (row->busy > x->free[row->track]) x->free[row->track] = row->busy;
    if (!slot.cost.dma) {
        if (row->track == NKI_TRACK_VECTOR) x->vector_fast = slot.cost.mode > 1;
        if (row->track == NKI_TRACK_VECTOR && slot.cost.psum) x->vector_psum_free = row->busy;
        if (row->track == NKI_TRACK_SCALAR && slot.cost.psum) x->scalar_psum_free = row->busy;
    }
    // A row is shown until its results are there or the next one starts.
    uint32_t last = x->last_row[row->track];
    if (last) {
        struct nki_sched_row *old = &x->s->rows[last - 1];
        if (old->active_end > row->start) old->active_end = old->busy > row->start ? old->busy : row->start;
    }
    row->active_end = slot.cost.dma ? row->busy : row->finish;
    x->last_row[row->track] = i + 1;
    for (uint32_t k = x->out_first[i]; k < x->out_first[i + 1]; k++)
        nki_sim_settle(x, x->out[k], available(x, i, x->out[k], x->out_kind[k]), i + 1, x->out_kind[k]);
    nki_sim_memory_used(x, i, row->finish);
    memmove(&w->slot[w->choice], &w->slot[w->choice + 1], (size_t)(w->count - w->choice - 1) * sizeof *w->slot);
    w->count--;
    w->dirty = true;
    refill(x, st);
    for (int k = 0; k < STREAMS; k++)
        if (track_of_stream[k] == row->track) x->window[k].dirty = true;
    if (row->track == NKI_TRACK_SCALAR) x->window[ST_VECTOR].dirty = true; // for what may move
    if (x->c->vector_gpsimd_port > 0 || x->c->vector_scalar_port > 0)
        x->window[ST_VECTOR].dirty = x->window[ST_SCALAR].dirty = x->window[ST_GPSIMD].dirty = true;
}

// --- preparation
// ------------------------------------------------------------------------------------------------------------

static bool turn_edges(struct sim *x) {
    struct nki_schedule *s = x->s;
    size_t n = s->count, edges = s->first[n];
    x->out_first = calloc(n + 2, sizeof *x->out_first);
    x->out = malloc((edges + 1) * sizeof *x->out);
    x->out_kind = malloc(edges + 1);
    if (!x->out_first || !x->out || !x->out_kind) return false;
    for (size_t k = 0; k < edges; k++) x->out_first[s->edges[k].from + 2]++;
    for (size_t i = 2; i <= n + 1; i++) x->out_first[i] += x->out_first[i - 1];
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++) {
            uint32_t at = x->out_first[s->edges[k].from + 1]++;
            x->out[at] = i;
            x->out_kind[at] = s->edges[k].kind;
        }
    }
    return true;
}

static bool prepare(struct sim *x) {
    struct nki_schedule *s = x->s;
    size_t n = s->count;
    x->state = calloc(n + 1, sizeof *x->state);
    s->rows = calloc(n + 1, sizeof *s->rows);
    if (!x->state || !s->rows) return false;
    if (x->c->keep_share > 0) {
        x->repeats = malloc(n + 1);
        int64_t room = (int64_t)(x->c->keep_share * (double)x->m->target.sbuf_bytes);
        if (!x->repeats || !nki_schedule_reuse(x->m, room, x->repeats)) return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct state *t = &x->state[i];
        t->stream = (uint8_t)stream_of(&x->m->record.items[i]);
        t->ready = x->c->launch_ns;
        t->pending = s->first[i + 1] - s->first[i];
        x->length[t->stream]++;
    }
    for (int st = 0; st < STREAMS; st++) {
        x->list[st] = malloc((x->length[st] + 1) * sizeof **x->list);
        if (!x->list[st]) return false;
        x->length[st] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        int st = x->state[i].stream;
        x->list[st][x->length[st]++] = (uint32_t)i;
    }
    return nki_sim_memory_open(x) && turn_edges(x);
}

static void close_sim(struct sim *x) {
    for (int st = 0; st < STREAMS; st++) free(x->list[st]);
    free(x->state);
    free(x->repeats);
    free(x->out);
    free(x->out_first);
    free(x->out_kind);
    nki_sim_memory_close(x);
    free(x);
}

static enum nki_schedule_status simulate(struct sim *x, const struct nki_schedule_watch *watch) {
    struct nki_schedule *s = x->s;
    size_t n = s->count;
    x->now = x->c->launch_ns;
    for (int k = 0; k < NKI_TRACKS; k++) x->free[k] = x->now;
    for (int k = 0; k < 16; k++) x->tile_free[k] = x->now;
    x->tile_last = x->now;
    for (int st = 0; st < STREAMS; st++) {
        x->window[st].dirty = true;
        refill(x, (enum stream)st);
    }
    nki_sim_memory_admit(x, x->now, 0, false);
    for (size_t done = 0; done < n && !x->failed;) {
        int best = -1;
        double start = INFINITY;
        for (int st = 0; st < STREAMS; st++) {
            struct window *w = &x->window[st];
            if (w->dirty) choose(x, (enum stream)st);
            if (w->choice >= 0 && w->start < start) {
                start = w->start;
                best = st;
            }
        }
        if (nki_sim_memory_waited_for(x) && x->heap[0].time <= start) {
            if (x->heap[0].time > x->now) x->now = x->heap[0].time;
            nki_sim_memory_until(x, x->heap[0].time);
            continue;
        }
        if (best < 0) { // nothing can start before memory is given out that there is not
            if (x->order_next >= x->order_count) return NKI_SCHEDULE_TOO_LARGE; // cannot be: dependences point back
            nki_sim_memory_admit(x, x->now, 0, true);
            continue;
        }
        if (start > x->now) x->now = start;
        issue(x, (enum stream)best);
        if (++done % 65536 == 0 && watch && watch->stop && watch->stop(watch->context, done, n))
            return NKI_SCHEDULE_STOPPED;
    }
    if (x->failed) return NKI_SCHEDULE_MEMORY;
    return NKI_SCHEDULE_OK;
}

// Whether the run's account has room for the schedule, which lives outside it: rows, states, some three edges an
// instruction in both directions, and sixteen packets a DMA.
static bool has_room(const struct nki_machine *m) {
    const struct account *a = m->account;
    if (!a || !a->limit) return true;
    size_t each = sizeof(struct nki_sched_row) + sizeof(struct state) + 3 * (sizeof(struct nki_edge) + 5) + 24;
    size_t need = m->record.count * each + m->record.totals.dma_count * 16 * sizeof(struct nki_packet);
    size_t held = a->used + a->books;
    return held <= a->limit && need <= a->limit - held;
}

enum nki_schedule_status nki_schedule_run(struct nki_schedule *s, const struct nki_machine *m,
                                          const struct nki_schedule_model *model,
                                          const struct nki_schedule_watch *watch) {
    *s = (struct nki_schedule){.machine = m, .model = *model, .count = m->record.count};
    if (m->record.count > UINT32_MAX / 4) return NKI_SCHEDULE_TOO_LARGE;
    enum nki_schedule_status status = NKI_SCHEDULE_MEMORY;
    struct sim *x = has_room(m) ? calloc(1, sizeof *x) : NULL;
    if (x && nki_schedule_dependences(s)) {
        x->s = s;
        x->m = m;
        x->c = &s->model;
        x->depth = model->window < 1 ? 1 : model->window > WINDOW_MAX ? WINDOW_MAX : (int)model->window;
        if (prepare(x)) status = simulate(x, watch);
    }
    if (x) close_sim(x);
    if (status != NKI_SCHEDULE_OK) {
        nki_schedule_close(s);
        return status;
    }
    s->first_ns = INFINITY;
    for (size_t i = 0; i < s->count; i++) {
        if (s->rows[i].start < s->first_ns) s->first_ns = s->rows[i].start;
        if (s->rows[i].finish > s->last_ns) s->last_ns = s->rows[i].finish;
    }
    if (!s->count) s->first_ns = s->last_ns = model->launch_ns;
    s->total_ns = s->last_ns + model->finish_ns;
    return NKI_SCHEDULE_OK;
}

void nki_schedule_close(struct nki_schedule *s) {
    free(s->rows);
    free(s->edges);
    free(s->first);
    free(s->packets);
    free(s->throttled);
    free(s->memory);
    *s = (struct nki_schedule){0};
}
