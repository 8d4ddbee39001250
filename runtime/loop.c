// SPDX-License-Identifier: MIT
#include "loop.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

struct loop {
    struct loop_watch **watches; // holes (NULL) appear while dispatching and are swept after
    struct pollfd *fds;
    size_t watch_count, watch_cap;
    bool dispatching, holes;
    struct loop_timer **heap; // binary heap by `when`
    size_t timer_count, timer_cap;
    loop_wait_fn *wait;
    void *wait_context;
};

double loop_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int wait_poll(void *context, struct pollfd *fds, size_t count, double seconds) {
    (void)context;
    struct timespec t = {0}, *timeout = NULL;
    if (seconds >= 0) {
        if (seconds > 1e6) seconds = 1e6;
        t.tv_sec = (time_t)seconds;
        t.tv_nsec = (long)((seconds - floor(seconds)) * 1e9);
        timeout = &t;
    }
    return ppoll(fds, count, timeout, NULL);
}

struct loop *loop_new(void) {
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop) loop->wait = wait_poll;
    return loop;
}

void loop_free(struct loop *loop) {
    if (!loop) return;
    for (size_t i = 0; i < loop->watch_count; i++)
        if (loop->watches[i]) loop->watches[i]->loop = NULL;
    for (size_t i = 0; i < loop->timer_count; i++) loop->heap[i]->loop = NULL;
    free(loop->watches);
    free(loop->fds);
    free(loop->heap);
    free(loop);
}

void loop_set_wait(struct loop *loop, loop_wait_fn *wait, void *context) {
    loop->wait = wait ? wait : wait_poll;
    loop->wait_context = context;
}

bool loop_watch_add(struct loop *loop, struct loop_watch *watch) {
    if (watch->loop) return true;
    if (loop->watch_count == loop->watch_cap) {
        size_t cap = loop->watch_cap ? loop->watch_cap * 2 : 16;
        struct loop_watch **watches = realloc(loop->watches, cap * sizeof *watches);
        if (watches) loop->watches = watches;
        struct pollfd *fds = realloc(loop->fds, cap * sizeof *fds);
        if (fds) loop->fds = fds;
        if (!watches || !fds) return false;
        loop->watch_cap = cap;
    }
    watch->loop = loop;
    watch->index = loop->watch_count;
    loop->watches[loop->watch_count++] = watch;
    return true;
}

void loop_watch_remove(struct loop_watch *watch) {
    struct loop *loop = watch->loop;
    if (!loop) return;
    watch->loop = NULL;
    if (loop->dispatching) {
        loop->watches[watch->index] = NULL;
        loop->holes = true;
        return;
    }
    struct loop_watch *last = loop->watches[--loop->watch_count];
    if (last != watch) {
        last->index = watch->index;
        loop->watches[last->index] = last;
    }
}

static void sweep(struct loop *loop) {
    size_t kept = 0;
    for (size_t i = 0; i < loop->watch_count; i++) {
        struct loop_watch *watch = loop->watches[i];
        if (!watch) continue;
        watch->index = kept;
        loop->watches[kept++] = watch;
    }
    loop->watch_count = kept;
    loop->holes = false;
}

static void heap_put(struct loop *loop, size_t i, struct loop_timer *timer) {
    loop->heap[i] = timer;
    timer->index = i;
}

static void heap_up(struct loop *loop, size_t i) {
    struct loop_timer *timer = loop->heap[i];
    while (i > 0 && loop->heap[(i - 1) / 2]->when > timer->when) {
        heap_put(loop, i, loop->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(loop, i, timer);
}

static void heap_down(struct loop *loop, size_t i) {
    struct loop_timer *timer = loop->heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= loop->timer_count) break;
        if (child + 1 < loop->timer_count && loop->heap[child + 1]->when < loop->heap[child]->when) child++;
        if (loop->heap[child]->when >= timer->when) break;
        heap_put(loop, i, loop->heap[child]);
        i = child;
    }
    heap_put(loop, i, timer);
}

bool loop_timer_start(struct loop *loop, struct loop_timer *timer, double when) {
    loop_timer_stop(timer);
    if (loop->timer_count == loop->timer_cap) {
        size_t cap = loop->timer_cap ? loop->timer_cap * 2 : 16;
        struct loop_timer **heap = realloc(loop->heap, cap * sizeof *heap);
        if (!heap) return false;
        loop->heap = heap;
        loop->timer_cap = cap;
    }
    timer->when = when;
    timer->loop = loop;
    heap_put(loop, loop->timer_count++, timer);
    heap_up(loop, timer->index);
    return true;
}

void loop_timer_stop(struct loop_timer *timer) {
    struct loop *loop = timer->loop;
    if (!loop) return;
    timer->loop = NULL;
    size_t i = timer->index;
    struct loop_timer *last = loop->heap[--loop->timer_count];
    if (last == timer) return;
    heap_put(loop, i, last);
    heap_up(loop, i);
    heap_down(loop, last->index);
}

void loop_turn(struct loop *loop, double seconds) {
    size_t count = loop->watch_count;
    for (size_t i = 0; i < count; i++) {
        struct loop_watch *watch = loop->watches[i];
        loop->fds[i] = (struct pollfd){.fd = watch->events ? watch->fd : -1, .events = watch->events};
    }
    if (loop->timer_count) {
        double left = loop->heap[0]->when - loop_now();
        if (left < 0) left = 0;
        if (seconds < 0 || left < seconds) seconds = left;
    }
    int n = loop->wait(loop->wait_context, loop->fds, count, seconds);
    if (n > 0) {
        // Callbacks may add watches (past `count`, seen next turn) and remove any (holes, swept below).
        loop->dispatching = true;
        for (size_t i = 0; i < count; i++) {
            struct loop_watch *watch = loop->watches[i];
            short revents = loop->fds[i].revents;
            if (watch && revents) watch->ready(watch, revents);
        }
        loop->dispatching = false;
        if (loop->holes) sweep(loop);
    }
    double now = loop_now();
    // Only timers that are due now: one that restarts itself with no delay does not hold the loop.
    while (loop->timer_count && loop->heap[0]->when <= now) {
        struct loop_timer *timer = loop->heap[0];
        loop_timer_stop(timer);
        timer->fire(timer);
    }
}
