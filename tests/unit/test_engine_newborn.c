/* SPDX-License-Identifier: Apache-2.0 */
/* The init record of an actor that has just been spawned, and when it is spared (place.U5):
 * whatever its spawner sends around the spawn, the actor is initialised once. */
#include "engine_script.h"

static uint16_t number_type, bytes_type;
static uint32_t probe_type;

/* What behaviours saw, for the test to look at once nobody runs. */
static struct {
    uint64_t inits, last_number;
} seen;

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)ctx;
    seen.last_number = *(const uint64_t *)message;
    return ALLOCATION_NODELETE;
}

static int on_bytes(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    return ALLOCATION_NODELETE;
}

static int probe_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    (void)self;
    (void)args;
    (void)size;
    (void)ctx;
    seen.inits++;
    return 0;
}

static void fixture_begin(struct engine_fixture *f)
{
    struct engine_config config = engine_fixture_config(1, 2);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.outbox_bytes = 1 << 20;
    engine_fixture_open(f, config);
    script_type = engine_fixture_message(f, "script", sizeof(struct script), false);
    number_type = engine_fixture_message(f, "number", 8, false);
    bytes_type = engine_fixture_message(f, "bytes", 0, true);
    const struct engine_behaviour behaviours[] = {
        { script_type, sizeof(struct script), false, on_script },
        { number_type, 8, false, on_number },
        { bytes_type, 0, true, on_bytes },
    };
    probe_type = engine_fixture_type(f, "probe", 64, probe_init, NULL, behaviours, 3);
    memset(&seen, 0, sizeof(seen));
}

static actor_ref probe(struct engine_fixture *f)
{
    return engine_fixture_spawn(f, probe_type, NULL, 0);
}

struct newborn_argument {
    actor_ref other, child;
    int spawned, large, sent;
};

/* A child, whose first message does not fit any more: the init record must go out after all. */
static int script_newborn_without_room(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    static const uint8_t bytes[ODEON_PAYLOAD_MAX];
    struct newborn_argument *a = argument;
    while (engine_ctx_send(ctx, a->other, bytes_type, 2, bytes, sizeof(bytes)) == 0)
        ;
    a->spawned = engine_ctx_spawn(ctx, probe_type, &(struct engine_spawn){ 0 }, &a->child);
    a->large = a->sent ? engine_ctx_send_tail(ctx, a->child, bytes_type, 2, bytes, 24, bytes,
                                              sizeof(bytes) - 24)
                       : engine_ctx_send(ctx, a->child, bytes_type, 2, bytes, sizeof(bytes));
    return ALLOCATION_NODELETE;
}

static void test_newborn_whose_message_does_not_fit(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f);
    actor_ref first = probe(&f), other = probe(&f);
    start(&f);
    for (int i = 0; i < 4; i++) { /* in either queue, by either way of sending */
        struct newborn_argument a = { .other = other, .sent = i / 2 };
        uint64_t inits = seen.inits;
        run(&f, first, script_newborn_without_room, &a);
        assert_int_equal(a.spawned, 0);
        assert_int_equal(a.large, -ENOBUFS);
        assert_int_equal(seen.inits, inits + 1);
    }
    fixture_end(&f);
}

/* The first message after the spawn goes to the child, and is all that goes to it. */
static int script_newborn_is_sent_to(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    struct newborn_argument *a = argument;
    const uint64_t one = 1;
    a->spawned = engine_ctx_spawn(ctx, probe_type, &(struct engine_spawn){ 0 }, &a->child);
    a->sent = engine_ctx_send(ctx, a->child, number_type, 1, &one, sizeof(one));
    return ALLOCATION_NODELETE;
}

static void test_newborn_whose_message_is_its_first(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f);
    actor_ref first = probe(&f);
    start(&f);
    for (int i = 0; i < 2; i++) { /* in either queue; the outbox is empty */
        struct newborn_argument a = { 0 };
        uint64_t inits = seen.inits, processed = engine_fixture_stat(&f, STAT_messages_processed);
        seen.last_number = 0;
        run(&f, first, script_newborn_is_sent_to, &a);
        assert_int_equal(a.spawned, 0);
        assert_int_equal(a.sent, 0);
        assert_int_equal(seen.inits, inits + 1);
        assert_int_equal(seen.last_number, 1);
        assert_int_equal(engine_fixture_stat(&f, STAT_messages_processed), processed + 2);
    }
    fixture_end(&f);
}

/* What is sent before and behind a spawn, and to whom: 'c': the child, 'u': the child, urgently;
 * 'o', 'p': two other actors, one in each queue. */
struct around {
    const char *before, *behind;
    actor_ref other[2];
    int result;
    uint32_t here;
};

static void send_around(struct engine_context *ctx, struct around *a, const char *to,
                        actor_ref child)
{
    const uint64_t any = 0;
    for (; *to; to++)
        a->result |= *to == 'u'
                         ? engine_ctx_send_urgent(ctx, child, bytes_type, 2, &any, sizeof(any))
                         : engine_ctx_send(ctx, *to == 'c' ? child : a->other[*to == 'p'],
                                           bytes_type, 2, &any, sizeof(any));
}

static int script_around(void *self, struct engine_context *ctx, void *argument)
{
    (void)self;
    struct around *a = argument;
    actor_ref child = 0;
    send_around(ctx, a, a->before, 0);
    a->result |= engine_ctx_spawn(
        ctx, probe_type, &(struct engine_spawn){ .placement = a->here ? PLACE_NEAR : PLACE_EACH },
        &child);
    send_around(ctx, a, a->behind, child);
    return ALLOCATION_NODELETE;
}

/* However it is sent to, or not at all, it is initialised once; and the init record goes out unless
 * the first record for its queue is for it (place.U5). */
static void test_newborn_is_always_initialised(void **state)
{
    (void)state;
    static const struct {
        const char *before, *behind;
    } cases[] = { { "", "" },   { "", "c" },   { "o", "c" },  { "p", "c" },   { "op", "pc" },
                  { "", "oc" }, { "", "pc" },  { "", "cop" }, { "", "op" },   { "po", "u" },
                  { "", "ou" }, { "p", "po" }, { "o", "oo" }, { "pp", "cp" }, { "opo", "poc" } };
    struct engine_fixture f;
    fixture_begin(&f);
    actor_ref first = probe(&f), other = probe(&f), third = probe(&f);
    start(&f);
    for (unsigned i = 0; i < 4 * sizeof(cases) / sizeof(cases[0]); i++) {
        struct around a = { .before = cases[i / 4].before,
                            .behind = cases[i / 4].behind,
                            .here = i & 1,
                            .other = { third, other } };
        uint64_t inits = seen.inits, letters = engine_fixture_stat(&f, STAT_dead_letters);
        run(&f, first, script_around, &a);
        assert_int_equal(a.result, 0);
        assert_int_equal(seen.inits, inits + 1);
        assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), letters);
    }
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_newborn_whose_message_does_not_fit),
        cmocka_unit_test(test_newborn_whose_message_is_its_first),
        cmocka_unit_test(test_newborn_is_always_initialised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
