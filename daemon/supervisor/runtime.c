/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime directory; the interface is in runtime.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/closer.h"
#include "daemon/supervisor/runtime.h"

static int __attribute__((format(printf, 3, 4)))
runtime_fail(char *text, int error, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, RUNTIME_TEXT_MAX, format, args);
    va_end(args);
    return error;
}

/* Ours, root's, or his who owns everything here: in a namespace that may be neither. */
static bool runtime_is_trusted(uid_t owner)
{
    struct stat root;

    return owner == geteuid() || owner == 0 || (stat("/", &root) == 0 && owner == root.st_uid);
}

/* runtime.N1, one directory above. */
static int runtime_check_parent(const char *parent, const char *dir, char *text)
{
    struct stat st;

    if (stat(parent, &st) < 0)
        return runtime_fail(text, -errno, "%.200s: %s", parent, strerror(errno));
    if (!runtime_is_trusted(st.st_uid))
        return runtime_fail(text, -EPERM,
                            "runtime directory %.160s: it lies in %.160s, which belongs to user "
                            "%u, who could put another in its place; give another --runtime-dir",
                            dir, parent, st.st_uid);
    if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
        return runtime_fail(text, -EPERM,
                            "runtime directory %.160s: it lies in %.160s, where everybody may "
                            "write (mode %04o) and could put another in its place; give another "
                            "--runtime-dir",
                            dir, parent, st.st_mode & 07777);
    return 0;
}

/* runtime.N1.  `dir`: its real path, so that no link is on the way. */
static int runtime_check_parents(const char *dir, char *text)
{
    char parent[PATH_MAX], *slash;
    int r = 0;

    snprintf(parent, sizeof(parent), "%s", dir);
    while (r == 0 && (slash = strrchr(parent, '/')) != NULL) {
        *slash = '\0';
        r = runtime_check_parent(parent[0] ? parent : "/", dir, text);
    }
    return r;
}

/* Whose it is, before anything in it is touched. */
static int runtime_check_owner(const char *dir, char *text)
{
    struct stat st, link;

    if (lstat(dir, &link) < 0 || stat(dir, &st) < 0)
        return runtime_fail(text, -errno, "runtime directory %.200s: %s", dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return runtime_fail(text, -ENOTDIR, "runtime directory %.200s: not a directory", dir);
    if (!runtime_is_trusted(link.st_uid) || !runtime_is_trusted(st.st_uid))
        return runtime_fail(text, -EPERM,
                            "runtime directory %.200s: %s belongs to user %u, neither to this one "
                            "(%u) nor to root; remove it, or give another --runtime-dir",
                            dir, S_ISLNK(link.st_mode) ? "the link" : "it",
                            runtime_is_trusted(link.st_uid) ? st.st_uid : link.st_uid, geteuid());
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return runtime_fail(text, -EPERM,
                            "runtime directory %.200s: others may write in it (mode %04o) and "
                            "could put their socket in the place of ours; chmod go-w it, or give "
                            "another --runtime-dir",
                            dir, st.st_mode & 07777);
    return 0;
}

static int runtime_make_directory(const char *dir, char *text)
{
    if (mkdir(dir, 0755) == 0) {
        if (chmod(dir, 0755) < 0) /* whatever the umask is */
            return runtime_fail(text, -errno, "runtime directory %.200s: %s", dir, strerror(errno));
        return 0;
    }
    if (errno != EEXIST)
        return runtime_fail(
            text, -errno,
            "runtime directory %.200s: %s; make its parent first, or give another --runtime-dir",
            dir, strerror(errno));
    return runtime_check_owner(dir, text);
}

enum { CHILD_GONE_MS = 2000, LOOK_MS = 10 };

/* One that is killed while it makes its executor has gone, and the child holds the lock with it
 * until it becomes a program, which on a busy machine is not at once: that is waited for.
 * `ret_pid`: who has it, or "". */
static int runtime_lock_when_free(int fd, char *ret_pid, size_t size)
{
    for (unsigned waited_ms = 0;; waited_ms += LOOK_MS) {
        ssize_t got;

        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK)
            return -errno;
        got = pread(fd, ret_pid, size - 1, 0);
        ret_pid[got > 0 ? got : 0] = '\0';
        ret_pid[strcspn(ret_pid, "\n")] = '\0';
        if (waited_ms >= CHILD_GONE_MS ||
            (ret_pid[0] && !(kill(atoi(ret_pid), 0) < 0 && errno == ESRCH)))
            return -EBUSY;
        nanosleep(&(struct timespec){ .tv_nsec = LOOK_MS * 1000000 }, NULL);
    }
}

static int runtime_take_lock(struct runtime *runtime, char *text)
{
    char path[4096], pid[24] = "";
    int n, r;

    if (snprintf(path, sizeof(path), "%s/lock", runtime->dir) >= (int)sizeof(path))
        return runtime_fail(text, -ENAMETOOLONG, "the name of the runtime directory is too long");
    runtime->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (runtime->lock_fd < 0)
        return runtime_fail(text, -errno, "%.200s: %s", path, strerror(errno));
    r = runtime_lock_when_free(runtime->lock_fd, pid, sizeof(pid));
    if (r == -EBUSY)
        return runtime_fail(
            text, r, "another odeond%s%s runs on %.200s; stop it, or give another --runtime-dir",
            pid[0] ? ", process " : "", pid, runtime->dir);
    if (r < 0)
        return runtime_fail(text, r, "%.200s: %s", path, strerror(-r));
    /* The number is for people and for the text above; the lock itself is what counts. */
    n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (ftruncate(runtime->lock_fd, 0) < 0 || pwrite(runtime->lock_fd, pid, (size_t)n, 0) != n)
        return runtime_fail(text, -EIO, "%.200s: cannot be written", path);
    return 0;
}

int runtime_open(struct runtime *runtime, const char *dir, const char *socket_path, char *text)
{
    int r;

    *runtime =
        (struct runtime){ .lock_fd = -1, .listen_fd = -1, .socket_mode = 0600, .socket_group = -1 };
    r = runtime_make_directory(dir, text);
    if (r == 0) {
        runtime->dir = realpath(dir, NULL); /* clients are told the path of the statistics */
        runtime->socket_path = strdup(socket_path);
        if (!runtime->dir || !runtime->socket_path ||
            asprintf(&runtime->stats_path, "%s/stats", runtime->dir) < 0) {
            runtime->stats_path = NULL;
            r = runtime_fail(text, -ENOMEM, "%.200s: %s", dir, strerror(ENOMEM));
        }
    }
    if (r == 0)
        r = runtime_check_parents(runtime->dir, text);
    if (r == 0)
        r = runtime_take_lock(runtime, text);
    if (r < 0)
        runtime_close(runtime);
    return r;
}

static int runtime_take_passed_socket(struct runtime *runtime, int passed_fd, char *text)
{
    runtime->listen_fd = passed_fd;
    if (fcntl(runtime->listen_fd, F_SETFL, fcntl(runtime->listen_fd, F_GETFL) | O_NONBLOCK) < 0)
        return runtime_fail(text, -errno, "passed socket: %s", strerror(errno));
    return 0;
}

/* We hold the directory's lock, but --socket may point elsewhere: a socket on which somebody
 * listens is not ours to remove. */
static int runtime_remove_stale_socket(const struct sockaddr_un *address, char *text)
{
    struct stat st;
    int probe, error;

    if (lstat(address->sun_path, &st) < 0)
        return errno == ENOENT
                   ? 0
                   : runtime_fail(text, -errno, "%s: %s", address->sun_path, strerror(errno));
    if (!S_ISSOCK(st.st_mode))
        return runtime_fail(text, -EEXIST,
                            "%s exists and is not a socket; remove it, or give another --socket",
                            address->sun_path);
    probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return runtime_fail(text, -errno, "socket: %s", strerror(errno));
    error = connect(probe, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : errno;
    close(probe);
    if (error == 0 || error == EAGAIN)
        return runtime_fail(text, -EADDRINUSE, "another process listens on %s", address->sun_path);
    if (unlink(address->sun_path) < 0 && errno != ENOENT)
        return runtime_fail(text, -errno, "%s: left behind and cannot be removed: %s",
                            address->sun_path, strerror(errno));
    return 0;
}

static int runtime_verify_socket(struct runtime *runtime, char *text)
{
    struct stat st;

    if (lstat(runtime->socket_path, &st) < 0)
        return runtime_fail(text, -errno, "%.200s: %s", runtime->socket_path, strerror(errno));
    if (!S_ISSOCK(st.st_mode) || (st.st_mode & 07777) != runtime->socket_mode ||
        st.st_uid != geteuid())
        return runtime_fail(
            text, -EPERM,
            "%.200s: expected a socket of this user with mode %04o, found mode %04o of user %u",
            runtime->socket_path, runtime->socket_mode, st.st_mode & 07777, st.st_uid);
    runtime->socket_device = st.st_dev;
    runtime->socket_inode = st.st_ino;
    runtime->socket_is_ours = true;
    return 0;
}

/* It is made for its owner alone; nobody listens yet when others are let in. */
static int runtime_open_socket_to_group(struct runtime *runtime, char *text)
{
    if (runtime->socket_group >= 0 &&
        lchown(runtime->socket_path, (uid_t)-1, (gid_t)runtime->socket_group) < 0) {
        int r =
            runtime_fail(text, -errno, "%.200s: it cannot be given to group %u (socket-group): %s",
                         runtime->socket_path, (unsigned)runtime->socket_group, strerror(errno));

        if (!runtime->group_may_fail)
            return r;
        log_error("%s; it stays at mode 0600", text);
        runtime->socket_mode = 0600;
        return 0;
    }
    if (runtime->socket_mode != 0600 && chmod(runtime->socket_path, runtime->socket_mode) < 0)
        return runtime_fail(text, -errno, "%.200s: its mode cannot be set: %s",
                            runtime->socket_path, strerror(errno));
    return 0;
}

static int runtime_make_socket(struct runtime *runtime, char *text)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    mode_t mask;
    int r;

    if (strlen(runtime->socket_path) >= sizeof(address.sun_path))
        return runtime_fail(text, -ENAMETOOLONG,
                            "the socket's path has more than %zu bytes: %.120s...",
                            sizeof(address.sun_path) - 1, runtime->socket_path);
    strcpy(address.sun_path, runtime->socket_path);
    r = runtime_remove_stale_socket(&address, text);
    if (r < 0)
        return r;
    runtime->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (runtime->listen_fd < 0)
        return runtime_fail(text, -errno, "socket: %s", strerror(errno));
    mask = umask(0177);
    r = bind(runtime->listen_fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno
                                                                                         : 0;
    umask(mask);
    if (r < 0)
        return runtime_fail(text, r, "control socket %.200s: %s", runtime->socket_path,
                            strerror(-r));
    r = runtime_open_socket_to_group(runtime, text);
    if (r < 0)
        return r;
    r = runtime_verify_socket(runtime, text);
    if (r < 0)
        return r;
    if (listen(runtime->listen_fd, SOMAXCONN) < 0)
        return runtime_fail(text, -errno, "control socket %.200s: %s", runtime->socket_path,
                            strerror(errno));
    return 0;
}

int runtime_listen(struct runtime *runtime, int passed_fd, char *text)
{
    return passed_fd >= 0 ? runtime_take_passed_socket(runtime, passed_fd, text)
                          : runtime_make_socket(runtime, text);
}

void runtime_stop_listening(struct runtime *runtime)
{
    struct stat st;

    if (runtime->socket_is_ours && lstat(runtime->socket_path, &st) == 0 &&
        st.st_dev == runtime->socket_device && st.st_ino == runtime->socket_inode)
        unlink(runtime->socket_path);
    runtime->socket_is_ours = false;
    if (runtime->listen_fd >= 0)
        closer_end_listener(runtime->listen_fd);
    runtime->listen_fd = -1;
}

void runtime_close(struct runtime *runtime)
{
    runtime_stop_listening(runtime);
    if (runtime->lock_fd >= 0)
        close(runtime->lock_fd);
    free(runtime->dir);
    free(runtime->socket_path);
    free(runtime->stats_path);
    *runtime =
        (struct runtime){ .lock_fd = -1, .listen_fd = -1, .socket_mode = 0600, .socket_group = -1 };
}
