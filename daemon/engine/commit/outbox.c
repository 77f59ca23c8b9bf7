/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/commit/outbox.h"

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
    w->outbox.log = segment_outbox(segment, w->id);
    w->outbox.limit = segment->header->outbox_bytes - OUTBOX_SYSTEM_BYTES;
    outbox_open_short_way(w);
    w->flush.group_of = calloc(n_destinations, sizeof(*w->flush.group_of));
    w->flush.groups = calloc(n_destinations, sizeof(*w->flush.groups));
    w->outbox.has_room = calloc(n_destinations, sizeof(*w->outbox.has_room));
    w->flush.runs = calloc(RUNS_PER_FLUSH, sizeof(*w->flush.runs));
    w->flush.runs_capacity = RUNS_PER_FLUSH;
    if (!w->flush.group_of || !w->flush.groups || !w->outbox.has_room || !w->flush.runs)
        return -ENOMEM;
    outbox_reset(w);
    return 0;
}

void outbox_fini(struct worker *w)
{
    free(w->flush.group_of);
    free(w->flush.groups);
    free(w->outbox.has_room);
    free(w->flush.runs);
    w->flush.group_of = NULL;
    w->flush.groups = NULL;
    w->outbox.has_room = NULL;
    w->flush.runs = NULL;
}

void outbox_reset(struct worker *w)
{
    w->outbox.run_destination = NO_QUEUE;
    w->outbox.run_bytes = &w->outbox.run_none;
    w->outbox.run_at = 0;
    w->outbox.length = 0;
    w->outbox.sent_aside = false;
    w->outbox.sent_urgent = 0;
    outbox_want(w);
}

/* A handler that sends a lot at once to ever changing receivers. */
static void outbox_runs_grow(struct worker *w)
{
    struct outbox_link *runs = realloc(w->flush.runs, 2ul * w->flush.runs_capacity * sizeof(*runs));
    /* 12 bytes a run of at least 32: no more than half of the outbox's own size, which was
     * granted */
    assert(runs);
    w->flush.runs = runs;
    w->flush.runs_capacity *= 2;
}

/* A log of one run, which is what a worker with little to do mostly has. */
static bool outbox_group_one(struct worker *w, uint64_t out)
{
    const struct outbox_run *header = (const struct outbox_run *)w->outbox.log;
    uint64_t bytes = out - sizeof(*header);
    uint32_t destination = header->destination;
    if (header->bytes && header->bytes * UINT64_C(8) < bytes)
        return false;
    assert(destination <= w->engine->segment.dead_letters);
    w->flush.runs[0] =
        (struct outbox_link){ .at = sizeof(*header) >> 3, .bytes = (uint32_t)(bytes >> 3) };
    w->flush.groups[0] = (struct outbox_group){ .destination = destination };
    w->flush.group_of[destination] = 1;
    w->flush.n_groups = w->flush.n_runs = 1;
    return true;
}

/* Nothing is stored into the log: recovery, too, may be killed (outbox.B2). */
void outbox_group(struct worker *w, uint64_t out)
{
    uint64_t at = 0;
    uint32_t n_runs = 0;
    for (uint32_t i = 0; i < w->flush.n_groups; i++)
        w->flush.group_of[w->flush.groups[i].destination] = 0;
    w->flush.n_groups = 0;
    if (out > 0 && outbox_group_one(w, out))
        return;
    assert(out <= w->engine->segment.header->outbox_bytes && out % 8 == 0);
    while (at < out) {
        const struct outbox_run *header = (const struct outbox_run *)(w->outbox.log + at);
        uint64_t rest = out - at - sizeof(*header);
        /* the last run's length was not stored, or is of a longer, uncommitted log */
        uint64_t bytes = header->bytes && header->bytes * UINT64_C(8) < rest
                             ? header->bytes * UINT64_C(8)
                             : rest;
        uint32_t destination = header->destination;
        assert(destination <= w->engine->segment.dead_letters);
        if (unlikely(n_runs == w->flush.runs_capacity))
            outbox_runs_grow(w);
        at += sizeof(*header);
        w->flush.runs[n_runs] =
            (struct outbox_link){ .at = (uint32_t)(at >> 3), .bytes = (uint32_t)(bytes >> 3) };
        uint32_t group = w->flush.group_of[destination];
        if (group == 0) {
            w->flush.groups[w->flush.n_groups++] = (struct outbox_group){
                .destination = destination, .first = n_runs, .last = n_runs
            };
            w->flush.group_of[destination] = (uint16_t)w->flush.n_groups;
        } else {
            w->flush.runs[w->flush.groups[group - 1].last].next = n_runs;
            w->flush.groups[group - 1].last = n_runs;
        }
        n_runs++;
        at += bytes;
    }
    assert(at == out);
    w->flush.n_runs = n_runs;
}

uint64_t outbox_group_bytes(const struct worker *w, const struct outbox_group *group)
{
    uint64_t sum = 0, bytes;
    uint32_t run = group->first;
    do {
        (void)outbox_run_envelopes(w, run, &bytes);
        sum += bytes;
    } while (run != group->last && (run = w->flush.runs[run].next));
    return sum;
}

/* For its client, inside the port's lock and while it is open: whoever refuses may run a mailbox or
 * be a detached thread, and keeps no port's memory (reap.RP3). Recovery does not take the lock for
 * that of an armed step: what this worker has flushed is over, since there is room in its outbox
 * again (outbox.B2). */
static void outbox_count_refused(struct worker *w, uint32_t destination, actor_ref client)
{
    const struct segment *segment = &w->engine->segment;
    uint32_t index = destination - segment->n_queues;
    struct port *port = &w->engine->ports.table[index];
    queue_lock(&segment->queues[destination], w->id);
    if (load_acquire(&port->state) == PORT_OPEN && segment->ports[index].ref == client)
        atomic_fetch_add_explicit(&port->executor_words->refused, 1, memory_order_relaxed);
    queue_unlock(&segment->queues[destination]);
}

void outbox_refuse(struct worker *w, uint32_t destination, actor_ref client,
                   const struct envelope *record, uint64_t correlation, enum envelope_reason reason)
{
    struct refusal refusal = { .correlation = correlation,
                               .to = record->to,
                               .type = record->type,
                               .reason = (uint16_t)reason };
    struct envelope *out = outbox_append(w, destination, envelope_size(sizeof(refusal)));
    *out = (struct envelope){
        .to = client, .from = record->to, .type = MESSAGE_TYPE_REFUSAL, .length = sizeof(refusal)
    };
    memcpy(envelope_payload(out), &refusal, sizeof(refusal));
    stat_add(w, STAT_refusals, 1);
    outbox_count_refused(w, destination, client);
}
