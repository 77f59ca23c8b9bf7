/* SPDX-License-Identifier: Apache-2.0 */
/* odeond's own settings as text, and back: what another odeond makes of it is the same, and nobody
 * has a role that the text does not give. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/supervisor/options.h"
#include "daemon/supervisor/own_settings.h"
#include "daemon/supervisor/registry.h"

static struct config config, again;
static struct setting_list own;

static int clean(void **state)
{
    (void)state;
    config_fini(&config);
    config_fini(&again);
    setting_list_fini(&own);
    return 0;
}

static void set(struct config *to, const char *key, const char *value)
{
    char text[OPTIONS_TEXT_MAX] = "";

    if (config_set_own(to, key, value, text) < 0)
        fail_msg("%s = %s: %s", key, value, text);
}

static const char *const configured[][2] = {
    { "log-level", "warning" },
    { "drain-timeout-ms", "70" },
    { "plugin-load-ms", "0" },
    { "restart-delay-max-ms", "30" },
    { "rule-stops-max", "7" },
    { "executor", "/usr/local/bin/executor" },
    { "overflow-user", "yes" },
    { "role-observe", "*" },
    { "role-post", "41001, 41002 @41003" },
    { "role-register", "" },
    { "role-load", "* 41001" },
    { "role-reconfigure", "@4294967294" },
    { "quotas-bind", "all" },
    { "quota-clients", "9" },
    { "quota-ports", "8" },
    { "quota-ring-bytes", "7M" },
    { "quota-backlog-bytes", "6M" },
    { "quota-descriptors", "5" },
    { "quota-answer-bytes", "4M" },
    { "quota-requests", "3" },
    { "offender-hold-ms", "2" },
    { "hello-ms", "1" },
    { "socket-mode", "0660" },
    { "socket-group", "41004" },
};
enum { KEYS = sizeof(configured) / sizeof(configured[0]) };

static void configure_all(struct config *to)
{
    for (size_t i = 0; i < KEYS; i++)
        set(to, configured[i][0], configured[i][1]);
}

static void list_anew(const struct config *from)
{
    setting_list_fini(&own);
    own_settings_list(from, &own);
}

static void expect(const char *key, const char *value)
{
    const char *found = setting_list_get(&own, key);

    assert_non_null(found);
    assert_string_equal(found, value);
}

static void test_all_of_them_come_back(void **state)
{
    struct setting_list before = { 0 };

    (void)state;
    config_init_unread(&config);
    config_init_unread(&again);
    configure_all(&config);
    list_anew(&config);
    assert_int_equal(own.n, KEYS);
    assert_int_equal(setting_list_merge(&before, &own), 0);
    own_settings_restore(&again, &own);
    assert_memory_equal(&again.access, &config.access, sizeof(config.access));
    assert_memory_equal(&again.quotas, &config.quotas, sizeof(config.quotas));
    assert_int_equal(again.socket_group, 41004);
    assert_string_equal(again.executor_path, "/usr/local/bin/executor");
    list_anew(&again);
    assert_int_equal(own.n, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        expect(before.list[i].key, before.list[i].value);
    setting_list_fini(&before);
}

/* More keys than the line has room for; the last of them is one of the socket's. */
static void test_what_is_told_of_all(void **state)
{
    char text[1024] = "";
    const char *rest;
    int log = memfd_create("log", MFD_CLOEXEC), before = dup(STDERR_FILENO);

    (void)state;
    assert_true(log >= 0 && before >= 0);
    config_init_unread(&config);
    set(&config, "drain-timeout-ms", "70"); /* the only one that is the same */
    list_anew(&config);
    config.unread = false;
    configure_all(&config);
    assert_int_equal(dup2(log, STDERR_FILENO), STDERR_FILENO);
    own_settings_restore(&config, &own);
    assert_int_equal(dup2(before, STDERR_FILENO), STDERR_FILENO);
    assert_true(pread(log, text, sizeof(text) - 1, 0) > 0);
    close(before);
    close(log);
    assert_non_null(strstr(text, "log-level, plugin-load-ms, "));
    rest = strstr(text, ", ...");
    assert_non_null(rest);
    assert_true(strncmp(rest, ", ...: the configuration", 24) == 0);
    assert_non_null(strstr(rest, "(the socket's: an orderly restart)"));
}

/* own_settings.S1 */
static void test_names_are_numbers(void **state)
{
    (void)state;
    config_init_unread(&config);
    set(&config, "role-post", "root, @root 41001");
    list_anew(&config);
    expect("role-post", " 0 41001 @0");
}

/* own_settings.S2; and what is not said is not what the configuration says by now. */
static void test_what_is_not_said(void **state)
{
    (void)state;
    config_init_unread(&config);
    config.unread = false;
    configure_all(&config);
    setting_list_set(&own, "role-observe", "41005");
    setting_list_set(&own, "role-load", "no.such.user");
    setting_list_set(&own, "role-of-later", "*");
    setting_list_set(&own, "of-later", "1");
    setting_list_set(&own, "quota-ports", "many");
    setting_list_set(&own, "executor", "/another");
    setting_list_set(&own, "socket-group", "41006");
    own_settings_restore(&config, &own);
    list_anew(&config);
    expect("role-observe", " 41005");
    expect("role-post", "");
    expect("role-register", "");
    expect("role-load", "");
    expect("role-reconfigure", "");
    expect("overflow-user", "no");
    expect("quota-ports", "64");
    expect("quota-clients", "256");
    expect("quotas-bind", "others");
    expect("socket-mode", "0600");
    expect("executor", "/usr/local/bin/executor");
    expect("socket-group", "41006");
}

/* A quota that comes of a large limit, and that no line could say, is that limit's again. */
static void test_a_quota_that_no_line_can_say(void **state)
{
    (void)state;
    config_init_unread(&config);
    config.quotas.limits[QUOTA_DESCRIPTORS] = UINT64_C(1) << 26;
    list_anew(&config);
    assert_null(setting_list_get(&own, "quota-descriptors"));
    /* the largest that one can say is one of them, and so is the first group */
    config.quotas.limits[QUOTA_DESCRIPTORS] = UINT64_C(1) << 20;
    set(&config, "socket-group", "0");
    list_anew(&config);
    expect("quota-descriptors", "1048576");
    expect("socket-group", "0");
}

/* The longest that there can be have room in the registry. */
static void test_the_longest(void **state)
{
    char path[4096], text[OPTIONS_TEXT_MAX];
    struct registry_file file;

    (void)state;
    config_init_unread(&config);
    config_init_unread(&again);
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    set(&config, "executor", path);
    set(&config, "socket-group", "4294967294");
    for (unsigned role = 0; role < ROLE_N; role++) {
        char list[1024] = "*";

        for (size_t i = 0, n = 1; i < ACCESS_NAMES_MAX; i++)
            n += (size_t)snprintf(list + n, sizeof(list) - n, " %u @%u", UINT32_MAX - 1,
                                  UINT32_MAX - 1);
        assert_int_equal(access_set(&config.access, (enum role)role, list, text), 0);
    }
    list_anew(&config);
    own_settings_restore(&again, &own);
    assert_memory_equal(&again.access, &config.access, sizeof(config.access));
    assert_int_equal(registry_make(&file, 0), 0);
    registry_put_own(&file, &own);
    setting_list_fini(&own);
    assert_int_equal(registry_get_own(&file, &own), 0);
    expect("executor", path);
    registry_close(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_all_of_them_come_back, clean),
        cmocka_unit_test_teardown(test_what_is_told_of_all, clean),
        cmocka_unit_test_teardown(test_names_are_numbers, clean),
        cmocka_unit_test_teardown(test_what_is_not_said, clean),
        cmocka_unit_test_teardown(test_a_quota_that_no_line_can_say, clean),
        cmocka_unit_test_teardown(test_the_longest, clean),
    };

    return cmocka_run_group_tests_name("own_settings", tests, NULL, NULL);
}
