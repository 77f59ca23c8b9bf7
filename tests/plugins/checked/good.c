/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is said of it: what it keeps has no pointer, and its list of messages is as long as that
 * of a plugin of many source files, which has each message once for each. */
#include <odeon/plugin.h>

ODEON_MESSAGE(thing_add, 1, { int64_t amount; });
ODEON_SIGNAL(thing_get, 1);
ODEON_INTERFACE(thing, thing_add, thing_get);

static struct odeon_message_type *repeated[5000]
    __attribute__((section("odeon_messages"),
                   used ODEON_RETAIN_)) = { [0 ... 4999] = odeon_message_of(thing_add) };

ODEON_STATE(thing, { int64_t total; });
ODEON_STATE(other, { const char *text; });
ODEON_RECEIVE(thing, thing_add)
{
    self->total += msg->amount;
    return ODEON_NODELETE;
}
ODEON_RECEIVE(thing, thing_get)
{
    return ODEON_NODELETE;
}
ODEON_HANDLERS(thing, ODEON_ON(thing, thing_add), ODEON_ON(thing, thing_get));
ODEON_ACTOR_TYPE(thing, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_PLUGIN("good", "1", ODEON_TYPE(thing));
