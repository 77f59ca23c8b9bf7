/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a port: what has come through it, what waits on either side, what its next record
 * waits for; and that a client cannot make it more than there is room for. */
#include "tests/unit/port_fixture.h"

enum { POSTS = 100, ROUNDS = 20000 };

struct looks {
    struct engine_fixture *f;
    atomic_bool end;
    _Atomic uint64_t n;
    uint64_t most; /* bytes */
};

static struct engine_port_tally tally_of(struct engine_fixture *f)
{
    struct engine_port_tally tally;

    assert_int_equal(engine_port_tally(f->engine, PORT, 1, &tally), 0);
    return tally;
}

static void post_numbers(struct client *c, uint64_t n)
{
    for (uint64_t i = 1; i <= n; i++)
        client_post(c, echo, number_type, &i, 8);
}

static void test_what_comes_through(void **state)
{
    struct engine_fixture f;
    struct client c;
    uint64_t posted;

    (void)state;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    post_numbers(&c, POSTS);
    posted = c.tail;
    assert_int_equal(tally_of(&f).not_taken, posted);
    assert_int_equal(tally_of(&f).posts, 0);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_until(tally_of(&f).delivered > 0 && tally_of(&f).posts == POSTS &&
                                     tally_of(&f).not_received == tally_of(&f).delivered));
    for (uint64_t i = 1; i <= POSTS; i++)
        client_expect_number(&c, i);
    assert_null(client_next(&c)); /* and says so */
    assert_int_equal(tally_of(&f).not_taken, 0);
    assert_int_equal(tally_of(&f).not_received, 0);
    assert_int_equal(tally_of(&f).backlog, 0);
    assert_int_equal(tally_of(&f).dropped, 0);
    assert_int_equal(tally_of(&f).refused, 0);
    client_post(&c, echo + 1, number_type, &(uint64_t){ 1 }, 8);
    assert_true(engine_fixture_until(tally_of(&f).refused == 1 && tally_of(&f).posts == POSTS + 1));
    assert_int_equal(atomic_load(&c.executor->posts), POSTS + 1); /* for whoever has the file */
    assert_int_equal(tally_of(&f).waits, ENGINE_PORT_GOES_ON);
    assert_int_equal(tally_of(&f).delivered % 8, 0);
    client_free(&c);
    fixture_end(&f);
}

/* Whoever reads nothing: its ring is full, the rest is behind it, what is too much is dropped. */
static void test_who_does_not_receive(void **state)
{
    struct engine_fixture f;
    struct client c;
    uint64_t n = 0;

    (void)state;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    while (tally_of(&f).dropped == 0)
        client_post(&c, echo, number_type, &(uint64_t){ ++n }, 8);
    assert_true(tally_of(&f).not_received > CLIENT_RING / 2);
    assert_true(tally_of(&f).not_received <= CLIENT_RING);
    assert_true(tally_of(&f).backlog > 0);
    client_free(&c);
    fixture_end(&f);
}

static void test_what_it_waits_for(void **state)
{
    struct engine_fixture f;
    struct client c;

    (void)state;
    fixture_begin(&f, 2, 1 << 20);
    client_make(&c, PORT, 1);
    c.info.rated = true;
    assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), 0);
    assert_int_equal(engine_start(f.engine), 0);
    post_numbers(&c, 1);
    assert_true(engine_fixture_until(tally_of(&f).waits == ENGINE_PORT_RATE));
    assert_true(tally_of(&f).not_taken > 0);
    assert_int_equal(engine_port_grant(f.engine, PORT, 1, POSTS), 0);
    assert_true(engine_fixture_until(tally_of(&f).posts == 1));
    assert_int_equal(tally_of(&f).waits, ENGINE_PORT_GOES_ON);
    client_free(&c);
    fixture_end(&f);
}

/* The look is of moments one behind the other, in which it goes on: at most one of these is under
 * way at a time, and no more is told. */
static void *look_all_the_time(void *userdata)
{
    struct looks *looks = userdata;

    while (!atomic_load(&looks->end)) {
        struct engine_port_tally tally = tally_of(looks->f);

        if (tally.not_taken > looks->most)
            looks->most = tally.not_taken;
        if (tally.not_received > looks->most)
            looks->most = tally.not_received;
        atomic_fetch_add(&looks->n, 1);
    }
    return NULL;
}

static void test_a_look_at_what_goes_on(void **state)
{
    struct looks looks = { 0 };
    struct engine_fixture f;
    struct client c;
    pthread_t thread;

    (void)state;
    fixture_begin(&f, 1, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    looks.f = &f;
    assert_int_equal(pthread_create(&thread, NULL, look_all_the_time, &looks), 0);
    assert_true(engine_fixture_until(atomic_load(&looks.n) > 0)); /* or there may be none */
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        client_post(&c, echo, number_type, &i, 8);
        client_expect_number(&c, i);
    }
    atomic_store(&looks.end, true);
    pthread_join(thread, NULL);
    client_free(&c);
    fixture_end(&f);
    /* its last one counts until it looks for the next */
    assert_true(looks.most <= 2 * envelope_size(8));
}

/* Its words are believed as far as there is room, whatever they say. */
static void test_a_client_that_lies(void **state)
{
    static const uint64_t lies[] = { 1, 8, CLIENT_RING + 8, UINT64_MAX, UINT64_C(1) << 63 };
    struct engine_port_tally tally;
    struct engine_fixture f;
    struct client c;

    (void)state;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1); /* nobody runs it, so nobody finds it broken */
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        atomic_store(&c.words->submission_tail, lies[i]);
        atomic_store(&c.words->delivery_head, lies[i]);
        assert_true(tally_of(&f).not_taken <= CLIENT_RING);
        assert_true(tally_of(&f).not_received <= CLIENT_RING);
    }
    assert_int_equal(engine_port_tally(f.engine, PORT, 2, &tally), -ENOENT);
    assert_int_equal(engine_port_tally(f.engine, PORT + 1, 1, &tally), -ENOENT);
    assert_int_equal(engine_port_tally(f.engine, ODEON_PORTS_MAX, 1, &tally), -ENOENT);
    assert_int_equal(engine_port_tally(f.engine, UINT32_MAX, 1, &tally), -ENOENT);
    client_free(&c);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_through), cmocka_unit_test(test_who_does_not_receive),
        cmocka_unit_test(test_what_it_waits_for),  cmocka_unit_test(test_a_look_at_what_goes_on),
        cmocka_unit_test(test_a_client_that_lies),
    };
    return cmocka_run_group_tests_name("engine_port_tally", tests, NULL, NULL);
}
