/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a port's ring that become timers, in the flip that consumes them (timer_posted.h):
 * what is to be sent at a time to come, and what is to be told when somebody ends.
 *
 * Threads: the worker that runs the port, within its visit.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* The record at the batch's cursor, `h` being the copy of its header: a timer is armed with it, or
 * it is refused; either way it has been consumed. Anything but PORT_OK: the port is to be closed
 * for it. */
enum port_broken port_later_route(struct worker *w, uint32_t id, struct port *port,
                                  const struct envelope *h);
/* The same of a record whose client wants to be told of an end, which may have come; or no
 * longer. */
enum port_broken port_later_monitor(struct worker *w, uint32_t id, const struct port *port,
                                    const struct envelope *h);
