/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that comes back while kept actors of it are in a phase: what it must have, and what is
 * said of one that has it not. */
#include "daemon/engine/actors/phases.h"
#include "daemon/executor/host.h"
#include "daemon/executor/plugin.h"
#include "timer_fixture.h"

static struct engine_fixture f;
static struct host *host;
static struct plugin_registry *registry;
static actor_ref who;

static struct odeon_message_type go = {
    .struct_size = sizeof(go), .version = 1, .name = "go", .fields = ""
};

static int in_closed(void *self, const void *message, struct odeon_context *ctx)
{
    (void)self, (void)message;
    assert_int_equal((ctx->host->become)(ctx, NULL), -EINVAL);
    assert_int_equal((ctx->host->become)(ctx, "ajar"), -ENOENT);
    assert_int_equal((ctx->host->become)(ctx, "open"), 0);
    return ODEON_NODELETE;
}

static int in_open(void *self, const void *message, struct odeon_context *ctx)
{
    (void)self, (void)message;
    assert_int_equal((ctx->host->become)(ctx, "closed"), 0);
    return ODEON_NODELETE;
}

static const struct odeon_behaviour closed[] = { { .message = &go, .run = in_closed } },
                                    open[] = { { .message = &go, .run = in_open } };
static const struct odeon_behaviour_set set = {
    .struct_size = sizeof(set), .n_behaviours = 1, .name = "open", .behaviours = open
};
static const struct odeon_behaviour_set *const sets[] = { &set };
static struct odeon_actor_type door;
static struct odeon_actor_type *const types[] = { &door };
static struct odeon_message_type *const messages[] = { &go };
static const struct odeon_plugin plugin = { .struct_size = sizeof(plugin),
                                            .abi_major = ODEON_PLUGIN_ABI_MAJOR,
                                            .abi_minor = ODEON_PLUGIN_ABI_MINOR,
                                            .context_size = sizeof(struct odeon_context),
                                            .message_type_size = sizeof(go),
                                            .name = "door",
                                            .version = "1",
                                            .n_types = 1,
                                            .n_messages = 1,
                                            .types = types,
                                            .messages = messages };

static int load(uint32_t n_phases, struct explain *explain)
{
    door = (struct odeon_actor_type){ .struct_size = sizeof(door),
                                      .version = 1,
                                      .name = "door",
                                      .state_size = 8,
                                      .restart = ODEON_RESTART_KEEP,
                                      .n_behaviours = 1,
                                      .behaviour_size = sizeof(closed[0]),
                                      .behaviours = closed,
                                      .behaviours_name = "closed",
                                      .phases = sets,
                                      .n_phases = n_phases };
    assert_int_equal(plugin_registry_new(f.engine, host, false, &registry), 0);
    explain_init(explain);
    return plugin_load_linked(registry, &plugin, explain, NULL);
}

static void stop(void)
{
    registry = plugin_registry_free(registry);
    f.engine = engine_close(f.engine);
}

static void restart(void)
{
    struct engine_recovery report;

    stop();
    engine_fixture_reopen(&f, &report);
}

static void knock(void)
{
    assert_int_equal(engine_actor_send(f.engine, who, (uint16_t)go.id, NULL, 0), 0);
    timer_fixture_run(&f);
}

static const char *phase(void)
{
    struct engine_actor_view view;

    assert_int_equal(engine_actor_get(f.engine, who, &view), 0);
    return view.phase;
}

static void test_comes_back_without(void **state)
{
    struct engine_config config = timer_fixture_config();
    struct explain explain;

    (void)state;
    assert_int_equal(host_new(1, &host), 0);
    config.host = host_get_table(host);
    engine_fixture_open(&f, config);
    assert_int_equal(load(1, &explain), 0);
    who = engine_fixture_spawn(&f, door.id, NULL, 0);
    knock();
    assert_string_equal(phase(), "open");
    restart();
    assert_int_equal(load(0, &explain), -ENOENT);
    if (!strstr(explain.text, "plugin door: the actor type door cannot be registered: actors of it "
                              "live in a phase that it does not have"))
        fail_msg("%s", explain.text);
    restart();
    assert_int_equal(load(1, &explain), 0);
    assert_string_equal(phase(), "open");
    knock();
    assert_string_equal(phase(), "closed");
    restart();
    assert_int_equal(load(0, &explain), 0); /* nobody is in it any more */
    stop();
    close(f.segment_fd);
    close(f.stats_fd);
    host = host_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_comes_back_without) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
