/* SPDX-License-Identifier: Apache-2.0 */
/* The message types of a plugin, made known to the engine, which gives them their ids.
 *
 * Control thread, or a test. Types that are known stay known, whatever becomes of the plugin.
 */
#pragma once

#include <odeon/plugin.h>

#include "daemon/engine/engine.h"
#include "daemon/executor/explain.h"

/* Of a descriptor that has been checked; the ids go into it. 0, or a negative errno: the text says
 * which message is known otherwise, or has no room. */
int plugin_messages_intern(struct engine *engine, const struct odeon_plugin *descriptor,
                           struct explain *explain);
