/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of ABI 2.0 whose binaries are kept: make.sh builds it with each compiler. KEPT is the
 * compiler's name. Its start makes the actor kept-KEPT, whose arguments it describes, and tells it
 * so. */
#include <odeon/plugin.h>

#include "kept.h"

#define NAME_(a_, b_)        a_##b_
#define NAME(a_, b_)         NAME_(a_, b_)
#define TEXT_(a_)            #a_
#define TEXT(a_)             TEXT_(a_)
#define KEPT_ACTOR           NAME(kept_sum_, KEPT)
#define DECLARE_(actor_)     ODEON_INTERFACE(actor_, kept_add, kept_get, kept_begun)
#define STATE_(actor_)       ODEON_STATE(actor_, { int64_t total, starts; })
#define INIT_(actor_)        ODEON_INIT(actor_, struct kept_args)
#define RECEIVE_(actor_, m_) ODEON_RECEIVE(actor_, m_)
#define HANDLERS_(actor_)                                                                          \
    ODEON_HANDLERS(actor_, ODEON_ON(actor_, kept_add), ODEON_ON(actor_, kept_get),                 \
                   ODEON_ON(actor_, kept_begun))
#define TYPE_(actor_)                                                                              \
    ODEON_ACTOR_TYPE(actor_, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_TAKES(kept_args),             \
                     ODEON_BEHAVIOURS_NAME("sum"))
#define SPAWN_(actor_, ref_)                                                                       \
    odeon_spawn_into(ctx, ref_, actor_, .name = "kept-" TEXT(KEPT),                                \
                     ODEON_ARGS(struct kept_args, .first = 1000))
#define REF_(actor_)  NAME(actor_, _ref)
#define LIST_(actor_) ODEON_TYPE(actor_)

ODEON_SIGNAL(kept_begun, 1);
ODEON_ARGUMENTS(kept_args, { int64_t first; });
DECLARE_(KEPT_ACTOR);
STATE_(KEPT_ACTOR);

INIT_(KEPT_ACTOR)
{
    self->total = args->first;
    return 0;
}

RECEIVE_(KEPT_ACTOR, kept_add)
{
    self->total += msg->amount;
    return ODEON_NODELETE;
}

RECEIVE_(KEPT_ACTOR, kept_get)
{
    odeon_reply(ctx, kept_value, .total = self->total, .starts = self->starts);
    return ODEON_NODELETE;
}

RECEIVE_(KEPT_ACTOR, kept_begun)
{
    self->starts++;
    return ODEON_NODELETE;
}

HANDLERS_(KEPT_ACTOR);
TYPE_(KEPT_ACTOR);

ODEON_PLUGIN_START()
{
    REF_(KEPT_ACTOR) ref;
    int r = SPAWN_(KEPT_ACTOR, &ref);

    if (r == -EEXIST)
        r = odeon_lookup(ctx, "kept-" TEXT(KEPT), &ref);
    return r < 0 ? r : odeon_signal(ctx, ref, kept_begun);
}

ODEON_PLUGIN("kept-" TEXT(KEPT), "1.0.0", LIST_(KEPT_ACTOR));
