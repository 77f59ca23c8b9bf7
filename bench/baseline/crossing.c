/* SPDX-License-Identifier: Apache-2.0 */
/* crossing.c - the counts of all threads together (crossing.h). */
#include "crossing.h"

#include <inttypes.h>
#include <stdio.h>

_Thread_local struct crossing crossing;

static _Atomic uint64_t totals[6];

void crossing_add(void)
{
    const uint64_t mine[6] = { crossing.sends, crossing.across, crossing.runs,
                               crossing.moved, crossing.looks,  crossing.swaps };
    for (unsigned i = 0; i < 6; i++) {
        atomic_fetch_add_explicit(&totals[i], mine[i], memory_order_relaxed);
    }
    crossing = (struct crossing){ .worker = crossing.worker };
}

void crossing_print(void)
{
    static const char *const names[6] = { "sends", "crossing", "runs", "moved", "looks", "swaps" };
    for (unsigned i = 0; i < 6; i++) {
        printf(" %s=%" PRIu64, names[i], atomic_exchange(&totals[i], 0));
    }
}
