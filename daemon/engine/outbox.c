/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/outbox.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
    RUNS_PER_FLUSH = OUTBOX_FLUSH_BYTES / (sizeof(struct outbox_run) + sizeof(struct envelope)) + 64
};

int outbox_init(struct worker *w)
{
    const struct segment *segment = &w->engine->segment;
    uint32_t n_destinations = segment->dead_letters + 1;
    w->outbox = segment_outbox(segment, w->id);
    w->out_limit = segment->header->outbox_bytes - OUTBOX_SYSTEM_BYTES;
    w->out_room = w->out_limit - OUTBOX_SMALL_BYTES;
    w->group_of = calloc(n_destinations, sizeof(*w->group_of));
    w->groups = calloc(n_destinations, sizeof(*w->groups));
    w->has_room = calloc(n_destinations, sizeof(*w->has_room));
    w->runs = calloc(RUNS_PER_FLUSH, sizeof(*w->runs));
    w->runs_capacity = RUNS_PER_FLUSH;
    if (!w->group_of || !w->groups || !w->has_room || !w->runs)
        return -ENOMEM;
    outbox_reset(w);
    return 0;
}

void outbox_fini(struct worker *w)
{
    free(w->group_of);
    free(w->groups);
    free(w->has_room);
    free(w->runs);
    w->group_of = NULL;
    w->groups = NULL;
    w->has_room = NULL;
    w->runs = NULL;
}

void outbox_reset(struct worker *w)
{
    w->run_destination = NO_QUEUE;
    w->run_bytes = &w->run_none;
    w->run_at = 0;
    w->out = 0;
    w->sent_aside = false;
    w->sent_urgent = 0;
    outbox_want(w);
}

/* A handler that sends a lot at once to ever changing receivers. */
static void outbox_runs_grow(struct worker *w)
{
    struct outbox_link *runs = realloc(w->runs, 2ul * w->runs_capacity * sizeof(*runs));
    /* 12 bytes a run of at least 32: no more than half of the outbox's own size, which was
     * granted */
    assert(runs);
    w->runs = runs;
    w->runs_capacity *= 2;
}

/* Nothing is stored into the log: recovery, too, may be killed (B2). */
void outbox_group(struct worker *w, uint64_t out)
{
    uint64_t at = 0;
    uint32_t n_runs = 0;
    for (uint32_t i = 0; i < w->n_groups; i++)
        w->group_of[w->groups[i].destination] = 0;
    w->n_groups = 0;
    assert(out <= w->engine->segment.header->outbox_bytes && out % 8 == 0);
    while (at < out) {
        const struct outbox_run *header = (const struct outbox_run *)(w->outbox + at);
        uint64_t rest = out - at - sizeof(*header);
        /* the last run's length was not stored, or is of a longer, uncommitted log */
        uint64_t bytes = header->bytes && header->bytes * UINT64_C(8) < rest
                             ? header->bytes * UINT64_C(8)
                             : rest;
        uint32_t destination = header->destination;
        assert(destination <= w->engine->segment.dead_letters);
        if (unlikely(n_runs == w->runs_capacity))
            outbox_runs_grow(w);
        at += sizeof(*header);
        w->runs[n_runs] =
            (struct outbox_link){ .at = (uint32_t)(at >> 3), .bytes = (uint32_t)(bytes >> 3) };
        uint32_t group = w->group_of[destination];
        if (group == 0) {
            w->groups[w->n_groups++] = (struct outbox_group){ .destination = destination,
                                                              .first = n_runs,
                                                              .last = n_runs };
            w->group_of[destination] = (uint16_t)w->n_groups;
        } else {
            w->runs[w->groups[group - 1].last].next = n_runs;
            w->groups[group - 1].last = n_runs;
        }
        n_runs++;
        at += bytes;
    }
    assert(at == out);
    w->n_runs = n_runs;
}

uint64_t outbox_group_bytes(const struct worker *w, const struct outbox_group *group)
{
    uint64_t sum = 0, bytes;
    uint32_t run = group->first;
    do {
        (void)outbox_run_envelopes(w, run, &bytes);
        sum += bytes;
    } while (run != group->last && (run = w->runs[run].next));
    return sum;
}
