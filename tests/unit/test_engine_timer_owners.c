/* SPDX-License-Identifier: Apache-2.0 */
/* Whose timers are whose (timers/timer_owners.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/engine/timers/timer_owners.h"

static uint32_t count_orphans(struct timer_owners *owners, const actor_ref *owner_of)
{
    uint32_t timer, n = 0;

    for (; timer_owners_orphan(owners, &timer); n++) {
        timer_owners_remove(owners, owner_of[timer], timer);
        timer_owners_remove(owners, owner_of[timer], timer); /* and nothing comes of that */
    }
    return n;
}

/* timer_owners.TO1, beside two actors of which one gets the other's slot, and a third. */
static void test_owners(void **state)
{
    enum { N = 30, SLOT = 3 };
    const actor_ref first = actor_ref_make(SLOT, 1), second = actor_ref_make(SLOT, 2),
                    third = actor_ref_make(SLOT + 1, 1);
    static _Atomic uint32_t attached[8];
    struct timer_owners owners = { 0 };
    actor_ref owner_of[N];

    (void)state;
    assert_int_equal(timer_owners_open(&owners, N, 8, attached), 0);
    for (uint32_t i = 0; i < 20; i++)
        timer_owners_add(&owners, owner_of[i] = i % 2 ? first : third, i);
    for (uint32_t i = 1; i < 20; i += 6)
        timer_owners_remove(&owners, first, i);
    assert_int_equal(timer_owners_count(&owners, first), 6);
    assert_int_equal(timer_owners_count(&owners, third), 10);
    assert_int_equal(load_relaxed(&attached[SLOT]), 6);
    timer_owners_leave(&owners, second);
    assert_int_equal(timer_owners_count(&owners, first), 6);
    for (uint32_t i = 20; i < 24; i++) /* nobody has said that the first one has ended */
        timer_owners_add(&owners, owner_of[i] = second, i);
    timer_owners_add(&owners, owner_of[24] = first, 24);
    assert_int_equal(timer_owners_count(&owners, first), 0);
    assert_int_equal(timer_owners_count(&owners, second), 4);
    timer_owners_leave(&owners, third);
    timer_owners_remove(&owners, second, 21);
    assert_int_equal(count_orphans(&owners, owner_of), 6 + 1 + 10);
    assert_int_equal(timer_owners_count(&owners, second), 3);
    timer_owners_leave(&owners, second);
    assert_int_equal(count_orphans(&owners, owner_of), 3);
    assert_int_equal(load_relaxed(&attached[SLOT]) + load_relaxed(&attached[SLOT + 1]), 0);
    timer_owners_close(&owners);
}

/* timer_owners.TO3: two who watch one that has ended, one of them too late. */
static void test_late_for_who_has_ended(void **state)
{
    enum { SLOT = 3, FIRST, LATE, LATER, NEXT };
    const actor_ref ended = actor_ref_make(SLOT, 7), next = actor_ref_make(SLOT, 8);
    static _Atomic uint32_t attached[8];
    struct timer_owners owners = { 0 }, others = { 0 };
    uint32_t timer;

    (void)state;
    assert_int_equal(timer_owners_open(&owners, 8, 8, attached), 0);
    assert_int_equal(timer_owners_open(&others, 8, 8, attached), 0);
    timer_owners_add(&owners, ended, FIRST);
    timer_owners_leave(&owners, ended);
    timer_owners_add(&owners, ended, LATE);
    assert_int_equal(timer_owners_count(&owners, ended), 0);
    timer_owners_remove(&owners, ended, FIRST);
    timer_owners_add(&owners, ended, LATER);
    timer_owners_add(&others, next, NEXT);
    timer_owners_remove(&owners, ended, LATE);
    timer_owners_remove(&owners, ended, LATER);
    assert_false(timer_owners_orphan(&owners, &timer));
    assert_int_equal(load_relaxed(&attached[SLOT]), 1);
    timer_owners_add(&owners, next, LATE); /* who has the slot now is somebody else */
    assert_int_equal(timer_owners_count(&owners, next), 1);
    assert_int_equal(load_relaxed(&attached[SLOT]), 2);
    timer_owners_close(&owners);
    timer_owners_close(&others);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_late_for_who_has_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
