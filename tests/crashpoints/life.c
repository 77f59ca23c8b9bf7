/* SPDX-License-Identifier: Apache-2.0 */
/* An executor without threads: one thread runs what has its ready bit set, under the id of the
 * worker in whose mask it is. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "crash.h"
#include "daemon/common/page.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/ports/port_poll.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/signal/wake.h"
#include "daemon/engine/timers/timer_fire.h"

enum { ROUNDS_MAX = 20000 };

const struct engine_config *life_config(void)
{
    static const struct engine_config config = {
        .n_workers = N_WORKERS,
        .queues_per_worker = 2,
        .actors_max = 2 * ODEON_PORTS_MAX,
        .limit_bytes = 32 << 10,
        .outbox_bytes = 256 << 10,
        .backlog_bytes = 40 << 10,
        .dlq_bytes = 40 << 10,
        .waiting_quota_ns = 1, /* of users: a few messages */
        .throughput = 4096,
        .attempts_max = 3,
        /* a kill of the routine counts once, however often recovery is killed behind it */
        .suspect_deaths = 2,
        .detached_max = 1,
        .durable_bytes = 256,
        .timers_max = 64,
        .timer_bytes = 64 << 10,
        .stash_max = 8,
        .is_handler = cast_is_stuck_handler,
        .stealing = STEAL_LONGEST_VICTIM,
    };
    return &config;
}

static uint8_t *map_twice(int fd)
{
    uint8_t *base = mmap(NULL, port_ring_offset(page_bytes()) + 2 * PORT_RING, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;
    if (base == MAP_FAILED ||
        mmap(base, port_ring_offset(page_bytes()) + PORT_RING, prot, flags, fd, 0) == MAP_FAILED ||
        mmap(base + port_ring_offset(page_bytes()) + PORT_RING, PORT_RING, prot, flags, fd,
             port_ring_offset(page_bytes())) == MAP_FAILED)
        fail("a port's memory cannot be mapped");
    return base;
}

void life_port_add(struct life *life, uint32_t id)
{
    const struct world *world = life->world;
    struct client_book *book = &ledger->client[id];
    struct engine_port_info info = {
        .id = id,
        .generation = book->generation,
        .client = 1,
        .submission_bytes = PORT_RING,
        .delivery_bytes = PORT_RING,
        .client_fd = world->region[REGION_PORT + 2 * id].fd,
        .executor_fd = world->region[REGION_PORT + 2 * id + 1].fd,
        .doorbell_fd = world->doorbell_fd[id],
        .pipe_fd = -1,
        .overflow = (uint32_t)book->overflow,
        .user = book->user,
    };
    actor_ref ref;
    must("port", engine_port_add(life->engine, &info, &ref));
    if (book->ref && book->ref != ref && !book->closing)
        fail("port %u has another reference than before", id);
    book->ref = ref;
    book->open = 1;
}

void life_open(struct life *life, struct world *world)
{
    const char *text = "";
    *life = (struct life){ .world = world };
    ledger = (struct ledger *)world->region[REGION_LEDGER].map;
    for (uint32_t id = 0; id < N_PORTS; id++) {
        uint8_t *client = map_twice(world->region[REGION_PORT + 2 * id].fd),
                *executor = map_twice(world->region[REGION_PORT + 2 * id + 1].fd);
        life->port[id].words = (struct port_client *)client;
        life->port[id].submission = client + port_ring_offset(page_bytes());
        life->port[id].executor = (const struct port_executor *)executor;
        life->port[id].delivery = executor + port_ring_offset(page_bytes());
    }
    int r = engine_open(life_config(), world->region[REGION_SEGMENT].fd, world->stats_fd,
                        &life->engine, &text);
    if (r < 0)
        fail("engine_open: %s: %s", strerror(-r), text);
    for (uint32_t id = 0; id < N_PORTS; id++)
        if (ledger->client[id].open)
            life_port_add(life, id);
}

void life_recover(struct life *life)
{
    struct engine_recovery report;
    must("recover", engine_recover(life->engine, &report));
    books_after_recovery(life->engine);
    cast_register(life->engine);
    for (uint32_t id = 0; id < N_PORTS; id++)
        if (ledger->client[id].open && ledger->client[id].closing)
            must("remove", engine_port_remove(life->engine, id, ledger->client[id].generation));
}

void life_close(struct life *life)
{
    life->engine = engine_close(life->engine);
}

static void run_source(struct life *life, uint32_t source, struct worker *w)
{
    int64_t queue = source;
    if (source >= life->engine->segment.n_mailboxes)
        queue = port_run(w, source - life->engine->segment.n_mailboxes, true);
    if (queue >= 0)
        mailbox_run(w, (uint32_t)queue, false);
}

/* Once nothing else is to be done, timers are due. True: there was one. */
static bool life_fire(struct engine *e)
{
    uint32_t before = e->timers.n;
    uint64_t told = load_relaxed(&e->control->stats->value[STAT_asks_expired]);
    if (before > 0)
        (void)timer_fire_due(e, UINT64_MAX / 2);
    return e->timers.n != before ||
           load_relaxed(&e->control->stats->value[STAT_asks_expired]) != told;
}

bool life_run_ready(struct life *life)
{
    struct engine *e = life->engine;
    bool any = false;
    for (uint32_t id = 0; id + 1 < e->segment.n_ids; id++) {
        struct worker *w = e->workers[id];
        int64_t port = id < N_WORKERS ? port_poll_hot(w) : -1;
        if (port >= 0) /* the only one, which a worker takes at once */
            mask_set(w, (uint32_t)port);
        for (uint32_t word = 0; word * 64 < e->n_sources; word++)
            for (uint64_t bits = load_relaxed(&w->called.ready[word]); bits; bits &= bits - 1) {
                uint32_t source = word * 64 + (uint32_t)__builtin_ctzll(bits);
                if (!ready_clear(w->called.ready, source))
                    continue;
                any = true;
                if (owner_take(&e->sources[source], id, id))
                    run_source(life, source, w);
                else
                    source_pass_on(e, w, source);
            }
    }
    return any || life_fire(e);
}

/* As a thief does, if it is another's. */
static struct worker *take(struct life *life, uint32_t source, uint32_t worker)
{
    struct engine *e = life->engine;
    uint64_t own = load_relaxed(e->sources[source].own);
    if (own_is_running(own) || !owner_take(&e->sources[source], own_worker(own), worker))
        fail("source %u is run by %u already", source, own_worker(own));
    ready_clear(e->workers[own_worker(own)]->called.ready, source);
    return e->workers[worker];
}

void life_run_queue(struct life *life, uint32_t queue, uint32_t worker)
{
    mailbox_run(take(life, queue, worker), queue, false);
}

void life_run_port(struct life *life, uint32_t port, uint32_t worker)
{
    uint32_t source = engine_source_of_port(life->engine, port);
    run_source(life, source, take(life, source, worker));
}

void life_reap(struct life *life)
{
    struct engine_event event;
    for (uint32_t id = 0; id < N_WORKERS; id++) /* nobody is at anything: not waited for */
        atomic_fetch_or(&life->engine->sleepers[id / 64], UINT64_C(1) << id % 64);
    while (engine_event_next(life->engine, &event))
        if (event.kind == ENGINE_EVENT_PORT_REMOVED)
            ledger->client[event.id].open = 0;
}

/* Until nobody has anything to do, and nobody was told to look. */
void life_quiesce(struct life *life)
{
    uint32_t rounds = 0;
    for (unsigned idle = 0; idle < 2; idle++) {
        for (uint32_t id = 0; id < N_PORTS; id++)
            if (client_post(life, id) || client_read(life, id))
                idle = 0;
        life_reap(life);
        if (life_run_ready(life))
            idle = 0;
        if (++rounds > ROUNDS_MAX)
            fail("it does not come to rest");
    }
}
