/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest useful plugin: an actor that adds up, and tells the sum when asked. */
#include "counter.h"

#include <odeon/plugin.h>

ODEON_STATE(counter, { int64_t total; });

ODEON_RECEIVE(counter, counter_add)
{
    self->total += msg->amount * msg->weight;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(counter, counter_get)
{
    odeon_reply(ctx, counter_value, .total = self->total);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(counter, ODEON_ON(counter, counter_add), ODEON_ON(counter, counter_get));
ODEON_ACTOR_TYPE(counter);
ODEON_PLUGIN("counter", "1.0.0", ODEON_TYPE(counter));
