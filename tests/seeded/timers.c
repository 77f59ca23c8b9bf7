/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong timers and questions, and recoveries of them. */
#include "daemon/engine/timers/timers.h"

#include <errno.h>

#include "daemon/engine/asks/ask.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/timers/timer_posted.h"
#include "daemon/engine/timers/watches.h"
#include "tests/seeded/hooks.h"
#include "tests/seeded/seeds.h"

void seeded_at_timer_fires(struct segment_timer *timer, uint64_t next_ns)
{
    if (SEEDED(timer_early) && next_ns == 0)
        store_relaxed(&timer->word, timer_word_ended(load_relaxed(&timer->word)));
    crash_order();
}

bool seeded_skips_timer_redo(void)
{
    return SEEDED(timer_no_redo);
}

bool seeded_skips_timer_undo(void)
{
    return SEEDED(timer_no_undo);
}

bool seeded_skips_claim_void(void)
{
    return SEEDED(claim_kept);
}

bool seeded_skips_timer_ended(void)
{
    return SEEDED(timer_stays);
}

static bool timers_seed_ends(const struct engine *e, const struct segment_timer *timer)
{
    return SEEDED(timer_gone) || (SEEDED(later_gone) && timer_posted_stays(timer)) ||
           (SEEDED(member_gone) && timer->group != 0) ||
           (SEEDED(stash_gone) && timer_is_stashed(timer)) ||
           (SEEDED(link_gone) && watches_is_link(&e->segment, timer));
}

static bool timers_seed_unclaims(const struct segment_timer *timer)
{
    return SEEDED(cancel_gone) || (SEEDED(leave_gone) && timer->group != 0) ||
           (SEEDED(unstash_gone) && timer_is_stashed(timer));
}

/* Each that is in the table, before recovery has looked at it. */
void seeded_at_timer_recovered(struct engine *e, struct segment_timer *timer)
{
    if (timer_word_state(load_relaxed(&timer->word)) != TIMER_LIVE)
        return;
    if (timers_seed_ends(e, timer))
        store_relaxed(&timer->word, timer_word_ended(load_relaxed(&timer->word)));
    if (SEEDED(timer_behind))
        timer->deadline_ns -= timer->period_ns;
    if (timers_seed_unclaims(timer))
        timer->claim_count = 0;
    if (SEEDED(link_early) && watches_is_link(&e->segment, timer))
        timer->end = REASON_FINISHED;
    crash_order();
}

bool seeded_value_stash_next(uint32_t *ret, uint32_t i, uint32_t n)
{
    *ret = n - 1 - i;
    return SEEDED(stash_newest);
}

bool seeded_value_former_life(bool *ret)
{
    *ret = false;
    return SEEDED(former_life);
}

bool seeded_value_another_life(bool *ret)
{
    *ret = false;
    return SEEDED(life_goes_on);
}

bool seeded_value_timer_revoked(bool *ret)
{
    *ret = false;
    return SEEDED(cancel_late);
}

/* What the members of one block are sent is committed, and the publication consumed, before it goes
 * to its group again. */
void seeded_at_group_sent(struct worker *w, const struct envelope *envelope)
{
    uint64_t end =
        (uint64_t)((const uint8_t *)envelope - w->batch.base) + envelope_record_size(envelope);
    if (SEEDED(group_apart))
        commit_flip(w, w->batch.source, end, w->batch.tail, w->outbox.length, 0, 0);
}

bool seeded_value_kept_behind(bool *ret)
{
    *ret = false;
    return SEEDED(kept_past);
}

bool seeded_value_owner_left(int *ret)
{
    *ret = 0;
    return SEEDED(owner_anew);
}

bool seeded_value_shelf_claimed(int *ret)
{
    *ret = 0;
    return SEEDED(shelf_soon);
}

bool seeded_value_ask_taken(int *ret, struct worker *w, uint64_t token)
{
    *ret = 0;
    if (SEEDED(ask_stays))
        return true;
    if (!SEEDED(outcome_gone) || !seed_is_due())
        return false;
    *ret = ask_cancel(w, token) == 0 ? -ENOENT : 0;
    return *ret < 0;
}
