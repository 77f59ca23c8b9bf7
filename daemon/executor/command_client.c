/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's part of what is told of a client: actors, posts, its ports. The supervisor has
 * asked, and adds its own. */
#include <errno.h>

#include "daemon/executor/command.h"

static Odeon__Usage *command_client_row(struct reply *reply, const char *name, uint64_t limit)
{
    Odeon__Usage *usage = reply_alloc(reply, sizeof(*usage));

    if (!usage)
        return NULL;
    odeon__usage__init(usage);
    usage->name = reply_string(name);
    usage->limit = limit;
    return usage;
}

/* Since its ports were opened; those of the user's other clients are not asked for. */
static uint64_t command_client_count_posts(const struct executor *executor,
                                           const Odeon__ClientShow *show)
{
    struct engine_port_rate rate;
    uint64_t n = 0;

    for (size_t i = 0; i + 1 < show->n_ports; i += 2)
        if (engine_port_rate(executor->engine, show->ports[i], show->ports[i + 1], &rate) == 0)
            n += rate.taken;
    return n;
}

/* What all users share (actor_quota.T2), and message types; false: no memory. */
static bool command_client_show_shares(struct executor *executor, uint32_t account,
                                       struct reply *reply, Odeon__Usage **rows)
{
    Odeon__Usage *names = command_client_row(reply, "names", ODEON_NAMES_MAX),
                 *threads = command_client_row(reply, "threads", executor->settings.detached),
                 *types = command_client_row(reply, "message types",
                                             ODEON_MESSAGE_TYPES_MAX - MESSAGE_TYPE_FIRST_USER);
    uint32_t own;

    if (!names || !threads || !types)
        return false;
    names->user_only = threads->user_only = types->user_only = true;
    names->user =
        actor_quota_count(&executor->actor_quota, executor->engine, account, ACTOR_QUOTA_NAMES);
    threads->user =
        actor_quota_count(&executor->actor_quota, executor->engine, account, ACTOR_QUOTA_THREADS);
    (void)engine_message_types_count(executor->engine, account, &own);
    types->user = own;
    rows[0] = names;
    rows[1] = threads;
    rows[2] = types;
    return true;
}

/* Of a quota that is 0 where there is none. */
static Odeon__Usage *command_client_row_of_user(struct reply *reply, const char *name,
                                                uint64_t limit, uint64_t has)
{
    Odeon__Usage *usage = command_client_row(reply, name, limit);

    if (!usage)
        return NULL;
    usage->user_only = true;
    usage->user = has;
    usage->unlimited = limit == 0;
    return usage;
}

/* What waits for the user, its bytes and its time, of which the bound is that of all queues
 * together. False: no memory. */
static bool command_client_show_waiting(const struct executor *executor, uint32_t account,
                                        struct reply *reply, Odeon__Usage **rows)
{
    const struct settings *is = &executor->settings;

    rows[0] = command_client_row_of_user(reply, "waiting bytes", is->quota_waiting_bytes,
                                         engine_user_waiting_bytes(executor->engine, account));
    rows[1] = command_client_row_of_user(
        reply, "waiting ms", is->quota_waiting_ms * is->workers,
        (engine_user_waiting_ns(executor->engine, account) + 999999) / 1000000);
    return rows[0] && rows[1];
}

static const char *command_client_waits_for(enum engine_port_waits waits)
{
    static const char *const words[] = {
        [ENGINE_PORT_GOES_ON] = "",
        [ENGINE_PORT_ROOM] = "a queue",
        [ENGINE_PORT_SHARE] = "its user's share",
        [ENGINE_PORT_RATE] = "its user's rate",
    };

    return words[waits];
}

/* Of those that are open; false: no memory. */
static bool command_client_show_ports(const struct executor *executor,
                                      const Odeon__ClientShow *show, struct reply *reply,
                                      Odeon__ClientShowReply *body)
{
    struct engine_port_tally tally;

    body->ports = reply_alloc(reply, (show->n_ports / 2 + 1) * sizeof(Odeon__ClientPort *));
    for (size_t i = 0; body->ports && i + 1 < show->n_ports; i += 2) {
        Odeon__ClientPort *port;

        if (engine_port_tally(executor->engine, show->ports[i], show->ports[i + 1], &tally) < 0)
            continue;
        port = reply_alloc(reply, sizeof(*port));
        if (!port)
            return false;
        odeon__client_port__init(port);
        port->port_id = show->ports[i];
        port->ref = tally.ref;
        port->posts = tally.posts;
        port->not_taken = tally.not_taken;
        port->delivered = tally.delivered;
        port->not_received = tally.not_received;
        port->backlog = tally.backlog;
        port->dropped = tally.dropped;
        port->refused = tally.refused;
        port->waits_for = reply_string(command_client_waits_for(tally.waits));
        body->ports[body->n_ports++] = port;
    }
    return body->ports != NULL;
}

int command_client_show(struct executor *executor, const Odeon__Request *request,
                        struct frame *frame, struct reply *reply)
{
    enum { N_ROWS = 7 };
    const Odeon__ClientShow *show = request->client_show;
    uint32_t account = actor_account_of((uid_t)show->uid);
    Odeon__ClientShowReply *body = reply_alloc(reply, sizeof(*body));
    Odeon__Usage **rows = reply_alloc(reply, N_ROWS * sizeof(*rows));
    Odeon__Usage *actors = command_client_row(reply, "actors", executor->settings.quota_actors);
    Odeon__Usage *posts = command_client_row(reply, "posts", executor->settings.quota_posts);

    (void)frame;
    if (!body || !rows || !actors || !posts ||
        !command_client_show_waiting(executor, account, reply, rows + 2) ||
        !command_client_show_shares(executor, account, reply, rows + 4))
        return -ENOMEM;
    odeon__client_show_reply__init(body);
    if (!command_client_show_ports(executor, show, reply, body))
        return -ENOMEM;
    actors->user_only = true;
    actors->user =
        actor_quota_count(&executor->actor_quota, executor->engine, account, ACTOR_QUOTA_ALL);
    posts->client_only = true;
    posts->per_second = true;
    posts->client = command_client_count_posts(executor, show);
    posts->unlimited = executor->settings.quota_posts == 0;
    rows[0] = actors;
    rows[1] = posts;
    body->usage = rows;
    body->n_usage = N_ROWS;
    reply->message.client_show = body;
    reply->message.body_case = ODEON__REPLY__BODY_CLIENT_SHOW;
    return 0;
}
