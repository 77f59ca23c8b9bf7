/* SPDX-License-Identifier: Apache-2.0 */
/* Requests about ports: the name that a client gives one of its own. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "daemon/executor/actor_quota.h"
#include "daemon/executor/command.h"
#include "daemon/executor/ref_text.h"

/* actor_quota.T2 */
static int command_port_check_share(struct executor *executor, uint32_t account,
                                    struct explain *explain)
{
    enum { MOST = ODEON_NAMES_MAX - ACTOR_QUOTA_NAMES_RESERVE };

    if (!executor->asker.bound || actor_quota_shares(&executor->actor_quota, executor->engine,
                                                     account, ACTOR_QUOTA_NAMES, MOST))
        return 0;
    return explain_set(
        explain, -EDQUOT,
        "clients of user %u have %zu names; a user may have half of what the others leave of "
        "%d: stop some of its actors, or close some ports",
        executor->asker.uid,
        actor_quota_count(&executor->actor_quota, executor->engine, account, ACTOR_QUOTA_NAMES),
        MOST);
}

static int command_port_refuse(const Odeon__PortRegister *asked, int error, struct explain *explain)
{
    switch (error) {
    case -EEXIST:
        return explain_set(explain, error,
                           "the name '%.64s' is taken already: 'actor show' says by whom; choose "
                           "another one",
                           asked->name);
    case -EALREADY:
        return explain_set(explain, error,
                           "port " REF_FORMAT " has a name already: a port has one, and keeps it",
                           REF_ARGS(asked->ref));
    case -EINVAL:
        return explain_set(explain, error,
                           "'%.64s' is no name for a port: 1 to %d letters, digits, '_', '.' or "
                           "'-' make one, and none that a reference is written like",
                           asked->name, ODEON_NAME_MAX);
    case -ENOSPC:
        return explain_set(explain, error, "no room for another name: %d are allowed",
                           ODEON_NAMES_MAX);
    default:
        return explain_set(explain, error, "port " REF_FORMAT " cannot be given a name: %s",
                           REF_ARGS(asked->ref), strerror(-error));
    }
}

int command_port_register(struct executor *executor, const Odeon__Request *request,
                          struct frame *frame, struct reply *reply)
{
    const Odeon__PortRegister *asked = request->port_register;
    uint32_t account = actor_account_of(executor->asker.uid);
    int r;

    (void)frame;
    if (executor->asker.client == 0 ||
        engine_port_client(executor->engine, actor_ref_slot(asked->ref)) != executor->asker.client)
        return explain_set(&reply->explain, -ESRCH,
                           REF_FORMAT " is no port of this client that is open",
                           REF_ARGS(asked->ref));
    r = command_port_check_share(executor, account, &reply->explain);
    if (r < 0)
        return r;
    r = engine_port_register(executor->engine, asked->ref, asked->name, account);
    if (r < 0)
        return command_port_refuse(asked, r, &reply->explain);
    if (r == 0) /* else it is counted already */
        actor_quota_add(&executor->actor_quota, executor->engine, account, asked->ref,
                        1U << ACTOR_QUOTA_NAMES);
    return reply_ok(reply);
}
