/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that monitor, in the real service: however actors and clients end, and whatever is killed
 * meanwhile, each end is told once to each port that has asked, behind the last words, with a
 * reason that can be; what is forged is refused, and what is closed is told nothing. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <odeon/admin.h>
#include <odeon/codec.h>

#include "tests/system/ends.h"
#include "tests/system/manager.h"
#include "tests/system/mortal.h"

enum { PORTS = 3, ENDS = 1200, KILL_EVERY = 50, CLIENTS = 8, TIMERS = 16, MEETS = 200 };

/* Each port is another client's. */
static struct manager *manager;
static struct odeon_client *clients[PORTS];
static struct odeon_port *ports[PORTS];
static uint32_t now_type, word_type;

/* What has come of each number, to each port: words of its actor; ends, and why the last one. */
static struct {
    unsigned words, downs, reason;
} heard[PORTS][ENDS + 1];
static odeon_ref actors[ENDS + 1];

static void begin(const char *const *arguments)
{
    manager = manager_start(&(struct manager_options){ .arguments = arguments });
    manager_wait_ready(manager);
    for (int i = 0; i < PORTS; i++) {
        clients[i] = service_connect(manager_service(manager), "monitors");
        ports[i] = port_open_or_fail(clients[i], 0, 0, false);
    }
    now_type = message_id(clients[0], odeon_message_of(ends_now));
    word_type = message_id(clients[0], odeon_message_of(ends_word));
    memset(heard, 0, sizeof(heard));
}

static int setup(void **state)
{
    static const char *const arguments[] = { SMALL_SERVICE,
                                             "--executor",
                                             TEST_EXECUTOR,
                                             "--plugin",
                                             TEST_ENDS,
                                             "--set",
                                             "restart-delay-max-ms=20",
                                             NULL };

    (void)state;
    begin(arguments);
    return 0;
}

static int setup_few(void **state)
{
    static const char *const arguments[] = { SMALL_SERVICE, "--executor", TEST_EXECUTOR, "--plugin",
                                             TEST_ENDS,     "--set",      "timers=16",   NULL };

    (void)state;
    begin(arguments);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < PORTS; i++)
        odeon_client_disconnect(clients[i]);
    manager_end(manager);
    return 0;
}

static void end_actor(odeon_ref actor, odeon_ref to, uint64_t number)
{
    struct ends_now now = { .to = to, .number = number };

    assert_int_equal(
        odeon_port_post_wait(ports[0], actor, now_type, &now, sizeof(now), SECONDS(PATIENCE_S)), 0);
}

static struct odeon_down down_of(const struct odeon_delivery *delivery)
{
    struct odeon_down down;

    if (delivery->type == ODEON_MSG_REFUSAL)
        fail_msg("monitor %llu was refused: %s", (unsigned long long)delivery->correlation,
                 odeon_reason_name(((const struct odeon_refusal *)delivery->data)->reason));
    assert_int_equal(delivery->type, ODEON_MSG_DOWN);
    assert_int_equal(delivery->size, sizeof(down));
    assert_int_equal(delivery->correlation, 0);
    assert_int_equal(delivery->flags, 0);
    memcpy(&down, delivery->data, sizeof(down));
    assert_true(delivery->from == down.ref);
    return down;
}

static void next(int port, struct odeon_delivery *ret)
{
    assert_int_equal(odeon_port_receive_wait(ports[port], ret, SECONDS(PATIENCE_S)), 1);
}

static struct odeon_down next_down(int port)
{
    struct odeon_delivery delivery;
    struct odeon_down down;

    next(port, &delivery);
    down = down_of(&delivery);
    odeon_port_release(ports[port]);
    return down;
}

static struct odeon_refusal next_refusal(int port)
{
    struct odeon_delivery delivery;
    struct odeon_refusal refusal;

    next(port, &delivery);
    assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
    memcpy(&refusal, delivery.data, sizeof(refusal));
    assert_true(delivery.correlation == refusal.correlation);
    odeon_port_release(ports[port]);
    return refusal;
}

static void expect_nothing(int port)
{
    struct odeon_delivery delivery;

    assert_int_equal(odeon_port_receive_wait(ports[port], &delivery, MILLISECONDS(20)), 0);
}

/* ---- over kills */

static odeon_ref spawn_next(uint64_t number)
{
    switch (number % ENDS_CASES) {
    case ENDS_PLAIN:
        return spawn(clients[0], "ends_plain", NULL, NULL, 0);
    case ENDS_UNBEGUN:
        return spawn(clients[0], "ends_unbegun", NULL, NULL, 0);
    default:
        return spawn(clients[0], "ends_kept", NULL, NULL, 0);
    }
}

static void end_next(uint64_t number)
{
    odeon_ref to = odeon_port_ref(ports[0]), actor = actors[number];

    if (number % ENDS_CASES == ENDS_STOPPED)
        assert_int_equal(odeon_port_post_wait(ports[0], actor, ODEON_MSG_POISON_DELETE, NULL, 0,
                                              SECONDS(PATIENCE_S)),
                         0);
    else
        end_actor(actor, to, number);
}

static void monitor_next(uint64_t number)
{
    for (int i = 0; i < PORTS; i++)
        assert_int_equal(odeon_port_monitor(ports[i], actors[number], number), 0);
}

/* A word from who begins anew may come behind that. */
static void note_down(int port, const struct odeon_down *down)
{
    assert_in_range(down->monitor, 1, ENDS);
    assert_true(down->ref == actors[down->monitor]);
    heard[port][down->monitor].downs++;
    heard[port][down->monitor].reason = down->reason;
    if (port == 0 && down->reason == ODEON_REASON_FINISHED && heard[0][down->monitor].words == 0)
        fail_msg("end %llu is told before the last word", (unsigned long long)down->monitor);
}

static void note(int port, const struct odeon_delivery *delivery)
{
    struct ends_word word;
    struct odeon_down down;

    if (delivery->type == ODEON_MSG_REFUSAL && delivery->correlation == 0)
        return; /* what ends somebody has found that he has ended */
    if (delivery->type == word_type) {
        memcpy(&word, delivery->data, sizeof(word));
        heard[port][word.number].words++;
        return;
    }
    down = down_of(delivery);
    note_down(port, &down);
}

static void hear(void)
{
    struct odeon_delivery delivery;

    for (int i = 0; i < PORTS; i++)
        while (odeon_port_receive(ports[i], &delivery) == 1) {
            note(i, &delivery);
            odeon_port_release(ports[i]);
        }
}

static bool is_right(int port, uint64_t number)
{
    unsigned reason = heard[port][number].reason;

    if (port != 0 && reason == ODEON_REASON_NO_SUCH_ACTOR)
        return true; /* it came so late that another one had the slot */
    switch (number % ENDS_CASES) {
    case ENDS_PLAIN:
        return reason == ODEON_REASON_FINISHED || reason == ODEON_REASON_BEGUN_ANEW;
    case ENDS_STOPPED:
        return reason == ODEON_REASON_STOPPED;
    case ENDS_UNBEGUN: /* its end may have been before the look at it, and another's slot since */
        return reason == ODEON_REASON_INIT_FAILED || reason == ODEON_REASON_BEGUN_ANEW ||
               reason == ODEON_REASON_NO_SUCH_ACTOR;
    case ENDS_TOO_LATE:
        return reason == ODEON_REASON_FINISHED || reason == ODEON_REASON_NO_SUCH_ACTOR;
    default:
        return reason == ODEON_REASON_FINISHED;
    }
}

static bool all_told(void)
{
    hear();
    for (int i = 0; i < PORTS; i++)
        for (uint64_t number = 1; number <= ENDS; number++)
            if (heard[i][number].downs == 0)
                return false;
    return true;
}

static void test_over_kills(void **state)
{
    (void)state;
    for (uint64_t number = 1; number <= ENDS; number++) {
        bool too_late = number % ENDS_CASES == ENDS_TOO_LATE;

        actors[number] = spawn_next(number);
        if (!too_late)
            monitor_next(number);
        end_next(number);
        if (too_late)
            monitor_next(number);
        hear();
        if (number % KILL_EVERY == 0)
            (number / KILL_EVERY % 3 ? manager_kill_executor : manager_kill_both)(manager);
    }
    assert_true(wait_until(all_told()));
    manager_kill_executor(manager); /* who is not told by the next one, either */
    for (int i = 0; i < PORTS; i++)
        expect_nothing(i);
    for (int i = 0; i < PORTS; i++)
        for (uint64_t number = 1; number <= ENDS; number++)
            if (heard[i][number].downs != 1 || !is_right(i, number))
                fail_msg("end %llu is told %u times, with reason %s", (unsigned long long)number,
                         heard[i][number].downs, odeon_reason_name(heard[i][number].reason));
}

/* ---- clients */

static size_t n_monitors(odeon_ref of)
{
    struct odeon_list *list = NULL;
    size_t n;

    assert_int_equal(odeon_monitor_list(clients[0], of, 0, 0, &list), 0);
    n = list->n;
    odeon_list_free(list);
    return n;
}

static void is_shown(odeon_ref watcher, odeon_ref watched)
{
    char output[1024], shown[256], refs[2][ODEON_REF_TEXT];

    odeon_ref_format(watcher, refs[0]);
    odeon_ref_format(watched, refs[1]);
    snprintf(shown, sizeof(shown), "\"watcher\":\"%s\",\"watched\":\"%s\",\"kind\":\"monitor\"}",
             refs[0], refs[1]);
    assert_true(wait_until(ctl(manager_service(manager), output, sizeof(output),
                               "monitor list --json --of %s", refs[0]) == 0 &&
                           strstr(output, shown)));
}

static void test_clients(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= CLIENTS; i++) {
        odeon_ref mortal;
        pid_t pid = mortal_begin(manager_service(manager), &mortal);

        for (int port = 0; port < PORTS; port++)
            assert_int_equal(odeon_port_monitor(ports[port], mortal, i), 0);
        if (i == 1)
            is_shown(odeon_port_ref(ports[1]), mortal);
        if (i % 3 == 1)
            manager_kill_executor(manager);
        if (i % 3 == 2)
            manager_kill_both(manager);
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        for (int port = 0; port < PORTS; port++) {
            struct odeon_down down = next_down(port);

            assert_true(down.ref == mortal && down.monitor == i);
            assert_int_equal(down.reason, ODEON_REASON_CLIENT_GONE);
        }
    }
    assert_int_equal(n_monitors(ODEON_NOBODY), 0);
}

/* ---- the end of a port */

static void test_the_port_is_closed(void **state)
{
    odeon_ref actor = spawn(clients[0], "ends_kept", NULL, NULL, 0);

    (void)state;
    assert_int_equal(odeon_port_monitor(ports[1], actor, 1), 0);
    assert_int_equal(odeon_port_monitor(ports[2], actor, 2), 0);
    assert_true(wait_until(n_monitors(actor) == 2));
    ports[1] = odeon_port_close(ports[1]);
    assert_true(wait_until(n_monitors(actor) == 1));
    ports[1] = port_open_or_fail(clients[1], 0, 0, false);
    end_actor(actor, ODEON_NOBODY, 0);
    assert_int_equal(next_down(2).monitor, 2);
    expect_nothing(1);
    assert_int_equal(odeon_port_monitor(ports[1], actor, 3), 0); /* it has ended */
    assert_int_equal(next_down(1).monitor, 3);
    assert_int_equal(n_monitors(ODEON_NOBODY), 0);
}

/* ---- given up */

static void expect_no_monitor(int port, uint64_t id)
{
    struct odeon_refusal refusal = next_refusal(port);

    assert_int_equal(refusal.type, ODEON_MSG_DEMONITOR);
    assert_int_equal(refusal.reason, ODEON_REASON_NO_SUCH_MONITOR);
    assert_int_equal(refusal.correlation, id);
}

/* Of this port alone, over kills, and it counts no longer. */
static void test_given_up(void **state)
{
    odeon_ref actor = spawn(clients[0], "ends_kept", NULL, NULL, 0),
              second = spawn(clients[0], "ends_kept", NULL, NULL, 0);

    (void)state;
    for (uint64_t id = 1; id <= 3; id++)
        for (int port = 1; port < PORTS; port++)
            assert_int_equal(odeon_port_monitor(ports[port], actor, id), 0);
    assert_true(wait_until(n_monitors(actor) == 6));
    assert_int_equal(odeon_port_demonitor(ports[1], actor, 1), 0);
    assert_true(wait_until(n_monitors(actor) == 5));
    manager_kill_executor(manager);
    assert_int_equal(odeon_port_demonitor(ports[1], actor, 2), 0);
    manager_kill_both(manager);
    assert_true(wait_until(n_monitors(actor) == 4));
    assert_int_equal(odeon_port_demonitor(ports[1], actor, 2), 0); /* twice */
    expect_no_monitor(1, 2);
    assert_int_equal(odeon_port_demonitor(ports[1], actor, 4), 0); /* unknown */
    expect_no_monitor(1, 4);
    assert_int_equal(odeon_port_demonitor(ports[1], second, 3), 0); /* of whom it has none */
    expect_no_monitor(1, 3);
    assert_int_equal(odeon_port_demonitor(ports[0], actor, 3), 0); /* another port's */
    expect_no_monitor(0, 3);
    end_actor(actor, ODEON_NOBODY, 0);
    assert_int_equal(next_down(1).monitor, 3);
    expect_nothing(1);
    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(next_down(2).monitor, id);
    assert_int_equal(odeon_port_demonitor(ports[2], actor, 3), 0); /* it has been told */
    expect_no_monitor(2, 3);
    assert_int_equal(n_monitors(ODEON_NOBODY), 0);
}

/* Ends and giving up meet: of each there is a word and a refusal, or neither. */
static void test_given_up_while_it_ends(void **state)
{
    struct odeon_delivery delivery;
    unsigned downs[MEETS + 1] = { 0 }, refusals[MEETS + 1] = { 0 };

    (void)state;
    for (uint64_t i = 1; i <= MEETS; i++) {
        odeon_ref actor = spawn(clients[0], "ends_kept", NULL, NULL, 0);

        assert_int_equal(odeon_port_monitor(ports[1], actor, i), 0);
        assert_true(wait_until(n_monitors(actor) == 1));
        end_actor(actor, ODEON_NOBODY, 0);
        for (uint64_t spin = 0; spin < i * 37 % MEETS; spin++)
            (void)odeon_port_check(ports[1]);
        assert_int_equal(odeon_port_demonitor(ports[1], actor, i), 0);
    }
    /* an answer to what was posted behind them: no word, no refusal comes behind it */
    odeon_ref last = spawn(clients[0], "ends_kept", NULL, NULL, 0);
    end_actor(last, ODEON_NOBODY, 0);
    assert_int_equal(odeon_port_monitor(ports[1], last, MEETS + 1), 0);
    for (bool more = true; more;) {
        next(1, &delivery);
        if (delivery.type == ODEON_MSG_REFUSAL) {
            assert_in_range(delivery.correlation, 1, MEETS);
            refusals[delivery.correlation]++;
        } else {
            struct odeon_down down = down_of(&delivery);
            more = down.monitor <= MEETS;
            if (more)
                downs[down.monitor]++;
        }
        odeon_port_release(ports[1]);
    }
    for (uint64_t i = 1; i <= MEETS; i++)
        if (downs[i] > 1 || downs[i] != refusals[i])
            fail_msg("%llu: %u words, %u refusals", (unsigned long long)i, downs[i], refusals[i]);
    expect_nothing(1);
    assert_int_equal(n_monitors(ODEON_NOBODY), 0);
}

/* ---- refusals */

/* What the library does not post. */
static void test_refused(void **state)
{
    const uint64_t word = 5;
    odeon_ref actor = spawn(clients[0], "ends_kept", NULL, NULL, 0);

    (void)state;
    assert_int_equal(odeon_port_monitor(NULL, actor, 1), -EINVAL);
    assert_int_equal(odeon_port_monitor(ports[0], actor, 0), -EINVAL);
    assert_int_equal(odeon_port_monitor(ports[0], actor, UINT64_C(1) << 63), -EINVAL);
    assert_int_equal(odeon_port_monitor(ports[0], ODEON_NOBODY, 1), -ESRCH);
    assert_int_equal(odeon_port_monitor(ports[1], actor, 7), 0);
    assert_int_equal(
        odeon_port_monitor(
            ports[0], odeon_ref_make(2, odeon_ref_slot(actor), odeon_ref_generation(actor)), 1),
        -ESRCH); /* another executor's */
    assert_int_equal(odeon_port_post(ports[0], actor, ODEON_MSG_DOWN, NULL, 0), 0);
    assert_int_equal(next_refusal(0).reason, ODEON_REASON_BAD_SIZE);
    assert_int_equal(
        odeon_port_post_correlated(ports[0], actor, ODEON_MSG_DOWN, 77, &word, sizeof(word)), 0);
    assert_int_equal(next_refusal(0).correlation, 77);
    assert_int_equal(odeon_port_post_urgent(ports[0], actor, ODEON_MSG_DOWN, NULL, 0), 0);
    assert_int_equal(next_refusal(0).reason, ODEON_REASON_NOT_ACCEPTED);
    assert_int_equal(odeon_port_post_after(ports[0], actor, ODEON_MSG_DOWN, 78, NULL, 0, 1), 0);
    assert_int_equal(next_refusal(0).reason, ODEON_REASON_NOT_ACCEPTED);
    assert_int_equal(odeon_port_check(ports[0]), 0);
    end_actor(actor, ODEON_NOBODY, 0);
    assert_int_equal(next_down(1).monitor, 7);
    expect_nothing(0);
}

/* One user has at most half of what the others leave, however many ports it has; who is refused is
 * told, and the others are told of the end. */
static void test_more_than_may(void **state)
{
    odeon_ref actor = spawn(clients[0], "ends_kept", NULL, NULL, 0);
    unsigned told = 0, refused = 0;

    (void)state;
    for (uint64_t n = 1; n <= TIMERS; n++)
        assert_int_equal(odeon_port_monitor(ports[n % PORTS], actor, n), 0);
    assert_true(
        wait_until(n_monitors(actor) == TIMERS / 2 &&
                   service_figure(manager_service(manager), "timers_refused") == TIMERS / 2));
    end_actor(actor, ODEON_NOBODY, 0);
    for (uint64_t n = 1; n <= TIMERS; n++) {
        struct odeon_delivery delivery;

        next((int)(n % PORTS), &delivery);
        if (delivery.type == ODEON_MSG_REFUSAL) {
            assert_int_equal(((const struct odeon_refusal *)delivery.data)->reason,
                             ODEON_REASON_TIMERS_FULL);
            refused++;
        } else {
            (void)down_of(&delivery);
            told++;
        }
        odeon_port_release(ports[n % PORTS]);
    }
    assert_int_equal(told, TIMERS / 2);
    assert_int_equal(refused, TIMERS / 2);
    for (int i = 0; i < PORTS; i++)
        expect_nothing(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_over_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clients, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_port_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_up_while_it_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_more_than_may, setup_few, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
