/* SPDX-License-Identifier: Apache-2.0 */
/* Correlated posts that have a deadline: each has exactly one outcome, a reply, a refusal by the
 * service, or one of this library's own, ODEON_REASON_DEADLINE.
 *
 * What goes to the service in the place of the caller's id is one of the library's own (bits 63 and
 * 62, the round and the number of a slot), so that a reply that comes too late is known for one
 * without anything being kept for it, and the caller's ids may repeat.
 *
 * Threads: who posts begins a slot, who receives settles it. They may be two threads, one of each:
 * a slot goes from one to the other through `begun`, and back through `freed`, each a ring with one
 * writer and one reader. Nothing is locked. The table is one block of memory, which the first post
 * allocates and port_free() frees.
 *
 * awaited.A1  A slot is in one place: not used yet, in `begun`, in the heap, handed out with an
 *     outcome (until that is released), or in `freed`.
 * awaited.A2  Words of a slot above the line are written by who posts, and only between taking it
 *     out of `freed` and putting it into `begun`; those below by who receives, and only between
 *     `begun` and `freed`.
 * awaited.A3  A slot is in `begun` before its record is published: whoever sees the reply finds it.
 * awaited.A4  What lay in the delivery ring when a deadline was found to have passed is received
 *     before that deadline is told: a reply that has come in time is not taken for a late one
 *     because its receiver is late.
 * awaited.A5  The end of a port is the outcome of all that have none when its receiver is told, and
 *     of what another thread was posting. No other comes behind it.
 */
#pragma once

#include "client-lib/src/port.h"

enum { AWAITED_MAX = 16384, AWAITED_NOWHERE = UINT32_MAX }; /* slots: a power of two */

/* Ids of these posts, beside PORT_CORRELATION_CALL. */
#define PORT_CORRELATION_AWAITED (UINT64_C(1) << 62)

/* What is to be posted; -ENOBUFS with a text, when as many wait as can. `ret_id`: the id that goes
 * to the service. Nothing has happened yet: who posts says awaited_begin() when there is room. */
int awaited_prepare(struct odeon_port *port, uint64_t *ret_id);
/* awaited.A3: between reserving the record and publishing it; `id` is of the last
 * awaited_prepare(). Its round trip begins `after_ns` from now, when the service sends it on. */
void awaited_begin(struct odeon_port *port, uint64_t id, odeon_ref to, uint32_t type,
                   uint64_t correlation, int64_t after_ns, int64_t within_ns);

/* The rest is for who receives. */

/* A delivery with such an id: true: it is the outcome, and has the caller's id now; false: its post
 * has had its outcome, or never was. */
bool awaited_settle(struct odeon_port *port, struct odeon_delivery *delivery);
/* When the next deadline passes, DEADLINE_NEVER: none. */
int64_t awaited_next_ns(struct odeon_port *port);
/* Has one passed?  Then awaited_expire() has something to tell, once the ring has been emptied: who
 * asks looks at the ring behind that (awaited.A4). */
bool awaited_is_due(struct odeon_port *port);
/* The outcome of one whose deadline had passed when awaited_is_due() said so.  False: no more. */
bool awaited_expire(struct odeon_port *port, struct odeon_delivery *ret_delivery);
/* No outcome comes any more for the caller's id.  How many posts had it. */
size_t awaited_forget(struct odeon_port *port, uint64_t correlation);
/* The receiver is about to be told of the port's end (awaited.A5). */
void awaited_end(struct odeon_port *port);
/* An outcome has been released. */
void awaited_free_kept(struct odeon_port *port, struct port_kept *kept);
/* How many have no outcome yet; how many had none when their time was over. A look: either
 * thread. */
void awaited_count(const struct odeon_port *port, uint64_t *ret_waiting, uint64_t *ret_expired);
