/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong timers and questions, and recoveries of them. */
#include "daemon/engine/timers/timers.h"

#include <errno.h>

#include "daemon/engine/asks/ask.h"
#include "daemon/engine/commit/commit.h"
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

/* Each that is in the table, before recovery has looked at it. */
void seeded_at_timer_recovered(struct segment_timer *timer)
{
    if (timer_word_state(load_relaxed(&timer->word)) != TIMER_LIVE)
        return;
    if (SEEDED(timer_gone))
        store_relaxed(&timer->word, timer_word_ended(load_relaxed(&timer->word)));
    if (SEEDED(timer_behind))
        timer->deadline_ns -= timer->period_ns;
    if (SEEDED(cancel_gone))
        timer->claim_count = 0;
    crash_order();
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
