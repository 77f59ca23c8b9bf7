/* SPDX-License-Identifier: Apache-2.0 */
/* Who may run a source (a message queue, or a port), and who should look at it: owner words and
 * ready masks (docs/engine.md, Queues).
 *
 * Volatile: made anew by each start, an owner word in the segment, too.
 *
 * owner.O1  A source is run by the worker whose id and running bit are in its owner word, by nobody
 *     else.
 * owner.O2  The word changes from idle or polled to running by one compare-and-swap, the owner's
 *     own or a thief's; from idle to polled and back by one of the owner's (polled.PO1,
 *     polled.PO2); from idle to idle, to another owner, by one of the new owner, or of the control
 *     thread for it (set_aside.A8); from running to idle by the runner's store alone
 *     [STEAL_RUNNING].
 * owner.O3  Who appends publishes first, then, behind a full barrier, reads the owner and sets its
 *     ready bit [PUB_OWN, BIT_FIRST], unless the word says polled. A ready bit is a hint: too many
 *     are harmless, a missing one loses a wake-up.
 */
#pragma once

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"

#define OWN_RUNNING UINT64_C(0x10000)
/* idle, and its worker looks at it without being told (polled.h) */
#define OWN_POLLED UINT64_C(0x20000)
/* in the place of a worker: a port that is none, or not any more */
#define OWN_NOBODY UINT32_C(0xffff)

/* SOURCE_FIXED: run by its owner alone, never stolen. SOURCE_FOLLOW: while it is idle and nothing
 * waits in it, who sends to it takes it over. */
enum { SOURCE_FIXED = 1, SOURCE_FOLLOW = 2 };

/* `home` and `flags` change by wake.h's source_place alone, while nobody runs the source. */
struct source {
    /* The owner word, {unused : 46, polled : 1, running : 1, worker : 16}. A mailbox's is in the
     * line of its ordinary queue, which whoever appends, and whoever takes it, has to have anyhow;
     * a port's is `own_port`. */
    alignas(64) _Atomic uint64_t *own;
    _Atomic uint64_t own_port;
    /* the worker it belongs to: it goes back there after a visit, and when workers change
     * (placement.h) */
    _Atomic uint16_t home;
    _Atomic uint8_t flags;
    _Atomic uint16_t lent; /* the worker that it goes back to, + 1 (pack.PK2); 0: to nobody */
    /* The runner's: nothing that the queue's own actors have sent to it is in its active buffer
     * (place.U3). */
    bool tail_free;
    /* The runner's: where it is in its worker's row (rota.RO3), and whether it was spent. */
    _Atomic uint32_t place;
    /* The runner's: over so many parks the batch has gone on while something waited (place.U6). */
    uint8_t waited;
};

static inline uint32_t own_worker(uint64_t own)
{
    return own & 0xffff;
}
static inline bool own_is_running(uint64_t own)
{
    return (own & OWN_RUNNING) != 0;
}
static inline uint64_t own_idle(uint32_t worker)
{
    return worker;
}
static inline uint64_t own_running(uint32_t worker)
{
    return worker | OWN_RUNNING;
}
static inline bool own_is_polled(uint64_t own)
{
    return (own & OWN_POLLED) != 0;
}
static inline uint64_t own_polled(uint32_t worker)
{
    return worker | OWN_POLLED;
}

static inline bool owner_exchange(struct source *source, uint64_t expected, uint64_t wanted)
{
    return atomic_compare_exchange_strong_explicit(source->own, &expected, wanted,
                                                   memory_order_seq_cst, memory_order_relaxed);
}

/* (from, idle or polled) -> (me, running). seq_cst: acquire pairs with owner_release (the previous
 * runner's stores), and the whole is the barrier between storing `busy` and looking at the sleepers
 * (park.h). */
static inline bool owner_take(struct source *source, uint32_t from, uint32_t me)
{
    uint64_t expected = own_idle(from);
    if (likely(atomic_compare_exchange_strong_explicit(source->own, &expected, own_running(me),
                                                       memory_order_seq_cst, memory_order_relaxed)))
        return true;
    return expected == own_polled(from) && owner_exchange(source, expected, own_running(me));
}

/* (me, polled) -> (me, running): owner_take() of a source that is known to be polled, or not ours
 * any more. */
static inline bool owner_take_polled(struct source *source, uint32_t me)
{
    return owner_exchange(source, own_polled(me), own_running(me));
}

/* (from, idle) -> (me, idle): a source that changes hands without being run. Its ready bit follows,
 * behind this [MOVE_BIT, FOLLOW_BIT]. */
static inline bool owner_move(struct source *source, uint32_t from, uint32_t me)
{
    return owner_exchange(source, own_idle(from), own_idle(me));
}

/* Idle to polled and back, by its worker (polled.h). */
static inline bool owner_poll(struct source *source, uint32_t me)
{
    return owner_exchange(source, own_idle(me), own_polled(me));
}
static inline bool owner_poll_end(struct source *source, uint32_t me)
{
    return owner_exchange(source, own_polled(me), own_idle(me));
}

static inline void owner_release(struct source *source, uint32_t owner)
{
    store_release(source->own, own_idle(owner));
}

/* One bit a source.  True: by a seq_cst read-modify-write. `is_new`: it is hardly set already, so
 * nobody looks first, and the line comes once, for writing. */
static inline bool ready_set_as(_Atomic uint64_t *mask, uint32_t source, bool is_new)
{
    _Atomic uint64_t *word = &mask[source / 64];
    uint64_t bit = UINT64_C(1) << (source % 64);
    /* A bit that is seen set here was set, and not yet taken, after our publish: its taker clears
     * it before it looks [CLEAR_FIRST]. */
    if (!is_new && (load_relaxed(word) & bit))
        return false;
    atomic_fetch_or_explicit(word, bit, memory_order_seq_cst);
    return true;
}
static inline bool ready_set(_Atomic uint64_t *mask, uint32_t source)
{
    return ready_set_as(mask, source, false);
}

static inline bool ready_is_set(const _Atomic uint64_t *mask, uint32_t source)
{
    return (load_relaxed(&mask[source / 64]) >> (source % 64)) & 1;
}

/* True: it was set, and is the caller's now. */
static inline bool ready_clear(_Atomic uint64_t *mask, uint32_t source)
{
    uint64_t bit = UINT64_C(1) << (source % 64);
    return (atomic_fetch_and_explicit(&mask[source / 64], ~bit, memory_order_seq_cst) & bit) != 0;
}
