// SPDX-License-Identifier: MIT
#include "proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "signals.h"

enum { MAX_EXTRA = 8 };
#define POLL_EVERY 0.01 // seconds, where there is no pidfd

struct children {
    struct loop *loop;
    struct child *first;
};

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static void child_fail(int report, int stage) {
    struct proc_error error = {.stage = stage, .error = errno};
    while (write(report, &error, sizeof error) < 0 && errno == EINTR) {}
    _exit(127);
}

// After fork: system calls only.
static void child_main(const struct proc_spawn *s, int report, pid_t parent) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    // Take every descriptor out of the way of 0..n before it is put in place.
    int given[3 + MAX_EXTRA] = {s->in, s->out, s->err};
    int count = 3 + s->extra_count;
    for (int i = 0; i < s->extra_count; i++) given[3 + i] = s->extra[i];
    int base = 3 + MAX_EXTRA;
    report = fcntl(report, F_DUPFD_CLOEXEC, base);
    if (report < 0) _exit(127);
    for (int i = 0; i < count; i++) {
        if (given[i] < 0)
            given[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (given[i] >= 0 && given[i] < base) given[i] = fcntl(given[i], F_DUPFD_CLOEXEC, base);
        if (given[i] < 0) child_fail(report, PROC_DESCRIPTORS);
    }
    for (int i = 0; i < count; i++)
        if (dup2(given[i], i) < 0) child_fail(report, PROC_DESCRIPTORS);
    // All of ours are close-on-exec; this is for descriptors inherited from whoever started us.
    enum { CLOSE_ON_EXEC = 4 };
    if (syscall(SYS_close_range, count, ~0U, CLOSE_ON_EXEC) != 0)
        for (int fd = count; fd < 1024; fd++) fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (s->cwd && chdir(s->cwd) != 0) child_fail(report, PROC_CWD);
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int n = 1; n < NSIG; n++) sigaction(n, &standard, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (s->jail) {
        int error = jail_enter(s->jail);
        errno = error;
        if (error) child_fail(report, PROC_JAIL);
    }
    execve(s->path, s->argv, s->envp);
    child_fail(report, PROC_EXEC);
}

pid_t proc_spawn(const struct proc_spawn *spawn, struct proc_error *error) {
    int report[2];
    *error = (struct proc_error){.stage = PROC_FORK};
    if (spawn->extra_count > MAX_EXTRA || pipe2(report, O_CLOEXEC) != 0) {
        error->error = errno ? errno : EINVAL;
        return -1;
    }
    // A signal between fork and the child's reset of its handlers must not run the parent's handlers in the child.
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) child_main(spawn, report[1], parent);
    int saved = errno;
    if (pid > 0) {
        setpgid(pid, pid); // also done by the child: whoever is first
        signals_group_add(pid);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(report[1]);
    if (pid < 0) {
        close(report[0]);
        error->error = saved;
        return -1;
    }
    // Ends at exec (the pipe closes) or with the failure. The child does nothing slow in between.
    ssize_t n;
    do n = read(report[0], error, sizeof *error);
    while (n < 0 && errno == EINTR);
    close(report[0]);
    if (n != (ssize_t)sizeof *error) return pid;
    signals_group_remove(pid);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
    return -1;
}

void proc_forget(pid_t pid) {
    if (pid <= 0) return;
    kill(-pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {}
    signals_group_remove(pid);
}

int proc_find_program(const char *name, const char *path, char *out, size_t size) {
    int result = ENOENT;
    if (strchr(name, '/')) path = "";
    if (!*name) return ENOENT;
    for (;;) {
        size_t n = strcspn(path, ":");
        int len;
        if (strchr(name, '/'))
            len = snprintf(out, size, "%s", name);
        else
            len = snprintf(out, size, "%.*s%s%s", (int)n, path, n ? "/" : "./", name);
        struct stat st;
        if (len > 0 && (size_t)len < size && stat(out, &st) == 0 && S_ISREG(st.st_mode)) {
            if (access(out, X_OK) == 0) return 0;
            result = EACCES;
        }
        path += n;
        if (!*path) return result;
        path++;
    }
}

struct children *children_new(struct loop *loop) {
    struct children *all = calloc(1, sizeof *all);
    if (all) all->loop = loop;
    return all;
}

static void child_detach(struct child *c) {
    loop_watch_remove(&c->watch);
    loop_timer_stop(&c->timer);
    if (c->pidfd >= 0) close(c->pidfd);
    c->pidfd = -1;
}

static void child_exited(struct child *c) {
    if (c->exited) return;
    c->exited = true;
    loop_watch_remove(&c->watch);
    loop_timer_stop(&c->timer);
    if (c->given_up) {
        child_reap(c);
        child_free(c);
    } else if (c->on_exit) {
        c->on_exit(c);
    }
}

static void on_pidfd(struct loop_watch *watch, short revents) {
    (void)revents;
    child_exited(watch->data);
}

static bool is_zombie(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

static void on_poll(struct loop_timer *timer) {
    struct child *c = timer->data;
    if (is_zombie(c->pid))
        child_exited(c);
    else
        loop_timer_start(c->all->loop, timer, loop_now() + POLL_EVERY);
}

static void on_grace_over(struct loop_timer *timer) {
    struct child *c = timer->data;
    child_signal(c, SIGKILL);
    if (c->pidfd < 0) {
        timer->fire = on_poll;
        loop_timer_start(c->all->loop, timer, loop_now());
    }
}

struct child *child_follow(struct children *all, pid_t pid) {
    struct child *c = calloc(1, sizeof *c);
    bool ok = c != NULL;
    if (ok) {
        c->all = all;
        c->pid = pid;
        c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); // close-on-exec by definition
        c->watch = (struct loop_watch){.fd = c->pidfd, .events = POLLIN, .ready = on_pidfd, .data = c};
        c->timer = (struct loop_timer){.fire = on_poll, .data = c};
        if (c->pidfd >= 0)
            ok = loop_watch_add(all->loop, &c->watch);
        else
            ok = loop_timer_start(all->loop, &c->timer, loop_now());
    }
    if (!ok) {
        proc_forget(pid);
        if (c && c->pidfd >= 0) close(c->pidfd);
        free(c);
        return NULL;
    }
    c->next = all->first;
    if (all->first) all->first->prev = c;
    all->first = c;
    return c;
}

void child_signal(struct child *c, int signal) {
    if (!c->reaped) kill(-c->pid, signal);
}

void child_reap(struct child *c) {
    if (c->reaped) return;
    kill(-c->pid, SIGKILL); // the leader is a zombie or about to be one, so the number is still ours
    signals_group_remove(c->pid);
    while (wait4(c->pid, &c->status, 0, &c->usage) < 0 && errno == EINTR) {}
    c->reaped = true;
    child_detach(c);
}

void child_free(struct child *c) {
    if (!c) return;
    child_detach(c);
    if (c->prev)
        c->prev->next = c->next;
    else
        c->all->first = c->next;
    if (c->next) c->next->prev = c->prev;
    free(c);
}

void child_give_up(struct child *c, double grace) {
    c->on_exit = NULL;
    c->given_up = true;
    if (c->reaped) {
        child_free(c);
        return;
    }
    if (c->exited || grace <= 0) {
        child_reap(c);
        child_free(c);
        return;
    }
    child_signal(c, SIGTERM);
    child_signal(c, SIGCONT);
    c->timer.fire = on_grace_over;
    if (!loop_timer_start(c->all->loop, &c->timer, loop_now() + grace)) {
        child_reap(c);
        child_free(c);
    }
}

void children_kill_given_up(struct children *all) {
    for (struct child *c = all->first, *next; c; c = next) {
        next = c->next;
        if (!c->given_up) continue;
        child_reap(c);
        child_free(c);
    }
}

void children_kill_all(struct children *all) {
    for (struct child *c = all->first; c; c = c->next) child_signal(c, SIGKILL);
    while (all->first) {
        struct child *c = all->first;
        child_reap(c);
        child_free(c);
    }
}

void children_free(struct children *all) {
    if (!all) return;
    children_kill_all(all);
    free(all);
}
