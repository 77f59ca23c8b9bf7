/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker is running, for people (the control thread): from its commit record, as recovery
 * would find it after a kill.
 *
 * The worker may go on meanwhile, so this is a hint: the record is read between two looks at the
 * commit count, what it says is held against the window's size and the actor's generation, and what
 * does not fit is not shown.
 */
#include <errno.h>

#include "daemon/engine/core/core.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/stuck/set_aside.h"

/* The receiver of the record at the committed cursor; 0: the worker is in no batch of a message
 * queue. */
__attribute__((no_sanitize("thread"))) /* the worker's plain stores: see above */
static actor_ref
engine_workers_running_actor(struct engine *e, struct segment_worker *durable,
                             uint32_t *ret_message_type)
{
    uint64_t count = segment_count(durable);
    const struct segment_commit *slot = segment_commit_valid(durable);
    uint32_t source = slot->source;
    /* not commit_cursor(), which is sanitized; base is 0 */
    uint64_t cursor = (load_relaxed(&slot->where) & UINT32_MAX) << 3;
    uint64_t wrap = slot->wrap;
    bool second = wrap == 0 || cursor == wrap; /* as in recovery's blame() */
    if (wrap && second)
        cursor = 0;
    if (!load_relaxed(&durable->turn) || source == 0 || source > e->segment.n_queues ||
        (second && cursor == commit_tail(slot)))
        return 0;
    uint32_t queue = source - 1;
    unsigned inactive = queue_active(load_relaxed(&e->segment.queues[queue].sel)) ^ 1;
    if (cursor > segment_window_bytes(&e->segment, queue) - sizeof(struct envelope))
        return 0;
    const struct envelope *envelope =
        (const struct envelope *)(segment_window(&e->segment, queue, inactive) + cursor);
    actor_ref to = envelope->to;
    *ret_message_type = envelope->type;
    /* the reads above are done before the count is looked at again */
    atomic_thread_fence(memory_order_acquire);
    return segment_count(durable) == count ? to : 0;
}

int engine_worker_set_aside(struct engine *e, uint32_t worker, actor_ref actor, uint64_t timeout_ns,
                            const char **reterr_text)
{
    *reterr_text = "no such worker runs";
    if (!e->started || worker >= engine_workers(e) || actor_ref_slot(actor) >= e->config.actors_max)
        return -ENOENT;
    return set_aside_actor(e, worker, actor, timeout_ns, reterr_text);
}

int engine_worker_get(struct engine *e, uint32_t worker, struct engine_worker_view *ret)
{
    struct engine_actor_view actor;
    if (worker >= load_relaxed(&e->stats->n_workers))
        return -ENOENT;
    *ret = (struct engine_worker_view){ 0 };
    ret->actor = engine_workers_running_actor(e, &e->segment.workers[worker], &ret->message_type);
    if (ret->actor == 0 || engine_actor_get(e, ret->actor, &actor) < 0)
        ret->actor = 0;
    else
        ret->type = actor.type;
    return 0;
}

int engine_worker_get_progress(struct engine *e, uint32_t worker,
                               struct engine_worker_progress *ret)
{
    if (worker >= load_relaxed(&e->stats->n_workers))
        return -ENOENT;
    const struct worker *w = e->workers[worker];
    uint64_t state = load_relaxed(&w->stats->value[STAT_state]);
    *ret = (struct engine_worker_progress){
        /* both only grow; each is the worker's */
        .moves = segment_count(w->durable) + load_relaxed(&w->shown.passes),
        .rests = state == WORKER_PARKED || state == WORKER_STOPPED,
        .in_handler = load_relaxed(&w->durable->turn) != 0,
    };
    return 0;
}
