/* SPDX-License-Identifier: Apache-2.0 */
/* A message type without a number, as one has that its plugin does not list: whatever sends refuses
 * it, since a record of type 0 is none to recovery, and the segment would be taken for damaged. */
#include "engine_script.h"

enum { WAYS = 12 };

static struct {
    int result[WAYS];
    uint64_t numbers;
} seen;
static uint16_t number_type;

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    seen.numbers++;
    return ALLOCATION_NODELETE;
}

/* What is to be sent, to whom, of which type: as the host table has it, a number of 32 bits. */
struct attempt {
    actor_ref to;
    uint32_t type;
};

static int script_plain_ways(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    const struct attempt *a = argument;
    static const uint8_t zero[64];
    seen.result[0] = engine_ctx_send(ctx, a->to, a->type, 1, zero, 0);
    seen.result[1] = engine_ctx_send(ctx, a->to, a->type, 1, zero, 8);
    seen.result[2] = engine_ctx_send(ctx, a->to, a->type, 1, zero, 13);
    seen.result[3] = engine_ctx_signal(ctx, a->to, a->type | UINT64_C(1) << 32);
    seen.result[4] = engine_ctx_send_word(ctx, a->to, a->type | UINT64_C(1) << 32, 7);
    seen.result[5] = engine_ctx_send_tail(ctx, a->to, a->type, 1, zero, 8, zero, 3);
    seen.result[6] = engine_ctx_send_urgent(ctx, a->to, a->type, 1, zero, 8);
    return ALLOCATION_NODELETE;
}

static int script_other_ways(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    const struct attempt *a = argument;
    static const uint8_t zero[64];
    const struct engine_pieces pieces = { .head = zero, .head_size = 8 };
    const struct engine_timer_times times = { .delay_ns = 1 };
    struct engine_promise promise;
    uint64_t id;
    seen.result[7] = engine_ctx_send_after(ctx, a->to, a->type, 1, zero, 8, &times, &id);
    seen.result[8] = engine_ctx_reply(ctx, a->type, zero, 8, NULL, 0);
    seen.result[9] = engine_ctx_ask(ctx, a->to, a->type, 1, &pieces, 0, &id);
    seen.result[10] = engine_ctx_publish(ctx, "all", a->type, &pieces);
    assert_int_equal(engine_ctx_reply_later(ctx, &promise), 0);
    seen.result[11] = engine_ctx_answer(ctx, &promise, a->type, &pieces);
    return ALLOCATION_NODELETE;
}

static int script_join(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    *(int *)argument = engine_ctx_join(ctx, "all");
    return ALLOCATION_NODELETE;
}

/* As `run`, in the name of another actor, who can be answered. */
struct passed_on {
    actor_ref to;
    struct script script;
};

static int script_pass_on(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    const struct passed_on *p = argument;
    assert_int_equal(engine_ctx_send(ctx, p->to, script_type, 0, &p->script, sizeof(p->script)), 0);
    return ALLOCATION_NODELETE;
}

static uint32_t register_types(struct engine_fixture *f)
{
    const struct engine_behaviour behaviours[] = {
        { script_type, sizeof(struct script), false, on_script },
        { number_type, 8, false, on_number },
        { MESSAGE_TYPE_NO_ANSWER, sizeof(struct no_answer), false, on_number },
    };
    return engine_fixture_type(f, "probe", 0, NULL, NULL, behaviours, 3);
}

static void fixture_begin(struct engine_fixture *f, actor_ref ref[2])
{
    struct engine_config config = engine_fixture_config(1, 2);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.timers_max = 64;
    config.timer_bytes = 1 << 20;
    engine_fixture_open(f, config);
    assert_int_equal(engine_groups_open(f->engine), 0);
    script_type = engine_fixture_message(f, "script", sizeof(struct script), false);
    number_type = engine_fixture_message(f, "number", 8, false);
    uint32_t type = register_types(f);
    memset(&seen, 0, sizeof(seen));
    ref[0] = engine_fixture_spawn(f, type, NULL, 0);
    ref[1] = engine_fixture_spawn(f, type, NULL, 0);
    start(f);
}

static void test_each_way_refuses(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref ref[2];
    int joined = -1;
    fixture_begin(&f, ref);
    run(&f, ref[1], script_join, &joined);
    assert_int_equal(joined, 0);
    /* what the host table is handed has 32 bits, and a record keeps 16 of them */
    static const uint32_t types[] = { 0, 1 << 16 };
    for (unsigned i = 0; i < 2; i++) {
        struct attempt attempt = { .to = ref[1], .type = types[i] };
        struct passed_on other = { ref[0], { script_other_ways, &attempt } };
        run(&f, ref[0], script_plain_ways, &attempt);
        run(&f, ref[1], script_pass_on, &other);
        for (unsigned way = 0; way < WAYS; way++)
            assert_int_equal(seen.result[way], -EINVAL);
    }
    assert_int_equal(seen.numbers, 0);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
    engine_stop(f.engine);
    f.engine = engine_close(f.engine);
    struct engine_recovery report;
    engine_fixture_reopen(&f, &report); /* it finds nothing that cannot be */
    engine_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_way_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
