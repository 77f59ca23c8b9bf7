/* SPDX-License-Identifier: Apache-2.0 */
/* A segment as a killed executor may have left it, laid out by hand: one of everything that
 * recovery looks at.
 *
 * Queue 0 has three messages, and a batch of two that worker 0 has in hand; queue 1 a batch in two
 * pieces, put aside; the worker's outbox has four messages for the two queues, of which the first
 * step is armed, copied and locked; a kept state is to be undone; the control thread has half taken
 * a port's records; that port's backlog holds one, the dead letters another. */
#pragma once

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/segment/queue.h"

enum {
    STATE_PORT = 3,
    STATE_KEPT_BYTES = 64,
    STATE_QUEUES = 2,
    STATE_MESSAGES = 3 + 2 + 2 + 4,
    STATE_PORT_CURSOR = 96,
    STATE_PORT_TAIL = 128
};

/* A record of 32 bytes; where the next one goes. */
static inline uint64_t state_put(uint8_t *base, uint64_t at, actor_ref to, uint16_t type)
{
    *(struct envelope *)(base + at) = (struct envelope){ .to = to, .type = type, .length = 8 };
    return at + 32;
}

static inline void state_make_queues(struct segment *s, const actor_ref *actors, uint16_t type)
{
    for (uint32_t q = 0; q < STATE_QUEUES; q++) {
        uint64_t end = 0;
        for (unsigned i = 0; i < (q == 0 ? 3 : 0); i++)
            end = state_put(segment_window(s, q, 0), end, actors[q], type);
        store_relaxed(&s->queues[q].len[0], end);
        for (end = 0; end < 128;)
            end = state_put(segment_window(s, q, 1), end, actors[q], type);
    }
    store_relaxed(&s->queues[0].sel, SEL_BATCH);
    store_relaxed(&s->queues[0].len[1], 64);
    store_relaxed(&s->queues[1].sel, SEL_BATCH);
    queue_park_batch(&s->queues[1], 96, 32, 128);
    struct segment_dead_letter *letter =
        (struct segment_dead_letter *)segment_window(s, s->dead_letters, 0);
    *letter = (struct segment_dead_letter){ .id = 1, .time_ns = 1 };
    store_relaxed(&s->queues[s->dead_letters].cursor, 1);
    store_relaxed(&s->queues[s->dead_letters].len[0],
                  state_put((uint8_t *)letter, sizeof(*letter), actors[0], type));
}

static inline void state_make_port(struct engine *e, uint16_t type)
{
    struct segment *s = &e->segment;
    struct segment_port *port = &s->ports[STATE_PORT];
    uint32_t backlog = segment_port_destination(s, STATE_PORT);
    *port = (struct segment_port){ .generation = 1,
                                   .client = 1,
                                   .ref = actor_ref_make(STATE_PORT, 1),
                                   .pcur = 64,
                                   .submission_bytes = ODEON_RING_MIN,
                                   .delivery_bytes = ODEON_RING_MIN };
    actors_make_port(e, STATE_PORT, port->ref);
    store_relaxed(&s->queues[backlog].len[0],
                  state_put(segment_window(s, backlog, 0), 0, port->ref, type));
    e->control->batch.source = segment_port_source(s, STATE_PORT) + 1;
    commit_flip(e->control, e->control->batch.source, STATE_PORT_CURSOR, STATE_PORT_TAIL, 0, 0, 0);
}

/* `actors[q]` lives in queue q; actors[0] has state to be kept in its slot, if its type says so.
 * Queues are empty. */
static inline void state_make(struct engine *e, const actor_ref *actors, uint16_t type)
{
    struct segment *s = &e->segment;
    struct worker *w = e->workers[0];
    state_make_queues(s, actors, type);
    state_make_port(e, type);
    for (unsigned i = 0; i < 4; i++)
        (void)state_put((uint8_t *)outbox_append(w, i % STATE_QUEUES, 32), 0,
                        actors[i % STATE_QUEUES], type);
    w->batch.source = 1;
    w->batch.cursor = 0;
    w->batch.tail = 64;
    commit_flip(w, 1, 0, 64, w->outbox.length, 0, 0);
    struct segment_undo *undo = segment_undo(s, 0);
    undo->slot = actor_ref_slot(actors[0]);
    undo->size = STATE_KEPT_BYTES;
    undo->generation = actor_ref_generation(actors[0]);
    undo->tag = commit_count(w);
    journal_arm(w, 1, 0, 96 + 64);
    (void)state_put(segment_window(s, 0, 0),
                    state_put(segment_window(s, 0, 0), 96, actors[0], type), actors[0], type);
    store_relaxed(&s->queues[0].lock, 1);
    store_relaxed(&w->durable->turn, 1);
}
