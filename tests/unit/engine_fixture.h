/* SPDX-License-Identifier: Apache-2.0 */
/* An engine in the test's own process: segment and statistics in memfds, small tables, handlers in
 * the test. */
#pragma once

#include <assert.h>
#include <errno.h>
#include <setjmp.h> /* IWYU pragma: keep */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/clock.h"
#include "daemon/common/memfd.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/engine_context.h"
#include "tests/run/patience.h"

/* Counts for an ordinary build; sanitizers get a tenth. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_TSAN 1
#endif
#endif
#ifdef TEST_SANITIZED
#define TEST_SCALE(n) ((n) / 10)
#else
#define TEST_SCALE(n) (n)
#endif

/* of things that end soon, unless something is wrong */
#define TEST_DEADLINE_NS ((uint64_t)PATIENCE_NS)

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
    if (r < 0) {
        fprintf(stderr, "engine_recover: %s: %s\n", strerror(-r), report->damage);
        abort();
    }
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

/* A message type, known to have come about. */
static inline uint16_t engine_fixture_message(struct engine_fixture *f, const char *name,
                                              uint32_t size, bool has_tail)
{
    uint16_t id = 0;
    int r = engine_message_type_intern(f->engine, name, 1, size, has_tail, "", &id);
    if (r < 0) {
        fprintf(stderr, "message type %s: %s\n", name, strerror(-r));
        abort();
    }
    return id;
}

/* An actor type of plugin "test". */
static inline uint32_t engine_fixture_type(struct engine_fixture *f, const char *name,
                                           uint32_t state_size, engine_init_fn init,
                                           engine_fini_fn fini,
                                           const struct engine_behaviour *behaviours, uint32_t n)
{
    struct engine_actor_type_info info = {
        .name = name,
        .plugin = "test",
        .version = 1,
        .state_size = state_size,
        .n_behaviours = n,
        .behaviours = behaviours,
        .init = init,
        .fini = fini,
    };
    uint32_t id = 0;
    int r = engine_actor_type_register(f->engine, &info, &id);
    if (r < 0) {
        fprintf(stderr, "actor type %s: %s\n", name, strerror(-r));
        abort();
    }
    return id;
}

static inline actor_ref engine_fixture_spawn(struct engine_fixture *f, uint32_t type,
                                             const void *args, size_t size)
{
    actor_ref ref = 0;
    int r = engine_actor_spawn(f->engine, type, NULL, args, size, &ref);
    if (r < 0) {
        fprintf(stderr, "spawn: %s\n", strerror(-r));
        abort();
    }
    return ref;
}

/* Polls until `condition`, or the deadline: then false. */
#define engine_fixture_until(condition)                                                            \
    ({                                                                                             \
        uint64_t until_ = clock_now_ns() + TEST_DEADLINE_NS;                                       \
        bool met_;                                                                                 \
        while (!(met_ = (condition)) && clock_now_ns() < until_)                                   \
            nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);                               \
        met_;                                                                                      \
    })
