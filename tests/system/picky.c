/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of test_restart.c, which refuses to be loaded while there is the file that the environment
 * names. One that cannot be read goes with the first refusal, and odeond stands still behind it. */
#include "tests/system/picky.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <odeon/plugin.h>

ODEON_STATELESS(picky);

ODEON_RECEIVE(picky, picky_ping)
{
    odeon_reply_signal(ctx, picky_ping);
    return ODEON_NODELETE;
}

ODEON_PLUGIN_INIT(host)
{
    const char *file = getenv("PICKY_FILE");
    struct stat about;

    if (!file || stat(file, &about) < 0)
        return 0;
    if ((about.st_mode & 0777) == 0 && kill(getppid(), SIGSTOP) == 0)
        (void)unlink(file);
    return -1;
}

ODEON_HANDLERS(picky, ODEON_ON(picky, picky_ping));
ODEON_ACTOR_TYPE(picky);
ODEON_PLUGIN("picky", "1.0.0", ODEON_TYPE(picky));
