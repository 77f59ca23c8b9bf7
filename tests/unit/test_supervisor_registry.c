/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: what one odeond writes the next one reads, at whatever moment the first has
 * ended. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/plugin_store.h"
#include "daemon/supervisor/registry.h"

static const struct setting_list none_own;

static void make(struct registry_file *file)
{
    assert_int_equal(registry_make(file, 0), 0);
    assert_non_null(file->map);
}

/* As the next odeond sees it.  The other one is as if dead: it writes no more. */
static void reopen(const struct registry_file *file, struct registry_file *again)
{
    char text[REGISTRY_TEXT_MAX];

    assert_int_equal(registry_open(again, dup(file->fd), text), 0);
}

static void test_instance_and_epoch(void **state)
{
    struct registry_file first, second, other;

    (void)state;
    make(&first);
    reopen(&first, &second);
    assert_int_equal(second.map->header.instance, first.map->header.instance);
    assert_int_equal(second.map->header.epoch, 2);
    make(&other);
    assert_int_not_equal(other.map->header.instance, first.map->header.instance);
    registry_close(&other);
    assert_int_equal(registry_make(&other, first.map->header.instance), 0); /* registry_layout.G7 */
    assert_int_equal(other.map->header.instance, first.map->header.instance);
    registry_close(&other);
    registry_close(&second);
    registry_close(&first);
}

static void expect_refused(int fd, const char *why)
{
    char text[REGISTRY_TEXT_MAX] = "";
    struct registry_file file;

    assert_int_equal(registry_open(&file, dup(fd), text), -EPROTO);
    if (!strstr(text, why))
        fail_msg("refused with: %s", text);
    assert_null(file.map);
    assert_int_equal(file.fd, -1);
}

static void test_other_layouts_are_refused_by_name(void **state)
{
    struct registry_file file;
    char path[] = "/tmp/odeon-registry-XXXXXX";
    int fd;

    (void)state;
    make(&file);
    file.map->header.layout_hash ^= 1;
    expect_refused(file.fd, "the kept registry is of layout 2");
    file.map->header.layout_hash ^= 1;
    file.map->header.version++;
    expect_refused(file.fd, "the kept registry is of layout 3");
    file.map->header.version--;
    atomic_store(&file.map->header.magic, 0); /* registry_layout.G1: being made */
    expect_refused(file.fd, "is none");
    atomic_store(&file.map->header.magic, REGISTRY_MAGIC);
    /* the right words, and nothing behind them */
    fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(write(fd, file.map, 4096), 4096);
    expect_refused(fd, "is shorter");
    assert_int_equal(ftruncate(fd, 8), 0);
    expect_refused(fd, "is none");
    close(fd);
    registry_close(&file);
}

static void test_clients(void **state)
{
    struct registry_file file;

    (void)state;
    make(&file);
    for (uint32_t id = 1; id <= ODEON_CLIENTS_MAX; id++)
        assert_int_equal(
            registry_put_client(&file, &(struct registry_client){ .id = id, .pid = id }), 0);
    assert_int_equal(registry_put_client(&file, &(struct registry_client){ .id = 5000 }), -ENOSPC);
    assert_true(registry_has_client(&file, 7));
    registry_free_client(&file, 7);
    assert_false(registry_has_client(&file, 7));
    registry_free_client(&file, 7); /* nothing happens */
    assert_int_equal(
        registry_put_client(&file, &(struct registry_client){ .id = 5000, .name = "late" }), 0);
    assert_int_equal(
        registry_put_client(&file, &(struct registry_client){ .id = 5000, .name = "again" }), 0);
    assert_true(registry_has_client(&file, 5000));
    registry_free_client(&file, 5000);
    assert_false(registry_has_client(&file, 5000)); /* it was one entry */
    registry_close(&file);
}

/* registry_layout.G4: the generation stays when the port has gone. */
static void test_ports(void **state)
{
    struct registry_port port = {
        .generation = 9, .client = 3, .submission_bytes = 65536, .delivery_bytes = 131072
    };
    struct registry_file file, again;

    (void)state;
    make(&file);
    atomic_store(&file.map->header.settled, 1); /* registry_layout.G7 */
    registry_put_port(&file, 4, &port);
    registry_set_port_ref(&file, 4, 77, 1024);
    reopen(&file, &again);
    assert_int_equal(again.map->ports[4].state, REGISTRY_OPENING);
    assert_int_equal(again.map->ports[4].ref, 77);
    assert_int_equal(again.map->ports[4].delivery_bytes, 131072);
    registry_set_port(&again, 4, REGISTRY_OPEN);
    registry_set_port(&again, 4, REGISTRY_FREE);
    assert_int_equal(file.map->ports[4].state, REGISTRY_FREE);
    assert_int_equal(file.map->ports[4].generation, 9);
    registry_put_port(&again, 4, &(struct registry_port){ .generation = 10 });
    assert_int_equal(file.map->ports[4].ref, 0); /* not the former one's */
    registry_close(&again);
    registry_close(&file);
}

static void test_plugins(void **state)
{
    char path[REGISTRY_PATH_BYTES + 1];
    struct registry_file file;

    (void)state;
    make(&file);
    assert_int_equal(registry_next_plugin(&file), 1);
    assert_int_equal(registry_next_plugin(&file), 2);
    assert_int_equal(registry_put_plugin(&file, 1, NULL, "/a.so", true, 7), 0);
    registry_set_plugin_name(&file, 1, "a");
    assert_string_equal(file.map->plugins[0].name, "a");
    assert_string_equal(file.map->plugins[0].path, "/a.so");
    assert_int_equal(file.map->plugins[0].configured, 1);
    assert_int_equal(file.map->plugins[0].replaces, 7);
    registry_set_plugin_configured(&file, 1, 5);
    registry_set_plugin_configured(&file, 2, 3); /* there is none */
    assert_int_equal(file.map->plugins[0].configured, 5);
    memset(path, 'x', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(registry_put_plugin(&file, 2, NULL, path, false, 0), -ENAMETOOLONG);
    for (uint32_t i = 1; i < ODEON_PLUGINS_MAX; i++)
        assert_int_equal(registry_put_plugin(&file, 100 + i, "b", "/b.so", false, 0), 0);
    assert_int_equal(registry_put_plugin(&file, 2, NULL, "/c.so", false, 0), -ENOSPC);
    registry_free_plugin(&file, 1);
    assert_int_equal(registry_put_plugin(&file, 2, NULL, "/c.so", false, 0), 0);
    assert_int_equal(file.map->plugins[0].replaces, 0);
    registry_close(&file);
}

static void expect_settings(const struct registry_file *file, const char *key, const char *value,
                            size_t n)
{
    struct setting_list settings = { 0 }, configured = { 0 };

    assert_int_equal(registry_get_settings(file, &settings, &configured), 0);
    assert_int_equal(settings.n, n);
    if (n > 0)
        assert_string_equal(setting_list_get(&settings, key), value);
    setting_list_fini(&settings);
    setting_list_fini(&configured);
}

static void expect_configured(const struct registry_file *file, const char *key, const char *value,
                              size_t n)
{
    struct setting_list settings = { 0 }, configured = { 0 };

    assert_int_equal(registry_get_settings(file, &settings, &configured), 0);
    assert_int_equal(configured.n, n);
    if (n > 0)
        assert_string_equal(setting_list_get(&configured, key), value);
    setting_list_fini(&settings);
    setting_list_fini(&configured);
}

/* registry_layout.G5: what does not fit, or is half written, leaves the former ones in force. */
static void test_settings(void **state)
{
    struct setting_list settings = { 0 }, configured = { 0 };
    struct registry_file file;
    char *large = calloc(1, REGISTRY_SETTINGS_BYTES + 1);

    (void)state;
    assert_non_null(large);
    make(&file);
    expect_settings(&file, NULL, NULL, 0);
    setting_list_set(&settings, "workers", "2");
    setting_list_set(&settings, "affinity", "");
    assert_int_equal(registry_put_settings(&file, &settings, &configured, &none_own), 0);
    expect_settings(&file, "affinity", "", 2);
    memset(large, 'v', REGISTRY_SETTINGS_BYTES);
    setting_list_set(&settings, "workers", "3");
    setting_list_set(&settings, "large", large);
    assert_int_equal(registry_put_settings(&file, &settings, &configured, &none_own), -ENOSPC);
    expect_settings(&file, "workers", "2", 2);
    setting_list_set(&settings, "large", "fits");
    assert_int_equal(registry_put_settings(&file, &settings, &configured, &none_own), 0);
    expect_settings(&file, "workers", "3", 3);
    /* a count that the text does not bear out */
    file.map->settings[atomic_load(&file.map->header.settings_copy)].n = 9;
    struct setting_list broken = { 0 };
    assert_int_equal(registry_get_settings(&file, &broken, &configured), -EPROTO);
    setting_list_fini(&configured);
    setting_list_fini(&broken);
    setting_list_fini(&settings);
    registry_close(&file);
    free(large);
}

/* What is in force and what the configuration said are each whole, whatever the other one is; one
 * that has no room leaves both as they were. */
static void test_settings_that_were_configured(void **state)
{
    struct setting_list settings = { 0 }, configured = { 0 };
    struct registry_file file, again;
    char *large = calloc(1, REGISTRY_SETTINGS_BYTES + 1);

    (void)state;
    assert_non_null(large);
    make(&file);
    setting_list_set(&configured, "spin-us", "10");
    assert_int_equal(registry_put_settings(&file, &settings, &configured, &none_own), 0);
    expect_settings(&file, NULL, NULL, 0);
    expect_configured(&file, "spin-us", "10", 1);
    setting_list_set(&settings, "spin-us", "77");
    setting_list_set(&settings, "workers", "2");
    assert_int_equal(registry_put_settings(&file, &settings, &configured, &none_own), 0);
    memset(large, 'v', REGISTRY_SETTINGS_BYTES);
    setting_list_set(&settings, "spin-us", "78");
    setting_list_set(&configured, "large", large);
    assert_int_equal(registry_put_settings(&file, &settings, &configured, &none_own), -ENOSPC);
    reopen(&file, &again);
    expect_settings(&again, "spin-us", "77", 2);
    expect_configured(&again, "spin-us", "10", 1);
    registry_close(&again);
    setting_list_fini(&configured);
    setting_list_fini(&settings);
    registry_close(&file);
    free(large);
}

/* What a build has left that recorded what was in force alone; a value without an end is none. */
static void test_settings_without_the_configured_ones(void **state)
{
    struct setting_list settings = { 0 }, configured = { 0 }, broken = { 0 };
    struct registry_settings *copy;
    struct registry_file file;

    (void)state;
    make(&file);
    setting_list_set(&settings, "workers", "2");
    setting_list_set(&configured, "spin-us", "10");
    assert_int_equal(registry_put_settings(&file, &settings, &configured, &none_own), 0);
    copy = &file.map->settings[atomic_load(&file.map->header.settings_copy)];
    copy->bytes -= 1; /* of "10" */
    assert_int_equal(registry_get_settings(&file, &broken, &broken), -EPROTO);
    copy->bytes = sizeof("workers") + sizeof("2");
    expect_settings(&file, "workers", "2", 1);
    expect_configured(&file, NULL, NULL, 0);
    setting_list_fini(&broken);
    setting_list_fini(&configured);
    setting_list_fini(&settings);
    registry_close(&file);
}

static void expect_own(const struct registry_file *file, const char *key, const char *value)
{
    struct setting_list own = { 0 };

    assert_int_equal(registry_get_own(file, &own), 0);
    if (!value)
        assert_int_equal(own.n, 0);
    else
        assert_string_equal(setting_list_get(&own, key), value);
    setting_list_fini(&own);
}

/* odeond's own have their place, whatever the others are: those that have no room leave the former
 * others alone. */
static void test_own_settings(void **state)
{
    struct setting_list settings = { 0 }, configured = { 0 }, own = { 0 };
    char *large = calloc(1, REGISTRY_SETTINGS_BYTES + 1);
    struct registry_file file, again;

    (void)state;
    assert_non_null(large);
    make(&file);
    expect_own(&file, NULL, NULL);
    setting_list_set(&settings, "spin-us", "77");
    setting_list_set(&configured, "spin-us", "10");
    setting_list_set(&own, "role-post", "41001 @41002");
    assert_int_equal(registry_put_settings(&file, &settings, &configured, &own), 0);
    memset(large, 'v', REGISTRY_SETTINGS_BYTES);
    setting_list_set(&settings, "spin-us", "78");
    setting_list_set(&settings, "large", large);
    setting_list_set(&own, "role-post", "");
    assert_int_equal(registry_put_settings(&file, &settings, &configured, &own), -ENOSPC);
    reopen(&file, &again);
    expect_own(&again, "role-post", "");
    expect_settings(&again, "spin-us", "77", 1);
    expect_configured(&again, "spin-us", "10", 1);
    setting_list_set(&own, "role-post", "@41002");
    registry_put_own(&again, &own);
    expect_own(&again, "role-post", "@41002");
    expect_settings(&again, "spin-us", "77", 1);
    expect_configured(&again, "spin-us", "10", 1);
    again.map->settings[atomic_load(&again.map->header.settings_copy)].own_bytes--;
    assert_int_equal(registry_get_own(&again, &configured), -EPROTO);
    registry_put_own(&again, &none_own); /* none that are known */
    expect_own(&again, NULL, NULL);
    registry_close(&again);
    setting_list_fini(&own);
    setting_list_fini(&configured);
    setting_list_fini(&settings);
    registry_close(&file);
    free(large);
}

/* They count over starts, also over one that dies in the middle of taking them along, and no more
 * behind one that does not: another may have been in force since. */
static void test_own_settings_of_an_older_build(void **state)
{
    struct setting_list own = { 0 };
    struct registry_file file, again;

    (void)state;
    make(&file);
    atomic_store(&file.map->header.settled, 1);
    assert_false(registry_is_of_crash(file.fd)); /* none has been kept so far */
    setting_list_set(&own, "quota-ports", "3");
    registry_put_own(&file, &own);
    assert_true(registry_is_of_crash(file.fd));
    for (unsigned i = 0; i < 3; i++) {
        reopen(&file, &again);
        expect_own(&again, "quota-ports", "3");
        registry_close(&again);
    }
    atomic_fetch_add(&file.map->header.own_epoch, 1);
    reopen(&file, &again);
    expect_own(&again, "quota-ports", "3");
    registry_close(&again);
    atomic_fetch_add(&file.map->header.epoch, 1);
    assert_false(registry_is_of_crash(file.fd));
    reopen(&file, &again);
    expect_own(&again, NULL, NULL);
    registry_put_own(&again, &own);
    expect_own(&file, "quota-ports", "3");
    assert_true(registry_is_of_crash(file.fd));
    atomic_store(&file.map->header.clean, 1);
    assert_false(registry_is_of_crash(file.fd));
    atomic_store(&file.map->header.clean, 0);
    file.map->header.layout_hash ^= 1;
    assert_false(registry_is_of_crash(file.fd));
    registry_close(&again);
    setting_list_fini(&own);
    registry_close(&file);
}

/* Behind a word that the end is an orderly one, whatever is recorded until then. */
static void test_own_settings_are_forgotten(void **state)
{
    struct setting_list settings = { 0 }, own = { 0 };
    struct registry_file file, again;

    (void)state;
    make(&file);
    atomic_store(&file.map->header.settled, 1);
    setting_list_set(&settings, "spin-us", "77");
    setting_list_set(&own, "quota-ports", "3");
    assert_int_equal(registry_put_settings(&file, &settings, &none_own, &own), 0);
    assert_true(registry_is_of_crash(file.fd));
    registry_forget_own(&file);
    assert_false(registry_is_of_crash(file.fd));
    registry_put_own(&file, &own);
    assert_int_equal(registry_put_settings(&file, &settings, &none_own, &own), 0);
    reopen(&file, &again);
    expect_own(&again, NULL, NULL);
    expect_settings(&again, "spin-us", "77", 1);
    registry_put_own(&again, &own);
    expect_own(&again, "quota-ports", "3");
    registry_close(&again);
    setting_list_fini(&own);
    setting_list_fini(&settings);
    registry_close(&file);
}

/* A build before there were own ones had more room for the others. They stay until others take
 * their place. */
static void test_settings_where_own_ones_lie_by_now(void **state)
{
    struct setting_list settings = { 0 }, own = { 0 };
    char *large = calloc(1, REGISTRY_SETTINGS_BYTES + 1000);
    struct registry_settings *copy;
    struct registry_file file;
    char *text;

    (void)state;
    assert_non_null(large);
    make(&file);
    memset(large, 'v', REGISTRY_SETTINGS_BYTES + 999);
    copy = &file.map->settings[atomic_load(&file.map->header.settings_copy)];
    text = (char *)copy + offsetof(struct registry_settings, text);
    memcpy(text, "large", 6);
    memcpy(text + 6, large, REGISTRY_SETTINGS_BYTES + 1000);
    copy->n = 1;
    copy->bytes = 6 + REGISTRY_SETTINGS_BYTES + 1000;
    expect_settings(&file, "large", large, 1);
    setting_list_set(&own, "role-post", "41001");
    registry_put_own(&file, &own);
    expect_settings(&file, "large", large, 1);
    expect_own(&file, NULL, NULL);
    setting_list_set(&settings, "spin-us", "77");
    assert_int_equal(registry_put_settings(&file, &settings, &none_own, &own), 0);
    expect_settings(&file, "spin-us", "77", 1);
    expect_own(&file, "role-post", "41001");
    setting_list_fini(&own);
    setting_list_fini(&settings);
    registry_close(&file);
    free(large);
}

/* Without a store there is no registry: everything may be called, nothing happens. */
static void test_without_a_registry(void **state)
{
    struct registry_file none = { .fd = -1 };
    struct setting_list settings = { 0 };

    (void)state;
    assert_int_equal(registry_put_client(&none, &(struct registry_client){ .id = 1 }), 0);
    assert_false(registry_has_client(&none, 1));
    registry_free_client(&none, 1);
    registry_note_client_id(&none, 1);
    registry_put_port(&none, 0, &(struct registry_port){ 0 });
    registry_set_port(&none, 0, REGISTRY_OPEN);
    registry_set_port_ref(&none, 0, 1, 1);
    assert_int_equal(registry_next_plugin(&none), 0);
    assert_int_equal(registry_put_plugin(&none, 1, NULL, "/a.so", true, 0), 0);
    registry_set_plugin_name(&none, 1, "a");
    registry_free_plugin(&none, 1);
    assert_int_equal(registry_put_settings(&none, &settings, &settings, &settings), 0);
    assert_int_equal(registry_get_settings(&none, &settings, &settings), 0);
    registry_put_own(&none, &settings);
    registry_forget_own(&none);
    assert_int_equal(registry_get_own(&none, &settings), 0);
    registry_close(&none);
}

/* ---- what is written there of a start and of an end ---- */

/* persist.R1: the next start goes by the configuration of its own only behind an end that was told
 * to be one, of a service that had put its state in force. */
static void test_which_end_is_an_orderly_one(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 8; bits++) {
        struct persist persist = { .refused = bits & 1, .in_force = bits & 2 };
        bool clean = bits & 4;
        struct registry_header header;
        int fd;

        assert_int_equal(registry_make(&persist.registry, 0), 0);
        fd = dup(persist.registry.fd);
        persist_end(&persist, clean);
        assert_false(persist_is_on(&persist));
        assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
        assert_int_equal(atomic_load(&header.clean), bits == 6);
        close(fd);
    }
}

/* The state that comes into force: what was dropped is forgotten, all of it, what came is recorded
 * with its line, and the former end counts no more. */
static void test_what_comes_into_force(void **state)
{
    struct setting_list nothing = { 0 };
    struct plugin_store plugins = { .n = 1,
                                    .list[0] = { .path = (char[]){ "/new.so" },
                                                 .serial = 9,
                                                 .configured = true,
                                                 .line = 5,
                                                 .unrecorded = true } };

    (void)state;
    for (int orderly = 0; orderly < 2; orderly++) {
        struct persist persist = {
            .resumed = true, .clean = orderly, .n_dropped = 2, .dropped = { 1, 2 }
        };
        struct registry *map;

        plugins.list[0].unrecorded = true;
        assert_int_equal(registry_make(&persist.registry, 0), 0);
        map = persist.registry.map;
        atomic_store(&map->header.clean, (uint32_t)orderly);
        atomic_store(&map->header.actors_made, 1);
        for (uint32_t serial = 1; serial <= 2; serial++)
            assert_int_equal(registry_put_plugin(&persist.registry, serial, "old", "/old.so", 0, 0),
                             0);
        persist_record_settled(&persist, &plugins, &nothing, &nothing, &nothing, 0);
        assert_true(persist.in_force);
        assert_false(plugins.list[0].unrecorded);
        assert_int_equal(persist.n_dropped, 0);
        assert_int_equal(atomic_load(&map->header.clean), 0);
        assert_int_equal(atomic_load(&map->header.settled), 1);
        /* actors of the configuration are made anew behind an orderly end alone */
        assert_int_equal(atomic_load(&map->header.actors_made), !orderly);
        for (size_t i = 0; i < ODEON_PLUGINS_MAX; i++)
            if (atomic_load(&map->plugins[i].state) != REGISTRY_FREE) {
                assert_int_equal(map->plugins[i].serial, 9);
                assert_int_equal(map->plugins[i].configured,
                                 5 << REGISTRY_LINE_SHIFT | REGISTRY_CONFIGURED);
            }
        assert_true(persist_wants_actors(&persist) == orderly);
        registry_close(&persist.registry);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instance_and_epoch),
        cmocka_unit_test(test_other_layouts_are_refused_by_name),
        cmocka_unit_test(test_clients),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_plugins),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_settings_that_were_configured),
        cmocka_unit_test(test_settings_without_the_configured_ones),
        cmocka_unit_test(test_own_settings),
        cmocka_unit_test(test_own_settings_of_an_older_build),
        cmocka_unit_test(test_own_settings_are_forgotten),
        cmocka_unit_test(test_settings_where_own_ones_lie_by_now),
        cmocka_unit_test(test_without_a_registry),
        cmocka_unit_test(test_which_end_is_an_orderly_one),
        cmocka_unit_test(test_what_comes_into_force),
    };

    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
