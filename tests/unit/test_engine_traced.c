/* SPDX-License-Identifier: Apache-2.0 */
/* Trace ids (PREFIX_TRACE): what a traced message causes has its id, by whatever way it is sent,
 * over the death of the executor, too; nothing else has one, and each traced message leaves a
 * record. Workers and control thread are this thread. */
#include "daemon/engine/ports/port.h"
#include "daemon/engine/timers/timer_fire.h"
#include "engine_client.h"
#include "timer_fixture.h"

enum { PORT = 3, IDS = 8, NOTES = 64, LONG = 40 };
#define ID            UINT64_C(0xabcdef0123456789)
#define LATER(hours_) (clock_now_ns() + (hours_)*UINT64_C(3600000000000))

enum act {
    ACT_NOTHING,
    ACT_SEND,
    ACT_SIGNAL,
    ACT_WORD,
    ACT_TAIL,
    ACT_URGENT,
    ACT_TO_ITSELF,
    ACT_ASK,
    ACT_FORWARD,
    ACT_REPLY,
    ACT_TIMER,
    ACT_PERIODIC,
    ACT_SPAWN,
    ACT_SPAWN_AND_SEND,
    ACT_STASH,
    ACT_UNSTASH,
    ACT_JOIN,
    ACT_PUBLISH,
    ACT_END,
};

struct note {
    const char *what;
    uint64_t trace;
    actor_ref self;
};

static struct engine_fixture f;
static struct client client;
static uint16_t go_type, note_type, empty_type, long_type, question_type, answer_type;
static uint32_t doer_type, newcomer_type, deaf_type;
static actor_ref doer, other, deaf, receiver;
static bool answers;
static struct note notes[NOTES];
static unsigned n_notes;

static void note(const char *what, struct engine_context *ctx)
{
    assert_true(n_notes < NOTES);
    assert_true(ctx->trace == worker_of_context(ctx)->place.trace); /* what behaviours see */
    notes[n_notes++] = (struct note){ .what = what,
                                      .trace = worker_of_context(ctx)->place.trace,
                                      .self = ctx->self };
}

static int on_note(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    note("note", ctx);
    return ALLOCATION_NODELETE;
}

static int on_question(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    note("question", ctx);
    if (answers)
        assert_int_equal(engine_ctx_reply(ctx, answer_type, message, 8, NULL, 0), 0);
    return ALLOCATION_NODELETE;
}

static int on_outcome(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    note(ctx->message_type == answer_type ? "answer" : "no answer", ctx);
    return ALLOCATION_NODELETE;
}

static int on_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self, (void)args, (void)size;
    note("init", ctx);
    return 0;
}

static int send_after(struct engine_context *ctx, uint64_t period_ns)
{
    const struct engine_timer_times times = { .delay_ns = 1000000, .period_ns = period_ns };
    uint64_t word = 5, id;

    return engine_ctx_send_after(ctx, receiver, note_type, BEHAVIOUR_NONE, &word, 8, &times, &id);
}

static int spawn_one(struct engine_context *ctx, bool sends)
{
    actor_ref ref;
    int r = engine_ctx_spawn_plain(ctx, newcomer_type, PLACE_NEAR, &ref);

    return r == 0 && sends ? engine_ctx_signal(ctx, ref, empty_type | UINT64_C(255) << 32) : r;
}

static int act_more(enum act act, struct engine_context *ctx, const void *message)
{
    uint64_t word = 5;
    const struct engine_pieces pieces = { .head = &word, .head_size = 8 };

    switch (act) {
    case ACT_TIMER:
        return send_after(ctx, 0);
    case ACT_PERIODIC:
        return send_after(ctx, 1000000);
    case ACT_SPAWN:
    case ACT_SPAWN_AND_SEND:
        return spawn_one(ctx, act == ACT_SPAWN_AND_SEND);
    case ACT_STASH:
        return engine_ctx_stash(ctx, message);
    case ACT_UNSTASH:
        return engine_ctx_unstash(ctx, 0) == 1 ? 0 : -1;
    case ACT_JOIN:
        return engine_ctx_join(ctx, "group");
    case ACT_PUBLISH:
        return engine_ctx_publish(ctx, "group", note_type, &pieces);
    default:
        return 0;
    }
}

static int act(enum act act, struct engine_context *ctx, const void *message)
{
    uint64_t word = 5, token;
    char text[LONG] = "text";
    const struct engine_pieces pieces = { .head = &word, .head_size = 8 };

    switch (act) {
    case ACT_SEND:
        return engine_ctx_send(ctx, receiver, note_type, BEHAVIOUR_NONE, &word, 8);
    case ACT_SIGNAL:
        return engine_ctx_signal(ctx, receiver, empty_type | UINT64_C(255) << 32);
    case ACT_WORD:
        return engine_ctx_send_word(ctx, receiver, note_type | UINT64_C(255) << 32, word);
    case ACT_TAIL:
        return engine_ctx_send_tail(ctx, receiver, long_type, BEHAVIOUR_NONE, &word, 8, text, 5);
    case ACT_URGENT:
        return engine_ctx_send_urgent(ctx, receiver, note_type, BEHAVIOUR_NONE, &word, 8);
    case ACT_TO_ITSELF:
        return engine_ctx_send(ctx, ctx->self, note_type, BEHAVIOUR_NONE, &word, 8);
    case ACT_ASK:
        return engine_ctx_ask(ctx, receiver, question_type, BEHAVIOUR_NONE, &pieces, 1000, &token);
    case ACT_FORWARD:
        return engine_ctx_forward(ctx, receiver, message);
    case ACT_REPLY:
        return engine_ctx_reply(ctx, note_type, &word, 8, NULL, 0);
    default:
        return act_more(act, ctx, message);
    }
}

static int on_go(void *self, const void *message, struct engine_context *ctx)
{
    uint64_t what;

    (void)self;
    memcpy(&what, message, sizeof(what));
    note("go", ctx);
    if (ctx->self == doer)
        assert_int_equal(act((enum act)what, ctx, message), 0);
    return what == ACT_END ? ALLOCATION_DELETE : ALLOCATION_NODELETE;
}

static void register_types(void)
{
    go_type = engine_fixture_message(&f, "go", 8, false);
    note_type = engine_fixture_message(&f, "note", 8, false);
    empty_type = engine_fixture_message(&f, "empty", 0, false);
    long_type = engine_fixture_message(&f, "long", 8, true);
    question_type = engine_fixture_message(&f, "question", 8, false);
    answer_type = engine_fixture_message(&f, "answer", 8, false);
    const struct engine_behaviour on[] = { { go_type, 8, false, on_go },
                                           { note_type, 8, false, on_note },
                                           { empty_type, 0, false, on_note },
                                           { long_type, 8, true, on_note },
                                           { question_type, 8, false, on_question },
                                           { answer_type, 8, false, on_outcome },
                                           { MESSAGE_TYPE_NO_ANSWER, sizeof(struct no_answer), 0,
                                             on_outcome } };
    assert_int_equal(engine_groups_open(f.engine), 0);
    const struct engine_actor_type_info info = { .name = "doer",
                                                 .plugin = "test",
                                                 .version = 1,
                                                 .state_size = 8,
                                                 .restart = RESTART_KEEP, /* so are its timers */
                                                 .n_behaviours = 7,
                                                 .behaviours = on };
    assert_int_equal(engine_actor_type_register(f.engine, &info, &doer_type), 0);
    newcomer_type = engine_fixture_type(&f, "newcomer", 8, on_init, NULL, on, 7);
    deaf_type = engine_fixture_type(&f, "deaf", 8, NULL, NULL, on, 0);
}

static int setup(void **state)
{
    struct engine_config config = timer_fixture_config();

    (void)state;
    config.observed = mmap(NULL, OBSERVED_FILE_SIZE(IDS), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(config.observed, MAP_FAILED);
    observed_header_fill(config.observed, IDS);
    config.answer_key[0] = 7;
    engine_fixture_open(&f, config);
    register_types();
    doer = engine_fixture_spawn(&f, doer_type, NULL, 0);
    other = engine_fixture_spawn(&f, doer_type, NULL, 0);
    deaf = engine_fixture_spawn(&f, deaf_type, NULL, 0);
    receiver = other;
    answers = true;
    client_open(&f, &client, PORT, 1);
    timer_fixture_run(&f);
    n_notes = 0;
    return 0;
}

static int teardown(void **state)
{
    struct observed_header *file = f.config.observed;

    (void)state;
    engine_fixture_close(&f);
    munmap(file, OBSERVED_FILE_SIZE(IDS));
    client_free(&client);
    return 0;
}

/* ---- what is looked at ---- */

static void run_port(void)
{
    uint32_t source = engine_source_of_port(f.engine, PORT);

    assert_true(owner_take(&f.engine->sources[source], 0, 0));
    int64_t queue = port_run(f.engine->workers[0], PORT, false);
    if (queue >= 0) /* a single record, whose receiver had nothing to do */
        mailbox_run(f.engine->workers[0], (uint32_t)queue, false);
}

static void post(enum act what, uint64_t trace)
{
    const uint64_t words[] = { trace, what };
    unsigned prefix = trace ? PREFIX_TRACE : 0;

    client_post_as(
        &client,
        (struct envelope){
            .to = doer, .type = go_type, .length = trace ? 16 : 8, .prefix = (uint8_t)prefix },
        words + (trace ? 0 : 1));
    run_port();
}

static void fire(void)
{
    while (timer_fire_due(f.engine, LATER(1)))
        continue;
    timer_fixture_run(&f);
}

static void expect(unsigned at, const char *what, uint64_t trace)
{
    assert_true(at < n_notes);
    assert_string_equal(notes[at].what, what);
    assert_true(notes[at].trace == trace);
}

/* Records of messages with this id, so far. */
static unsigned records(uint64_t id, uint64_t message, bool has_waited)
{
    const struct observed_trace *trace = &f.engine->workers[0]->observer.block->trace;
    unsigned n = 0;

    for (uint64_t i = 1; i <= load_relaxed(&trace->n); i++) {
        const struct observed_record *record = &trace->record[i % OBSERVED_RECORDS];
        n += load_relaxed(&record->id) == id &&
             observed_what_message(load_relaxed(&record->what)) == message &&
             (!has_waited || load_relaxed(&record->wait_ns) != OBSERVED_UNKNOWN);
    }
    return n;
}

/* Why the last message of this type was not run. */
static uint64_t reason_of(uint64_t message)
{
    const struct observed_trace *trace = &f.engine->workers[0]->observer.block->trace;
    uint64_t reason = REASON_N;

    for (uint64_t i = 1; i <= load_relaxed(&trace->n); i++) {
        const struct observed_record *record = &trace->record[i % OBSERVED_RECORDS];
        if (observed_what_message(load_relaxed(&record->what)) == message)
            reason = observed_weight_reason(load_relaxed(&record->weight));
    }
    return reason;
}

/* By nobody, without an id: the client has gone with the executor. */
static void tell(enum act what)
{
    uint64_t word = what;

    assert_int_equal(engine_actor_send(f.engine, doer, go_type, &word, sizeof(word)), 0);
    timer_fixture_run(&f);
}

/* What is behind it is as it would be if nothing had been traced. */
static void expect_no_trace_behind(void)
{
    unsigned before = n_notes;

    timer_fixture_run(&f);
    assert_int_equal(n_notes, before);
    post(ACT_SEND, 0);
    timer_fixture_run(&f);
    assert_int_equal(n_notes, before + 2);
    expect(before, "go", 0);
    expect(before + 1, "note", 0);
    assert_int_equal(f.engine->workers[0]->place.trace, 0);
    assert_int_equal(f.engine->workers[0]->ctx.trace, 0);
    assert_true(f.engine->workers[0]->outbox.room > 0);
}

/* One message, traced, whose behaviour does this; what comes of it at once is run. */
static void trace(enum act what)
{
    post(what, ID);
    timer_fixture_run(&f);
    expect(0, "go", ID);
    assert_true(records(ID, go_type, false) >= 1);
}

/* ---- ways of sending ---- */

static void test_each_way_of_sending(void **state)
{
    static const enum act ways[] = { ACT_SEND, ACT_SIGNAL, ACT_WORD, ACT_TAIL, ACT_URGENT };
    const uint16_t types[] = { note_type, empty_type, note_type, long_type, note_type };

    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        trace(ways[i]);
        assert_int_equal(n_notes, 2);
        expect(1, "note", ID);
        assert_int_equal(records(ID, types[i], true), 1);
        expect_no_trace_behind();
        teardown(state);
        setup(state);
    }
}

/* Behind the running batch they are appended when nobody traces. */
static void test_to_itself(void **state)
{
    (void)state;
    trace(ACT_TO_ITSELF);
    assert_int_equal(n_notes, 2);
    expect(1, "note", ID);
    assert_int_equal(engine_fixture_stat(&f, STAT_tail_appends), 0);
    assert_int_equal(records(ID, note_type, true), 1);
    expect_no_trace_behind();
}

static void test_what_is_passed_on(void **state)
{
    (void)state;
    trace(ACT_FORWARD);
    assert_int_equal(n_notes, 2);
    expect(1, "go", ID);
    assert_int_equal(notes[1].self, other);
}

static void test_a_reply_to_a_client(void **state)
{
    const struct envelope *at;

    (void)state;
    trace(ACT_REPLY);
    at = client_wait(&client);
    assert_int_equal(at->type, note_type);
    assert_true(envelope_trace(at) == ID);
    assert_true(envelope_sent_ns(at) > 0 && envelope_sent_ns(at) <= clock_now_ns());
    assert_int_equal(*(const uint64_t *)envelope_payload(at), 5);
    assert_int_equal(envelope_payload_size(at), 8);
}

/* ---- questions ---- */

static void test_a_question_and_its_answer(void **state)
{
    (void)state;
    trace(ACT_ASK);
    assert_int_equal(n_notes, 3);
    expect(1, "question", ID);
    expect(2, "answer", ID);
    fire();
    assert_int_equal(n_notes, 3);
    expect_no_trace_behind();
}

static void test_a_question_that_nobody_takes(void **state)
{
    (void)state;
    receiver = deaf;
    trace(ACT_ASK);
    receiver = other;
    assert_int_equal(n_notes, 2);
    expect(1, "no answer", ID);
    assert_int_equal(records(ID, question_type, true), 1); /* it was refused, but it was there */
    assert_int_equal(reason_of(question_type), REASON_NOT_ACCEPTED);
}

static void restart(void)
{
    timer_fixture_restart(&f, register_types);
}

/* Whose deadline passes when the next executor has the segment. */
static void test_a_question_without_an_answer(void **state)
{
    (void)state;
    answers = false;
    trace(ACT_ASK);
    restart();
    fire();
    assert_int_equal(n_notes, 3);
    expect(2, "no answer", ID);
}

/* ---- what comes later ---- */

static void test_a_timer(void **state)
{
    (void)state;
    trace(ACT_TIMER);
    assert_int_equal(n_notes, 1);
    restart();
    fire();
    assert_int_equal(n_notes, 2);
    expect(1, "note", ID);
    assert_int_equal(records(ID, note_type, false), 1);
}

/* tag.TG1: a trace would have no end. */
static void test_a_periodic_timer_has_none(void **state)
{
    (void)state;
    trace(ACT_PERIODIC);
    fire();
    assert_true(n_notes > 1);
    expect(1, "note", 0);
}

static void test_what_is_put_off(void **state)
{
    (void)state;
    trace(ACT_STASH);
    restart();
    n_notes = 0;
    tell(ACT_UNSTASH);
    assert_true(n_notes >= 2);
    expect(0, "go", 0);
    expect(1, "go", ID);
    assert_true(records(ID, go_type, false) >= 2);
}

/* ---- new actors, groups ---- */

static void test_actors_that_are_spawned(void **state)
{
    (void)state;
    trace(ACT_SPAWN);
    assert_int_equal(n_notes, 2);
    expect(1, "init", ID);
    assert_int_equal(records(ID, MESSAGE_TYPE_INIT, true), 1);
    n_notes = 0;
    post(ACT_SPAWN_AND_SEND, ID);
    timer_fixture_run(&f);
    assert_int_equal(n_notes, 3);
    expect(1, "init", ID);
    expect(2, "note", ID);
    expect_no_trace_behind();
}

static void test_members_of_a_group(void **state)
{
    (void)state;
    trace(ACT_JOIN);
    n_notes = 0;
    post(ACT_PUBLISH, ID);
    timer_fixture_run(&f);
    assert_int_equal(n_notes, 2);
    expect(1, "note", ID);
    assert_int_equal(records(ID, note_type, true), 2); /* the group's, and its member's */
    restart(); /* a membership has no id (tag.TG1), and is none that is damaged */
    tell(ACT_PUBLISH);
    assert_int_equal(n_notes, 4);
    expect(3, "note", 0);
}

/* ---- what is not run ---- */

/* Without an id, too; what is run behind it has a record of its own again. */
static void test_what_cannot_be_run_is_recorded(void **state)
{
    uint64_t word = ACT_NOTHING;

    (void)state;
    assert_int_equal(engine_actor_send(f.engine, deaf, note_type, &word, sizeof(word)), 0);
    timer_fixture_run(&f);
    assert_int_equal(records(0, note_type, false), 1);
    assert_int_equal(reason_of(note_type), REASON_NOT_ACCEPTED);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
    trace(ACT_NOTHING);
    assert_int_equal(records(ID, go_type, false), 1);
    assert_int_equal(reason_of(go_type), REASON_NONE);
    trace(ACT_END);
    post(ACT_NOTHING, ID); /* to one that has ended: its port says so, and no record */
    assert_int_equal(records(ID, go_type, false), 2);
}

/* ---- ends ---- */

static void test_to_one_that_ends_with_it(void **state)
{
    (void)state;
    trace(ACT_END);
    assert_int_equal(f.engine->workers[0]->place.trace, 0);
    post(ACT_NOTHING, ID);
    timer_fixture_run(&f);
    assert_int_equal(n_notes, 1);
}

/* What the executor has not run when it dies has its id in the next one. */
static void test_over_a_death(void **state)
{
    const uint64_t words[] = { ID, ACT_SEND };

    (void)state;
    for (unsigned i = 0; i < 2; i++) /* a single one would be run at once */
        client_post_as(
            &client,
            (struct envelope){ .to = doer, .type = go_type, .length = 16, .prefix = PREFIX_TRACE },
            words);
    uint32_t source = engine_source_of_port(f.engine, PORT);
    assert_true(owner_take(&f.engine->sources[source], 0, 0));
    assert_int_equal(port_run(f.engine->workers[0], PORT, false), -1);
    restart();
    timer_fixture_run(&f);
    assert_int_equal(n_notes, 4);
    for (unsigned i = 0; i < 4; i++)
        assert_true(notes[i].trace == ID);
    assert_int_equal(records(ID, note_type, true), 2);
}

/* A client may write anything into the word: 0 is no id. */
static void test_a_word_of_zero(void **state)
{
    const uint64_t words[] = { 0, ACT_SEND };

    (void)state;
    client_post_as(
        &client,
        (struct envelope){ .to = doer, .type = go_type, .length = 16, .prefix = PREFIX_TRACE },
        words);
    run_port();
    timer_fixture_run(&f);
    assert_int_equal(n_notes, 2);
    expect(0, "go", 0);
    expect(1, "note", 0);
}

int main(void)
{
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_each_way_of_sending),
        TEST(test_to_itself),
        TEST(test_what_is_passed_on),
        TEST(test_a_reply_to_a_client),
        TEST(test_a_question_and_its_answer),
        TEST(test_a_question_that_nobody_takes),
        TEST(test_a_question_without_an_answer),
        TEST(test_a_timer),
        TEST(test_a_periodic_timer_has_none),
        TEST(test_what_is_put_off),
        TEST(test_actors_that_are_spawned),
        TEST(test_members_of_a_group),
        TEST(test_what_cannot_be_run_is_recorded),
        TEST(test_to_one_that_ends_with_it),
        TEST(test_over_a_death),
        TEST(test_a_word_of_zero),
    };
    return cmocka_run_group_tests_name("traced", tests, NULL, NULL);
}
