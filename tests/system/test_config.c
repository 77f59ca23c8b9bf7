/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl config check: a configuration is judged by the real odeond and the real executor, and
 * nothing is started for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"

enum { DONE = 0, REFUSED = 1 };

static struct service service;
static char output[1 << 14], file[128];

static int begin(void **state)
{
    (void)state;
    service_make_dir(&service);
    snprintf(file, sizeof(file), "%s/odeond.conf", service.dir);
    return 0;
}

static int end(void **state)
{
    (void)state;
    service_end(&service);
    return 0;
}

static int check_text(const char *text)
{
    FILE *out = fopen(file, "we");

    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    return ctl(&service, output, sizeof(output), "config check %s", file);
}

static void expect(const char *part)
{
    if (!strstr(output, part))
        fail_msg("'%s' is not in: %s", part, output);
}

static void test_right(void **state)
{
    (void)state;
    assert_int_equal(check_text("workers = 1\nstealing = random\n"), DONE);
    expect("the configuration is in order\n");
    assert_int_equal(ctl(&service, output, sizeof(output), "--json config check %s", file), DONE);
    expect("\"right\":true");
    expect("\"lines\":[\"the configuration is in order\"]");
    assert_int_not_equal(access(service.socket, F_OK), 0);
}

/* By odeond itself, and by the executor. */
static void test_wrong(void **state)
{
    (void)state;
    assert_int_equal(check_text("workers 1\n"), REFUSED);
    expect("odeond.conf:1");
    assert_int_equal(check_text("socket-mode = often\n"), REFUSED);
    expect("socket-mode");
    assert_int_equal(check_text("workers = 0\n"), REFUSED);
    expect("odeond.conf:1: setting workers: 0 is out of range");
    assert_int_equal(check_text("[odeond]\n\n[executor]\nworkers = 1\nspin-us = 1h\n"), REFUSED);
    expect("odeond.conf:5: setting spin-us: '1h' is not a number");
    /* the last line of a key counts */
    assert_int_equal(check_text("workers = 0\nworkers = 1\nworkers = often\n"), REFUSED);
    expect("odeond.conf:3: setting workers: 'often'");
    assert_int_equal(check_text("workers = 0\nworkers = 1\n"), DONE);
    /* which no single line says */
    assert_int_equal(check_text("workers = 2\nworkers-max = 1\n"), REFUSED);
    expect("error: setting workers: 2 are more than workers-max = 1");
    assert_int_equal(check_text("wrokers = 1\n"), REFUSED);
    expect("wrokers");
    assert_int_equal(ctl(&service, output, sizeof(output), "--json config check %s", file),
                     REFUSED);
    expect("\"right\":false");
}

/* Files of plugins, as far as a start looks before it maps them. */
static void test_plugins(void **state)
{
    char text[256];

    (void)state;
    snprintf(text, sizeof(text), "[odeond]\nplugin = %s\n", TEST_PROBE);
    assert_int_equal(check_text(text), DONE);
    expect("the configuration is in order\n");
    assert_int_equal(check_text("[odeond]\nplugin = /nowhere/plugin.so\n"), REFUSED);
    expect("plugin /nowhere/plugin.so does not exist");
    snprintf(text, sizeof(text), "[odeond]\nplugin = %s\n", file);
    assert_int_equal(check_text(text), REFUSED);
    expect("odeond.conf");
    expect("ELF");
    assert_null(strstr(output, "in order"));
}

/* Without a file the usual one is read, where it is; a start needs none. */
static void test_no_file(void **state)
{
    (void)state;
    if (access("/etc/odeon/odeond.conf", F_OK) == 0)
        skip();
    assert_int_equal(ctl(&service, output, sizeof(output), "config check"), DONE);
    expect("the configuration is in order\n");
}

static void test_strange(void **state)
{
    (void)state;
    assert_int_equal(check_text("\033[31mred = 1\n"), REFUSED);
    assert_null(strchr(output, '\033'));
    assert_int_equal(ctl(&service, output, sizeof(output), "config check %s/none", service.dir),
                     REFUSED);
    expect("none");
    assert_int_equal(ctl(&service, output, sizeof(output), "config check %s", service.dir),
                     REFUSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_right, begin, end),
        cmocka_unit_test_setup_teardown(test_wrong, begin, end),
        cmocka_unit_test_setup_teardown(test_plugins, begin, end),
        cmocka_unit_test_setup_teardown(test_no_file, begin, end),
        cmocka_unit_test_setup_teardown(test_strange, begin, end),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
