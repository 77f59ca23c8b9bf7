/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of windows: what exists of each buffer, page by page, beside what the baseline's copy
 * queue would hold for the same sequence of gulps; that a burst's memory is given back; and that
 * nothing that counts goes with it, not over a restart either. The worker's part is played by the
 * test, run by run. */
#include <fcntl.h>

#include "baseline_queue.h"
#include "daemon/engine/core/populate.h"
#include "daemon/engine/core/reclaim.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "engine_fixture.h"

enum { PAGE = RECLAIM_PAGE, LIMIT = 8 << 20, OUTBOX = 8 << 20, QUEUE = 0, OTHER = 1 };

static struct {
    uint64_t ticks, resent, expected, wrong;
    uint64_t spread; /* signals that the next "spread" sends */
    actor_ref spread_to;
} seen;
static uint16_t tick_type, again_type, number_type, spread_type;
static uint32_t probe_type;

static int on_tick(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    seen.ticks++;
    return ALLOCATION_NODELETE;
}

/* Extends the batch that it is in. */
static int on_again(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    if (seen.resent > 0 && seen.resent-- && engine_ctx_signal(ctx, ctx->self, again_type) != 0)
        seen.wrong++;
    return ALLOCATION_NODELETE;
}

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)ctx;
    seen.wrong += *(const uint64_t *)message != seen.expected;
    seen.expected++;
    return ALLOCATION_NODELETE;
}

static int on_spread(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    for (uint64_t i = 0; i < seen.spread; i++)
        if (engine_ctx_signal(ctx, seen.spread_to, tick_type) != 0)
            seen.wrong++;
    return ALLOCATION_NODELETE;
}

static void types_register(struct engine_fixture *f)
{
    tick_type = engine_fixture_message(f, "tick", 0, false);
    again_type = engine_fixture_message(f, "again", 0, false);
    number_type = engine_fixture_message(f, "number", 8, false);
    spread_type = engine_fixture_message(f, "spread", 0, false);
    struct engine_behaviour on[] = { { tick_type, 0, false, on_tick },
                                     { again_type, 0, false, on_again },
                                     { number_type, 8, false, on_number },
                                     { spread_type, 0, false, on_spread } };
    probe_type = engine_fixture_type(f, "probe", 8, NULL, NULL, on, 4);
}

/* The worker takes the queue and runs it once.  At most one hole a run: reclaim.M3. */
static void run(struct engine_fixture *f, uint32_t queue)
{
    struct worker *w = f->engine->workers[0];
    uint64_t before = engine_fixture_stat(f, STAT_windows_reclaimed);
    assert_true(owner_take(&f->engine->sources[queue], 0, 0));
    mailbox_run(w, queue, false);
    assert_in_range(engine_fixture_stat(f, STAT_windows_reclaimed) - before, 0, 1);
}

static void run_empty(struct engine_fixture *f, uint32_t queue)
{
    while (queue_has_work(&f->engine->segment.queues[queue]))
        run(f, queue);
}

/* One worker, two queues, an actor in each. */
static uint32_t fixture_page; /* 0: the machine's */

static void fixture_begin(struct engine_fixture *f, actor_ref *ret_actor, actor_ref *ret_other)
{
    struct engine_config config = engine_fixture_config(1, 2);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = LIMIT;
    config.outbox_bytes = OUTBOX;
    config.page_bytes = fixture_page;
    engine_fixture_open(f, config);
    types_register(f);
    memset(&seen, 0, sizeof(seen));
    for (unsigned i = 0; i < 2; i++) {
        actor_ref ref = engine_fixture_spawn(f, probe_type, NULL, 0);
        struct engine_actor_view view;
        assert_int_equal(engine_actor_get(f->engine, ref, &view), 0);
        *(view.queue == QUEUE ? ret_actor : ret_other) = ref;
    }
    run_empty(f, QUEUE);
    run_empty(f, OTHER);
}

static void fixture_end(struct engine_fixture *f)
{
    assert_int_equal(seen.wrong, 0);
    engine_fixture_close(f);
}

/* Bytes that exist between two addresses of the segment. */
static uint64_t resident(struct engine_fixture *f, const uint8_t *from, uint64_t bytes)
{
    off_t begin = from - f->engine->segment.base, end = begin + (off_t)bytes, at = begin;
    uint64_t sum = 0;
    while (at < end) {
        off_t data = lseek(f->segment_fd, at, SEEK_DATA);
        if (data < 0 || data >= end)
            break;
        off_t hole = lseek(f->segment_fd, data, SEEK_HOLE);
        at = hole < end ? hole : end;
        sum += (uint64_t)(at - data);
    }
    return sum;
}

static uint64_t buffer_resident(struct engine_fixture *f, uint32_t queue, unsigned buffer)
{
    return resident(f, segment_window(&f->engine->segment, queue, buffer),
                    segment_window_bytes(&f->engine->segment, queue));
}

static unsigned buffer_filled(struct engine_fixture *f, uint32_t queue)
{
    return queue_active(load_relaxed(&f->engine->segment.queues[queue].sel));
}

static void send(struct engine_fixture *f, actor_ref to, uint16_t type, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(engine_actor_send(f->engine, to, type, NULL, 0), 0);
}

static uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* The two side by side. */
struct pair {
    struct engine_fixture f;
    actor_ref actor, other;
    struct baseline_queue *baseline;
    uint64_t peak[2]; /* by buffer: the baseline's */
    uint64_t left[2];
};

static void pair_begin(struct pair *p)
{
    memset(p, 0, sizeof(*p));
    fixture_begin(&p->f, &p->actor, &p->other);
    p->baseline = baseline_queue_make();
}

static void pair_end(struct pair *p)
{
    p->baseline = baseline_queue_free(p->baseline);
    fixture_end(&p->f);
}

/* The bound: at any time, of either buffer. */
static void pair_check(struct pair *p, unsigned buffer)
{
    assert_in_range(buffer_resident(&p->f, QUEUE, buffer), 0, page_up(p->peak[buffer]) + PAGE);
}

/* n messages on both sides, which send `resent` more to themselves here. */
static void pair_gulp(struct pair *p, uint32_t n, uint64_t resent)
{
    unsigned buffer = buffer_filled(&p->f, QUEUE);
    uint64_t most;
    baseline_queue_gulp(p->baseline, n, &most, &p->left[buffer]);
    p->peak[buffer] = most > p->peak[buffer] ? most : p->peak[buffer];
    seen.resent = resent;
    send(&p->f, p->actor, again_type, n);
    pair_check(p, buffer);
    run(&p->f, QUEUE);
    pair_check(p, buffer);
    run_empty(&p->f, QUEUE);
    pair_check(p, buffer);
    assert_int_equal(seen.resent, 0);
}

static void test_steady(void **state)
{
    (void)state;
    static const uint32_t sizes[] = { 1, 16, 100, 128, 300, 512, 5000 };
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct pair p;
        pair_begin(&p);
        for (unsigned k = 0; k < 60; k++)
            pair_gulp(&p, sizes[i], 0);
        /* nothing goes and comes back */
        assert_int_equal(engine_fixture_stat(&p.f, STAT_windows_reclaimed), 0);
        pair_end(&p);
    }
}

/* The thesis's example of a reclamation that doubles the memory: 19 messages a gulp, an array of 10
 * that grows. */
static void test_nineteen_messages(void **state)
{
    (void)state;
    struct pair p;
    pair_begin(&p);
    for (unsigned i = 0; i < 200; i++)
        pair_gulp(&p, 19, 0);
    assert_int_equal(engine_fixture_stat(&p.f, STAT_windows_reclaimed), 0);
    pair_end(&p);
}

static void test_bursts_are_given_back(void **state)
{
    (void)state;
    struct pair p;
    pair_begin(&p);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 2; i++) /* one into each buffer */
            pair_gulp(&p, 20000 + 5000 * round, 0);
        for (unsigned buffer = 0; buffer < 2; buffer++)
            assert_true(buffer_resident(&p.f, QUEUE, buffer) >= 20000 * sizeof(struct envelope));
        for (unsigned i = 0; i < 2 * RECLAIM_RUNS; i++)
            pair_gulp(&p, 10, 0);
        for (unsigned buffer = 0; buffer < 2; buffer++) {
            assert_in_range(buffer_resident(&p.f, QUEUE, buffer), 0, RECLAIM_QUEUE_PAGES * PAGE);
            /* which goes down by a slot a gulp */
            assert_true(buffer_resident(&p.f, QUEUE, buffer) < p.left[buffer]);
        }
        assert_int_equal(engine_fixture_stat(&p.f, STAT_windows_reclaimed), 2 * (round + 1));
        assert_true(engine_fixture_stat(&p.f, STAT_bytes_reclaimed) >=
                    2ul * (round + 1) *
                        (20000 * sizeof(struct envelope) - RECLAIM_QUEUE_PAGES * PAGE));
    }
    pair_end(&p);
}

/* What is kept is twice the recent need, which is that of the largest of the gulps that
 * followed. */
static void test_need_is_kept(void **state)
{
    (void)state;
    struct pair p;
    pair_begin(&p);
    for (unsigned i = 0; i < 2; i++)
        pair_gulp(&p, 50000, 0);
    for (unsigned i = 0; i < 2 * RECLAIM_RUNS; i++)
        pair_gulp(&p, i < 2 ? 2000 : 10, 0);
    uint64_t need = page_up(2000 * sizeof(struct envelope));
    for (unsigned buffer = 0; buffer < 2; buffer++)
        assert_in_range(buffer_resident(&p.f, QUEUE, buffer), need, 2 * need);
    pair_end(&p);
}

/* More than half of it is used now and then: nothing is given back. */
static void test_every_other_burst_keeps(void **state)
{
    (void)state;
    struct pair p;
    pair_begin(&p);
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 2; i++)
            pair_gulp(&p, round % 2 ? 3000 : 5000, 0);
        for (unsigned i = 0; i < 2 * RECLAIM_RUNS - 2; i++)
            pair_gulp(&p, 1, 0);
    }
    assert_int_equal(engine_fixture_stat(&p.f, STAT_windows_reclaimed), 0);
    pair_end(&p);
}

/* A burst into each buffer, and what has them given back if it may be. */
static void pair_burst(struct pair *p)
{
    for (unsigned i = 0; i < 2; i++)
        pair_gulp(p, 20000, 0);
}

static void pair_little(struct pair *p)
{
    for (unsigned i = 0; i < 2 * RECLAIM_RUNS; i++)
        pair_gulp(p, 10, 0);
}

/* What a first burst touches costs nothing, what a second one touches again does: reclaim.M5. */
static void test_what_is_touched_again_is_paid(void **state)
{
    (void)state;
    struct pair p;
    pair_begin(&p);
    struct allowance *allowance = &p.f.engine->workers[0]->allowance;
    pair_burst(&p);
    assert_int_equal(allowance->pages, RECLAIM_ALLOWANCE);
    pair_little(&p);
    uint64_t given = engine_fixture_stat(&p.f, STAT_bytes_reclaimed) / PAGE;
    assert_int_equal(engine_fixture_stat(&p.f, STAT_windows_reclaimed), 2);
    allowance->pages = 2000; /* it grows where something may be given back, and not between */
    pair_burst(&p);
    assert_int_equal(allowance->pages, 2000 - given);
    pair_burst(&p); /* they are there by now */
    assert_int_equal(allowance->pages, 2000 - given);
    pair_end(&p);
}

/* Whose allowance is used up keeps what it has, until time has gone by: reclaim.M5. */
static void test_no_allowance_keeps(void **state)
{
    (void)state;
    struct pair p;
    pair_begin(&p);
    struct allowance *allowance = &p.f.engine->workers[0]->allowance;
    pair_burst(&p);
    allowance->pages = -1000000000; /* days */
    for (unsigned round = 0; round < 3; round++)
        pair_little(&p);
    assert_int_equal(engine_fixture_stat(&p.f, STAT_windows_reclaimed), 0);
    assert_true(allowance->pages < -900000000);
    allowance->at -= ticks_of_ns(UINT64_C(1000000000) * 1000000); /* they have passed */
    pair_little(&p);
    assert_int_equal(engine_fixture_stat(&p.f, STAT_windows_reclaimed), 2);
    assert_in_range(allowance->pages, 1, RECLAIM_ALLOWANCE);
    pair_end(&p);
}

/* Where memory is short nobody asks for it: reclaim.M3. */
static void test_pressed_without_allowance(void **state)
{
    (void)state;
    struct pair p;
    pair_begin(&p);
    pair_burst(&p);
    p.f.engine->workers[0]->allowance.pages = -1000000000;
    engine_set_waiting(p.f.engine, (uint64_t)budget_pages(p.f.engine) * PAGE * 3 / 2, 0, 0);
    assert_true(budget_is_pressed(p.f.engine) && !budget_is_full(p.f.engine));
    pair_gulp(&p, 10, 0);
    assert_int_equal(engine_fixture_stat(&p.f, STAT_windows_reclaimed), 1);
    assert_false(budget_is_pressed(p.f.engine)); /* the other one may stay */
    pair_gulp(&p, 10, 0);
    assert_int_equal(engine_fixture_stat(&p.f, STAT_windows_reclaimed), 1);
    pair_end(&p);
}

/* A batch that its own actors extend goes round within the bound. */
static void test_batches_that_extend_themselves(void **state)
{
    (void)state;
    static const uint32_t sizes[] = { 1, 128, 200, 512 };
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct pair p;
        pair_begin(&p);
        for (unsigned k = 0; k < 20; k++)
            pair_gulp(&p, sizes[i], 3000);
        assert_true(engine_fixture_stat(&p.f, STAT_tail_appends) > 0);
        pair_end(&p);
    }
}

static void test_outbox_of_a_large_flush(void **state)
{
    (void)state;
    struct pair p;
    pair_begin(&p);
    const struct segment *s = &p.f.engine->segment;
    seen.spread = 100000;
    seen.spread_to = p.other;
    send(&p.f, p.actor, spread_type, 1);
    run_empty(&p.f, QUEUE);
    assert_true(resident(&p.f, segment_outbox(s, 0), s->header->outbox_bytes) >=
                seen.spread * sizeof(struct envelope));
    seen.spread = 100;
    for (unsigned i = 0; i < RECLAIM_RUNS; i++) {
        send(&p.f, p.actor, spread_type, 1);
        run(&p.f, QUEUE);
    }
    assert_in_range(resident(&p.f, segment_outbox(s, 0), s->header->outbox_bytes), 1,
                    RECLAIM_OUTBOX_PAGES * PAGE);
    run_empty(&p.f, OTHER);
    assert_int_equal(seen.ticks, 100000 + 100 * RECLAIM_RUNS);
    pair_end(&p);
}

/* The executor dies (nothing is said to the engine) with a queue half run, again and again: numbers
 * come in order, and the new one gives back what the old one left. */
static void test_over_restarts(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref actor = 0, other = 0;
    struct engine_recovery report;
    fixture_begin(&f, &actor, &other);
    uint64_t sent = 0;
    for (unsigned life = 0; life < 5; life++) {
        for (unsigned i = 0; i < 2; i++) {
            for (unsigned k = 0; k < 10000; k++, sent++)
                assert_int_equal(
                    engine_actor_send(f.engine, actor, number_type, &sent, sizeof(sent)), 0);
            if (i == 0)
                run(&f, QUEUE); /* the throughput's limit: the batch is set aside */
        }
        f.engine = engine_close(f.engine);
        engine_fixture_reopen(&f, &report);
        types_register(&f);
        run_empty(&f, QUEUE);
        /* half of them with the large batch before in mind */
        for (unsigned i = 0; i < 4 * RECLAIM_RUNS; i++, sent++) {
            assert_int_equal(engine_actor_send(f.engine, actor, number_type, &sent, sizeof(sent)),
                             0);
            run(&f, QUEUE);
        }
        for (unsigned buffer = 0; buffer < 2; buffer++)
            assert_in_range(buffer_resident(&f, QUEUE, buffer), 0, RECLAIM_QUEUE_PAGES * PAGE);
        assert_int_equal(seen.expected, sent);
    }
    fixture_end(&f);
}

/* Holes begin with a page of the machine's, and whole ones are counted: else nothing would be given
 * back there, or more counted than ever is. */
static void test_pages_of_64_kib(void **state)
{
    (void)state;
    const uint32_t large = 16;
    struct pair p;
    fixture_page = large * PAGE;
    pair_begin(&p);
    fixture_page = 0;
    for (unsigned i = 0; i < 2; i++)
        pair_gulp(&p, 20000, 0);
    for (unsigned buffer = 0; buffer < 2; buffer++) {
        uint32_t charged = load_relaxed(&p.f.engine->windows[2 * QUEUE + buffer].charged);
        assert_true(charged > 0);
        assert_int_equal(charged % large, 0);
    }
    for (unsigned i = 0; i < 2 * RECLAIM_RUNS; i++)
        pair_gulp(&p, 10, 0);
    for (unsigned buffer = 0; buffer < 2; buffer++) {
        assert_int_equal(buffer_resident(&p.f, QUEUE, buffer), large * PAGE);
        assert_int_equal(load_relaxed(&p.f.engine->windows[2 * QUEUE + buffer].charged), 0);
    }
    assert_int_equal(budget_pages(p.f.engine), 0);
    pair_end(&p);
}

/* The pages that a group will lie in, and no others: populate.PP1, populate.PP2. */
static void test_pages_are_asked_for_together(void **state)
{
    (void)state;
    struct engine_fixture f;
    actor_ref actor, other;
    fixture_begin(&f, &actor, &other);
    struct engine *e = f.engine;
    struct window_history *window = &e->windows[2 * QUEUE];
    uint8_t *base = segment_window(&e->segment, QUEUE, 0);
    uint64_t before = buffer_resident(&f, QUEUE, 0),
             asked = (uint64_t)budget_whole_pages(e, 40) * PAGE - budget_free_pages(e) * PAGE;
    populate_window(e, window, base, 100); /* nobody's: the copy touches them */
    assert_int_equal(buffer_resident(&f, QUEUE, 0), before);
    e->cannot_populate = true;
    populate_window(e, window, base, 39 * PAGE + 1);
    assert_int_equal(buffer_resident(&f, QUEUE, 0), before);
    e->cannot_populate = false;
    populate_window(e, window, base, 39 * PAGE + 1);
    if (!e->cannot_populate) /* else the kernel does not know it */
        assert_int_equal(buffer_resident(&f, QUEUE, 0), before + asked);
    before = buffer_resident(&f, QUEUE, 0);
    budget_touch(e, window, 60 * PAGE);
    populate_window(e, window, base, 50 * PAGE); /* they are known to be there */
    assert_int_equal(buffer_resident(&f, QUEUE, 0), before);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_nineteen_messages),
        cmocka_unit_test(test_bursts_are_given_back),
        cmocka_unit_test(test_need_is_kept),
        cmocka_unit_test(test_every_other_burst_keeps),
        cmocka_unit_test(test_what_is_touched_again_is_paid),
        cmocka_unit_test(test_no_allowance_keeps),
        cmocka_unit_test(test_pressed_without_allowance),
        cmocka_unit_test(test_batches_that_extend_themselves),
        cmocka_unit_test(test_outbox_of_a_large_flush),
        cmocka_unit_test(test_over_restarts),
        cmocka_unit_test(test_pages_of_64_kib),
        cmocka_unit_test(test_pages_are_asked_for_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
