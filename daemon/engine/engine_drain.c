/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting until nothing is under way, and counting what is left. */
#include "daemon/common/clock.h"
#include "daemon/engine/engine.h"

#include <time.h>

#include "daemon/engine/core/core.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/segment/queue.h"

static uint64_t engine_drain_queue_count_messages(struct engine *e, uint32_t id)
{
    struct segment_queue *queue = &e->segment.queues[id];
    uint64_t n = 0;
    queue_lock(queue, e->control->id);
    uint32_t sel = load_acquire(&queue->sel);
    for (unsigned buffer = 0; buffer < 2; buffer++) {
        const uint8_t *base = segment_window(&e->segment, id, buffer);
        bool batch = buffer != queue_active(sel);
        uint64_t at = batch ? load_relaxed(&queue->cursor) : 0,
                 end = load_acquire(&queue->len[buffer]);
        uint64_t wrap = batch ? load_relaxed(&queue->wrap) : 0;
        for (; at < wrap; n++)
            at += envelope_record_size((const struct envelope *)(base + at));
        for (at = wrap ? 0 : at; at < end; n++)
            at += envelope_record_size((const struct envelope *)(base + at));
    }
    queue_unlock(queue);
    return n;
}

static bool engine_drain_is_quiet(struct engine *e)
{
    for (uint32_t i = 0; i < e->control->id; i++)
        if (load_acquire(&e->workers[i]->shown.busy))
            return false;
    for (uint32_t i = 0; i < e->segment.n_queues; i++)
        if (queue_has_work(&e->segment.queues[i]))
            return false;
    return true;
}

static bool engine_drain_ports_are_drained(struct engine *e)
{
    for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
        if (!port_is_drained(e, id))
            return false;
    return true;
}

static void engine_drain_pause(struct engine *e)
{
    control_waits(e);
    nanosleep(&(struct timespec){ .tv_nsec = 200 * 1000 }, NULL);
}

int engine_drain(struct engine *e, uint64_t timeout_ns, bool stop, uint64_t *ret_unreceived)
{
    uint64_t until = clock_now_ns() + timeout_ns;
    int r = 1, quiet = 0;
    /* what clients have published is accepted: take it first, for half of the time */
    if (stop && timeout_ns > 0)
        while (!engine_drain_ports_are_drained(e) && clock_now_ns() < until - timeout_ns / 2)
            engine_drain_pause(e);
    if (stop)
        store_release(&e->ports.stopped, 1);
    do {
        /* twice in a row: between two looks a message may have moved */
        quiet = engine_drain_is_quiet(e) ? quiet + 1 : 0;
        if (quiet >= 2)
            r = 0;
        else
            engine_drain_pause(e);
    } while (r != 0 && clock_now_ns() < until);
    /* published too late to be taken, or by clients that do not stop */
    if (stop && !engine_drain_ports_are_drained(e))
        r = 1;
    uint64_t unreceived = 0;
    if (r != 0)
        for (uint32_t i = 0; i < e->segment.n_queues; i++)
            unreceived += engine_drain_queue_count_messages(e, i);
    if (r != 0 && stop)
        for (uint32_t id = 0; id < ODEON_PORTS_MAX; id++)
            unreceived += port_count_published(e, id);
    *ret_unreceived = unreceived;
    store_relaxed(&e->stats->unreceived, unreceived);
    return r;
}
