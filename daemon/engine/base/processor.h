/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread has had of processors: two system calls, of one or two microseconds each.
 *
 * In the simulator, where each thread has a processor whenever it wants one, that is all the time.
 */
#pragma once

#include <stdint.h>
#include <sys/resource.h>

#include "daemon/common/clock.h"

struct processor_use {
    uint64_t ns;     /* of a processor */
    uint64_t sleeps; /* times that it has waited for something else than a processor */
};

/* Of the calling thread, since it began. */
static inline struct processor_use processor_used(void)
{
#ifdef ODEON_SIMULATE
    return (struct processor_use){ .ns = clock_now_ns() };
#else
    struct rusage usage; /* whose times are those of the last tick */
    if (getrusage(RUSAGE_THREAD, &usage) < 0)
        usage.ru_nvcsw = 0;
    return (struct processor_use){ .ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID),
                                   .sleeps = (uint64_t)usage.ru_nvcsw };
#endif
}
