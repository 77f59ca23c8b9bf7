/* SPDX-License-Identifier: Apache-2.0 */
/* See settings_sizes.h. */
#include "daemon/executor/settings_sizes.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *key;
    size_t offset; /* of the uint64_t */
} sizes[SETTINGS_SIZES] = {
    { "workers-max", offsetof(struct settings, workers_max) },
    { "queues-per-worker", offsetof(struct settings, queues_per_worker) },
    { "detached", offsetof(struct settings, detached) },
    { "actors", offsetof(struct settings, actors) },
    { "limit-bytes", offsetof(struct settings, limit_bytes) },
    { "outbox-bytes", offsetof(struct settings, outbox_bytes) },
    { "backlog-bytes", offsetof(struct settings, backlog_bytes) },
    { "dead-letter-bytes", offsetof(struct settings, dead_letter_bytes) },
    { "durable-bytes", offsetof(struct settings, durable_bytes) },
    { "timers", offsetof(struct settings, timers) },
    { "timer-bytes", offsetof(struct settings, timer_bytes) },
};

bool settings_sizes_has(const char *key)
{
    for (unsigned i = 0; i < SETTINGS_SIZES; i++)
        if (strcmp(sizes[i].key, key) == 0)
            return true;
    return false;
}

bool settings_sizes_get(const struct settings *settings, unsigned index, const char **ret_key,
                        uint64_t *ret_value)
{
    if (index >= SETTINGS_SIZES)
        return false;
    *ret_key = sizes[index].key;
    *ret_value = *(const uint64_t *)((const char *)settings + sizes[index].offset);
    return true;
}
