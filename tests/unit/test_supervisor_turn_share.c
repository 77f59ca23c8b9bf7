/* SPDX-License-Identifier: Apache-2.0 */
/* What a user's clients have of a turn of the loop: bounded, and each of them has its turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/supervisor/turn_share.h"

enum { CLIENTS = 10 };
#define US UINT64_C(1000)

/* One that is alone is read from in each turn, and its part ends it. */
static void test_alone(void **state)
{
    struct turn_share share = { 0 };
    struct turn_part part = { 0 };

    (void)state;
    for (uint64_t turn = 1; turn <= 100; turn++) {
        assert_true(turn_share_may(&share, &part, turn));
        assert_false(turn_share_count(&share, &part, turn, TURN_PART_NS - 1));
        assert_true(turn_share_count(&share, &part, turn, 1));
        assert_false(turn_share_may(&share, &part, turn)); /* once a turn */
    }
}

/* All ask in each turn, in the same order, for as long as each may: the turn is bounded, and
 * nobody is served twice before everybody has been once. */
static void test_they_take_turns(void **state)
{
    struct turn_share share = { 0 };
    struct turn_part parts[CLIENTS] = { 0 };
    unsigned served[CLIENTS] = { 0 };

    (void)state;
    for (uint64_t turn = 1; turn <= 600; turn++) {
        uint64_t used = 0;
        unsigned least = UINT32_MAX, most = 0;

        for (unsigned i = 0; i < CLIENTS; i++) {
            if (turn_share_may(&share, &parts[i], turn)) {
                served[i]++;
                used += 700 * US;
                (void)turn_share_count(&share, &parts[i], turn, 700 * US);
            }
            least = served[i] < least ? served[i] : least;
            most = served[i] > most ? served[i] : most;
        }
        assert_true(used < TURN_SHARE_NS + 700 * US);
        assert_true(most - least <= 1);
    }
    assert_true(served[CLIENTS - 1] >= 100);
}

/* The user's share ends the reading of one that has not had its own part. */
static void test_share_ends_a_part(void **state)
{
    struct turn_share share = { 0 };
    struct turn_part parts[2] = { 0 };

    (void)state;
    assert_true(turn_share_may(&share, &parts[0], 1));
    assert_true(turn_share_count(&share, &parts[0], 1, TURN_SHARE_NS - 2));
    assert_true(turn_share_may(&share, &parts[1], 1));
    assert_false(turn_share_count(&share, &parts[1], 1, 1));
    assert_true(turn_share_count(&share, &parts[1], 1, 1));
}

/* Who was put off and has gone meanwhile keeps nobody from the next round. */
static void test_one_that_goes(void **state)
{
    struct turn_share share = { 0 };
    struct turn_part stays = { 0 }, goes = { 0 };

    (void)state;
    assert_true(turn_share_may(&share, &stays, 1));
    assert_true(turn_share_count(&share, &stays, 1, TURN_SHARE_NS));
    assert_false(turn_share_may(&share, &goes, 1));
    assert_false(turn_share_may(&share, &stays, 2));
    assert_true(turn_share_may(&share, &stays, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_they_take_turns),
        cmocka_unit_test(test_share_ends_a_part),
        cmocka_unit_test(test_one_that_goes),
    };

    return cmocka_run_group_tests_name("turn_share", tests, NULL, NULL);
}
