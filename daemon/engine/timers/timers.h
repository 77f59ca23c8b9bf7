/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: messages that are sent at their time. Arming and cancelling belong to the turn that does
 * it, as spawning does; how one fires is timer_fire.h's, what recovery makes of them
 * timer_recover.h's.
 *
 * A timer is an entry of a table of the segment; its message, a whole record, lies in a place of
 * its size. What is free, and what is due next, is known to the process alone (parts/timers.h).
 *
 * Threads: arming and cancelling by whichever worker id runs the turn; the rest by the control
 * thread. All of it under one mutex, with which nobody runs a handler, or waits; but for questions
 * that lie on a worker's shelf (shelf.h).
 *
 * timers.TM1  A timer exists when the turn that armed it has been committed. Until then its tag is
 *     its worker's count, and it does not fire [TIMER_OPEN]; recovery takes such a one away
 *     [TIMER_NOTAG], before any count changes [TIMER_LATE].
 * timers.TM2  A cancel is true with the commit of its turn, and void without it [TIMER_VOID]. Until
 *     then the
 *     timer waits, whatever its deadline is [TIMER_CLAIM]; behind it, it never fires.
 * timers.TM3  What fires is one flip of the control thread: its message is sent, and its deadline
 *     is the next one, or it has ended. The entry's words follow the flip [TIMER_EARLY]; whoever
 *     finds the record stores them again [TIMER_NOREDO].
 * timers.TM4  A timer belongs to one incarnation of its actor. One whose actor begins anew after a
 *     crash does not fire; it has that actor initialised, unless something else has.
 * timers.TM7  What a periodic timer has sent is run by nobody once its cancel has been committed,
 *     or its owner begun another life: its record says which timer it is, and its receiver looks.
 * timers.TM5  A number, and a message's place, are free only when the word that says so has been
 *     stored: nobody's message is overwritten by another's.
 * timers.TM6  The descriptor counts by CLOCK_BOOTTIME, and is never set to later than the first one
 *     is due, by whichever clock: the difference of the two only grows, and `suspended_ns` is never
 *     more than it. So it goes off too early once behind a suspension, and is set again.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/timers/kept.h"
#include "daemon/engine/timers/timer_owners.h"
#include "daemon/engine/timers/watches.h"

enum {
    TIMER_SETTLES = 2, /* cancelled ones that each call looks after */
};
/* What was armed by a later executor has a greater sequence. */
#define TIMER_SEQUENCE_BOOT 40
#define TIMER_DELAY_MAX_NS  ODEON_DELAY_MAX_NS
#define TIMER_PERIOD_MIN_NS UINT64_C(100000)

int timers_open(struct engine *engine);
void timers_close(struct engine *engine);

/* What is armed. */
struct timer_request {
    actor_ref to;
    /* A question's (asks/ask.h): who has not answered when it fires; a watch's (watches.h): whose
     * end makes it fire, at no other time. What writes its message, which is as long as `size`
     * says, and has one optional word. */
    actor_ref asked, watched;
    bool stashed; /* it is never due (asks/stash.h); the record is `fill`'s */
    bool kept;    /* ... or due when its receiver has room (kept.h); likewise */
    void (*fill)(struct envelope *at, const struct worker *w, const struct timer_request *request,
                 uint64_t id);
    /* Under the mutex; 0: it may be armed. */
    int (*look)(struct worker *w, const struct timer_request *request);
    uint64_t meta; /* type and behaviour, as envelope_meta() without a length */
    const void *data;
    size_t size;
    uint64_t delay_ns, period_ns;
    enum segment_timer_clock clock;
    /* One that a client has posted (timer_posted.h): the port, and what the entry is to have;
     * `fill` copies the record, whose words and payload are `size` bytes but for when it is to be
     * sent. A client's watch has them, too, and its own `fill`; so has a copy of what a client has
     * published, whose owner is the group (kept.h). */
    actor_ref owner;
    uint64_t posted;
    /* ... which consumes the record, before anybody can look at the timer (timer_posted.TP1). */
    void (*commit)(struct worker *w, const struct timer_request *request);
    actor_ref group; /* A membership of this one (members.h), which is never due; 0: it is none. */
};
/* Within a turn. -EMSGSIZE; -ESRCH: no actor can have this reference; -ERANGE: a time that cannot
 * be; -EAGAIN: no room for another one, or not for this actor. */
int timers_arm(struct worker *w, const struct timer_request *request, uint64_t *ret_id);
/* The same for what has been looked at, as records of ports have been. 0, -EAGAIN. */
int timers_arm_checked(struct worker *w, const struct timer_request *request, uint64_t *ret_id);
/* Within a turn. 0: with its commit the timer, or the watch, will not fire (again); -ENOENT: it has
 * fired, been cancelled, never was, or is the other of the two; -EPERM: another actor's. */
int timers_cancel(struct worker *w, uint64_t id, bool watch);

/* Within a port's visit: of its watches of `request`'s one that has this id will not be told, with
 * the flip by which `request`'s commit consumes the record. -ENOENT: there is none, or it has been
 * told. */
int timers_give_up_posted(struct worker *w, const struct timer_request *request, uint64_t monitor);

/* Of this turn's own, a link (asks/link.h): it is that actor's from now on, and for it; or it is
 * none. */
void timers_give(struct worker *w, uint64_t id, actor_ref to);
void timers_take_back(struct worker *w, uint64_t id);

/* Of an actor, or a port, that has ended, behind the commit that says so: its timers end soon, but
 * for messages that a client has posted, and an actor's slot is given back. True: it is watched, so
 * that this is owed, behind the flush of what it has sent: */
bool timers_leave(struct worker *w, actor_ref who);
/* Who watches it, an actor or a port, is told, and then its slot is given back. */
void timers_watched_leave(struct worker *w, actor_ref who);

/* Which periodic timer has sent a record: {1, three bits of its generation, its number : 20}. The
 * same comes again behind TIMER_TAG_GENERATIONS * TIMER_NUMBERS_REST timers that were armed and
 * given back, while more numbers than TIMER_NUMBERS_REST were never used, or are free: so many
 * turns of its owner a record is not expected to wait for. */
enum { TIMER_TAG_NUMBER_BITS = 20, TIMER_TAG_GENERATIONS = 8, TIMER_NUMBERS_REST = 128 };
static_assert(ODEON_TIMERS_MAX <= 1 << TIMER_TAG_NUMBER_BITS, "a tag has the timer's number");
static inline uint32_t timer_tag(uint64_t id)
{
    return (TIMER_TAG_GENERATIONS | (uint32_t)(id >> 32) % TIMER_TAG_GENERATIONS)
               << TIMER_TAG_NUMBER_BITS |
           (uint32_t)id;
}
/* A record from `owner` with this tag, which is not 0, is not to be run any more (timers.TM7). */
bool timers_is_revoked(struct engine *engine, actor_ref owner, uint32_t tag);

/* Whoever looks at all of the table, one after the other, has the next ones fetched meanwhile: the
 * processor's own guess ends with each page. */
static inline void timers_ask_ahead(const struct segment *segment, uint32_t i)
{
    enum { AHEAD = 12 };
    const char *line = (const char *)(segment->timers + i + AHEAD);
    prefetch_read(line);
    prefetch_read(line + 64);
}

/* An actor's, for a time: no watch, no membership, nothing put off or of a client's. */
static inline bool timer_is_plain(const struct segment_timer *timer)
{
    return (timer->watched | timer->group | timer->stashed | timer->posted) == 0;
}
static inline bool timer_is_stashed(const struct segment_timer *timer)
{
    return timer->stashed == TIMER_STASHED;
}
static inline uint64_t timer_word(uint32_t generation, enum segment_timer_state state)
{
    return (uint64_t)generation << 32 | state;
}
static inline uint32_t timer_word_generation(uint64_t word)
{
    return (uint32_t)(word >> 32);
}
static inline enum segment_timer_state timer_word_state(uint64_t word)
{
    return (enum segment_timer_state)(word & 0xff);
}
/* Of one that has ended: free for the next generation, or for nobody any more. */
static inline uint64_t timer_word_ended(uint64_t word)
{
    uint32_t generation = timer_word_generation(word);
    return generation == UINT32_MAX ? timer_word(generation, TIMER_SPENT)
                                    : timer_word(generation + 1, TIMER_FREE);
}
static inline uint64_t timer_id(const struct segment *segment, uint32_t timer)
{
    return load_relaxed(&segment->timers[timer].word) >> 32 << 32 | timer;
}

/* The rest under the mutex. */

/* Do these words name a turn that has not been committed? */
static inline bool timers_is_open(const struct segment *segment, uint32_t worker, uint64_t count)
{
    return segment_count(&segment->workers[worker]) == count;
}
/* A worker's alone (shelf.h): nothing else of it is to be read. */
static inline bool timers_is_shelved(const struct engine *engine, uint32_t timer)
{
    const struct shelves *shelves = &engine->timers.shelves;
    return shelves->n_slots != 0 && load_relaxed(&shelves->slot_of[timer]) != 0;
}
/* One that lives, and that nobody has cancelled. */
static inline bool timers_is_there(const struct segment *segment, uint64_t id)
{
    const struct segment_timer *timer = &segment->timers[(uint32_t)id];
    return (uint32_t)id < segment->n_timers &&
           load_relaxed(&timer->word) == timer_word((uint32_t)(id >> 32), TIMER_LIVE) &&
           timer->claim_count == 0;
}
/* By its key: does its actor keep its state, and with it its timers, when it is resumed? */
static inline bool timers_are_kept(const struct engine *engine, uint64_t owner_key)
{
    return engine->segment
               .actor_types[segment_type_of_key(&engine->segment, actor_key_type(owner_key))]
               .restart == RESTART_KEEP;
}
/* timers.TM4: the actor that has armed it has begun anew since, or is to. */
static inline bool timers_is_of_another_life(const struct engine *engine,
                                             const struct segment_timer *timer, uint64_t owner_key)
{
    return timer->boot != load_relaxed(&engine->segment.header->boots) &&
           actor_key_kind(owner_key) != ACTOR_PORT && !watches_is_link(&engine->segment, timer) &&
           !timer_is_kept(timer) && !timers_are_kept(engine, owner_key);
}
/* The same, of one whose owner lives: the timer is there until the control thread looks, but it is
 * not this life's. */
static inline bool timers_is_of_former_life(const struct engine *engine,
                                            const struct segment_timer *timer)
{
    uint64_t key = load_relaxed(&engine->actors.table[actor_ref_slot(timer->owner)].key);
    return timers_is_of_another_life(engine, timer, key);
}
/* Within a turn: as timers_cancel(). */
int timers_claim(struct worker *w, uint64_t id);
/* Within the turn that has claimed it: it has not. */
bool timers_is_claimed_now(const struct worker *w, const struct segment_timer *timer);
void timers_unclaim(struct worker *w, uint32_t timer);
/* With the commit of this turn it is over: timers.TM2. */
void timers_claim_it(struct worker *w, struct segment_timer *timer);
/* How many timers more this actor may have just now. */
uint32_t timers_left_for(const struct engine *engine, actor_ref owner);
/* A number and a place. */
bool timers_take(struct engine *engine, uint32_t class, uint32_t *ret_timer, uint32_t *ret_place);
/* It is not there any more: a live one that nobody will look at again. */
void timers_end(struct engine *engine, uint32_t timer);
/* Cancelled ones whose turns have been committed go, up to `n` of them; those that are left wait
 * behind others. By worker id `w`. */
void timers_settle(struct worker *w, uint32_t n);
/* The descriptor becomes readable when the first one is due (timers.TM6). */
void timers_set_clock(struct engine *engine);
/* For one that has been armed. A clock that is set to an earlier time stays: who asks again and
 * again makes no system call each time, and the control thread has at most one look for
 * nothing. */
void timers_set_clock_earlier(struct engine *engine);
/* It has become readable and was read: it is set to nothing now, so that the next one has it set
 * though that may be due at the same time. Takes the mutex. */
void timers_clock_went_off(struct engine *engine);
/* How long the machine has been suspended is known anew: the moment, by CLOCK_MONOTONIC, at which
 * it was looked at. Takes the mutex. */
uint64_t timers_read_clocks(struct engine *engine);
/* The one that is due first; NULL: there is none. *ret_due_ns: when, by CLOCK_BOOTTIME; 0: at
 * once. */
const struct timer_node *timers_first(const struct timers *timers, uint64_t *ret_due_ns);
static inline struct timer_heap *timers_heap_of(struct engine *engine, uint32_t timer)
{
    return engine->segment.timers[timer].clock == TIMER_CLOCK_BOOT ? &engine->timers.boot_heap
                                                                   : &engine->timers.heap;
}
/* A moment of CLOCK_MONOTONIC, by what this timer counts by. */
static inline uint64_t timers_by_its_clock(const struct engine *engine, uint32_t timer,
                                           uint64_t now_ns)
{
    return engine->segment.timers[timer].clock == TIMER_CLOCK_BOOT
               ? now_ns + engine->timers.suspended_ns
               : now_ns;
}
/* A timer of the table that lives is known from now on: its place, its owner, its bytes. */
void timers_count_in(struct engine *engine, uint32_t timer, uint64_t due_ns);
