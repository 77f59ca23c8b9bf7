/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin under several names (ORDER, which the build defines): its start says so in the log, and
 * tells its actor, which counts what it is told and keeps the sum. The start of the one that the
 * environment names ends the process; others wait as long as a file of theirs is there. */
#include "tests/system/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <odeon/plugin.h>

#define NAME_(a_, b_)        a_##b_
#define NAME(a_, b_)         NAME_(a_, b_)
#define TEXT_(a_)            #a_
#define TEXT(a_)             TEXT_(a_)
#define ORDER_ACTOR          NAME(order_, ORDER)
#define INTERFACE_(actor_)   ODEON_INTERFACE(actor_, order_begun, order_get)
#define STATE_(actor_)       ODEON_STATE(actor_, { uint64_t starts; })
#define RECEIVE_(actor_, m_) ODEON_RECEIVE(actor_, m_)
#define HANDLERS_(actor_)                                                                          \
    ODEON_HANDLERS(actor_, ODEON_ON(actor_, order_begun), ODEON_ON(actor_, order_get))
#define TYPE_(actor_)        ODEON_ACTOR_TYPE(actor_, ODEON_POLICY(ODEON_RESTART_KEEP))
#define REF_(actor_)         NAME(actor_, _ref)
#define SPAWN_(actor_, ref_) odeon_spawn_into(ctx, ref_, actor_, .name = "order-" TEXT(ORDER))
#define LIST_(actor_)        ODEON_TYPE(actor_)

INTERFACE_(ORDER_ACTOR);
STATE_(ORDER_ACTOR);

RECEIVE_(ORDER_ACTOR, order_begun)
{
    self->starts++;
    return ODEON_NODELETE;
}

RECEIVE_(ORDER_ACTOR, order_get)
{
    odeon_reply(ctx, order_value, .starts = self->starts);
    return ODEON_NODELETE;
}

HANDLERS_(ORDER_ACTOR);
TYPE_(ORDER_ACTOR);

/* The environment has the path without its end, which is the plugin's own. */
static void wait_for_file(void)
{
    const char *waits = getenv("ORDER_WAITS");
    char path[256];

    if (!waits)
        return;
    snprintf(path, sizeof(path), "%s%s", waits, TEXT(ORDER));
    while (access(path, F_OK) == 0)
        usleep(1000);
}

ODEON_PLUGIN_START()
{
    const char *crashes = getenv("ORDER_CRASHES");
    REF_(ORDER_ACTOR) ref;
    int r = SPAWN_(ORDER_ACTOR, &ref);

    odeon_logf(ctx, ODEON_LOG_NOTICE, "order: %s starts", TEXT(ORDER));
    if (crashes && strcmp(crashes, TEXT(ORDER)) == 0)
        abort();
    wait_for_file();
    if (r == -EEXIST)
        r = odeon_lookup(ctx, "order-" TEXT(ORDER), &ref);
    return r < 0 ? r : odeon_signal(ctx, ref, order_begun);
}

ODEON_PLUGIN("order_" TEXT(ORDER), "1.0.0", LIST_(ORDER_ACTOR));
