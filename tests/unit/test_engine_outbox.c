/* SPDX-License-Identifier: Apache-2.0 */
/* The outbox: groups in order of first touch, the same groups again from a committed log, and what
 * happens at its end and at a receiver's limit: a refusal that the sender sees, and nothing lost or
 * counted twice. */
#include <sched.h>

#include "daemon/engine/commit/outbox.h"
#include "engine_fixture.h"

static uint16_t order_type, number_type, bulk_type;
static uint32_t sender_type, receiver_type;
static actor_ref receivers[64];

/* What a sender is to do, and what came of it. */
static struct {
    uint32_t receivers, size;
    uint64_t most; /* messages */
    _Atomic uint64_t accepted;
    _Atomic uint64_t received, received_bytes;
    _Atomic uint32_t hold; /* receivers wait */
    _Atomic int result;
} job;

static int on_order(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    static const uint8_t bytes[ODEON_PAYLOAD_MAX];
    job.result = 0;
    for (uint64_t i = 0; i < job.most; i++) {
        int r = engine_ctx_send(ctx, receivers[i % job.receivers], bulk_type, 0, bytes, job.size);
        if (r < 0) {
            job.result = r;
            break;
        }
        atomic_fetch_add(&job.accepted, 1);
    }
    return ALLOCATION_NODELETE;
}

static int on_bulk(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    (void)message;
    while (atomic_load(&job.hold))
        sched_yield();
    atomic_fetch_add(&job.received, 1);
    atomic_fetch_add(&job.received_bytes, ctx->message_size);
    return ALLOCATION_NODELETE;
}

static void fixture_begin(struct engine_fixture *f, uint32_t workers, uint32_t queues,
                          uint64_t limit, uint64_t outbox)
{
    struct engine_config config = engine_fixture_config(workers, queues);
    config.actors_max = 1024;
    config.limit_bytes = limit;
    config.outbox_bytes = outbox;
    config.stealing = STEAL_NONE;
    engine_fixture_open(f, config);
    order_type = engine_fixture_message(f, "order", 0, false);
    number_type = engine_fixture_message(f, "number", 8, false);
    bulk_type = engine_fixture_message(f, "bulk", 0, true);
    struct engine_behaviour on_order_ = { order_type, 0, false, on_order },
                            on_bulk_ = { bulk_type, 0, true, on_bulk };
    sender_type = engine_fixture_type(f, "sender", 8, NULL, NULL, &on_order_, 1);
    receiver_type = engine_fixture_type(f, "receiver", 8, NULL, NULL, &on_bulk_, 1);
    memset(&job, 0, sizeof(job));
}

static void fixture_end(struct engine_fixture *f)
{
    engine_stop(f->engine);
    engine_fixture_close(f);
}

/* ---- groups, without a thread ---- */

/* The step that each destination has, and its records in order: what a flush does with the log. */
struct grouping {
    uint32_t n_groups;
    uint32_t destination[32];
    uint64_t bytes[32], sum[32]; /* sum: of the numbers, weighted with their place */
};

static struct grouping grouping_of(struct worker *w, uint64_t out)
{
    outbox_group(w, out);
    struct grouping grouping = { .n_groups = w->flush.n_groups };
    for (uint32_t i = 0; i < w->flush.n_groups; i++) {
        const struct outbox_group *group = &w->flush.groups[i];
        uint64_t place = 1;
        grouping.destination[i] = group->destination;
        grouping.bytes[i] = outbox_group_bytes(w, group);
        for (uint32_t run = group->first;; run = w->flush.runs[run].next) {
            uint64_t bytes;
            const uint8_t *at = (const uint8_t *)outbox_run_envelopes(w, run, &bytes);
            for (const uint8_t *end = at + bytes; at < end;
                 at += envelope_record_size((const struct envelope *)at))
                grouping.sum[i] +=
                    *(const uint64_t *)envelope_payload((const struct envelope *)at) * place++;
            if (run == group->last)
                break;
        }
    }
    return grouping;
}

static void outbox_put(struct worker *w, uint32_t destination, uint64_t number, uint16_t length)
{
    struct envelope *at = outbox_append(w, destination, envelope_size(length));
    *at = (struct envelope){ .to = actor_ref_make(ODEON_PORTS_MAX, 1),
                             .type = number_type,
                             .length = length };
    memset(envelope_payload(at), 0, envelope_size(length) - sizeof(*at));
    memcpy(envelope_payload(at), &number, sizeof(number));
}

static void test_groups_in_order_of_first_touch(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 8, 1 << 20, 1 << 20);
    struct worker *w = f.engine->workers[0];
    static const uint32_t to[] = { 5, 5, 2, 5, 7, 2, 2, 0, 5, 7 };
    for (uint64_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
        outbox_put(w, to[i], 1 + i, 8);
    struct grouping grouping = grouping_of(w, w->outbox.length);
    static const uint32_t expected[] = { 5, 2, 7, 0 };
    static const uint64_t bytes[] = { 4 * 32, 3 * 32, 2 * 32, 32 },
                          sums[] = { 1 + 2 * 2 + 4 * 3 + 9 * 4, 3 + 6 * 2 + 7 * 3, 5 + 10 * 2, 8 };
    assert_int_equal(grouping.n_groups, 4);
    assert_int_equal(w->flush.n_runs, 8);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(grouping.destination[i], expected[i]);
        assert_int_equal(grouping.bytes[i], bytes[i]);
        assert_int_equal(grouping.sum[i], sums[i]);
    }
    outbox_reset(w);
    assert_int_equal(w->outbox.length, 0);
    assert_int_equal(grouping_of(w, 0).n_groups, 0);
    for (uint32_t i = 0; i <= f.engine->segment.dead_letters; i++)
        assert_int_equal(w->flush.group_of[i], 0);
    engine_fixture_close(&f);
}

/* At every record's end, from a log that goes on behind it, over memory that carries an older log's
 * length words. */
static void test_rebuild_gives_the_same_groups(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 8, 1 << 20, 1 << 20);
    struct worker *w = f.engine->workers[0];
    unsigned seed = 7;
    for (unsigned round = 0; round < TEST_SCALE(100); round++) {
        enum { N = 120 };
        uint64_t ends[N];
        struct grouping groupings[N];
        for (unsigned i = 0; i < N; i++) {
            uint32_t to = (uint32_t)rand_r(&seed) % 10;
            outbox_put(w,
                       to < 8    ? to
                       : to == 8 ? f.engine->segment.dead_letters
                                 : f.engine->segment.n_queues + 3,
                       round + i, (uint16_t)(8 + (unsigned)rand_r(&seed) % (i % 9 ? 40 : 3000)));
            if (rand_r(&seed) % 3 == 0 && i + 1 < N) { /* runs of several */
                outbox_put(w, w->outbox.run_destination, i, 8);
            }
            ends[i] = w->outbox.length;
            groupings[i] = grouping_of(w, w->outbox.length);
        }
        uint8_t *log = malloc(w->outbox.length);
        uint64_t length = w->outbox.length;
        assert_non_null(log);
        memcpy(log, w->outbox.log, length);
        for (unsigned i = 0; i < N; i += 1 + round % 7) {
            struct grouping again = grouping_of(w, ends[i]);
            assert_int_equal(again.n_groups, groupings[i].n_groups);
            assert_memory_equal(&again, &groupings[i], sizeof(again));
            /* outbox.B2: recovery may be killed, too */
            assert_memory_equal(w->outbox.log, log, length);
        }
        free(log);
        outbox_reset(w);
    }
    engine_fixture_close(&f);
}

static void test_more_runs_than_a_flush_has(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 1, 8, 1 << 20, 1 << 20);
    struct worker *w = f.engine->workers[0];
    uint32_t before = w->flush.runs_capacity, n = 5 * before;
    for (uint32_t i = 0; i < n; i++)
        outbox_put(w, i % 8, 1, 8);
    struct grouping grouping = grouping_of(w, w->outbox.length);
    assert_int_equal(w->flush.n_runs, n);
    assert_true(w->flush.runs_capacity >= n);
    assert_int_equal(grouping.n_groups, 8);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 8; i++)
        bytes += grouping.bytes[i];
    assert_int_equal(bytes, n * 32);
    struct grouping again = grouping_of(w, w->outbox.length);
    assert_memory_equal(&again, &grouping, sizeof(again));
    engine_fixture_close(&f);
}

/* ---- limits, with workers ---- */

static void receivers_spawn(struct engine_fixture *f, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        receivers[i] = engine_fixture_spawn(f, receiver_type, NULL, 0);
}

static void assert_all_received(struct engine_fixture *f)
{
    assert_true(engine_fixture_wait(f, TEST_DEADLINE_NS));
    assert_int_equal(atomic_load(&job.received), atomic_load(&job.accepted));
    assert_int_equal(atomic_load(&job.received_bytes), atomic_load(&job.accepted) * job.size);
    assert_int_equal(engine_fixture_stat(f, STAT_dead_letters), 0);
}

/* One handler that sends more than the outbox holds: told so, and what was accepted arrives. */
static void outbox_full(uint32_t n_receivers, uint32_t size)
{
    struct engine_fixture f;
    fixture_begin(&f, 2, 4, 64 << 20, 1 << 20);
    receivers_spawn(&f, n_receivers);
    actor_ref sender = engine_fixture_spawn(&f, sender_type, NULL, 0);
    job.receivers = n_receivers;
    job.size = size;
    job.most = UINT64_MAX;
    /* the control thread's */
    uint8_t *behind = segment_outbox(&f.engine->segment, f.engine->n_workers);
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    for (unsigned i = 1; i <= 3; i++) {
        uint64_t before = atomic_load(&job.accepted);
        assert_int_equal(engine_actor_send(f.engine, sender, order_type, NULL, 0), 0);
        assert_all_received(&f);
        assert_int_equal(job.result, -ENOBUFS);
        uint64_t bytes = (atomic_load(&job.accepted) - before) * envelope_size(size);
        assert_true(bytes > f.config.outbox_bytes / 2 &&
                    /* of the sender's queue nobody is among them */
                    bytes <= f.config.outbox_bytes);
        assert_int_equal(engine_fixture_stat(&f, STAT_sends_failed), i);
    }
    assert_int_equal(((const struct outbox_run *)behind)->destination / 8, 0);
    fixture_end(&f);
}

static actor_ref other_queue_than(struct engine_fixture *f, uint32_t type, uint32_t queue)
{
    struct engine_actor_view view;
    actor_ref ref;
    do {
        ref = engine_fixture_spawn(f, type, NULL, 0);
        assert_int_equal(engine_actor_get(f->engine, ref, &view), 0);
    } while (view.queue == queue);
    return ref;
}

static void test_outbox_full_small(void **state)
{
    (void)state;
    outbox_full(1, 8);
}

static void test_outbox_full_large(void **state)
{
    (void)state;
    outbox_full(1, ODEON_PAYLOAD_MAX);
}

static void test_outbox_full_many_runs(void **state)
{
    (void)state;
    outbox_full(7, 16); /* in the seven other queues */
}

/* A receiver that is at its limit: -EAGAIN at the next flush interval; later it takes again. */
static void test_receiver_at_its_limit(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 2, 1, 65536, 1 << 20);
    receivers[0] = engine_fixture_spawn(&f, receiver_type, NULL, 0);
    struct engine_actor_view view;
    assert_int_equal(engine_actor_get(f.engine, receivers[0], &view), 0);
    actor_ref sender = other_queue_than(&f, sender_type, view.queue);
    job.receivers = 1;
    job.size = 1000;
    job.most = 10;
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    atomic_store(&job.hold, 1);
    uint64_t orders = 0, failures = engine_fixture_stat(&f, STAT_sends_failed);
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    struct worker *of_sender = f.engine->workers[view.queue == 0 ? 1 : 0];
    while (clock_now_ns() < until) {
        uint64_t processed = load_relaxed(&of_sender->stats->value[STAT_messages_processed]);
        assert_int_equal(engine_actor_send(f.engine, sender, order_type, NULL, 0), 0);
        orders++;
        assert_true(engine_fixture_until(
            load_relaxed(&of_sender->stats->value[STAT_messages_processed]) > processed &&
            !load_acquire(&of_sender->shown.busy)));
        if (job.result < 0)
            break;
    }
    assert_int_equal(job.result, -EAGAIN);
    assert_int_equal(engine_fixture_stat(&f, STAT_sends_failed), failures + 1);
    assert_true(atomic_load(&job.accepted) * 1024 > 65536);
    assert_int_equal(engine_actor_send(f.engine, receivers[0], bulk_type, &orders, 8),
                     -EAGAIN); /* so is the control thread told */
    assert_int_equal(
        engine_actor_spawn(f.engine, receiver_type, NULL, NULL, 0, &(actor_ref){ 0 }) == -EAGAIN ||
            engine_actor_spawn(f.engine, receiver_type, NULL, NULL, 0, &(actor_ref){ 0 }) ==
                -EAGAIN,
        true); /* one of two spawns goes to that queue */
    atomic_store(&job.hold, 0);
    assert_all_received(&f);
    uint64_t before = atomic_load(&job.accepted);
    assert_int_equal(engine_actor_send(f.engine, sender, order_type, NULL, 0), 0);
    assert_all_received(&f);
    assert_int_equal(job.result, 0);
    assert_int_equal(atomic_load(&job.accepted), before + 10);
    fixture_end(&f);
}

/* Many senders, one slow receiver with a small limit, for a while: what was accepted and what
 * arrived are one number.
 */
static void test_limit_under_load(void **state)
{
    (void)state;
    struct engine_fixture f;
    fixture_begin(&f, 3, 2, 16384, 1 << 19);
    receivers_spawn(&f, 2);
    job.receivers = 2;
    job.size = 200;
    job.most = 50;
    actor_ref senders[12];
    for (unsigned i = 0; i < 12; i++)
        senders[i] = engine_fixture_spawn(&f, sender_type, NULL, 0);
    assert_int_equal(engine_start(f.engine), 0);
    for (unsigned i = 0; i < TEST_SCALE(20000); i++) {
        int r = engine_actor_send(f.engine, senders[i % 12], order_type, NULL, 0);
        if (r == -EAGAIN)
            sched_yield();
        else
            assert_int_equal(r, 0);
    }
    assert_all_received(&f);
    assert_true(atomic_load(&job.accepted) > 0);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_in_order_of_first_touch),
        cmocka_unit_test(test_rebuild_gives_the_same_groups),
        cmocka_unit_test(test_more_runs_than_a_flush_has),
        cmocka_unit_test(test_outbox_full_small),
        cmocka_unit_test(test_outbox_full_large),
        cmocka_unit_test(test_outbox_full_many_runs),
        cmocka_unit_test(test_receiver_at_its_limit),
        cmocka_unit_test(test_limit_under_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
