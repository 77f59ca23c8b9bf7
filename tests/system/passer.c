/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of test_faults.c: an actor that does nothing wrong and sends on what it is told, so that
 * what becomes of it is no client's business. */
#include "faulty.h"

#include <odeon/plugin.h>

ODEON_INTERFACE(passer_actor, faulty_pass);
ODEON_STATE(passer_actor, { uint64_t unused; });

ODEON_RECEIVE(passer_actor, faulty_pass)
{
    (void)self;
    if (msg->how > 0)
        odeon_send_any(ctx, msg->to, faulty_do, .how = (uint32_t)msg->how, .times = UINT32_MAX);
    else
        odeon_send_any(ctx, msg->to, faulty_count, .n = msg->n);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(passer_actor, ODEON_ON(passer_actor, faulty_pass));
ODEON_ACTOR_TYPE(passer_actor);
ODEON_PLUGIN("passer", "1.0.0", ODEON_TYPE(passer_actor));
