/* SPDX-License-Identifier: Apache-2.0 */
/* What `odeonctl top` asks a service for, and how often, with a library that has none. */
#include <errno.h>
#include <math.h>

#include "client-lib/ctl/top/requests.h"
#include "client-lib/ctl/top/source.h"
#include "tests/unit/ctl_run.h"
#include "tests/unit/pretended_clock.h"

static struct requests requests;

static int begin(void **state)
{
    requests = (struct requests){ .view = VIEW_N };
    /* it stands still: two requests are too near to each other however long this gets no processor
     * between them */
    pretended_ns = UINT64_C(1000000000000);
    return setup(state);
}

static int end(void **state)
{
    requests_fini(&requests);
    assert_int_equal(fake.n_leaked, 0);
    return teardown(state);
}

static struct table *ask(enum view_id view, uint64_t now_ns, int expected)
{
    struct table *table = NULL;

    assert_int_equal(requests_make(&requests, NULL, view, now_ns, &table), expected);
    return table;
}

static void test_requests_are_apart(void **state)
{
    struct table *table = ask(VIEW_QUEUES, 1, 0);

    (void)state;
    assert_non_null(table);
    assert_true(table->rows[0].cell[0].number == 33);
    table_free(table);
    assert_null(ask(VIEW_QUEUES, REQUESTS_EVERY_NS, -EAGAIN));
    assert_null(ask(VIEW_CLIENTS, REQUESTS_EVERY_NS, -EAGAIN)); /* nor for another view */
    assert_int_equal(fake.n_lists, 1);
    table_free(ask(VIEW_CLIENTS, 1 + REQUESTS_EVERY_NS, 0));
    table = ask(VIEW_USERS, 1 + 2 * REQUESTS_EVERY_NS, 0);
    assert_int_equal(fake.n_lists, 4); /* what they hold, and what they have done */
    assert_string_equal(table->rows[0].leads, "1000");
    assert_true(table->rows[0].cell[4].number == 17);
    assert_true(table->rows[0].cell[8].number == 17 && isnan(table->rows[0].cell[11].number));
    table_free(table);
}

static void test_a_long_list_comes_in_pages(void **state)
{
    struct table *table;

    (void)state;
    fake.more_queues = 2;
    assert_null(ask(VIEW_QUEUES, 1, 0));
    assert_null(ask(VIEW_QUEUES, 1 + REQUESTS_EVERY_NS, 0));
    table = ask(VIEW_QUEUES, 1 + 2 * REQUESTS_EVERY_NS, 0);
    assert_int_equal(table->n, 3);
    table_free(table);
    /* one that was begun is forgotten when something else is shown */
    assert_null(ask(VIEW_QUEUES, 1 + 3 * REQUESTS_EVERY_NS, 0));
    table = ask(VIEW_CLIENTS, 1 + 4 * REQUESTS_EVERY_NS, 0);
    assert_int_equal(table->n, 1);
    table_free(table);
}

static void test_a_refusal_is_not_asked_for_at_once(void **state)
{
    (void)state;
    fake.list_result = -EACCES;
    assert_null(ask(VIEW_QUEUES, 1, -EACCES));
    assert_null(ask(VIEW_QUEUES, 1 + 9 * REQUESTS_EVERY_NS, -EACCES));
    assert_int_equal(fake.n_lists, 1);
    fake.list_result = 0;
    table_free(ask(VIEW_QUEUES, 1 + 10 * REQUESTS_EVERY_NS, 0));
    assert_int_equal(fake.n_lists, 2);
}

static struct look *look_at(struct source *source, enum view_id view, bool may_ask)
{
    struct look *look = source_look(source, view, true, may_ask);

    assert_non_null(look);
    assert_int_equal(look->view, view);
    return look;
}

static void test_only_what_is_shown_is_asked_for(void **state)
{
    struct ctl ctl = { .err = stderr };
    struct source *source;
    struct look *look;

    (void)state;
    assert_int_equal(ctl_connect(&ctl), 0);
    source = source_new(&ctl);
    assert_null(ctl.client);
    for (enum view_id view = VIEW_TYPES; view <= VIEW_FLOWS; view++) {
        look = look_at(source, view, true);
        assert_int_equal(look->state, LOOK_UP);
        /* of types there have to be two looks */
        assert_int_equal(look->table != NULL, view != VIEW_TYPES);
        look_free(look);
    }
    look = look_at(source, VIEW_TYPES, true);
    assert_int_equal(look->table->n, 3);
    look_free(look);
    look = look_at(source, VIEW_WORKERS, true);
    assert_int_equal(look->table->n, FAKE_WORKERS);
    look_free(look);
    look = look_at(source, VIEW_CLIENTS, false);
    assert_null(look->table);
    check_has(look->note, "nothing is asked for");
    look_free(look);
    assert_int_equal(fake.n_lists, 0);
    look = look_at(source, VIEW_CLIENTS, true);
    assert_int_equal(look->table->n, 1);
    look_free(look);
    look = look_at(source, VIEW_USERS, true);
    assert_true(look->is_early);
    look_free(look);
    assert_int_equal(fake.n_lists, 1);
    source_free(source);
    assert_int_equal(fake.n_connects, fake.n_disconnects);
}

static void test_a_service_that_has_gone_is_not_asked(void **state)
{
    struct ctl ctl = { .err = stderr };
    struct source *source;
    struct look *look;

    (void)state;
    assert_int_equal(ctl_connect(&ctl), 0);
    source = source_new(&ctl);
    look_free(look_at(source, VIEW_TYPES, true));
    fake.state = "stopped";
    look = look_at(source, VIEW_CLIENTS, true);
    assert_int_equal(look->state, LOOK_AWAY);
    assert_null(look->table);
    look_free(look);
    assert_int_equal(fake.n_lists, 0);
    fake.supervisor_pid = 1; /* another one that is there: whoever was connected connects again */
    fake.state = "running";
    look = look_at(source, VIEW_CLIENTS, true);
    assert_int_equal(look->state, LOOK_UP);
    look_free(look);
    assert_int_equal(fake.n_connects, 2);
    source_free(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_requests_are_apart, begin, end),
        cmocka_unit_test_setup_teardown(test_a_long_list_comes_in_pages, begin, end),
        cmocka_unit_test_setup_teardown(test_a_refusal_is_not_asked_for_at_once, begin, end),
        cmocka_unit_test_setup_teardown(test_only_what_is_shown_is_asked_for, begin, end),
        cmocka_unit_test_setup_teardown(test_a_service_that_has_gone_is_not_asked, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
