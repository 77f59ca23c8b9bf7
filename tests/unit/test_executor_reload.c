/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins whose types, and actors of them, there were before: a load that is refused does not begin
 * to run them; one that is not ends their quarantine before anything of them is run. */
#include "daemon/executor/host.h"
#include "daemon/executor/plugin.h"
#include "failing_calloc.h"
#include "timer_fixture.h"

static struct engine_fixture f;
static struct host *host;
static struct plugin_registry *registry;
static unsigned n_ran, n_inits;
static uint32_t first_id; /* of "first", from its first load on */
static bool start_found_quarantine;

static struct odeon_message_type go = {
    .struct_size = sizeof(go), .version = 1, .name = "go", .fields = ""
};

static int on_go(void *self, const void *message, struct odeon_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    n_ran++;
    return ODEON_NODELETE;
}

static int on_load(const struct odeon_host *table)
{
    (void)table;
    n_inits++;
    return 0;
}

static int on_start(struct odeon_context *ctx);

static const struct odeon_behaviour behaviours[] = { { .message = &go, .run = on_go } };
static struct odeon_actor_type first, second;
static struct odeon_actor_type *const types[] = { &first, &second };
static struct odeon_message_type *const messages[] = { &go };
static const struct odeon_plugin plugin = { .struct_size = sizeof(plugin),
                                            .abi_major = ODEON_PLUGIN_ABI_MAJOR,
                                            .abi_minor = ODEON_PLUGIN_ABI_MINOR,
                                            .context_size = sizeof(struct odeon_context),
                                            .message_type_size = sizeof(go),
                                            .name = "two",
                                            .version = "1",
                                            .n_types = 2,
                                            .n_messages = 1,
                                            .types = types,
                                            .messages = messages,
                                            .init = on_load,
                                            .start = on_start };

static bool is_quarantined(void)
{
    struct engine_actor_type_view view;

    assert_int_equal(engine_actor_type_get(f.engine, first_id, &view), 0);
    return view.quarantined;
}

static int on_start(struct odeon_context *ctx)
{
    (void)ctx;
    first_id = first.id;
    start_found_quarantine = is_quarantined();
    return 0;
}

static struct odeon_actor_type type_make(const char *name, uint32_t state_size, uint32_t restart)
{
    return (struct odeon_actor_type){ .struct_size = sizeof(struct odeon_actor_type),
                                      .version = 1,
                                      .name = name,
                                      .state_size = state_size,
                                      .restart = restart,
                                      .n_behaviours = 1,
                                      .behaviour_size = sizeof(behaviours[0]),
                                      .behaviours = behaviours };
}

/* `kept`: bytes of the second type's state. */
static int load(uint32_t kept, struct explain *explain)
{
    first = type_make("first", 8, ODEON_RESTART_INIT);
    second = type_make("second", kept, ODEON_RESTART_KEEP);
    explain_init(explain);
    return plugin_load_linked(registry, &plugin, explain, NULL);
}

static void open_registry(void)
{
    assert_int_equal(plugin_registry_new(f.engine, host, false, &registry), 0);
}

static void restart(void)
{
    struct engine_recovery report;

    registry = plugin_registry_free(registry);
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    open_registry();
}

static int setup(void **state)
{
    struct engine_config config = timer_fixture_config();

    (void)state;
    assert_int_equal(host_new(1, &host), 0);
    config.host = host_get_table(host);
    engine_fixture_open(&f, config);
    open_registry();
    n_ran = n_inits = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    registry = plugin_registry_free(registry);
    engine_fixture_close(&f);
    host = host_free(host);
    return 0;
}

static void send_go(actor_ref to)
{
    assert_int_equal(engine_actor_send(f.engine, to, (uint16_t)go.id, NULL, 0), 0);
    timer_fixture_run(&f);
}

/* Its first type could be had, and there are actors of it; its second could not. */
static void test_all_types_or_none(void **state)
{
    const uint32_t most = f.engine->segment.header->durable_bytes;
    struct engine_actor_type_view view;
    struct explain explain;

    (void)state;
    assert_int_equal(load(most, &explain), 0);
    actor_ref who = engine_fixture_spawn(&f, first.id, NULL, 0);
    send_go(who);
    assert_int_equal(n_ran, 1);
    restart();
    n_inits = 0;
    assert_int_equal(load(most + 1, &explain), -E2BIG);
    if (!strstr(explain.text, "plugin two: the actor type second cannot be registered") ||
        strstr(explain.text, "stays mapped"))
        fail_msg("%s", explain.text);
    assert_int_equal(n_inits, 0);
    assert_int_equal(engine_actor_type_get(f.engine, first_id, &view), 0);
    assert_false(view.loaded);
    send_go(who);
    assert_int_equal(n_ran, 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 1);
    /* the one that is repaired finds its place free */
    assert_int_equal(load(most, &explain), 0);
    send_go(who);
    assert_int_equal(n_ran, 2);
}

static int load_without(unsigned call, struct explain *explain)
{
    int r;

    calloc_calls = 0;
    calloc_failing = call;
    r = load(8, explain);
    calloc_failing = 0;
    return r;
}

/* plugin.L3, wherever memory runs short: actors of its first type would keep what is refused. */
static void test_memory_for_all_types_or_none(void **state)
{
    struct engine_actor_type_view view;
    struct explain explain;

    (void)state;
    assert_int_equal(load(8, &explain), 0);
    actor_ref who = engine_fixture_spawn(&f, first.id, NULL, 0);
    send_go(who);
    restart();
    unsigned refused = 0;
    while (load_without(refused + 1, &explain) == -ENOMEM) {
        refused++;
        if (strstr(explain.text, "stays mapped"))
            fail_msg("without call %u: %s", refused, explain.text);
        for (uint32_t id = 1; engine_actor_type_get(f.engine, id, &view) == 0; id++)
            assert_false(view.loaded);
        assert_int_equal(plugin_registry_count(registry), 0);
    }
    assert_true(refused > 2);
    assert_int_equal(plugin_registry_count(registry), 1);
    send_go(who);
    assert_int_equal(n_ran, 2);
}

/* What its start sends to its actors is run. */
static void test_start_behind_a_quarantine(void **state)
{
    struct explain explain;

    (void)state;
    assert_int_equal(load(8, &explain), 0);
    assert_false(start_found_quarantine);
    store_relaxed(&f.engine->segment.actor_types[first_id].quarantined, 1);
    /* it outlives the executor, which loads what the one before had */
    restart();
    assert_int_equal(load(8, &explain), 0);
    assert_true(start_found_quarantine);
    /* a load that is refused leaves it */
    restart();
    plugin_registry_set_runs(registry);
    assert_int_equal(load(f.engine->segment.header->durable_bytes + 1, &explain), -E2BIG);
    assert_true(is_quarantined());
    assert_int_equal(load(8, &explain), 0);
    assert_false(start_found_quarantine);
    assert_false(is_quarantined());
}

#define RELOAD_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = { RELOAD_TEST(test_all_types_or_none),
                                        RELOAD_TEST(test_memory_for_all_types_or_none),
                                        RELOAD_TEST(test_start_behind_a_quarantine) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
