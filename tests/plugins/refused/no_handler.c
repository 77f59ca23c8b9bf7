/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: a message of its interface has no ODEON_ON
 * The last message of the interface has no handler. */
#include <odeon/plugin.h>

ODEON_SIGNAL(counter_get, 1);
ODEON_SIGNAL(counter_reset, 1);
#ifdef CORRECT
ODEON_INTERFACE(counter, counter_get);
#else
ODEON_INTERFACE(counter, counter_get, counter_reset);
#endif

ODEON_STATELESS(counter);
ODEON_RECEIVE(counter, counter_get)
{
    return ODEON_NODELETE;
}
ODEON_HANDLERS(counter, ODEON_ON(counter, counter_get));
ODEON_ACTOR_TYPE(counter);
ODEON_PLUGIN("counter", "1", ODEON_TYPE(counter));
