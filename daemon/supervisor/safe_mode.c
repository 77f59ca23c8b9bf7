/* SPDX-License-Identifier: Apache-2.0 */
/* See safe_mode.h. */
#include "daemon/supervisor/safe_mode.h"

#include <stdatomic.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/seat.h"

/* By its place among those that the last start was given, from 1. */
static struct kept_plugin *safe_mode_plugin_started(struct seat *seat, uint32_t place)
{
    for (size_t i = 0; i < seat->plugins.n; i++)
        if (!seat->plugins.list[i].left_out && --place == 0)
            return &seat->plugins.list[i];
    return NULL;
}

bool safe_mode_on_exit(struct seat *seat, bool blame)
{
    uint32_t place =
        atomic_exchange_explicit(&seat->stats.header->plugin_loading, 0, memory_order_relaxed);
    struct kept_plugin *plugin = place > 0 ? safe_mode_plugin_started(seat, place) : NULL;

    if (!plugin || !blame)
        return false;
    plugin->left_out = ++plugin->crashes >= SAFE_MODE_CRASHES;
    if (plugin->left_out)
        log_error("plugin %s has ended the executor %u times while it was loaded: it is left out; "
                  "what is sent to its actors becomes dead "
                  "letters. Load a repaired one with 'odeonctl plugin load'",
                  plugin->path, plugin->crashes);
    else
        log_warning("the executor has ended while it loaded plugin %s (%u of %d)", plugin->path,
                    plugin->crashes, SAFE_MODE_CRASHES);
    return true;
}

void safe_mode_on_ready(struct seat *seat)
{
    for (size_t i = 0; i < seat->plugins.n; i++)
        if (!seat->plugins.list[i].left_out)
            seat->plugins.list[i].crashes = 0;
}
