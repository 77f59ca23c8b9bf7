/* SPDX-License-Identifier: Apache-2.0 */
/* The urgent lane (urgent.h): what goes through it overtakes what waits, in the middle of a batch,
 * and nothing else of its lane; it is bounded, and starves nobody. */
#include "tests/unit/engine_fixture.h"

#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/pace.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"

enum { LOG_MAX = 1 << 16, N_BATCH = 2000, FLOOD = 60000 };

enum what {
    ORDINARY,
    URGENT,
    ASK_HERE,
    ASK_MANY,
    ASK_SLOW,
    SLOW,
    ASK_FILL,
    ASK_AGAIN,
    ASK_BESIDE,
    GO_BESIDE,
    BESIDE
};
struct note {
    uint32_t what, number;
    actor_ref to;
};

static struct engine_fixture f;
static uint16_t message_note;
static uint32_t type_of_writer, type_of_oldest;

/* What the handlers have run, in order; a handler that is to be waited for. */
static struct note noted[LOG_MAX];
static _Atomic uint32_t n_noted, gate, inside, beside;
static int results[4];

static int send_urgent(struct engine_context *ctx, actor_ref to, uint32_t number)
{
    return engine_ctx_send_urgent(ctx, to, message_note, BEHAVIOUR_NONE,
                                  &(struct note){ URGENT, number, 0 }, sizeof(struct note));
}

static void fill_up(struct engine_context *ctx, const struct note *note)
{
    uint32_t n = 0;
    int r;
    while ((r = send_urgent(ctx, note->to, ++n)) == 0 && n < LOG_MAX) {
    }
    results[0] = r;
    results[1] = (int)n;
}

static int on_note(void *self, const void *message, struct engine_context *ctx)
{
    const struct note *note = message;
    (void)self;
    if (note->what == BESIDE) {
        store_release(&beside, 1);
        return ALLOCATION_NODELETE;
    }
    uint32_t at = load_relaxed(&n_noted);
    assert_true(at < LOG_MAX);
    noted[at] = *note;
    store_release(&n_noted, at + 1);
    switch (note->what) {
    case ASK_HERE:
        assert_int_equal(send_urgent(ctx, note->to, note->number), 0);
        break;
    case ASK_MANY:
        for (uint32_t i = 1; i <= note->number; i++)
            assert_int_equal(send_urgent(ctx, note->to, i), 0);
        break;
    case ASK_SLOW:
        for (uint32_t i = 1; i <= note->number; i++)
            assert_int_equal(engine_ctx_send_urgent(ctx, note->to, message_note, BEHAVIOUR_NONE,
                                                    &(struct note){ SLOW, i, 0 }, sizeof(*note)),
                             0);
        break;
    case SLOW: /* longer than a slice */
        usleep(PACE_SLICE_NS / 1000 + 1000);
        break;
    case ASK_FILL:
        fill_up(ctx, note);
        break;
    case ASK_AGAIN: /* for ever, in its own lane */
        if (note->number > 0)
            (void)engine_ctx_send_urgent(ctx, ctx->self, message_note, BEHAVIOUR_NONE,
                                         &(struct note){ ASK_AGAIN, note->number - 1, 0 },
                                         sizeof(*note));
        break;
    case ASK_BESIDE: /* a message that will take long, and an urgent one before it */
        (void)engine_ctx_send(ctx, ctx->self, message_note, BEHAVIOUR_NONE,
                              &(struct note){ ORDINARY, note->number, 0 }, sizeof(*note));
        (void)engine_ctx_send_urgent(ctx, ctx->self, message_note, BEHAVIOUR_NONE,
                                     &(struct note){ GO_BESIDE, 0, note->to }, sizeof(*note));
        break;
    case GO_BESIDE:
        (void)engine_ctx_send(ctx, note->to, message_note, BEHAVIOUR_NONE,
                              &(struct note){ BESIDE, 0, 0 }, sizeof(*note));
        break;
    default:
        break;
    }
    if (note->what == ORDINARY && note->number == load_relaxed(&gate)) {
        store_release(&inside, 1);
        while (load_acquire(&gate) == note->number)
            usleep(50);
    }
    return ALLOCATION_NODELETE;
}

static void begin_with_queues(uint32_t workers, uint32_t queues, uint64_t limit_bytes)
{
    static struct engine_behaviour behaviour[1];
    struct engine_config config = engine_fixture_config(workers, queues);
    config.limit_bytes = limit_bytes;
    engine_fixture_open(&f, config);
    message_note = engine_fixture_message(&f, "note", sizeof(struct note), false);
    behaviour[0] = (struct engine_behaviour){ message_note, sizeof(struct note), 0, on_note };
    type_of_writer = engine_fixture_type(&f, "writer", 8, NULL, NULL, behaviour, 1);
    struct engine_actor_type_info oldest = { .name = "oldest",
                                             .plugin = "p",
                                             .version = 1,
                                             .state_size = 8,
                                             .overflow = OVERFLOW_POLICY_DROP_OLDEST,
                                             .n_behaviours = 1,
                                             .behaviours = behaviour };
    assert_int_equal(engine_actor_type_register(f.engine, &oldest, &type_of_oldest), 0);
    store_relaxed(&n_noted, 0);
    store_relaxed(&gate, 0);
    store_relaxed(&inside, 0);
    store_relaxed(&beside, 0);
}

static void begin(uint32_t workers, uint64_t limit_bytes)
{
    begin_with_queues(workers, 1, limit_bytes);
}

static actor_ref spawn_on(uint32_t type, uint32_t worker)
{
    struct engine_spawn spawn = { .placement = PLACE_PINNED, .place = worker };
    actor_ref ref;
    assert_int_equal(engine_actor_spawn_placed(f.engine, type, &spawn, &ref), 0);
    return ref;
}

static void post(actor_ref to, struct note note)
{
    assert_int_equal(engine_actor_send(f.engine, to, message_note, &note, sizeof(note)), 0);
}

static void end(void)
{
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    engine_stop(f.engine);
    /* each record is counted once as sent, and once as carried there */
    assert_int_equal(engine_fixture_stat(&f, STAT_messages_sent),
                     engine_fixture_stat(&f, STAT_tail_appends) +
                         engine_fixture_stat(&f, STAT_flushed_messages));
    for (uint32_t queue = 0; queue < f.engine->segment.n_queues; queue++)
        assert_false(queue_has_work(&f.engine->segment.queues[queue]));
    for (uint32_t mailbox = 0; mailbox <= f.engine->segment.n_mailboxes; mailbox++)
        assert_int_equal(load_relaxed(&f.engine->urgent[mailbox]), 0);
    engine_fixture_close(&f);
}

/* Where `what` stands in the log, -1: nowhere. */
static int64_t find(uint32_t what, uint32_t number)
{
    for (uint32_t i = 0; i < load_acquire(&n_noted); i++)
        if (noted[i].what == what && noted[i].number == number)
            return i;
    return -1;
}

/* From the middle of a batch, to another actor of the same queue: behind that message, before the
 * rest. */
static void test_overtakes_its_own_batch(void **state)
{
    (void)state;
    begin(1, 64 << 20);
    actor_ref a = spawn_on(type_of_writer, 0), b = spawn_on(type_of_writer, 0);
    for (uint32_t i = 1; i <= N_BATCH; i++)
        post(a, (struct note){ i == 100 ? ASK_MANY : ORDINARY, i == 100 ? 50 : i, b });
    assert_int_equal(engine_start(f.engine), 0);
    end();
    int64_t asked = find(ASK_MANY, 50);
    assert_int_equal(asked, 99);
    for (uint32_t i = 1; i <= 50; i++) /* in order */
        assert_int_equal(find(URGENT, i), asked + i);
    assert_int_equal(find(ORDINARY, 101), asked + 51);
    assert_int_equal(find(ORDINARY, N_BATCH), N_BATCH + 49);
}

/* urgent.G3: each ends the slice of a run, and still no ordinary message comes between them. */
static void test_slices_of_one_batch(void **state)
{
    (void)state;
    begin(1, 64 << 20);
    actor_ref a = spawn_on(type_of_writer, 0), b = spawn_on(type_of_writer, 0);
    post(a, (struct note){ ASK_SLOW, 4, b });
    for (uint32_t i = 1; i <= 10; i++)
        post(a, (struct note){ ORDINARY, i, 0 });
    assert_int_equal(engine_start(f.engine), 0);
    end();
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(find(SLOW, i), i);
    assert_int_equal(find(ORDINARY, 1), 5);
}

/* From another worker, into a batch that runs. */
static void test_overtakes_another_workers_batch(void **state)
{
    (void)state;
    begin(2, 64 << 20);
    actor_ref a = spawn_on(type_of_writer, 0), sender = spawn_on(type_of_oldest, 1);
    for (uint32_t i = 1; i <= N_BATCH; i++)
        post(a, (struct note){ ORDINARY, i, 0 });
    store_relaxed(&gate, 10);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    while (!load_acquire(&inside))
        assert_true(clock_now_ns() < until);
    /* Worker 0 stands in number 10, and writes nothing: worker 1 may. */
    post(sender, (struct note){ ASK_MANY, 5, a });
    struct engine_queue_view view;
    struct engine_actor_view actor;
    assert_int_equal(engine_actor_get(f.engine, a, &actor), 0);
    do { /* the sender's own batch has ended: flushed */
        assert_int_equal(engine_queue_get(f.engine, actor.queue, &view), 0);
        assert_true(clock_now_ns() < until);
    } while (view.urgent_bytes != 5 * (sizeof(struct envelope) + sizeof(struct note)));
    store_release(&gate, 0);
    end();
    int64_t asked = find(ASK_MANY, 5);
    assert_true(asked > 0);
    for (uint32_t i = 1; i <= 5; i++)
        assert_int_equal(find(URGENT, i), 10 + i); /* 10 ordinary ones and the sender's */
    assert_int_equal(find(ORDINARY, 11), 16);
}

/* -EAGAIN at its bound, or at the queue's limit if that is less, whatever the policy of the
 * receiver is; nothing is lost of what was taken. */
static void test_is_bounded(void **state)
{
    (void)state;
    static const uint64_t limits[] = { 64 << 20, 4096 };
    for (unsigned round = 0; round < 4; round++) {
        uint64_t limit =
            limits[round / 2] < ODEON_URGENT_BYTES ? limits[round / 2] : ODEON_URGENT_BYTES;
        uint32_t record = sizeof(struct envelope) + sizeof(struct note);
        begin(1, limits[round / 2]);
        actor_ref a = spawn_on(round % 2 ? type_of_oldest : type_of_writer, 0);
        post(a, (struct note){ ASK_FILL, 0, a });
        post(a, (struct note){ ASK_FILL, 0, a }); /* the lane has been worked off: as much again */
        assert_int_equal(engine_start(f.engine), 0);
        end();
        assert_int_equal(results[0], -EAGAIN);
        assert_int_equal(results[1], limit / record + 1);
        assert_int_equal(load_relaxed(&n_noted), 2 + 2 * (limit / record));
    }
}

/* An actor that is told of something urgent again and again: the others of its queue are run all
 * the same. */
static void test_starves_nobody(void **state)
{
    (void)state;
    begin(1, 64 << 20);
    actor_ref a = spawn_on(type_of_writer, 0), b = spawn_on(type_of_writer, 0);
    post(a, (struct note){ ASK_AGAIN, FLOOD, 0 });
    for (uint32_t i = 1; i <= 10; i++)
        post(b, (struct note){ ORDINARY, i, 0 });
    assert_int_equal(engine_start(f.engine), 0);
    end();
    assert_int_equal(load_relaxed(&n_noted), FLOOD + 1 + 10);
    assert_in_range(find(ORDINARY, 10), 10, FLOOD / 2); /* long before the end */
}

static void wait_parked(uint32_t worker)
{
    assert_true(engine_fixture_until(
        load_relaxed(&f.engine->workers[worker]->stats->value[STAT_state]) == WORKER_PARKED));
}

/* What an urgent message has sent to another queue of its worker does not wait for the ordinary
 * message behind it: whoever sleeps is woken. */
static void test_what_it_sends_is_not_held_up(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 20; round++) {
        begin_with_queues(2, 2, 64 << 20);
        actor_ref refs[3];
        /* the first and the last one in two queues of the first worker */
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(engine_actor_spawn(f.engine, type_of_writer, NULL, NULL, 0, &refs[i]),
                             0);
        assert_int_equal(engine_start(f.engine), 0);
        assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
        wait_parked(0);
        wait_parked(1);
        store_relaxed(&gate, 7);
        post(refs[0], (struct note){ ASK_BESIDE, 7, refs[2] });
        bool is_run = engine_fixture_until(load_acquire(&beside));
        store_release(&gate, 0);
        assert_true(is_run);
        end();
    }
}

/* What is urgent and waits when the engine goes is urgent when it comes back. */
static void test_over_a_restart(void **state)
{
    (void)state;
    struct engine_recovery report;
    begin(1, 64 << 20);
    actor_ref a = spawn_on(type_of_writer, 0), b = spawn_on(type_of_writer, 0);
    post(a, (struct note){ ASK_MANY, 3, b });
    for (uint32_t i = 1; i <= 10; i++)
        post(b, (struct note){ ORDINARY, i, 0 });
    engine_set_throughput(f.engine, 1);
    struct worker *w = f.engine->workers[0];
    uint32_t mailbox =
        actor_key_destination(load_relaxed(&f.engine->actors.table[actor_ref_slot(a)].key));
    assert_int_equal(find(ASK_MANY, 3), -1);
    /* the inits, the question, the first answer: each with an ordinary one behind it */
    for (int i = 0; i < 8 && find(URGENT, 1) < 0; i++) {
        assert_true(owner_take(&f.engine->sources[mailbox], 0, 0));
        mailbox_run(w, mailbox, false);
    }
    assert_true(find(URGENT, 1) >= 0 && find(URGENT, 2) < 0);
    uint32_t before = load_relaxed(&n_noted);
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    static struct engine_behaviour behaviour[1];
    behaviour[0] = (struct engine_behaviour){ message_note, sizeof(struct note), 0, on_note };
    message_note = engine_fixture_message(&f, "note", sizeof(struct note), false);
    type_of_writer = engine_fixture_type(&f, "writer", 8, NULL, NULL, behaviour, 1);
    assert_int_equal(engine_start(f.engine), 0);
    end();
    assert_int_equal(find(URGENT, 2), before);
    assert_int_equal(find(URGENT, 3), before + 1);
    for (uint32_t i = 1; i < 10; i++)
        assert_true(find(ORDINARY, i) < find(ORDINARY, i + 1));
}

static int on_refusals(void *self, const void *message, struct engine_context *ctx)
{
    const struct note *note = message;
    static uint8_t large[ODEON_PAYLOAD_MAX + 1];
    (void)self;
    results[0] =
        engine_ctx_send_urgent(ctx, ctx->self, message_note, BEHAVIOUR_NONE, large, sizeof(large));
    results[1] = engine_ctx_send_urgent(ctx, 0, message_note, BEHAVIOUR_NONE, note, sizeof(*note));
    results[2] = engine_ctx_send_urgent(ctx, actor_ref_make(f.config.actors_max, 1), message_note,
                                        BEHAVIOUR_NONE, note, sizeof(*note));
    results[3] = engine_ctx_send_urgent(ctx, actor_ref_make(ODEON_PORTS_MAX + 1000, 1),
                                        message_note, BEHAVIOUR_NONE, note, sizeof(*note));
    return ALLOCATION_NODELETE;
}

static void test_refusals(void **state)
{
    (void)state;
    begin(1, 64 << 20);
    struct engine_behaviour behaviour[] = { { message_note, sizeof(struct note), 0, on_refusals } };
    uint32_t type = engine_fixture_type(&f, "refused", 8, NULL, NULL, behaviour, 1);
    post(spawn_on(type, 0), (struct note){ ORDINARY, 1, 0 });
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    assert_int_equal(results[0], -EMSGSIZE);
    assert_int_equal(results[1], -ESRCH);
    assert_int_equal(results[2], -ESRCH);
    assert_int_equal(results[3], 0); /* an actor that has ended: a dead letter */
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overtakes_its_own_batch),
        cmocka_unit_test(test_slices_of_one_batch),
        cmocka_unit_test(test_overtakes_another_workers_batch),
        cmocka_unit_test(test_is_bounded),
        cmocka_unit_test(test_starves_nobody),
        cmocka_unit_test(test_what_it_sends_is_not_held_up),
        cmocka_unit_test(test_over_a_restart),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("urgent lane", tests, NULL, NULL);
}
