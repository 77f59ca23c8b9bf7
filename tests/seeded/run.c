/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong runs: who has a queue, which ready bit is there, whose slot it is. */
#include <time.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/core/masks.h"
#include "daemon/engine/run/turn.h"
#include "tests/seeded/hooks.h"
#include "tests/seeded/seeds.h"

/* Now and then a thief is let into the window that a bug opens. */
static void run_pause(void)
{
#ifdef ODEON_INJECT
    static _Thread_local unsigned calls;
    struct timespec pause = { .tv_nsec = 300 * 1000 };
    if (++calls % 32 == 0)
        nanosleep(&pause, NULL);
#endif
}

bool seeded_skips_release_flush(void)
{
    return SEEDED(own_early);
}

void seeded_at_release(struct worker *w)
{
    if (SEEDED(own_early)) {
        owner_release(&w->engine->sources[w->batch.queue], w->id);
        run_pause();
        turn_flush(w);
    }
    if (SEEDED(detach_first))
        commit_flip(w, 0, 0, 0, 0, 0, 0);
}

bool seeded_skips_mailbox_release(void)
{
    return SEEDED(own_early);
}

void seeded_at_mailbox_over(struct worker *w, uint32_t mailbox, bool left)
{
    if (SEEDED(own_early) && left)
        mask_set(w, mailbox);
}

/* A port's bit is cleared when it should be. */
bool seeded_value_bit_cleared(bool *ret, struct worker *w, int64_t source)
{
    *ret = true;
    return SEEDED(bit_late) && source < w->engine->segment.n_mailboxes;
}

/* Each load is a place where the simulator may let others on: the window is one step otherwise, and
 * which seeds meet that changes with every change of the engine. */
void seeded_at_bit_looked(struct worker *w, uint32_t source)
{
    if (!SEEDED(bit_late))
        return;
    for (int i = 0; i < 32; i++)
        (void)load_relaxed(&w->called.ready[source / 64]);
    (void)ready_clear(w->called.ready, source);
}

bool seeded_value_urgent_left(bool *ret, bool done)
{
    *ret = !done;
    return SEEDED(urgent_forgot);
}

bool seeded_value_park_look(int *ret)
{
    *ret = false;
    return SEEDED(park_look);
}

bool seeded_skips_park_bit(void)
{
    return SEEDED(no_park_bit);
}

bool seeded_skips_waits_bound(void)
{
    return SEEDED(no_bound);
}

bool seeded_skips_visit_fence(void)
{
    return SEEDED(visit_fence);
}

void seeded_at_actor_ends(struct worker *w, uint64_t ref, int how)
{
    if (SEEDED(free_first))
        (void)actors_ended(w, ref, (enum actor_end)how, REASON_FINISHED);
}

void seeded_at_spawn_slot(struct segment_actor *durable, uint64_t live)
{
    if (SEEDED(live_first))
        store_release(&durable->word, live);
}

bool seeded_skips_trace_end(void)
{
    return SEEDED(trace_stays);
}

bool seeded_value_trace_id(uint64_t *ret, const struct envelope *envelope)
{
    if (!SEEDED(trace_gone) || !(envelope->flags & ENVELOPE_REDELIVERED))
        return false;
    *ret = 0;
    return true;
}
