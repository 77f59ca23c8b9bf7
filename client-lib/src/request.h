/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the control connection, one by one; round trips are in connect.h. All under the
 * mutex. */
#pragma once

#include <stdbool.h>

#include "client-lib/src/connect.h"

/* The next record, parsed, with its descriptors. 0; -EAGAIN with `wait` false; else the connection
 * has ended (connect.C2, connect.C4). */
int client_receive_reply(struct odeon_client *client, bool wait, struct client_answer *ret_answer);
