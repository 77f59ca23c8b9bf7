/* SPDX-License-Identifier: Apache-2.0 */
/* odeond: the supervisor. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "daemon/supervisor/start_delay.h"
#include "daemon/supervisor/supervisor.h"

/* Nobody but a service manager starts again and again.  -EINTR: a stop came instead. */
static int main_wait_before_start(const struct options *options)
{
    unsigned starts;
    int r;

    if (options->foreground || options->check || !getenv("NOTIFY_SOCKET"))
        return 0;
    starts = start_delay_count(options->runtime_dir);
    if (starts > 1)
        sd_notifyf(0, "STATUS=waits: %u starts before this one have failed", starts - 1);
    r = start_delay_wait(starts);
    if (r < 0)
        start_delay_forget(options->runtime_dir);
    return r;
}

/* The end of whoever reads the log, and a limit of file sizes (RLIMIT_FSIZE), are errnos of the
 * calls that meet them: neither ends the service without a line. */
static void main_ignore_signals(void)
{
    static const int ignored[] = { SIGPIPE, SIGXFSZ };
    struct sigaction action = { .sa_handler = SIG_IGN };

    for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        sigaction(ignored[i], &action, NULL);
}

/* A closed stream's number would be that of the next file, and the log would be written into it:
 * into the statistics, or the lock. */
static void main_keep_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", O_RDWR); /* the lowest number that is free is this one */
}

/* A wish to read the configuration again waits for the loop (supervisor.h): it is no death of a
 * service that has not come so far. */
static void main_keep_reloads(void)
{
    sigset_t reloads;

    sigemptyset(&reloads);
    sigaddset(&reloads, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &reloads, NULL);
}

int main(int argc, char **argv)
{
    struct options options;
    char text[OPTIONS_TEXT_MAX];
    int status;

    main_keep_streams();
    main_ignore_signals();
    main_keep_reloads();
    switch (options_parse(&options, argc, argv, text)) {
    case OPTIONS_DONE:
        options_fini(&options);
        if (fflush(stdout) == 0)
            return 0;
        fprintf(stderr, "odeond: cannot write the output: %s\n", strerror(errno));
        return 1;
    case OPTIONS_USAGE:
        if (text[0])
            fprintf(stderr, "odeond: %s\n", text);
        fprintf(stderr, "odeond: try --help\n");
        options_fini(&options);
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    status = main_wait_before_start(&options) < 0 ? 0 : supervisor_run(&options);
    options_fini(&options);
    return status;
}
