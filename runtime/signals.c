// SPDX-License-Identifier: MIT
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

enum { GROUPS = 1024 };

static struct {
    volatile sig_atomic_t count;
    volatile sig_atomic_t groups[GROUPS]; // 0 = free
    int fd;
    void (*notify)(void *);
    void *data;
    void (*tick)(void *);
    void *tick_data;
} state = {.fd = -1};

void signals_kill_groups(void) {
    for (int i = 0; i < GROUPS; i++) {
        pid_t group = (pid_t)state.groups[i];
        if (group > 1) kill(-group, SIGKILL);
    }
}

static void leave(void) {
    signals_kill_groups();
    _exit(130);
}

static void on_alarm(int signal) {
    (void)signal;
    leave();
}

static void on_signal(int signal) {
    (void)signal;
    int saved = errno;
    state.count = state.count + 1;
    if (state.count > 1) leave();
    uint64_t one = 1;
    if (write(state.fd, &one, sizeof one) < 0) leave(); // an eventfd that cannot be written would never wake the loop
    // The orderly exit has 180 ms, then on_alarm.
    struct itimerval limit = {.it_value = {.tv_usec = 180000}};
    setitimer(ITIMER_REAL, &limit, NULL);
    if (state.notify) state.notify(state.data);
    errno = saved;
}

static void handle(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

bool signals_install(void (*notify)(void *data), void *data) {
    if (state.fd < 0) state.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (state.fd < 0) return false;
    state.notify = notify;
    state.data = data;
    handle(SIGPIPE, SIG_IGN);
    handle(SIGXFSZ, SIG_IGN);
    handle(SIGALRM, on_alarm);
    handle(SIGINT, on_signal);
    handle(SIGTERM, on_signal);
    struct sigaction old;
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) handle(SIGHUP, on_signal); // nohup stays nohup
    return true;
}

static void on_cpu(int signal) {
    (void)signal;
    int saved = errno;
    if (state.tick) state.tick(state.tick_data);
    errno = saved;
}

void signals_watchdog(void (*tick)(void *data), void *data) {
    enum { EVERY = 50000 }; // microseconds
    struct itimerval timer = {.it_value = {.tv_usec = tick ? EVERY : 0}, .it_interval = {.tv_usec = tick ? EVERY : 0}};
    if (tick) {
        state.tick_data = data;
        state.tick = tick;
        handle(SIGVTALRM, on_cpu);
    }
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
    if (!tick) state.tick = NULL;
}

int signals_fd(void) { return state.fd; }

int signals_count(void) { return state.count; }

void signals_drain(void) {
    uint64_t n;
    while (state.fd >= 0 && read(state.fd, &n, sizeof n) > 0) {}
}

void signals_group_add(pid_t group) {
    for (int i = 0; i < GROUPS; i++)
        if (state.groups[i] == 0) {
            state.groups[i] = (sig_atomic_t)group;
            return;
        }
}

void signals_group_remove(pid_t group) {
    for (int i = 0; i < GROUPS; i++)
        if (state.groups[i] == (sig_atomic_t)group) state.groups[i] = 0;
}
