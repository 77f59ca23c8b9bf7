/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before the executor is started again.
 *
 * At once after a first failure; each further one that comes before the executor was ready for a
 * second doubles the wait, from 10 ms to a maximum. Nothing gives up: messages of clients lie in
 * memory that only a running executor empties.
 */
#pragma once

#include <stdint.h>

struct backoff {
    unsigned failures; /* in a row */
};

/* `ready_for_ns`: how long the executor that died had been ready, 0 if it never was. Returns the
 * wait in nanoseconds. */
uint64_t backoff_next_ns(struct backoff *backoff, uint64_t ready_for_ns, uint64_t max_ns);
