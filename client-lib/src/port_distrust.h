/* SPDX-License-Identifier: Apache-2.0 */
/* What it means that a port's memory is in an impossible state (port.L5): the service is at fault,
 * or two threads of this process use the port at once, which looks the same to each of them.
 *
 * Nothing is noted while a port works, so that the finding costs the hot paths nothing. The second
 * thread is found by what it leaves: words that only this side writes contradict each other, are
 * others than the caller has seen, or change while the caller, who is the only one that may change
 * them, stands here; or what was impossible is possible when it is looked at again. Where nothing
 * is found the text says that it may be either.
 *
 * Threads: the port's owner; or those that should not be two.
 */
#pragma once

#include "client-lib/src/port.h"

/* The port is closed for it. All return -EPROTO with its text. */

/* The executor's head of the submission ring. */
int port_distrust_head(struct odeon_port *port);
/* The executor's tail of the delivery ring. */
int port_distrust_tail(struct odeon_port *port);
/* A delivery, which the caller has read at `record`. */
int port_distrust_record(struct odeon_port *port, const uint8_t *record, const char *what);
