/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/exporter.h"

#include <assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "client-lib/exporter/door.h"
#include "client-lib/exporter/options.h"
#include "client-lib/exporter/web.h"

enum {
    EXPORTER_MEMORY = 16 << 10, /* bytes of a connection, its headers included */
    EXPORTER_SPARE = 4,         /* connections that are being closed */
};

struct exporter {
    struct options options;
    struct guard guard;
    char inherited[DOOR_LISTENERS][DOOR_WHERE]; /* addresses */
    struct figures figures;
    struct observed observed;
    struct asked asked;
    struct tally tally;
    struct door door;
    struct web web;
    int signals;
};

/* ---- the parts ---- */

static int exporter_fail(const char *why)
{
    fprintf(stderr, "odeon-exporter: %s\n", why);
    return -1;
}

static_assert((int)OPTIONS_HOSTS + (int)OPTIONS_LISTEN + (int)DOOR_LISTENERS <= (int)GUARD_HOSTS,
              "room for names");

/* Where the service manager listens, nobody else says: an address is no name that somebody could
 * lead elsewhere. */
static void exporter_answer_to_inherited(struct exporter *exporter)
{
    struct guard *guard = &exporter->guard;

    for (size_t i = 0; i < exporter->door.n_listeners; i++)
        guard->hosts[guard->n_hosts++] = door_where(&exporter->door, i, exporter->inherited[i]);
}

static int exporter_open_doors(struct exporter *exporter)
{
    const struct options *o = &exporter->options;
    char why[512], where[DOOR_WHERE];
    int n = door_inherit(&exporter->door, why, sizeof(why));

    if (n < 0)
        return exporter_fail(why);
    exporter_answer_to_inherited(exporter);
    for (size_t i = 0; i < o->n_listen; i++)
        if (door_listen(&exporter->door, o->listen[i], why, sizeof(why)) < 0)
            return exporter_fail(why);
    if (n == 0 && o->n_listen == 0 &&
        door_listen(&exporter->door, OPTIONS_LISTEN_DEFAULT, why, sizeof(why)) < 0)
        return exporter_fail(why);
    for (size_t i = 0; i < exporter->door.n_listeners; i++)
        fprintf(stderr, "odeon-exporter: listening on %s\n", door_where(&exporter->door, i, where));
    return 0;
}

static int exporter_make_guard(struct exporter *exporter)
{
    const struct options *o = &exporter->options;
    char why[512];

    for (size_t i = 0; i < o->n_hosts; i++)
        exporter->guard.hosts[exporter->guard.n_hosts++] = o->hosts[i];
    for (size_t i = 0; i < o->n_listen; i++) /* addresses, as above */
        exporter->guard.hosts[exporter->guard.n_hosts++] = o->listen[i];
    if (o->token_file && guard_read_token(&exporter->guard, o->token_file, why, sizeof(why)) < 0)
        return exporter_fail(why);
    return 0;
}

static int exporter_make_signals(struct exporter *exporter)
{
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    exporter->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return exporter->signals < 0 ? exporter_fail("there is no descriptor for signals") : 0;
}

static int exporter_make_web(struct exporter *exporter)
{
    exporter->web = (struct web){ .guard = &exporter->guard,
                                  .figures = &exporter->figures,
                                  .observed = &exporter->observed,
                                  .door = &exporter->door,
                                  .asked = &exporter->asked,
                                  .tally = &exporter->tally };
    exporter->door.daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, web_handle, &exporter->web,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(DOOR_CONNECTIONS + EXPORTER_SPARE),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)EXPORTER_MEMORY, MHD_OPTION_NOTIFY_CONNECTION,
        door_notify, &exporter->door, MHD_OPTION_NOTIFY_COMPLETED, web_completed, &exporter->web,
        MHD_OPTION_END);
    return exporter->door.daemon ? 0 : exporter_fail("libmicrohttpd does not start");
}

/* Nobody waits for a service that does not answer, not even the end. */
static int exporter_make_observed(struct exporter *exporter)
{
    if (exporter->guard.token[0] == '\0')
        return 0;
    if (setenv("ODEON_TIMEOUT_MS", "2000", 0) < 0 ||
        observed_init(&exporter->observed, exporter->options.socket) < 0)
        return exporter_fail("there is no thread to ask the service with");
    asked_init(&exporter->asked, exporter->options.socket, exporter->observed.helper);
    if (figures_look(&exporter->figures) == 0)
        (void)observed_look(&exporter->observed, exporter->figures.service.supervisor_pid);
    return 0;
}

/* ---- the loop ---- */

static int exporter_timeout_ms(struct exporter *exporter, uint64_t deadline_ns)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;
    uint64_t left = UINT64_MAX;
    struct timespec now;

    if (deadline_ns != UINT64_MAX) {
        uint64_t ns;

        clock_gettime(CLOCK_MONOTONIC, &now);
        ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
        left = deadline_ns > ns ? (deadline_ns - ns) / 1000000 + 1 : 0;
    }
    if (MHD_get_timeout(exporter->door.daemon, &ms) == MHD_YES && ms < left)
        left = ms;
    return left == UINT64_MAX ? -1 : left > 60000 ? 60000 : (int)left;
}

static void exporter_loop(struct exporter *exporter)
{
    struct pollfd fds[DOOR_LISTENERS + 3];
    struct door *door = &exporter->door;
    nfds_t n = 0;

    for (size_t i = 0; i < door->n_listeners; i++)
        fds[n++] = (struct pollfd){ .fd = door->listeners[i], .events = POLLIN };
    fds[n++] = (struct pollfd){
        .fd = MHD_get_daemon_info(door->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
        .events = POLLIN,
    };
    fds[n++] = (struct pollfd){ .fd = observed_fd(&exporter->observed), .events = POLLIN };
    fds[n++] = (struct pollfd){ .fd = exporter->signals, .events = POLLIN };
    while (!fds[n - 1].revents) {
        uint64_t deadline = door_end_late(door);

        (void)poll(fds, n, exporter_timeout_ms(exporter, deadline));
        for (size_t i = 0; i < door->n_listeners; i++)
            if (fds[i].revents)
                door_accept(door, i);
        MHD_run(door->daemon);
        observed_dispatch(&exporter->observed);
    }
}

int exporter_main(int argc, char **argv)
{
    static struct exporter exporter;
    int status;

    if (options_parse(&exporter.options, argc, argv, &status))
        return status;
    door_init(&exporter.door, &exporter.tally);
    figures_init(&exporter.figures, exporter.options.stats);
    status = 1;
    if (exporter_make_guard(&exporter) == 0 && exporter_make_signals(&exporter) == 0 &&
        exporter_make_web(&exporter) == 0 && exporter_make_observed(&exporter) == 0 &&
        exporter_open_doors(&exporter) == 0) {
        (void)sd_notify(0, "READY=1");
        exporter_loop(&exporter);
        (void)sd_notify(0, "STOPPING=1");
        status = 0;
    }
    if (exporter.door.daemon)
        MHD_stop_daemon(exporter.door.daemon);
    door_fini(&exporter.door);
    observed_fini(&exporter.observed);
    asked_fini(&exporter.asked);
    figures_fini(&exporter.figures);
    return status;
}
