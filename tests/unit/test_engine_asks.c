/* SPDX-License-Identifier: Apache-2.0 */
/* Questions (asks/ask.h): each has one outcome, whoever answers, whenever, and whatever dies. */
#include "ask_fixture.h"
#include "daemon/engine/asks/answer.h"

static void test_an_answer(void **state)
{
    (void)state;
    ask_other(REPLIES);
    assert_outcome(1, 100, other);
    assert_over(1);
    assert_int_equal(engine_fixture_stat(&f, STAT_asks), 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
}

/* A question that is answered leaves the clock as it is, and so does the next one. */
static void test_no_system_call(void **state)
{
    (void)state;
    ask_other(REPLIES);
    uint64_t set_to = f.engine->timers.fd_ns;
    assert_int_not_equal(set_to, 0);
    for (uint64_t n = 2; n < 20; n++) {
        ask_other(REPLIES);
        assert_outcome(n, 100, other);
        assert_int_equal(f.engine->timers.fd_ns, set_to);
    }
    /* an earlier one sets it, even if that is only to be looked at (shelf.SH4) */
    shared->manner = SILENT;
    order(asker,
          (struct orders){ .act = ACT_ASK, .to = other, .timeout_ns = UINT64_C(3600) * SECOND });
    fire(LATER(1));
    set_to = f.engine->timers.fd_ns;
    order(asker, (struct orders){ .act = ACT_ASK, .to = other, .timeout_ns = SECOND });
    assert_true(f.engine->timers.fd_ns < set_to);
}

/* One asks itself, and answers what was an answer: that is a plain message. */
static void test_of_oneself(void **state)
{
    (void)state;
    other = shared->next = asker;
    ask_other(REPLIES);
    assert_outcome(1, 100, asker);
    assert_over(1);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_late), 0);
}

static void test_the_first_one_counts(void **state)
{
    (void)state;
    ask_other(REPLIES_TWICE);
    assert_outcome(1, 100, other);
    assert_over(1);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_late), 1);
}

static void test_nobody_answers(void **state)
{
    uint64_t before_ns = clock_now_ns();

    (void)state;
    ask_other(LATER_ON);
    fire(before_ns + ASK_DEFAULT_NS - SECOND);
    assert_int_equal(shared->n_notes, 0);
    fire(LATER(31));
    assert_outcome(1, NO_ANSWER + REASON_DEADLINE, other);
    order(other, (struct orders){ .act = ACT_ANSWER }); /* it is known to be over */
    assert_int_equal(shared->result, -ESTALE);
    assert_over(1);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_late), 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_asks_expired), 1);
}

/* ask.Q3: what waits before the deadline's word comes first, and the word is nobody's then. */
static void test_an_answer_that_waits(void **state)
{
    (void)state;
    shared->manner = LATER_ON;
    order(asker, (struct orders){ .act = ACT_ASK, .to = other, .timeout_ns = SECOND });
    order_only(other, (struct orders){ .act = ACT_ANSWER });
    /* the answer goes behind the batch, to the same queue */
    fire_only(LATER(2));
    run_queues();
    assert_int_equal(shared->n_notes, 1);
    assert_over(1);
}

/* ask.Q3: offered again, until one has been taken; one of them. */
static void test_the_word_comes_again(void **state)
{
    (void)state;
    ask_other(SILENT);
    fire_only(LATER(31));
    fire_only(LATER(31 + 61));
    fire_only(LATER(31 + 122));
    assert_int_equal(engine_fixture_stat(&f, STAT_asks_expired), 3);
    run_queues();
    assert_outcome(1, NO_ANSWER + REASON_DEADLINE, other);
    assert_over(1);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_late), 2);
}

static void test_who_has_ended_is_not_waited_for(void **state)
{
    (void)state;
    order(other, (struct orders){ .act = ACT_END });
    ask_other(REPLIES);
    assert_outcome(1, NO_ANSWER + REASON_NO_SUCH_ACTOR, other);
    other = engine_fixture_spawn(&f, kept_type, NULL, 0);
    run_queues();
    order_only(asker, (struct orders){ .act = ACT_ASK, .to = other });
    assert_int_equal(engine_actor_send(f.engine, other, MESSAGE_TYPE_POISON_DELETE, NULL, 0), 0);
    run_queues(); /* it ends before the question, which is sent behind this batch, is its turn */
    assert_outcome(2, NO_ANSWER + REASON_NO_SUCH_ACTOR, other);
    assert_over(2);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 2);
    assert_int_equal(f.engine->segment.queues[f.engine->segment.dead_letters].len[0], 0);
}

static void test_what_is_not_accepted(void **state)
{
    (void)state;
    other = engine_fixture_spawn(&f, deaf_type, NULL, 0);
    ask_other(REPLIES);
    assert_outcome(1, NO_ANSWER + REASON_NOT_ACCEPTED, other);
    assert_over(1);
}

/* An answer that the asker does not take is no outcome: it is a dead letter, and the question goes
 * on. */
static void test_an_answer_that_is_not_accepted(void **state)
{
    (void)state;
    ask_other(MUMBLES);
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
    assert_int_equal(engine_timers_count(f.engine), 1);
    fire(LATER(31));
    assert_outcome(1, NO_ANSWER + REASON_DEADLINE, other);
    assert_over(1);
}

static void test_later(void **state)
{
    (void)state;
    ask_other(LATER_ON);
    assert_int_equal(shared->n_notes, 0);
    restart(); /* the promise outlives it, and so does the question */
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_int_equal(shared->result, 0);
    assert_outcome(1, 77, other);
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_int_equal(shared->result, -ESTALE);
    assert_over(1);
}

/* answer.N1 */
static void test_forged_promises(void **state)
{
    (void)state;
    ask_other(LATER_ON);
    for (unsigned word = 0; word < 3; word++) {
        shared->promise.words[word] ^= 1;
        order(other, (struct orders){ .act = ACT_ANSWER });
        assert_int_equal(shared->result, -EPERM);
        shared->promise.words[word] ^= 1;
    }
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_forged), 3);
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_outcome(1, 77, other);
    assert_over(1);
}

/* What only looks like an outcome: from an actor that says it with the service's own message. */
static void test_forged_words(void **state)
{
    struct no_answer forged = { .token = shared->token, .reason = REASON_DEADLINE };

    (void)state;
    ask_other(SILENT);
    forged.token = shared->token;
    assert_int_equal(
        engine_actor_send(f.engine, asker, MESSAGE_TYPE_NO_ANSWER, &forged, sizeof(forged)), 0);
    run_queues();
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_forged), 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
    fire(LATER(31));
    assert_over(1);
}

static void test_passed_on(void **state)
{
    (void)state;
    shared->next = engine_fixture_spawn(&f, plain_type, NULL, 0);
    ask_other(PASSES_ON);
    assert_outcome(1, 100, shared->next);
    assert_int_equal(shared->hops, 1);
    /* ... to one that does not take it: who has asked is told, and by whom */
    shared->next = engine_fixture_spawn(&f, deaf_type, NULL, 0);
    ask_other(PASSES_ON);
    assert_outcome(2, NO_ANSWER + REASON_NOT_ACCEPTED, shared->next);
    /* ... to one that has ended */
    order(shared->next, (struct orders){ .act = ACT_END });
    ask_other(PASSES_ON);
    assert_outcome(3, NO_ANSWER + REASON_NO_SUCH_ACTOR, shared->next);
    assert_over(3);
    assert_int_equal(engine_fixture_stat(&f, STAT_forwards), 3);
}

static void test_cycle(void **state)
{
    (void)state;
    shared->next = other; /* to itself, again and again */
    shared->manner = PASSES_BOTH;
    order(asker, (struct orders){ .act = ACT_ASK, .to = other });
    assert_int_equal(shared->result, -ELOOP);
    assert_int_equal(shared->hops, ENGINE_HOPS_MAX);
    assert_int_equal(engine_fixture_stat(&f, STAT_forwards), ENGINE_HOPS_MAX);
    fire(LATER(31));
    assert_outcome(1, NO_ANSWER + REASON_DEADLINE, other);
}

static void test_withdrawn(void **state)
{
    (void)state;
    ask_other(LATER_ON);
    order(asker, (struct orders){ .act = ACT_CANCEL });
    assert_int_equal(shared->result, 0);
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_int_equal(shared->result, -ESTALE);
    assert_over(0);
}

static void test_bounds(void **state)
{
    actor_ref deaf = engine_fixture_spawn(&f, deaf_type, NULL, 0);

    (void)state;
    order(deaf, (struct orders){ .act = ACT_ASK, .to = other });
    assert_int_equal(shared->result, -EOPNOTSUPP);
    order(asker,
          (struct orders){ .act = ACT_ASK, .to = other, .timeout_ns = TIMER_DELAY_MAX_NS + 1 });
    assert_int_equal(shared->result, -ERANGE);
    order(asker, (struct orders){ .act = ACT_ASK, .to = actor_ref_make(5000, 0) });
    assert_int_equal(shared->result, -ESRCH);
    fire(clock_now_ns()); /* what was withdrawn at once is cleared away */
    assert_int_equal(engine_timers_count(f.engine), 0);
    order(asker, (struct orders){ .act = ACT_ASK, .to = other, .n = TIMERS });
    assert_int_equal(shared->result, -EAGAIN);
    assert_int_equal(engine_timers_count(f.engine), TIMERS / 2);
    assert_int_equal(engine_fixture_stat(&f, STAT_asks), TIMERS / 2);
}

static void test_a_turn_that_died_has_asked_nothing(void **state)
{
    (void)state;
    shared->manner = REPLIES;
    order_only(asker, (struct orders){ .act = ACT_ASK_DIE, .to = other });
    run_and_die();
    shared->orders.act = ACT_NOTHING;
    run_queues();
    assert_over(0);
}

/* ask.Q1: the turn that handled the answer was not committed; it is handled again. */
static void test_a_turn_that_died_has_taken_nothing(void **state)
{
    (void)state;
    shared->manner = REPLIES;
    shared->dies = true;
    order_only(asker, (struct orders){ .act = ACT_ASK, .to = other });
    run_and_die();
    run_queues();
    assert_outcome(1, 100, other);
    assert_over(1);
    /* the same of the word that there is no answer */
    shared->manner = SILENT;
    order(asker, (struct orders){ .act = ACT_ASK, .to = other });
    fire_only(LATER(31));
    shared->dies = true;
    run_and_die();
    run_queues();
    assert_outcome(2, NO_ANSWER + REASON_DEADLINE, other);
    assert_over(2);
}

/* Of a life that is over: it begins anew, and hears nothing of what it asked before. */
static void test_of_another_life(void **state)
{
    (void)state;
    asker = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    ask_other(LATER_ON);
    uint64_t begun = shared->n_inits;
    restart();
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_int_equal(shared->result, -ESTALE);
    fire(clock_now_ns());
    assert_int_equal(shared->n_inits, begun + 1);
    assert_over(0);
}

/* An answer that was under way to it, too. */
static void test_an_answer_to_another_life(void **state)
{
    (void)state;
    asker = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    shared->manner = REPLIES;
    shared->dies = true; /* in the handler of the answer, and again would be */
    order_only(asker, (struct orders){ .act = ACT_ASK, .to = other });
    run_and_die();
    run_queues();
    assert_int_equal(shared->n_notes, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_late), 1);
    assert_over(0);
}

static void assert_init_had_no_message(void)
{
    const struct init *init = &shared->init;

    assert_int_equal(init->ctx.message_type, MESSAGE_TYPE_INIT);
    assert_int_equal(init->ctx.message_size, 0);
    assert_int_equal(init->ctx.correlation, 0);
    assert_int_equal(init->ctx.kind, 0);
    assert_int_equal(init->ctx.hops, 0);
    assert_int_equal(init->forwarded, -EPERM);
    assert_int_equal(init->stashed, -EPERM);
}

/* A question is the first message of who has just been spawned: its init replies to its spawner,
 * and answers nothing. */
static void test_an_init_answers_nothing(void **state)
{
    (void)state;
    shared->init.tries = true;
    shared->manner = REPLIES;
    order(asker, (struct orders){ .act = ACT_ASK_NEW });
    assert_int_equal(shared->result, 0);
    assert_int_equal(shared->init.ctx.self, shared->next);
    assert_int_equal(shared->init.ctx.sender, asker);
    assert_int_equal(shared->init.replied, 0);
    assert_int_equal(shared->n_greetings, 1);
    assert_outcome(1, 100, shared->next);
    assert_init_had_no_message();
    assert_over(1);
    assert_int_equal(engine_fixture_stat(&f, STAT_answers_late), 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_stashed), 0);
}

/* One that begins anew with a question that was passed on: that is there again behind its init. */
static void test_an_init_before_what_was_passed_on(void **state)
{
    (void)state;
    shared->next = engine_fixture_spawn(&f, plain_type, NULL, 0);
    run_queues();
    restart();
    shared->init.tries = true;
    ask_other(PASSES_ON);
    assert_outcome(1, 100, shared->next);
    assert_int_equal(shared->hops, 1);
    assert_int_equal(shared->init.ctx.self, shared->next);
    assert_int_equal(shared->init.replied, -ENOTCONN); /* nobody's spawn */
    assert_init_had_no_message();
    assert_over(1);
}

/* answer.N1: what nobody can forge is what it is said to be; the first one is of its authors' own
 * vectors. */
static void test_signatures(void **state)
{
    struct engine *e = f.engine;

    (void)state;
    e->segment.header->answer_key[0] = UINT64_C(0x0706050403020100);
    e->segment.header->answer_key[1] = UINT64_C(0x0f0e0d0c0b0a0908);
    assert_int_equal(
        answer_promise_make(e, UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908))
            .signature,
        UINT64_C(0x3f2acc7f57c29bdb));
    assert_int_equal(answer_sign_id(e, UINT64_C(0x0706050403020100)), UINT64_C(0x369095118d299a8e));
}

/* Nobody asks, monitors, or has children in nobody's name. */
static void test_in_nobodys_name(void **state)
{
    struct engine_context *ctx = &f.engine->control->ctx;
    const struct engine_spawn spawn = { .link = true };
    uint64_t id;
    actor_ref child;

    (void)state;
    ctx->self = 0;
    assert_int_equal(engine_ctx_ask(ctx, other, question_type, BEHAVIOUR_NONE,
                                    &(struct engine_pieces){ 0 }, 0, &id),
                     -EPERM);
    assert_int_equal(engine_ctx_monitor(ctx, other, &id), -EPERM);
    assert_int_equal(engine_ctx_spawn(ctx, plain_type, &spawn, &child), -EPERM);
    assert_int_equal(f.engine->timers.n, 0);
}

int main(void)
{
/* Each of them on a shelf, and as any timer. */
#define TEST(name_)                                                                                \
    cmocka_unit_test_setup_teardown(test_##name_, setup, teardown),                                \
        cmocka_unit_test_setup_teardown(test_##name_, setup_without_shelf, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_answer),
        TEST(no_system_call),
        TEST(of_oneself),
        TEST(the_first_one_counts),
        TEST(nobody_answers),
        TEST(an_answer_that_waits),
        TEST(the_word_comes_again),
        TEST(who_has_ended_is_not_waited_for),
        TEST(what_is_not_accepted),
        TEST(an_answer_that_is_not_accepted),
        TEST(later),
        TEST(forged_promises),
        TEST(forged_words),
        TEST(passed_on),
        TEST(cycle),
        TEST(withdrawn),
        TEST(bounds),
        TEST(a_turn_that_died_has_asked_nothing),
        TEST(a_turn_that_died_has_taken_nothing),
        TEST(of_another_life),
        TEST(an_answer_to_another_life),
        TEST(an_init_answers_nothing),
        TEST(an_init_before_what_was_passed_on),
        TEST(signatures),
        TEST(in_nobodys_name),
    };
    return cmocka_run_group_tests_name("engine_asks", tests, NULL, NULL);
}
