/* SPDX-License-Identifier: Apache-2.0 */
#include "rulers.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "bare.h"
#include "session.h"
#include "work.h"

enum { RULERS_THREADS_MAX = 8, RULERS_SPIN_NS = 50000 /* spin-us of the service */ };

static struct bare_ring rings[RULERS_THREADS_MAX];

/* A thread that cannot be bound runs where it may: the figures then say less, and are still true.
 */
static void rulers_bind(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    (void)sched_setaffinity(0, sizeof(set), &set);
}

/* ---- work ---- */

struct worker {
    struct bare_ring *ring;
    uint64_t work_ns, sleeps, n;
    int cpu;
    pthread_t thread;
};

static void *rulers_worker(void *argument)
{
    const struct worker *worker = argument;

    rulers_bind(worker->cpu);
    for (uint64_t i = 0; i < worker->n; i++) {
        struct bare_record record = { .words = { i } };
        record.words[1] = work_for(worker->work_ns, worker->sleeps);
        while (!bare_put(worker->ring, &record))
            work_relax();
    }
    return NULL;
}

static void rulers_collect(uint32_t threads, uint64_t n, struct histogram *times)
{
    struct bare_record record;

    for (uint64_t seen = 0; seen < n;)
        for (uint32_t i = 0; i < threads; i++)
            if (bare_take(&rings[i], &record)) {
                histogram_add(times, work_now_ns() - record.words[1]);
                seen++;
            } else {
                work_relax();
            }
}

int rulers_work(const struct options *options, uint64_t work_ns, uint64_t n, uint32_t threads,
                struct histogram *times)
{
    struct worker workers[RULERS_THREADS_MAX];
    uint64_t all = 0;
    uint32_t started = 0;

    if (threads > RULERS_THREADS_MAX)
        threads = RULERS_THREADS_MAX;
    for (; started < threads; started++) {
        struct worker *worker = &workers[started];
        bare_clear(&rings[started]);
        *worker = (struct worker){ .ring = &rings[started],
                                   .work_ns = work_ns,
                                   .sleeps = options->sleeps,
                                   .n = n / threads + (started < n % threads),
                                   .cpu = options->cpus[started % options->n_cpus] };
        if (pthread_create(&worker->thread, NULL, rulers_worker, worker) != 0)
            break;
        all += worker->n;
    }
    rulers_collect(started, all, times);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    return started == threads ? 0 : session_error(SESSION_FAILED, "no thread for the ruler");
}

/* ---- timers ---- */

struct timer {
    uint64_t first_ns, period_ns, n;
    int cpu, fd;
    pthread_t thread;
};

static void *rulers_sleeper(void *argument)
{
    const struct timer *timer = argument;

    rulers_bind(timer->cpu);
    for (uint64_t i = 0; i < timer->n; i++) {
        uint64_t due_ns = timer->first_ns + i * timer->period_ns, expired;
        struct itimerspec at = { .it_value = { .tv_sec = (time_t)(due_ns / 1000000000),
                                               .tv_nsec = (long)(due_ns % 1000000000) } };
        struct bare_record record = { .words = { i, due_ns } };

        (void)timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &at, NULL);
        while (read(timer->fd, &expired, sizeof(expired)) < 0 && errno == EINTR)
            ;
        while (!bare_put(&rings[0], &record))
            work_relax();
    }
    return NULL;
}

int rulers_timer(const struct options *options, uint64_t rate, uint64_t n, struct histogram *times)
{
    struct timer timer = { .first_ns = work_now_ns() + 10000000,
                           .period_ns = UINT64_C(1000000000) / rate,
                           .n = n,
                           .cpu = options->cpus[0],
                           .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) };

    if (timer.fd < 0)
        return session_error(SESSION_FAILED, "no timerfd for the ruler");
    bare_clear(&rings[0]);
    if (pthread_create(&timer.thread, NULL, rulers_sleeper, &timer) != 0) {
        close(timer.fd);
        return session_error(SESSION_FAILED, "no thread for the ruler");
    }
    rulers_collect(1, n, times);
    pthread_join(timer.thread, NULL);
    close(timer.fd);
    return 0;
}

/* ---- there and back ---- */

static struct {
    struct bare_ring there, back;
    alignas(128) _Atomic uint32_t asleep; /* a futex: 1 while the far end sleeps */
    _Atomic uint32_t stop;
    int cpu;
    uint32_t park;
} echo;

static void rulers_futex_call(int operation, uint32_t value)
{
    syscall(SYS_futex, &echo.asleep, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* Sleeps unless something has come: the flag, a full barrier, a look (the other side: the record, a
 * full barrier, the flag). */
static void rulers_park(void)
{
    atomic_store_explicit(&echo.asleep, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&echo.there.tail, memory_order_seq_cst) ==
            atomic_load_explicit(&echo.there.head, memory_order_relaxed) &&
        !atomic_load_explicit(&echo.stop, memory_order_seq_cst))
        rulers_futex_call(FUTEX_WAIT, 1);
    atomic_store_explicit(&echo.asleep, 0, memory_order_relaxed);
}

static void rulers_wake(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&echo.asleep, memory_order_relaxed) != 0) {
        atomic_store_explicit(&echo.asleep, 0, memory_order_relaxed);
        rulers_futex_call(FUTEX_WAKE, 1);
    }
}

static void *rulers_echo(void *argument)
{
    uint64_t idle_since_ns = work_now_ns();
    struct bare_record record;

    rulers_bind(echo.cpu);
    while (!atomic_load_explicit(&echo.stop, memory_order_relaxed)) {
        if (bare_take(&echo.there, &record)) {
            while (!bare_put(&echo.back, &record))
                work_relax();
            idle_since_ns = 0;
            continue;
        }
        work_relax();
        if (!echo.park)
            continue;
        if (idle_since_ns == 0)
            idle_since_ns = work_now_ns();
        else if (work_now_ns() - idle_since_ns > RULERS_SPIN_NS)
            rulers_park();
    }
    return argument;
}

static uint64_t rulers_pace_now(void *context)
{
    (void)context;
    return work_now_ns();
}

static int rulers_pace_post(void *context, uint64_t at_ns, uint64_t number)
{
    (void)context;
    return bare_put(&echo.there, &(struct bare_record){ .words = { at_ns, number } }) ? 0 : -EAGAIN;
}

static void rulers_pace_commit(void *context)
{
    (void)context;
    if (echo.park)
        rulers_wake();
}

static int rulers_pace_receive(void *context, uint64_t *ret_at_ns, uint64_t *ret_number)
{
    struct bare_record record;

    (void)context;
    if (!bare_take(&echo.back, &record)) {
        work_relax();
        return 0;
    }
    *ret_at_ns = record.words[0];
    *ret_number = record.words[1];
    return 1;
}

int rulers_pace(const struct options *options, const struct pace *pace, struct pace_result *ret)
{
    const struct pace_transport transport = { .now_ns = rulers_pace_now,
                                              .post = rulers_pace_post,
                                              .commit = rulers_pace_commit,
                                              .receive = rulers_pace_receive };
    struct pace bare = *pace;
    pthread_t thread;

    bare.pieces = 1;
    bare_clear(&echo.there);
    bare_clear(&echo.back);
    atomic_store(&echo.stop, 0);
    atomic_store(&echo.asleep, 0);
    echo.cpu = options->cpus[0];
    echo.park = options->park;
    if (pthread_create(&thread, NULL, rulers_echo, NULL) != 0)
        return session_error(SESSION_FAILED, "no thread for the ruler");
    int r = pace_run(&bare, &transport, ret);
    atomic_store_explicit(&echo.stop, 1, memory_order_seq_cst);
    rulers_wake();
    pthread_join(thread, NULL);
    return r < 0 || ret->answered != pace->n
               ? session_error(SESSION_FAILED, "the ruler did not get all of its answers")
               : 0;
}
