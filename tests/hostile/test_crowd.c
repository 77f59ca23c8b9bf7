/* SPDX-License-Identifier: Apache-2.0 */
/* One of 64 clients does not receive any more, or one of 64 actors never returns: the others go on, and every drop or
 * refusal is counted.
 *
 * Each client posts numbers to an echo of its own and has a window of them under way; the one in question is posted for
 * as fast as the others are.  The rate of the others is held against that of the same others beside one who behaves
 * (drop), or beside one worker less and nobody who hangs (hang): `bench=crowd` lines.  Asserted are the books; the
 * ratio with --strict, as the median of several pairs (tests/crowd.sh). */
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

enum { CROWD = 64, ODD = 17, WINDOW = 64, PAIRS_MOST = 15 };

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
};

static double seconds = 0.7;
static unsigned pairs = 1;
static bool strict;

static void crowd_begin(struct crowd *c, const char *workers)
{
    memset(c, 0, sizeof(*c));
    service_start(&c->service, (const char *const[]){ "--set", workers, "--set", "queues-per-worker=16", "--set",
                                                      "actors=1024", "--set", "affinity=none", "--set",
                                                      "stall-warn-ms=50", "--set", "limit-bytes=1M", "--set",
                                                      "backlog-bytes=128K", "--plugin", TEST_CROWD, NULL });
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
        odeon_disconnect(c->member[i].client);
    service_stop(&c->service, SIGTERM);
    service_end(&c->service);
}

static void take(struct member *m)
{
    struct odeon_delivery delivery;
    bool any = false;

    while (odeon_receive(m->port, &delivery) == 1) {
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
        odeon_release(m->port);
}

static bool post(struct crowd *c, struct member *m)
{
    struct crowd_number number = { .n = m->posted + 1 };

    if (odeon_post(m->port, m->echo, c->number, &number, sizeof(number)) != 0)
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
static double run(struct crowd *c, enum how odd)
{
    int64_t begin = time_ns(), end = begin + (int64_t)(seconds * 1e9);
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
        for (uint64_t n = (posted + CROWD / 2) / (CROWD - 1);
             n > 0 && (odd != HONEST || m->posted - m->answered < WINDOW); n--)
            post(c, m);
    }
    for (unsigned i = 0; i < CROWD; i++)
        after += i == ODD ? 0 : c->member[i].answered;
    return (double)(after - before) * 1e9 / (double)(time_ns() - begin);
}

/* Everybody's books, and those of the one who did not behave: nothing is missing that was not counted. */
static void settle(struct crowd *c, enum how odd)
{
    for (unsigned i = 0; i < CROWD; i++) {
        struct member *m = &c->member[i];

        if (i == ODD && odd == HUNG)
            continue;
        assert_true(wait_until((take(m), m->answered + m->refused + odeon_port_dropped(m->port) == m->posted)));
        if (i != ODD || odd == HONEST)
            assert_int_equal(odeon_port_dropped(m->port) + m->refused, 0);
    }
    if (odd == DEAF)
        assert_true(odeon_port_dropped(c->member[ODD].port) > 0);
    if (odd == HUNG) { /* what was not refused waits, in its own queue or beside it */
        struct member *m = &c->member[ODD];

        assert_true(wait_until((take(m), service_figure(&c->service, "refusals") == m->refused)));
        assert_int_equal(m->answered, 0);
        assert_true(m->refused > 0 && m->refused <= m->posted);
        assert_true(wait_until(service_figure(&c->service, "set_aside") == 1));
    }
    assert_int_equal(service_figure(&c->service, "backlog_dropped"), odeon_port_dropped(c->member[ODD].port));
    assert_int_equal(service_state(&c->service).executor_restarts, 0);
}

/* Until what the odd one does not take is dropped, or refused: so it is all along the run. */
static void fill(struct crowd *c, enum how odd)
{
    struct member *m = &c->member[ODD];

    if (odd == DEAF)
        assert_true(wait_until((post_some(c, m), odeon_port_dropped(m->port) > 0)));
    if (odd == HUNG)
        assert_true(wait_until((post_some(c, m), take(m), m->refused > 0)));
}

static double one(enum how odd, const char *workers)
{
    struct crowd c;
    double rate;

    crowd_begin(&c, workers);
    if (odd == HUNG) {
        struct crowd_hang hang = { 0 };

        assert_int_equal(odeon_post(c.member[ODD].port, c.member[ODD].echo, c.hang, &hang, sizeof(hang)), 0);
        assert_true(wait_until(service_figure(&c.service, "handler_stalls") == 1));
    }
    fill(&c, odd);
    rate = run(&c, odd);
    settle(&c, odd);
    crowd_end(&c);
    return rate;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median of pairs that were run in turn. */
static void compare(const char *what, enum how odd, const char *workers, const char *workers_beside)
{
    double ratios[PAIRS_MOST], rate = 0;

    for (unsigned i = 0; i < pairs; i++) {
        double beside = i % 2 ? 0 : one(HONEST, workers_beside);

        rate = one(odd, workers);
        if (i % 2)
            beside = one(HONEST, workers_beside);
        ratios[i] = rate / beside;
    }
    qsort(ratios, pairs, sizeof(ratios[0]), by_size);
    printf("# bench=crowd odd=%s members=%d others_per_s=%.0f ratio=%.3f at_least=0.98 pairs=%u\n", what, CROWD, rate,
           ratios[pairs / 2], pairs);
    if (strict)
        assert_true(ratios[pairs / 2] >= 0.98);
}

static void test_one_client_is_deaf(void **state)
{
    (void)state;
    compare("deaf", DEAF, "workers=2", "workers=2");
}

static void test_one_actor_hangs(void **state)
{
    (void)state;
    compare("hung", HUNG, "workers=3", "workers=2");
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
    if (seconds <= 0 || pairs == 0 || pairs > PAIRS_MOST || (argc != 1 && !strict)) {
        fprintf(stderr, "usage: %s [--strict SECONDS PAIRS]\n", argv[0]);
        return 2;
    }
    return cmocka_run_group_tests_name("one of a crowd", tests, NULL, NULL);
}
