/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/member_look.h"

#include <errno.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/timers/members.h"
#include "daemon/engine/timers/timer_owners.h"
#include "daemon/engine/timers/timers.h"

/* From the first one on: *timer; UINT32_MAX: there is none, or no more. */
static void member_look_first(const struct timer_owners *joined, actor_ref who, uint32_t *first,
                              uint32_t *timer)
{
    *timer = timer_owners_first(joined, who, first) ? *first : UINT32_MAX;
}
static void member_look_next(const struct timer_owners *joined, uint32_t first, uint32_t *timer)
{
    *timer = joined->links[*timer].next;
    if (*timer == first)
        *timer = UINT32_MAX;
}

int member_look_find(const struct engine *e, actor_ref who, actor_ref group, uint64_t *ret_id)
{
    const struct timer_owners *joined = &e->timers.members.joined;
    uint32_t first, timer;
    member_look_first(joined, who, &first, &timer);
    for (; timer != UINT32_MAX; member_look_next(joined, first, &timer)) {
        *ret_id = timer_id(&e->segment, timer);
        const struct segment_timer *durable = &e->segment.timers[timer];
        if (durable->group == group && timers_is_there(&e->segment, *ret_id) &&
            !VALUE(former_life, timers_is_of_former_life(e, durable)))
            return 0;
    }
    return -ENOENT;
}

int member_look_find_left(const struct worker *w, actor_ref who, actor_ref group,
                          uint32_t *ret_timer)
{
    const struct engine *e = w->engine;
    const struct timer_owners *joined = &e->timers.members.joined;
    uint32_t first;
    member_look_first(joined, who, &first, ret_timer);
    for (; *ret_timer != UINT32_MAX; member_look_next(joined, first, ret_timer))
        if (e->segment.timers[*ret_timer].group == group &&
            timers_is_claimed_now(w, &e->segment.timers[*ret_timer]))
            return 0;
    return -ENOENT;
}

/* member_look.ML1. An owner that has ended is found by who sends; one that begins anew does so with
 * another executor. */
static bool member_look_is_one(const struct engine *e, struct member_place *place)
{
    if (likely(place->is_settled))
        return true;
    const struct segment_timer *timer = &e->segment.timers[place->timer - 1];
    uint64_t key = load_acquire(&e->actors.table[actor_ref_slot(timer->owner)].key);
    if (timers_is_open(&e->segment, timer->arm_worker, timer->arm_count) ||
        actor_key_generation(key) != actor_ref_generation(timer->owner) || !actor_key_lives(key) ||
        timers_is_of_another_life(e, timer, key))
        return false;
    place->is_settled = timer->claim_count == 0;
    return place->is_settled ||
           timers_is_open(&e->segment, timer->claim_worker, timer->claim_count);
}

void member_look_unsettle(struct engine *e, uint64_t id)
{
    const struct segment_timer *timer = &e->segment.timers[(uint32_t)id];
    members_of(e, timer->group)->places[timer->member_place].is_settled = false;
}

void member_look_at_block(struct engine *e, actor_ref group, struct member_block *block)
{
    struct timers *t = &e->timers;
    uint32_t end = block->place + t->members.block;
    block->n = 0;
    lock_take(&t->mutex);
    const struct member_group *of = members_of(e, group);
    if (block->until == 0)
        block->until = t->sequence;
    for (; block->place < end && block->place < of->high; block->place++) {
        struct member_place *place = &of->places[block->place];
        if (place->timer != 0 && place->sequence <= block->until && member_look_is_one(e, place))
            block->refs[block->n++] = place->who;
    }
    block->more = block->place < of->high;
    lock_give(&t->mutex);
}
