/* SPDX-License-Identifier: Apache-2.0 */
/* Starting executors: the first one and, whenever one dies, the next.  Event loop thread only.
 *
 * Order of a start: Start with the segment, a PortAdd for every port in use, a PluginLoad for every
 * plugin; the executor recovers and reports that it is ready; then what changed meanwhile, then the
 * requests that waited.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/supervisor/backoff.h"
#include "daemon/supervisor/executor_link.h"
#include "daemon/supervisor/rule_stops.h"

struct supervisor;

struct boot {
    struct backoff backoff;
    uv_timer_t timer;
    uint64_t start_id;  /* of the Start that waits for its answer; 0: none */
    bool start_refused; /* by the executor that runs: what else it says means nothing, it ends */
    uint64_t ready_ns;  /* since when the executor is ready; 0: it is not */
    /* What every executor watches processors with (executor/topology_watch.h); -1: none. An inotify
     * instance takes the kernel 5 to 15 ms to end, which it would do in the middle of an executor's
     * end, before anybody hears of that. */
    int watch_fd;
    uint64_t restarts;
    uint32_t boots; /* of executors that became ready */
    struct rule_stops rule_stops;
};

extern const struct link_ops boot_executor_ops;

void boot_init(struct supervisor *supervisor);
/* The first start.  0 or negative errno: the program cannot be run. */
int boot_begin(struct supervisor *supervisor);
/* Somebody says that an executor which stays down over a broken rule (rule_stops.h) is started. */
void boot_release(struct supervisor *supervisor);
/* No further starts. */
void boot_stop(struct supervisor *supervisor);
void boot_fini(struct supervisor *supervisor);
