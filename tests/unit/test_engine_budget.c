/* SPDX-License-Identifier: Apache-2.0 */
/* What waits, its memory and its time: who is accounted and how, who is turned away, that a port
 * that waits for either goes on, and that all of it is given back and known again by the next
 * executor. The worker's part is played by the test where it is to be known what is in a queue. */
#include "daemon/engine/core/budget.h"
#include "daemon/engine/core/reclaim.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/run/worker.h"
#include "daemon/engine/segment/queue.h"
#include "engine_client.h"

enum {
    PAGES = 128,
    BLOCK = 1000,
    POSTED_AT_ONCE = 20,
    GREEDY = 0,
    MODEST = 1,
    N_PORTS = 2,
    MOST_ROUNDS = 10000,
    QUOTA_MS = 100,
    SLOW_MS = 2,
    GUESSED = QUOTA_MS / (BUDGET_GUESS_NS / 1000000),
};
#define MS(n) (UINT64_C(1000000) * (n))

static uint16_t block_type, send_type;
static uint64_t ran, spin_ns;
static struct {
    actor_ref to;
    int result;
} sent;

static int on_block(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    ran++;
    for (uint64_t end = spin_ns ? clock_now_ns() + spin_ns : 0; end && clock_now_ns() < end;)
        continue;
    return ALLOCATION_NODELETE;
}

static int on_send(void *self, const void *message, struct engine_context *ctx)
{
    static const uint8_t block[BLOCK];
    (void)self, (void)message;
    sent.result = engine_ctx_send(ctx, sent.to, block_type, 0, block, sizeof(block));
    return ALLOCATION_NODELETE;
}

struct test {
    struct engine_fixture f;
    struct client c[N_PORTS];
    actor_ref reject, stall;
};

static uint32_t type_register(struct engine_fixture *f, const char *name,
                              enum engine_overflow policy)
{
    struct engine_behaviour on[] = { { block_type, BLOCK, false, on_block },
                                     { send_type, 0, false, on_send } };
    struct engine_actor_type_info info = { .name = name,
                                           .plugin = "test",
                                           .version = 1,
                                           .state_size = 8,
                                           .overflow = policy,
                                           .n_behaviours = 2,
                                           .behaviours = on };
    uint32_t id = 0;
    assert_int_equal(engine_actor_type_register(f->engine, &info, &id), 0);
    return id;
}

static void types_register(struct test *t, uint32_t *ret_reject, uint32_t *ret_stall)
{
    block_type = engine_fixture_message(&t->f, "block", BLOCK, false);
    send_type = engine_fixture_message(&t->f, "send", 0, false);
    *ret_reject = type_register(&t->f, "reject", OVERFLOW_POLICY_REJECT);
    *ret_stall = type_register(&t->f, "stall", OVERFLOW_POLICY_STALL);
}

static void begin(struct test *t, uint32_t workers)
{
    struct engine_config config = engine_fixture_config(workers, 1);
    uint32_t reject, stall;
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.outbox_bytes = 1 << 20;
    config.waiting_bytes = (uint64_t)PAGES * BUDGET_PAGE;
    config.spin_ns = 1000;
    engine_fixture_open(&t->f, config);
    types_register(t, &reject, &stall);
    t->reject = engine_fixture_spawn(&t->f, reject, NULL, 0);
    t->stall = engine_fixture_spawn(&t->f, stall, NULL, 0);
    for (uint32_t i = 0; i < N_PORTS; i++) {
        client_make(&t->c[i], i, 1);
        t->c[i].info.user = 7 + i;
        assert_int_equal(engine_port_add(t->f.engine, &t->c[i].info, &t->c[i].ref), 0);
    }
    ran = spin_ns = 0;
}

static void end(struct test *t)
{
    for (uint32_t i = 0; i < N_PORTS; i++)
        client_free(&t->c[i]);
    engine_fixture_close(&t->f);
}

/* Whatever has its bit, once. */
static void run(struct test *t)
{
    struct worker *w = t->f.engine->workers[0];
    for (uint32_t id = 0; id < t->f.engine->segment.n_mailboxes; id++)
        if (owner_take(&t->f.engine->sources[id], 0, 0))
            mailbox_run(w, id, false);
}

static void run_all(struct test *t)
{
    for (uint32_t id = 0; id < t->f.engine->segment.n_mailboxes; id++)
        while (queue_has_work(&t->f.engine->segment.queues[id]))
            run(t);
}

static void run_port(struct test *t, uint32_t port)
{
    uint32_t source = engine_source_of_port(t->f.engine, port);
    assert_true(owner_take(&t->f.engine->sources[source], 0, 0));
    assert_int_equal(port_run(t->f.engine->workers[0], port, false), -1);
}

static void post(struct test *t, uint32_t port, actor_ref to, uint32_t n)
{
    static const uint8_t block[BLOCK];
    for (uint32_t i = 0; i < n; i++)
        client_post(&t->c[port], to, block_type, block, sizeof(block));
}

/* The reason of the refusal that is next; REASON_NONE: there is none. */
static enum envelope_reason next_refusal(struct test *t, uint32_t port)
{
    const struct envelope *at = client_next(&t->c[port]);
    struct refusal refusal;
    if (!at)
        return REASON_NONE;
    assert_int_equal(at->type, MESSAGE_TYPE_REFUSAL);
    memcpy(&refusal, envelope_payload_behind((struct envelope *)at, 0), sizeof(refusal));
    return (enum envelope_reason)refusal.reason;
}

/* Until it is refused; how many were taken at least. */
static uint64_t post_until_refused(struct test *t, uint32_t port, enum envelope_reason reason)
{
    for (uint64_t n = 0; n < MOST_ROUNDS; n++) {
        post(t, port, t->reject, POSTED_AT_ONCE);
        run_port(t, port);
        enum envelope_reason why = next_refusal(t, port);
        if (why == REASON_NONE)
            continue;
        assert_int_equal(why, reason);
        while (next_refusal(t, port) != REASON_NONE)
            ;
        return n * POSTED_AT_ONCE;
    }
    fail_msg("nobody refuses");
    return 0;
}

static int64_t waiting(const struct test *t, uint32_t port)
{
    return (int64_t)engine_user_waiting_bytes(t->f.engine, 7 + port);
}

/* ---- accounts ---- */

static void test_notes(void **state)
{
    (void)state;
    struct test t;
    begin(&t, 1);
    struct engine *e = t.f.engine;
    struct window_history *window = &e->windows[0];
    uint32_t account[BUDGET_NOTES + 1];
    for (uint32_t i = 0; i <= BUDGET_NOTES; i++) {
        account[i] = budget_account_get(e, 100 + i);
        assert_int_not_equal(account[i], 0);
        assert_int_equal(budget_account_get(e, 100 + i), account[i]); /* its second port */
        budget_note(e, window, account[i], 10 * (i + 1));
        budget_note(e, window, account[i], 1);
    }
    /* budget.B5: the smallest has been forgiven */
    assert_int_equal(engine_user_waiting_bytes(e, 100), 0);
    for (uint32_t i = 1; i <= BUDGET_NOTES; i++)
        assert_int_equal(engine_user_waiting_bytes(e, 100 + i), 10 * (i + 1) + 1);
    /* budget.B6 */
    for (uint32_t i = 0; i < 2; i++)
        budget_account_put(e, account[1]);
    assert_int_not_equal(budget_account_get(e, 500), account[1]);
    budget_notes_clear(e, window);
    for (uint32_t i = 0; i <= BUDGET_NOTES; i++)
        assert_int_equal(engine_user_waiting_bytes(e, 100 + i), 0);
    assert_int_equal(budget_account_get(e, 501), account[1]);
    assert_int_equal(budget_account_get(e, 0), 0);
    end(&t);
}

static void test_shares(void **state)
{
    (void)state;
    struct test t;
    begin(&t, 1);
    struct engine *e = t.f.engine;
    struct window_history *window = &e->windows[0];
    uint32_t account = budget_account_get(e, 7);
    const uint64_t clients = PAGES - PAGES / 8;
    /* below an eighth nobody is asked */
    budget_charge(e, window, PAGES / 8 - 1);
    assert_int_equal(budget_left(e, account), UINT64_MAX);
    budget_charge(e, window, PAGES / 8);
    assert_int_equal(budget_left(e, account), (clients - PAGES / 8) * BUDGET_PAGE);
    budget_note(e, window, account, 5 * BUDGET_PAGE);
    assert_int_equal(budget_left(e, account), (clients - PAGES / 8 - 5) * BUDGET_PAGE);
    assert_int_equal(budget_left(e, 0), (clients - PAGES / 8) * BUDGET_PAGE);
    engine_set_waiting(e, (uint64_t)PAGES * BUDGET_PAGE, 6 * BUDGET_PAGE, 0);
    assert_int_equal(budget_left(e, account), BUDGET_PAGE);
    engine_set_waiting(e, (uint64_t)PAGES * BUDGET_PAGE, 4 * BUDGET_PAGE, 0);
    assert_int_equal(budget_left(e, account), 0);
    budget_charge(e, window, (uint32_t)clients);
    assert_int_equal(budget_left(e, 0), 0);
    assert_false(budget_is_full(e));
    budget_charge(e, window, PAGES);
    assert_true(budget_is_full(e));
    engine_set_waiting(e, 0, 0, 0);
    assert_int_equal(budget_left(e, account), UINT64_MAX);
    budget_give_back(e, window, 0);
    assert_int_equal(engine_waiting_bytes(e), 0);
    budget_notes_clear(e, window);
    end(&t);
}

/* ---- who is turned away ---- */

static void test_greedy_user(void **state)
{
    (void)state;
    struct test t;
    begin(&t, 1);
    uint64_t taken = post_until_refused(&t, GREEDY, REASON_USER_FULL);
    /* half, and what came before anybody was accounted */
    assert_in_range(taken * BLOCK, PAGES * BUDGET_PAGE / 3, PAGES * BUDGET_PAGE * 3 / 4);
    assert_true(waiting(&t, GREEDY) > 0);
    post(&t, MODEST, t.reject, POSTED_AT_ONCE);
    run_port(&t, MODEST);
    assert_int_equal(next_refusal(&t, MODEST), REASON_NONE);
    struct engine_event event;
    assert_true(client_event_next(t.f.engine, &event));
    assert_int_equal(event.kind, ENGINE_EVENT_PORT_OVER);
    assert_int_equal(engine_port_client(t.f.engine, event.id), t.c[GREEDY].info.client);
    run_all(&t);
    assert_true(ran >= taken + POSTED_AT_ONCE);
    assert_int_equal(waiting(&t, GREEDY), 0);
    assert_int_equal(waiting(&t, MODEST), 0);
    assert_true(engine_waiting_bytes(t.f.engine) < PAGES * BUDGET_PAGE / 2);
    assert_true(post_until_refused(&t, GREEDY, REASON_USER_FULL) > 0);
    run_all(&t);
    end(&t);
}

/* One that no quota binds has what there is for clients, and a handler what is left. */
static void test_all_is_full(void **state)
{
    (void)state;
    struct test t;
    begin(&t, 1);
    struct engine *e = t.f.engine;
    e->ports.table[GREEDY].account = 0;
    (void)post_until_refused(&t, GREEDY, REASON_MEMORY_FULL);
    assert_in_range(engine_waiting_bytes(e), (PAGES - PAGES / 8 - 4) * BUDGET_PAGE,
                    PAGES * BUDGET_PAGE);
    post(&t, MODEST, t.reject, POSTED_AT_ONCE);
    run_port(&t, MODEST);
    assert_int_equal(next_refusal(&t, MODEST), REASON_MEMORY_FULL);
    struct engine_context *ctx = &e->workers[0]->ctx;
    static const uint8_t block[BLOCK];
    assert_int_equal(engine_ctx_send(ctx, t.reject, block_type, 0, block, BLOCK), 0);
    budget_charge(e, &e->windows[2], PAGES);
    e->workers[0]->outbox.has_room[0] = 0; /* as behind a flush */
    e->workers[0]->outbox.run_destination = NO_QUEUE;
    assert_int_equal(engine_ctx_send(ctx, t.reject, block_type, 0, block, BLOCK), -EAGAIN);
    assert_int_equal(engine_ctx_send(ctx, t.stall, block_type, 0, block, BLOCK), -EAGAIN);
    end(&t);
}

static void test_port_waits(void **state)
{
    (void)state;
    struct test t;
    begin(&t, 1);
    struct engine *e = t.f.engine;
    uint32_t source = engine_source_of_port(e, GREEDY);
    uint64_t posted = 0;
    while (load_relaxed(&e->ports.table[GREEDY].stalled_on) == 0 && posted < MOST_ROUNDS) {
        post(&t, GREEDY, t.stall, POSTED_AT_ONCE);
        posted += POSTED_AT_ONCE;
        (void)ready_clear(e->workers[0]->called.ready, source);
        run_port(&t, GREEDY);
    }
    assert_int_equal(load_relaxed(&e->ports.table[GREEDY].stalled_on), STALLED_ON_BUDGET);
    assert_false(ready_is_set(e->workers[0]->called.ready, source));
    run_all(&t);
    assert_true(ready_is_set(e->workers[0]->called.ready, source));
    run_port(&t, GREEDY);
    run_all(&t);
    assert_int_equal(ran, posted);
    assert_int_equal(next_refusal(&t, GREEDY), REASON_NONE);
    end(&t);
}

/* What is held for nothing is given back at the word of a port that waits for it. */
static void test_swept(void **state)
{
    (void)state;
    struct test t;
    begin(&t, 1);
    struct engine *e = t.f.engine;
    uint32_t idle = e->segment.n_mailboxes - 1;
    /* as if it had been full before memory was short */
    budget_charge(e, &e->windows[2 * idle], PAGES);
    post(&t, MODEST, t.stall, 1);
    run_port(&t, MODEST);
    assert_int_equal(load_relaxed(&e->ports.table[MODEST].stalled_on), STALLED_ON_BUDGET);
    run(&t);
    assert_int_equal(engine_waiting_bytes(e), 0);
    assert_int_equal(load_relaxed(&e->ports.table[MODEST].stalled_on), 0);
    run_port(&t, MODEST);
    run_all(&t);
    assert_int_equal(ran, 1);
    end(&t);
}

/* Two that wait for memory all the time, against workers that steal from each other. */
static void expect_nothing_is_lost(uint32_t n, uint64_t most_bytes, uint64_t most_ns)
{
    struct test t;
    begin(&t, 2);
    struct engine *e = t.f.engine;
    engine_set_waiting(e, most_bytes, 0, most_ns);
    spin_ns = most_ns / 20;
    assert_int_equal(engine_start(e), 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t port = 0; port < N_PORTS; port++)
            post(&t, port, t.stall, 1);
    for (uint32_t port = 0; port < N_PORTS; port++)
        assert_true(engine_fixture_until(load_acquire(&t.c[port].executor->submission_head) ==
                                         t.c[port].tail));
    assert_true(engine_fixture_wait(&t.f, TEST_DEADLINE_NS));
    engine_stop(e);
    assert_int_equal(ran, n * N_PORTS);
    for (uint32_t port = 0; port < N_PORTS; port++) {
        assert_int_equal(waiting(&t, port), 0);
        assert_int_equal(engine_user_waiting_ns(e, 7 + port), 0);
        assert_int_equal(next_refusal(&t, port), REASON_NONE);
    }
    end(&t);
}

static void test_nothing_is_lost(void **state)
{
    (void)state;
    expect_nothing_is_lost(TEST_SCALE(50000), UINT64_C(32) * BUDGET_PAGE, 0);
}

/* The same with what takes long. */
static void test_nothing_slow_is_lost(void **state)
{
    (void)state;
    expect_nothing_is_lost(TEST_SCALE(10000), 0, MS(1) / 5);
}

/* As if its runs had taken so long, the last ones of them in a row; 0: as if there had been
 * none. */
static void take_long(struct test *t, actor_ref actor, uint16_t message_type, uint32_t ns,
                      uint8_t in_a_row)
{
    struct engine *e = t->f.engine;
    uint64_t key = load_relaxed(&e->actors.table[actor_ref_slot(actor)].key);
    struct actor_type *type = load_relaxed(&e->types.known[actor_key_type(key)]);
    uint32_t index = type->index_of[message_type];
    store_relaxed(&type->behaviours[index].meta, BEHAVIOUR_META_CLOSED);
    store_relaxed(&type->quick[index], 0);
    store_relaxed(&type->slow[index], in_a_row);
    store_relaxed(&type->took[index], ns);
}

/* The next executor counts what it finds, and keeps no page that holds nothing. */
static void test_over_a_restart(void **state)
{
    (void)state;
    struct test t;
    struct engine_recovery report;
    uint32_t reject, stall;
    begin(&t, 1);
    (void)post_until_refused(&t, GREEDY, REASON_USER_FULL);
    int64_t before = waiting(&t, GREEDY);
    uint64_t held = engine_waiting_bytes(t.f.engine);
    t.f.engine = engine_close(t.f.engine);
    const char *text;
    assert_int_equal(engine_open(&t.f.config, t.f.segment_fd, t.f.stats_fd, &t.f.engine, &text), 0);
    for (uint32_t i = 0; i < N_PORTS; i++)
        assert_int_equal(engine_port_add(t.f.engine, &t.c[i].info, &t.c[i].ref), 0);
    assert_int_equal(engine_recover(t.f.engine, &report), 0);
    types_register(&t, &reject, &stall);
    engine_set_waiting(t.f.engine, t.f.config.waiting_bytes, 0, MS(QUOTA_MS));
    take_long(&t, t.reject, block_type, 0, 0);
    reclaim_start(t.f.engine); /* as engine_start() does, but nobody runs yet */
    /* with what came before anybody was accounted */
    assert_true(waiting(&t, GREEDY) >= before);
    assert_true(engine_user_waiting_ns(t.f.engine, 7 + GREEDY) >= MS(QUOTA_MS));
    assert_int_equal(engine_user_waiting_ns(t.f.engine, 7 + MODEST), 0);
    assert_true(engine_waiting_bytes(t.f.engine) <= held);
    assert_true(engine_waiting_bytes(t.f.engine) > 0);
    assert_int_equal(waiting(&t, MODEST), 0);
    assert_int_equal(engine_start(t.f.engine), 0);
    assert_true(engine_fixture_wait(&t.f, TEST_DEADLINE_NS));
    engine_stop(t.f.engine);
    assert_int_equal(waiting(&t, GREEDY), 0);
    end(&t);
}

/* ---- time ---- */

static int64_t waiting_ns(const struct test *t, uint32_t port)
{
    return (int64_t)engine_user_waiting_ns(t->f.engine, 7 + port);
}

static void test_times(void **state)
{
    (void)state;
    struct test t;
    begin(&t, 1);
    struct engine *e = t.f.engine;
    struct window_history *window = &e->windows[0];
    uint32_t account[BUDGET_NOTES + 1];
    for (uint32_t i = 0; i <= BUDGET_NOTES; i++) {
        account[i] = budget_account_get(e, 100 + i);
        budget_time_note(e, window, account[i], 10 * (i + 1));
        budget_time_note(e, window, account[i], 1);
    }
    /* budget.B5, budget.B7: the smallest has been forgiven */
    assert_int_equal(engine_user_waiting_ns(e, 100), 0);
    for (uint32_t i = 1; i <= BUDGET_NOTES; i++)
        assert_int_equal(engine_user_waiting_ns(e, 100 + i), 10 * (i + 1) + 1);
    /* in proportion, and at least something */
    budget_time_pass(e, window, 138);
    assert_in_range(engine_user_waiting_ns(e, 101), 9, 11);
    assert_in_range(engine_user_waiting_ns(e, 106), 34, 36);
    for (uint32_t i = 0; i < 40; i++)
        budget_time_pass(e, window, 0);
    for (uint32_t i = 0; i <= BUDGET_NOTES; i++)
        assert_int_equal(engine_user_waiting_ns(e, 100 + i), 0);
    /* budget.B6 */
    budget_time_note(e, window, account[1], UINT64_MAX / 2);
    budget_account_put(e, account[1]);
    assert_int_not_equal(budget_account_get(e, 500), account[1]);
    budget_notes_clear(e, window);
    assert_int_equal(engine_user_waiting_ns(e, 101), 0);
    assert_int_equal(budget_account_get(e, 501), account[1]);
    end(&t);
}

static void test_too_slow(void **state)
{
    (void)state;
    struct test t;
    begin(&t, 2);
    struct engine *e = t.f.engine;
    uint32_t account = budget_account_get(e, 7), other = budget_account_get(e, 8);
    assert_false(budget_is_slow(e, account, 0, 0, MS(1000)));
    engine_set_waiting(e, 0, 0, MS(QUOTA_MS));
    assert_false(budget_is_slow(e, account, 0, MS(QUOTA_MS - 1), MS(1)));
    assert_true(budget_is_slow(e, account, 0, MS(QUOTA_MS), MS(1)));
    /* of both buffers of a queue, and nobody else */
    budget_time_note(e, &e->windows[0], account, MS(60));
    budget_time_note(e, &e->windows[1], account, MS(40));
    assert_true(budget_is_slow(e, account, 0, 0, MS(1)));
    assert_false(budget_is_slow(e, account, 1, 0, MS(1)));
    assert_false(budget_is_slow(e, other, 0, 0, MS(1)));
    /* in all queues for each worker */
    budget_time_note(e, &e->windows[2], account, MS(99));
    assert_false(budget_is_slow(e, account, 2, 0, MS(1)));
    budget_time_note(e, &e->windows[2], account, MS(1));
    assert_true(budget_is_slow(e, account, 2, 0, MS(1)));
    /* some may wait however long they take */
    assert_false(budget_is_slow(e, account, 2, 0, MS(200 / (BUDGET_SLOW_LEAST - 1) + 1)));
    budget_notes_clear(e, &e->windows[0]);
    budget_notes_clear(e, &e->windows[1]);
    budget_notes_clear(e, &e->windows[2]);
    end(&t);
}

static void begin_slowly(struct test *t, uint32_t ns)
{
    begin(t, 1);
    engine_set_waiting(t->f.engine, 0, 0, MS(QUOTA_MS));
    take_long(t, t->reject, block_type, ns, ns ? BEHAVIOUR_SLOW : 0);
    take_long(t, t->stall, block_type, ns, ns ? BEHAVIOUR_SLOW : 0);
}

static void test_slow_user(void **state)
{
    (void)state;
    struct test t;
    const uint32_t taken = QUOTA_MS / SLOW_MS;
    begin_slowly(&t, MS(SLOW_MS));
    post(&t, GREEDY, t.reject, taken);
    run_port(&t, GREEDY);
    assert_int_equal(next_refusal(&t, GREEDY), REASON_NONE);
    assert_int_equal(waiting_ns(&t, GREEDY), MS(QUOTA_MS));
    post(&t, GREEDY, t.reject, 3);
    run_port(&t, GREEDY);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(next_refusal(&t, GREEDY), REASON_USER_SLOW);
    assert_int_equal(next_refusal(&t, GREEDY), REASON_NONE);
    assert_int_equal(load_relaxed(&t.f.engine->workers[0]->stats->value[STAT_refused_slow]), 3);
    post(&t, MODEST, t.reject, 1);
    run_port(&t, MODEST);
    assert_int_equal(next_refusal(&t, MODEST), REASON_NONE);
    assert_int_equal(waiting_ns(&t, MODEST), MS(SLOW_MS));
    struct engine_event event;
    assert_true(client_event_next(t.f.engine, &event));
    assert_int_equal(event.kind, ENGINE_EVENT_PORT_OVER);
    assert_int_equal(event.why, 1);
    assert_int_equal(engine_port_user(t.f.engine, event.id), 7 + GREEDY);
    run_all(&t);
    assert_int_equal(ran, taken + 1);
    assert_int_equal(waiting_ns(&t, GREEDY), 0);
    assert_int_equal(waiting_ns(&t, MODEST), 0);
    end(&t);
}

/* What is on its way to one queue is not held against another, and a batch is taken up to the very
 * message. */
static void test_slow_and_quick(void **state)
{
    (void)state;
    struct test t;
    const uint32_t taken = QUOTA_MS / SLOW_MS;
    begin_slowly(&t, MS(SLOW_MS));
    take_long(&t, t.stall, block_type, 1, BEHAVIOUR_SLOW);
    for (uint32_t i = 0; i < taken + 2; i++) {
        post(&t, GREEDY, t.reject, 1);
        post(&t, GREEDY, t.stall, 1);
        if (i % 16 == 15)
            run_port(&t, GREEDY);
    }
    run_port(&t, GREEDY);
    /* the others take some nanoseconds */
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(next_refusal(&t, GREEDY), REASON_USER_SLOW);
    assert_int_equal(next_refusal(&t, GREEDY), REASON_NONE);
    run_all(&t);
    assert_int_equal(ran, taken - 1 + taken + 2);
    end(&t);
}

/* One that takes longer than all that may wait. */
static void test_very_slow(void **state)
{
    (void)state;
    struct test t;
    begin_slowly(&t, MS(1000));
    post(&t, GREEDY, t.reject, BUDGET_SLOW_LEAST + 1);
    run_port(&t, GREEDY);
    assert_int_equal(next_refusal(&t, GREEDY), REASON_USER_SLOW);
    assert_int_equal(next_refusal(&t, GREEDY), REASON_NONE);
    run_all(&t);
    assert_int_equal(ran, BUDGET_SLOW_LEAST);
    end(&t);
}

/* A port that waits: for what may wait of its user, and for what nobody has timed yet. */
static void expect_waits(struct test *t, actor_ref to, uint64_t taken)
{
    struct engine *e = t->f.engine;
    uint32_t source = engine_source_of_port(e, GREEDY);
    const uint64_t posted = taken + 5;
    post(t, GREEDY, to, (uint32_t)posted);
    (void)ready_clear(e->workers[0]->called.ready, source);
    run_port(t, GREEDY);
    assert_int_equal(load_relaxed(&e->ports.table[GREEDY].stalled_on), STALLED_ON_BUDGET);
    assert_false(ready_is_set(e->workers[0]->called.ready, source));
    run_all(t);
    assert_int_equal(ran, taken);
    assert_true(ready_is_set(e->workers[0]->called.ready, source));
    run_port(t, GREEDY);
    run_all(t);
    assert_int_equal(ran, posted);
    assert_int_equal(next_refusal(t, GREEDY), REASON_NONE);
    assert_int_equal(waiting_ns(t, GREEDY), 0);
    end(t);
}

static void test_slow_port_waits(void **state)
{
    (void)state;
    struct test t;
    begin_slowly(&t, MS(SLOW_MS));
    expect_waits(&t, t.stall, QUOTA_MS / SLOW_MS);
}

static void test_nobody_is_refused_by_a_guess(void **state)
{
    (void)state;
    struct test t;
    begin_slowly(&t, 0);
    expect_waits(&t, t.reject, GUESSED);
}

/* Of many quick runs some may have taken long, for want of a processor. */
static void test_nobody_is_refused_by_few_runs(void **state)
{
    (void)state;
    struct test t;
    begin_slowly(&t, MS(SLOW_MS));
    take_long(&t, t.reject, block_type, MS(SLOW_MS), BEHAVIOUR_SLOW - 1);
    expect_waits(&t, t.reject, QUOTA_MS / SLOW_MS);
}

/* A batch that is cut counts for less each time: one that never ends holds nobody up. */
static void test_slow_batch_is_cut(void **state)
{
    (void)state;
    struct test t;
    begin_slowly(&t, MS(SLOW_MS));
    engine_set_throughput(t.f.engine, 1);
    post(&t, GREEDY, t.reject, QUOTA_MS / SLOW_MS);
    run_port(&t, GREEDY);
    assert_int_equal(waiting_ns(&t, GREEDY), MS(QUOTA_MS));
    for (int64_t before = waiting_ns(&t, GREEDY); before > 0; before = waiting_ns(&t, GREEDY)) {
        run(&t);
        assert_true(waiting_ns(&t, GREEDY) < before);
    }
    assert_int_equal(ran, QUOTA_MS / SLOW_MS);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_greedy_user),
        cmocka_unit_test(test_all_is_full),
        cmocka_unit_test(test_port_waits),
        cmocka_unit_test(test_swept),
        cmocka_unit_test(test_nothing_is_lost),
        cmocka_unit_test(test_over_a_restart),
        cmocka_unit_test(test_nothing_slow_is_lost),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_too_slow),
        cmocka_unit_test(test_slow_user),
        cmocka_unit_test(test_slow_and_quick),
        cmocka_unit_test(test_very_slow),
        cmocka_unit_test(test_slow_port_waits),
        cmocka_unit_test(test_nobody_is_refused_by_a_guess),
        cmocka_unit_test(test_nobody_is_refused_by_few_runs),
        cmocka_unit_test(test_slow_batch_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
