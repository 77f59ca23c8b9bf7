/* SPDX-License-Identifier: Apache-2.0 */
/* The clock, and work that takes as long as it is told: the same for actors and for bare threads.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define WORK_SECOND_NS UINT64_C(1000000000)

static inline uint64_t work_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * WORK_SECOND_NS + (uint64_t)now.tv_nsec;
}

static inline void work_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void work_pause_ns(uint64_t ns)
{
    nanosleep(&(struct timespec){ .tv_sec = (time_t)(ns / WORK_SECOND_NS),
                                  .tv_nsec = (long)(ns % WORK_SECOND_NS) },
              NULL);
}

/* Works for `ns`, 0: not at all; returns the time at its end. */
static inline uint64_t work_for(uint64_t ns, uint64_t sleeps)
{
    uint64_t begin_ns = work_now_ns(), now_ns = begin_ns;

    if (sleeps != 0 && ns != 0)
        work_pause_ns(ns);
    while (now_ns - begin_ns < ns)
        now_ns = work_now_ns();
    return now_ns;
}
