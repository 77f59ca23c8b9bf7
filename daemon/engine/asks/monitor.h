/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors: an actor that wants to be told when another one, or a client, ends. Each is a watch of
 * its own (timers/watches.h), whose message is MESSAGE_TYPE_DOWN.
 * A client's is told as MESSAGE_TYPE_PORT_DOWN. It is begun by the worker that takes its record, in
 * the flip that consumes it (timer_posted.TP1), counts for the client's user, and ends with the
 * port.
 *
 * Threads: whichever worker id runs the turn, or the port.
 *
 * monitor.MO1  The service alone sends MESSAGE_TYPE_DOWN: what says so and has not its mark
 *     (KIND_DOWN) is refused where it arrives.
 * monitor.MO2  Who has spawned an actor that cannot begin is told once: by its monitor, if it has
 *     one of this life of the actor's, else in the turn with which the actor ends. What a monitor
 *     says of an earlier life may come behind that.
 * monitor.MO3  What says an end to a client is of a type of the system's, as a refusal is, and not
 *     of the one that plugins have a description of: the table has it as any other watch, and who
 *     sends it names it anew.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Within a turn. 0, and *ret_id; -EPERM: nobody's turn; -EOPNOTSUPP: this actor has no behaviour
 * for what it would be told; errors of timers_arm(). */
int monitor_open(struct worker *w, actor_ref watched, uint64_t *ret_id);
/* Within a turn. 0: with its commit nothing will be told; -ENOENT: it has been, or there is no such
 * monitor; -EPERM: another actor's. */
int monitor_close(struct worker *w, uint64_t id);
/* The message of a watch of `down.ref`, of an actor's or a client's. */
void monitor_down_write(struct envelope *at, actor_ref to, const struct down *down);
/* Within the turn with which a new actor ends that could not begin. */
void monitor_tell_spawner(struct worker *w, actor_ref ended, enum envelope_reason reason);
