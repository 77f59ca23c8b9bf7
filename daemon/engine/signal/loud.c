/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/loud.h"

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/core/events.h"

/* To `to`, which its client says; false: it has been there before. */
static bool loud_comes_to(uint64_t *at, uint64_t to)
{
    if ((int64_t)(to - *at) <= 0)
        return false;
    *at = to;
    return true;
}

/* loud.D1.  What is taken back and said again is nothing new, and neither is it to have received
 * what has not been delivered. */
static bool loud_is_news(struct port *port, const struct loud_look *look)
{
    bool published = loud_comes_to(&port->bell.tail, look->tail);
    bool received =
        (int64_t)(look->delivered - look->head) >= 0 && loud_comes_to(&port->bell.head, look->head);
    return published || received || look->worked;
}

void loud_note_run(struct worker *w, uint32_t id, const struct loud_look *look)
{
    struct port *port = &w->engine->ports.table[id];
    uint64_t now = ticks_now();
    uint32_t heard = engine_workers(w->engine); /* by so many may one bell have been heard */
    store_relaxed(&port->bell.rang, 0);
    if (loud_is_news(port, look)) {
        port->bell.idle -= port->bell.idle > heard ? heard : port->bell.idle;
        return;
    }
    if (load_acquire(&port->bell.loud))
        return; /* loud.D2 */
    if (now - port->bell.since_tick >= ticks_of_ns(LOUD_WINDOW_NS)) {
        port->bell.since_tick = now;
        port->bell.idle = 0;
    }
    if (likely(++port->bell.idle < LOUD_IDLE_MOST + heard))
        return;
    port->bell.idle = 0;
    store_release(&port->bell.loud, 1);
    events_push(w->engine, ENGINE_EVENT_PORT_LOUD, id, port->generation, 0);
}

void loud_reset(struct port *port)
{
    port->bell.since_tick = ticks_now();
    port->bell.idle = 0;
    port->bell.tail = port->bell.head = 0;
    store_relaxed(&port->bell.rang, 0);
    store_release(&port->bell.loud, 0);
}

void loud_forgive(struct port *port)
{
    store_release(&port->bell.loud, 0);
}
