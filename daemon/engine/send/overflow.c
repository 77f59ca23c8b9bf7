/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/send/overflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/core/events.h"
#include "daemon/engine/signal/wake.h"

/* From one look for memory that is held for nothing to the next. */
enum { SWEEP_NS = 10 * 1000 * 1000 };

static const char *const names[OVERFLOW_POLICY_N] = {
    [OVERFLOW_POLICY_REJECT] = "reject",
    [OVERFLOW_POLICY_DROP_NEWEST] = "drop-newest",
    [OVERFLOW_POLICY_DROP_OLDEST] = "drop-oldest",
    [OVERFLOW_POLICY_STALL] = "stall",
};

const char *engine_overflow_name(enum engine_overflow policy)
{
    return (unsigned)policy < OVERFLOW_POLICY_N ? names[policy] : "unknown";
}

int overflow_open(struct engine *e)
{
    e->overflow.stalls = calloc(e->segment.n_queues, sizeof(*e->overflow.stalls));
    e->urgent = calloc(e->segment.n_mailboxes + 1ul, sizeof(*e->urgent));
    return e->overflow.stalls && e->urgent ? 0 : -ENOMEM;
}

void overflow_close(struct engine *e)
{
    free((void *)e->overflow.stalls);
    free((void *)e->urgent);
    e->overflow.stalls = e->urgent = NULL;
}

void overflow_set_policy(struct engine *e, uint32_t type, enum engine_overflow policy)
{
    store_relaxed(&e->segment.actor_types[type].overflow, policy);
    if (policy == OVERFLOW_POLICY_DROP_OLDEST)
        store_relaxed(&e->overflow.drops_oldest, 1);
}

/* Of the receiver's type; who does not live has none. From the segment: a type's private half may
 * be on its way out. */
static enum engine_overflow overflow_policy_of(const struct engine *e, actor_ref to,
                                               uint32_t destination)
{
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(to)].key);
    if (actor_key_generation(key) != actor_ref_generation(to) ||
        actor_key_destination(key) != destination || !actor_key_lives(key))
        return OVERFLOW_POLICY_REJECT;
    return (enum engine_overflow)load_relaxed(
        &e->segment.actor_types[segment_type_of_key(&e->segment, actor_key_type(key))].overflow);
}

bool overflow_drops_oldest(const struct engine *e, actor_ref to, uint32_t destination)
{
    return load_relaxed(&e->overflow.drops_oldest) &&
           overflow_policy_of(e, to, destination) == OVERFLOW_POLICY_DROP_OLDEST;
}

bool overflow_waits(const struct engine *e, actor_ref to, uint32_t destination)
{
    return overflow_policy_of(e, to, destination) == OVERFLOW_POLICY_STALL;
}

static enum overflow_verdict overflow_refuse_full(struct worker *w)
{
    stat_add(w, STAT_refused_full, 1);
    return OVERFLOW_REFUSE;
}

enum overflow_verdict overflow_decide(struct worker *w, actor_ref to, uint16_t message_type,
                                      uint32_t destination)
{
    struct engine *e = w->engine;
    /* nobody's wish to stop an actor is dropped in silence */
    bool droppable = message_type >= MESSAGE_TYPE_FIRST_USER;
    switch (overflow_policy_of(e, to, destination)) {
    case OVERFLOW_POLICY_DROP_OLDEST:
        if (queue_backlog_bytes(&e->segment.queues[destination]) <=
                2 * e->segment.header->limit_bytes &&
            !budget_is_full(e))
            return OVERFLOW_TAKE; /* overflow.X2 */
        __attribute__((fallthrough));
    case OVERFLOW_POLICY_DROP_NEWEST:
        if (!droppable)
            return overflow_refuse_full(w);
        stat_add(w, STAT_dropped_newest, 1);
        return OVERFLOW_DROP;
    case OVERFLOW_POLICY_STALL:
        return OVERFLOW_STALL;
    default:
        return overflow_refuse_full(w);
    }
}

int overflow_send(struct worker *w, actor_ref to, uint16_t message_type, uint32_t destination)
{
    switch (overflow_decide(w, to, message_type, destination)) {
    case OVERFLOW_TAKE:
        return 1;
    case OVERFLOW_DROP:
        return 0;
    case OVERFLOW_STALL:
        (void)overflow_refuse_full(w); /* a handler cannot wait */
        break;
    default:
        break;
    }
    w->place.n_failed++;
    return -EAGAIN;
}

bool overflow_stall(struct worker *w, uint32_t id, uint32_t destination)
{
    struct engine *e = w->engine;
    struct port *port = &e->ports.table[id];
    store_relaxed(&port->stalled_on, destination + 1);
    /* [STALL_FLAG]; read (acquire) by overflow_unstall */
    store_release(&e->overflow.stalls[destination], 1);
    full_barrier(); /* [STALL_RECHECK] */
    if (queue_backlog_bytes(&e->segment.queues[destination]) <= e->segment.header->limit_bytes) {
        store_relaxed(&port->stalled_on, 0);
        return false;
    }
    stat_add(w, STAT_stalled, 1);
    return true;
}

void overflow_unstall(struct worker *w, uint32_t queue)
{
    struct engine *e = w->engine;
    /* [STALL_TAKE]; acquire: the ports whose flag this was; one that comes behind sets it again,
     * and sees the buffer empty */
    (void)atomic_exchange_explicit(&e->overflow.stalls[queue], 0, memory_order_acq_rel);
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++) {
        uint32_t waits = queue + 1;
        if (load_relaxed(&e->ports.table[id].stalled_on) == waits &&
            atomic_compare_exchange_strong_explicit(&e->ports.table[id].stalled_on, &waits, 0,
                                                    memory_order_seq_cst, memory_order_relaxed)) {
            /* [STALL_BIT]; and behind it its owner word is read, as behind any publish [PUB_OWN] */
            full_barrier_after_exchange();
            source_signal(e, w, engine_source_of_port(e, id));
        }
    }
}

enum overflow_verdict overflow_decide_budget(struct worker *w, actor_ref to, uint16_t message_type,
                                             uint32_t destination, enum turned_away why)
{
    enum engine_overflow policy = overflow_policy_of(w->engine, to, destination);
    w->flush.turned_away = why;
    if (policy == OVERFLOW_POLICY_STALL)
        return OVERFLOW_STALL;
    if (policy != OVERFLOW_POLICY_REJECT && message_type >= MESSAGE_TYPE_FIRST_USER) {
        stat_add(w, STAT_dropped_newest, 1);
        return OVERFLOW_DROP;
    }
    if (why == TURNED_AWAY_BY_MEMORY)
        return overflow_refuse_full(w);
    stat_add(w, STAT_refused_slow, 1);
    return OVERFLOW_REFUSE;
}

bool overflow_stall_for_budget(struct worker *w, uint32_t id, uint32_t destination, uint64_t size,
                               uint64_t ns)
{
    struct engine *e = w->engine;
    struct port *port = &e->ports.table[id];
    store_relaxed(&port->stalled_on, STALLED_ON_BUDGET);
    store_release(&e->budget.stalled, 1); /* read (acquire) by overflow_go_on */
    full_barrier();                       /* [STALL_RECHECK] */
    if (budget_left(e, port->account) >= size &&
        (ns == 0 || !budget_is_slow(e, port->account, destination, 0, ns))) {
        store_relaxed(&port->stalled_on, 0);
        return false;
    }
    stat_add(w, STAT_stalled, 1);
    return true;
}

void overflow_go_on(struct worker *w)
{
    struct engine *e = w->engine;
    /* acquire: the ports whose flag this was; one that comes behind sets it again, and looks */
    (void)atomic_exchange_explicit(&e->budget.stalled, 0, memory_order_acq_rel);
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++) {
        uint32_t waits = STALLED_ON_BUDGET;
        if (load_relaxed(&e->ports.table[id].stalled_on) == waits &&
            atomic_compare_exchange_strong_explicit(&e->ports.table[id].stalled_on, &waits, 0,
                                                    memory_order_seq_cst, memory_order_relaxed)) {
            full_barrier_after_exchange(); /* [STALL_BIT] */
            source_signal(e, w, engine_source_of_port(e, id));
        }
    }
}

static bool overflow_holds_for_nothing(const struct engine *e, uint32_t queue)
{
    return load_relaxed(&e->windows[2 * queue].charged) +
                   load_relaxed(&e->windows[2 * queue + 1].charged) >
               0 &&
           !queue_has_work(&e->segment.queues[queue]);
}

void overflow_turned_away(struct worker *w, uint32_t port)
{
    struct engine *e = w->engine;
    uint64_t now = clock_now_ns(), last = load_relaxed(&e->budget.swept_ns);
    bool due = now - last >= SWEEP_NS &&
               atomic_compare_exchange_strong_explicit(&e->budget.swept_ns, &last, now,
                                                       memory_order_relaxed, memory_order_relaxed);
    enum turned_away why = w->flush.turned_away;
    w->flush.turned_away = TURNED_AWAY_NOT;
    if (due)
        events_push(e, ENGINE_EVENT_PORT_OVER, port, e->ports.table[port].generation,
                    why == TURNED_AWAY_BY_TIME);
    /* a port that waits relies on it (overflow.X6) */
    if (!budget_is_pressed(e) ||
        (!due && load_relaxed(&e->ports.table[port].stalled_on) != STALLED_ON_BUDGET))
        return;
    for (uint32_t id = 0; id < e->segment.n_mailboxes; id++)
        if (overflow_holds_for_nothing(e, id))
            source_signal(e, w, id);
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        if (load_relaxed(&e->ports.table[id].state) == PORT_OPEN &&
            overflow_holds_for_nothing(e, segment_port_destination(&e->segment, id)))
            source_signal(e, w, engine_source_of_port(e, id));
}

static bool overflow_may_drop(const struct engine *e, const struct envelope *envelope,
                              uint32_t queue)
{
    return (envelope->flags & ENVELOPE_DROPPED) || (envelope->type >= MESSAGE_TYPE_FIRST_USER &&
                                                    overflow_drops_oldest(e, envelope->to, queue));
}

void overflow_mark_oldest(struct worker *w, uint32_t queue)
{
    const struct engine *e = w->engine;
    uint64_t excess = w->batch.tail - e->segment.header->limit_bytes, dropped = 0, size;
    for (uint64_t at = 0; at < w->batch.tail && dropped < excess; at += size) {
        struct envelope *envelope = (struct envelope *)(w->batch.base + at);
        size = envelope_record_size(envelope);
        if (!overflow_may_drop(e, envelope, queue))
            continue;
        envelope->flags |= ENVELOPE_DROPPED;
        dropped += size;
        POINT(marked);
    }
}
