/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that counts, answers, and tells somebody whom it finds by name. */
#include "doorbell.h"

#include <odeon/plugin.h>

ODEON_STATE(doorbell, { uint64_t rings; });

ODEON_RECEIVE(doorbell, doorbell_ring)
{
    odeon_ref hall;
    self->rings += msg->times;
    if (odeon_lookup_any(ctx, "hall", &hall) == 0)
        odeon_send_tail_any(ctx, hall, doorbell_rang, msg->text, odeon_tail_size(ctx, msg),
                            .rings = self->rings);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(doorbell, doorbell_ask)
{
    odeon_reply(ctx, doorbell_rings, .rings = self->rings);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(doorbell, ODEON_ON(doorbell, doorbell_ring), ODEON_ON(doorbell, doorbell_ask));
ODEON_ACTOR_TYPE(doorbell, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_PLUGIN("doorbell", "1.0.0", ODEON_TYPE(doorbell));
