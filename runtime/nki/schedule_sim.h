// SPDX-License-Identifier: MIT
// schedule_sim.h: the state of the simulation, shared by schedule.c and schedule_memory.c. Internal to the schedule.
#ifndef NKILN_NKI_SCHEDULE_SIM_H
#define NKILN_NKI_SCHEDULE_SIM_H

#include "nki/schedule.h"

enum stream { ST_TENSOR, ST_VECTOR, ST_SCALAR, ST_GPSIMD, ST_SYNC, ST_LOAD, ST_STORE, STREAMS };
enum { QUEUE_LOAD, QUEUE_STORE, QUEUE_SCALAR, QUEUE_GPSIMD };

#define WINDOW_MAX 128
#define RING 4096
#define SAMPLES 4096

struct slot { // an instruction in a window
    uint32_t instr;
    struct nki_cost cost;
    uint16_t tiles; // PE: the 32 x 32 groups it uses, 4 x 4
    bool ordered;   // in a no_reorder block
    bool movable;   // Vector, or Scalar if that ends sooner
};

struct window {
    struct slot slot[WINDOW_MAX];
    int count;
    uint32_t next;     // position in the stream's list
    bool dirty, moved; // moved: the choice is to run on the Scalar engine
    int choice;        // -1: nothing can start
    double start;
};

struct state { // of an instruction, while it waits
    double ready;
    uint32_t pending; // unresolved dependences and storages without memory
    uint32_t from;    // what made it ready last, +1
    uint8_t kind;
    uint8_t stream;
};

struct release { // memory that comes back
    double time;
    uint32_t storage;
};

struct place {     // what the simulation needs of a storage, close together
    int64_t bytes; // of a partition
    uint8_t quarters;
    bool psum, managed; // managed: memory is given out here
};

struct work { // of the Tensor Engine, for its throttle
    double start, finish, amount;
};

struct sim {
    struct nki_schedule *s;
    const struct nki_machine *m;
    const struct nki_schedule_model *c;
    struct state *state;
    uint8_t *repeats;        // what nki_schedule_reuse says; NULL: every load is done
    uint32_t *list[STREAMS]; // instructions of each stream in program order
    uint32_t length[STREAMS];
    struct window window[STREAMS];
    int depth;
    uint32_t *out, *out_first; // successors: positions in s->edges turned round
    uint8_t *out_kind;
    double free[NKI_TRACKS];
    double tile_free[16], tile_last; // tile_last: the latest of them
    double last_busy;                // duration of the previous matmul
    uint32_t last_row[NKI_TRACKS];   // +1
    double dma_free[16], dge_free[2];
    bool vector_fast; // the last Vector instruction ran in a mode that takes GpSimd's port
    double vector_psum_free, scalar_psum_free;
    // memory
    struct place *place; // per storage id
    uint32_t *order;     // storages in the order they are first written
    uint32_t *needs;     // the instruction that first writes each
    uint32_t order_count, order_next;
    uint32_t *left;   // accesses to come, per storage id
    double *released; // when the latest of them ends, and which it is
    uint32_t *releaser;
    int64_t used[2], limit[2]; // SBUF, PSUM: bytes times quarters
    int64_t quarter[2][4];
    struct release *heap;
    uint32_t heap_count, heap_capacity;
    uint32_t sample_skip, sample_seen;
    // throttle
    struct work ring[RING];
    uint32_t ring_head, ring_tail;
    double ring_sum;
    double now;
    bool failed;
};

// One of the things instruction i waits for is settled: it may start at `time`, because of `from` (+1).
void nki_sim_settle(struct sim *x, uint32_t i, double time, uint32_t from, uint8_t kind);

// Memory. Open surveys the record; false: no memory.
bool nki_sim_memory_open(struct sim *x);
void nki_sim_memory_close(struct sim *x);
// Give memory to the next storages in program order while it lasts; force: to one more than there is room for. `freed`
// is the instruction (+1) whose end gave the room.
void nki_sim_memory_admit(struct sim *x, double time, uint32_t freed, bool force);
// An access of instruction i ends at `time`: its operands may come free.
void nki_sim_memory_used(struct sim *x, uint32_t i, double time);
// Take back what is free by `time`, and give it out.
void nki_sim_memory_until(struct sim *x, double time);
bool nki_sim_memory_waited_for(const struct sim *x); // some storage waits and some memory will come back

#endif
