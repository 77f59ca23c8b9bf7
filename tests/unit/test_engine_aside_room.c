/* SPDX-License-Identifier: Apache-2.0 */
/* A worker whose handler was set aside (set_aside.h) sends as before when that has returned: the
 * short way into its outbox is open again. */
#include "daemon/engine/commit/outbox.h"
#include "tests/unit/engine_client.h"
#include "tests/unit/stuck_handler.h"

enum { PORT = 5, HOLD_NS = 500000000 };

static struct engine_fixture f;
static struct client client;
static uint16_t stay_type;
static actor_ref ref;
static struct {
    _Atomic uint32_t inside, hold;
} seen;

HANDLER static int on_stay(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    stuck_stay(&seen.inside, &seen.hold);
    return ALLOCATION_NODELETE;
}

static int begin(void **state)
{
    static struct engine_behaviour behaviour[1];
    struct engine_config config = engine_fixture_config(1, 1);

    (void)state;
    config.is_handler = stuck_is_handler;
    engine_fixture_open(&f, config);
    stay_type = engine_fixture_message(&f, "stay", 0, false);
    behaviour[0] = (struct engine_behaviour){ stay_type, 0, 0, on_stay };
    ref = engine_fixture_spawn(&f, engine_fixture_type(&f, "stuck", 8, NULL, NULL, behaviour, 1),
                               NULL, 0);
    client_open(&f, &client, PORT, 1);
    store_relaxed(&seen.inside, 0);
    store_relaxed(&seen.hold, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    client_free(&client);
    engine_fixture_close(&f);
    return 0;
}

static uint64_t open_room(void)
{
    return f.engine->workers[0]->outbox.limit - OUTBOX_SMALL_BYTES;
}

/* What has been posted makes its actor stay; it is set aside, and returns. */
static void set_aside_once(void)
{
    const char *text = "";
    int r = -EAGAIN;

    assert_int_equal(f.engine->workers[0]->outbox.room, open_room());
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_until(load_acquire(&seen.inside)));
    /* it may be on its way into a system call, or get no processor */
    (void)engine_fixture_until((r = engine_worker_set_aside(f.engine, 0, ref, HOLD_NS, &text)) !=
                                   -EAGAIN &&
                               r != -ETIMEDOUT);
    if (r < 0)
        fail_msg("%s: %s", strerror(-r), text);
    store_release(&seen.hold, 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    engine_stop(f.engine);
    assert_int_equal(engine_fixture_stat(&f, STAT_set_aside), 1);
}

static void test_the_short_way_is_open_again(void **state)
{
    (void)state;
    client_post(&client, ref, stay_type, NULL, 0);
    set_aside_once();
    assert_int_equal(f.engine->workers[0]->outbox.room, open_room());
}

/* A message that is traced closes it itself, and does not put back what was. */
static void test_behind_a_traced_message_too(void **state)
{
    const uint64_t trace = UINT64_C(0x1122334455667788);

    (void)state;
    client_post_as(
        &client,
        (struct envelope){
            .to = ref, .type = stay_type, .length = sizeof(trace), .prefix = PREFIX_TRACE },
        &trace);
    set_aside_once();
    assert_int_equal(f.engine->workers[0]->outbox.room, open_room());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_short_way_is_open_again, begin, end),
        cmocka_unit_test_setup_teardown(test_behind_a_traced_message_too, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
