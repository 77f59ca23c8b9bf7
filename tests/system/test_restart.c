/* SPDX-License-Identifier: Apache-2.0 */
/* The executor dies, by kill or by a handler's crash, and everything goes on. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/numbers.h"
#include "tests/system/picky.h"
#include "tests/system/probe.h"

static void start(struct service *service)
{
    service_start(service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "restart-delay-max-ms=20", "--set",
                                         "stall-warn-ms=0", "--plugin", TEST_PROBE, NULL });
}

static void end(struct service *service)
{
    assert_int_equal(service_stop(service, SIGTERM), 0);
    service_end(service);
}

/* Ids are asked for before the executor is disturbed: a request that a crash interrupts is an error
 * that says so. */
static struct probe_told ask(struct odeon_port *port, odeon_ref ledger, uint32_t ask_type)
{
    struct odeon_delivery reply;
    struct probe_told told;

    assert_int_equal(odeon_port_call(port, ledger, ask_type, NULL, 0, SECONDS(PATIENCE_S), &reply),
                     ODEON_CALL_REPLY);
    memcpy(&told, reply.data, sizeof(told));
    odeon_port_release(port);
    return told;
}

/* Each step of the last start, in its order. That odeond has forked is known to odeond a little
 * after the process runs. */
static void assert_steps_in_order(const struct odeon_stats_service *state)
{
    const uint64_t steps[] = { state->start_noticed_ns,  state->start_entered_ns,
                               state->start_placed_ns,   state->start_mapped_ns,
                               state->start_verified_ns, state->start_recovered_ns,
                               state->start_loaded_ns,   state->executor_started_ns };

    assert_true(steps[0] > 0 && steps[0] <= state->start_forked_ns);
    for (size_t i = 1; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i - 1] > steps[i])
            fail_msg("step %zu at %llu ns, the next one at %llu", i,
                     (unsigned long long)steps[i - 1], (unsigned long long)steps[i]);
}

static void test_ports_live_on_over_kills(void **state)
{
    enum { KILLS = 10 };
    struct odeon_stats_service after;
    struct numbers numbers;
    struct service service;

    (void)state;
    start(&service);
    numbers_start(&numbers, &service, 1000);
    for (int i = 0; i < KILLS; i++) {
        pid_t executor;

        numbers_wait(&numbers, 2000);
        executor = service_executor(&service);
        assert_int_equal(kill(executor, SIGKILL), 0);
        service_wait_executor(&service, executor);
    }
    numbers_wait(&numbers, 2000);
    numbers_finish(&numbers);
    after = service_state(&service);
    assert_steps_in_order(&after);
    assert_int_equal(after.executor_restarts, KILLS);
    assert_int_equal(service_state(&service).boots, KILLS + 1);
    print_message(
        "# over %d kills: redeliveries %llu, running handlers %llu, unflushed outboxes %llu\n",
        KILLS, (unsigned long long)service_state(&service).recovered_redeliveries,
        (unsigned long long)service_state(&service).recovered_running_handlers,
        (unsigned long long)service_state(&service).recovered_unflushed_outboxes);
    end(&service);
}

/* While there is no executor: posting goes on until the ring is full, and all that was posted is
 * processed afterwards.
 */
static void test_posting_goes_on_without_an_executor(void **state)
{
    struct odeon_client *client;
    struct odeon_port *port;
    struct probe_number number = { 0 };
    struct service service;
    odeon_ref echo;
    uint32_t type;
    pid_t executor;
    uint64_t posted = 0;

    (void)state;
    start(&service);
    client = service_connect(&service, "restart");
    type = message_id(client, odeon_message_of(probe_number));
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    port = port_open_or_fail(client, 1 << 16, 1 << 20, false);
    executor = service_executor(&service);
    /* the supervisor stands still while the executor is dead: nobody starts another one */
    process_stop(service.pid);
    assert_int_equal(kill(executor, SIGKILL), 0);
    while (odeon_port_post(port, echo, type, &number, sizeof(number)) == 0)
        number.n = ++posted;
    assert_true(posted >= (1 << 16) / 48);
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    for (uint64_t n = 0; n < posted; n++) {
        struct odeon_delivery delivery;

        assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(delivery.type, type);
        assert_int_equal(((const struct probe_number *)delivery.data)->n, n);
        odeon_port_release(port);
    }
    service_wait_executor(&service, executor);
    /* requests on the control connection go on, too; what clients registered is still there */
    assert_int_equal(odeon_actor_stop(client, echo, ODEON_DELETE), 0);
    odeon_client_disconnect(client);
    end(&service);
}

/* Killed while its handler runs: the message is run again, and the handler can know. */
static void test_running_message_is_redelivered(void **state)
{
    /* the first time: longer than the test */
    struct probe_work work = { .ns = 600 * UINT64_C(1000000000), .n = 1 };
    struct probe_number number = { .n = 5 };
    struct odeon_client *client;
    struct odeon_port *port;
    struct service service;
    odeon_ref ledger;
    uint32_t ask_type;
    pid_t executor;

    (void)state;
    start(&service);
    client = service_connect(&service, "restart");
    ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    port = port_open_or_fail(client, 0, 0, false);
    ask_type = message_id(client, odeon_message_of(probe_ask));
    assert_int_equal(ask(port, ledger, ask_type).count, 0);
    assert_int_equal(odeon_port_post(port, ledger, message_id(client, odeon_message_of(probe_work)),
                                     &work, sizeof(work)),
                     0);
    assert_int_equal(odeon_port_post(port, ledger,
                                     message_id(client, odeon_message_of(probe_number)), &number,
                                     sizeof(number)),
                     0);
    assert_true(wait_until(service_log_has(&service, "work 1 has begun")));
    executor = service_executor(&service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&service, executor);
    struct probe_told told = ask(port, ledger, ask_type);
    assert_int_equal(told.count, 1); /* fresh state, and the message behind the work */
    assert_int_equal(told.sum, 5);
    assert_int_equal(told.inits, 1);
    assert_int_equal(told.redelivered, 1);
    assert_int_equal(service_state(&service).recovered_running_handlers, 1);
    assert_int_equal(service_figure(&service, "redeliveries"), 1);
    odeon_client_disconnect(client);
    end(&service);
}

/* The whole story of a handler that crashes each time: attributed, tried three times, put away;
 * others do not notice more than the pause. */
static void test_crashing_handler_is_attributed_and_its_message_put_away(void **state)
{
    struct odeon_client *client;
    struct odeon_port *port;
    struct odeon_delivery delivery;
    struct numbers numbers;
    struct service service;
    uint32_t crash_type, ok_type;
    odeon_ref crasher;
    uint64_t dead;

    (void)state;
    start(&service);
    client = service_connect(&service, "restart");
    /* at run time: the restarted executors must get it again */
    load_plugin(client, TEST_PLUGINS "/crasher.so");
    numbers_start(&numbers, &service, 64);
    numbers_wait(&numbers, 100);
    crasher = spawn(client, "crasher", "crasher", NULL, 0);
    port = port_open_or_fail(client, 0, 0, false);
    dead = service_figure(&service, "dead_letters");
    static const struct odeon_message_type
        crash = { .struct_size = sizeof(crash), .version = 1, .name = "crash", .fields = "" },
        ok = { .struct_size = sizeof(ok), .version = 1, .name = "ok", .fields = "" };
    crash_type = message_id(client, &crash);
    ok_type = message_id(client, &ok);
    assert_int_equal(odeon_port_post_correlated(port, crasher, crash_type, 77, NULL, 0), 0);
    assert_int_equal(odeon_port_post(port, crasher, ok_type, NULL, 0), 0);

    /* what was posted is refused in the end, and what came behind it is handled */
    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
    assert_int_equal(delivery.correlation, 77);
    assert_int_equal(((const struct odeon_refusal *)delivery.data)->reason, ODEON_REASON_ATTEMPTS);
    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.size, sizeof(uint64_t));
    odeon_port_release(port);

    numbers_wait(&numbers, 100);
    numbers_finish(&numbers);
    assert_true(
        wait_until(service_log_count(&service, "plugin crasher crashed: actor type crasher") == 3));
    assert_int_equal(service_log_count(&service, "message crash,"), 3);
    assert_int_equal(service_log_count(&service, "signal SIGSEGV"), 3);
    assert_int_equal(
        service_log_count(&service, "attempt 3 of 3: the message is a dead letter now"), 1);
    assert_int_equal(service_figure(&service, "dead_letters"), dead + 1);
    assert_int_equal(service_figure(&service, "faults"), 3);
    assert_int_equal(service_state(&service).executor_restarts, 3);
    odeon_client_disconnect(client);
    end(&service);
}

/* Crashes once or twice and then works: run, not put away. */
static void test_crash_that_passes_is_survived(void **state)
{
    struct probe_crash crash = { .attempts = 2 };
    struct odeon_client *client;
    struct odeon_port *port;
    struct service service;
    odeon_ref ledger;
    uint32_t ask_type;

    (void)state;
    start(&service);
    client = service_connect(&service, "restart");
    ask_type = message_id(client, odeon_message_of(probe_ask));
    ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    port = port_open_or_fail(client, 0, 0, false);
    assert_int_equal(odeon_port_post(port, ledger,
                                     message_id(client, odeon_message_of(probe_crash)), &crash,
                                     sizeof(crash)),
                     0);
    struct probe_told told = ask(port, ledger, ask_type);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.redelivered, 1);
    assert_int_equal(told.attempts, 2);
    assert_int_equal(service_figure(&service, "dead_letters"), 0);
    assert_int_equal(service_state(&service).executor_restarts, 2);
    assert_true(service_log_has(&service, "attempt 2 of 3: it will be tried again"));
    odeon_client_disconnect(client);
    end(&service);
}

/* Actors that cannot even begin do not make the service loop for ever. */
static void test_crash_in_init_ends_the_actor(void **state)
{
    static struct odeon_message_type ok = {
        .struct_size = sizeof(ok), .version = 1, .name = "ok", .fields = ""
    };
    struct odeon_client *client;
    struct odeon_port *port;
    struct odeon_delivery delivery;
    struct numbers numbers;
    struct service service;
    odeon_ref ref = ODEON_NOBODY;
    uint32_t ok_type;
    unsigned spawned = 0;
    int r;

    (void)state;
    start(&service);
    client = service_connect(&service, "restart");
    load_plugin(client, TEST_PLUGINS "/crash_in_init.so");
    ok_type = message_id(client, &ok);
    numbers_start(&numbers, &service, 64);
    port = port_open_or_fail(client, 0, 0, false);
    /* its init may crash the executor before that has answered: then nobody knows the actor's
     * reference, and another one is made */
    do {
        r = odeon_actor_spawn(client, "crash_in_init", NULL, NULL, 0, &ref);
        assert_true(r == 0 || r == -ECONNRESET);
    } while (++spawned < 10 && r < 0);
    assert_int_equal(r, 0);
    assert_int_equal(odeon_port_post(port, ref, ok_type, NULL, 0), 0);
    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
    numbers_wait(&numbers, 100);
    numbers_finish(&numbers);
    assert_true(
        service_log_has(&service, "plugin crash_in_init crashed: actor type crash_in_init"));
    assert_true(service_state(&service).executor_restarts <= 6 * spawned);
    odeon_client_disconnect(client);
    end(&service);
}

/* Within the time that it has. A machine may take that from it: then it is ended, which is right,
 * but not before that time is over. */
static bool loads_in_time(struct odeon_client *client, const char *path, unsigned limit_ms)
{
    int64_t asked_ns = time_ns();
    int r = odeon_plugin_load(client, path);

    if (r == -ETIMEDOUT)
        assert_true(time_ns() - asked_ns >= MILLISECONDS(limit_ms));
    else if (r < 0)
        fail_msg("loading %s: %s", path, odeon_error_text());
    return r == 0;
}

/* Until it is. How many executors have been ended over it before that. */
static unsigned load_in_time(struct odeon_client *client, const char *path, unsigned limit_ms)
{
    unsigned late = 0;

    assert_true(wait_until(loads_in_time(client, path, limit_ms) || (late++, false)));
    return late;
}

/* No service manager watches here. */
static void test_hang_in_load_ends_the_executor(void **state)
{
    struct odeon_list *list = NULL;
    struct service service;
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref ledger;
    uint32_t ask_type;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--set", "plugin-load-ms=100",
                                                   "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "restart");
    port = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    ask_type = message_id(client, odeon_message_of(probe_ask));
    assert_int_equal(odeon_plugin_load(client, TEST_PLUGINS "/hang_in_load.so"), -ETIMEDOUT);
    assert_non_null(strstr(odeon_error_text(), "have not returned within 100 ms"));
    assert_true(wait_until(service_state(&service).executor_restarts == 1));
    assert_int_equal(ask(port, ledger, ask_type).count, 0);
    /* it is not there, and the next one is loaded as ever */
    assert_int_equal(odeon_plugin_list(client, 0, 0, &list), 0);
    assert_int_equal(list->n, 1);
    odeon_list_free(list);
    (void)load_in_time(client, TEST_PLUGINS "/good.so", 100);
    odeon_port_close(port);
    odeon_client_disconnect(client);
    end(&service);
}

static void *load_hanging(void *argument)
{
    return (void *)(intptr_t)odeon_plugin_load(argument, TEST_PLUGINS "/hang_in_load.so");
}

/* A plugin that waits behind one that hangs has not been begun, and is not what the executor has
 * died of. */
static void test_who_waits_behind_a_hang_is_not_blamed(void **state)
{
    struct odeon_client *client, *other;
    struct service service;
    pthread_t thread;
    void *result;
    int64_t later;
    int r;

    (void)state;
    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "plugin-load-ms=300", NULL });
    client = service_connect(&service, "hangs");
    other = service_connect(&service, "waits");
    assert_int_equal(pthread_create(&thread, NULL, load_hanging, client), 0);
    later = time_ns() + MILLISECONDS(100);
    while (time_ns() < later)
        pause_briefly();
    r = odeon_plugin_load(other, TEST_PLUGINS "/good.so");
    assert_int_equal(pthread_join(thread, &result), 0);
    /* it may have been first, and a machine may have taken its time */
    assert_true((intptr_t)result == -ETIMEDOUT || r == -ETIMEDOUT);
    assert_true(r == 0 || r == -ECONNRESET || r == -ETIMEDOUT);
    assert_false(service_log_has(&service, "had asked for it"));
    odeon_client_disconnect(client);
    odeon_client_disconnect(other);
    end(&service);
}

static void *load_deadly(void *argument)
{
    return (void *)(intptr_t)odeon_plugin_load(argument, TEST_PLUGINS "/crash_in_load.so");
}

/* Who has asked for it is told what it was, others that the executor was restarted, or nothing. */
static void test_death_in_load_is_told(void **state)
{
    struct odeon_list *list = NULL;
    struct odeon_client *client, *other;
    struct service service;
    pthread_t thread;
    pid_t executor;
    void *result;
    int r;

    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, NULL });
    client = service_connect(&service, "restart");
    other = service_connect(&service, "other");
    assert_int_equal(odeon_plugin_load(client, TEST_PLUGINS "/crash_in_load.so"), -EINVAL);
    assert_non_null(strstr(odeon_error_text(), "crash_in_load.so: the executor has died ("));
    assert_non_null(strstr(odeon_error_text(), "while its constructors and its start ran"));
    assert_true(service_log_has(&service, "had asked for it"));
    assert_true(wait_until(service_state(&service).executor_restarts == 1));
    assert_int_equal(odeon_plugin_list(client, 0, 0, &list), 0);
    assert_int_equal(list->n, 0);
    odeon_list_free(list);
    /* another one behind it is not blamed */
    assert_int_equal(pthread_create(&thread, NULL, load_deadly, client), 0);
    r = odeon_plugin_load(other, TEST_PLUGINS "/good.so");
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_int_equal((intptr_t)result, -EINVAL);
    assert_true(r == 0 || r == -ECONNRESET);
    /* a later end is nobody's fault */
    assert_true(wait_until(service_state(&service).executor_restarts == 2));
    service_wait_executor(&service, 0);
    executor = service_executor(&service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    assert_true(wait_until(service_state(&service).executor_restarts == 3));
    assert_int_equal(service_log_count(&service, "had asked for it"), 2);
    odeon_client_disconnect(client);
    odeon_client_disconnect(other);
    end(&service);
}

/* Who asks for a plugin while an executor starts waits for it, and what the start takes, which is
 * longer than one may each time, is not what that plugin takes. */
static void test_slow_start_is_no_hang(void **state)
{
    enum { LIMIT_MS = 5000 };
    struct service service;
    struct odeon_client *client;
    pid_t executor;
    unsigned late;

    (void)state;
    service_make_dir(&service);
    service_spawn(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "plugin-load-ms=5000", "--plugin",
                                         TEST_PLUGINS "/slow_in_load.so", NULL });
    assert_true(wait_until(odeon_client_connect(service.socket, "early", &client) == 0));
    assert_int_equal(odeon_client_set_patience(client, SECONDS(PATIENCE_S)), 0);
    late = load_in_time(client, TEST_PLUGINS "/good.so", LIMIT_MS);
    service_wait_ready(&service);
    executor = service_executor(&service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    assert_true(wait_until(service_state(&service).executor_restarts == late + 1));
    late += load_in_time(client, TEST_TICKER, LIMIT_MS);
    service_wait_executor(&service, executor);
    assert_int_equal(service_state(&service).executor_restarts, late + 1);
    odeon_client_disconnect(client);
    end(&service);
}

static void *load_slow(void *argument)
{
    return (void *)(intptr_t)odeon_plugin_load(argument, TEST_PLUGINS "/slow_in_load.so");
}

/* False: a machine has taken so much of its time from one of them that it was ended. */
static bool slow_ones_have_their_turns(void)
{
    struct odeon_client *clients[2];
    struct service service;
    pthread_t first;
    void *result;
    bool late;
    int r;

    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "plugin-load-ms=10000", NULL });
    for (unsigned i = 0; i < 2; i++)
        clients[i] = service_connect(&service, "slow");
    assert_int_equal(pthread_create(&first, NULL, load_slow, clients[0]), 0);
    r = odeon_plugin_load(clients[1], TEST_PLUGINS "/slow_too.so");
    assert_int_equal(pthread_join(first, &result), 0);
    late = r == -ETIMEDOUT || (intptr_t)result == -ETIMEDOUT;
    if (!late) {
        assert_int_equal(r, 0);
        assert_int_equal((intptr_t)result, 0);
        assert_int_equal(service_state(&service).executor_restarts, 0);
    }
    for (unsigned i = 0; i < 2; i++)
        odeon_client_disconnect(clients[i]);
    end(&service);
    return !late;
}

/* Together they take longer than one may: the second has its time when the first is done. */
static void test_slow_ones_have_their_turns(void **state)
{
    (void)state;
    assert_true(wait_until(slow_ones_have_their_turns()));
}

/* Until the executor that serves has been started again so often, and not once more. */
static void kill_until_restarts(struct service *service, uint64_t restarts)
{
    pid_t executor = service_executor(service);

    assert_int_equal(kill(executor, SIGKILL), 0);
    assert_true(wait_until(service_state(service).executor_restarts >= restarts));
    service_wait_executor(service, executor);
    assert_int_equal(service_state(service).executor_restarts, restarts);
}

static bool plugin_is_listed(struct odeon_client *client, const char *name)
{
    struct odeon_list *list = NULL;
    bool listed = false;

    assert_int_equal(odeon_plugin_list(client, 0, 0, &list), 0);
    for (size_t i = 0; i < list->n; i++)
        listed |= strcmp(((const struct odeon_plugin_info *)list->rows)[i].name, name) == 0;
    odeon_list_free(list);
    return listed;
}

/* A plugin that restarts have refused is replaced by the one that is loaded by hand, in what later
 * restarts load, too. */
static void test_a_refused_plugin_is_replaced(void **state)
{
    struct odeon_client *client;
    struct service service;
    char path[128];
    FILE *file;

    (void)state;
    service_make_dir(&service);
    snprintf(path, sizeof(path), "%s/refuses", service.dir);
    assert_int_equal(setenv("PICKY_FILE", path, 1), 0);
    service_spawn(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "restart-delay-max-ms=20", NULL });
    service_wait_ready(&service);
    client = service_connect(&service, "restart");
    load_plugin(client, TEST_PICKY);
    file = fopen(path, "we");
    assert_non_null(file);
    fclose(file);
    /* twice it may lack memory alone; then the service goes on without it */
    kill_until_restarts(&service, 3);
    assert_false(plugin_is_listed(client, "picky"));
    assert_int_equal(unlink(path), 0);
    load_plugin(client, TEST_PICKY);
    kill_until_restarts(&service, 4);
    assert_true(plugin_is_listed(client, "picky"));
    assert_false(service_log_has(&service, "a plugin named picky is loaded already"));
    assert_int_equal(unload_plugin(client, "picky"), 0);
    kill_until_restarts(&service, 5);
    assert_false(plugin_is_listed(client, "picky"));
    assert_int_equal(unsetenv("PICKY_FILE"), 0);
    odeon_client_disconnect(client);
    end(&service);
}

static void refuse(const char *path, unsigned mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    close(fd);
}

/* An executor that has refused a plugin runs nothing until odeond has said whether it goes without
 * it, however long that takes: what waits for the plugin's actors is there for the next start,
 * which may have the memory that this one lacked. */
static void test_what_waits_for_a_refused_plugin(void **state)
{
    enum { PINGS = 20, LOOKS = 100 };
    struct odeon_client *client;
    struct odeon_port *port;
    struct service service;
    odeon_ref picky;
    uint32_t ping;
    char path[128];

    (void)state;
    service_make_dir(&service);
    snprintf(path, sizeof(path), "%s/refuses", service.dir);
    assert_int_equal(setenv("PICKY_FILE", path, 1), 0);
    service_spawn(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "restart-delay-max-ms=20",
                                         "--plugin", TEST_PROBE, "--plugin", TEST_PICKY, NULL });
    service_wait_ready(&service);
    client = service_connect(&service, "restart");
    port = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    picky = spawn(client, "picky", NULL, NULL, 0);
    ping = message_id(client, odeon_message_of(picky_ping));
    refuse(path, 0);
    assert_int_equal(kill(service_executor(&service), SIGKILL), 0);
    assert_true(wait_until(access(path, F_OK) < 0)); /* odeond stands still */
    for (unsigned i = 0; i < PINGS; i++)
        assert_int_equal(odeon_port_post_wait(port, picky, ping, NULL, 0, SECONDS(PATIENCE_S)), 0);
    for (unsigned i = 0; i < LOOKS; i++)
        pause_briefly();
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    for (unsigned i = 0; i < PINGS; i++) {
        struct odeon_delivery delivery;

        assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(delivery.type, ping);
        odeon_port_release(port);
    }
    assert_int_equal(service_state(&service).executor_restarts, 2);
    assert_int_equal(unsetenv("PICKY_FILE"), 0);
    odeon_port_close(port);
    odeon_client_disconnect(client);
    end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ports_live_on_over_kills),
        cmocka_unit_test(test_posting_goes_on_without_an_executor),
        cmocka_unit_test(test_running_message_is_redelivered),
        cmocka_unit_test(test_crashing_handler_is_attributed_and_its_message_put_away),
        cmocka_unit_test(test_crash_that_passes_is_survived),
        cmocka_unit_test(test_crash_in_init_ends_the_actor),
        cmocka_unit_test(test_hang_in_load_ends_the_executor),
        cmocka_unit_test(test_who_waits_behind_a_hang_is_not_blamed),
        cmocka_unit_test(test_death_in_load_is_told),
        cmocka_unit_test(test_slow_start_is_no_hang),
        cmocka_unit_test(test_slow_ones_have_their_turns),
        cmocka_unit_test(test_a_refused_plugin_is_replaced),
        cmocka_unit_test(test_what_waits_for_a_refused_plugin),
    };

    return cmocka_run_group_tests_name("restart", tests, NULL, NULL);
}
