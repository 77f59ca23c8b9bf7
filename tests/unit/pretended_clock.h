/* SPDX-License-Identifier: Apache-2.0 */
/* A monotonic clock of the test's own for its whole process: it goes on when the test says so. Each
 * thread has had a processor all the time, but for what the test says that it lacked. For one
 * source file of a program. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/engine/base/processor.h"
#include "tests/run/patience.h"

static _Atomic uint64_t pretended_ns; /* 0: the kernel's clock */
/* of that, what each thread has lacked a processor, and what it has slept */
static _Atomic uint64_t lacked_ns, slept_ns;

static inline uint64_t kernel_ns(void)
{
    struct timespec now = { 0 };
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* In place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    uint64_t at_ns = pretended_ns;
    if ((clock != CLOCK_MONOTONIC && clock != CLOCK_THREAD_CPUTIME_ID) || at_ns == 0)
        return (int)syscall(SYS_clock_gettime, clock, ret);
    if (clock == CLOCK_THREAD_CPUTIME_ID)
        at_ns -= lacked_ns + slept_ns;
    ret->tv_sec = (time_t)(at_ns / 1000000000);
    ret->tv_nsec = (long)(at_ns % 1000000000);
    return 0;
}

/* In place of the engine's (processor.h). */
uint64_t processor_lacked_ns(void)
{
    return lacked_ns;
}

/* Waits, by the kernel's clock, until the count has come so far, or for as long as anything may
 * take. */
static inline bool is_at_least(const _Atomic uint64_t *count, uint64_t n)
{
    uint64_t until_ns = kernel_ns() + (uint64_t)PATIENCE_NS;
    while (*count < n && kernel_ns() < until_ns)
        usleep(50);
    return *count >= n;
}
