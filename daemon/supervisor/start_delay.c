/* SPDX-License-Identifier: Apache-2.0 */
/* The wait before a start of odeond; the interface is in start_delay.h. */
#include "daemon/supervisor/start_delay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "daemon/supervisor/backoff.h"

#define WAIT_MAX_NS UINT64_C(10000000000)
enum { STARTS_MAX = 1000000, PATH_BYTES = 4096 };

static bool start_delay_make_path(const char *dir, char *path)
{
    return snprintf(path, PATH_BYTES, "%s/starts", dir) < PATH_BYTES;
}

/* What the file says, whatever that is: it costs a wait of seconds at most. */
static unsigned start_delay_read_count(int fd)
{
    char text[16] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    unsigned long count = n > 0 ? strtoul(text, NULL, 10) : 0;

    return count < STARTS_MAX ? (unsigned)count : STARTS_MAX;
}

unsigned start_delay_count(const char *dir)
{
    char path[PATH_BYTES], text[16];
    unsigned starts;
    int fd, n;

    if (!start_delay_make_path(dir, path))
        return 0;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return 0;
    starts = start_delay_read_count(fd) + 1;
    n = snprintf(text, sizeof(text), "%u\n", starts);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
        starts = 0;
    close(fd);
    return starts;
}

int start_delay_wait(unsigned starts)
{
    struct backoff backoff = { .failures = starts > 0 ? starts - 1 : 0 };
    uint64_t wait_ns = backoff_next_ns(&backoff, 0, WAIT_MAX_NS);
    struct timespec wait = { .tv_sec = (time_t)(wait_ns / 1000000000),
                             .tv_nsec = (long)(wait_ns % 1000000000) };
    sigset_t stops, before;
    int signal;

    if (wait_ns == 0)
        return 0;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    if (sigprocmask(SIG_BLOCK, &stops, &before) < 0)
        return -errno;
    do /* after an interruption the whole time again: who interrupts can wait */
        signal = sigtimedwait(&stops, NULL, &wait);
    while (signal < 0 && errno == EINTR);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return signal > 0 ? -EINTR : 0;
}

void start_delay_forget(const char *dir)
{
    char path[PATH_BYTES];

    if (start_delay_make_path(dir, path))
        unlink(path);
}
