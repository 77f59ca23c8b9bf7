/* SPDX-License-Identifier: Apache-2.0 */
/* Reconfiguration while messages flow: however often workers come and go and whatever they do at
 * that moment, each message is run once, by one worker at a time, those of a pair in order; ports
 * go on; a stuck handler changes nothing. */
#include <sys/epoll.h>

#include "daemon/engine/actors/placement.h"
#include "engine_client.h"

enum { WORKERS_MAX = 6, QUEUES = 4, N_ACTORS = 48, TOKENS = 8 };

static const char *_Atomic first_wrong;
static _Atomic uint32_t is_stopping, n_absorbed, n_hops;
static _Atomic uint32_t block_entered, block_release;
static actor_ref actors[N_ACTORS];
static uint16_t hop_type, block_type, pin_type, echo_type;

static void wrong(const char *what)
{
    const char *none = NULL;
    atomic_compare_exchange_strong(&first_wrong, &none, what);
}

/* ---- a ring of actors: tokens go round, numbered by each sender ---- */

struct hop {
    uint64_t number; /* of its sender; 0: from the test */
};

struct ring_state {
    _Atomic uint32_t inside;
    uint32_t index;
    uint64_t got, sent;
};

static int ring_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    struct ring_state *state = self;
    if (size != sizeof(state->index))
        return -EINVAL;
    memcpy(&state->index, args, sizeof(state->index));
    return 0;
}

static int ring_on_hop(void *self, const void *message, struct engine_context *ctx)
{
    struct ring_state *state = self;
    const struct hop *hop = message;
    if (atomic_exchange(&state->inside, 1))
        wrong("two behaviours of an actor at a time");
    if (hop->number && hop->number != ++state->got)
        wrong("messages of a pair out of order, lost or doubled");
    atomic_fetch_add_explicit(&n_hops, 1, memory_order_relaxed);
    if (atomic_load(&is_stopping)) {
        atomic_fetch_add(&n_absorbed, 1);
    } else {
        struct hop next = { .number = ++state->sent };
        if (engine_ctx_send(ctx, actors[(state->index + 7) % N_ACTORS], hop_type, 0, &next,
                            sizeof(next)) != 0)
            wrong("a send failed");
    }
    atomic_store(&state->inside, 0);
    return ALLOCATION_NODELETE;
}

static int ring_on_block(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    atomic_fetch_add(&block_entered, 1);
    while (!atomic_load(&block_release))
        nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
    return ALLOCATION_NODELETE;
}

/* Only ever run by the worker that it was asked to be pinned to, as long as that one runs. */
static int ring_on_pin(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    const uint64_t *worker = message;
    if (ctx->worker != *worker)
        wrong("a pinned actor ran elsewhere");
    atomic_fetch_add(&n_absorbed, 1);
    return ALLOCATION_NODELETE;
}

static int ring_on_echo(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    if (engine_ctx_reply(ctx, echo_type, message, sizeof(uint64_t), NULL, 0) != 0)
        wrong("a reply failed");
    return ALLOCATION_NODELETE;
}

static uint32_t ring_type_register(struct engine_fixture *f)
{
    hop_type = engine_fixture_message(f, "hop", sizeof(struct hop), false);
    block_type = engine_fixture_message(f, "block", 0, false);
    pin_type = engine_fixture_message(f, "pin", 8, false);
    echo_type = engine_fixture_message(f, "echo", 8, false);
    struct engine_behaviour behaviours[] = {
        { hop_type, sizeof(struct hop), 0, ring_on_hop },
        { block_type, 0, 0, ring_on_block },
        { pin_type, 8, 0, ring_on_pin },
        { echo_type, 8, 0, ring_on_echo },
    };
    return engine_fixture_type(f, "ring", sizeof(struct ring_state), ring_init, NULL, behaviours,
                               4);
}

static struct engine_config roomy_config(uint32_t workers)
{
    struct engine_config config = engine_fixture_config(workers, QUEUES);
    config.workers_max = WORKERS_MAX;
    config.detached_max = 2;
    config.limit_bytes = 1 << 20;
    config.outbox_bytes = 1 << 20;
    return config;
}

static actor_ref spawn_placed(struct engine_fixture *f, uint32_t type, uint32_t index,
                              enum engine_placement placement, uint32_t place)
{
    struct engine_spawn spawn = {
        .placement = placement, .place = place, .args = &index, .args_size = sizeof(index)
    };
    actor_ref ref = 0;
    int r = engine_actor_spawn_placed(f->engine, type, &spawn, &ref);
    if (r < 0)
        fail_msg("spawn: %s", strerror(-r));
    return ref;
}

static void ring_begin(struct engine_fixture *f, struct engine_config config)
{
    atomic_store(&first_wrong, NULL);
    atomic_store(&is_stopping, 0);
    atomic_store(&n_absorbed, 0);
    atomic_store(&n_hops, 0);
    atomic_store(&block_entered, 0);
    atomic_store(&block_release, 0);
    engine_fixture_open(f, config);
    uint32_t type = ring_type_register(f);
    for (uint32_t i = 0; i < N_ACTORS; i++)
        actors[i] = spawn_placed(f, type, i,
                                 i % 8 == 3   ? PLACE_FOLLOW
                                 : i % 8 == 5 ? PLACE_PINNED
                                 : i < 2      ? PLACE_DETACHED
                                              : PLACE_SPREAD,
                                 ENGINE_ANYWHERE);
    assert_int_equal(engine_start(f->engine), 0);
}

static void ring_inject(struct engine_fixture *f)
{
    struct hop hop = { .number = 0 };
    atomic_store(&is_stopping, 0);
    atomic_store(&n_absorbed, 0);
    for (uint32_t i = 0; i < N_ACTORS * TOKENS; i++)
        assert_int_equal(
            engine_actor_send(f->engine, actors[i % N_ACTORS], hop_type, &hop, sizeof(hop)), 0);
}

/* Every token comes to rest. */
static void ring_collect(struct engine_fixture *f)
{
    atomic_store(&is_stopping, 1);
    bool all = engine_fixture_until(atomic_load(&n_absorbed) == N_ACTORS * TOKENS);
    if (!all || atomic_load(&first_wrong))
        fail_msg("%u of %u tokens; %s", atomic_load(&n_absorbed), N_ACTORS * TOKENS,
                 atomic_load(&first_wrong) ? atomic_load(&first_wrong) : "none wrong");
    assert_true(engine_fixture_wait(f, TEST_DEADLINE_NS));
}

static uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

static struct engine_config random_config(struct engine_fixture *f, uint32_t *seed)
{
    static const int two_nodes[WORKERS_MAX] = { 0, 0, 0, 1, 1, 1 };
    struct engine_config config = *engine_get_config(f->engine);
    config.n_workers = 1 + random_next(seed) % WORKERS_MAX;
    config.stealing = random_next(seed) % STEAL_N;
    config.mode = random_next(seed) % STEAL_MODE_N;
    config.steal_sources = random_next(seed) % 4;
    config.throughput = 1 + random_next(seed) % 200;
    config.spin_ns = random_next(seed) % 3 * 10000;
    config.moderate_sleeps = random_next(seed) % 3;
    config.moderate_ns = 50000;
    config.relaxed_ns = random_next(seed) % 2 * 1000000;
    config.nodes = random_next(seed) % 2 ? two_nodes : NULL;
    return config;
}

/* Nobody who does not run owns anything; who runs is what was asked for. */
static void check_owners(struct engine_fixture *f, uint32_t n)
{
    struct engine_queue_view view;
    assert_int_equal(load_relaxed(&f->engine->n_workers), n);
    assert_int_equal(load_relaxed(&f->engine->stats->n_workers), n);
    for (uint32_t id = 0; engine_queue_get(f->engine, id, &view) == 0; id++) {
        if (strcmp(view.kind, "detached") == 0) {
            assert_int_equal(view.worker, WORKERS_MAX + view.place);
            continue;
        }
        assert_true(view.worker < n && view.home < n);
        assert_int_equal(view.retired,
                         (strcmp(view.kind, "ordinary") == 0 || strcmp(view.kind, "pinned") == 0) &&
                             view.place >= n);
        if (strcmp(view.kind, "pinned") == 0 && !view.retired)
            assert_int_equal(view.worker, view.place);
    }
    for (uint32_t id = 0; id < WORKERS_MAX; id++)
        if (id >= n)
            assert_int_equal(load_relaxed(&f->engine->workers[id]->stats->value[STAT_state]),
                             WORKER_STOPPED);
}

static void reconfigure(struct engine_fixture *f, struct engine_config config)
{
    struct engine_change change;
    const char *text;
    int r = engine_reconfigure(f->engine, &config, TEST_DEADLINE_NS, &change, &text);
    if (r != 0)
        fail_msg("reconfigure: %s (%s, worker %u)", strerror(-r), text, change.stuck);
    check_owners(f, config.n_workers);
}

/* ---- tests ---- */

static void test_under_full_load(void **state)
{
    (void)state;
    struct engine_fixture f;
    uint32_t seed = 1, n = TEST_SCALE(400);
    ring_begin(&f, roomy_config(2));
    ring_inject(&f);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = atomic_load(&n_hops);
        reconfigure(&f, random_config(&f, &seed));
        if (i % 4) /* else the next one comes at once */
            assert_true(engine_fixture_until(atomic_load(&n_hops) - before > 200));
    }
    ring_collect(&f);
    assert_int_equal(load_relaxed(&f.engine->stats->reconfigurations), n);
    print_message("%u changes, %u messages; the longest pause: %llu us\n", n, atomic_load(&n_hops),
                  (unsigned long long)load_relaxed(&f.engine->stats->pause_longest_ns) / 1000);
    assert_true(load_relaxed(&f.engine->stats->pause_last_ns) > 0);
    assert_true(load_relaxed(&f.engine->stats->pause_longest_ns) >=
                load_relaxed(&f.engine->stats->pause_last_ns));
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

static bool all_parked(struct engine_fixture *f)
{
    for (uint32_t id = 0; id < load_relaxed(&f->engine->n_workers); id++)
        if (load_relaxed(&f->engine->workers[id]->stats->value[STAT_state]) != WORKER_PARKED)
            return false;
    return true;
}

/* Workers that sleep, that are woken in the same moment, that have just begun to search. */
static void test_parked_and_woken(void **state)
{
    (void)state;
    struct engine_fixture f;
    uint32_t seed = 2;
    ring_begin(&f, roomy_config(3));
    for (uint32_t i = 0; i < TEST_SCALE(200); i++) {
        if (i % 2)
            assert_true(engine_fixture_until(all_parked(&f)));
        if (i % 3 == 0)
            ring_inject(&f);
        reconfigure(&f, random_config(&f, &seed));
        if (i % 3)
            ring_inject(&f);
        ring_collect(&f);
    }
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

static void test_up_and_down(void **state)
{
    (void)state;
    struct engine_fixture f;
    ring_begin(&f, roomy_config(1));
    struct engine_config config = *engine_get_config(f.engine);
    for (uint32_t n = 1; n <= WORKERS_MAX; n++) {
        config.n_workers = n;
        reconfigure(&f, config);
        ring_inject(&f);
        ring_collect(&f);
    }
    /* with nothing stolen, each new worker has run its own range */
    config.stealing = STEAL_NONE;
    reconfigure(&f, config);
    uint32_t type;
    assert_int_equal(engine_actor_type_find(f.engine, "ring", &type), 0);
    for (uint32_t id = 0; id < WORKERS_MAX; id++) {
        actor_ref ref = spawn_placed(&f, type, id, PLACE_PINNED, id);
        uint64_t worker = id,
                 processed =
                     load_relaxed(&f.engine->workers[id]->stats->value[STAT_messages_processed]);
        atomic_store(&n_absorbed, 0);
        assert_int_equal(engine_actor_send(f.engine, ref, pin_type, &worker, sizeof(worker)), 0);
        assert_true(engine_fixture_until(atomic_load(&n_absorbed) == 1));
        assert_true(engine_fixture_until(
            load_relaxed(&f.engine->workers[id]->stats->value[STAT_messages_processed]) >
            processed));
    }
    assert_null(atomic_load(&first_wrong));
    while (config.n_workers > 1) {
        config.n_workers--;
        reconfigure(&f, config);
        ring_inject(&f);
        ring_collect(&f);
    }
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

/* The queues of a worker that has gone live as long as their actors, and get no new ones. */
static void test_retired_queues(void **state)
{
    (void)state;
    struct engine_fixture f;
    ring_begin(&f, roomy_config(4));
    struct engine_config config = *engine_get_config(f.engine);
    struct engine_queue_view view;
    uint32_t type, live = 0, retired = 0;
    assert_int_equal(engine_actor_type_find(f.engine, "ring", &type), 0);
    config.n_workers = 2;
    reconfigure(&f, config);
    for (uint32_t id = 0; engine_queue_get(f.engine, id, &view) == 0; id++) {
        live += view.actors;
        retired += view.retired ? view.actors : 0;
    }
    assert_int_equal(live, N_ACTORS);
    assert_true(retired > 0);
    for (uint32_t i = 0; i < 200; i++) {
        actor_ref ref =
            spawn_placed(&f, type, i, i % 2 ? PLACE_SPREAD : PLACE_PINNED, ENGINE_ANYWHERE);
        struct engine_actor_view actor;
        assert_int_equal(engine_actor_get(f.engine, ref, &actor), 0);
        assert_int_equal(engine_queue_get(f.engine, actor.queue, &view), 0);
        assert_false(view.retired);
    }
    ring_inject(&f);
    ring_collect(&f);
    for (uint32_t i = 0; i < N_ACTORS; i++)
        assert_int_equal(
            engine_actor_send(f.engine, actors[i], MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    for (uint32_t id = 0; engine_queue_get(f.engine, id, &view) == 0; id++)
        assert_true(!view.retired || view.actors == 0);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

static void test_stuck_handler(void **state)
{
    (void)state;
    struct engine_fixture f;
    ring_begin(&f, roomy_config(3));
    struct engine_config before = *engine_get_config(f.engine), config = before;
    struct engine_change change;
    const char *text;
    struct engine_actor_view view;
    assert_int_equal(engine_actor_send(f.engine, actors[5], block_type, NULL, 0), 0); /* pinned */
    assert_true(engine_fixture_until(atomic_load(&block_entered) == 1));
    assert_int_equal(engine_actor_get(f.engine, actors[5], &view), 0);
    for (uint32_t i = 0; i < 5; i++) {
        config.n_workers = i % 2 ? 1 : WORKERS_MAX;
        config.stealing = STEAL_RANDOM;
        config.throughput = 7;
        assert_int_equal(engine_reconfigure(f.engine, &config, 20000000, &change, &text), -EBUSY);
        assert_int_equal(change.stuck, view.worker);
        assert_true(text[0] != '\0');
        assert_memory_equal(engine_get_config(f.engine), &before, sizeof(before));
        check_owners(&f, 3);
        assert_int_equal(load_relaxed(&f.engine->stats->reconfigurations), 0);
    }
    /* not even a look is waited for */
    assert_int_equal(engine_reconfigure(f.engine, &config, 0, &change, &text), -EBUSY);
    atomic_store(&block_release, 1);
    ring_inject(&f);
    reconfigure(&f, config);
    ring_collect(&f);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

/* ---- threads that cannot be had */

static atomic_int n_made, n_joined;
static atomic_int threads_left = -1; /* that may still be made; negative: any number */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument)
{
    if (threads_left == 0)
        return EAGAIN;
    if (threads_left > 0)
        threads_left--;
    n_made++;
    return __real_pthread_create(thread, how, run, argument);
}

int __wrap_pthread_join(pthread_t thread, void **value);
int __real_pthread_join(pthread_t thread, void **value);

int __wrap_pthread_join(pthread_t thread, void **value)
{
    n_joined++;
    return __real_pthread_join(thread, value);
}

static int look(struct engine_fixture *f)
{
    uint32_t stuck;
    const char *text;
    return engine_reconfigure_look(f->engine, &stuck, &text);
}

/* It is told, or given up before it could be: either way nobody waits for threads that are none. */
static void test_no_thread_for_a_worker(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct engine_config config;
    const char *text;
    ring_begin(&f, roomy_config(2));
    config = *engine_get_config(f.engine);
    config.n_workers = WORKERS_MAX;
    for (int told = 0; told < 2; told++) {
        n_made = n_joined = 0;
        threads_left = 1;
        assert_int_equal(engine_reconfigure_ask(f.engine, &config, TEST_DEADLINE_NS, &text), 0);
        threads_left = -1;
        if (told)
            assert_true(engine_fixture_until(look(&f) == -EAGAIN));
        engine_reconfigure_cancel(f.engine);
        assert_int_equal(n_made, 1);
        assert_true(n_joined <= 1); /* a look may have found that it has ended */
        check_owners(&f, 2);
    }
    ring_inject(&f);
    ring_collect(&f);
    reconfigure(&f, config);
    check_owners(&f, WORKERS_MAX);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

/* reconfigure.X5: while a change is asked for nobody waits, and the control thread does its other
 * work; it can be given up, also by the engine's stop. */
static void test_asked_and_given_up(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct engine_change change;
    struct engine_config config;
    const char *text;
    ring_begin(&f, roomy_config(3));
    config = *engine_get_config(f.engine);
    assert_int_equal(engine_actor_send(f.engine, actors[5], block_type, NULL, 0), 0); /* pinned */
    assert_true(engine_fixture_until(atomic_load(&block_entered) == 1));
    for (uint32_t i = 0; i < 6; i++) {
        config.n_workers = i % 2 ? 1 : WORKERS_MAX;
        assert_int_equal(engine_reconfigure_ask(f.engine, &config, TEST_DEADLINE_NS, &text), 0);
        assert_int_equal(engine_reconfigure_ask(f.engine, &config, 0, &text), -EALREADY);
        for (uint32_t k = 0; k < 500; k++) {
            assert_int_equal(look(&f), -EINPROGRESS);
            if (i > 2) /* over several tries */
                nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
        }
        if (i == 2) /* the messages that come meanwhile are not forgotten */
            ring_inject(&f);
        engine_reconfigure_cancel(f.engine);
        check_owners(&f, 3);
    }
    atomic_store(&block_release, 1);
    ring_collect(&f);
    assert_int_equal(engine_reconfigure_ask(f.engine, &config, TEST_DEADLINE_NS, &text), 0);
    assert_true(engine_fixture_until(look(&f) != -EINPROGRESS));
    engine_reconfigure_cancel(f.engine); /* while all stand */
    check_owners(&f, 3);
    reconfigure(&f, config);
    assert_int_equal(engine_reconfigure_ask(f.engine, &config, TEST_DEADLINE_NS, &text), 0);
    assert_true(engine_fixture_until(look(&f) == 0));
    engine_reconfigure_make(f.engine, &config);
    assert_true(engine_fixture_until(engine_reconfigure_end(f.engine, &change) == 0));
    check_owners(&f, config.n_workers);
    config.n_workers = WORKERS_MAX;
    assert_int_equal(engine_reconfigure_ask(f.engine, &config, TEST_DEADLINE_NS, &text), 0);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

static bool hears(struct engine_fixture *f, uint32_t worker, int doorbell)
{
    struct epoll_event event = { .events = EPOLLIN };
    return epoll_ctl(f->engine->workers[worker]->doorbells.epoll_fd, EPOLL_CTL_MOD, doorbell,
                     &event) == 0 ||
           errno != ENOENT; /* what is exclusive cannot be changed */
}

/* A port that is opened while a change is asked for rings those who come with it; one that ends
 * while they go on rings nobody who has gone. */
static void test_ports_meanwhile(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    const char *text;
    ring_begin(&f, roomy_config(1));
    struct engine_config config = *engine_get_config(f.engine);
    struct engine_change change;
    config.n_workers = WORKERS_MAX;
    assert_int_equal(engine_reconfigure_ask(f.engine, &config, TEST_DEADLINE_NS, &text), 0);
    client_open(&f, &c, 0, 1);
    int doorbell = f.engine->ports.table[0].doorbell_fd;
    assert_true(engine_fixture_until(look(&f) == 0));
    engine_reconfigure_make(f.engine, &config);
    assert_true(engine_fixture_until(engine_reconfigure_end(f.engine, &change) == 0));
    for (uint32_t id = 0; id < WORKERS_MAX; id++)
        assert_true(hears(&f, id, doorbell));
    config.n_workers = 1;
    assert_int_equal(engine_reconfigure_ask(f.engine, &config, TEST_DEADLINE_NS, &text), 0);
    assert_true(engine_fixture_until(look(&f) == 0));
    engine_reconfigure_make(f.engine, &config);
    for (uint32_t id = 0; id < WORKERS_MAX; id++)
        assert_int_equal(hears(&f, id, doorbell), id == 0);
    assert_true(engine_fixture_until(engine_reconfigure_end(f.engine, &change) == 0));
    engine_stop(f.engine);
    client_free(&c);
    engine_fixture_close(&f);
}

/* A detached actor's handler blocks: nobody waits for it. */
static void test_detached_does_not_hold(void **state)
{
    (void)state;
    struct engine_fixture f;
    uint32_t seed = 3;
    ring_begin(&f, roomy_config(2));
    assert_int_equal(engine_actor_send(f.engine, actors[0], block_type, NULL, 0), 0);
    assert_true(engine_fixture_until(atomic_load(&block_entered) == 1));
    for (uint32_t i = 0; i < 20; i++)
        reconfigure(&f, random_config(&f, &seed));
    atomic_store(&block_release, 1);
    ring_inject(&f);
    ring_collect(&f);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

static void test_refusals(void **state)
{
    (void)state;
    struct engine_fixture f;
    ring_begin(&f, roomy_config(2));
    struct engine_config before = *engine_get_config(f.engine);
    struct engine_change change;
    const char *text;
#define REFUSED(member, value)                                                                     \
    do {                                                                                           \
        struct engine_config config = before;                                                      \
        config.member = (value);                                                                   \
        assert_int_equal(engine_reconfigure(f.engine, &config, TEST_DEADLINE_NS, &change, &text),  \
                         -EINVAL);                                                                 \
        assert_true(text[0] != '\0');                                                              \
    } while (0)
    REFUSED(n_workers, 0);
    REFUSED(n_workers, WORKERS_MAX + 1);
    REFUSED(stealing, STEAL_N);
    REFUSED(mode, STEAL_MODE_N);
    REFUSED(throughput, 0);
    REFUSED(workers_max, WORKERS_MAX - 1);
    REFUSED(queues_per_worker, 1);
    REFUSED(actors_max, 1 << 16);
    REFUSED(limit_bytes, 1 << 19);
    REFUSED(outbox_bytes, 1 << 19);
    REFUSED(backlog_bytes, 1 << 19);
    REFUSED(dlq_bytes, 1 << 19);
    REFUSED(attempts_max, 9);
    REFUSED(detached_max, 1);
    REFUSED(userdata, &f);
    REFUSED(host, &f);
#undef REFUSED
    assert_memory_equal(engine_get_config(f.engine), &before, sizeof(before));
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

/* Before the start there is nobody to stop. */
static void test_before_the_start(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct engine_change change;
    const char *text;
    engine_fixture_open(&f, roomy_config(1));
    struct engine_config config = *engine_get_config(f.engine);
    config.n_workers = 4;
    assert_int_equal(engine_reconfigure(f.engine, &config, 0, &change, &text), 0);
    assert_int_equal(engine_start(f.engine), 0);
    check_owners(&f, 4);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

/* Ports come, go and talk meanwhile: each call is answered once, in order. */
static void test_ports_go_on(void **state)
{
    (void)state;
    enum { PORTS = 5, CALLS = 40 };
    struct engine_fixture f;
    struct client clients[PORTS];
    uint32_t seed = 4, rounds = TEST_SCALE(60);
    ring_begin(&f, roomy_config(3));
    ring_inject(&f);
    for (uint32_t i = 0; i < rounds; i++) {
        for (uint32_t p = 0; p < PORTS; p++)
            client_open(&f, &clients[p], p, i + 1);
        for (uint64_t call = 0; call < CALLS; call++) {
            for (uint32_t p = 0; p < PORTS; p++)
                client_post(&clients[p], actors[(p + call) % N_ACTORS], echo_type, &call,
                            sizeof(call));
            if (call % 8 == 0)
                reconfigure(&f, random_config(&f, &seed));
            for (uint32_t p = 0; p < PORTS; p++) {
                uint64_t answer;
                memcpy(&answer,
                       envelope_payload((struct envelope *)(uintptr_t)client_wait(&clients[p])),
                       sizeof(answer));
                assert_int_equal(answer, call);
            }
        }
        for (uint32_t p = 0; p < PORTS; p++)
            assert_int_equal(engine_port_remove(f.engine, p, i + 1), 0);
        reconfigure(&f, random_config(&f, &seed));
        struct engine_event event;
        uint32_t removed = 0;
        assert_true(engine_fixture_until(
            (client_event_next(f.engine, &event) ? ++removed : removed) == PORTS));
        for (uint32_t p = 0; p < PORTS; p++)
            client_free(&clients[p]);
    }
    ring_collect(&f);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

/* Binding: again, by the worker itself, when its CPU is another one. */
static _Atomic uint32_t n_bound[WORKERS_MAX + 2]; /* and the two detached actors of the ring */

static _Atomic bool bind_fails;

static int count_bind(void *userdata, unsigned worker)
{
    (void)userdata;
    atomic_fetch_add(&n_bound[worker], 1);
    return atomic_load(&bind_fails) ? -EINVAL : 0;
}

static void test_binding(void **state)
{
    (void)state;
    struct engine_fixture f;
    int cpus[WORKERS_MAX] = { 0, 0, 0, 0, 0, 0 };
    struct engine_config config = roomy_config(2);
    config.cpus = cpus;
    config.bind = count_bind;
    for (uint32_t id = 0; id < WORKERS_MAX + 2; id++)
        atomic_store(&n_bound[id], 0);
    engine_fixture_open(&f, config); /* a thread that has not begun is bound to none */
    for (uint32_t id = 0; id < WORKERS_MAX; id++)
        assert_int_equal(load_relaxed(&f.engine->workers[id]->stats->cpu), UINT32_MAX);
    engine_fixture_close(&f);
    ring_begin(&f, config);
    assert_true(
        engine_fixture_until(atomic_load(&n_bound[0]) == 1 && atomic_load(&n_bound[1]) == 1));
    config = *engine_get_config(f.engine);
    cpus[1] = 7;
    config.cpus = cpus;
    config.n_workers = 3;
    reconfigure(&f, config);
    assert_true(
        engine_fixture_until(atomic_load(&n_bound[1]) == 2 && atomic_load(&n_bound[2]) == 1));
    assert_int_equal(atomic_load(&n_bound[0]), 1);
    assert_true(engine_fixture_until(atomic_load(&n_bound[WORKERS_MAX]) == 1 &&
                                     atomic_load(&n_bound[WORKERS_MAX + 1]) == 1));
    assert_true(engine_fixture_until(load_relaxed(&f.engine->workers[1]->stats->cpu) == 7));
    cpus[1] = 8; /* the engine has a copy */
    assert_int_equal(engine_get_config(f.engine)->cpus[1], 7);
    atomic_store(&bind_fails, true); /* who cannot be bound is nowhere */
    reconfigure(&f, config);
    assert_true(engine_fixture_until(load_relaxed(&f.engine->workers[1]->stats->cpu) != 7));
    assert_int_equal(load_relaxed(&f.engine->workers[1]->stats->cpu), UINT32_MAX);
    atomic_store(&bind_fails, false);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

/* A restart with another number of workers takes up where the last run was. */
static void test_restart_with_other_number(void **state)
{
    (void)state;
    static const uint32_t numbers[] = { 5, 1, 6, 2 };
    struct engine_fixture f;
    struct engine_recovery report;
    ring_begin(&f, roomy_config(3));
    for (uint32_t i = 0; i < 4; i++) {
        struct hop hop = { .number = 0 };
        engine_stop(f.engine);
        atomic_store(&is_stopping, 1);
        atomic_store(&n_absorbed, 0);
        for (uint32_t a = 0; a < N_ACTORS; a++)
            assert_int_equal(engine_actor_send(f.engine, actors[a], hop_type, &hop, sizeof(hop)),
                             0);
        f.engine = engine_close(f.engine);
        f.config.n_workers = numbers[i];
        engine_fixture_reopen(&f, &report);
        (void)ring_type_register(&f);
        assert_int_equal(engine_start(f.engine), 0);
        assert_true(engine_fixture_until(atomic_load(&n_absorbed) == N_ACTORS));
        check_owners(&f, numbers[i]);
    }
    assert_null(atomic_load(&first_wrong));
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up_and_down),
        cmocka_unit_test(test_under_full_load),
        cmocka_unit_test(test_parked_and_woken),
        cmocka_unit_test(test_retired_queues),
        cmocka_unit_test(test_stuck_handler),
        cmocka_unit_test(test_no_thread_for_a_worker),
        cmocka_unit_test(test_asked_and_given_up),
        cmocka_unit_test(test_ports_meanwhile),
        cmocka_unit_test(test_detached_does_not_hold),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_before_the_start),
        cmocka_unit_test(test_ports_go_on),
        cmocka_unit_test(test_binding),
        cmocka_unit_test(test_restart_with_other_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
