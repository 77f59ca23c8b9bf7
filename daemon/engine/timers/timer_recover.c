/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_recover.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/timers/members.h"
#include "daemon/engine/timers/timer_posted.h"
#include "daemon/engine/timers/timer_stock.h"
#include "daemon/engine/timers/timers.h"

static bool timer_recover_lives(const struct segment_timer *timer)
{
    return timer_word_state(load_relaxed(&timer->word)) == TIMER_LIVE;
}

static void timer_recover_end(struct segment_timer *timer)
{
    store_relaxed(&timer->word, timer_word_ended(load_relaxed(&timer->word)));
    crash_order();
}

void timer_recover_redo(struct engine *e)
{
    const struct segment_commit *slot =
        segment_commit_valid(&e->segment.workers[e->segment.n_ids - 1]);
    if (slot->redo_how != COMMIT_TIMER || slot->redo == 0)
        return;
    struct segment_timer *timer = &e->segment.timers[(uint32_t)slot->redo];
    uint64_t next_ns = slot->port | (uint64_t)slot->port_generation << 32;
    if (load_relaxed(&timer->word) != timer_word((uint32_t)(slot->redo >> 32), TIMER_LIVE))
        return; /* it has been done */
    if (next_ns == 0)
        timer_recover_end(timer);
    else
        timer->deadline_ns = next_ns;
    crash_order();
}

uint64_t timer_recover_undo(struct engine *e)
{
    uint64_t undone = 0;
    for (uint32_t i = 0; i < load_relaxed(&e->segment.header->timers_high); i++) {
        struct segment_timer *timer = &e->segment.timers[i];
        POINT(timer_recovered, timer);
        if (!timer_recover_lives(timer))
            continue;
        if (timers_is_open(&e->segment, timer->arm_worker, timer->arm_count)) {
            timer_recover_end(timer); /* timers.TM1 */
            undone++;
        } else if (timer->claim_count == 0) {
            continue;
        } else if (timers_is_open(&e->segment, timer->claim_worker, timer->claim_count)) {
            STEP(claim_void, timer->claim_count = 0); /* timers.TM2 */
            crash_order();
        } else {
            timer_recover_end(timer);
        }
    }
    return undone;
}

/* Places up to the last one that is taken are taken or free; those behind were never used. */
static void timer_recover_places(struct engine *e, uint32_t class, uint8_t *taken)
{
    struct timer_stock *places = &e->timers.places[class];
    uint32_t high = load_relaxed(&e->segment.header->timers_high);
    for (uint32_t i = 0; i < high; i++) {
        const struct segment_timer *timer = &e->segment.timers[i];
        if (!timer_recover_lives(timer) || timer->class != class)
            continue;
        taken[timer->place] = 1;
        if (places->fresh <= timer->place)
            places->fresh = timer->place + 1;
    }
    for (uint32_t place = 0; place < places->fresh; place++) {
        if (!taken[place])
            timer_stock_put(places, place);
        taken[place] = 0;
    }
}

/* Is it one that will fire, or of a life that is over (timers.TM4)? That is looked after at
 * once. */
static uint64_t timer_recover_due(const struct engine *e, const struct segment_timer *timer)
{
    if (timer_posted_is(timer))
        return timer->deadline_ns;
    uint64_t word = load_relaxed(&e->segment.actors[actor_ref_slot(timer->owner)].word);
    if (slot_word_generation(word) != actor_ref_generation(timer->owner))
        return 0;
    bool stays = slot_word_state(word) == ACTOR_SLOT_PORT || watches_is_link(&e->segment, timer) ||
                 e->segment.actor_types[slot_word_type(word)].restart == RESTART_KEEP;
    return !stays                                        ? 0
           : timer->watched && timer->end != REASON_NONE ? WATCH_DUE_NS
                                                         : timer->deadline_ns;
}

int timer_recover_rebuild(struct engine *e)
{
    struct timers *t = &e->timers;
    uint32_t high = load_relaxed(&e->segment.header->timers_high);
    t->sequence = load_relaxed(&e->segment.header->boots) << TIMER_SEQUENCE_BOOT; /* members.M3 */
    if (high == 0)
        return 0;
    uint8_t *taken = calloc(t->places[0].n_max, 1);
    if (!taken)
        return -ENOMEM;
    t->numbers.fresh = high;
    for (uint32_t i = 0; i < high; i++) {
        const struct segment_timer *timer = &e->segment.timers[i];
        if (timer_recover_lives(timer)) {
            if (!members_recover_room(e, timer)) {
                free(taken);
                return -ENOMEM;
            }
            timers_count_in(e, i, timer_recover_due(e, timer));
        } else if (timer_word_state(load_relaxed(&timer->word)) == TIMER_FREE) {
            timer_stock_put(&t->numbers, i);
        }
    }
    for (uint32_t class = 0; class < TIMER_CLASSES; class ++)
        timer_recover_places(e, class, taken);
    free(taken);
    timers_set_clock(e);
    return 0;
}
