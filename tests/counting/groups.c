/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/counting/groups.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

const struct cut cuts[CUTS_N] = {
    { "16k", 16 << 10, 0 },
    { "64k", 64 << 10, 0 },
    { "64k_or_20us", 64 << 10, 20 * 1000 },
};

/* Of one worker and one cut: the flush that is being filled. */
struct fill {
    uint64_t round, bytes, since_ns;
    uint32_t last_queue_1;
    uint64_t *queue_round, *home_round; /* the last flush that had a group for it */
};

static const struct engine *engine;
static struct fill *fills; /* one for each cut, worker by worker */
static struct cut_count counts[CUTS_N];

static uint64_t *groups_rounds(uint32_t n)
{
    uint64_t *rounds = calloc(n, sizeof(*rounds));
    if (!rounds)
        sim_fail("no memory");
    return rounds;
}

void groups_begin(const struct engine *e)
{
    engine = e;
    fills = calloc((size_t)e->segment.workers_max * CUTS_N, sizeof(*fills));
    if (!fills)
        sim_fail("no memory");
    for (uint32_t i = 0; i < e->segment.workers_max * CUTS_N; i++)
        fills[i] = (struct fill){ .round = 1,
                                  .queue_round = groups_rounds(e->segment.n_queues),
                                  .home_round = groups_rounds(ODEON_WORKERS_MAX) };
    groups_measure();
}

void groups_end(void)
{
    for (uint32_t i = 0; fills && i < engine->segment.workers_max * CUTS_N; i++) {
        free(fills[i].queue_round);
        free(fills[i].home_round);
    }
    free(fills);
    fills = NULL;
}

void groups_measure(void)
{
    memset(counts, 0, sizeof(counts));
}

const struct cut_count *groups_of(uint32_t cut)
{
    return &counts[cut];
}

static void groups_add(struct cut_count *count, struct fill *fill, uint32_t queue, uint32_t owner,
                       uint32_t worker)
{
    count->messages++;
    if (fill->queue_round[queue] != fill->round) {
        fill->queue_round[queue] = fill->round;
        count->groups++;
        count->crossing += owner != worker;
    }
    if (owner != worker && fill->home_round[owner] != fill->round) {
        fill->home_round[owner] = fill->round;
        count->homes++;
    }
}

void groups_sent(uint32_t worker, actor_ref to, uint64_t bytes, uint64_t now_ns)
{
    uint64_t key = load_relaxed(&engine->actors.table[actor_ref_slot(to)].key);
    uint32_t queue = actor_key_destination(key);
    if (worker >= engine->segment.workers_max || queue >= engine->segment.n_mailboxes)
        return;
    uint32_t owner = own_worker(load_relaxed(engine->sources[queue].own));
    for (uint32_t i = 0; i < CUTS_N; i++) {
        struct fill *fill = &fills[worker * CUTS_N + i];
        bool over = cuts[i].ns && fill->bytes && now_ns - fill->since_ns >= cuts[i].ns;
        if (over || fill->bytes >= cuts[i].bytes) {
            fill->round++;
            fill->bytes = 0;
            fill->last_queue_1 = 0;
            counts[i].flushes++;
        }
        if (fill->bytes == 0)
            fill->since_ns = now_ns;
        fill->bytes += bytes + (fill->last_queue_1 == queue + 1 ? 0 : sizeof(struct outbox_run));
        fill->last_queue_1 = queue + 1;
        groups_add(&counts[i], fill, queue, owner, worker);
    }
}
