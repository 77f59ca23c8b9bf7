/* SPDX-License-Identifier: Apache-2.0 */
/* Points at which a test build kills itself: for the kill torture (tests/stress) and tests of
 * recovery. Only builds with -DODEON_INJECT=1 include this; a point is passed by POINT (points.h).
 *
 * The environment variable ODEON_INJECT="POINT:N,POINT:N" lets the process end itself with SIGKILL
 * at one of the points, at its n-th passage, n drawn from 1 to 2 N.
 *
 * Threads: any; a count is one atomic word.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum inject_point {
    INJECT_handler,   /* a handler has returned, nothing is committed */
    INJECT_undo,      /* a kept state has been copied, its handler not begun */
    INJECT_aside,     /* a stuck actor is being set aside */
    INJECT_outbox,    /* committed, nothing flushed */
    INJECT_lock,      /* a queue's lock is held, the journal not armed */
    INJECT_copied,    /* the group is copied, the journal not armed */
    INJECT_journal,   /* the journal is armed, the length not published */
    INJECT_published, /* published, still locked */
    INJECT_step,      /* between two steps of a flush */
    INJECT_marked,    /* one of a full queue's oldest is marked, not all that are to be dropped */
    INJECT_parked,    /* a batch has been set aside */
    INJECT_release,   /* inside a release */
    INJECT_port,      /* a port's batch is routed, not committed */
    INJECT_recovery,  /* inside recovery */
    INJECT_none,      /* a point that is never armed */
    INJECT_N,

    /* Points with a name of their own are one of these. */
    INJECT_actor_ends = INJECT_handler,
    INJECT_group_sent = INJECT_handler,
    INJECT_letters_kept = INJECT_outbox,
    INJECT_flush_locked = INJECT_lock,
    INJECT_flush_copied = INJECT_copied,
    INJECT_ring_copied = INJECT_copied,
    INJECT_bit_looked = INJECT_none,
    INJECT_flip = INJECT_none,
    INJECT_flush_signalled = INJECT_none,
    INJECT_mailbox_over = INJECT_none,
    INJECT_port_attached = INJECT_none,
    INJECT_port_direct = INJECT_none,
    INJECT_port_later = INJECT_none,
    INJECT_recovery_begins = INJECT_none,
    INJECT_recovery_flush = INJECT_none,
    INJECT_run_copied = INJECT_none,
    INJECT_spawn_slot = INJECT_none,
    INJECT_timer_fires = INJECT_handler,
    INJECT_timer_recovered = INJECT_none,
};

extern _Atomic int64_t inject_countdown[INJECT_N];

void inject_hit(enum inject_point point);

static inline void inject_pass(enum inject_point point)
{
    if (__builtin_expect(atomic_load_explicit(&inject_countdown[point], memory_order_relaxed) != 0,
                         0))
        inject_hit(point);
}
