/* SPDX-License-Identifier: Apache-2.0 */
/* The engine segment; the interface is in segment.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/common/config.h"
#include "daemon/common/memfd.h"
#include "daemon/supervisor/child.h"
#include "daemon/supervisor/segment.h"

enum { ANSWER_TIMEOUT_MS = 10000, ANSWER_MAX = 64 };

static void segment_free_arguments(char **argv)
{
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

static char **segment_make_arguments(const char *program, const struct setting_list *settings)
{
    char **argv = calloc(settings->n * 2 + 3, sizeof(*argv));
    size_t n = 0;

    if (!argv)
        return NULL;
    if (!(argv[n++] = strdup(program)) || !(argv[n++] = strdup("--print-segment-size")))
        goto fail;
    for (size_t i = 0; i < settings->n; i++) {
        if (!(argv[n++] = strdup("--set")))
            goto fail;
        if (asprintf(&argv[n], "%s=%s", settings->list[i].key, settings->list[i].value) < 0) {
            argv[n] = NULL;
            goto fail;
        }
        n++;
    }
    return argv;
fail:
    segment_free_arguments(argv);
    return NULL;
}

/* Signals that odeond has blocked until it can take them are none of the child's. */
static int segment_spawn(pid_t *ret_pid, char **argv, char **environment,
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
    r = posix_spawn(ret_pid, argv[0], actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    return r;
}

static int segment_spawn_with_pipe(char **argv, pid_t *ret_pid, int *ret_pipe)
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
    r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (r == 0)
        r = segment_spawn(ret_pid, argv, environment, &actions);
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
static ssize_t segment_read_answer(int pipe, char *answer)
{
    int64_t deadline = clock_now_ms() + ANSWER_TIMEOUT_MS;
    size_t got = 0;

    for (;;) {
        int64_t left = deadline - clock_now_ms();
        struct pollfd p = { .fd = pipe, .events = POLLIN };
        ssize_t n;

        if (left <= 0)
            return -ETIMEDOUT;
        if (poll(&p, 1, (int)left) <= 0)
            continue;
        n = read(pipe, answer + got, ANSWER_MAX - 1 - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        got += (size_t)n;
        if (got == ANSWER_MAX - 1)
            return -EMSGSIZE;
    }
    answer[got] = '\0';
    return (ssize_t)got;
}

int segment_ask_size(const char *program, const struct setting_list *settings, uint64_t *ret_size,
                     char *text)
{
    char **argv = segment_make_arguments(program, settings), answer[ANSWER_MAX] = "";
    int pipe = -1, status = 0, r;
    pid_t pid = -1;
    ssize_t n;

    r = argv ? segment_spawn_with_pipe(argv, &pid, &pipe) : -ENOMEM;
    segment_free_arguments(argv);
    if (r < 0) {
        snprintf(text, SEGMENT_TEXT_MAX, "cannot run %.200s: %s", program, strerror(-r));
        return r;
    }
    n = segment_read_answer(pipe, answer);
    close(pipe);
    if (n < 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (n < 0) {
        snprintf(text, SEGMENT_TEXT_MAX, "%.200s --print-segment-size: %s", program,
                 n == -ETIMEDOUT ? "no answer within 10 seconds" : strerror((int)-n));
        return (int)n;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        char how[64];

        child_describe_status(status, how, sizeof(how));
        snprintf(text, SEGMENT_TEXT_MAX,
                 "the executor refused the settings (%.150s --print-segment-size: %s); its reason "
                 "is above",
                 program, how);
        return -EINVAL;
    }
    answer[strcspn(answer, "\n")] = '\0';
    r = config_parse_u64(answer, 4096, UINT64_C(1) << 46, ret_size);
    if (r < 0)
        snprintf(text, SEGMENT_TEXT_MAX,
                 "%.200s --print-segment-size: '%.60s' is no possible size; is it the executor?",
                 program, answer);
    return r;
}

int segment_make(uint64_t size, char *text)
{
    int fd = memfd_make_sealed("odeon-segment", size);

    if (fd < 0)
        snprintf(text, SEGMENT_TEXT_MAX, "engine segment of %llu bytes: %s",
                 (unsigned long long)size, strerror(-fd));
    return fd;
}
