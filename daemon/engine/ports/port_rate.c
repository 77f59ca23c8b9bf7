/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/ports/port_rate.h"

#include <errno.h>

#include "daemon/engine/core/events.h"
#include "daemon/engine/signal/wake.h"

static uint64_t port_rate_not_taken(const struct port *port)
{
    int64_t n = (int64_t)(load_relaxed(&port->granted) - load_relaxed(&port->taken));
    return n > 0 ? (uint64_t)n : 0;
}

uint64_t port_rate_look(struct worker *w, uint32_t id)
{
    struct engine *e = w->engine;
    struct port *port = &e->ports.table[id];
    uint64_t n = port_rate_not_taken(port);
    if (n > 0) {
        if (unlikely(load_relaxed(&port->spent)))
            store_relaxed(&port->spent, 0);
        return n;
    }
    if (load_relaxed(&port->spent))
        return 0; /* the control thread knows */
    store_relaxed(&port->spent, 1);
    full_barrier(); /* [SPENT_RECHECK]; pairs with that of engine_port_grant */
    n = port_rate_not_taken(port);
    if (n > 0 || !load_relaxed(&port->rated)) {
        store_relaxed(&port->spent, 0);
        return n > 0 ? n : UINT64_MAX;
    }
    stat_add(w, STAT_rate_limited, 1);
    events_push(e, ENGINE_EVENT_PORT_SPENT, id, port->generation, 0);
    return 0;
}

void port_rate_reset(struct port *port, bool rated)
{
    store_relaxed(&port->rated, rated);
    store_relaxed(&port->spent, 0);
    store_relaxed(&port->granted, 0);
    store_relaxed(&port->taken, 0);
}

static struct port *port_rate_find(struct engine *e, uint32_t id, uint32_t generation)
{
    struct port *port = id < ODEON_PORTS_MAX ? &e->ports.table[id] : NULL;
    return port && load_relaxed(&port->state) != PORT_FREE && port->generation == generation ? port
                                                                                             : NULL;
}

/* Behind what lets it go on: port_rate.G2. */
static void port_rate_go_on(struct engine *e, struct port *port, uint32_t id)
{
    full_barrier(); /* [SPENT_RECHECK] */
    if (!atomic_exchange_explicit(&port->spent, 0, memory_order_seq_cst))
        return;
    full_barrier_after_exchange(); /* and behind it its owner word is read [PUB_OWN] */
    if (e->started && load_relaxed(&port->state) == PORT_OPEN)
        source_signal(e, e->control, engine_source_of_port(e, id));
}

int engine_port_grant(struct engine *e, uint32_t id, uint32_t generation, uint64_t records)
{
    struct port *port = port_rate_find(e, id, generation);
    if (!port)
        return -ENOENT;
    store_relaxed(&port->granted, load_relaxed(&port->granted) + records);
    port_rate_go_on(e, port, id);
    return 0;
}

int engine_port_set_rated(struct engine *e, uint32_t id, uint32_t generation, bool rated)
{
    struct port *port = port_rate_find(e, id, generation);
    if (!port)
        return -ENOENT;
    if (rated && !load_relaxed(&port->rated))
        /* the runner may take some more meanwhile: it owes them */
        store_relaxed(&port->granted, load_relaxed(&port->taken));
    store_relaxed(&port->rated, rated);
    port_rate_go_on(e, port, id);
    return 0;
}

int engine_port_rate(struct engine *e, uint32_t id, uint32_t generation,
                     struct engine_port_rate *ret)
{
    const struct port *port = port_rate_find(e, id, generation);
    if (!port)
        return -ENOENT;
    *ret = (struct engine_port_rate){ .taken = load_relaxed(&port->taken),
                                      .left = port_rate_not_taken(port),
                                      .rated = load_relaxed(&port->rated) != 0,
                                      .spent = load_relaxed(&port->spent) != 0 };
    return 0;
}
