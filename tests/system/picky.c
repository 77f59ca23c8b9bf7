/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of test_restart.c, which refuses to be loaded while there is the file that the environment
 * names. */
#include <odeon/plugin.h>
#include <stdlib.h>
#include <unistd.h>

ODEON_SIGNAL(picky_ping, 1);
ODEON_INTERFACE(picky, picky_ping);
ODEON_STATELESS(picky);

ODEON_RECEIVE(picky, picky_ping)
{
    return ODEON_NODELETE;
}

ODEON_PLUGIN_INIT(host)
{
    const char *file = getenv("PICKY_FILE");

    return file && access(file, F_OK) == 0 ? -1 : 0;
}

ODEON_HANDLERS(picky, ODEON_ON(picky, picky_ping));
ODEON_ACTOR_TYPE(picky);
ODEON_PLUGIN("picky", "1.0.0", ODEON_TYPE(picky));
