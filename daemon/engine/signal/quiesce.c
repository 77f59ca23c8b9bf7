/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/quiesce.h"

#include "daemon/engine/signal/wake.h"

void quiesce_ask(struct engine *e, struct quiesce *q)
{
    full_barrier();
    q->seen = 0;
    for (uint32_t id = 0; id < e->segment.workers_max; id++)
        q->passes[id] = load_acquire(&e->workers[id]->shown.passes);
}

bool quiesce_is_over(struct engine *e, struct quiesce *q)
{
    for (; e->started && q->seen < engine_workers(e); q->seen++)
        if (load_acquire(&e->workers[q->seen]->shown.passes) - q->passes[q->seen] < 2 &&
            !sleeper_sleeps(e, q->seen))
            return false;
    return true;
}

/* A record as it was at one time. False: it changes too fast. */
static bool quiesce_record_read(const struct segment_commit *slot, uint64_t *ret_what,
                                uint64_t *ret_count)
{
    *ret_what = load_acquire(&slot->what);
    *ret_count = segment_commit_count(slot);
    return load_acquire(&slot->what) == *ret_what;
}

/* Of the record that was the valid one at some time between the two looks: counts only grow. */
static bool quiesce_outbox_is_empty(const struct segment_worker *durable)
{
    uint64_t first, first_count, second, second_count;
    if (!quiesce_record_read(&durable->slot[0], &first, &first_count) ||
        !quiesce_record_read(&durable->slot[1], &second, &second_count) ||
        first_count == second_count)
        return false;
    return (first_count > second_count ? first : second) >> COMMIT_LOW_BITS == 0;
}

bool quiesce_has_sent(struct engine *e, struct quiesce *q)
{
    for (; q->seen + 1 < e->segment.n_ids; q->seen++) {
        const struct worker *w = e->workers[q->seen];
        bool passed = e->started && q->seen < engine_workers(e) &&
                      load_acquire(&w->shown.passes) - q->passes[q->seen] >= 2;
        if (!passed && !quiesce_outbox_is_empty(w->durable))
            return false;
    }
    return true;
}
