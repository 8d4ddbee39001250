// SPDX-License-Identifier: MIT
// loop.h: the one wait of a process. Watches (descriptor ready), timers, and the wake-up that a signal causes.
//
// Watches and timers are embedded in the structs of their owners; the loop keeps pointers only, so an owner must take
// its watch and timer out before it goes away. Both may be taken out at any time, also from inside a callback. A watch
// must be taken out before its descriptor is closed. Callbacks never run Lua: they change state and wake tasks
// (loop_lua.c). Adding a watch or a timer can fail for want of memory (returns false); nothing else here fails.
#ifndef NKILN_LOOP_H
#define NKILN_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

struct loop;

struct loop_watch {
    int fd;
    short events; // POLLIN | POLLOUT; 0 keeps the place but waits for nothing
    void (*ready)(struct loop_watch *watch, short revents);
    void *data;
    struct loop *loop; // NULL when not in a loop
    size_t index;
};

struct loop_timer {
    double when; // seconds of loop_now()
    void (*fire)(struct loop_timer *timer);
    void *data;
    struct loop *loop; // NULL when not running
    size_t index;
};

// What waits: returns what poll(2) returns. `seconds` < 0 waits without end. A later HTTP client puts
// curl_multi_poll here.
typedef int loop_wait_fn(void *context, struct pollfd *fds, size_t count, double seconds);

struct loop *loop_new(void); // NULL when there is no memory
void loop_free(struct loop *loop);
void loop_set_wait(struct loop *loop, loop_wait_fn *wait, void *context);

bool loop_watch_add(struct loop *loop, struct loop_watch *watch);
void loop_watch_remove(struct loop_watch *watch); // harmless when it is in no loop
bool loop_timer_start(struct loop *loop, struct loop_timer *timer, double when); // again = move
void loop_timer_stop(struct loop_timer *timer);

// Wait once, at most `seconds` (< 0: until something happens), and call what is due.
void loop_turn(struct loop *loop, double seconds);

double loop_now(void); // monotonic seconds

#endif
