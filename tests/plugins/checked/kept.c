/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: worry actor type thing keeps a pointer over crashes
 * EXPECT: worry message thing_note has a pointer
 * EXPECT: worry actor type large keeps 1000 bytes
 * Pointers where they mean nothing after a crash. */
#include <odeon/plugin.h>

ODEON_MESSAGE(thing_note, 1, { const char *text; });
ODEON_INTERFACE(thing, thing_note);
ODEON_SIGNAL(large_get, 1);
ODEON_INTERFACE(large, large_get);

ODEON_STATE(thing, {
    int64_t total;
    void *cache;
});
ODEON_RECEIVE(thing, thing_note)
{
    return ODEON_NODELETE;
}
ODEON_HANDLERS(thing, ODEON_ON(thing, thing_note));
ODEON_ACTOR_TYPE(thing, ODEON_POLICY(ODEON_RESTART_KEEP));

ODEON_STATE(large, { char bytes[1000]; });
ODEON_RECEIVE(large, large_get)
{
    return ODEON_NODELETE;
}
ODEON_HANDLERS(large, ODEON_ON(large, large_get));
ODEON_ACTOR_TYPE(large, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_PLUGIN("kept", "1", ODEON_TYPE(thing), ODEON_TYPE(large));
