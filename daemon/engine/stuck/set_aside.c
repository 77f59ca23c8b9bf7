/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/stuck/set_aside.h"
#include "daemon/engine/observe/observe.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/base/points.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/core/reclaim.h"
#include "daemon/engine/run/sources.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/send/detour.h"
#include "daemon/engine/signal/wake.h"
#include "daemon/engine/stuck/hold.h"
#include "daemon/engine/stuck/relieve.h"

/* set_aside.A2.  The words that two queues have behind the exchange; who runs them is one and the
 * same. */
void set_aside_redo(struct engine *e, const struct segment_commit *slot)
{
    struct segment_queue *queue = &e->segment.queues[slot->redo],
                         *aside = &e->segment.queues[slot->source - 1];
    unsigned in_queue = queue_active(load_relaxed(&queue->sel)) ^ 1,
             in_aside = queue_active(load_relaxed(&aside->sel)) ^ 1;
    store_relaxed(&queue->window[in_queue], slot->port_generation >> 16);
    store_relaxed(&queue->len[in_queue], (uint64_t)slot->port << 3);
    store_relaxed(&queue->cursor, 0);
    store_relaxed(&queue->wrap, 0);
    store_relaxed(&queue->ring, 0);
    crash_order();
    POINT(aside);
    store_relaxed(&aside->window[in_aside], slot->port_generation & 0xffff);
    queue_park_batch(aside, commit_cursor(slot), commit_tail(slot), 0);
    store_relaxed(&aside->ring, 0);
    POINT(aside);
    store_release(&aside->sel, load_relaxed(&aside->sel) | SEL_BATCH);
    crash_order();
}

/* What the held worker has in hand, if it can be set aside (set_aside.A1). */
struct stuck {
    struct segment_queue *queue, *aside;
    uint32_t queue_id, aside_id;
    uint64_t cursor, behind, tail;
    struct actor *actor;
};

static const char *set_aside_stuck_find(struct engine *e, struct worker *w, actor_ref ref,
                                        struct stuck *ret)
{
    const struct segment *s = &e->segment;
    const struct segment_commit *slot = w->slot;
    uint32_t index;
    if (w->batch.queue != NO_QUEUE && slot->source == segment_urgent_queue(s, w->batch.queue) + 1)
        return "it runs an urgent message";
    if (w->batch.queue == NO_QUEUE || slot->source != w->batch.queue + 1 ||
        !load_relaxed(&w->durable->turn))
        return "it runs no batch";
    enum queue_range range = segment_queue_range(s, w->batch.queue, &index);
    if (range != QUEUE_ORDINARY && range != QUEUE_FOLLOW)
        return "nobody else may run this queue";
    if (slot->wrap || w->batch.wrap)
        return "its batch is in two pieces";
    ret->queue_id = w->batch.queue;
    ret->aside_id = s->aside_first + w->id;
    ret->queue = &s->queues[ret->queue_id];
    ret->aside = &s->queues[ret->aside_id];
    ret->cursor = commit_cursor(slot);
    ret->tail = commit_tail(slot);
    if (ret->cursor >= ret->tail)
        return "it runs no message";
    const struct envelope *envelope = (const struct envelope *)(w->batch.base + ret->cursor);
    ret->behind = ret->cursor + envelope_record_size(envelope);
    ret->actor = &e->actors.table[actor_ref_slot(ref)];
    uint64_t key = load_relaxed(&ret->actor->key);
    if (envelope->to != ref || actor_key_generation(key) != actor_ref_generation(ref) ||
        actor_key_destination(key) != w->batch.queue)
        return "it runs another actor by now";
    if (actor_key_kind(key) != ACTOR_LIVE && actor_key_kind(key) != ACTOR_NEW)
        return "the actor's state is kept in the segment";
    if (w->batch.tail != ret->tail || w->place.newborn ||
        w->actors.spawned_count == commit_count(w))
        return "it has sent to its own queue, or spawned";
    return NULL;
}

/* set_aside.A6.  True: whoever this aside queue was for is not set aside any more. */
static bool set_aside_last_one_back(struct engine *e, struct worker *w, uint32_t queue_id)
{
    actor_ref ref = load_relaxed(&e->aside[w->id]);
    if (ref == 0)
        return true;
    struct actor *actor = &e->actors.table[actor_ref_slot(ref)];
    uint64_t key = load_relaxed(&actor->key);
    if (actor_key_generation(key) != actor_ref_generation(ref) ||
        actor_key_kind(key) != ACTOR_ASIDE)
        return true;
    uint32_t its = actor_key_destination(key);
    uint64_t own = load_acquire(e->sources[its].own);
    bool held = its == queue_id;
    if (held ? w->outbox.sent_aside
             : own_is_running(own) || !owner_take(&e->sources[its], own_worker(own), w->id))
        return false;
    detour_kind_set(actor, w->turn.states[actor - w->turn.actors] ? ACTOR_LIVE : ACTOR_NEW);
    e->sources[its].tail_free = false; /* what it has sent from there (place.U3) */
    if (!held) {
        owner_release(&e->sources[its], own_worker(own));
        full_barrier();
        source_signal(e, e->control, its); /* its bit may have been taken in vain meanwhile */
    }
    return true;
}

/* Both queues are ours: the held worker's own word says so of the first. */
static void set_aside_exchange(struct engine *e, struct worker *w, const struct stuck *stuck)
{
    unsigned in_queue = queue_active(load_relaxed(&stuck->queue->sel)) ^ 1,
             in_aside = queue_active(load_relaxed(&stuck->aside->sel)) ^ 1;
    uint32_t with_record = load_relaxed(&stuck->queue->window[in_queue]),
             empty = load_relaxed(&stuck->aside->window[in_aside]);
    uint64_t rest = stuck->tail - stuck->behind, out = commit_out(w->slot);
    memcpy(segment_window(&e->segment, stuck->aside_id, in_aside), w->batch.base + stuck->behind,
           rest);
    crash_order();
    commit_aside(w, stuck->aside_id + 1, stuck->cursor, stuck->behind, out, stuck->queue_id, rest,
                 with_record, empty);
    POINT(aside);
    set_aside_redo(e, w->slot);
    w->batch.wrap = 0;
    commit_flip(w, stuck->aside_id + 1, stuck->cursor, stuck->behind, out, 0, 0);
    POINT(aside);
    observe_detach(w, false);
    observe_forget(e, stuck->queue_id, in_queue);
    reclaim_exchange(&e->windows[2 * stuck->queue_id + in_queue],
                     &e->windows[2 * stuck->aside_id + in_aside]);
}

/* The next worker behind `last` who is there; `id` itself: nobody is. */
static uint32_t set_aside_next_present(const struct engine *e, uint32_t last, uint32_t id)
{
    uint32_t n_workers = engine_workers(e);
    for (uint32_t i = 1; i <= n_workers; i++) {
        uint32_t to = (last + i) % n_workers;
        if (to != id && !worker_is_away(e, to))
            return to;
    }
    return id;
}

/* set_aside.A8.  As a thief moves sources that it does not run at once; the bit is behind the
 * move. */
static void set_aside_give_away(struct engine *e, uint32_t id)
{
    uint32_t to = id;
    for (uint32_t source = 0; source < e->n_sources; source++) {
        struct source *s = &e->sources[source];
        if (load_relaxed(s->own) != own_idle(id) || load_relaxed(&s->flags) & SOURCE_FIXED)
            continue;
        to = set_aside_next_present(e, to, id);
        if (to == id) {
            sources_make_cold(e, source); /* set_aside.A9 */
        } else if (owner_move(s, id, to)) {
            full_barrier_after_exchange(); /* [GIVE_FENCE] */
            source_signal(e, e->control, source);
        }
    }
}

int set_aside_held(struct engine *e, uint32_t id, actor_ref ref, const char **reterr_text)
{
    struct worker *w = e->workers[id];
    struct stuck stuck;
    uint32_t aside = e->segment.aside_first + id;
    uint64_t own = load_acquire(e->sources[aside].own);
    *reterr_text = set_aside_stuck_find(e, w, ref, &stuck);
    int r = *reterr_text ? -EAGAIN : 0;
    if (r == 0 && (own_is_running(own) || !owner_take(&e->sources[aside], own_worker(own), id)))
        r = -EBUSY;
    if (r == 0 && queue_has_work(stuck.aside)) {
        owner_release(&e->sources[aside], own_worker(own));
        full_barrier();
        source_signal(e, e->control, aside);
        r = -EBUSY;
    }
    if (r == -EBUSY)
        *reterr_text = "another actor of this worker is set aside";
    if (r == 0 && !set_aside_last_one_back(e, w, stuck.queue_id)) {
        owner_release(&e->sources[aside], own_worker(own));
        full_barrier();
        source_signal(e, e->control, aside);
        *reterr_text = "messages for the last one may be on their way";
        r = -EAGAIN;
    }
    if (r < 0)
        return r;
    relieve_held(e, w); /* set_aside.A7 */
    set_aside_exchange(e, w, &stuck);
    store_relaxed(&e->aside[id], ref);
    detour_kind_set(stuck.actor, ACTOR_ASIDE); /* release: before anybody can run the queue */
    w->batch.source = aside + 1;
    w->batch.queue = aside;
    w->turn.key_live = actor_key(0, aside, 0, ACTOR_LIVE);
    w->batch.tail = stuck.behind;
    w->batch.tail_limit = w->batch.ring = 0;
    w->turn.gives_way = w->turn.gives_way_to = &e->urgent[aside];
    store_relaxed(&w->outbox.wanted, 0); /* set_aside.A3 */
    w->outbox.room = 0;
    e->sources[stuck.queue_id].tail_free = false; /* place.U3 */
    owner_release(&e->sources[stuck.queue_id], id);
    full_barrier(); /* as behind any publish */
    source_signal(e, e->control, stuck.queue_id);
    hold_end(w);
    stat_add(e->control, STAT_set_aside, 1);
    if (load_relaxed(&e->steal.policy) != STEAL_NONE)
        set_aside_give_away(e, id);
    return 0;
}

int set_aside_actor(struct engine *e, uint32_t id, actor_ref ref, uint64_t timeout_ns,
                    const char **reterr_text)
{
    *reterr_text = SET_ASIDE_NOT_HELD;
    int r = hold_begin(e, e->workers[id], timeout_ns);
    if (r < 0)
        return r;
    r = set_aside_held(e, id, ref, reterr_text);
    if (r < 0)
        hold_end(e->workers[id]);
    return r;
}

/* set_aside.A5 */
void set_aside_rebuild(struct engine *e)
{
    const struct segment *s = &e->segment;
    for (uint32_t i = 0; i < s->workers_max; i++) {
        struct segment_queue *queue = &s->queues[s->aside_first + i];
        uint32_t sel = load_relaxed(&queue->sel);
        unsigned active = queue_active(sel), buffer = active;
        uint64_t at = 0;
        if (queue_has_batch(sel) &&
            load_relaxed(&queue->cursor) < load_relaxed(&queue->len[active ^ 1])) {
            buffer = active ^ 1;
            at = load_relaxed(&queue->cursor);
        } else if (load_relaxed(&queue->len[active]) == 0) {
            continue;
        }
        actor_ref ref =
            ((const struct envelope *)(segment_window(s, s->aside_first + i, buffer) + at))->to;
        struct actor *actor = &e->actors.table[actor_ref_slot(ref)];
        uint64_t key = load_relaxed(&actor->key);
        if (actor_key_generation(key) != actor_ref_generation(ref) ||
            actor_key_kind(key) != ACTOR_NEW)
            continue; /* it has ended: dead letters */
        store_relaxed(&e->aside[i], ref);
        detour_kind_set(actor, ACTOR_ASIDE);
    }
}
