// SPDX-License-Identifier: MIT
#include "frame.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pack.h"

enum { INLINE_MAX = 65536, BIG = 1u << 16 };

struct header {
    uint32_t kind; // BIG set: the bytes are in the first descriptor
    uint32_t fds;
    uint64_t len;
};

static int send_all(int fd, struct iovec *iov, size_t parts, const int *fds, int fd_count, bool wait) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * FRAME_FDS)];
    } control = {0};
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = parts};
    if (fd_count > 0) {
        message.msg_control = control.space;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)fd_count);
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)fd_count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)fd_count);
    }
    bool begun = false;
    while (message.msg_iovlen > 0) {
        ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN && (wait || begun)) { // a frame once begun is finished
            struct pollfd p = {.fd = fd, .events = POLLOUT};
            if (poll(&p, 1, wait ? -1 : 1000) == 0) return ETIMEDOUT;
            continue;
        }
        if (n < 0) return errno;
        begun = true;
        message.msg_control = NULL;
        message.msg_controllen = 0;
        while (n > 0 && message.msg_iovlen > 0) {
            size_t here = (size_t)n < message.msg_iov->iov_len ? (size_t)n : message.msg_iov->iov_len;
            message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + here;
            message.msg_iov->iov_len -= here;
            n -= (ssize_t)here;
            if (message.msg_iov->iov_len == 0) {
                message.msg_iov++;
                message.msg_iovlen--;
            }
        }
        while (message.msg_iovlen > 0 && message.msg_iov->iov_len == 0) {
            message.msg_iov++;
            message.msg_iovlen--;
        }
    }
    return 0;
}

int frame_send(int fd, uint32_t kind, const void *data, size_t len, const int *fds, int fd_count, bool wait) {
    if (fd_count > PACK_FDS) return EINVAL;
    struct header header = {.kind = kind, .fds = (uint32_t)fd_count, .len = len};
    struct iovec iov[2] = {{&header, sizeof header}, {(void *)data, len}};
    if (len <= INLINE_MAX) return send_all(fd, iov, len ? 2 : 1, fds, fd_count, wait);
    int all[FRAME_FDS];
    all[0] = pack_memfd(data, len);
    if (all[0] < 0) return errno;
    if (fd_count) memcpy(all + 1, fds, sizeof(int) * (size_t)fd_count);
    header.kind |= BIG;
    header.fds++;
    int error = send_all(fd, iov, 1, all, fd_count + 1, wait);
    close(all[0]);
    return error;
}

int frame_fill(struct frame_conn *conn, bool wait) {
    for (;;) {
        if (!bytebuf_reserve(&conn->in, INLINE_MAX)) return ENOMEM;
        union {
            struct cmsghdr header;
            char space[CMSG_SPACE(sizeof(int) * FRAME_FDS)];
        } control;
        struct iovec iov = {conn->in.data + conn->in.len, INLINE_MAX};
        struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof control.space};
        ssize_t n = recvmsg(conn->fd, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == ECONNRESET) n = 0;
        if (n < 0) return errno;
        bool lost = message.msg_flags & MSG_CTRUNC;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
            int count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            int fds[FRAME_FDS];
            memcpy(fds, CMSG_DATA(c), sizeof(int) * (size_t)count);
            for (int i = 0; i < count; i++) {
                if (conn->fd_count < FRAME_QUEUE)
                    conn->fds[conn->fd_count++] = fds[i];
                else {
                    close(fds[i]);
                    lost = true;
                }
            }
        }
        if (lost) return EPROTO;
        conn->in.len += (size_t)n;
        if (n == 0) conn->end = true;
        return 0;
    }
}

static int read_file(struct frame *frame, int fd, uint64_t len, size_t limit) {
    struct stat st;
    if (len > limit) return EFBIG;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != len) return EPROTO;
    frame->data = malloc(len ? len : 1);
    if (!frame->data) return ENOMEM;
    while (frame->len < len) {
        ssize_t n = pread(fd, frame->data + frame->len, len - frame->len, (off_t)frame->len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return EPROTO;
        frame->len += (size_t)n;
    }
    return 0;
}

int frame_next(struct frame_conn *conn, struct frame *frame, size_t limit) {
    *frame = (struct frame){0};
    struct header header;
    if (conn->in.len < sizeof header) return EAGAIN;
    memcpy(&header, conn->in.data, sizeof header);
    bool big = header.kind & BIG;
    if (header.fds > FRAME_FDS || (big && header.fds == 0) || (!big && header.len > INLINE_MAX)) return EPROTO;
    size_t total = sizeof header + (big ? 0 : (size_t)header.len);
    if (conn->in.len < total) return EAGAIN;
    if ((int)header.fds > conn->fd_count) return EPROTO;
    frame->kind = header.kind & ~(uint32_t)BIG;
    frame->fd_count = (int)header.fds;
    memcpy(frame->fds, conn->fds, sizeof(int) * header.fds);
    conn->fd_count -= (int)header.fds;
    memmove(conn->fds, conn->fds + header.fds, sizeof(int) * (size_t)conn->fd_count);
    int error = 0;
    if (big) {
        error = read_file(frame, frame->fds[0], header.len, limit);
        close(frame->fds[0]);
        frame->fd_count--;
        memmove(frame->fds, frame->fds + 1, sizeof(int) * (size_t)frame->fd_count);
    } else if (header.len > limit) {
        error = EFBIG;
    } else {
        frame->data = malloc(header.len ? header.len : 1);
        if (frame->data) {
            memcpy(frame->data, conn->in.data + sizeof header, header.len);
            frame->len = header.len;
        } else {
            error = ENOMEM;
        }
    }
    bytebuf_consume(&conn->in, total);
    if (error) frame_free(frame);
    return error;
}

void frame_free(struct frame *frame) {
    free(frame->data);
    for (int i = 0; i < frame->fd_count; i++)
        if (frame->fds[i] >= 0) close(frame->fds[i]);
    *frame = (struct frame){0};
}

void frame_conn_close(struct frame_conn *conn) {
    for (int i = 0; i < conn->fd_count; i++) close(conn->fds[i]);
    conn->fd_count = 0;
    if (conn->fd >= 0) close(conn->fd);
    conn->fd = -1;
    bytebuf_free(&conn->in);
}
