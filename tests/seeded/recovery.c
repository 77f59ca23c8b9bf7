/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong recoveries, and sweeps of the dead letters that cannot be recovered. */
#include "daemon/engine/recovery/recover.h"

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/segment/queue.h"
#include "tests/seeded/hooks.h"
#include "tests/seeded/seeds.h"

/* The locks decide whose journal is still to be rolled forward. */
void seeded_at_recovery_begins(struct engine *e, struct engine_recovery *report)
{
    if (!SEEDED(locks_first))
        return;
    for (uint32_t i = 0; i <= e->segment.dead_letters; i++)
        if (load_relaxed(&e->segment.queues[i].lock)) {
            store_relaxed(&e->segment.queues[i].lock, 0);
            crash_order();
            report->held_locks++;
        }
    POINT(recovery);
}

bool seeded_value_step_done(int *ret)
{
    *ret = false;
    return SEEDED(journal_unchecked);
}

bool seeded_skips_redelivered(void)
{
    return SEEDED(unmarked);
}

bool seeded_skips_redo_end(void)
{
    return SEEDED(no_redo);
}

bool seeded_skips_undo_spawns(void)
{
    return SEEDED(no_unspawn);
}

void seeded_at_recovery_flush(struct worker *w)
{
    if (SEEDED(flip_first))
        commit_flip(w, 0, 0, 0, 0, 0, 0);
}

bool seeded_value_flush_rest(uint32_t *ret)
{
    *ret = 1;
    return SEEDED(step_again);
}

void seeded_at_letters_kept(struct segment_queue *queue, unsigned active)
{
    if (!SEEDED(letters_first))
        return;
    store_release(&queue->sel, active ? SEL_ACTIVE : 0);
    crash_order();
    store_relaxed(&queue->len[active ^ 1], 0);
    crash_order();
}

bool seeded_skips_letters_redo(void)
{
    return SEEDED(letters_redo);
}

bool seeded_skips_phases_undo(void)
{
    return SEEDED(phase_no_undo);
}

bool seeded_skips_watches_look(void)
{
    return SEEDED(watch_no_look);
}
