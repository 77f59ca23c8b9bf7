/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: a server of users' names that does not answer while the file is there that
 * SLOW_NAMES names. What looks up a name then waits, as it does behind a network that is gone. */
#include <dlfcn.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

struct passwd *getpwnam(const char *name)
{
    static struct passwd *(*real)(const char *);
    const char *path = getenv("SLOW_NAMES");

    while (path && access(path, F_OK) == 0)
        usleep(1000);
    if (!real)
        real = (struct passwd * (*)(const char *)) dlsym(RTLD_NEXT, "getpwnam");
    return real ? real(name) : NULL;
}
