/* SPDX-License-Identifier: Apache-2.0 */
/* An actor type as a plugin describes it, translated into what the engine registers: its behaviours
 * and the sets of them (phases).
 *
 * Control thread, or a test. The plugin owns its description, which has to stay as long as the
 * translation does.
 */
#pragma once

#include <odeon/plugin.h>

#include "daemon/engine/engine.h"

struct plugin_type {
    const struct odeon_actor_type *described;
    uint32_t id; /* the engine's, 0: not registered */
    struct engine_actor_type_info info;
    struct engine_behaviour *behaviours;
    struct engine_behaviour_set *phases; /* with their functions behind them */
    struct actor_type *made;             /* what it is registered with next; NULL: not made */
};

/* Of a descriptor that has been checked, whose messages have ids. `around`: what the engine calls
 * instead of each behaviour; NULL: nothing. 0, -ENOMEM; plugin_type_free() is due either way. */
int plugin_type_make(struct plugin_type *type, const struct odeon_plugin *descriptor,
                     const struct odeon_actor_type *described, engine_behaviour_fn around);
void plugin_type_free(struct plugin_type *type);
/* Takes the memory that registering it needs; -ENOMEM. */
int plugin_type_prepare(struct plugin_type *type);
/* Of one that is prepared: 0, or as engine_actor_type_check(). */
int plugin_type_register(struct plugin_type *type, struct engine *engine);
/* The plugin's own behaviour for that message in that phase, if it has one of the name, else in the
 * first; NULL: it does not accept the message. */
odeon_behaviour_fn plugin_type_find_behaviour(const struct plugin_type *type, const char *phase,
                                              uint32_t message);
