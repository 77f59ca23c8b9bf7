/* SPDX-License-Identifier: Apache-2.0 */
/* Which role a request needs; the interface is in roles.h. A request that has no line here needs
 * the highest (roles.R1). */
#include <stdio.h>
#include <string.h>

#include "daemon/supervisor/roles.h"

static const char *const names[ROLE_N] = {
    [ROLE_OBSERVE] = "observe",         [ROLE_POST] = "post",
    [ROLE_REGISTER] = "register",       [ROLE_LOAD] = "load",
    [ROLE_RECONFIGURE] = "reconfigure",
};

enum {
    OBSERVE = 1 << ROLE_OBSERVE,
    POST = 1 << ROLE_POST,
    REGISTER = 1 << ROLE_REGISTER,
    LOAD = 1 << ROLE_LOAD,
    RECONFIGURE = 1 << ROLE_RECONFIGURE,
};

/* Making a message type known needs `register`; who posts asks for one that is known already: the
 * executor tells the two apart. */
static const struct {
    Odeon__Request__BodyCase body;
    unsigned roles;
} needed[] = {
    { ODEON__REQUEST__BODY_HELLO, 0 },
    { ODEON__REQUEST__BODY_STATUS, OBSERVE },
    { ODEON__REQUEST__BODY_CLIENT_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_CLIENT_SHOW, OBSERVE },
    { ODEON__REQUEST__BODY_USER_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_MEMORY_SHOW, OBSERVE },
    { ODEON__REQUEST__BODY_OBSERVE, OBSERVE },
    { ODEON__REQUEST__BODY_PLUGIN_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_TYPE_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_ACTOR_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_ACTOR_SHOW, OBSERVE },
    { ODEON__REQUEST__BODY_QUEUE_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_TIMER_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_MONITOR_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_GROUP_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_MEMBER_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_MESSAGE_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_MESSAGE_SHOW, OBSERVE },
    { ODEON__REQUEST__BODY_EXECUTOR_SHOW, OBSERVE },
    { ODEON__REQUEST__BODY_DEAD_LETTER_LIST, OBSERVE },
    { ODEON__REQUEST__BODY_DEAD_LETTER_SHOW, RECONFIGURE }, /* what others have written */
    { ODEON__REQUEST__BODY_DEAD_LETTER_REPLAY, RECONFIGURE },
    { ODEON__REQUEST__BODY_DEAD_LETTER_PURGE, RECONFIGURE },
    { ODEON__REQUEST__BODY_TYPE_RELEASE, RECONFIGURE },
    { ODEON__REQUEST__BODY_LOOKUP, OBSERVE | POST },
    { ODEON__REQUEST__BODY_MESSAGE_TYPE_FIND, OBSERVE | POST },
    { ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN, POST | REGISTER },
    { ODEON__REQUEST__BODY_PORT_OPEN, POST },
    { ODEON__REQUEST__BODY_PORT_CLOSE, POST },
    { ODEON__REQUEST__BODY_ACTOR_SEND, POST },
    { ODEON__REQUEST__BODY_PORT_REGISTER, REGISTER },
    { ODEON__REQUEST__BODY_SPAWN, REGISTER },
    { ODEON__REQUEST__BODY_ACTOR_STOP, REGISTER },
    { ODEON__REQUEST__BODY_PLUGIN_LOAD, LOAD },
    { ODEON__REQUEST__BODY_PLUGIN_UNLOAD, LOAD },
    { ODEON__REQUEST__BODY_EXECUTOR_SET, RECONFIGURE },
    { ODEON__REQUEST__BODY_CLIENT_KICK, RECONFIGURE },
};

const char *role_name(enum role role)
{
    return (unsigned)role < ROLE_N ? names[role] : "unknown";
}

const char *roles_describe(unsigned roles, char text[ROLES_TEXT_MAX])
{
    size_t n = 0;

    snprintf(text, ROLES_TEXT_MAX, "none");
    for (unsigned i = 0; i < ROLE_N; i++)
        if (roles & 1U << i)
            n += (size_t)snprintf(text + n, ROLES_TEXT_MAX - n, "%s%s", n ? ", " : "", names[i]);
    return text;
}

unsigned roles_needed(Odeon__Request__BodyCase body)
{
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        if (needed[i].body == body)
            return needed[i].roles;
    return RECONFIGURE;
}
