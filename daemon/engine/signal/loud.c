/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/loud.h"

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/core/events.h"

void loud_note_idle(struct worker *w, uint32_t id)
{
    struct port *port = &w->engine->ports.table[id];
    uint64_t now = ticks_now();
    if (load_acquire(&port->bell.loud))
        return; /* loud.D2 */
    if (now - port->bell.since_tick >= ticks_of_ns(LOUD_WINDOW_NS)) {
        port->bell.since_tick = now;
        port->bell.idle = 0;
    }
    if (likely(++port->bell.idle < LOUD_IDLE_MOST))
        return;
    port->bell.idle = 0;
    store_release(&port->bell.loud, 1);
    events_push(w->engine, ENGINE_EVENT_PORT_LOUD, id, port->generation, 0);
}

void loud_reset(struct port *port)
{
    port->bell.since_tick = ticks_now();
    port->bell.idle = 0;
    store_release(&port->bell.loud, 0);
}

void loud_forgive(struct port *port)
{
    store_release(&port->bell.loud, 0);
}
