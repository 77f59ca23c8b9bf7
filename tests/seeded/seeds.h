/* SPDX-License-Identifier: Apache-2.0 */
/* The deliberate bugs: each makes one rule of a protocol wrong, and a test that finds nothing wrong
 * then is worth nothing. Which tests find which: README.md.
 *
 * Where they are compiled in, -DODEON_SEED_BUG=NAME turns one on for good, -DODEON_SEED_BUG=chosen
 * the one that `seed_chosen` says: the environment variable ODEON_SEED names it, or a test stores
 * it. The simulator's -DODEON_SIMULATE turns on the one that `sim_seed_bug` says.
 *
 * Threads: chosen before any, or between two lives of the engine.
 */
#pragma once

#include <stdbool.h>

/* A name, and what is wrong. */
#define SEEDS(SEED)                                                                                \
    SEED(journal_late, "the journal is armed after the publish")                                   \
    SEED(own_early, "the owner word is idle before the flush")                                     \
    SEED(two_stores, "consumption and sends are committed by two stores")                          \
    SEED(locks_first, "recovery clears locks before it rolls journals forward")                    \
    SEED(undo_skipped, "a kept state is changed without a copy to go back to")                     \
    /* Now and then, and not only at a crash: */                                                   \
    SEED(lose_run, "a run of records is not copied into its queue")                                \
    SEED(copy_twice, "a run of records is copied twice")                                           \
    SEED(newest_first, "two records of a run change places")                                       \
    SEED(silent_refusal, "a client is not told of a refusal")                                      \
    SEED(unmarked, "recovery does not mark what is run again")                                     \
    SEED(timer_stays, "a timer that has fired is not ended in the table")                          \
    SEED(timer_gone, "recovery ends timers that are armed")                                        \
    SEED(timer_behind, "recovery sets periodic timers back by a period")                           \
    SEED(cancel_gone, "recovery takes committed cancels and withdrawals back")                     \
    SEED(ask_stays, "an outcome does not end its question")                                        \
    SEED(shelf_soon, "a question's number is used again by the turn that has claimed it")          \
    SEED(outcome_gone, "an outcome is taken, and no handler sees it")                              \
    SEED(member_gone, "recovery ends memberships")                                                 \
    SEED(leave_gone, "recovery takes committed leaves of a group back")                            \
    SEED(stash_newest, "what was put off comes back the newest first")                             \
    SEED(stash_gone, "recovery ends what is put off")                                              \
    SEED(unstash_gone, "recovery puts off again what a commit has taken back")                     \
    SEED(former_life, "who begins anew has what its former life put off and joined")               \
    SEED(life_goes_on, "what a life that is over has armed is sent, and nobody begins anew")       \
    SEED(link_gone, "recovery ends links")                                                         \
    SEED(link_early, "recovery ends children whose parents live")                                  \
    /* At a crash: */                                                                              \
    SEED(publish_first, "a length is published before the bytes below it are copied")              \
    SEED(arm_first, "the journal is armed before the copy")                                        \
    SEED(one_entry, "each step's journal entry is in the place of the one before")                 \
    SEED(flip_in_place, "a flip fills the record that is valid")                                   \
    SEED(detach_first, "detached before the queue's words say where its batch stands")             \
    SEED(direct_early, "a record taken from its port is a batch before the flip")                  \
    SEED(ring_late, "the delivery ring's tail is stored before the journal")                       \
    SEED(live_first, "a spawned actor's slot is live before it has its tag")                       \
    SEED(free_first, "an ended actor's slot is free before the flip")                              \
    SEED(no_redo, "recovery does not complete an actor's end")                                     \
    SEED(no_unspawn, "recovery keeps spawns that were not committed")                              \
    SEED(flip_first, "recovery's flip is before the rest of the flush")                            \
    SEED(letters_first, "the dead letters' other buffer is active before the flip")                \
    SEED(timer_early, "a timer ends before the flip that sends its message")                       \
    SEED(timer_no_redo, "recovery does not end a timer that has fired")                            \
    SEED(timer_no_undo, "recovery keeps timers that no commit stands behind")                      \
    SEED(later_apart, "a timer is there before the record that a client posted is consumed")       \
    SEED(claim_kept, "recovery keeps a claim that no commit stands behind")                        \
    SEED(watch_no_look, "recovery does not look whether who is monitored has ended")               \
    SEED(group_apart, "a publication is sent on by another flip than its members' messages")       \
    SEED(phase_no_undo, "recovery keeps a phase that no commit stands behind")                     \
    SEED(letters_redo, "recovery does not finish a sweep of the dead letters")                     \
    SEED(urgent_direct, "an urgent record is taken from its port into the ordinary lane")          \
    /* Of the simulator alone: */                                                                  \
    SEED(urgent_late, "an urgent lane's byte is set behind the look at the owner word")            \
    SEED(urgent_forgot, "a runner does not look for what came behind a parked urgent batch")       \
    SEED(post_fence, "a client publishes and looks at need_wakeup without a fence")                \
    SEED(cold_fence, "a worker turns the doorbell on, looks at the ring without a fence")          \
    SEED(bit_late, "a ready bit is cleared behind the look at the queue, not before it")           \
    SEED(journal_unchecked, "recovery rolls forward without asking whose the lock is")             \
    SEED(park_look, "a parker does not look at its mask again behind its sleepers bit")            \
    SEED(head_early, "a client is told of room before what was there is committed")                \
    SEED(step_again, "recovery begins an interrupted flush with its first step")                   \
    SEED(visit_fence, "a visited source is given back and looked at without a fence")              \
    SEED(no_park_bit, "a batch is set aside and its ready bit is not set")                         \
    SEED(no_bound, "a batch that is extended is not closed, however long others wait")             \
    SEED(trace_stays, "what is run behind a traced message is in its trace, too")                  \
    SEED(trace_gone, "what is run again behind a crash is in no trace")                            \
    SEED(owner_anew, "what comes for one that has left begins a chain of its own")                 \
    SEED(kept_past, "what is published goes past what is kept for a member")                       \
    SEED(later_gone, "recovery ends what clients have posted for later")                           \
    SEED(cancel_late, "what a periodic timer has sent is run behind its committed cancel")

#define SEEDS_NUMBER(name, what) SEED_##name,
enum { SEED_NONE, SEEDS(SEEDS_NUMBER) SEEDS_N };

extern int seed_chosen;
extern int sim_seed_bug;

#ifdef ODEON_SEED_BUG
#define SEED_chosen       seed_chosen
#define SEED_PASTE_(a, b) a##b
#define SEED_PASTE(a, b)  SEED_PASTE_(a, b)
#define SEEDED(name)      (SEED_PASTE(SEED_, ODEON_SEED_BUG) == SEED_##name)
#else
#define SEEDED(name) (sim_seed_bug == SEED_##name)
#endif

/* Seldom enough that all else goes on as ever. Not in the simulator. */
bool seed_is_due(void);
