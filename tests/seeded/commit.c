/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong commits, journal entries and copies of kept states. */
#include "daemon/engine/commit/commit.h"

#include "tests/seeded/hooks.h"
#include "tests/seeded/seeds.h"

/* The consumption first, for itself, the sends later. */
void seeded_at_flip(struct segment_commit *valid, uint32_t source, uint64_t cursor, uint64_t tail)
{
    if (!SEEDED(two_stores) || !source)
        return;
    store_relaxed(&valid->where, commit_where(cursor - valid->base, tail - valid->base));
    crash_order();
    POINT(handler);
}

/* A message's commit is a flip, which stores twice, too. */
bool seeded_value_flip_whole(int *ret)
{
    *ret = true;
    return SEEDED(two_stores);
}

bool seeded_value_flip_slot(struct segment_commit **ret, struct segment_commit *valid)
{
    *ret = valid;
    return SEEDED(flip_in_place);
}

bool seeded_value_journal_entry(uint32_t *ret)
{
    *ret = 0;
    return SEEDED(one_entry);
}

bool seeded_skips_undo_tag(void)
{
    return SEEDED(undo_skipped);
}
