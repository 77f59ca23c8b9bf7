/* SPDX-License-Identifier: Apache-2.0 */
/* What can be told of a port (engine.h). The control thread looks; the words are their writers' and
 * change meanwhile, and some are the client's own. */
#include <errno.h>

#include "daemon/engine/base/client_load.h"
#include "daemon/engine/core/core.h"
#include "daemon/engine/ports/port_record.h"
#include "daemon/engine/segment/queue.h"

/* Of two cursors the one that is ahead has been read first (acquire), so that no more is told than
 * there was then, whatever has gone on since. A client that lies is believed as far as there is
 * room. */
static uint64_t port_tally_between(uint64_t ahead, uint64_t behind, uint64_t most)
{
    int64_t n = (int64_t)(ahead - behind);
    if (n <= 0)
        return 0;
    return (uint64_t)n < most ? (uint64_t)n : most;
}

static uint64_t port_tally_backlog(const struct segment_queue *backlog)
{
    uint32_t sel = load_relaxed(&backlog->sel);
    uint64_t bytes = load_relaxed(&backlog->len[queue_active(sel)]);
    if (!queue_has_batch(sel))
        return bytes;
    uint64_t tail = load_relaxed(&backlog->len[queue_active(sel) ^ 1]),
             cursor = load_relaxed(&backlog->cursor);
    return bytes + (cursor < tail ? tail - cursor : 0);
}

static enum engine_port_waits port_tally_waits(const struct port *port)
{
    uint32_t on = load_relaxed(&port->stalled_on);
    if (load_relaxed(&port->spent))
        return ENGINE_PORT_RATE;
    if (on == 0)
        return ENGINE_PORT_GOES_ON;
    return on == STALLED_ON_BUDGET ? ENGINE_PORT_SHARE : ENGINE_PORT_ROOM;
}

int engine_port_tally(struct engine *e, uint32_t id, uint32_t generation,
                      struct engine_port_tally *ret)
{
    if (id >= ODEON_PORTS_MAX)
        return -ENOENT;
    struct port *port = &e->ports.table[id];
    const struct segment_port *durable = &e->segment.ports[id];
    if (load_acquire(&port->state) != PORT_OPEN || port->generation != generation)
        return -ENOENT;
    uint64_t published = port_published_tail(port), taken = load_relaxed(&durable->pcur),
             delivered = load_acquire(&durable->dtail);
    CLIENT_LOAD(WORD, &port->client_words->delivery_head);
    uint64_t received = load_relaxed(&port->client_words->delivery_head);
    *ret = (struct engine_port_tally){
        .ref = durable->ref,
        .posts = load_relaxed(&port->executor_words->posts),
        .not_taken = port_tally_between(published, taken, port->submission_bytes),
        .delivered = delivered,
        .not_received = port_tally_between(delivered, received, port->delivery_bytes),
        .backlog =
            port_tally_backlog(&e->segment.queues[segment_port_destination(&e->segment, id)]),
        .dropped = load_relaxed(&port->executor_words->dropped),
        .refused = load_relaxed(&port->executor_words->refused),
        .waits = port_tally_waits(port),
    };
    return 0;
}
