/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: refused phase loud has no function for the message of behaviour 0
 * EXPECT: refused two phases are named quiet
 * A phase that lacks a behaviour, and two of one name. */
#include <odeon/plugin.h>

ODEON_SIGNAL(counter_get, 1);
ODEON_SIGNAL(counter_reset, 1);
ODEON_INTERFACE(counter, counter_get, counter_reset);

ODEON_STATELESS(counter);
ODEON_RECEIVE(counter, counter_get)
{
    return ODEON_NODELETE;
}
ODEON_RECEIVE(counter, counter_reset)
{
    return ODEON_NODELETE;
}
ODEON_HANDLERS(counter, ODEON_ON(counter, counter_get), ODEON_ON(counter, counter_reset));
ODEON_HANDLERS_IN(counter, loud, ODEON_ON(counter, counter_reset));
ODEON_HANDLERS_IN(counter, quiet, ODEON_ON(counter, counter_get), ODEON_ON(counter, counter_reset));
ODEON_ACTOR_TYPE(counter, ODEON_PHASES(ODEON_PHASE(counter, loud), ODEON_PHASE(counter, quiet),
                                       ODEON_PHASE(counter, quiet)));
ODEON_PLUGIN("counter", "1.0.0", ODEON_TYPE(counter));
