/* SPDX-License-Identifier: Apache-2.0 */
/* Timers as the control thread sees them: what is due, what is armed. */
#include "daemon/engine/engine.h"

#include <errno.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/engine/timers/kept.h"
#include "daemon/engine/timers/shelf.h"
#include "daemon/engine/timers/timer_fire.h"
#include "daemon/engine/timers/timers.h"

int engine_timers_fd(const struct engine *e)
{
    return e->timers.fd;
}

void engine_timers_look(struct engine *e)
{
    uint64_t expirations;
    ssize_t size = read(e->timers.fd, &expirations, sizeof(expirations));
    if (size < 0 && errno != EAGAIN)
        return;
    if (size > 0)
        timers_clock_went_off(e);
    timer_fire_due(e, timers_read_clocks(e));
}

uint32_t engine_timers_count(struct engine *e)
{
    lock_take(&e->timers.mutex);
    shelf_clear_all(e);
    uint32_t n = e->timers.n - e->timers.n_watches - e->timers.n_stashed - kept_timers(e);
    lock_give(&e->timers.mutex);
    return n;
}

uint32_t engine_stashed_count(struct engine *e)
{
    lock_take(&e->timers.mutex);
    uint32_t n = e->timers.n_stashed;
    lock_give(&e->timers.mutex);
    return n;
}

static void engine_timer_view_fill(struct engine *e, uint32_t timer, struct engine_timer_view *ret)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    const struct envelope *message = segment_timer_message(&e->segment, durable);
    *ret = (struct engine_timer_view){
        .timer = timer,
        .id = timer_id(&e->segment, timer),
        .deadline_ns = durable->deadline_ns,
        .by_boot_time = durable->clock == TIMER_CLOCK_BOOT,
        .period_ns = durable->period_ns,
        .owner = durable->owner,
        .watched = durable->watched,
        .group = durable->group,
        .to = message->to,
        .message_type = message->type,
        .size = envelope_payload_size(message),
    };
}

/* In the heap of its clock; that of a number that is free is whichever it had last. */
static bool engine_timer_is_armed(struct engine *e, uint32_t timer)
{
    return timers_heap_of(e, timer)->place_of[timer] != 0 &&
           e->segment.timers[timer].stashed == TIMER_NOT_STASHED;
}

/* Whoever arms one waits no longer than for so many looks, however many numbers are free. */
enum { LOOKS_A_LOCK = 1024 };

int engine_timer_next(struct engine *e, uint32_t timer, struct engine_timer_view *ret)
{
    int r = -EAGAIN;
    while (r == -EAGAIN) {
        lock_take(&e->timers.mutex);
        if (timer == 0)
            shelf_clear_all(e);
        uint32_t high = load_relaxed(&e->segment.header->timers_high);
        for (unsigned i = 0; r == -EAGAIN && i < LOOKS_A_LOCK; i++, timer++)
            if (timer >= high) {
                r = -ENOENT;
            } else if (engine_timer_is_armed(e, timer)) {
                engine_timer_view_fill(e, timer, ret);
                r = 0;
            }
        lock_give(&e->timers.mutex);
    }
    return r;
}
