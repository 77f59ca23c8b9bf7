/* SPDX-License-Identifier: Apache-2.0 */
/* What the actors of the work queue are spawned with. */
#pragma once

#include <odeon/plugin.h>

#include "work.h"

/* A job is leased for `lease_ms` (0: 60000), at most `attempts` times (0: any number). At most
 * `jobs` (0: 1000) wait and are leased at a time. `name` is the name that the queue is registered
 * by. */
ODEON_ARGUMENTS(work_queue_args, {
    uint32_t lease_ms, attempts, jobs;
    char name[16];
});

struct work_item_args {
    uint64_t number, lease_ns;
    uint32_t attempts;
    char queue[WORK_QUEUE_MAX];
};
