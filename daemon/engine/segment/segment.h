/* SPDX-License-Identifier: Apache-2.0 */
/* The mapped engine segment: sizes, offsets, checks on opening (docs/shared-memory.md). Owned by
 * the engine; every thread of the executor reads the pointers, nobody changes them after
 * segment_open().
 *
 * What it does not do: give the tables a meaning; that is queue, actors, outbox, port and recover.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "daemon/engine/base/atomic.h"
#include "daemon/engine/engine.h"
#include "proto/segment_layout.h"

struct segment {
    uint8_t *base;
    uint64_t size, page_bytes;
    struct segment_header *header;
    struct segment_worker *workers;
    /* Q message queues (mailboxes, then their urgent lanes), P backlogs, 1 of dead letters */
    struct segment_queue *queues;
    struct segment_actor *actors;
    uint8_t *args;
    uint8_t *states;
    struct segment_message_type *message_types;
    struct segment_actor_type *actor_types;
    struct segment_phase *phases;
    struct segment_timer *timers;
    struct segment_name *names;
    struct segment_port *ports;
    uint32_t n_queues, n_mailboxes, n_ids, dead_letters; /* dead_letters: id of that queue */
    uint32_t workers_max, queues_per_worker, detached_max, n_timers;
    /* where these ranges of mailboxes begin */
    uint32_t pinned_first, follow_first, aside_first, detached_first;
};

/* What a mailbox is for: who may run it follows from that (placement.h). */
enum queue_range { QUEUE_ORDINARY, QUEUE_PINNED, QUEUE_FOLLOW, QUEUE_ASIDE, QUEUE_DETACHED };

/* Fills in what a segment for `config` begins with: every size and offset. */
void segment_layout(const struct engine_config *config, struct segment_header *ret_header);
bool segment_page_is_good(const struct engine_config *config);
uint64_t segment_size(const struct engine_config *config);
/* See engine_segment_config(). */
bool segment_config(int fd, const struct engine_config *wanted, struct engine_config *ret_config);
int segment_open(struct segment *segment, const struct engine_config *config, int fd,
                 const char **reterr_text);
void segment_close(struct segment *segment);

/* Bytes of one buffer of a message queue in a segment for `config`. */
uint64_t segment_message_window_bytes(const struct engine_config *config);
/* Workers that a segment for `config` has room for. */
uint32_t segment_workers_max(const struct engine_config *config);

/* Of a queue that is no message queue. */
uint8_t *segment_window_other(const struct segment *segment, uint32_t queue, unsigned buffer);

/* Either buffer of any queue, and its size. */
static inline uint8_t *segment_window(const struct segment *segment, uint32_t queue,
                                      unsigned buffer)
{
    const struct segment_header *h = segment->header;
    if (unlikely(queue >= segment->n_queues))
        return segment_window_other(segment, queue, buffer);
    return segment->base + h->windows_offset +
           load_relaxed(&segment->queues[queue].window[buffer]) * h->window_bytes;
}
uint64_t segment_window_bytes(const struct segment *segment, uint32_t queue);
uint8_t *segment_outbox(const struct segment *segment, uint32_t id);
/* The place-th place for a timer's message of a class. */
static inline struct envelope *segment_timer_place(const struct segment *segment, uint32_t class,
                                                   uint32_t place)
{
    return (struct envelope *)(segment->base + segment->header->timer_messages_offset +
                               class * segment->header->timer_bytes +
                               place * TIMER_CLASS_BYTES(class));
}
/* Of a timer whose class and place are set. */
static inline struct envelope *segment_timer_message(const struct segment *segment,
                                                     const struct segment_timer *timer)
{
    return segment_timer_place(segment, timer->class, timer->place);
}

static inline struct segment_undo *segment_undo(const struct segment *segment, uint32_t id)
{
    return (struct segment_undo *)(segment->base + segment->header->undos_offset +
                                   id * segment->header->undo_stride);
}

/* A worker's valid record; its own thread's, or recovery's. */
static inline struct segment_commit *segment_commit_valid(struct segment_worker *worker)
{
    struct segment_commit *a = &worker->slot[0], *b = &worker->slot[1];
    uint64_t low_a = atomic_load_explicit(&a->what, memory_order_relaxed) & COMMIT_LOW_MASK;
    uint64_t low_b = atomic_load_explicit(&b->what, memory_order_relaxed) & COMMIT_LOW_MASK;
    return low_b != 0 &&
                   (low_a == 0 || atomic_load_explicit(&b->high, memory_order_relaxed) + low_b >
                                      atomic_load_explicit(&a->high, memory_order_relaxed) + low_a)
               ? b
               : a;
}

/* The count that a record stands for, 0: it is being filled. It is read again if it has been
 * changed meanwhile. */
static inline uint64_t segment_commit_count(const struct segment_commit *slot)
{
    /* behind it, what the flip committed */
    uint64_t what, high, again = atomic_load_explicit(&slot->what, memory_order_acquire);
    do {
        what = again;
        high = atomic_load_explicit(&slot->high, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        again = atomic_load_explicit(&slot->what, memory_order_acquire);
        /* it only grows, unless the record is being filled */
    } while ((again & COMMIT_LOW_MASK) < (what & COMMIT_LOW_MASK));
    uint64_t low = what & COMMIT_LOW_MASK;
    return low ? high + low : 0;
}

/* The count, for other threads: at least what it was when the call began, whatever the worker does
 * meanwhile. Two looks are not enough: the first record may be that of two flips ago, and the
 * second one be filled by the time it is looked at. Three are. If the second record was valid when
 * the call began, it is found so, or it is being filled, and the first one has been flipped to; if
 * the first one was, it is found so, or the same holds the other way round. When both have been met
 * while they were filled, the call begins again. */
static inline uint64_t segment_count(const struct segment_worker *worker)
{
    uint64_t first, second, again;
    do {
        first = segment_commit_count(&worker->slot[0]);
        second = segment_commit_count(&worker->slot[1]);
        again = segment_commit_count(&worker->slot[0]);
    } while (second == 0 && again == 0);
    uint64_t count = second > again ? second : again;
    return count > first ? count : first;
}

/* The range of a mailbox; *ret_index: of its worker (ordinary, pinned, aside), else within its
 * range. */
static inline enum queue_range segment_queue_range(const struct segment *segment, uint32_t queue,
                                                   uint32_t *ret_index)
{
    if (queue < segment->pinned_first) {
        *ret_index = queue / segment->queues_per_worker;
        return QUEUE_ORDINARY;
    }
    if (queue < segment->follow_first) {
        *ret_index = queue - segment->pinned_first;
        return QUEUE_PINNED;
    }
    if (queue < segment->aside_first) {
        *ret_index = queue - segment->follow_first;
        return QUEUE_FOLLOW;
    }
    if (queue < segment->detached_first) {
        *ret_index = queue - segment->aside_first;
        return QUEUE_ASIDE;
    }
    *ret_index = queue - segment->detached_first;
    return QUEUE_DETACHED;
}

/* What stands in an actor's key is its type, or, where it has become another phase of it, that
 * phase behind all types. */
static inline uint32_t segment_type_of_key(const struct segment *segment, uint32_t key_type)
{
    return key_type < ODEON_ACTOR_TYPES_MAX
               ? key_type
               : segment->phases[key_type - ODEON_ACTOR_TYPES_MAX].type;
}

/* The mailbox of a message queue of either lane. */
static inline uint32_t segment_mailbox(const struct segment *segment, uint32_t queue)
{
    return queue < segment->n_mailboxes ? queue : queue - segment->n_mailboxes;
}
static inline uint32_t segment_urgent_queue(const struct segment *segment, uint32_t mailbox)
{
    return segment->n_mailboxes + mailbox;
}
static inline uint32_t segment_port_destination(const struct segment *segment, uint32_t port)
{
    return segment->n_queues + port;
}
static inline uint32_t segment_port_source(const struct segment *segment, uint32_t port)
{
    return segment->dead_letters + 1 + port;
}
