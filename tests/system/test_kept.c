/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins as people have them: binaries of former builds (tests/plugins/kept), loaded and run by
 * this one. An ABI that is gone is refused by name. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/plugins/kept/kept.h"
#include "tests/system/harness.h"

#define KEPT(name) TEST_KEPT "/" name

static const char *const names[] = { "kept-gcc", "kept-clang", "kept-cxx" };

static struct service service;
static struct odeon_client *client;
static struct odeon_port *port;

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){
                                "--set", "workers=2", "--set", "actors=1024", "--set",
                                "affinity=none", "--plugin", KEPT("kept_gcc.so"), "--plugin",
                                KEPT("kept_clang.so"), "--plugin", KEPT("kept_cxx.so"), NULL });
    client = service_connect(&service, "kept");
    port = port_open_or_fail(client, 0, 0, false);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_client_disconnect(client);
    service_end(&service);
    return 0;
}

static struct kept_value value_of(const char *name)
{
    struct odeon_delivery reply;
    struct kept_value value = { 0 };
    odeon_ref ref;

    assert_int_equal(odeon_actor_find(client, name, &ref), 0);
    assert_int_equal(odeon_ref_executor(ref), ODEON_EXECUTOR);
    assert_int_equal(odeon_port_call(port, ref, message_id(client, odeon_message_of(kept_get)),
                                     NULL, 0, SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REPLY);
    assert_int_equal(reply.size, sizeof(value));
    memcpy(&value, reply.data, sizeof(value));
    odeon_port_release(port);
    return value;
}

static void add(const char *name, int64_t amount)
{
    struct kept_add message = { .amount = amount };
    odeon_ref ref;

    assert_int_equal(odeon_actor_find(client, name, &ref), 0);
    assert_int_equal(odeon_port_post(port, ref, message_id(client, odeon_message_of(kept_add)),
                                     &message, sizeof(message)),
                     0);
}

/* Each plugin's start has made its actor, once, and runs again with the next executor: the actor is
 * there with what it knew. */
static void test_kept_binaries_run(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct kept_value value = value_of(names[i]);

        assert_int_equal(value.total, 1000);
        assert_int_equal(value.starts, 1);
        add(names[i], 5 + i);
        assert_int_equal(value_of(names[i]).total, 1005 + i);
    }
    pid_t executor = service_executor(&service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&service, executor);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct kept_value value = value_of(names[i]);

        assert_int_equal(value.total, 1005 + i);
        assert_int_equal(value.starts, 2);
    }
}

/* What a binary of then says of its arguments is what odeonctl writes now, and its init reads. */
static void test_arguments_by_name(void **state)
{
    char text[8192];

    (void)state;
    assert_int_equal(
        ctl(&service, text, sizeof(text), "actor spawn kept_sum_gcc first=77 --name by-name"), 0);
    assert_int_equal(value_of("by-name").total, 77);
    assert_int_not_equal(ctl(&service, text, sizeof(text), "actor spawn kept_sum_gcc frist=77"), 0);
    assert_non_null(strstr(text, "Did you mean first?"));
    assert_int_equal(ctl(&service, text, sizeof(text), "type list --json"), 0);
    assert_non_null(strstr(text, "\"args_size\":8,\"args_fields\":\"{ int64_t first; }\""));
}

static void test_abi_1_is_refused_by_name(void **state)
{
    (void)state;
    assert_int_equal(odeon_plugin_load(client, KEPT("abi1.so")), -EINVAL);
    assert_non_null(
        strstr(odeon_error_text(),
               "the plugin's abi_major is 1 (a build before ABI 2), ours is 2: compile the plugin "
               "again with this version's headers"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_binaries_run),
        cmocka_unit_test(test_arguments_by_name),
        cmocka_unit_test(test_abi_1_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
