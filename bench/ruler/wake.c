/* SPDX-License-Identifier: Apache-2.0 */
/* The bare wake-up: from before the store and the futex call of one thread to the first look at the
 * clock of another one that slept in it, on another CPU. Before each the sleeper has had a pause to
 * fall asleep in.
 *
 * Threads: the waker (cpus[1]) writes posted_ns and then `word`; the sleeper (cpus[0]) writes
 * `times` and then `seen`.
 */
#include "ruler.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAUSE_NS = 1000000 };

struct wake {
    _Atomic uint32_t word; /* wakes so far */
    _Atomic uint32_t seen;
    uint64_t posted_ns;
    uint32_t *times;
    uint32_t n;
    int cpu, error;
};

static void wake_futex_call(_Atomic uint32_t *word, int operation, uint32_t value)
{
    syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void *wake_sleeper(void *argument)
{
    struct wake *wake = argument;
    wake->error = ruler_bind(wake->cpu);
    for (uint32_t i = 0; i < wake->n; i++) {
        /* acquire: posted_ns was written before the word */
        while (atomic_load_explicit(&wake->word, memory_order_acquire) == i)
            wake_futex_call(&wake->word, FUTEX_WAIT, i);
        uint64_t after = ruler_now_ns() - wake->posted_ns;
        wake->times[i] = after > UINT32_MAX ? UINT32_MAX : (uint32_t)after;
        /* release: the waker may write posted_ns again */
        atomic_store_explicit(&wake->seen, i + 1, memory_order_release);
    }
    return NULL;
}

int ruler_wake(const struct ruler_options *options)
{
    struct wake wake = { .n = (uint32_t)options->wakes, .cpu = options->cpus[0] };
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    pthread_t thread;
    wake.times = calloc(wake.n, sizeof(wake.times[0]));
    if (!wake.times)
        return ruler_error(-ENOMEM, "times of wakes");
    int r = ruler_bind(options->cpus[1]);
    if (r == 0)
        r = -pthread_create(&thread, NULL, wake_sleeper, &wake);
    if (r < 0) {
        free(wake.times);
        return ruler_error(r, "the sleeping thread");
    }
    for (uint32_t i = 0; i < wake.n; i++) {
        do
            nanosleep(&pause, NULL);
        while (atomic_load_explicit(&wake.seen, memory_order_acquire) != i);
        wake.posted_ns = ruler_now_ns();
        atomic_store_explicit(&wake.word, i + 1, memory_order_release);
        wake_futex_call(&wake.word, FUTEX_WAKE, 1);
    }
    pthread_join(thread, NULL);
    r = wake.error;
    if (r == 0) {
        ruler_sort(wake.times, wake.n);
        printf("bench=bare_wake p50_ns=%u p90_ns=%u p99_ns=%u max_ns=%u\n", wake.times[wake.n / 2],
               wake.times[wake.n - 1 - wake.n / 10], wake.times[wake.n - 1 - wake.n / 100],
               wake.times[wake.n - 1]);
    }
    free(wake.times);
    return r;
}
