/* SPDX-License-Identifier: Apache-2.0 */
/* The delivery ring for what is built on it: a call reads it, too. The port's owning thread. */
#pragma once

#include "client-lib/src/port.h"

/* 1: the ring has something to take; 0: it has not; -EPROTO. */
int port_look_for_delivery(struct odeon_port *port);
/* The next delivery of the ring: 1; 0: none; -EPROTO. Does not look whether the port is open,
 * does not set `lent`. */
int port_take(struct odeon_port *port, struct odeon_delivery *ret_delivery);
/* Waits until the ring has one: 1; 0: the deadline has passed, or, with `outcomes`, that of a post;
 * -EPIPE, -EPROTO. */
int port_wait_delivery(struct odeon_port *port, int64_t deadline_ns, bool outcomes);
/* A reply to, or refusal of, a call that nobody waits for any more. */
bool port_is_late_call(const struct odeon_delivery *delivery);
/* An outcome of a post with a deadline, as long as it has the library's id. */
bool port_is_of_deadline(const struct odeon_delivery *delivery);
/* False: the outcome of a post or call that has had one. An outcome that is wanted has its caller's
 * id from here on. */
bool port_is_wanted(struct odeon_port *port, struct odeon_delivery *delivery);
