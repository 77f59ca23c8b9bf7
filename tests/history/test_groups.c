/* SPDX-License-Identifier: Apache-2.0 */
/* The history checker on groups, messages that are put off, phases, and children that end with
 * their parents. Each test writes a right history, adds what is wrong, and that must be found, by
 * its name. */

#include "tests/history/judged.h"

enum { SINGER = 1, EAR = 2, GUEST = 3, LAMP = 4, PARENT = 5, SONGS = 10 };

static uint64_t turns[PARENT + 1]; /* the last one of each actor */
static uint64_t now;               /* a moment later with each record */

static struct history_record *note(enum history_kind kind, uint64_t actor, uint64_t number,
                                   uint32_t from)
{
    return judged_add((struct history_record){
        .sender = actor, .at_ns = ++now, .sequence = number, .kind = (uint8_t)kind, .from = from });
}

/* A turn that notes one thing. */
static struct history_record *turn(enum history_kind kind, uint64_t actor, uint64_t number,
                                   uint32_t from)
{
    note(HISTORY_TURN, actor, ++turns[actor], 0);
    return note(kind, actor, number, from);
}

/* The executor dies in the actor's latest turn, which begins again. */
static void turn_is_void(uint64_t actor)
{
    note(HISTORY_TURN, actor, turns[actor], 0)->redelivered = 1;
}

static int setup(void **state)
{
    (void)state;
    n_records = 0;
    now = 0;
    memset(turns, 0, sizeof(turns));
    return 0;
}

/* ---- groups ---- */

/* The ear is a member all the while. Of the songs that the singer publishes the guest hears the
 * third to the sixth; when the third is published it has joined, and it leaves before the
 * seventh. */
static void sing(void)
{
    turn(HISTORY_JOINED, EAR, 0, 0);
    for (uint64_t song = 1; song <= SONGS; song++) {
        if (song == 3)
            turn(HISTORY_JOINED, GUEST, 0, 0);
        if (song == 7)
            turn(HISTORY_LEFT, GUEST, 0, 0);
        turn(HISTORY_PUBLISHED, SINGER, song, 0);
        turn(HISTORY_HEARD, EAR, song, SINGER);
        if (song >= 3 && song < 7)
            turn(HISTORY_HEARD, GUEST, song, SINGER);
    }
    turn(HISTORY_NO_MEMBER, GUEST, 0, 0);
}

static void test_group_right(void **state)
{
    (void)state;
    sing();
    struct history_verdict verdict = expect_right();
    assert_int_equal(verdict.joined, 2);
    assert_int_equal(verdict.left, 1);
    assert_int_equal(verdict.published, SONGS);
    assert_int_equal(verdict.heard, SONGS + 4);
}

static void test_not_heard(void **state)
{
    (void)state;
    sing();
    judged_erase(record_of_actor(HISTORY_HEARD, EAR, 5));
    expect_wrong(HISTORY_LOST, 1);
}

static void test_last_not_heard(void **state)
{
    (void)state;
    sing();
    judged_erase(record_of_actor(HISTORY_HEARD, EAR, SONGS));
    judged_erase(record_of_actor(HISTORY_HEARD, EAR, SONGS - 1));
    expect_wrong(HISTORY_LOST, 2);
}

static void test_nothing_heard(void **state)
{
    (void)state;
    turn(HISTORY_JOINED, EAR, 0, 0);
    turn(HISTORY_HEARD, EAR, 1, SINGER);
    turn(HISTORY_PUBLISHED, GUEST, 1, 0);
    turn(HISTORY_PUBLISHED, SINGER, 1, 0);
    record_of_actor(HISTORY_HEARD, EAR, 1)->at_ns = ++now;
    expect_wrong(HISTORY_LOST, 1); /* the guest's */
    turn(HISTORY_ENDED, EAR, 0, 0);
    expect_right();
}

/* By its next turn it has surely joined. */
static void test_first_not_heard(void **state)
{
    (void)state;
    sing();
    judged_erase(record_of_actor(HISTORY_HEARD, GUEST, 3)); /* it may have joined a moment later */
    expect_right();
    judged_erase(record_of_actor(HISTORY_HEARD, GUEST, 4));
    expect_wrong(HISTORY_LOST, 1);
}

static void test_heard_twice(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_HEARD, EAR, 4, SINGER);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_heard_out_of_order(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_PUBLISHED, SINGER, SONGS + 1, 0);
    turn(HISTORY_PUBLISHED, SINGER, SONGS + 2, 0);
    turn(HISTORY_HEARD, EAR, SONGS + 2, SINGER);
    expect_wrong(HISTORY_LOST, 1);
    turn(HISTORY_HEARD, EAR, SONGS + 1, SINGER);
    expect_wrong(HISTORY_REORDERED, 1);
}

static void test_heard_by_no_member(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_HEARD, LAMP, 5, SINGER);
    expect_wrong(HISTORY_PHANTOM, 1);
}

static void test_heard_and_never_published(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_HEARD, EAR, SONGS + 1, SINGER);
    expect_wrong(HISTORY_PHANTOM, 1);
}

static void test_heard_of_who_never_published(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_HEARD, EAR, 1, LAMP);
    expect_wrong(HISTORY_PHANTOM, 1);
}

/* Its turn was not committed when it was heard. */
static void test_heard_before_it_is_published(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_PUBLISHED, SINGER, SONGS + 1, 0);
    turn(HISTORY_HEARD, EAR, SONGS + 1, SINGER);
    expect_right();
    turn_is_void(SINGER);
    note(HISTORY_PUBLISHED, SINGER, SONGS + 1, 0);
    expect_wrong(HISTORY_PHANTOM, 1);
}

/* What was under way when it left is another matter. */
static void test_heard_behind_the_leave(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_HEARD, GUEST, 7, SINGER);
    expect_right();
    turn(HISTORY_PUBLISHED, SINGER, SONGS + 1, 0);
    turn(HISTORY_HEARD, EAR, SONGS + 1, SINGER);
    turn(HISTORY_HEARD, GUEST, SONGS + 1, SINGER);
    expect_wrong(HISTORY_REVOKED, 1);
}

static void test_joined_again(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_JOINED, GUEST, 0, 0);
    turn(HISTORY_NO_MEMBER, EAR, 0, 0);
    expect_wrong(HISTORY_LOST, 1);
    judged_erase(&records[n_records - 1]);
    turn(HISTORY_IS_MEMBER, GUEST, 0, 0);
    expect_right();
    turn(HISTORY_PUBLISHED, SINGER, SONGS + 1, 0);
    turn(HISTORY_HEARD, EAR, SONGS + 1, SINGER);
    expect_wrong(HISTORY_LOST, 1); /* the guest has it not */
    turn(HISTORY_HEARD, GUEST, SONGS + 1, SINGER);
    expect_right();
}

static void test_leave_taken_back(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_IS_MEMBER, GUEST, 0, 0);
    expect_wrong(HISTORY_REVOKED, 1);
}

static void test_joined_twice(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_JOINED, EAR, 0, 0);
    expect_wrong(HISTORY_CONTRADICTED, 1);
}

static void test_left_twice(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_LEFT, GUEST, 0, 0);
    expect_wrong(HISTORY_CONTRADICTED, 1);
}

static void test_published_out_of_order(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_PUBLISHED, SINGER, SONGS + 2, 0);
    expect_wrong(HISTORY_MISNUMBERED, 1);
}

/* Nothing of a turn that was not committed has happened, neither its join nor what it published. */
static void test_void_turns_of_a_group(void **state)
{
    (void)state;
    sing();
    turn(HISTORY_JOINED, GUEST, 0, 0);
    turn_is_void(GUEST);
    note(HISTORY_NO_MEMBER, GUEST, 0, 0);
    turn(HISTORY_PUBLISHED, SINGER, SONGS + 1, 0);
    turn_is_void(SINGER);
    turn(HISTORY_HEARD, EAR, 1, SINGER);
    turn_is_void(EAR);
    assert_int_equal(expect_right().turns_void, 3);
}

/* ---- messages that are put off ---- */

/* Three are put off, the first and the second come again. */
static void put_off(void)
{
    for (uint64_t number = 1; number <= 3; number++) {
        turn(HISTORY_TAKEN, LAMP, number, SINGER);
        note(HISTORY_PUT_OFF, LAMP, number, SINGER);
    }
    turn(HISTORY_TAKEN_BACK, LAMP, 2, 2);
    turn(HISTORY_TAKEN, LAMP, 1, SINGER);
    turn(HISTORY_TAKEN, LAMP, 2, SINGER);
}

static void test_stash_right(void **state)
{
    (void)state;
    put_off();
    assert_int_equal(expect_right().came_back, 2);
    turn(HISTORY_TAKEN, LAMP, 4, SINGER);
    turn(HISTORY_TAKEN_BACK, LAMP, 1, 0);
    turn(HISTORY_TAKEN, LAMP, 3, SINGER);
    note(HISTORY_PUT_OFF, LAMP, 3, SINGER);
    turn(HISTORY_TAKEN_BACK, LAMP, 1, 5);
    turn(HISTORY_TAKEN, LAMP, 3, SINGER);
    struct history_verdict verdict = expect_right();
    assert_int_equal(verdict.put_off, 4);
    assert_int_equal(verdict.came_back, 4);
}

static void test_stash_lost(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_TAKEN_BACK, LAMP, 1, 0);
    expect_wrong(HISTORY_LOST, 1);
}

static void test_stash_has_fewer(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_TAKEN_BACK, LAMP, 0, 0);
    expect_wrong(HISTORY_LOST, 1);
}

static void test_stash_has_more(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_TAKEN_BACK, LAMP, 2, 0);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_stash_twice(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_TAKEN, LAMP, 1, SINGER);
    expect_wrong(HISTORY_DOUBLED, 1);
}

static void test_stash_not_taken_back(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_TAKEN, LAMP, 3, SINGER);
    expect_wrong(HISTORY_PHANTOM, 1);
}

static void test_stash_out_of_order(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_TAKEN, LAMP, 4, SINGER);
    note(HISTORY_PUT_OFF, LAMP, 4, SINGER);
    turn(HISTORY_TAKEN_BACK, LAMP, 2, 0);
    turn(HISTORY_TAKEN, LAMP, 4, SINGER);
    turn(HISTORY_TAKEN, LAMP, 3, SINGER);
    expect_wrong(HISTORY_REORDERED, 1);
}

static void test_another_before_the_stash(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_TAKEN_BACK, LAMP, 1, 0);
    turn(HISTORY_TAKEN, LAMP, 1, GUEST);
    turn(HISTORY_TAKEN, LAMP, 3, SINGER);
    expect_wrong(HISTORY_REORDERED, 1);
}

static void test_put_off_and_not_run(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_PUT_OFF, LAMP, 4, SINGER);
    expect_wrong(HISTORY_PHANTOM, 1);
}

/* A turn that was not committed puts nothing off, and takes nothing back. */
static void test_void_turns_of_a_stash(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_TAKEN, LAMP, 4, SINGER);
    note(HISTORY_PUT_OFF, LAMP, 4, SINGER);
    turn_is_void(LAMP);
    turn(HISTORY_TAKEN_BACK, LAMP, 1, 0);
    turn_is_void(LAMP);
    turn(HISTORY_TAKEN, LAMP, 4, SINGER);
    expect_right();
}

static void test_stash_ends_with_its_actor(void **state)
{
    (void)state;
    put_off();
    turn(HISTORY_TAKEN_BACK, LAMP, 1, 0);
    turn(HISTORY_ENDED, LAMP, 0, 0);
    expect_right();
    turn(HISTORY_TAKEN, LAMP, 3, SINGER);
    expect_wrong(HISTORY_PHANTOM, 2); /* and the turn */
}

/* ---- phases ---- */

static void test_phase_right(void **state)
{
    (void)state;
    turn(HISTORY_PHASE, LAMP, 0, 0);
    note(HISTORY_BECOMES, LAMP, 1, 0);
    turn(HISTORY_PHASE, LAMP, 1, 0);
    turn(HISTORY_PHASE, LAMP, 1, 0);
    note(HISTORY_BECOMES, LAMP, 2, 0);
    note(HISTORY_BECOMES, LAMP, 0, 0);
    turn(HISTORY_PHASE, LAMP, 0, 0);
    assert_int_equal(expect_right().becomes, 3);
}

static void test_phase_not_reached(void **state)
{
    (void)state;
    turn(HISTORY_PHASE, LAMP, 0, 0);
    note(HISTORY_BECOMES, LAMP, 1, 0);
    turn(HISTORY_PHASE, LAMP, 0, 0);
    expect_wrong(HISTORY_MISPHASED, 1);
}

static void test_phase_of_a_void_turn(void **state)
{
    (void)state;
    turn(HISTORY_PHASE, LAMP, 0, 0);
    note(HISTORY_BECOMES, LAMP, 1, 0);
    turn_is_void(LAMP);
    note(HISTORY_PHASE, LAMP, 0, 0);
    expect_right();
    turn_is_void(LAMP);
    note(HISTORY_PHASE, LAMP, 1, 0);
    expect_wrong(HISTORY_MISPHASED, 1);
}

/* ---- links ---- */

/* The ear monitors a child of the parent's. */
static void link_child(void)
{
    note(HISTORY_TURN, PARENT, ++turns[PARENT], 0);
    turn(HISTORY_LINKED, EAR, 1, PARENT);
    turn(HISTORY_WATCHED, EAR, 2, 0);
    turn(HISTORY_DOWN, EAR, 2, 0);
}

static void test_link_right(void **state)
{
    (void)state;
    link_child();
    turn(HISTORY_ENDED, PARENT, 0, 0);
    turn(HISTORY_DOWN, EAR, 1, 0);
    assert_int_equal(expect_right().linked, 1);
}

static void test_link_lost(void **state)
{
    (void)state;
    link_child();
    turn(HISTORY_ENDED, PARENT, 0, 0);
    expect_wrong(HISTORY_LOST, 1);
}

static void test_link_of_one_that_lives(void **state)
{
    (void)state;
    link_child();
    turn(HISTORY_DOWN, EAR, 1, 0);
    expect_wrong(HISTORY_EARLY, 1);
}

static void test_link_early(void **state)
{
    (void)state;
    link_child();
    turn(HISTORY_DOWN, EAR, 1, 0);
    turn(HISTORY_ENDED, PARENT, 0, 0);
    expect_wrong(HISTORY_EARLY, 1);
}

/* The turn with which its parent ends was not committed when the child had ended. */
static void test_link_of_a_void_end(void **state)
{
    (void)state;
    link_child();
    turn(HISTORY_ENDED, PARENT, 0, 0);
    turn(HISTORY_DOWN, EAR, 1, 0);
    turn_is_void(PARENT);
    note(HISTORY_ENDED, PARENT, 0, 0);
    expect_wrong(HISTORY_EARLY, 1);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(group_right),
        TEST(not_heard),
        TEST(last_not_heard),
        TEST(nothing_heard),
        TEST(first_not_heard),
        TEST(heard_twice),
        TEST(heard_out_of_order),
        TEST(heard_by_no_member),
        TEST(heard_and_never_published),
        TEST(heard_of_who_never_published),
        TEST(heard_before_it_is_published),
        TEST(heard_behind_the_leave),
        TEST(joined_again),
        TEST(leave_taken_back),
        TEST(joined_twice),
        TEST(left_twice),
        TEST(published_out_of_order),
        TEST(void_turns_of_a_group),
        TEST(stash_right),
        TEST(stash_lost),
        TEST(stash_has_fewer),
        TEST(stash_has_more),
        TEST(stash_twice),
        TEST(stash_not_taken_back),
        TEST(stash_out_of_order),
        TEST(another_before_the_stash),
        TEST(put_off_and_not_run),
        TEST(void_turns_of_a_stash),
        TEST(stash_ends_with_its_actor),
        TEST(phase_right),
        TEST(phase_not_reached),
        TEST(phase_of_a_void_turn),
        TEST(link_right),
        TEST(link_lost),
        TEST(link_of_one_that_lives),
        TEST(link_early),
        TEST(link_of_a_void_end),
    };

    return cmocka_run_group_tests_name("history_groups", tests, NULL, NULL);
}
