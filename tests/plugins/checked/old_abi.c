/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: refused its ABI is 1.0
 * A plugin from before ABI 2. */
#define ODEON_PLUGIN_ABI_MAJOR 1
#define ODEON_PLUGIN_ABI_MINOR 0
#define ODEON_VERSION_H
#include <odeon/plugin.h>

ODEON_MESSAGE(thing_add, 1, { int64_t amount; });
ODEON_SIGNAL(thing_get, 1);
ODEON_INTERFACE(thing, thing_add, thing_get);

ODEON_STATELESS(thing);
ODEON_RECEIVE(thing, thing_add)
{
    return ODEON_NODELETE;
}
ODEON_RECEIVE(thing, thing_get)
{
    return ODEON_NODELETE;
}
ODEON_HANDLERS(thing, ODEON_ON(thing, thing_add), ODEON_ON(thing, thing_get));
ODEON_ACTOR_TYPE(thing);
ODEON_PLUGIN("old", "1", ODEON_TYPE(thing));
