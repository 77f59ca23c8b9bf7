/* SPDX-License-Identifier: Apache-2.0 */
/* The request to load a plugin, while memory runs short anywhere on its way: it is refused, and
 * nothing is loaded, or it is answered with the plugin's name, under which odeond keeps it. */
#include <fcntl.h>
#include <unistd.h>

#include "daemon/common/memfd.h"
#include "daemon/executor/command.h"
#include "failing_calloc.h"
#include "timer_fixture.h"

static struct engine_fixture f;
static struct executor executor;

static int setup(void **state)
{
    struct engine_config config = timer_fixture_config();

    (void)state;
    assert_int_equal(host_new(1, &executor.host), 0);
    config.host = host_get_table(executor.host);
    engine_fixture_open(&f, config);
    executor.engine = f.engine;
    executor.state = EXECUTOR_RUNNING;
    return plugin_registry_new(f.engine, executor.host, false, &executor.plugins);
}

static int teardown(void **state)
{
    (void)state;
    executor.plugins = plugin_registry_free(executor.plugins);
    engine_fixture_close(&f);
    executor.host = host_free(executor.host);
    return 0;
}

/* Without the call of that number; the name that is answered goes to `ret_name`. */
static int load_without(unsigned call, char *ret_name, size_t size)
{
    static struct frame frame;
    Odeon__Request request = ODEON__REQUEST__INIT;
    Odeon__PluginLoad load = ODEON__PLUGIN_LOAD__INIT;
    struct reply reply;
    int r, file = open(TEST_GOOD, O_RDONLY | O_CLOEXEC);

    assert_true(file >= 0);
    frame = (struct frame){ .n_fds = 1, .fds[0] = memfd_copy_file(file, 64 << 20) };
    close(file);
    assert_true(frame.fds[0] >= 0);
    load.path = (char *)(uintptr_t)TEST_GOOD;
    request.plugin_load = &load;
    request.body_case = ODEON__REQUEST__BODY_PLUGIN_LOAD;
    reply_init(&reply, 1);
    calloc_calls = 0;
    calloc_failing = call;
    r = command_plugin_load(&executor, &request, &frame, &reply);
    calloc_failing = 0;
    snprintf(ret_name, size, "%s",
             r == 0 && reply.message.body_case == ODEON__REPLY__BODY_PLUGIN
                 ? reply.message.plugin->name
                 : "");
    reply_fini(&reply);
    frame_fini(&frame);
    return r;
}

static void test_refused_or_named(void **state)
{
    unsigned refused = 0;
    char name[64];

    (void)state;
    while (load_without(refused + 1, name, sizeof(name)) == -ENOMEM) {
        assert_int_equal(plugin_registry_count(executor.plugins), 0);
        refused++;
    }
    assert_true(refused > 2);
    assert_int_equal(plugin_registry_count(executor.plugins), 1);
    assert_string_equal(name, "good");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_refused_or_named,
                                                                        setup, teardown) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
