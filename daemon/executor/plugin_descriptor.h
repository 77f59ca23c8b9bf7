/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin says about itself (struct odeon_plugin), checked before anything of it is used.
 *
 * Pure functions of the descriptor; control thread, or a test.
 *
 * plugin_descriptor.D1  What plugin_descriptor_check() accepts can be walked without further
 *     checks: no NULL, no
 * length beyond its bound, no name twice.
 */
#pragma once

#include <odeon/plugin.h>

#include "daemon/executor/explain.h"

/* 0; -EINVAL: the text names the field, theirs, ours. */
int plugin_descriptor_check(const struct odeon_plugin *descriptor, struct explain *explain);
/* Messages of the descriptor, by index below _count(); NULL: a gap that the linker left. */
size_t plugin_descriptor_count_messages(const struct odeon_plugin *descriptor);
struct odeon_message_type *plugin_descriptor_get_message(const struct odeon_plugin *descriptor,
                                                         size_t index);
/* A behaviour, by index below n_behaviours: in steps of the plugin's own behaviour_size. */
const struct odeon_behaviour *plugin_descriptor_get_behaviour(const struct odeon_actor_type *type,
                                                              uint32_t index);
/* The sets of behaviours beside the first one, and a behaviour of one; the first one's name. */
uint32_t plugin_descriptor_count_phases(const struct odeon_actor_type *type);
const struct odeon_behaviour *
plugin_descriptor_get_behaviour_in(const struct odeon_actor_type *type,
                                   const struct odeon_behaviour_set *phase, uint32_t index);
const char *plugin_descriptor_first_phase(const struct odeon_actor_type *type);
/* Bytes that every message of the type has at least: the struct up to its tail. */
uint32_t message_type_least_size(const struct odeon_message_type *type);
