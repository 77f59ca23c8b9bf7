/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/counting/traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/engine/engine_context.h"
#include "tests/counting/groups.h"
#include "tests/counting/scope.h"
#include "tests/counting/send.h"
#include "tests/sim/client.h"

enum {
    TICK_NS = 1, /* of a step: a message of `executor` then takes some 20 ns */
    GAP_STEPS = 16,
    LOOK_NS = 20 * 1000,
    FIRST_SENDS = 1000, /* at once */
    POST_WINDOW = 16,
    MANY = 1000,
};

struct member *members;
uint32_t n_members;
int sim_seed_bug; /* tests/sim/shim.h: none */

static struct {
    const struct wish *wish;
    struct engine *engine;
    uint16_t message;
    uint32_t type;
    bool over; /* enough has been counted */
    uint64_t messages;
    uint32_t n_clients, begun;
    struct client clients[CLIENTS_MAX];
    struct traffic_sums sums;
} run;

/* ---- behaviours ---- */

static void traffic_sums_take(struct traffic_sums *sums, int64_t sign)
{
    const struct engine *e = run.engine;
    const struct {
        uint64_t *sum;
        enum stat_index stat;
    } rows[] = {
        { &sums->flushes, STAT_flushes },   { &sums->flushed, STAT_flushed_messages },
        { &sums->searches, STAT_searches }, { &sums->tail_appends, STAT_tail_appends },
        { &sums->steals, STAT_steals },     { &sums->wakeups, STAT_wakeups_sent },
        { &sums->parks, STAT_parks },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (uint32_t id = 0; id < e->config.n_workers; id++)
            *rows[i].sum +=
                (uint64_t)sign * load_relaxed(&e->workers[id]->stats->value[rows[i].stat]);
}

/* Which message this is says what is to be done with what follows. */
static void traffic_count_message(void)
{
    scope_message();
    run.messages++;
    if (run.messages == run.wish->messages / 3) {
        traffic_sums_take(&run.sums, -1);
        run.sums.begin_ns = sim.now;
        groups_measure();
        scope_measure(true);
    } else if (run.messages == run.wish->messages / 3 + run.wish->messages) {
        scope_measure(false);
        traffic_sums_take(&run.sums, 1);
        run.sums.end_ns = sim.now;
        run.over = true;
    }
}

static int traffic_init(void *self, const void *args, size_t args_size, struct engine_context *ctx)
{
    (void)ctx;
    memcpy(self, args, args_size);
    return 0;
}

static int traffic_receive(void *self, const void *message, struct engine_context *ctx)
{
    (void)message;
    traffic_count_message();
    if (run.over)
        return ALLOCATION_NODELETE;
    int r = run.wish->traffic->run(*(const uint32_t *)self, ctx);
    if (r < 0)
        sim_fail("actor %u cannot send: %s", *(const uint32_t *)self, strerror(-r));
    return ALLOCATION_NODELETE;
}

int send_to(struct engine_context *ctx, uint32_t member)
{
    static const uint8_t payload[ODEON_PAYLOAD_MAX];
    const struct worker *w = worker_of_context(ctx);
    uint64_t logged = w->outbox.n_logged;
    actor_ref to = members[member].ref;
    uint32_t bytes = run.wish->payload;
    int r = bytes == 0   ? engine_ctx_signal(ctx, to, run.message)
            : bytes == 8 ? engine_ctx_send_word(ctx, to, run.message, member)
                         : engine_ctx_send(ctx, to, run.message, 0, payload, bytes);
    if (w->outbox.n_logged != logged)
        groups_sent(w->id, to, sizeof(struct envelope) + bytes, sim.now);
    return r;
}

int send_answer(struct engine_context *ctx)
{
    uint64_t payload[4] = { 0 };
    return engine_ctx_reply(ctx, run.message, payload, run.wish->payload, NULL, 0);
}

/* ---- clients ---- */

static void *traffic_client_main(void *argument)
{
    struct client *c = argument;
    actor_ref to = members[c->info.id % n_members].ref;
    uint8_t payload[ODEON_PAYLOAD_MAX] = { 0 };
    while (!run.over) {
        for (uint32_t i = 0; i < POST_WINDOW; i++)
            client_post(c, to, run.message, 0, 0, payload, (uint16_t)run.wish->payload);
        for (uint32_t got = 0; got < POST_WINDOW && !run.over;) {
            while (client_next(c))
                got++;
            if (got < POST_WINDOW)
                client_wait(c);
        }
    }
    return NULL;
}

/* ---- the engine ---- */

static int traffic_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) {
        perror("count: memfd_create");
        exit(2);
    }
    return fd;
}

static void traffic_open(void)
{
    const struct wish *wish = run.wish;
    struct engine_config config = {
        .n_workers = wish->workers,
        .queues_per_worker = wish->queues,
        .actors_max = 2 * ODEON_PORTS_MAX + n_members,
        .limit_bytes = 8 << 20,
        .outbox_bytes = 1 << 20,
        .backlog_bytes = 1 << 20,
        .dlq_bytes = 1 << 20,
        .throughput = 4096,
        .attempts_max = 3,
        .stealing = wish->stealing,
        .mode = STEAL_KEEP,
        .steal_sources = 1,
        /* while many are being spawned nobody is to look for work meanwhile: it takes long */
        .spin_ns = n_members > MANY ? 0 : wish->traffic->spin_ns,
    };
    const char *text;
    int r = engine_open(&config, traffic_file("count-segment"), traffic_file("count-statistics"),
                        &run.engine, &text);
    if (r < 0)
        sim_fail("engine_open: %s: %s", strerror(-r), text);
    for (uint32_t i = 0; i < run.n_clients; i++) {
        actor_ref ref;
        client_prepare(&run.clients[i], i);
        r = engine_port_add(run.engine, &run.clients[i].info, &ref);
        if (r < 0)
            sim_fail("port %u: %s", i, strerror(-r));
    }
}

static void traffic_register(void)
{
    uint32_t payload = run.wish->payload;
    int r = engine_message_type_intern(run.engine, "count", 1, payload, false, "", &run.message);
    struct engine_behaviour behaviour = { .message_type = run.message,
                                          .size = (uint16_t)payload,
                                          .run = traffic_receive };
    struct engine_actor_type_info info = { .name = "member",
                                           .plugin = "counting",
                                           .version = 1,
                                           .restart = RESTART_INIT,
                                           .state_size = sizeof(uint32_t),
                                           .n_behaviours = 1,
                                           .behaviours = &behaviour,
                                           .init = traffic_init };
    if (r == 0)
        r = engine_actor_type_register(run.engine, &info, &run.type);
    if (r < 0)
        sim_fail("types: %s", strerror(-r));
}

static void traffic_spawn(void)
{
    const struct wish *wish = run.wish;
    bool pinned = wish->traffic->pinned;
    for (uint32_t i = 0; i < n_members; i++) {
        struct engine_spawn spawn = { .placement = pinned ? PLACE_PINNED : wish->placement,
                                      .place = i % wish->workers,
                                      .args = &i,
                                      .args_size = sizeof(i) };
        int r = engine_actor_spawn_placed(run.engine, run.type, &spawn, &members[i].ref);
        if (r < 0)
            sim_fail("actor %u: %s", i, strerror(-r));
        members[i].random.state = wish->seed * UINT64_C(0x2545f4914f6cdd1d) + i;
    }
}

/* 0: all have been sent. */
static int traffic_send_first(struct engine_context *ctx)
{
    uint32_t n = run.wish->traffic->one_begins ? 1 : n_members;
    int r = 0;
    for (uint32_t i = 0; i < FIRST_SENDS && run.begun < n && r == 0; i++)
        r = send_to(ctx, run.begun++);
    return r < 0 ? r : run.begun < n;
}

static void traffic_begin(void)
{
    int r = 1;
    for (uint32_t i = 0; i < run.n_clients && run.wish->traffic->posts; i++)
        (void)sim_spawn(SIDE_CLIENT, traffic_client_main, &run.clients[i]);
    while (r > 0 && !run.wish->traffic->posts)
        r = engine_run(run.engine, traffic_send_first);
    if (r < 0)
        sim_fail("the first messages: %s", strerror(-r));
}

static void *traffic_control(void *argument)
{
    struct engine_recovery report;
    (void)argument;
    sim.current->in_order = true;
    traffic_open();
    int r = engine_recover(run.engine, &report);
    traffic_register();
    if (r == 0)
        r = engine_start(run.engine);
    if (r < 0)
        sim_fail("start: %s", strerror(-r));
    groups_begin(run.engine);
    scope_begin(run.engine);
    traffic_spawn();
    run.engine->config.spin_ns = run.wish->traffic->spin_ns;
    traffic_begin();
    while (!run.over)
        sim_sleep_ns(LOOK_NS);
    sim_over();
}

/* Nobody has to run for a while: that is right, as long as it does not last. */
static void traffic_idle(void)
{
    sim.idles = 0;
    if (sim.next_deadline == SIM_NEVER)
        sim_fail("everybody sleeps, and messages are to come");
}

static void traffic_crashed(void)
{
}

void traffic_run(const struct wish *wish, struct traffic_sums *ret_sums)
{
    static const struct sim_hooks hooks = { .idle = traffic_idle, .crashed = traffic_crashed };
    sim_begin(wish->seed, &hooks);
    sim.plan = (struct schedule){
        .kind = SCHEDULE_ROUND, .gap = GAP_STEPS, .changes = 1, .tick_ns = TICK_NS
    };
    sim.crash_at = sim.steps_max = UINT64_MAX;
    sim.crash_behind_boot = false;
    memset(&run, 0, sizeof(run));
    run.wish = wish;
    run.n_clients = wish->clients;
    n_members = wish->traffic->actors ? wish->traffic->actors(wish) : wish->actors;
    members = calloc(n_members, sizeof(*members));
    if (!members) {
        perror("count");
        exit(2);
    }
    (void)sim_spawn(SIDE_ENGINE, traffic_control, NULL);
    sim_run();
    *ret_sums = run.sums;
    free(members);
}
