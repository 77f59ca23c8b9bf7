/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/outbox.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "daemon/engine/delivery.h"
#include "daemon/engine/park.h"
#include "daemon/engine/seed.h"

int outbox_init(struct worker *w)
{
    const struct segment *segment = &w->engine->segment;
    uint32_t n_destinations = segment->dead_letters + 1;
    w->outbox = segment_outbox(segment, w->id);
    w->out_limit = segment->header->outbox_bytes - OUTBOX_SYSTEM_BYTES;
    w->group_of = calloc(n_destinations, sizeof(*w->group_of));
    w->groups = calloc(n_destinations, sizeof(*w->groups));
    return w->group_of && w->groups ? 0 : -ENOMEM;
}

void outbox_fini(struct worker *w)
{
    free(w->group_of);
    free(w->groups);
    w->group_of = NULL;
    w->groups = NULL;
}

void outbox_reset(struct worker *w)
{
    for (uint32_t i = 0; i < w->n_groups; i++)
        w->group_of[w->groups[i].destination] = 0;
    w->n_groups = 0;
    w->out = 0;
}

void outbox_rebuild(struct worker *w, uint64_t out)
{
    outbox_reset(w);
    assert(out <= w->engine->segment.header->outbox_bytes && out % 8 == 0);
    while (w->out < out) {
        struct outbox_record *record = outbox_record_at(w, (uint32_t)(w->out / 8));
        uint32_t destination = record->destination;
        uint64_t size = envelope_record_size(outbox_envelope(record));
        assert(destination <= w->engine->segment.dead_letters);
        outbox_append(w, destination, size);
    }
    assert(w->out == out);
}

/* The records so far, all of group 0, get their links. */
static void chain_first_group(struct worker *w)
{
    struct outbox_group *group = &w->groups[0];
    uint64_t at = 0, last = 0;
    while (at < w->out) {
        struct outbox_record *record = outbox_record_at(w, (uint32_t)(at / 8));
        outbox_record_at(w, (uint32_t)(last / 8))->next = (uint32_t)(at / 8);
        last = at;
        at += sizeof(*record) + envelope_record_size(outbox_envelope(record));
    }
    group->last = (uint32_t)(last / 8);
}

struct envelope *outbox_append_slow(struct worker *w, uint32_t destination, uint64_t size)
{
    uint32_t at = (uint32_t)(w->out / 8);
    uint32_t index = w->group_of[destination];
    if (index == 0) {
        if (w->n_groups == 1)
            chain_first_group(w);
        w->groups[w->n_groups++] = (struct outbox_group){ .destination = destination, .first = at, .last = at, .bytes = size };
        w->group_of[destination] = (uint16_t)w->n_groups;
    } else {
        struct outbox_group *group = &w->groups[index - 1];
        outbox_record_at(w, group->last)->next = at;
        group->last = at;
        group->bytes += size;
    }
    return outbox_log(w, destination, size);
}

static uint64_t group_copy(struct worker *w, const struct outbox_group *group, uint8_t *base, uint64_t length, uint64_t *ret_n)
{
    uint32_t at = group->first;
    uint64_t n = 0;
    do {
        const struct envelope *envelope = outbox_envelope(outbox_record_at(w, at));
        uint64_t size = envelope_record_size(envelope);
        record_copy(base + length, envelope, size);
        length += size;
        n++;
        at = outbox_next(w, group, at);
    } while (at);
    *ret_n = n;
    return length;
}

/* One step: a message queue. */
static void flush_to_queue(struct worker *w, uint32_t step, const struct outbox_group *group)
{
    struct engine *e = w->engine;
    uint32_t destination = group->destination;
    struct segment_queue *queue = &e->segment.queues[destination];
    if (queue_lock(queue, w->id))
        stat_add(w, STAT_lock_contended, 1);
    INJECT(LOCK);
    unsigned active = queue_active(load_relaxed(&queue->sel));
    uint64_t length = load_relaxed(&queue->len[active]);
    assert(length + group->bytes <= e->segment.header->window_bytes); /* B4 */
    uint64_t n;
    length = group_copy(w, group, segment_window(&e->segment, destination, active), length, &n);
    if (SEEDED(journal_late))
        store_release(&queue->len[active], length);
    INJECT(COPIED);
    journal_arm(w, step, destination, length);
    INJECT(JOURNAL);
    store_release(&queue->len[active], length); /* publish Q2, read by queue_gulp under the lock and by hints */
    crash_order();
    INJECT(PUBLISHED);
    queue_unlock(queue); /* Q3 */
    INJECT(STEP);
    stat_add(w, STAT_flushes, 1);
    stat_add(w, STAT_flushed_messages, n);
    if (!w->recovering)
        source_signal(e, w, destination);
}

/* One step: the dead letters, which nobody runs.  What does not fit any more is dropped and counted. */
static void flush_to_dead_letters(struct worker *w, uint32_t step, const struct outbox_group *group)
{
    struct engine *e = w->engine;
    struct segment_queue *queue = &e->segment.queues[e->segment.dead_letters];
    queue_lock(queue, w->id);
    unsigned active = queue_active(load_relaxed(&queue->sel));
    uint64_t length = load_relaxed(&queue->len[active]), before = length;
    uint64_t limit = e->segment.header->dlq_bytes;
    uint8_t *base = segment_window(&e->segment, e->segment.dead_letters, active);
    uint32_t at = group->first, dropped = 0;
    do {
        struct outbox_record *record = outbox_record_at(w, at);
        uint64_t size = envelope_record_size(outbox_envelope(record));
        if (length + size <= limit) {
            record_copy(base + length, outbox_envelope(record), size);
            length += size;
        } else {
            dropped++;
        }
        at = outbox_next(w, group, at);
    } while (at);
    journal_arm(w, step, e->segment.dead_letters, length);
    if (length != before)
        store_release(&queue->len[active], length);
    crash_order();
    queue_unlock(queue);
    if (dropped)
        stat_add(w, STAT_dead_letters_dropped, dropped);
}

void outbox_flush_from(struct worker *w, uint32_t first)
{
    const struct segment *segment = &w->engine->segment;
    for (uint32_t step = first; step <= w->n_groups; step++) {
        const struct outbox_group *group = &w->groups[step - 1];
        if (likely(group->destination < segment->n_queues))
            flush_to_queue(w, step, group);
        else if (group->destination < segment->dead_letters)
            delivery_flush(w, step, group);
        else
            flush_to_dead_letters(w, step, group);
    }
}
