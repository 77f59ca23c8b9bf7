/* SPDX-License-Identifier: Apache-2.0 */
/* One cache line back and forth between two pinned threads: the floor of everything that two cores
 * do together.
 *
 * The word counts up; one thread makes it odd, the other even. The time is taken in pieces; the
 * median of the pieces is printed, so that a piece in which one side was preempted does not count.
 */
#include "ruler.h"

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>

enum { PIECES = 64 };

struct line {
    alignas(128) _Atomic uint64_t word;
    alignas(128) uint64_t last;
    int cpu, error;
};

static void line_wait_for(_Atomic uint64_t *word, uint64_t value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        ruler_relax();
}

static void *line_answer(void *argument)
{
    struct line *line = argument;
    line->error = ruler_bind(line->cpu);
    for (uint64_t i = 1; i < line->last; i += 2) {
        line_wait_for(&line->word, i);
        atomic_store_explicit(&line->word, i + 1, memory_order_release);
    }
    return NULL;
}

int ruler_line(const struct ruler_options *options)
{
    static struct line line;
    uint64_t piece = options->trips / PIECES + 1, value = 0;
    uint32_t times[PIECES];
    pthread_t thread;

    atomic_store(&line.word, 0);
    line.cpu = options->cpus[1];
    line.last = 2 * piece * PIECES;
    int r = ruler_bind(options->cpus[0]);
    if (r == 0)
        r = -pthread_create(&thread, NULL, line_answer, &line);
    if (r < 0)
        return ruler_error(r, "the second thread");
    for (unsigned i = 0; i < PIECES; i++) {
        uint64_t begin = ruler_now_ns();
        for (uint64_t trip = 0; trip < piece; trip++) {
            atomic_store_explicit(&line.word, value + 1, memory_order_release);
            line_wait_for(&line.word, value += 2);
        }
        times[i] = (uint32_t)((ruler_now_ns() - begin) * 100 / piece);
    }
    pthread_join(thread, NULL);
    if (line.error < 0)
        return line.error;
    ruler_sort(times, PIECES);
    printf("bench=ruler_line rtt_ns=%.1f least_ns=%.1f most_ns=%.1f\n", times[PIECES / 2] / 100.0,
           times[0] / 100.0, times[PIECES - 1] / 100.0);
    return 0;
}
