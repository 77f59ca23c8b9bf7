/* SPDX-License-Identifier: Apache-2.0 */
/* Names of ports: whom they are given to, that they go with the port and with nothing else, and
 * what a kill leaves within the giving. */
#include "port_fixture.h"

static struct engine_fixture f;
static struct client first, second;

static int name_port(const struct client *c, const char *name)
{
    return engine_port_register(f.engine, c->ref, name, 7);
}

static actor_ref who_is(const char *name)
{
    actor_ref ref = 0;
    int r = engine_actor_lookup(f.engine, name, &ref);
    assert_true(r == 0 || r == -ENOENT);
    return r == 0 ? ref : 0;
}

static const char *name_of(const struct client *c)
{
    static struct engine_actor_view view;
    assert_int_equal(engine_actor_get(f.engine, c->ref, &view), 0);
    return view.name;
}

/* Another executor, which the same ports are added to. */
static void restart(void)
{
    struct engine_recovery report;
    const char *text;
    actor_ref ref;
    if (f.engine->started)
        engine_stop(f.engine);
    f.engine = engine_close(f.engine);
    assert_int_equal(engine_open(&f.config, f.segment_fd, f.stats_fd, &f.engine, &text), 0);
    assert_int_equal(engine_port_add(f.engine, &first.info, &ref), 0);
    assert_int_equal(ref, first.ref);
    assert_int_equal(engine_port_add(f.engine, &second.info, &ref), 0);
    assert_int_equal(engine_recover(f.engine, &report), 0);
    types_register(&f);
    assert_int_equal(engine_start(f.engine), 0);
}

static void close_port(struct client *c)
{
    uint32_t why;
    assert_int_equal(engine_port_remove(f.engine, c->info.id, c->info.generation), 0);
    expect_removed(&f, c->info.id, c->info.generation, &why);
}

static void test_given_once(void **state)
{
    actor_ref other;
    (void)state;
    assert_string_equal(name_of(&first), "");
    assert_int_equal(name_port(&first, "screen"), 0);
    assert_int_equal(name_port(&first, "screen"), 1);
    assert_int_equal(name_port(&first, "wall"), -EALREADY);
    assert_int_equal(name_port(&second, "screen"), -EEXIST);
    assert_int_equal(engine_actor_spawn(f.engine, echo_type, "screen", NULL, 0, &other), -EEXIST);
    assert_int_equal(engine_actor_spawn(f.engine, echo_type, "wall", NULL, 0, &other), 0);
    assert_int_equal(name_port(&second, "wall"), -EEXIST);
    assert_int_equal(name_port(&second, "other"), 0);
    assert_int_equal(who_is("screen"), first.ref);
    assert_int_equal(who_is("other"), second.ref);
    assert_int_equal(who_is("wall"), other);
    assert_string_equal(name_of(&first), "screen");
}

static void test_refused(void **state)
{
    static const char *const bad[] = { "", " ", "a b", "\n", "1.2", "1.2.3" };
    char name[ODEON_NAME_MAX + 2];
    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(name_port(&first, bad[i]), -EINVAL);
    memset(name, 'x', sizeof(name));
    name[ODEON_NAME_MAX + 1] = '\0';
    assert_int_equal(name_port(&first, name), -EINVAL);
    assert_int_equal(engine_port_register(f.engine, echo, "a", 7), -ESRCH);
    assert_int_equal(engine_port_register(f.engine, 0, "a", 7), -ESRCH);
    assert_int_equal(engine_port_register(f.engine,
                                          actor_ref_make(PORT, actor_ref_generation(first.ref) + 1),
                                          "a", 7),
                     -ESRCH);
    assert_int_equal(engine_port_register(f.engine, actor_ref_make(PORT + 5, 1), "a", 7), -ESRCH);
    assert_int_equal(who_is("a"), 0);
    assert_string_equal(name_of(&first), "");
}

/* It goes with the port, and whoever has the number next has no name. */
static void test_ends_with_the_port(void **state)
{
    (void)state;
    assert_int_equal(name_port(&first, "screen"), 0);
    close_port(&first);
    assert_int_equal(who_is("screen"), 0);
    assert_int_equal(name_port(&second, "screen"), 0);
    client_free(&first);
    client_open(&f, &first, PORT, 2);
    assert_string_equal(name_of(&first), "");
    assert_int_equal(name_port(&first, "screen"), -EEXIST);
    assert_int_equal(who_is("screen"), second.ref);
}

static void test_over_restarts(void **state)
{
    struct engine_actor_view view;
    (void)state;
    assert_int_equal(name_port(&first, "screen"), 0);
    restart();
    assert_int_equal(who_is("screen"), first.ref);
    assert_string_equal(name_of(&first), "screen");
    assert_int_equal(engine_actor_get(f.engine, first.ref, &view), 0);
    assert_int_equal(view.account, 7);
    assert_int_equal(name_port(&first, "screen"), 1);
    assert_int_equal(name_port(&second, "screen"), -EEXIST);
}

/* Killed when the slot had been told of the entry, and the entry not of the port. */
static void test_killed_within(void **state)
{
    uint32_t entry;
    (void)state;
    assert_int_equal(name_port(&first, "screen"), 0);
    entry = f.engine->segment.actors[PORT].name - 1;
    store_relaxed(&f.engine->segment.names[entry].ref, actor_ref_make(PORT, 0));
    restart();
    assert_int_equal(who_is("screen"), 0);
    assert_string_equal(name_of(&first), "");
    assert_int_equal(name_port(&second, "screen"), 0); /* in that very entry */
    assert_string_equal(name_of(&first), "");
    assert_int_equal(name_port(&first, "screen"), -EEXIST);
    assert_int_equal(name_port(&first, "wall"), 0);
    assert_int_equal(who_is("wall"), first.ref);
    assert_int_equal(who_is("screen"), second.ref);
}

/* What the slot says of its name is looked at before anything is believed. */
static void test_damaged(void **state)
{
    struct engine_recovery report;
    const char *text;
    (void)state;
    engine_stop(f.engine);
    f.engine->segment.actors[PORT].name = ODEON_NAMES_MAX + 1;
    f.engine = engine_close(f.engine);
    assert_int_equal(engine_open(&f.config, f.segment_fd, f.stats_fd, &f.engine, &text), 0);
    assert_int_equal(engine_recover(f.engine, &report), -EPROTO);
    assert_non_null(strstr(report.damage, "slot 3 holds no actor that can be"));
}

static int setup(void **state)
{
    under_defaults(state);
    fixture_begin(&f, 1, 1 << 20);
    client_open(&f, &first, PORT, 1);
    client_open(&f, &second, PORT + 1, 1);
    return engine_start(f.engine);
}

static int teardown(void **state)
{
    (void)state;
    fixture_end(&f);
    client_free(&first);
    client_free(&second);
    return 0;
}

#define NAME_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NAME_TEST(test_given_once),         NAME_TEST(test_refused),
        NAME_TEST(test_ends_with_the_port), NAME_TEST(test_over_restarts),
        NAME_TEST(test_killed_within),      NAME_TEST(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
