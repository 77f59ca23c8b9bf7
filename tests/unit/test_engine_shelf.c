/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that have not waited for long (timers/shelf.h): who finds them, where they go, and that
 * nobody can tell the difference. */
#include "daemon/engine/timers/shelf.h"

#include "ask_fixture.h"

enum { SHELF = TIMERS / 8 }; /* of the one worker */

static const struct shelves *shelves(void)
{
    return &f.engine->timers.shelves;
}

/* So many are on the shelf, and so many among the others. */
static void assert_where(uint32_t on_shelf, uint32_t others)
{
    assert_int_equal(shelf_count(f.engine), on_shelf);
    assert_int_equal(f.engine->timers.n, others);
}

/* The control thread's look, behind so many of its intervals. */
static void look(unsigned intervals)
{
    fire_only(clock_now_ns() + intervals * SHELF_LOOK_NS + SHELF_LOOK_NS / 2);
}

static void test_a_question_is_on_the_shelf(void **state)
{
    (void)state;
    assert_int_equal(shelves()->n_slots, SHELF);
    ask_other(LATER_ON);
    assert_where(1, 0);
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_outcome(1, 77, other);
    assert_where(0, 0);
    assert_over(1);
}

/* Again and again: as many numbers as are on a shelf, and no more. */
static void test_numbers_come_again(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 1000; n++) {
        ask_other(REPLIES);
        assert_int_equal(shared->n_notes, n);
    }
    assert_int_equal(load_relaxed(&f.engine->segment.header->timers_high), SHELF);
    assert_over(1000);
}

/* shelf.SH4: looks go on until it has been moved, and then there is none. */
static void test_what_waits_is_moved(void **state)
{
    (void)state;
    ask_other(LATER_ON);
    assert_true(load_relaxed(&shelves()->look_at_ns) != 0);
    look(2);
    assert_where(0, 1);
    look(4);
    assert_int_equal(load_relaxed(&shelves()->look_at_ns), 0);
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_outcome(1, 77, other);
    assert_over(1);
    assert_int_equal(f.engine->timers.fd_ns, 0);
}

static void test_its_deadline(void **state)
{
    (void)state;
    uint64_t before_ns = clock_now_ns();
    ask_other(SILENT);
    fire(before_ns + ASK_DEFAULT_NS - UINT64_C(1000000000));
    assert_where(0, 1);
    assert_int_equal(shared->n_notes, 0);
    fire(LATER(31));
    assert_outcome(1, NO_ANSWER + REASON_DEADLINE, other);
    assert_over(1);
}

/* shelf.SH5 */
static void test_one_that_is_over_soon(void **state)
{
    (void)state;
    shared->manner = SILENT;
    order(asker,
          (struct orders){ .act = ACT_ASK, .to = other, .timeout_ns = SHELF_TIMEOUT_MIN_NS - 1 });
    assert_where(0, 1);
    order(asker,
          (struct orders){ .act = ACT_ASK, .to = other, .timeout_ns = SHELF_TIMEOUT_MIN_NS });
    assert_where(1, 1);
    fire(LATER(1));
    assert_int_equal(shared->n_notes, 2);
    assert_over(2);
}

/* More than a shelf has room for, by one turn. */
static void test_more_than_it_holds(void **state)
{
    (void)state;
    shared->manner = SILENT;
    order(asker, (struct orders){ .act = ACT_ASK, .to = other, .n = 3 * SHELF });
    assert_int_equal(shared->result, 0);
    assert_where(0, 3 * SHELF); /* shelf.SH6: it has too many by then */
    shared->manner = REPLIES;
    order(asker, (struct orders){ .act = ACT_ASK, .to = other, .n = TIMERS / 8 });
    assert_int_equal(shared->n_notes, TIMERS / 8);
    fire(LATER(31));
    assert_int_equal(shared->n_notes, TIMERS / 8 + 3 * SHELF);
    for (uint64_t n = TIMERS / 8; n + 1 < shared->n_notes; n++)
        assert_true(shared->notes[n].number == NO_ANSWER + REASON_DEADLINE);
    assert_over(TIMERS / 8 + 3 * SHELF);
}

/* shelf.SH6: one that asks beside an actor that has nobody answer it. */
static void test_shares(void **state)
{
    actor_ref second = engine_fixture_spawn(&f, kept_type, NULL, 0);

    (void)state;
    shared->manner = SILENT;
    for (unsigned i = 0; i < 2 * TIMERS; i++) {
        order(asker, (struct orders){ .act = ACT_ASK, .to = other });
        order(second, (struct orders){ .act = ACT_ASK, .to = other });
        order(second, (struct orders){ .act = ACT_CANCEL });
    }
    (void)engine_timers_count(f.engine);
    assert_in_range(timer_owners_count(&f.engine->timers.owners, asker), TIMERS / 4, TIMERS / 2);
}

/* Those that are due at once are told in the order in which they were asked. */
static void test_order(void **state)
{
    uint64_t tokens[SHELF / 2];

    (void)state;
    shared->manner = SILENT;
    for (unsigned i = 0; i < SHELF / 2; i++) {
        order(asker, (struct orders){ .act = ACT_ASK, .to = other });
        tokens[i] = shared->token;
    }
    fire(LATER(31));
    assert_int_equal(shared->n_notes, SHELF / 2);
    for (unsigned i = 0; i < SHELF / 2; i++)
        assert_int_equal(shared->notes[i].token, tokens[i]);
    assert_over(SHELF / 2);
}

/* Who asks now and then asks without, and nobody is called to look. */
static void test_sparse(void **state)
{
    (void)state;
    f.engine->timers.shelves.sparse_ns = 0;
    ask_other(LATER_ON);
    assert_where(0, 1);
    assert_int_equal(load_relaxed(&shelves()->look_at_ns), 0);
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_outcome(1, 77, other);
    assert_over(1);
}

/* A turn that withdraws what it has asked has no use of its numbers before its commit (shelf.SH3):
 * whoever finds none on top of the shelf goes the long way. */
static void test_withdrawn(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        ask_other(LATER_ON);
        order(asker, (struct orders){ .act = ACT_CANCEL });
        assert_int_equal(shared->result, 0);
    }
    assert_where(0, 0);
    order(asker, (struct orders){ .act = ACT_CANCEL });
    assert_int_equal(shared->result, -ENOENT);
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_int_equal(shared->result, -ESTALE);
    assert_over(0);
}

/* An answer to one that is over is no answer to the one that has its number now. */
static void test_withdrawn_and_asked_anew(void **state)
{
    struct engine_promise first, second;
    uint64_t token;

    (void)state;
    ask_other(LATER_ON);
    first = shared->promise;
    token = shared->token;
    order(asker, (struct orders){ .act = ACT_CANCEL });
    ask_other(LATER_ON);
    second = shared->promise;
    assert_int_equal(shared->token % TIMERS, token % TIMERS);
    shared->promise = first;
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_int_equal(shared->result, -ESTALE);
    assert_int_equal(shared->n_notes, 0);
    shared->promise = second;
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_outcome(1, 77, other);
    assert_over(1);
}

/* Whoever counts finds it, and moves it. */
static void test_it_is_listed(void **state)
{
    struct engine_timer_view view;

    (void)state;
    ask_other(LATER_ON);
    assert_int_equal(engine_timer_next(f.engine, 0, &view), 0);
    assert_int_equal(view.owner, asker);
    assert_int_equal(view.message_type, MESSAGE_TYPE_NO_ANSWER);
    assert_where(0, 1);
    assert_int_equal(engine_timers_count(f.engine), 1);
    order(asker, (struct orders){ .act = ACT_CANCEL });
    assert_over(0);
}

/* It is no timer that could be cancelled by its number. */
static void test_by_its_number(void **state)
{
    struct worker *w = f.engine->workers[0];

    (void)state;
    ask_other(LATER_ON);
    w->ctx.self = asker;
    assert_int_equal(
        timers_cancel(w, shelf_id(&f.engine->segment, &shelves()->of[0].slots[0]), false), -ENOENT);
    w->ctx.self = 0;
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_over(1);
}

/* Another worker than the one on whose shelf it is, and another actor. */
static void test_by_others(void **state)
{
    struct worker *w = f.engine->workers[0];
    uint32_t id = w->id;

    (void)state;
    ask_other(LATER_ON);
    w->ctx.self = other;
    assert_int_equal(ask_cancel(w, shared->token), -EPERM);
    assert_where(1, 0);
    w->id = id + 1; /* which has no shelf: it is the control thread's */
    assert_int_equal(ask_cancel(w, shared->token), -EPERM);
    w->id = id;
    w->ctx.self = 0;
    assert_where(0, 1);
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_outcome(1, 77, other);
    assert_over(1);
}

/* Of an actor that has ended: nobody waits for its deadline. */
static void test_its_asker_ends(void **state)
{
    (void)state;
    ask_other(SILENT);
    order(asker, (struct orders){ .act = ACT_END });
    assert_where(1, 0);
    look(2);
    look(2);
    assert_where(0, 0);
    asker = other;
    assert_over(0);
}

/* A number whose generations are used up leaves the shelf. */
static void test_the_last_generation(void **state)
{
    (void)state;
    ask_other(REPLIES);
    for (uint32_t i = 0; i < SHELF; i++) {
        struct segment_timer *timer = &f.engine->segment.timers[shelves()->of[0].slots[i].timer];
        store_relaxed(&timer->word,
                      timer_word(UINT32_MAX, timer_word_state(load_relaxed(&timer->word))));
    }
    for (uint64_t n = 2; n <= 40; n++) {
        ask_other(REPLIES);
        assert_outcome(n, 100, other);
    }
    assert_true(load_relaxed(&f.engine->segment.header->timers_high) > SHELF);
    assert_over(40);
}

static void test_a_kill(void **state)
{
    (void)state;
    ask_other(LATER_ON);
    assert_where(1, 0);
    restart();
    assert_where(0, 1);
    order(other, (struct orders){ .act = ACT_ANSWER });
    assert_outcome(1, 77, other);
    assert_over(1);
}

/* shelf.SH3: one that was answered, or withdrawn, and whose number is not used again before. */
static void test_a_kill_behind_the_outcome(void **state)
{
    (void)state;
    ask_other(REPLIES);
    assert_outcome(1, 100, other);
    restart();
    assert_over(1);
    ask_other(LATER_ON);
    order(asker, (struct orders){ .act = ACT_CANCEL });
    assert_int_equal(shared->result, 0);
    restart();
    assert_over(1);
}

/* What numbers were before, whatever it was, is not left in a question: not in its shelf's time,
 * and not behind a restart, which looks at all of its words. */
static void test_numbers_that_were_something_else(void **state)
{
    uint64_t before_ns = clock_now_ns();

    (void)state;
    for (uint32_t i = 0; i < TIMERS; i++) {
        struct segment_timer *timer = &f.engine->segment.timers[i];
        timer->clock = TIMER_CLOCKS - 1;
        timer->period_ns = 1;
        timer->posted = TIMER_POSTED;
        timer->watched = other;
        timer->group = asker;
        timer->member_place = 1;
        timer->stashed = TIMER_KEPT;
        timer->end = REASON_FINISHED;
        timer->claim_count = 1;
        timer->claim_worker = UINT32_MAX;
        timer->arm_worker = timer->class = 1;
    }
    ask_other(SILENT);
    assert_where(1, 0);
    look(2);
    assert_where(0, 1);
    assert_int_equal(f.engine->timers.heap.n, 1);
    assert_int_equal(timer_owners_count(&f.engine->timers.owners, asker), 1);
    restart();
    fire(before_ns + ASK_DEFAULT_NS - UINT64_C(1000000000));
    assert_int_equal(shared->n_notes, 0);
    fire(LATER(31));
    assert_outcome(1, NO_ANSWER + REASON_DEADLINE, other);
    assert_over(1);
}

int main(void)
{
#define TEST(name_) cmocka_unit_test_setup_teardown(test_##name_, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_question_is_on_the_shelf),
        TEST(numbers_come_again),
        TEST(what_waits_is_moved),
        TEST(its_deadline),
        TEST(one_that_is_over_soon),
        TEST(more_than_it_holds),
        TEST(shares),
        TEST(order),
        TEST(sparse),
        TEST(withdrawn),
        TEST(withdrawn_and_asked_anew),
        TEST(it_is_listed),
        TEST(by_its_number),
        TEST(by_others),
        TEST(its_asker_ends),
        TEST(the_last_generation),
        TEST(a_kill),
        TEST(a_kill_behind_the_outcome),
        TEST(numbers_that_were_something_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
