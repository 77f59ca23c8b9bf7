/* SPDX-License-Identifier: Apache-2.0 */
/* The urgent lane over the real service: what goes through it overtakes what waits, keeps its own
 * order, is refused above its bound and survives the executor's death as urgent as it was. A gate
 * in the receiver makes the order certain: nothing is run before the test has seen in the list of
 * queues that everything waits. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <odeon/codec.h>

#include "proto/bounds.h"
#include "proto/envelope.h"
#include "tests/history/history.h"
#include "tests/system/harness.h"
#include "tests/system/lanes.h"

enum {
    RECORD = sizeof(struct envelope) + sizeof(struct lanes_number),
    SIGNAL_RECORD = sizeof(struct envelope),
    KILLS = 6
};

/* A receiver on one worker, a sender on the other, a client's port. */
struct bench {
    struct service service;
    struct odeon_client *client;
    struct odeon_port *port;
    struct lanes_page *page;
    struct lanes_args args;
    uint32_t gate_type, number_type, signal_type, send_type;
    odeon_ref receiver, sender;
    uint32_t queue, gates;
    uint64_t posted[2]; /* by lane */
    struct history *history;
};

static odeon_ref spawn_on(struct bench *b, const char *type, uint32_t worker)
{
    struct odeon_spawn_where where = { .struct_size = sizeof(where),
                                       .where = ODEON_WHERE_PINNED,
                                       .worker = worker };
    odeon_ref ref = ODEON_NOBODY;

    if (odeon_actor_spawn_at(b->client, type, NULL, &b->args, sizeof(b->args), &where, &ref) < 0)
        fail_msg("spawning: %s", odeon_error_text());
    return ref;
}

static void begin(struct bench *b)
{
    struct odeon_actor_detail *detail;
    int fd;

    memset(b, 0, sizeof(*b));
    service_make_dir(&b->service);
    snprintf(b->args.page, sizeof(b->args.page), "%s/page", b->service.dir);
    snprintf(b->args.log, sizeof(b->args.log), "%s/receiver", b->service.dir);
    fd = open(b->args.page, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(*b->page)), 0);
    b->page = mmap(NULL, sizeof(*b->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(b->page != MAP_FAILED);
    close(fd);
    /* who waits at the gate is not set aside */
    service_start(&b->service,
                  (const char *const[]){ SMALL_SERVICE, "--set", "restart-delay-max-ms=10", "--set",
                                         "stall-warn-ms=0", "--plugin", TEST_LANES, NULL });
    b->client = service_connect(&b->service, "urgent");
    b->port = port_open_or_fail(b->client, 1 << 20, 1 << 20, false);
    b->gate_type = message_id(b->client, odeon_message_of(lanes_gate));
    b->number_type = message_id(b->client, odeon_message_of(lanes_number));
    b->signal_type = message_id(b->client, odeon_message_of(lanes_signal));
    b->send_type = message_id(b->client, odeon_message_of(lanes_send));
    b->receiver = spawn_on(b, "lanes_receiver", 1);
    b->sender = spawn_on(b, "lanes_sender", 0);
    assert_int_equal(odeon_actor_show(b->client, b->receiver, NULL, &detail), 0);
    b->queue = detail->actor.queue;
    odeon_result_free(detail);
    b->history = history_new();
}

static void end(struct bench *b)
{
    history_free(b->history);
    /* unless it has ended; what it holds is its own to give back */
    (void)odeon_actor_stop(b->client, b->receiver, ODEON_DELETE);
    odeon_port_close(b->port);
    odeon_client_disconnect(b->client);
    munmap(b->page, sizeof(*b->page));
    assert_int_equal(service_stop(&b->service, SIGTERM), 0);
    service_end(&b->service);
}

/* ---- the gate, and what waits behind it ---- */

static void gate_close(struct bench *b)
{
    struct lanes_gate gate = { .number = ++b->gates };
    uint32_t entered = atomic_load(&b->page->entered);

    assert_int_equal(odeon_port_post(b->port, b->receiver, b->gate_type, &gate, sizeof(gate)), 0);
    assert_true(wait_until(atomic_load(&b->page->entered) > entered));
}

static void gate_open(struct bench *b)
{
    atomic_store(&b->page->open, b->gates);
    syscall(SYS_futex, &b->page->open, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The receiver's queue, as the service lists it. */
static bool waits(struct bench *b, uint64_t bytes, uint64_t urgent_bytes)
{
    struct odeon_list *list;
    bool found = false;

    if (odeon_queue_list(b->client, "pinned", 0, 0, &list) < 0)
        return false; /* there is no executor at the moment */
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_queue_info *queue = (const struct odeon_queue_info *)list->rows + i;

        found = found || (queue->id == b->queue && queue->bytes == bytes &&
                          queue->urgent_bytes == urgent_bytes);
    }
    odeon_list_free(list);
    return found;
}

static void order(struct bench *b, odeon_ref to, uint32_t ordinary, uint32_t urgent)
{
    struct lanes_send send = { .to = to, .ordinary = ordinary, .urgent = urgent };
    uint32_t sent = atomic_load(&b->page->sent);

    assert_int_equal(odeon_port_post(b->port, b->sender, b->send_type, &send, sizeof(send)), 0);
    assert_true(wait_until(atomic_load(&b->page->sent) == sent + 1));
}

/* Whoever has put an urgent message where it is listed tells the receiver's worker of it a moment
 * later; it has done so when it does the next thing. */
static void flushed(struct bench *b)
{
    order(b, ODEON_NOBODY, 0, 0);
}

static void post(struct bench *b, uint32_t lane, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct lanes_number number = { .n = b->posted[lane] + 1, .lane = lane };
        struct history_record record = { .sender = odeon_port_ref(b->port),
                                         .receiver = b->receiver,
                                         .sequence = number.n,
                                         .kind = HISTORY_BEGUN,
                                         .lane = (uint16_t)lane };
        int r;

        history_add(b->history, &record);
        if (lane == LANE_ORDINARY)
            r = odeon_port_post_wait(b->port, b->receiver, b->number_type, &number, sizeof(number),
                                     SECONDS(PATIENCE_S));
        else
            assert_true(
                wait_until((r = odeon_port_post_urgent(b->port, b->receiver, b->number_type,
                                                       &number, sizeof(number))) != -EAGAIN));
        assert_int_equal(r, 0);
        record.kind = HISTORY_SENT;
        history_add(b->history, &record);
        b->posted[lane]++;
    }
}

/* Notes number `at` and following: `n` of the lane, from `first`. */
static void expect_notes(const struct bench *b, uint32_t at, uint32_t lane, uint32_t first,
                         uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(b->page->notes[at + i].lane, lane);
        assert_int_equal(b->page->notes[at + i].n, first + i);
    }
}

static uint32_t notes(const struct bench *b)
{
    return atomic_load_explicit(&b->page->n_notes, memory_order_acquire);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* How long the oldest message for the receiver has waited, 0: not known; who is named beside it. */
static uint64_t oldest(struct bench *b)
{
    struct odeon_list *list;
    uint64_t ns = 0;

    assert_int_equal(odeon_queue_list(b->client, "pinned", 0, 0, &list), 0);
    for (size_t i = 0; i < list->n; i++) {
        const struct odeon_queue_info *queue = (const struct odeon_queue_info *)list->rows + i;

        if (queue->id != b->queue || queue->oldest_to == ODEON_NOBODY)
            continue;
        assert_int_equal(queue->oldest_to, b->receiver);
        assert_string_equal(queue->oldest_type, "lanes_receiver");
        assert_string_equal(queue->oldest_name, "");
        ns = queue->oldest_ns;
    }
    odeon_list_free(list);
    return ns;
}

/* ---- tests ---- */

/* Its age is one that it has, but for the error of the clocks, whichever message was marked. */
static void test_the_oldest_is_told(void **state)
{
    char output[1 << 16], ref[ODEON_REF_TEXT];
    uint64_t before, known, later, ns;
    struct bench b;

    (void)state;
    begin(&b);
    gate_close(&b);
    assert_int_equal(oldest(&b), 0); /* what runs does not wait */
    before = now_ns();
    assert_true(wait_until((post(&b, LANE_ORDINARY, 1), oldest(&b) > 0)));
    known = now_ns();
    usleep(50000);
    later = now_ns();
    assert_true(wait_until((ns = oldest(&b)) > 0));
    assert_true(ns >= (later - known) / 10 * 9);
    assert_true(ns / 10 * 9 <= now_ns() - before);
    odeon_ref_format(b.receiver, ref);
    assert_int_equal(ctl(&b.service, output, sizeof(output), "queue list --busy --sort wait"), 0);
    assert_non_null(strstr(output, "OLDEST WAITS"));
    assert_non_null(strstr(output, "lanes_receiver"));
    assert_non_null(strstr(output, ref));
    post(&b, LANE_URGENT, 1); /* no older */
    assert_true(wait_until(oldest(&b) >= ns));
    gate_open(&b);
    assert_true(wait_until(waits(&b, 0, 0)));
    assert_int_equal(oldest(&b), 0);
    end(&b);
}

static void test_overtakes(void **state)
{
    enum { ORDINARY = 500, URGENT = 20 };
    char output[1 << 16], want[64];
    struct bench b;

    (void)state;
    begin(&b);
    gate_close(&b);
    post(&b, LANE_ORDINARY, ORDINARY);
    post(&b, LANE_URGENT, URGENT);
    post(&b, LANE_ORDINARY, ORDINARY);
    assert_true(wait_until(waits(&b, 2 * ORDINARY * RECORD, URGENT * RECORD)));
    assert_int_equal(ctl(&b.service, output, sizeof(output), "queue list --kind pinned --json"), 0);
    snprintf(want, sizeof(want), "\"bytes\":%d,\"urgent_bytes\":%d,", 2 * ORDINARY * RECORD,
             URGENT * RECORD);
    assert_non_null(strstr(output, want));
    assert_int_equal(notes(&b), 0);
    flushed(&b);
    gate_open(&b);
    assert_true(wait_until(notes(&b) == 2 * ORDINARY + URGENT));
    expect_notes(&b, 0, LANE_URGENT, 1, URGENT);
    expect_notes(&b, URGENT, LANE_ORDINARY, 1, 2 * ORDINARY);
    assert_true(wait_until(service_figure(&b.service, "urgent_messages") == URGENT));
    end(&b);
}

/* From a behaviour, by all the macros; and to a client, which receives in one order. */
static void test_from_a_behaviour(void **state)
{
    enum { ORDINARY = 300, URGENT = 50 };
    struct odeon_delivery delivery;
    struct bench b;

    (void)state;
    begin(&b);
    gate_close(&b);
    order(&b, b.receiver, ORDINARY, URGENT);
    assert_int_equal(atomic_load(&b.page->result), 0);
    assert_true(wait_until(waits(&b, ORDINARY * RECORD, URGENT * RECORD + SIGNAL_RECORD)));
    flushed(&b);
    gate_open(&b);
    assert_true(wait_until(notes(&b) == ORDINARY + URGENT + 1));
    expect_notes(&b, 0, LANE_URGENT, 1, URGENT);
    expect_notes(&b, URGENT, LANE_SIGNAL, 0, 1);
    expect_notes(&b, URGENT + 1, LANE_ORDINARY, 1, ORDINARY);

    order(&b, odeon_port_ref(b.port), 3, 3);
    assert_int_equal(atomic_load(&b.page->result), 0);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(odeon_port_receive_wait(b.port, &delivery, SECONDS(PATIENCE_S)), 1);
        assert_int_equal(delivery.type, i < 6 ? b.number_type : b.signal_type);
        if (i < 6) {
            const struct lanes_number *number = delivery.data;

            assert_int_equal(number->lane, i / 3);
            assert_int_equal(number->n, 1 + i % 3);
        }
        odeon_port_release(b.port);
    }
    end(&b);
}

static uint64_t receive_refusals(struct odeon_port *port, uint32_t reason)
{
    struct odeon_delivery delivery;
    uint64_t n = 0;

    for (; odeon_port_receive(port, &delivery) == 1; n++) {
        assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
        assert_int_equal(((const struct odeon_refusal *)delivery.data)->reason, reason);
        odeon_port_release(port);
    }
    return n;
}

/* Refused above its bound, whatever the receiver's policy (here drop-oldest), each refusal told and
 * counted; what was taken is run, in order. */
static void test_full(void **state)
{
    enum { TOO_MANY = 4000, FITS = ODEON_URGENT_BYTES / RECORD };
    uint64_t refused = 0, before;
    struct bench b;

    (void)state;
    begin(&b);
    gate_close(&b);
    before = service_figure(&b.service, "refused_full");
    order(&b, b.receiver, 0, TOO_MANY);
    assert_int_equal(atomic_load(&b.page->result), -EAGAIN);
    assert_int_equal(atomic_load(&b.page->n_taken), FITS);
    assert_true(wait_until(service_figure(&b.service, "refused_full") == before + 1));
    flushed(&b);
    gate_open(&b);
    assert_true(wait_until(notes(&b) == FITS));
    expect_notes(&b, 0, LANE_URGENT, 1, FITS);

    gate_close(&b);
    before = service_figure(&b.service, "refused_full");
    post(&b, LANE_URGENT, TOO_MANY);
    post(&b, LANE_ORDINARY, 10); /* are not concerned */
    assert_true(wait_until(service_figure(&b.service, "port_messages") >= TOO_MANY + 10 + b.gates));
    assert_true(wait_until((refused += receive_refusals(b.port, ODEON_REASON_QUEUE_FULL)) ==
                           service_figure(&b.service, "refused_full") - before));
    assert_int_equal(refused, TOO_MANY - FITS);
    assert_int_equal(service_figure(&b.service, "dropped_oldest") +
                         service_figure(&b.service, "dropped_newest"),
                     0);
    flushed(&b);
    gate_open(&b);
    assert_true(wait_until(notes(&b) == FITS + TOO_MANY - refused + 10));
    for (uint32_t i = FITS; i < FITS + TOO_MANY - refused; i++) { /* in order, some missing */
        assert_int_equal(b.page->notes[i].lane, LANE_URGENT);
        assert_true(i == FITS || b.page->notes[i].n > b.page->notes[i - 1].n);
    }
    expect_notes(&b, (uint32_t)(FITS + TOO_MANY - refused), LANE_ORDINARY, 1, 10);
    end(&b);
}

static void expect_refusal(struct bench *b, odeon_ref to, uint32_t reason)
{
    struct odeon_delivery delivery;

    assert_int_equal(odeon_port_post_urgent(b->port, to, b->number_type,
                                            &(struct lanes_number){ .n = 1 },
                                            sizeof(struct lanes_number)),
                     0);
    assert_int_equal(odeon_port_receive_wait(b->port, &delivery, SECONDS(PATIENCE_S)), 1);
    assert_int_equal(delivery.type, ODEON_MSG_REFUSAL);
    assert_int_equal(((const struct odeon_refusal *)delivery.data)->reason, reason);
    odeon_port_release(b->port);
}

static bool actor_is_gone(struct bench *b, odeon_ref actor)
{
    struct odeon_actor_detail *detail = NULL;
    int r = odeon_actor_show(b->client, actor, NULL, &detail);

    odeon_result_free(detail);
    return r == -ENOENT;
}

static void test_to_nobody(void **state)
{
    static const unsigned char large[ODEON_PAYLOAD_MAX + 1];
    const struct lanes_number number = { .n = 1 };
    struct odeon_port *other;
    struct bench b;

    (void)state;
    begin(&b);
    other = port_open_or_fail(b.client, 1 << 16, 1 << 16, false);
    expect_refusal(&b, odeon_port_ref(other), ODEON_REASON_NOT_ACCEPTED);
    /* not in its interface: found out when it is run */
    expect_refusal(&b, b.sender, ODEON_REASON_NOT_ACCEPTED);
    assert_int_equal(odeon_actor_stop(b.client, b.receiver, ODEON_DELETE), 0);
    /* or the refused one would overtake that order */
    assert_true(wait_until(actor_is_gone(&b, b.receiver)));
    expect_refusal(&b, b.receiver, ODEON_REASON_NO_SUCH_ACTOR);
    assert_int_equal(
        odeon_port_post_urgent(b.port, ODEON_NOBODY, b.number_type, &number, sizeof(number)),
        -ESRCH);
    assert_int_equal(odeon_port_post_urgent(b.port, b.sender, b.number_type, NULL, 1), -EINVAL);
    assert_int_equal(odeon_port_post_urgent(b.port, b.sender, b.number_type, large, sizeof(large)),
                     -EMSGSIZE);
    odeon_port_close(other);
    end(&b);
}

/* Killed while everything waits in both lanes: it is all there, and what was urgent is so still. */
static void test_killed_with_both_lanes_full(void **state)
{
    enum { ORDINARY = 400, URGENT = 100 };
    struct bench b;
    pid_t executor;

    (void)state;
    begin(&b);
    gate_close(&b);
    post(&b, LANE_ORDINARY, ORDINARY);
    post(&b, LANE_URGENT, URGENT);
    assert_true(wait_until(waits(&b, ORDINARY * RECORD, URGENT * RECORD)));
    executor = service_executor(&b.service);
    assert_int_equal(kill(executor, SIGKILL), 0);
    service_wait_executor(&b.service, executor);
    /* the lane comes before the gate's message, which is given again */
    assert_true(wait_until(atomic_load(&b.page->entered) == 2));
    assert_int_equal(notes(&b), URGENT);
    post(&b, LANE_URGENT, URGENT);
    assert_true(wait_until(waits(&b, ORDINARY * RECORD, URGENT * RECORD)));
    flushed(&b);
    gate_open(&b);
    assert_true(wait_until(notes(&b) == ORDINARY + 2 * URGENT));
    expect_notes(&b, 0, LANE_URGENT, 1, 2 * URGENT);
    expect_notes(&b, 2 * URGENT, LANE_ORDINARY, 1, ORDINARY);
    end(&b);
}

/* Killed in the middle of traffic in both lanes: the executor stands still until enough is in the
 * ring, and dies when it has run some of it. */
static void test_killed_in_traffic(void **state)
{
    int kills = getenv("ODEON_TEST_QUICK") ? KILLS / 3 : KILLS;
    struct history_verdict verdict;
    struct bench b;

    (void)state;
    begin(&b);
    for (int i = 0; i < kills; i++) {
        pid_t executor = service_executor(&b.service);
        int64_t until = time_ns() + SECONDS(PATIENCE_S);

        atomic_store(&b.page->n_notes, 0);
        process_stop(executor);
        for (unsigned n = 0; n < 50; n++) {
            post(&b, LANE_ORDINARY, 200);
            post(&b, LANE_URGENT, 10); /* of all, a third of what a lane takes */
        }
        assert_int_equal(kill(executor, SIGCONT), 0);
        while (notes(&b) < 1 + 1500u * (unsigned)i)
            assert_true(time_ns() < until);
        assert_int_equal(kill(executor, SIGKILL), 0);
        post(&b, LANE_URGENT, 10);
        service_wait_executor(&b.service, executor);
        /* each lane to its end, before as much is sent again */
        assert_true(wait_until(waits(&b, 0, 0)));
        order(&b, b.receiver, 0, 0);
        assert_int_equal(receive_refusals(b.port, ODEON_REASON_QUEUE_FULL), 0);
    }
    /* the first is behind all that is in the ordinary lane, the second behind what had come through
     * the urgent one by then */
    for (int i = 0; i < 2; i++) {
        gate_close(&b);
        gate_open(&b);
    }
    assert_int_equal(history_add_log(b.history, b.args.log), 0);
    if (!history_judge(b.history, &verdict))
        fail_msg("%s", verdict.first);
    assert_int_equal(verdict.run, b.posted[LANE_ORDINARY] + b.posted[LANE_URGENT]);
    print_message("# over %d kills: %llu messages, %llu of them urgent; redelivered %llu\n", kills,
                  (unsigned long long)verdict.run, (unsigned long long)b.posted[LANE_URGENT],
                  (unsigned long long)verdict.redelivered);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_oldest_is_told),
        cmocka_unit_test(test_overtakes),
        cmocka_unit_test(test_from_a_behaviour),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_to_nobody),
        cmocka_unit_test(test_killed_with_both_lanes_full),
        cmocka_unit_test(test_killed_in_traffic),
    };

    return cmocka_run_group_tests_name("urgent", tests, NULL, NULL);
}
