/* SPDX-License-Identifier: Apache-2.0 */
/* Kill torture: clients post numbered messages that pass through two actors on different workers
 * and come back, while the executor is killed again and again. Each client must see its own numbers
 * consecutive: none missing, none twice, none out of order. What recovery found is printed, and
 * what must have been hit at least once is checked.
 *
 *     torture --bin DIR --plugin FILE [--executor FILE] [--kills N] [--clients N] [--need LIST]
 *             [--seed N] [--patience S] [--workers N] [--lopsided] [--by-signal]
 *
 * --patience says after how many seconds without an arrival what is missing counts as lost (300).
 * --by-signal counts only the kills that came from here, not those at injection points.
 *
 * The environment variable ODEON_INJECT reaches the executor: a test build then also kills itself
 * at chosen points (daemon/engine/base/inject.h). Exit code: 0 fine, 1 a promise was broken, 2
 * could not run.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <odeon/client.h>
#include <odeon/names.h>
#include <odeon/stats.h>

#include "client-lib/src/port.h"
#include "relay.h"
#include "tests/history/history.h"
#include "tests/run/patience.h"
#include "tests/run/scratch.h"

enum { CLIENTS_MAX = 16, OUTSTANDING_MAX = 100000, RING_BYTES = 65536, AGAIN = 5 };
/* Posting as fast as rings take it stops at so many: 128 MiB, half of what one queue takes before
 * it refuses. With many processors clients get ahead of a pair of actors by millions. */
enum { PRESSED_MAX = 2000000 };

struct options {
    const char *bin, *plugin, *executor, *need;
    unsigned kills, workers, clients, seed, patience_ms;
    bool lopsided, by_signal;
};

struct sender {
    pthread_t thread;
    unsigned index;
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref first;
    uint32_t type;
    uint64_t posted, received;
    struct history *history; /* of what it has posted and got back */
    atomic_ullong fill;      /* bytes in the submission ring when last looked at */
    char broken[160];
};

static struct options options = { .kills = 200,
                                  .clients = 4,
                                  .workers = 2,
                                  .patience_ms = PATIENCE_MS,
                                  .need =
                                      "running,outbox,journal,lock,parked,steals,redeliveries" };
static char directory[64], socket_path[96], stats_path[96];
static pid_t service = -1;
static atomic_bool stop_posting, give_up, press; /* press: post as fast as the ring takes it */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void nap_us(unsigned us)
{
    struct timespec pause = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000L };
    nanosleep(&pause, NULL);
}

static void service_start(void)
{
    char odeond[512], log[128], workers[32];
    snprintf(odeond, sizeof(odeond), "%s/odeond", options.bin);
    snprintf(workers, sizeof(workers), "workers=%u", options.workers);
    snprintf(log, sizeof(log), "%s/log", directory);
    service = fork();
    if (service != 0)
        return;
    if (!freopen(log, "a", stderr) || !freopen(log, "a", stdout))
        _exit(2);
    const char *arguments[32] = {
        odeond,  "--foreground", "--runtime-dir", directory,     "--set",
        workers, "--set",        "throughput=64", "--set",       "restart-delay-max-ms=1",
        "--set", "spin-us=200",  "--plugin",      options.plugin
    };
    unsigned n = 14;
    if (options.executor) {
        arguments[n++] = "--executor";
        arguments[n++] = options.executor;
    }
    execv(odeond, (char *const *)arguments);
    _exit(2);
}

static void show_log(void)
{
    char command[160];
    snprintf(command, sizeof(command), "tail -n 25 %s/log >&2", directory);
    if (system(command) != 0)
        fputs("torture: no log\n", stderr);
}

static void clean_up(void)
{
    if (service > 0) {
        kill(service, SIGTERM);
        waitpid(service, NULL, 0);
        service = -1;
    }
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    if (directory[0] && system(command) != 0)
        fputs("torture: could not remove its directory\n", stderr);
}

static __attribute__((noreturn)) void cannot(const char *what)
{
    fprintf(stderr, "torture: %s: %s\n", what, odeon_error_text());
    show_log();
    clean_up();
    exit(2);
}

/* ---- clients ---- */

/* An executor with injection points may die in the middle: what it has made then is nobody's, and
 * stays. */
static odeon_ref make(struct odeon_client *client, const char *type, const void *args, size_t size)
{
    uint64_t until = now_ms() + PATIENCE_MS;
    odeon_ref ref;
    while (odeon_actor_spawn(client, type, NULL, args, size, &ref) < 0)
        if (now_ms() > until)
            cannot(type);
    return ref;
}

static void sender_prepare(struct sender *s)
{
    s->history = history_new();
    struct odeon_port_options port = { .struct_size = sizeof(port),
                                       .submission_bytes = RING_BYTES,
                                       .delivery_bytes = RING_BYTES };
    uint64_t until = now_ms() + PATIENCE_MS;
    odeon_ref second;
    while (odeon_client_connect(socket_path, "torture", &s->client) < 0)
        if (now_ms() > until)
            cannot("connect");
    while (odeon_message_id(s->client, odeon_message_of(relay_hop), &s->type) < 0)
        if (now_ms() > until)
            cannot("message type");
    /* Actors go round the workers: a pair is spread over two, or, lopsided, all pairs lie on one,
     * for the other one to steal. */
    second = make(s->client, "relay_second", NULL, 0);
    if (options.lopsided)
        (void)make(s->client, "relay_second", NULL, 0);
    s->first = make(s->client, "relay_first", &second, sizeof(second));
    if (options.lopsided)
        (void)make(s->client, "relay_second", NULL, 0);
    while (odeon_port_open(s->client, &port, &s->port) < 0)
        if (now_ms() > until)
            cannot("port");
}

/* Nothing but hops is expected: nobody refuses them, and nobody ends. */
static void sender_say_other(struct sender *s, const struct odeon_delivery *d)
{
    struct odeon_refusal refusal;
    if (d->type != ODEON_MSG_REFUSAL || d->size != sizeof(refusal)) {
        snprintf(s->broken, sizeof(s->broken), "got a record of type %u with %u bytes", d->type,
                 d->size);
        return;
    }
    memcpy(&refusal, d->data, sizeof(refusal));
    snprintf(s->broken, sizeof(s->broken), "was refused a message to %" PRIx64 ": %s", refusal.to,
             odeon_reason_name(refusal.reason));
}

/* Takes what has come.  False: it cannot be. */
static bool sender_receive(struct sender *s)
{
    struct odeon_delivery d;
    int r;
    while ((r = odeon_port_receive(s->port, &d)) == 1) {
        struct relay_hop hop;
        if (d.type != s->type || d.size != sizeof(hop)) {
            sender_say_other(s, &d);
            return false;
        }
        memcpy(&hop, d.data, sizeof(hop));
        history_note(s->history, HISTORY_RUN, s->first, s->first, hop.number);
        if (hop.number != ++s->received)
            return false; /* the history says what it is */
    }
    odeon_port_release(s->port);
    if (r < 0)
        snprintf(s->broken, sizeof(s->broken), "receive: %s", odeon_error_text());
    return r >= 0;
}

/* Posts until the ring is full or enough is under way. */
static bool sender_post(struct sender *s)
{
    unsigned burst = 0;
    while (s->posted - s->received < OUTSTANDING_MAX ||
           (atomic_load(&press) && s->posted - s->received < PRESSED_MAX &&
            burst++ < RING_BYTES / 32)) {
        struct relay_hop hop = { .origin = odeon_port_ref(s->port), .number = s->posted + 1 };
        history_note(s->history, HISTORY_BEGUN, s->first, s->first, hop.number);
        int r = odeon_port_post(s->port, s->first, s->type, &hop, sizeof(hop));
        if (r == -EAGAIN)
            break;
        if (r < 0) {
            snprintf(s->broken, sizeof(s->broken), "post: %s", odeon_error_text());
            return false;
        }
        history_note(s->history, HISTORY_SENT, s->first, s->first, hop.number);
        s->posted++;
    }
    atomic_store(&s->fill,
                 s->port->submission_tail -
                     atomic_load_explicit(&s->port->theirs->submission_head, memory_order_acquire));
    return true;
}

static void *sender_main(void *argument)
{
    struct sender *s = argument;
    uint64_t quiet_since = now_ms(), seen = 0;
    while (!atomic_load(&give_up)) {
        bool posting = !atomic_load(&stop_posting);
        if (!sender_receive(s) || (posting && !sender_post(s)))
            break;
        if (!posting && s->received == s->posted)
            return NULL;
        if (s->received != seen) {
            seen = s->received;
            quiet_since = now_ms();
        } else if (now_ms() - quiet_since > options.patience_ms) {
            break; /* the history says what is lost */
        }
        if (!atomic_load(&press))
            nap_us(50);
    }
    atomic_store(&give_up, true);
    return NULL;
}

/* ---- the killer ---- */

static void wait_running(struct odeon_stats *stats, struct odeon_stats_service *state)
{
    uint64_t until = now_ms() + PATIENCE_MS;
    do {
        state->struct_size = sizeof(*state);
        if (odeon_stats_service(stats, state) < 0)
            cannot("statistics");
        if (strcmp(state->state_name, "running") == 0 && state->executor_pid)
            return;
        nap_us(200);
    } while (now_ms() < until && !atomic_load(&give_up));
    if (!atomic_load(&give_up)) {
        fputs("torture: the executor does not come back\n", stderr);
        show_log();
        atomic_store(&give_up, true);
    }
}

static double counter(struct odeon_stats *stats, const char *name)
{
    for (size_t i = 0; i < odeon_stats_n(stats); i++)
        if (strcmp(odeon_stats_name(stats, i), name) == 0)
            return odeon_stats_value(stats, -1, i);
    return 0;
}

/* What has been hit; how much of what was to be has not.  `out` NULL: looks, and says nothing. */
static unsigned missing(struct odeon_stats *stats, FILE *out)
{
    struct odeon_stats_service s = { .struct_size = sizeof(s) };
    odeon_stats_service(stats, &s);
    const struct {
        const char *name;
        double found;
    } rows[] = {
        { "running", (double)s.recovered_running_handlers },
        { "outbox", (double)s.recovered_unflushed_outboxes },
        { "journal", (double)s.recovered_armed_journals },
        { "lock", (double)s.recovered_held_locks },
        { "parked", (double)s.recovered_parked_batches },
        { "attached", (double)s.recovered_attached_batches },
        { "ports", (double)s.recovered_ports_attached },
        { "steals", counter(stats, "steals") },
        { "redeliveries", (double)s.recovered_redeliveries },
        { "backlogged", counter(stats, "port_backlogged") },
        { "dropped", counter(stats, "backlog_dropped") },
        { "dead_letters", counter(stats, "dead_letters") },
    };
    unsigned n = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool never = strstr(options.need, rows[i].name) && rows[i].found <= 0;
        n += never;
        if (out)
            fprintf(out, "%s%s=%.0f%s", i ? " " : "# found: ", rows[i].name, rows[i].found,
                    never ? " (never hit)" : "");
    }
    if (out)
        fprintf(out, "\n");
    return n;
}

static bool rings_are_half_full(const struct sender *senders)
{
    for (unsigned i = 0; i < options.clients; i++)
        if (atomic_load(&senders[i].fill) < RING_BYTES / 2)
            return false;
    return true;
}

/* Has the clients fill their rings, up to a limit of time. */
static bool press_rings(const struct sender *senders)
{
    uint64_t until = now_ms() + 50;
    atomic_store(&press, true);
    while (!rings_are_half_full(senders) && now_ms() < until)
        nap_us(20);
    return rings_are_half_full(senders);
}

static void kill_often(struct odeon_stats *stats, const struct sender *senders)
{
    struct odeon_stats_service state;
    unsigned seed = options.seed, kills = 0, own = 0, half_full = 0;
    wait_running(stats, &state);
    uint64_t first_boot = state.boots, until = now_ms() + PATIENCE_MS;
    while (!atomic_load(&give_up)) {
        wait_running(stats, &state);
        kills = (unsigned)(state.boots - first_boot);
        unsigned done = options.by_signal ? own : kills;
        /* Where luck, or a slow machine, has left something out it gets more chances: so many, and
         * all that the patience has time for. */
        bool enough = done >= AGAIN * options.kills && now_ms() > until;
        if (enough || (done >= options.kills && missing(stats, NULL) == 0))
            break;
        nap_us(1000 + (unsigned)rand_r(&seed) % 30000);
        uint32_t pid = state.executor_pid;
        bool half = press_rings(senders);
        nap_us((unsigned)rand_r(&seed) % 300);
        odeon_stats_service(stats, &state);
        if (state.executor_pid == pid && kill((pid_t)pid, SIGKILL) == 0) {
            own++;
            half_full += half && rings_are_half_full(senders);
        }
        atomic_store(&press, false);
        for (int i = 0;
             i < 5000 && odeon_stats_service(stats, &state) == 0 && state.executor_pid == pid; i++)
            nap_us(200);
        if (kills % 20 == 0 && isatty(STDERR_FILENO))
            fprintf(stderr, "\rtorture: %u of %u kills", kills, options.kills);
    }
    printf("# kills=%u by_signal=%u with_all_rings_half_full=%u\n", kills, own, half_full);
}

static void parse(int argc, char **argv)
{
    static const struct option known[] = {
        { "bin", required_argument, NULL, 'b' },      { "plugin", required_argument, NULL, 'p' },
        { "executor", required_argument, NULL, 'e' }, { "kills", required_argument, NULL, 'k' },
        { "clients", required_argument, NULL, 'c' },  { "need", required_argument, NULL, 'n' },
        { "seed", required_argument, NULL, 's' },     { "workers", required_argument, NULL, 'w' },
        { "lopsided", no_argument, NULL, 'l' },       { "by-signal", no_argument, NULL, 'S' },
        { "patience", required_argument, NULL, 'P' }, { NULL, 0, NULL, 0 },
    };
    options.seed = (unsigned)now_ms();
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'b':
            options.bin = optarg;
            break;
        case 'p':
            options.plugin = optarg;
            break;
        case 'e':
            options.executor = optarg;
            break;
        case 'k':
            options.kills = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'c':
            options.clients = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'n':
            options.need = optarg;
            break;
        case 's':
            options.seed = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'w':
            options.workers = (unsigned)strtoul(optarg, NULL, 10);
            break;
        case 'P':
            options.patience_ms = (unsigned)strtoul(optarg, NULL, 10) * 1000;
            break;
        case 'l':
            options.lopsided = true;
            break;
        case 'S':
            options.by_signal = true;
            break;
        default:
            exit(2);
        }
    }
    if (!options.bin || !options.plugin || options.clients == 0 || options.clients > CLIENTS_MAX) {
        fputs("usage: torture --bin DIR --plugin FILE [--executor FILE] [--kills N] [--clients N] "
              "[--need LIST] [--seed N] [--patience S] [--workers N] [--lopsided] "
              "[--by-signal]\n",
              stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct sender senders[CLIENTS_MAX];
    parse(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    strcpy(directory, "/tmp/odeon-test.torture-XXXXXX");
    if (!scratch_make(directory))
        return 2;
    snprintf(socket_path, sizeof(socket_path), "%s/control.sock", directory);
    snprintf(stats_path, sizeof(stats_path), "%s/stats", directory);
    service_start();
    struct odeon_stats *stats = NULL;
    struct odeon_stats_service state;
    for (int i = 0; i < PATIENCE_MS / 10 && odeon_stats_open(stats_path, &stats) < 0; i++)
        nap_us(10000);
    if (!stats)
        cannot("the service does not start");
    wait_running(stats, &state);
    for (int i = 0; i < PATIENCE_MS / 10 && access(socket_path, F_OK) != 0; i++)
        nap_us(10000);
    printf("# seed=%u clients=%u\n", options.seed, options.clients);
    for (unsigned i = 0; i < options.clients; i++) {
        senders[i].index = i;
        sender_prepare(&senders[i]);
    }
    for (unsigned i = 0; i < options.clients; i++)
        pthread_create(&senders[i].thread, NULL, sender_main, &senders[i]);
    kill_often(stats, senders);
    atomic_store(&stop_posting, true);
    unsigned broken = 0;
    for (unsigned i = 0; i < options.clients; i++) {
        struct sender *s = &senders[i];
        struct history_verdict verdict;
        pthread_join(s->thread, NULL);
        bool right = history_judge(s->history, &verdict);
        printf("# client=%u %s ", i, s->broken);
        history_print(&verdict, stdout);
        history_free(s->history);
        broken += s->broken[0] || !right;
    }
    unsigned left_out = missing(stats, stdout);
    if (broken)
        show_log();
    for (unsigned i = 0; i < options.clients; i++)
        odeon_client_disconnect(senders[i].client);
    odeon_stats_close(stats);
    clean_up();
    printf("torture: %s\n", broken     ? "BROKEN"
                            : left_out ? "incomplete: not everything was hit"
                                       : "ok");
    return broken || left_out ? 1 : 0;
}
