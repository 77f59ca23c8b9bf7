/* SPDX-License-Identifier: Apache-2.0 */
/* Fault records (run/fault.h): whom the next recovery blames. A batch of four messages is attached
 * by hand; whoever runs it ends in a child. */
#include <signal.h>
#include <sys/wait.h>

#include "daemon/common/page.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/run/fault.h"
#include "daemon/engine/run/suspect.h"
#include "daemon/engine/segment/queue.h"
#include "engine_fixture.h"

enum { N_MESSAGES = 4, RECORD_BYTES = 32 };

static struct engine_fixture f;
static uint64_t ran[N_MESSAGES], n_ran;
static uint16_t number_type;
static uint32_t probe_type;

static int on_number(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)ctx;
    if (n_ran < N_MESSAGES)
        ran[n_ran] = *(const uint64_t *)message;
    n_ran++;
    return ALLOCATION_NODELETE;
}

static void register_types(void)
{
    number_type = engine_fixture_message(&f, "number", 8, false);
    const struct engine_behaviour on = { number_type, 8, false, on_number };
    probe_type = engine_fixture_type(&f, "probe", 8, NULL, NULL, &on, 1);
}

/* The first `consumed` messages of the batch are committed, and the next one runs. */
static struct worker *batch_attach(uint64_t consumed)
{
    struct engine_config config = engine_fixture_config(1, 1);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = 1 << 20;
    config.outbox_bytes = 1 << 20;
    config.suspect_deaths = 3;
    engine_fixture_open(&f, config);
    register_types();
    actor_ref probe = engine_fixture_spawn(&f, probe_type, NULL, 0);
    struct segment_queue *queue = &f.engine->segment.queues[0];
    store_relaxed(&queue->len[0], 0); /* as if its init record had been run */
    for (uint64_t number = 1; number <= N_MESSAGES; number++)
        assert_int_equal(engine_actor_send(f.engine, probe, number_type, &number, 8), 0);
    assert_int_equal(load_relaxed(&queue->len[0]), N_MESSAGES * RECORD_BYTES);
    queue_gulp(queue, 0);
    struct worker *w = f.engine->workers[0];
    w->batch.queue = 0;
    w->batch.base = segment_window(&f.engine->segment, 0, 0);
    w->batch.tail = RECORD_BYTES * N_MESSAGES;
    commit_flip(w, 1, RECORD_BYTES * consumed, RECORD_BYTES * N_MESSAGES, 0, 0, 0);
    store_relaxed(&w->durable->turn, 1);
    n_ran = 0;
    return w;
}

static struct engine_recovery reopen(void)
{
    struct engine_recovery report;
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    return report;
}

/* What is first now, behind a recovery. */
static const struct envelope *parked_message(void)
{
    const struct segment_queue *queue = &f.engine->segment.queues[0];
    unsigned inactive = queue_active(load_relaxed(&queue->sel)) ^ 1;
    return (const struct envelope *)(segment_window(&f.engine->segment, 0, inactive) +
                                     load_relaxed(&queue->cursor));
}

static void expect_run(uint64_t first, uint64_t n)
{
    register_types();
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    engine_stop(f.engine);
    assert_int_equal(n_ran, n);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(ran[i], first + i);
}

/* ---- the control thread ends a worker ---- */

/* The control thread looks at the message, to make the record of its end: just then its handler
 * returns, and it is committed. */
static void returns_meanwhile(int signal)
{
    struct worker *w = f.engine->workers[0];
    (void)signal;
    (void)mprotect(w->batch.base, page_bytes(), PROT_READ | PROT_WRITE);
    commit_message(w, commit_cursor(w->slot) + RECORD_BYTES);
}

static __attribute__((noreturn)) void end_worker(bool returns)
{
    struct worker *w = f.engine->workers[0];
    fault_install(&f.engine->control->durable->suspicion.verdict);
    if (returns) {
        (void)signal(SIGSEGV, returns_meanwhile);
        assert(mprotect(w->batch.base, page_bytes(), PROT_NONE) == 0);
    }
    fault_end_worker(w, commit_count(w), FAULT_THREAD_ENDED);
}

static void test_end_of_a_handler_that_returns(void **state)
{
    (void)state;
    for (unsigned returns = 0; returns < 2; returns++) {
        (void)batch_attach(1);
        int status;
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            end_worker(returns);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        struct engine_recovery report = reopen();
        assert_int_equal(report.running_handlers, 1);
        assert_int_equal(report.faults, !returns);
        assert_int_equal(parked_message()->attempts, !returns);
        /* nor is it one of those that nothing explains */
        assert_int_equal(suspect_deaths(parked_message()), 0);
        expect_run(returns ? 3 : 2, returns ? 2 : 3);
        engine_fixture_close(&f);
    }
}

/* ---- what a record is owed ---- */

enum { LIMIT = 2, WINDOW_NS = 1000 };

static uint32_t crashes(void)
{
    return f.engine->segment.actor_types[probe_type].crashes;
}

static bool is_quarantined(void)
{
    struct engine_actor_type_view view;
    assert_int_equal(engine_actor_type_get(f.engine, probe_type, &view), 0);
    return view.quarantined;
}

/* The handler that runs crashes, and a recovery blames it. */
static void crash(void)
{
    struct worker *w = f.engine->workers[0];
    commit_flip(w, 1, RECORD_BYTES, RECORD_BYTES * N_MESSAGES, 0, 0, 0);
    store_relaxed(&w->durable->turn, 1);
    w->durable->fault = (struct segment_fault){
        .tag = commit_count(w), .signal = SIGSEGV, .attempts = 1, .actor_type = probe_type
    };
    assert_int_equal(reopen().faults, 1);
}

/* fault.F4: the executor that has recovered is killed before it has counted, within that, and
 * before it has told everybody. */
static void test_fault_is_counted_once(void **state)
{
    struct engine_fault fault;
    (void)state;
    (void)batch_attach(1);
    for (uint32_t n = 1; n <= LIMIT; n++) {
        uint64_t now = n * WINDOW_NS / LIMIT;
        crash();
        for (int killed = 0; killed < 4; killed++) {
            assert_int_equal(crashes(), killed ? n : n - 1);
            assert_int_equal(engine_fault_get(f.engine, 0, &fault), 0);
            assert_int_equal(fault.type, probe_type);
            assert_int_equal(fault.signal, SIGSEGV);
            assert_int_equal(engine_fault_count(f.engine, 0, now, WINDOW_NS, LIMIT), n == LIMIT);
            assert_int_equal(is_quarantined(), n == LIMIT);
            if (killed == 1) { /* between the two stores of a count */
                f.engine->segment.actor_types[probe_type].crashes = n - 1;
                (void)reopen();
                (void)engine_fault_count(f.engine, 0, now, WINDOW_NS, LIMIT);
            }
            assert_int_equal(reopen().faults, 1);
        }
        engine_fault_done(f.engine, 0);
        assert_int_equal(reopen().faults, 0);
        assert_int_equal(engine_fault_get(f.engine, 0, &fault), -ENOENT);
        assert_int_equal(crashes(), n);
    }
    /* a window later the count begins anew */
    assert_int_equal(engine_actor_type_release(f.engine, probe_type), 0);
    for (uint32_t n = 1; n <= 2; n++) {
        crash();
        assert_false(engine_fault_count(f.engine, 0, 10 * n * WINDOW_NS, WINDOW_NS, LIMIT));
        assert_int_equal(crashes(), 1);
        engine_fault_done(f.engine, 0);
    }
    engine_fixture_close(&f);
}

/* ---- an init that ends while its actor is aside ---- */

static bool aside_crashes;

static int init_aside(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    struct actor *actor = &f.engine->actors.table[actor_ref_slot(ctx->self)];
    uint64_t key = load_relaxed(&actor->key);
    (void)self, (void)args, (void)size;
    if (!aside_crashes)
        return 0;
    store_relaxed(&actor->key, actor_key(actor_key_generation(key), actor_key_destination(key),
                                         actor_key_type(key), ACTOR_ASIDE));
    raise(SIGSEGV);
    return 0;
}

static void register_aside(void)
{
    number_type = engine_fixture_message(&f, "number", 8, false);
    const struct engine_behaviour on = { number_type, 8, false, on_number };
    probe_type = engine_fixture_type(&f, "aside", 8, init_aside, NULL, &on, 1);
}

static __attribute__((noreturn)) void run_and_die(void)
{
    fault_install(&f.engine->control->durable->suspicion.verdict);
    if (engine_start(f.engine) == 0)
        (void)engine_fixture_wait(&f, TEST_DEADLINE_NS);
    _exit(0);
}

/* It has not begun, as any other that was not set aside: with its message's last attempt it ends,
 * and no other message begins it once more. */
static void test_init_ends_while_its_actor_is_aside(void **state)
{
    struct engine_actor_view view;
    uint64_t number = 1;
    int status;
    (void)state;
    struct engine_config config = engine_fixture_config(1, 1);
    config.actors_max = 2 * ODEON_PORTS_MAX;
    config.limit_bytes = 1 << 20;
    config.outbox_bytes = 1 << 20;
    engine_fixture_open(&f, config);
    register_aside();
    n_ran = 0;
    actor_ref probe = engine_fixture_spawn(&f, probe_type, NULL, 0);
    store_relaxed(&f.engine->segment.queues[0].len[0],
                  0); /* its first message is an ordinary one */
    for (int i = 0; i < 2; i++)
        assert_int_equal(engine_actor_send(f.engine, probe, number_type, &number, 8), 0);
    aside_crashes = true;
    for (uint32_t attempt = 1; attempt <= config.attempts_max; attempt++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            run_and_die();
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        assert_int_equal(reopen().faults, 1);
        assert_int_equal(parked_message()->attempts, attempt);
        register_aside();
    }
    aside_crashes = false;
    assert_int_equal(engine_start(f.engine), 0);
    assert_true(engine_fixture_wait(&f, TEST_DEADLINE_NS));
    engine_stop(f.engine);
    assert_int_equal(n_ran, 0);
    assert_int_equal(engine_actor_get(f.engine, probe, &view), -ESRCH);
    assert_int_equal(engine_fixture_stat(&f, STAT_dead_letters), 2);
    engine_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_end_of_a_handler_that_returns),
        cmocka_unit_test(test_fault_is_counted_once),
        cmocka_unit_test(test_init_ends_while_its_actor_is_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
