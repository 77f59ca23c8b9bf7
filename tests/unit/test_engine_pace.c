/* SPDX-License-Identifier: Apache-2.0 */
/* When a send leaves (pace.h, relieve.h), told without a clock: a handler waits, in the middle of
 * its batch, for what the messages before it have sent to have been run elsewhere. An engine that
 * keeps sends for the end of the batch never comes to that end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/engine/parts/types.h"
#include "daemon/engine/run/pace.h"
#include "daemon/engine/send/place.h"
#include "daemon/engine/stuck/relieve.h"
#include "tests/unit/engine_fixture.h"

#define HANDLER __attribute__((section("pace_handlers"), noinline))
extern const char __start_pace_handlers[], __stop_pace_handlers[];

enum { MESSAGES = 300, QUICK = 40, SLOW_NS = 4000, HOLD_NS = 20 * 1000 * 1000 };
enum {
    MANY = TEST_SCALE(1000000), /* quick ones before the one that is not */
    TURNS = 40,                 /* rows of 1 to so many quick ones, with a slow one behind each */
    ROW = 24,                   /* slow ones behind each other, each of which takes so many looks */
    ROW_LOOKS = 3,
    IDS = 8,
    LONG_NS = 2 * PACE_SURPRISE_NS,
    ROW_BEHIND = 6, /* what has been sent by so many messages before has been carried out */
};

enum deed {
    DEED_SEND,
    DEED_WAIT,
    DEED_AGAIN,
    DEED_SPAWN,
    DEED_SURPRISE,
    DEED_ROW,
    DEED_MANY,
    DEED_COUNTED,
    DEED_SPAWN_COUNTED,
    DEED_LONG,
    DEED_HAND,
    DEED_TAKE
};
struct order {
    uint64_t deed;
    uint64_t n; /* messages that the sink must have had; how many are to be behind us */
};

static struct engine_fixture *fixture;
static struct observed_header *observed; /* NULL: nothing is */
static uint16_t message_order, message_drop, message_count;
static uint32_t type_worker, type_sink;
static actor_ref worker_ref, mate_ref, sink_ref;
static _Atomic uint64_t sunk, run, failed, looks;
static _Atomic uint64_t long_least_ns, long_most_ns, passed;
static _Atomic uint64_t ended_ns;  /* when the message before ended; where that is looked for */
static _Atomic uint32_t long_over; /* the long one has ended, and no other has begun since */
static _Atomic uint32_t stop;

/* True: what is waited for has come. The test's patience ends it all. */
#define UNTIL(condition)                                                                           \
    ({                                                                                             \
        uint64_t end_ns_ = clock_now_ns() + TEST_DEADLINE_NS;                                      \
        bool come_;                                                                                \
        while (!(come_ = (condition)) && clock_now_ns() < end_ns_)                                 \
            usleep(50);                                                                            \
        if (!come_)                                                                                \
            atomic_fetch_add(&failed, 1);                                                          \
        come_;                                                                                     \
    })

/* Long enough never to be taken for quick. */
HANDLER static void slow_work(void)
{
    uint64_t end_ns = clock_now_ns() + 5 * SLOW_NS;
    while (clock_now_ns() < end_ns)
        continue;
}

/* Takes long, and sees that what was sent by `n` messages does not wait for it. */
HANDLER static void surprise(uint64_t n)
{
    (void)UNTIL(load_acquire(&sunk) >= n);
}

/* As long as so many looks of the control thread take; what is seen is what messages before the
 * last few have sent. */
HANDLER static void one_of_a_row(uint64_t n)
{
    uint64_t at = load_acquire(&looks);
    (void)UNTIL(load_acquire(&looks) >= at + ROW_LOOKS);
    (void)UNTIL(load_acquire(&sunk) >= n);
}

/* Of messages that an actor sends itself, in->n are still to come. */
HANDLER static void one_of_many(const struct order *in, struct engine_context *ctx)
{
    struct order next = { DEED_MANY, in->n - 1 };
    if (in->n > 0)
        engine_ctx_send(ctx, ctx->self, message_order, 0, &next, sizeof(next));
    else
        surprise(MANY + MESSAGES);
    engine_ctx_send(ctx, sink_ref, message_drop, 0, NULL, 0);
}

/* By worker 0: so many messages, half of which at least have sent something. */
HANDLER static void counted(uint64_t n)
{
    const struct stats_worker *stats = fixture->engine->workers[0]->stats;
    (void)UNTIL(load_relaxed(&stats->value[STAT_messages_processed]) >= n &&
                load_relaxed(&stats->value[STAT_messages_sent]) >= n / 2);
}

/* Until the control thread has called, and a while longer, which is told. */
HANDLER static void take_long(void)
{
    const struct worker *w = fixture->engine->workers[0];
    uint64_t called_ns;
    (void)UNTIL(load_relaxed(&w->pace.called) > 1);
    called_ns = clock_now_ns();
    while (clock_now_ns() < called_ns + LONG_NS)
        continue;
    store_relaxed(&long_least_ns, clock_now_ns() - called_ns);
    store_relaxed(&long_over, 1);
}

/* The thread may get no processor between a message and the engine's own look at the clock: the
 * long one has lasted from the end of the one before it to the beginning of the next, at most. */
HANDLER static void note_begin(void)
{
    if (observed && load_relaxed(&long_over)) {
        store_relaxed(&long_most_ns, clock_now_ns() - load_relaxed(&ended_ns));
        store_relaxed(&long_over, 0);
    }
}

HANDLER static void note_end(void)
{
    if (observed && !load_relaxed(&long_over))
        store_relaxed(&ended_ns, clock_now_ns());
}

HANDLER static void spawn_one(struct engine_context *ctx)
{
    engine_ctx_spawn(ctx, type_sink, &(struct engine_spawn){ .placement = PLACE_SPREAD },
                     &(actor_ref){ 0 });
}

/* To another actor: how many messages had been run by now. */
HANDLER static void hand_over(struct engine_context *ctx)
{
    struct order next = { DEED_TAKE, load_relaxed(&run) };
    engine_ctx_send(ctx, mate_ref, message_order, 0, &next, sizeof(next));
}

HANDLER static int on_order(void *self, const void *message, struct engine_context *ctx)
{
    const struct order *in = message;
    (void)self;
    note_begin();
    switch (in->deed) {
    case DEED_WAIT:
        slow_work();
        (void)UNTIL(load_acquire(&sunk) >= in->n);
        break;
    case DEED_AGAIN:
        if (!load_acquire(&stop))
            engine_ctx_send(ctx, ctx->self, message_order, 0, in, sizeof(*in));
        break;
    case DEED_SURPRISE:
        surprise(in->n);
        break;
    case DEED_ROW:
        one_of_a_row(in->n);
        break;
    case DEED_MANY:
        one_of_many(in, ctx);
        break;
    case DEED_COUNTED:
        counted(in->n);
        break;
    case DEED_SPAWN_COUNTED:
        spawn_one(ctx);
        counted(in->n);
        break;
    case DEED_SPAWN:
        spawn_one(ctx);
        break;
    case DEED_LONG:
        take_long();
        break;
    case DEED_HAND:
        hand_over(ctx);
        break;
    case DEED_TAKE:
        store_relaxed(&passed, load_relaxed(&run) - in->n);
        engine_ctx_send(ctx, sink_ref, message_drop, 0, NULL, 0);
        break;
    default:
        break;
    }
    if (in->deed == DEED_SEND || in->deed == DEED_WAIT || in->deed == DEED_SURPRISE ||
        in->deed == DEED_ROW)
        engine_ctx_send(ctx, sink_ref, message_drop, 0, NULL, 0);
    atomic_fetch_add(&run, 1);
    note_end();
    return ALLOCATION_NODELETE;
}

/* So many have been counted. */
HANDLER static int on_count(void *self, const void *message, struct engine_context *ctx)
{
    const uint64_t *n = message;
    (void)self, (void)ctx;
    counted(*n);
    atomic_fetch_add(&run, 1);
    return ALLOCATION_NODELETE;
}

static int on_drop(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_fetch_add(&sunk, 1);
    return ALLOCATION_NODELETE;
}

static bool is_handler(void *userdata, const void *pc)
{
    (void)userdata;
    return (const char *)pc >= __start_pace_handlers && (const char *)pc < __stop_pace_handlers;
}

static void nobody_is_told(void *userdata, const struct engine_stall *stall)
{
    (void)userdata, (void)stall;
}

static actor_ref spawn(struct engine_fixture *f, uint32_t type, enum engine_placement placement,
                       uint32_t place)
{
    struct engine_spawn spawn = { .placement = placement, .place = place };
    actor_ref ref = 0;
    assert_int_equal(engine_actor_spawn_placed(f->engine, type, &spawn, &ref), 0);
    return ref;
}

/* An actor on worker 0, or with a thread of its own, and one that it sends to on the last
 * worker. */
static void begin_held(struct engine_fixture *f, uint32_t workers, enum engine_placement placement,
                       bool can_be_held)
{
    static struct engine_behaviour orders[2], drop[1];
    struct engine_config config = engine_fixture_config(workers, 1);

    fixture = f;
    sunk = run = failed = 0;
    looks = 0;
    stop = 0;
    config.observed = observed;
    config.stealing = STEAL_NONE;
    config.throughput = 1 << 20;
    config.detached_max = 1;
    config.is_handler = can_be_held ? is_handler : NULL;
    engine_fixture_open(f, config);
    message_order = engine_fixture_message(f, "order", sizeof(struct order), false);
    message_drop = engine_fixture_message(f, "drop", 0, false);
    message_count = engine_fixture_message(f, "count", sizeof(uint64_t), false);
    orders[0] = (struct engine_behaviour){ message_order, sizeof(struct order), 0, on_order };
    orders[1] = (struct engine_behaviour){ message_count, sizeof(uint64_t), 0, on_count };
    drop[0] = (struct engine_behaviour){ message_drop, 0, 0, on_drop };
    type_worker = engine_fixture_type(f, "worker", 8, NULL, NULL, orders, 2);
    type_sink = engine_fixture_type(f, "sink", 8, NULL, NULL, drop, 1);
    worker_ref = spawn(f, type_worker, placement, 0);
    sink_ref = spawn(f, type_sink, PLACE_PINNED, workers - 1);
}

static void begin(struct engine_fixture *f, uint32_t workers, enum engine_placement placement)
{
    begin_held(f, workers, placement, true);
}

static void tell_actor(struct engine_fixture *f, actor_ref to, enum deed deed, uint64_t n)
{
    struct order order = { deed, n };
    assert_int_equal(engine_actor_send(f->engine, to, message_order, &order, sizeof(order)), 0);
}

static void tell(struct engine_fixture *f, enum deed deed, uint64_t n)
{
    tell_actor(f, worker_ref, deed, n);
}

static void end(struct engine_fixture *f)
{
    engine_stop(f->engine);
    assert_int_equal(failed, 0);
    engine_fixture_close(f);
}

/* Each waits for what the ones before it have sent. All lie there before any runs: one batch. */
static void each_leaves(enum engine_placement placement)
{
    struct engine_fixture f;
    begin(&f, 2, placement);
    for (uint64_t i = 0; i < MESSAGES; i++)
        tell(&f, DEED_WAIT, i);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_until(load_acquire(&sunk) == MESSAGES));
    end(&f);
}

/* pace.T2 */
static void test_a_send_leaves_when_its_behaviour_ends(void **state)
{
    (void)state;
    each_leaves(PLACE_PINNED);
}

static void test_a_detached_actors_sends_leave(void **state)
{
    (void)state;
    each_leaves(PLACE_DETACHED);
}

/* As the executor's event loop does, until so many have been counted there. */
static bool watch_until(struct engine_fixture *f, const _Atomic uint64_t *count, uint64_t n)
{
    uint64_t end_ns = clock_now_ns() + TEST_DEADLINE_NS;
    while (load_acquire(count) < n && clock_now_ns() < end_ns) {
        uint64_t looked_ns = f->engine->watch.looked_ns;
        engine_watch_look(f->engine, nobody_is_told, NULL);
        if (f->engine->watch.looked_ns != looked_ns)
            atomic_fetch_add(&looks, 1);
        usleep(500);
    }
    return load_acquire(count) >= n;
}

/* A behaviour that was quick so often that it is run by the short way: the sends of the messages
 * before the one that hangs are carried out for its worker (relieve.RV1). */
static void test_what_was_sent_before_a_surprise_leaves(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 2, PLACE_PINNED);
    for (uint64_t i = 0; i < MESSAGES; i++)
        tell(&f, DEED_SEND, 0);
    tell(&f, DEED_WAIT, MESSAGES);
    for (uint64_t i = 0; i < MESSAGES; i++)
        tell(&f, DEED_SEND, 0);
    tell(&f, DEED_WAIT, 2 * MESSAGES + 1);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(watch_until(&f, &sunk, 2 * MESSAGES + 2));
    end(&f);
}

/* The same behind very many: the pace is as far from looking as it gets. The actor sends itself
 * what it runs, so that the batch does not end, and another one of its queue sends, too. */
static void test_a_surprise_behind_very_many(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 2, PLACE_PINNED);
    mate_ref = spawn(&f, type_worker, PLACE_PINNED, 0);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        tell_actor(&f, mate_ref, DEED_SEND, 0);
        if (i == MESSAGES / 2)
            tell(&f, DEED_MANY, MANY);
    }
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(watch_until(&f, &sunk, MANY + 1 + MESSAGES));
    end(&f);
}

/* All of two actors, of whom one is quick for a while and then slow, for ever longer. */
static void test_quick_and_slow_by_turns(void **state)
{
    (void)state;
    struct engine_fixture f;
    uint64_t n = 0;
    begin(&f, 2, PLACE_PINNED);
    mate_ref = spawn(&f, type_worker, PLACE_PINNED, 0);
    for (uint32_t row = 1; row <= TURNS; row++) {
        for (uint32_t i = 0; i < row; i++) {
            tell(&f, DEED_SEND, 0);
            tell_actor(&f, mate_ref, DEED_SEND, 0);
        }
        n += 2 * row;
        tell(&f, DEED_SURPRISE, n++);
    }
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(watch_until(&f, &sunk, n));
    end(&f);
}

/* pace.T3: quick ones are followed by a row of slow ones, of which a look at the clock would come
 * too late, and nobody can stop the thread. */
static void test_a_row_of_slow_ones(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin_held(&f, 2, PLACE_PINNED, false);
    for (uint64_t i = 0; i < MESSAGES; i++)
        tell(&f, DEED_SEND, 0);
    for (uint64_t i = 0; i < ROW; i++)
        tell(&f, DEED_ROW, i < ROW_BEHIND ? 0 : MESSAGES + i - ROW_BEHIND);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(watch_until(&f, &sunk, MESSAGES + ROW));
    end(&f);
}

/* relieve.RV1, relieve.RV2 as such: held by hand, in a handler that is marked quick by hand. */
static void test_a_held_worker_is_relieved(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 2, PLACE_PINNED);
    struct actor_type *type = load_relaxed(&f.engine->types.known[type_worker]);
    store_relaxed(&type->behaviours[0].meta, envelope_meta(message_order, sizeof(struct order), 0));
    tell(&f, DEED_SEND, 0);
    tell(&f, DEED_SEND, 0);
    tell(&f, DEED_WAIT, 2);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t end_ns = clock_now_ns() + TEST_DEADLINE_NS;
    while (load_acquire(&sunk) < 2 && clock_now_ns() < end_ns) {
        /* a thread that has only just begun does not answer */
        int r = relieve_worker(f.engine, 0, HOLD_NS);
        assert_true(r == 0 || r == -EAGAIN || r == -EBUSY || r == -ETIMEDOUT);
    }
    assert_true(engine_fixture_until(load_acquire(&sunk) == 3));
    assert_int_equal(load_acquire(&run), 3);
    end(&f);
}

/* Counters of a batch that does not end get on. */
static void test_counters_get_on(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 1, PLACE_PINNED);
    for (uint64_t i = 0; i < MESSAGES; i++)
        tell(&f, DEED_SEND, 0);
    for (uint64_t n = MESSAGES; n < MESSAGES + 3; n++)
        assert_int_equal(engine_actor_send(f.engine, worker_ref, message_count, &n, sizeof(n)), 0);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_until(load_acquire(&run) == MESSAGES + 3));
    end(&f);
}

/* relieve.RV4: so they do while a behaviour that has always been quick takes long; also of a worker
 * that cannot be relieved, for its handler has spawned (relieve.RV2). */
static void test_counters_get_on_in_a_surprise(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 1, PLACE_PINNED);
    uint64_t n = 0;
    for (uint64_t row = 1; row <= TURNS; row++) {
        for (uint64_t i = 0; i < QUICK; i++, n++)
            tell(&f, DEED_SEND, 0);
        tell(&f, row % 2 ? DEED_COUNTED : DEED_SPAWN_COUNTED, n++);
    }
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(watch_until(&f, &run, n));
    end(&f);
}

/* The records of the mate's messages, of which *ret_told say that they ran so long at least. */
static unsigned records_of_mate(const struct engine_fixture *f, unsigned *ret_told)
{
    const struct observed_trace *trace = &f->engine->workers[0]->observer.block->trace;
    unsigned n = 0;
    *ret_told = 0;
    for (uint64_t i = 1; i <= load_acquire(&trace->n); i++) {
        const struct observed_record *record = &trace->record[i % OBSERVED_RECORDS];
        uint64_t ns = load_relaxed(&record->run_ns);
        if (load_relaxed(&record->to) != mate_ref)
            continue;
        n++;
        assert_true(ns >= load_relaxed(&long_least_ns));
        if (!(load_relaxed(&record->weight) & OBSERVED_AT_LEAST))
            continue;
        assert_true(ns <= load_relaxed(&long_most_ns));
        assert_int_equal(observed_what_message(load_relaxed(&record->what)), message_order);
        ++*ret_told;
    }
    return n;
}

/* One of very many quick ones takes long once: the mate's, which has one record, and that says how
 * long.  Is it told as one that has run so long at least? */
static bool long_one_is_told(void)
{
    struct engine_fixture f;
    unsigned told;
    observed = mmap(NULL, OBSERVED_FILE_SIZE(IDS), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(observed, MAP_FAILED);
    observed_header_fill(observed, IDS);
    begin(&f, 2, PLACE_PINNED);
    mate_ref = spawn(&f, type_worker, PLACE_PINNED, 0);
    for (uint64_t n = 0; n < 2 * MESSAGES; n++)
        tell_actor(&f, n == MESSAGES ? mate_ref : worker_ref, n == MESSAGES ? DEED_LONG : DEED_SEND,
                   0);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(watch_until(&f, &run, 2 * MESSAGES));
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    assert_int_equal(records_of_mate(&f, &told), 1);
    end(&f);
    munmap(observed, OBSERVED_FILE_SIZE(IDS));
    observed = NULL;
    return told > 0;
}

/* pace.T5: so it is where it has been taken for quick.  A sample has its time anyway, and so has
 * each message while the quick ones before it were kept from their processor. */
static void test_who_took_long_once_is_told(void **state)
{
    uint64_t end_ns = clock_now_ns() + TEST_DEADLINE_NS;
    bool told;
    (void)state;
    while (!(told = long_one_is_told()) && clock_now_ns() < end_ns)
        continue;
    assert_true(told);
}

/* pace.T4: one who sends himself the next message before this one ends has a batch without end, and
 * the worker's other queues have their turn all the same. */
static void test_a_slice_ends(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 1, PLACE_FOLLOW);
    store_relaxed(&f.engine->throughput, UINT32_MAX);
    tell(&f, DEED_AGAIN, 0);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_until(load_acquire(&run) > QUICK));
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(engine_actor_send(f.engine, sink_ref, message_drop, NULL, 0), 0);
        assert_true(engine_fixture_until(load_acquire(&sunk) == i));
    }
    store_release(&stop, 1);
    end(&f);
}

/* place.U6: so have the others of its queue, whether its runs are cut by the number of messages or
 * by their time; it has `n` messages at once, which are a short batch or a long one. */
static void others_have_their_turn(uint32_t throughput, uint32_t n)
{
    struct engine_fixture f;
    begin(&f, 1, PLACE_PINNED);
    store_relaxed(&f.engine->throughput, throughput);
    mate_ref = spawn(&f, type_worker, PLACE_PINNED, 0);
    for (uint32_t i = 0; i < n; i++)
        tell(&f, DEED_AGAIN, 0);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_until(load_acquire(&run) > QUICK));
    for (uint64_t i = 1; i <= 3; i++) {
        tell_actor(&f, mate_ref, DEED_SEND, 0);
        assert_true(engine_fixture_until(load_acquire(&sunk) == i));
    }
    store_release(&stop, 1);
    end(&f);
}

static void test_others_of_its_queue_have_their_turn(void **state)
{
    (void)state;
    others_have_their_turn(256, 1);
    others_have_their_turn(256, PLACE_SHORT_BYTES / sizeof(struct order));
    others_have_their_turn(UINT32_MAX, 1);
}

/* ... and soon, where the batch is short: all of them are one worker's, so that nothing is run
 * between who sends and its count. */
static void test_others_of_its_queue_come_soon(void **state)
{
    enum { THROUGHPUT = 256, TIMES = 20 };
    struct engine_fixture f;
    (void)state;
    begin(&f, 1, PLACE_PINNED);
    store_relaxed(&f.engine->throughput, THROUGHPUT);
    mate_ref = spawn(&f, type_worker, PLACE_PINNED, 0);
    actor_ref hander = spawn(&f, type_worker, PLACE_SPREAD, 0);
    tell(&f, DEED_AGAIN, 0);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_until(load_acquire(&run) > QUICK));
    for (uint64_t i = 1; i <= TIMES; i++) {
        tell_actor(&f, hander, DEED_HAND, 0);
        assert_true(engine_fixture_until(load_acquire(&sunk) == i));
        assert_in_range(load_relaxed(&passed), 1, 2 * THROUGHPUT);
    }
    store_release(&stop, 1);
    end(&f);
}

/* Spawns of a turn that hangs stay uncommitted: its worker is left alone (relieve.RV2). */
static void test_all_arrives_beside_spawns(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 2, PLACE_PINNED);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        tell(&f, DEED_SEND, 0);
        tell(&f, DEED_SPAWN, 0);
    }
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(watch_until(&f, &sunk, MESSAGES));
    assert_true(engine_fixture_until(load_acquire(&run) == 2 * MESSAGES));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_send_leaves_when_its_behaviour_ends),
        cmocka_unit_test(test_a_detached_actors_sends_leave),
        cmocka_unit_test(test_what_was_sent_before_a_surprise_leaves),
        cmocka_unit_test(test_a_surprise_behind_very_many),
        cmocka_unit_test(test_quick_and_slow_by_turns),
        cmocka_unit_test(test_a_row_of_slow_ones),
        cmocka_unit_test(test_a_held_worker_is_relieved),
        cmocka_unit_test(test_counters_get_on),
        cmocka_unit_test(test_counters_get_on_in_a_surprise),
        cmocka_unit_test(test_who_took_long_once_is_told),
        cmocka_unit_test(test_a_slice_ends),
        cmocka_unit_test(test_others_of_its_queue_have_their_turn),
        cmocka_unit_test(test_others_of_its_queue_come_soon),
        cmocka_unit_test(test_all_arrives_beside_spawns),
    };
    return cmocka_run_group_tests_name("engine: when a send leaves", tests, NULL, NULL);
}
