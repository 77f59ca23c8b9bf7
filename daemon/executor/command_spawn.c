/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that make an actor: of a type, with a name and arguments, somewhere; and the one
 * that finds it, or makes it, at a start. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/executor/command.h"
#include "daemon/executor/command_type.h"
#include "proto/fields_fill.h"

enum { THREADS_OF_RESERVE = 8 }; /* one in so many is left to whom quotas do not bind */

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
                                      ODEON_NAMES_MAX - ACTOR_QUOTA_NAMES_RESERVE,
                                      "names of actors", explain);
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

/* Of a type that can be spawned now. */
static int command_spawn_find_type(const struct executor *executor, const char *name,
                                   struct engine_actor_type_view *ret_type, struct explain *explain)
{
    if (type_find(executor, name, ret_type) < 0)
        return explain_set(explain, -ENOENT,
                           "there is no actor type '%.64s': load the plugin that has it", name);
    if (ret_type->is_group) /* for ever, and nobody's member by that */
        return explain_set(explain, -EOPNOTSUPP,
                           "a group is made by whoever joins it first, in a plugin");
    if (ret_type->loaded)
        return 0;
    return explain_set(explain, -ENOENT,
                       "the actor type %s is known, but its plugin %s is not loaded: load it first",
                       ret_type->name, ret_type->plugin);
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
    r = command_spawn_find_type(executor, asked->type, &type, &reply->explain);
    if (r < 0)
        return r;
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

/* The arguments that the words say, in the reply's memory: without any, a type that takes some is
 * spawned with zeros. */
static int command_spawn_fill(const struct executor *executor, const Odeon__StartActor *asked,
                              uint32_t type, struct engine_spawn *spawn, struct reply *reply)
{
    uint32_t args_size;
    const char *text = plugin_registry_find_args(executor->plugins, type, &args_size);
    struct fields *fields = reply_alloc(reply, sizeof(*fields));
    void *bytes = reply_alloc(reply, ODEON_PAYLOAD_MAX);
    struct fields_problem problem;
    char why[FIELDS_FILL_TEXT_MAX];
    size_t size = args_size;
    int r;

    if (!fields || !bytes)
        return -ENOMEM;
    if (args_size == 0 && asked->n_words == 0)
        return 0;
    if (args_size == 0)
        return explain_set(&reply->explain, -EINVAL,
                           "the plugin of %s does not say what it is spawned with: leave the "
                           "fields out",
                           asked->type);
    r = fields_parse(text, fields, &problem);
    if (r < 0)
        return explain_set(&reply->explain, r, "%s. %s", problem.why, problem.remedy);
    r = fields_fill(fields, asked->words, asked->n_words, bytes, &size, why);
    if (r < 0)
        return explain_set(&reply->explain, r, "%s", why);
    if (size > ODEON_SPAWN_ARGS_MAX)
        return explain_set(&reply->explain, -E2BIG,
                           "%zu bytes of arguments: at most %d are allowed", size,
                           ODEON_SPAWN_ARGS_MAX);
    spawn->args = bytes;
    spawn->args_size = size;
    return 0;
}

/* 1: it is there, and of this type; 0: nobody has the name. */
static int command_spawn_find(const struct executor *executor, const Odeon__StartActor *asked,
                              actor_ref *ret_ref, struct explain *explain)
{
    struct engine_actor_type_view type;
    struct engine_actor_view actor;

    if (engine_actor_lookup(executor->engine, asked->name, ret_ref) < 0 ||
        engine_actor_get(executor->engine, *ret_ref, &actor) < 0)
        return 0;
    if (actor.type == 0 || engine_actor_type_get(executor->engine, actor.type, &type) < 0)
        return explain_set(explain, -EEXIST, "the name '%.64s' is taken already", asked->name);
    if (strcmp(type.name, asked->type) == 0)
        return 1;
    return explain_set(explain, -EEXIST,
                       "an actor of type %s has the name '%.64s': stop it or choose another name",
                       type.name, asked->name);
}

static int command_spawn_reply_started(struct reply *reply, actor_ref ref, bool found)
{
    int r = reply_ref(reply, ref);

    if (r == 0)
        reply->message.ref->found = found;
    return r;
}

int command_start_actor(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply)
{
    const Odeon__StartActor *asked = request->start_actor;
    struct engine_spawn spawn = { .name = asked->name, .placement = PLACE_EACH };
    struct engine_actor_type_view type;
    actor_ref ref = 0;
    int r;

    (void)frame;
    if (executor->asker.client)
        return explain_set(&reply->explain, -EPERM,
                           "odeond alone asks for the actors of a start: ask for a spawn");
    r = command_spawn_find(executor, asked, &ref, &reply->explain);
    if (r != 0)
        return r < 0 ? r : command_spawn_reply_started(reply, ref, true);
    r = command_spawn_find_type(executor, asked->type, &type, &reply->explain);
    if (r == 0)
        r = command_spawn_fill(executor, asked, type.id, &spawn, reply);
    if (r < 0)
        return r;
    r = engine_actor_spawn_placed(executor->engine, type.id, &spawn, &ref);
    if (r == 0)
        return command_spawn_reply_started(reply, ref, false);
    /* an actor that runs has taken the name just now */
    if (r == -EEXIST && command_spawn_find(executor, asked, &ref, &reply->explain) == 1)
        return command_spawn_reply_started(reply, ref, true);
    return command_spawn_refuse(executor, r, asked->type, &spawn, &reply->explain);
}
