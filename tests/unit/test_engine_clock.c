/* SPDX-License-Identifier: Apache-2.0 */
/* The engine under a clock that stands still, jumps by hours, or runs at another rate than was
 * found at the start: nothing hangs, sends are not carried out one by one, nobody is taken for
 * stuck. The clock is this program's clock_gettime(), which ticks_now() reads, too, once ticks_rate
 * is 0. What the test waits for it times by the kernel's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/engine/base/ticks.h"
#include "tests/unit/engine_fixture.h"

enum {
    MESSAGES = TEST_SCALE(40000),
    JUMPS = 20,
    /* a jump: messages are timed one by one, and their behaviour until it is quick again */
    FLUSHES_OF_A_JUMP = 200,
    LOOKS = 60,
    /* a clock that goes on by itself so slowly that no worker waits for a processor for long */
    CRAWL = 100000,
    DAWDLE_EVERY = 5,
    DAWDLE_US = 2000,
};
static const int64_t hours_ns = INT64_C(5) * 3600 * 1000000000;

static _Atomic int64_t jumped_ns;
static _Atomic uint64_t stands_at_ns;   /* 0: it goes on */
static _Atomic uint64_t crawls_from_ns; /* 0: as fast as the kernel's */
static bool dawdles;                    /* whoever looks at it loses the processor now and then */
static uint32_t looked;                 /* how often, since then */

static uint64_t kernel_ns(clockid_t clock)
{
    struct timespec now = { 0 };
    syscall(SYS_clock_gettime, clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t crawl_ns(uint64_t now_ns)
{
    uint64_t from_ns = atomic_load(&crawls_from_ns);
    return from_ns && now_ns > from_ns ? from_ns + (now_ns - from_ns) / CRAWL : now_ns;
}

/* In place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, ret);
    uint64_t at_ns = atomic_load(&stands_at_ns);
    if (at_ns == 0)
        at_ns = crawl_ns(kernel_ns(clock));
    at_ns += (uint64_t)atomic_load(&jumped_ns);
    ret->tv_sec = (time_t)(at_ns / 1000000000);
    ret->tv_nsec = (long)(at_ns % 1000000000);
    if (dawdles && looked++ % DAWDLE_EVERY == 0)
        usleep(DAWDLE_US);
    return 0;
}

#define UNTIL(condition)                                                                           \
    ({                                                                                             \
        uint64_t until_ = kernel_ns(CLOCK_MONOTONIC) + TEST_DEADLINE_NS;                           \
        bool met_;                                                                                 \
        while (!(met_ = (condition)) && kernel_ns(CLOCK_MONOTONIC) < until_)                       \
            usleep(50);                                                                            \
        met_;                                                                                      \
    })

static uint16_t message_step, message_drop, message_wait;
static actor_ref worker_ref, sink_ref;
static uint64_t jump_every; /* messages; 0: none */
static uint64_t rate_before;
static _Atomic uint64_t run, sunk, told;
static _Atomic uint32_t entered, released;

/* Hours forwards and backwards by turns, but further forwards. */
static void jump(uint64_t nth)
{
    atomic_fetch_add(&jumped_ns, nth % 2 ? 2 * hours_ns : -hours_ns);
}

static int on_step(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message;
    uint64_t n = atomic_fetch_add(&run, 1) + 1;
    if (jump_every && n % jump_every == 0)
        jump(n / jump_every);
    engine_ctx_send(ctx, sink_ref, message_drop, 0, NULL, 0);
    return ALLOCATION_NODELETE;
}

static int on_wait(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_store(&entered, 1);
    (void)UNTIL(atomic_load(&released));
    return ALLOCATION_NODELETE;
}

static int on_drop(void *self, const void *message, struct engine_context *ctx)
{
    (void)self, (void)message, (void)ctx;
    atomic_fetch_add(&sunk, 1);
    return ALLOCATION_NODELETE;
}

static void note_stall(void *userdata, const struct engine_stall *stall)
{
    (void)userdata, (void)stall;
    atomic_fetch_add(&told, 1);
}

static actor_ref spawn(struct engine_fixture *f, uint32_t type, uint32_t worker)
{
    struct engine_spawn spawn = { .placement = PLACE_PINNED, .place = worker };
    actor_ref ref = 0;
    assert_int_equal(engine_actor_spawn_placed(f->engine, type, &spawn, &ref), 0);
    return ref;
}

/* An actor of worker 0, and one of worker 1 that it sends to. */
static void begin(struct engine_fixture *f)
{
    static struct engine_behaviour steps[2], drop[1];
    struct engine_config config = engine_fixture_config(2, 1);

    run = sunk = told = 0;
    jumped_ns = 0;
    stands_at_ns = 0;
    jump_every = 0;
    entered = released = 0;
    config.stealing = STEAL_NONE;
    config.stall_warn_ns = UINT64_C(2) * 1000000000;
    config.stall_kill_ns = UINT64_C(4) * 1000000000;
    engine_fixture_open(f, config);
    rate_before = ticks_rate;
    ticks_rate = 0;
    message_step = engine_fixture_message(f, "step", 0, false);
    message_drop = engine_fixture_message(f, "drop", 0, false);
    message_wait = engine_fixture_message(f, "wait", 0, false);
    steps[0] = (struct engine_behaviour){ message_step, 0, 0, on_step };
    steps[1] = (struct engine_behaviour){ message_wait, 0, 0, on_wait };
    drop[0] = (struct engine_behaviour){ message_drop, 0, 0, on_drop };
    worker_ref = spawn(f, engine_fixture_type(f, "stepper", 8, NULL, NULL, steps, 2), 0);
    sink_ref = spawn(f, engine_fixture_type(f, "sink", 8, NULL, NULL, drop, 1), 1);
}

static void end(struct engine_fixture *f)
{
    assert_int_equal(told, 0);
    engine_stop(f->engine);
    engine_fixture_close(f);
    jumped_ns = 0;
    stands_at_ns = 0;
    crawls_from_ns = 0;
    ticks_rate = rate_before;
}

static void tell(struct engine_fixture *f, uint16_t type)
{
    assert_int_equal(engine_actor_send(f->engine, worker_ref, type, NULL, 0), 0);
}

/* All are run and arrive; the flushes of the worker that sends. */
static uint64_t run_messages(struct engine_fixture *f)
{
    const _Atomic uint64_t *flushes = &f->engine->workers[0]->stats->value[STAT_flushes];
    for (uint64_t i = 0; i < MESSAGES; i++)
        tell(f, message_step);
    uint64_t before = load_relaxed(flushes);
    assert_int_equal(engine_start(f->engine), 0);
    assert_true(
        UNTIL((engine_watch_look(f->engine, note_stall, NULL), atomic_load(&sunk) == MESSAGES)));
    return load_relaxed(flushes) - before;
}

static uint64_t parks(struct engine_fixture *f)
{
    return engine_fixture_stat(f, STAT_parks);
}

static void test_it_stands_still(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    stands_at_ns = kernel_ns(CLOCK_MONOTONIC);
    assert_in_range(run_messages(&f), 1, MESSAGES / 50);
    /* who has nothing to do goes to sleep all the same, and is woken */
    for (uint64_t i = 1; i <= JUMPS; i++) {
        uint64_t before = parks(&f);
        assert_true(
            UNTIL(load_relaxed(&f.engine->workers[0]->stats->value[STAT_state]) == WORKER_PARKED));
        tell(&f, message_step);
        assert_true(UNTIL(atomic_load(&sunk) == MESSAGES + i));
        assert_true(UNTIL(parks(&f) > before));
    }
    end(&f);
}

static void test_it_jumps(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    jump_every = MESSAGES / JUMPS;
    crawls_from_ns = kernel_ns(CLOCK_MONOTONIC);
    assert_in_range(run_messages(&f), 1, JUMPS * FLUSHES_OF_A_JUMP + MESSAGES / 50);
    end(&f);
}

/* A machine that was moved: the register counts a thousand times faster, or far slower. A clock
 * that is far too fast finds everything slow; then all that can be asked for is that it goes on. */
static void test_its_rate_changes(void **state)
{
    (void)state;
    for (unsigned faster = 0; faster < 2; faster++) {
        struct engine_fixture f;
        begin(&f);
        ticks_rate = rate_before;
        if (ticks_rate)
            ticks_rate = faster ? ticks_rate / 1000 + 1 : ticks_rate * CRAWL;
        else if (!faster) /* no register is used here */
            crawls_from_ns = kernel_ns(CLOCK_MONOTONIC);
        uint64_t flushes = run_messages(&f);
        if (!faster)
            assert_in_range(flushes, 1, MESSAGES / 10);
        end(&f);
    }
}

/* What a handler has stood for is the sum of short steps, however far the clock has gone between
 * two looks, and nothing while it stands still. */
static void wait_through(struct engine_fixture *f, bool jumps)
{
    uint64_t looks = 0, looked_ns = f->engine->watch.looked_ns;
    atomic_store(&released, 0);
    atomic_store(&entered, 0);
    tell(f, message_wait);
    assert_true(UNTIL(atomic_load(&entered)));
    assert_true(UNTIL(({
        if (jumps)
            jump(looks);
        engine_watch_look(f->engine, note_stall, NULL);
        /* a clock that stands still shows no look */
        looks += !jumps || f->engine->watch.looked_ns != looked_ns;
        looked_ns = f->engine->watch.looked_ns;
        looks >= LOOKS;
    })));
    assert_int_equal(told, 0);
    uint64_t n = atomic_load(&sunk);
    atomic_store(&released, 1);
    tell(f, message_step);
    assert_true(UNTIL(atomic_load(&sunk) == n + 1));
    assert_int_equal(load_relaxed(&f->engine->workers[0]->stats->value[STAT_handler_overdue]), 0);
}

static void test_nobody_is_taken_for_stuck(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    assert_int_equal(engine_start(f.engine), 0);
    wait_through(&f, true);
    stands_at_ns = kernel_ns(CLOCK_MONOTONIC);
    wait_through(&f, false);
    stands_at_ns = 0; /* on it goes, with a jump */
    wait_through(&f, true);
    end(&f);
}

/* Of a clock that stands still while it is asked what a tick is, nothing is learned. */
static void test_it_stands_still_at_the_start(void **state)
{
    (void)state;
    uint64_t rate = ticks_rate;
    ticks_rate = 0;
    stands_at_ns = kernel_ns(CLOCK_MONOTONIC);
    ticks_calibrate();
    stands_at_ns = 0;
    assert_int_equal(ticks_rate, 0);
    ticks_rate = rate;
}

/* Ticks in 1,024 ns between two moments that lie so far apart that little else matters. */
static uint64_t rate_by_and_by(void)
{
    uint64_t from = ticks_now(), from_ns = kernel_ns(CLOCK_MONOTONIC);
    usleep(200000);
    return ((ticks_now() - from) << 10) / (kernel_ns(CLOCK_MONOTONIC) - from_ns);
}

static bool is_rate_found(uint32_t phase)
{
    uint64_t rate = rate_by_and_by();
    ticks_rate = 0;
    looked = phase;
    dawdles = true;
    ticks_calibrate();
    dawdles = false;
    uint64_t found = ticks_rate;
    return found > rate - rate / 100 && found < rate + rate / 100;
}

/* Who finds out what a tick is loses the processor behind a look at the kernel's clock, now the
 * first one, now another. A machine may do the same at any other look, so each gets some tries.
 * Where there is no register to look at, there is nothing to find. */
static void test_who_looks_may_lose_the_processor(void **state)
{
    (void)state;
    uint64_t before = ticks_rate;
    for (uint32_t phase = 0; phase < DAWDLE_EVERY && before; phase++) {
        bool found = false;
        for (int i = 0; i < LOOKS && !found; i++) {
            ticks_rate = before;
            found = is_rate_found(phase);
        }
        assert_true(found);
    }
    ticks_rate = before;
}

/* A virtual machine is moved to one whose register counts at another rate. */
static void test_a_rate_is_looked_at(void **state)
{
    (void)state;
    const uint64_t second = UINT64_C(1000000000), rate = 2 << 10; /* two ticks a nanosecond */
    assert_int_equal(ticks_rate_seen(rate, 2 * second, second), rate);
    assert_int_equal(ticks_rate_seen(rate, 2 * second + second / 50, second), rate);
    assert_int_equal(ticks_rate_seen(rate, 3 * second, second), 3 << 10);
    assert_int_equal(ticks_rate_seen(rate, second, second), 1 << 10);
    assert_int_equal(ticks_rate_seen(rate, 20, second), 0);
    assert_int_equal(ticks_rate_seen(rate, UINT64_MAX - second, second), 0); /* it went back */
    assert_int_equal(ticks_rate_seen(rate, second, 0), 0);
    /* one that the test has set is nobody's to correct, nor is none at all */
    uint64_t before = ticks_rate;
    ticks_rate = 0;
    ticks_check(kernel_ns(CLOCK_MONOTONIC) + second);
    assert_int_equal(ticks_rate, 0);
    ticks_calibrate();
    uint64_t found = ticks_rate;
    ticks_check(kernel_ns(CLOCK_MONOTONIC));
    assert_int_equal(ticks_rate, found); /* not again within a second */
    ticks_rate = before;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_stands_still),
        cmocka_unit_test(test_it_jumps),
        cmocka_unit_test(test_its_rate_changes),
        cmocka_unit_test(test_nobody_is_taken_for_stuck),
        cmocka_unit_test(test_it_stands_still_at_the_start),
        cmocka_unit_test(test_who_looks_may_lose_the_processor),
        cmocka_unit_test(test_a_rate_is_looked_at),
    };
    return cmocka_run_group_tests_name("engine: clocks", tests, NULL, NULL);
}
