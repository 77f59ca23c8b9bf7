/* SPDX-License-Identifier: Apache-2.0 */
/* The wait before a restart; the interface is in backoff.h. */
#include "daemon/supervisor/backoff.h"

#define FIRST_NS  UINT64_C(10000000)
#define STABLE_NS UINT64_C(1000000000)

uint64_t backoff_next_ns(struct backoff *backoff, uint64_t ready_for_ns, uint64_t max_ns)
{
    uint64_t wait_ns = FIRST_NS;

    if (ready_for_ns >= STABLE_NS)
        backoff->failures = 0;
    backoff->failures++;
    if (backoff->failures == 1)
        return 0;
    for (unsigned i = 2; i < backoff->failures && wait_ns < max_ns; i++)
        wait_ns *= 2;
    return wait_ns < max_ns ? wait_ns : max_ns;
}
