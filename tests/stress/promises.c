/* SPDX-License-Identifier: Apache-2.0 */
/* The torture of promises: scribes that arm, cancel, ask, answer and pass on (scribe.h), clients
 * that post to them and ask them, and kills of executor and odeond at random; then the histories of
 * all of them are judged together.
 *
 *     promises [--kills N] [--seed N] [--executor FILE] [--keep DIR] [--patience S]
 *
 * --keep: the logs are there afterwards. --patience: so long is waited for anything, while nothing
 * comes (300 s). The last line is `promises: ok …`, `promises: BROKEN …`, or `promises:
 * incomplete …` when too little was hit. Exit code: 0 fine, 1 not, 2 could not run. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/history/history.h"
#include "tests/soak/processes.h"
#include "tests/stress/promises.h"
#include "tests/system/manager.h"

enum { LAST_US = 60000 /* behind all that a scribe can have armed */ };

static struct options {
    uint64_t kills, seed;
    int patience_s;
    bool blind;
    const char *executor, *keep;
} options = { .kills = 200, .patience_s = PATIENCE_S };

static struct promises_shared *shared;
static int shared_fd;
static struct manager *manager;
static struct service *service;
static struct odeon_client *client; /* the driver's own */
static struct odeon_port *port;
static pid_t clients[PROMISES_CLIENTS];

static __attribute__((noreturn)) void cannot(const char *what)
{
    fprintf(stderr, "promises: %s: %s\n", what, odeon_error_text());
    exit(2);
}

static void say_wrong(const char *what)
{
    printf("# wrong: %s\n", what);
    atomic_store(&shared->broken, true);
}

static bool is_broken(void)
{
    return atomic_load(&shared->broken);
}

static uint32_t type_of(const struct odeon_message_type *type)
{
    uint32_t id = 0;
    if (!wait_until_within(options.patience_s, odeon_message_id(client, type, &id) == 0))
        cannot(type->name);
    return id;
}

/* ---- scribes ---- */

static void log_path(char *path, size_t size, const char *who, unsigned index)
{
    snprintf(path, size, "%s/%s-%u", shared->directory, who, index);
}

/* ---- ears ---- */

static odeon_ref ears[SCRIBE_EARS];
static uint64_t sung[SCRIBES]; /* as the scribes said last */

static struct ear_says ear_says(unsigned index)
{
    struct odeon_delivery delivery;
    struct ear_says says = { 0 };
    if (odeon_port_call(port, ears[index], type_of(odeon_message_of(ear_ask)), NULL, 0,
                        SECONDS(options.patience_s), &delivery) == ODEON_CALL_REPLY)
        memcpy(&says, delivery.data, sizeof(says));
    odeon_port_release(port);
    return says;
}

/* Each has heard each number of each scribe, once and in order. */
static bool ears_agree(void)
{
    bool agree = true;
    for (unsigned i = 0; i < SCRIBE_EARS && agree; i++) {
        struct ear_says says = ear_says(i);
        if (says.wrong > 0)
            say_wrong("an ear has heard something that was not the next one");
        agree = says.wrong == 0 && memcmp(says.heard, sung, sizeof(sung)) == 0;
    }
    return agree;
}

/* An executor with injection points may die in the middle: what it has made then is nobody's, and
 * says nothing. */
static void make_ears(void)
{
    for (unsigned i = 0; i < SCRIBE_EARS; i++) {
        struct scribe_args args = { .index = SCRIBE_FIRST_EAR + i };
        log_path(args.path, sizeof(args.path), "ear", i);
        if (!wait_until_within(options.patience_s, odeon_actor_spawn(client, "ear", NULL, &args,
                                                                     sizeof(args), &ears[i]) == 0))
            cannot("ear");
    }
    for (unsigned i = 0; i < SCRIBE_EARS; i++)
        if (!ear_says(i).member)
            cannot("ear that has joined");
}

static void make_scribes(void)
{
    uint32_t seats_type = type_of(odeon_message_of(scribe_seats));
    struct scribe_seats seats;
    for (unsigned i = 0; i < SCRIBES; i++) {
        struct scribe_args args = { .index = i,
                                    .seed = options.seed ^ scribe_mix(i + 100),
                                    .blind = options.blind };
        log_path(args.path, sizeof(args.path), "scribe", i);
        if (!wait_until_within(options.patience_s,
                               odeon_actor_spawn(client, "scribe", NULL, &args, sizeof(args),
                                                 &shared->scribes[i]) == 0))
            cannot("scribe");
        seats.others[i] = shared->scribes[i];
    }
    for (unsigned i = 0; i < SCRIBES; i++)
        if (odeon_port_post_wait(port, shared->scribes[i], seats_type, &seats, sizeof(seats),
                                 SECONDS(options.patience_s)) < 0)
            cannot("seats");
}

/* Nothing new from here on; how much each still expects, in all. */
static uint64_t hush(uint64_t last_us)
{
    uint32_t type = type_of(odeon_message_of(scribe_hush));
    struct scribe_hush message = { .last_us = last_us };
    uint64_t open = 0;
    for (unsigned i = 0; i < SCRIBES; i++) {
        struct odeon_delivery delivery;
        if (odeon_port_call(port, shared->scribes[i], type, &message, sizeof(message),
                            SECONDS(options.patience_s), &delivery) != ODEON_CALL_REPLY) {
            say_wrong("a scribe does not answer");
            return 0;
        }
        const struct scribe_open *told = delivery.data;
        open += told->timers + told->questions + told->ends;
        sung[i] = told->sung;
        odeon_port_release(port);
    }
    return open;
}

static uint64_t timers_listed(void)
{
    struct odeon_list *list = NULL;
    uint64_t n = UINT64_MAX;
    if (odeon_timer_list(client, ODEON_NOBODY, 0, 0, &list) == 0)
        n = list->n + list->more;
    odeon_list_free(list);
    return n;
}

/* All that are left: scribes, ears and their group, and a lamp of each name that somebody has asked
 * for. */
static uint64_t actors_expected(void)
{
    uint64_t n = SCRIBES + (options.blind ? 0 : SCRIBE_EARS + 1);
    for (char i = 0; i < SCRIBE_LAMPS; i++) {
        char name[] = { 'l', 'a', 'm', 'p', '.', (char)('0' + i), 0 };
        odeon_ref ref;
        n += odeon_actor_find(client, name, &ref) == 0;
    }
    return n;
}

static uint64_t actors_alive(void)
{
    struct odeon_status *status = NULL;
    uint64_t n = 0;
    if (odeon_service_status(client, &status) == 0)
        n = status->actors;
    odeon_result_free(status);
    return n;
}

/* The members that are left, who have not ended, are the ears. */
static bool choir_is_right(void)
{
    struct odeon_list *list = NULL;
    bool right = odeon_group_list(client, 0, 0, &list) == 0 && list->n == 1 &&
                 ((const struct odeon_group_info *)list->rows)->members == SCRIBE_EARS;
    odeon_list_free(list);
    return right;
}

/* All that was promised comes; then each scribe waits for one timer more, which comes behind all
 * that it has cancelled or had before; then the service has no timer left. */
static void come_to_rest(void)
{
    int64_t s = options.patience_s;
    if (!wait_until_within(s, is_broken() || hush(0) == 0))
        say_wrong("what was promised does not come");
    if (!is_broken())
        hush(LAST_US);
    if (!wait_until_within(s, is_broken() || hush(0) == 0))
        say_wrong("the last timers do not come");
    if (!wait_until_within(s, is_broken() || timers_listed() == 0))
        say_wrong("timers are left that nobody waits for");
    if (!wait_until_within(s, is_broken() || actors_alive() == actors_expected()))
        say_wrong("actors are left whose parents have ended");
    if (!options.blind && !wait_until_within(s, is_broken() || (ears_agree() && choir_is_right())))
        say_wrong("an ear has not heard what was sung, or the choir has others");
    printf("# actors=%" PRIu64 " expected=%" PRIu64 "\n", actors_alive(), actors_expected());
}

/* ---- clients ---- */

static void client_start(unsigned index)
{
    clients[index] = soak_client_start("promises-client", index, shared_fd, PROMISES_SHARED_FD);
    if (clients[index] < 0)
        cannot("fork");
}

/* How many have not ended. */
static unsigned clients_turn(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < PROMISES_CLIENTS; i++) {
        char what[320];
        int status;
        if (clients[i] == 0)
            continue;
        if (waitpid(clients[i], &status, WNOHANG) == 0) {
            n++;
            continue;
        }
        clients[i] = 0;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        snprintf(what, sizeof(what), "client %u ended with status %#x: %s", i, (unsigned)status,
                 shared->books[i].wrong);
        say_wrong(what);
    }
    return n;
}

static void clients_stop(void)
{
    atomic_store(&shared->stop, true);
    if (!wait_until_within(2 * options.patience_s, clients_turn() == 0))
        say_wrong("clients do not end");
}

static uint64_t came(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < PROMISES_CLIENTS; i++)
        n += atomic_load(&shared->books[i].came);
    return n;
}

/* ---- the run ---- */

/* Three times of four everybody gets on before the next kill. */
static void kill_often(struct promises_kills *kills)
{
    uint64_t told = 0;
    while (kills->signals < options.kills && !is_broken()) {
        uint64_t before = came();
        (void)promises_kill(kills, service, manager);
        clients_turn();
        if (promises_draw(&kills->seed, 4) != 0 &&
            !wait_until_within(options.patience_s, came() > before + PROMISES_CLIENTS ||
                                                       clients_turn() == 0 || is_broken()))
            say_wrong("nothing goes on behind a kill");
        if (kills->signals - told >= 100) {
            told = kills->signals;
            printf("# kills=%" PRIu64 " outcomes=%" PRIu64 "\n", told, came());
        }
    }
    printf("# kills=%" PRIu64, kills->signals);
    for (int i = 0; i < PROMISES_VICTIMS_N; i++)
        printf(" %s=%" PRIu64, promises_victim_name((enum promises_victim)i), kills->made[i]);
    printf("\n");
}

/* Nobody has died who was not killed. */
static void look_for_others_deaths(void)
{
    unsigned deaths = service_log_count(service, "the executor has died: "),
             by_kill = service_log_count(service, "the executor has died: signal 9 ");
    if (deaths != by_kill)
        say_wrong("the executor has died by itself");
    if (manager_crashes(manager) + manager_failures(manager) > 0)
        say_wrong("odeond has died by itself");
}

static void add_logs(struct history *history, const char *who, unsigned n, bool each)
{
    char path[96];
    for (unsigned i = 0; i < n; i++) {
        log_path(path, sizeof(path), who, i);
        int r = history_add_log(history, path);
        if (r == 0 || (r == -ENOENT && !each))
            continue;
        fprintf(stderr, "promises: %s: %s\n", path, strerror(-r));
        say_wrong("a log cannot be read");
    }
}

static bool judge(struct history_verdict *verdict)
{
    struct history *history = history_new();
    add_logs(history, "scribe", SCRIBES, true);
    add_logs(history, "client", PROMISES_CLIENTS, true);
    add_logs(history, "ear", options.blind ? 0 : SCRIBE_EARS, true);
    add_logs(history, "lamp", SCRIBE_LAMPS, false); /* nobody may have asked for it */
    bool right = history_judge(history, verdict);
    printf("# ");
    history_print(verdict, stdout);
    history_free(history);
    return right;
}

/* What must have been hit, or the run has shown nothing. */
static bool has_shown_enough(const struct history_verdict *verdict)
{
    return verdict->fired && verdict->missed && verdict->cancelled && verdict->answered &&
           verdict->unanswered && verdict->withdrawn && verdict->ended && verdict->becomes &&
           verdict->came_back &&
           (options.blind || (verdict->downs && verdict->linked && verdict->left)) &&
           (options.kills < 200 || (verdict->turns_void && verdict->redelivered));
}

static int report(void)
{
    struct history_verdict verdict;
    bool right = judge(&verdict);
    bool broken = is_broken() || !right;
    bool lacking = !has_shown_enough(&verdict);
    if (broken) {
        char *log = service_read_log(service);
        size_t n = strlen(log), shown = 8000;
        fprintf(stderr, "--- the end of the log of odeond\n%s---\n",
                n > shown ? log + n - shown : log);
        free(log);
    }
    printf("promises: %s seed=%" PRIu64 " turns=%" PRIu64 " void=%" PRIu64 " timers=%" PRIu64
           " questions=%" PRIu64 "\n",
           broken    ? "BROKEN"
           : lacking ? "incomplete: not everything was hit"
                     : "ok",
           options.seed, verdict.turns, verdict.turns_void, verdict.armed, verdict.asked);
    return broken || lacking;
}

/* The library, too, in this process and in the clients. */
static void be_as_patient(void)
{
    char ms[32];
    snprintf(ms, sizeof(ms), "%" PRId64, (int64_t)options.patience_s * 1000);
    (void)setenv("ODEON_TIMEOUT_MS", ms, 1);
}

static void parse(int argc, char **argv)
{
    static const struct option known[] = {
        { "kills", required_argument, NULL, 'k' },
        { "seed", required_argument, NULL, 's' },
        { "executor", required_argument, NULL, 'e' },
        { "keep", required_argument, NULL, 'K' },
        { "patience", required_argument, NULL, 'p' },
        { "blind", no_argument, NULL, 'b' },
        { NULL, 0, NULL, 0 },
    };
    options.seed = (uint64_t)time_ns() & 0xffffffff;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'k':
            options.kills = strtoull(optarg, NULL, 10);
            break;
        case 's':
            options.seed = strtoull(optarg, NULL, 10);
            break;
        case 'e':
            options.executor = optarg;
            break;
        case 'K':
            options.keep = optarg;
            break;
        case 'b': /* without monitors */
            options.blind = true;
            break;
        case 'p':
            options.patience_s = (int)strtol(optarg, NULL, 10);
            be_as_patient();
            break;
        default:
            exit(2);
        }
    }
    if (options.kills == 0 || optind != argc) {
        fputs("usage: promises [--kills N] [--seed N] [--executor FILE] [--keep DIR] "
              "[--patience S] [--blind]\n",
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

static void prepare(void)
{
    static const char *words[] = { "--set",    "workers=2",
                                   "--set",    "queues-per-worker=4",
                                   "--set",    "actors=4096",
                                   "--set",    "affinity=none",
                                   "--set",    "restart-delay-max-ms=1",
                                   "--set",    "durable-bytes=1024",
                                   "--set",    "dead-letter-bytes=128K",
                                   "--plugin", PROMISES_SCRIBE,
                                   NULL,       NULL,
                                   NULL };
    for (size_t n = 0; options.executor; n++)
        if (!words[n]) {
            words[n] = "--executor";
            words[n + 1] = options.executor;
            break;
        }
    manager = manager_start(&(struct manager_options){ .arguments = words });
    service = manager_service(manager);
    manager_wait_ready(manager);
    snprintf(shared->socket, sizeof(shared->socket), "%s", service->socket);
    snprintf(shared->directory, sizeof(shared->directory), "%s",
             options.keep ? options.keep : service->dir);
    shared->seed = options.seed;
    shared->patience_s = options.patience_s;
    client = service_connect(service, "promises");
    port = port_open_or_fail(client, 0, 0, false);
    if (!options.blind)
        make_ears();
    make_scribes();
}

int main(int argc, char **argv)
{
    struct promises_kills kills;
    if (argc == 3 && strcmp(argv[1], "--client") == 0) {
        share(PROMISES_SHARED_FD);
        return promises_client(shared, (unsigned)strtoul(argv[2], NULL, 10) % PROMISES_CLIENTS);
    }
    parse(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    int fd = memfd_create("promises", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(*shared)) < 0)
        return 2;
    share(fd);
    printf("# seed=%" PRIu64 " kills=%" PRIu64 "\n", options.seed, options.kills);
    prepare();
    for (unsigned i = 0; i < PROMISES_CLIENTS; i++)
        client_start(i);
    kills = (struct promises_kills){ .seed = options.seed, .patience_s = options.patience_s };
    kill_often(&kills);
    clients_stop();
    come_to_rest();
    look_for_others_deaths();
    odeon_port_close(port);
    odeon_client_disconnect(client);
    if (manager_stop(manager) != 0)
        say_wrong("odeond did not end well");
    int failed = report();
    manager_end(manager);
    return failed;
}
