/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/ports/drain.h"

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/core/reclaim.h"
#include "daemon/engine/send/deliver.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/send/overflow.h"
#include "daemon/engine/signal/wake.h"

enum { DRAIN_FLUSHES = 64 }; /* of about 16 KiB each, before other sources are looked at */

/* Takes records from the backlog's batch into the outbox as far as the ring has room. False: no
 * room for the next one. */
static bool drain_some(struct worker *w, struct port *port, struct segment_port *durable,
                       uint32_t destination)
{
    uint64_t taken = 0;
    while (w->batch.cursor < w->batch.tail && w->outbox.length < OUTBOX_FLUSH_BYTES) {
        const struct envelope *envelope =
            (const struct envelope *)(w->batch.base + w->batch.cursor);
        uint64_t size = envelope_record_size(envelope);
        queue_lock(&w->engine->segment.queues[destination], w->id);
        bool room = load_relaxed(&port->state) != PORT_OPEN ||
                    deliver_ring_has_room(port, durable, taken + size);
        queue_unlock(&w->engine->segment.queues[destination]);
        if (!room)
            return taken > 0;
        memcpy(outbox_append(w, destination, size), envelope, size);
        w->batch.cursor += size;
        taken += size;
    }
    return true;
}

/* deliver.D5: the batch is attached; its oldest records go, as many as newer ones wait for above
 *     the
 * limit. */
static void drain_drop_oldest(struct worker *w, struct port *port, struct segment_queue *backlog)
{
    uint64_t limit = port->backlog_bytes, newer = queue_backlog_bytes(backlog), n = 0;
    while (w->batch.cursor < w->batch.tail && w->batch.tail - w->batch.cursor + newer > limit) {
        w->batch.cursor +=
            envelope_record_size((const struct envelope *)(w->batch.base + w->batch.cursor));
        n++;
    }
    if (n == 0)
        return;
    commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, 0, 0, 0);
    POINT(marked);
    deliver_count_dropped(w, port, STAT_backlog_dropped_oldest, n);
}

/* The oldest record that waits; NULL: its batch is at its end. The caller runs the port, and
 * nothing is attached. */
static const struct envelope *drain_oldest_waiting(const struct segment *segment,
                                                   uint32_t destination,
                                                   struct segment_queue *backlog)
{
    uint32_t sel = load_relaxed(&backlog->sel);
    unsigned active = queue_active(sel);
    if (!queue_has_batch(sel))
        /* published: queue_has_work() was the acquire */
        return (const struct envelope *)segment_window(segment, destination, active);
    uint64_t cursor = load_relaxed(&backlog->cursor);
    if (cursor == load_relaxed(&backlog->len[active ^ 1]))
        return NULL;
    return (const struct envelope *)(segment_window(segment, destination, active ^ 1) + cursor);
}

/* drain.D7.  False: there is no room for anything, and the client will say when there is. */
static bool drain_can_begin(struct worker *w, struct port *port, struct segment_port *durable,
                            uint32_t destination)
{
    struct segment_queue *backlog = &w->engine->segment.queues[destination];
    const struct envelope *oldest = drain_oldest_waiting(&w->engine->segment, destination, backlog);
    if (!oldest || port->overflow == PORT_OVERFLOW_DROP_OLDEST)
        return true;
    store_relaxed(&port->executor_words->backlog, 1);
    full_barrier(); /* port_layout.P4: before the look at the client's head */
    queue_lock(backlog, w->id);
    bool room = deliver_ring_has_room(port, durable, envelope_record_size(oldest));
    queue_unlock(backlog);
    return room;
}

void drain_backlog(struct worker *w, uint32_t index)
{
    struct engine *e = w->engine;
    struct port *port = &e->ports.table[index];
    struct segment_port *durable = &e->segment.ports[index];
    uint32_t destination = segment_port_destination(&e->segment, index);
    struct segment_queue *backlog = &e->segment.queues[destination];
    bool room = true;
    uint32_t flushes = 0;
    if (queue_has_work(backlog) && !drain_can_begin(w, port, durable, destination))
        return;
    while (room && queue_has_work(backlog) && flushes < DRAIN_FLUSHES) {
        if (!queue_has_batch(load_relaxed(&backlog->sel)))
            queue_gulp(backlog, w->id);
        unsigned inactive = queue_active(load_relaxed(&backlog->sel)) ^ 1;
        w->batch.base = segment_window(&e->segment, destination, inactive);
        w->batch.cursor = load_relaxed(&backlog->cursor);
        w->batch.tail = load_relaxed(&backlog->len[inactive]);
        w->batch.source = destination + 1;
        commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, 0, 0, 0);
        if (port->overflow == PORT_OVERFLOW_DROP_OLDEST)
            drain_drop_oldest(w, port, backlog);
        while (room && w->batch.cursor < w->batch.tail && flushes++ < DRAIN_FLUSHES) {
            room = drain_some(w, port, durable, destination);
            commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, w->outbox.length, 0, 0);
            flush_from(w, 1);
            commit_flip(w, w->batch.source, w->batch.cursor, w->batch.tail, 0, 0, 0);
            outbox_reset(w);
        }
        if (w->batch.cursor == w->batch.tail) {
            queue_release_batch(backlog);
            overflow_freed(w, reclaim_backlog(w, destination));
            full_barrier(); /* deliver.D6: before the next look at what has been appended */
        } else {
            queue_park_batch(backlog, w->batch.cursor, w->batch.tail, 0);
        }
        w->batch.source = 0;
        commit_flip(w, 0, 0, 0, 0, 0, 0);
    }
    if (!queue_has_work(backlog)) {
        store_relaxed(&port->executor_words->backlog, 0);
        return;
    }
    if (room) { /* others want their turn, too */
        mask_set(w, engine_source_of_port(e, index));
        store_relaxed(&port->executor_words->backlog, 1);
        return;
    }
    /* The client rings when it has made room; it looks at this word behind its own barrier
     * (port_layout.P4). */
    store_relaxed(&port->executor_words->backlog, 1);
    full_barrier();
    queue_lock(backlog, w->id);
    uint64_t before = load_relaxed(&port->delivery_head);
    (void)deliver_ring_has_room(port, durable, port->delivery_bytes);
    room = load_relaxed(&port->delivery_head) != before;
    queue_unlock(backlog);
    if (room)
        source_signal(e, w, engine_source_of_port(e, index));
}
