/* SPDX-License-Identifier: Apache-2.0 */
/* The books of a stop: what handlers have run by their own count, and what the stop says was not
 * received, are together what was posted, however the stop falls. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/harness.h"
#include "tests/system/stuck.h"

enum { STOPS = 100, ACTORS = 3, POSTS = 3000, SLOW_NS = 20000, BEHIND = 100 };
/* for how long a stop waits for handlers at least before it takes them for running */
enum { HALT_S = 1 };

static struct service service;
static struct odeon_client *client;
static struct odeon_port *port;
static struct stuck_page *page;
static char page_path[96];
static odeon_ref actors[ACTORS];
static uint32_t slow;

static uint64_t posted(uint32_t actor, uint32_t type, uint64_t what, uint64_t n)
{
    uint64_t done = 0;

    while (done < n && odeon_port_post(port, actors[actor], type, &what, sizeof(what)) == 0)
        done++;
    return done;
}

static uint64_t counted(void)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < ACTORS; i++)
        n += atomic_load(&page->counted[i]);
    return n;
}

static void begin(const char *drain)
{
    service_start(&service,
                  (const char *const[]){ SMALL_SERVICE, "--set", drain, "--set", "stall-warn-ms=0",
                                         "--plugin", TEST_STUCK, NULL });
    client = service_connect(&service, "books");
    port = port_open_or_fail(client, 1 << 16, 1 << 16, false);
    page = service_map_page(&service, page_path, sizeof(page_path), sizeof(*page));
    for (uint32_t i = 0; i < ACTORS; i++) {
        struct stuck_args args = { .index = i };

        memcpy(args.page, page_path, sizeof(args.page));
        actors[i] = spawn(client, "stuck_hanger", NULL, &args, sizeof(args));
    }
    slow = message_id(client, odeon_message_of(stuck_slow));
    /* their beginnings are behind them: these are messages, too */
    for (uint32_t i = 0; i < ACTORS; i++)
        assert_int_equal(posted(i, slow, 0, 1), 1);
    assert_true(wait_until(counted() == ACTORS));
}

/* By the log of odeond: of all, and of those in handlers. */
static void read_books(uint64_t *ret_all, uint64_t *ret_running)
{
    char *log = service_read_log(&service);
    const char *rest, *at = strstr(log, " messages sent but not received: "), *line = at;
    unsigned long long all = 0, running = 0;

    *ret_all = *ret_running = 0;
    /* a machine with others on it: the handlers have kept up with the posts */
    if (!at && (strstr(log, "drained: every message that was sent has been received") ||
                strstr(log, "not drained: the time to drain was over"))) {
        free(log);
        return;
    }
    if (!at) { /* a failure's own text would be cut off in front of what matters */
        (void)fputs(log, stderr);
        fail_msg("the log does not say what was not received");
    }
    while (line > log && line[-1] >= '0' && line[-1] <= '9')
        line--;
    assert_int_equal(sscanf(line, "%llu", &all), 1);
    rest = strchr(at, ';');
    assert_true(rest && sscanf(rest, "; %llu of them in handlers", &running) == 1);
    *ret_all = all;
    *ret_running = running;
    free(log);
}

static void end(uint64_t *ret_all, uint64_t *ret_running)
{
    int64_t begin_ns = time_ns();

    assert_int_equal(service_stop(&service, SIGTERM), 0);
    read_books(ret_all, ret_running);
    assert_true(*ret_running == 0 || time_ns() - begin_ns >= SECONDS(HALT_S));
    odeon_client_disconnect(client);
}

static void test_stops_under_load(void **state)
{
    unsigned stops = getenv("ODEON_TEST_QUICK") ? STOPS / 20 : STOPS;
    uint64_t left = 0;

    (void)state;
    for (unsigned stop = 0; stop < stops; stop++) {
        uint64_t n = 0, all, running;

        begin(stop % 2 ? "drain-timeout-ms=1" : "drain-timeout-ms=7");
        for (uint32_t i = 0; i < POSTS / 10; i++)
            n += posted(i % ACTORS, slow, SLOW_NS, 10);
        end(&all, &running);
        /* A handler whose thread has no processor when the time is over is in the books as
         * running: it may have counted itself, or not. */
        assert_in_range(counted() + all, ACTORS + n, ACTORS + n + running);
        left += all;
        service_end(&service);
    }
    print_message("check=books stops=%u left=%llu\n", stops, (unsigned long long)left);
    assert_true(left > 0);
}

/* One does not return: it is neither run nor waiting. */
static void test_a_handler_that_hangs(void **state)
{
    uint64_t n, all, running;

    (void)state;
    begin("drain-timeout-ms=50");
    assert_int_equal(posted(0, message_id(client, odeon_message_of(stuck_hang)), 1, 1), 1);
    assert_true(wait_until(atomic_load(&page->entered) == 1));
    n = posted(0, slow, SLOW_NS, BEHIND);
    end(&all, &running);
    assert_int_equal(running, 1);
    assert_int_equal(counted() + all, ACTORS + n + 1);
    assert_int_equal(atomic_load(&page->left), 0);
    service_end(&service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_under_load),
        cmocka_unit_test(test_a_handler_that_hangs),
    };

    return cmocka_run_group_tests_name("books", tests, NULL, NULL);
}
