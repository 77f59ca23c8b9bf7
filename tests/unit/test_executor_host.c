/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin asks of the host when it spawns: options of either version of the structure, and
 * what is refused. */
#include "daemon/executor/host.h"
#include "engine_fixture.h"

enum { WORKERS = 2, SIZE_FIRST = offsetof(struct odeon_spawn_options, place) };

static struct odeon_spawn_options asked;
static uint32_t type;
static int result;
static odeon_ref made;
static _Atomic uint32_t answered;

/* What lies on the stack where the next call has its words: nothing that looks like nothing. */
static __attribute__((noinline, no_stack_protector)) void stack_spoil(void)
{
    volatile uint8_t bytes[2048];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = 0x01;
}

static int parent_on_spawn(void *self, const void *message, struct odeon_context *ctx)
{
    (void)self;
    (void)message;
    made = 0;
    stack_spoil();
    result = ctx->host->spawn(ctx, type, asked.struct_size ? &asked : NULL, &made);
    atomic_fetch_add(&answered, 1);
    return ODEON_NODELETE;
}

struct host_fixture {
    struct engine_fixture engine;
    struct host *host;
    actor_ref parent;
    uint16_t message;
};

static void host_begin(struct host_fixture *f)
{
    struct engine_config config = engine_fixture_config(WORKERS, 4);
    static const int nodes[WORKERS] = { 0, 1 };
    assert_int_equal(host_new(WORKERS + 2, &f->host), 0);
    config.host = host_get_table(f->host);
    config.nodes = nodes;
    config.detached_max = 2;
    engine_fixture_open(&f->engine, config);
    f->message = engine_fixture_message(&f->engine, "spawn", 0, false);
    struct engine_behaviour behaviour = { f->message, 0, 0, host_adapt_behaviour(parent_on_spawn) };
    type = engine_fixture_type(&f->engine, "parent", 0, NULL, NULL, &behaviour, 1);
    f->parent = engine_fixture_spawn(&f->engine, type, NULL, 0);
    assert_int_equal(engine_start(f->engine.engine), 0);
}

static void host_end(struct host_fixture *f)
{
    engine_stop(f->engine.engine);
    engine_fixture_close(&f->engine);
    f->host = host_free(f->host);
}

/* The result; the new actor's queue when there is one. */
static int spawn(struct host_fixture *f, struct odeon_spawn_options options,
                 struct engine_queue_view *ret_queue)
{
    uint32_t before = atomic_load(&answered);
    struct engine_actor_view actor;
    asked = options;
    assert_int_equal(engine_actor_send(f->engine.engine, f->parent, f->message, NULL, 0), 0);
    assert_true(engine_fixture_until(atomic_load(&answered) == before + 1));
    assert_true(engine_fixture_wait(&f->engine, TEST_DEADLINE_NS));
    *ret_queue = (struct engine_queue_view){ .kind = "none" };
    if (result == 0) {
        assert_int_equal(engine_actor_get(f->engine.engine, made, &actor), 0);
        assert_int_equal(engine_queue_get(f->engine.engine, actor.queue, ret_queue), 0);
        /* it is its turn's, and gone without that (actors.A1) */
        assert_true(f->engine.engine->segment.actors[actor_ref_slot(made)].spawn_count > 0);
    }
    return result;
}

#define OPTIONS(...)                                                                               \
    ((struct odeon_spawn_options){ .struct_size = sizeof(struct odeon_spawn_options), __VA_ARGS__ })

static void test_each_placement(void **state)
{
    struct host_fixture f;
    struct engine_queue_view queue;
    (void)state;
    host_begin(&f);
    /* no options at all */
    assert_int_equal(spawn(&f, (struct odeon_spawn_options){ .struct_size = 0 }, &queue), 0);
    assert_string_equal(queue.kind, "ordinary");
    assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_SPREAD), &queue), 0);
    assert_string_equal(queue.kind, "ordinary");
    assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_EACH), &queue), 0);
    assert_string_equal(queue.kind, "ordinary");
    assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_HERE), &queue), 0);
    struct engine_actor_view parent;
    assert_int_equal(engine_actor_get(f.engine.engine, f.parent, &parent), 0);
    assert_int_equal(queue.queue, parent.queue);
    for (uint32_t place = 0; place < WORKERS; place++) {
        assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_NODE, .place = place), &queue),
                         0);
        assert_string_equal(queue.kind, "ordinary");
        assert_int_equal(queue.place, place);
        assert_int_equal(
            spawn(&f, OPTIONS(.placement = ODEON_PLACE_PINNED_TO, .place = place), &queue), 0);
        assert_string_equal(queue.kind, "pinned");
        assert_int_equal(queue.place, place);
    }
    uint32_t seen = 0;
    for (uint32_t i = 0; i < WORKERS; i++) {
        assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_PINNED), &queue), 0);
        assert_string_equal(queue.kind, "pinned");
        seen |= 1u << queue.place;
    }
    assert_int_equal(seen, (1u << WORKERS) - 1);
    assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_FOLLOW), &queue), 0);
    assert_string_equal(queue.kind, "follow");
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_DETACHED), &queue), 0);
        assert_string_equal(queue.kind, "detached");
    }
    host_end(&f);
}

/* A plugin of minor 0 has no `place`: what lies behind its options is none of the host's
 * business. */
static void test_first_version(void **state)
{
    struct host_fixture f;
    struct engine_queue_view queue;
    (void)state;
    host_begin(&f);
    struct odeon_spawn_options old = { .struct_size = SIZE_FIRST, .place = 77, .reserved = 99 };
    assert_int_equal(spawn(&f, old, &queue), 0);
    assert_string_equal(queue.kind, "ordinary");
    old.placement = ODEON_PLACE_HERE;
    assert_int_equal(spawn(&f, old, &queue), 0);
    host_end(&f);
}

static void test_refusals(void **state)
{
    struct host_fixture f;
    struct engine_queue_view queue;
    (void)state;
    host_begin(&f);
    assert_int_equal(
        spawn(&f, (struct odeon_spawn_options){ .struct_size = SIZE_FIRST - 1 }, &queue), -EINVAL);
    assert_int_equal(spawn(&f, (struct odeon_spawn_options){ .struct_size = 2000 }, &queue),
                     -EINVAL);
    assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_EACH + 1), &queue), -EINVAL);
    assert_int_equal(spawn(&f, OPTIONS(.placement = UINT32_MAX), &queue), -EINVAL);
    assert_int_equal(spawn(&f, OPTIONS(.reserved = 1), &queue), -EINVAL);
    assert_int_equal(spawn(&f, OPTIONS(.link = 2), &queue), -EINVAL);
    assert_int_equal(spawn(&f, OPTIONS(.find = 2, .name = "who"), &queue), -EINVAL);
    assert_int_equal(spawn(&f, OPTIONS(.find = 1), &queue), -EINVAL);
    assert_int_equal(spawn(&f, OPTIONS(.args_size = 1), &queue), -EINVAL);
    assert_int_equal(spawn(&f, OPTIONS(.args = "", .args_size = ODEON_SPAWN_ARGS_MAX + 1), &queue),
                     -E2BIG);
    assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_NODE, .place = 2), &queue),
                     -ENODEV);
    assert_int_equal(
        spawn(&f, OPTIONS(.placement = ODEON_PLACE_PINNED_TO, .place = WORKERS), &queue), -ENODEV);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_DETACHED), &queue), 0);
    assert_int_equal(spawn(&f, OPTIONS(.placement = ODEON_PLACE_DETACHED), &queue), -ENOSPC);
    host_end(&f);
}

/* A flag that this host does not know is a promise that it cannot keep. */
static void test_timer_flags(void **state)
{
    struct odeon_timer_options options = { .struct_size = sizeof(options) };
    odeon_timer timer = 0;
    struct host *host;
    (void)state;
    assert_int_equal(host_new(WORKERS + 2, &host), 0);
    const struct odeon_host *table = host_get_table(host);
    for (uint32_t bit = 1; bit < 32; bit++) {
        options.flags = UINT32_C(1) << bit;
        assert_int_equal(table->send_after(NULL, 1, 1, 1, NULL, 0, &options, &timer), -EINVAL);
    }
    host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timer_flags),
        cmocka_unit_test(test_each_placement),
        cmocka_unit_test(test_first_version),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
