/* SPDX-License-Identifier: Apache-2.0 */
/* Which ports a worker polls, and which ring for it: port.R3.
 *
 * Threads: a worker of its own ports; port_have_it_ring() by the control thread.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* port_poll_hot() of one that polls some. */
int64_t port_poll_some(struct worker *w);
/* Ready bits for ports that this worker polls and that have something new. Returned is the source
 * of the only one, without a bit, if nothing else is ready: to be taken at once; else -1. */
static inline int64_t port_poll_hot(struct worker *w)
{
    uint64_t any = 0;
    for (uint32_t word = 0; word < ODEON_PORTS_MAX / 64; word++)
        any |= w->ports.hot[word];
    return any ? port_poll_some(w) : -1;
}
/* Before sleeping: doorbells on.  True: something was published meanwhile. */
bool port_make_cold(struct worker *w);
/* Its owner will not poll it for long, and nobody else can have it: its client is to ring. Right at
 * any time (port.R3), and looked at by whoever finds the ready bit. Control thread. */
void port_have_it_ring(struct engine *engine, uint32_t id);
