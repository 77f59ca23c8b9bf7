/* SPDX-License-Identifier: Apache-2.0 */
/* What actors do, from samples (daemon/engine/observe), against what their handlers have counted:
 * exactly, on a clock of this program's, and within the samples' error on the machine's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/observe/observe.h"
#include "daemon/engine/segment/queue.h"
#include "tests/unit/engine_fixture.h"
#include "tests/unit/pretended_clock.h"

enum {
    LOADS = 24,
    LOAD_NS = 2 * 1000 * 1000,
    BEFORE = 3, /* records that are flushed before the loads */
    IDS = 8,
    SAMPLES = 2000, /* of each type that is estimated */
    WAITING_MOST = 1000,
    OFF_BY = 20, /* percent: more than six times what so many samples are off by */
};

static uint16_t message_load, message_gate, message_go;
static uint32_t type_front, type_a, type_b;
static actor_ref front, to_a, to_b;
static uint64_t n_sent; /* front's own */
static _Atomic uint64_t n_load, n_front, n_a, n_b, gate_open, gate_entered, over;

/* ---- the file, and its sums ---- */

static struct observed_header *file_new(void)
{
    struct observed_header *file = mmap(NULL, OBSERVED_FILE_SIZE(IDS), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(file, MAP_FAILED);
    observed_header_fill(file, IDS);
    return file;
}

static void file_free(struct observed_header *file)
{
    munmap(file, OBSERVED_FILE_SIZE(IDS));
}

#define SUM(f, id, member)                                                                         \
    ({                                                                                             \
        uint64_t sum_ = 0;                                                                         \
        for (uint32_t i_ = 0; i_ < (f)->engine->segment.n_ids; i_++)                               \
            sum_ += load_relaxed(&(f)->engine->workers[i_]->observer.block->types[id].member);     \
        sum_;                                                                                      \
    })

static uint64_t flow(const struct engine_fixture *f, uint64_t from, uint64_t to)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->engine->segment.n_ids; i++)
        for (uint32_t k = 0; k < 2; k++)
            for (uint32_t n = 0; n < OBSERVED_FLOWS; n++) {
                const struct observed_flow *row =
                    &f->engine->workers[i]->observer.block->window[k].flows[n];
                if (load_relaxed(&row->key) == (from << 16 | to))
                    sum += load_relaxed(&row->messages);
            }
    return sum;
}

static void open_engine(struct engine_fixture *f, uint32_t workers, uint32_t queues)
{
    struct engine_config config = engine_fixture_config(workers, queues);
    config.observed = file_new();
    engine_fixture_open(f, config);
    n_sent = 0;
    n_load = n_front = n_a = n_b = gate_open = gate_entered = over = 0;
}

static void close_engine(struct engine_fixture *f)
{
    struct observed_header *file = f->config.observed;
    engine_fixture_close(f);
    file_free(file);
    pretended_ns = 0;
}

/* ---- exactly ---- */

static int on_load(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_fetch_add(&pretended_ns, LOAD_NS);
    atomic_fetch_add(&n_load, 1);
    return ALLOCATION_NODELETE;
}

static int on_gate(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_store(&gate_entered, 1);
    (void)is_at_least(&gate_open, 1);
    return ALLOCATION_NODELETE;
}

static int on_light(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_fetch_add(&n_load, 1);
    return ALLOCATION_NODELETE;
}

/* One worker, which a gate holds until it is opened: what is sent meanwhile lies in the active
 * buffer of the one queue. The clock is the test's. */
struct held {
    struct engine_fixture f;
    uint32_t type;
    actor_ref ref;
};

static void held_begin(struct held *held, engine_behaviour_fn run)
{
    struct engine_fixture *f = &held->f;
    open_engine(f, 1, 1);
    ticks_rate = 0;
    f->engine->observation.period = OBSERVE_PERIOD_NS;
    f->engine->observation.patience = OBSERVE_PATIENCE_NS;
    pretended_ns = kernel_ns();
    message_load = engine_fixture_message(f, "load", 0, false);
    message_gate = engine_fixture_message(f, "gate", 0, false);
    struct engine_behaviour load = { message_load, 0, 0, run },
                            gate = { message_gate, 0, 0, on_gate };
    uint32_t keeping = engine_fixture_type(f, "keeper", 0, NULL, NULL, &gate, 1);
    held->type = engine_fixture_type(f, "loaded", 0, NULL, NULL, &load, 1);
    held->ref = engine_fixture_spawn(f, held->type, NULL, 0);
    actor_ref keeper = engine_fixture_spawn(f, keeping, NULL, 0);
    assert_int_equal(engine_start(f->engine), 0);
    assert_int_equal(engine_actor_send(f->engine, keeper, message_gate, NULL, 0), 0);
    assert_true(is_at_least(&gate_entered, 1));
}

static void held_send(struct held *held, uint64_t behind_ns)
{
    atomic_fetch_add(&pretended_ns, behind_ns);
    assert_int_equal(engine_actor_send(held->f.engine, held->ref, message_load, NULL, 0), 0);
}

/* All `n` have been run, and nobody runs any more. */
static void held_run(struct held *held, uint64_t n)
{
    atomic_store(&gate_open, 1);
    assert_true(is_at_least(&n_load, n));
    engine_stop(held->f.engine);
}

/* A slow type's messages are timed one by one, and how long they wait is told for all of them. The
 * sender's clock goes on by a mark's period with each. */
static void test_slow_messages_are_counted_not_estimated(void **state)
{
    struct held held;
    (void)state;
    held_begin(&held, on_load);
    uint64_t first_ns = pretended_ns + OBSERVE_PERIOD_NS;
    for (uint32_t i = 0; i < LOADS; i++)
        held_send(&held, OBSERVE_PERIOD_NS);
    uint64_t begin_ns = pretended_ns, waited_ns = 0;
    for (uint64_t i = 0; i < LOADS; i++)
        waited_ns += begin_ns + i * LOAD_NS - (first_ns + i * OBSERVE_PERIOD_NS);
    held_run(&held, LOADS);
    assert_int_equal(SUM(&held.f, held.type, messages), LOADS); /* observe.OB2 */
    assert_int_equal(SUM(&held.f, held.type, timed), LOADS);
    assert_int_equal(SUM(&held.f, held.type, samples), 0);
    assert_int_equal(SUM(&held.f, held.type, run_ns), (uint64_t)LOADS * LOAD_NS);
    assert_int_equal(SUM(&held.f, held.type, run[time_cell(LOAD_NS)]), LOADS);
    /* marks.M3: no weight is lost; what was flushed before them, two records of new actors and the
     * gate's message, may be in the first one's */
    assert_in_range(SUM(&held.f, held.type, waited), LOADS, LOADS + BEFORE);
    /* marks thin out: each stands for neighbours, of which it is the first */
    uint64_t told_ns = SUM(&held.f, held.type, wait_ns), span = LOADS / (MARKS_MOST / 2) * LOAD_NS;
    assert_in_range(told_ns, waited_ns - LOADS * span, waited_ns + BEFORE * LOADS * LOAD_NS);
    assert_in_range(flow(&held.f, 0, held.type), LOADS, LOADS + BEFORE);
    close_engine(&held.f);
}

/* observe.OB3 */
static void test_where_messages_are_few_each_is_a_sample(void **state)
{
    struct held held;
    (void)state;
    held_begin(&held, on_light);
    atomic_store(&gate_open, 1);
    for (uint64_t i = 0; i < LOADS; i++) {
        held_send(&held, OBSERVE_PATIENCE_NS);
        assert_true(is_at_least(&n_load, i + 1));
    }
    held_run(&held, LOADS);
    assert_int_equal(SUM(&held.f, held.type, sampled), LOADS);
    /* the first one may stand for what was flushed before, too */
    assert_in_range(SUM(&held.f, held.type, waited), LOADS, LOADS + BEFORE);
    close_engine(&held.f);
}

/* marks.M2: of three messages the second one's mark is spoilt, the third one has none, and is not
 * taken for it. */
static void test_a_mark_where_no_record_begins_is_forgotten(void **state)
{
    struct held held;
    (void)state;
    held_begin(&held, on_light);
    for (int i = 0; i < 3; i++)
        held_send(&held, OBSERVE_PATIENCE_NS);
    unsigned active = queue_active(load_relaxed(&held.f.engine->segment.queues[0].sel));
    struct marks *marks = marks_of(held.f.engine, 0, active);
    assert_int_equal(marks->n, 3);
    marks->mark[1].at += 8;
    marks->n = 2;
    held_run(&held, 3);
    assert_int_equal(SUM(&held.f, held.type, sampled), 1);
    close_engine(&held.f);
}

/* A type has no behaviour for what the gate's has. */
static void test_what_cannot_be_run_is_counted(void **state)
{
    struct held held;
    (void)state;
    held_begin(&held, on_light);
    for (int i = 0; i < 2; i++)
        assert_int_equal(engine_actor_send(held.f.engine, held.ref, message_gate, NULL, 0), 0);
    held_send(&held, OBSERVE_PATIENCE_NS);
    held_run(&held, 1);
    assert_int_equal(SUM(&held.f, held.type, failed), 2);
    close_engine(&held.f);
}

static uint64_t n_live(const struct engine_fixture *f, uint32_t type)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->engine->segment.n_ids; i++)
        sum += (uint64_t)load_relaxed(&f->engine->workers[i]->observer.block->live[type]);
    return sum;
}

/* An engine that takes up the segment of another finds its counts in the file, and begins anew. */
static void test_who_lives_is_told(void **state)
{
    struct engine_fixture f;
    struct engine_recovery report;
    uint32_t type;
    (void)state;
    open_engine(&f, 2, 1);
    type = engine_fixture_type(&f, "plain", 40, NULL, NULL, NULL, 0);
    for (int i = 0; i < 3; i++)
        (void)engine_fixture_spawn(&f, type, NULL, 0);
    assert_int_equal(n_live(&f, type), 3);
    assert_int_equal(load_relaxed(&f.config.observed->names[type].state_size), 40);
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    assert_int_equal(n_live(&f, type), 3);
    close_engine(&f);
}

/* Whose lock is taken is not waited for; where nothing is marked the age is not known. */
static void test_the_oldest_that_waits_is_told(void **state)
{
    struct held held;
    (void)state;
    held_begin(&held, on_light);
    struct segment_queue *queue = &held.f.engine->segment.queues[0];
    assert_int_equal(engine_queue_oldest(held.f.engine, 0).to, 0);
    held_send(&held, OBSERVE_PATIENCE_NS);
    held_send(&held, OBSERVE_PATIENCE_NS);
    atomic_fetch_add(&pretended_ns, LOAD_NS);
    struct engine_oldest oldest = engine_queue_oldest(held.f.engine, 0);
    assert_int_equal(oldest.to, held.ref);
    assert_int_equal(oldest.ns, OBSERVE_PATIENCE_NS + LOAD_NS);
    assert_false(queue_lock(queue, 0));
    assert_int_equal(engine_queue_oldest(held.f.engine, 0).to, 0);
    queue_unlock(queue);
    observe_forget(held.f.engine, 0, queue_active(load_relaxed(&queue->sel)));
    oldest = engine_queue_oldest(held.f.engine, 0);
    assert_int_equal(oldest.to, held.ref);
    assert_int_equal(oldest.ns, 0);
    assert_int_equal(engine_queue_oldest(held.f.engine, UINT32_MAX).to, 0);
    held_run(&held, 2);
    close_engine(&held.f);
}

/* ---- within the error of samples ---- */

static int on_a(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_fetch_add_explicit(&n_a, 1, memory_order_relaxed);
    return ALLOCATION_NODELETE;
}

static int on_b(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_fetch_add_explicit(&n_b, 1, memory_order_relaxed);
    return ALLOCATION_NODELETE;
}

/* To itself; and one in four times to `b`, else to `a`, as long as not too many wait: in a long
 * buffer a mark stands for much, and one sample more or less does, too. */
static int on_front(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    uint64_t n = atomic_fetch_add_explicit(&n_front, 1, memory_order_relaxed);
    if (atomic_load_explicit(&over, memory_order_relaxed))
        return ALLOCATION_NODELETE;
    if (n_sent - atomic_load_explicit(&n_a, memory_order_relaxed) -
            atomic_load_explicit(&n_b, memory_order_relaxed) <
        WAITING_MOST) {
        (void)engine_ctx_send(ctx, n % 4 ? to_a : to_b, message_go, 0, NULL, 0);
        n_sent++;
    }
    (void)engine_ctx_send(ctx, front, message_go, 0, NULL, 0);
    return ALLOCATION_NODELETE;
}

static bool is_near(const char *what, uint64_t estimate, uint64_t truth)
{
    uint64_t off = estimate > truth ? estimate - truth : truth - estimate;
    if (off * 100 > truth * OFF_BY)
        print_error("%s: %llu, and in truth %llu\n", what, (unsigned long long)estimate,
                    (unsigned long long)truth);
    return off * 100 <= truth * OFF_BY;
}

static void begin_fronts(struct engine_fixture *f)
{
    message_go = engine_fixture_message(f, "go", 0, false);
    struct engine_behaviour behaviours[] = { { message_go, 0, 0, on_front },
                                             { message_go, 0, 0, on_a },
                                             { message_go, 0, 0, on_b } };
    type_front = engine_fixture_type(f, "front", 0, NULL, NULL, &behaviours[0], 1);
    type_a = engine_fixture_type(f, "a", 0, NULL, NULL, &behaviours[1], 1);
    type_b = engine_fixture_type(f, "b", 0, NULL, NULL, &behaviours[2], 1);
    front = engine_fixture_spawn(f, type_front, NULL, 0);
    to_a = engine_fixture_spawn(f, type_a, NULL, 0);
    to_b = engine_fixture_spawn(f, type_b, NULL, 0);
}

static void estimate(uint32_t workers, uint32_t queues)
{
    struct engine_fixture f;
    open_engine(&f, workers, queues);
    begin_fronts(&f);
    assert_int_equal(engine_start(f.engine), 0);
    assert_int_equal(engine_actor_send(f.engine, front, message_go, NULL, 0), 0);
    assert_true(engine_fixture_until(SUM(&f, type_front, samples) >= SAMPLES &&
                                     SUM(&f, type_a, samples) >= SAMPLES &&
                                     SUM(&f, type_b, samples) >= SAMPLES));
    atomic_store(&over, 1);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    engine_stop(f.engine);
    assert_true(is_near("messages of front", SUM(&f, type_front, messages), n_front));
    assert_true(is_near("messages of a", SUM(&f, type_a, messages), n_a));
    assert_true(is_near("messages of b", SUM(&f, type_b, messages), n_b));
    assert_true(is_near("sends of front", SUM(&f, type_front, sends), n_front + n_sent));
    assert_int_equal(SUM(&f, type_a, sends), 0);
    close_engine(&f);
}

static void test_estimates_are_near_the_truth_on_one_worker(void **state)
{
    (void)state;
    estimate(1, 1); /* all behind one batch, which goes round its buffer */
    estimate(1, 4);
}

static void test_estimates_are_near_the_truth_on_two_workers(void **state)
{
    (void)state;
    estimate(2, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates_are_near_the_truth_on_one_worker),
        cmocka_unit_test(test_estimates_are_near_the_truth_on_two_workers),
        cmocka_unit_test(test_slow_messages_are_counted_not_estimated),
        cmocka_unit_test(test_where_messages_are_few_each_is_a_sample),
        cmocka_unit_test(test_a_mark_where_no_record_begins_is_forgotten),
        cmocka_unit_test(test_what_cannot_be_run_is_counted),
        cmocka_unit_test(test_who_lives_is_told),
        cmocka_unit_test(test_the_oldest_that_waits_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
