/* SPDX-License-Identifier: Apache-2.0 */
/* Mayflies, which a keeper makes and waits for the end of: told to, one says its last word and
 * ends. Moths are linked to a mayfly, and hear of nothing but its end.
 *
 * Their behaviours run on the engine's fibers, mayfly_spawn() and mayfly_tell() within a turn,
 * mayfly_register() on the control thread's.
 */
#pragma once

#include <stdbool.h>

#include "daemon/engine/engine.h"
#include "tests/sim/promises.h"

/* What it is made with says whose it is, and which. Below 0: there is no room, or no thread. */
int mayfly_spawn(struct engine_context *ctx, const struct promise_message *args, bool link,
                 actor_ref *ret_ref);
/* To end; at once, or when it may have been lying there for a while. */
void mayfly_tell(struct engine_context *ctx, actor_ref mayfly, const struct promise_message *args);
void mayfly_register(struct engine *engine);
