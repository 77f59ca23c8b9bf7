/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/engine/actors.h"
#include "daemon/engine/commit.h"
#include "daemon/engine/fault.h"
#include "daemon/engine/near.h"
#include "daemon/engine/park.h"
#include "daemon/engine/port.h"
#include "daemon/engine/queue.h"
#include "daemon/engine/recover.h"
#include "daemon/engine/seed.h"
#include "daemon/engine/steal.h"
#include "daemon/engine/turn.h"
#include "daemon/engine/worker.h"

uint64_t engine_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t engine_segment_size(const struct engine_config *config)
{
    return segment_size(config);
}

static int config_check(const struct engine_config *c, const char **reterr_text)
{
    if (c->n_workers == 0 || c->n_workers > ODEON_WORKERS_MAX)
        *reterr_text = "number of workers out of range";
    else if (c->queues_per_worker == 0 || (uint64_t)c->n_workers * c->queues_per_worker > ODEON_QUEUES_MAX)
        *reterr_text = "number of queues out of range: at least one a worker, at most 8192 in all";
    else if (c->actors_max < 2 * ODEON_PORTS_MAX || c->actors_max > ODEON_ACTORS_MAX)
        *reterr_text = "size of the actor table out of range";
    else if (c->outbox_bytes < 2 * OUTBOX_SYSTEM_BYTES || c->outbox_bytes > UINT64_C(1) << 34)
        *reterr_text = "size of an outbox out of range";
    else if (c->limit_bytes < 4096 || c->backlog_bytes < ENVELOPE_SIZE_MAX || c->dlq_bytes < ENVELOPE_SIZE_MAX)
        *reterr_text = "a limit is too small";
    else
        return 0;
    return -EINVAL;
}

/* The statistics file is made by the supervisor; a test may hand over an empty one. */
static int stats_map(struct engine *e, int fd)
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
    store_relaxed(&e->stats->n_queues, e->segment.n_queues);
    store_relaxed(&e->stats->throughput, e->config.throughput);
    return 0;
}

int engine_open(const struct engine_config *config, int segment_fd, int stats_fd, struct engine **ret_engine, const char **reterr_text)
{
    *reterr_text = "";
    int r = config_check(config, reterr_text);
    if (r < 0)
        return r;
    struct engine *e = aligned_alloc(128, (sizeof(*e) + 127) & ~(size_t)127);
    if (!e)
        return -ENOMEM;
    memset(e, 0, sizeof(*e));
    e->config = *config;
    e->n_workers = config->n_workers;
    e->event_fd = e->stall_fd = -1;
    pthread_mutex_init(&e->events_mutex, NULL);
    r = segment_open(&e->segment, config, segment_fd, reterr_text);
    if (r == 0)
        r = stats_map(e, stats_fd);
    if (r == 0)
        r = actors_init(e);
    if (r == 0)
        r = park_init(e);
    if (r == 0 && (e->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0)
        r = -errno;
    e->n_sources = e->segment.n_queues + ODEON_PORTS_MAX;
    if (r == 0) {
        e->sources = aligned_alloc(64, e->n_sources * sizeof(*e->sources));
        e->ports = aligned_alloc(64, ODEON_PORTS_MAX * sizeof(*e->ports));
        e->workers = calloc(config->n_workers + 1, sizeof(*e->workers));
        if (!e->sources || !e->ports || !e->workers)
            r = -ENOMEM;
    }
    if (r == 0) {
        memset((void *)e->sources, 0, e->n_sources * sizeof(*e->sources));
        memset(e->ports, 0, ODEON_PORTS_MAX * sizeof(*e->ports));
        for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
            store_relaxed(&e->sources[engine_source_of_port(e, id)].own, own_running(0xffff));
    }
    if (r == 0)
        r = steal_open(e);
    for (uint32_t id = 0; r == 0 && id < e->segment.n_ids; id++)
        r = worker_new(e, id, &e->workers[id]);
    if (r < 0) {
        engine_close(e);
        return r;
    }
    e->control = e->workers[config->n_workers];
    near_build(e);
    engine_set_stealing(e, config->stealing);
    engine_set_throughput(e, config->throughput);
#ifdef ODEON_INJECT
    inject_setup();
#endif
    *ret_engine = e;
    return 0;
}

struct engine *engine_close(struct engine *e)
{
    if (!e)
        return NULL;
    port_close_all(e);
    for (uint32_t id = 0; e->workers && id <= e->n_workers; id++)
        worker_free(e->workers[id]);
    for (uint32_t id = 0; id < ODEON_ACTOR_TYPES_MAX; id++) {
        struct actor_type *type = load_relaxed(&e->types[id]);
        if (type) {
            free(type->listed);
            free(type);
        }
    }
    steal_close(e);
    free(e->workers);
    free(e->ports);
    free((void *)e->sources);
    free(e->faults);
    free(e->events);
    park_fini(e);
    if (e->event_fd >= 0)
        close(e->event_fd);
    actors_fini(e);
    if (e->stats)
        munmap(e->stats, STATS_SEGMENT_SIZE);
    segment_close(&e->segment);
    free(e);
    return NULL;
}

static void recovery_publish(struct engine *e, const struct engine_recovery *r)
{
    struct stats_recovery *last = &e->stats->recovery_last, *total = &e->stats->recovery_total;
#define PUBLISH(field)                                                                                                                  \
    do {                                                                                                                                \
        store_relaxed(&last->field, r->field);                                                                                          \
        store_relaxed(&total->field, load_relaxed(&total->field) + r->field);                                                           \
    } while (0)
    PUBLISH(running_handlers);
    PUBLISH(unflushed_outboxes);
    PUBLISH(armed_journals);
    PUBLISH(held_locks);
    PUBLISH(parked_batches);
    PUBLISH(attached_batches);
    PUBLISH(ports_attached);
    PUBLISH(spawns_undone);
    PUBLISH(redeliveries);
    PUBLISH(faults);
    PUBLISH(duration_ns);
#undef PUBLISH
    store_relaxed(&last->boots, r->boots);
    store_relaxed(&total->boots, r->boots);
    stat_add(e->control, STAT_redeliveries, r->redeliveries);
}

/* Created less ended is what lives: spawns that were undone, and counts that died with their worker, are put right here. */
static void counts_settle(struct engine *e)
{
    int64_t created = 0, ended = 0, live = 0;
    for (uint32_t id = 0; id < e->segment.n_ids; id++) {
        created += (int64_t)load_relaxed(&e->workers[id]->stats->value[STAT_actors_created]);
        ended += (int64_t)load_relaxed(&e->workers[id]->stats->value[STAT_actors_ended]);
    }
    for (uint32_t type = 0; type < ODEON_ACTOR_TYPES_MAX; type++)
        live += load_relaxed(&e->control->type_live[type]);
    int64_t missing = live - (created - ended);
    stat_add(e->control, missing > 0 ? STAT_actors_created : STAT_actors_ended, (uint64_t)(missing > 0 ? missing : -missing));
}

int engine_recover(struct engine *e, struct engine_recovery *ret_report)
{
    int r = recover_run(e, ret_report);
    if (r == 0) {
        recovery_publish(e, ret_report);
        counts_settle(e);
    }
    return r;
}

int engine_fault_get(const struct engine *e, unsigned index, struct engine_fault *ret_fault)
{
    if (index >= e->n_faults)
        return -ENOENT;
    *ret_fault = e->faults[index];
    return 0;
}

int engine_start(struct engine *e)
{
    fault_install();
    e->started = true;
    store_relaxed(&e->stats->executor_started_ns, engine_now_ns());
    for (uint32_t id = 0; id < e->n_workers; id++) {
        int r = worker_start(e->workers[id]);
        if (r < 0)
            return r;
    }
    return 0;
}

void engine_stop(struct engine *e)
{
    if (!e->started)
        return;
    store_relaxed(&e->stopping, 1);
    full_barrier();
    for (uint32_t id = 0; id < e->n_workers; id++)
        wake(e->workers[id]);
    for (uint32_t id = 0; id < e->n_workers; id++)
        worker_join(e->workers[id]);
    e->started = false;
    store_release(&e->segment.header->clean, 1);
}

static uint64_t queue_count_messages(struct engine *e, uint32_t id)
{
    struct segment_queue *queue = &e->segment.queues[id];
    uint64_t n = 0;
    queue_lock(queue, e->control->id);
    uint32_t sel = load_acquire(&queue->sel);
    for (unsigned buffer = 0; buffer < 2; buffer++) {
        const uint8_t *base = segment_window(&e->segment, id, buffer);
        bool batch = buffer != queue_active(sel);
        uint64_t at = batch ? load_relaxed(&queue->cursor) : 0, end = load_acquire(&queue->len[buffer]);
        for (; at < end; n++)
            at += envelope_record_size((const struct envelope *)(base + at));
    }
    queue_unlock(queue);
    return n;
}

static bool is_quiet(struct engine *e)
{
    for (uint32_t i = 0; i < e->n_workers; i++)
        if (load_acquire(&e->workers[i]->busy))
            return false;
    for (uint32_t i = 0; i < e->segment.n_queues; i++)
        if (queue_has_work(&e->segment.queues[i]))
            return false;
    return true;
}

static bool ports_are_drained(struct engine *e)
{
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        if (!port_is_drained(e, id))
            return false;
    return true;
}

int engine_drain(struct engine *e, uint64_t timeout_ns, bool stop, uint64_t *ret_unreceived)
{
    uint64_t until = engine_now_ns() + timeout_ns;
    struct timespec pause = { .tv_nsec = 200 * 1000 };
    int r = 1, quiet = 0;
    if (stop && timeout_ns > 0) /* what clients have published is accepted: take it first, for half of the time */
        while (!ports_are_drained(e) && engine_now_ns() < until - timeout_ns / 2)
            nanosleep(&pause, NULL);
    if (stop)
        store_release(&e->ports_stopped, 1);
    do {
        /* twice in a row: between two looks a message may have moved */
        quiet = is_quiet(e) ? quiet + 1 : 0;
        if (quiet >= 2)
            r = 0;
        else
            nanosleep(&pause, NULL);
    } while (r != 0 && engine_now_ns() < until);
    if (stop && !ports_are_drained(e)) /* published too late to be taken, or by clients that do not stop */
        r = 1;
    uint64_t unreceived = 0;
    if (r != 0)
        for (uint32_t i = 0; i < e->segment.n_queues; i++)
            unreceived += queue_count_messages(e, i);
    if (r != 0 && stop)
        for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
            unreceived += port_count_published(e, id);
    *ret_unreceived = unreceived;
    store_relaxed(&e->stats->unreceived, unreceived);
    return r;
}

/* ---- actors, by the control thread ---- */

/* The control thread is attached to nothing: its commit is its sends. */
static void control_commit(struct engine *e)
{
    struct worker *w = e->control;
    commit_flip(w, 0, 0, 0, w->out, 0, 0);
    outbox_flush_from(w, 1);
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    outbox_reset(w);
    stat_add(w, STAT_messages_sent, w->n_logged);
    w->n_logged = w->n_flushed = 0;
}

int engine_actor_spawn(struct engine *e, uint32_t type, const char *name, const void *args, size_t args_size, actor_ref *ret_ref)
{
    struct spawn_request request = { .type = type, .name = name && *name ? name : NULL, .args = args, .args_size = args_size };
    int r = actors_spawn(e->control, &request, ret_ref);
    if (r == 0)
        control_commit(e);
    return r;
}

int engine_actor_send(struct engine *e, actor_ref to, uint16_t type, const void *payload, size_t size)
{
    uint32_t slot = actor_ref_slot(to);
    if (slot >= e->config.actors_max || to == 0)
        return -ESRCH;
    uint64_t key = load_relaxed(&e->actors[slot].key);
    if (actor_key_generation(key) != actor_ref_generation(to) || (actor_key_kind(key) != ACTOR_LIVE && actor_key_kind(key) != ACTOR_NEW))
        return -ESRCH;
    e->control->ctx.self = 0;
    int r = engine_ctx_send(&e->control->ctx, to, type, BEHAVIOUR_NONE, payload, size);
    if (r == 0)
        control_commit(e);
    return r;
}

int engine_actor_lookup(struct engine *e, const char *name, actor_ref *ret_ref)
{
    return actors_lookup(e->control, name, ret_ref);
}

static bool actor_view(struct engine *e, uint32_t slot, struct engine_actor_view *ret)
{
    uint64_t key = load_acquire(&e->actors[slot].key);
    enum actor_kind kind = actor_key_kind(key);
    if (kind == ACTOR_FREE)
        return false;
    const struct segment_actor *durable = &e->segment.actors[slot];
    uint32_t queue = actor_key_destination(key), source = queue < e->segment.n_queues ? queue : engine_source_of_port(e, queue - e->segment.n_queues);
    uint32_t name = durable->name;
    *ret = (struct engine_actor_view){
        .ref = actor_ref_make(slot, actor_key_generation(key)),
        .spawned_by = durable->spawned_by,
        .type = kind == ACTOR_PORT ? 0 : slot_word_type(load_relaxed(&durable->word)),
        .queue = queue,
        .worker = own_worker(load_relaxed(&e->sources[source].own)),
        .name = name > 0 && name <= ODEON_NAMES_MAX ? e->segment.names[name - 1].name : "",
        .state = kind == ACTOR_PORT ? "port" : kind == ACTOR_NEW ? "new" : "live",
        .queue_bytes = queue_backlog_bytes(&e->segment.queues[queue]),
    };
    return true;
}

int engine_actor_next(struct engine *e, uint32_t slot, struct engine_actor_view *ret)
{
    for (; slot < load_relaxed(&e->segment.header->slots_high); slot++)
        if (actor_view(e, slot, ret))
            return 0;
    return -ENOENT;
}

int engine_actor_get(struct engine *e, actor_ref ref, struct engine_actor_view *ret)
{
    uint32_t slot = actor_ref_slot(ref);
    if (slot >= e->config.actors_max || !actor_view(e, slot, ret) || ret->ref != ref)
        return -ESRCH;
    return 0;
}

/* ---- ports, settings, events ---- */

int engine_port_add(struct engine *e, const struct engine_port_info *info, actor_ref *ret_ref)
{
    return port_add(e, info, ret_ref);
}

int engine_port_remove(struct engine *e, uint32_t id, uint32_t generation)
{
    return port_remove(e, id, generation);
}

void engine_set_stealing(struct engine *e, enum steal_policy_id id)
{
    e->config.stealing = id;
    steal_set(e, id, e->config.mode, e->config.steal_sources);
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

void engine_push_event(struct engine *e, enum engine_event_kind kind, uint32_t port, uint32_t generation, uint32_t why)
{
    pthread_mutex_lock(&e->events_mutex);
    if (e->n_events == e->events_capacity) {
        size_t capacity = e->events_capacity ? 2 * e->events_capacity : 64;
        struct engine_event *events = realloc(e->events, capacity * sizeof(*events));
        if (events) {
            e->events = events;
            e->events_capacity = capacity;
        }
    }
    if (e->n_events < e->events_capacity)
        e->events[e->n_events++] = (struct engine_event){ .kind = kind, .port = port, .generation = generation, .why = why };
    pthread_mutex_unlock(&e->events_mutex);
    uint64_t one = 1;
    ssize_t r = write(e->event_fd, &one, sizeof(one));
    (void)r;
}

int engine_event_fd(const struct engine *e)
{
    return e->event_fd;
}

bool engine_event_next(struct engine *e, struct engine_event *ret_event)
{
    uint64_t count;
    pthread_mutex_lock(&e->events_mutex);
    bool found = e->n_events > 0;
    if (found) {
        *ret_event = e->events[0];
        memmove(e->events, e->events + 1, --e->n_events * sizeof(*e->events));
    } else {
        ssize_t r = read(e->event_fd, &count, sizeof(count));
        (void)r;
    }
    pthread_mutex_unlock(&e->events_mutex);
    if (found && ret_event->kind == ENGINE_EVENT_PORT_REMOVED) {
        /* Workers may still hold pointers into its memory until they have passed a quiescent point. */
        port_reap(e, ret_event->port, worker_quiesce(e, 200 * 1000 * 1000));
    }
    return found;
}
