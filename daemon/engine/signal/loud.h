/* SPDX-License-Identifier: Apache-2.0 */
/* Ports whose doorbell rings without end (docs/engine/ports.md, Ports that are loud). A bell takes
 * a worker out of its sleep, whoever rings and for whatever; a client that does nothing else would
 * have the workers wake up all the time, on the time of everybody. Such a port is told to the
 * control thread, which has nobody listen to it for a while: its records are looked at by the clock
 * then.
 *
 * loud.D1  What is counted are *idle bells*: the port has been run behind one, nothing could be
 *     taken from it, and since the last bell its client has published nothing and received nothing.
 *     So it is, too, with a port whose deliveries do not fit, or whose records wait for their
 *     receiver or for its user's rate. Runs that others bring about, who deliver or make room, are
 *     none of its client's. A port is loud with LOUD_IDLE_MOST of them, and one more for each
 *     worker, within LOUD_WINDOW_NS; each bell that was for something makes up for one for each
 *     worker, all of whom may have heard that same bell. The library rings only for a record, or
 *     for room that it has made, and only when nobody looks.
 * loud.D2  A loud port is told once, until it is listened to again.
 * loud.D3  Nothing is overlooked: who listens again watches the bell, which reports a ring that
 *     came meanwhile, and signals the port.
 *
 * Threads: loud_note_bell() by whoever hears it, loud_note_run() by whoever runs the port; the
 * others by the control thread.
 */
#pragma once

#include "daemon/engine/core/core.h"

enum { LOUD_WINDOW_NS = 20 * 1000 * 1000, LOUD_IDLE_MOST = 64 };

/* Somebody has rung; the port is going to be run. */
static inline void loud_note_bell(struct port *port)
{
    store_relaxed(&port->bell.rang, 1);
}
/* What its client says that it has published and received, what it can have received, and whether
 * something was taken, in a run behind a bell. */
struct loud_look {
    uint64_t tail, head, delivered;
    bool worked;
};
void loud_note_run(struct worker *w, uint32_t id, const struct loud_look *look);
/* Before the port is open. */
void loud_reset(struct port *port);
/* Before it is listened to again. */
void loud_forgive(struct port *port);
