/* SPDX-License-Identifier: Apache-2.0 */
/* odeond: the supervisor. */
#include <stdio.h>

#include "daemon/supervisor/supervisor.h"

int main(int argc, char **argv)
{
    struct options options;
    char text[OPTIONS_TEXT_MAX];
    int status;

    switch (options_parse(&options, argc, argv, text)) {
    case OPTIONS_DONE:
        options_fini(&options);
        return fflush(stdout) == 0 ? 0 : 1;
    case OPTIONS_USAGE:
        if (text[0])
            fprintf(stderr, "odeond: %s\n", text);
        fprintf(stderr, "odeond: try --help\n");
        options_fini(&options);
        return 2;
    case OPTIONS_RUN:
        break;
    }
    status = supervisor_run(&options);
    options_fini(&options);
    return status;
}
