/* SPDX-License-Identifier: Apache-2.0 */
/* The flip: one store that makes consumption, sends and the end of an actor true together
 * (docs/commit-protocol.md).
 *
 * Threads: a worker's own. Another thread reads the count only to tell whether a spawn has been
 * committed (actors.c), or whether a worker gets on (port.c).
 *
 * commit.F1  A message's flip is one store of 16 bytes into the valid record (pair.h): a kill comes
 *     before or behind it.
 * commit.F2  Every other flip fills the other record: `what` = 0 first, so that it is void while it
 *     is being written, its first two words last, by the same store, with the next count: the
 *     greater count is the valid one.
 * commit.F3  crash_order() keeps later stores behind a flip.
 */
#pragma once

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/pair.h"
#include "daemon/engine/core/core.h"

#if defined(__SANITIZE_THREAD__)
#define COMMIT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COMMIT_TSAN 1
#endif
#endif

#ifdef COMMIT_TSAN
/* The sanitizer would see a plain store beside other threads' atomic loads of `what`: it is told of
 * the release instead. */
void __tsan_release(void *address);
__attribute__((no_sanitize("thread"), noinline)) static void
commit_store(struct segment_commit *slot, uint64_t where, uint64_t what)
{
    __tsan_release((void *)&slot->what);
    pair_store(slot, where, what);
}
#elif defined(ODEON_SIMULATE)
static inline void commit_store(struct segment_commit *slot, uint64_t where, uint64_t what)
{
    crash_order();
    /* tests/sim/shim.h: it may stay in a store buffer for a while */
    sim_store_pair(slot, where, what);
    crash_order();
}
#else
static inline void commit_store(struct segment_commit *slot, uint64_t where, uint64_t what)
{
    crash_order();
    /* commit.F1; read by recovery, and (acquire) by segment_count() */
    pair_store(slot, where, what);
    crash_order(); /* commit.F3 */
}
#endif

static inline uint64_t commit_low(const struct segment_commit *slot)
{
    return load_relaxed(&slot->what) & COMMIT_LOW_MASK;
}

/* The worker's own; what its tags carry. */
static inline uint64_t commit_count(const struct worker *w)
{
    return load_relaxed(&w->slot->high) + commit_low(w->slot);
}

static inline struct segment_commit *commit_other(struct segment_commit *slot)
{
    return (struct segment_commit *)((uintptr_t)slot ^ sizeof(*slot));
}

/* commit.F2, but for the first two words. */
static inline void commit_fill(struct worker *w, struct segment_commit *slot, uint64_t high,
                               uint64_t base, uint32_t source, uint64_t redo, uint32_t redo_how)
{
    store_relaxed(&slot->what, 0);
    crash_order();
    /* for segment_count(): who sees the new `high` sees the 0, or what follows it */
    atomic_thread_fence(memory_order_release);
    store_relaxed(&slot->high, high);
    slot->base = base;
    slot->source = source;
    slot->redo_how = redo_how;
    slot->redo = redo;
    slot->wrap = w->batch.wrap;
}

/* Does a flip's low part go on by one? */
static inline bool commit_is_next(uint64_t low)
{
    return low < COMMIT_LOW_MASK / 2;
}

/* The next count; no batch commits as often as the lower half allows. */
static inline uint64_t commit_next(const struct segment_commit *valid, uint64_t *ret_high)
{
    uint64_t low = commit_low(valid);
    *ret_high = load_relaxed(&valid->high);
    if (likely(commit_is_next(low)))
        return low + 1;
    *ret_high += COMMIT_LOW_MASK + 1;
    return 1;
}

/* A record of `size` bytes, taken from a port whose cursor is `port_cursor` then, is the batch of
 * queue `source` - 1. */
static inline void commit_direct(struct worker *w, uint32_t source, uint64_t size, uint32_t port,
                                 uint32_t generation, uint64_t port_cursor)
{
    struct segment_commit *slot = commit_other(w->slot);
    uint64_t high, low = commit_next(w->slot, &high);
    commit_fill(w, slot, high, 0, source, port_cursor, COMMIT_DIRECT);
    slot->port = port;
    slot->port_generation = generation;
    commit_store(slot, commit_where(0, size), commit_what(0, low));
    w->slot = slot;
}

/* The record at `cursor`, up to `behind`, is a batch of aside queue `source` - 1; queue `queue` has
 * `rest` bytes of it left, in window `empty` instead of `with_record`. */
static inline void commit_aside(struct worker *w, uint32_t source, uint64_t cursor, uint64_t behind,
                                uint64_t out, uint32_t queue, uint64_t rest, uint32_t with_record,
                                uint32_t empty)
{
    struct segment_commit *slot = commit_other(w->slot);
    uint64_t high, low = commit_next(w->slot, &high);
    commit_fill(w, slot, high, 0, source, queue, COMMIT_ASIDE);
    slot->port = (uint32_t)(rest >> 3);
    slot->port_generation = empty << 16 | with_record;
    commit_store(slot, commit_where(cursor, behind), commit_what(out, low));
    w->slot = slot;
}

/* The control thread's: a timer's message is in its outbox, and the timer's deadline is `next_ns`,
 * 0: it has fired for the last time. */
static inline void commit_timer(struct worker *w, uint64_t out, uint64_t timer, uint64_t next_ns)
{
    struct segment_commit *slot = commit_other(w->slot);
    uint64_t high, low = commit_next(w->slot, &high);
    commit_fill(w, slot, high, 0, 0, timer, COMMIT_TIMER);
    slot->port = (uint32_t)next_ns;
    slot->port_generation = (uint32_t)(next_ns >> 32);
    commit_store(slot, commit_where(0, 0), commit_what(out, low));
    w->slot = slot;
}

/* commit.F2 */
static inline void commit_flip(struct worker *w, uint32_t source, uint64_t cursor, uint64_t tail,
                               uint64_t out, actor_ref redo, uint32_t redo_how)
{
    struct segment_commit *valid = w->slot, *slot = VALUE(flip_slot, commit_other(valid), valid);
    uint64_t high, low = commit_next(valid, &high);
    POINT(flip, valid, source, cursor, tail);
    uint64_t base = cursor & ~(COMMIT_WINDOW_MAX - 1);
    commit_fill(w, slot, high, base, source, redo, redo_how);
    commit_store(slot, commit_where(cursor - base, (tail - base) & (COMMIT_WINDOW_MAX - 1)),
                 commit_what(out, low));
    w->slot = slot;
}

static inline void commit_message(struct worker *w, uint64_t cursor)
{
    commit_store(w->slot, commit_where(cursor, w->batch.tail),
                 commit_what(w->outbox.length, commit_low(w->slot) + 1));
}
