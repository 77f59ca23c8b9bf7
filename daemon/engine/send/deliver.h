/* SPDX-License-Identifier: Apache-2.0 */
/* Delivery: a flush's records that go to a client (docs/engine.md, Ports as sources), to its ring
 * or, when that is full, to the port's backlog. What moves them on from there is drain.h's.
 *
 * Threads: by any worker id, under the lock of the port's backlog, which is the port's lock.
 *
 * deliver.D1  Ring or backlog is decided under the lock, inside the journaled step, and the
 *     journal's entry says which: after a crash the step is either finished as decided or decided
 *     anew (docs/why, port backlog).
 * deliver.D2  While the backlog is not empty, records go to the backlog: FIFO.
 * deliver.D3  dtail, in the segment, is stored before the visible tail; recovery repeats the
 *     latter.
 * deliver.D4  The client's head is believed only between the last one believed and dtail.
 * deliver.D5  Above its limit a backlog takes what its port's policy says: nothing more
 *     (drop-newest), up to twice the limit (drop-oldest), and the runner, who is told, drops what
 *     waits longest until no more than the limit waits.  Only the runner drops: its record says how
 *     far, as when it moves records to the ring, so that a kill finds them dropped or not.
 * deliver.D6  Who appends to a backlog in which something waits tells nobody: the runner has been
 *     told by the first append to that buffer, or has the buffer before in hand, as a batch.  The
 *     batch bit is read behind a full barrier behind the append, the runner looks at what was
 *     appended behind one behind the clearing of the bit [BL_EARLY, BL_LOOK]: either sees the
 *     other.  A batch that is set aside for want of room in the ring, and a buffer that is left
 *     where it is, wait for the client's bell (port_layout.P4).
 * deliver.D7  Who delivers touches the port's memory, its words included, inside the lock alone,
 *     and while the port is open: behind the unlock it may be unmapped, whatever thread this is
 *     (reap.RP3).
 */
#pragma once

#include "daemon/engine/core/core.h"

/* One step of a flush. */
void deliver_group(struct worker *w, uint32_t step, const struct outbox_group *group);
bool deliver_backlog_waits(struct engine *engine, uint32_t port);
/* Room in the ring by the client's head, looked at again only when the last one believed does not
 * suffice. Under the lock. */
bool deliver_ring_has_room(struct port *port, struct segment_port *durable, uint64_t bytes);
/* Wakes a client as its waiting word says: by the futex of that word, or by the port's pipe. */
void deliver_wake(const struct port *port, uint32_t wait, _Atomic uint32_t *futex);
void deliver_count_dropped(struct worker *w, struct port *port, enum stat_index why, uint64_t n);
