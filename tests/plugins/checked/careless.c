/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: worry 8 bytes of thread-local variables
 * EXPECT: worry it has 1 constructor,
 * EXPECT: worry it calls exit()
 * EXPECT: worry it was built in a way that forbids unloading
 * FLAGS: -Wl,-z,nodelete
 * What a plugin can do and had better not. */
#include <stdlib.h>

#include <odeon/plugin.h>

ODEON_MESSAGE(thing_add, 1, { int64_t amount; });
ODEON_SIGNAL(thing_get, 1);
ODEON_INTERFACE(thing, thing_add, thing_get);

static _Thread_local int64_t last;
static int64_t *volatile where;

__attribute__((constructor)) static void begin(void)
{
    where = &last;
}

ODEON_STATELESS(thing);
ODEON_RECEIVE(thing, thing_add)
{
    *where = msg->amount;
    if (msg->amount < 0)
        exit(1);
    return ODEON_NODELETE;
}
ODEON_RECEIVE(thing, thing_get)
{
    return ODEON_NODELETE;
}
ODEON_HANDLERS(thing, ODEON_ON(thing, thing_add), ODEON_ON(thing, thing_get));
ODEON_ACTOR_TYPE(thing);
ODEON_PLUGIN("careless", "1", ODEON_TYPE(thing));
