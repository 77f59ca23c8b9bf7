/* SPDX-License-Identifier: Apache-2.0 */
/* Actors that share a variable, which nobody may: what ThreadSanitizer is to see. */
#include "tests/system/racy.h"

#include <odeon/plugin.h>

ODEON_STATELESS(racy);
ODEON_INTERFACE(racy, racy_count);

static uint64_t racy_shared;

ODEON_RECEIVE(racy, racy_count)
{
    racy_shared += msg->by;
    odeon_reply(ctx, racy_count, .by = racy_shared);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(racy, ODEON_ON(racy, racy_count));
ODEON_ACTOR_TYPE(racy);
ODEON_PLUGIN("racy", "1", ODEON_TYPE(racy));
