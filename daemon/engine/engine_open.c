/* SPDX-License-Identifier: Apache-2.0 */
/* Making and unmaking an engine: what it allocates, in which order, and what it takes of the
 * statistics file. */
#include "daemon/engine/engine.h"
#include "daemon/engine/signal/doorbells.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/phases.h"
#include "daemon/engine/base/ticks.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/commit/pair.h"
#include "daemon/engine/core/budget.h"
#include "daemon/engine/core/events.h"
#include "daemon/engine/core/memory.h"
#include "daemon/engine/core/near.h"
#include "daemon/engine/core/reclaim.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/run/own_thread_main.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/segment.h"
#include "daemon/engine/send/overflow.h"
#include "daemon/engine/signal/order_all.h"
#include "daemon/engine/stuck/stall.h"
#include "daemon/engine/timers/shelf.h"
#include "daemon/engine/timers/timer_put_off.h"
#include "daemon/engine/timers/timers.h"

uint64_t engine_segment_size(const struct engine_config *config)
{
    return segment_size(config);
}

bool engine_segment_config(int segment_fd, const struct engine_config *wanted,
                           struct engine_config *ret_config)
{
    return segment_config(segment_fd, wanted, ret_config);
}

uint64_t engine_window_size(const struct engine_config *config)
{
    return segment_message_window_bytes(config);
}

static int engine_open_config_check(const struct engine_config *c, const char **reterr_text)
{
    uint64_t room = segment_workers_max(c);
    if (c->n_workers == 0 || c->n_workers > room)
        *reterr_text = "number of workers out of range: from 1 to workers-max";
    else if (room + c->detached_max > ODEON_WORKERS_MAX)
        *reterr_text = "workers-max and detached out of range: at most 1152 together";
    else if (c->queues_per_worker == 0 || room * c->queues_per_worker > ODEON_QUEUES_MAX)
        *reterr_text = "number of queues out of range: at least one a worker, at most 8192 in all";
    else if (c->actors_max < 2 * ODEON_PORTS_MAX || c->actors_max > ODEON_ACTORS_MAX)
        *reterr_text = "size of the actor table out of range";
    else if (!segment_page_is_good(c))
        *reterr_text = "pages of memory are of 4 to 64 KiB";
    else if (c->outbox_bytes < 2 * OUTBOX_SYSTEM_BYTES || c->outbox_bytes > COMMIT_OUT_MAX)
        *reterr_text = "size of an outbox out of range: at most 1 GiB";
    else if (c->limit_bytes < 4096 || c->backlog_bytes < ENVELOPE_SIZE_MAX ||
             c->dlq_bytes < ENVELOPE_SIZE_MAX)
        *reterr_text = "a limit is too small";
    else if (c->durable_bytes > ODEON_DURABLE_MAX)
        *reterr_text = "a state that is kept over crashes has at most 4096 bytes";
    else if (c->timers_max > ODEON_TIMERS_MAX ||
             (c->timers_max > 0 && c->timer_bytes < TIMER_CLASS_BYTES(TIMER_CLASSES - 1)) ||
             c->timer_bytes > ODEON_TIMER_BYTES_MAX)
        *reterr_text = "timers out of range: at most 1048576, and 64 KiB to 4 GiB for their "
                       "messages";
    else if (c->limit_bytes > COMMIT_WINDOW_MAX / 2 || c->backlog_bytes > COMMIT_WINDOW_MAX / 4 ||
             c->dlq_bytes > COMMIT_WINDOW_MAX / 2 ||
             segment_message_window_bytes(c) >= COMMIT_WINDOW_MAX)
        *reterr_text = "a queue's window is too large: twice its limit and the outboxes of all "
                       "workers together must be below 32 GiB";
    else
        return 0;
    return -EINVAL;
}

/* The statistics file is made by the supervisor; a test may hand over an empty one. */
static int engine_open_stats_map(struct engine *e, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size < STATS_SEGMENT_SIZE && ftruncate(fd, (off_t)STATS_SEGMENT_SIZE) < 0)
        return -errno;
    void *base = mmap(NULL, STATS_SEGMENT_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    e->stats = base;
    store_relaxed(&e->stats->executor_pid, (uint32_t)getpid());
    store_relaxed(&e->stats->n_workers, e->config.n_workers);
    store_relaxed(&e->stats->n_queues, e->segment.n_mailboxes);
    store_relaxed(&e->stats->throughput, e->config.throughput);
    return 0;
}

/* Sources, ports, workers' places and threads' slots: all empty, ports nobody's. */
static int engine_open_tables(struct engine *e)
{
    size_t threads = e->segment.detached_max + 1;
    pthread_mutex_init(&e->suspects.mutex, NULL);
    e->n_sources = e->segment.n_mailboxes + ODEON_PORTS_MAX;
    e->sources = aligned_alloc(64, e->n_sources * sizeof(*e->sources));
    e->ports.table = aligned_alloc(64, ODEON_PORTS_MAX * sizeof(*e->ports.table));
    e->workers = calloc(e->segment.n_ids, sizeof(*e->workers));
    e->own_threads.slots = aligned_alloc(64, threads * sizeof(*e->own_threads.slots));
    if (!e->sources || !e->ports.table || !e->workers || !e->own_threads.slots)
        return -ENOMEM;
    memset((void *)e->sources, 0, e->n_sources * sizeof(*e->sources));
    memset(e->ports.table, 0, ODEON_PORTS_MAX * sizeof(*e->ports.table));
    memset((void *)e->own_threads.slots, 0, threads * sizeof(*e->own_threads.slots));
    for (uint32_t id = 0; id < e->n_sources; id++)
        e->sources[id].own =
            id < e->segment.n_mailboxes ? &e->segment.queues[id].own : &e->sources[id].own_port;
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        store_relaxed(e->sources[engine_source_of_port(e, id)].own, own_running(OWN_NOBODY));
    return 0;
}

/* What modules keep of their own, of an engine whose workers are there. */
static int engine_open_rooms(struct engine *e)
{
    int r = budget_open(e);
    if (r == 0)
        r = reclaim_open(e);
    if (r == 0)
        r = overflow_open(e);
    if (r == 0)
        r = observe_open(e);
    if (r == 0)
        r = stall_open(e);
    if (r == 0)
        r = timers_open(e);
    if (r == 0)
        r = timer_put_off_open(e);
    return r == 0 ? shelf_open(e) : r;
}

/* Settings that can change. */
static void engine_open_live(struct engine *e, const struct engine_config *config)
{
    engine_set_stealing(e, config->stealing);
    engine_set_throughput(e, config->throughput);
    engine_set_waiting(e, config->waiting_bytes, config->waiting_quota_bytes,
                       config->waiting_quota_ns);
}

int engine_open(const struct engine_config *config, int segment_fd, int stats_fd,
                struct engine **ret_engine, const char **reterr_text)
{
    *reterr_text = "";
    int r = engine_open_config_check(config, reterr_text);
    if (r < 0)
        return r;
    struct engine *e = aligned_alloc(128, (sizeof(*e) + 127) & ~(size_t)127);
    if (!e)
        return -ENOMEM;
    memset(e, 0, sizeof(*e));
    e->config = *config;
    e->config.workers_max = segment_workers_max(config);
    store_relaxed(&e->n_workers, config->n_workers);
    e->events.fd = e->watch.rescue_fd = e->watch.fd = e->timers.fd = -1;
    e->own_threads.main = own_thread_main;
    pthread_mutex_init(&e->events.mutex, NULL);
    state_stock_init(&e->actors.stock);
    ticks_calibrate();
    pair_probe();
    r = segment_open(&e->segment, config, segment_fd, reterr_text);
    if (r == 0)
        r = engine_open_stats_map(e, stats_fd);
    if (r == 0)
        r = memory_init(e);
    if (r == 0) {
        memory_bind_segment(e);
        r = actors_init(e);
    }
    if (r == 0)
        r = doorbells_open(e);
    if (r == 0)
        r = events_open(e);
    if (r == 0)
        r = engine_open_tables(e);
    if (r == 0)
        r = steal_open(e);
    order_all_open(e);
    for (uint32_t id = 0; r == 0 && id < e->segment.n_ids; id++)
        r = worker_new(e, id, &e->workers[id]);
    if (r == 0)
        r = engine_open_rooms(e);
    if (r < 0) {
        engine_close(e);
        return r;
    }
    e->control = e->workers[e->segment.n_ids - 1];
    stat_add(e->control, STAT_memory_binds_failed, e->memory.binds_failed);
    near_build(e);
    engine_open_live(e, config);
    *ret_engine = e;
    return 0;
}

void engine_hide_from_children(struct engine *e)
{
    (void)madvise(e->segment.base, e->segment.size, MADV_DONTFORK);
}

struct engine *engine_close(struct engine *e)
{
    if (!e)
        return NULL;
    port_close_all(e);
    actors_fini(e);
    for (uint32_t id = 0; e->workers && id < e->segment.n_ids; id++)
        worker_free(e->workers[id]);
    state_stock_fini(&e->actors.stock);
    for (uint32_t id = 0; id < ODEON_ACTOR_TYPES_MAX; id++)
        phases_free(load_relaxed(&e->types.known[id]));
    shelf_close(e);
    timer_put_off_close(e);
    timers_close(e);
    stall_close(e);
    observe_close(e);
    overflow_close(e);
    reclaim_close(e);
    budget_close(e);
    steal_close(e);
    memory_fini(e);
    free(e->workers);
    free((void *)e->own_threads.slots);
    free(e->ports.table);
    free((void *)e->sources);
    free(e->faults.list);
    free(e->suspects.list);
    free(e->events.list);
    doorbells_close(e);
    if (e->events.fd >= 0)
        close(e->events.fd);
    if (e->stats)
        munmap(e->stats, STATS_SEGMENT_SIZE);
    segment_close(&e->segment);
    free(e);
    return NULL;
}
