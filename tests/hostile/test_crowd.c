/* SPDX-License-Identifier: Apache-2.0 */
/* One of 64 clients does not receive any more, or one of 64 actors never returns: the others go on,
 * and every drop or refusal is counted.
 *
 * Each client posts numbers to an echo of its own and has a window of them under way; the one in
 * question is posted for as often as the others are on the average, whether it takes its answers or
 * not. The others' rate is held against that of as many others beside one who behaves (drop), or
 * beside one worker less and nobody who hangs (hang): `bench=crowd` lines. Asserted are the books;
 * the ratio with --strict (tests/crowd.sh).
 *
 * So that the two differ in nothing else:
 * - both services are up at a time, one of them stopped, and a slice of the one is compared with
 *   the next slice of the other: what the machine is doing besides hits both.  A ratio is the
 *   median over many pairs of slices;
 * - this thread makes the same calls for the same number of messages in both, but for what cannot
 *   be taken: answers of the deaf one;
 * - this thread never sleeps.  As many workers run as there are processors beside it, two at most,
 * and they spin (spin-us) for longer than a round of the crowd takes: else a service is ten times
 * as fast in one slice as in the next, as it happens that its workers sleep, or share a processor
 * with this thread, in either service. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/system/crowd.h"
#include "tests/system/harness.h"

enum { CROWD = 64, ODD = 17, WINDOW = 64, PAIRS_MOST = 15, SLICES_MOST = 1000 };

#define SLICE 0.1 /* s */

enum how { HONEST, DEAF, HUNG };

struct member {
    struct odeon_client *client;
    struct odeon_port *port;
    odeon_ref echo;
    uint64_t posted, answered, refused, last;
};

struct crowd {
    struct service service;
    struct member member[CROWD];
    uint32_t number, hang;
    /* posts by others that the odd one has not been posted for, times as many others */
    uint64_t owed;
};

static double seconds = 0.5; /* of either service, in slices */
static unsigned pairs = 1;   /* of services */
static bool strict;

static unsigned live_workers(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 2 ? 2 : 1;
}

static void crowd_begin(struct crowd *c, unsigned n_workers)
{
    char workers[32];

    memset(c, 0, sizeof(*c));
    snprintf(workers, sizeof(workers), "workers=%u", n_workers);
    service_start(&c->service,
                  (const char *const[]){ "--set", workers, "--set", "queues-per-worker=16", "--set",
                                         "actors=1024", "--set", "affinity=none", "--set",
                                         "stall-warn-ms=50", "--set", "spin-us=5000", "--set",
                                         "limit-bytes=1M", "--set", "backlog-bytes=128K",
                                         "--plugin", TEST_CROWD, NULL });
    for (unsigned i = 0; i < CROWD; i++) {
        struct odeon_port_options options = { .struct_size = sizeof(options),
                                              .submission_bytes = 1 << 16,
                                              .delivery_bytes = 1 << 16,
                                              .overflow = ODEON_PORT_DROP_NEWEST };
        struct member *m = &c->member[i];

        m->client = service_connect(&c->service, "crowd");
        assert_int_equal(odeon_port_open(m->client, &options, &m->port), 0);
        m->echo = spawn(m->client, "crowd_echo", NULL, NULL, 0);
    }
    c->number = message_id(c->member[0].client, odeon_message_of(crowd_number));
    c->hang = message_id(c->member[0].client, odeon_message_of(crowd_hang));
}

static void crowd_end(struct crowd *c)
{
    for (unsigned i = 0; i < CROWD; i++)
        odeon_client_disconnect(c->member[i].client);
    service_stop(&c->service, SIGTERM);
    service_end(&c->service);
}

static void take(struct member *m)
{
    struct odeon_delivery delivery;
    bool any = false;

    while (odeon_port_receive(m->port, &delivery) == 1) {
        any = true;
        if (delivery.type == ODEON_MSG_REFUSAL) {
            m->refused++;
            continue;
        }
        uint64_t n = ((const struct crowd_number *)delivery.data)->n;
        assert_true(n > m->last); /* in order; with gaps where something was dropped */
        m->last = n;
        m->answered++;
    }
    if (any)
        odeon_port_release(m->port);
}

static bool post(struct crowd *c, struct member *m)
{
    struct crowd_number number = { .n = m->posted + 1 };

    if (odeon_port_post(m->port, m->echo, c->number, &number, sizeof(number)) != 0)
        return false;
    m->posted++;
    return true;
}

static void post_some(struct crowd *c, struct member *m)
{
    for (unsigned n = 0; n < WINDOW && post(c, m); n++)
        ;
}

/* What the honest ones got answered in a second. */
static double run(struct crowd *c, enum how odd, double how_long)
{
    int64_t begin = time_ns(), end = begin + (int64_t)(how_long * 1e9);
    uint64_t before = 0, after = 0;

    for (unsigned i = 0; i < CROWD; i++)
        before += i == ODD ? 0 : c->member[i].answered;
    while (time_ns() < end) {
        struct member *m = &c->member[ODD];
        uint64_t posted = 0;

        for (unsigned i = 0; i < CROWD; i++) {
            struct member *other = &c->member[i];

            if (i == ODD)
                continue;
            take(other);
            while (other->posted - other->answered < WINDOW && post(c, other))
                posted++;
        }
        if (odd != DEAF)
            take(m);
        c->owed += posted;
        for (; c->owed >= CROWD - 1; c->owed -= CROWD - 1)
            post(c, m);
    }
    for (unsigned i = 0; i < CROWD; i++)
        after += i == ODD ? 0 : c->member[i].answered;
    return (double)(after - before) * 1e9 / (double)(time_ns() - begin);
}

/* Everybody's books, and those of the one who did not behave: nothing is missing that was not
 * counted. */
static void settle(struct crowd *c, enum how odd)
{
    for (unsigned i = 0; i < CROWD; i++) {
        struct member *m = &c->member[i];

        if (i == ODD && odd == HUNG)
            continue;
        assert_true(wait_until(
            (take(m), m->answered + m->refused + odeon_port_dropped(m->port) == m->posted)));
        if (i != ODD || odd == HONEST)
            assert_int_equal(odeon_port_dropped(m->port) + m->refused, 0);
    }
    if (odd == DEAF)
        assert_true(odeon_port_dropped(c->member[ODD].port) > 0);
    if (odd == HUNG) { /* what was not refused waits, in its own queue or beside it */
        struct member *m = &c->member[ODD];

        assert_true(wait_until((take(m), service_figure(&c->service, "refusals") ==
                                             m->refused + odeon_port_dropped(m->port))));
        assert_int_equal(m->answered, 0);
        assert_true(m->refused > 0 && m->refused + odeon_port_dropped(m->port) <= m->posted);
        /* and who got no processor for so long */
        assert_true(wait_until(service_figure(&c->service, "set_aside") >= 1));
    }
    assert_int_equal(service_figure(&c->service, "backlog_dropped"),
                     odeon_port_dropped(c->member[ODD].port));
    assert_int_equal(service_state(&c->service).executor_restarts, 0);
}

/* Nothing waits in the queues that actors share. */
static bool queues_are_empty(struct crowd *c)
{
    struct odeon_list *list = NULL;
    uint64_t bytes = 0;

    assert_int_equal(odeon_queue_list(c->member[0].client, "ordinary", 0, 0, &list), 0);
    for (size_t i = 0; i < list->n; i++)
        bytes += ((const struct odeon_queue_info *)list->rows)[i].bytes;
    odeon_list_free(list);
    return bytes == 0;
}

/* Until what the odd one does not take is dropped, or refused: so it is all along the run. What it
 * was posted lies beside the queue that it shares then, or its mates would be refused, too. */
static void fill(struct crowd *c, enum how odd)
{
    struct member *m = &c->member[ODD];

    if (odd == DEAF)
        assert_true(wait_until((post_some(c, m), odeon_port_dropped(m->port) > 0)));
    if (odd == HUNG) {
        assert_true(wait_until((post_some(c, m), take(m), m->refused > 0)));
        assert_true(wait_until(queues_are_empty(c)));
    }
}

static void crowd_stop(struct crowd *c)
{
    process_stop(service_executor(&c->service));
}

static void crowd_continue(struct crowd *c)
{
    assert_int_equal(kill(service_executor(&c->service), SIGCONT), 0);
}

/* One service's turn; its windows are full when the clock starts. */
static double slice(struct crowd *c, enum how odd)
{
    double rate;

    crowd_continue(c);
    (void)run(c, odd, SLICE / 4);
    rate = run(c, odd, SLICE);
    crowd_stop(c);
    return rate;
}

static void crowd_prepare(struct crowd *c, enum how odd, unsigned n_workers)
{
    crowd_begin(c, n_workers);
    if (odd == HUNG) {
        struct crowd_hang hang = { 0 };

        assert_int_equal(
            odeon_port_post(c->member[ODD].port, c->member[ODD].echo, c->hang, &hang, sizeof(hang)),
            0);
        /* before that the queue that it shares with others would be full of what it does not take,
         * and theirs refused */
        assert_true(wait_until(service_figure(&c->service, "set_aside") >= 1));
    }
    fill(c, odd);
    crowd_stop(c);
}

static void crowd_finish(struct crowd *c, enum how odd)
{
    crowd_continue(c);
    settle(c, odd);
    crowd_end(c);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof(values[0]), by_size);
    return values[n / 2];
}

/* The ratio of two services that are run in turn. */
static double one(enum how odd, unsigned n_workers, unsigned n_workers_beside, double *ret_rate)
{
    static struct crowd crowd, beside;
    static double ratios[SLICES_MOST], rates[SLICES_MOST];
    unsigned n = 0;

    crowd_prepare(&crowd, odd, n_workers);
    crowd_prepare(&beside, HONEST, n_workers_beside);
    for (double left = seconds; left > SLICE / 2 && n < SLICES_MOST; left -= SLICE, n++) {
        double rate_beside = n % 2 ? 0 : slice(&beside, HONEST);

        rates[n] = slice(&crowd, odd);
        if (n % 2)
            rate_beside = slice(&beside, HONEST);
        ratios[n] = rates[n] / rate_beside;
    }
    crowd_finish(&crowd, odd);
    crowd_finish(&beside, HONEST);
    *ret_rate = median(rates, n);
    return median(ratios, n);
}

static void compare(const char *what, enum how odd, unsigned n_workers, unsigned n_workers_beside)
{
    double ratios[PAIRS_MOST], rate = 0, ratio;

    for (unsigned i = 0; i < pairs; i++)
        ratios[i] = one(odd, n_workers, n_workers_beside, &rate);
    ratio = median(ratios, pairs);
    printf("# bench=crowd odd=%s members=%d workers=%u others_per_s=%.0f ratio=%.3f from=%.3f "
           "to=%.3f at_least=0.98 "
           "pairs=%u\n",
           what, CROWD, n_workers, rate, ratio, ratios[0], ratios[pairs - 1], pairs);
    if (strict)
        assert_true(ratio >= 0.98);
}

static void test_one_client_is_deaf(void **state)
{
    (void)state;
    compare("deaf", DEAF, live_workers(), live_workers());
}

static void test_one_actor_hangs(void **state)
{
    (void)state;
    compare("hung", HUNG, live_workers() + 1, live_workers());
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_client_is_deaf),
        cmocka_unit_test(test_one_actor_hangs),
    };
    if (argc == 4 && strcmp(argv[1], "--strict") == 0) {
        strict = true;
        seconds = atof(argv[2]);
        pairs = (unsigned)atoi(argv[3]);
    }
    if (seconds < SLICE || pairs == 0 || pairs > PAIRS_MOST || (argc != 1 && !strict)) {
        fprintf(stderr, "usage: %s [--strict SECONDS PAIRS]\n", argv[0]);
        return 2;
    }
    return cmocka_run_group_tests_name("one of a crowd", tests, NULL, NULL);
}
