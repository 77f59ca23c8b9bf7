/* SPDX-License-Identifier: Apache-2.0 */
/* Why a port cannot be used. */
#include "client-lib/src/port_explain.h"

#include <errno.h>

#include "client-lib/src/error.h"
#include "client-lib/src/request.h"

int port_explain(struct odeon_port *port)
{
    unsigned broken = atomic_load_explicit(&port->theirs->broken, memory_order_relaxed);
    int closed;

    if (broken != PORT_OK && port->client)
        client_poll_events(port->client); /* the reason is on its way there */
    closed = atomic_load_explicit(&port->closed, memory_order_acquire);
    if (closed != 0)
        return error_set(closed, "the port is closed: %s", port->reason);
    if (broken >= PORT_BROKEN_N)
        return error_set(-EPIPE,
                         "the service has closed the port for a reason (%u) that this version of "
                         "libodeon does not know",
                         broken);
    if (broken == PORT_BROKEN_CLOSED)
        return error_set_literal(-EPIPE, "the service has closed the port");
    return error_set(
        -EPIPE, "the service has closed the port because of what this process wrote into it: %s",
        port_broken_name(broken));
}
