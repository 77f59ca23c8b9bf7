/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/timers/timers.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/base/reserve.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/core/tag.h"
#include "daemon/engine/timers/members.h"
#include "daemon/engine/timers/timer_heap.h"
#include "daemon/engine/timers/timer_owners.h"
#include "daemon/engine/timers/timer_posted.h"
#include "daemon/engine/timers/timer_stock.h"
#include "daemon/engine/timers/timer_users.h"
#include "daemon/engine/timers/watch_index.h"

/* In this order: whatever comes between, the difference is too small rather than too large
 * (timers.TM6). */
static uint64_t timers_read_both(struct timers *t)
{
    uint64_t boot_ns = clock_boot_ns(), now_ns = clock_now_ns();
    t->suspended_ns = boot_ns - now_ns;
    return now_ns;
}

uint64_t timers_read_clocks(struct engine *e)
{
    lock_take(&e->timers.mutex);
    uint64_t now_ns = timers_read_both(&e->timers);
    lock_give(&e->timers.mutex);
    return now_ns;
}

int timers_open(struct engine *e)
{
    struct timers *t = &e->timers;
    uint32_t n = e->segment.n_timers;
    t->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (t->fd < 0)
        return -errno;
    (void)timers_read_both(t);
    t->attached = reserve((uint64_t)e->config.actors_max * sizeof(*t->attached));
    if (!t->attached)
        return -ENOMEM;
    int r = timer_owners_open(&t->owners, n, e->config.actors_max, t->attached);
    if (r == 0)
        r = timer_owners_open(&t->stashed, n, e->config.actors_max, t->attached);
    if (r == 0)
        r = watches_open(e);
    if (r == 0)
        r = members_open(e);
    if (r == 0)
        r = kept_open(e);
    if (r == 0)
        r = watch_index_open(e);
    if (r < 0 || n == 0)
        return r;
    r = timer_heap_open(&t->heap, n);
    if (r == 0)
        r = timer_heap_open(&t->boot_heap, n);
    if (r == 0)
        r = timer_stock_open(&t->numbers, n);
    t->numbers.rests = TIMER_NUMBERS_REST;
    if (r == 0)
        r = timer_stock_open(&t->cancelled, n);
    for (uint32_t class = 0; r == 0 && class < TIMER_CLASSES; class ++)
        r = timer_stock_open(&t->places[class],
                             (uint32_t)(e->segment.header->timer_bytes / TIMER_CLASS_BYTES(class)));
    return r;
}

void timers_close(struct engine *e)
{
    struct timers *t = &e->timers;
    timer_heap_close(&t->heap, e->segment.n_timers);
    timer_heap_close(&t->boot_heap, e->segment.n_timers);
    timer_stock_close(&t->numbers);
    timer_stock_close(&t->cancelled);
    for (uint32_t class = 0; class < TIMER_CLASSES; class ++)
        timer_stock_close(&t->places[class]);
    timer_owners_close(&t->owners);
    timer_owners_close(&t->stashed);
    watches_close(e);
    members_close(e);
    kept_close(e);
    watch_index_close(e);
    reserve_free(t->attached, (uint64_t)e->config.actors_max * sizeof(*t->attached));
    t->attached = NULL;
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

/* What is due at once, or never, is so by any clock. */
static uint64_t timers_by_boot_time(const struct timers *t, uint64_t due_ns)
{
    if (due_ns <= WATCH_DUE_NS || due_ns == WATCH_NEVER_NS)
        return due_ns;
    return due_ns + t->suspended_ns;
}

const struct timer_node *timers_first(const struct timers *t, uint64_t *ret_due_ns)
{
    const struct timer_node *first = timer_heap_first(&t->heap),
                            *boot = timer_heap_first(&t->boot_heap);
    *ret_due_ns = first ? timers_by_boot_time(t, first->due_ns) : WATCH_NEVER_NS;
    if (!boot || (first && (*ret_due_ns < boot->due_ns ||
                            (*ret_due_ns == boot->due_ns && first->sequence < boot->sequence))))
        return first;
    *ret_due_ns = boot->due_ns;
    return boot;
}

/* 0: never. What belongs to nobody any more, and what tells of an end, is due at once, whatever its
 * deadline is. */
static uint64_t timers_first_ns(const struct engine *e)
{
    uint64_t due_ns;
    (void)timers_first(&e->timers, &due_ns);
    if (e->timers.owners.orphans || watches_some_drain(e))
        return 1;
    uint64_t look_ns = load_relaxed(&e->timers.shelves.look_at_ns);
    if (look_ns && look_ns + e->timers.suspended_ns < due_ns)
        due_ns = look_ns + e->timers.suspended_ns;
    uint64_t owed_ns = timers_by_boot_time(&e->timers, e->timers.owed.due_ns);
    if (owed_ns && owed_ns < due_ns)
        due_ns = owed_ns;
    return due_ns == WATCH_NEVER_NS ? 0 : due_ns + (due_ns == 0);
}

void timers_set_clock(struct engine *e)
{
    struct timers *t = &e->timers;
    uint64_t ns = timers_first_ns(e);
    if (ns == t->fd_ns)
        return;
    struct itimerspec when = { .it_value = { .tv_sec = (time_t)(ns / 1000000000),
                                             .tv_nsec = (long)(ns % 1000000000) } };
    t->fd_ns = ns;
    (void)timerfd_settime(t->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

void timers_clock_went_off(struct engine *e)
{
    lock_take(&e->timers.mutex);
    e->timers.fd_ns = 0;
    lock_give(&e->timers.mutex);
}

void timers_set_clock_earlier(struct engine *e)
{
    const struct timers *t = &e->timers;
    uint64_t ns = timers_first_ns(e);
    if (ns && (t->fd_ns == 0 || ns < t->fd_ns))
        timers_set_clock(e);
}

bool timers_leave(struct worker *w, actor_ref who)
{
    struct engine *e = w->engine;
    lock_take(&e->timers.mutex);
    timer_owners_leave(&e->timers.owners, who);
    timer_owners_leave(&e->timers.members.joined, who);
    timer_owners_leave(&e->timers.stashed, who);
    kept_leave(e, who);
    bool watched = watches_is_watched(e, who);
    if (!watched)
        watches_leave(w, who);
    timers_set_clock_earlier(e);
    lock_give(&e->timers.mutex);
    return watched;
}

void timers_watched_leave(struct worker *w, actor_ref who)
{
    struct engine *e = w->engine;
    lock_take(&e->timers.mutex);
    watches_leave(w, who);
    timers_set_clock_earlier(e);
    lock_give(&e->timers.mutex);
}

/* Found by this start, and an actor's own: it goes if the actor begins anew (timers.TM4). */
static bool timers_is_found(const struct engine *e, const struct segment_timer *durable)
{
    return durable->boot != load_relaxed(&e->segment.header->boots) && !timer_posted_is(durable) &&
           !timer_is_kept(durable) && !watches_is_link(&e->segment, durable);
}

/* What hangs elsewhere than at its owner, as no plain one does. When it is due. */
static __attribute__((noinline)) uint64_t timers_hang_other(struct engine *e, uint32_t timer,
                                                            uint64_t due_ns)
{
    struct timers *t = &e->timers;
    const struct segment_timer *durable = &e->segment.timers[timer];
    t->n_watches += durable->watched != 0 || durable->group != 0;
    if (timer_posted_is(durable))
        timer_users_add(&t->users, timer_posted_user(durable), TIMER_CLASS_BYTES(durable->class));
    if (timer_is_stashed(durable)) {
        t->n_stashed++;
        timer_owners_add(&t->stashed, durable->owner, timer);
        timer_owners_weigh(&t->stashed, durable->owner, (int64_t)TIMER_CLASS_BYTES(durable->class));
    }
    watches_hang(e, timer);
    watch_index_add(e, timer);
    members_add(e, timer);
    return kept_add(e, timer, due_ns);
}

static __attribute__((noinline)) void timers_unhang_other(struct engine *e, uint32_t timer)
{
    struct timers *t = &e->timers;
    const struct segment_timer *durable = &e->segment.timers[timer];
    if (timer_posted_is(durable))
        timer_users_remove(&t->users, timer_posted_user(durable),
                           TIMER_CLASS_BYTES(durable->class));
    if (timer_is_stashed(durable)) {
        t->n_stashed--;
        timer_owners_remove(&t->stashed, durable->owner, timer);
        timer_owners_weigh(&t->stashed, durable->owner,
                           -(int64_t)TIMER_CLASS_BYTES(durable->class));
    }
    watches_unhang(e, timer);
    watch_index_remove(e, timer);
    members_remove(e, timer);
    kept_remove(e, timer);
    t->n_watches -= durable->watched != 0 || durable->group != 0;
}

void timers_count_in(struct engine *e, uint32_t timer, uint64_t due_ns)
{
    struct timers *t = &e->timers;
    const struct segment_timer *durable = &e->segment.timers[timer];
    t->n++;
    t->bytes += TIMER_CLASS_BYTES(durable->class);
    if (timer_posted_hangs(durable))
        timer_owners_add(&t->owners, durable->owner, timer);
    if (timers_is_found(e, durable))
        timer_owners_weigh(&t->owners, durable->owner, 1);
    if (unlikely(!timer_is_plain(durable)))
        due_ns = timers_hang_other(e, timer, due_ns);
    if (timer_is_stashed(durable) && due_ns == WATCH_NEVER_NS)
        return; /* its actor alone looks for it */
    timer_heap_add(
        timers_heap_of(e, timer),
        (struct timer_node){ .due_ns = due_ns, .sequence = durable->sequence, .timer = timer });
}

void timers_end(struct engine *e, uint32_t timer)
{
    struct timers *t = &e->timers;
    struct segment_timer *durable = &e->segment.timers[timer];
    uint64_t ended = timer_word_ended(load_relaxed(&durable->word));
    engine_check("shelf.SH1", !timers_is_shelved(e, timer));
    STEP(timer_ended, store_relaxed(&durable->word, ended));
    crash_order(); /* timers.TM5 */
    engine_check("timer_heap.TH1",
                 timer_is_stashed(durable) || timers_heap_of(e, timer)->place_of[timer] != 0);
    timer_heap_remove(timers_heap_of(e, timer), timer);
    timer_stock_put(&t->places[durable->class], durable->place);
    if (timer_word_state(ended) == TIMER_FREE)
        timer_stock_put(&t->numbers, timer);
    t->n--;
    t->bytes -= TIMER_CLASS_BYTES(durable->class);
    if (timer_posted_hangs(durable))
        timer_owners_remove(&t->owners, durable->owner, timer);
    if (timers_is_found(e, durable))
        timer_owners_weigh(&t->owners, durable->owner, -1);
    if (unlikely(!timer_is_plain(durable)))
        timers_unhang_other(e, timer);
}

/* Has the turn that has cancelled it not been committed? An id knows its own count without the
 * looks that another one's takes. */
static inline bool timers_is_claim_open(const struct worker *w, const struct segment_timer *timer)
{
    return timer->claim_worker == w->id
               ? timer->claim_count == commit_count(w)
               : timers_is_open(&w->engine->segment, timer->claim_worker, timer->claim_count);
}

void timers_settle(struct worker *w, uint32_t n)
{
    struct engine *e = w->engine;
    struct timers *t = &e->timers;
    uint32_t timer;
    if (n > t->cancelled.n)
        n = t->cancelled.n;
    for (; n > 0 && timer_stock_pop(&t->cancelled, &timer); n--) {
        if (timers_is_claim_open(w, &e->segment.timers[timer]))
            timer_stock_put(&t->cancelled, timer);
        else
            timers_end(e, timer);
    }
}

static uint32_t timers_class_of(uint64_t bytes)
{
    uint32_t class = 0;
    while (TIMER_CLASS_BYTES(class) < bytes)
        class ++;
    return class;
}

static uint32_t timers_left(const struct engine *e, uint32_t own)
{
    uint32_t share = (e->segment.n_timers - (e->timers.n - own) + 1) / 2;
    return own < share ? share - own : 0;
}

/* What counts for an actor: of one that has begun anew nothing that its former life has armed,
 * which is there until the control thread looks (timers.TM4). */
static uint32_t timers_own(const struct engine *e, actor_ref owner)
{
    const struct timer_owners *owners = &e->timers.owners;
    uint32_t n = timer_owners_count(owners, owner),
             found = (uint32_t)timer_owners_weight(owners, owner);
    if (likely(found == 0))
        return n;
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(owner)].key);
    return timers_are_kept(e, key) ? n : n - found;
}

uint32_t timers_left_for(const struct engine *e, actor_ref owner)
{
    return timers_left(e, timers_own(e, owner));
}

/* One actor, or the clients of one user, have at most half of what the others leave: of numbers,
 * and clients of bytes, too (timer_posted.TP2). */
static bool timers_may(const struct engine *e, const struct worker *w,
                       const struct timer_request *request)
{
    const struct timers *t = &e->timers;
    if (likely(!request->posted))
        return timers_left(e, timers_own(e, w->ctx.self)) > 0;
    struct timer_user own = timer_users_get(&t->users, (uint32_t)request->posted);
    if (own.n == 0 && !timer_users_has_room(&t->users))
        return false;
    uint64_t others = t->bytes - own.bytes, all = e->segment.header->timer_bytes;
    return timers_left(e, own.n) > 0 && others <= all && own.bytes < (all - others + 1) / 2;
}

bool timers_take(struct engine *e, uint32_t class, uint32_t *ret_timer, uint32_t *ret_place)
{
    struct timers *t = &e->timers;
    if (t->bytes + TIMER_CLASS_BYTES(class) > e->segment.header->timer_bytes ||
        !timer_stock_take(&t->numbers, ret_timer))
        return false;
    if (!timer_stock_take(&t->places[class], ret_place)) {
        timer_stock_put(&t->numbers, *ret_timer);
        return false;
    }
    if (t->numbers.fresh > load_relaxed(&e->segment.header->timers_high))
        store_relaxed(&e->segment.header->timers_high, t->numbers.fresh); /* before it is used */
    crash_order();
    return true;
}

/* Who arms one often arms another: the lines of that one, which nobody has touched since it was
 * given back, are on their way until then. */
static void timers_fetch_next(const struct engine *e, uint32_t class)
{
    const struct segment_timer *next = &e->segment.timers[timer_stock_next(&e->timers.numbers)];
    prefetch_write(next);
    prefetch_write(&next->class);
    prefetch_write(
        segment_timer_place(&e->segment, class, timer_stock_next(&e->timers.places[class])));
}

/* The optional words of a message that is written here. */
static unsigned timers_prefix(const struct worker *w, const struct timer_request *request)
{
    bool once = !request->fill && !request->period_ns && !request->group; /* tag.TG1 */
    return PREFIX_KIND | (once ? tag_later_prefix(w) : 0);
}

static void timers_write_message(struct envelope *at, const struct worker *w,
                                 const struct timer_request *request)
{
    unsigned prefix = timers_prefix(w, request);
    uint64_t length = envelope_prefix_bytes(prefix) + request->size;
    uint64_t *words = envelope_words(at);
    words[0] = request->to;
    words[1] = w->ctx.self;
    words[2] = request->meta | length << 16 | (uint64_t)prefix << 56;
    ((uint64_t *)envelope_payload_behind(at, 0))[(length - 1) / 8] = 0; /* padding */
    if (prefix & PREFIX_TRACE)
        envelope_word_put(at, PREFIX_TRACE, tag_of(w));
    envelope_word_put(at, PREFIX_KIND, envelope_kind_timer(0));
    if (request->size)
        memcpy(envelope_payload(at), request->data, request->size);
}

/* What is put off has no time. */
static uint64_t timers_now(const struct timer_request *request)
{
    if (request->stashed)
        return 0;
    return request->clock == TIMER_CLOCK_BOOT ? clock_boot_ns() : clock_now_ns();
}

/* timers.TM1: the word last. */
static uint64_t timers_write(struct worker *w, const struct timer_request *request, uint32_t timer,
                             uint32_t class, uint32_t place)
{
    struct engine *e = w->engine;
    struct segment_timer *durable = &e->segment.timers[timer];
    uint32_t generation = timer_word_generation(load_relaxed(&durable->word));
    uint64_t word = timer_word(generation ? generation : 1, TIMER_LIVE);
    uint64_t now_ns = timers_now(request);
    durable->deadline_ns = request->watched || request->group || request->stashed
                               ? WATCH_NEVER_NS
                               : now_ns + request->delay_ns;
    durable->clock = request->clock;
    durable->period_ns = request->period_ns;
    durable->sequence = ++e->timers.sequence;
    durable->owner = request->posted ? request->owner : w->ctx.self;
    durable->posted = request->posted;
    durable->claim_count = 0;
    durable->arm_worker = w->id;
    durable->arm_count = w->actors.spawned_count = commit_count(w); /* nobody flips meanwhile */
    durable->class = class;
    durable->place = place;
    durable->boot = load_relaxed(&e->segment.header->boots);
    durable->watched = request->watched;
    durable->stashed = request->kept ? TIMER_KEPT : request->stashed;
    durable->end = REASON_NONE;
    durable->group = request->group;
    durable->member_place = request->group ? members_place(e, request->group) : 0;
    struct envelope *message = segment_timer_message(&e->segment, durable);
    if (request->fill)
        request->fill(message, w, request, word >> 32 << 32 | timer);
    else
        timers_write_message(message, w, request);
    if (timer_posted_stays(durable))
        timer_posted_take_when(durable, message);
    crash_order();
    store_release(&durable->word, word);
    timers_count_in(e, timer, request->watched ? now_ns + WATCH_LOOK_NS : durable->deadline_ns);
    return timer_id(&e->segment, timer);
}

static int timers_check(const struct engine *e, const struct timer_request *request)
{
    if (request->size > ODEON_PAYLOAD_MAX)
        return -EMSGSIZE;
    actor_ref who = request->watched ? request->watched : request->to;
    if (actor_ref_slot(who) >= e->config.actors_max || actor_ref_generation(who) == 0)
        return -ESRCH;
    if (request->delay_ns > TIMER_DELAY_MAX_NS || request->period_ns > TIMER_DELAY_MAX_NS ||
        (request->period_ns && request->period_ns < TIMER_PERIOD_MIN_NS))
        return -ERANGE;
    return 0;
}

int timers_arm(struct worker *w, const struct timer_request *request, uint64_t *ret_id)
{
    int r = timers_check(w->engine, request);
    return r < 0 ? r : timers_arm_checked(w, request, ret_id);
}

/* Is the clock set to no later than this one, which has been armed just now? Nothing else has
 * changed for whoever arms a plain one. */
static inline bool timers_is_looked_at_before(const struct engine *e, uint32_t timer)
{
    const struct timers *t = &e->timers;
    const struct segment_timer *durable = &e->segment.timers[timer];
    uint64_t due_ns = durable->deadline_ns;
    if (durable->clock != TIMER_CLOCK_BOOT)
        due_ns = timers_by_boot_time(t, due_ns);
    return timer_is_plain(durable) && t->fd_ns != 0 && t->fd_ns <= due_ns;
}

int timers_arm_checked(struct worker *w, const struct timer_request *request, uint64_t *ret_id)
{
    struct engine *e = w->engine;
    uint32_t timer, place,
        class = timers_class_of(
            envelope_size(envelope_prefix_bytes(timers_prefix(w, request)) + request->size));
    int r = 0;
    lock_take(&e->timers.mutex);
    timers_settle(w, TIMER_SETTLES);
    if (request->group)
        r = members_make_room(e, request->group);
    if (r == 0 && request->look)
        r = request->look(w, request);
    if (r == 0 && timers_may(e, w, request) && timers_take(e, class, &timer, &place)) {
        *ret_id = timers_write(w, request, timer, class, place);
        timers_fetch_next(e, class);
        if (request->commit)
            request->commit(w, request);
        if (!request->stashed && !timers_is_looked_at_before(e, timer))
            timers_set_clock_earlier(e);
    } else if (r == 0) {
        r = -EAGAIN;
    }
    lock_give(&e->timers.mutex);
    if (!request->stashed && !request->kept)
        stat_add(w, r == 0 ? STAT_timers_armed : STAT_timers_refused, 1);
    return r;
}

/* The count last. */
void timers_claim_it(struct worker *w, struct segment_timer *durable)
{
    durable->claim_worker = w->id;
    crash_order();
    durable->claim_count = w->actors.spawned_count = commit_count(w);
}

/* One that is there. */
static inline int timers_claim_there(struct worker *w, uint32_t timer)
{
    struct engine *e = w->engine;
    struct segment_timer *durable = &e->segment.timers[timer];
    if (durable->owner != w->ctx.self)
        return -EPERM;
    timers_claim_it(w, durable);
    timer_stock_put(&e->timers.cancelled, timer);
    return 0;
}

int timers_claim(struct worker *w, uint64_t id)
{
    return timers_is_there(&w->engine->segment, id) ? timers_claim_there(w, (uint32_t)id) : -ENOENT;
}

/* timer_posted.TP4 */
int timers_give_up_posted(struct worker *w, const struct timer_request *request, uint64_t monitor)
{
    struct engine *e = w->engine;
    uint32_t timer;
    int r = -ENOENT;
    lock_take(&e->timers.mutex);
    if (watch_index_find(e, request->owner, request->watched, monitor, &timer)) {
        timers_claim_it(w, &e->segment.timers[timer]);
        request->commit(w, request);
        timers_end(e, timer);
        r = 0;
    }
    lock_give(&e->timers.mutex);
    return r;
}

bool timers_is_claimed_now(const struct worker *w, const struct segment_timer *timer)
{
    return (uint8_t)load_relaxed(&timer->word) == TIMER_LIVE && timer->claim_worker == w->id &&
           timer->claim_count != 0 && timer->claim_count == commit_count(w);
}

/* One store: with the turn's commit it is there as it was, and without it, too. */
void timers_unclaim(struct worker *w, uint32_t timer)
{
    struct timers *t = &w->engine->timers;
    w->engine->segment.timers[timer].claim_count = 0;
    crash_order();
    timer_stock_drop(&t->cancelled, timer);
}

void timers_give(struct worker *w, uint64_t id, actor_ref to)
{
    struct engine *e = w->engine;
    uint32_t timer = (uint32_t)id;
    struct segment_timer *durable = &e->segment.timers[timer];
    lock_take(&e->timers.mutex);
    timer_owners_remove(&e->timers.owners, durable->owner, timer);
    durable->owner = to;
    segment_timer_message(&e->segment, durable)->to = to;
    timer_owners_add(&e->timers.owners, to, timer);
    lock_give(&e->timers.mutex);
}

void timers_take_back(struct worker *w, uint64_t id)
{
    lock_take(&w->engine->timers.mutex);
    (void)timers_claim(w, id);
    lock_give(&w->engine->timers.mutex);
}

static bool timers_owner_lives(const struct engine *e, actor_ref owner)
{
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(owner)].key);
    return actor_key_generation(key) == actor_ref_generation(owner) && actor_key_lives(key);
}

/* The timer of a living owner that is not there any more was cancelled, or of an earlier life, or
 * its receiver has ended: a periodic one ends in no other way. */
bool timers_is_revoked(struct engine *e, actor_ref owner, uint32_t tag)
{
    uint32_t number = tag & ((1u << TIMER_TAG_NUMBER_BITS) - 1);
    if (number >= e->segment.n_timers || actor_ref_slot(owner) >= e->config.actors_max)
        return false;
    const struct segment_timer *durable = &e->segment.timers[number];
    lock_take(&e->timers.mutex);
    uint64_t word = load_relaxed(&durable->word);
    bool there = timer_word_state(word) == TIMER_LIVE && !timers_is_shelved(e, number) &&
                 durable->owner == owner && durable->period_ns != 0 &&
                 timer_tag(word >> 32 << 32 | number) == tag;
    bool lives = timers_owner_lives(e, owner);
    bool revoked =
        there ? (durable->claim_count != 0 &&
                 !timers_is_open(&e->segment, durable->claim_worker, durable->claim_count)) ||
                    (lives && timers_is_of_former_life(e, durable))
              : lives;
    lock_give(&e->timers.mutex);
    return VALUE(timer_revoked, revoked);
}

/* What nobody can cancel is neither. */
static bool timers_is_such(const struct segment *segment, uint64_t id, bool watch)
{
    const struct segment_timer *timer = &segment->timers[(uint32_t)id];
    return timers_is_there(segment, id) && (timer->watched != 0) == watch && timer->group == 0 &&
           timer->stashed == TIMER_NOT_STASHED && !watches_is_link(segment, timer);
}

int timers_cancel(struct worker *w, uint64_t id, bool watch)
{
    struct engine *e = w->engine;
    lock_take(&e->timers.mutex);
    timers_settle(w, TIMER_SETTLES);
    int r = (uint32_t)id < e->segment.n_timers && !timers_is_shelved(e, (uint32_t)id) &&
                    timers_is_such(&e->segment, id, watch)
                ? timers_claim_there(w, (uint32_t)id)
                : -ENOENT;
    lock_give(&e->timers.mutex);
    if (r == 0 && !watch)
        stat_add(w, STAT_timers_cancelled, 1);
    return r;
}
