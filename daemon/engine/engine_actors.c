/* SPDX-License-Identifier: Apache-2.0 */
/* Actors as the control thread sees them: spawn, send, look up, list. */
#include "daemon/engine/actors/actor_names.h"
#include "daemon/engine/engine.h"

#include <errno.h>
#include <string.h>

#include "daemon/common/name.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/live.h"
#include "daemon/engine/actors/phases.h"
#include "daemon/engine/actors/placement.h"
#include "daemon/engine/actors/spawn.h"
#include "daemon/engine/base/ticks.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/durable.h"
#include "daemon/engine/core/budget.h"
#include "daemon/engine/engine_context.h"
#include "daemon/engine/observe/marks.h"
#include "daemon/engine/segment/queue.h"
#include "daemon/engine/segment/slot.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/send/place.h"

/* The control thread is attached to nothing: its commit is its sends. */
static void engine_actors_control_commit(struct engine *e)
{
    struct worker *w = e->control;
    if (w->place.newborn)
        place_newborn_settle(w);
    commit_flip(w, 0, 0, 0, w->outbox.length, 0, 0);
    flush_control(w);
}

int engine_run(struct engine *e, engine_run_fn run)
{
    struct engine_context *ctx = &e->control->ctx;
    ctx->self = ctx->sender = 0;
    ctx->meta = ctx->correlation = 0;
    int r = run(ctx);
    engine_actors_control_commit(e);
    return r;
}

int engine_actor_spawn(struct engine *e, uint32_t type, const char *name, const void *args,
                       size_t args_size, actor_ref *ret_ref)
{
    struct engine_spawn spawn = { .name = name, .args = args, .args_size = args_size };
    return engine_actor_spawn_placed(e, type, &spawn, ret_ref);
}

int engine_actor_spawn_placed(struct engine *e, uint32_t type, const struct engine_spawn *spawn,
                              actor_ref *ret_ref)
{
    struct engine_spawn named = *spawn;
    if (named.name && !*named.name)
        named.name = NULL;
    int r = spawn_actor(e->control, type, 0, &named, ret_ref);
    if (r == 0)
        engine_actors_control_commit(e);
    return r == -ESRCH ? -ENOENT : r;
}

int engine_actor_send(struct engine *e, actor_ref to, uint16_t type, const void *payload,
                      size_t size)
{
    uint32_t slot = actor_ref_slot(to);
    if (slot >= e->config.actors_max || to == 0)
        return -ESRCH;
    uint64_t key = load_relaxed(&e->actors.table[slot].key);
    if (actor_key_generation(key) != actor_ref_generation(to) || !actor_key_lives(key))
        return -ESRCH;
    e->control->ctx.self = 0;
    int r = engine_ctx_send(&e->control->ctx, to, type, BEHAVIOUR_NONE, payload, size);
    if (r == 0)
        engine_actors_control_commit(e);
    return r;
}

/* As of a record that comes from a port (port_route()); nobody is turned away by a guess, which
 * here does not wait either: bytes bound it until the behaviour has been timed. */
static bool engine_actors_may_wait(const struct engine *e, uint32_t account, actor_ref to,
                                   uint16_t type, size_t size, struct budget_time *ret_time)
{
    *ret_time = (struct budget_time){ 0 };
    if (envelope_size(size) > budget_left(e, account))
        return false;
    if (account == 0 || load_relaxed(&e->budget.quota_ns) == 0 ||
        actor_ref_slot(to) >= e->config.actors_max)
        return true;
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(to)].key);
    uint32_t destination = actor_key_destination(key);
    if (destination >= e->segment.n_mailboxes)
        return true;
    *ret_time = budget_time_of(e, key, type);
    return ret_time->ns == 0 || ret_time->is_guessed ||
           !budget_is_slow(e, account, destination, 0, ret_time->ns);
}

int engine_actor_send_for(struct engine *e, uint32_t user, actor_ref to, uint16_t type,
                          const void *payload, size_t size)
{
    struct worker *w = e->control;
    struct budget_time time;
    uint32_t account = budget_account_get(e, user);
    int r = -EDQUOT;
    if (engine_actors_may_wait(e, account, to, type, size, &time)) {
        w->flush.account = budget_is_accounted(e) ? account : 0;
        w->flush.timed = time.ns ? account : 0;
        w->flush.pending_ns = time.ns;
        r = engine_actor_send(e, to, type, payload, size);
        w->flush.account = w->flush.timed = 0;
        w->flush.pending_ns = 0;
    }
    budget_account_put(e, account); /* what waits keeps it (budget.B6) */
    return r;
}

int engine_actor_lookup(struct engine *e, const char *name, actor_ref *ret_ref)
{
    return actor_names_lookup(e->control, name, ret_ref);
}

int engine_port_register(struct engine *e, actor_ref port, const char *name, uint32_t account)
{
    uint32_t slot = actor_ref_slot(port);
    if (!name_is_good_for_actor(name))
        return -EINVAL;
    if (slot >= ODEON_PORTS_MAX || !engine_actor_lives(e, port))
        return -ESRCH;
    const char *had = actor_names_of(e, port);
    if (*had)
        return strcmp(had, name) == 0 ? 1 : -EALREADY;
    pthread_mutex_lock(&e->actors.names_mutex);
    /* counted, should it be, before it can be found */
    e->segment.actors[slot].account = account;
    int r = actor_names_take(e, name, port);
    pthread_mutex_unlock(&e->actors.names_mutex);
    return r;
}

static bool actor_view(struct engine *e, uint32_t slot, struct engine_actor_view *ret)
{
    uint64_t key = load_acquire(&e->actors.table[slot].key);
    enum actor_kind kind = actor_key_kind(key);
    if (kind == ACTOR_FREE)
        return false;
    const struct segment_actor *durable = &e->segment.actors[slot];
    uint32_t queue = actor_key_destination(key), source = engine_source_of_destination(e, queue);
    bool is_new =
        kind == ACTOR_NEW || (kind == ACTOR_ASIDE && !actors_has_state(e, slot)) ||
        (kind == ACTOR_KEPT && !durable_is_initialised(e, slot, actor_key_generation(key)));
    *ret = (struct engine_actor_view){
        .ref = actor_ref_make(slot, actor_key_generation(key)),
        .spawned_by = durable->spawned_by,
        .type = kind == ACTOR_PORT ? 0 : slot_word_type(load_relaxed(&durable->word)),
        .queue = queue,
        .worker = own_worker(load_relaxed(e->sources[source].own)),
        .name = actor_names_of(e, actor_ref_make(slot, actor_key_generation(key))),
        .state = kind == ACTOR_PORT ? "port"
                 : is_new           ? "new"
                                    : "live",
        .phase = kind == ACTOR_PORT ? "" : phases_name(e, key),
        .queue_bytes = queue_backlog_bytes(&e->segment.queues[queue]),
        .account = durable->account,
    };
    return true;
}

bool engine_actor_lives(const struct engine *e, actor_ref ref)
{
    uint32_t slot = actor_ref_slot(ref);
    if (slot >= e->config.actors_max)
        return false;
    uint64_t key = load_relaxed(&e->actors.table[slot].key);
    return actor_key_generation(key) == actor_ref_generation(ref) &&
           actor_key_kind(key) != ACTOR_FREE;
}

bool engine_actor_at(struct engine *e, uint32_t slot, struct engine_actor_view *ret)
{
    return slot < e->config.actors_max && actor_view(e, slot, ret);
}

uint32_t engine_actor_slots(const struct engine *e)
{
    return load_relaxed(&e->segment.header->slots_high);
}

int engine_actor_next(struct engine *e, uint32_t slot, struct engine_actor_view *ret)
{
    for (; slot < load_relaxed(&e->segment.header->slots_high); slot++)
        if (actor_view(e, slot, ret))
            return 0;
    return -ENOENT;
}

int engine_actor_get(struct engine *e, actor_ref ref, struct engine_actor_view *ret)
{
    uint32_t slot = actor_ref_slot(ref);
    if (slot >= e->config.actors_max || !actor_view(e, slot, ret) || ret->ref != ref)
        return -ESRCH;
    return 0;
}

uint64_t engine_states_bytes(struct engine *e)
{
    uint64_t bytes = 0;
    for (uint32_t id = 1; id < ODEON_ACTOR_TYPES_MAX; id++) {
        const struct actor_type *type = load_relaxed(&e->types.known[id]);
        if (type && type->restart != RESTART_KEEP)
            bytes += live_of_type(e, id) * type->state_size;
    }
    return bytes;
}

int engine_queue_get(struct engine *e, uint32_t queue, struct engine_queue_view *ret)
{
    static const char *const kinds[] = { [QUEUE_ORDINARY] = "ordinary",
                                         [QUEUE_PINNED] = "pinned",
                                         [QUEUE_FOLLOW] = "follow",
                                         [QUEUE_ASIDE] = "aside",
                                         [QUEUE_DETACHED] = "detached" };
    if (queue >= e->segment.n_mailboxes)
        return -ENOENT;
    uint32_t place;
    enum queue_range range = segment_queue_range(&e->segment, queue, &place);
    struct source *source = &e->sources[queue];
    *ret = (struct engine_queue_view){
        .kind = kinds[range],
        .queue = queue,
        .place = place,
        .worker = own_worker(load_relaxed(source->own)),
        .home = load_relaxed(&source->home),
        .actors = placement_live(e, queue),
        .retired = (range == QUEUE_ORDINARY || range == QUEUE_PINNED) && place >= engine_workers(e),
        .bytes = queue_backlog_bytes(&e->segment.queues[queue]),
        .urgent_bytes =
            queue_backlog_bytes(&e->segment.queues[segment_urgent_queue(&e->segment, queue)]),
    };
    return 0;
}

enum { QUEUE_TRIES = 64 }; /* at a lock that is held for as long as some records are copied */

/* Under its lock: the first record of what waits in it, which is the oldest. When that was appended
 * is told by the first one that was marked, which is no older. */
static void engine_actors_read_oldest(struct engine *e, uint32_t lane, struct engine_oldest *oldest)
{
    unsigned active = queue_active(load_relaxed(&e->segment.queues[lane].sel));
    uint64_t length = load_relaxed(&e->segment.queues[lane].len[active]), ns = 0;
    if (length == 0)
        return;
    if (e->observation.marks) {
        const struct marks *marks = marks_of(e, lane, active);
        uint64_t now = ticks_now();
        if (marks_next(marks) < length && marks->mark[marks->next].ticks < now)
            ns = ticks_to_ns(now - marks->mark[marks->next].ticks);
    }
    if (oldest->to == 0 || ns > oldest->ns)
        *oldest = (struct engine_oldest){
            .to = ((const struct envelope *)segment_window(&e->segment, lane, active))->to,
            .ns = ns,
        };
}

/* The control thread waits for nobody here. Its journal is armed within flush_control() alone, so
 * that recovery, which finds a lock of its held here, publishes nothing for it. */
static void engine_actors_find_oldest(struct engine *e, uint32_t lane, struct engine_oldest *oldest)
{
    struct segment_queue *queue = &e->segment.queues[lane];
    for (unsigned i = 0; i < QUEUE_TRIES && queue_backlog_bytes(queue) > 0; i++) {
        if (queue_try_lock(queue, e->control->id)) {
            engine_actors_read_oldest(e, lane, oldest);
            queue_unlock(queue);
            return;
        }
        cpu_relax();
    }
}

struct engine_oldest engine_queue_oldest(struct engine *e, uint32_t queue)
{
    struct engine_oldest oldest = { 0 };
    if (queue >= e->segment.n_mailboxes)
        return oldest;
    engine_actors_find_oldest(e, queue, &oldest);
    engine_actors_find_oldest(e, segment_urgent_queue(&e->segment, queue), &oldest);
    return oldest;
}
