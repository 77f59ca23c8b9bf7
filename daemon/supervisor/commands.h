/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of clients: one table says who answers what.  Event loop thread only.
 *
 * A handler answers, or passes the request on to the executor of the seat that it is given; it may
 * take the request (and set *request to NULL) and its descriptors. After an answer the client may
 * be dropped already (client.K5).
 */
#pragma once

#include "daemon/common/frame.h"
#include "daemon/supervisor/client.h"

struct seat;

/* One record of a client, whose requests are this seat's. */
void commands_handle(struct seat *seat, struct client *client, struct frame *frame);
