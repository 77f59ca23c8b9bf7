/* SPDX-License-Identifier: Apache-2.0 */
/* Kept states (durable.h): they survive restarts and kills as of the last committed message,
 * whatever the handler was doing. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/engine/commit/durable.h"
#include "tests/unit/engine_fixture.h"

enum { ACCOUNT_BYTES = 200, N_ACCOUNTS = 8 };

struct account {
    uint64_t inits, messages, sum;
    uint8_t filling[ACCOUNT_BYTES - 24];
};

/* What a handler is to do, and what it has seen; shared with children that are killed. */
struct plan {
    _Atomic uint64_t die_in_init, die_at_message, die_after_send; /* 0: never */
    _Atomic uint64_t init_fails;
    _Atomic uint64_t told_sum, told_redelivered, told_inits, n_told, n_watched, fini_sum,
        new_is_zero;
};
static struct plan *plan;
static uint16_t message_add, message_tell, message_end;
static actor_ref watcher;

static int account_init(void *self, const void *args, size_t args_size, struct engine_context *ctx)
{
    struct account *account = self;
    (void)args, (void)args_size, (void)ctx;
    store_relaxed(&plan->new_is_zero, account->inits == 0 && account->messages == 0 &&
                                          account->sum == 0 && account->filling[0] == 0);
    account->inits++;
    account->sum = 1000;
    memset(account->filling, 0x55, sizeof(account->filling));
    if (load_relaxed(&plan->die_in_init))
        raise(SIGKILL);
    return load_relaxed(&plan->init_fails) ? -1 : 0;
}

static void account_fini(void *self, struct engine_context *ctx)
{
    (void)ctx;
    store_relaxed(&plan->fini_sum, ((struct account *)self)->sum);
}

static int account_add(void *self, const void *message, struct engine_context *ctx)
{
    struct account *account = self;
    uint64_t n;
    memcpy(&n, message, sizeof(n));
    account->messages++;
    account->sum += n;
    memset(account->filling, (int)n, sizeof(account->filling));
    if (account->messages == load_relaxed(&plan->die_at_message))
        raise(SIGKILL);
    if (watcher)
        engine_ctx_send(ctx, watcher, message_tell, 0, &n, sizeof(n));
    if (account->messages == load_relaxed(&plan->die_after_send))
        raise(SIGKILL);
    return ALLOCATION_NODELETE;
}

static int account_tell(void *self, const void *message, struct engine_context *ctx)
{
    const struct account *account = self;
    (void)message;
    store_relaxed(&plan->told_sum, account->sum);
    store_relaxed(&plan->told_inits, account->inits);
    store_relaxed(&plan->told_redelivered, ctx->redelivered);
    store_release(&plan->n_told, load_relaxed(&plan->n_told) + 1);
    return ALLOCATION_NODELETE;
}

static int account_end(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    return ALLOCATION_DELETE;
}

static int watcher_tell(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    store_relaxed(&plan->n_watched, load_relaxed(&plan->n_watched) + 1);
    return ALLOCATION_NODELETE;
}

static struct engine_behaviour behaviours[3];
static struct engine_actor_type_info account_type(void)
{
    behaviours[0] = (struct engine_behaviour){ message_add, sizeof(uint64_t), 0, account_add };
    behaviours[1] = (struct engine_behaviour){ message_tell, 0, 1, account_tell };
    behaviours[2] = (struct engine_behaviour){ message_end, 0, 0, account_end };
    return (struct engine_actor_type_info){
        .name = "account",
        .plugin = "bank",
        .version = 1,
        .state_size = sizeof(struct account),
        .restart = RESTART_KEEP,
        .n_behaviours = 3,
        .behaviours = behaviours,
        .init = account_init,
        .fini = account_fini,
    };
}

static uint32_t type_of_account, type_of_watcher;
static void register_types(struct engine_fixture *f)
{
    static struct engine_behaviour watches[1];
    assert_int_equal(
        engine_message_type_intern(f->engine, "add", 1, sizeof(uint64_t), false, "", &message_add),
        0);
    assert_int_equal(engine_message_type_intern(f->engine, "tell", 1, 0, true, "", &message_tell),
                     0);
    assert_int_equal(engine_message_type_intern(f->engine, "end", 1, 0, false, "", &message_end),
                     0);
    struct engine_actor_type_info info = account_type();
    assert_int_equal(engine_actor_type_register(f->engine, &info, &type_of_account), 0);
    watches[0] = (struct engine_behaviour){ message_tell, 0, 1, watcher_tell };
    info = (struct engine_actor_type_info){
        .name = "watcher", .plugin = "bank", .version = 1, .n_behaviours = 1, .behaviours = watches
    };
    assert_int_equal(engine_actor_type_register(f->engine, &info, &type_of_watcher), 0);
}

static struct engine_config config(void)
{
    struct engine_config c = engine_fixture_config(1, 2);
    c.durable_bytes = 256;
    return c;
}

static void begin(struct engine_fixture *f)
{
    memset((void *)plan, 0, sizeof(*plan));
    watcher = 0;
    engine_fixture_open(f, config());
    register_types(f);
}

static void add(struct engine_fixture *f, actor_ref to, uint64_t n)
{
    assert_int_equal(engine_actor_send(f->engine, to, message_add, &n, sizeof(n)), 0);
}

/* What the actor says of itself, after all that it has been sent. */
static uint64_t sum_of(struct engine_fixture *f, actor_ref to)
{
    uint64_t before = load_relaxed(&plan->n_told), until = clock_now_ns() + TEST_DEADLINE_NS;
    assert_int_equal(engine_actor_send(f->engine, to, message_tell, NULL, 0), 0);
    while (load_acquire(&plan->n_told) == before)
        assert_true(clock_now_ns() < until);
    return load_relaxed(&plan->told_sum);
}

/* Runs the engine in a child until a handler kills it; then the engine is recovered here. */
static struct engine_recovery run_until_killed(struct engine_fixture *f)
{
    struct engine_recovery report;
    int status;
    f->engine = engine_close(f->engine);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        engine_fixture_reopen(f, &report);
        register_types(f);
        engine_start(f->engine);
        for (;;)
            pause();
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    engine_fixture_reopen(f, &report);
    register_types(f);
    return report;
}

static void test_state_is_kept_over_restarts(void **state)
{
    struct engine_fixture f;
    struct engine_recovery report;
    actor_ref ref[N_ACCOUNTS];
    (void)state;
    begin(&f);
    engine_start(f.engine);
    for (unsigned i = 0; i < N_ACCOUNTS; i++)
        assert_int_equal(engine_actor_spawn(f.engine, type_of_account, NULL, NULL, 0, &ref[i]), 0);
    for (unsigned boot = 1; boot <= 3; boot++) {
        for (unsigned i = 0; i < N_ACCOUNTS; i++) {
            add(&f, ref[i], i);
            assert_int_equal(sum_of(&f, ref[i]), 1000 + boot * i);
            assert_int_equal(load_relaxed(&plan->told_inits), 1);
        }
        engine_stop(f.engine);
        f.engine = engine_close(f.engine);
        engine_fixture_reopen(&f, &report);
        assert_int_equal(report.states_undone, 0);
        register_types(&f);
        engine_start(f.engine);
    }
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

static void test_an_uncommitted_message_leaves_no_trace(void **state)
{
    (void)state;
    for (unsigned after_send = 0; after_send < 2; after_send++) {
        struct engine_fixture f;
        actor_ref ref;
        begin(&f);
        assert_int_equal(engine_actor_spawn(f.engine, type_of_watcher, NULL, NULL, 0, &watcher), 0);
        assert_int_equal(engine_actor_spawn(f.engine, type_of_account, NULL, NULL, 0, &ref), 0);
        for (unsigned i = 1; i <= 5; i++)
            add(&f, ref, i);
        store_relaxed(after_send ? &plan->die_after_send : &plan->die_at_message, 3);
        struct engine_recovery report = run_until_killed(&f);
        assert_int_equal(report.states_undone, 1);
        assert_int_equal(report.running_handlers, 1);
        const struct account *account =
            (const struct account *)durable_state(f.engine, actor_ref_slot(ref))->bytes;
        assert_int_equal(account->messages, 2);
        assert_int_equal(account->sum, 1000 + 1 + 2);
        assert_int_equal(account->filling[100], 2);
        store_relaxed(after_send ? &plan->die_after_send : &plan->die_at_message, 0);
        engine_start(f.engine);
        assert_int_equal(sum_of(&f, ref), 1000 + 15);
        assert_int_equal(load_relaxed(&plan->told_inits), 1);
        uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
        while (load_relaxed(&plan->n_watched) < 5)
            assert_true(clock_now_ns() < until);
        engine_stop(f.engine);
        /* what the killed turn sent was never sent */
        assert_int_equal(load_relaxed(&plan->n_watched), 5);
        engine_fixture_close(&f);
    }
}

static void test_a_killed_init_is_begun_anew(void **state)
{
    struct engine_fixture f;
    actor_ref ref;
    (void)state;
    begin(&f);
    assert_int_equal(engine_actor_spawn(f.engine, type_of_account, NULL, NULL, 0, &ref), 0);
    add(&f, ref, 7);
    store_relaxed(&plan->die_in_init, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct engine_recovery report = run_until_killed(&f);
        assert_int_equal(report.states_undone, 1);
        assert_int_equal(load_relaxed(&plan->new_is_zero), 1);
        assert_false(
            durable_is_initialised(f.engine, actor_ref_slot(ref), actor_ref_generation(ref)));
    }
    store_relaxed(&plan->die_in_init, 0);
    engine_start(f.engine);
    assert_int_equal(sum_of(&f, ref), 1007);
    assert_int_equal(load_relaxed(&plan->told_inits), 1);
    assert_int_equal(load_relaxed(&plan->new_is_zero), 1);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

static void test_a_slot_that_is_used_again_begins_with_nothing(void **state)
{
    struct engine_fixture f;
    actor_ref first, second;
    struct engine_actor_view view;
    (void)state;
    begin(&f);
    engine_start(f.engine);
    assert_int_equal(engine_actor_spawn(f.engine, type_of_account, NULL, NULL, 0, &first), 0);
    add(&f, first, 5);
    assert_int_equal(sum_of(&f, first), 1005);
    assert_int_equal(engine_actor_send(f.engine, first, message_end, NULL, 0), 0);
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    while (engine_actor_get(f.engine, first, &view) == 0)
        assert_true(clock_now_ns() < until);
    assert_int_equal(load_relaxed(&plan->fini_sum), 1005);
    engine_stop(f.engine);
    /* A restart puts the slot back to where the next spawn takes it from. */
    struct engine_recovery report;
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    register_types(&f);
    do {
        assert_int_equal(engine_actor_spawn(f.engine, type_of_account, NULL, NULL, 0, &second), 0);
    } while (actor_ref_slot(second) != actor_ref_slot(first) &&
             actor_ref_slot(second) < ODEON_PORTS_MAX + 1000);
    assert_int_equal(actor_ref_slot(second), actor_ref_slot(first));
    assert_int_not_equal(second, first);
    engine_start(f.engine);
    assert_int_equal(sum_of(&f, second), 1000);
    assert_int_equal(load_relaxed(&plan->new_is_zero), 1);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

static void test_an_init_that_fails_ends_the_actor(void **state)
{
    struct engine_fixture f;
    struct engine_actor_view view;
    actor_ref ref;
    (void)state;
    begin(&f);
    store_relaxed(&plan->init_fails, 1);
    engine_start(f.engine);
    assert_int_equal(engine_actor_spawn(f.engine, type_of_account, NULL, NULL, 0, &ref), 0);
    uint64_t until = clock_now_ns() + TEST_DEADLINE_NS;
    while (engine_actor_get(f.engine, ref, &view) == 0)
        assert_true(clock_now_ns() < until);
    assert_int_equal(load_relaxed(&plan->fini_sum), 0);
    engine_stop(f.engine);
    engine_fixture_close(&f);
}

/* What was kept must fit the next version of the type, and the room that was made for it. */
static void test_types_that_do_not_fit_are_refused(void **state)
{
    struct engine_fixture f;
    struct engine_recovery report;
    struct engine_actor_type_info info;
    actor_ref ref;
    uint32_t id;
    (void)state;
    begin(&f);
    info = account_type();
    info.name = "large";
    info.state_size = 257;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &id), -E2BIG);
    info.restart = RESTART_INIT;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &id), 0);
    assert_int_equal(engine_actor_spawn(f.engine, type_of_account, NULL, NULL, 0, &ref), 0);
    f.engine = engine_close(f.engine);
    engine_fixture_reopen(&f, &report);
    info = account_type();
    info.state_size -= 8;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &id), -EBADMSG);
    info.state_size += 8;
    info.restart = RESTART_INIT;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &id), -EBADMSG);
    info.restart = RESTART_KEEP;
    info.version = 2;
    assert_int_equal(engine_actor_type_register(f.engine, &info, &id), 0);
    assert_int_equal(id, type_of_account);
    engine_fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_is_kept_over_restarts),
        cmocka_unit_test(test_an_uncommitted_message_leaves_no_trace),
        cmocka_unit_test(test_a_killed_init_is_begun_anew),
        cmocka_unit_test(test_a_slot_that_is_used_again_begins_with_nothing),
        cmocka_unit_test(test_an_init_that_fails_ends_the_actor),
        cmocka_unit_test(test_types_that_do_not_fit_are_refused),
    };
    plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests_name("engine: kept states", tests, NULL, NULL);
}
