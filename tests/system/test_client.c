/* SPDX-License-Identifier: Apache-2.0 */
/* A client's side over the real service: outcomes of posts with a deadline. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <odeon/admin.h>
#include <odeon/helper.h>

#include "client-lib/src/connect.h"
#include "proto/envelope.h"
#include "tests/system/harness.h"
#include "tests/system/json.h"
#include "tests/system/probe.h"

enum { RING = 1 << 16, MANY = 2000, HELD = 8, POSTERS = 3 };

static struct service service;
static struct odeon_client *client;
static struct odeon_port *port;
static odeon_ref echo, silent;
static uint32_t number_type;

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, "--set",
                                                   "restart-delay-max-ms=20", "--set",
                                                   "backlog-bytes=4194304", NULL });
    client = service_connect(&service, "client");
    number_type = message_id(client, odeon_message_of(probe_number));
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    silent = spawn(client, "probe_ledger", NULL, NULL, 0); /* a number gets no answer there */
    port = port_open_or_fail(client, RING, RING, true);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    odeon_client_disconnect(client);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static int post_within(odeon_ref to, uint64_t n, int64_t within_ns)
{
    const struct probe_number number = { .n = n };

    return odeon_port_post_with(
        port, to, number_type, &number, sizeof(number),
        ODEON_POST_OPTIONS(.correlation = n, .wait_ns = -1, .within_ns = within_ns));
}

/* The id of the next outcome, and its reason; ODEON_REASON_NONE: a reply. */
static uint64_t next_outcome(unsigned *ret_reason)
{
    struct odeon_delivery delivery;
    uint64_t n;

    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    n = delivery.correlation;
    *ret_reason = ODEON_REASON_NONE;
    if (delivery.type == ODEON_MSG_REFUSAL) {
        *ret_reason = ((const struct odeon_refusal *)delivery.data)->reason;
        assert_true(((const struct odeon_refusal *)delivery.data)->correlation == n);
    } else {
        assert_int_equal(delivery.flags & 1, 1);
        assert_true(((const struct probe_number *)delivery.data)->n == n);
    }
    odeon_port_release(port);
    return n;
}

static void expect_outcome(uint64_t n, unsigned reason)
{
    unsigned found;

    assert_int_equal(next_outcome(&found), n);
    assert_int_equal(found, reason);
}

static void test_outcomes(void **state)
{
    odeon_ref gone = spawn(client, "probe_echo", NULL, NULL, 0);

    (void)state;
    assert_int_equal(odeon_actor_stop(client, gone, ODEON_DELETE), 0);
    assert_int_equal(post_within(echo, 1, SECONDS(PATIENCE_S)), 0);
    expect_outcome(1, ODEON_REASON_NONE);
    assert_int_equal(post_within(gone, 2, SECONDS(PATIENCE_S)), 0);
    expect_outcome(2, ODEON_REASON_NO_SUCH_ACTOR);
    assert_int_equal(post_within(silent, 3, MILLISECONDS(20)), 0);
    expect_outcome(3, ODEON_REASON_DEADLINE);
    assert_int_equal(odeon_port_timeout(port), -1);
}

/* Its reply comes when the executor is there again, or its deadline has passed before. */
static void test_one_outcome_each_over_kills(void **state)
{
    unsigned char outcomes[MANY + 1] = { 0 };

    (void)state;
    for (uint64_t n = 1; n <= MANY; n++) {
        assert_int_equal(post_within(n % 5 ? echo : silent, n, MILLISECONDS(1 + n % 50)), 0);
        if (n % (MANY / 4) == 0) {
            pid_t executor = service_executor(&service);

            assert_int_equal(kill(executor, SIGKILL), 0);
            service_wait_executor(&service, executor);
        }
    }
    for (unsigned i = 0; i < MANY; i++) {
        unsigned reason;
        uint64_t n = next_outcome(&reason);

        assert_in_range(n, 1, MANY);
        assert_int_equal(outcomes[n]++, 0);
    }
}

static void test_a_poll_loop_has_deadlines(void **state)
{
    struct pollfd look = { .fd = odeon_port_fd(port), .events = POLLIN };
    struct odeon_delivery delivery;
    unsigned outcomes = 0;

    (void)state;
    assert_int_equal(post_within(silent, 1, MILLISECONDS(30)), 0);
    assert_int_equal(post_within(echo, 2, SECONDS(PATIENCE_S)), 0);
    while (outcomes < 2) {
        if (odeon_port_arm(port) == 0) {
            int64_t left_ns = odeon_port_timeout(port);

            (void)poll(&look, 1, left_ns < 0 ? -1 : (int)((left_ns + 999999) / 1000000));
        }
        while (odeon_port_receive(port, &delivery) == 1)
            outcomes++;
        odeon_port_release(port);
    }
}

static void test_an_urgent_call(void **state)
{
    const struct probe_number number = { .n = 5 };
    struct odeon_delivery reply;

    (void)state;
    assert_int_equal(odeon_port_call_with(port, echo, number_type, &number, sizeof(number),
                                          SECONDS(PATIENCE_S), ODEON_POST_OPTIONS(.urgent = 1),
                                          &reply),
                     ODEON_CALL_REPLY);
    assert_true(((const struct probe_number *)reply.data)->n == 5);
    odeon_port_release(port);
}

/* Blocks that are held and given back one by one, while more of them come than the ring has room
 * for. */
static void test_blocks_given_back_one_by_one(void **state)
{
    const uint32_t flood_type = message_id(client, odeon_message_of(probe_flood));
    struct odeon_delivery held[HELD];
    uint64_t oldest = 0;

    (void)state;
    assert_int_equal(odeon_port_post(port, echo, flood_type, &(struct probe_flood){ .count = MANY },
                                     sizeof(struct probe_flood)),
                     0);
    while (oldest < MANY) {
        int got;

        assert_int_equal(odeon_port_receive_wait(port, held, SECONDS(PATIENCE_S)), 1);
        got = 1 + odeon_port_receive_many(port, &held[1], HELD - 1);
        assert_in_range(got, 1, HELD);
        for (int i = 0; i < got; i++, oldest++) {
            assert_true(((const struct probe_block *)held[i].data)->n == oldest);
            assert_int_equal(odeon_port_release_until(port, &held[i]), 0);
        }
    }
}

/* A loop that posts more than the ring has room for and sleeps in poll() alone; the executor is
 * killed meanwhile. It stands still until the loop has had to sleep: by itself it may empty the
 * ring as fast as a loop that gets little of a processor fills it. */
static void test_a_poll_loop_is_told_of_room(void **state)
{
    const struct probe_block block = { .n = 1 };
    const uint32_t block_type = message_id(client, odeon_message_of(probe_block));
    struct pollfd look = { .fd = odeon_port_fd(port), .events = POLLIN };
    struct odeon_port_figures figures = { .struct_size = sizeof(figures) };
    pid_t executor = service_executor(&service);
    unsigned slept = 0;

    (void)state;
    process_stop(executor);
    for (unsigned n = 0; n < MANY; n++) {
        if (n == MANY / 2)
            assert_int_equal(kill(executor, SIGKILL), 0);
        while (odeon_port_post(port, silent, block_type, &block, sizeof(block)) == -EAGAIN)
            if (odeon_port_arm_room(port, sizeof(block)) == 0) {
                if (slept++ == 0)
                    assert_int_equal(kill(executor, SIGCONT), 0);
                assert_int_equal(poll(&look, 1, PATIENCE_MS), 1);
            }
    }
    service_wait_executor(&service, executor);
    assert_true(slept > 0);
    assert_true(
        wait_until(odeon_port_figures(port, &figures) == 0 && figures.submission_used == 0));
    assert_int_equal(figures.posted_bytes, MANY * envelope_size(sizeof(block)));
    assert_true(figures.full >= slept && figures.room_waits >= slept);
    assert_int_equal(figures.submission_bytes, RING);
}

/* Of this program's port, whose client is the first to be asked about. */
static struct odeon_port_info told_of_port(void)
{
    struct odeon_client_detail *detail = NULL;
    struct odeon_port_info info = { 0 };

    assert_int_equal(odeon_client_show(client, client->client_id, &detail), 0);
    assert_true(detail->n_ports <= 1);
    if (detail->n_ports == 1)
        info = detail->ports[0];
    info.waits_for = NULL; /* goes with the rest */
    odeon_result_free(detail);
    return info;
}

/* An operator sees that it does not receive, and how much waits for it. */
static void test_others_are_told_of_a_port(void **state)
{
    static char output[1 << 14];
    struct odeon_delivery delivery;
    unsigned reason;

    (void)state;
    for (uint64_t n = 1; n <= MANY; n++)
        assert_int_equal(post_within(echo, n, 0), 0);
    assert_true(wait_until(told_of_port().posts == MANY && told_of_port().backlog > 0));
    assert_true(told_of_port().not_received > RING / 2 && told_of_port().not_received <= RING);
    assert_int_equal(told_of_port().not_taken, 0);
    assert_int_equal(ctl(&service, output, sizeof(output), "client show %llu",
                         (unsigned long long)client->client_id),
                     0);
    assert_non_null(strstr(output, "NOT RECEIVED"));
    assert_int_equal(ctl(&service, output, sizeof(output), "--json client show %llu",
                         (unsigned long long)client->client_id),
                     0);
    assert_true(json_is_valid(output));
    assert_non_null(strstr(output, "\"posts\":2000,"));
    for (uint64_t n = 1; n <= MANY; n++)
        assert_int_equal(next_outcome(&reason), n);
    assert_int_equal(odeon_port_receive(port, &delivery), 0);
    assert_true(wait_until(told_of_port().not_received == 0 && told_of_port().backlog == 0));
    assert_int_equal(told_of_port().dropped, 0);
    assert_true(told_of_port().delivered >= MANY * envelope_size(sizeof(struct probe_number)));
}

/* Another language's description of a type, which spaces it otherwise; and one that says something
 * else. */
static void test_fields_are_compared_by_meaning(void **state)
{
    struct odeon_message_type type = *odeon_message_of(probe_number);
    uint32_t id = 0;

    (void)state;
    type.fields = "{uint64_t  n ;unsigned long origin;}";
    assert_int_equal(odeon_message_id(client, &type, &id), 0);
    assert_int_equal(id, number_type);
    type.fields = "{ uint64_t n; int64_t origin; }";
    assert_int_equal(odeon_message_id(client, &type, &id), -EBADMSG);
    assert_non_null(strstr(odeon_error_text(), "probe_number"));
}

static void test_ids_to_types(void **state)
{
    struct odeon_message_info *info = NULL;
    struct odeon_delivery delivery;

    (void)state;
    assert_int_equal(post_within(echo, 1, 0), 0);
    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_ptr_equal(odeon_message_type(client, delivery.type), odeon_message_of(probe_number));
    assert_null(odeon_message_type(client, 0));
    assert_null(odeon_message_type(client, delivery.type + 1000));
    assert_null(odeon_message_type(client, UINT32_MAX));
    assert_null(odeon_message_type(NULL, delivery.type));

    assert_int_equal(odeon_message_show(client, delivery.type, &info), 0);
    assert_string_equal(info->name, "probe_number");
    assert_int_equal(info->id, delivery.type);
    assert_int_equal(info->size, sizeof(struct probe_number));
    assert_string_equal(info->fields, odeon_message_of(probe_number)->fields);
    odeon_result_free(info);
    /* one that no program has asked for here */
    assert_int_equal(odeon_message_find(client, "probe_block", 0, &info), 0);
    uint32_t block = info->id;
    odeon_result_free(info);
    assert_null(odeon_message_type(client, block));
    assert_int_equal(odeon_message_show(client, block, &info), 0);
    assert_string_equal(info->name, "probe_block");
    odeon_result_free(info);
    assert_int_equal(odeon_message_show(client, 1, &info), -ENOENT);
    assert_int_equal(odeon_message_show(client, 4000, &info), -ENOENT);
    assert_non_null(strstr(odeon_error_text(), "4000"));
    assert_int_equal(odeon_message_show(client, 65535, &info), -ENOENT);
    assert_int_equal(odeon_message_show(client, 65536, &info), -EINVAL);
    assert_int_equal(odeon_message_show(client, 0, &info), -EINVAL);
}

static void expect_closed(struct odeon_port *closed, int why)
{
    assert_true(wait_until(odeon_port_closed(closed) == why));
    assert_true(odeon_port_check(closed) < 0);
    assert_int_equal(odeon_port_closed(closed), why);
    assert_string_not_equal(odeon_port_closed_name(why), "unknown");
}

static void test_why_a_port_is_closed(void **state)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = RING,
                                          .delivery_bytes = RING,
                                          .overflow = ODEON_PORT_DISCONNECT };
    struct odeon_client *other = service_connect(&service, "other");
    struct odeon_port *slow, *bad, *turned_out;
    int64_t begin_ns = time_ns();

    (void)state;
    assert_int_equal(odeon_port_closed(port), ODEON_CLOSED_NOT);
    assert_int_equal(odeon_port_closed(NULL), -EINVAL);

    const uint32_t flood_type = message_id(client, odeon_message_of(probe_flood));
    for (int i = 0; i < 3; i++) { /* as often as it likes; the log is told of it once a minute */
        assert_int_equal(odeon_port_open(client, &options, &slow), 0);
        assert_int_equal(odeon_port_post(slow, echo, flood_type,
                                         &(struct probe_flood){ .count = 4 * MANY },
                                         sizeof(struct probe_flood)),
                         0);
        expect_closed(slow, ODEON_CLOSED_TOO_SLOW);
    }
    service_expect_told_once(&service, "did not receive", begin_ns);

    bad = port_open_or_fail(client, RING, RING, false);
    atomic_store(&bad->mine->submission_tail, 5);
    port_ring_doorbell(bad);
    expect_closed(bad, ODEON_CLOSED_BAD_RECORD);

    turned_out = port_open_or_fail(other, RING, RING, false);
    assert_int_equal(odeon_client_kick(client, other->client_id), 0);
    expect_closed(turned_out, ODEON_CLOSED_TURNED_OUT);
    odeon_client_disconnect(other);

    assert_int_equal(service_stop(&service, SIGTERM), 0);
    expect_closed(port, ODEON_CLOSED_SERVICE_GONE);
    odeon_client_disconnect(client);
    service_end(&service);
    setup(NULL);
}

/* ---- several threads */

struct poster {
    struct odeon_port *through;
    uint64_t id;
};

static void *post_mine(void *argument)
{
    const struct poster *p = argument;

    for (uint64_t i = 1; i <= MANY; i++) {
        const struct probe_number number = { .n = p->id << 32 | i };
        int r = odeon_port_post_with(p->through, echo, number_type, &number, sizeof(number),
                                     ODEON_POST_OPTIONS(.correlation = number.n, .wait_ns = -1,
                                                        .within_ns = SECONDS(PATIENCE_S)));

        if (r < 0)
            return NULL;
    }
    return argument;
}

/* `posters` threads post, this one receives; the executor is killed meanwhile. */
static void post_and_receive(struct odeon_port *through, unsigned posters)
{
    struct poster each[POSTERS];
    uint64_t next[POSTERS];
    pthread_t threads[POSTERS];
    pid_t executor = service_executor(&service);

    for (unsigned i = 0; i < posters; i++) {
        each[i] = (struct poster){ .through = through, .id = i };
        next[i] = 1;
        assert_int_equal(pthread_create(&threads[i], NULL, post_mine, &each[i]), 0);
    }
    for (unsigned n = 0; n < posters * MANY; n++) {
        struct odeon_delivery delivery;

        assert_int_equal(odeon_port_receive_wait(through, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(delivery.type, number_type);
        assert_in_range(delivery.correlation >> 32, 0, posters - 1);
        assert_int_equal(delivery.correlation & UINT32_MAX, next[delivery.correlation >> 32]++);
        odeon_port_release(through);
        if (n == MANY / 2)
            assert_int_equal(kill(executor, SIGKILL), 0);
    }
    for (unsigned i = 0; i < posters; i++) {
        void *result;

        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &each[i]);
    }
}

static void test_one_posts_and_another_receives(void **state)
{
    (void)state;
    post_and_receive(port, 1);
}

static void test_several_post(void **state)
{
    struct odeon_port_options options = { .struct_size = sizeof(options),
                                          .submission_bytes = RING,
                                          .delivery_bytes = RING,
                                          .posters = 2 };
    struct odeon_port *shared;

    (void)state;
    assert_int_equal(odeon_port_open(client, &options, &shared), -EINVAL);
    assert_non_null(strstr(odeon_error_text(), "posters"));
    options.posters = 1;
    assert_int_equal(odeon_port_open(client, &options, &shared), 0);
    post_and_receive(shared, POSTERS);
    odeon_port_close(shared);
}

/* ---- a loop that makes requests */

struct loop {
    struct odeon_helper *helper;
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref echo;
    bool done;
    int failed;
};

static int loop_connect(void *of)
{
    struct loop *l = of;

    return odeon_client_connect(service.socket, "loop", &l->client);
}

static int loop_spawn(void *of)
{
    struct loop *l = of;

    return odeon_actor_spawn(l->client, "probe_echo", NULL, NULL, 0, &l->echo);
}

static int loop_open(void *of)
{
    struct loop *l = of;

    return odeon_port_open(l->client, NULL, &l->port);
}

static int loop_find(void *of)
{
    struct loop *l = of;
    odeon_ref nobody;

    return odeon_actor_find(l->client, "nobody", &nobody);
}

static void loop_fail(void *of, int result, const char *text)
{
    struct loop *l = of;

    assert_true(strlen(text) > 0);
    l->failed = result;
}

static void loop_end(void *of, int result, const char *text)
{
    struct loop *l = of;

    assert_int_equal(result, 0);
    assert_string_equal(text, "");
    l->done = true;
}

static void loop_go_on(void *of, int result, const char *text)
{
    struct loop *l = of;

    if (result < 0)
        fail_msg("%s", text);
    assert_int_equal(odeon_helper_call(l->helper, loop_spawn, NULL, l), 0);
    assert_int_equal(odeon_helper_call(l->helper, loop_find, loop_fail, l), 0);
    assert_int_equal(odeon_helper_call(l->helper, loop_open, loop_end, l), 0);
}

/* odeond stands still; the loop does not. */
static void test_a_loop_makes_requests(void **state)
{
    struct loop l = { .done = false };
    struct pollfd look = { .events = POLLIN };

    (void)state;
    assert_int_equal(odeon_helper_new(&l.helper), 0);
    look.fd = odeon_helper_fd(l.helper);
    process_stop(service.pid);
    assert_int_equal(odeon_helper_call(l.helper, loop_connect, loop_go_on, &l), 0);
    for (unsigned turns = 0; turns < 20; turns++) {
        assert_int_equal(poll(&look, 1, 5), 0);
        assert_int_equal(odeon_helper_dispatch(l.helper), 0);
    }
    assert_int_equal(kill(service.pid, SIGCONT), 0);
    while (!l.done) {
        assert_int_equal(poll(&look, 1, PATIENCE_MS), 1);
        assert_true(odeon_helper_dispatch(l.helper) > 0);
    }
    assert_int_equal(l.failed, -ENOENT);
    assert_true(l.echo != ODEON_NOBODY && odeon_port_ref(l.port) != ODEON_NOBODY);
    odeon_helper_free(l.helper);
    odeon_client_disconnect(l.client);
}

/* ---- docs/examples: clients that add up */

/* What it prints, on both of its outputs, goes into `output`. The exit status. */
static int run_example(const char *program, const char *numbers, char *output, size_t size)
{
    char command[1024];
    FILE *example;
    size_t n;

    snprintf(command, sizeof(command), "%s %s %s %s 2>&1", program, service.socket, TEST_COUNTER,
             numbers);
    example = popen(command, "r");
    assert_non_null(example);
    n = fread(output, 1, size - 1, example);
    output[n] = '\0';
    return WEXITSTATUS(pclose(example));
}

static bool no_counter_is_left(void)
{
    struct odeon_list *list = NULL;
    size_t n;

    assert_int_equal(odeon_actor_list(client, "counter", 0, 0, &list), 0);
    n = list->n;
    odeon_list_free(list);
    return n == 0;
}

static void expect_sum(const char *program, const char *numbers, const char *sum)
{
    char output[256];
    int code = run_example(program, numbers, output, sizeof(output));

    assert_string_equal(output, sum);
    assert_int_equal(code, 0);
    assert_true(wait_until(no_counter_is_left()));
}

static const char *const loops[] = { TEST_LOOPS };

/* More ones than a ring has room for come to their sum. */
static void test_the_examples_of_loops(void **state)
{
    (void)state;
    expect_sum(TEST_COUNTER_CLIENT, "1 2 39", "42\n");
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
        expect_sum(loops[i], "200000", "200000\n");
}

/* True: the counter's queue has refused ones, which the example tells in one line. If not, the sum
 * is right. */
static bool tells_of_refusals(const char *program, const char *numbers, const char *sum)
{
    char output[256];
    int code = run_example(program, numbers, output, sizeof(output));
    size_t length = strlen(output);

    if (code == 0)
        assert_string_equal(output, sum);
    else
        assert_ptr_equal(strchr(output, '\n'), output + length - 1);
    assert_true(wait_until(no_counter_is_left()));
    return code != 0;
}

enum { TRIES = 100 };

static void expect_refusals(const char *program, const char *numbers, const char *sum)
{
    unsigned tries = 0;

    while (!tells_of_refusals(program, numbers, sum))
        if (++tries == TRIES)
            fail_msg("%s: no one was refused", program);
}

/* With a queue that has room for some hundred ones. */
static void test_examples_tell_of_refusals(void **state)
{
    (void)state;
    expect_refusals(TEST_COUNTER_CLIENT, "$(yes 1 | head -n 20000)", "20000\n");
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
        expect_refusals(loops[i], "20000", "20000\n");
}

static int setup_of_small_queues(void **state)
{
    (void)state;
    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "limit-bytes=4096", NULL });
    client = service_connect(&service, "client");
    return 0;
}

/* ---- a service that is not there yet */

static void *connect_early(void *argument)
{
    struct odeon_client *early = NULL;

    if (odeon_client_connect_wait(argument, "early", SECONDS(PATIENCE_S), &early) < 0)
        return NULL;
    return early;
}

static void test_connecting_waits_for_the_service(void **state)
{
    struct service late = { .pid = 0 };
    struct odeon_client *early = NULL;
    char long_path[8192] = "";
    pthread_t thread;
    void *result;

    (void)state;
    service_make_dir(&late);
    int64_t begin_ns = time_ns();
    assert_int_equal(odeon_client_connect_wait(late.socket, "e", MILLISECONDS(30), &early),
                     -ENOENT);
    assert_true(time_ns() - begin_ns >= MILLISECONDS(30));
    assert_non_null(strstr(odeon_error_text(), "30 ms"));
    assert_int_equal(odeon_client_connect_wait(late.socket, "e", 0, &early), -ENOENT);
    memset(long_path, 'x', sizeof(long_path) - 1); /* which no waiting helps */
    assert_int_equal(odeon_client_connect_wait(long_path, "e", -1, &early), -ENAMETOOLONG);
    assert_int_equal(odeon_client_connect_wait(late.socket, "e", -1, NULL), -EINVAL);

    assert_int_equal(pthread_create(&thread, NULL, connect_early, late.socket), 0);
    service_spawn(&late, (const char *const[]){ SMALL_SERVICE, NULL });
    pthread_join(thread, &result);
    assert_non_null(result);
    service_wait_ready(&late);
    assert_int_equal(odeon_client_connect_wait(late.socket, "e", 0, &early), 0);
    odeon_client_disconnect(early);
    odeon_client_disconnect(result);
    assert_int_equal(service_stop(&late, SIGTERM), 0);
    service_end(&late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_outcomes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_outcome_each_over_kills, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_poll_loop_has_deadlines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_urgent_call, setup, teardown),
        cmocka_unit_test_setup_teardown(test_blocks_given_back_one_by_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_poll_loop_is_told_of_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_others_are_told_of_a_port, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fields_are_compared_by_meaning, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ids_to_types, setup, teardown),
        cmocka_unit_test_setup_teardown(test_why_a_port_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_posts_and_another_receives, setup, teardown),
        cmocka_unit_test_setup_teardown(test_several_post, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_loop_makes_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_examples_of_loops, setup, teardown),
        cmocka_unit_test_setup_teardown(test_examples_tell_of_refusals, setup_of_small_queues,
                                        teardown),
        cmocka_unit_test(test_connecting_waits_for_the_service),
    };

    return cmocka_run_group_tests_name("clients", tests, NULL, NULL);
}
