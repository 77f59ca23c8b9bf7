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

#include "client-lib/src/connect.h"
#include "tests/system/harness.h"
#include "tests/system/probe.h"

enum { SHORT_MS = 50, RING_BYTES = 1 << 16, CALLS_MAX = 256 };

static struct service service;
static struct odeon_client *client, *other, *spare;
static struct odeon_port *port, *asking, *closing;
static struct odeon_stats *figures;
static odeon_ref ledger;
static uint32_t number_type, ask_type;
static bool executor_stands; /* else odeond does */

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
    struct odeon_client *late = NULL;
    int r;

    assert_int_equal(setenv("ODEON_TIMEOUT_MS", executor_stands ? "-1" : "50", 1), 0);
    r = odeon_client_connect(service.socket, "late", &late);
    assert_int_equal(setenv("ODEON_TIMEOUT_MS", "-1", 1), 0);
    odeon_client_disconnect(late);
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
    int r = odeon_service_status(client, &status);

    return result_of(r, status);
}

static int client_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_client_list(client, 0, 0, &list);

    return list_of(r, list);
}

static int client_show(void)
{
    struct odeon_client_detail *detail = NULL;
    int r = odeon_client_show(client, 999999, &detail);

    return result_of(r, detail);
}

static int client_kick(void)
{
    return odeon_client_kick(client, 999999);
}

/* ---- what asks the executor */

static int message_id_of_new(void)
{
    static const struct odeon_message_type types[] = {
        { .struct_size = sizeof(types[0]), .name = "late_one", .version = 1, .size = 8 },
        { .struct_size = sizeof(types[0]), .name = "late_two", .version = 1, .size = 8 },
    };
    uint32_t id;

    return odeon_message_id(client, &types[executor_stands], &id);
}

static int message_find(void)
{
    struct odeon_message_info *info = NULL;
    int r = odeon_message_find(client, "probe_number", 0, &info);

    return result_of(r, info);
}

static int actor_find(void)
{
    odeon_ref ref;

    return odeon_actor_find(client, "nobody", &ref);
}

static int actor_spawn(void)
{
    odeon_ref ref;

    return odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &ref);
}

static int actor_spawn_at(void)
{
    struct odeon_spawn_where where = { .struct_size = sizeof(where), .where = ODEON_WHERE_ANY };
    odeon_ref ref;

    return odeon_actor_spawn_at(client, "probe_echo", NULL, NULL, 0, &where, &ref);
}

static int actor_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_actor_list(client, NULL, 0, 0, &list);

    return list_of(r, list);
}

static int actor_show(void)
{
    struct odeon_actor_detail *detail = NULL;
    int r = odeon_actor_show(client, ledger, NULL, &detail);

    return result_of(r, detail);
}

static int actor_send(void)
{
    struct probe_number number = { 0 };

    return odeon_actor_send(client, ledger, "probe_number", &number, sizeof(number));
}

static int actor_stop(void)
{
    odeon_ref gone;

    assert_int_equal(odeon_ref_parse("1.1000.7", &gone), 0);
    return odeon_actor_stop(client, gone, ODEON_DELETE);
}

static int plugin_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_plugin_list(client, 0, 0, &list);

    return list_of(r, list);
}

static int plugin_load(void)
{
    return odeon_plugin_load(client, TEST_PROBE);
}

static int plugin_unload(void)
{
    return odeon_plugin_unload(client, "nobody");
}

static int type_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_type_list(client, 0, 0, &list);

    return list_of(r, list);
}

static int type_release(void)
{
    return odeon_type_release(client, "probe_echo");
}

static int executor_show(void)
{
    struct odeon_executor_info *info = NULL;
    int r = odeon_executor_show(client, &info);

    return result_of(r, info);
}

static int executor_change(void)
{
    return odeon_executor_set(client, (const char *const[]){ "throughput" },
                              (const char *const[]){ "64" }, 1, NULL);
}

static int queue_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_queue_list(client, NULL, 0, 0, &list);

    return list_of(r, list);
}

static int timer_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_timer_list(client, ODEON_NOBODY, 0, 0, &list);

    return list_of(r, list);
}

static int monitor_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_monitor_list(client, ODEON_NOBODY, 0, 0, &list);

    return list_of(r, list);
}

static int memory_show(void)
{
    struct odeon_memory *memory = NULL;
    int r = odeon_memory_show(client, NULL, &memory);

    return result_of(r, memory);
}

static int letter_list(void)
{
    struct odeon_list *list = NULL;
    int r = odeon_dead_letter_list(client, 0, 0, &list);

    return list_of(r, list);
}

static int letter_show(void)
{
    struct odeon_dead_letter_detail *detail = NULL;
    int r = odeon_dead_letter_show(client, 1, &detail);

    return result_of(r, detail);
}

static int letter_replay(void)
{
    struct odeon_dead_letters_done done = { .struct_size = sizeof(done) };

    return odeon_dead_letter_replay(client, NULL, 0, ODEON_NOBODY, &done);
}

static int letter_purge(void)
{
    struct odeon_dead_letters_done done = { .struct_size = sizeof(done) };

    return odeon_dead_letter_purge(client, NULL, 0, &done);
}

/* ---- ports */

static int open_late(void)
{
    struct odeon_port *late = NULL;

    return odeon_port_open(client, NULL, &late);
}

static int close_one(void)
{
    closing = odeon_port_close(closing);
    return 0;
}

static int port_is_told(void)
{
    return odeon_port_ref(port) == ODEON_NOBODY || odeon_port_dropped(port) != 0 ||
           odeon_port_fd(port) < 0;
}

static int port_arm(void)
{
    return odeon_port_arm(port);
}

static int port_check(void)
{
    return odeon_port_check(port);
}

/* Until the ring is full, where nobody takes anything out of it. */
static int post(void)
{
    struct probe_number number = { 0 };
    int r;

    do
        r = odeon_port_post(port, ledger, number_type, &number, sizeof(number));
    while (r == 0 && executor_stands);
    return r;
}

static int post_wait(void)
{
    struct probe_number number = { 0 };

    return odeon_port_post_wait(port, ledger, number_type, &number, sizeof(number),
                                executor_stands ? MILLISECONDS(SHORT_MS) : SECONDS(PATIENCE_S));
}

static int post_correlated(void)
{
    struct probe_number number = { 0 };

    return odeon_port_post_correlated(port, ledger, number_type, 7, &number, sizeof(number));
}

static int answer(void)
{
    const struct probe_number number = { .n = 1 };
    const struct odeon_delivery question = { .from = ledger, .correlation = 7 };

    return odeon_port_answer(port, &question, number_type, &number, sizeof(number));
}

static int post_urgent(void)
{
    struct probe_number number = { 0 };

    return odeon_port_post_urgent(port, ledger, number_type, &number, sizeof(number));
}

static int post_after(void)
{
    struct probe_number number = { 0 };

    return odeon_port_post_after(port, ledger, number_type, 0, &number, sizeof(number),
                                 SECONDS(3600));
}

static int reserve(void)
{
    void *room = odeon_port_reserve(port, ledger, number_type, sizeof(struct probe_number));

    if (!room)
        return -errno;
    memset(room, 0, sizeof(struct probe_number));
    return 0;
}

static int commit(void)
{
    return odeon_port_commit(port);
}

static int receive(void)
{
    struct odeon_delivery delivery;
    int r = odeon_port_receive(port, &delivery);

    odeon_port_release(port);
    return r;
}

static int receive_wait(void)
{
    struct odeon_delivery delivery;

    return odeon_port_receive_wait(port, &delivery, MILLISECONDS(SHORT_MS));
}

static int ask(void)
{
    struct odeon_delivery reply;
    int r = odeon_port_call(asking, ledger, ask_type, NULL, 0,
                            executor_stands ? MILLISECONDS(SHORT_MS) : SECONDS(PATIENCE_S), &reply);

    odeon_port_release(asking);
    return r;
}

/* ---- what asks nobody */

static int client_settings(void)
{
    int r = odeon_client_set_patience(client, -1);

    if (r == 0)
        r = odeon_client_set_timeout(client, MILLISECONDS(SHORT_MS));
    if (odeon_client_epoch(client) != odeon_client_epoch(other) || !odeon_error_text())
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
            odeon_stats_value(figures, -1, i) < 0)
            r = -EIO;
    (void)odeon_stats_cpu(figures, 0);
    return r;
}

static int write_and_read(void)
{
    char name[] = "n=1", hex[] = "0a", text[ODEON_REF_TEXT], described[64], byte, *quoted = NULL;
    char *words[] = { name }, *digits[] = { hex }, *printed = NULL;
    struct odeon_field field = { .struct_size = sizeof(field) };
    struct odeon_layout *layout = NULL;
    void *payload = NULL;
    size_t size = 0, n = 0;
    odeon_ref ref;
    int r = odeon_layout_parse("{ uint64_t n; }", &layout);

    if (r == 0)
        r = odeon_layout_check(layout, (uint32_t)odeon_layout_size(layout), 0);
    if (r == 0)
        r = odeon_layout_field(layout, odeon_layout_n(layout) - 1, &field);
    if (r == 0)
        r = odeon_payload_fill(layout, words, 1, 8, &payload, &size);
    if (r == 0)
        r = odeon_payload_print(layout, payload, size, ODEON_PAYLOAD_JSON, &printed);
    if (r == 0)
        r = odeon_payload_parse_hex(digits, 1, &byte, 1, &n);
    if (r == 0)
        r = odeon_ref_parse(odeon_ref_format(ledger, text), &ref);
    if (r == 0)
        r = odeon_text_quote_json("x", 1, &quoted);
    odeon_layout_describe(layout, described, sizeof(described));
    odeon_layout_free(layout);
    odeon_payload_free(payload);
    odeon_payload_free(printed);
    odeon_payload_free(quoted);
    return r;
}

static int say_in_words(void)
{
    return odeon_strerror(-EAGAIN) && odeon_reason_name(ODEON_REASON_NONE) &&
                   odeon_outcome_name(ODEON_CALL_REPLY)
               ? 0
               : -EIO;
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
    { "odeon_client_disconnect", disconnect, 0, 0 },
    { "odeon_client_set_patience", client_settings, 0, 0 },
    { "odeon_client_set_timeout", client_settings, 0, 0 },
    { "odeon_client_epoch", client_settings, 0, 0 },
    { "odeon_error_text", client_settings, 0, 0 },
    { "odeon_service_status", service_status, LATE, 0 },
    { "odeon_client_list", client_list, LATE, 0 },
    { "odeon_client_show", client_show, LATE, -ENOENT },
    { "odeon_client_kick", client_kick, LATE, -ENOENT },

    { "odeon_message_id", message_id_of_new, LATE, LATE },
    { "odeon_message_find", message_find, LATE, LATE },
    { "odeon_actor_find", actor_find, LATE, LATE },
    { "odeon_actor_spawn", actor_spawn, LATE, LATE },
    { "odeon_actor_spawn_at", actor_spawn_at, LATE, LATE },
    { "odeon_actor_list", actor_list, LATE, LATE },
    { "odeon_actor_show", actor_show, LATE, LATE },
    { "odeon_actor_send", actor_send, LATE, LATE },
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
    { "odeon_memory_show", memory_show, LATE, LATE },
    { "odeon_dead_letter_list", letter_list, LATE, LATE },
    { "odeon_dead_letter_show", letter_show, LATE, LATE },
    { "odeon_dead_letter_replay", letter_replay, LATE, LATE },
    { "odeon_dead_letter_purge", letter_purge, LATE, LATE },

    { "odeon_port_open", open_late, LATE, LATE },
    { "odeon_port_close", close_one, 0, 0 },
    { "odeon_port_ref", port_is_told, 0, 0 },
    { "odeon_port_dropped", port_is_told, 0, 0 },
    { "odeon_port_fd", port_is_told, 0, 0 },
    { "odeon_port_arm", port_arm, 0, 0 },
    { "odeon_port_check", port_check, 0, 0 },
    { "odeon_port_post", post, 0, FULL },
    { "odeon_port_post_wait", post_wait, 0, LATE },
    { "odeon_port_post_correlated", post_correlated, 0, FULL },
    { "odeon_port_answer", answer, 0, FULL },
    { "odeon_port_post_urgent", post_urgent, 0, FULL },
    { "odeon_port_post_after", post_after, 0, FULL },
    { "odeon_port_reserve", reserve, 0, FULL },
    { "odeon_port_commit", commit, 0, 0 },
    { "odeon_port_receive", receive, 0, 0 },
    { "odeon_port_receive_wait", receive_wait, 0, 0 },
    { "odeon_port_release", receive, 0, 0 },
    { "odeon_port_call", ask, ODEON_CALL_REPLY, ODEON_CALL_EXPIRED },

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
    { "odeon_stats_cpu", look_at_figures, 0, 0 },
    { "odeon_layout_parse", write_and_read, 0, 0 },
    { "odeon_layout_free", write_and_read, 0, 0 },
    { "odeon_layout_check", write_and_read, 0, 0 },
    { "odeon_layout_n", write_and_read, 0, 0 },
    { "odeon_layout_size", write_and_read, 0, 0 },
    { "odeon_layout_field", write_and_read, 0, 0 },
    { "odeon_layout_describe", write_and_read, 0, 0 },
    { "odeon_payload_fill", write_and_read, 0, 0 },
    { "odeon_payload_print", write_and_read, 0, 0 },
    { "odeon_payload_free", write_and_read, 0, 0 },
    { "odeon_payload_parse_hex", write_and_read, 0, 0 },
    { "odeon_ref_format", write_and_read, 0, 0 },
    { "odeon_ref_parse", write_and_read, 0, 0 },
    { "odeon_text_quote_json", write_and_read, 0, 0 },
    { "odeon_outcome_name", say_in_words, 0, 0 },
    { "odeon_reason_name", say_in_words, 0, 0 },
    { "odeon_strerror", say_in_words, 0, 0 },
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
    client = service_connect(&service, "impatient");
    other = service_connect(&service, "observer");
    spare = service_connect(&service, "spare");
    port = port_open_or_fail(client, RING_BYTES, RING_BYTES, true);
    asking = port_open_or_fail(client, RING_BYTES, RING_BYTES, false);
    closing = port_open_or_fail(client, RING_BYTES, RING_BYTES, false);
    (void)port_open_or_fail(spare, RING_BYTES, RING_BYTES, false);
    ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    number_type = message_id(client, odeon_message_of(probe_number));
    ask_type = message_id(client, odeon_message_of(probe_ask));
    assert_int_equal(odeon_stats_open(service.stats, &figures), 0);
}

/* A call that is to be late has little time, every other one as much as it needs. */
static void make(const struct row *row, int expected)
{
    int64_t timeout_ns = expected == LATE || row->call == close_one ? MILLISECONDS(SHORT_MS) : -1;
    char before[64];
    int r;

    assert_int_equal(odeon_client_set_timeout(client, timeout_ns), 0);
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

    assert_int_equal(odeon_client_set_timeout(client, -1), 0);
    assert_int_equal(odeon_actor_spawn(client, "probe_echo", NULL, NULL, 0, &echo), 0);
    assert_true(wait_until(odeon_port_check(port) == 0 && ports_of_client() == 2));
    figures = odeon_stats_close(figures);
    odeon_client_disconnect(client);
    odeon_client_disconnect(other);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
}

static void test_odeond_stands_still(void **state)
{
    (void)state;
    executor_stands = false;
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
    executor_stands = true;
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
    if (pthread_mutex_trylock(&client->mutex) != 0)
        return true;
    pthread_mutex_unlock(&client->mutex);
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
    executor_stands = false;
    begin();
    process_stop(service.pid);
    assert_int_equal(odeon_client_set_timeout(client, -1), 0);
    assert_int_equal(pthread_create(&thread, NULL, ask_for_ever, client), 0);
    assert_true(wait_until(is_asking()));
    for (size_t i = 0; i < N_ROWS; i++)
        make(&rows[i], rows[i].odeond);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    pthread_join(thread, &result);
    assert_ptr_equal(result, client);
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
