/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that could not begin, for people: counted by type, until the control thread takes the
 * count and tells of it (engine_type_unbegun()). Who has spawned one is told by monitor.MO2.
 *
 * unbegun.UB1  Whoever counts the first one since the last taking leaves an event: nothing counted
 *     is never heard of, and a type whose spawns all fail costs one event a taking.
 *
 * Threads: any worker id counts; the control thread takes.
 */
#pragma once

#include "daemon/engine/core/core.h"

void unbegun_note(struct worker *w, actor_ref ref, enum envelope_reason reason);
