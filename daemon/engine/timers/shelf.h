/* SPDX-License-Identifier: Apache-2.0 */
/* A shelf of each worker's, for questions that have not waited for long (asks/ask.h): most are
 * answered within microseconds, and then nobody but the worker has met their timers.
 *
 * What is durable of such a timer is what is durable of any other. But it is in no heap and in no
 * chain, and arming it, or claiming it, takes no mutex: the worker has numbers of its own, with
 * their places, whose words that never change it has written in advance. Whoever else wants to see
 * a question has it moved to the others first, and the control thread moves those that have waited.
 *
 * Threads: picking, opening, claiming and shelf_has(), a worker from within a turn; shelf_count(),
 * anybody; everything else under the mutex of the timers, by anybody.
 *
 * shelf.SH1  A number is a shelf's from when it is given to it until it is moved. As long, nobody
 *     else reads or writes the timer's words, or its message.
 * shelf.SH2  An open question leaves its shelf by one compare-and-swap of its slot's state: taken,
 *     by its worker, or moved, by who has the mutex [SHELF_BLIND]. Whoever comes second finds it
 *     among the others, or over.
 * shelf.SH3  The words of a timer are stored in the order of any other's (timers.TM1, timers.TM2,
 *     timers.TM5): recovery knows of no shelf. A number is used again when the turn that has
 *     claimed it has been committed [SHELF_SOON].
 * shelf.SH4  While a question is open on any shelf, the shelves are looked at once more
 *     [SHELF_DEAF]: who opens one looks at `look_at_ns` behind its store, and the control thread at
 *     the slots behind its own, with order_all() between.
 * shelf.SH5  A question that ends sooner than SHELF_TIMEOUT_MIN_NS is put on no shelf, so that none
 *     is due before it has been moved.
 * shelf.SH6  Who has a sixteenth of all timers, or less left of its share than a shelf holds, asks
 *     without a shelf, and what it has on that of its worker goes to the others, and is counted: so
 *     it has no more than its share, but for what it has asked on other workers in the last
 *     milliseconds.
 */
#pragma once

#include "daemon/engine/core/core.h"
#include "daemon/engine/timers/timers.h"

/* Behind this, shelves on which something is open are looked at; what has been there for as long is
 * moved. */
#define SHELF_LOOK_NS        UINT64_C(4000000)
#define SHELF_TIMEOUT_MIN_NS (5 * SHELF_LOOK_NS)

/* `state` of a slot; more than these: its question is open, since that moment of
 * CLOCK_MONOTONIC. */
enum shelf_state {
    SHELF_EMPTY, /* it has no number */
    SHELF_OURS,  /* its number is free, or was claimed */
    SHELF_STATES
};

/* 0, -ENOMEM. */
int shelf_open(struct engine *engine);
void shelf_close(struct engine *engine);

/* For the running actor, one whose timer is free; NULL: there is none for it now. Takes the mutex
 * when the shelf is empty. */
struct shelf_slot *shelf_pick(struct worker *w);
/* What was picked last: the question is open from now on, with the turn's commit; its message has
 * been written. */
void shelf_ask(struct worker *w, struct shelf_slot *slot, uint64_t token, uint64_t timeout_ns);
/* As timers_claim(), of this worker's shelf. -EAGAIN: it is not there, and may be elsewhere. */
int shelf_claim(struct worker *w, uint64_t token, uint32_t timer);

/* Is it open on this worker's shelf, and this actor's? False: perhaps it is elsewhere. */
bool shelf_has(const struct worker *w, uint64_t token, uint32_t timer, actor_ref asker);

/* A timer's id, as of the next question that it is. */
static inline uint64_t shelf_id(const struct segment *segment, const struct shelf_slot *slot)
{
    uint32_t generation = timer_word_generation(load_relaxed(&segment->timers[slot->timer].word));
    return (uint64_t)(generation ? generation : 1) << 32 | slot->timer;
}

/* How many questions are open on shelves just now: anybody, without the mutex. */
uint32_t shelf_count(const struct engine *engine);

/* The rest under the mutex. */

/* The timer is moved, if it is one that waits on a shelf. False: it is on one, and no question. */
bool shelf_clear(struct engine *engine, uint32_t timer);
/* All that are open are moved, so that whoever counts or lists finds them. */
void shelf_clear_all(struct engine *engine);
/* The control thread's look. */
void shelf_look(struct engine *engine, uint64_t now_ns);
