/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/send/flush.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/budget.h"
#include "daemon/engine/core/populate.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/send/deliver.h"
#include "daemon/engine/signal/urgent.h"
#include "daemon/engine/signal/wake.h"

static uint64_t flush_group_copy(struct worker *w, const struct outbox_group *group, uint8_t *base,
                                 uint64_t length, uint64_t window)
{
    uint32_t run = group->first;
    do {
        uint64_t bytes;
        const struct envelope *envelopes = outbox_run_envelopes(w, run, &bytes);
        assert(length + bytes <= window); /* outbox.B4 */
        if (bytes == 24 || bytes == 32)
            memcpy(base + length, envelopes, 32); /* a window has room behind its longest content */
        else
            memcpy(base + length, envelopes, bytes);
        length += bytes;
        POINT(run_copied, base, &length, bytes);
    } while (run != group->last && (run = w->flush.runs[run].next));
    return length;
}

static uint64_t flush_group_count(const struct worker *w, const struct outbox_group *group)
{
    uint64_t n = 0;
    uint32_t run = group->first;
    do {
        uint64_t bytes;
        const uint8_t *at = (const uint8_t *)outbox_run_envelopes(w, run, &bytes);
        for (const uint8_t *end = at + bytes; at < end; n++)
            at += envelope_record_size((const struct envelope *)at);
    } while (run != group->last && (run = w->flush.runs[run].next));
    return n;
}

/* Behind the lock and before the signal: the queue's lines are here. */
static void flush_count_crossing(struct worker *w, uint32_t mailbox,
                                 const struct outbox_group *group)
{
    if (ODEON_STATISTICS && own_worker(load_relaxed(w->engine->sources[mailbox].own)) != w->id)
        stat_add(w, STAT_crossing_messages, flush_group_count(w, group));
}

/* What a group's records will take, of a port's user. */
static uint64_t flush_group_time(const struct worker *w, const struct outbox_group *group)
{
    if (w->flush.n_groups == 1)
        return w->flush.pending_ns;
    uint64_t ns = 0;
    uint32_t run = group->first;
    do {
        uint64_t bytes;
        const uint8_t *at = (const uint8_t *)outbox_run_envelopes(w, run, &bytes);
        for (const uint8_t *end = at + bytes; at < end;) {
            const struct envelope *envelope = (const struct envelope *)at;
            uint64_t key = load_relaxed(&w->engine->actors.table[actor_ref_slot(envelope->to)].key);
            ns += budget_time_of(w->engine, key, envelope->type).ns;
            at += envelope_record_size(envelope);
        }
    } while (run != group->last && (run = w->flush.runs[run].next));
    return ns;
}

static __attribute__((noinline)) void flush_account_time(struct worker *w,
                                                         struct window_history *window,
                                                         const struct outbox_group *group)
{
    uint64_t ns = flush_group_time(w, group);
    if (ns)
        budget_time_note(w->engine, window, w->flush.timed, ns);
}

/* Under the lock (budget.B1). */
static inline void flush_account(struct worker *w, struct window_history *window,
                                 const struct outbox_group *group, uint64_t length)
{
    budget_touch(w->engine, window, length);
    if (unlikely(w->flush.account))
        budget_note(w->engine, window, w->flush.account, outbox_group_bytes(w, group));
    if (unlikely(w->flush.pending_ns))
        flush_account_time(w, window, group);
}

/* The group may be all of the outbox, or a part. */
static __attribute__((noinline)) void
flush_populate(struct worker *w, const struct outbox_group *group, unsigned active, uint64_t length)
{
    struct engine *e = w->engine;
    populate_window(e, &e->windows[2 * group->destination + active],
                    segment_window(&e->segment, group->destination, active),
                    length + outbox_group_bytes(w, group));
}

/* One step: a message queue. */
static void flush_to_queue(struct worker *w, uint32_t step, const struct outbox_group *group)
{
    struct engine *e = w->engine;
    uint32_t destination = group->destination;
    uint32_t mailbox = segment_mailbox(&e->segment, destination);
    struct segment_queue *queue = &e->segment.queues[destination];
    if (queue_lock(queue, w->id))
        stat_add(w, STAT_lock_contended, 1);
    unsigned active = queue_active(load_relaxed(&queue->sel));
    uint64_t length = load_relaxed(&queue->len[active]);
    bool first = length == 0;
    POINT(flush_locked, w, step, group, queue, active, length);
    if (populate_is_worth(length + w->outbox.length))
        flush_populate(w, group, active, length);
    uint64_t end = flush_group_copy(w, group, segment_window(&e->segment, destination, active),
                                    length, e->segment.header->window_bytes - ENVELOPE_SIZE_MAX);
    if (unlikely(destination == w->observer.destination))
        observe_mark_flushed(w, group, active, length);
    length = end;
    POINT(flush_copied, queue, active, length);
    flush_account(w, &e->windows[2 * destination + active], group, length);
    journal_arm(w, step, destination, length);
    POINT(journal);
    /* publish queue.Q2, read by queue_gulp under the lock and by hints */
    store_release(&queue->len[active], length);
    crash_order();
    POINT(published);
    if (unlikely(mailbox != destination))
        STEP(urgent_byte, urgent_publish(e, mailbox));
    queue_unlock(queue); /* queue.Q3 */
    POINT(step);
    stat_add(w, STAT_flushes, 1);
    w->outbox.has_room[destination] = 0;
    flush_count_crossing(w, mailbox, group);
    if (w->flush.recovering)
        return;
    if (unlikely(mailbox != destination))
        urgent_interrupt(e, w, mailbox);
    source_signal_append(e, w, mailbox, first);
    POINT(flush_signalled, e, mailbox, destination);
}

static uint64_t flush_realtime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* 0: it has ended. In recovery the table of keys is not there yet, and the slot's word is what it
 * will be made from; otherwise the word is left alone, since its line is that of spawns. */
static uint32_t flush_receiver_type(const struct worker *w, const struct envelope *envelope)
{
    const struct engine *e = w->engine;
    uint32_t slot = actor_ref_slot(envelope->to), generation = actor_ref_generation(envelope->to);
    if (slot >= e->config.actors_max)
        return 0;
    if (w->flush.recovering) {
        uint64_t word = load_relaxed(&e->segment.actors[slot].word);
        bool lives =
            slot_word_state(word) == ACTOR_SLOT_LIVE && slot_word_generation(word) == generation;
        return lives ? slot_word_type(word) : 0;
    }
    uint64_t key = load_relaxed(&e->actors.table[slot].key);
    return actor_key_generation(key) == generation && actor_key_lives(key)
               ? segment_type_of_key(&e->segment, actor_key_type(key))
               : 0;
}

/* One step: the dead letters, which nobody runs. What does not fit any more is dropped and
 * counted. */
static void flush_to_dead_letters(struct worker *w, uint32_t step, const struct outbox_group *group)
{
    struct engine *e = w->engine;
    struct segment_queue *queue = &e->segment.queues[e->segment.dead_letters];
    queue_lock(queue, w->id);
    unsigned active = queue_active(load_relaxed(&queue->sel));
    uint64_t length = load_relaxed(&queue->len[active]), before = length;
    uint64_t limit = e->segment.header->dlq_bytes;
    uint8_t *base = segment_window(&e->segment, e->segment.dead_letters, active);
    uint64_t last = load_relaxed(&queue->cursor), now_ns = flush_realtime_ns();
    uint32_t run = group->first, dropped = 0;
    do {
        uint64_t bytes;
        const uint8_t *at = (const uint8_t *)outbox_run_envelopes(w, run, &bytes);
        for (const uint8_t *end = at + bytes; at < end;) {
            uint64_t size = envelope_record_size((const struct envelope *)at);
            if (length + sizeof(struct segment_dead_letter) + size <= limit) {
                *(struct segment_dead_letter *)(base + length) = (struct segment_dead_letter){
                    .id = ++last,
                    .time_ns = now_ns,
                    .actor_type = flush_receiver_type(w, (const struct envelope *)at),
                };
                length += sizeof(struct segment_dead_letter);
                memcpy(base + length, at, size);
                length += size;
            } else {
                dropped++;
            }
            at += size;
        }
    } while (run != group->last && (run = w->flush.runs[run].next));
    store_relaxed(&queue->cursor, last); /* letters.DL2 */
    journal_arm(w, step, e->segment.dead_letters, length);
    if (length != before)
        store_release(&queue->len[active], length);
    crash_order();
    queue_unlock(queue);
    if (dropped)
        stat_add(w, STAT_dead_letters_dropped, dropped);
}

/* Has the line come where an empty queue's first record will go, before the queue's lock is taken.
 * Of a queue that is locked, or not empty, another sender may be writing there; and of one that is
 * polled, its worker looks at that line all the time and would take it away again. */
static inline void flush_prefetch(const struct worker *w, const struct outbox_group *group)
{
    const struct segment *segment = &w->engine->segment;
    if (unlikely(group->destination >= segment->n_queues))
        return;
    const struct segment_queue *queue = &segment->queues[group->destination];
    unsigned active = queue_active(load_relaxed(&queue->sel));
    if (load_relaxed(&queue->len[active]) == 0 && load_relaxed(&queue->lock) == 0 &&
        !own_is_polled(load_relaxed(&queue->own)))
        prefetch_write(segment_window(segment, group->destination, active));
}

void flush_from(struct worker *w, uint32_t first)
{
    uint64_t n = w->outbox.n_logged - w->outbox.n_flushed;
    stat_add(w, STAT_flushed_messages, n);
    w->outbox.n_flushed = w->outbox.n_logged;
    w->flush.longest = w->outbox.length > w->flush.longest ? w->outbox.length : w->flush.longest;
    outbox_group(w, w->outbox.length);
    if (likely(first <= w->flush.n_groups))
        flush_prefetch(w, &w->flush.groups[first - 1]);
    observe_flush(w, n);
    const struct segment *segment = &w->engine->segment;
    for (uint32_t step = first; step <= w->flush.n_groups; step++) {
        const struct outbox_group *group = &w->flush.groups[step - 1];
        if (likely(group->destination < segment->n_queues))
            flush_to_queue(w, step, group);
        else if (group->destination < segment->dead_letters)
            deliver_group(w, step, group);
        else
            flush_to_dead_letters(w, step, group);
    }
}

void flush_control(struct worker *w)
{
    POINT(outbox);
    flush_from(w, 1);
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    outbox_reset(w);
    stat_add(w, STAT_messages_sent, w->outbox.n_logged);
    w->outbox.n_logged = w->outbox.n_flushed = 0;
}
