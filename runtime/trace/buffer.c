// SPDX-License-Identifier: MIT
#include "trace/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALWAYS_MEMORY = 4 << 10 };

static int nameless_file(const char *folder) {
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    char name[4096];
    snprintf(name, sizeof name, "%s/nkiln-XXXXXX", folder);
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) unlink(name);
    return fd;
}

static bool map_file(struct buffer *b, size_t size, const char *folder, struct trace_error *err) {
    int fd = nameless_file(folder);
    if (fd < 0) return trace_fail_errno(err, errno, "make a temporary file in", folder);
    int error = posix_fallocate(fd, 0, (off_t)size); // a hole would be a crash when the disk is full
    void *bytes = error ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!error && bytes == MAP_FAILED) error = errno;
    close(fd);
    if (error) return trace_fail_errno(err, error, "make a temporary file in", folder);
    *b = (struct buffer){.bytes = bytes, .room = size, .mapped = true};
    return true;
}

bool buffer_reserve(struct buffer *b, size_t size, struct buffer_budget *budget, struct trace_error *err) {
    if (b->bytes && b->room >= size && b->room / 4 <= size + ALWAYS_MEMORY) return true;
    buffer_free(b, budget);
    if (budget->used + size > budget->limit && size > ALWAYS_MEMORY)
        return map_file(b, size, budget->folder ? budget->folder : "/var/tmp", err);
    size_t room = size < 4096 ? 4096 : size;
    b->bytes = malloc(room);
    if (!b->bytes) return trace_fail(err, TRACE_NO_MEMORY, "out of memory");
    b->room = room;
    budget->used += room;
    return true;
}

void buffer_rest(struct buffer *b) {
    if (b->mapped) madvise(b->bytes, b->room, MADV_DONTNEED); // shared: the file keeps what was written
}

void buffer_free(struct buffer *b, struct buffer_budget *budget) {
    if (b->mapped) {
        munmap(b->bytes, b->room);
    } else if (b->bytes) {
        free(b->bytes);
        budget->used -= b->room;
    }
    *b = (struct buffer){0};
}
