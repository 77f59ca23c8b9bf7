/* SPDX-License-Identifier: Apache-2.0 */
/* One handler that sends a lot: a hundred megabytes, and to 65,536 receivers in turn. All that was
 * accepted arrives, each receiver's in order, and others are served meanwhile. */
#include "daemon/engine/recovery/verify.h"
#include "engine_fixture.h"

enum {
    RECEIVERS = 65536,
    TURNS = 1 + TEST_SCALE(30) / 10, /* through all of them, in one behaviour */
    MEGABYTES = TEST_SCALE(100),
    PIECES = (MEGABYTES << 20) / ODEON_PAYLOAD_MAX,
    QUEUES = 16,
};
static_assert(TURNS > 0 && PIECES > 0, "not scaled to nothing");

static uint16_t message_round, message_bulk, message_number, message_piece;
static uint32_t type_sender, type_receiver;
static actor_ref receivers[RECEIVERS];
static uint32_t seen[RECEIVERS]; /* by receiver: numbers */
static _Atomic uint64_t received, out_of_order, pieces;
static _Atomic int failed;

struct number {
    uint32_t receiver, n;
};

static void note(int r)
{
    if (r != 0)
        atomic_store(&failed, r);
}

static int on_round(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    for (uint32_t turn = 0; turn < TURNS; turn++)
        for (uint32_t i = 0; i < RECEIVERS; i++) {
            struct number number = { i, turn };
            note(engine_ctx_send(ctx, receivers[i], message_number, 0, &number, sizeof(number)));
        }
    return ALLOCATION_NODELETE;
}

/* In pieces, for in one it is refused. */
static int on_bulk(void *self, const void *message, struct engine_context *ctx)
{
    static uint8_t bytes[ODEON_PAYLOAD_MAX];
    (void)self, (void)message;
    if (engine_ctx_send(ctx, receivers[0], message_piece, 0, bytes, (size_t)MEGABYTES << 20) !=
        -EMSGSIZE)
        note(-EPROTO);
    for (uint32_t i = 0; i < PIECES; i++) {
        memcpy(bytes, &i, sizeof(i));
        note(engine_ctx_send(ctx, receivers[0], message_piece, 0, bytes, sizeof(bytes)));
    }
    return ALLOCATION_NODELETE;
}

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    const struct number *number = message;
    (void)self, (void)ctx;
    if (seen[number->receiver]++ != number->n || ctx->self != receivers[number->receiver])
        atomic_fetch_add(&out_of_order, 1);
    atomic_fetch_add(&received, 1);
    return ALLOCATION_NODELETE;
}

static int on_piece(void *self, const void *message, struct engine_context *ctx)
{
    uint32_t n;
    (void)self;
    memcpy(&n, message, sizeof(n));
    if (n != atomic_fetch_add(&pieces, 1) || ctx->message_size != ODEON_PAYLOAD_MAX)
        atomic_fetch_add(&out_of_order, 1);
    return ALLOCATION_NODELETE;
}

static void begin(struct engine_fixture *f, uint32_t n_receivers, uint64_t outbox_bytes)
{
    static struct engine_behaviour sends[2], receives[2];
    struct engine_config config = engine_fixture_config(2, QUEUES);
    config.outbox_bytes = outbox_bytes;
    config.limit_bytes = outbox_bytes;
    config.stealing = STEAL_NONE;
    engine_fixture_open(f, config);
    memset(seen, 0, sizeof(seen));
    received = out_of_order = pieces = 0;
    failed = 0;
    message_round = engine_fixture_message(f, "round", 0, false);
    message_bulk = engine_fixture_message(f, "bulk", 0, false);
    message_number = engine_fixture_message(f, "number", sizeof(struct number), false);
    message_piece = engine_fixture_message(f, "piece", 0, true);
    sends[0] = (struct engine_behaviour){ message_round, 0, 0, on_round };
    sends[1] = (struct engine_behaviour){ message_bulk, 0, 0, on_bulk };
    receives[0] = (struct engine_behaviour){ message_number, sizeof(struct number), 0, on_number };
    receives[1] = (struct engine_behaviour){ message_piece, 0, 1, on_piece };
    type_sender = engine_fixture_type(f, "sender", 8, NULL, NULL, sends, 2);
    type_receiver = engine_fixture_type(f, "receiver", 8, NULL, NULL, receives, 2);
    assert_int_equal(engine_start(f->engine), 0);
    for (uint32_t i = 0; i < n_receivers; i++) {
        struct engine_spawn spawn = { .placement = PLACE_EACH };
        assert_int_equal(engine_actor_spawn_placed(f->engine, type_receiver, &spawn, &receivers[i]),
                         0);
    }
}

static void end(struct engine_fixture *f)
{
    char text[VERIFY_TEXT_MAX];
    assert_int_equal(failed, 0);
    assert_int_equal(out_of_order, 0);
    assert_int_equal(engine_fixture_stat(f, STAT_sends_failed), 0);
    assert_int_equal(engine_fixture_stat(f, STAT_dead_letters), 0);
    engine_stop(f->engine);
    assert_int_equal(verify_segment(f->engine, text), 0);
    engine_fixture_close(f);
}

/* Of what workers sent, the control thread left out. */
static uint64_t crossed(struct engine_fixture *f)
{
    return load_relaxed(&f->engine->workers[0]->stats->value[STAT_crossing_messages]) +
           load_relaxed(&f->engine->workers[1]->stats->value[STAT_crossing_messages]);
}

/* Each record has another destination than the one before: a run of its own in the outbox. */
static void test_to_many_receivers_in_turn(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, RECEIVERS, 16 << 20);
    actor_ref sender = engine_fixture_spawn(&f, type_sender, NULL, 0);
    for (uint32_t again = 0; again < 2; again++) {
        assert_int_equal(engine_actor_send(f.engine, sender, message_round, NULL, 0), 0);
        assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
        assert_int_equal(received, (uint64_t)TURNS * RECEIVERS);
        for (uint32_t i = 0; i < RECEIVERS; i++)
            assert_int_equal(seen[i], TURNS);
        memset(seen, 0, sizeof(seen));
        received = 0;
        /* half of the receivers are the other worker's, and nobody steals */
        assert_int_equal(crossed(&f), (uint64_t)(again + 1) * TURNS * RECEIVERS / 2);
    }
    end(&f);
}

static void test_a_hundred_megabytes(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f, 1, 128 << 20);
    actor_ref sender = engine_fixture_spawn(&f, type_sender, NULL, 0);
    for (uint32_t again = 0; again < 2; again++) {
        assert_int_equal(engine_actor_send(f.engine, sender, message_bulk, NULL, 0), 0);
        assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
        assert_int_equal(pieces, PIECES);
        pieces = 0;
    }
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_to_many_receivers_in_turn),
        cmocka_unit_test(test_a_hundred_megabytes),
    };
    return cmocka_run_group_tests_name("engine: handlers that send a lot", tests, NULL, NULL);
}
