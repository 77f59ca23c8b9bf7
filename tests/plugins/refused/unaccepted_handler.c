/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: counter_reset
 * EXPECT: counter_accepts
 * A handler for a message that the actor's interface does not have. */
#include <odeon/plugin.h>

ODEON_MESSAGE(counter_reset, 1, { int64_t to; });
ODEON_SIGNAL(counter_get, 1);
#ifdef CORRECT
ODEON_INTERFACE(counter, counter_get, counter_reset);
#else
ODEON_INTERFACE(counter, counter_get);
#endif

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
ODEON_ACTOR_TYPE(counter);
ODEON_PLUGIN("counter", "1", ODEON_TYPE(counter));
