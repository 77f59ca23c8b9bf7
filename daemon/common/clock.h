/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock, and that which counts suspended time, too, read in one place: the moment in
 * the unit that a caller counts in.
 *
 * No state, any thread, no system call where the kernel has a vDSO. The library for clients has a
 * reader of its own (client-lib/src/wait.h): it includes nothing of the daemons.
 */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_boot_ns(void)
{
    return clock_read_ns(CLOCK_BOOTTIME);
}

static inline int64_t clock_now_ms(void)
{
    return (int64_t)(clock_now_ns() / UINT64_C(1000000));
}
