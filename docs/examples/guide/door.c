/* SPDX-License-Identifier: Apache-2.0 */
/* A door that is locked or open, of docs/plugins/phases.md: who comes while it is locked waits. */
#include <odeon/plugin.h>

ODEON_MESSAGE(door_enter, 1, { uint64_t who; });
ODEON_SIGNAL(door_unlock, 1);
ODEON_SIGNAL(door_lock, 1);
ODEON_SIGNAL(door_entered, 1);

ODEON_INTERFACE(door, door_enter, door_unlock, door_lock);
ODEON_STATE(door, { uint64_t inside; });

ODEON_RECEIVE(door, door_enter)
{
    self->inside++;
    odeon_reply_signal(ctx, door_entered);
    return ODEON_NODELETE;
}
ODEON_RECEIVE(door, door_unlock)
{
    return ODEON_NODELETE;
}
ODEON_RECEIVE(door, door_lock)
{
    odeon_become(ctx, "locked");
    return ODEON_NODELETE;
}

/* Not now: whoever has sent it gets an answer when the door is open. */
ODEON_RECEIVE_IN(door, locked, door_enter)
{
    int r = odeon_stash(ctx, msg);
    if (r < 0)
        odeon_logf(ctx, ODEON_LOG_WARNING, "somebody is turned away: %s", odeon_strerror(r));
    return ODEON_NODELETE;
}
ODEON_RECEIVE_IN(door, locked, door_unlock)
{
    odeon_become(ctx, "open");
    odeon_unstash(ctx);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(door, ODEON_ON(door, door_enter), ODEON_ON(door, door_unlock),
               ODEON_ON(door, door_lock));
ODEON_HANDLERS_IN(door, locked, ODEON_ON_IN(door, locked, door_enter),
                  ODEON_ON_IN(door, locked, door_unlock), ODEON_ON(door, door_lock));
ODEON_ACTOR_TYPE(door, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_BEHAVIOURS_NAME("open"),
                 ODEON_PHASES(ODEON_PHASE(door, locked)));

ODEON_PLUGIN("door", "1.0.0", ODEON_TYPE(door));
