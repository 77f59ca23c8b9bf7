/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that write into their port's memory what no library writes. Each harms itself alone: one
 * counted event, a reason for the offender, and a bystander whose traffic is complete and in
 * order. */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client-lib/src/port.h"
#include "daemon/common/page.h"
#include "tests/hostile/raw.h"
#include "tests/system/numbers.h"
#include "tests/system/probe.h"

enum { RING = 1 << 16, ACTORS = 1024 };

static struct service service;
static struct numbers bystander;
static struct odeon_client *client;
static odeon_ref echo, dead;
static uint16_t number_type, flood_type;

static int setup(void **state)
{
    (void)state;
    service_start(&service, (const char *const[]){ SMALL_SERVICE, "--plugin", TEST_PROBE, NULL });
    client = service_connect(&service, "ring");
    number_type = (uint16_t)message_id(client, odeon_message_of(probe_number));
    flood_type = (uint16_t)message_id(client, odeon_message_of(probe_flood));
    echo = spawn(client, "probe_echo", NULL, NULL, 0);
    dead = spawn(client, "probe_echo", "dead", NULL, 0);
    assert_int_equal(odeon_actor_stop(client, dead, ODEON_DELETE), 0);
    odeon_ref found;
    assert_true(wait_until(odeon_actor_find(client, "dead", &found) == -ENOENT));
    numbers_start(&bystander, &service, 64);
    numbers_wait(&bystander, 100);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    numbers_finish(&bystander);
    odeon_client_disconnect(client);
    assert_int_equal(service_state(&service).executor_restarts, 0);
    assert_int_equal(service_stop(&service, SIGTERM), 0);
    service_end(&service);
    return 0;
}

static struct envelope number_envelope(odeon_ref to)
{
    return (struct envelope){
        .to = to, .type = number_type, .length = sizeof(struct probe_number), .behaviour = 255
    };
}

static void put_number(struct raw_port *port, uint64_t n)
{
    struct envelope envelope = number_envelope(echo);
    struct probe_number number = { .n = n };

    raw_port_put(port, &envelope, &number);
}

static void expect_number(struct raw_port *port, uint64_t n)
{
    struct envelope envelope;
    struct probe_number number = { 0 };

    raw_port_receive(port, &envelope, &number, sizeof(number));
    assert_int_equal(envelope.type, number_type);
    assert_int_equal(number.n, n);
}

/* The port worked until now. */
static void open_and_use(struct raw_port *port)
{
    raw_port_open(port, &service, RING);
    put_number(port, 1);
    raw_port_publish(port, port->tail);
    expect_number(port, 1);
}

struct counts {
    uint64_t broken, refusals;
    unsigned logged;
};

static struct counts count(void)
{
    return (struct counts){ .broken = service_figure(&service, "ports_broken"),
                            .refusals = service_figure(&service, "refusals"),
                            .logged = service_log_count(
                                &service, "is closed: its client wrote what no record can be") };
}

/* One counted event, the reason on the connection and in the memory, a line in the log, and the
 * bystander goes on. */
static void expect_broken(struct raw_port *port, enum port_broken why, struct counts before)
{
    struct raw_answer answer;

    assert_int_equal(raw_receive(&port->raw, &answer), 1);
    assert_int_equal(answer.reply->id, 0);
    assert_non_null(answer.reply->event);
    assert_int_equal(answer.reply->event->body_case, ODEON__EVENT__BODY_PORT_BROKEN);
    assert_int_equal(answer.reply->event->port_broken->port_id, port->id);
    assert_string_equal(answer.reply->event->port_broken->reason, port_broken_name(why));
    raw_answer_fini(&answer);
    assert_int_equal(atomic_load(&port->theirs->broken), why);
    raw_port_ring(port); /* of no use any more, and no harm */
    raw_expect_alive(&port->raw);
    numbers_wait(&bystander, 100);
    struct counts after = count();
    assert_int_equal(after.broken, before.broken + 1);
    assert_int_equal(after.refusals, before.refusals);
    assert_int_equal(after.logged, before.logged + 1);
    raw_port_close(port);
}

/* ---- bad headers and cursors: one row, one event ---- */

struct attack {
    const char *name;
    enum port_broken why;
    struct envelope envelope; /* `to` 0: the echo; type 0: the number, unless all_zero */
    bool all_zero;
    int64_t publish; /* bytes behind the last good tail; 0: the record */
};

static const struct attack attacks[] = {
    { "length beyond the limit", PORT_BROKEN_LENGTH, { .length = 65535 }, false, 40000 },
    { "length one beyond the limit", PORT_BROKEN_LENGTH, { .length = 32777 }, false, 33000 },
    { "length beyond the tail", PORT_BROKEN_LENGTH, { .length = 100 }, false, 32 },
    { "length beyond the tail by a word", PORT_BROKEN_LENGTH, { .length = 8 }, false, 24 },
    { "half a header", PORT_BROKEN_LENGTH, { .length = 16 }, false, 8 },
    { "zero header", PORT_BROKEN_HEADER, { .length = 0 }, true, 24 },
    { "flag redelivered",
      PORT_BROKEN_HEADER,
      { .length = 16, .flags = ENVELOPE_REDELIVERED },
      false,
      0 },
    { "flag init", PORT_BROKEN_HEADER, { .length = 16, .flags = ENVELOPE_INIT }, false, 0 },
    { "flag dropped", PORT_BROKEN_HEADER, { .length = 16, .flags = ENVELOPE_DROPPED }, false, 0 },
    { "flag reserved", PORT_BROKEN_HEADER, { .length = 16, .flags = 0x40 }, false, 0 },
    { "the other flag reserved, with one that is allowed",
      PORT_BROKEN_HEADER,
      { .length = 16, .flags = 0x80 | ENVELOPE_URGENT },
      false,
      0 },
    { "flags all", PORT_BROKEN_HEADER, { .length = 16, .flags = 0xff }, false, 0 },
    { "attempts", PORT_BROKEN_HEADER, { .length = 16, .attempts = 2 }, false, 0 },
    { "a length that a correlated record alone may have",
      PORT_BROKEN_LENGTH,
      { .length = ODEON_PAYLOAD_MAX + 8 },
      false,
      0 },
    { "an optional word of the service's",
      PORT_BROKEN_HEADER,
      { .length = 16, .prefix = 4 },
      false,
      0 },
    { "an optional word that nobody knows, with one that is allowed",
      PORT_BROKEN_HEADER,
      { .length = 16, .prefix = 0x21 },
      false,
      0 },
    { "slot one beyond the table",
      PORT_BROKEN_SLOT,
      { .to = UINT64_C(1) << 32 | ACTOR_REF_OWN | ACTORS, .length = 16 },
      false,
      0 },
    { "slot far beyond the table",
      PORT_BROKEN_SLOT,
      { .to = UINT64_C(1) << 32 | ACTOR_REF_OWN | UINT32_MAX >> 8, .length = 16 },
      false,
      0 },
    { "tail far beyond the ring", PORT_BROKEN_TAIL, { .length = 16 }, false, INT64_C(1) << 40 },
    { "tail one word beyond the ring", PORT_BROKEN_TAIL, { .length = 16 }, false, RING + 8 },
    { "tail behind the head", PORT_BROKEN_TAIL, { .length = 16 }, false, -8 },
    { "tail not a multiple of 8", PORT_BROKEN_TAIL, { .length = 16 }, false, 41 },
};

static void test_bad_records_and_tails(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        const struct attack *attack = &attacks[i];
        struct envelope envelope = attack->envelope;
        struct raw_port port;

        print_message("   %s\n", attack->name);
        open_and_use(&port);
        struct counts before = count();
        uint64_t tail = port.tail;
        if (!attack->all_zero) {
            envelope.type = number_type;
            envelope.to = envelope.to ? envelope.to : echo;
        }
        /* the payload is what lies there; a length that reaches over the whole ring is not
         * written */
        memcpy(port.submission + (tail & (RING - 1)), &envelope, sizeof(envelope));
        raw_port_publish(&port, tail + (attack->publish ? (uint64_t)attack->publish
                                                        : envelope_record_size(&envelope)));
        expect_broken(&port, attack->why, before);
    }
}

/* What is good before the bad record is processed, what comes behind it is not. (Answers are lost:
 * their port is closed.) */
static void test_good_records_before_a_bad_one_count(void **state)
{
    odeon_ref ledger = spawn(client, "probe_ledger", NULL, NULL, 0);
    struct odeon_port *witness = port_open_or_fail(client, RING, RING, false);
    struct envelope envelope = number_envelope(ledger);
    struct probe_number number = { .n = 3 };
    struct odeon_delivery told;
    struct raw_port port;

    (void)state;
    open_and_use(&port);
    struct counts before = count();
    for (int i = 0; i < 10; i++)
        raw_port_put(&port, &envelope, &number);
    envelope.prefix = 0xfc;
    raw_port_put(&port, &envelope, &number);
    envelope.prefix = 0;
    raw_port_put(&port, &envelope, &number);
    raw_port_publish(&port, port.tail);
    expect_broken(&port, PORT_BROKEN_HEADER, before);
    assert_int_equal(odeon_port_call(witness, ledger,
                                     message_id(client, odeon_message_of(probe_ask)), NULL, 0,
                                     SECONDS(PATIENCE_S), &told),
                     ODEON_CALL_REPLY);
    assert_int_equal(((const struct probe_told *)told.data)->count, 10);
    odeon_port_close(witness);
    assert_int_equal(odeon_actor_stop(client, ledger, ODEON_DELETE), 0);
}

/* The library's user is told, too. */
static void test_library_tells_why(void **state)
{
    struct odeon_port *port = port_open_or_fail(client, RING, RING, true);
    struct probe_number number = { .n = 1 };
    struct odeon_delivery delivery;
    uint64_t broken = service_figure(&service, "ports_broken");

    (void)state;
    assert_int_equal(odeon_port_arm(port), 0);
    atomic_store(&port->mine->submission_tail, 12345);
    port_ring_doorbell(port);
    assert_int_equal(odeon_port_receive_wait(port, &delivery, SECONDS(PATIENCE_S)), -EPIPE);
    assert_true(
        wait_until(odeon_port_check(port) == -EPIPE && strstr(odeon_error_text(), "bad-tail")));
    assert_int_equal(odeon_port_post(port, echo, number_type, &number, sizeof(number)), -EPIPE);
    assert_int_equal(odeon_port_arm(port), -EPIPE);
    assert_true(wait_until(service_figure(&service, "ports_broken") == broken + 1));
    odeon_port_close(port);
    /* the client's other ports live */
    port = port_open_or_fail(client, RING, RING, false);
    assert_int_equal(odeon_port_call(port, echo, number_type, &number, sizeof(number),
                                     SECONDS(PATIENCE_S), &delivery),
                     ODEON_CALL_REPLY);
    odeon_port_close(port);
}

/* ---- refusals: the record is bad, not the port ---- */

static void check_refusal(const struct envelope *envelope, unsigned reason)
{
    unsigned char payload[64] = { 0 };
    struct refusal refusal = { 0 };
    struct envelope answer;
    struct raw_port port;

    open_and_use(&port);
    struct counts before = count();
    raw_port_put(&port, envelope, payload);
    put_number(&port, 2);
    raw_port_publish(&port, port.tail);
    raw_port_receive(&port, &answer, &refusal, sizeof(refusal));
    assert_int_equal(answer.type, MESSAGE_TYPE_REFUSAL);
    assert_int_equal(refusal.type, envelope->type);
    assert_true(refusal.to == envelope->to);
    assert_int_equal(refusal.reason, reason);
    expect_number(&port, 2); /* the port goes on */
    numbers_wait(&bystander, 50);
    assert_true(wait_until(count().refusals == before.refusals + 1));
    assert_int_equal(count().broken, before.broken);
    raw_port_close(&port);
}

static void test_refused_records(void **state)
{
    struct envelope envelope = number_envelope(dead);
    struct odeon_port *port = port_open_or_fail(client, RING, RING, false);

    (void)state;
    check_refusal(&envelope, REASON_NO_SUCH_ACTOR);
    envelope = number_envelope(ODEON_NOBODY);
    check_refusal(&envelope, REASON_NO_SUCH_ACTOR);
    envelope = number_envelope(UINT64_C(77) << 32 | ACTOR_REF_OWN | (ACTORS - 1));
    check_refusal(&envelope, REASON_NO_SUCH_ACTOR);
    envelope = number_envelope(odeon_port_ref(port)); /* somebody else's port */
    check_refusal(&envelope, REASON_NOT_ACCEPTED);
    static const uint16_t built_in[] = {
        MESSAGE_TYPE_INIT, MESSAGE_TYPE_REFUSAL, 7, 15, 4095, 4096, 65535
    };
    for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
        envelope = number_envelope(echo);
        envelope.type = built_in[i];
        check_refusal(&envelope, REASON_NOT_ACCEPTED);
    }
    envelope = number_envelope(echo); /* a monitor is an id, and has no payload */
    envelope.type = MESSAGE_TYPE_PORT_DOWN;
    check_refusal(&envelope, REASON_BAD_SIZE);
    envelope.type = MESSAGE_TYPE_PORT_DEMONITOR;
    check_refusal(&envelope, REASON_BAD_SIZE);
    envelope = number_envelope(echo); /* a correlation id that is cut off */
    envelope.prefix = PREFIX_CORRELATION;
    envelope.length = 4;
    check_refusal(&envelope, REASON_BAD_SIZE);
    /* urgent changes nothing of that */
    envelope = number_envelope(dead);
    envelope.flags = ENVELOPE_URGENT;
    check_refusal(&envelope, REASON_NO_SUCH_ACTOR);
    envelope = number_envelope(odeon_port_ref(port));
    envelope.flags = ENVELOPE_URGENT;
    check_refusal(&envelope, REASON_NOT_ACCEPTED);
    for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
        envelope = number_envelope(echo);
        envelope.type = built_in[i];
        envelope.flags = ENVELOPE_URGENT;
        check_refusal(&envelope, REASON_NOT_ACCEPTED);
    }
    envelope = number_envelope(echo);
    envelope.flags = ENVELOPE_URGENT;
    envelope.length = 24;
    check_refusal(&envelope, REASON_BAD_SIZE);
    envelope = number_envelope(echo);
    envelope.length = 3;
    check_refusal(&envelope, REASON_BAD_SIZE);
    envelope = number_envelope(echo); /* too long for the type */
    envelope.length = 24;
    check_refusal(&envelope, REASON_BAD_SIZE);
    odeon_port_close(port);
}

/* The flag and the order to stop, by hand: the library has no such call. The actor ends; what had
 * not reached it is refused, whichever lane it is in, and each record has one fate. */
static void test_urgent_poison(void **state)
{
    enum { N = 200 };
    odeon_ref victim = spawn(client, "probe_echo", NULL, NULL, 0);
    struct envelope envelope = number_envelope(victim), poison = {
        .to = victim, .type = MESSAGE_TYPE_POISON_DELETE, .flags = ENVELOPE_URGENT, .behaviour = 255
    };
    unsigned echoed = 0, refused = 0;
    struct raw_port port;

    (void)state;
    open_and_use(&port);
    struct counts before = count();
    for (unsigned i = 0; i < N; i++) {
        struct probe_number number = { .n = i };

        envelope.flags = i % 2 ? ENVELOPE_URGENT : 0;
        raw_port_put(&port, &envelope, &number);
    }
    raw_port_put(&port, &poison, NULL);
    envelope.flags = ENVELOPE_URGENT;
    raw_port_put(&port, &envelope, &(struct probe_number){ .n = N });
    raw_port_publish(&port, port.tail);
    for (unsigned i = 0; i < N + 1; i++) {
        struct envelope answer;
        union {
            struct refusal refusal;
            struct probe_number number;
        } data = { 0 };

        raw_port_receive(&port, &answer, &data, sizeof(data));
        if (answer.type == number_type) {
            assert_true(data.number.n < N); /* the last one was behind the poison, in its lane */
            echoed++;
        } else {
            assert_int_equal(answer.type, MESSAGE_TYPE_REFUSAL);
            assert_int_equal(data.refusal.reason, REASON_NO_SUCH_ACTOR);
            refused++;
        }
    }
    assert_in_range(echoed, N / 2, N); /* at least what came before it in its own lane */
    assert_int_equal(echoed + refused, N + 1);
    put_number(&port, 9);
    raw_port_publish(&port, port.tail);
    expect_number(&port, 9);
    assert_int_equal(count().broken, before.broken);
    raw_port_close(&port);
}

/* A wrong idea of the receiver's behaviour index, and a forged sender, are not believed. */
static void test_behaviour_and_sender_are_not_believed(void **state)
{
    struct raw_port port;

    (void)state;
    open_and_use(&port);
    for (unsigned behaviour = 0; behaviour < 256; behaviour++) {
        struct envelope envelope = number_envelope(echo);
        struct probe_number number = { .n = behaviour };

        envelope.behaviour = (uint8_t)behaviour;
        envelope.from = echo;
        raw_port_put(&port, &envelope, &number);
    }
    raw_port_publish(&port, port.tail);
    for (unsigned behaviour = 0; behaviour < 256; behaviour++)
        expect_number(&port, behaviour);
    raw_port_close(&port);
}

/* ---- the delivery side ---- */

static void check_delivery_head(uint64_t garbage, bool behind)
{
    struct envelope envelope = {
        .to = echo, .type = flood_type, .length = sizeof(struct probe_flood), .behaviour = 255
    };
    /* 100 KiB into 64 KiB: the executor has to look at the head */
    struct probe_flood flood = { .count = 100 };
    struct raw_port port;

    open_and_use(&port);
    struct counts before = count();
    if (behind) /* back to where it has been before */
        garbage = port.taken - garbage;
    atomic_store(&port.mine->delivery_head, garbage);
    raw_port_put(&port, &envelope, &flood);
    raw_port_publish(&port, port.tail);
    expect_broken(&port, PORT_BROKEN_HEAD, before);
}

static void test_delivery_head_garbage(void **state)
{
    (void)state;
    check_delivery_head(UINT64_C(0xdeadbeefdeadbee8), false);
    check_delivery_head(UINT64_MAX, false);
    check_delivery_head(1 << 20, false);
    check_delivery_head(43, false);
}

struct spinner {
    struct raw_port *port;
    _Atomic bool stop;
};

static void *spin(void *userdata)
{
    struct spinner *spinner = userdata;

    for (uint32_t i = 0; !atomic_load_explicit(&spinner->stop, memory_order_relaxed);
         i = i * 1664525 + 1013904223) {
        atomic_store_explicit(&spinner->port->mine->delivery_wait, i, memory_order_relaxed);
        atomic_store_explicit(&spinner->port->mine->room_wait, i >> 3, memory_order_relaxed);
        if ((i & 0xfff) == 0)
            raw_port_ring(spinner->port);
    }
    return NULL;
}

/* Waiting words that never stand still cost a wake-up each time; nobody else notices. */
static void test_waiting_words_garbage(void **state)
{
    struct spinner spinner = { 0 };
    struct raw_port port;
    pthread_t thread;

    (void)state;
    open_and_use(&port);
    struct counts before = count();
    spinner.port = &port;
    assert_int_equal(pthread_create(&thread, NULL, spin, &spinner), 0);
    for (uint64_t n = 0; n < 2000; n++) {
        put_number(&port, n);
        raw_port_publish(&port, port.tail);
        expect_number(&port, n);
    }
    numbers_wait(&bystander, 500);
    atomic_store(&spinner.stop, true);
    pthread_join(thread, NULL);
    assert_int_equal(count().broken, before.broken);
    raw_port_close(&port);
}

/* ---- descriptors ---- */

/* This client and the bystander, and the bystander's port: those of earlier tests may be on their
 * way out. */
static void wait_for_base_line(void)
{
    assert_true(
        wait_until(service_state(&service).clients == 2 && service_state(&service).ports == 1));
}

static void test_hole_in_the_ring(void **state)
{
    pid_t executor = service_executor(&service);
    struct raw_port port;

    (void)state;
    open_and_use(&port);
    struct counts before = count();
    process_stop(executor);
    /* up to the end of the ring's first page, and further; then the second page goes away */
    while (port.tail < 3 * 4096)
        put_number(&port, port.tail);
    raw_port_publish(&port, port.tail);
    assert_int_equal(fallocate(port.client_memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               port_ring_offset(page_bytes()) + 4096, 4096),
                     0);
    assert_int_equal(kill(executor, SIGCONT), 0);
    expect_broken(&port, PORT_BROKEN_HEADER, before);
}

static void test_hole_in_the_words(void **state)
{
    struct raw_port port;

    (void)state;
    open_and_use(&port);
    struct counts before = count();
    /* the tail is 0 now, behind what was taken */
    assert_int_equal(fallocate(port.client_memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                               port_ring_offset(page_bytes())),
                     0);
    raw_port_ring(&port);
    expect_broken(&port, PORT_BROKEN_TAIL, before);
}

static void test_memory_cannot_be_changed_in_size_or_written(void **state)
{
    struct raw_port port;

    (void)state;
    open_and_use(&port);
    assert_int_not_equal(ftruncate(port.client_memory, 0), 0);
    assert_int_not_equal(ftruncate(port.client_memory, 1 << 24), 0);
    assert_int_not_equal(ftruncate(port.executor_memory, 0), 0);
    assert_int_not_equal(fcntl(port.client_memory, F_ADD_SEALS, F_SEAL_WRITE), 0);
    assert_int_not_equal(fcntl(port.executor_memory, F_ADD_SEALS, F_SEAL_WRITE), 0);
    assert_int_equal(pwrite(port.executor_memory, "x", 1, 0), -1);
    assert_int_equal(errno, EBADF);
    raw_port_close(&port);
}

/* Full, and made blocking: whoever read or wrote it in the executor would stand still for ever. */
static void test_doorbell_filled_and_blocking(void **state)
{
    uint64_t full = UINT64_MAX - 1, was = 0;
    struct raw_port port;

    (void)state;
    open_and_use(&port);
    /* it was rung, so it is not 0 */
    assert_int_equal(read(port.doorbell, &was, sizeof(was)), sizeof(was));
    assert_int_equal(write(port.doorbell, &full, sizeof(full)), sizeof(full));
    assert_int_equal(fcntl(port.doorbell, F_SETFL, fcntl(port.doorbell, F_GETFL) & ~O_NONBLOCK), 0);
    put_number(&port, 5);
    atomic_store(&port.mine->submission_tail, port.tail);
    numbers_wait(&bystander, 500);
    raw_expect_alive(&port.raw);
    raw_port_close(&port);
    wait_for_base_line();
    numbers_wait(&bystander, 100);
}

/* All broken ports at once, and their clients gone: nothing is left of them. */
static void test_nothing_is_left_of_broken_ports(void **state)
{
    enum { N = 20 };
    static struct raw_port ports[N];
    uint64_t broken;

    (void)state;
    wait_for_base_line();
    broken = service_figure(&service, "ports_broken");
    for (int i = 0; i < N; i++)
        open_and_use(&ports[i]);
    for (int i = 0; i < N; i++)
        raw_port_publish(&ports[i], 8 * (uint64_t)RING);
    assert_true(wait_until(service_figure(&service, "ports_broken") == broken + N));
    for (int i = 0; i < N; i++)
        raw_port_close(&ports[i]);
    wait_for_base_line();
    numbers_wait(&bystander, 100);
    assert_int_equal(service_figure(&service, "ports_broken"), broken + N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_records_and_tails),
        cmocka_unit_test(test_good_records_before_a_bad_one_count),
        cmocka_unit_test(test_library_tells_why),
        cmocka_unit_test(test_refused_records),
        cmocka_unit_test(test_urgent_poison),
        cmocka_unit_test(test_behaviour_and_sender_are_not_believed),
        cmocka_unit_test(test_delivery_head_garbage),
        cmocka_unit_test(test_waiting_words_garbage),
        cmocka_unit_test(test_hole_in_the_ring),
        cmocka_unit_test(test_hole_in_the_words),
        cmocka_unit_test(test_memory_cannot_be_changed_in_size_or_written),
        cmocka_unit_test(test_doorbell_filled_and_blocking),
        cmocka_unit_test(test_nothing_is_left_of_broken_ports),
    };

    return cmocka_run_group_tests_name("ring", tests, setup, teardown);
}
