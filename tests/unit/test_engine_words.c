/* SPDX-License-Identifier: Apache-2.0 */
/* Questions, what is passed on and replies by their sizes, with and without a tail, behind the
 * batch and by way of the outbox (send/short_way.h): payload, padding and the optional words arrive
 * as they were sent. */
#include "daemon/engine/asks/ask.h"
#include "daemon/engine/timers/timer_fire.h"
#include "timer_fixture.h"

/* What is sent, and what has become of it. */
static struct {
    actor_ref asked, behind; /* who passes questions on, and who answers them */
    uint32_t size;
    bool in_two, is_question;
    int result;
    uint64_t token, questions, answers, wrong, hops;
} now;

static struct engine_fixture f;
static uint16_t go_type, question_type, answer_type;
static uint8_t bytes[ODEON_PAYLOAD_MAX + 8];

static uint8_t words_pattern(uint64_t size, uint64_t i)
{
    return (uint8_t)(size * 31 + i * 7 + 1);
}

static void words_fill(uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = words_pattern(size, i);
}

static struct engine_pieces words_pieces(void)
{
    uint32_t cut = now.in_two ? now.size / 3 : now.size;
    return (struct engine_pieces){
        .head = bytes, .head_size = cut, .tail = bytes + cut, .tail_size = now.size - cut
    };
}

static void words_look(const void *message, const struct engine_context *ctx)
{
    const uint8_t *at = message;
    uint64_t size = ctx->message_size;
    bool good = size == now.size;

    for (uint64_t i = 0; i < size; i++)
        good = good && at[i] == words_pattern(size, i);
    for (uint64_t i = size; i % 8; i++)
        good = good && at[i] == 0;
    now.wrong += !good;
}

static int on_go(void *self, const void *message, struct engine_context *ctx)
{
    const struct engine_pieces pieces = words_pieces();

    (void)self, (void)message;
    now.result =
        now.is_question
            ? engine_ctx_ask(ctx, now.asked, question_type, BEHAVIOUR_NONE, &pieces, 0, &now.token)
            : engine_ctx_send_tail(ctx, now.asked, question_type, BEHAVIOUR_NONE, pieces.head,
                                   pieces.head_size, pieces.tail, pieces.tail_size);
    return ALLOCATION_NODELETE;
}

static int on_question(void *self, const void *message, struct engine_context *ctx)
{
    const struct engine_pieces pieces = words_pieces();

    (void)self;
    now.questions++;
    words_look(message, ctx);
    now.wrong += (ctx->correlation != 0) != now.is_question;
    if (ctx->self == now.asked)
        return engine_ctx_forward(ctx, now.behind, message);
    now.hops = ctx->hops;
    return engine_ctx_reply(ctx, answer_type, pieces.head, pieces.head_size, pieces.tail,
                            pieces.tail_size);
}

static int on_answer(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    now.answers++;
    words_look(message, ctx);
    now.wrong += (ctx->kind >> 56 == KIND_ANSWER) != now.is_question;
    now.wrong += now.is_question && ctx->correlation != now.token;
    now.wrong += ctx->sender != now.behind || ctx->hops != 0;
    return ALLOCATION_NODELETE;
}

static int on_no_answer(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    now.wrong++;
    return ALLOCATION_NODELETE;
}

static uint32_t words_register(void)
{
    go_type = engine_fixture_message(&f, "go", 0, false);
    question_type = engine_fixture_message(&f, "question", 0, true);
    answer_type = engine_fixture_message(&f, "answer", 0, true);
    const struct engine_behaviour behaviours[] = {
        { go_type, 0, false, on_go },
        { question_type, 0, true, on_question },
        { answer_type, 0, true, on_answer },
        { MESSAGE_TYPE_NO_ANSWER, sizeof(struct no_answer), false, on_no_answer },
    };
    return engine_fixture_type(&f, "worded", 0, NULL, NULL, behaviours, 4);
}

/* Old bytes lie wherever a record may be written. */
static void words_dirty(void)
{
    struct segment *s = &f.engine->segment;

    for (uint32_t q = 0; q < s->n_mailboxes; q++)
        for (unsigned buffer = 0; buffer < 2; buffer++)
            memset(segment_window(s, q, buffer) + 4096, 0xff, 1 << 19);
    memset(segment_outbox(s, 0) + 4096, 0xff, 1 << 19);
}

static void words_go(actor_ref asker, uint32_t size, bool in_two, bool is_question)
{
    now.size = size;
    now.in_two = in_two;
    now.is_question = is_question;
    words_fill(size);
    assert_int_equal(engine_actor_send(f.engine, asker, go_type, NULL, 0), 0);
    timer_fixture_run(&f);
    assert_int_equal(now.result, 0);
    assert_int_equal(now.hops, 1);
}

/* Three actors on two queues: each of the three records goes behind the batch in one round, and to
 * the other queue in another. */
static void test_sizes(void **state)
{
    static const uint32_t sizes[] = { 0,  1,  2,  7,   8,    9,    15,    16,    17,   23,
                                      24, 25, 64, 100, 1000, 4095, 32761, 32767, 32768 };
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), ROUNDS = 8 };
    struct engine_config config = timer_fixture_config();
    uint64_t n = 0;

    (void)state;
    config.queues_per_worker = 2;
    engine_fixture_open(&f, config);
    memset(&now, 0, sizeof(now));
    uint32_t type = words_register();
    actor_ref actors[6];
    for (unsigned i = 0; i < 6; i++) /* they are dealt to the queues in turn */
        actors[i] = engine_fixture_spawn(&f, type, NULL, 0);
    timer_fixture_run(&f);
    for (unsigned round = 0; round < ROUNDS; round++) {
        actor_ref asker = actors[round & 1];
        now.asked = actors[2 + (round >> 1 & 1)];
        now.behind = actors[4 + (round >> 2 & 1)];
        words_dirty();
        for (unsigned i = 0; i < SIZES; i++)
            for (unsigned how = 0; how < 4; how++, n++)
                words_go(asker, sizes[i], how & 1, how & 2);
    }
    assert_int_equal(now.questions, 2 * n);
    assert_int_equal(now.answers, n);
    assert_int_equal(now.wrong, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_asks), n / 2);
    assert_int_equal(engine_fixture_stat(&f, STAT_forwards), n);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
    engine_fixture_close(&f);
}

/* What is no payload's size, and nobody's reference though its slot is somebody's: nothing is sent,
 * and no question stays open. */
static void test_refused(void **state)
{
    struct engine_config config = timer_fixture_config();

    (void)state;
    config.queues_per_worker = 2;
    engine_fixture_open(&f, config);
    memset(&now, 0, sizeof(now));
    uint32_t type = words_register();
    actor_ref asker = engine_fixture_spawn(&f, type, NULL, 0);
    actor_ref other = engine_fixture_spawn(&f, type, NULL, 0); /* in the other queue */
    now.is_question = true;
    const struct {
        actor_ref to;
        uint32_t size;
        bool in_two;
        int result;
    } cases[] = {
        { other, ODEON_PAYLOAD_MAX + 1, false, -EMSGSIZE },
        { other, ODEON_PAYLOAD_MAX + 1, true, -EMSGSIZE },
        { actor_ref_make(actor_ref_slot(other), 0), 8, false, -ESRCH },
        { actor_ref_make(actor_ref_slot(other), 0), 100, true, -ESRCH },
        { actor_ref_make(f.engine->config.actors_max, 1), 8, false, -ESRCH },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        now.asked = cases[i].to;
        now.size = cases[i].size;
        now.in_two = cases[i].in_two;
        assert_int_equal(engine_actor_send(f.engine, asker, go_type, NULL, 0), 0);
        timer_fixture_run(&f);
        assert_int_equal(now.result, cases[i].result);
    }
    while (timer_fire_due(f.engine, clock_now_ns())) /* what was withdrawn is cleared away */
        continue;
    assert_int_equal(engine_timers_count(f.engine), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_asks), 0);
    assert_int_equal(now.questions, 0);
    engine_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("engine_words", tests, NULL, NULL);
}
