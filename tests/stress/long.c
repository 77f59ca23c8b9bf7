/* SPDX-License-Identifier: Apache-2.0 */
/* The long run: settings change every few milliseconds to seconds while numbered messages go
 * between clients, ports that come and go, and actors in all kinds of places. Every receiver checks
 * the numbers of its senders; at the end each station must have seen exactly what was posted
 * through it.
 *
 *     long --bin DIR --plugin FILE [--seconds N] [--seed N] [--kill]
 *
 * --kill: the executor is killed now and then, too; the plugin's state is volatile, so that
 * stations then check what they have seen since their last init, and clients check everything. Exit
 * code: 0 fine, 1 a promise was broken, 2 could not run. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "long.h"
#include "tests/run/scratch.h"

struct long_run long_run = { .seconds = 600 };
static struct walker walkers[LANE_CLIENTS];
static struct odeon_stats *stats;
static pid_t service = -1;
static uint64_t began_ns, told_ns;
static char first_wrong[256]; /* for the last line, which is what a reader of long logs sees */
static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER;

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void nap_us(unsigned us)
{
    struct timespec pause = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };
    nanosleep(&pause, NULL);
}

void say_wrong(char *wrong, size_t size, const char *format, ...)
{
    va_list args;
    if (!wrong[0]) {
        va_start(args, format);
        vsnprintf(wrong, size, format, args);
        va_end(args);
        printf("# wrong after %.1f s: %s\n", (double)(now_ns() - began_ns) / 1e9, wrong);
        pthread_mutex_lock(&telling);
        if (!first_wrong[0])
            snprintf(first_wrong, sizeof(first_wrong), ": %.250s", wrong);
        pthread_mutex_unlock(&telling);
    }
    atomic_store(&long_run.broken, true);
}

bool try_again(int r, uint64_t until_ns)
{
    if (r >= 0 || !long_run.kill || now_ns() > until_ns || atomic_load(&long_run.broken))
        return false;
    nap_us(5000);
    return true;
}

/* ---- the service ---- */

static void become_service(pid_t parent)
{
    char odeond[512], log[128], config[128], workers_max[32], detached[32];
    snprintf(odeond, sizeof(odeond), "%s/odeond", long_run.bin);
    snprintf(log, sizeof(log), "%s/log", long_run.directory);
    snprintf(config, sizeof(config), "%s/conf", long_run.directory);
    snprintf(workers_max, sizeof(workers_max), "workers-max=%d", WORKERS_MAX);
    snprintf(detached, sizeof(detached), "detached=%d", DETACHED);
    if (!freopen(log, "a", stderr) || !freopen(log, "a", stdout) || !freopen(config, "a", stdin) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(2);
    char *const arguments[] = { odeond,
                                (char *)"--foreground",
                                (char *)"--runtime-dir",
                                long_run.directory,
                                (char *)"--config",
                                config,
                                (char *)"--set",
                                (char *)"workers=2",
                                (char *)"--set",
                                workers_max,
                                (char *)"--set",
                                detached,
                                (char *)"--set",
                                (char *)"queues-per-worker=4",
                                (char *)"--set",
                                (char *)"restart-delay-max-ms=1",
                                (char *)"--set",
                                (char *)"affinity=none",
                                (char *)"--plugin",
                                (char *)long_run.plugin,
                                NULL };
    execv(odeond, arguments);
    _exit(2);
}

static void show_log(void)
{
    char command[160];
    snprintf(command, sizeof(command), "tail -n 25 %s/log >&2", long_run.directory);
    if (system(command) != 0)
        fputs("long: no log\n", stderr);
}

/* The wait status of odeond. */
static int clean_up(void)
{
    char command[96];
    int status = 0;
    if (service > 0) {
        kill(service, SIGTERM);
        waitpid(service, &status, 0);
        service = -1;
    }
    if (status)
        show_log();
    snprintf(command, sizeof(command), "rm -rf %s", long_run.directory);
    if (long_run.directory[0] && system(command) != 0)
        fputs("long: could not remove its directory\n", stderr);
    return status;
}

static __attribute__((noreturn)) void cannot(const char *what)
{
    fprintf(stderr, "long: %s: %s\n", what, odeon_error_text());
    show_log();
    clean_up();
    exit(2);
}

static void service_start(void)
{
    struct odeon_stats_service state = { .struct_size = sizeof(state) };
    pid_t parent = getpid();
    strcpy(long_run.directory, "/tmp/odeon-test.long-XXXXXX");
    if (!scratch_make(long_run.directory))
        exit(2);
    snprintf(long_run.socket_path, sizeof(long_run.socket_path), "%s/control.sock",
             long_run.directory);
    snprintf(long_run.stats_path, sizeof(long_run.stats_path), "%s/stats", long_run.directory);
    service = fork();
    if (service == 0)
        become_service(parent);
    for (int i = 0; i < PATIENCE_S * 100 && (odeon_stats_open(long_run.stats_path, &stats) < 0 ||
                                             access(long_run.socket_path, F_OK) != 0);
         i++) {
        stats = odeon_stats_close(stats);
        nap_us(10000);
    }
    for (int i = 0; stats && i < PATIENCE_S * 100 && odeon_stats_service(stats, &state) == 0 &&
                    strcmp(state.state_name, "running") != 0;
         i++)
        nap_us(10000);
    if (!stats || strcmp(state.state_name, "running") != 0)
        cannot("the service does not start");
}

static double counter(const char *name)
{
    for (size_t i = 0; i < odeon_stats_n(stats); i++)
        if (strcmp(odeon_stats_name(stats, i), name) == 0)
            return odeon_stats_value(stats, -1, i);
    fprintf(stderr, "long: no statistic is called %s\n", name);
    exit(2);
}

static struct odeon_stats_service service_state(void)
{
    struct odeon_stats_service state = { .struct_size = sizeof(state) };
    if (odeon_stats_service(stats, &state) < 0)
        cannot("statistics");
    return state;
}

/* ---- stations ---- */

/* All places: half of them anywhere, then pinned, following, detached. */
static void stations_spawn(struct odeon_client *client)
{
    for (unsigned i = 0; i < LANE_STATIONS; i++) {
        struct lane_station_args args = { .peer = i, .forgets = long_run.kill };
        struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                           .worker = ODEON_WORKER_ANY };
        where.where = i < LANE_STATIONS / 2           ? ODEON_WHERE_ANY
                      : i >= LANE_STATIONS - DETACHED ? ODEON_WHERE_DETACHED
                      : i % 2                         ? ODEON_WHERE_PINNED
                                                      : ODEON_WHERE_FOLLOW;
        if (odeon_actor_spawn_at(client, "lane_station", NULL, &args, sizeof(args), &where,
                                 &long_run.stations[i]) < 0)
            cannot("spawn");
    }
}

static bool station_ask(struct odeon_client *client, struct odeon_port *port, unsigned station,
                        struct lane_told *told)
{
    struct odeon_delivery reply;
    uint32_t type;
    if (odeon_message_id(client, odeon_message_of(lane_ask), &type) < 0 ||
        odeon_port_call(port, long_run.stations[station], type, NULL, 0,
                        PATIENCE_S * INT64_C(1000000000), &reply) != ODEON_CALL_REPLY ||
        reply.size != sizeof(*told))
        return false;
    memcpy(told, reply.data, sizeof(*told));
    odeon_port_release(port);
    return true;
}

/* Each station's count, against what the clients know; what was under way when ports were closed is
 * waited for. */
static unsigned stations_check(struct odeon_client *client)
{
    struct odeon_port *port = NULL;
    unsigned wrong = 0;
    uint64_t until = now_ns() + PATIENCE_S * UINT64_C(1000000000);
    if (odeon_port_open(client, NULL, &port) < 0)
        cannot("port");
    for (unsigned i = 0; i < LANE_STATIONS; i++) {
        struct lane_told told = { .hops = 0 };
        uint64_t expected = 0;
        bool asked;
        for (unsigned k = 0; k < LANE_CLIENTS; k++)
            expected += walkers[k].expected[i];
        while ((asked = station_ask(client, port, i, &told)) && !long_run.kill &&
               told.hops < expected && now_ns() < until)
            nap_us(2000);
        if (asked && told.wrong == 0 && told.failed == 0 &&
            (told.hops == expected || long_run.kill))
            continue;
        printf("# station=%u %s expected=%" PRIu64 " seen=%" PRIu64 " wrong=%" PRIu64
               " sends_failed=%" PRIu64 " %s\n",
               i, asked ? "answers" : "does not answer", expected, told.hops, told.wrong,
               told.failed, told.first);
        wrong++;
    }
    odeon_port_close(port);
    return wrong;
}

/* ---- telling ---- */

static void progress(const struct changes *changes)
{
    uint64_t now = now_ns(), interval = long_run.seconds / 10 > 2 ? long_run.seconds / 10 : 2;
    if (now - told_ns < interval * 1000000000)
        return;
    told_ns = now;
    printf("# at=%.0fs changes=%" PRIu64
           " messages=%.0f steals=%.0f visits=%.0f parks=%.0f longest_pause_us=%" PRIu64 "\n",
           (double)(now - began_ns) / 1e9, changes->made, counter("messages_processed"),
           counter("steals"), counter("visits"), counter("parks"),
           changes->pause_longest_ns / 1000);
}

/* What must have happened, or the run has shown nothing; short runs may miss some of it. */
static const char *const needed[] = { "steals",           "sources_moved", "visits",
                                      "follow_moves",     "parks",         "parks_moderate",
                                      "relaxed_timeouts", "wakeups_useful" };

static bool is_lacking(const char *name)
{
    return counter(name) <= 0 && long_run.seconds >= 20;
}

static bool something_is_lacking(void)
{
    bool lacking = false;
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
        lacking |= is_lacking(needed[i]);
    return lacking;
}

static unsigned report(const struct changes *changes)
{
    static const char *const shown[] = { "searches",     "batches_parked", "dead_letters",
                                         "redeliveries", "sends_failed",   "backlog_dropped" };
    unsigned missing = 0;
    printf("# changes=%" PRIu64 " of_workers=%" PRIu64 " refused_busy=%" PRIu64 " paused=%" PRIu64
           " longest_pause_us=%" PRIu64 " mean_pause_us=%" PRIu64 " sources_drawn_anew=%" PRIu64
           " kills=%u\n",
           changes->made, changes->workers_changed, changes->busy, changes->paused,
           changes->pause_longest_ns / 1000,
           changes->paused ? changes->pause_sum_ns / changes->paused / 1000 : 0, changes->moved,
           changes->kills);
    printf("# messages=%.0f", counter("messages_processed"));
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        bool never = is_lacking(needed[i]);
        printf(" %s=%.0f%s", needed[i], counter(needed[i]), never ? "(never hit)" : "");
        missing += never;
    }
    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
        printf(" %s=%.0f", shown[i], counter(shown[i]));
    printf("\n");
    return missing;
}

static unsigned walkers_report(void)
{
    unsigned wrong = 0;
    for (unsigned i = 0; i < LANE_CLIENTS; i++) {
        const struct walker *w = &walkers[i];
        printf("# client=%u posted=%" PRIu64 " returned=%" PRIu64
               " ports=%u closed_at_once=%u under_way_then=%" PRIu64 " stopped_unheard=%u %s\n",
               i, w->all_posted, w->all_received, w->life, w->closed_at_once, w->abandoned,
               w->stopped_unheard, w->wrong[0] ? w->wrong : "consecutive");
        wrong += w->wrong[0] != '\0';
    }
    return wrong;
}

static void parse(int argc, char **argv)
{
    static const struct option known[] = {
        { "bin", required_argument, NULL, 'b' },     { "plugin", required_argument, NULL, 'p' },
        { "seconds", required_argument, NULL, 't' }, { "seed", required_argument, NULL, 's' },
        { "kill", no_argument, NULL, 'k' },          { NULL, 0, NULL, 0 },
    };
    long_run.seed = (unsigned)now_ns();
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'b':
            long_run.bin = optarg;
            break;
        case 'p':
            long_run.plugin = optarg;
            break;
        case 't':
            long_run.seconds = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 's':
            long_run.seed = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'k':
            long_run.kill = true;
            break;
        default:
            exit(2);
        }
    }
    if (!long_run.bin || !long_run.plugin || long_run.seconds == 0) {
        fputs("usage: long --bin DIR --plugin FILE [--seconds N] [--seed N] [--kill]\n", stderr);
        exit(2);
    }
}

/* The run itself: walkers, changes, kills. */
static void run(struct changes *changes, struct odeon_client *client)
{
    pthread_t killer;
    for (unsigned i = 0; i < LANE_CLIENTS; i++)
        walker_prepare(&walkers[i], i, long_run.seed);
    for (unsigned i = 0; i < LANE_CLIENTS; i++)
        pthread_create(&walkers[i].thread, NULL, walker_main, &walkers[i]);
    if (long_run.kill)
        pthread_create(&killer, NULL, kills_main, changes);
    changes_make(changes, client, began_ns + long_run.seconds * UINT64_C(1000000000), progress);
    /* a slow machine, or luck: it gets more time, until the patience is used up */
    for (uint64_t until = now_ns() + PATIENCE_S * UINT64_C(1000000000);
         something_is_lacking() && now_ns() < until && !atomic_load(&long_run.broken);)
        changes_make(changes, client, now_ns() + long_run.seconds * UINT64_C(1000000000), progress);
    atomic_store(&long_run.stop, true);
    if (long_run.kill)
        pthread_join(killer, NULL);
    for (unsigned i = 0; i < LANE_CLIENTS; i++)
        pthread_join(walkers[i].thread, NULL);
}

int main(int argc, char **argv)
{
    static struct changes changes;
    struct odeon_client *client = NULL;
    parse(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    service_start();
    printf("# seed=%u seconds=%u clients=%d stations=%d workers_max=%d%s\n", long_run.seed,
           long_run.seconds, LANE_CLIENTS, LANE_STATIONS, WORKERS_MAX,
           long_run.kill ? " with kills" : "");
    if (odeon_client_connect(long_run.socket_path, "long", &client) < 0)
        cannot("connect");
    stations_spawn(client);
    uint64_t boots = service_state().boots;
    began_ns = told_ns = now_ns();
    run(&changes, client);
    unsigned wrong = changes.wrong[0] != '\0';
    wrong += walkers_report() + stations_check(client);
    unsigned missing = report(&changes);
    uint64_t deaths = service_state().boots - boots - changes.kills;
    if (deaths)
        printf("# the executor has died %" PRIu64 " times by itself\n", deaths);
    wrong += deaths != 0 || atomic_load(&long_run.broken);
    if (wrong)
        show_log();
    for (unsigned i = 0; i < LANE_CLIENTS; i++)
        odeon_client_disconnect(walkers[i].client);
    odeon_client_disconnect(client);
    odeon_stats_close(stats);
    int status = clean_up();
    if (status)
        printf("# odeond ended with status %#x\n", (unsigned)status);
    wrong += status != 0;
    printf("long: %s%s\n",
           wrong     ? "BROKEN"
           : missing ? "incomplete: not everything was hit"
                     : "ok",
           first_wrong);
    return wrong || missing ? 1 : 0;
}
