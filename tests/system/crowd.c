/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of tests/hostile/test_crowd.c, see crowd.h. */
#include "crowd.h"

#include <odeon/plugin.h>
#include <unistd.h>

ODEON_STATE(crowd_echo, { uint64_t n; });

ODEON_RECEIVE(crowd_echo, crowd_number)
{
    self->n++;
    odeon_reply(ctx, crowd_number, .n = msg->n);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(crowd_echo, crowd_hang)
{
    (void)self;
    while (pause() < 0) /* for ever */
        ;
    return ODEON_NODELETE;
}

ODEON_HANDLERS(crowd_echo, ODEON_ON(crowd_echo, crowd_number), ODEON_ON(crowd_echo, crowd_hang));
ODEON_ACTOR_TYPE(crowd_echo);
ODEON_PLUGIN("crowd", "1.0.0", ODEON_TYPE(crowd_echo));
