/* SPDX-License-Identifier: Apache-2.0 */
/* Kill and recover: a child runs the engine with real workers on a shared segment and dies by
 * SIGKILL at a random moment, a few hundred times; each next child recovers what it finds. A ledger
 * in memory of its own says what must be true whatever happened.
 *
 * The ledger is written by handlers, whose stores outside of the segment are not undone: a handler
 * that had run when its process was killed runs again, with the same number, and then its message
 * must say so (REDELIVERED). So of every stream of numbers the next one is the last one's
 * successor, or the last one again, redelivered: nothing lost, nothing twice, in order. There are
 * three kinds of streams: tokens that wander among the actors of a ring, pairs of a sender and a
 * receiver with a window of messages on the way, and chains of actors each of which is spawned by a
 * message and ends with one. At the end all streams run to the same number and stop: everything is
 * there, and no actor is left over. In one case the actors live in all the places there are,
 * threads of their own included, and the number of workers is another one in each life, and changes
 * all the time.
 *
 * Built twice: as it is, and with the engine's injection points, at which a child kills itself. */
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "engine_fixture.h"

#ifdef ODEON_INJECT
#include "daemon/engine/base/inject.h"
#endif

enum {
    N_RING = 24,
    N_TOKENS = 40,
    N_PAIRS = 6,
    WINDOW = 12,
    N_CHAINS = 8,
    ROOM = 5,       /* for workers */
    N_DETACHED = 4, /* of which the ring has N_RING / 12 */
    TAIL_MAX = 700, /* bytes behind a token: several flushes in a gulp */
};

enum phase { PHASE_BEGUN, PHASE_RECOVERING, PHASE_RUNNING };

struct ledger {
    _Atomic uint32_t phase;
    uint32_t n_places;         /* kinds of places for spawned actors */
    _Atomic uint64_t progress; /* handlers run */
    /* last numbers */
    _Atomic uint64_t token[N_TOKENS], data[N_PAIRS], ack[N_PAIRS], chain[N_CHAINS];
    /* 0: without end */
    _Atomic uint64_t token_end[N_TOKENS], pair_end[N_PAIRS], chain_end[N_CHAINS];
    actor_ref ring[N_RING], receiver[N_PAIRS];
    struct engine_recovery sum; /* of all reports */
    char failure[256];
};

struct token {
    uint64_t id, number;
};
struct pair_args {
    uint64_t pair;
};
struct numbered {
    uint64_t stream, number;
};

static struct ledger *ledger;
static uint16_t token_type, start_type, data_type, ack_type, go_type, done_type;
static uint32_t child_actor_type;

static __attribute__((format(printf, 1, 2), noreturn)) void ledger_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ledger->failure, sizeof(ledger->failure), format, args);
    va_end(args);
    abort();
}

static void ledger_note(const char *what, _Atomic uint64_t *last, uint64_t stream, uint64_t number,
                        const struct engine_context *ctx)
{
    uint64_t before = load_relaxed(last);
    if (number != before + 1 && !(number == before && ctx->redelivered))
        ledger_fail("%s %llu: %llu after %llu%s", what, (unsigned long long)stream,
                    (unsigned long long)number, (unsigned long long)before,
                    ctx->redelivered ? ", redelivered" : "");
    store_relaxed(last, number);
    atomic_fetch_add_explicit(&ledger->progress, 1, memory_order_relaxed);
}

static bool has_next(const _Atomic uint64_t *end, uint64_t number)
{
    uint64_t last = load_relaxed(end);
    return last == 0 || number < last;
}

static void must(const char *what, int r)
{
    if (r < 0)
        ledger_fail("%s: %s", what, strerror(-r));
}

/* ---- handlers ---- */

static uint32_t tail_size(uint64_t id, uint64_t number)
{
    return (uint32_t)((id * 31 + number * 7) % TAIL_MAX);
}

static int ring_on_token(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    const struct token *token = message;
    const uint8_t *tail = (const uint8_t *)(token + 1);
    uint32_t size = tail_size(token->id, token->number);
    if (token->id >= N_TOKENS || ctx->message_size != sizeof(*token) + size)
        ledger_fail("token %llu has %u bytes", (unsigned long long)token->id, ctx->message_size);
    for (uint32_t i = 0; i < size; i++)
        if (tail[i] != (uint8_t)(token->number + i))
            ledger_fail("token %llu: byte %u of its tail is wrong", (unsigned long long)token->id,
                        i);
    ledger_note("token", &ledger->token[token->id], token->id, token->number, ctx);
    if (!has_next(&ledger->token_end[token->id], token->number))
        return ALLOCATION_NODELETE;
    struct token next = { .id = token->id, .number = token->number + 1 };
    uint8_t bytes[TAIL_MAX];
    size = tail_size(next.id, next.number);
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(next.number + i);
    must("token", engine_ctx_send_tail(ctx, ledger->ring[(next.id * 5 + next.number * 11) % N_RING],
                                       token_type, 0, &next, sizeof(next), bytes, size));
    return ALLOCATION_NODELETE;
}

struct sender_state {
    uint64_t pair;
};

static int sender_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    struct sender_state *state = self;
    if (size != sizeof(struct pair_args))
        ledger_fail("spawn arguments of %zu bytes", size);
    state->pair = ((const struct pair_args *)args)->pair;
    return 0;
}

static int sender_on_start(void *self, const void *message, struct engine_context *ctx)
{
    (void)message;
    const struct sender_state *state = self;
    for (uint64_t i = 1; i <= WINDOW; i++) {
        struct numbered data = { .stream = state->pair, .number = i };
        must("data", engine_ctx_send(ctx, ledger->receiver[state->pair], data_type, 0, &data,
                                     sizeof(data)));
    }
    return ALLOCATION_NODELETE;
}

static int sender_on_ack(void *self, const void *message, struct engine_context *ctx)
{
    const struct sender_state *state = self;
    const struct numbered *ack = message;
    if (ack->stream != state->pair)
        ledger_fail("an acknowledgement of another pair, or state that was not made again");
    ledger_note("ack", &ledger->ack[ack->stream], ack->stream, ack->number, ctx);
    struct numbered data = { .stream = ack->stream, .number = ack->number + WINDOW };
    if (has_next(&ledger->pair_end[data.stream], data.number - 1))
        must("data", engine_ctx_send(ctx, ctx->sender, data_type, 0, &data, sizeof(data)));
    return ALLOCATION_NODELETE;
}

static int receiver_on_data(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    const struct numbered *data = message;
    ledger_note("data", &ledger->data[data->stream], data->stream, data->number, ctx);
    must("ack", engine_ctx_reply(ctx, ack_type, data, sizeof(*data), NULL, 0));
    return ALLOCATION_NODELETE;
}

/* How the n-th actor of a chain ends: by itself in two ways, or by a message. Named ones must have
 * gone before their name comes again, so they end by themselves. */
static bool chain_is_named(uint64_t chain)
{
    return chain % 2 == 1;
}

static bool chain_waits_for_poison(uint64_t chain, uint64_t number)
{
    return !chain_is_named(chain) && number % 3 == 0;
}

static int spawner_on_done(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    const struct numbered *done = message;
    ledger_note("chain", &ledger->chain[done->stream], done->stream, done->number, ctx);
    if (ctx->sender && chain_waits_for_poison(done->stream, done->number))
        must("poison", engine_ctx_send(ctx, ctx->sender, MESSAGE_TYPE_POISON_DELETE, 0, NULL, 0));
    else if (ctx->sender && done->number % 16 == 1) /* it has gone: a dead letter */
        must("late", engine_ctx_send(ctx, ctx->sender, go_type, 0, done, sizeof(*done)));
    if (!has_next(&ledger->chain_end[done->stream], done->number))
        return ALLOCATION_NODELETE;
    struct numbered next = { .stream = done->stream, .number = done->number + 1 };
    char name[32];
    snprintf(name, sizeof(name), "chain.%llu", (unsigned long long)next.stream);
    static const enum engine_placement places[] = { PLACE_NEAR, PLACE_SPREAD, PLACE_PINNED,
                                                    PLACE_FOLLOW, PLACE_DETACHED };
    struct engine_spawn spawn = {
        .placement = places[(next.number + next.stream) % ledger->n_places],
        .place = ENGINE_ANYWHERE,
        .name = chain_is_named(next.stream) ? name : NULL,
        .args = &next,
        .args_size = sizeof(next),
    };
    actor_ref child;
    int r = engine_ctx_spawn(ctx, child_actor_type, &spawn, &child);
    if (r == -ENOSPC && spawn.placement == PLACE_DETACHED) { /* the others have them all */
        spawn.placement = PLACE_SPREAD;
        r = engine_ctx_spawn(ctx, child_actor_type, &spawn, &child);
    }
    must("spawn", r);
    must("go", engine_ctx_send(ctx, child, go_type, 0, &next, sizeof(next)));
    return ALLOCATION_NODELETE;
}

static int child_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    if (size != sizeof(struct numbered))
        ledger_fail("arguments of a spawned actor: %zu bytes", size);
    memcpy(self, args, size);
    return 0;
}

static int child_on_go(void *self, const void *message, struct engine_context *ctx)
{
    const struct numbered *go = message, *state = self;
    if (go->stream != state->stream || go->number != state->number)
        ledger_fail("a spawned actor has another's arguments: %llu.%llu, not %llu.%llu",
                    (unsigned long long)state->stream, (unsigned long long)state->number,
                    (unsigned long long)go->stream, (unsigned long long)go->number);
    must("done", engine_ctx_reply(ctx, done_type, go, sizeof(*go), NULL, 0));
    if (chain_waits_for_poison(go->stream, go->number))
        return ALLOCATION_NODELETE;
    return go->number % 2 ? ALLOCATION_DELETE : ALLOCATION_DESTROY;
}

/* ---- one life of the engine ---- */

struct kinds {
    uint32_t ring, sender, receiver, spawner;
};

static struct kinds types_register(struct engine_fixture *f)
{
    token_type = engine_fixture_message(f, "token", sizeof(struct token), true);
    start_type = engine_fixture_message(f, "start", 0, false);
    data_type = engine_fixture_message(f, "data", sizeof(struct numbered), false);
    ack_type = engine_fixture_message(f, "ack", sizeof(struct numbered), false);
    go_type = engine_fixture_message(f, "go", sizeof(struct numbered), false);
    done_type = engine_fixture_message(f, "done", sizeof(struct numbered), false);
    struct engine_behaviour on_token = { token_type, sizeof(struct token), true, ring_on_token };
    struct engine_behaviour of_sender[] = {
        { start_type, 0, false, sender_on_start },
        { ack_type, sizeof(struct numbered), false, sender_on_ack },
    };
    struct engine_behaviour on_data = { data_type, sizeof(struct numbered), false,
                                        receiver_on_data };
    struct engine_behaviour on_done = { done_type, sizeof(struct numbered), false,
                                        spawner_on_done };
    struct engine_behaviour on_go = { go_type, sizeof(struct numbered), false, child_on_go };
    struct kinds kinds = {
        .ring = engine_fixture_type(f, "ring", 8, NULL, NULL, &on_token, 1),
        .sender = engine_fixture_type(f, "sender", sizeof(struct sender_state), sender_init, NULL,
                                      of_sender, 2),
        .receiver = engine_fixture_type(f, "receiver", 8, NULL, NULL, &on_data, 1),
        .spawner = engine_fixture_type(f, "spawner", 8, NULL, NULL, &on_done, 1),
    };
    child_actor_type =
        engine_fixture_type(f, "child", sizeof(struct numbered), child_init, NULL, &on_go, 1);
    return kinds;
}

static void life_populate(struct engine_fixture *f, const struct kinds *kinds)
{
    for (unsigned i = 0; i < N_RING; i++) {
        struct engine_spawn spawn = {
            .placement = ledger->n_places <= 2 ? PLACE_SPREAD
                         : i % 12 == 1         ? PLACE_DETACHED
                         : i % 4 == 2          ? PLACE_PINNED
                         : i % 4 == 3          ? PLACE_FOLLOW
                                               : PLACE_SPREAD,
            .place = ENGINE_ANYWHERE,
        };
        must("spawn", engine_actor_spawn_placed(f->engine, kinds->ring, &spawn, &ledger->ring[i]));
    }
    for (uint64_t i = 0; i < N_TOKENS; i++) {
        struct {
            struct token token;
            uint8_t tail[TAIL_MAX];
        } first = { .token = { .id = i, .number = 1 } };
        uint32_t size = tail_size(i, 1);
        for (uint32_t j = 0; j < size; j++)
            first.tail[j] = (uint8_t)(1 + j);
        must("token", engine_actor_send(f->engine, ledger->ring[i % N_RING], token_type, &first,
                                        sizeof(first.token) + size));
    }
    for (uint64_t i = 0; i < N_PAIRS; i++) {
        struct pair_args args = { .pair = i };
        ledger->receiver[i] = engine_fixture_spawn(f, kinds->receiver, NULL, 0);
        must("start", engine_actor_send(f->engine,
                                        engine_fixture_spawn(f, kinds->sender, &args, sizeof(args)),
                                        start_type, NULL, 0));
    }
    for (uint64_t i = 0; i < N_CHAINS; i++) {
        struct numbered done = { .stream = i, .number = 1 };
        must("done", engine_actor_send(f->engine, engine_fixture_spawn(f, kinds->spawner, NULL, 0),
                                       done_type, &done, sizeof(done)));
    }
}

static void report_add(struct engine_recovery *sum, const struct engine_recovery *report)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)report;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
        to[i] += from[i];
}

static uint64_t live_of_type(struct engine *e, uint32_t type)
{
    uint64_t n = 0;
    struct engine_actor_view view;
    for (uint32_t slot = 0; engine_actor_next(e, slot, &view) == 0;
         slot = actor_ref_slot(view.ref) + 1)
        n += view.type == type;
    struct engine_actor_type_view counted;
    must("type", engine_actor_type_get(e, type, &counted));
    if (counted.live != n)
        ledger_fail("%llu actors of a type, counted as %llu", (unsigned long long)n,
                    (unsigned long long)counted.live);
    return n;
}

static void stream_check(const char *what, const _Atomic uint64_t *last,
                         const _Atomic uint64_t *end, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (load_relaxed(&last[i]) != load_relaxed(&end[i]))
            ledger_fail("%s %u ends at %llu instead of %llu", what, i,
                        (unsigned long long)load_relaxed(&last[i]),
                        (unsigned long long)load_relaxed(&end[i]));
}

static void life_finish(struct engine_fixture *f, const struct kinds *kinds)
{
    if (!engine_fixture_wait(f, TEST_DEADLINE_NS))
        ledger_fail("the streams do not come to their end");
    stream_check("token", ledger->token, ledger->token_end, N_TOKENS);
    stream_check("data", ledger->data, ledger->pair_end, N_PAIRS);
    stream_check("ack", ledger->ack, ledger->pair_end, N_PAIRS);
    stream_check("chain", ledger->chain, ledger->chain_end, N_CHAINS);
    uint64_t left = live_of_type(f->engine, child_actor_type);
    if (left != 0)
        ledger_fail("%llu spawned actors are left over", (unsigned long long)left);
    if (live_of_type(f->engine, kinds->ring) != N_RING ||
        live_of_type(f->engine, kinds->receiver) != N_PAIRS ||
        live_of_type(f->engine, kinds->sender) != N_PAIRS ||
        live_of_type(f->engine, kinds->spawner) != N_CHAINS)
        ledger_fail("an actor that never ended is gone");
}

/* The number of workers is another one every millisecond, until the kill. */
static __attribute__((noreturn)) void life_change(struct engine_fixture *f)
{
    struct engine_config config = *engine_get_config(f->engine);
    struct engine_change change;
    const char *text;
    for (uint32_t i = (uint32_t)getpid();; i++) {
        config.n_workers = 1 + i * 7 % ROOM;
        config.stealing = i % STEAL_N;
        config.mode = i / 2 % STEAL_MODE_N;
        must("reconfigure",
             engine_reconfigure(f->engine, &config, TEST_DEADLINE_NS, &change, &text));
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

enum life { LIFE_POPULATE, LIFE_RUN, LIFE_FINISH };

struct injection {
    int point; /* -1: none */
    int64_t countdown;
};

static __attribute__((noreturn)) void life_main(struct engine_fixture *f, enum life life,
                                                struct injection injection)
{
    struct rlimit no_core = { 0, 0 };
    struct engine_recovery report;
    const char *text;
    setrlimit(RLIMIT_CORE, &no_core);
    if (f->config.workers_max)
        f->config.n_workers = 1 + (uint32_t)getpid() % ROOM;
    must("open", engine_open(&f->config, f->segment_fd, f->stats_fd, &f->engine, &text));
#ifdef ODEON_INJECT
    if (injection.point >= 0)
        atomic_store(&inject_countdown[injection.point], injection.countdown);
#else
    (void)injection;
#endif
    store_release(&ledger->phase, PHASE_RECOVERING);
    must("recover", engine_recover(f->engine, &report));
    report_add(&ledger->sum, &report);
    struct kinds kinds = types_register(f);
    if (life == LIFE_POPULATE) {
        life_populate(f, &kinds);
    } else {
        must("start", engine_start(f->engine));
        store_release(&ledger->phase, PHASE_RUNNING);
        if (life == LIFE_RUN && f->config.workers_max)
            life_change(f);
        if (life == LIFE_RUN)
            for (;;)
                pause();
        life_finish(f, &kinds);
        engine_stop(f->engine);
    }
    engine_close(f->engine);
    _exit(0);
}

static pid_t life_begin(struct engine_fixture *f, enum life life, struct injection injection)
{
    store_relaxed(&ledger->phase, PHASE_BEGUN);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        life_main(f, life, injection);
    return pid;
}

static void life_end_well(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s (status %x)", ledger->failure, (unsigned)status);
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = { .si_pid = 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Until the child has come as far as is wanted, or has ended by itself. */
static void life_wait(pid_t pid, enum phase phase, uint64_t progress)
{
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    while ((load_acquire(&ledger->phase) < phase || load_relaxed(&ledger->progress) < progress) &&
           !has_ended(pid)) {
        if (clock_now_ns() > until) {
            kill(pid, SIGKILL);
            fail_msg("no progress: phase %u, %llu handlers of %llu", load_relaxed(&ledger->phase),
                     (unsigned long long)load_relaxed(&ledger->progress),
                     (unsigned long long)progress);
        }
        sched_yield();
    }
}

static void life_end_by_kill(pid_t pid)
{
    int status;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("%s (status %x)", ledger->failure, (unsigned)status);
}

static void spin_ns(uint64_t ns)
{
    for (uint64_t until = clock_now_ns() + ns; clock_now_ns() < until;)
        ;
}

/* ---- cases ---- */

static unsigned seed = 1;

static struct engine_recovery found; /* by all cases */

static uint64_t draw(uint64_t below)
{
    return (uint64_t)rand_r(&seed) % below;
}

/* One child in three is killed while it recovers, or hardly has; and its successor, too, now and
 * then. */
static void kill_from_outside(struct engine_fixture *f)
{
    bool early = draw(3) == 0;
    uint64_t progress = load_relaxed(&ledger->progress) + draw(3000);
    pid_t pid = life_begin(f, LIFE_RUN, (struct injection){ .point = -1 });
    if (early) {
        life_wait(pid, PHASE_RECOVERING, 0);
        spin_ns(draw(200000));
    } else {
        life_wait(pid, PHASE_RUNNING, progress);
        spin_ns(draw(20000));
    }
    life_end_by_kill(pid);
}

#ifdef ODEON_INJECT
static const struct {
    enum inject_point point;
    int64_t mean;
} injections[] = {
    { INJECT_handler, 2000 },  { INJECT_outbox, 300 },  { INJECT_lock, 600 },
    { INJECT_copied, 600 },    { INJECT_journal, 600 }, { INJECT_journal, 600 },
    { INJECT_published, 600 }, { INJECT_step, 600 },    { INJECT_parked, 50 },
    { INJECT_release, 100 },   { INJECT_recovery, 4 },  { INJECT_recovery, 4 },
    { INJECT_step, 3 },        { INJECT_journal, 3 },
};

/* The means of the last two are so small that recovery's own flushes are hit. */
static void kill_from_inside(struct engine_fixture *f)
{
    size_t i = draw(sizeof(injections) / sizeof(injections[0]));
    struct injection injection = { .point = injections[i].point,
                                   .countdown =
                                       1 + (int64_t)draw(2 * (uint64_t)injections[i].mean) };
    uint64_t progress = load_relaxed(&ledger->progress) + 20000;
    pid_t pid = life_begin(f, LIFE_RUN, injection);
    life_wait(pid, PHASE_RUNNING, progress);
    life_end_by_kill(pid);
}
#endif

static void fixture_make(struct engine_fixture *f, uint32_t workers, uint32_t queues,
                         uint32_t throughput, bool changes)
{
    *f = (struct engine_fixture){ .config = engine_fixture_config(workers, queues) };
    f->config.actors_max = 1024;
    f->config.limit_bytes = 4 << 20;
    f->config.outbox_bytes = 1 << 20;
    f->config.dlq_bytes = 65536;
    f->config.throughput = throughput;
    f->config.workers_max = changes ? ROOM : 0;
    f->config.detached_max = changes ? N_DETACHED : 0;
    f->segment_fd = memfd_make_sealed("segment", engine_segment_size(&f->config));
    f->stats_fd = memfd_make_sealed("stats", STATS_SEGMENT_SIZE);
    assert_true(f->segment_fd >= 0 && f->stats_fd >= 0);
    ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(ledger != MAP_FAILED);
    ledger->n_places = changes ? 5 : 2;
}

/* Beyond whatever is on the way. */
static void ends_set(_Atomic uint64_t *end, const _Atomic uint64_t *last, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        store_relaxed(&end[i], load_relaxed(&last[i]) + WINDOW + 100);
}

static void torture(uint32_t workers, uint32_t queues, uint32_t throughput,
                    enum steal_policy_id stealing, bool changes, unsigned kills)
{
    struct engine_fixture f;
    fixture_make(&f, workers, queues, throughput, changes);
    f.config.stealing = stealing;
    life_end_well(life_begin(&f, LIFE_POPULATE, (struct injection){ .point = -1 }));
    for (unsigned i = 0; i < kills; i++) {
#ifdef ODEON_INJECT
        if (draw(4) != 0) {
            kill_from_inside(&f);
            continue;
        }
#endif
        kill_from_outside(&f);
    }
    ends_set(ledger->token_end, ledger->token, N_TOKENS);
    ends_set(ledger->pair_end, ledger->ack, N_PAIRS);
    ends_set(ledger->chain_end, ledger->chain, N_CHAINS);
    life_end_well(life_begin(&f, LIFE_FINISH, (struct injection){ .point = -1 }));
    const struct engine_recovery *sum = &ledger->sum;
    print_message(
        "%u kills, %llu handlers; found: %llu running, %llu unflushed, %llu armed, %llu locks, "
        "%llu parked, "
        "%llu attached, "
        "%llu spawns undone\n",
        kills, (unsigned long long)load_relaxed(&ledger->progress),
        (unsigned long long)sum->running_handlers, (unsigned long long)sum->unflushed_outboxes,
        (unsigned long long)sum->armed_journals, (unsigned long long)sum->held_locks,
        (unsigned long long)sum->parked_batches, (unsigned long long)sum->attached_batches,
        (unsigned long long)sum->spawns_undone);
    report_add(&found, sum);
    munmap(ledger, sizeof(*ledger));
    close(f.segment_fd);
    close(f.stats_fd);
}

static void test_one_worker_one_queue(void **state)
{
    (void)state;
    torture(1, 1, 64, STEAL_NONE, false, TEST_SCALE(200));
}

static void test_two_workers_short_gulps(void **state)
{
    (void)state;
    torture(2, 3, 5, STEAL_LONGEST_VICTIM, false, TEST_SCALE(250));
}

static void test_three_workers_stealing(void **state)
{
    (void)state;
    torture(3, 4, 4096, STEAL_RANDOM, false, TEST_SCALE(250));
}

static void test_many_queues(void **state)
{
    (void)state;
    torture(2, 20, 1, STEAL_LONGEST_VICTIM, false, TEST_SCALE(200));
}

static void test_workers_come_and_go(void **state)
{
    (void)state;
    torture(2, 3, 50, STEAL_LOCALITY, true, TEST_SCALE(250));
}

/* Otherwise the cases above have been lucky, not right. */
static void test_kills_hit_everything(void **state)
{
    (void)state;
    assert_true(found.running_handlers > 0 && found.attached_batches > 0 &&
                found.parked_batches > 0);
#ifndef TEST_SANITIZED /* few kills */
    assert_true(found.unflushed_outboxes > 0 && found.held_locks > 0);
#ifdef ODEON_INJECT
    assert_true(found.armed_journals > 0);
#endif
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker_one_queue),
        cmocka_unit_test(test_two_workers_short_gulps),
        cmocka_unit_test(test_three_workers_stealing),
        cmocka_unit_test(test_many_queues),
        cmocka_unit_test(test_workers_come_and_go),
        cmocka_unit_test(test_kills_hit_everything),
    };
    seed = (unsigned)getpid();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
