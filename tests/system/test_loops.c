/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's control thread waits for nobody: beside a handler that hangs, one client opens and
 * ends ports by the hundred, another changes settings and unloads a plugin, and everybody else's
 * requests are answered. Judged by how often the thread has waited, and by the processor time of
 * its longest turn; no time on the clock is. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/stuck.h"

enum {
    ROUNDS = 8,
    PORTS = 30,
    /* of processor time; a sanitizer's is several times that */
    LONGEST_TURN_MS = SIGNALS_ARRIVE ? 20 : 200
};

static struct service service;
static struct odeon_client *bystander;
static struct odeon_port *port;
static struct stuck_page *page;
static char page_path[96];

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){
                                SMALL_SERVICE, "--set", "detached=1", "--set", "stall-warn-ms=200",
                                "--set", "drain-timeout-ms=1000", "--plugin", TEST_STUCK, NULL });
    bystander = service_connect(&service, "bystander");
    port = port_open_or_fail(bystander, 0, 0, false);
    page = service_map_page(&service, page_path, sizeof(page_path), sizeof(*page));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_client_disconnect(bystander);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static odeon_ref hanger_spawn(enum odeon_where where)
{
    struct odeon_spawn_where place = { .struct_size = sizeof(place), .where = where };
    struct stuck_args args = { .index = 0 };
    odeon_ref ref = ODEON_NOBODY;

    memcpy(args.page, page_path, sizeof(args.page));
    if (odeon_actor_spawn_at(bystander, "stuck_hanger", NULL, &args, sizeof(args), &place, &ref) <
        0)
        fail_msg("spawning: %s", odeon_error_text());
    return ref;
}

static void hang(odeon_ref hanger, uint64_t blocks)
{
    struct stuck_hang message = { .blocks = blocks };
    uint32_t type = message_id(bystander, odeon_message_of(stuck_hang));
    uint32_t before = atomic_load(&page->entered);

    atomic_store(&page->release, 0);
    assert_int_equal(odeon_port_post(port, hanger, type, &message, sizeof(message)), 0);
    assert_true(wait_until(atomic_load(&page->entered) == before + 1));
}

static void let_go(void)
{
    atomic_store(&page->release, 1);
    assert_true(wait_until(atomic_load(&page->left) == atomic_load(&page->entered)));
}

/* Its ports end with it. */
static void open_and_leave(void)
{
    struct odeon_client *client = service_connect(&service, "coming and going");

    for (unsigned i = 0; i < PORTS; i++)
        (void)port_open_or_fail(client, 1 << 16, 1 << 16, false);
    odeon_client_disconnect(client);
}

static void look_up(void)
{
    struct odeon_actor_detail *detail;
    odeon_ref ref;

    assert_int_equal(odeon_actor_find(bystander, "nobody", &ref), -ENOENT);
    assert_int_equal(odeon_actor_show(bystander, ODEON_NOBODY, NULL, &detail), -ENOENT);
}

/* All ports but the bystander's are gone, and the handler still hangs. The control thread has
 * waited for nobody, nor for the handler, at which it looks all the while. */
static void come_and_go(void)
{
    uint64_t waits = service_figure(&service, "control_waits");

    for (unsigned round = 0; round < ROUNDS; round++) {
        open_and_leave();
        look_up();
    }
    assert_true(wait_until(service_state(&service).ports == 1));
    look_up();
    assert_true(atomic_load(&page->left) < atomic_load(&page->entered));
    assert_int_equal(service_figure(&service, "control_waits"), waits);
}

static void check_turns(void)
{
    struct odeon_stats_service now = service_state(&service);
    struct odeon_status *status;

    assert_int_equal(odeon_service_status(bystander, &status), 0);
    assert_true(status->control_turn_longest_ns >= now.control_turn_longest_ns);
    assert_int_equal(status->control_waits, service_figure(&service, "control_waits"));
    assert_true(status->supervisor_turn_longest_ns > 0);
    assert_true(status->supervisor_turn_longest_ns < 5 * LONGEST_TURN_MS * UINT64_C(1000000));
    print_message("check=supervisor_turns longest_ns=%llu work=\"%s\"\n",
                  (unsigned long long)status->supervisor_turn_longest_ns,
                  status->supervisor_turn_work);
    odeon_result_free(status);
    print_message("check=turns longest_ns=%llu work=\"%s\"\n",
                  (unsigned long long)now.control_turn_longest_ns, now.control_turn_work);
    assert_true(now.control_turn_longest_ns > 0);
    assert_true(now.control_turn_longest_ns < LONGEST_TURN_MS * UINT64_C(1000000));
    assert_string_not_equal(now.control_turn_work, "");
    assert_int_equal(now.executor_restarts, 0);
}

static void test_beside_a_handler_that_is_set_aside(void **state)
{
    odeon_ref hanger = hanger_spawn(ODEON_WHERE_ANY);

    (void)state;
    for (unsigned blocks = 0; blocks < 2; blocks++) {
        uint64_t before = service_figure(&service, "set_aside"),
                 waits = service_figure(&service, "control_waits");

        hang(hanger, blocks);
        /* A thread that gets no processor is not held in time: that is not what is tested here. */
        if (SIGNALS_ARRIVE &&
            !wait_until_within(30, service_figure(&service, "set_aside") == before + 1))
            print_message("# the handler has not been set aside here\n");
        come_and_go();
        /* The looks at it have waited for nobody either. */
        assert_int_equal(service_figure(&service, "control_waits"), waits);
        let_go();
    }
    check_turns();
}

/* Nobody watches those with a thread of their own. */
static void test_beside_a_detached_handler(void **state)
{
    (void)state;
    hang(hanger_spawn(ODEON_WHERE_DETACHED), 1);
    come_and_go();
    let_go();
    check_turns();
}

/* Whoever changes settings, or unloads a plugin, waits for the handler, and is refused in the end;
 * the control thread waits for nobody. */
static void change_in_vain(struct odeon_client *client)
{
    uint64_t waits = service_figure(&service, "control_waits");
    const char *keys[] = { "workers" }, *values[] = { "1" };

    assert_int_equal(odeon_executor_set(client, keys, values, 1, NULL), -EBUSY);
    assert_int_equal(odeon_plugin_unload(client, "probe"), -EBUSY);
    assert_non_null(strstr(odeon_error_text(), "a handler has been running for long"));
    assert_true(atomic_load(&page->left) < atomic_load(&page->entered));
    assert_int_equal(service_figure(&service, "control_waits"), waits);
}

static void test_settings_and_plugins(void **state)
{
    struct odeon_client *client = service_connect(&service, "administrator");
    const char *keys[] = { "workers" }, *values[] = { "1" };
    uint64_t waits;

    (void)state;
    assert_int_equal(odeon_plugin_load(client, TEST_PROBE), 0);
    hang(hanger_spawn(ODEON_WHERE_ANY), 1);
    change_in_vain(client);
    let_go();
    waits = service_figure(&service, "control_waits");
    assert_true(wait_until(odeon_executor_set(client, keys, values, 1, NULL) == 0));
    assert_true(wait_until(odeon_plugin_unload(client, "probe") == 0));
    assert_int_equal(service_figure(&service, "control_waits"), waits);
    odeon_client_disconnect(client);
    check_turns();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_a_handler_that_is_set_aside),
        cmocka_unit_test(test_beside_a_detached_handler),
        cmocka_unit_test(test_settings_and_plugins),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
