/* SPDX-License-Identifier: Apache-2.0 */
/* The soak: clients, actors with kept states that do bank transfers, and kills of everybody at
 * random (soak.h); then the books.
 *
 *     soak [--seconds N] [--seed N] [--spare-supervisor] [--executor FILE] [--sanitized]
 *
 * --spare-supervisor: odeond is not killed. --executor: another one than this build's, for seeded
 * bugs. --sanitized: memory and mappings are a sanitizer's, and told only. The last line is
 * `soak=ok …` or `soak=BROKEN …`. Exit code: 0 fine, 1 a promise was broken or too little was hit,
 * 2 could not run. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/soak/measure.h"
#include "tests/soak/processes.h"
#include "tests/soak/soak.h"
#include "tests/system/manager.h"

enum { WARM_UP_MS = 1000, REDELIVERIES = 32 /* at least, or the run goes on for longer */ };

/* clang-format off */
#define SOAK_SETTINGS                                                                              \
    "--set", "workers=2", "--set", "workers-max=4", "--set", "queues-per-worker=4",                \
        "--set", "actors=4096", "--set", "affinity=none", "--set", "restart-delay-max-ms=1",       \
        "--set", "drain-timeout-ms=300", "--plugin", SOAK_BANK
/* clang-format on */

static struct options {
    unsigned seconds;
    uint64_t seed;
    bool spare_supervisor, sanitized;
    const char *executor;
} options = { .seconds = 600 };

static struct soak_shared *shared;
static int shared_fd;
static struct manager *manager;
static struct service *service;
static struct odeon_client *client; /* the driver's own */
static pid_t clients[BANK_CLIENTS];
static struct soak_kills kills;
static struct soak_changes changes;
static int64_t began_ns;

static __attribute__((noreturn)) void cannot(const char *what)
{
    fprintf(stderr, "soak: %s: %s\n", what, odeon_error_text());
    exit(2);
}

static void say_wrong(const char *what)
{
    printf("# wrong after %.1f s: %s\n", (double)(time_ns() - began_ns) / 1e9, what);
    atomic_store(&shared->broken, true);
}

/* ---- the bank ---- */

/* An executor with injection points may die in the middle: what it has made then is nobody's, and
 * stays. */
static odeon_ref make(const char *type, const void *args, size_t size)
{
    odeon_ref ref;
    int64_t end = time_ns() + SECONDS(PATIENCE_S);
    while (odeon_actor_spawn(client, type, NULL, args, size, &ref) < 0)
        if (time_ns() > end)
            cannot(type);
    return ref;
}

static void make_bank(void)
{
    for (uint32_t i = 0; i < BANK_ACCOUNTS; i++)
        shared->accounts[i] =
            make("bank_account", &(struct bank_args){ .balance = BANK_INITIAL, .index = i },
                 sizeof(struct bank_args));
    for (uint32_t i = 0; i < BANK_TELLERS; i++)
        shared->tellers[i] =
            make("bank_teller", &(struct bank_args){ .index = i }, sizeof(struct bank_args));
    for (uint32_t i = 0; i < BANK_LANES; i++) {
        unsigned n = BANK_FORWARDERS / BANK_LANES + (i < BANK_FORWARDERS % BANK_LANES);
        shared->lanes[i] = shared->recorders[i] = make("bank_recorder", NULL, 0);
        for (; n > 0; n--)
            shared->lanes[i] = make("bank_forwarder", &shared->lanes[i], sizeof(odeon_ref));
    }
}

/* ---- clients ---- */

static void client_start(unsigned index)
{
    clients[index] = soak_client_start("soak-client", index, shared_fd, SOAK_SHARED_FD);
    if (clients[index] < 0)
        cannot("fork");
}

/* A client that was killed begins its next life.  How many are still there. */
static unsigned clients_turn(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < BANK_CLIENTS; i++) {
        int status;
        if (clients[i] == 0 || waitpid(clients[i], &status, WNOHANG) == 0) {
            n += clients[i] != 0;
            continue;
        }
        clients[i] = 0;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !atomic_load(&shared->broken)) {
            client_start(i);
            n++;
        } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            char what[320];
            snprintf(what, sizeof(what), "client %u ended with status %#x: %s", i, (unsigned)status,
                     shared->books[i].wrong);
            say_wrong(what);
        }
    }
    return n;
}

static void clients_start(void)
{
    atomic_store(&shared->stop, false);
    for (unsigned i = 0; i < BANK_CLIENTS; i++)
        client_start(i);
}

/* All that is under way comes back, and they end. */
static void clients_stop(void)
{
    int64_t end = time_ns() + SECONDS(2 * PATIENCE_S);
    atomic_store(&shared->stop, true);
    while (clients_turn() > 0) {
        if (time_ns() > end) {
            say_wrong("clients do not end");
            break;
        }
        pause_briefly();
    }
}

static uint64_t received(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < BANK_CLIENTS; i++)
        n += atomic_load(&shared->books[i].receipts) + atomic_load(&shared->books[i].hops);
    return n;
}

/* ---- the run ---- */

/* As many as at the start; each more than that has mappings of its own. */
static void set_workers(const char *number)
{
    const char *const key = "workers";
    int64_t end = time_ns() + SECONDS(PATIENCE_S);
    while (odeon_executor_set(client, &key, &number, 1, NULL) < 0) {
        if (time_ns() > end)
            cannot("setting workers");
        pause_briefly();
    }
}

static struct soak_measure measure(uint64_t accounts_at_first)
{
    struct soak_measure measured;
    set_workers("2");
    if (!soak_measure_quiet(service, client, manager_pid(manager), accounts_at_first, &measured))
        say_wrong("the service does not become quiet");
    return measured;
}

static void let_run(int64_t end_ns)
{
    while (time_ns() < end_ns && !atomic_load(&shared->broken)) {
        clients_turn();
        pause_briefly();
    }
}

/* Kills, traffic, all workers, and nobody there any more: what the end is compared with. */
static struct soak_measure warm_up(void)
{
    struct odeon_stats_service state;
    clients_start();
    let_run(time_ns() + MILLISECONDS(WARM_UP_MS));
    if (!soak_state(service, &state) ||
        !soak_kill_child((pid_t)state.executor_pid, manager_pid(manager)))
        say_wrong("there is no executor to kill");
    if (!options.spare_supervisor)
        manager_kill(manager);
    set_workers("4");
    let_run(time_ns() + MILLISECONDS(WARM_UP_MS));
    clients_stop();
    return measure(SOAK_ANY_ACCOUNTS);
}

/* More than these must have been made, or the run has shown nothing; in the short one of the test
 * run, on a machine under load, less: more than 1,000 in ten minutes. */
static uint64_t kills_needed(void)
{
    return options.seconds >= 120 ? options.seconds * UINT64_C(5) / 3 : options.seconds / 4;
}

/* Messages that recoveries have given out again. */
static double redeliveries(void)
{
    struct odeon_stats *stats = NULL;
    double n = 0;
    if (odeon_stats_open(service->stats, &stats) == 0)
        for (size_t i = 0; i < odeon_stats_n(stats); i++)
            if (strcmp(odeon_stats_name(stats, i), "redeliveries") == 0)
                n = odeon_stats_value(stats, -1, i);
    odeon_stats_close(stats);
    return n;
}

/* Kills that found handlers running, so many that some were the bank's: where workers get little of
 * a processor there are few. */
static bool has_shown_enough(double redeliveries_before)
{
    return kills.signals > kills_needed() &&
           (options.seconds < 30 || redeliveries() - redeliveries_before >= REDELIVERIES);
}

static void run(void)
{
    pthread_t changer;
    int64_t end = began_ns + SECONDS(options.seconds), told = began_ns,
            interval = SECONDS(options.seconds / 10 > 5 ? options.seconds / 10 : 5);
    uint64_t signals = 0;
    double redelivered = redeliveries();
    clients_start();
    changes = (struct soak_changes){ .shared = shared, .seed = options.seed + 1 };
    pthread_create(&changer, NULL, soak_changes_main, &changes);
    /* on a machine under load longer, until it has shown something or the patience is used up */
    while ((time_ns() < end ||
            (!has_shown_enough(redelivered) && time_ns() < end + SECONDS(PATIENCE_S))) &&
           !atomic_load(&shared->broken)) {
        clients_turn();
        soak_kills_turn(&kills, service, manager, clients);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        if (time_ns() - told < interval)
            continue;
        told = time_ns();
        printf("# at=%.0fs kills=%" PRIu64 " (+%" PRIu64 ") received=%" PRIu64 " changes=%" PRIu64
               "\n",
               (double)(told - began_ns) / 1e9, kills.signals, kills.signals - signals, received(),
               changes.made);
        signals = kills.signals;
    }
    clients_stop();
    pthread_join(changer, NULL);
    if (changes.wrong[0])
        say_wrong(changes.wrong);
}

/* Nobody has died, or ended badly, who was not meant to. */
static void look_for_others_deaths(unsigned starts_before)
{
    char what[160];
    unsigned deaths = service_log_count(service, "the executor has died: "),
             by_kill = service_log_count(service, "the executor has died: signal 9 ");
    unsigned starts = manager_starts(manager) - starts_before;
    if (deaths != by_kill) {
        snprintf(what, sizeof(what), "the executor has died %u times by itself", deaths - by_kill);
        say_wrong(what);
    }
    if (starts > kills.supervisors) {
        snprintf(what, sizeof(what),
                 "the supervisor has died %u times by itself (%u crashes, %u other failures; else "
                 "somebody has killed it)",
                 starts - (unsigned)kills.supervisors, manager_crashes(manager),
                 manager_failures(manager));
        say_wrong(what);
    }
    if (kills.bad_ends) {
        snprintf(what, sizeof(what),
                 "the supervisor did not end well when it was asked to, %" PRIu64
                 " times: status %#x",
                 kills.bad_ends, (unsigned)kills.bad_status);
        say_wrong(what);
    }
}

/* ---- the report ---- */

/* What must have been hit, or the run has shown nothing. */
static unsigned missing(const struct soak_verdict *verdict)
{
    unsigned n = 0;
    bool is_long = options.seconds >= 120;
    uint64_t needed = kills_needed();
    for (int victim = 0; victim < SOAK_VICTIMS_N; victim++)
        if (kills.made[victim] == 0 && is_long && (kills.supervisor || victim < SOAK_SUPERVISOR)) {
            printf("# never hit: %s\n", soak_victim_name((enum soak_victim)victim));
            n++;
        }
    if (kills.signals <= needed) {
        printf("# %" PRIu64 " kills, more than %" PRIu64 " were wanted\n", kills.signals, needed);
        n++;
    }
    if (options.seconds >= 30 && verdict->runs_again == 0) {
        printf("# nothing was run again\n");
        n++;
    }
    return n;
}

static unsigned report(const struct soak_measure *base, const struct soak_measure *end)
{
    struct soak_verdict verdict;
    uint64_t lives = 0, was_there = 0, was_not = 0;
    struct odeon_stats_service state;
    int r = soak_books_judge(shared, client, &verdict);
    if (r < 0)
        say_wrong("an actor does not answer at the end");
    for (unsigned i = 0; i < BANK_CLIENTS; i++) {
        lives += atomic_load(&shared->books[i].lives);
        was_there += atomic_load(&shared->books[i].was_there);
        was_not += atomic_load(&shared->books[i].was_not);
        if (shared->books[i].wrong[0])
            printf("# client %u: %s\n", i, shared->books[i].wrong);
    }
    printf("# kills=%" PRIu64, kills.signals);
    for (int victim = 0; victim < SOAK_VICTIMS_N; victim++)
        printf(" %s=%" PRIu64, soak_victim_name((enum soak_victim)victim), kills.made[victim]);
    printf(" starts_of_the_executor=%" PRIu64, soak_state(service, &state) ? state.boots : 0);
    printf("\n# lives of clients=%" PRIu64 ", numbers in doubt: %" PRIu64 " were there, %" PRIu64
           " were not; changes of settings=%" PRIu64 ", refused or interrupted=%" PRIu64 "\n",
           lives, was_there, was_not, changes.made, changes.failed);
    printf("# transfers=%" PRIu64 " entries=%" PRIu64 " hops=%" PRIu64
           " messages that were run again=%" PRIu64 "\n",
           verdict.transfers, verdict.entries, verdict.hops, verdict.runs_again);
    printf("# sum=%" PRId64 " expected=%" PRId64 "%s%s\n", verdict.sum, verdict.sum_expected,
           verdict.first[0] ? "; first wrong: " : "", verdict.first);
    unsigned grown = soak_measure_compare(base, end, !options.sanitized);
    bool broken = r < 0 || verdict.first[0] || verdict.accounts_wrong ||
                  verdict.sum != verdict.sum_expected || grown || atomic_load(&shared->broken);
    unsigned lacking = broken ? 0 : missing(&verdict);
    printf("soak=%s seed=%" PRIu64 " seconds=%u clients=%d actors=%d kept=%d kills=%" PRIu64
           " transfers=%" PRIu64 " hops=%" PRIu64 " lost=%" PRIu64 " doubled=%" PRIu64
           " wrong_numbers=%" PRIu64 " accounts_wrong=%" PRIu64 " sum_conserved=%s base_line=%s\n",
           broken    ? "BROKEN"
           : lacking ? "incomplete"
                     : "ok",
           options.seed, options.seconds, BANK_CLIENTS, BANK_ACTORS, BANK_ACTORS - BANK_FORWARDERS,
           kills.signals, verdict.transfers, verdict.hops, verdict.lost, verdict.doubled,
           verdict.wrong, verdict.accounts_wrong,
           verdict.sum == verdict.sum_expected ? "yes" : "NO", grown ? "NOT-REACHED" : "reached");
    return broken || lacking;
}

static void parse(int argc, char **argv)
{
    static const struct option known[] = {
        { "seconds", required_argument, NULL, 't' },
        { "seed", required_argument, NULL, 's' },
        { "spare-supervisor", no_argument, NULL, 'S' },
        { "executor", required_argument, NULL, 'e' },
        { "sanitized", no_argument, NULL, 'z' },
        { NULL, 0, NULL, 0 },
    };
    options.seed = (uint64_t)time_ns() & 0xffffffff;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 't':
            options.seconds = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 's':
            options.seed = strtoull(optarg, NULL, 10);
            break;
        case 'S':
            options.spare_supervisor = true;
            break;
        case 'e':
            options.executor = optarg;
            break;
        case 'z':
            options.sanitized = true;
            break;
        default:
            exit(2);
        }
    }
    if (options.seconds == 0 || optind != argc) {
        fputs("usage: soak [--seconds N] [--seed N] [--spare-supervisor] [--executor FILE] "
              "[--sanitized]\n",
              stderr);
        exit(2);
    }
}

static void share(int fd)
{
    shared_fd = fd;
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || shared == MAP_FAILED)
        exit(2);
}

int main(int argc, char **argv)
{
    const char *words[24] = { SOAK_SETTINGS };
    if (argc == 3 && strcmp(argv[1], "--client") == 0) {
        share(SOAK_SHARED_FD);
        return soak_client(shared, (unsigned)strtoul(argv[2], NULL, 10) % BANK_CLIENTS);
    }
    parse(argc, argv);
    for (size_t n = 0; options.executor; n++)
        if (!words[n]) {
            words[n] = "--executor";
            words[n + 1] = options.executor;
            break;
        }
    setvbuf(stdout, NULL, _IOLBF, 0);
    int fd = memfd_create("soak", MFD_CLOEXEC);
    if (ftruncate(fd, sizeof(*shared)) < 0)
        return 2;
    share(fd);
    began_ns = time_ns();
    manager = manager_start(&(struct manager_options){ .arguments = words });
    service = manager_service(manager);
    manager_wait_ready(manager);
    client = service_connect(service, "soak");
    snprintf(shared->socket, sizeof(shared->socket), "%s", service->socket);
    shared->seed = options.seed;
    kills = (struct soak_kills){ .seed = options.seed, .supervisor = !options.spare_supervisor };
    make_bank();
    printf("# seed=%" PRIu64
           " seconds=%u clients=%d actors=%d (%d with kept states) killed: executor, clients%s\n",
           options.seed, options.seconds, BANK_CLIENTS, BANK_ACTORS, BANK_ACTORS - BANK_FORWARDERS,
           options.spare_supervisor ? "" : ", supervisor");
    struct soak_measure base = warm_up();
    unsigned starts = manager_starts(manager);
    began_ns = time_ns();
    run();
    struct soak_measure end = measure(base.accounts);
    look_for_others_deaths(starts);
    unsigned failed = report(&base, &end);
    odeon_client_disconnect(client);
    if (failed) {
        char *log = service_read_log(service);
        size_t n = strlen(log), shown = 8000;
        fprintf(stderr, "--- the end of the log of odeond\n%s---\n",
                n > shown ? log + n - shown : log);
        free(log);
    } else if (manager_stop(manager) != 0) {
        puts("# odeond did not end well");
        failed = 1;
    }
    manager_end(manager);
    return failed ? 1 : 0;
}
