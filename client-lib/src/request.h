/* SPDX-License-Identifier: Apache-2.0 */
/* Round trips on the control connection, and the events that come between. Any thread, without the
 * mutex. */
#pragma once

#include "client-lib/src/connect.h"

/* One round trip. 0: the reply has the expected body; the service's or the connection's error
 * otherwise, with its text set. `ret_answer` NULL: only the result matters. */
int client_call(struct odeon_client *client, Odeon__Request *request,
                Odeon__Reply__BodyCase expected, struct client_answer *ret_answer);

/* The same for what is not worth waiting for: nothing happens while the client is away, and no
 * error is told. False: it was not made and is to be made later: it had no turn among the requests
 * of other threads, the service took nothing for all of its time, or a greeting has no answer
 * yet. */
bool client_call_now(struct odeon_client *client, Odeon__Request *request);

/* Takes events that have arrived, without waiting; leaves it to a thread that is in a round
 * trip. */
void client_poll_events(struct odeon_client *client);
