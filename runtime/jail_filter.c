// SPDX-License-Identifier: MIT
#include "jail_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#define ARCH 0
#endif

// Numbers that older headers lack; from 424 on they are the same on every architecture.
enum {
    NR_PIDFD_SEND_SIGNAL = 424,
    NR_IO_URING_SETUP = 425,
    NR_IO_URING_ENTER = 426,
    NR_IO_URING_REGISTER = 427,
    NR_OPEN_TREE = 428,
    NR_MOVE_MOUNT = 429,
    NR_FSOPEN = 430,
    NR_FSCONFIG = 431,
    NR_FSMOUNT = 432,
    NR_FSPICK = 433,
    NR_PIDFD_OPEN = 434,
    NR_CLONE3 = 435,
    NR_OPENAT2 = 437,
    NR_PIDFD_GETFD = 438,
    NR_PROCESS_MADVISE = 440,
    NR_MOUNT_SETATTR = 442,
    NR_PROCESS_MRELEASE = 448,
    NR_FCHMODAT2 = 452,
    NR_SETXATTRAT = 463,
    NR_REMOVEXATTRAT = 466,
};

static const int denied_always[] = {
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_bpf, SYS_keyctl, SYS_add_key, SYS_request_key, SYS_mount, SYS_umount2,
    SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_perf_event_open, SYS_userfaultfd, SYS_init_module, SYS_finit_module,
    SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_syslog, SYS_open_by_handle_at,
    SYS_name_to_handle_at, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_sethostname, SYS_setdomainname, SYS_kcmp, SYS_vhangup,
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
    NR_PIDFD_SEND_SIGNAL, NR_IO_URING_SETUP, NR_IO_URING_ENTER, NR_IO_URING_REGISTER, NR_OPEN_TREE, NR_MOVE_MOUNT, NR_FSOPEN, NR_FSCONFIG,
    NR_FSMOUNT, NR_FSPICK, NR_PIDFD_GETFD, NR_PROCESS_MADVISE, NR_MOUNT_SETATTR, NR_PROCESS_MRELEASE,
};

// Changes that Landlock does not cover. A jail that may start programs is for tools people know (compilers, Python),
// which set modes and times of their own files; a worker never needs to.
static const int denied_modes[] = {
    SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr,
    SYS_lremovexattr, SYS_fremovexattr, NR_FCHMODAT2, NR_SETXATTRAT, NR_REMOVEXATTRAT,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
};

// socketpair stays: it reaches nobody else.
static const int denied_net[] = {SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_sendto, SYS_sendmmsg};

static void emit(struct jail_filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no) {
    if (f->count < JAIL_FILTER_MAX) f->code[f->count++] = (struct sock_filter){code, yes, no, k};
}

static void load(struct jail_filter *f, size_t offset) { emit(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0); }

static void give(struct jail_filter *f, uint32_t action) { emit(f, BPF_RET | BPF_K, action, 0, 0); }

static size_t arg_low(int n) { return offsetof(struct seccomp_data, args) + 8 * (size_t)n; } // little-endian machines

static void deny(struct jail_filter *f, int nr, int error) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1);
    give(f, SECCOMP_RET_ERRNO | (uint32_t)error);
}

// If the call is `nr`: refuse unless argument n has exactly this value. Ends with the call number loaded.
static void require_arg(struct jail_filter *f, int nr, int n, uint32_t value) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 4);
    load(f, arg_low(n));
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    give(f, SECCOMP_RET_ALLOW);
    give(f, SECCOMP_RET_ERRNO | EPERM);
}

// If the call is `nr`: refuse when (argument n & mask) == value.
static void refuse_flags(struct jail_filter *f, int nr, int n, uint32_t mask, uint32_t value) {
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 5);
    load(f, arg_low(n));
    emit(f, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    give(f, SECCOMP_RET_ERRNO | EPERM);
    give(f, SECCOMP_RET_ALLOW);
}

bool jail_filter_supported(void) {
    // A filter given as NULL is refused with EFAULT where filters exist.
    return ARCH && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == -1 && errno == EFAULT;
}

void jail_filter_build(struct jail_filter *f, const struct jail_filter_rules *rules) {
    f->count = 0;
    load(f, offsetof(struct seccomp_data, arch));
    emit(f, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    give(f, SECCOMP_RET_KILL_PROCESS);
    load(f, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    emit(f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); // x32 numbers would pass by the list
    give(f, SECCOMP_RET_KILL_PROCESS);
#endif
    for (size_t i = 0; i < sizeof denied_always / sizeof *denied_always; i++) deny(f, denied_always[i], EPERM);
    if (!rules->exec)
        for (size_t i = 0; i < sizeof denied_modes / sizeof *denied_modes; i++) deny(f, denied_modes[i], EPERM);
    deny(f, NR_CLONE3, ENOSYS); // its flags are behind a pointer; C libraries fall back to clone
    if (!rules->net) {
        for (size_t i = 0; i < sizeof denied_net / sizeof *denied_net; i++) deny(f, denied_net[i], EPERM);
        deny(f, SYS_socket, EPERM);
    }
    if (!rules->exec) {
        deny(f, SYS_execve, EPERM);
        deny(f, SYS_execveat, EPERM);
    }
    if (!rules->fork) {
        deny(f, NR_PIDFD_OPEN, EPERM);
#ifdef SYS_fork
        deny(f, SYS_fork, EPERM);
        deny(f, SYS_vfork, EPERM);
#endif
        refuse_flags(f, SYS_clone, 0, CLONE_THREAD, 0); // threads only
        // Signals to itself only (abort, raise). The identity is that of the process that enters the jail.
        uint32_t self = (uint32_t)getpid();
        require_arg(f, SYS_kill, 0, self);
        require_arg(f, SYS_tgkill, 0, self);
        deny(f, SYS_tkill, EPERM);
        deny(f, SYS_rt_sigqueueinfo, EPERM);
        deny(f, SYS_rt_tgsigqueueinfo, EPERM);
        deny(f, SYS_setpriority, EPERM);
        emit(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 5); // own limits only: pid 0 or self
        load(f, arg_low(0));
        emit(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
        emit(f, BPF_JMP | BPF_JEQ | BPF_K, self, 0, 1);
        give(f, SECCOMP_RET_ALLOW);
        give(f, SECCOMP_RET_ERRNO | EPERM);
    } else {
        // No new namespaces: inside one the file rules could be remounted away.
        uint32_t namespaces = CLONE_NEWUSER;
        emit(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
        load(f, arg_low(0));
        emit(f, BPF_JMP | BPF_JSET | BPF_K, namespaces, 0, 1);
        give(f, SECCOMP_RET_ERRNO | EPERM);
        give(f, SECCOMP_RET_ALLOW);
    }
    if (rules->old_truncate) {
        deny(f, SYS_truncate, EPERM);
        deny(f, NR_OPENAT2, ENOSYS); // flags behind a pointer
#ifdef SYS_open
        refuse_flags(f, SYS_open, 1, O_TRUNC | O_ACCMODE, O_TRUNC | O_RDONLY);
#endif
        refuse_flags(f, SYS_openat, 2, O_TRUNC | O_ACCMODE, O_TRUNC | O_RDONLY);
    }
    give(f, SECCOMP_RET_ALLOW);
}

int jail_filter_apply(const struct jail_filter *filter) {
    struct sock_fprog program = {.len = (unsigned short)filter->count, .filter = (struct sock_filter *)filter->code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0 ? 0 : errno;
}
