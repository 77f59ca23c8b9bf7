/* SPDX-License-Identifier: Apache-2.0 */
/* The short way of a send: a record for an actor that is there, behind the batch that runs or into
 * an outbox that has room. Whatever is not as simple as that takes the general form (compose.h),
 * which refuses, drops and counts. Inline, for those whom behaviours call: a function for each
 * kind of send keeps in registers what it needs.
 *
 * Threads: a worker's own, from within a turn. Where a record goes is place.h's (place.U3).
 */
#pragma once

#include <string.h>

#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/core/core.h"

static inline struct envelope *short_way_begin(struct envelope *at, actor_ref to, actor_ref from,
                                               uint64_t meta)
{
    uint64_t *words = envelope_words(at);
    words[0] = to;
    words[1] = from;
    words[2] = meta; /* by one store: who reads it soon reads it as one */
    return at;
}

/* False also for a type without a number: a record of it would be none to recovery. */
static inline bool short_way_is_known(const struct worker *w, actor_ref to, uint32_t type,
                                      uint32_t *ret_destination)
{
    uint32_t slot = actor_ref_slot(to);
    if (unlikely(slot >= w->turn.actors_max || (uint16_t)type == MESSAGE_TYPE_NONE))
        return false;
    *ret_destination = actor_key_destination(load_relaxed(&w->turn.actors[slot].key));
    return true;
}

/* The shortest way: behind the batch that runs. */
static inline bool short_way_behind(struct worker *w, uint32_t destination, uint64_t size,
                                    struct envelope **ret_at)
{
    uint64_t tail = w->batch.tail + size;
    if (unlikely(destination != w->batch.queue || tail > w->batch.tail_limit))
        return false;
    *ret_at = (struct envelope *)(w->batch.base + w->batch.tail);
    w->batch.tail = tail;
    w->place.n_tail_appends += ODEON_STATISTICS;
    return true;
}

/* Where a record goes that does not go behind the batch: into the outbox, which has room for a
 * small one and for `more` bytes. False: it is not as simple as that. */
static inline bool short_way_log(struct worker *w, uint32_t destination, uint64_t size,
                                 uint64_t more, struct envelope **ret_at)
{
    if (unlikely(w->outbox.length + more >= w->outbox.room)) /* closed, then 0 (set_aside.A3) */
        return false;
    if (destination != w->outbox.run_destination) {
        if (unlikely(destination == NO_DESTINATION ||
                     (destination == w->batch.queue && w->batch.ring != 0) ||
                     !outbox_look_for_room(w, destination)))
            return false; /* ... or the tail is not closed yet, or the queue is full */
        outbox_run_begin(w, destination);
    }
    *ret_at = (struct envelope *)(w->outbox.log + w->outbox.length);
    w->outbox.length += size;
    w->outbox.n_logged++;
    return true;
}

/* A record with any length, its header written: `meta` is all of its third word. NULL: it is not as
 * simple as that. */
static inline struct envelope *short_way_place(struct worker *w, actor_ref to, actor_ref from,
                                               uint64_t meta)
{
    uint64_t length = (uint16_t)(meta >> 16), bytes = envelope_size(length);
    uint32_t destination;
    struct envelope *at;
    if (unlikely(!short_way_is_known(w, to, (uint32_t)meta, &destination)))
        return NULL;
    if (!short_way_behind(w, destination, bytes, &at) &&
        unlikely(!short_way_log(w, destination, bytes, bytes, &at)))
        return NULL;
    if (length) /* padding carries nothing of what lay here before */
        ((uint64_t *)(at + 1))[(length - 1) / 8] = 0;
    return short_way_begin(at, to, from, meta);
}

/* Of 0, 8, 16, 24 bytes. */
static inline void short_way_copy_words(uint64_t *payload, const void *data, size_t size)
{
    if (size == 0)
        return;
    memcpy(payload, data, 8);
    if (size == 8)
        return;
    memcpy(payload + 1, (const uint8_t *)data + 8, 8);
    if (size == 24)
        memcpy(payload + 2, (const uint8_t *)data + 16, 8);
}
