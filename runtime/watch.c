// SPDX-License-Identifier: MIT
#include "watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define QUIET 0.015      // seconds without an event before looking
#define QUIET_EMPTY 0.06 // a file just truncated is about to be written
#define LONGEST 0.1      // a stream of events does not delay looking further
#define POLL_EVERY 0.25
// A file looked at this soon after a change may change again without a new time, because clocks of file systems tick.
// Its content is remembered as well.
#define YOUNG 0.01

enum { LINKS_MAX = 40, DEPTH_MAX = 8, FILES_MAX = 20000, HASHED_MAX = 4 << 20 };

// What stat says about one path; all zero = not there.
struct signature {
    dev_t dev;
    ino_t ino;
    off_t size;
    mode_t mode;
    struct timespec mtime, ctime;
};

struct item {
    char *path;
    struct signature signature;
    bool young;    // looked at within YOUNG of its last change
    uint64_t hash; // of the content, when young
};

struct items {
    struct item *list;
    size_t count, cap;
};

struct folder {
    int wd;
    bool all;      // every name matters
    char **names;  // otherwise these
    size_t name_count;
    unsigned generation;
};

struct watcher {
    struct loop *loop;
    struct loop_watch events;
    struct loop_timer timer;
    void (*ready)(void *);
    void *data;
    char **paths;
    size_t path_count;
    struct folder *folders;
    size_t folder_count;
    unsigned generation;
    struct items known;
    char **changed; // waiting to be taken
    size_t changed_count;
    double first_event; // 0 = none pending
    bool polling, second_look;
};

static bool append(char ***list, size_t *count, const char *text) {
    char **grown = realloc(*list, (*count + 1) * sizeof *grown);
    if (!grown) return false;
    *list = grown;
    grown[*count] = strdup(text);
    if (!grown[*count]) return false;
    (*count)++;
    return true;
}

static void free_list(char **list, size_t count) {
    for (size_t i = 0; i < count; i++) free(list[i]);
    free(list);
}

static bool ends_with(const char *text, const char *tail) {
    size_t n = strlen(text), m = strlen(tail);
    return n >= m && strcmp(text + n - m, tail) == 0;
}

// Names that editors use for backups, locks and half-written files.
static bool is_temporary(const char *name) {
    static const char *const tails[] = {"~", ".swp", ".swo", ".swx", ".tmp", ".bak", ".orig", ".part", "___jb_tmp___", "___jb_old___"};
    static const char *const heads[] = {".#", "#", ".goutputstream-", ".~lock", ".nfs", ".sb-"};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
        if (ends_with(name, tails[i])) return true;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (strncmp(name, heads[i], strlen(heads[i])) == 0) return true;
    return strcmp(name, "4913") == 0; // vim tests with it whether a folder can be written
}

// Looking.

static struct signature signature_of(const char *path, bool *is_folder) {
    struct stat st;
    *is_folder = false;
    if (stat(path, &st) != 0) return (struct signature){0};
    *is_folder = S_ISDIR(st.st_mode);
    if (*is_folder) return (struct signature){.dev = st.st_dev, .ino = st.st_ino, .mode = st.st_mode};
    return (struct signature){.dev = st.st_dev, .ino = st.st_ino, .size = st.st_size, .mode = st.st_mode, .mtime = st.st_mtim, .ctime = st.st_ctim};
}

static bool same_signature(const struct signature *a, const struct signature *b) {
    // ctime is left out: a new hard link or mode is no new content.
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->mode == b->mode && a->mtime.tv_sec == b->mtime.tv_sec &&
           a->mtime.tv_nsec == b->mtime.tv_nsec;
}

static bool is_young(const struct signature *s) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double age = (double)(now.tv_sec - s->mtime.tv_sec) + 1e-9 * (double)(now.tv_nsec - s->mtime.tv_nsec);
    return s->mtime.tv_sec && age >= 0 && age < YOUNG;
}

// FNV-1a of the first HASHED_MAX bytes.
static uint64_t hash_of(const char *path) {
    uint64_t hash = 14695981039346656037u;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    unsigned char chunk[16384];
    ssize_t n;
    size_t total = 0;
    while (total < HASHED_MAX && (n = read(fd, chunk, sizeof chunk)) > 0) {
        for (ssize_t i = 0; i < n; i++) hash = (hash ^ chunk[i]) * 1099511628211u;
        total += (size_t)n;
    }
    close(fd);
    return hash;
}

static bool put(struct items *items, const char *path, const struct signature *signature) {
    if (items->count == items->cap) {
        size_t cap = items->cap ? items->cap * 2 : 32;
        struct item *list = realloc(items->list, cap * sizeof *list);
        if (!list) return false;
        items->list = list;
        items->cap = cap;
    }
    char *copy = strdup(path);
    if (!copy) return false;
    bool young = S_ISREG(signature->mode) && is_young(signature);
    items->list[items->count++] = (struct item){copy, *signature, young, young ? hash_of(path) : 0};
    return true;
}

static void free_items(struct items *items) {
    for (size_t i = 0; i < items->count; i++) free(items->list[i].path);
    free(items->list);
    *items = (struct items){0};
}

static bool scan(struct items *items, const char *path, int depth) {
    bool is_folder;
    struct signature signature = signature_of(path, &is_folder);
    if (!put(items, path, &signature)) return false;
    if (!is_folder || depth >= DEPTH_MAX) return true;
    DIR *dir = opendir(path);
    if (!dir) return true;
    bool ok = true;
    struct dirent *entry;
    while (ok && items->count < FILES_MAX && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        char below[PATH_MAX];
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".git") == 0 || is_temporary(name)) continue;
        if ((size_t)snprintf(below, sizeof below, "%s/%s", path, name) < sizeof below) ok = scan(items, below, depth + 1);
    }
    closedir(dir);
    return ok;
}

static int by_path(const void *a, const void *b) { return strcmp(((const struct item *)a)->path, ((const struct item *)b)->path); }

static bool scan_all(struct watcher *w, struct items *items) {
    for (size_t i = 0; i < w->path_count; i++)
        if (!scan(items, w->paths[i], 0)) return false;
    if (items->count) qsort(items->list, items->count, sizeof *items->list, by_path);
    return true;
}

// Waiting.

static struct folder *folder_of(struct watcher *w, int wd) {
    for (size_t i = 0; i < w->folder_count; i++)
        if (w->folders[i].wd == wd) return &w->folders[i];
    return NULL;
}

// Watch `name` in `folder` (NULL: every name).
static bool watch_name(struct watcher *w, const char *folder, const char *name, bool content) {
    uint32_t mask = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_MASK_ADD;
    if (content) mask |= IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB;
    if (w->polling) return true;
    int wd = inotify_add_watch(w->events.fd, *folder ? folder : "/", mask);
    if (wd < 0) {
        if (errno == ENOSPC || errno == ENOMEM) w->polling = true; // the user's limit of watches
        return true;
    }
    struct folder *f = folder_of(w, wd);
    if (!f) {
        struct folder *grown = realloc(w->folders, (w->folder_count + 1) * sizeof *grown);
        if (!grown) return false;
        w->folders = grown;
        f = &grown[w->folder_count++];
        *f = (struct folder){.wd = wd};
    }
    f->generation = w->generation;
    if (!name) {
        f->all = true;
        return true;
    }
    for (size_t i = 0; i < f->name_count; i++)
        if (strcmp(f->names[i], name) == 0) return true;
    return append(&f->names, &f->name_count, name);
}

// Watch every component of an absolute path, and of the targets of symbolic links on the way.
static bool watch_path(struct watcher *w, const char *path, int links) {
    char resolved[PATH_MAX] = "", rest[PATH_MAX];
    if (strlen(path) >= sizeof rest || links > LINKS_MAX) return true;
    strcpy(rest, path);
    char *p = rest;
    for (;;) {
        while (*p == '/') p++;
        if (!*p) return true;
        char *name = p;
        p += strcspn(p, "/");
        bool last = p[strspn(p, "/")] == 0;
        if (*p) *p++ = 0;
        if (strcmp(name, ".") == 0) continue;
        if (strcmp(name, "..") == 0) {
            char *slash = strrchr(resolved, '/');
            if (slash) *slash = 0;
            continue;
        }
        if (!watch_name(w, resolved, name, last)) return false;
        size_t n = strlen(resolved);
        if ((size_t)snprintf(resolved + n, sizeof resolved - n, "/%s", name) >= sizeof resolved - n) return true;
        struct stat st;
        if (lstat(resolved, &st) != 0) return true; // not there yet: its name is watched
        if (!S_ISLNK(st.st_mode)) continue;
        char target[PATH_MAX], joined[2 * PATH_MAX + 2];
        ssize_t len = readlink(resolved, target, sizeof target - 1);
        if (len <= 0) return true;
        target[len] = 0;
        resolved[n] = 0;
        snprintf(joined, sizeof joined, "%s/%s%s%s", target[0] == '/' ? "" : resolved, target, last ? "" : "/", last ? "" : p);
        return watch_path(w, joined, links + 1);
    }
}

static bool watch_below(struct watcher *w, const char *path, int depth) {
    struct stat st;
    if (depth > DEPTH_MAX || stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) return true;
    if (!watch_name(w, path, NULL, true)) return false;
    DIR *dir = opendir(path);
    if (!dir) return true;
    bool ok = true;
    struct dirent *entry;
    while (ok && (entry = readdir(dir))) {
        char below[PATH_MAX];
        if (entry->d_name[0] == '.' && (entry->d_name[1] == 0 || strcmp(entry->d_name, "..") == 0 || strcmp(entry->d_name, ".git") == 0)) continue;
        if (entry->d_type != DT_DIR && entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) continue;
        if ((size_t)snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= sizeof below) continue;
        if (entry->d_type == DT_LNK && !watch_path(w, below, 1)) ok = false;
        ok = ok && watch_below(w, below, depth + 1);
    }
    closedir(dir);
    return ok;
}

static void drop_folder(struct watcher *w, size_t i) {
    free_list(w->folders[i].names, w->folders[i].name_count);
    w->folders[i] = w->folders[--w->folder_count];
}

// Bring the watches in line with the folders and links of now.
static bool arm(struct watcher *w) {
    w->generation++;
    for (size_t i = 0; i < w->path_count; i++)
        if (!watch_path(w, w->paths[i], 0) || !watch_below(w, w->paths[i], 0)) return false;
    for (size_t i = 0; i < w->folder_count;) {
        if (w->folders[i].generation != w->generation) {
            inotify_rm_watch(w->events.fd, w->folders[i].wd);
            drop_folder(w, i);
        } else {
            i++;
        }
    }
    return true;
}

static bool note_change(struct watcher *w, const char *path) {
    for (size_t i = 0; i < w->changed_count; i++)
        if (strcmp(w->changed[i], path) == 0) return true;
    return append(&w->changed, &w->changed_count, path);
}

static bool is_empty_now(const struct signature *before, const struct signature *now) {
    return S_ISREG(now->mode) && now->size == 0 && before->size > 0;
}

// Compare with what is known. `patient`: come back once more when a file is empty all at once.
static bool look(struct watcher *w, bool after_event, bool patient, bool *again) {
    struct items now = {0};
    *again = false;
    if (!scan_all(w, &now)) {
        free_items(&now);
        return false;
    }
    size_t i = 0, j = 0;
    bool ok = true;
    if (patient)
        for (; i < now.count && !*again; i++) {
            struct item *before = w->known.count ? bsearch(&now.list[i], w->known.list, w->known.count, sizeof now.list[0], by_path) : NULL;
            if (before && is_empty_now(&before->signature, &now.list[i].signature)) *again = true;
        }
    if (*again) {
        free_items(&now);
        return true;
    }
    i = 0;
    while (ok && (i < w->known.count || j < now.count)) {
        struct item *a = i < w->known.count ? &w->known.list[i] : NULL, *b = j < now.count ? &now.list[j] : NULL;
        int order = !a ? 1 : !b ? -1 : strcmp(a->path, b->path);
        if (order == 0) {
            if (!same_signature(&a->signature, &b->signature) || (after_event && a->young && a->hash != hash_of(b->path)))
                ok = note_change(w, b->path);
            i++;
            j++;
        } else if (order < 0) {
            ok = note_change(w, a->path);
            i++;
        } else {
            ok = note_change(w, b->path);
            j++;
        }
    }
    free_items(&w->known);
    w->known = now;
    return ok;
}

static void on_timer(struct loop_timer *timer) {
    struct watcher *w = timer->data;
    bool after_event = w->first_event > 0, again = false;
    w->first_event = 0;
    bool ok = arm(w) && look(w, after_event, after_event && !w->second_look, &again);
    if (ok && again) { // empty: give the writer a moment, then take it as it is
        w->second_look = true;
        w->first_event = loop_now();
        loop_timer_start(w->loop, &w->timer, loop_now() + QUIET_EMPTY);
        return;
    }
    w->second_look = false;
    if (w->polling) loop_timer_start(w->loop, &w->timer, loop_now() + POLL_EVERY);
    if (w->changed_count) w->ready(w->data);
}

static void schedule(struct watcher *w) {
    double now = loop_now(), when = now + QUIET;
    if (w->first_event <= 0) w->first_event = now;
    if (when > w->first_event + LONGEST) when = w->first_event + LONGEST;
    if (w->second_look) return; // a look is due already
    loop_timer_start(w->loop, &w->timer, when);
}

static void on_events(struct loop_watch *watch, short revents) {
    struct watcher *w = watch->data;
    (void)revents;
    _Alignas(struct inotify_event) char buffer[16384];
    bool matters = false;
    ssize_t n;
    while ((n = read(watch->fd, buffer, sizeof buffer)) > 0)
        for (char *p = buffer; p < buffer + n;) {
            struct inotify_event *event = (struct inotify_event *)p;
            p += sizeof *event + event->len;
            struct folder *f = folder_of(w, event->wd);
            if (event->mask & (IN_Q_OVERFLOW | IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) {
                matters = true;
                if (f && (event->mask & IN_IGNORED)) drop_folder(w, (size_t)(f - w->folders));
                continue;
            }
            if (!f || !event->len) continue;
            bool named = false;
            for (size_t i = 0; i < f->name_count && !named; i++) named = strcmp(f->names[i], event->name) == 0;
            if (named || (f->all && !is_temporary(event->name))) matters = true;
        }
    if (matters) schedule(w);
}

struct watcher *watcher_new(struct loop *loop, void (*ready)(void *data), void *data) {
    struct watcher *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->loop = loop;
    w->ready = ready;
    w->data = data;
    w->timer = (struct loop_timer){.fire = on_timer, .data = w};
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    w->events = (struct loop_watch){.fd = fd, .events = POLLIN, .ready = on_events, .data = w};
    if (fd < 0) {
        w->polling = true; // the user's limit of instances
    } else if (!loop_watch_add(loop, &w->events)) {
        watcher_free(w);
        return NULL;
    }
    return w;
}

void watcher_free(struct watcher *w) {
    if (!w) return;
    loop_watch_remove(&w->events);
    loop_timer_stop(&w->timer);
    if (w->events.fd >= 0) close(w->events.fd);
    while (w->folder_count) drop_folder(w, w->folder_count - 1);
    free(w->folders);
    free_list(w->paths, w->path_count);
    free_list(w->changed, w->changed_count);
    free_items(&w->known);
    free(w);
}

int watcher_add(struct watcher *w, const char *path) {
    char absolute[2 * PATH_MAX + 2], here[PATH_MAX];
    if (!*path || strlen(path) >= PATH_MAX) return ENAMETOOLONG;
    if (path[0] == '/') {
        snprintf(absolute, sizeof absolute, "%s", path);
    } else {
        if (!getcwd(here, sizeof here)) return errno;
        snprintf(absolute, sizeof absolute, "%s/%s", strcmp(here, "/") ? here : "", path);
    }
    size_t n = strlen(absolute);
    while (n > 1 && absolute[n - 1] == '/') absolute[--n] = 0;
    if (!append(&w->paths, &w->path_count, absolute)) return ENOMEM;
    // First watch, then look: a change in between is seen.
    if (!arm(w)) return ENOMEM;
    struct items now = {0};
    if (!scan_all(w, &now)) {
        free_items(&now);
        return ENOMEM;
    }
    free_items(&w->known);
    w->known = now;
    if (w->polling && !w->timer.loop && !loop_timer_start(w->loop, &w->timer, loop_now() + POLL_EVERY)) return ENOMEM;
    return 0;
}

char **watcher_take(struct watcher *w) {
    if (!w->changed_count) return NULL;
    size_t bytes = (w->changed_count + 1) * sizeof(char *);
    for (size_t i = 0; i < w->changed_count; i++) bytes += strlen(w->changed[i]) + 1;
    char **out = malloc(bytes);
    if (!out) return NULL;
    char *text = (char *)(out + w->changed_count + 1);
    for (size_t i = 0; i < w->changed_count; i++) {
        out[i] = text;
        text = stpcpy(text, w->changed[i]) + 1;
    }
    out[w->changed_count] = NULL;
    free_list(w->changed, w->changed_count);
    w->changed = NULL;
    w->changed_count = 0;
    return out;
}

bool watcher_polling(const struct watcher *w) { return w->polling; }
