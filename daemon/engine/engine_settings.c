/* SPDX-License-Identifier: Apache-2.0 */
/* Live settings that need no barrier. */
#include "daemon/engine/engine.h"

#include <string.h>

#include "daemon/engine/core.h"

void engine_set_stealing(struct engine *e, enum steal_policy_id id)
{
    e->config.stealing = id;
    store_relaxed(&e->stealing, id);
    store_relaxed(&e->stats->stealing, id);
    strncpy(e->stats->stealing_name, steal_policy_name(id), sizeof(e->stats->stealing_name) - 1);
}

void engine_set_throughput(struct engine *e, uint32_t messages)
{
    e->config.throughput = messages;
    store_relaxed(&e->throughput, messages);
    store_relaxed(&e->stats->throughput, messages);
}

const struct engine_config *engine_get_config(const struct engine *e)
{
    return &e->config;
}
