/* SPDX-License-Identifier: Apache-2.0 */
/* See program_ask.h. */
#include "daemon/supervisor/program_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/supervisor/child.h"

enum { TIMEOUT_MS = 10000 };

/* Signals that odeond has blocked until it can take them are none of the child's. */
static int program_ask_spawn(pid_t *ret_pid, const char *const *argv, char **environment,
                             const posix_spawn_file_actions_t *actions)
{
    posix_spawnattr_t attributes;
    sigset_t none;
    int r = posix_spawnattr_init(&attributes);

    if (r != 0)
        return r;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    r = posix_spawn(ret_pid, argv[0], actions, &attributes, (char *const *)(uintptr_t)argv,
                    environment);
    posix_spawnattr_destroy(&attributes);
    return r;
}

static int program_ask_spawn_with_pipe(const char *const *argv, int input, pid_t *ret_pid,
                                       int *ret_pipe)
{
    char **environment = child_environment();
    posix_spawn_file_actions_t actions;
    int ends[2], r;

    if (!environment)
        return -ENOMEM;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        r = -errno;
        goto end;
    }
    posix_spawn_file_actions_init(&actions);
    r = input >= 0
            ? posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
            : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (r == 0)
        r = program_ask_spawn(ret_pid, argv, environment, &actions);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (r == 0)
        *ret_pipe = ends[0];
    else
        close(ends[0]);
    r = -r;
end:
    free(environment);
    return r;
}

/* Until the end of the output, or the deadline.  The bytes read, or negative errno. */
static ssize_t program_ask_read(int pipe, char *answer, size_t size)
{
    int64_t deadline = clock_now_ms() + TIMEOUT_MS;
    size_t got = 0;

    for (;;) {
        int64_t left = deadline - clock_now_ms();
        struct pollfd p = { .fd = pipe, .events = POLLIN };
        ssize_t n;

        if (left <= 0)
            return -ETIMEDOUT;
        if (poll(&p, 1, (int)left) <= 0)
            continue;
        n = read(pipe, answer + got, size - 1 - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        got += (size_t)n;
        if (got == size - 1)
            return -EMSGSIZE;
    }
    answer[got] = '\0';
    return (ssize_t)got;
}

int program_ask(const char *const *argv, int input, const char *what, char *answer, size_t size,
                char *text)
{
    pid_t pid = -1;
    int pipe = -1, status = 0, r = program_ask_spawn_with_pipe(argv, input, &pid, &pipe);
    ssize_t n;

    if (r < 0) {
        snprintf(text, PROGRAM_ASK_TEXT_MAX, "cannot run %.200s: %s", argv[0], strerror(-r));
        return r;
    }
    n = program_ask_read(pipe, answer, size);
    close(pipe);
    if (n < 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (n < 0) {
        snprintf(text, PROGRAM_ASK_TEXT_MAX, "%.200s %s: %s", argv[0], argv[1],
                 n == -ETIMEDOUT ? "no answer within 10 seconds" : strerror((int)-n));
        return (int)n;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        char how[64];

        child_describe_status(status, how, sizeof(how));
        snprintf(text, PROGRAM_ASK_TEXT_MAX,
                 "the executor refused %.200s (%.150s %s: %s); its reason is above", what, argv[0],
                 argv[1], how);
        return -EINVAL;
    }
    answer[strcspn(answer, "\n")] = '\0';
    return 0;
}
