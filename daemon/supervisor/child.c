/* SPDX-License-Identifier: Apache-2.0 */
/* The executor as a process; the interface is in child.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/supervisor/child.h"

int child_find_program(const char *given, char *path, size_t path_size, char *text,
                       size_t text_size)
{
    /* from our own directory: where it was built, where it is installed */
    static const char *const places[] = { ".", ODEON_LIBEXEC_DIR };
    char own[PATH_MAX], *slash;
    ssize_t n;

    if (given) {
        snprintf(path, path_size, "%s", given);
        if (access(path, X_OK) == 0)
            return 0;
        snprintf(text, text_size, "executor %.200s: %s", given, strerror(errno));
        return -ENOENT;
    }
    n = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[n > 0 ? n : 0] = '\0';
    slash = strrchr(own, '/');
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++)
        if (snprintf(path, path_size, "%s/%s/odeon-executor", own, places[i]) < (int)path_size &&
            access(path, X_OK) == 0)
            return 0;
    snprintf(text, text_size,
             "no executor: looked for odeon-executor in %.200s and %s of it; give its path with "
             "--executor",
             slash ? own : "the program's directory", ODEON_LIBEXEC_DIR);
    return -ENOENT;
}

char **child_environment(void)
{
    static const char *const ours[] = { "NOTIFY_SOCKET=", "LISTEN_", "WATCHDOG_" };
    size_t n = 0, kept = 0;
    char **copy;

    while (environ[n])
        n++;
    copy = calloc(n + 1, sizeof(*copy));
    if (!copy)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        bool drop = false;

        for (size_t k = 0; k < sizeof(ours) / sizeof(ours[0]); k++)
            drop |= strncmp(environ[i], ours[k], strlen(ours[k])) == 0;
        if (!drop)
            copy[kept++] = environ[i];
    }
    return copy;
}

void child_describe_status(int wait_status, char *text, size_t size)
{
    if (WIFEXITED(wait_status))
        snprintf(text, size, "exit status %d", WEXITSTATUS(wait_status));
    else if (WIFSIGNALED(wait_status))
        snprintf(text, size, "signal %d (%s%s)", WTERMSIG(wait_status),
                 strsignal(WTERMSIG(wait_status)), WCOREDUMP(wait_status) ? ", core dumped" : "");
    else
        snprintf(text, size, "wait status 0x%x", (unsigned)wait_status);
}

/* Between fork and exec: async-signal-safe calls only. Returns when something failed; errno says
 * what. */
static void child_become_program(char *const *argv, pid_t parent, char **environment)
{
    struct sigaction normal = { .sa_handler = SIG_DFL };
    sigset_t none;
    int null;

    for (int signal = 1; signal < NSIG; signal++)
        sigaction(signal, &normal, NULL); /* fails for two of them, which are never changed */
    sigemptyset(&none);
    if (sigprocmask(SIG_SETMASK, &none, NULL) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return;
    if (getppid() != parent) { /* it died before the line above */
        errno = ESRCH;
        return;
    }
    null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0)
        return;
    execve(argv[0], argv, environment);
}

/* Puts the control socket on descriptor 3 and the pipe that reports a failed exec on 4; nothing
 * else stays open. */
static int child_arrange_descriptors(int control_fd, int report_fd)
{
    int control = fcntl(control_fd, F_DUPFD_CLOEXEC, 8),
        report = fcntl(report_fd, F_DUPFD_CLOEXEC, 8);

    if (control < 0 || report < 0 || dup2(control, CHILD_CONTROL_FD) < 0 ||
        dup3(report, CHILD_CONTROL_FD + 1, O_CLOEXEC) < 0)
        return -1;
    syscall(SYS_close_range, CHILD_CONTROL_FD + 2, ~0U, 0);
    return CHILD_CONTROL_FD + 1;
}

static void __attribute__((noreturn))
child_run_child(char *const *argv, int control_fd, int report_fd, pid_t parent, char **environment)
{
    int report = child_arrange_descriptors(control_fd, report_fd), error;

    if (report >= 0)
        child_become_program(argv, parent, environment);
    error = errno;
    while (write(report >= 0 ? report : report_fd, &error, sizeof(error)) < 0 && errno == EINTR)
        ;
    _exit(127);
}

static pid_t child_start_process(char *const *argv, int control_fd)
{
    char **environment = child_environment();
    int report[2], error = 0;
    pid_t parent = getpid(), pid;
    ssize_t n;

    if (!environment)
        return -ENOMEM;
    if (pipe2(report, O_CLOEXEC) < 0) {
        free(environment);
        return -errno;
    }
    pid = fork();
    if (pid == 0)
        child_run_child(argv, control_fd, report[1], parent, environment);
    error = pid < 0 ? errno : 0;
    close(report[1]);
    free(environment);
    if (pid > 0) {
        /* ends with the exec, or with the reason why there is none */
        do
            n = read(report[0], &error, sizeof(error));
        while (n < 0 && errno == EINTR);
        if (n != (ssize_t)sizeof(error))
            error = 0;
        else
            while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
    }
    close(report[0]);
    return error ? -error : pid;
}

static void child_on_poll_closed(uv_handle_t *handle)
{
    free(handle);
}

static void child_on_pidfd(uv_poll_t *poll, int status, int events)
{
    struct child *child = poll->data;
    int wait_status = 0;
    pid_t pid;

    (void)status;
    (void)events;
    pid = waitpid(child->pid, &wait_status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return;
    uv_close((uv_handle_t *)child->poll, child_on_poll_closed);
    close(child->pidfd);
    child->pid = 0;
    child->pidfd = -1;
    child->on_exit(child->userdata, wait_status);
}

/* Without a way to hear of its end there is no use in the process. */
static int child_watch(struct child *child, uv_loop_t *loop, pid_t pid)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), r;
    uv_poll_t *poll = malloc(sizeof(*poll));

    r = pidfd < 0 ? -errno : !poll ? -ENOMEM : uv_poll_init(loop, poll, pidfd);
    if (r < 0) {
        if (pidfd >= 0)
            close(pidfd);
        free(poll);
        return r;
    }
    child->pid = pid;
    child->pidfd = pidfd;
    child->poll = poll;
    poll->data = child;
    uv_poll_start(poll, UV_READABLE, child_on_pidfd);
    return 0;
}

int child_start(struct child *child, uv_loop_t *loop, char *const *argv, int control_fd)
{
    pid_t pid = child_start_process(argv, control_fd);
    int r;

    if (pid < 0)
        return pid;
    r = child_watch(child, loop, pid);
    if (r < 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    return r;
}

void child_kill(struct child *child, int signal)
{
    if (child->pid > 0)
        syscall(SYS_pidfd_send_signal, child->pidfd, signal, NULL, 0);
}
