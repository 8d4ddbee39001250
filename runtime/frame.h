// SPDX-License-Identifier: MIT
// frame.h: messages over a stream socket between two processes of this program. A frame is a kind, bytes, and up to
// PACK_FDS descriptors. Bytes beyond 64 KiB travel in an anonymous file, so every frame fits the socket's buffer.
//
// The receiver trusts nothing: lengths are checked, an anonymous file is copied out with pread, descriptors that do not
// belong to a complete frame are closed. Failures are returned as errno values; EAGAIN means "not yet".
#ifndef NKILN_FRAME_H
#define NKILN_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "bytebuf.h"

enum { FRAME_FDS = 17, FRAME_QUEUE = 64 };

enum frame_kind {
    FRAME_START = 1, // host to worker: what to run
    FRAME_REPLY,     // host to worker: answer to FRAME_CALL
    FRAME_PROGRESS,  // worker to host
    FRAME_CALL,      // worker to host: a question
    FRAME_RESULT,    // worker to host: the end
};

struct frame_conn {
    int fd;
    struct bytebuf in;
    int fds[FRAME_QUEUE]; // received, not yet given to a frame
    int fd_count;
    bool end; // the other side closed
};

struct frame {
    uint32_t kind;
    char *data; // malloc, owned by the holder of the frame
    size_t len;
    int fds[FRAME_FDS]; // owned; -1 where taken
    int fd_count;
};

int frame_send(int fd, uint32_t kind, const void *data, size_t len, const int *fds, int fd_count, bool wait);
int frame_fill(struct frame_conn *conn, bool wait); // read what is there; 0 also at the end (conn->end)
// Take one complete frame out of what was read: 0, EAGAIN, or EPROTO / ENOMEM / EFBIG (bytes over `limit`).
int frame_next(struct frame_conn *conn, struct frame *frame, size_t limit);
void frame_free(struct frame *frame);
void frame_conn_close(struct frame_conn *conn);

#endif
