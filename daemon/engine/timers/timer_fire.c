/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timer_fire.h"

#include <string.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/send/refuse.h"
#include "daemon/engine/timers/owed.h"
#include "daemon/engine/timers/shelf.h"
#include "daemon/engine/timers/timer_heap.h"
#include "daemon/engine/timers/timer_posted.h"
#include "daemon/engine/timers/timer_put_off.h"
#include "daemon/engine/timers/timers.h"

static_assert(KEPT_SENT_MAX >= (int)TIMER_FIRES, "all that one look sends");

static uint64_t timer_fire_key(const struct engine *e, actor_ref ref)
{
    uint32_t slot = actor_ref_slot(ref);
    uint64_t key =
        slot < e->config.actors_max ? load_acquire(&e->actors.table[slot].key) : ACTOR_FREE;
    bool there = actor_key_generation(key) == actor_ref_generation(ref) &&
                 (actor_key_lives(key) || actor_key_kind(key) == ACTOR_PORT);
    return there ? key : ACTOR_FREE;
}

/* The deadline behind the one that is over, and how many between them are missed. */
static uint64_t timer_fire_next(const struct segment_timer *durable, uint64_t now_ns,
                                uint64_t *ret_missed)
{
    *ret_missed = 0;
    if (durable->period_ns == 0)
        return 0;
    if (now_ns > durable->deadline_ns)
        *ret_missed = (now_ns - durable->deadline_ns) / durable->period_ns;
    return durable->deadline_ns + (*ret_missed + 1) * durable->period_ns;
}

/* timers.TM3: what is in the outbox is sent, and the timer goes on, or has ended. */
static void timer_fire_commit(struct engine *e, uint32_t timer, uint64_t next_ns)
{
    struct worker *w = e->control;
    struct segment_timer *durable = &e->segment.timers[timer];
    POINT(timer_fires, durable, next_ns);
    commit_timer(w, w->outbox.length, timer_id(&e->segment, timer), next_ns);
    if (next_ns == 0) {
        timers_end(e, timer);
        return;
    }
    durable->deadline_ns = next_ns;
    timer_heap_move(timers_heap_of(e, timer), timer, next_ns);
}

/* It is not sent any more. What its owner has put off, or was kept for who has ended, is told to
 * who has sent it, or a dead letter (stash.ST4, kept.KE5); of another timer nobody is told. */
static void timer_fire_drop(struct engine *e, uint32_t timer)
{
    struct worker *w = e->control;
    const struct segment_timer *durable = &e->segment.timers[timer];
    bool stashed = timer_is_stashed(durable), kept = timer_is_kept(durable);
    if (stashed || kept) {
        (void)refuse_write(w, segment_timer_message(&e->segment, durable),
                           stashed ? REASON_STASHED : REASON_NO_SUCH_ACTOR);
        stat_add(w, STAT_dead_letters, 1);
    }
    timer_fire_commit(e, timer, 0);
    stat_add(w, stashed ? STAT_stash_dead : STAT_timers_dropped, !kept);
}

static bool timer_fire_owner_may_begin(uint64_t owner_key)
{
    return actor_key_kind(owner_key) == ACTOR_NEW || actor_key_kind(owner_key) == ACTOR_ASIDE;
}

/* Its owner is initialised by it, if by nothing else so far. One that has been set aside may have
 * begun or not: its aside queue's runner knows, and to one that has an init record does nothing. */
static void timer_fire_begin_owner(struct engine *e, uint32_t timer, uint64_t owner_key)
{
    struct worker *w = e->control;
    actor_ref owner = e->segment.timers[timer].owner;
    if (timer_fire_owner_may_begin(owner_key))
        *outbox_append(w, actor_key_destination(owner_key), envelope_size(0)) =
            (struct envelope){ .to = owner, .type = MESSAGE_TYPE_INIT, .flags = ENVELOPE_INIT };
    timer_fire_drop(e, timer);
}

static struct envelope *timer_fire_copy(struct engine *e, uint32_t timer, uint64_t key)
{
    const struct envelope *message = segment_timer_message(&e->segment, &e->segment.timers[timer]);
    uint64_t size = envelope_record_size(message);
    return memcpy(outbox_append(e->control, actor_key_destination(key), size), message, size);
}

/* ask.Q3: the question is over when its asker has it, and not before. */
static void timer_fire_no_answer(struct engine *e, uint32_t timer, uint64_t key, uint64_t now_ns)
{
    (void)timer_fire_copy(e, timer, key);
    timer_fire_commit(e, timer, now_ns + TIMER_AGAIN_NS);
    stat_add(e->control, STAT_asks_expired, 1);
}

/* Of a watch. */
static void timer_fire_down(struct engine *e, uint32_t timer, uint64_t key)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    bool link = watches_is_link(&e->segment, durable);
    struct envelope *message = timer_fire_copy(e, timer, key);
    if (!link)
        ((struct down *)envelope_payload(message))->reason = durable->end;
    if (timer_posted_is(durable)) /* monitor.MO3 */
        message->type = MESSAGE_TYPE_PORT_DOWN;
    timer_fire_commit(e, timer, 0);
    stat_add(e->control, link ? STAT_links_ended : STAT_downs, 1);
}

static void timer_fire_kept(struct engine *e, uint32_t timer, uint64_t key)
{
    actor_ref to = timer_fire_copy(e, timer, key)->to;
    kept_sent(e, e->segment.timers[timer].owner, to, actor_key_destination(key)); /* kept.KE2 */
    timer_fire_commit(e, timer, 0);
    stat_add(e->control, STAT_publications_sent, 1);
}

static void timer_fire_message(struct engine *e, uint32_t timer, uint64_t key, uint64_t now_ns)
{
    struct worker *w = e->control;
    const struct segment_timer *durable = &e->segment.timers[timer];
    uint64_t missed, next_ns = timer_fire_next(durable, now_ns, &missed);
    uint64_t tag = durable->period_ns ? timer_tag(timer_id(&e->segment, timer)) : 0;
    envelope_word_put(timer_fire_copy(e, timer, key), PREFIX_KIND,
                      envelope_kind_timer(missed) | tag << 32);
    timer_fire_commit(e, timer, next_ns);
    stat_add(w, STAT_timers_fired, 1);
    stat_add(w, STAT_timers_missed, missed);
}

/* A periodic one of an actor for itself, which would be a dead letter: its type is not run. */
static bool timer_fire_is_vain(const struct engine *e, const struct segment_timer *durable,
                               uint64_t key)
{
    return durable->period_ns != 0 &&
           segment_timer_message(&e->segment, durable)->to == durable->owner &&
           actor_key_lives(key) &&
           !actors_are_run(e, segment_type_of_key(&e->segment, actor_key_type(key)));
}

/* What a client has posted and nobody gets: it is told, or, if it is not there any more, the record
 * is a dead letter. Of another timer nobody is told. */
static void timer_fire_for_nobody(struct engine *e, uint32_t timer)
{
    struct worker *w = e->control;
    const struct segment_timer *durable = &e->segment.timers[timer];
    const struct envelope *message = segment_timer_message(&e->segment, durable);
    uint64_t port = timer_fire_key(e, durable->owner);
    if (!timer_posted_stays(durable)) {
        timer_fire_drop(e, timer);
        return;
    }
    if (port != ACTOR_FREE) {
        outbox_refuse(w, actor_key_destination(port), durable->owner, message,
                      envelope_correlation(message), REASON_NO_SUCH_ACTOR);
    } else {
        uint64_t size = envelope_record_size(message);
        struct envelope *out = outbox_append(w, e->segment.dead_letters, size);
        memcpy(out, message, size);
        out->behaviour = REASON_NO_SUCH_ACTOR;
        stat_add(w, STAT_dead_letters, 1);
    }
    timer_fire_commit(e, timer, 0);
}

/* Not now: its turn goes on, or there is no room. */
static void timer_fire_wait(struct engine *e, uint32_t timer, uint64_t due_ns)
{
    timer_heap_move(timers_heap_of(e, timer), timer, due_ns);
}

/* As long again as it is late: what is due at no time, since `since_ns`. */
static void timer_fire_wait_for_turn(struct engine *e, uint32_t timer, uint64_t since_ns,
                                     uint64_t now_ns)
{
    uint64_t deadline = e->segment.timers[timer].deadline_ns;
    if (deadline != WATCH_NEVER_NS)
        since_ns = deadline;
    uint64_t late = now_ns > since_ns ? now_ns - since_ns : 0;
    timer_fire_wait(e, timer,
                    now_ns + (late < TIMER_OPEN_MIN_NS   ? TIMER_OPEN_MIN_NS
                              : late > TIMER_OPEN_MAX_NS ? TIMER_OPEN_MAX_NS
                                                         : late));
}

/* One that is due, and whose turns have all been committed. */
static void timer_fire_one(struct engine *e, uint32_t timer, uint64_t now_ns)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    uint64_t owner = timer_fire_key(e, durable->owner),
             key = timer_fire_key(e, segment_timer_message(&e->segment, durable)->to);
    if (owner != ACTOR_FREE && VALUE(another_life, timers_is_of_another_life(e, durable, owner))) {
        if (!timer_fire_owner_may_begin(owner) ||
            outbox_look_for_room(e->control, actor_key_destination(owner)))
            timer_fire_begin_owner(e, timer, owner);
        else
            timer_fire_wait(e, timer, now_ns + TIMER_DEFER_NS);
    } else if (key == ACTOR_FREE || (owner == ACTOR_FREE && !timer_posted_stays(durable))) {
        timer_fire_for_nobody(e, timer);
    } else if (watches_waits(durable) && !watches_is_over(e, timer, now_ns)) {
        return;
    } else if (timer_fire_is_vain(e, durable, key)) {
        /* its deadline stays: what goes by meanwhile is missed when it is sent */
        timer_fire_wait(e, timer, now_ns + TIMER_VAIN_NS);
    } else if (!outbox_look_for_room(e->control, actor_key_destination(key))) {
        timer_fire_wait(e, timer, now_ns + TIMER_DEFER_NS);
        stat_add(e->control, STAT_timers_deferred, 1);
    } else if (timer_is_kept(durable)) {
        timer_fire_kept(e, timer, key);
    } else if (durable->watched) {
        timer_fire_down(e, timer, key);
    } else if (segment_timer_message(&e->segment, durable)->flags & ENVELOPE_REPLY) {
        timer_fire_no_answer(e, timer, key, now_ns);
    } else {
        timer_fire_message(e, timer, key, now_ns);
    }
}

static void timer_fire_look_at(struct engine *e, uint32_t timer, uint64_t monotonic_ns)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    uint64_t now_ns = timers_by_its_clock(e, timer, monotonic_ns);
    if (timers_is_open(&e->segment, durable->arm_worker, durable->arm_count)) {
        uint64_t since_ns = timer_put_off_add(e, timer, monotonic_ns);
        timer_fire_wait_for_turn(e, timer, since_ns, now_ns); /* timers.TM1 */
    } else if (durable->claim_count != 0) {
        timer_fire_wait_for_turn(e, timer, 0, now_ns); /* timers.TM2 */
    } else if (!timer_put_off_rejoin(e, timer)) {
        timer_fire_one(e, timer, now_ns);
    }
}

/* What has been written so far is flushed soon enough, and there is room for one more. */
static bool timer_fire_has_room(const struct engine *e)
{
    return e->control->outbox.length < OUTBOX_FLUSH_BYTES &&
           outbox_fits(e->control, ENVELOPE_SIZE_MAX);
}

/* One that was cancelled is given back where its kind are (timers_settle()). */
static void timer_fire_drop_orphans(struct engine *e, uint32_t n)
{
    uint32_t timer;
    for (; n > 0 && timer_fire_has_room(e) && timer_owners_orphan(&e->timers.owners, &timer); n--) {
        const struct segment_timer *durable = &e->segment.timers[timer];
        if (durable->claim_count != 0) {
            timer_owners_remove(&e->timers.owners, durable->owner, timer);
            continue;
        }
        if (timer_is_stashed(durable)) {
            timer_fire_drop(e, timer);
            continue;
        }
        timers_end(e, timer);
        stat_add(e->control, STAT_timers_dropped, 1);
    }
}

/* The next one that is due by its clock; -1: there is none. */
static int64_t timer_fire_first(const struct engine *e, uint64_t now_ns)
{
    uint64_t boot_ns;
    const struct timer_node *first = timers_first(&e->timers, &boot_ns);
    if (!first || first->due_ns > timers_by_its_clock(e, first->timer, now_ns))
        return -1;
    return first->timer;
}

/* A watch that knows of an end, and is due by it. */
static bool timer_fire_tells(const struct engine *e, uint32_t timer)
{
    const struct segment_timer *durable = &e->segment.timers[timer];
    return timer_word_state(load_relaxed(&durable->word)) == TIMER_LIVE && durable->watched != 0 &&
           durable->end != REASON_NONE;
}

/* Nobody runs so far, so that nothing else takes the mutex: it is for the checks alone. */
void timer_fire_ends(struct engine *e)
{
    struct worker *w = e->control;
    uint64_t now_ns = timers_read_clocks(e);
    uint32_t high = e->timers.n_watches ? load_relaxed(&e->segment.header->timers_high) : 0;
    for (uint32_t i = 0; i < high; i++) {
        if (!timer_fire_tells(e, i))
            continue;
        if (!timer_fire_has_room(e))
            flush_control(w);
        timer_fire_look_at(e, i, now_ns);
    }
    timers_set_clock(e);
    if (w->outbox.length > 0)
        flush_control(w);
}

bool timer_fire_due(struct engine *e, uint64_t now_ns)
{
    struct worker *w = e->control;
    uint32_t n = 0;
    lock_take(&e->timers.mutex);
    shelf_look(e, now_ns);
    timer_put_off_look(e);
    owed_send(e, now_ns);
    timers_settle(e->control, TIMER_FIRES);
    timer_fire_drop_orphans(e, TIMER_FIRES);
    watches_look(e);
    watches_drain(e, TIMER_FIRES);
    int64_t first;
    while ((first = timer_fire_first(e, now_ns)) >= 0 && n++ < TIMER_FIRES &&
           timer_fire_has_room(e))
        timer_fire_look_at(e, (uint32_t)first, now_ns);
    bool more = first >= 0 || e->timers.owners.orphans || watches_some_drain(e) ||
                e->timers.owed.due_ns == 1;
    timers_set_clock(e);
    lock_give(&e->timers.mutex);
    if (w->outbox.length > 0)
        flush_control(w);
    kept_flushed(e);
    return more;
}
