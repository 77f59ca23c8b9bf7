/* SPDX-License-Identifier: Apache-2.0 */
/* Who has changed what: a line of the log for each change that a client has made to the service,
 * with user, process and unit, and what was before.
 *
 * audit.AU1  What is written has been done: a refused request has no line here. Spawns and stops
 *     are written when they are made by hand, by a client called odeonctl; programs make them by
 *     the thousand.
 * audit.AU2  Of one connection AUDIT_BY_HAND_MOST spawns and stops are written one by one; behind
 *     them one line says that there are more. A whole type can be stopped by one command.
 *
 * Event loop thread only; keeps nothing.
 */
#pragma once

#include "daemon/supervisor/client.h"

struct seat;

enum { AUDIT_BY_HAND_MOST = 16 };

/* A request has been carried out: of `client`, or, NULL, of one of user `uid` that has gone since.
 * Before the seat notes what it has changed: `reply` says it, the seat's settings what was. */
void audit_request(const struct seat *seat, struct client *client, uid_t uid,
                   const Odeon__Request *asked, const Odeon__Reply *reply);
void audit_kick(const struct client *client, const struct client *other);
