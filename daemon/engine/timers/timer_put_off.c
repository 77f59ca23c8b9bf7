/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_put_off.h"

#include <errno.h>

#include "daemon/engine/base/reserve.h"
#include "daemon/engine/timers/timer_heap.h"
#include "daemon/engine/timers/timers.h"

/* Of a timer that is in no chain, and of the last one of a chain. */
enum { PUT_OFF_NOT = 0, PUT_OFF_LAST = UINT32_MAX };

int timer_put_off_open(struct engine *e)
{
    struct timer_put_off *p = &e->timers.put_off;
    if (e->segment.n_timers == 0)
        return 0;
    p->of = reserve(e->segment.n_ids * sizeof(*p->of));
    p->next = reserve((uint64_t)e->segment.n_timers * sizeof(*p->next));
    return p->of && p->next ? 0 : -ENOMEM;
}

void timer_put_off_close(struct engine *e)
{
    struct timer_put_off *p = &e->timers.put_off;
    reserve_free(p->of, e->segment.n_ids * sizeof(*p->of));
    reserve_free(p->next, (uint64_t)e->segment.n_timers * sizeof(*p->next));
    *p = (struct timer_put_off){ 0 };
}

/* It may have ended since, and its number be another one's: who was armed in another turn is none
 * of them. */
static void timer_put_off_release(struct engine *e, uint32_t id)
{
    struct timer_put_off *p = &e->timers.put_off;
    struct timer_put_off_turn *turn = &p->of[id];
    uint32_t next = turn->first;
    turn->first = PUT_OFF_NOT;
    while (next != PUT_OFF_NOT && next != PUT_OFF_LAST) {
        uint32_t timer = next - 1;
        const struct segment_timer *durable = &e->segment.timers[timer];
        struct timer_heap *heap = timers_heap_of(e, timer);
        next = p->next[timer];
        p->next[timer] = PUT_OFF_NOT;
        if (heap->place_of[timer] != 0 && durable->arm_worker == id &&
            durable->arm_count == turn->count)
            timer_heap_move(heap, timer, durable->watched ? WATCH_DUE_NS : durable->deadline_ns);
    }
}

uint64_t timer_put_off_add(struct engine *e, uint32_t timer, uint64_t now_ns)
{
    struct timer_put_off *p = &e->timers.put_off;
    const struct segment_timer *durable = &e->segment.timers[timer];
    struct timer_put_off_turn *turn = &p->of[durable->arm_worker];
    if (turn->first != PUT_OFF_NOT && turn->count != durable->arm_count)
        timer_put_off_release(e, durable->arm_worker); /* another turn's, which is over */
    if (turn->first == PUT_OFF_NOT)
        turn->since_ns = now_ns;
    if (p->next[timer] != PUT_OFF_NOT)
        return turn->since_ns;
    turn->count = durable->arm_count;
    p->next[timer] = turn->first != PUT_OFF_NOT ? turn->first : PUT_OFF_LAST;
    turn->first = timer + 1;
    return turn->since_ns;
}

bool timer_put_off_rejoin(struct engine *e, uint32_t timer)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    const struct timer_put_off_turn *turn = &e->timers.put_off.of[durable->arm_worker];
    if (turn->first == PUT_OFF_NOT || turn->count != durable->arm_count)
        return false;
    timer_put_off_release(e, durable->arm_worker);
    return true;
}

void timer_put_off_look(struct engine *e)
{
    const struct timer_put_off *p = &e->timers.put_off;
    for (uint32_t id = 0; e->segment.n_timers > 0 && id < e->segment.n_ids; id++)
        if (p->of[id].first != PUT_OFF_NOT && !timers_is_open(&e->segment, id, p->of[id].count))
            timer_put_off_release(e, id);
}
