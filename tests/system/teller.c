/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that says to others, whom it is told or finds by name, what it is told to. */
#include "teller.h"

#include <odeon/plugin.h>

ODEON_STATE(teller, { int32_t number; });

ODEON_RECEIVE(teller, teller_tell)
{
    odeon_ref to = msg->to;
    int r = to == ODEON_NOBODY ? odeon_lookup_any(ctx, msg->name, &to) : 0;

    if (r == 0)
        r = odeon_send_tail_any(ctx, to, teller_said, msg->text, odeon_tail_size(ctx, msg),
                                .number = ++self->number);
    if (r < 0)
        odeon_logf(ctx, ODEON_LOG_NOTICE, "nothing is said: %s", odeon_strerror(r));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(teller, ODEON_ON(teller, teller_tell));
ODEON_ACTOR_TYPE(teller);
ODEON_PLUGIN("teller", "1.0.0", ODEON_TYPE(teller));
