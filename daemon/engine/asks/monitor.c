/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/asks/monitor.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/commit/outbox.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/timers/timers.h"
#include "daemon/engine/timers/watches.h"

void monitor_down_write(struct envelope *at, actor_ref to, const struct down *down)
{
    *at = (struct envelope){
        .to = to,
        .from = down->ref,
        .type = MESSAGE_TYPE_DOWN,
        .length = (uint16_t)(envelope_prefix_bytes(PREFIX_KIND) + sizeof(*down)),
        .behaviour = BEHAVIOUR_NONE,
        .prefix = PREFIX_KIND,
    };
    envelope_word_put(at, PREFIX_KIND, (uint64_t)KIND_DOWN << 56);
    memcpy(envelope_payload(at), down, sizeof(*down));
}

static void monitor_write(struct envelope *at, const struct worker *w,
                          const struct timer_request *request, uint64_t id)
{
    (void)w;
    monitor_down_write(at, request->to, &(struct down){ .ref = request->watched, .monitor = id });
}

int monitor_open(struct worker *w, actor_ref watched, uint64_t *ret_id)
{
    const struct timer_request request = {
        .to = w->ctx.self,
        .watched = watched,
        .fill = monitor_write,
        .size = sizeof(struct down),
    };
    if (w->ctx.self == 0)
        return -EPERM;
    if (actor_ref_generation(watched) == 0) /* nobody, whom the timer's words mean otherwise */
        return -ESRCH;
    if (!actors_self_accepts(w, MESSAGE_TYPE_DOWN))
        return -EOPNOTSUPP;
    int r = timers_arm(w, &request, ret_id);
    if (r == 0)
        stat_add(w, STAT_monitors, 1);
    return r;
}

int monitor_close(struct worker *w, uint64_t id)
{
    return timers_cancel(w, id, true);
}

/* Where it is told; false: it has ended, is no actor, or has no behaviour for it. */
static bool monitor_spawner_find(const struct worker *w, actor_ref by, uint32_t *ret_destination)
{
    const struct engine *e = w->engine;
    uint32_t slot = actor_ref_slot(by);
    if (by == 0 || slot < ODEON_PORTS_MAX || slot >= e->config.actors_max)
        return false;
    uint64_t key = load_acquire(&w->turn.actors[slot].key);
    const struct actor_type *type = load_acquire(&w->turn.types[actor_key_type(key)]);
    *ret_destination = actor_key_destination(key);
    return actor_key_lives(key) && actor_key_generation(key) == actor_ref_generation(by) && type &&
           type->index_of[MESSAGE_TYPE_DOWN] != BEHAVIOUR_NONE;
}

/* By which it will be told: not of a former life, nor given up by a turn that was committed. */
static bool monitor_tells(const struct engine *e, const struct segment_timer *timer, actor_ref to)
{
    return timer->owner == to && !timers_is_of_former_life(e, timer) &&
           (timer->claim_count == 0 ||
            timers_is_open(&e->segment, timer->claim_worker, timer->claim_count));
}

static bool monitor_is_of(struct engine *e, actor_ref watched, actor_ref by)
{
    const struct timer_owners *hang = &e->timers.watched;
    uint32_t first, timer;
    bool is_of = false;
    lock_take(&e->timers.mutex);
    if (timer_owners_first(hang, watched, &first)) {
        timer = first;
        do {
            is_of = monitor_tells(e, &e->segment.timers[timer], by);
            timer = timer_owners_next(hang, timer);
        } while (!is_of && timer != first);
    }
    lock_give(&e->timers.mutex);
    return is_of;
}

void monitor_tell_spawner(struct worker *w, actor_ref ended, enum envelope_reason reason)
{
    actor_ref by = w->engine->segment.actors[actor_ref_slot(ended)].spawned_by;
    const struct down down = { .ref = ended, .reason = reason };
    uint64_t size = envelope_size(envelope_prefix_bytes(PREFIX_KIND) + sizeof(down));
    uint32_t destination;
    if (!monitor_spawner_find(w, by, &destination) || monitor_is_of(w->engine, ended, by))
        return;
    if (w->place.newborn) /* of the init that has failed */
        place_newborn_settle(w);
    monitor_down_write(outbox_append(w, destination, size), by, &down);
}
