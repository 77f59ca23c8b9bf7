/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of odeon-ruler share.
 *
 * The ruler knows nothing of Odeon: it measures what two cores can do with bare memory, so that
 * figures of the service can be read beside it. On virtual machines the distance of two cores
 * changes from one minute to the next; a figure of two cores means something only between two equal
 * rulers.
 */
#pragma once

#include <stdint.h>

#include <stdatomic.h>
#include <time.h>

struct ruler_options {
    int cpus[2];      /* of the two sides */
    uint64_t trips;   /* of a ping-pong */
    uint64_t records; /* of a one-way run */
    uint64_t wakes;   /* of a sleeping thread */
};

static inline uint64_t ruler_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline void ruler_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Binds the calling thread; 0, or a negative errno after having said why. */
int ruler_bind(int cpu);
/* Prints and returns `error`. */
int ruler_error(int error, const char *what);
void ruler_sort(uint32_t *values, uint64_t n);

/* Each prints its line, and returns 0 or a negative errno. */
int ruler_line(const struct ruler_options *options);     /* line.c */
int ruler_pingpong(const struct ruler_options *options); /* ring.c */
int ruler_ring(const struct ruler_options *options, unsigned batch);
int ruler_wake(const struct ruler_options *options); /* wake.c */
