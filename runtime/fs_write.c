// SPDX-License-Identifier: MIT
// fs_write.c: the half of fs.h that changes files.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "fs.h"

static int write_all(int fd, const char *bytes, size_t size) {
    while (size) {
        ssize_t n = write(fd, bytes, size < (1u << 30) ? size : 1u << 30);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

// A file being written beside the one it will replace.
struct draft {
    int folder, fd;
    bool named; // `temp` exists in the folder
    bool fresh; // replaces nothing
    char base[256], temp[64];
};

static void draft_name(struct draft *d) {
    static atomic_uint counter;
    snprintf(d->temp, sizeof d->temp, ".nkiln-%ld-%u.tmp", (long)getpid(), atomic_fetch_add(&counter, 1));
}

static void draft_close(struct draft *d) {
    if (d->named) unlinkat(d->folder, d->temp, 0);
    if (d->fd >= 0) close(d->fd);
    if (d->folder >= 0) close(d->folder);
    *d = (struct draft){.folder = -1, .fd = -1};
}

// Find the folder and name that `path` finally means: a symbolic link to a file is followed, so that the file is
// replaced and the link stays.
static int draft_locate(struct draft *d, const struct fs_root *root, const char *path) {
    char now[PATH_MAX];
    if (strlen(path) >= sizeof now) return ENAMETOOLONG;
    strcpy(now, path);
    for (int links = 0; links < 40; links++) {
        int error = 0;
        d->folder = fs_open_parent(root, now, d->base, &error);
        if (d->folder < 0) return error;
        char target[PATH_MAX];
        ssize_t n = readlinkat(d->folder, d->base, target, sizeof target - 1);
        if (n < 0) return now[strlen(now) - 1] == '/' ? EISDIR : 0;
        target[n] = 0;
        close(d->folder);
        d->folder = -1;
        if (target[0] != '/') {
            const char *slash = strrchr(now, '/');
            size_t keep = slash ? (size_t)(slash - now) + 1 : 0;
            if (keep + (size_t)n >= sizeof now) return ENAMETOOLONG;
            memcpy(now + keep, target, (size_t)n + 1);
        } else {
            if (root->confined) return EXDEV;
            memcpy(now, target, (size_t)n + 1);
        }
    }
    return ELOOP;
}

static int draft_open(struct draft *d, const struct fs_root *root, const char *path) {
    *d = (struct draft){.folder = -1, .fd = -1};
    if (!root->write) return EACCES;
    if (!path[0]) return ENOENT;
    int error = draft_locate(d, root, path);
    if (error) return error;
    struct stat old;
    bool exists = fstatat(d->folder, d->base, &old, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && S_ISDIR(old.st_mode)) return EISDIR;
    if (exists && !S_ISREG(old.st_mode)) return ENOTSUP;
    // A rename needs no right on the file it replaces; a file marked read-only is still respected.
    if (exists && faccessat(d->folder, d->base, W_OK, AT_EACCESS) != 0) return errno;
    mode_t mode = exists ? old.st_mode & 0777 : 0666;
    d->fd = openat(d->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
    if (d->fd < 0) {
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL) return errno;
        for (int tries = 0; tries < 100; tries++) {
            draft_name(d);
            d->fd = openat(d->folder, d->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
            if (d->fd >= 0 || errno != EEXIST) break;
        }
        if (d->fd < 0) return errno;
        d->named = true;
    }
    if (exists) {
        if ((old.st_uid != geteuid() || old.st_gid != getegid()) && fchown(d->fd, old.st_uid, old.st_gid) != 0)
            errno = 0; // the owner changes to us; only root could keep it
        // A confined worker may not change modes: it keeps what the umask left of the old one.
        struct stat new;
        if (fstat(d->fd, &new) != 0) return errno;
        if ((new.st_mode & 07777) != (old.st_mode & 07777) && fchmod(d->fd, old.st_mode & 07777) != 0 && errno != EPERM) return errno;
    }
    return 0;
}

// Put the draft in place of the file of that name; with `old`, take hold of that file.
static int draft_rename(struct draft *d, int *old) {
    if (old) {
        *old = openat(d->folder, d->base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (renameat2(d->folder, d->temp, d->folder, d->base, RENAME_EXCHANGE) == 0) {
            int exact = openat(d->folder, d->temp, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
            if (exact >= 0 && *old >= 0) close(*old);
            if (exact >= 0) *old = exact;
            return 0; // draft_close removes the old file, which has the temporary name now
        }
        if (errno != EINVAL && errno != ENOSYS && errno != ENOENT) return errno;
    }
    if (d->fresh) return linkat(d->folder, d->temp, d->folder, d->base, 0) == 0 ? 0 : errno; // draft_close removes the other name
    if (renameat(d->folder, d->temp, d->folder, d->base) != 0) return errno;
    d->named = false;
    return 0;
}

// Give the finished draft its name.
static int draft_commit(struct draft *d, int *old) {
    if (fsync(d->fd) != 0 && errno != EINVAL && errno != EROFS) return errno;
    if (!d->named) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", d->fd);
        // A new file gets its final name in one step; an existing one is replaced through a short-lived second name.
        if (linkat(AT_FDCWD, link, d->folder, d->base, AT_SYMLINK_FOLLOW) == 0) goto done;
        if (errno != EEXIST || d->fresh) return errno;
        for (int tries = 0; tries < 100 && !d->named; tries++) {
            draft_name(d);
            d->named = linkat(AT_FDCWD, link, d->folder, d->temp, AT_SYMLINK_FOLLOW) == 0;
            if (!d->named && errno != EEXIST) return errno;
        }
        if (!d->named) return EEXIST;
    }
    int error = draft_rename(d, old);
    if (error) return error;
done:;
    int folder = openat(d->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); // `folder` is O_PATH, which cannot sync
    if (folder >= 0) {
        (void)fsync(folder);
        close(folder);
    }
    return 0;
}

int fs_create(const struct fs_root *root, const char *path, const void *bytes, size_t size) {
    struct draft d;
    int error = draft_open(&d, root, path);
    d.fresh = true;
    if (!error) error = write_all(d.fd, bytes, size);
    if (!error) error = draft_commit(&d, NULL);
    draft_close(&d);
    return error;
}

static int write_whole(const struct fs_root *root, const char *path, const void *bytes, size_t size, int *old) {
    struct draft d;
    int error = draft_open(&d, root, path);
    if (!error) error = write_all(d.fd, bytes, size);
    if (!error) error = draft_commit(&d, old);
    draft_close(&d);
    return error;
}

int fs_write(const struct fs_root *root, const char *path, const void *bytes, size_t size) {
    return write_whole(root, path, bytes, size, NULL);
}

int fs_write_pieces(const struct fs_root *root, const char *path, fs_next_piece *next, void *context) {
    struct draft d;
    int error = draft_open(&d, root, path);
    while (!error) {
        const void *bytes;
        size_t size;
        error = next(context, &bytes, &size);
        if (error || size == 0) break;
        error = write_all(d.fd, bytes, size);
    }
    if (!error) error = draft_commit(&d, NULL);
    draft_close(&d);
    return error;
}

int fs_replace(const struct fs_root *root, const char *path, const void *bytes, size_t size, int *old) {
    *old = -1;
    int error = write_whole(root, path, bytes, size, old);
    if (error && *old >= 0) {
        close(*old);
        *old = -1;
    }
    return error;
}

int fs_copy(const struct fs_root *root, const char *from, const char *to) {
    int error = 0;
    uint64_t size;
    int source = fs_open_read(root, from, UINT64_MAX, &size, &error);
    if (source < 0) return error;
    struct draft d;
    error = draft_open(&d, root, to);
    while (!error) {
        char chunk[65536];
        ssize_t n = read(source, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) error = errno;
        if (n <= 0) break;
        error = write_all(d.fd, chunk, (size_t)n);
    }
    if (!error) error = draft_commit(&d, NULL);
    draft_close(&d);
    close(source);
    return error;
}

int fs_append(const struct fs_root *root, const char *path, const void *bytes, size_t size) {
    int error = 0;
    if (!root->write) return EACCES;
    int fd = fs_open(root, path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY, 0666, &error);
    if (fd < 0) return error == ENXIO ? ENOTSUP : error;
    struct stat st;
    if (fstat(fd, &st) != 0) error = errno;
    else if (!S_ISREG(st.st_mode)) error = ENOTSUP;
    else {
        error = write_all(fd, bytes, size);
        if (error && ftruncate(fd, st.st_size) != 0) error = EIO; // half a line is left; say that it went wrong
    }
    close(fd);
    return error;
}

int fs_rename(const struct fs_root *root, const char *from, const char *to) {
    char from_base[256], to_base[256];
    int error = 0;
    if (!root->write) return EACCES;
    int from_folder = fs_open_parent(root, from, from_base, &error);
    if (from_folder < 0) return error;
    int to_folder = fs_open_parent(root, to, to_base, &error);
    if (to_folder >= 0) {
        if (renameat(from_folder, from_base, to_folder, to_base) != 0) error = errno == EXDEV ? EIO : errno;
        close(to_folder);
    }
    close(from_folder);
    return error;
}

static int make_one(const struct fs_root *root, const char *path) {
    char base[256];
    int error = 0;
    int folder = fs_open_parent(root, path, base, &error);
    if (folder < 0) return error;
    if (mkdirat(folder, base, 0777) != 0) error = errno;
    close(folder);
    return error;
}

static bool is_folder(const struct fs_root *root, const char *path) {
    int error = 0;
    int fd = fs_open(root, path, O_PATH | O_DIRECTORY, 0, &error);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

int fs_mkdir(const struct fs_root *root, const char *path, bool parents) {
    if (!root->write) return EACCES;
    path = fs_relative(root, path);
    if (!parents) return make_one(root, path);
    if (is_folder(root, path)) return 0;
    char prefix[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0) return ENOENT;
    if (length >= sizeof prefix) return ENAMETOOLONG;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != 0) continue;
        if (path[i - 1] == '/') continue;
        memcpy(prefix, path, i);
        prefix[i] = 0;
        if (is_folder(root, prefix)) continue;
        int error = make_one(root, prefix);
        if (error && !(error == EEXIST && is_folder(root, prefix))) return error == EEXIST && i < length ? ENOTDIR : error;
    }
    return 0;
}

static int remove_tree(int folder, const char *name, int depth) {
    if (unlinkat(folder, name, 0) == 0) return 0;
    if (errno != EISDIR && errno != EPERM) return errno;
    if (depth > 200) return ENAMETOOLONG;
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno == ENOTDIR ? EPERM : errno;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        int error = errno;
        close(fd);
        return error;
    }
    int error = 0;
    for (struct dirent *d; !error && (d = readdir(dir));)
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) error = remove_tree(fd, d->d_name, depth + 1);
    closedir(dir);
    if (!error && unlinkat(folder, name, AT_REMOVEDIR) != 0) error = errno;
    return error;
}

int fs_remove(const struct fs_root *root, const char *path, bool recursive) {
    char base[256];
    int error = 0;
    if (!root->write) return EACCES;
    int folder = fs_open_parent(root, path, base, &error);
    if (folder < 0) return error;
    if (recursive) error = remove_tree(folder, base, 0);
    else if (unlinkat(folder, base, 0) != 0) {
        error = errno;
        if (error == EISDIR || error == EPERM) error = unlinkat(folder, base, AT_REMOVEDIR) == 0 ? 0 : errno == ENOTDIR ? error : errno;
    }
    close(folder);
    return error;
}

int fs_lock(const char *path, bool shared, int *error) {
    for (int tries = 0; tries < 100; tries++) {
        // A shared lock needs no right to write, and makes no file.
        int flags = (shared ? O_RDONLY : O_RDWR | O_CREAT) | O_NOCTTY | O_NONBLOCK, result;
        int fd = fs_open(&fs_anywhere, path, flags, 0666, error);
        if (fd < 0) return -1;
        do result = flock(fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
        while (result != 0 && errno == EINTR);
        struct stat held, named;
        if (result != 0) *error = errno == EWOULDBLOCK ? EAGAIN : errno;
        else if (fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino && held.st_dev == named.st_dev) return fd;
        close(fd);
        if (result != 0) return -1;
        // The holder before us removed the file between our open and our lock: the lock is on a file nobody can find.
    }
    *error = EAGAIN;
    return -1;
}
