/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/check.h"

#include "daemon/engine/core.h"
#include "daemon/engine/queue.h"
#include "tests/sim/workload.h"

/* Nobody but the control thread is anywhere else than asleep for want of work. */
static bool all_rest(const struct engine *e)
{
    for (uint32_t i = 0; i < FIBERS_MAX; i++) {
        const struct fiber *f = &sim.fibers[i];
        if (f->side != SIDE_ENGINE || f->state != FIBER_BLOCKED || f == workload.control || f->wait == WAIT_EPOLL)
            continue;
        bool detached = false;
        for (uint32_t d = 0; d < e->segment.detached_max; d++)
            detached = detached || (f->wait == WAIT_FUTEX && f->key == kernel_futex_key(&e->detached[d].asleep));
        if (!detached)
            return false;
    }
    return true;
}

static void check_queues(struct engine *e)
{
    for (uint32_t id = 0; id < e->segment.n_queues; id++)
        if (queue_has_work(&e->segment.queues[id]))
            sim_fail("lost wake-up: queue %u has work, owner word %#llx, and everybody sleeps", id, (unsigned long long)load_relaxed(&e->sources[id].own));
}

static void check_port(struct engine *e, uint32_t id)
{
    struct port *port = &e->ports[id];
    if (load_relaxed(&port->state) != PORT_OPEN)
        return;
    uint32_t on = load_relaxed(&port->stalled_on);
    if (on) {
        if (queue_backlog_bytes(&e->segment.queues[on - 1]) == 0)
            sim_fail("lost wake-up: port %u waits for queue %u, which has room", id, on - 1);
        return;
    }
    if (load_relaxed(&port->closing))
        sim_fail("lost wake-up: port %u is to be closed, and everybody sleeps", id);
    if (!load_relaxed(&e->ports_stopped) && load_relaxed(&port->client_words->submission_tail) != load_relaxed(&e->segment.ports[id].pcur))
        sim_fail("lost wake-up: port %u has records, need_wakeup %u, and everybody sleeps", id, load_relaxed(&port->executor_words->need_wakeup));
    uint64_t taken = load_relaxed(&port->client_words->delivery_head);
    if (load_relaxed(&port->executor_words->backlog) && load_relaxed(&e->segment.ports[id].dtail) == taken)
        sim_fail("lost wake-up: port %u has a backlog and an empty ring, and everybody sleeps", id);
}

static void check_client(const struct client *c)
{
    if (c->listens && load_relaxed(&c->executor->delivery_tail) != c->head)
        sim_fail("lost wake-up: client %u sleeps with a delivery in its ring", c->info.id);
    if (c->wants && c->tail - load_relaxed(&c->executor->submission_head) + c->wants <= CLIENT_RING)
        sim_fail("lost wake-up: client %u sleeps with room in its ring", c->info.id);
}

void check_idle(void)
{
    for (uint32_t i = 0; i < workload.n_clients; i++)
        check_client(&workload.clients[i].client);
    struct engine *e = workload.engine;
    if (!e || !e->started || load_relaxed(&e->stopping) || !all_rest(e))
        return;
    check_queues(e);
    for (uint32_t id = 0; id < workload.n_clients; id++)
        check_port(e, id);
}

void check_empty(void)
{
    struct engine *e = workload.engine;
    for (uint32_t id = 0; id <= e->segment.dead_letters; id++)
        if (queue_has_work(&e->segment.queues[id]))
            sim_fail("left over: queue %u is not empty", id);
    for (uint32_t id = 0; id < e->segment.n_ids; id++) {
        const struct segment_commit *slot = segment_commit_valid(&e->segment.workers[id]);
        if (commit_out(slot) || slot->source)
            sim_fail("left over: worker %u is attached to source %u with %llu bytes in its outbox", id, slot->source, (unsigned long long)commit_out(slot));
    }
    uint32_t live = 0;
    for (uint32_t i = 0; i < e->segment.header->actors_max; i++)
        live += (load_relaxed(&e->segment.actors[i].word) & 0xff) == ACTOR_SLOT_LIVE;
    if (live != workload.n_roots)
        sim_fail("left over: %u actors live, %u were not to end", live, workload.n_roots);
}
