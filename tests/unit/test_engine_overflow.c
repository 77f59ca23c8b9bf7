/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of messages for a queue at its limit: each policy of a receiving type, from a
 * handler, the control thread and a port; two policies in one queue; a kill between the marks of
 * what is dropped and its commit. The worker's part is played by the test where it is to be known
 * what is in the queue. */
#include <signal.h>
#include <sys/wait.h>

#include <odeon/names.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/inject.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/ports/port_poll.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/send/overflow.h"
#include "daemon/engine/signal/wake.h"
#include "daemon/engine/timers/timer_fire.h"
#include "engine_client.h"

enum { LIMIT = 16384, QUEUE = 0, RECORD = 32, FIT = LIMIT / RECORD, PORT = 3, N_ACTORS = 2 };

/* What each actor saw: its numbers, which must go up. */
static struct {
    uint64_t n, last, wrong;
} seen[N_ACTORS];
static struct {
    uint32_t n; /* how many sends the next "flood" makes */
    actor_ref to;
    uint32_t taken, refused, other;
} flood;
static uint32_t bred_type;
static _Atomic uint32_t n_inits;
static uint16_t number_type, flood_type, breed_type;

static int probe_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    memcpy(self, args, size);
    atomic_fetch_add_explicit(&n_inits, 1, memory_order_relaxed);
    return 0;
}

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    uint32_t who = *(uint32_t *)self;
    uint64_t number = *(const uint64_t *)message;
    (void)ctx;
    seen[who].wrong += seen[who].n > 0 && number <= seen[who].last;
    seen[who].last = number;
    seen[who].n++;
    return ALLOCATION_NODELETE;
}

static int on_flood(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    for (uint64_t i = 1; i <= flood.n; i++) {
        int r = engine_ctx_send(ctx, flood.to, number_type, 0, &i, sizeof(i));
        flood.taken += r == 0;
        flood.refused += r == -EAGAIN;
        flood.other += r != 0 && r != -EAGAIN;
    }
    return ALLOCATION_NODELETE;
}

/* A child in either queue, and a message for each at once. */
static int on_breed(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    const uint32_t who = 1;
    const struct engine_spawn spawn = { .placement = PLACE_EACH,
                                        .args = &who,
                                        .args_size = sizeof(who) };
    for (uint64_t i = 1; i <= 2; i++) {
        actor_ref child;
        assert_int_equal(engine_ctx_spawn(ctx, bred_type, &spawn, &child), 0);
        assert_int_equal(engine_ctx_send(ctx, child, number_type, 0, &i, sizeof(i)), 0);
    }
    return ALLOCATION_NODELETE;
}

static uint32_t type_register(struct engine_fixture *f, const char *name,
                              enum engine_overflow policy)
{
    struct engine_behaviour on[] = { { number_type, 8, false, on_number },
                                     { flood_type, 0, false, on_flood },
                                     { breed_type, 0, false, on_breed } };
    struct engine_actor_type_info info = {
        .name = name,
        .plugin = "test",
        .version = 1,
        .state_size = 8,
        .overflow = policy,
        .n_behaviours = 3,
        .behaviours = on,
        .init = probe_init,
    };
    uint32_t id = 0;
    assert_int_equal(engine_actor_type_register(f->engine, &info, &id), 0);
    return id;
}

static void messages_register(struct engine_fixture *f)
{
    number_type = engine_fixture_message(f, "number", 8, false);
    flood_type = engine_fixture_message(f, "flood", 0, false);
    breed_type = engine_fixture_message(f, "breed", 0, false);
}

static void types_register(struct engine_fixture *f, uint32_t types[OVERFLOW_POLICY_N])
{
    messages_register(f);
    for (unsigned policy = 0; policy < OVERFLOW_POLICY_N; policy++)
        types[policy] = type_register(f, engine_overflow_name((enum engine_overflow)policy),
                                      (enum engine_overflow)policy);
}

/* The queue is taken and run once. */
static void run(struct engine_fixture *f, uint32_t queue)
{
    assert_true(owner_take(&f->engine->sources[queue], 0, 0));
    mailbox_run(f->engine->workers[0], queue, false);
}

static void run_empty(struct engine_fixture *f, uint32_t queue)
{
    while (queue_has_work(&f->engine->segment.queues[queue]))
        run(f, queue);
}

struct two {
    struct engine_fixture f;
    uint32_t types[OVERFLOW_POLICY_N];
    actor_ref actor[N_ACTORS], elsewhere;
};

/* Actors of two policies in one queue, and one in another. */
static void two_begin(struct two *t, enum engine_overflow first, enum engine_overflow second)
{
    struct engine_config config = engine_fixture_config(1, 2);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = LIMIT;
    config.outbox_bytes = 1 << 20;
    engine_fixture_open(&t->f, config);
    types_register(&t->f, t->types);
    memset(seen, 0, sizeof(seen));
    memset(&flood, 0, sizeof(flood));
    t->elsewhere = 0;
    for (uint32_t i = 0; i < N_ACTORS;) {
        actor_ref ref =
            engine_fixture_spawn(&t->f, t->types[i == 0 ? first : second], &i, sizeof(i));
        struct engine_actor_view view;
        assert_int_equal(engine_actor_get(t->f.engine, ref, &view), 0);
        if (view.queue == QUEUE)
            t->actor[i++] = ref;
        else
            t->elsewhere = ref;
    }
    assert_int_not_equal(t->elsewhere, 0);
    run_empty(&t->f, QUEUE);
    run_empty(&t->f, 1);
}

static void two_end(struct two *t)
{
    for (unsigned i = 0; i < N_ACTORS; i++)
        assert_int_equal(seen[i].wrong, 0);
    engine_fixture_close(&t->f);
}

/* Sends numbers from `from` to an actor; returns how many were accepted. */
static uint32_t post(struct two *t, unsigned actor, uint64_t from, uint32_t n)
{
    uint32_t taken = 0;
    for (uint64_t number = from; number < from + n; number++) {
        int r =
            engine_actor_send(t->f.engine, t->actor[actor], number_type, &number, sizeof(number));
        assert_true(r == 0 || r == -EAGAIN);
        taken += r == 0;
    }
    return taken;
}

static uint64_t stat_of(struct two *t, enum stat_index stat)
{
    return engine_fixture_stat(&t->f, stat);
}

/* ---- one by one ---- */

/* The limit itself is not above it: one more fits. */
static void test_reject(void **state)
{
    (void)state;
    struct two t;
    two_begin(&t, OVERFLOW_POLICY_REJECT, OVERFLOW_POLICY_REJECT);
    assert_int_equal(post(&t, 0, 1, 3 * FIT), FIT + 1);
    assert_int_equal(stat_of(&t, STAT_refused_full), 2 * FIT - 1);
    run_empty(&t.f, QUEUE);
    assert_int_equal(seen[0].n, FIT + 1);
    assert_int_equal(seen[0].last, FIT + 1);
    assert_int_equal(post(&t, 0, 10000, 1), 1); /* it is open again */
    two_end(&t);
}

static void test_drop_newest(void **state)
{
    (void)state;
    struct two t;
    two_begin(&t, OVERFLOW_POLICY_DROP_NEWEST, OVERFLOW_POLICY_REJECT);
    assert_int_equal(post(&t, 0, 1, 3 * FIT), 3 * FIT);
    assert_int_equal(stat_of(&t, STAT_dropped_newest), 2 * FIT - 1);
    run_empty(&t.f, QUEUE);
    assert_int_equal(seen[0].n, FIT + 1);
    assert_int_equal(seen[0].last, FIT + 1);
    assert_int_equal(stat_of(&t, STAT_refused_full), 0);
    assert_int_equal(stat_of(&t, STAT_dead_letters), 0);
    two_end(&t);
}

static void test_drop_oldest(void **state)
{
    (void)state;
    struct two t;
    two_begin(&t, OVERFLOW_POLICY_DROP_OLDEST, OVERFLOW_POLICY_REJECT);
    uint32_t sent = FIT + FIT / 2;
    assert_int_equal(post(&t, 0, 1, sent), sent);
    assert_int_equal(stat_of(&t, STAT_dropped_newest), 0);
    run_empty(&t.f, QUEUE);
    assert_int_equal(stat_of(&t, STAT_dropped_oldest), sent - FIT);
    assert_int_equal(seen[0].n, FIT);
    assert_int_equal(seen[0].last, sent);
    /* within its limit nothing is dropped */
    assert_int_equal(post(&t, 0, 10000, FIT), FIT);
    run_empty(&t.f, QUEUE);
    assert_int_equal(seen[0].n, 2 * FIT);
    assert_int_equal(stat_of(&t, STAT_dropped_oldest), sent - FIT);
    two_end(&t);
}

/* What has no record of its own but its first message is initialised without that, too. */
static void test_the_first_message_is_dropped(void **state)
{
    (void)state;
    struct two t;
    two_begin(&t, OVERFLOW_POLICY_DROP_OLDEST, OVERFLOW_POLICY_REJECT);
    bred_type = t.types[OVERFLOW_POLICY_DROP_OLDEST];
    n_inits = 0;
    assert_int_equal(engine_actor_send(t.f.engine, t.elsewhere, breed_type, NULL, 0), 0);
    run_empty(&t.f, 1);
    assert_int_equal(n_inits, 1);
    assert_int_equal(seen[1].n, 1);
    uint32_t sent = FIT + FIT / 2;
    assert_int_equal(post(&t, 0, 1, sent), sent);
    run_empty(&t.f, QUEUE);
    assert_int_equal(n_inits, 2);
    assert_int_equal(seen[1].n, 1);
    assert_true(stat_of(&t, STAT_dropped_oldest) > sent - FIT);
    assert_int_equal(seen[0].last, sent);
    two_end(&t);
}

/* Twice the limit is the end of it. */
static void test_drop_oldest_is_bounded(void **state)
{
    (void)state;
    struct two t;
    two_begin(&t, OVERFLOW_POLICY_DROP_OLDEST, OVERFLOW_POLICY_REJECT);
    assert_int_equal(post(&t, 0, 1, 5 * FIT), 5 * FIT);
    assert_int_equal(stat_of(&t, STAT_dropped_newest), 3 * FIT - 1);
    run_empty(&t.f, QUEUE);
    assert_int_equal(stat_of(&t, STAT_dropped_oldest), FIT + 1);
    assert_int_equal(seen[0].n, FIT);
    assert_int_equal(seen[0].last, 2 * FIT + 1);
    two_end(&t);
}

/* Only what is of such a type is dropped, and only it is taken above the limit. */
static void test_two_policies_in_one_queue(void **state)
{
    (void)state;
    struct two t;
    two_begin(&t, OVERFLOW_POLICY_DROP_OLDEST, OVERFLOW_POLICY_REJECT);
    assert_int_equal(post(&t, 1, 1, FIT / 2), FIT / 2);
    assert_int_equal(post(&t, 0, 1, FIT), FIT);
    assert_int_equal(post(&t, 1, 1000, 10), 0);
    run_empty(&t.f, QUEUE);
    assert_int_equal(seen[1].n, FIT / 2);
    assert_int_equal(seen[0].n, FIT / 2);
    assert_int_equal(seen[0].last, FIT);
    assert_int_equal(stat_of(&t, STAT_dropped_oldest), FIT / 2);
    assert_int_equal(stat_of(&t, STAT_refused_full), 10);
    two_end(&t);
}

/* Nobody's order to stop is dropped: the sender is told instead. */
static void test_poison_is_not_dropped(void **state)
{
    (void)state;
    struct two t;
    two_begin(&t, OVERFLOW_POLICY_DROP_NEWEST, OVERFLOW_POLICY_DROP_OLDEST);
    assert_int_equal(post(&t, 0, 1, FIT + 1), FIT + 1);
    assert_int_equal(engine_actor_send(t.f.engine, t.actor[0], MESSAGE_TYPE_POISON_DELETE, NULL, 0),
                     -EAGAIN);
    assert_int_equal(engine_actor_send(t.f.engine, t.actor[1], MESSAGE_TYPE_POISON_DELETE, NULL, 0),
                     0);
    run_empty(&t.f, QUEUE);
    struct engine_actor_view view;
    assert_int_equal(engine_actor_get(t.f.engine, t.actor[1], &view), -ESRCH);
    assert_int_equal(stat_of(&t, STAT_dropped_newest), 0);
    two_end(&t);
}

/* ---- from a handler ---- */

static void flood_from_elsewhere(struct two *t, uint32_t n)
{
    flood = (typeof(flood)){ .n = n, .to = t->actor[0] };
    assert_int_equal(engine_actor_send(t->f.engine, t->elsewhere, flood_type, NULL, 0), 0);
    run_empty(&t->f, 1);
    assert_int_equal(flood.other, 0);
}

/* The queue is looked at once per flush: what a handler finds above the limit when it begins. */
static void test_handlers(void **state)
{
    (void)state;
    static const struct {
        enum engine_overflow policy;
        bool taken;
        enum stat_index stat;
    } rows[] = {
        { OVERFLOW_POLICY_REJECT, false, STAT_refused_full },
        { OVERFLOW_POLICY_DROP_NEWEST, true, STAT_dropped_newest },
        { OVERFLOW_POLICY_STALL, false, STAT_refused_full },
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct two t;
        two_begin(&t, rows[i].policy, OVERFLOW_POLICY_REJECT);
        flood_from_elsewhere(&t, FIT + 1);
        assert_int_equal(flood.taken, FIT + 1);
        flood_from_elsewhere(&t, 100);
        assert_int_equal(rows[i].taken ? flood.taken : flood.refused, 100);
        assert_int_equal(stat_of(&t, rows[i].stat), 100);
        run_empty(&t.f, QUEUE);
        assert_int_equal(seen[0].n, FIT + 1);
        two_end(&t);
    }
}

/* Whoever is sent to and is not there has no queue that could be full. */
static void test_nobodys_are_dead_at_once(void **state)
{
    (void)state;
    struct two t;
    struct engine_dead_letter letters[4];
    struct engine_actor_view view;
    bool more;
    two_begin(&t, OVERFLOW_POLICY_REJECT, OVERFLOW_POLICY_REJECT);
    assert_int_equal(engine_actor_send(t.f.engine, t.actor[1], MESSAGE_TYPE_POISON_DELETE, NULL, 0),
                     0);
    run_empty(&t.f, QUEUE);
    assert_int_equal(engine_actor_get(t.f.engine, t.actor[1], &view), -ESRCH);
    assert_int_equal(post(&t, 0, 1, 3 * FIT), FIT + 1);
    uint64_t failed = stat_of(&t, STAT_sends_failed), refused = stat_of(&t, STAT_refused_full);
    flood = (typeof(flood)){ .n = 3, .to = t.actor[1] };
    assert_int_equal(engine_actor_send(t.f.engine, t.elsewhere, flood_type, NULL, 0), 0);
    run_empty(&t.f, 1);
    assert_int_equal(flood.taken, 3);
    assert_int_equal(stat_of(&t, STAT_dead_letters), 3);
    assert_int_equal(stat_of(&t, STAT_sends_failed), failed);
    assert_int_equal(stat_of(&t, STAT_refused_full), refused);
    assert_int_equal(engine_dead_letters_list(t.f.engine, 0, letters, 4, &more), 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(letters[i].reason, REASON_NO_SUCH_ACTOR);
        assert_true(letters[i].to == t.actor[1] && letters[i].from == t.elsewhere);
        assert_int_equal(letters[i].message_type, number_type);
        assert_int_equal(letters[i].size, 8);
    }
    run_empty(&t.f, QUEUE);
    assert_int_equal(seen[0].n, FIT + 1);
    two_end(&t);
}

static void test_handlers_push_out_the_oldest(void **state)
{
    (void)state;
    struct two t;
    two_begin(&t, OVERFLOW_POLICY_DROP_OLDEST, OVERFLOW_POLICY_REJECT);
    assert_int_equal(post(&t, 0, 1, FIT + 1), FIT + 1);
    assert_int_equal(post(&t, 0, 1000000, 0), 0);
    seen[0].n = 0;
    flood_from_elsewhere(&t, 100); /* numbers 1 to 100, behind others */
    assert_int_equal(flood.taken, 100);
    run_empty(&t.f, QUEUE);
    assert_int_equal(stat_of(&t, STAT_dropped_oldest), 101);
    assert_int_equal(seen[0].n, FIT);
    assert_int_equal(seen[0].last, 100);
    seen[0].wrong = 0; /* two senders */
    two_end(&t);
}

/* ---- a kill ---- */

static void reopen(struct two *t)
{
    struct engine_recovery report;
    t->f.engine = engine_close(t->f.engine);
    engine_fixture_reopen(&t->f, &report);
    types_register(&t->f, t->types);
}

/* The worker dies attached, with `marks` of the oldest marked and none committed; then again with
 * some committed. */
static void test_killed_among_the_marks(void **state)
{
    (void)state;
    static const uint32_t marks[] = { 0, 1, FIT / 4, FIT / 2 };
    for (unsigned i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        struct two t;
        two_begin(&t, OVERFLOW_POLICY_DROP_OLDEST, OVERFLOW_POLICY_REJECT);
        uint32_t sent = FIT + FIT / 2;
        assert_int_equal(post(&t, 0, 1, sent), sent);
        struct worker *w = t.f.engine->workers[0];
        struct segment_queue *queue = &t.f.engine->segment.queues[QUEUE];
        uint8_t *batch =
            segment_window(&t.f.engine->segment, QUEUE, queue_active(load_relaxed(&queue->sel)));
        queue_gulp(queue, w->id);
        commit_flip(w, QUEUE + 1, 0, (uint64_t)sent * RECORD, 0, 0, 0);
        for (uint32_t k = 0; k < marks[i]; k++)
            ((struct envelope *)(batch + (uint64_t)k * RECORD))->flags |= ENVELOPE_DROPPED;
        reopen(&t);
        /* three are committed (the throughput), then the end again */
        engine_set_throughput(t.f.engine, 3);
        run(&t.f, QUEUE);
        assert_int_equal(stat_of(&t, STAT_dropped_oldest), 3);
        reopen(&t);
        run_empty(&t.f, QUEUE);
        assert_int_equal(stat_of(&t, STAT_dropped_oldest), sent - FIT);
        assert_int_equal(seen[0].n, FIT);
        assert_int_equal(seen[0].last, sent);
        two_end(&t);
    }
}

/* What the next build of a plugin drops has been accepted by one that drops nothing: it is counted,
 * and who had no init record because of a message that is dropped now begins all the same. */
static void test_drops_what_was_accepted_before(void **state)
{
    (void)state;
    struct two t;
    struct engine_recovery report;
    two_begin(&t, OVERFLOW_POLICY_REJECT, OVERFLOW_POLICY_REJECT);
    bred_type = t.types[OVERFLOW_POLICY_REJECT];
    assert_int_equal(engine_actor_send(t.f.engine, t.elsewhere, breed_type, NULL, 0), 0);
    run_empty(&t.f, 1);
    seen[1].n = 0;
    assert_int_equal(post(&t, 0, 1, FIT), FIT);
    for (unsigned life = 0; life < 2; life++) { /* the second one dies before it has begun them */
        t.f.engine = engine_close(t.f.engine);
        engine_fixture_reopen(&t.f, &report);
        messages_register(&t.f);
        (void)type_register(&t.f, "reject", OVERFLOW_POLICY_DROP_OLDEST);
    }
    n_inits = 0;
    assert_int_equal(post(&t, 0, FIT + 1, FIT / 2), FIT / 2);
    run_empty(&t.f, QUEUE);
    assert_int_equal(stat_of(&t, STAT_dropped_oldest), FIT / 2 + 1);
    assert_int_equal(seen[0].n, FIT);
    assert_int_equal(seen[0].last, FIT + FIT / 2);
    assert_int_equal(seen[1].n, 0);
    while (timer_fire_due(t.f.engine, clock_now_ns()))
        ;
    run_empty(&t.f, QUEUE);
    run_empty(&t.f, 1);
    assert_int_equal(n_inits, 5); /* two, their neighbours elsewhere, and two children */
    two_end(&t);
}

#ifdef ODEON_INJECT
/* The same by SIGKILL, in a process of its own. */
static void test_killed_while_marking(void **state)
{
    (void)state;
    static const uint32_t marks[] = { 1, 2, FIT / 4, FIT / 2 };
    for (unsigned i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        struct two t;
        two_begin(&t, OVERFLOW_POLICY_DROP_OLDEST, OVERFLOW_POLICY_REJECT);
        uint32_t sent = FIT + FIT / 2;
        assert_int_equal(post(&t, 0, 1, sent), sent);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            atomic_store(&inject_countdown[INJECT_marked], marks[i]);
            run(&t.f, QUEUE);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        reopen(&t);
        run_empty(&t.f, QUEUE);
        assert_int_equal(stat_of(&t, STAT_dropped_oldest), sent - FIT);
        assert_int_equal(seen[0].n, FIT);
        assert_int_equal(seen[0].last, sent);
        two_end(&t);
    }
}
#endif

/* ---- ports ---- */

static void post_from_port(struct client *c, actor_ref to, uint64_t from, uint32_t n)
{
    for (uint64_t number = from; number < from + n; number++)
        client_post(c, to, number_type, &number, sizeof(number));
}

static void run_port(struct two *t)
{
    uint32_t source = engine_source_of_port(t->f.engine, PORT);
    assert_true(owner_take(&t->f.engine->sources[source], 0, 0));
    (void)port_run(t->f.engine->workers[0], PORT, false);
}

static uint64_t refusals_received(struct client *c, enum envelope_reason reason)
{
    uint64_t n = 0;
    for (const struct envelope *at; (at = client_next(c)); n++) {
        struct refusal refusal;
        assert_int_equal(at->type, MESSAGE_TYPE_REFUSAL);
        memcpy(&refusal, envelope_payload(at), sizeof(refusal));
        assert_string_equal(odeon_reason_name(refusal.reason), odeon_reason_name(reason));
    }
    return n;
}

static void test_ports(void **state)
{
    (void)state;
    static const struct {
        enum engine_overflow policy;
        uint64_t run, refused, newest, oldest;
    } rows[] = {
        { OVERFLOW_POLICY_REJECT, FIT + 1, FIT / 2, 0, 0 },
        { OVERFLOW_POLICY_DROP_NEWEST, FIT + 1, 0, FIT / 2, 0 },
        { OVERFLOW_POLICY_DROP_OLDEST, FIT, 0, 0, FIT / 2 + 1 },
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct two t;
        struct client c;
        two_begin(&t, rows[i].policy, OVERFLOW_POLICY_REJECT);
        client_open(&t.f, &c, PORT, 1);
        assert_int_equal(post(&t, 0, 1, FIT + 1), FIT + 1);
        post_from_port(&c, t.actor[0], 10000, FIT / 2);
        run_port(&t);
        assert_int_equal(refusals_received(&c, REASON_QUEUE_FULL), rows[i].refused);
        run_empty(&t.f, QUEUE);
        assert_int_equal(seen[0].n, rows[i].run);
        assert_int_equal(stat_of(&t, STAT_refused_full), rows[i].refused);
        assert_int_equal(stat_of(&t, STAT_dropped_newest), rows[i].newest);
        assert_int_equal(stat_of(&t, STAT_dropped_oldest), rows[i].oldest);
        client_free(&c);
        two_end(&t);
    }
}

static void test_port_stalls(void **state)
{
    (void)state;
    struct two t;
    struct client c;
    two_begin(&t, OVERFLOW_POLICY_STALL, OVERFLOW_POLICY_REJECT);
    client_open(&t.f, &c, PORT, 1);
    assert_int_equal(post(&t, 0, 1, FIT + 1), FIT + 1);
    post_from_port(&c, t.elsewhere, 1, 3); /* these go before */
    uint64_t before = c.tail;
    post_from_port(&c, t.actor[0], 10000, 10);
    post_from_port(&c, t.elsewhere, 4, 1); /* ... and this has to wait, too */
    run_port(&t);
    uint32_t source = engine_source_of_port(t.f.engine, PORT);
    assert_int_equal(load_relaxed(&c.executor->submission_head), before);
    assert_int_equal(stat_of(&t, STAT_stalled), 1);
    assert_int_equal(stat_of(&t, STAT_port_messages), 3);
    /* nobody looks at it again */
    assert_false(ready_is_set(t.f.engine->workers[0]->called.ready, source));
    t.f.engine->workers[0]->ports.hot[0] |= 1 << PORT;
    assert_int_equal(port_poll_hot(t.f.engine->workers[0]), -1);
    assert_false(ready_is_set(t.f.engine->workers[0]->called.ready, source));
    run(&t.f, QUEUE);
    assert_true(
        ready_is_set(t.f.engine->workers[0]->called.ready, source)); /* until the queue is taken */
    assert_true(ready_clear(t.f.engine->workers[0]->called.ready, source));
    run_port(&t);
    assert_int_equal(load_relaxed(&c.executor->submission_head), c.tail);
    run_empty(&t.f, QUEUE);
    assert_int_equal(seen[0].n, FIT + 11);
    assert_int_equal(seen[0].last, 10009);
    assert_int_equal(stat_of(&t, STAT_stalled), 1);
    assert_int_equal(stat_of(&t, STAT_refused_full), 0);
    client_free(&c);
    two_end(&t);
}

/* A client that goes while it is stalled: what it had published is still taken. */
static void test_stalled_port_is_closed(void **state)
{
    (void)state;
    struct two t;
    struct client c;
    two_begin(&t, OVERFLOW_POLICY_STALL, OVERFLOW_POLICY_REJECT);
    client_open(&t.f, &c, PORT, 1);
    assert_int_equal(post(&t, 0, 1, FIT + 1), FIT + 1);
    post_from_port(&c, t.actor[0], 10000, 10);
    run_port(&t);
    assert_int_equal(engine_port_remove(t.f.engine, PORT, 1), 0);
    uint32_t source = engine_source_of_port(t.f.engine, PORT);
    (void)ready_clear(t.f.engine->workers[0]->called.ready, source);
    run_port(&t);
    assert_false(ready_is_set(t.f.engine->workers[0]->called.ready, source));
    assert_int_equal(engine_start(t.f.engine), 0);
    struct engine_event event;
    assert_true(engine_fixture_until(client_event_next(t.f.engine, &event)));
    assert_int_equal(event.kind, ENGINE_EVENT_PORT_REMOVED);
    assert_true(engine_fixture_wait(&t.f, TEST_DEADLINE_NS));
    engine_stop(t.f.engine);
    assert_int_equal(seen[0].n, FIT + 11);
    client_free(&c);
    two_end(&t);
}

/* Clients that stall all the time, against workers that steal from each other: everything arrives,
 * in order. */
static void test_stalls_lose_nothing(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c[2];
    uint32_t types[OVERFLOW_POLICY_N];
    struct engine_config config = engine_fixture_config(2, 2);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = 4096;
    config.outbox_bytes = 1 << 20;
    config.spin_ns = 1000;
    engine_fixture_open(&f, config);
    types_register(&f, types);
    memset(seen, 0, sizeof(seen));
    actor_ref actor[N_ACTORS];
    for (uint32_t i = 0; i < N_ACTORS; i++) {
        actor[i] = engine_fixture_spawn(&f, types[OVERFLOW_POLICY_STALL], &i, sizeof(i));
        client_open(&f, &c[i], i, 1);
    }
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t n = TEST_SCALE(200000);
    for (uint64_t number = 1; number <= n; number++)
        for (uint32_t i = 0; i < N_ACTORS; i++)
            client_post(&c[i], actor[i], number_type, &number, sizeof(number));
    for (uint32_t i = 0; i < N_ACTORS; i++)
        assert_true(
            engine_fixture_until(load_acquire(&c[i].executor->submission_head) == c[i].tail));
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    engine_stop(f.engine);
    for (uint32_t i = 0; i < N_ACTORS; i++) {
        assert_int_equal(seen[i].n, n);
        assert_int_equal(seen[i].wrong, 0);
        assert_null(client_next(&c[i])); /* no refusals */
        client_free(&c[i]);
    }
    assert_true(engine_fixture_stat(&f, STAT_stalled) > 0);
    engine_fixture_close(&f);
}

/* ---- the rest ---- */

static void test_types_say_their_policy(void **state)
{
    (void)state;
    struct two t;
    two_begin(&t, OVERFLOW_POLICY_REJECT, OVERFLOW_POLICY_REJECT);
    for (unsigned life = 0; life < 2; life++) {
        for (unsigned policy = 0; policy < OVERFLOW_POLICY_N; policy++) {
            struct engine_actor_type_view view;
            assert_int_equal(engine_actor_type_get(t.f.engine, t.types[policy], &view), 0);
            assert_int_equal(view.overflow, policy);
            assert_string_equal(view.name, engine_overflow_name(view.overflow));
        }
        reopen(&t);
    }
    struct engine_actor_type_info info = {
        .name = "x", .plugin = "test", .version = 1, .overflow = OVERFLOW_POLICY_N
    };
    uint32_t id;
    assert_int_equal(engine_actor_type_register(t.f.engine, &info, &id), -EINVAL);
    two_end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reject),
        cmocka_unit_test(test_drop_newest),
        cmocka_unit_test(test_drop_oldest),
        cmocka_unit_test(test_the_first_message_is_dropped),
        cmocka_unit_test(test_drop_oldest_is_bounded),
        cmocka_unit_test(test_two_policies_in_one_queue),
        cmocka_unit_test(test_poison_is_not_dropped),
        cmocka_unit_test(test_handlers),
        cmocka_unit_test(test_nobodys_are_dead_at_once),
        cmocka_unit_test(test_handlers_push_out_the_oldest),
        cmocka_unit_test(test_killed_among_the_marks),
        cmocka_unit_test(test_drops_what_was_accepted_before),
#ifdef ODEON_INJECT
        cmocka_unit_test(test_killed_while_marking),
#endif
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_port_stalls),
        cmocka_unit_test(test_stalled_port_is_closed),
        cmocka_unit_test(test_stalls_lose_nothing),
        cmocka_unit_test(test_types_say_their_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
