/* SPDX-License-Identifier: Apache-2.0 */
/* Crash points (crash_point.h): compiled into test builds only. */
#include "daemon/supervisor/crash_point.h"

#ifdef ODEON_CRASH_POINTS

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void crash_point_passed(void)
{
    static long passed;
    const char *at = getenv("ODEON_CRASH_AT");

    if (at && ++passed == strtol(at, NULL, 10))
        for (;;)
            kill(getpid(), SIGKILL);
}

#else
typedef int crash_point_not_compiled_in; /* ISO C wants something in a file */
#endif
