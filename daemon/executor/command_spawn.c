/* SPDX-License-Identifier: Apache-2.0 */
/* The request that makes an actor: of a type, with a name and arguments, somewhere. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/executor/command.h"
#include "daemon/executor/command_type.h"

/* Left to whom quotas do not bind: names, and one thread in so many. */
enum { NAMES_RESERVE = 1024, THREADS_OF_RESERVE = 8 };

/* What a client may ask for; another actor's neighbourhood is for actors. */
static int spawn_place(const Odeon__Spawn *spawn, struct engine_spawn *ret, struct explain *explain)
{
    static const enum engine_placement placements[] = {
        [ODEON__PLACE__PLACE_ANY] = PLACE_EACH,
        [ODEON__PLACE__PLACE_NODE] = PLACE_NODE,
        [ODEON__PLACE__PLACE_PINNED] = PLACE_PINNED,
        [ODEON__PLACE__PLACE_FOLLOW] = PLACE_FOLLOW,
        [ODEON__PLACE__PLACE_DETACHED] = PLACE_DETACHED,
    };

    if (spawn->place >= sizeof(placements) / sizeof(placements[0]))
        return explain_set(explain, -EINVAL, "%u is no place for an actor that this service knows",
                           spawn->place);
    ret->placement = placements[spawn->place];
    if (ret->placement == PLACE_NODE)
        ret->place = spawn->node;
    if (ret->placement == PLACE_PINNED)
        ret->place = spawn->worker > 0 ? spawn->worker - 1 : ENGINE_ANYWHERE;
    return 0;
}

static int command_spawn_refuse_no_room(const struct executor *executor,
                                        const struct engine_spawn *spawn, struct explain *explain)
{
    if (spawn->placement == PLACE_DETACHED)
        return explain_set(
            explain, -ENOSPC,
            "no thread for another actor of its own: setting detached allows %" PRIu64
            ", or all actors and names are in use",
            executor->settings.detached);
    return explain_set(explain, -ENOSPC,
                       "no room for another actor, or another name: %" PRIu64
                       " actors and %d names are allowed",
                       executor->settings.actors, ODEON_NAMES_MAX);
}

static int command_spawn_refuse_no_place(const struct executor *executor,
                                         const struct engine_spawn *spawn, struct explain *explain)
{
    if (spawn->placement == PLACE_NODE)
        return explain_set(explain, -ENODEV, "no worker runs on memory node %u", spawn->place);
    return explain_set(explain, -ENODEV,
                       "worker %u does not run: workers are numbered from 0 to %" PRIu64,
                       spawn->place, executor->settings.workers - 1);
}

/* actor_quota.T2 */
static int command_spawn_check_share(struct executor *executor, const struct engine_spawn *spawn,
                                     enum actor_quota_kind kind, uint64_t max, const char *what,
                                     struct explain *explain)
{
    if (actor_quota_shares(&executor->actor_quota, executor->engine, spawn->account, kind, max))
        return 0;
    return explain_set(
        explain, -EDQUOT,
        "clients of user %u have %zu %s; a user may have half of what the others "
        "leave of %" PRIu64 ": stop some of its actors",
        executor->asker.uid,
        actor_quota_count(&executor->actor_quota, executor->engine, spawn->account, kind), what,
        max);
}

/* What is scarce, for all users together; a part is left to whom quotas do not bind. */
static int command_spawn_check_shares(struct executor *executor, const struct engine_spawn *spawn,
                                      struct explain *explain)
{
    uint64_t threads = executor->settings.detached;
    int r = 0;

    if (!executor->asker.bound)
        return 0;
    if (spawn->name)
        r = command_spawn_check_share(executor, spawn, ACTOR_QUOTA_NAMES,
                                      ODEON_NAMES_MAX - NAMES_RESERVE, "names of actors", explain);
    if (r == 0 && spawn->placement == PLACE_DETACHED && threads > 1)
        r = command_spawn_check_share(
            executor, spawn, ACTOR_QUOTA_THREADS,
            threads - (threads + THREADS_OF_RESERVE - 1) / THREADS_OF_RESERVE,
            "actors with a thread of their own (setting detached)", explain);
    return r;
}

static unsigned command_spawn_kinds(const struct engine_spawn *spawn)
{
    return 1U << ACTOR_QUOTA_ALL | (spawn->name ? 1U << ACTOR_QUOTA_NAMES : 0) |
           (spawn->placement == PLACE_DETACHED ? 1U << ACTOR_QUOTA_THREADS : 0);
}

/* What a user's clients may spawn.  The supervisor says who it was. */
static int command_spawn_check_quota(struct executor *executor, uint32_t account,
                                     struct explain *explain)
{
    uint64_t limit = executor->settings.quota_actors;

    if (!executor->asker.bound ||
        actor_quota_allows(&executor->actor_quota, executor->engine, account, limit))
        return 0;
    return explain_set(explain, -EDQUOT,
                       "clients of user %u have spawned %" PRIu64
                       " actors that live, their quota (quota-actors): stop some",
                       executor->asker.uid, limit);
}

static int command_spawn_refuse(const struct executor *executor, int error, const char *type,
                                const struct engine_spawn *spawn, struct explain *explain)
{
    switch (error) {
    case -EEXIST:
        return explain_set(
            explain, error,
            "an actor is registered as '%.64s' already: stop it or choose another name",
            spawn->name);
    case -EINVAL:
        return explain_set(explain, error,
                           "'%.64s' is no name for an actor: 1 to %d letters, digits, '_', '.' or "
                           "'-' make one, and "
                           "none that a reference is written like",
                           spawn->name ? spawn->name : "", ODEON_NAME_MAX);
    case -ENOSPC:
        return command_spawn_refuse_no_room(executor, spawn, explain);
    case -ENODEV:
        return command_spawn_refuse_no_place(executor, spawn, explain);
    default:
        return explain_set(explain, error, "an actor of type %s cannot be made: %s", type,
                           strerror(-error));
    }
}

int command_spawn(struct executor *executor, const Odeon__Request *request, struct frame *frame,
                  struct reply *reply)
{
    const Odeon__Spawn *asked = request->spawn;
    struct engine_actor_type_view type;
    struct engine_spawn spawn = { .name = asked->name[0] ? asked->name : NULL,
                                  .args = asked->args.data,
                                  .args_size = asked->args.len };
    actor_ref ref = 0;
    int r;

    (void)frame;
    if (type_find(executor, asked->type, &type) < 0)
        return explain_set(&reply->explain, -ENOENT,
                           "there is no actor type '%.64s': load the plugin that has it",
                           asked->type);
    if (!type.loaded)
        return explain_set(
            &reply->explain, -ENOENT,
            "the actor type %s is known, but its plugin %s is not loaded: load it first", type.name,
            type.plugin);
    if (spawn.args_size > ODEON_SPAWN_ARGS_MAX)
        return explain_set(&reply->explain, -E2BIG,
                           "%zu bytes of arguments: at most %d are allowed", spawn.args_size,
                           ODEON_SPAWN_ARGS_MAX);
    r = spawn_place(asked, &spawn, &reply->explain);
    if (r < 0)
        return r;
    spawn.account = executor->asker.client ? actor_account_of(executor->asker.uid) : 0;
    r = command_spawn_check_quota(executor, spawn.account, &reply->explain);
    if (r == 0)
        r = command_spawn_check_shares(executor, &spawn, &reply->explain);
    if (r < 0)
        return r;
    r = engine_actor_spawn_placed(executor->engine, type.id, &spawn, &ref);
    if (r == 0 && spawn.account)
        actor_quota_add(&executor->actor_quota, executor->engine, spawn.account, ref,
                        command_spawn_kinds(&spawn));
    return r == 0 ? reply_ref(reply, ref)
                  : command_spawn_refuse(executor, r, asked->type, &spawn, &reply->explain);
}
