/* SPDX-License-Identifier: Apache-2.0 */
/* daemon/supervisor/options: what file and command line say, and who wins. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/common/config.h"
#include "daemon/supervisor/options.h"
#include "proto/fields.h"

static char path[] = "/tmp/odeon-test-options-XXXXXX";
static char text[OPTIONS_TEXT_MAX];
static struct options options;
static struct config config;

static int make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    close(fd);
    return fd < 0 ? -1 : 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static int clean(void **state)
{
    (void)state;
    config_fini(&config);
    options_fini(&options);
    return 0;
}

static void write_file(const char *content)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

/* The arguments after --config FILE. */
static int load(const char *const *more)
{
    static char *argv[32];
    int argc = 0;

    argv[argc++] = (char *)"odeond";
    argv[argc++] = (char *)"--config";
    argv[argc++] = path;
    for (; *more; more++)
        argv[argc++] = (char *)*more;
    argv[argc] = NULL;
    assert_int_equal(options_parse(&options, argc, argv, text), OPTIONS_RUN);
    return config_load(&config, &options, text);
}

#define LOAD(...) load((const char *const[]){ __VA_ARGS__, NULL })

static void test_defaults(void **state)
{
    (void)state;
    write_file("");
    assert_int_equal(load((const char *const[]){ NULL }), 0);
    assert_string_equal(options.runtime_dir, "/run/odeon");
    assert_string_equal(options.socket_path, "/run/odeon/control.sock");
    assert_false(options.foreground);
    assert_int_equal(config.log_level, LOG_LEVEL_INFO);
    assert_true(config.drain_timeout_ns == UINT64_C(5000000000));
    assert_true(config.rule_stops_max == 3);
    assert_int_equal(config.executor.n, 0);
    assert_int_equal(config.n_plugins, 0);
}

/* What odeond.conf(5) says of each. */
static void test_defaults_of_access(void **state)
{
    (void)state;
    write_file("");
    assert_int_equal(load((const char *const[]){ NULL }), 0);
    assert_int_equal(config.socket_mode, 0600);
    assert_int_equal(config.socket_group, -1);
    assert_false(config.access.overflow_user);
    assert_false(config.quotas.everybody);
    assert_true(config.quotas.limits[QUOTA_CLIENTS] == 256);
    assert_true(config.quotas.limits[QUOTA_PORTS] == 64);
    assert_true(config.quotas.limits[QUOTA_RING_BYTES] == UINT64_C(256) << 20);
    assert_true(config.quotas.limits[QUOTA_BACKLOG_BYTES] == UINT64_C(1) << 30);
    assert_true(config.quotas.limits[QUOTA_ANSWER_BYTES] == UINT64_C(16) << 20);
    assert_true(config.quotas.limits[QUOTA_DESCRIPTORS] == accounts_descriptors_limit() / 16);
    assert_true(config.quotas.requests == 2000);
    assert_true(config.quotas.hold_ms == 100);
    assert_true(config.quotas.hello_ms == 30000);
}

static void test_command_line_wins(void **state)
{
    (void)state;
    write_file("log-level = debug\nrule-stops-max = 5\nworkers = 3\n[odeond]\ndrain-timeout-ms = "
               "70\nplugin = "
               "/a.so\nplugin = /b.so\n"
               "[executor]\nstealing = none\nlog-level = mine\n");
    assert_int_equal(LOAD("--runtime-dir", "/tmp/x", "--set", "workers=4", "--set", "throughput=9",
                          "--log-level", "error", "--plugin", "/c.so", "--executor", "/bin/e",
                          "--foreground", "--set", "restart-delay-max-ms=1"),
                     0);
    assert_true(options.foreground);
    assert_string_equal(options.socket_path, "/tmp/x/control.sock");
    assert_int_equal(config.log_level, LOG_LEVEL_ERROR);
    assert_true(config.drain_timeout_ns == 70000000);
    assert_true(config.restart_delay_max_ns == 1000000);
    assert_true(config.rule_stops_max == 5);
    assert_string_equal(config.executor_path, "/bin/e");
    assert_int_equal(config.n_plugins, 3);
    assert_string_equal(config.plugins[2], "/c.so");
    assert_string_equal(setting_list_get(&config.executor, "workers"), "4");
    assert_string_equal(setting_list_get(&config.executor, "stealing"), "none");
    assert_string_equal(setting_list_get(&config.executor, "throughput"), "9");
    assert_string_equal(setting_list_get(&config.executor, "log-level"),
                        "mine"); /* in its section, all is the executor's */
    assert_int_equal(config.executor.n, 4);
}

static void test_mistakes_in_the_file(void **state)
{
    static const struct {
        const char *content, *text;
    } cases[] = {
        { "[odeond]\nworkers = 1\n", ":2: unknown key 'workers' of odeond: odeond.conf(5) lists "
                                     "them; those of the executor stand in [executor]" },
        { "[other]\n", ":1: unknown section [other]" },
        { "\ndrain-timeout-ms = soon\n",
          ":2: drain-timeout-ms: 'soon' is not a number of milliseconds" },
        { "drain-timeout-ms = 3600001\n",
          ":1: drain-timeout-ms: '3600001' is not a number of milliseconds from 0 to 3600000" },
        { "plugin-load-ms = 3600001\n",
          ":1: plugin-load-ms: '3600001' is not a number of milliseconds from 0 to 3600000" },
        { "restart-delay-max-ms = 600001\n",
          ":1: restart-delay-max-ms: '600001' is not a number of milliseconds from 0 to 600000" },
        { "hello-ms = 3600001\n", ":1: hello-ms: '3600001' is not a number from 0 to 3600000" },
        { "rule-stops-max = 1000001\n",
          ":1: rule-stops-max: '1000001' is not a number from 0 to 1000000" },
        { "log-level = loud\n", ":1: log-level: 'loud' is not one of" },
        { "plugin = relative.so\n", ":1: plugin: 'relative.so' is not an absolute path" },
        { "executor =\n", ":1: executor: an empty path" },
        { "role-post = no.such.user\n", ":1: role-post: there is no user 'no.such.user'" },
        { "role-load = 0 , @no.such.group\n", ":1: role-load: there is no group 'no.such.group'" },
        { "role-fly = *\n", ":1: role-fly: there is no such role" },
        { "overflow-user = maybe\n", ":1: overflow-user: 'maybe' is neither yes nor no" },
        { "socket-mode = 0777\n", ":1: socket-mode: '0777' is not a mode" },
        { "socket-mode = 066x\n", ":1: socket-mode: '066x' is not a mode" },
        { "socket-mode = 0066\n", ":1: socket-mode: '0066' is not a mode" },
        { "socket-mode = 0266\n", ":1: socket-mode: '0266' is not a mode" },
        { "socket-mode = 0466\n", ":1: socket-mode: '0466' is not a mode" },
        { "socket-mode = 40000000660\n", ":1: socket-mode: '40000000660' is not a mode" },
        { "socket-group = no.such.group\n", ":1: socket-group: there is no group" },
        { "quota-ports = 257\n", ":1: quota-ports: '257' is not a number from 0 to 256" },
        { "quota-ring-bytes = 1X\n", ":1: quota-ring-bytes: '1X' is not a number of bytes" },
        { "offender-hold-ms = 1001\n",
          ":1: offender-hold-ms: '1001' is not a number from 0 to 1000" },
        { "quotas-bind = some\n", ":1: quotas-bind: 'some' is neither" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(cases[i].content);
        assert_true(load((const char *const[]){ NULL }) < 0);
        assert_non_null(strstr(text, path));
        assert_non_null(strstr(text, cases[i].text));
        assert_false(config.argument_refused);
        clean(NULL);
    }
}

/* Each limit itself is a value, and so is the word that says what is so without it. */
static void test_limits_are_values(void **state)
{
    (void)state;
    write_file("drain-timeout-ms = 3600000\nplugin-load-ms = 3600000\n"
               "restart-delay-max-ms = 600000\nrule-stops-max = 0\nhello-ms = 3600000\n"
               "offender-hold-ms = 1000\nquota-ports = 256\nquotas-bind = others\n"
               "socket-mode = 666\n");
    assert_int_equal(load((const char *const[]){ NULL }), 0);
    assert_true(config.drain_timeout_ns == UINT64_C(3600000000000));
    assert_true(config.plugin_load_ns == UINT64_C(3600000000000));
    assert_true(config.restart_delay_max_ns == UINT64_C(600000000000));
    assert_true(config.rule_stops_max == 0);
    assert_true(config.quotas.hello_ms == 3600000);
    assert_true(config.quotas.hold_ms == 1000);
    assert_true(config.quotas.limits[QUOTA_PORTS] == 256);
    assert_false(config.quotas.everybody);
    assert_int_equal(config.socket_mode, 0666);
}

static void test_too_many_plugins(void **state)
{
    FILE *file = fopen(path, "we");

    (void)state;
    assert_non_null(file);
    for (int i = 0; i < PLUGINS_CONFIGURED_MAX; i++)
        fprintf(file, "plugin = /%d.so\n", i);
    fclose(file);
    assert_int_equal(load((const char *const[]){ NULL }), 0);
    assert_int_equal(config.n_plugins, PLUGINS_CONFIGURED_MAX);
    clean(NULL);
    assert_int_equal(LOAD("--plugin", "/one-more.so"), -ENOSPC);
    assert_string_equal(text, "plugin: more than 256 plugins");
    assert_int_equal(config.n_plugins, PLUGINS_CONFIGURED_MAX);
}

/* Where nobody has named a file there need not be one; but one that cannot be come to is not taken
 * for one that says nothing, which would give the roles and quotas of the defaults. */
static void test_a_file_out_of_reach(void **state)
{
    char below[sizeof(path) + 8];

    (void)state;
    write_file("");
    assert_int_equal(options_parse(&options, 1, (char *[]){ (char *)"odeond", NULL }, text),
                     OPTIONS_RUN);
    free(options.config_path);
    options.config_path = strdup("/nowhere/odeond.conf");
    assert_int_equal(config_load(&config, &options, text), 0);
    config_fini(&config);
    snprintf(below, sizeof(below), "%s/conf", path); /* the file is no directory */
    free(options.config_path);
    options.config_path = strdup(below);
    assert_int_equal(config_load(&config, &options, text), -ENOTDIR);
    assert_non_null(strstr(text, below));
}

static void test_mistakes_in_arguments(void **state)
{
    (void)state;
    write_file("");
    assert_int_equal(LOAD("--set", "workers"), -EINVAL);
    assert_string_equal(text, "--set workers: expected KEY=VALUE");
    clean(NULL);
    assert_int_equal(LOAD("--log-level", "x"), -EINVAL);
    assert_true(config.argument_refused);
    clean(NULL);
    assert_int_equal(
        options_parse(&options, 2, (char *[]){ (char *)"odeond", (char *)"extra", NULL }, text),
        OPTIONS_USAGE);
    assert_non_null(strstr(text, "'extra'"));
    clean(NULL);
    assert_int_equal(
        options_parse(&options, 3,
                      (char *[]){ (char *)"odeond", (char *)"--config", (char *)"/nowhere", NULL },
                      text),
        OPTIONS_RUN);
    /* asked for, so it must be there */
    assert_int_equal(config_load(&config, &options, text), -ENOENT);
}

/* One switch, for a terminal; what is said beside it wins. */
static void test_developer(void **state)
{
    char *alone[] = { (char *)"odeond", (char *)"--developer", NULL };

    (void)state;
    write_file("limit-bytes = 2M\n");
    assert_int_equal(LOAD("--foreground", "--developer", "--set", "actors=77"), 0);
    assert_true(config.developer);
    assert_int_equal(config.plugin_load_ns, 0);
    assert_string_equal(setting_list_get(&config.executor, "limit-bytes"), "2M");
    assert_string_equal(setting_list_get(&config.executor, "actors"), "77");
    assert_string_equal(setting_list_get(&config.executor, "outbox-bytes"), "1M");
    clean(NULL);
    assert_int_equal(LOAD("--foreground"), 0);
    assert_false(config.developer);
    assert_int_equal(config.executor.n, 1);
    clean(NULL);
    assert_int_equal(options_parse(&options, 2, alone, text), OPTIONS_USAGE);
    assert_non_null(strstr(text, "--developer is for a terminal"));
    clean(NULL);
    assert_int_equal(setenv("NOTIFY_SOCKET", "/run/systemd/notify", 1), 0);
    assert_int_equal(options_parse(&options, 3,
                                   (char *[]){ (char *)"odeond", (char *)"--foreground",
                                               (char *)"--developer", NULL },
                                   text),
                     OPTIONS_USAGE);
    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
}

static void test_too_many_settings(void **state)
{
    struct setting_list settings = { 0 };
    char key[32];

    (void)state;
    for (int i = 0; i < SETTINGS_MAX; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        assert_int_equal(setting_list_set(&settings, key, "1"), 0);
    }
    assert_int_equal(setting_list_set(&settings, "one-more", "1"), -ENOSPC);
    assert_int_equal(setting_list_set(&settings, "key-0", "2"), 0);
    assert_string_equal(setting_list_get(&settings, "key-0"), "2");
    assert_null(setting_list_get(&settings, "one-more"));
    setting_list_fini(&settings);
}

/* Words of lines "actor =": what blanks, quotes and backslashes mean. */
static void test_actors(void **state)
{
    (void)state;
    write_file("actor =\ttype \t name  \n"
               "actor = t n aa=\\\\ a=\" two  words \" b=\"\\\"\\\\\" c=x\\y d= e=a=b f=\"\"\n");
    assert_int_equal(LOAD("--set", "actor=t last a=1"), 0);
    assert_int_equal(config.actors.n, 3);
    assert_string_equal(config.actors.list[0].type, "type");
    assert_string_equal(config.actors.list[0].name, "name");
    assert_int_equal(config.actors.list[0].n_words, 0);
    assert_int_equal(config.actors.list[1].n_words, 7);
    assert_string_equal(config.actors.list[1].words[0],
                        "aa=\\\\"); /* without quotes: as they are */
    assert_string_equal(config.actors.list[1].words[1], "a= two  words ");
    assert_string_equal(config.actors.list[1].words[2], "b=\"\\");
    assert_string_equal(config.actors.list[1].words[3], "c=x\\y");
    assert_string_equal(config.actors.list[1].words[4], "d=");
    assert_string_equal(config.actors.list[1].words[5], "e=a=b");
    assert_string_equal(config.actors.list[1].words[6], "f=");
    assert_ptr_equal(actor_lines_find(&config.actors, "last"), &config.actors.list[2]);
    assert_null(actor_lines_find(&config.actors, "t"));
    clean(NULL);
    write_file("[executor]\nactor = t n\n"); /* a setting there, which the executor will refuse */
    assert_int_equal(load((const char *const[]){ NULL }), 0);
    assert_int_equal(config.actors.n, 0);
}

static void test_too_many_actors(void **state)
{
    char fields[FIELDS_MAX + 1][16], line[CONFIG_LINE_MAX * 2] = "t n";
    struct actor_lines lines = { 0 };

    (void)state;
    for (unsigned i = 0; i <= FIELDS_MAX; i++) {
        snprintf(fields[i], sizeof(fields[i]), " f%u=1", i);
        if (i < FIELDS_MAX)
            strcat(line, fields[i]);
    }
    assert_int_equal(actor_lines_add(&lines, line, text), 0);
    assert_int_equal(lines.list[0].n_words, FIELDS_MAX);
    strcat(line, fields[FIELDS_MAX]);
    assert_int_equal(actor_lines_add(&lines, line, text), -E2BIG);
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    assert_int_equal(actor_lines_add(&lines, line, text), -E2BIG);
    for (unsigned i = 1; i <= ACTOR_LINES_MAX; i++) {
        snprintf(line, sizeof(line), "t actor-%u", i);
        assert_int_equal(actor_lines_add(&lines, line, text), i < ACTOR_LINES_MAX ? 0 : -ENOSPC);
    }
    actor_lines_fini(&lines);
    assert_int_equal(lines.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_defaults, clean),
        cmocka_unit_test_teardown(test_defaults_of_access, clean),
        cmocka_unit_test_teardown(test_command_line_wins, clean),
        cmocka_unit_test_teardown(test_mistakes_in_the_file, clean),
        cmocka_unit_test_teardown(test_limits_are_values, clean),
        cmocka_unit_test_teardown(test_too_many_plugins, clean),
        cmocka_unit_test_teardown(test_a_file_out_of_reach, clean),
        cmocka_unit_test_teardown(test_mistakes_in_arguments, clean),
        cmocka_unit_test_teardown(test_developer, clean),
        cmocka_unit_test_teardown(test_actors, clean),
        cmocka_unit_test(test_too_many_actors),
        cmocka_unit_test(test_too_many_settings),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
