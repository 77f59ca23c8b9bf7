/* SPDX-License-Identifier: Apache-2.0 */
/* See loud_ports.h. */
#include "daemon/executor/loud_ports.h"

#include <errno.h>

#include "daemon/executor/executor.h"
#include "daemon/executor/turns.h"

#define MILLISECOND   UINT64_C(1000000)
#define TELL_AGAIN_NS UINT64_C(1000000000)
#define CALM_NS       (100 * MILLISECOND) /* who is loud behind that begins anew */

/* The supervisor knows who it is, and how often to say so. */
static void loud_ports_tell(struct executor *executor, uint32_t port)
{
    Odeon__Report report = ODEON__REPORT__INIT;
    Odeon__QuotaHit hit = ODEON__QUOTA_HIT__INIT;
    uint64_t now = uv_hrtime();

    if (now - executor->loud_ports.told_ns < TELL_AGAIN_NS)
        return;
    executor->loud_ports.told_ns = now;
    hit.client_id = engine_port_client(executor->engine, port);
    hit.quota = (char *)"doorbells";
    report.quota_hit = &hit;
    report.body_case = ODEON__REPORT__BODY_QUOTA_HIT;
    control_send(executor->control, &report);
}

/* One that cannot be watched now, for want of memory, is tried again. */
static void loud_ports_listen(struct executor *executor, uint32_t index, uint64_t now)
{
    struct loud_port *port = &executor->loud_ports.ports[index];
    int r = engine_port_listen(executor->engine, index, port->generation);

    if (r < 0 && r != -ENOENT) {
        port->until_ns = now + MILLISECOND;
        return;
    }
    port->muted = false;
    port->until_ns = now;
    executor->loud_ports.n_muted--;
}

static void loud_ports_on_timer(uv_timer_t *timer)
{
    struct executor *executor = timer->data;
    uint64_t now = uv_hrtime();

    turns_begin_piece(executor, "loud ports");
    for (uint32_t i = 0; i < ODEON_PORTS_MAX && executor->loud_ports.n_muted > 0; i++) {
        const struct loud_port *port = &executor->loud_ports.ports[i];

        if (port->muted && port->until_ns <= now)
            loud_ports_listen(executor, i, now);
    }
    if (executor->loud_ports.n_muted > 0)
        uv_timer_start(timer, loud_ports_on_timer, 1, 0);
}

void loud_ports_start(struct executor *executor)
{
    uv_timer_init(&executor->loop, &executor->loud_ports.timer);
    executor->loud_ports.timer.data = executor;
    executor->loud_ports.open = true;
}

void loud_ports_stop(struct executor *executor)
{
    if (executor->loud_ports.open)
        uv_close((uv_handle_t *)&executor->loud_ports.timer, NULL);
    executor->loud_ports.open = false;
}

void loud_ports_on_loud(struct executor *executor, const struct engine_event *event)
{
    struct loud_ports *loud = &executor->loud_ports;
    struct loud_port *port = &loud->ports[event->id];
    uint64_t now = uv_hrtime();
    bool again = port->generation == event->generation && now - port->until_ns < CALM_NS;

    if (port->muted || engine_port_mute(executor->engine, event->id, event->generation) < 0)
        return;
    port->step = !again ? 0 : port->step < LOUD_PORTS_STEP_MOST ? port->step + 1 : port->step;
    port->generation = event->generation;
    port->muted = true;
    port->until_ns = now + (MILLISECOND << port->step);
    loud->n_muted++;
    if (!uv_is_active((uv_handle_t *)&loud->timer))
        uv_timer_start(&loud->timer, loud_ports_on_timer, 1, 0);
    loud_ports_tell(executor, event->id);
}

void loud_ports_remove(struct executor *executor, uint32_t index, uint32_t generation)
{
    struct loud_ports *loud = &executor->loud_ports;

    if (loud->ports[index].generation != generation)
        return;
    loud->n_muted -= loud->ports[index].muted;
    loud->ports[index] = (struct loud_port){ 0 };
}
