/* SPDX-License-Identifier: Apache-2.0 */
/* Deliberate bugs, and points at which a test build kills itself. They are for the kill torture
 * (tests/stress), the history checker (tests/history) and the crash points (tests/crashpoints),
 * bugs also for the simulator (tests/sim): a build without them contains nothing of either.
 *
 * -DODEON_SEED_BUG=NAME makes one protocol rule wrong; the torture must then turn red.
 * -DODEON_SEED_BUG=chosen compiles all of them in;
 * the environment variable ODEON_SEED then names the one. The simulator, -DODEON_SIMULATE, has all
 * of them, and turns on one at a time. -DODEON_INJECT=1 compiles the points in; the environment
 * variable ODEON_INJECT="POINT:N,POINT:N" then lets the process end itself with SIGKILL at the
 * point's n-th passage, n drawn from 1 to 2 N.
 */
#pragma once

#include <stdint.h>

#include "daemon/common/check.h"

#define SEED_NONE         0
#define SEED_journal_late 1 /* journal armed after the publish */
#define SEED_own_early    2 /* owner word idle before the flush */
#define SEED_two_stores   3 /* consumption and sends committed by two stores */
#define SEED_locks_first  4 /* recovery clears locks before it rolls journals forward */
#define SEED_undo_skipped 5 /* a kept state is changed without a copy to go back to */
/* Now and then, and not only at a crash: */
#define SEED_lose_run       6  /* a run of records is not copied into its queue */
#define SEED_copy_twice     7  /* ... or twice */
#define SEED_newest_first   8  /* two records of a run change places */
#define SEED_silent_refusal 9  /* a client is not told of a refusal */
#define SEED_unmarked       10 /* recovery does not mark what is run again */
/* At a crash: */
#define SEED_publish_first 11 /* a length is published before the bytes below it are copied */
#define SEED_arm_first     12 /* journal armed before the copy */
#define SEED_one_entry     13 /* each step's journal entry in the place of the one before */
#define SEED_flip_in_place 14 /* a flip fills the record that is valid */
/* detached before the queue's own words say where its batch stands */
#define SEED_detach_first 15
#define SEED_direct_early 16 /* a record taken from its port is a batch before the flip */
#define SEED_ring_late    17 /* the delivery ring's tail before the journal */
#define SEED_live_first   18 /* a spawned actor's slot is live before it has its tag */
#define SEED_free_first   19 /* an ended actor's slot is free before the flip */
#define SEED_no_redo      20 /* recovery does not complete an actor's end */
#define SEED_no_unspawn   21 /* recovery keeps spawns that were not committed */
#define SEED_flip_first   22 /* recovery's flip before the rest of the flush */
/* the dead letters' other buffer is the active one before the flip */
#define SEED_letters_first 26
#define SEED_letters_redo  27 /* recovery does not finish a sweep of the dead letters */
/* an urgent record is taken from its port straight into the ordinary lane */
#define SEED_urgent_direct 24
/* Of the simulator alone: */
/* the byte of an urgent lane is set behind the look at the owner word */
#define SEED_urgent_late 61
/* a runner does not look for what came behind a parked urgent batch */
#define SEED_urgent_forgot 62
/* a client publishes and looks at need_wakeup without a fence in between */
#define SEED_post_fence 51
/* a worker turns the doorbell on and looks at the ring without a fence */
#define SEED_cold_fence 52
/* a ready bit is cleared behind the look at the queue, not before it */
#define SEED_bit_late 53
/* recovery rolls a journal forward without asking whose the lock is */
#define SEED_journal_unchecked 54
/* a parker does not look at its mask again behind its sleepers bit */
#define SEED_park_look 56
/* the client is told of room before what was there is committed */
#define SEED_head_early 57
#define SEED_step_again 58 /* recovery begins an interrupted flush with its first step */
/* a visited source is given back and looked at once more without a fence */
#define SEED_visit_fence 59
#define SEED_no_park_bit 60 /* a batch is set aside and its ready bit is not set */

#ifdef ODEON_SEED_BUG
#define SEED_PASTE_(a, b) a##b
#define SEED_PASTE(a, b)  SEED_PASTE_(a, b)
#define SEED_BUG          SEED_PASTE(SEED_, ODEON_SEED_BUG)
#elif defined(ODEON_SIMULATE)
#define SEED_BUG sim_seed_bug
#else
#define SEED_BUG SEED_NONE
#endif
#define SEEDED(name) (SEED_BUG == SEED_##name)
#ifdef ODEON_SEED_BUG
#define SEED_chosen seed_chosen
extern int seed_chosen; /* written before main() */
_Bool seed_is_due(void);
#define SEED_NOW(name) (SEEDED(name) && seed_is_due())
#else
#define SEED_NOW(name) 0
#endif

/* A rule that runs (common/check.h). Where bugs are seeded, the instruments that look for them are
 * to find them: the rules that they break are not checked there. */
#if defined(ODEON_SEED_BUG) || defined(ODEON_SIMULATE)
#define engine_check(rule, expression) ((void)sizeof(!(expression)))
#else
#define engine_check(rule, expression) check(rule, expression)
#endif

enum inject_point {
    INJECT_HANDLER, /* a handler has returned, nothing is committed */
    INJECT_UNDO,    /* a kept state has been copied, its handler not begun */
    INJECT_ASIDE,   /* a stuck actor is being set aside */
    INJECT_OUTBOX,  /* committed, nothing flushed */
    INJECT_LOCK,    /* a queue's lock is held, the journal not armed */
    /* the group is copied, the journal not armed (or, seeded, published and not armed) */
    INJECT_COPIED,
    INJECT_JOURNAL,   /* the journal is armed, the length not published */
    INJECT_PUBLISHED, /* published, still locked */
    INJECT_STEP,      /* between two steps of a flush */
    INJECT_MARKED,    /* one of a full queue's oldest is marked, not all that are to be dropped */
    INJECT_PARKED,    /* a batch has been set aside */
    INJECT_RELEASE,   /* inside a release */
    INJECT_PORT,      /* a port's batch is routed, not committed */
    INJECT_RECOVERY,  /* inside recovery */
    INJECT_N,
};

#ifdef ODEON_INJECT
extern _Atomic int64_t inject_countdown[INJECT_N];
void inject_setup(void);
void inject_hit(enum inject_point point);
/* now and then, a while: lets a thief into a window that a seeded bug opens */
void inject_pause(void);
#define INJECT_PAUSE() inject_pause()
#define INJECT(point)                                                                              \
    do {                                                                                           \
        if (__builtin_expect(atomic_load_explicit(&inject_countdown[INJECT_##point],               \
                                                  memory_order_relaxed) != 0,                      \
                             0))                                                                   \
            inject_hit(INJECT_##point);                                                            \
    } while (0)
#else
#define INJECT(point)  ((void)0)
#define INJECT_PAUSE() ((void)0)
#endif
