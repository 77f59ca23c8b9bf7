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
    e->timers.found = (struct watch_range){ 0 };
    for (uint32_t i = 0; i < load_relaxed(&e->segment.header->timers_high); i++) {
        struct segment_timer *timer = &e->segment.timers[i];
        timers_ask_ahead(&e->segment, i);
        POINT(timer_recovered, e, timer);
        if (!timer_recover_lives(timer))
            continue;
        if (timer->watched != 0)
            watches_found(e, i);
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

/* A byte for each place of each class: 1, it is taken. One look at the table for all of them. */
struct timer_recover_map {
    uint8_t *taken[TIMER_CLASSES];
};

static void timer_recover_map_free(struct timer_recover_map *map)
{
    for (uint32_t class = 0; class < TIMER_CLASSES; class ++)
        free(map->taken[class]);
}

static int timer_recover_map_make(const struct timers *t, struct timer_recover_map *ret)
{
    *ret = (struct timer_recover_map){ 0 };
    for (uint32_t class = 0; class < TIMER_CLASSES; class ++) {
        ret->taken[class] = calloc(t->places[class].n_max, 1);
        if (!ret->taken[class])
            return -ENOMEM;
    }
    return 0;
}

static void timer_recover_take(struct timers *t, struct timer_recover_map *map,
                               const struct segment_timer *timer)
{
    struct timer_stock *places = &t->places[timer->class];
    map->taken[timer->class][timer->place] = 1;
    if (places->fresh <= timer->place)
        places->fresh = timer->place + 1;
}

/* Places up to the last one that is taken are taken or free; those behind were never used. */
static void timer_recover_places(struct timers *t, const struct timer_recover_map *map)
{
    for (uint32_t class = 0; class < TIMER_CLASSES; class ++)
        for (uint32_t place = 0; place < t->places[class].fresh; place++)
            if (!map->taken[class][place])
                timer_stock_put(&t->places[class], place);
}

/* Is it one that will fire, or of a life that is over (timers.TM4)? That is looked after at
 * once. */
static uint64_t timer_recover_due(const struct engine *e, const struct segment_timer *timer)
{
    if (timer_posted_stays(timer))
        return timer->deadline_ns;
    uint64_t word = load_relaxed(&e->segment.actors[actor_ref_slot(timer->owner)].word);
    if (slot_word_generation(word) != actor_ref_generation(timer->owner))
        return 0;
    bool stays = slot_word_state(word) == ACTOR_SLOT_PORT || watches_is_link(&e->segment, timer) ||
                 timer_is_kept(timer) ||
                 e->segment.actor_types[slot_word_type(word)].restart == RESTART_KEEP;
    return !stays                                        ? 0
           : timer->watched && timer->end != REASON_NONE ? WATCH_DUE_NS
                                                         : timer->deadline_ns;
}

static int timer_recover_table(struct engine *e, struct timer_recover_map *map)
{
    struct timers *t = &e->timers;
    uint32_t high = load_relaxed(&e->segment.header->timers_high);
    t->numbers.fresh = high;
    for (uint32_t i = 0; i < high; i++) {
        const struct segment_timer *timer = &e->segment.timers[i];
        timers_ask_ahead(&e->segment, i);
        if (timer_recover_lives(timer)) {
            if (!members_recover_room(e, timer))
                return -ENOMEM;
            timers_count_in(e, i, timer_recover_due(e, timer));
            timer_recover_take(t, map, timer);
        } else if (timer_word_state(load_relaxed(&timer->word)) == TIMER_FREE) {
            timer_stock_put(&t->numbers, i);
        }
    }
    return 0;
}

int timer_recover_rebuild(struct engine *e)
{
    struct timers *t = &e->timers;
    struct timer_recover_map map;
    t->sequence = load_relaxed(&e->segment.header->boots) << TIMER_SEQUENCE_BOOT; /* members.M3 */
    t->sequence_at_start = t->sequence;
    if (load_relaxed(&e->segment.header->timers_high) == 0)
        return 0;
    int r = timer_recover_map_make(t, &map);
    if (r == 0)
        r = timer_recover_table(e, &map);
    if (r == 0)
        timer_recover_places(t, &map);
    timer_recover_map_free(&map);
    if (r == 0)
        timers_set_clock(e);
    return r;
}
