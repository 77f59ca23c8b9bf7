/* SPDX-License-Identifier: Apache-2.0 */
/* Names that clients give their ports: who finds them, how long, and who may not give them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/stage.h"
#include "tests/system/teller.h"
#include "tests/system/user.h"

static struct stage stage;
static odeon_ref teller;

static const struct user stranger = { .uid = 41001, .gid = 41001, .group = 41900 };

static odeon_ref who_is(const char *name)
{
    odeon_ref ref = ODEON_NOBODY;
    int r = odeon_actor_find(stage.client, name, &ref);

    assert_true(r == 0 || r == -ENOENT);
    return ref;
}

/* By the actor, which looks the name up. */
static void is_told(const char *name, const char *text)
{
    _Alignas(struct teller_tell) char message[sizeof(struct teller_tell) + 64] = { 0 };
    struct teller_tell *tell = (struct teller_tell *)message;
    struct odeon_delivery delivery;

    snprintf(tell->name, sizeof(tell->name), "%s", name);
    memcpy(tell->text, text, strlen(text));
    stage_post(&stage, teller, odeon_message_of(teller_tell), message,
               sizeof(*tell) + strlen(text));
    assert_int_equal(odeon_port_receive_wait(stage.port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.type, message_id(stage.client, odeon_message_of(teller_said)));
    assert_int_equal(delivery.size, sizeof(struct teller_said) + strlen(text));
    assert_memory_equal((const char *)delivery.data + sizeof(struct teller_said), text,
                        strlen(text));
    odeon_port_release(stage.port);
}

static void test_is_found(void **state)
{
    char output[4096];

    (void)state;
    assert_int_equal(odeon_port_register(stage.port, "screen"), 0);
    assert_int_equal(odeon_port_register(stage.port, "screen"), 0);
    assert_int_equal(who_is("screen"), odeon_port_ref(stage.port));
    is_told("screen", "hello");
    for (int i = 0; i < 3; i++) {
        stage_kill_executor(&stage);
        assert_int_equal(who_is("screen"), odeon_port_ref(stage.port));
        is_told("screen", "still there");
    }
    assert_int_equal(ctl(&stage.service, output, sizeof(output), "actor show screen"), 0);
    assert_non_null(strstr(output, "port"));
}

static void test_is_taken_from_nobody(void **state)
{
    struct odeon_client *other = service_connect(&stage.service, "other");
    struct odeon_port *port = port_open_or_fail(other, 0, 0, false);
    odeon_ref ref;

    (void)state;
    assert_int_equal(odeon_port_register(stage.port, "teller"), -EEXIST); /* an actor's */
    assert_non_null(strstr(odeon_error_text(), "the name 'teller' is taken already"));
    assert_int_equal(odeon_port_register(stage.port, "screen"), 0);
    assert_int_equal(odeon_port_register(port, "screen"), -EEXIST);
    assert_int_equal(odeon_actor_spawn(other, "teller", "screen", NULL, 0, &ref), -EEXIST);
    assert_int_equal(odeon_port_register(stage.port, "wall"), -EALREADY);
    assert_int_equal(odeon_port_register(port, "1.2.3"), -EINVAL);
    assert_int_equal(odeon_port_register(port, NULL), -EINVAL);
    assert_int_equal(odeon_port_register(NULL, "wall"), -EINVAL);
    /* it is free when its port has been drained */
    stage.port = odeon_port_close(stage.port);
    assert_true(wait_until(odeon_port_register(port, "screen") == 0));
    assert_int_equal(who_is("screen"), odeon_port_ref(port));
    odeon_client_disconnect(other);
    assert_true(wait_until(who_is("screen") == ODEON_NOBODY));
}

static int name_a_port(struct odeon_client *client, void *name)
{
    struct odeon_port *port = NULL;
    int r = odeon_port_open(client, NULL, &port);

    return r < 0 ? r : odeon_port_register(port, name);
}

static void test_role(void **state)
{
    static char name[] = "screen";
    struct service service = { 0 };

    (void)state;
    if (!user_can_change())
        skip();
    service_start_for_users(&service, (const char *const[]){ NULL });
    user_expects(&service, stranger, name_a_port, name, -EACCES,
                 "port_register needs the role register; user 41001 has here: post");
    service_end(&service);
    service_start_for_users(&service,
                            (const char *const[]){ "--set", "role-register=41001", NULL });
    user_expects(&service, stranger, name_a_port, name, 0, NULL);
    service_end(&service);
}

static int setup(void **state)
{
    (void)state;
    stage_begin(&stage, TEST_TELLER, "names");
    teller = spawn(stage.client, "teller", "teller", NULL, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stage_end(&stage);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(test_is_taken_from_nobody, setup, teardown),
        cmocka_unit_test(test_role),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
