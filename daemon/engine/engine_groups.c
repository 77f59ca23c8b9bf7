/* SPDX-License-Identifier: Apache-2.0 */
/* Groups by name, as behaviours have them (engine_context.h), and their type.
 *
 * Threads: a worker's own, from within a turn; opening and looking, the control thread.
 */
#include "daemon/engine/engine.h"

#include <errno.h>

#include "daemon/engine/actors/actor_names.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/actors/live.h"
#include "daemon/engine/asks/group.h"
#include "daemon/engine/engine_context.h"
#include "daemon/engine/send/compose.h"
#include "daemon/engine/timers/members.h"

int engine_groups_open(struct engine *e)
{
    static const struct engine_actor_type_info info = {
        .name = ENGINE_GROUP_TYPE,
        .plugin = "odeon",
        .version = 1,
        .restart = RESTART_INIT, /* it has no state that could be lost */
        .overflow = OVERFLOW_POLICY_REJECT,
        .is_group = true,
    };
    return engine_actor_type_register(e, &info, &e->types.group);
}

static bool engine_groups_is_one(const struct engine *e, actor_ref ref)
{
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(ref)].key);
    return e->types.group != 0 && actor_key_generation(key) == actor_ref_generation(ref) &&
           actor_key_lives(key) && actor_key_type(key) == e->types.group;
}

/* -ENOENT: nobody has the name; -EAGAIN: somebody is about to; -EEXIST: one that is no group. */
static int engine_groups_find(struct worker *w, const char *name, actor_ref *ret_ref)
{
    int r = actor_names_look(w, name, ret_ref);
    return r < 0 ? r : engine_groups_is_one(w->engine, *ret_ref) ? 0 : -EEXIST;
}

static int engine_groups_make(struct engine_context *ctx, const char *name, actor_ref *ret_ref)
{
    struct engine *e = worker_of_context(ctx)->engine;
    const struct engine_spawn spawn = {
        .placement = PLACE_EACH, .name = name, .find = true, .at_once = true
    };
    if (live_of_type(e, e->types.group) >= ODEON_GROUPS_MAX)
        return -ENOSPC;
    return engine_ctx_spawn(ctx, e->types.group, &spawn, ret_ref);
}

int engine_ctx_join(struct engine_context *ctx, const char *name)
{
    struct worker *w = worker_of_context(ctx);
    actor_ref group;
    if (ctx->self == 0)
        return -EPERM;
    if (w->engine->types.group == 0)
        return -ENOSYS;
    int r = engine_groups_find(w, name, &group);
    if (r == -ENOENT)
        r = engine_groups_make(ctx, name, &group);
    if (r == -EAGAIN) { /* somebody else has made it just now, or there is no room for its init */
        r = engine_groups_find(w, name, &group);
        r = r == -ENOENT ? -EAGAIN : r;
    }
    return r < 0 ? r : group_join(w, group);
}

int engine_ctx_leave(struct engine_context *ctx, const char *name)
{
    struct worker *w = worker_of_context(ctx);
    actor_ref group;
    if (ctx->self == 0)
        return -EPERM;
    int r = engine_groups_find(w, name, &group);
    return r < 0 ? r : group_leave(w, group);
}

int engine_ctx_publish(struct engine_context *ctx, const char *name, uint32_t type,
                       const struct engine_pieces *pieces)
{
    struct worker *w = worker_of_context(ctx);
    actor_ref group;
    int r = engine_groups_find(w, name, &group);
    return r < 0 ? r
                 : compose_send(w, &(const struct compose){
                                       .to = group,
                                       .from = ctx->self,
                                       .meta = envelope_meta((uint16_t)type, 0, BEHAVIOUR_NONE),
                                       .head = pieces->head,
                                       .head_size = pieces->head_size,
                                       .tail = pieces->tail,
                                       .tail_size = pieces->tail_size,
                                   });
}

/* Groups have names, and keep them. */
int engine_group_next(struct engine *e, uint32_t at, struct engine_group_view *ret)
{
    actor_ref ref = 0;
    pthread_mutex_lock(&e->actors.names_mutex);
    for (; at < ODEON_NAMES_MAX; at++) {
        ref = load_relaxed(&e->segment.names[at].ref);
        if (actor_ref_slot(ref) < e->config.actors_max && engine_groups_is_one(e, ref) &&
            actors_is_committed(e, actor_ref_slot(ref)))
            break;
    }
    pthread_mutex_unlock(&e->actors.names_mutex);
    if (at == ODEON_NAMES_MAX)
        return -ENOENT;
    *ret = (struct engine_group_view){
        .at = at, .ref = ref, .name = e->segment.names[at].name, .members = members_count(e, ref)
    };
    return 0;
}
