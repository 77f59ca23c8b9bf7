/* SPDX-License-Identifier: Apache-2.0 */
/* A clock for between two messages: a register of the processor, some ten nanoseconds a look where
 * the kernel's clock takes thirty and, without a vDSO, a system call.
 *
 * Only differences that one thread sees are of use, and only for how often something is done:
 * whoever uses them must bear a clock that stands still, jumps, or runs at another rate (a virtual
 * machine that was moved). Where the register is not known to be steady, the kernel's clock stands
 * in for it; in the simulator the simulated one.
 */
#pragma once

#include <stdint.h>

#include "daemon/common/clock.h"

/* Ticks in 1,024 ns, at least 1; 0: ticks are nanoseconds of the kernel's clock. Written before any
 * worker runs. */
extern uint64_t ticks_rate;

/* Finds out what a tick is; takes some 200 us the first time. Control thread. */
void ticks_calibrate(void);

static inline uint64_t ticks_now(void)
{
#if defined(__x86_64__) && !defined(ODEON_SIMULATE)
    if (ticks_rate)
        return __builtin_ia32_rdtsc();
#elif defined(__aarch64__) && !defined(ODEON_SIMULATE)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    if (ticks_rate)
        return now;
#endif
    return clock_now_ns();
}

static inline uint64_t ticks_of_ns(uint64_t ns)
{
    return ticks_rate ? ns * ticks_rate >> 10 : ns;
}
/* A quotient: not for each message. Of less than a month. */
static inline uint64_t ticks_to_ns(uint64_t ticks)
{
    return ticks_rate ? (ticks << 10) / ticks_rate : ticks;
}
