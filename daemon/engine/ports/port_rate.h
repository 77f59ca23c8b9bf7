/* SPDX-License-Identifier: Apache-2.0 */
/* How many records may be taken from a port: as many as come, or, where its user has a quota, as
 * many as the control thread has granted (docs/engine.md, Rates). Who has posted more than that is
 * not refused: its records stay in its ring, and when that is full it feels it.
 *
 * Threads: port_rate_left() and port_rate_count() by whoever runs the port; the rest by the control
 * thread.
 *
 * port_rate.G1  `granted` and `taken` count records since the port was opened.  The first is
 *     written by the control thread alone, the second by the runner alone; both are read by the
 *     other as a hint that is made good by port_rate.G2.
 * port_rate.G2  A runner that finds nothing granted sets `spent`, full barrier, and looks again;
 *     the control thread grants, full barrier, and takes `spent` away [SPENT_RECHECK]: either the
 *     runner sees the grant, or the control thread sees the port and signals it.
 * port_rate.G3  A spent port has nothing to do, like a stalled one: nobody polls it, no worker
 *     stays awake for it.
 * port_rate.G4  A port without a quota costs the look at one flag a visit.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Records that may be taken now.  0: none, and the control thread has been told. */
uint64_t port_rate_look(struct worker *w, uint32_t id);
static inline uint64_t port_rate_left(struct worker *w, uint32_t id)
{
    return likely(!load_relaxed(&w->engine->ports.table[id].rated)) ? UINT64_MAX
                                                                    : port_rate_look(w, id);
}
/* Records have been taken. The count in the port's memory outlives this executor. */
static inline void port_rate_count(struct port *port, uint64_t n)
{
    store_relaxed(&port->taken, load_relaxed(&port->taken) + n);
    store_relaxed(&port->executor_words->posts, load_relaxed(&port->executor_words->posts) + n);
}
/* Before the port is open. */
void port_rate_reset(struct port *port, bool rated);
