/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/send/deliver.h"

#include <assert.h>

#include "daemon/common/port_pipe.h"
#include "daemon/engine/base/client_load.h"
#include "daemon/engine/base/futex.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/budget.h"
#include "daemon/engine/signal/wake.h"

bool deliver_ring_has_room(struct port *port, struct segment_port *durable, uint64_t bytes)
{
    uint64_t dtail = load_relaxed(&durable->dtail), believed = load_relaxed(&port->delivery_head);
    if (dtail - believed + bytes <= port->delivery_bytes)
        return true;
    CLIENT_LOAD(WORD, &port->client_words->delivery_head);
    /* pairs with the client's release of what it has read */
    uint64_t head = load_acquire(&port->client_words->delivery_head);
    if (head - believed > dtail - believed || head % 8) {
        if (load_relaxed(&port->broken) == PORT_OK)
            store_relaxed(&port->broken, PORT_BROKEN_HEAD);
        return false;
    }
    store_relaxed(&port->delivery_head, head);
    return dtail - head + bytes <= port->delivery_bytes;
}

void deliver_wake(const struct port *port, uint32_t wait, _Atomic uint32_t *futex)
{
    atomic_fetch_add_explicit(futex, 1, memory_order_release);
    if ((wait & PORT_WAIT_KIND) == PORT_WAIT_PIPE && port->pipe_fd >= 0)
        port_pipe_wake(port->pipe_fd);
    else
        futex_wake_shared(futex);
}

/* port_layout.P4: after publishing.  One system call per wait of the client, whatever it writes
 *     there. */
static void deliver_client_wake(struct worker *w, struct port *port)
{
    CLIENT_LOAD(WORD, &port->client_words->delivery_wait);
    uint32_t wait = load_relaxed(&port->client_words->delivery_wait);
    if (likely(wait == port->delivery_woken || (wait & PORT_WAIT_KIND) == PORT_WAIT_NONE))
        return;
    port->delivery_woken = wait;
    deliver_wake(port, wait, &port->executor_words->delivery_futex);
    stat_add(w, STAT_client_wakeups, 1);
}

struct group_result {
    uint64_t length;
    uint64_t taken, gone, dropped;
};

/* Copies the group's records for the port's present client to `base` + length; what a bound or
 * another client refuses is counted. */
static struct group_result deliver_records(struct worker *w, const struct outbox_group *group,
                                           actor_ref ref, uint8_t *base, uint64_t length,
                                           uint64_t mask, uint64_t limit)
{
    struct group_result result = { .length = length };
    uint32_t run = group->first;
    do {
        uint64_t bytes;
        const uint8_t *at = (const uint8_t *)outbox_run_envelopes(w, run, &bytes);
        for (const uint8_t *end = at + bytes; at < end;) {
            const struct envelope *envelope = (const struct envelope *)at;
            uint64_t size = envelope_record_size(envelope);
            at += size;
            if (envelope->to != ref) {
                result.gone++;
            } else if (result.length + size > limit) {
                result.dropped++;
            } else {
                memcpy(base + (result.length & mask), envelope, size);
                result.length += size;
                result.taken++;
            }
        }
    } while (run != group->last && (run = w->flush.runs[run].next));
    return result;
}

static struct group_result deliver_to_ring(struct worker *w, uint32_t step,
                                           const struct outbox_group *group, struct port *port,
                                           struct segment_port *durable)
{
    uint64_t dtail = load_relaxed(&durable->dtail);
    struct group_result result = deliver_records(w, group, durable->ref, port->delivery, dtail,
                                                 port->delivery_bytes - 1, UINT64_MAX);
    POINT(ring_copied, durable, result.length);
    journal_arm(w, step, group->destination | JOURNAL_RING, result.length);
    POINT(journal);
    store_release(&durable->dtail, result.length); /* deliver.D3 */
    crash_order();
    /* seq_cst: publish port_layout.P2 for the client, and the barrier of port_layout.P4 before
     * looking at delivery_wait */
    atomic_exchange_explicit(&port->executor_words->delivery_tail, result.length,
                             memory_order_seq_cst);
    full_barrier_after_exchange();
    POINT(published);
    deliver_client_wake(w, port);
    stat_add(w, STAT_port_deliveries, result.taken);
    return result;
}

/* What the active buffer may hold (deliver.D5).  Twice the limit while the runner has not looked
 * yet; and no more than there is memory for, its user's share or all of it. */
static uint64_t deliver_backlog_most(const struct engine *e, const struct port *port,
                                     uint64_t length)
{
    uint64_t most =
        port->overflow == PORT_OVERFLOW_DROP_OLDEST ? 2 * port->backlog_bytes : port->backlog_bytes;
    uint64_t left = budget_left(e, port->account);
    return likely(left >= most) || length + left >= most ? most : length + left;
}

void deliver_count_dropped(struct worker *w, struct port *port, enum stat_index why, uint64_t n)
{
    stat_add(w, why, n);
    /* for its client */
    atomic_fetch_add_explicit(&port->executor_words->dropped, n, memory_order_relaxed);
}

/* What an append to the backlog leaves to be told to the port's runner (deliver.D6). */
enum to_tell { TELL_NOTHING, TELL_IF_NO_BATCH, TELL };

static struct group_result deliver_to_backlog(struct worker *w, uint32_t step,
                                              const struct outbox_group *group, struct port *port,
                                              struct segment_port *durable,
                                              struct segment_queue *backlog, enum to_tell *ret_tell)
{
    struct engine *e = w->engine;
    unsigned active = queue_active(load_relaxed(&backlog->sel));
    uint64_t length = load_relaxed(&backlog->len[active]);
    struct group_result result = deliver_records(
        w, group, durable->ref, segment_window(&e->segment, group->destination, active), length,
        UINT64_MAX, deliver_backlog_most(e, port, length));
    struct window_history *window = &e->windows[2 * group->destination + active];
    budget_touch(e, window, result.length);
    if (unlikely(port->account && budget_is_accounted(e)) && result.length != length)
        budget_note(e, window, port->account, result.length - length);
    journal_arm(w, step, group->destination, result.length);
    store_release(&backlog->len[active], result.length);
    crash_order();
    *ret_tell = length == 0 ? TELL_IF_NO_BATCH : TELL_NOTHING;
    if (port->overflow == PORT_OVERFLOW_DROP_OLDEST)
        *ret_tell = TELL; /* deliver.D5 */
    if (result.taken)
        store_relaxed(&port->executor_words->backlog, 1);
    else
        *ret_tell = TELL_NOTHING;
    if (unlikely(result.dropped > 0) && port->overflow == PORT_OVERFLOW_DISCONNECT &&
        !load_relaxed(&port->slow)) {
        store_release(&port->slow, 1); /* read (acquire) by the runner, who is signalled */
        *ret_tell = TELL;
    }
    stat_add(w, STAT_port_backlogged, result.taken);
    return result;
}

void deliver_group(struct worker *w, uint32_t step, const struct outbox_group *group)
{
    struct engine *e = w->engine;
    uint32_t index = group->destination - e->segment.n_queues;
    struct port *port = &e->ports.table[index];
    struct segment_port *durable = &e->segment.ports[index];
    struct segment_queue *backlog = &e->segment.queues[group->destination];
    if (queue_lock(backlog, w->id))
        stat_add(w, STAT_lock_contended, 1);
    POINT(lock);
    struct group_result result = { .gone = 0 };
    enum to_tell tell = TELL_NOTHING;
    /* acquire: what waits for an earlier port of this number finds the next one whole, which is
     * opened without the lock */
    if (load_acquire(&port->state) == PORT_OPEN) {
        /* these records come from the backlog themselves */
        bool draining = w->batch.source == group->destination + 1;
        /* deliver.D2 */
        bool to_backlog = (!draining && queue_has_work(backlog)) ||
                          !deliver_ring_has_room(port, durable, outbox_group_bytes(w, group));
        result = to_backlog ? deliver_to_backlog(w, step, group, port, durable, backlog, &tell)
                            : deliver_to_ring(w, step, group, port, durable);
    } else {
        /* nothing to publish, but the step is done: recovery goes on behind it */
        journal_arm(w, step, group->destination,
                    load_relaxed(&backlog->len[queue_active(load_relaxed(&backlog->sel))]));
        result = deliver_records(w, group, 0, NULL, 0, 0, 0); /* counts */
    }
    /* inside the lock, as all that touches the port's memory (deliver.D7) */
    if (unlikely(result.dropped > 0))
        deliver_count_dropped(w, port, STAT_backlog_dropped, result.dropped);
    queue_unlock(backlog);
    POINT(step);
    stat_add(w, STAT_flushes, 1);
    if (result.gone)
        stat_add(w, STAT_dead_letters, result.gone);
    /* deliver.D6: the unlock was the barrier */
    if (tell == TELL_NOTHING || w->flush.recovering ||
        (tell == TELL_IF_NO_BATCH && queue_has_batch(load_acquire(&backlog->sel))))
        return;
    source_signal(e, w, engine_source_of_port(e, index));
}

bool deliver_backlog_waits(struct engine *e, uint32_t index)
{
    return queue_has_work(&e->segment.queues[segment_port_destination(&e->segment, index)]);
}
