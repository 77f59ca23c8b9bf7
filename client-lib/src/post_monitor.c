/* SPDX-License-Identifier: Apache-2.0 */
/* Being told of an end, or not any more: a record without a payload, whose receiver is who is
 * watched. Who posts. */
#include <errno.h>

#include "client-lib/src/error.h"
#include "client-lib/src/port_lock.h"
#include "client-lib/src/post.h"

static int post_monitor_check(const struct odeon_port *port, uint64_t correlation)
{
    int result = port_check_data(port, NULL, 0);

    if (result < 0)
        return result;
    if (correlation == 0 || correlation & PORT_CORRELATION_CALL)
        return error_set_literal(-EINVAL, "a correlation id is neither 0 nor has its highest bit "
                                          "set: those are odeon_port_call()'s");
    return 0;
}

static int post_monitor(struct odeon_port *port, odeon_ref ref, uint32_t type, uint64_t correlation)
{
    void *payload = NULL;
    int result;

    port_lock(port);
    result = port_reserve(port, ref, type, POST_CORRELATED, correlation, 0, &payload);
    if (result == 0)
        port_publish(port);
    else
        result = port_explain_full(port, result);
    port_unlock(port);
    return result;
}

int odeon_port_monitor(struct odeon_port *port, odeon_ref ref, uint64_t correlation)
{
    int result = post_monitor_check(port, correlation);

    if (result < 0)
        return result;
    if (!port->monitors)
        return error_set_literal(-ENOSYS, "the service at which this port was opened tells no "
                                          "client of ends: it is older than odeon_port_monitor()");
    return post_monitor(port, ref, MESSAGE_TYPE_PORT_DOWN, correlation);
}

int odeon_port_demonitor(struct odeon_port *port, odeon_ref ref, uint64_t correlation)
{
    int result = post_monitor_check(port, correlation);

    if (result < 0)
        return result;
    if (!port->demonitors)
        return error_set_literal(-ENOSYS, "the service at which this port was opened takes no "
                                          "monitor back: it is older than odeon_port_demonitor()");
    return post_monitor(port, ref, MESSAGE_TYPE_PORT_DEMONITOR, correlation);
}
