/* SPDX-License-Identifier: Apache-2.0 */
/* The message types of a plugin, made known to the engine, which gives them their ids.
 *
 * Control thread, or a test. Types that are known stay known, whatever becomes of the plugin.
 */
#pragma once

#include <odeon/plugin.h>

#include "daemon/engine/engine.h"
#include "daemon/executor/explain.h"

/* Message types by the engine's ids. */
struct message_set {
    uint64_t words[ODEON_MESSAGE_TYPES_MAX / 64];
};

static inline bool message_set_has(const struct message_set *set, uint32_t id)
{
    return id < ODEON_MESSAGE_TYPES_MAX && (set->words[id / 64] >> id % 64 & 1) != 0;
}

/* Of a descriptor that has been checked; the ids go into it, and into the set. 0, or a negative
 * errno: the text says which message is known otherwise, or has no room. */
int plugin_messages_intern(struct engine *engine, const struct odeon_plugin *descriptor,
                           struct message_set *ret_messages, struct explain *explain);
