/* SPDX-License-Identifier: Apache-2.0 */
/* A clock for between two messages: a register of the processor, some ten nanoseconds a look where
 * the kernel's clock takes thirty and, without a vDSO, a system call.
 *
 * Only differences that one thread sees are of use, and only for how often something is done:
 * whoever uses them must bear a clock that stands still, jumps, or runs at another rate (a virtual
 * machine that was moved). Where the register is not known to be steady, the kernel's clock stands
 * in for it; in the simulator the simulated one. Of a virtual machine's register the rate is looked
 * at now and then: after a move to another machine it is another one.
 */
#pragma once

#include <stdint.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/atomic.h"

/* Ticks in 1,024 ns, at least 1; 0: ticks are nanoseconds of the kernel's clock. Written before any
 * worker runs, and by ticks_check(). */
extern _Atomic uint64_t ticks_rate;

/* Finds out what a tick is; takes some 200 us the first time. Control thread. */
void ticks_calibrate(void);
/* Is it still that? A look every second at most, which costs nothing in between; what it finds
 * holds from then on. Control thread, now and then while anybody is busy. */
void ticks_check(uint64_t now_ns);
/* The rate that so many ticks in so long mean, where it was `rate` before: the same, if they differ
 * by no more than a clock's fluctuations; 0: it cannot be one. */
uint64_t ticks_rate_seen(uint64_t rate, uint64_t ticks, uint64_t ns);

/* In the simulator none: a word of the program, not of the engine's memory, has another address in
 * each process, and a run would not be the same twice. */
static inline uint64_t ticks_rate_known(void)
{
#ifdef ODEON_SIMULATE
    return 0;
#else
    return load_relaxed(&ticks_rate);
#endif
}

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__) && !defined(ODEON_SIMULATE)
    if (ticks_rate_known())
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__) && !defined(ODEON_SIMULATE)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    if (ticks_rate_known())
        return now;
#endif
    return clock_now_ns();
}

static inline uint64_t ticks_of_ns(uint64_t ns)
{
    uint64_t rate = ticks_rate_known();
    return rate ? ns * rate >> 10 : ns;
}
/* A quotient: not for each message. Of less than a month. */
static inline uint64_t ticks_to_ns(uint64_t ticks)
{
    uint64_t rate = ticks_rate_known();
    return rate ? (ticks << 10) / rate : ticks;
}
