/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: honest clients, lying ones, and such as are gone. */
#include "daemon/common/page.h"
#include "tests/unit/port_fixture.h"

/* ---- honest clients ---- */

static void test_there_and_back(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t n = TEST_SCALE(100000), posted = 0, received = 0;
    while (received < n) {
        if (posted < n && posted - received < 500 && client_has_room(&c, 32)) {
            client_post(&c, echo, number_type, &(uint64_t){ ++posted }, 8);
            if (posted % 8)
                continue;
        }
        const struct envelope *at =
            posted - received >= 500 || posted == n ? client_wait(&c) : client_next(&c);
        if (!at)
            continue;
        assert_int_equal(*(const uint64_t *)envelope_payload(at), ++received);
        assert_int_equal(at->from, echo);
    }
    /* it is counted behind the flush that lets others answer */
    assert_true(engine_fixture_until(engine_fixture_stat(&f, STAT_port_messages) >= n));
    assert_int_equal(engine_fixture_stat(&f, STAT_port_messages), n);
    client_free(&c);
    fixture_end(&f);
}

static void test_all_sizes_round_the_ring(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    static uint8_t bytes[ODEON_PAYLOAD_MAX];
    for (unsigned i = 0; i < TEST_SCALE(2000); i++) {
        uint16_t length = (uint16_t)(i % 10 == 9 ? ODEON_PAYLOAD_MAX - i % 7 : i * 37 % 5000);
        for (unsigned k = 0; k < length; k++)
            bytes[k] = (uint8_t)(i + k * 3);
        client_post(&c, echo, bulk_type, bytes, length);
        const struct envelope *at = client_wait(&c);
        assert_int_equal(at->type, reply_type);
        assert_int_equal(at->length, length);
        assert_memory_equal(envelope_payload(at), bytes, length);
    }
    client_free(&c);
    fixture_end(&f);
}

static void test_correlation_and_sender(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 1, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t call[2] = { 0xabcdef, 1 };
    /* what it says of `from` is ignored */
    client_post_as(&c,
                   (struct envelope){ .to = echo,
                                      .from = echo,
                                      .type = number_type,
                                      .length = 16,
                                      .prefix = PREFIX_CORRELATION },
                   call);
    const struct envelope *at = client_wait(&c);
    assert_int_equal(at->flags, ENVELOPE_REPLY);
    assert_int_equal(at->prefix, PREFIX_CORRELATION);
    assert_int_equal(at->length, 16);
    assert_int_equal(envelope_correlation(at), call[0]);
    assert_int_equal(envelope_payload_size(at), 8);
    assert_memory_equal(envelope_payload(at), &call[1], 8);
    assert_int_equal(seen.sender, c.ref);
    client_free(&c);
    fixture_end(&f);
}

static void test_refusals(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 1, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t number[2] = { 4242, 1 };
#define REFUSED(to, type, length, reason)                                                          \
    do {                                                                                           \
        client_post(&c, (to), (type), number, (length));                                           \
        assert_int_equal(client_expect_refusal(&c, (to), (type), (reason)).correlation, 0);        \
    } while (0)
    REFUSED(actor_ref_make(actor_ref_slot(echo), 9), number_type, 8, REASON_NO_SUCH_ACTOR);
    REFUSED(actor_ref_make(f.config.actors_max - 1, 1), number_type, 8, REASON_NO_SUCH_ACTOR);
    REFUSED(actor_ref_make(PORT + 1, 1), number_type, 8, REASON_NO_SUCH_ACTOR);
    /* another executor's, whatever its slot is, and nobody */
    REFUSED(actor_ref_of(2, actor_ref_slot(echo), 1), number_type, 8, REASON_NO_SUCH_ACTOR);
    REFUSED(actor_ref_of(255, UINT32_MAX >> 8, 1), number_type, 8, REASON_NO_SUCH_ACTOR);
    REFUSED(actor_ref_of(0, actor_ref_slot(echo), 1), number_type, 8, REASON_NO_SUCH_ACTOR);
    REFUSED(0, number_type, 8, REASON_NO_SUCH_ACTOR);
    REFUSED(c.ref, number_type, 8, REASON_NOT_ACCEPTED); /* ports take nothing from ports */
    REFUSED(echo, MESSAGE_TYPE_INIT, 0, REASON_NOT_ACCEPTED);
    REFUSED(echo, MESSAGE_TYPE_REFUSAL, 8, REASON_NOT_ACCEPTED);
    REFUSED(echo, UINT16_MAX, 8, REASON_NOT_ACCEPTED);
    REFUSED(echo, alien_type + 1, 8, REASON_NOT_ACCEPTED);
    REFUSED(echo, alien_type, 8, REASON_NOT_ACCEPTED); /* found out by the receiver */
    REFUSED(echo, number_type, 7, REASON_BAD_SIZE);
    REFUSED(echo, number_type, 16, REASON_BAD_SIZE);
#undef REFUSED
    static const struct {
        uint16_t length;
        enum envelope_reason reason;
    } correlated[] = { { 4, REASON_BAD_SIZE }, { 8, REASON_BAD_SIZE }, { 15, REASON_BAD_SIZE } };
    for (unsigned i = 0; i < 3; i++) {
        client_post_as(&c,
                       (struct envelope){ .to = echo,
                                          .type = number_type,
                                          .length = correlated[i].length,
                                          .prefix = PREFIX_CORRELATION },
                       number);
        assert_int_equal(
            client_expect_refusal(&c, echo, number_type, correlated[i].reason).correlation,
            i ? 4242 : 0);
    }
    client_post(&c, echo, number_type, &(uint64_t){ 77 }, 8);
    client_expect_number(&c, 77);
    assert_int_equal(engine_fixture_stat(&f, STAT_refusals), 18);
    client_free(&c);
    fixture_end(&f);
}

static void test_queue_full_is_refused(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 2, 4096);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    atomic_store(&seen.hold, 1);
    uint64_t n = TEST_SCALE(20000), refused = 0, answered = 0;
    for (uint64_t i = 1; i <= n; i++)
        client_post(&c, echo, number_type, &i, 8);
    /* Its ring may hold all of them: another worker takes them, once it finds the first stuck. */
    assert_true(engine_fixture_until(engine_fixture_stat(&f, STAT_refusals) > 0));
    atomic_store(&seen.hold, 0);
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    /* what is dropped is counted a little behind what was delivered with it */
    while (refused + answered + engine_fixture_stat(&f, STAT_backlog_dropped) < n) {
        const struct envelope *at = client_next(&c);
        assert_true(at || clock_now_ns() < until);
        if (!at)
            continue;
        until = clock_now_ns() + TEST_DEADLINE_NS;
        if (at->type == MESSAGE_TYPE_REFUSAL) {
            assert_int_equal(((const struct refusal *)envelope_payload(at))->reason,
                             REASON_QUEUE_FULL);
            refused++;
        } else {
            answered++;
        }
    }
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    assert_true(refused > 0 && answered > 0);
    assert_int_equal(atomic_load(&seen.n) + engine_fixture_stat(&f, STAT_refusals), n);
    client_free(&c);
    fixture_end(&f);
}

/* ---- sleeping and waking ---- */

static void spin_ns(uint64_t ns)
{
    for (uint64_t until = clock_now_ns() + ns; clock_now_ns() < until;)
        ;
}

/* The bell is rung only when the word says so: each of many single posts must be answered. */
static void test_doorbell_is_enough(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    f.engine->config.spin_ns = 2000;
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t rung = 0;
    for (uint64_t i = 1; i <= TEST_SCALE(20000); i++) {
        if (i % 64 == 0)
            assert_true(engine_fixture_until(load_relaxed(&c.executor->need_wakeup)));
        rung += load_relaxed(&c.executor->need_wakeup);
        client_post(&c, echo, number_type, &i, 8);
        uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
        const struct envelope *at;
        while (!(at = client_next(&c)) && clock_now_ns() < until)
            sched_yield();
        assert_true(at && *(const uint64_t *)envelope_payload(at) == i);
        spin_ns(i * 1009 % 8000);
    }
    assert_true(rung > 0);
    client_free(&c);
    fixture_end(&f);
}

/* Its worker does not come back from a handler: another one looks after the port. */
static void test_port_of_a_stuck_worker(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_actor_view view;
    fixture_begin(&f, 2, 1 << 20);
    actor_ref others[2] = { 0, 0 }; /* by the worker that their queue was laid out for */
    for (unsigned i = 0; i < 8; i++) {
        actor_ref ref = engine_fixture_spawn(&f, echo_type, NULL, 0);
        assert_int_equal(engine_actor_get(f.engine, ref, &view), 0);
        others[view.queue / 2] = ref;
    }
    client_open(&f, &c, PORT, 1); /* of worker 1, like every odd one */
    assert_int_equal(engine_start(f.engine), 0);
    client_post(&c, others[0], bulk_type, NULL, 0);
    (void)client_wait(&c);
    atomic_store(&seen.hold, 1);
    client_post(&c, others[1], number_type, &(uint64_t){ 1 }, 8);
    assert_true(engine_fixture_until(atomic_load(&seen.inside)));
    for (unsigned i = 0; i < 50; i++) { /* the handler's own queue waits; everything else goes on */
        client_post(&c, others[0], bulk_type, NULL, 0);
        assert_int_equal(client_wait(&c)->length, 0);
    }
    assert_int_equal(atomic_load(&seen.hold), 1);
    atomic_store(&seen.hold, 0);
    client_expect_number(&c, 1);
    client_free(&c);
    fixture_end(&f);
}

/* ---- lying clients ---- */

/* What a broken client writes, after `good` proper records. */
static void broken(enum port_broken why, struct envelope header, uint64_t tail_lie)
{
    struct engine_fixture f;
    struct client c, other;
    uint32_t reported;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    client_open(&f, &other, PORT + 1, 1);
    assert_int_equal(engine_start(f.engine), 0);
    client_post(&c, echo, number_type, &(uint64_t){ 1 }, 8);
    client_expect_number(&c, 1);
    *client_place(&c) = header;
    client_publish(&c, c.tail + tail_lie);
    expect_removed(&f, PORT, 1, &reported);
    assert_string_equal(port_broken_name(reported), port_broken_name(why));
    assert_int_equal(load_relaxed(&c.executor->broken), why);
    assert_int_equal(engine_fixture_stat(&f, STAT_ports_broken), 1);
    client_post(&other, echo, number_type, &(uint64_t){ 2 }, 8); /* it harms itself alone */
    client_expect_number(&other, 2);
    client_free(&c);
    client_open(&f, &c, PORT, 2);
    client_post(&c, echo, number_type, &(uint64_t){ 3 }, 8);
    client_expect_number(&c, 3);
    client_free(&c);
    client_free(&other);
    fixture_end(&f);
}

static void test_broken_tail(void **state)
{
    (void)state;
    struct envelope good = { .to = actor_ref_make(ODEON_PORTS_MAX, 1), .type = 16 };
    broken(PORT_BROKEN_TAIL, good, RING + 8);
    broken(PORT_BROKEN_TAIL, good, 28);
    broken(PORT_BROKEN_TAIL, good, (uint64_t)-8);
    broken(PORT_BROKEN_TAIL, good, UINT64_C(1) << 63);
}

static void test_broken_length(void **state)
{
    (void)state;
    struct envelope header = { .to = actor_ref_make(ODEON_PORTS_MAX, 1),
                               .type = 16,
                               .length = ODEON_PAYLOAD_MAX + 9 };
    broken(PORT_BROKEN_LENGTH, header, RING - 64);
    header.length = UINT16_MAX;
    broken(PORT_BROKEN_LENGTH, header, RING - 64);
    header.length = 16;
    broken(PORT_BROKEN_LENGTH, header, 32);
    header.length = 0;
    broken(PORT_BROKEN_LENGTH, header, 16);
}

static void test_broken_header(void **state)
{
    (void)state;
    struct envelope header = { .to = 0 };
    broken(PORT_BROKEN_HEADER, header, 24);
    header =
        (struct envelope){ .to = actor_ref_make(ODEON_PORTS_MAX, 1), .type = 16, .attempts = 1 };
    broken(PORT_BROKEN_HEADER, header, 24);
    header.attempts = 0;
    /* the service's own optional words, and those that nobody knows */
    for (unsigned bit = 0; bit < 8; bit++) {
        header.prefix = (uint8_t)(1 << bit);
        header.length = 8;
        if (!(header.prefix & PREFIX_CLIENT_MAY_SET))
            broken(PORT_BROKEN_HEADER, header, 32);
    }
    header.prefix = PREFIX_AFTER; /* no answer comes later, nor anything that is urgent */
    header.flags = ENVELOPE_REPLY;
    broken(PORT_BROKEN_HEADER, header, 32);
    header.flags = ENVELOPE_URGENT;
    broken(PORT_BROKEN_HEADER, header, 32);
    header.flags = 0;
    header.length = 0;
    header.prefix = 0xff;
    broken(PORT_BROKEN_HEADER, header, 24);
    header.prefix = 0;
    for (unsigned flag = 0; flag < 8; flag++) {
        header.flags = (uint8_t)(1 << flag);
        if (!(header.flags & ENVELOPE_CLIENT_MAY_SET))
            broken(PORT_BROKEN_HEADER, header, 24);
    }
}

static void test_broken_slot(void **state)
{
    (void)state;
    broken(PORT_BROKEN_SLOT,
           (struct envelope){ .to = actor_ref_make(2 * ODEON_PORTS_MAX, 1), .type = 16 }, 24);
    broken(PORT_BROKEN_SLOT,
           (struct envelope){ .to = actor_ref_make(UINT32_MAX >> 8, 1), .type = 16 }, 24);
}

/* The executor looks at the head when the ring seems full. */
static void broken_head(uint64_t head)
{
    struct engine_fixture f;
    struct client c;
    uint32_t reported;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    for (uint64_t i = 1; i <= 100; i++) {
        client_post(&c, echo, number_type, &i, 8);
        client_expect_number(&c, i);
    }
    store_release(&c.words->delivery_head, head);
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    for (uint64_t i = 101; i <= 2 * RING / 32 && !load_relaxed(&c.executor->broken); i++) {
        while (!client_has_room(&c, 32) && !load_relaxed(&c.executor->broken) &&
               clock_now_ns() < until)
            sched_yield();
        struct envelope *at = client_place(&c);
        *at = (struct envelope){ .to = echo, .type = number_type, .length = 8 };
        memcpy(envelope_payload(at), &i, 8);
        client_publish(&c, c.tail + 32);
    }
    client_ring(&c);
    expect_removed(&f, PORT, 1, &reported);
    assert_string_equal(port_broken_name(reported), port_broken_name(PORT_BROKEN_HEAD));
    client_free(&c);
    fixture_end(&f);
}

static void test_broken_head(void **state)
{
    (void)state;
    broken_head(UINT64_C(1) << 40); /* beyond the tail */
    broken_head(3201);              /* within a word */
    broken_head((uint64_t)-8);      /* behind what it had taken */
}

/* ---- coming and going ---- */

static void test_what_cannot_be_added(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 1, 1 << 20);
    client_make(&c, PORT, 1);
    struct engine_port_info bad;
    actor_ref ref;
#define BAD(field, value, error)                                                                   \
    do {                                                                                           \
        bad = c.info;                                                                              \
        bad.field = (value);                                                                       \
        assert_int_equal(engine_port_add(f.engine, &bad, &ref), (error));                          \
    } while (0)
    int unsealed = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(unsealed, port_ring_offset(page_bytes()) + RING), 0);
    BAD(id, ODEON_PORTS_MAX, -EINVAL);
    BAD(generation, 0, -EINVAL);
    BAD(submission_bytes, RING + 8, -EINVAL);
    BAD(submission_bytes, RING / 2, -EINVAL);
    BAD(delivery_bytes, ODEON_RING_MAX * UINT64_C(2), -EINVAL);
    BAD(submission_bytes, 2 * RING, -EBADFD);
    BAD(delivery_bytes, 2 * RING, -EBADFD);
    BAD(client_fd, unsealed, -EBADFD);
    BAD(executor_fd, unsealed, -EBADFD);
    BAD(client_fd, c.info.doorbell_fd, -EBADFD);
    BAD(client_fd, -1, -EBADFD);
    BAD(doorbell_fd, -1, -EBADF);
    BAD(closing, true, -ENOENT);
#undef BAD
    assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), 0);
    assert_int_equal(engine_port_add(f.engine, &c.info, &ref), -EEXIST);
    assert_int_equal(engine_port_remove(f.engine, PORT, 2), -ENOENT);
    assert_int_equal(engine_port_remove(f.engine, PORT + 1, 1), -ENOENT);
    assert_int_equal(engine_port_remove(f.engine, UINT32_MAX, 1), -ENOENT);
    close(unsealed);
    client_free(&c);
    fixture_end(&f);
}

static void test_close_drains(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 2, 1 << 20);
    assert_int_equal(engine_start(f.engine), 0);
    uint64_t number = 0;
    for (uint32_t generation = 1; generation <= TEST_SCALE(300); generation++) {
        struct client c;
        uint32_t why;
        client_open(&f, &c, PORT, generation);
        uint64_t n = generation * 7 % 500;
        for (uint64_t i = 0; i < n; i++)
            client_post(&c, echo, number_type, &(uint64_t){ ++number }, 8);
        assert_int_equal(engine_port_remove(f.engine, PORT, generation), 0);
        expect_removed(&f, PORT, generation, &why);
        assert_int_equal(why, 0);
        assert_true(engine_fixture_until(atomic_load(&seen.n) == number)); /* all of them */
        /* told again, by a supervisor that has not heard of the removal: nothing of it is taken
         * twice */
        c.info.closing = true;
        assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), 0);
        assert_int_equal(engine_port_remove(f.engine, PORT, generation), 0);
        expect_removed(&f, PORT, generation, &why);
        assert_int_equal(why, 0);
        /* ... nor of one whose index another has had since */
        c.info.generation = generation + 1;
        assert_int_equal(engine_port_add(f.engine, &c.info, &c.ref), -ENOENT);
        client_free(&c);
    }
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    assert_int_equal(atomic_load(&seen.n), number);
    fixture_end(&f);
}

/* Records for an earlier client of the same index reach nobody. */
static void test_stale_references(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client first, second;
    uint32_t why;
    fixture_begin(&f, 1, 1 << 20);
    client_open(&f, &first, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    client_post(&first, echo, number_type, &(uint64_t){ 1 }, 8);
    client_expect_number(&first, 1);
    client_post(&first, echo, late_type, &(uint64_t){ 2 }, 8);
    client_expect_number(&first, 2);
    assert_int_equal(engine_port_remove(f.engine, PORT, 1), 0);
    expect_removed(&f, PORT, 1, &why);
    uint64_t dead = engine_fixture_stat(&f, STAT_dead_letters);
    /* while nobody is there */
    assert_int_equal(engine_actor_send(f.engine, echo, late_type, &(uint64_t){ 3 }, 8), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    client_open(&f, &second, PORT, 2);
    assert_int_not_equal(second.ref, first.ref);
    /* while another is */
    assert_int_equal(engine_actor_send(f.engine, echo, late_type, &(uint64_t){ 4 }, 8), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), dead + 2);
    client_post(&second, echo, number_type, &(uint64_t){ 5 }, 8);
    client_expect_number(&second, 5);
    assert_null(client_next(&second));
    assert_null(client_next(&first));
    client_free(&first);
    client_free(&second);
    fixture_end(&f);
}

/* Removed with posts, replies and a backlog under way; others keep their traffic. */
/* Nobody's number is that of the first client's slot, and nothing more. */
static void test_send_to_nobody(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    fixture_begin(&f, 1, 1 << 20);
    client_open(&f, &c, 0, 1);
    assert_int_equal(actor_ref_slot(c.ref), 0);
    assert_int_equal(engine_start(f.engine), 0);
    seen.sender = 0;
    for (uint64_t i = 1; i < 3; i++) {
        uint64_t before = atomic_load(&seen.n);
        client_post(&c, echo, late_type, &i, 8);
        assert_true(engine_fixture_until(atomic_load(&seen.n) > before));
        assert_int_equal(atomic_load(&seen.late), i == 1 ? -ESRCH : 0);
        if (i == 1)
            seen.sender = c.ref;
    }
    assert_int_equal(*(const uint64_t *)envelope_payload(client_wait(&c)), 2);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 0);
    client_free(&c);
    fixture_end(&f);
}

static void test_remove_while_traffic(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client steady;
    fixture_begin(&f, 3, 1 << 20);
    actor_ref second = engine_fixture_spawn(&f, echo_type, NULL, 0);
    client_open(&f, &steady, PORT + 1, 1);
    assert_int_equal(engine_start(f.engine), 0);
    for (uint32_t generation = 1; generation <= TEST_SCALE(300); generation++) {
        struct client c;
        uint32_t why;
        client_open(&f, &c, PORT, generation);
        static const uint8_t bytes[400];
        for (unsigned i = 0; i < 300; i++) {
            client_post(&c, i % 2 ? echo : second, bulk_type, bytes, (uint16_t)(i % sizeof(bytes)));
            if (i % 3 == 0)
                (void)client_next(&c);
            if (i == generation % 300)
                assert_int_equal(engine_port_remove(f.engine, PORT, generation), 0);
            if (i > generation % 300)
                break;
        }
        client_post(&steady, echo, number_type, &(uint64_t){ generation }, 8);
        client_expect_number(&steady, generation);
        expect_removed(&f, PORT, generation, &why);
        assert_int_equal(why, 0);
        client_free(&c);
    }
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    client_free(&steady);
    fixture_end(&f);
}

/* The port is there before and after: what was posted is taken once, what was delivered stays. */
static void test_ports_outlive_the_engine(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_recovery report;
    uint64_t posted = 0, received = 0;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    for (unsigned life = 0; life < 10; life++) {
        for (unsigned i = 0; i < 100; i++)
            client_post(&c, echo, number_type, &(uint64_t){ ++posted }, 8);
        assert_int_equal(engine_start(f.engine), 0);
        for (unsigned i = 0; i < 30; i++)
            client_expect_number(&c, ++received);
        engine_stop(f.engine);
        for (unsigned i = 0; i < 50; i++)
            client_post(&c, echo, number_type, &(uint64_t){ ++posted }, 8);
        const char *text;
        actor_ref ref;
        f.engine = engine_close(f.engine);
        assert_int_equal(engine_open(&f.config, f.segment_fd, f.stats_fd, &f.engine, &text), 0);
        assert_int_equal(engine_port_add(f.engine, &c.info, &ref), 0);
        assert_int_equal(ref, c.ref);
        assert_int_equal(engine_recover(f.engine, &report), 0);
        types_register(&f);
        assert_int_equal(load_relaxed(&c.executor->epoch), life + 2);
    }
    assert_int_equal(engine_start(f.engine), 0);
    while (received < posted)
        client_expect_number(&c, ++received);
    assert_null(client_next(&c));
    engine_stop(f.engine);
    /* A start without it: it is forgotten, and its actor with it. */
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    struct engine_actor_view view;
    assert_int_equal(engine_actor_get(f.engine, c.ref, &view), -ESRCH);
    client_free(&c);
    fixture_end(&f);
}

/* The executor is killed when a port has ended and nobody has heard of it yet: the port is added
 * again, and nothing taken again. */
static void test_end_that_nobody_heard_of(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client c;
    struct engine_recovery report;
    const char *text;
    actor_ref ref;
    uint32_t why;
    fixture_begin(&f, 2, 1 << 20);
    client_open(&f, &c, PORT, 1);
    assert_int_equal(engine_start(f.engine), 0);
    for (uint64_t i = 1; i <= 100; i++)
        client_post(&c, echo, number_type, &i, 8);
    assert_int_equal(engine_port_remove(f.engine, PORT, 1), 0);
    expect_removed(&f, PORT, 1, &why);
    assert_true(engine_fixture_until(atomic_load(&seen.n) == 100));
    engine_stop(f.engine);
    f.engine = engine_close(f.engine);
    assert_int_equal(engine_open(&f.config, f.segment_fd, f.stats_fd, &f.engine, &text), 0);
    assert_int_equal(engine_port_add(f.engine, &c.info, &ref), 0);
    assert_int_equal(engine_recover(f.engine, &report), 0);
    types_register(&f);
    assert_int_equal(engine_start(f.engine), 0);
    assert_int_equal(engine_port_remove(f.engine, PORT, 1), 0);
    expect_removed(&f, PORT, 1, &why);
    assert_int_equal(why, 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    assert_int_equal(atomic_load(&seen.n), 100);
    client_free(&c);
    fixture_end(&f);
}

/* actors.A4: a port has the last generation of its slot, and nobody has it again, also where an
 * executor died before its end was heard of. */
static void test_slot_is_spent(void **state)
{
    (void)state;
    struct engine_fixture f;
    struct client last, next;
    struct engine_recovery report;
    const char *text;
    actor_ref ref;
    uint32_t why;
    fixture_begin(&f, 1, 1 << 20);
    store_relaxed(&f.engine->segment.actors[PORT].word,
                  slot_word(ACTOR_GENERATION_SPENT, 0, ACTOR_SLOT_FREE));
    client_open(&f, &last, PORT, 1);
    assert_int_equal(last.ref, actor_ref_make(PORT, ACTOR_GENERATION_SPENT));
    assert_int_equal(engine_start(f.engine), 0);
    client_post(&last, echo, number_type, &(uint64_t){ 1 }, 8);
    client_expect_number(&last, 1);
    assert_int_equal(engine_fixture_stat(&f, STAT_slots_spent), 0);
    assert_int_equal(engine_port_remove(f.engine, PORT, 1), 0);
    expect_removed(&f, PORT, 1, &why);
    client_make(&next, PORT, 2);
    assert_int_equal(engine_port_add(f.engine, &next.info, &ref), -ENOSPC);
    assert_int_equal(engine_fixture_stat(&f, STAT_slots_spent), 1);
    engine_stop(f.engine);
    f.engine = engine_close(f.engine);
    assert_int_equal(engine_open(&f.config, f.segment_fd, f.stats_fd, &f.engine, &text), 0);
    assert_int_equal(engine_port_add(f.engine, &next.info, &ref), -ENOSPC);
    assert_int_equal(engine_port_add(f.engine, &last.info, &ref), 0);
    assert_int_equal(ref, last.ref);
    assert_int_equal(engine_recover(f.engine, &report), 0);
    types_register(&f);
    assert_int_equal(engine_fixture_stat(&f, STAT_slots_spent), 1);
    assert_int_equal(engine_start(f.engine), 0);
    assert_int_equal(engine_port_remove(f.engine, PORT, 1), 0);
    expect_removed(&f, PORT, 1, &why);
    assert_int_equal(engine_fixture_stat(&f, STAT_slots_spent), 1);
    assert_int_equal(engine_port_add(f.engine, &next.info, &ref), -ENOSPC);
    client_free(&next);
    client_make(&next, PORT + 1, 1);
    assert_int_equal(engine_port_add(f.engine, &next.info, &next.ref), 0);
    client_post(&next, echo, number_type, &(uint64_t){ 2 }, 8);
    client_expect_number(&next, 2);
    client_free(&next);
    client_free(&last);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        port_test(test_there_and_back, under_defaults),
        port_test(test_all_sizes_round_the_ring, under_defaults),
        port_test(test_correlation_and_sender, under_defaults),
        port_test(test_refusals, under_defaults),
        port_test(test_queue_full_is_refused, under_defaults),
        port_test(test_doorbell_is_enough, under_defaults),
        port_test(test_port_of_a_stuck_worker, under_defaults),
        port_test(test_broken_tail, under_defaults),
        port_test(test_broken_length, under_defaults),
        port_test(test_broken_header, under_defaults),
        port_test(test_broken_slot, under_defaults),
        port_test(test_broken_head, under_defaults),
        port_test(test_what_cannot_be_added, under_defaults),
        port_test(test_close_drains, under_defaults),
        port_test(test_stale_references, under_defaults),
        port_test(test_send_to_nobody, under_defaults),
        port_test(test_remove_while_traffic, under_defaults),
        port_test(test_ports_outlive_the_engine, under_defaults),
        port_test(test_end_that_nobody_heard_of, under_defaults),
        port_test(test_slot_is_spent, under_defaults),
        port_test(test_there_and_back, under_visit),
        port_test(test_doorbell_is_enough, under_visit),
        port_test(test_port_of_a_stuck_worker, under_visit),
        port_test(test_close_drains, under_visit),
        port_test(test_remove_while_traffic, under_visit),
        port_test(test_there_and_back, under_share),
        port_test(test_doorbell_is_enough, under_share),
        port_test(test_port_of_a_stuck_worker, under_share),
        port_test(test_close_drains, under_share),
        port_test(test_remove_while_traffic, under_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
