/* SPDX-License-Identifier: Apache-2.0 */
/* Roles: what one may ask for (docs/access.md).  Who has them is access.h's.
 *
 * roles.R1  A request that the table does not list needs the highest role.
 */
#pragma once

#include "proto/control.pb-c.h"

enum role {
    ROLE_OBSERVE,     /* look at everything */
    ROLE_POST,        /* open ports, look up actors, send */
    ROLE_REGISTER,    /* spawn and stop actors, make message types known */
    ROLE_LOAD,        /* bring code into the service, and take it out */
    ROLE_RECONFIGURE, /* change settings, throw out clients */
    ROLE_N
};
enum { ROLES_ALL = (1 << ROLE_N) - 1, ROLES_TEXT_MAX = 64 };

const char *role_name(enum role role);
/* "observe, post"; "none". */
const char *roles_describe(unsigned roles, char text[ROLES_TEXT_MAX]);
/* The roles of which one is needed, as a set; 0: everybody who is connected may. */
unsigned roles_needed(Odeon__Request__BodyCase body);
