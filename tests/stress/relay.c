/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of the kill torture: `relay_first` hands a hop on to the `relay_second` that it was
 * spawned with, which hands it back to its origin. Some hops take a little while, so that kills
 * find handlers running and thieves find queues waiting. */
#include "relay.h"

#include <odeon/plugin.h>

struct relay_args {
    relay_second_ref next;
};

ODEON_STATE(relay_first, { relay_second_ref next; });
ODEON_STATE(relay_second, { uint64_t seen; });

static void dawdle(uint64_t number)
{
    for (volatile unsigned i = 0, n = number % 64 == 0 ? 2000 : number % 7 * 10; i < n; i = i + 1)
        ;
}

ODEON_INIT(relay_first, struct relay_args)
{
    self->next = args->next;
    return 0;
}

ODEON_RECEIVE(relay_first, relay_hop)
{
    dawdle(msg->number);
    odeon_send(ctx, self->next, relay_hop, .origin = msg->origin, .number = msg->number);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(relay_second, relay_hop)
{
    self->seen++;
    dawdle(msg->number + 1);
    odeon_send_any(ctx, msg->origin, relay_hop, .origin = msg->origin, .number = msg->number);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(relay_first, ODEON_ON(relay_first, relay_hop));
ODEON_ACTOR_TYPE(relay_first);
ODEON_HANDLERS(relay_second, ODEON_ON(relay_second, relay_hop));
ODEON_ACTOR_TYPE(relay_second);
ODEON_PLUGIN("relay", "1.0.0", ODEON_TYPE(relay_first), ODEON_TYPE(relay_second));
