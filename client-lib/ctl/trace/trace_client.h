/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages a client has posted: those whose sender is one of its ports. A record says the
 * port, and the service whose that is, as long as the client is there.
 *
 * A port that was the client's at one look is its own for good, for no other port has its
 * reference: what it posted before it closed the port is shown as well.
 *
 * Owned by the command, one thread.
 */
#pragma once

#include "client-lib/ctl/ctl.h"

#include <odeon/admin.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_client {
    const char *who; /* its name, or its number in decimal; NULL: any */
    odeon_ref *ports;
    size_t n;
};

/* Asks whose ports are whose now; several may have one name. 0, or an exit code, after a message:
 * the service does not answer, or, at first, nobody is called so, or nothing is told of the ports
 * that they have. */
int trace_client_look(struct ctl *ctl, struct trace_client *client, bool first);
bool trace_client_wants(const struct trace_client *client, odeon_ref from);
void trace_client_free(struct trace_client *client);
