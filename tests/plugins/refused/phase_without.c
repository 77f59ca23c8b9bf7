/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: a message of its interface has no ODEON_ON in loud
 * The last message of the interface has no handler in one of the phases. */
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
#ifdef CORRECT
ODEON_HANDLERS_IN(counter, loud, ODEON_ON(counter, counter_get), ODEON_ON(counter, counter_reset));
#else
ODEON_HANDLERS_IN(counter, loud, ODEON_ON(counter, counter_get));
#endif
ODEON_ACTOR_TYPE(counter, ODEON_PHASES(ODEON_PHASE(counter, loud)));
ODEON_PLUGIN("counter", "1", ODEON_TYPE(counter));
