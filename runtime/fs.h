// SPDX-License-Identifier: MIT
// fs.h: files beneath granted folders, atomic replacement, bounded reads. Plain C.
//
// A `struct fs_root` is a folder held open and the rights granted on it. Every path given with a root is resolved
// beneath it by the kernel (openat2, RESOLVE_BENEATH), or by a walk of our own where that call is missing: neither
// "..", nor an absolute path, nor a symbolic link leads out. fs_anywhere is the root of trusted code: no confinement.
// Who owns what: the caller closes descriptors it is given, fs_list_free()s lists, fs_root_close()s roots.
// What can fail: everything, for reasons of the world. A function returns 0, or an errno value; EXDEV means "leads out
// of the root", EFBIG "larger than the limit", ENOTSUP "not a regular file" and EACCES also "right not granted".
#ifndef NKILN_FS_H
#define NKILN_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct fs_root {
    int fd;       // AT_FDCWD for fs_anywhere
    bool confined;
    bool read, write;
    bool walk;    // resolve by our own walk (openat2 is missing, or a test asks)
    char path[4096]; // real path of the folder, "" for fs_anywhere
};

extern const struct fs_root fs_anywhere;

int fs_root_open(struct fs_root *root, const char *path, bool read, bool write);
void fs_root_close(struct fs_root *root); // twice is fine

// Names of error codes for scripts, and the words for a person.
const char *fs_code(int error);
const char *fs_words(int error);

// An absolute path that lies beneath the root by name, made relative to it. Any other path comes back as it is.
const char *fs_relative(const struct fs_root *root, const char *path);

// Open `path` with open(2) flags (O_CLOEXEC is added). -1: *error holds why.
int fs_open(const struct fs_root *root, const char *path, int flags, mode_t mode, int *error);

// Open the folder that holds `path`'s last component, and copy that component (never ".", ".." or empty).
int fs_open_parent(const struct fs_root *root, const char *path, char base[256], int *error);

// Open a regular file for reading: a folder, FIFO, device or socket is refused without blocking, and so is a file
// larger than `limit` bytes. *size is the size at this moment.
int fs_open_read(const struct fs_root *root, const char *path, uint64_t limit, uint64_t *size, int *error);

int fs_stat(const struct fs_root *root, const char *path, bool follow, struct stat *out);
int fs_realpath(const struct fs_root *root, const char *path, char out[4096]);

struct fs_entry {
    char *name;
    char type; // 'f' file, 'd' folder, 'l' symbolic link, 'o' other
};

struct fs_list {
    struct fs_entry *entries;
    size_t count, capacity;
};

int fs_list_folder(const struct fs_root *root, const char *path, struct fs_list *out); // sorted by bytes
// Paths beneath the root that match: * and ? inside a component, ** for any number of folders. Names that begin with a
// dot only match a pattern component that does. Symbolic links to folders are not descended by **.
int fs_glob(const struct fs_root *root, const char *pattern, struct fs_list *out);
void fs_list_free(struct fs_list *list);

// fs_write.c ---------------------------------------------------------------------------------------------------------

// Replace or create a file as one step: the bytes go to a nameless or temporary file in the same folder, are synced,
// then renamed. The mode (and, where permitted, the owner) of an existing file is kept. On failure nothing has changed.
int fs_write(const struct fs_root *root, const char *path, const void *bytes, size_t size);
// The same, the bytes coming in pieces: `next` gives the following one, valid until it is called again; an empty piece is
// the end. What it returns instead of 0 (an errno) ends the attempt.
typedef int fs_next_piece(void *context, const void **bytes, size_t *size);
int fs_write_pieces(const struct fs_root *root, const char *path, fs_next_piece *next, void *context);
// fs_write, and hand over what was replaced: *old is a descriptor of the file that had the name at that very moment, -1
// when there was none.
int fs_replace(const struct fs_root *root, const char *path, const void *bytes, size_t size, int *old);
// fs_write of a new file: EEXIST when the name is taken, also by somebody who was faster.
int fs_create(const struct fs_root *root, const char *path, const void *bytes, size_t size);
int fs_append(const struct fs_root *root, const char *path, const void *bytes, size_t size);
int fs_copy(const struct fs_root *root, const char *from, const char *to);
int fs_rename(const struct fs_root *root, const char *from, const char *to);
int fs_mkdir(const struct fs_root *root, const char *path, bool parents); // with parents an existing folder is success
int fs_remove(const struct fs_root *root, const char *path, bool recursive);

// Take a lock on a file (an exclusive one creates it) that ends with the descriptor. EAGAIN: held by someone else. The
// holder may remove the file before it lets go.
int fs_lock(const char *path, bool shared, int *error);

#endif
