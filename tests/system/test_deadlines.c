/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that libodeon exports, made while odeond, or the executor, stands still: each comes
 * back, with what client.h says, and one that succeeds leaves the text of the last failure alone.
 *
 * The library's symbol map is the list: a call that is in the map and not in the table below, or
 * the other way round, fails the test. Nothing is said about how long a call takes. Requests have
 * SHORT_MS, and their text tells of that; one that does not come back at all is ended by an alarm,
 * and named.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <odeon/codec.h>
#include <odeon/names.h>
#include <odeon/observe.h>

#include "client-lib/src/connect.h"
#include "tests/system/harness.h"
#include "tests/system/late_calls.h"
#include "tests/system/probe.h"

enum { RING_BYTES = 1 << 16, CALLS_MAX = 256 };

static struct service service;
static struct odeon_client *other, *spare;
static struct odeon_stats *figures;
static struct odeon_observer *observer;

/* ---- what asks odeond alone */

static int result_of(int r, void *result)
{
    odeon_result_free(result);
    return r;
}

static int list_of(int r, struct odeon_list *list)
{
    odeon_list_free(list);
    return r;
}

static int connect_late(void)
{
    struct odeon_client *newcomer = NULL;
    int r;

    assert_int_equal(setenv("ODEON_TIMEOUT_MS", late.executor_stands ? "-1" : "50", 1), 0);
    r = odeon_client_connect(service.socket, "late", &newcomer);
    assert_int_equal(setenv("ODEON_TIMEOUT_MS", "-1", 1), 0);
    odeon_client_disconnect(newcomer);
    return r;
}

static int connect_wait(void)
{
    struct odeon_client *newcomer = NULL;
    int r = odeon_client_connect_wait(
        service.socket, "late", late.executor_stands ? -1 : MILLISECONDS(SHORT_MS), &newcomer);

    odeon_client_disconnect(newcomer);
    return r;
}

static int disconnect(void)
{
    spare = odeon_client_disconnect(spare); /* with a port of its own */
    return 0;
}

static int service_status(void)
{
    struct odeon_status *status = NULL;
    int r = odeon_service_status(late.client, &status);

    return result_of(r, status);
}

static int client_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_client_list(late.client, 0, 0, &list);

    return list_of(r, list);
}

static int user_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_user_list(late.client, 0, 0, &list);

    return list_of(r, list);
}

static int client_show(void)
{
    struct odeon_client_detail *detail = NULL;
    int r = odeon_client_show(late.client, 999999, &detail);

    return result_of(r, detail);
}

static int client_kick(void)
{
    return odeon_client_kick(late.client, 999999);
}

/* ---- what asks the executor */

static int message_id_of_new(void)
{
    static const struct odeon_message_type types[] = {
        { .struct_size = sizeof(types[0]), .name = "late_one", .version = 1, .size = 8 },
        { .struct_size = sizeof(types[0]), .name = "late_two", .version = 1, .size = 8 },
    };
    uint32_t id;

    return odeon_message_id(late.client, &types[late.executor_stands], &id);
}

static int message_find(void)
{
    struct odeon_message_info *info = NULL;
    int r = odeon_message_find(late.client, "probe_number", 0, &info);

    return result_of(r, info);
}

static int message_show(void)
{
    struct odeon_message_info *info = NULL;
    int r = odeon_message_show(late.client, late.number_type, &info);

    return result_of(r, info);
}

static int message_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_message_list(late.client, 0, 0, &list);

    return list_of(r, list);
}

static int message_detail(void)
{
    struct odeon_message_detail *detail = NULL;
    int r = odeon_message_detail(late.client, "probe_number", 0, &detail);

    return result_of(r, detail);
}

static int message_type(void)
{
    return odeon_message_type(late.client, late.number_type) ? 0 : -ENOENT;
}

static int actor_find(void)
{
    odeon_ref ref;

    return odeon_actor_find(late.client, "nobody", &ref);
}

static int actor_spawn(void)
{
    odeon_ref ref;

    return odeon_actor_spawn(late.client, "probe_echo", NULL, NULL, 0, &ref);
}

static int actor_spawn_at(void)
{
    struct odeon_spawn_where where = { .struct_size = sizeof(where), .where = ODEON_WHERE_ANY };
    odeon_ref ref;

    return odeon_actor_spawn_at(late.client, "probe_echo", NULL, NULL, 0, &where, &ref);
}

static int actor_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_actor_list(late.client, NULL, 0, 0, &list);

    return list_of(r, list);
}

static int actor_show(void)
{
    struct odeon_actor_detail *detail = NULL;
    int r = odeon_actor_show(late.client, late.ledger, NULL, &detail);

    return result_of(r, detail);
}

static int actor_send(void)
{
    struct probe_number number = { 0 };

    return odeon_actor_send(late.client, late.ledger, "probe_number", &number, sizeof(number));
}

static int actor_send_as(void)
{
    struct odeon_message_info info = { .struct_size = sizeof(info), .name = "probe_number" };
    struct probe_number number = { 0 };

    return odeon_actor_send_as(late.client, late.ledger, &info, &number, sizeof(number));
}

static int actor_stop(void)
{
    odeon_ref gone;

    assert_int_equal(odeon_ref_parse("1.1000.7", &gone), 0);
    return odeon_actor_stop(late.client, gone, ODEON_DELETE);
}

static int plugin_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_plugin_list(late.client, 0, 0, &list);

    return list_of(r, list);
}

static int plugin_load(void)
{
    return odeon_plugin_load(late.client, TEST_PROBE);
}

static int plugin_unload(void)
{
    return odeon_plugin_unload(late.client, "nobody");
}

static int type_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_type_list(late.client, 0, 0, &list);

    return list_of(r, list);
}

static int type_release(void)
{
    return odeon_type_release(late.client, "probe_echo");
}

static int executor_show(void)
{
    struct odeon_executor_info *info = NULL;
    int r = odeon_executor_show(late.client, &info);

    return result_of(r, info);
}

static int executor_change(void)
{
    return odeon_executor_set(late.client, (const char *const[]){ "throughput" },
                              (const char *const[]){ "64" }, 1, NULL);
}

static int queue_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_queue_list(late.client, NULL, 0, 0, &list);

    return list_of(r, list);
}

static int timer_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_timer_list(late.client, ODEON_NOBODY, 0, 0, &list);

    return list_of(r, list);
}

static int monitor_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_monitor_list(late.client, ODEON_NOBODY, 0, 0, &list);

    return list_of(r, list);
}

static int group_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_group_list(late.client, 0, 0, &list);

    return list_of(r, list);
}

static int member_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_group_member_list(late.client, ODEON_NOBODY, 0, 0, &list);

    return list_of(r, list);
}

static int memory_show(void)
{
    struct odeon_memory *memory = NULL;
    int r = odeon_memory_show(late.client, NULL, &memory);

    return result_of(r, memory);
}

static int letter_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_dead_letter_list(late.client, 0, 0, &list);

    return list_of(r, list);
}

static int letter_show(void)
{
    struct odeon_dead_letter_detail *detail = NULL;
    int r = odeon_dead_letter_show(late.client, 1, &detail);

    return result_of(r, detail);
}

static int letter_replay(void)
{
    struct odeon_dead_letters_done done = { .struct_size = sizeof(done) };

    return odeon_dead_letter_replay(late.client, NULL, 0, ODEON_NOBODY, &done);
}

static int letter_purge(void)
{
    struct odeon_dead_letters_done done = { .struct_size = sizeof(done) };

    return odeon_dead_letter_purge(late.client, NULL, 0, &done);
}

/* ---- what asks nobody */

static int client_settings(void)
{
    int r = odeon_client_set_patience(late.client, -1);

    if (r == 0)
        r = odeon_client_set_timeout(late.client, MILLISECONDS(SHORT_MS));
    if (odeon_client_epoch(late.client) != odeon_client_epoch(other) || !odeon_error_text())
        r = -EIO;
    return r;
}

static int free_nothing(void)
{
    odeon_list_free(NULL);
    odeon_result_free(NULL);
    return 0;
}

static int look_at_figures(void)
{
    struct odeon_stats_service state = { .struct_size = sizeof(state) };
    struct odeon_stats *second = NULL;
    int r = odeon_stats_open(service.stats, &second);

    odeon_stats_close(second);
    if (r == 0)
        r = odeon_stats_service(figures, &state);
    for (size_t i = 0; i < odeon_stats_n(figures); i++)
        if (!odeon_stats_name(figures, i) || !odeon_stats_doc(figures, i) ||
            odeon_stats_kind(figures, i) > ODEON_STATS_DERIVED ||
            odeon_stats_value(figures, -1, i) < 0 ||
            odeon_stats_block_value(figures, odeon_stats_n_blocks(figures) - 1, i) < 0)
            r = -EIO;
    (void)odeon_stats_cpu(figures, 0);
    return r;
}

/* The file was handed out before: nothing is asked. */
static int look_at_actors(void)
{
    struct odeon_list *lists[3] = { NULL };
    uint64_t all;
    int r = odeon_observe_look(observer, NULL);

    if (odeon_observe_traced(observer, NULL, &lists[0]) == 0)
        odeon_list_free(lists[0]);
    lists[0] = NULL;
    (void)odeon_observe_times(observer, 1, ODEON_TIMES_RUN, NULL, 0, &all);
    if (r == 0)
        r = odeon_observe_types(observer, 0, &lists[0]);
    if (r == 0)
        r = odeon_observe_actors(observer, ODEON_BY_RUN, &lists[1]);
    if (r == 0)
        r = odeon_observe_flows(observer, &lists[2]);
    for (size_t i = 0; i < 3; i++)
        odeon_list_free(lists[i]);
    return r;
}

static int observe_again(void)
{
    struct odeon_observer *second = NULL;
    int r = odeon_observe_open(late.client, &second);

    odeon_observe_close(second);
    return r;
}

/* ---- the table */

enum { FULL = -EAGAIN, LATE = -ETIMEDOUT };

/* In this order: a ring that is full stays so. What a call returns with odeond, and with the
 * executor, standing still. */
static const struct row {
    const char *name;
    int (*call)(void);
    int odeond, executor;
} rows[] = {
    { "odeon_client_connect", connect_late, LATE, 0 },
    { "odeon_client_connect_wait", connect_wait, LATE, 0 },
    { "odeon_client_disconnect", disconnect, 0, 0 },
    { "odeon_client_set_patience", client_settings, 0, 0 },
    { "odeon_client_set_timeout", client_settings, 0, 0 },
    { "odeon_client_epoch", client_settings, 0, 0 },
    { "odeon_error_text", client_settings, 0, 0 },
    { "odeon_service_status", service_status, LATE, 0 },
    { "odeon_client_list", client_list, LATE, 0 },
    { "odeon_user_list", user_list, LATE, 0 },
    { "odeon_client_show", client_show, LATE, -ENOENT },
    { "odeon_client_kick", client_kick, LATE, -ENOENT },

    { "odeon_message_id", message_id_of_new, LATE, LATE },
    { "odeon_message_show", message_show, LATE, LATE },
    { "odeon_message_type", message_type, 0, 0 },
    { "odeon_message_find", message_find, LATE, LATE },
    { "odeon_message_list", message_list, LATE, LATE },
    { "odeon_message_detail", message_detail, LATE, LATE },
    { "odeon_actor_find", actor_find, LATE, LATE },
    { "odeon_actor_spawn", actor_spawn, LATE, LATE },
    { "odeon_actor_spawn_at", actor_spawn_at, LATE, LATE },
    { "odeon_actor_list", actor_list, LATE, LATE },
    { "odeon_actor_show", actor_show, LATE, LATE },
    { "odeon_actor_send", actor_send, LATE, LATE },
    { "odeon_actor_send_as", actor_send_as, LATE, LATE },
    { "odeon_actor_stop", actor_stop, LATE, LATE },
    { "odeon_plugin_list", plugin_list, LATE, LATE },
    { "odeon_plugin_load", plugin_load, LATE, LATE },
    { "odeon_plugin_unload", plugin_unload, LATE, LATE },
    { "odeon_type_list", type_list, LATE, LATE },
    { "odeon_type_release", type_release, LATE, LATE },
    { "odeon_executor_show", executor_show, LATE, LATE },
    { "odeon_executor_set", executor_change, LATE, LATE },
    { "odeon_queue_list", queue_list, LATE, LATE },
    { "odeon_timer_list", timer_list, LATE, LATE },
    { "odeon_monitor_list", monitor_list, LATE, LATE },
    { "odeon_group_list", group_list, LATE, LATE },
    { "odeon_group_member_list", member_list, LATE, LATE },
    { "odeon_memory_show", memory_show, LATE, LATE },
    { "odeon_dead_letter_list", letter_list, LATE, LATE },
    { "odeon_dead_letter_show", letter_show, LATE, LATE },
    { "odeon_dead_letter_replay", letter_replay, LATE, LATE },
    { "odeon_dead_letter_purge", letter_purge, LATE, LATE },

    { "odeon_port_open", late_open_late, LATE, LATE },
    { "odeon_port_close", late_close_one, 0, 0 },
    { "odeon_port_ref", late_port_is_told, 0, 0 },
    { "odeon_port_register", late_port_register, LATE, LATE },
    { "odeon_port_dropped", late_port_is_told, 0, 0 },
    { "odeon_port_fd", late_port_is_told, 0, 0 },
    { "odeon_port_arm", late_port_arm, 0, 0 },
    { "odeon_port_arm_room", late_port_arm_room, 0, 0 },
    { "odeon_port_figures", late_port_figures, 0, 0 },
    { "odeon_port_closed", late_port_closed, 0, 0 },
    { "odeon_port_closed_name", late_say_in_words, 0, 0 },
    { "odeon_port_check", late_port_check, 0, 0 },
    { "odeon_port_post", late_post, 0, FULL },
    { "odeon_port_post_wait", late_post_wait, 0, LATE },
    { "odeon_port_post_correlated", late_post_correlated, 0, FULL },
    { "odeon_port_answer", late_answer, 0, FULL },
    { "odeon_port_post_urgent", late_post_urgent, 0, FULL },
    { "odeon_port_post_after", late_post_after, 0, FULL },
    { "odeon_port_monitor", late_port_monitor, 0, FULL },
    { "odeon_port_demonitor", late_port_demonitor, 0, FULL },
    { "odeon_port_post_with", late_post_with, 0, LATE },
    { "odeon_port_timeout", late_next_deadline, 0, 0 },
    { "odeon_port_forget", late_forget, 0, 0 },
    { "odeon_port_reserve", late_reserve, 0, FULL },
    { "odeon_port_reserve_with", late_reserve_with, 0, FULL },
    { "odeon_port_commit", late_commit, 0, 0 },
    { "odeon_port_receive", late_receive, 0, 0 },
    { "odeon_port_receive_many", late_receive_many, 0, 0 },
    { "odeon_port_release_until", late_receive_many, 0, 0 },
    { "odeon_port_receive_wait", late_receive_wait, 0, 0 },
    { "odeon_port_release", late_receive, 0, 0 },
    { "odeon_port_call", late_ask, ODEON_CALL_REPLY, ODEON_CALL_EXPIRED },
    { "odeon_port_call_with", late_ask_urgently, ODEON_CALL_REPLY, ODEON_CALL_EXPIRED },

    { "odeon_helper_new", late_have_help, 0, 0 },
    { "odeon_helper_free", late_have_help, 0, 0 },
    { "odeon_helper_fd", late_have_help, 0, 0 },
    { "odeon_helper_call", late_have_help, 0, 0 },
    { "odeon_helper_dispatch", late_have_help, 0, 0 },
    { "odeon_list_free", free_nothing, 0, 0 },
    { "odeon_result_free", free_nothing, 0, 0 },
    { "odeon_stats_open", look_at_figures, 0, 0 },
    { "odeon_stats_close", look_at_figures, 0, 0 },
    { "odeon_stats_service", look_at_figures, 0, 0 },
    { "odeon_stats_n", look_at_figures, 0, 0 },
    { "odeon_stats_name", look_at_figures, 0, 0 },
    { "odeon_stats_doc", look_at_figures, 0, 0 },
    { "odeon_stats_kind", look_at_figures, 0, 0 },
    { "odeon_stats_value", look_at_figures, 0, 0 },
    { "odeon_stats_n_blocks", look_at_figures, 0, 0 },
    { "odeon_stats_block_value", look_at_figures, 0, 0 },
    { "odeon_stats_cpu", look_at_figures, 0, 0 },
    { "odeon_observe_open", observe_again, LATE, 0 },
    { "odeon_observe_close", observe_again, LATE, 0 },
    { "odeon_observe_look", look_at_actors, 0, 0 },
    { "odeon_observe_types", look_at_actors, 0, 0 },
    { "odeon_observe_times", look_at_actors, 0, 0 },
    { "odeon_observe_actors", look_at_actors, 0, 0 },
    { "odeon_observe_flows", look_at_actors, 0, 0 },
    { "odeon_observe_traced", look_at_actors, 0, 0 },
    { "odeon_layout_parse", late_write_and_read, 0, 0 },
    { "odeon_layout_free", late_write_and_read, 0, 0 },
    { "odeon_layout_check", late_write_and_read, 0, 0 },
    { "odeon_layout_n", late_write_and_read, 0, 0 },
    { "odeon_layout_size", late_write_and_read, 0, 0 },
    { "odeon_layout_field", late_write_and_read, 0, 0 },
    { "odeon_layout_describe", late_write_and_read, 0, 0 },
    { "odeon_payload_fill", late_write_and_read, 0, 0 },
    { "odeon_payload_print", late_write_and_read, 0, 0 },
    { "odeon_payload_free", late_write_and_read, 0, 0 },
    { "odeon_payload_parse_hex", late_write_and_read, 0, 0 },
    { "odeon_ref_format", late_write_and_read, 0, 0 },
    { "odeon_ref_parse", late_write_and_read, 0, 0 },
    { "odeon_text_quote_json", late_write_and_read, 0, 0 },
    { "odeon_outcome_name", late_say_in_words, 0, 0 },
    { "odeon_reason_name", late_say_in_words, 0, 0 },
    { "odeon_strerror", late_say_in_words, 0, 0 },
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

static bool is_in_the_table(const char *name)
{
    for (size_t i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return true;
    return false;
}

static void test_every_call_has_a_row(void **state)
{
    char line[256], name[128], end;
    FILE *map = fopen(TEST_MAP, "re");
    size_t n = 0;

    (void)state;
    assert_non_null(map);
    while (fgets(line, sizeof(line), map))
        if (sscanf(line, " %127[a-z_] %c", name, &end) == 2 && end == ';' &&
            strncmp(name, "odeon_", 6) == 0) {
            if (!is_in_the_table(name))
                fail_msg("%s is exported, and has no row here", name);
            n++;
        }
    fclose(map);
    assert_int_equal(n, N_ROWS); /* and no row has another call, or the same one twice */
}

/* ---- the scenes */

static const char *volatile called;

static void on_alarm(int signal)
{
    (void)signal;
    (void)!write(STDERR_FILENO, called, strlen(called));
    (void)!write(STDERR_FILENO, " does not come back\n", 20);
    _exit(EXIT_FAILURE);
}

static void begin(void)
{
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "plugin-load-ms=3600000",
                                                   "--plugin", TEST_PROBE, NULL });
    assert_int_equal(setenv("ODEON_TIMEOUT_MS", "-1", 1), 0); /* no call ends by a default */
    late.client = service_connect(&service, "impatient");
    other = service_connect(&service, "observer");
    spare = service_connect(&service, "spare");
    late.port = port_open_or_fail(late.client, RING_BYTES, RING_BYTES, true);
    late.asking = port_open_or_fail(late.client, RING_BYTES, RING_BYTES, false);
    late.closing = port_open_or_fail(late.client, RING_BYTES, RING_BYTES, false);
    (void)port_open_or_fail(spare, RING_BYTES, RING_BYTES, false);
    late.ledger = spawn(late.client, "probe_ledger", NULL, NULL, 0);
    late.number_type = message_id(late.client, odeon_message_of(probe_number));
    late.ask_type = message_id(late.client, odeon_message_of(probe_ask));
    assert_int_equal(odeon_stats_open(service.stats, &figures), 0);
    assert_int_equal(odeon_observe_open(late.client, &observer), 0);
}

/* A call that is to be late has little time, every other one as much as it needs. */
static void make(const struct row *row, int expected)
{
    int64_t timeout_ns =
        expected == LATE || row->call == late_close_one ? MILLISECONDS(SHORT_MS) : -1;
    char before[64];
    int r;

    assert_int_equal(odeon_client_set_timeout(late.client, timeout_ns), 0);
    assert_int_equal(odeon_actor_find(NULL, row->name, NULL), -EINVAL);
    snprintf(before, sizeof(before), "%s", odeon_error_text());
    called = row->name;
    alarm(PATIENCE_S);
    r = row->call();
    alarm(0);
    if (r != expected)
        fail_msg("%s: %d instead of %d: %s", row->name, r, expected, odeon_error_text());
    if (r == 0 && strcmp(odeon_error_text(), before) != 0)
        fail_msg("%s has succeeded, and says: %s", row->name, odeon_error_text());
    if (r < 0 && strcmp(odeon_error_text(), before) == 0)
        fail_msg("%s has failed, and says nothing", row->name);
}

static uint32_t ports_of_client(void)
{
    struct odeon_list *list = NULL;
    uint32_t n = UINT32_MAX;

    assert_int_equal(odeon_client_list(other, 0, 0, &list), 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_client_info *info = &((const struct odeon_client_info *)list->rows)[i];

        if (strcmp(info->name, "impatient") == 0)
            n = info->ports;
    }
    odeon_list_free(list);
    return n;
}

/* What came too late is nobody's; everything else goes on. */
static void end(void)
{
    odeon_ref echo;

    assert_int_equal(odeon_client_set_timeout(late.client, -1), 0);
    assert_int_equal(odeon_actor_spawn(late.client, "probe_echo", NULL, NULL, 0, &echo), 0);
    assert_true(wait_until(odeon_port_check(late.port) == 0 && ports_of_client() == 2));
    figures = odeon_stats_close(figures);
    observer = odeon_observe_close(observer);
    odeon_client_disconnect(late.client);
    odeon_client_disconnect(other);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

static void test_odeond_stands_still(void **state)
{
    (void)state;
    late.executor_stands = false;
    begin();
    process_stop(service.pid);
    for (size_t i = 0; i < N_ROWS; i++)
        make(&rows[i], rows[i].odeond);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    end();
}

static void test_the_executor_stands_still(void **state)
{
    pid_t executor;

    (void)state;
    late.executor_stands = true;
    begin();
    executor = service_executor(&service);
    process_stop(executor);
    for (size_t i = 0; i < N_ROWS; i++)
        make(&rows[i], rows[i].executor);
    assert_int_equal(kill(executor, SIGCONT), 0);
    end();
}

static void *ask_for_ever(void *argument)
{
    struct odeon_status *status = NULL;
    int r = odeon_service_status(argument, &status);

    return result_of(r, status) == 0 ? argument : NULL;
}

static bool is_asking(void)
{
    if (pthread_mutex_trylock(&late.client->mutex) != 0)
        return true;
    pthread_mutex_unlock(&late.client->mutex);
    return false;
}

/* The same beside a thread that has put no end to its own request: what asks waits for its turn no
 * longer than it would for the service, and what asks nobody does not wait for it. The port that is
 * closed meanwhile is closed behind it. */
static void test_another_thread_asks_for_ever(void **state)
{
    pthread_t thread;
    void *result;

    (void)state;
    late.executor_stands = false;
    begin();
    process_stop(service.pid);
    assert_int_equal(odeon_client_set_timeout(late.client, -1), 0);
    assert_int_equal(pthread_create(&thread, NULL, ask_for_ever, late.client), 0);
    assert_true(wait_until(is_asking()));
    for (size_t i = 0; i < N_ROWS; i++)
        make(&rows[i], rows[i].odeond);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    pthread_join(thread, &result);
    assert_ptr_equal(result, late.client);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call_has_a_row),
        cmocka_unit_test(test_odeond_stands_still),
        cmocka_unit_test(test_the_executor_stands_still),
        cmocka_unit_test(test_another_thread_asks_for_ever),
    };

    (void)signal(SIGALRM, on_alarm);
    return cmocka_run_group_tests_name("deadlines", tests, NULL, NULL);
}
