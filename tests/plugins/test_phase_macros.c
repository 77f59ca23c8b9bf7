/* SPDX-License-Identifier: Apache-2.0 */
/* The macros of phases and stashes, as the plugin `several` uses them, over a host that notes what
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
static struct {
    const char *name;
    const void *stashed;
    uint32_t most[2], n;
} called;

static int host_become(struct odeon_context *ctx, const char *name)
{
    assert_int_equal(ctx->self, 42);
    called.name = name;
    return 0;
}

static int host_stash(struct odeon_context *ctx, const void *message)
{
    assert_int_equal(ctx->self, 42);
    called.stashed = message;
    return 0;
}

static int host_unstash(struct odeon_context *ctx, uint32_t most)
{
    assert_int_equal(ctx->self, 42);
    called.most[called.n++ % 2] = most;
    return 3;
}

static const struct odeon_host host = { .struct_size = sizeof(host),
                                        .minor = ODEON_PLUGIN_ABI_MINOR,
                                        .become = host_become,
                                        .stash = host_stash,
                                        .unstash = host_unstash };

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
    assert_string_equal(called.name, "open");
    assert_int_equal(door->phases[0]->behaviours[0].run(&self, &point, &ctx), ODEON_FINISHED);
    assert_int_equal(self.knocked, 11);
    door->behaviours[1].run(&self, &point, &ctx);
    assert_ptr_equal(called.stashed, &point);
    assert_int_equal(self.ticked, 33);
    assert_int_equal(called.n, 2);
    assert_true((called.most[0] == 2 && called.most[1] == 0) ||
                (called.most[0] == 0 && called.most[1] == 2));
}

/* A service of before phases; and one that had them alone, if there were one. */
static void test_older_services(void **state)
{
    const size_t sizes[] = { offsetof(struct odeon_host, become),
                             offsetof(struct odeon_host, unstash) };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct odeon_host older = host;
        struct odeon_context ctx = { .host = &older, .self = 42 };
        struct door_view self = { 0 };

        older.struct_size = (uint32_t)sizes[i];
        older.unstash = NULL;
        if (i == 0)
            older.become = NULL;
        door->behaviours[0].run(&self, &point, &ctx);
        assert_int_equal(self.result, i == 0 ? -ENOSYS : 0);
        door->behaviours[1].run(&self, &point, &ctx);
        assert_int_equal(self.result, -ENOSYS);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_older_services),
    };
    void *handle = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct odeon_plugin *plugin = handle ? dlsym(handle, ODEON_PLUGIN_SYMBOL) : NULL;

    for (uint32_t i = 0; plugin && i < plugin->n_types; i++)
        if (strcmp(plugin->types[i]->name, "door") == 0)
            door = plugin->types[i];
    return door ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
