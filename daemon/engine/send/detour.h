/* SPDX-License-Identifier: Apache-2.0 */
/* The detour of records for an actor that has been set aside (set_aside.h): what comes for it
 * through its queue is passed on to the aside queue, in order, until that has been worked off.
 *
 * Threads: whoever runs the record.
 *
 * detour.A4  An actor that is set aside is run from the aside queue alone.  Records for it that the
 *     runner of its own queue meets are sent on.  It comes back when that runner, with nothing of
 *     that in its outbox, takes the aside queue and finds it empty: then all that it had sent on
 *     has been run, and nobody else sends any.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* The record that is next is for this actor, which is set aside, or was when its slot was looked
 * at: it comes back, if it may. Asked before anything else of that record, so that it is one of the
 * actor's messages like any other. */
void detour_come_back(struct worker *w, struct actor *actor, actor_ref ref);
/* A record for an actor that is set aside still, from the batch that runs: is it to be run here and
 * now? Else it is to be sent on, or a dead letter. */
enum detour_verdict { DETOUR_RUN, DETOUR_SEND_ON, DETOUR_FULL };
enum detour_verdict detour_look(struct worker *w, actor_ref ref);
/* A port refuses at once what would be refused further on: what waits for it there is at its limit.
 * A hint: nobody's lock is held. */
bool detour_is_full(const struct engine *engine, actor_ref ref);
/* Sends it on. */
void detour_send_on(struct worker *w, const struct envelope *envelope, actor_ref ref);
/* An actor's key says so from now on (release). */
void detour_kind_set(struct actor *actor, enum actor_kind kind);
