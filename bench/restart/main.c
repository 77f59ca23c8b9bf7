/* SPDX-License-Identifier: Apache-2.0 */
/* bench/restart: how long a million queued messages wait when the executor is killed.
 *
 *   odeon-bench-restart ODEOND [ROUNDS [MESSAGES]]
 *
 * Starts a service of its own in a private folder. An actor holds its worker in its first message
 * while the others are queued behind it; then the executor gets SIGKILL and the gate is opened for
 * its successor. Prints, of all rounds:
 *
 *   bench=restart queued=N rounds=R kill_to_first_ms=MEDIAN kill_to_first_max_ms=MAX
 *   recovered_ms=MEDIAN recovered_max_ms=MAX target_ms=100
 *
 * first: the first message is being handled; recovered: the service says that it runs. Before that
 * a line of each round, and the medians of what the time until the first message was spent on,
 * which add up to it in a round:
 *
 *   bench=restart_steps notice_ms= fork_ms= enter_ms= place_ms= map_ms= verify_ms= recover_ms=
 *   load_ms= first_ms=
 *
 * notice: the kernel takes the old process apart, odeond hears of it; fork: the new process, up to
 * its program; enter: libraries; place: settings, processors; map: segment, tables; verify: ports,
 * and whether the segment can be believed; recover; load: plugins; first: workers, the message.
 */
#include "gate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <odeon/admin.h>
#include <odeon/stats.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 100, PATIENCE_S = 300 };
#define SETTLED_NS UINT64_C(1200000000)

enum file { PAGE, SOCKET, STATS, LOCK, LOG, FILES };
static const char *const file_names[FILES] = { "page", "control.sock", "stats", "lock", "log" };

static char folder[128], paths[FILES][160];
static pid_t service;
static const int endings[] = { SIGINT, SIGTERM, SIGHUP };
static struct gate_page *page;

static uint64_t main_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void main_pause_us(long us)
{
    nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static sigset_t main_endings(void)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        sigaddset(&set, endings[i]);
    return set;
}

/* Nothing is left behind, whatever happens. It runs in handlers of signals, too. */
static void main_clean_up(void)
{
    if (service > 0) {
        kill(service, SIGTERM);
        while (waitpid(service, NULL, 0) < 0 && errno == EINTR)
            ;
        service = 0;
    }
    for (unsigned i = 0; i < FILES; i++)
        (void)unlink(paths[i]);
    (void)rmdir(folder);
}

static void main_at_exit(void)
{
    sigset_t set = main_endings();

    sigprocmask(SIG_BLOCK, &set, NULL); /* a handler would do the same once more */
    main_clean_up();
}

/* The signal's default action comes when the handler has returned: who waits for this process sees
 * how it has ended. */
static void main_on_ending(int signal)
{
    int error = errno;

    main_clean_up();
    raise(signal);
    errno = error;
}

static void main_endings_catch(void)
{
    struct sigaction catch = { .sa_handler = main_on_ending, .sa_flags = (int)SA_RESETHAND }, old;

    catch.sa_mask = main_endings();
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        if (sigaction(endings[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(endings[i], &catch, NULL);
}

static _Noreturn void main_give_up(const char *what)
{
    fprintf(stderr, "bench/restart: %s: %s\n", what, odeon_error_text());
    exit(EXIT_FAILURE);
}

static void main_folder_make(void)
{
    const char *base = getenv("TMPDIR");
    int fd;

    snprintf(folder, sizeof(folder), "%.90s/odeon-restart-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder)) {
        perror("bench/restart");
        exit(EXIT_FAILURE);
    }
    for (unsigned i = 0; i < FILES; i++)
        snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder, file_names[i]);
    atexit(main_at_exit);
    main_endings_catch();
    fd = open(paths[PAGE], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*page)) < 0)
        main_give_up("the page");
    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        main_give_up("the page");
    close(fd);
}

/* odeond, in a child whose parent is this process; it ends with that, however that ends. */
static _Noreturn void main_service_run(char *odeond, pid_t parent)
{
    char runtime[160];
    char *const arguments[] = { odeond,
                                (char *)"--foreground",
                                runtime,
                                (char *)"--set",
                                (char *)"workers=2",
                                (char *)"--set",
                                (char *)"stall-warn-ms=0",
                                (char *)"--set",
                                (char *)"drain-timeout-ms=100",
                                NULL };
    sigset_t set = main_endings();
    int fd = open(paths[LOG], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    snprintf(runtime, sizeof(runtime), "--runtime-dir=%s", folder);
    if (fd >= 0)
        dup2(fd, STDERR_FILENO);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
        signal(endings[i], SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent)
        execv(odeond, arguments);
    _exit(127);
}

static void main_service_start(char *odeond)
{
    sigset_t set = main_endings(), old;
    pid_t parent = getpid();

    sigprocmask(SIG_BLOCK, &set, &old); /* a handler knows the service, or there is none */
    service = fork();
    if (service == 0)
        main_service_run(odeond, parent);
    sigprocmask(SIG_SETMASK, &old, NULL);
    if (service < 0)
        main_give_up("no process for the service");
}

static struct odeon_client *main_service_connect(void)
{
    struct odeon_client *client = NULL;

    for (uint64_t end = main_now_ns() + PATIENCE_S * UINT64_C(1000000000); main_now_ns() < end;
         main_pause_us(5000))
        if (odeon_client_connect(paths[SOCKET], "bench-restart", &client) == 0)
            return client;
    main_give_up("the service does not come up");
}

static struct odeon_stats_service main_service_look(struct odeon_stats *stats)
{
    struct odeon_stats_service look = { .struct_size = sizeof(look) };

    if (odeon_stats_service(stats, &look) < 0)
        main_give_up("statistics");
    return look;
}

enum step { NOTICE, FORK, ENTER, PLACE, MAP, VERIFY, RECOVER, LOAD, FIRST, STEPS };
static const char *const step_names[STEPS] = { "notice", "fork",    "enter", "place", "map",
                                               "verify", "recover", "load",  "first" };

struct round {
    double first_ms, recovered_ms, step_ms[STEPS];
};

static void main_steps_take(struct round *round, const struct odeon_stats_service *look,
                            uint64_t killed, uint64_t first)
{
    const uint64_t end[STEPS] = {
        look->start_noticed_ns,   look->start_forked_ns, look->start_entered_ns,
        look->start_placed_ns,    look->start_mapped_ns, look->start_verified_ns,
        look->start_recovered_ns, look->start_loaded_ns, first
    };

    for (unsigned i = 0; i < STEPS; i++)
        round->step_ms[i] = ((double)end[i] - (double)(i > 0 ? end[i - 1] : killed)) / 1e6;
}

static void main_queue_up(struct odeon_port *port, odeon_ref gate, uint32_t type, uint64_t n)
{
    atomic_store(&page->first_ns, 0);
    atomic_store(&page->processed, 0);
    atomic_store(&page->closed, 1);
    for (uint64_t i = 0; i < n; i++) {
        struct gate_message message = { .n = i };

        if (odeon_port_post_wait(port, gate, type, &message, sizeof(message),
                                 PATIENCE_S * INT64_C(1000000000)) < 0)
            main_give_up("posting");
    }
}

/* Records taken from clients' rings so far. */
static uint64_t main_taken(struct odeon_stats *stats)
{
    for (size_t i = 0; i < odeon_stats_n(stats); i++)
        if (strcmp(odeon_stats_name(stats, i), "port_messages") == 0)
            return (uint64_t)odeon_stats_value(stats, -1, i);
    main_give_up("no statistic is called port_messages");
}

/* Until the other worker has moved all of them into the actor's queue. */
static void main_wait_queued(struct odeon_stats *stats, uint64_t all)
{
    for (uint64_t end = main_now_ns() + PATIENCE_S * UINT64_C(1000000000); main_taken(stats) < all;
         main_pause_us(2000))
        if (main_now_ns() > end)
            main_give_up("the messages do not reach their queue");
}

static struct round main_round_run(struct odeon_stats *stats, struct odeon_port *port,
                                   odeon_ref gate, uint32_t type, uint64_t n)
{
    struct odeon_stats_service before = main_service_look(stats);
    struct odeon_stats_service look;
    struct round round = { 0 };
    uint64_t killed, before_taken = main_taken(stats);

    main_queue_up(port, gate, type, n);
    while (main_now_ns() < before.executor_started_ns + SETTLED_NS)
        /* the next start is at once only when the last one has held for a second */
        main_pause_us(10000);
    main_wait_queued(stats, before_taken + n);
    killed = main_now_ns();
    if (kill((pid_t)before.executor_pid, SIGKILL) < 0)
        main_give_up("killing");
    atomic_store(&page->closed, 0);
    for (uint64_t end = killed + PATIENCE_S * UINT64_C(1000000000);
         atomic_load(&page->processed) < n || round.recovered_ms == 0; main_pause_us(100)) {
        look = main_service_look(stats);
        if (round.recovered_ms == 0 && look.executor_restarts > before.executor_restarts &&
            strcmp(look.state_name, "running") == 0)
            round.recovered_ms = (double)(main_now_ns() - killed) / 1e6;
        if (main_now_ns() > end)
            main_give_up("the messages are not processed");
    }
    round.first_ms = (double)(atomic_load(&page->first_ns) - killed) / 1e6;
    main_steps_take(&round, &look, killed, atomic_load(&page->first_ns));
    return round;
}

static int main_compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Sorts; the middle one, or the mean of the two in the middle. */
static double main_median(double *values, unsigned n)
{
    qsort(values, n, sizeof(values[0]), main_compare);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static void main_round_print(const struct round *round, unsigned number)
{
    printf("point=restart round=%u kill_to_first_ms=%.1f recovered_ms=%.1f", number,
           round->first_ms, round->recovered_ms);
    for (unsigned i = 0; i < STEPS; i++)
        printf(" %s_ms=%.1f", step_names[i], round->step_ms[i]);
    printf("\n");
    fflush(stdout);
}

static void main_rounds_print(const struct round *round, unsigned rounds, uint64_t n)
{
    double first[ROUNDS_MAX], recovered[ROUNDS_MAX], step[ROUNDS_MAX], first_ms, recovered_ms;

    printf("bench=restart_steps");
    for (unsigned s = 0; s < STEPS; s++) {
        for (unsigned i = 0; i < rounds; i++)
            step[i] = round[i].step_ms[s];
        printf(" %s_ms=%.1f", step_names[s], main_median(step, rounds));
    }
    for (unsigned i = 0; i < rounds; i++) {
        first[i] = round[i].first_ms;
        recovered[i] = round[i].recovered_ms;
    }
    first_ms = main_median(first, rounds);
    recovered_ms = main_median(recovered, rounds);
    printf("\nbench=restart queued=%" PRIu64
           " rounds=%u kill_to_first_ms=%.1f kill_to_first_max_ms=%.1f recovered_ms=%.1f "
           "recovered_max_ms=%.1f"
           " target_ms=100\n",
           n, rounds, first_ms, first[rounds - 1], recovered_ms, recovered[rounds - 1]);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
    uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000;
    struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                       .where = ODEON_WHERE_PINNED,
                                       .worker = 1 };
    static struct round round[ROUNDS_MAX];
    struct odeon_client *client;
    struct odeon_stats *stats;
    struct odeon_port *port;
    struct gate_args args = { .page = "" };
    odeon_ref gate;
    uint32_t type;

    if (argc < 2 || rounds == 0 || rounds > ROUNDS_MAX || n <= 4096) {
        fprintf(stderr, "usage: odeon-bench-restart ODEOND [ROUNDS [MESSAGES]]\n");
        return 2;
    }
    main_folder_make();
    main_service_start(argv[1]);
    client = main_service_connect();
    snprintf(args.page, sizeof(args.page), "%s", paths[PAGE]);
    if (odeon_plugin_load(client, GATE_PLUGIN) < 0 ||
        odeon_message_id(client, odeon_message_of(gate_message), &type) < 0 ||
        odeon_actor_spawn_at(client, "gate_actor", NULL, &args, sizeof(args), &where, &gate) < 0 ||
        odeon_port_open(client, NULL, &port) < 0 || odeon_stats_open(paths[STATS], &stats) < 0)
        main_give_up("setting up");
    for (unsigned i = 0; i < rounds; i++) {
        round[i] = main_round_run(stats, port, gate, type, n);
        main_round_print(&round[i], i + 1);
    }
    main_rounds_print(round, rounds, n);
    odeon_stats_close(stats);
    odeon_client_disconnect(client);
    return EXIT_SUCCESS;
}
