/* SPDX-License-Identifier: Apache-2.0 */
/* The history checker on what actors note of themselves: their turns, timers and questions. A right
 * history is doctored; each time exactly that must be found, by its name. */

#include "tests/history/judged.h"

enum { ACTORS = 3, TURNS = 400 };
enum { SPAN_US = 1000, PERIOD_US = 500 };
#define US        UINT64_C(1000)
#define AT(turn_) ((uint64_t)(turn_)*2 * SPAN_US * US) /* when a turn begins */

static struct history_record *put(enum history_kind kind, uint64_t actor, uint64_t number,
                                  uint64_t at_ns, uint32_t span_us)
{
    return judged_add((struct history_record){ .sender = actor,
                                               .at_ns = at_ns,
                                               .sequence = number,
                                               .kind = (uint8_t)kind,
                                               .span_us = span_us });
}

/* In each turn a timer and a question, whose fates are those of the turn's number; in the next one
 * they come. Every third is cancelled, or withdrawn, at once; a periodic timer comes each turn,
 * with three missed, until the last. */
static void put_turn(uint64_t actor, uint64_t turn)
{
    uint64_t last = turn - 1;
    put(HISTORY_TURN, actor, turn, AT(turn), 0);
    if (turn == 1)
        put(HISTORY_ARMED_EVERY, actor, 1, AT(1), PERIOD_US);
    else
        put(HISTORY_FIRED, actor, 1, AT(turn), 3);
    if (last > 0 && last % 3 != 0) {
        put(HISTORY_FIRED, actor, last + 1, AT(turn), 0);
        put(last % 3 == 1 ? HISTORY_ANSWERED : HISTORY_EXPIRED, actor, last, AT(turn), 0);
    }
    if (turn == TURNS) {
        put(HISTORY_CANCELLED, actor, 1, AT(turn), 0);
        return;
    }
    put(HISTORY_ARMED, actor, turn + 1, AT(turn), SPAN_US);
    put(HISTORY_ASKED, actor, turn, AT(turn), SPAN_US);
    if (turn % 3 == 0) {
        put(HISTORY_CANCELLED, actor, turn + 1, AT(turn), 0);
        put(HISTORY_WITHDRAWN, actor, turn, AT(turn), 0);
    }
}

static int setup(void **state)
{
    (void)state;
    n_records = 0;
    for (uint64_t turn = 1; turn <= TURNS; turn++)
        for (uint64_t actor = 1; actor <= ACTORS; actor++)
            put_turn(actor, turn);
    return 0;
}

static void test_right(void **state)
{
    struct history_verdict verdict = expect_right();

    (void)state;
    assert_int_equal(verdict.actors, ACTORS);
    assert_int_equal(verdict.turns, ACTORS * TURNS);
    assert_int_equal(verdict.turns_void, 0);
    assert_int_equal(verdict.armed, ACTORS * TURNS);
    assert_int_equal(verdict.asked, ACTORS * (TURNS - 1));
    assert_int_equal(verdict.withdrawn, ACTORS * ((TURNS - 1) / 3));
    assert_int_equal(verdict.cancelled, verdict.withdrawn + ACTORS);
    assert_int_equal(verdict.answered + verdict.unanswered + verdict.withdrawn, verdict.asked);
    assert_int_equal(verdict.fired + verdict.cancelled, verdict.armed + ACTORS * (TURNS - 1));
    assert_int_equal(verdict.missed, 3 * ACTORS * (TURNS - 1));
}

/* ---- timers ---- */

static void test_timer_lost(void **state)
{
    (void)state;
    judged_erase(record_of_actor(HISTORY_FIRED, 2, 101));
    expect_wrong(HISTORY_LOST, 1);
}

static void test_timer_twice(void **state)
{
    (void)state;
    put(HISTORY_FIRED, 2, 101, AT(TURNS), 0);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_timer_behind_its_cancel(void **state)
{
    (void)state;
    put(HISTORY_FIRED, 1, 100, AT(TURNS), 0);
    expect_wrong(HISTORY_REVOKED, 1);
}

static void test_cancelled_and_had_come(void **state)
{
    (void)state;
    put(HISTORY_CANCELLED, 1, 101, AT(TURNS), 0);
    expect_wrong(HISTORY_CONTRADICTED, 1);
}

static void test_cancelled_twice(void **state)
{
    (void)state;
    put(HISTORY_CANCELLED, 1, 100, AT(TURNS), 0);
    expect_wrong(HISTORY_CONTRADICTED, 1);
}

static void test_timer_early(void **state)
{
    (void)state;
    record_of_actor(HISTORY_FIRED, 3, 101)->at_ns = AT(100) + SPAN_US * US - 1;
    expect_wrong(HISTORY_EARLY, 1);
}

static void test_timer_never_armed(void **state)
{
    (void)state;
    put(HISTORY_FIRED, 3, TURNS + 1, AT(TURNS), 0);
    expect_wrong(HISTORY_PHANTOM, 1);
}

static void test_timer_of_another(void **state)
{
    (void)state;
    record_of_actor(HISTORY_FIRED, 3, 101)->sender = 2;
    struct history_verdict verdict = judge();
    assert_int_equal(verdict.wrong[HISTORY_LOST], 1);
    assert_int_equal(verdict.wrong[HISTORY_DOUBLED], 1);
}

static void test_once_with_misses(void **state)
{
    (void)state;
    record_of_actor(HISTORY_FIRED, 3, 101)->missed = 1;
    expect_wrong(HISTORY_MISMARKED, 1);
}

static void test_armed_out_of_order(void **state)
{
    (void)state;
    put(HISTORY_ARMED, 3, TURNS + 2, AT(TURNS), SPAN_US);
    expect_wrong(HISTORY_MISNUMBERED, 1);
}

/* One that comes once may be under way when there is none to cancel; then it comes. */
static void test_cancel_too_late(void **state)
{
    (void)state;
    put(HISTORY_ARMED, 1, TURNS + 1, AT(TURNS), SPAN_US);
    put(HISTORY_TIMER_GONE, 1, TURNS + 1, AT(TURNS) + SPAN_US * US, 0);
    expect_wrong(HISTORY_LOST, 1);
    put(HISTORY_FIRED, 1, TURNS + 1, AT(TURNS) + SPAN_US * US, 0);
    expect_right();
}

/* ---- periodic ones ---- */

static void test_period_twice(void **state)
{
    (void)state;
    record_of_actor(HISTORY_FIRED, 2, 1)->missed = 4;
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_period_lost(void **state)
{
    (void)state;
    judged_erase(record_of_actor(HISTORY_CANCELLED, 2, 1));
    expect_right();
    put(HISTORY_TIMER_GONE, 2, 1, AT(TURNS), 0);
    expect_wrong(HISTORY_LOST, 1);
}

/* Also what had been sent before the cancel, and waited behind it. */
static void test_period_behind_its_cancel(void **state)
{
    (void)state;
    record_of_actor(HISTORY_FIRED, 2, 1)->missed = 2;
    expect_right();
    put(HISTORY_FIRED, 2, 1, AT(TURNS) + PERIOD_US * US, 0);
    expect_wrong(HISTORY_REVOKED, 1);
}

/* ---- ends ---- */

static void test_end_told(void **state)
{
    (void)state;
    put(HISTORY_WATCHED, 1, 1, AT(TURNS), 0);
    put(HISTORY_WATCHED, 1, 2, AT(TURNS), 0);
    put(HISTORY_WATCH_GONE, 1, 1, AT(TURNS), 0); /* it is under way */
    put(HISTORY_UNWATCHED, 1, 2, AT(TURNS), 0);
    put(HISTORY_DOWN, 1, 1, AT(TURNS), 0);
    expect_right();
}

static void test_end_lost(void **state)
{
    (void)state;
    put(HISTORY_WATCHED, 1, 1, AT(TURNS), 0);
    expect_wrong(HISTORY_LOST, 1);
}

static void test_end_twice(void **state)
{
    (void)state;
    put(HISTORY_WATCHED, 1, 1, AT(TURNS), 0);
    put(HISTORY_DOWN, 1, 1, AT(TURNS), 0);
    put(HISTORY_DOWN, 1, 1, AT(TURNS), 0);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_end_that_was_not_to_be_told(void **state)
{
    (void)state;
    put(HISTORY_WATCHED, 1, 1, AT(TURNS), 0);
    put(HISTORY_UNWATCHED, 1, 1, AT(TURNS), 0);
    put(HISTORY_DOWN, 1, 1, AT(TURNS), 0);
    expect_wrong(HISTORY_REVOKED, 1);
}

static void test_end_of_nobody(void **state)
{
    (void)state;
    put(HISTORY_DOWN, 1, 1, AT(TURNS), 0);
    expect_wrong(HISTORY_PHANTOM, 1);
}

/* ---- questions ---- */

static void test_outcome_lost(void **state)
{
    (void)state;
    judged_erase(record_of_actor(HISTORY_ANSWERED, 1, 100));
    expect_wrong(HISTORY_LOST, 1);
}

static void test_answered_and_expired(void **state)
{
    (void)state;
    put(HISTORY_EXPIRED, 1, 100, AT(TURNS), 0);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_refused_and_answered(void **state)
{
    (void)state;
    record_of_actor(HISTORY_EXPIRED, 1, 101)->kind = HISTORY_UNANSWERED;
    expect_right();
    put(HISTORY_ANSWERED, 1, 101, AT(TURNS), 0);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_outcome_behind_its_withdrawal(void **state)
{
    (void)state;
    put(HISTORY_ANSWERED, 1, 99, AT(TURNS), 0);
    expect_wrong(HISTORY_REVOKED, 1);
}

static void test_withdrawn_and_had_an_outcome(void **state)
{
    (void)state;
    put(HISTORY_WITHDRAWN, 1, 100, AT(TURNS), 0);
    expect_wrong(HISTORY_CONTRADICTED, 1);
}

/* A question is there until its outcome has been taken. */
static void test_nothing_to_withdraw(void **state)
{
    (void)state;
    put(HISTORY_ASK_GONE, 1, 100, AT(TURNS), 0);
    expect_right();
    put(HISTORY_ASKED, 1, TURNS, AT(TURNS), SPAN_US);
    put(HISTORY_ASK_GONE, 1, TURNS, AT(TURNS), 0);
    expect_wrong(HISTORY_LOST, 1);
}

static void test_deadline_early(void **state)
{
    (void)state;
    record_of_actor(HISTORY_EXPIRED, 1, 101)->at_ns = AT(101) + SPAN_US * US - 1;
    expect_wrong(HISTORY_EARLY, 1);
}

static void test_never_asked(void **state)
{
    (void)state;
    put(HISTORY_ANSWERED, 1, TURNS, AT(TURNS), 0);
    expect_wrong(HISTORY_PHANTOM, 1);
}

/* ---- turns ---- */

/* Nothing of a turn that was not committed has happened. */
static void test_turn_again(void **state)
{
    (void)state;
    put(HISTORY_TURN, 1, TURNS + 1, AT(TURNS), 0);
    put(HISTORY_ARMED, 1, TURNS + 1, AT(TURNS), SPAN_US);
    put(HISTORY_FIRED, 1, 101, AT(TURNS), 0);
    put(HISTORY_ENDED, 1, 0, AT(TURNS), 0);
    put(HISTORY_TURN, 1, TURNS + 1, AT(TURNS), 0)->redelivered = 1;
    put(HISTORY_ARMED, 1, TURNS + 1, AT(TURNS), SPAN_US);
    put(HISTORY_CANCELLED, 1, TURNS + 1, AT(TURNS), SPAN_US);
    assert_int_equal(expect_right().turns_void, 1);
    assert_int_equal(judge().turns, ACTORS * TURNS + 1);
}

static void test_turn_again_without_the_mark(void **state)
{
    (void)state;
    put(HISTORY_TURN, 1, TURNS, AT(TURNS), 0);
    put(HISTORY_CANCELLED, 1, 1, AT(TURNS), 0);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_turn_goes_back(void **state)
{
    (void)state;
    put(HISTORY_TURN, 1, TURNS - 1, AT(TURNS), 0)->redelivered = 1;
    expect_wrong(HISTORY_REORDERED, 1);
}

static void test_turn_left_out(void **state)
{
    (void)state;
    put(HISTORY_TURN, 1, TURNS + 2, AT(TURNS), 0);
    expect_wrong(HISTORY_LOST, 1);
}

/* ---- ends ---- */

static void test_ended_with_its_promises(void **state)
{
    (void)state;
    judged_erase(record_of_actor(HISTORY_CANCELLED, 1, 1));
    put(HISTORY_ARMED, 1, TURNS + 1, AT(TURNS), SPAN_US);
    put(HISTORY_ASKED, 1, TURNS, AT(TURNS), SPAN_US);
    put(HISTORY_ENDED, 1, 0, AT(TURNS), 0);
    assert_int_equal(expect_right().ended, 3);
    put(HISTORY_FIRED, 1, TURNS + 1, AT(TURNS + 1), 0);
    expect_wrong(HISTORY_PHANTOM, 1);
}

static void test_turn_behind_the_end(void **state)
{
    (void)state;
    put(HISTORY_ENDED, 1, 0, AT(TURNS), 0);
    expect_right();
    put(HISTORY_TURN, 1, TURNS + 1, AT(TURNS), 0);
    expect_wrong(HISTORY_PHANTOM, 1);
}

/* A client numbers no turns: what it notes counts as it is. */
static void test_without_turns(void **state)
{
    (void)state;
    put(HISTORY_ASKED, ACTORS + 1, 1, AT(1), SPAN_US);
    expect_wrong(HISTORY_LOST, 1);
    put(HISTORY_UNANSWERED, ACTORS + 1, 1, AT(1), 0);
    expect_right();
    put(HISTORY_ANSWERED, ACTORS + 1, 1, AT(1), 0);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_no_record(void **state)
{
    (void)state;
    put((enum history_kind)99, 1, 1, AT(TURNS), 0);
    expect_wrong(HISTORY_DAMAGED, 1);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(right),
        TEST(timer_lost),
        TEST(timer_twice),
        TEST(timer_behind_its_cancel),
        TEST(cancelled_and_had_come),
        TEST(cancelled_twice),
        TEST(timer_early),
        TEST(timer_never_armed),
        TEST(timer_of_another),
        TEST(once_with_misses),
        TEST(armed_out_of_order),
        TEST(cancel_too_late),
        TEST(period_twice),
        TEST(period_lost),
        TEST(period_behind_its_cancel),
        TEST(end_told),
        TEST(end_lost),
        TEST(end_twice),
        TEST(end_that_was_not_to_be_told),
        TEST(end_of_nobody),
        TEST(outcome_lost),
        TEST(answered_and_expired),
        TEST(refused_and_answered),
        TEST(outcome_behind_its_withdrawal),
        TEST(withdrawn_and_had_an_outcome),
        TEST(nothing_to_withdraw),
        TEST(deadline_early),
        TEST(never_asked),
        TEST(turn_again),
        TEST(turn_again_without_the_mark),
        TEST(turn_goes_back),
        TEST(turn_left_out),
        TEST(ended_with_its_promises),
        TEST(turn_behind_the_end),
        TEST(without_turns),
        TEST(no_record),
    };

    return cmocka_run_group_tests_name("history_promises", tests, NULL, NULL);
}
