/* SPDX-License-Identifier: Apache-2.0 */
/* The submission ring for what is built on it: a call is a post, too. Who posts, with the turn
 * (port_lock.h), but for port_post_until() and the checks. */
#pragma once

#include "client-lib/src/port.h"

/* How a record is posted: flags of its header, and above them the bits of its prefix. */
enum port_how {
    POST_URGENT = ENVELOPE_URGENT,
    POST_REPLY = ENVELOPE_REPLY,
    POST_CORRELATED = PREFIX_CORRELATION << 8,
    /* whoever reserves these fills the words in front of the message, in this order */
    POST_TRACED = PREFIX_TRACE << 8,
    POST_AFTER = PREFIX_AFTER << 8,
};

/* Room for a record of `size` bytes behind the header, correlation id included when the
 * flag says so; the header is filled in, and *ret_payload is where the message goes. Errors of
 * odeon_port_post(); -EAGAIN has no text. */
int port_reserve(struct odeon_port *port, odeon_ref to, uint32_t type, unsigned how,
                 uint64_t correlation, size_t size, void **ret_payload);
/* Posts with a deadline; `how`: enum port_how, 0: nothing of it. */
int port_post_until(struct odeon_port *port, odeon_ref to, uint32_t type, unsigned how,
                    uint64_t correlation, const void *data, size_t size, int64_t deadline_ns);
/* 0; -EINVAL with its text. */
int port_check_data(const struct odeon_port *port, const void *data, size_t size);
/* What is reserved is the service's from here on. */
void port_publish(struct odeon_port *port);
/* 1: the service has taken so much that a record of so many bytes, header included, has room; 0: it
 * has not; -EPROTO. */
int port_has_room(struct odeon_port *port, uint64_t bytes);
/* -ENOTSUP with its text, where several threads post (port.L6), -EINVAL: NULL; else 0. */
int port_check_alone(const struct odeon_port *port);
/* (room.c) Publishes, and waits until a record of so many bytes, header included, has room: 0;
 * -ETIMEDOUT, -EPIPE, -EPROTO, with their texts. Not with the turn. Where several threads post, one
 * of them looks and sleeps, and the others wait for its place: the words in the port are those of
 * one. */
int port_wait_for_room(struct odeon_port *port, uint64_t bytes, int64_t deadline_ns);
/* `result` of port_reserve(), with a text where that was -EAGAIN; the port may be found closed. */
int port_explain_full(struct odeon_port *port, int result);
