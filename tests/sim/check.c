/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/check.h"

#include "daemon/engine/commit/durable.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/timers/timer_posted.h"
#include "daemon/engine/timers/timers.h"
#include "tests/sim/actors.h"
#include "tests/sim/cover.h"

/* Nobody but the control thread is anywhere else than asleep for want of work. */
static bool all_rest(const struct engine *e)
{
    for (uint32_t i = 0; i < FIBERS_MAX; i++) {
        const struct fiber *f = &sim.fibers[i];
        if (f->side != SIDE_ENGINE || f->state != FIBER_BLOCKED || f == workload.control ||
            f->wait == WAIT_EPOLL)
            continue;
        bool detached = false;
        for (uint32_t d = 0; d < e->segment.detached_max; d++)
            detached = detached || (f->wait == WAIT_FUTEX &&
                                    f->key == kernel_futex_key(&e->own_threads.slots[d].asleep));
        if (!detached)
            return false;
    }
    return true;
}

static void check_queues(struct engine *e)
{
    for (uint32_t id = 0; id < e->segment.n_queues; id++)
        if (queue_has_work(&e->segment.queues[id]))
            sim_fail(
                "lost wake-up: queue %u has work, owner word %#llx, and everybody sleeps", id,
                (unsigned long long)load_relaxed(e->sources[segment_mailbox(&e->segment, id)].own));
}

static void check_port(struct engine *e, uint32_t id)
{
    struct port *port = &e->ports.table[id];
    if (load_relaxed(&port->state) != PORT_OPEN)
        return;
    uint32_t on = load_relaxed(&port->stalled_on);
    if (on == STALLED_ON_BUDGET)
        /* what waits has been run, and the simulator sets no bound to memory */
        sim_fail("lost wake-up: port %u waits for its user's time, and everybody sleeps", id);
    if (on) {
        if (queue_backlog_bytes(&e->segment.queues[on - 1]) == 0)
            sim_fail("lost wake-up: port %u waits for queue %u, which has room", id, on - 1);
        return;
    }
    if (load_relaxed(&port->closing))
        sim_fail("lost wake-up: port %u is to be closed, and everybody sleeps", id);
    if (!load_relaxed(&e->ports.stopped) && load_relaxed(&port->client_words->submission_tail) !=
                                                load_relaxed(&e->segment.ports[id].pcur))
        sim_fail("lost wake-up: port %u has records, need_wakeup %u, and everybody sleeps", id,
                 load_relaxed(&port->executor_words->need_wakeup));
    uint64_t taken = load_relaxed(&port->client_words->delivery_head);
    if (load_relaxed(&port->executor_words->backlog) &&
        load_relaxed(&e->segment.ports[id].dtail) == taken)
        sim_fail("lost wake-up: port %u has a backlog and an empty ring, and everybody sleeps", id);
}

static void check_client(const struct client *c)
{
    if (c->listens && load_relaxed(&c->executor->delivery_tail) != c->head)
        sim_fail("lost wake-up: client %u sleeps with a delivery in its ring", c->info.id);
    if (c->wants && c->tail - load_relaxed(&c->executor->submission_head) + c->wants <= CLIENT_RING)
        sim_fail("lost wake-up: client %u sleeps with room in its ring", c->info.id);
}

/* Is anything left of what clients have posted for later? */
static bool check_waits_for_later(const struct engine *e)
{
    uint32_t high = workload.late ? load_relaxed(&e->segment.header->timers_high) : 0;
    for (uint32_t i = 0; i < high; i++) {
        const struct segment_timer *timer = &e->segment.timers[i];
        if (timer_word_state(load_relaxed(&timer->word)) == TIMER_LIVE && timer_posted_stays(timer))
            return true;
    }
    return false;
}

/* Nothing is under way, so what a client still waits for does not come any more. */
static void check_lost(struct workload_client *wc)
{
    uint32_t left, away;
    workload_client_state(wc, &left, &away);
    if (!wc->client.listens || away == 0 || wc->presence != CLIENT_HERE ||
        check_waits_for_later(workload.engine))
        return;
    if (!workload_drops())
        sim_fail("lost: client %u waits for %u messages, and nothing is under way",
                 wc->client.info.id, away);
    wc->written_off += away;
    sim_unblock(wc->fiber);
}

void check_idle(void)
{
    for (uint32_t i = 0; i < workload.n_clients; i++)
        if (workload.clients[i].presence == CLIENT_HERE)
            check_client(&workload.clients[i].client);
    struct engine *e = workload.engine;
    if (!e || !e->started || load_relaxed(&e->stopping) || !all_rest(e))
        return;
    check_queues(e);
    for (uint32_t id = 0; id < workload.n_clients; id++)
        check_port(e, id);
    for (uint32_t i = 0; i < BUDGET_ACCOUNTS; i++)
        if (load_relaxed(&e->budget.accounts[i].waiting_ns) != 0)
            sim_fail("user %u is held to have %lld ns waiting, and nothing waits",
                     e->budget.accounts[i].user,
                     (long long)load_relaxed(&e->budget.accounts[i].waiting_ns));
    for (uint32_t i = 0; i < workload.n_clients; i++)
        check_lost(&workload.clients[i]);
    promises_check_idle();
}

static void account_add_lane(struct account *want, const struct lane *lane)
{
    for (uint32_t at = 0; at < lane->n_places; at++)
        for (uint32_t number = 0; number < lane->posted && lane->roots[at] == want->index; number++)
            if (lane->seen[at][number] && number != lane->poison) {
                want->ran++;
                want->balance += actors_amount(number, at);
            }
}

/* workload.H2: an account is the sum of what it ran. */
static void check_account(const struct engine *e, uint32_t index)
{
    const struct segment_state *state = durable_state(e, actor_ref_slot(workload.roots[index].ref));
    const struct account *account = (const struct account *)state->bytes;
    struct account want = { .index = index };
    for (uint32_t c = 0; c < workload.n_clients; c++)
        for (uint32_t l = 0; l < workload.clients[c].n_lanes; l++)
            account_add_lane(&want, &workload.clients[c].lanes[l]);
    if (want.ran == 0)
        return; /* it may not have been initialised */
    if (account->index != index || account->ran != want.ran || account->balance != want.balance)
        sim_fail("account %u: %lld after %u messages, should be %lld after %u", index,
                 (long long)account->balance, account->ran, (long long)want.balance, want.ran);
}

/* workload.H1: what did not come back was dropped, and counted.  A kill may have counted some of it
 *     twice;
 * what a port drops is counted when it has been dropped, so that a kill may come in between. */
static void check_dropped(const struct engine *e)
{
    static const enum stat_index stats[] = { STAT_dropped_newest, STAT_dropped_oldest,
                                             STAT_backlog_dropped, STAT_backlog_dropped_oldest };
    uint64_t counted = 0, missing = 0;
    for (uint32_t id = 0; id < e->segment.n_ids; id++)
        for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++)
            counted += load_relaxed(&e->workers[id]->stats->value[stats[i]]);
    for (uint32_t i = 0; i < workload.n_clients; i++)
        missing += workload.clients[i].written_off;
    bool exact = sim.n_crashes == 0;
    for (uint32_t i = 0; i < workload.n_clients; i++)
        exact = exact && !workload.clients[i].died;
    if (exact ? counted != missing : counted < missing && workload.port_overflow == OVERFLOW_NEVER)
        sim_fail("%llu messages are missing, %llu are counted as dropped",
                 (unsigned long long)missing, (unsigned long long)counted);
}

/* workload.H4: of all that was published, whoever is still there. */
static void check_consumed(const struct lane *lane, uint32_t client, uint32_t index)
{
    for (uint32_t at = 0; at < lane->n_places; at++)
        for (uint32_t number = 0; number < lane->posted; number++)
            if (!lane->seen[at][number] && !(number == lane->poison && at > 0))
                sim_fail("lost: client %u, lane %u, number %u was never run at place %u", client,
                         index, number, at);
}

/* timer_owners.TO1: what is counted of a slot's chain is what is in it. */
static void check_chain(const struct timer_owners *table, uint32_t slot, const char *name)
{
    const struct timer_owner *of = &table->of[slot];
    uint32_t n = 0, first = of->first - 1;
    for (uint32_t timer = first; of->first && (n == 0 || timer != first); n++)
        timer = table->links[timer].next;
    if (n != of->n)
        sim_fail("slot %u has a chain of %u timers (%s), and %u are counted", slot, n, name, of->n);
}

/* timer_owners.TO3: whoever ends sees by one look whether anything hangs at its slot. */
static void check_attached(const struct engine *e)
{
    const struct timers *t = &e->timers;
    const struct {
        const char *name;
        const struct timer_owners *table;
    } all[] = { { "owners", &t->owners },
                { "stashed", &t->stashed },
                { "watched", &t->watched },
                { "joined", &t->members.joined },
                { "kept", &t->kept.of } };
    for (uint32_t slot = 0; slot < e->segment.header->actors_max; slot++) {
        uint32_t n = 0;
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
            check_chain(all[i].table, slot, all[i].name);
            n += all[i].table->of[slot].n;
        }
        if (n != load_relaxed(&t->attached[slot]))
            sim_fail("slot %u has %u timers at it, and %u are counted", slot, n,
                     load_relaxed(&t->attached[slot]));
    }
}

void check_empty(void)
{
    struct engine *e = workload.engine;
    for (uint32_t i = 0; i < workload.n_clients && workload.overflow == OVERFLOW_NEVER; i++)
        for (uint32_t lane = 0; lane < workload.clients[i].n_lanes; lane++)
            check_consumed(&workload.clients[i].lanes[lane], i, lane);
    for (uint32_t i = 0; i < workload.n_clients; i++)
        if (workload.clients[i].presence == CLIENT_HERE) {
            workload_client_receive(&workload.clients[i]);
            watchers_check_end(&workload.clients[i]);
        }
    for (uint32_t id = 0; id < e->segment.dead_letters; id++)
        if (queue_has_work(&e->segment.queues[id]))
            sim_fail("left over: queue %u is not empty", id);
    for (uint32_t id = 0; id < e->segment.n_ids; id++) {
        const struct segment_commit *slot = segment_commit_valid(&e->segment.workers[id]);
        if (commit_out(slot) || slot->source)
            sim_fail("left over: worker %u is attached to source %u with %llu bytes in its outbox",
                     id, slot->source, (unsigned long long)commit_out(slot));
    }
    check_attached(e);
    check_dropped(e);
    for (uint32_t i = 0; i < workload.n_roots; i++)
        if (workload.roots[i].kept)
            check_account(e, i);
    uint32_t live = 0;
    for (uint32_t i = 0; i < e->segment.header->actors_max; i++)
        live += (load_relaxed(&e->segment.actors[i].word) & 0xff) == ACTOR_SLOT_LIVE;
    promises_check_end(e);
    uint32_t meant = workload.n_roots + workload.endless.there + promises_actors(e);
    if (live != meant)
        sim_fail("left over: %u actors live, %u were not to end", live, meant);
    cover_add(e);
}
