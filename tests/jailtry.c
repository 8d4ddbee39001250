// SPDX-License-Identifier: MIT
// jailtry.c: enter a worker's jail and try every way out, one line each: "name errno" (0 = it worked). The test host runs
// it as "--jail-try READ WRITE OUTSIDE", three folders; tests/unit/jail_test.lua judges the lines.
#include "jailtry.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "jail.h"

static void say(const char *name, long result) {
    int error = result < 0 ? errno : 0;
    dprintf(1, "%s %d\n", name, error);
}

static int open_close(const char *folder, const char *name, int flags) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, flags, 0600);
    if (fd >= 0) close(fd);
    return fd;
}

static char *join(char *out, const char *folder, const char *name) {
    snprintf(out, 4096, "%s/%s", folder, name);
    return out;
}

static void *nothing(void *x) { return x; }

int jail_try(const char *read_root, const char *write_root, const char *outside) {
    const char *const read[] = {read_root, NULL}, *const write[] = {write_root, NULL};
    struct jail_spec spec = {.read = read, .write = write};
    int held = open("/dev/null", O_RDONLY); // open before, used after
    char a[4096], b[4096];
    struct jail *jail = jail_prepare(&spec);
    int error = jail ? jail_enter(jail) : errno;
    if (error) {
        printf("enter %d\n", error);
        return 1;
    }
    int abi;
    unsigned layers = jail_layers(jail);
    jail_probe(false, &abi);
    dprintf(1, "landlock %d\nseccomp %d\n", layers & JAIL_LANDLOCK ? abi : 0, layers & JAIL_SECCOMP ? 1 : 0);
    // Files.
    say("read-inside", open_close(read_root, "file", O_RDONLY));
    say("write-inside", open_close(write_root, "new", O_WRONLY | O_CREAT));
    say("append-inside", open_close(write_root, "file", O_WRONLY | O_APPEND));
    say("mkdir-inside", mkdir(join(a, write_root, "folder"), 0700));
    say("rename-inside", rename(join(a, write_root, "new"), join(b, write_root, "new2")));
    say("unlink-inside", unlink(join(a, write_root, "new2")));
    say("write-in-read-root", open_close(read_root, "file", O_WRONLY));
    say("create-in-read-root", open_close(read_root, "new", O_WRONLY | O_CREAT));
    say("truncate-open-in-read-root", open_close(read_root, "file", O_RDONLY | O_TRUNC));
    say("truncate-in-read-root", truncate(join(a, read_root, "file"), 0));
    say("unlink-in-read-root", unlink(join(a, read_root, "file")));
    say("read-outside", open_close(outside, "file", O_RDONLY));
    say("write-outside", open_close(outside, "new", O_WRONLY | O_CREAT));
    say("truncate-outside", truncate(join(a, outside, "file"), 0));
    say("list-outside", open(outside, O_RDONLY | O_DIRECTORY));
    say("read-through-dotdot", open_close(read_root, "../outside/file", O_RDONLY));
    say("read-through-link", open_close(write_root, "link-out", O_RDONLY));
    say("hard-link-in", link(join(a, outside, "file"), join(b, write_root, "stolen")));
    say("rename-in", rename(join(a, outside, "file"), join(b, write_root, "stolen")));
    say("rename-out", rename(join(a, write_root, "file"), join(b, outside, "file2")));
    say("mknod", mknod(join(a, write_root, "device"), S_IFBLK | 0600, 0x0801));
    say("chmod", chmod(join(a, outside, "file"), 0777));
    say("chmod-inside", chmod(join(a, write_root, "file"), 0777));
    say("fchmod", fchmod(held, 0777));
    say("chown", chown(join(a, outside, "file"), getuid(), getgid()));
    say("utimes", utimensat(AT_FDCWD, join(a, outside, "file"), NULL, 0));
    say("setxattr", setxattr(join(a, outside, "file"), "user.x", "1", 1, 0));
    say("etc-passwd", open_close("/etc", "passwd", O_RDONLY));
    say("parent-memory", open_close("/proc/1", "environ", O_RDONLY));
    say("dev-null", open_close("/dev", "null", O_WRONLY));
    // Processes.
    char *const argv[] = {"/bin/true", NULL};
    say("fork", fork());
    say("vfork", syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0));
    say("clone3", syscall(435, NULL, 0));
    say("clone-new-user", syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    say("execve", execve("/bin/true", argv, NULL));
    say("execveat", syscall(SYS_execveat, AT_FDCWD, "/bin/true", argv, NULL, 0));
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, nothing, NULL);
    if (!failed) pthread_join(thread, NULL);
    errno = failed;
    say("thread", failed ? -1 : 0);
    say("kill-parent", kill(getppid(), 0));
    say("kill-everyone", kill(-1, 0));
    say("kill-self", kill(getpid(), 0));
    say("tgkill-parent", syscall(SYS_tgkill, getppid(), getppid(), 0));
    say("tkill-parent", syscall(SYS_tkill, getppid(), 0));
    siginfo_t info = {.si_code = SI_QUEUE};
    say("queue-signal-to-parent", syscall(SYS_rt_sigqueueinfo, getppid(), SIGCONT, &info));
    say("pidfd-signal", syscall(424, held, SIGCONT, NULL, 0));
    say("pidfd-open", syscall(434, getppid(), 0));
    say("ptrace", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
    say("read-memory", syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
    struct rlimit limit = {1000, 1000};
    say("limit-of-parent", syscall(SYS_prlimit64, getppid(), RLIMIT_NOFILE, &limit, NULL));
    say("limit-of-self", syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit));
    say("nice-of-parent", setpriority(PRIO_PROCESS, (id_t)getppid(), 19));
    // Network.
    say("socket-inet", socket(AF_INET, SOCK_STREAM, 0));
    say("socket-inet6", socket(AF_INET6, SOCK_DGRAM, 0));
    say("socket-netlink", socket(AF_NETLINK, SOCK_RAW, 0));
    say("socket-unix", socket(AF_UNIX, SOCK_STREAM, 0));
    say("socket-vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
    int pair[2] = {-1, -1};
    say("socketpair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/run/docker.sock"};
    say("connect", connect(pair[0], (struct sockaddr *)&address, sizeof address));
    say("bind", bind(pair[0], (struct sockaddr *)&address, sizeof address));
    say("sendto", sendto(pair[0], "x", 1, 0, (struct sockaddr *)&address, sizeof address));
    // The kernel.
    say("unshare", unshare(CLONE_NEWUSER));
    say("setns", setns(held, 0));
    say("mount", mount("none", write_root, "tmpfs", 0, NULL));
    say("chroot", chroot(write_root));
    say("io-uring", syscall(425, 1, NULL));
    say("bpf", syscall(SYS_bpf, 0, NULL, 0));
    say("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
    say("perf", syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0));
    say("userfaultfd", syscall(SYS_userfaultfd, 0));
    say("handle", syscall(SYS_open_by_handle_at, 0, NULL, 0));
    say("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
    _exit(0); // a leak checker cannot work in here
}
