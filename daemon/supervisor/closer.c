/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that close; the interface is in closer.h. */
#include "daemon/supervisor/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/common/check.h"
#include "daemon/supervisor/side_thread.h"

enum {
    RECORDS_MAX = 4096,          /* at the end of a connection; a socket's buffer holds fewer */
    FIRST_NUDGE_NS = 100 * 1000, /* most closes wait for nobody, and need none */
    NUDGE_NS = 1000 * 1000,
    NUDGE = SIGURG /* nobody else here wants it, and it ends no process that has no handler */
};

/* One write into the pipe, which the kernel hands to one reader whole. */
struct closer_job {
    int fd;
    bool connection;
};

static struct closer_pool {
    int read_end, write_end; /* the latter -1: all is closed in place; the former stays open: the
                              * threads read on behind closer_stop(), up to its end */
    unsigned n_threads;
    unsigned handed_over;
    atomic_uint done; /* of those; the threads count them */
} closer_sent = { .read_end = -1, .write_end = -1 },
  closer_ended = { .read_end = -1, .write_end = -1 };

/* ---- letting go; in a thread, or where there is none */

static void closer_drain(int socket)
{
    for (int i = 0; i < RECORDS_MAX; i++)
        if (frame_next(socket) == FRAME_NEXT_NONE ||
            recv(socket, NULL, 0, MSG_DONTWAIT | MSG_TRUNC) < 0)
            return;
}

static void closer_do(const struct closer_job *job)
{
    if (job->connection)
        closer_drain(job->fd);
    close(job->fd);
}

/* ---- the threads */

/* The kernel looks whether a signal is pending, and waits no longer; that it came is all. */
static void closer_on_nudge(int signal)
{
    (void)signal;
}

/* Signals for this thread alone. Without a timer it waits as long as its descriptors want. */
static bool closer_make_timer(timer_t *timer)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = NUDGE };

    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    return timer_create(CLOCK_MONOTONIC, &event, timer) == 0;
}

static void closer_set_timer(timer_t timer, bool runs)
{
    const struct itimerspec when = { .it_value.tv_nsec = runs ? FIRST_NUDGE_NS : 0,
                                     .it_interval.tv_nsec = runs ? NUDGE_NS : 0 };

    (void)timer_settime(timer, 0, &when, NULL);
}

static void *closer_main(void *argument)
{
    struct closer_pool *pool = argument;
    const int read_end = pool->read_end;
    struct closer_job job;
    timer_t timer;
    sigset_t nudge;
    bool nudged = closer_make_timer(&timer);

    (void)pthread_setname_np(pthread_self(), "closer");
    sigemptyset(&nudge);
    sigaddset(&nudge, NUDGE);
    (void)pthread_sigmask(SIG_UNBLOCK, &nudge, NULL);
    for (;;) {
        ssize_t n = read(read_end, &job, sizeof(job));

        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof(job))
            break;
        if (nudged)
            closer_set_timer(timer, true); /* closer.E2 */
        closer_do(&job);
        if (nudged)
            closer_set_timer(timer, false);
        atomic_fetch_add_explicit(&pool->done, 1, memory_order_relaxed);
    }
    if (nudged)
        (void)timer_delete(timer);
    return NULL;
}

static bool closer_make_thread(struct closer_pool *pool)
{
    if (side_thread_make(closer_main, pool) < 0)
        return false;
    pool->n_threads++;
    check("closer.E3", pool->n_threads <= CLOSERS_MAX);
    return true;
}

/* ---- the loop */

static unsigned closer_not_done(struct closer_pool *pool)
{
    return pool->handed_over - atomic_load_explicit(&pool->done, memory_order_relaxed);
}

/* closer.E3: whether there is a thread that will come to one more. */
static bool closer_has_thread(struct closer_pool *pool)
{
    if (closer_not_done(pool) < pool->n_threads || pool->n_threads == CLOSERS_MAX)
        return true;
    return closer_make_thread(pool) || pool->n_threads > 0;
}

static void closer_hand_over(struct closer_pool *pool, int fd, bool connection)
{
    struct closer_job job;

    memset(&job, 0, sizeof(job));
    job.fd = fd;
    job.connection = connection;
    if (pool->write_end >= 0 && closer_has_thread(pool) &&
        write(pool->write_end, &job, sizeof(job)) == (ssize_t)sizeof(job))
        pool->handed_over++;
    else
        closer_do(&job);
}

void closer_close(int fd)
{
    closer_hand_over(&closer_sent, fd, false);
}

void closer_close_frame(struct frame *frame)
{
    for (size_t i = 0; i < frame->n_fds; i++)
        if (frame->fds[i] >= 0)
            closer_close(frame->fds[i]);
    frame->n_fds = 0;
}

void closer_end(int socket)
{
    enum frame_next next;

    for (int i = 0; (next = frame_next(socket)) == FRAME_NEXT_PLAIN && i < RECORDS_MAX; i++)
        (void)recv(socket, NULL, 0, MSG_DONTWAIT | MSG_TRUNC);
    if (next == FRAME_NEXT_NONE) {
        close(socket);
        return;
    }
    shutdown(socket, SHUT_RDWR);                   /* its peer need not wait for the rest */
    closer_hand_over(&closer_ended, socket, true); /* closer.E1 */
}

void closer_end_listener(int socket)
{
    closer_hand_over(&closer_ended, socket, false);
}

bool closer_has_many_sent(void)
{
    return closer_not_done(&closer_sent) >= CLOSER_BEHIND;
}

bool closer_is_behind(void)
{
    return closer_not_done(&closer_ended) >= CLOSER_BEHIND;
}

/* ---- life */

static int closer_open(struct closer_pool *pool)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    if (fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0) {
        int r = -errno;

        close(ends[0]);
        close(ends[1]);
        return r;
    }
    pool->read_end = ends[0];
    pool->write_end = ends[1];
    return 0;
}

static void closer_shut(struct closer_pool *pool)
{
    if (pool->write_end >= 0)
        close(pool->write_end);
    pool->write_end = -1;
    pool->n_threads = 0;
}

int closer_start(void)
{
    const struct sigaction on_nudge = { .sa_handler = closer_on_nudge };
    int r = sigaction(NUDGE, &on_nudge, NULL) < 0 ? -errno : 0;

    if (r == 0)
        r = closer_open(&closer_sent);
    if (r == 0)
        r = closer_open(&closer_ended);
    if (r < 0)
        closer_stop();
    return r;
}

void closer_stop(void)
{
    closer_shut(&closer_sent);
    closer_shut(&closer_ended);
}
