/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: refused thing_missing is in none of the libraries
 * EXPECT: refused behaviour 0 has no function
 * EXPECT: refused the name 'no good' is not allowed
 * What the loader or the service refuses. */
#include <odeon/plugin.h>

ODEON_MESSAGE(thing_add, 1, { int64_t amount; });
ODEON_SIGNAL(thing_get, 1);
ODEON_INTERFACE(thing, thing_add, thing_get);

int thing_missing(void);
ODEON_STATELESS(thing);
ODEON_RECEIVE(thing, thing_get)
{
    return thing_missing();
}
ODEON_HANDLERS(thing, ODEON_ON(thing, thing_get));
ODEON_ACTOR_TYPE(thing);
ODEON_PLUGIN("no good", "1", ODEON_TYPE(thing));
