/* SPDX-License-Identifier: Apache-2.0 */
/* What the next odeond goes on with, and what it refuses to go on with: settings, plugins, figures;
 * another layout, a wrong setting, a segment that somebody else has, descriptors that are nobody's.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "proto/registry_layout.h"
#include "proto/segment_layout.h"
#include "tests/system/manager.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"

#define COMMON                                                                                     \
    SMALL_SERVICE, "--executor", TEST_EXECUTOR, "--set", "restart-delay-max-ms=20", "--set",       \
        "drain-timeout-ms=500"

static const char *const plain[] = { COMMON, NULL };
static const char *const with_probe[] = { COMMON, "--plugin", TEST_PROBE, NULL };

static struct manager *start(const char *const *arguments)
{
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = arguments });

    manager_wait_ready(manager);
    return manager;
}

static void expect_setting(struct manager *manager, const char *key, const char *value)
{
    char text[16384], found_key[64], found[64];

    assert_int_equal(ctl(manager_service(manager), text, sizeof(text), "executor show"), 0);
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (sscanf(line, "%63s %63s", found_key, found) == 2 && strcmp(found_key, key) == 0) {
            assert_string_equal(found, value);
            return;
        }
    fail_msg("no setting %s is shown", key);
}

/* What was set at run time holds over a crash; after an orderly end the configuration wins where it
 * says something. */
static void test_settings(void **state)
{
    static const char *const configured[] = { COMMON, "--set", "spin-us=33", NULL };
    struct manager *manager = start(plain);

    (void)state;
    manager_set(manager, "throughput=77");
    manager_set(manager, "spin-us=11");
    manager_kill_and_wait(manager);
    expect_setting(manager, "throughput", "77");
    expect_setting(manager, "spin-us", "11");
    manager_set_program(manager, NULL, configured);
    manager_kill_and_wait(manager); /* edited for the next start, not for a crash */
    expect_setting(manager, "spin-us", "11");
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    expect_setting(manager, "spin-us", "33");
    expect_setting(manager, "throughput", "77");
    manager_end(manager);
}

/* A start that fails before anything is in force is none: the next one still finds an orderly end,
 * and goes by the configuration. */
static void test_settings_behind_a_start_that_fails(void **state)
{
    char program[96];
    const char *const failing[] = { COMMON, "--executor", program, "--set", "spin-us=33", NULL };
    static const char *const configured[] = { COMMON, "--set", "spin-us=33", NULL };
    struct manager *manager = start(plain);
    int fd;

    (void)state;
    manager_set(manager, "spin-us=11");
    snprintf(program, sizeof(program), "%s/no-executor", manager_service(manager)->dir);
    fd = open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_int_equal(write(fd, "#!/nowhere\n", 11), 11);
    close(fd);
    manager_set_program(manager, NULL, failing);
    assert_int_equal(manager_restart(manager), 0);
    assert_true(wait_until(manager_failures(manager) > 0));
    assert_true(service_log_has(manager_service(manager), "the executor cannot be started"));
    assert_true(service_log_has(manager_service(manager), "the service does not start"));
    manager_set_program(manager, NULL, configured);
    manager_wait_ready(manager);
    expect_setting(manager, "spin-us", "33");
    manager_end(manager);
}

static bool status_has(struct manager *manager, const char *text)
{
    char *status = manager_status(manager);
    bool found = status && strstr(status, text) != NULL;

    free(status);
    return found;
}

/* A wish to read the configuration again that comes before the loop runs waits for it. */
static void test_a_reload_while_a_start_is_delayed(void **state)
{
    struct manager *manager = start(plain);
    struct service *service = manager_service(manager);
    char file[96];
    int fd;

    (void)state;
    assert_int_equal(manager_stop(manager), 0);
    snprintf(file, sizeof(file), "%s/starts", service->dir);
    fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "9\n", 2), 2);
    close(fd);
    manager_start_again(manager);
    assert_true(wait_until(status_has(manager, "waits: 9 starts before this one have failed")));
    assert_int_equal(kill(manager_pid(manager), SIGHUP), 0);
    manager_wait_ready(manager);
    assert_int_equal(manager_crashes(manager), 0);
    assert_true(
        wait_until(service_log_has(service, "the configuration has been read again and applied")));
    assert_int_equal(
        service_log_count(service, "the configuration has been read again and applied"), 1);
    manager_end(manager);
}

static unsigned count_plugins(struct manager *manager)
{
    struct odeon_client *client = service_connect(manager_service(manager), "plugins");
    struct odeon_status *status = NULL;
    unsigned n;

    assert_int_equal(odeon_service_status(client, &status), 0);
    n = status->plugins;
    odeon_result_free(status);
    odeon_client_disconnect(client);
    return n;
}

static void unload(struct manager *manager, const char *name)
{
    struct odeon_client *client = service_connect(manager_service(manager), "plugins");

    assert_int_equal(unload_plugin(client, name), 0);
    odeon_client_disconnect(client);
}

static void test_plugins(void **state)
{
    struct manager *manager = start(plain);
    struct odeon_client *client = service_connect(manager_service(manager), "plugins");

    (void)state;
    load_plugin(client, TEST_PROBE);
    odeon_client_disconnect(client);
    manager_kill_and_wait(manager);
    assert_int_equal(count_plugins(manager), 1);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    assert_int_equal(count_plugins(manager), 1);
    unload(manager, "probe");
    manager_kill_and_wait(manager);
    assert_int_equal(count_plugins(manager), 0);
    assert_int_equal(manager_store_count(manager, "plugin-"), 0);

    /* configured ones come and go with the configuration */
    manager_set_program(manager, NULL, with_probe);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    assert_int_equal(count_plugins(manager), 1);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    /* the file was read again, the former copy is gone */
    assert_int_equal(manager_store_count(manager, "plugin-"), 1);
    manager_set_program(manager, NULL, plain);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    assert_int_equal(count_plugins(manager), 0);
    assert_int_equal(manager_store_count(manager, "plugin-"), 0);
    manager_end(manager);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 22];
    int in = open(from, O_RDONLY | O_CLOEXEC),
        out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n = read(in, bytes, sizeof(bytes));

    assert_in_range(n, 1, sizeof(bytes) - 1);
    assert_int_equal(write(out, bytes, (size_t)n), n);
    close(in);
    close(out);
}

static void expect_probe_and_passer(struct manager *manager)
{
    char text[4096];

    assert_int_equal(ctl(manager_service(manager), text, sizeof(text), "plugin list"), 0);
    assert_non_null(strstr(text, "probe "));
    assert_non_null(strstr(text, "passer "));
    assert_int_equal(count_plugins(manager), 2);
    assert_int_equal(manager_store_count(manager, "plugin-"), 2);
}

/* Plugins that were loaded from one path, one after the other, are two, also where the
 * configuration comes to name that path. */
static void test_plugins_from_one_path(void **state)
{
    char path[96];
    const char *const configured[] = { COMMON, "--plugin", path, NULL };
    struct manager *manager = start(plain);
    struct odeon_client *client = service_connect(manager_service(manager), "plugins");

    (void)state;
    snprintf(path, sizeof(path), "%s/plugin.so", manager_service(manager)->dir);
    copy_file(TEST_PROBE, path);
    load_plugin(client, path);
    copy_file(TEST_PASSER, path);
    load_plugin(client, path);
    odeon_client_disconnect(client);
    expect_probe_and_passer(manager);
    manager_kill_and_wait(manager);
    expect_probe_and_passer(manager);
    manager_set_program(manager, NULL, configured);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(manager_restart(manager), 0);
        manager_wait_ready(manager);
        expect_probe_and_passer(manager);
        manager_kill_and_wait(manager);
        expect_probe_and_passer(manager);
    }
    manager_end(manager);
}

/* A line whose plugin has been unloaded, and loaded by hand from another file: it is refused, since
 * its name is taken, and what the service had goes on. */
static void test_a_plugin_by_hand_and_by_a_line(void **state)
{
    char line[96], hand[96], text[1024];
    const char *const configured[] = { COMMON, "--plugin", line, NULL };
    struct manager *manager = start(plain);
    struct service *service = manager_service(manager);
    struct odeon_client *client;

    (void)state;
    snprintf(line, sizeof(line), "%s/line.so", service->dir);
    snprintf(hand, sizeof(hand), "%s/hand.so", service->dir);
    copy_file(TEST_PROBE, line);
    copy_file(TEST_PROBE, hand);
    manager_set_program(manager, NULL, configured);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    unload(manager, "probe");
    client = service_connect(service, "by hand");
    load_plugin(client, hand);
    odeon_client_disconnect(client);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(manager_restart(manager), 0);
        manager_wait_ready(manager);
        snprintf(text, sizeof(text), "the line plugin = %s is left out", line);
        assert_int_equal(service_log_count(service, text), i + 1);
        assert_int_equal(count_plugins(manager), 1);
        assert_int_equal(manager_store_count(manager, "plugin-"), 1);
        manager_kill_and_wait(manager);
        assert_int_equal(count_plugins(manager), 1);
    }
    unload(manager, "probe");
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    assert_int_equal(count_plugins(manager), 1); /* the line's */
    manager_end(manager);
}

static const char *const with_crasher[] = { COMMON, "--plugin", TEST_PLUGINS "/crash_when_told.so",
                                            NULL };

/* A plugin has ended three executors, is left out, and what is loaded then is repaired.
 * `configured`: the plugin is one of the configuration's. */
static struct manager *start_with_a_repaired_plugin(bool configured)
{
    struct manager *manager;
    struct service *service;
    struct odeon_client *client;
    char flag[] = "/tmp/odeon-test.flag-XXXXXX", repaired[96];
    int fd = mkstemp(flag);

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(unlink(flag), 0);
    assert_int_equal(setenv("CRASH_FILE", flag, 1), 0);
    manager = start(configured ? with_crasher : plain);
    assert_int_equal(unsetenv("CRASH_FILE"), 0); /* the service has it */
    service = manager_service(manager);
    client = service_connect(service, "repairs");
    if (!configured)
        load_plugin(client, TEST_PLUGINS "/crash_when_told.so");
    copy_file(TEST_PLUGINS "/crash_when_told.so", flag);
    manager_kill_executor(manager);
    assert_int_equal(unlink(flag), 0);
    assert_true(service_log_has(service, "it is left out"));
    assert_int_equal(count_plugins(manager), 0);
    snprintf(repaired, sizeof(repaired), "%s/repaired.so", service->dir);
    copy_file(TEST_PLUGINS "/crash_when_told.so", repaired);
    load_plugin(client, repaired);
    odeon_client_disconnect(client);
    assert_int_equal(count_plugins(manager), 1);
    return manager;
}

static void test_a_repaired_plugin_is_unloaded(void **state)
{
    struct manager *manager = start_with_a_repaired_plugin(false);

    (void)state;
    unload(manager, "crash_when_told");
    manager_kill_executor(manager);
    assert_int_equal(count_plugins(manager), 0);
    assert_int_equal(manager_store_count(manager, "plugin-"), 0);
    manager_end(manager);
}

static void test_a_repaired_plugin_is_gone_on_with(void **state)
{
    struct manager *manager = start_with_a_repaired_plugin(false);

    (void)state;
    assert_int_equal(manager_store_count(manager, "plugin-"), 1);
    manager_kill_and_wait(manager);
    assert_int_equal(count_plugins(manager), 1);
    manager_end(manager);
}

/* It stands for the line of the configuration, whose file may be repaired by then. */
static void test_a_repaired_plugin_of_the_configuration(void **state)
{
    struct manager *manager = start_with_a_repaired_plugin(true);

    (void)state;
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    assert_int_equal(count_plugins(manager), 1);
    assert_int_equal(manager_store_count(manager, "plugin-"), 1);
    manager_end(manager);
}

static void test_figures_go_on(void **state)
{
    struct manager *manager = start(with_probe);
    struct service *service = manager_service(manager);
    struct numbers numbers;
    uint64_t before, actors;

    (void)state;
    numbers_start(&numbers, service, 64);
    numbers_wait(&numbers, 1000);
    numbers_finish(&numbers);
    /* the last batch is counted behind the flush that lets others answer */
    assert_true(wait_until(service_figure(service, "port_messages") >= numbers.posted));
    before = service_figure(service, "port_messages");
    actors = service_figure(service, "actors_created");
    assert_true(before >= 1000);
    service->figures = odeon_stats_close(service->figures);
    manager_kill_and_wait(manager);
    assert_int_equal(service_figure(service, "port_messages"), before);
    assert_int_equal(service_figure(service, "actors_created"), actors);
    assert_int_equal(service_state(service).boots, 2);
    manager_end(manager);
}

/* ---- what does not fit */

static void change_word(struct manager *manager, const char *name, size_t offset, uint32_t by)
{
    int fd = manager_store_get(manager, name);
    uint32_t word;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &word, sizeof(word), (off_t)offset), sizeof(word));
    word += by;
    assert_int_equal(pwrite(fd, &word, sizeof(word), (off_t)offset), sizeof(word));
    close(fd);
}

static bool status_says(struct manager *manager, const char *words)
{
    char *status = manager_status(manager);
    bool says = strstr(status, words) != NULL;

    free(status);
    return says;
}

static void expect_refused(struct manager *manager, const char *why, const char *store_before)
{
    char *store;

    assert_true(wait_until(status_says(manager, "refused, state kept")));
    if (!service_log_has(manager_service(manager), why))
        fail_msg("the log does not say: %s", why);
    assert_int_equal(manager_readies(manager), 1);
    store = manager_store_list(manager);
    assert_string_equal(store, store_before);
    free(store);
}

/* A line that names another file now, which is bad or missing: of the plugin that it named before
 * nothing is forgotten meanwhile. */
static void refuse_a_line(const char *file, const char *why)
{
    const char *const bad[] = { COMMON, "--plugin", file, NULL };
    struct manager *manager = start(with_probe);
    char *store = manager_store_list(manager);

    manager_set_program(manager, NULL, bad);
    assert_int_equal(manager_restart(manager), 0);
    expect_refused(manager, why, store);
    free(store);
    manager_set_program(manager, NULL, with_probe);
    assert_int_not_equal(manager_restart(manager), 0); /* it had failed, and says so */
    manager_wait_ready(manager);
    assert_int_equal(count_plugins(manager), 1);
    manager_end(manager);
}

static void test_a_line_that_names_another_file(void **state)
{
    (void)state;
    refuse_a_line(TEST_PLUGINS "/wrong_abi.so",
                  "a plugin is refused whose line in the configuration is new");
    refuse_a_line(TEST_PLUGINS "/nowhere.so",
                  "a plugin is missing whose line in the configuration is new");
}

/* A line whose file is missing: what the service had goes on without it, if that is all there. */
static void test_a_line_whose_file_is_missing(void **state)
{
    char line[96], text[256];
    const char *const configured[] = { COMMON, "--plugin", TEST_PROBE, "--plugin", line, NULL };
    struct manager *manager = start(with_probe);
    struct service *service = manager_service(manager);

    (void)state;
    snprintf(line, sizeof(line), "%s/line.so", service->dir);
    snprintf(text, sizeof(text), "the line plugin = %s is left out until the next start", line);
    manager_set_program(manager, NULL, configured);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    assert_true(service_log_has(service, text));
    assert_int_equal(count_plugins(manager), 1);
    copy_file(TEST_PASSER, line);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    expect_probe_and_passer(manager);
    /* its copy serves */
    assert_int_equal(unlink(line), 0);
    assert_int_equal(manager_restart(manager), 0);
    manager_wait_ready(manager);
    expect_probe_and_passer(manager);
    assert_int_equal(service_log_count(service, text), 1);
    manager_end(manager);
}

/* Messages that wait, refused by a build that does not know them, are there for the one that
 * does. */
static void refuse_and_go_on_by(const char *name, size_t offset, uint32_t step, const char *why)
{
    struct manager *manager = start(with_probe);
    struct numbers numbers;
    char *store;

    numbers_start(&numbers, manager_service(manager), 64);
    numbers_wait(&numbers, 100);
    manager_hold(manager, true);
    manager_kill(manager);
    change_word(manager, name, offset, step);
    store = manager_store_list(manager);
    manager_hold(manager, false);
    expect_refused(manager, why, store);
    free(store);
    manager_hold(manager, true);
    manager_kill(manager);
    change_word(manager, name, offset, -step);
    manager_hold(manager, false);
    manager_wait_ready(manager);
    numbers_wait(&numbers, 100);
    numbers_finish(&numbers);
    manager_end(manager);
}

static void refuse_and_go_on(const char *name, size_t offset, const char *why)
{
    refuse_and_go_on_by(name, offset, 1, why);
}

static void test_registry_of_another_layout_is_kept(void **state)
{
    (void)state;
    refuse_and_go_on("registry", offsetof(struct registry_header, version),
                     "the kept registry is of layout 3");
}

static void test_segment_of_another_layout_is_kept(void **state)
{
    (void)state;
    refuse_and_go_on("segment", offsetof(struct segment_header, version),
                     "the segment is of a layout that is newer than this build's, which is 2");
    refuse_and_go_on("segment", offsetof(struct segment_header, layout_hash),
                     "the segment was made by a build with another layout");
}

static struct odeon_status *status_of(struct odeon_client *client)
{
    struct odeon_status *status = NULL;

    assert_int_equal(odeon_service_status(client, &status), 0);
    return status;
}

/* Of a service to which so many clients have come that 32 bits are not enough: nobody's id is cut
 * to that of somebody else. */
static void test_client_ids_have_64_bits(void **state)
{
    struct manager *manager = start(with_probe);
    struct odeon_client *former = service_connect(manager_service(manager), "former");
    struct odeon_port *kept = port_open_or_fail(former, 1 << 16, 1 << 16, false), *port;
    struct odeon_client *client;
    struct odeon_client_detail *detail = NULL;
    struct odeon_status *status;

    (void)state;
    manager_hold(manager, true);
    manager_kill(manager);
    change_word(manager, "registry", offsetof(struct registry_header, last_client) + 4, 1);
    manager_hold(manager, false);
    manager_wait_ready(manager);
    client = service_connect(manager_service(manager), "late");
    port = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    status = status_of(client);
    assert_true(status->your_id > UINT32_MAX);
    assert_int_equal(odeon_client_show(client, status->your_id, &detail), 0);
    assert_string_equal(detail->client.name, "late");
    odeon_result_free(detail);
    assert_int_equal(odeon_client_show(former, (uint32_t)status->your_id, &detail), -ENOENT);
    assert_int_equal(odeon_client_kick(former, status->your_id), 0);
    assert_int_equal(odeon_port_check(port), -EPIPE);
    assert_int_equal(odeon_port_check(kept), 0);
    odeon_result_free(status);
    odeon_client_disconnect(client);
    odeon_client_disconnect(former);
    manager_end(manager);
}

/* What 0.1 has left. */
static void test_segment_of_layout_1_is_kept(void **state)
{
    (void)state;
    refuse_and_go_on_by("segment", offsetof(struct segment_header, version),
                        (uint32_t)(5 - SEGMENT_VERSION),
                        "the segment is of layout 1 (before ABI 2), this build has layout 2");
}

/* What a build of before timers has left. */
static void test_segment_without_timers_is_kept(void **state)
{
    (void)state;
    refuse_and_go_on_by("segment", offsetof(struct segment_header, version),
                        (uint32_t)(6 - SEGMENT_VERSION),
                        "the segment is of an earlier build of layout 2, which knew less");
}

/* A setting that no executor takes, in force from the next start on: what is kept waits for a start
 * that it fits. */
static void test_wrong_settings_are_refused(void **state)
{
    static const char *const wrong[] = { COMMON,  "--plugin",      TEST_PROBE,
                                         "--set", "spin-us=never", NULL };
    struct manager *manager = start(with_probe);
    struct numbers numbers;
    char *store;

    (void)state;
    numbers_start(&numbers, manager_service(manager), 64);
    numbers_wait(&numbers, 100);
    store = manager_store_list(manager);
    manager_set_program(manager, NULL, wrong);
    assert_int_equal(manager_restart(manager), 0);
    expect_refused(manager, "the executor refuses to start: setting spin-us: 'never'", store);
    free(store);
    manager_set_program(manager, NULL, with_probe);
    assert_int_not_equal(manager_restart(manager), 0); /* it had failed, and says so */
    manager_wait_ready(manager);
    numbers_wait(&numbers, 100);
    numbers_finish(&numbers);
    manager_end(manager);
}

/* registry_layout.G7: a first start that fails, again and again, leaves nothing that a repaired one
 *     would have to go on with. */
static void test_failed_first_starts_leave_nothing(void **state)
{
    static const char *const bad[] = { COMMON, "--plugin", TEST_PLUGINS "/wrong_abi.so", NULL };
    struct manager *manager = manager_start(&(struct manager_options){ .arguments = bad });

    (void)state;
    assert_true(wait_until(manager_starts(manager) >= 3));
    manager_set_program(manager, NULL, plain);
    manager_wait_ready(manager);
    assert_int_equal(count_plugins(manager), 0);
    assert_int_equal(manager_store_count(manager, ""), 3); /* registry, segment, stats */
    manager_end(manager);
}

static void test_state_is_discarded_when_asked(void **state)
{
    static const char *const discard[] = { COMMON, "--discard-state", NULL };
    struct manager *manager = start(with_probe);
    struct odeon_client *client = service_connect(manager_service(manager), "state");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false);
    odeon_ref ref;

    (void)state;
    manager_set_program(manager, NULL, discard);
    manager_kill_and_wait(manager);
    assert_int_equal(odeon_actor_find(client, "anything", &ref), -ECONNRESET);
    assert_int_equal(odeon_port_check(port), -EPIPE);
    assert_int_equal(manager_store_count(manager, ""), 3); /* registry, segment, stats: new ones */
    odeon_client_disconnect(client);
    manager_end(manager);
}

/* ---- the store is not what it should be */

static void test_descriptors_that_are_nobodys_are_dropped(void **state)
{
    struct manager *manager = start(plain);
    int fd = memfd_create("stray", MFD_CLOEXEC);

    (void)state;
    manager_store_put(manager, "port-7-9-client", fd);
    manager_store_put(manager, "what-is-that", fd);
    close(fd);
    fd = memfd_create("stray", MFD_CLOEXEC);
    manager_store_put(manager, "plugin-99", fd);
    close(fd);
    manager_kill_and_wait(manager);
    assert_int_equal(manager_store_count(manager, ""), 3);
    manager_end(manager);
}

/* A descriptor that the service manager did not keep, for want of room, and a pipe(2) of a build
 * that still wrote into one: those ports are lost, and said to be; others live.
 */
static void test_port_with_a_missing_descriptor_is_closed(void **state)
{
    struct manager *manager = start(with_probe);
    struct odeon_client *client = service_connect(manager_service(manager), "state");
    struct odeon_port *port = port_open_or_fail(client, 0, 0, false),
                      *polled = port_open_or_fail(client, 0, 0, true);
    struct numbers numbers;
    int ends[2];

    (void)state;
    numbers_start(&numbers, manager_service(manager), 64);
    numbers_wait(&numbers, 100);
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    manager_hold(manager, true);
    manager_kill(manager);
    manager_store_drop(manager, "port-0-1-executor");
    manager_store_drop(manager, "port-1-1-in");
    manager_store_put(manager, "port-1-1-in", ends[1]);
    manager_hold(manager, false);
    manager_wait_ready(manager);
    assert_true(wait_until(odeon_port_check(port) == -EPIPE));
    assert_true(wait_until(odeon_port_check(polled) == -EPIPE));
    assert_true(service_log_has(manager_service(manager), "port 0 of client 1 is lost"));
    assert_true(service_log_has(manager_service(manager), "port 1 of client 1 is lost"));
    close(ends[0]);
    close(ends[1]);
    numbers_wait(&numbers, 100);
    numbers_finish(&numbers);
    odeon_client_disconnect(client);
    assert_true(wait_until(manager_store_count(manager, "port-") == 0));
    manager_end(manager);
}

/* A process that has the segment, as an executor has that takes long to die. It ends with the
 * descriptor. */
static pid_t hold_segment(struct manager *manager, int *ret_release)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = manager_store_get(manager, "segment"), ends[2];
    char byte;
    pid_t child;

    assert_true(fd >= 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        while (fcntl(fd, F_SETLK, &lock) < 0) /* the executor is dying */
            pause_briefly();
        if (write(ends[1], "l", 1) != 1 || read(ends[1], &byte, 1) != 0)
            _exit(1);
        _exit(0);
    }
    close(ends[1]);
    close(fd);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    *ret_release = ends[0];
    return child;
}

/* The next executor waits, says for whom, and goes on when it can. */
static void test_segment_in_use_is_waited_for(void **state)
{
    struct manager *manager = start(with_probe);
    struct service *service = manager_service(manager);
    struct numbers numbers;
    char text[96];
    int release, status;
    pid_t holder;

    (void)state;
    numbers_start(&numbers, service, 64);
    numbers_wait(&numbers, 100);
    manager_hold(manager, true);
    manager_kill(manager);
    holder = hold_segment(manager, &release);
    manager_hold(manager, false);
    snprintf(text, sizeof(text), "is in use by another executor, process %d", (int)holder);
    assert_true(wait_until(service_log_has(service, text)));
    assert_int_equal(manager_readies(manager), 1);
    close(release);
    assert_int_equal(waitpid(holder, &status, 0), holder);
    assert_int_equal(status, 0);
    manager_wait_ready(manager);
    numbers_wait(&numbers, 100);
    numbers_finish(&numbers);
    assert_int_equal(manager_starts(manager), 2);
    manager_end(manager);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_settings_behind_a_start_that_fails),
        cmocka_unit_test(test_a_reload_while_a_start_is_delayed),
        cmocka_unit_test(test_plugins),
        cmocka_unit_test(test_plugins_from_one_path),
        cmocka_unit_test(test_a_plugin_by_hand_and_by_a_line),
        cmocka_unit_test(test_a_line_that_names_another_file),
        cmocka_unit_test(test_a_line_whose_file_is_missing),
        cmocka_unit_test(test_a_repaired_plugin_is_unloaded),
        cmocka_unit_test(test_a_repaired_plugin_is_gone_on_with),
        cmocka_unit_test(test_a_repaired_plugin_of_the_configuration),
        cmocka_unit_test(test_figures_go_on),
        cmocka_unit_test(test_client_ids_have_64_bits),
        cmocka_unit_test(test_registry_of_another_layout_is_kept),
        cmocka_unit_test(test_segment_of_another_layout_is_kept),
        cmocka_unit_test(test_segment_of_layout_1_is_kept),
        cmocka_unit_test(test_segment_without_timers_is_kept),
        cmocka_unit_test(test_wrong_settings_are_refused),
        cmocka_unit_test(test_failed_first_starts_leave_nothing),
        cmocka_unit_test(test_state_is_discarded_when_asked),
        cmocka_unit_test(test_descriptors_that_are_nobodys_are_dropped),
        cmocka_unit_test(test_port_with_a_missing_descriptor_is_closed),
        cmocka_unit_test(test_segment_in_use_is_waited_for),
    };

    return cmocka_run_group_tests_name("persist_state", tests, NULL, NULL);
}
