// SPDX-License-Identifier: MIT
#include "fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct fs_root fs_anywhere = {.fd = AT_FDCWD, .read = true, .write = true};

static const struct {
    int error;
    const char *code, *words;
} errors[] = {
    {ENOENT, "not_found", "no such file or folder"},
    {EACCES, "denied", "permission denied"},
    {EPERM, "denied", "not permitted"},
    {EISDIR, "is_directory", "is a folder"},
    {ENOTDIR, "not_directory", "a part of the path is not a folder"},
    {ENOTSUP, "not_a_file", "is not a regular file"},
    {EFBIG, "too_large", "too large"},
    {ENOSPC, "no_space", "no space left"},
    {EDQUOT, "no_space", "disk quota reached"},
    {EROFS, "read_only", "the file system is read-only"},
    {EEXIST, "exists", "already exists"},
    {EXDEV, "escape", "leads out of the granted folder"},
    {ELOOP, "loop", "too many symbolic links"},
    {ENAMETOOLONG, "name_too_long", "the name is too long"},
    {ENOTEMPTY, "not_empty", "the folder is not empty"},
    {EAGAIN, "locked", "in use by another run"},
    {EINVAL, "bad_path", "not a usable path"},
    {EMFILE, "too_many_open", "too many open files"},
    {ENFILE, "too_many_open", "too many open files"},
    {ENOMEM, "no_memory", "out of memory"},
};

const char *fs_code(int error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) return errors[i].code;
    return "io";
}

const char *fs_words(int error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error) return errors[i].words;
    return strerror(error);
}

int fs_root_open(struct fs_root *root, const char *path, bool read, bool write) {
    *root = (struct fs_root){.fd = -1, .confined = true, .read = read, .write = write};
    if (!realpath(path, root->path)) return errno;
    int fd = open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno;
    root->fd = fd;
    return 0;
}

void fs_root_close(struct fs_root *root) {
    if (root->confined && root->fd >= 0) close(root->fd);
    root->fd = -1;
}

// Resolving -----------------------------------------------------------------------------------------------------------

const char *fs_relative(const struct fs_root *root, const char *path) {
    if (path[0] != '/' || !root->confined) return path;
    size_t length = strcmp(root->path, "/") == 0 ? 0 : strlen(root->path);
    if (strncmp(path, root->path, length) != 0 || (path[length] != '/' && path[length] != 0)) return path;
    path += length;
    while (*path == '/') path++;
    return *path ? path : ".";
}

#define WALK_DEPTH 256
#define WALK_LINKS 40

// Resolve `path` beneath `root` component by component. Every folder on the way stays open on a stack, so that ".."
// cannot be fooled by a rename.
static int open_by_walk(const struct fs_root *root, const char *path, int flags, mode_t mode) {
    int stack[WALK_DEPTH], depth = 0, links = 0, result = -1, error = 0;
    char rest[PATH_MAX * 2], name[NAME_MAX + 1];
    if (path[0] == '/') return errno = EXDEV, -1;
    if (strlen(path) >= PATH_MAX) return errno = ENAMETOOLONG, -1;
    strcpy(rest, path);
    char *at = rest;
    for (;;) {
        int here = depth ? stack[depth - 1] : root->fd;
        while (*at == '/') at++;
        size_t length = strcspn(at, "/");
        const char *after = at + length;
        bool slash = *after == '/';
        while (*after == '/') after++;
        bool last = *after == 0;
        if (length > NAME_MAX) {
            error = ENAMETOOLONG;
            break;
        }
        memcpy(name, at, length);
        name[length] = 0;
        if (length == 0 || strcmp(name, ".") == 0) {
            if (last) {
                result = openat(here, ".", flags & ~(O_CREAT | O_EXCL), mode);
                error = errno;
                break;
            }
            at += after - at;
            continue;
        }
        if (strcmp(name, "..") == 0) {
            if (depth == 0) {
                error = EXDEV;
                break;
            }
            close(stack[--depth]);
            at += after - at;
            if (last) memcpy(at = rest, ".", 2);
            continue;
        }
        struct stat st;
        bool exists = fstatat(here, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
        if (exists && S_ISLNK(st.st_mode) && !(last && !slash && (flags & (O_NOFOLLOW | O_EXCL)))) {
            char target[PATH_MAX];
            ssize_t n = readlinkat(here, name, target, sizeof target - 1);
            if (n < 0) {
                error = errno;
                break;
            }
            target[n] = 0;
            if (++links > WALK_LINKS || target[0] == '/') {
                error = target[0] == '/' ? EXDEV : ELOOP;
                break;
            }
            char joined[PATH_MAX * 2];
            int wrote = snprintf(joined, sizeof joined, "%s%s%s", target, last && !slash ? "" : "/", after);
            if (wrote < 0 || (size_t)wrote >= sizeof joined) {
                error = ENAMETOOLONG;
                break;
            }
            memcpy(rest, joined, (size_t)wrote + 1);
            at = rest;
            continue;
        }
        if (last) {
            result = openat(here, name, flags | O_NOFOLLOW | (slash ? O_DIRECTORY : 0), mode);
            error = errno;
            break;
        }
        if (depth == WALK_DEPTH) {
            error = ENAMETOOLONG;
            break;
        }
        int next = openat(here, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0) {
            error = errno;
            break;
        }
        stack[depth++] = next;
        at += after - at;
    }
    while (depth) close(stack[--depth]);
    errno = error;
    return result;
}

int fs_open(const struct fs_root *root, const char *path, int flags, mode_t mode, int *error) {
    flags |= O_CLOEXEC;
    int fd;
    if (path[0] == 0) return *error = ENOENT, -1;
    path = fs_relative(root, path);
    if (!root->confined) fd = openat(AT_FDCWD, path, flags, mode);
    else if (root->walk) fd = open_by_walk(root, path, flags, mode);
    else {
        struct open_how how = {.flags = (uint64_t)(unsigned)flags, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
        if (flags & (O_CREAT | O_TMPFILE)) how.mode = mode;
        int tries = 0;
        do fd = (int)syscall(SYS_openat2, root->fd, path, &how, sizeof how);
        while (fd < 0 && (errno == EAGAIN || errno == EINTR) && ++tries < 100); // a folder was renamed meanwhile
        // Old kernels say ENOSYS; container filters say EPERM.
        if (fd < 0 && (errno == ENOSYS || errno == EPERM)) fd = open_by_walk(root, path, flags, mode);
    }
    if (fd < 0) *error = errno;
    return fd;
}

int fs_open_parent(const struct fs_root *root, const char *path, char base[256], int *error) {
    path = fs_relative(root, path);
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t start = end;
    while (start > 0 && path[start - 1] != '/') start--;
    size_t length = end - start;
    if (length == 0 || (length == 1 && path[start] == '.') || (length == 2 && path[start] == '.' && path[start + 1] == '.'))
        return *error = path[0] ? EINVAL : ENOENT, -1;
    if (length > NAME_MAX || start >= PATH_MAX) return *error = ENAMETOOLONG, -1;
    memcpy(base, path + start, length);
    base[length] = 0;
    char parent[PATH_MAX];
    memcpy(parent, path, start);
    parent[start] = 0;
    return fs_open(root, start ? parent : ".", O_PATH | O_DIRECTORY, 0, error);
}

// Looking -------------------------------------------------------------------------------------------------------------

int fs_open_read(const struct fs_root *root, const char *path, uint64_t limit, uint64_t *size, int *error) {
    if (!root->read) return *error = EACCES, -1;
    // O_NONBLOCK: a FIFO without a writer opens at once, and is then refused.
    int fd = fs_open(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, error);
    if (fd < 0) {
        if (*error == ENXIO || *error == ENODEV) *error = ENOTSUP; // socket, device without driver
        return -1;
    }
    struct stat st;
    int why = 0;
    if (fstat(fd, &st) != 0) why = errno;
    else if (S_ISDIR(st.st_mode)) why = EISDIR;
    else if (!S_ISREG(st.st_mode)) why = ENOTSUP;
    else if ((uint64_t)st.st_size > limit) why = EFBIG;
    if (why) {
        close(fd);
        return *error = why, -1;
    }
    *size = (uint64_t)st.st_size;
    return fd;
}

int fs_stat(const struct fs_root *root, const char *path, bool follow, struct stat *out) {
    int error = 0;
    if (!root->read) return EACCES;
    int fd = fs_open(root, path, O_PATH | (follow ? 0 : O_NOFOLLOW), 0, &error);
    if (fd < 0) return error;
    if (fstat(fd, out) != 0) error = errno;
    close(fd);
    return error;
}

int fs_realpath(const struct fs_root *root, const char *path, char out[4096]) {
    if (!root->confined) return realpath(path, out) ? 0 : errno;
    int error = 0;
    int fd = fs_open(root, path, O_PATH, 0, &error);
    if (fd < 0) return error;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, 4095);
    error = n < 0 ? errno : 0;
    close(fd);
    if (!error) out[n] = 0;
    return error;
}

static int add_entry(struct fs_list *list, const char *name, char type) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 32;
        struct fs_entry *grown = realloc(list->entries, capacity * sizeof *grown);
        if (!grown) return ENOMEM;
        list->entries = grown;
        list->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy) return ENOMEM;
    list->entries[list->count++] = (struct fs_entry){copy, type};
    return 0;
}

void fs_list_free(struct fs_list *list) {
    for (size_t i = 0; i < list->count; i++) free(list->entries[i].name);
    free(list->entries);
    *list = (struct fs_list){0};
}

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const struct fs_entry *)a)->name, ((const struct fs_entry *)b)->name);
}

static char type_letter(mode_t mode) { return S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : 'o'; }

int fs_list_folder(const struct fs_root *root, const char *path, struct fs_list *out) {
    int error = 0;
    if (!root->read) return EACCES;
    int fd = fs_open(root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, &error);
    if (fd < 0) return error;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        error = errno;
        close(fd);
        return error;
    }
    for (;;) {
        errno = 0;
        struct dirent *d = readdir(dir);
        if (!d) {
            error = errno;
            break;
        }
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0) continue;
        char type = d->d_type == DT_REG ? 'f' : d->d_type == DT_DIR ? 'd' : d->d_type == DT_LNK ? 'l' : 'o';
        struct stat st;
        if (d->d_type == DT_UNKNOWN && fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) type = type_letter(st.st_mode);
        error = add_entry(out, d->d_name, type);
        if (error) break;
    }
    closedir(dir);
    if (error) fs_list_free(out);
    else if (out->count) qsort(out->entries, out->count, sizeof *out->entries, compare_entries);
    return error;
}

#define GLOB_DEPTH 64

static int glob_from(const struct fs_root *root, const char *base, const char *pattern, struct fs_list *out, int depth) {
    char part[NAME_MAX + 1], path[PATH_MAX];
    size_t length = strcspn(pattern, "/");
    if (length > NAME_MAX || depth > GLOB_DEPTH) return ENAMETOOLONG;
    memcpy(part, pattern, length);
    part[length] = 0;
    const char *rest = pattern + length;
    while (*rest == '/') rest++;
    const char *joint = base[0] && base[strlen(base) - 1] != '/' ? "/" : "";
    bool any_depth = strcmp(part, "**") == 0;
    if (!strpbrk(part, "*?[")) { // a literal component: go on without reading the folder
        if ((size_t)snprintf(path, sizeof path, "%s%s%s", base, joint, part) >= sizeof path) return ENAMETOOLONG;
        if (*rest) return glob_from(root, path, rest, out, depth + 1);
        struct stat st;
        return fs_stat(root, path, false, &st) == 0 ? add_entry(out, path, type_letter(st.st_mode)) : 0;
    }
    int error = any_depth && *rest ? glob_from(root, base, rest, out, depth + 1) : 0;
    struct fs_list here = {0};
    if (error) return error;
    if (fs_list_folder(root, base[0] ? base : ".", &here) != 0) return 0; // not a folder, or not readable: no matches
    for (size_t i = 0; i < here.count && !error; i++) {
        const struct fs_entry *e = &here.entries[i];
        if (any_depth ? e->name[0] == '.' : fnmatch(part, e->name, FNM_PERIOD) != 0) continue;
        if ((size_t)snprintf(path, sizeof path, "%s%s%s", base, joint, e->name) >= sizeof path) error = ENAMETOOLONG;
        else if (any_depth) {
            if (!*rest) error = add_entry(out, path, e->type);
            if (!error && e->type == 'd') error = glob_from(root, path, pattern, out, depth + 1);
        } else if (!*rest) error = add_entry(out, path, e->type);
        else if (e->type != 'f') error = glob_from(root, path, rest, out, depth + 1);
    }
    fs_list_free(&here);
    return error;
}

int fs_glob(const struct fs_root *root, const char *pattern, struct fs_list *out) {
    if (!root->read) return EACCES;
    pattern = fs_relative(root, pattern);
    if (pattern[0] == '/' && root->confined) return EXDEV;
    const char *base = "";
    if (pattern[0] == '/') {
        base = "/";
        while (*pattern == '/') pattern++;
    }
    int error = glob_from(root, base, pattern, out, 0);
    if (error) fs_list_free(out);
    else if (out->count) qsort(out->entries, out->count, sizeof *out->entries, compare_entries);
    return error;
}
