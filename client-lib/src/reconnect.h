/* SPDX-License-Identifier: Apache-2.0 */
/* Coming back after the end of odeond; the states and their rules are in connect.h (connect.C2,
 * connect.C4, connect.C5). All under the mutex. */
#pragma once

#include "client-lib/src/connect.h"

/* One step towards a connection, without waiting.  0: there is one; -EAGAIN: not yet; others:
 * lost. */
int client_come_back(struct odeon_client *client);
/* How long until there is something to do for it: the next try, or the end of patience. */
int64_t client_next_step_ns(const struct odeon_client *client, int64_t now_ns);
/* Waits for it; gives the mutex away meanwhile. 0, lost, or -ETIMEDOUT, then with `ret_held` false
 * where another thread has the mutex: the caller does not. */
int client_wait_back(struct odeon_client *client, int64_t deadline_ns, bool *ret_held);
