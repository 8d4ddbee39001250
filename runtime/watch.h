// SPDX-License-Identifier: MIT
// watch.h: which of these files and folders changed. inotify says when to look; what changed is found by comparing
// what stat says, so truncate-and-write, atomic rename, replaced folders and swapped symbolic links all count once.
//
// Every folder on the way to a path is watched, and on the way of each symbolic link's target. Folders named as paths are
// watched with what is below them. Temporary files of editors do not count. Where inotify is exhausted, the files are
// looked at four times a second. A watcher belongs to its creator; `ready` is called from the loop, after a short
// quiet, when there is something to take. Functions return 0 or an errno.
#ifndef NKILN_WATCH_H
#define NKILN_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "loop.h"

struct watcher;

struct watcher *watcher_new(struct loop *loop, void (*ready)(void *data), void *data); // NULL: no memory
void watcher_free(struct watcher *watcher);
int watcher_add(struct watcher *watcher, const char *path); // relative paths are meant from the folder of now
// The paths changed since the last call, NULL-terminated in one malloc block; NULL when there is none.
char **watcher_take(struct watcher *watcher);
bool watcher_polling(const struct watcher *watcher);

#endif
