/* SPDX-License-Identifier: Apache-2.0 */
/* The actors that the configuration names (actor_line.h), found or made: one after the other, in
 * the order of the file, by requests of odeond's own. Event loop thread only.
 *
 * start_actors.SA1  A start, a restart and a reload, which a person wants, ask for all of them. The
 *     death of executor or odeond only has the rest asked for of what was being done: an actor that
 *     has ended stays ended (registry_layout.G8).
 * start_actors.SA2  The service is ready, and the requests of clients are passed on, when each has
 *     been found, made or refused.
 * start_actors.SA3  One that cannot be made is told of, and keeps neither the others nor the
 *     service from going on.
 */
#pragma once

#include "daemon/supervisor/actor_line.h"

struct seat;

/* The executor is ready: `done` is called when they are there, perhaps at once. */
void start_actors_begin(struct seat *seat, void (*done)(struct seat *seat));
/* The configuration has been read again and is in force: all are asked for once more, now or when
 * an executor is ready; `made` is called after that. `former`: the lines up to now. */
void start_actors_reload(struct seat *seat, const struct actor_lines *former,
                         void (*made)(void *userdata), void *userdata);
/* What could not be sent (executor_link.E5). */
void start_actors_go_on(struct seat *seat);
/* The executor has ended. */
void start_actors_on_exited(struct seat *seat);
