/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: refused actor type painter: its arguments { enum colour colour; }
 * EXPECT: refused actor type carpenter: its arguments { uint8_t kind; uint64_t length; } have 9
 * Arguments that the service cannot lay out as the compiler has. */
#include <odeon/plugin.h>

ODEON_SIGNAL(thing_get, 1);
ODEON_INTERFACE(painter, thing_get);
ODEON_INTERFACE(carpenter, thing_get);

enum colour { RED };
ODEON_ARGUMENTS(painter_args, { enum colour colour; });
#pragma pack(push, 1)
ODEON_ARGUMENTS(carpenter_args, {
    uint8_t kind;
    uint64_t length;
});
#pragma pack(pop)

ODEON_STATELESS(painter);
ODEON_RECEIVE(painter, thing_get)
{
    return ODEON_NODELETE;
}
ODEON_HANDLERS(painter, ODEON_ON(painter, thing_get));
ODEON_ACTOR_TYPE(painter, ODEON_TAKES(painter_args));

ODEON_STATELESS(carpenter);
ODEON_RECEIVE(carpenter, thing_get)
{
    return ODEON_NODELETE;
}
ODEON_HANDLERS(carpenter, ODEON_ON(carpenter, thing_get));
ODEON_ACTOR_TYPE(carpenter, ODEON_TAKES(carpenter_args));
ODEON_PLUGIN("args", "1.0.0", ODEON_TYPE(painter), ODEON_TYPE(carpenter));
