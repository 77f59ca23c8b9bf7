/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/ports/port_poll.h"

#include "daemon/engine/base/points.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/ports/port_record.h"
#include "daemon/engine/signal/wake.h"

enum { PORT_COLD_POLLS = 20000 };

/* What was published first is on its way while the port is taken: up to two lines, and none that
 * its client may be about to write. */
static inline void port_poll_prefetch(const struct engine *e, uint32_t id)
{
    const struct port *port = &e->ports.table[id];
    uint64_t head = load_relaxed(&e->segment.ports[id].pcur);
    uint64_t bytes = port_published_tail(&e->ports.table[id]) - head;
    prefetch_read(port_record_at(port, head));
    prefetch_read(port_record_at(port, head + (bytes - 1 < 64 ? bytes - 1 : 64)));
}

static uint32_t port_poll_idle(struct port *port)
{
    uint32_t polls = load_relaxed(&port->idle_polls) + 1;
    store_relaxed(&port->idle_polls, polls);
    return polls;
}

int64_t port_poll_some(struct worker *w)
{
    struct engine *e = w->engine;
    int64_t alone = -1;
    for (uint32_t word = 0; word < ODEON_PORTS_MAX / 64; word++) {
        for (uint64_t bits = w->ports.hot[word]; bits; bits &= bits - 1) {
            uint32_t id = word * 64 + (uint32_t)__builtin_ctzll(bits);
            struct port *port = &e->ports.table[id];
            if (own_worker(load_relaxed(e->sources[engine_source_of_port(e, id)].own)) != w->id) {
                w->ports.hot[word] &=
                    ~(UINT64_C(1) << (id % 64)); /* stolen: its new owner polls it */
            } else if (port_has_work(e, id)) {
                port_poll_prefetch(e, id);
                if (alone >= 0)
                    mask_set(w, engine_source_of_port(e, id));
                else
                    alone = engine_source_of_port(e, id);
            } else if (port_poll_idle(port) > PORT_COLD_POLLS) {
                store_relaxed(&port->idle_polls, 0);
                store_relaxed(&port->executor_words->need_wakeup, 1);
                full_barrier(); /* port_layout.P4 */
                if (port_has_work(e, id))
                    mask_set(w, engine_source_of_port(e, id));
                else
                    w->ports.hot[word] &= ~(UINT64_C(1) << (id % 64));
            }
        }
    }
    if (likely(alone < 0) || mask_is_empty(w))
        return alone;
    mask_set(w, (uint32_t)alone);
    return -1;
}

bool port_make_cold(struct worker *w)
{
    struct engine *e = w->engine;
    bool found = false, any = false;
    for (uint32_t word = 0; word < ODEON_PORTS_MAX / 64; word++)
        for (uint64_t bits = w->ports.hot[word]; bits; bits &= bits - 1) {
            uint32_t id = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (own_worker(load_relaxed(e->sources[engine_source_of_port(e, id)].own)) == w->id) {
                store_relaxed(&e->ports.table[id].executor_words->need_wakeup, 1);
                any = true;
            } else {
                w->ports.hot[word] &= ~(UINT64_C(1) << (id % 64));
            }
        }
    if (!any)
        return false;
    STEP(cold_fence, full_barrier()); /* port.R3, port_layout.P4 */
    for (uint32_t word = 0; word < ODEON_PORTS_MAX / 64; word++)
        for (uint64_t bits = w->ports.hot[word]; bits; bits &= bits - 1) {
            uint32_t id = word * 64 + (uint32_t)__builtin_ctzll(bits);
            if (port_has_work(e, id)) {
                mask_set(w, engine_source_of_port(e, id));
                found = true;
            } else {
                w->ports.hot[word] &= ~(UINT64_C(1) << (id % 64));
            }
        }
    return found;
}

void port_have_it_ring(struct engine *e, uint32_t id)
{
    if (load_acquire(&e->ports.table[id].state) != PORT_OPEN)
        return;
    store_relaxed(&e->ports.table[id].executor_words->need_wakeup, 1);
    full_barrier(); /* port_layout.P4: the look is that of whoever takes the bit */
    source_signal(e, e->control, engine_source_of_port(e, id));
}
