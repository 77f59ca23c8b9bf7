/* SPDX-License-Identifier: Apache-2.0 */
/* See loop_watch.h. */
#include "tests/system/loop_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"

static const long blocking[] = {
#ifdef SYS_poll
    SYS_poll,    SYS_select,
#endif
    SYS_ppoll,   SYS_pselect6, SYS_sendmsg, SYS_sendto, SYS_recvmsg,   SYS_recvfrom,
    SYS_connect, SYS_accept4,  SYS_wait4,   SYS_waitid, SYS_nanosleep, SYS_clock_nanosleep,
};

static bool is_blocking(long number)
{
    for (size_t i = 0; i < sizeof(blocking) / sizeof(blocking[0]); i++)
        if (blocking[i] == number)
            return true;
    return false;
}

/* "running" is no number: nor is what a thread that takes a page is at. */
static void take(struct loop_watch *watch, const char *text)
{
    long number;

    watch->looks++;
    if (sscanf(text, "%ld", &number) != 1)
        return;
    if (number == SYS_write || number == SYS_writev)
        watch->writing++;
    else if (is_blocking(number))
        watch->blocked++;
    else
        return;
    watch->last = number;
    if (watch->blocked + watch->writing == LOOP_WATCH_OFTEN && watch->on_often)
        watch->on_often(watch->userdata);
}

static void *run(void *userdata)
{
    struct loop_watch *watch = userdata;
    int fd = open(watch->path, O_RDONLY | O_CLOEXEC);
    char text[128];

    watch->error = fd < 0 ? errno : 0;
    for (bool ends = false; !ends; pause_briefly()) {
        ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

        ends = atomic_load(&watch->ends);
        if (n > 0) {
            text[n] = '\0';
            take(watch, text);
        } else if (fd >= 0 && n < 0) {
            watch->error = errno;
        }
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

void loop_watch_begin(struct loop_watch *watch, pid_t pid)
{
    watch->looks = watch->blocked = watch->writing = 0;
    watch->last = -1;
    watch->error = 0;
    atomic_store(&watch->ends, false);
    snprintf(watch->path, sizeof(watch->path), "/proc/%d/syscall", (int)pid);
    assert_int_equal(pthread_create(&watch->thread, NULL, run, watch), 0);
}

void loop_watch_end(struct loop_watch *watch)
{
    atomic_store(&watch->ends, true);
    pthread_join(watch->thread, NULL);
}

bool loop_watch_was_blind(const struct loop_watch *watch)
{
    if (watch->looks > 0)
        return false;
    if (watch->error != EPERM && watch->error != EACCES && watch->error != ENOENT)
        fail_msg("nobody has looked at %s: %s", watch->path, strerror(watch->error));
    print_message("# skipped: where a loop waits is not seen here: %s: %s\n", watch->path,
                  strerror(watch->error));
    return true;
}
