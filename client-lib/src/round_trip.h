/* SPDX-License-Identifier: Apache-2.0 */
/* Round trips of a port, counted in its memory, where the service reads them
 * (port_layout.h, port_round_trips): of calls and of posts with a deadline. The receiving thread
 * alone, so plain stores will do. Answers that are found in the ring together have come at the same
 * time: one look at the clock is for all of them.
 */
#pragma once

#include "client-lib/src/port.h"

static inline void round_trip_raise(_Atomic uint64_t *word)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* The answer to what was posted at `began_ns` has been taken. */
static inline void round_trip_answered(struct odeon_port *port, int64_t began_ns)
{
    struct port_round_trips *trips = &port->mine->round_trips;
    uint64_t ns;

    if (port->seen_ns == 0)
        port->seen_ns = monotonic_ns();
    ns = port->seen_ns > began_ns ? (uint64_t)(port->seen_ns - began_ns) : 0;
    round_trip_raise(&trips->answered[time_cell(ns)]);
    if (ns > atomic_load_explicit(&trips->longest_ns, memory_order_relaxed))
        atomic_store_explicit(&trips->longest_ns, ns, memory_order_relaxed);
}

static inline void round_trip_refused(struct odeon_port *port)
{
    round_trip_raise(&port->mine->round_trips.refused);
}

/* There was no answer in time. */
static inline void round_trip_late(struct odeon_port *port)
{
    round_trip_raise(&port->mine->round_trips.late);
}
