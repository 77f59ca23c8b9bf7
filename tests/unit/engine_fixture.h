/* SPDX-License-Identifier: Apache-2.0 */
/* An engine in the test's own process: segment and statistics in memfds, small tables, handlers in the test. */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "daemon/common/memfd.h"
#include "daemon/engine/core.h"
#include "daemon/engine/engine.h"

struct engine_fixture {
    struct engine_config config;
    struct engine *engine;
    int segment_fd, stats_fd;
};

static inline struct engine_config engine_fixture_config(uint32_t workers, uint32_t queues)
{
    return (struct engine_config){
        .n_workers = workers,
        .queues_per_worker = queues,
        .actors_max = 1 << 17,
        .limit_bytes = 64 << 20,
        .outbox_bytes = 16 << 20,
        .backlog_bytes = 1 << 20,
        .dlq_bytes = 1 << 20,
        .throughput = 4096,
        .attempts_max = 3,
        .stealing = STEAL_LONGEST_VICTIM,
        .spin_ns = 20000,
    };
}

static inline void engine_fixture_reopen(struct engine_fixture *f, struct engine_recovery *report)
{
    const char *text;
    int r = engine_open(&f->config, f->segment_fd, f->stats_fd, &f->engine, &text);
    if (r < 0) {
        fprintf(stderr, "engine_open: %s: %s\n", strerror(-r), text);
        abort();
    }
    r = engine_recover(f->engine, report);
    assert(r == 0);
}

static inline void engine_fixture_open(struct engine_fixture *f, struct engine_config config)
{
    struct engine_recovery report;
    f->config = config;
    f->segment_fd = memfd_make_sealed("segment", engine_segment_size(&config));
    f->stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    assert(f->segment_fd >= 0 && f->stats_fd >= 0);
    engine_fixture_reopen(f, &report);
}

static inline void engine_fixture_close(struct engine_fixture *f)
{
    f->engine = engine_close(f->engine);
    close(f->segment_fd);
    close(f->stats_fd);
}

/* All workers together. */
static inline uint64_t engine_fixture_stat(struct engine_fixture *f, enum stat_index stat)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->engine->segment.n_ids; i++)
        sum += load_relaxed(&f->engine->workers[i]->stats->value[stat]);
    return sum;
}

static inline bool engine_fixture_wait(struct engine_fixture *f, uint64_t timeout_ns)
{
    uint64_t unreceived;
    return engine_drain(f->engine, timeout_ns, false, &unreceived) == 0;
}
