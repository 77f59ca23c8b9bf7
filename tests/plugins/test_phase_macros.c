/* SPDX-License-Identifier: Apache-2.0 */
/* The macros of phases, as the plugin `several` uses them, over a host that notes what
 * is called. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <odeon/plugin.h>

#include "several.h"

/* as in several_right.c */
struct door_view {
    int knocked, ticked, result;
};

static const struct odeon_actor_type *door;
static const struct several_point point = { .x = 5 };
static const char *became;

static int host_become(struct odeon_context *ctx, const char *name)
{
    assert_int_equal(ctx->self, 42);
    became = name;
    return 0;
}

static const struct odeon_host host = { .struct_size = sizeof(host),
                                        .minor = ODEON_PLUGIN_ABI_MINOR,
                                        .become = host_become };

static void test_descriptor(void **state)
{
    (void)state;
    assert_string_equal(door->behaviours_name, "closed");
    assert_int_equal(door->n_phases, 2);
    assert_string_equal(door->phases[0]->name, "open");
    assert_string_equal(door->phases[1]->name, "broken");
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t j = 0; j < 2; j++) {
            assert_int_equal(door->phases[i]->n_behaviours, 2);
            assert_ptr_equal(door->phases[i]->behaviours[j].message, door->behaviours[j].message);
        }
    assert_ptr_equal(door->phases[0]->behaviours[1].run, door->behaviours[1].run);
    assert_ptr_equal(door->phases[1]->behaviours[0].run, door->behaviours[0].run);
}

static void test_calls(void **state)
{
    struct odeon_context ctx = { .host = &host, .self = 42, .message_size = sizeof(point) };
    struct door_view self = { 0 };

    (void)state;
    assert_int_equal(door->behaviours[0].run(&self, &point, &ctx), ODEON_NODELETE);
    assert_int_equal(self.result, 0);
    assert_string_equal(became, "open");
    assert_int_equal(door->phases[0]->behaviours[0].run(&self, &point, &ctx), ODEON_FINISHED);
    assert_int_equal(self.knocked, 11);
}

/* A service of before phases. */
static void test_an_older_service(void **state)
{
    struct odeon_host older = host;
    struct odeon_context ctx = { .host = &older, .self = 42 };
    struct door_view self = { 0 };

    (void)state;
    older.struct_size = offsetof(struct odeon_host, become);
    older.become = NULL;
    door->behaviours[0].run(&self, &point, &ctx);
    assert_int_equal(self.result, -ENOSYS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_an_older_service),
    };
    void *handle = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct odeon_plugin *plugin = handle ? dlsym(handle, ODEON_PLUGIN_SYMBOL) : NULL;

    for (uint32_t i = 0; plugin && i < plugin->n_types; i++)
        if (strcmp(plugin->types[i]->name, "door") == 0)
            door = plugin->types[i];
    return door ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
