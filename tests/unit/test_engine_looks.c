/* SPDX-License-Identifier: Apache-2.0 */
/* When the control thread looks at handlers, and how late it finds one that does not return, to the
 * nanosecond: the clock, the timer and the signal that stops a worker are this program's. No worker
 * runs; what one would have written is written here, for each place that its last look at the clock
 * can have between two looks of the control thread. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/engine/base/ticks.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/run/pace.h"
#include "daemon/engine/signal/help.h"
#include "tests/unit/engine_fixture.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum {
    WORKERS = 2,
    PHASES = 157, /* places of the last look at the clock, phase_ns apart */
    SENT = 64,    /* bytes in the outbox */
    LOOKS_MAX = 1000,
};
static const uint64_t begin_ns = 1000 * MS, phase_ns = 51 * US, pace_ns = 20 * US;
/* of what waits for a handler that does not return, with a control thread that runs when its timer
 * fires (docs/scheduling.md, When a send leaves) */
static const uint64_t promised_ns = 2 * MS;
/* how late a control thread runs behind its timer */
static const uint64_t lates_ns[] = { 0, 40 * US, 300 * US, 3 * MS };

static uint64_t now_ns, due_ns, held_ns; /* due: 0: the timer is not set; held: 0: not yet */
static uint32_t n_held, n_looks;
static int watch_fd;

/* In place of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (clock != CLOCK_MONOTONIC || now_ns == 0)
        return (int)syscall(SYS_clock_gettime, clock, ret);
    ret->tv_sec = (time_t)(now_ns / 1000000000);
    ret->tv_nsec = (long)(now_ns % 1000000000);
    return 0;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before)
{
    if (now_ns == 0 || fd != watch_fd)
        return (int)syscall(SYS_timerfd_settime, fd, flags, when, before);
    due_ns =
        now_ns + (uint64_t)when->it_value.tv_sec * 1000 * MS + (uint64_t)when->it_value.tv_nsec;
    return 0;
}

/* Nobody is there to be stopped: it is told so. */
int pthread_kill(pthread_t thread, int signal)
{
    (void)thread, (void)signal;
    held_ns = held_ns ? held_ns : now_ns;
    n_held++;
    return ESRCH;
}

static bool is_handler(void *userdata, const void *pc)
{
    (void)userdata, (void)pc;
    return true;
}

static void nobody_is_told(void *userdata, const struct engine_stall *stall)
{
    (void)userdata, (void)stall;
}

/* ---- what a worker would have written ---- */

/* It has run something, and looks at its clock. */
static void worker_looks(struct worker *w, uint64_t at_ns, uint64_t sent)
{
    commit_flip(w, 0, 0, 0, sent, 0, 0);
    store_relaxed(&w->pace.looked, at_ns);
    store_relaxed(&w->pace.counted, segment_count(w->durable) & COMMIT_LOW_MASK);
}

static void worker_begins(struct worker *w)
{
    store_relaxed(&w->shown.busy, 1);
    if (!load_relaxed(&w->engine->watch.armed))
        help_watch_arm(w->engine);
    store_relaxed(&w->durable->turn, 1);
    store_relaxed(&w->pace.called, 0);
    worker_looks(w, now_ns, SENT);
}

static void worker_ends(struct worker *w)
{
    commit_flip(w, 0, 0, 0, 0, 0, 0);
    store_relaxed(&w->durable->turn, 0);
    store_relaxed(&w->shown.busy, 0);
}

/* ---- the control thread ---- */

static void begin(struct engine_fixture *f)
{
    struct engine_config config = engine_fixture_config(WORKERS, 1);
    config.is_handler = is_handler;
    engine_fixture_open(f, config);
    watch_fd = f->engine->watch.fd;
    int fd = eventfd(0, EFD_NONBLOCK);
    assert_int_equal(dup2(fd, watch_fd), watch_fd);
    close(fd);
    ticks_rate = 0;
    now_ns = begin_ns;
    due_ns = 0;
}

/* Nobody has run yet. */
static void forget(struct engine_fixture *f)
{
    for (uint32_t i = 0; i < WORKERS; i++)
        worker_ends(f->engine->workers[i]);
    memset(f->engine->watch.workers, 0, WORKERS * sizeof(*f->engine->watch.workers));
    store_relaxed(&f->engine->watch.armed, 0);
    held_ns = n_held = n_looks = due_ns = 0;
    f->engine->watch.looked_ns = now_ns = begin_ns;
}

static void end(struct engine_fixture *f)
{
    forget(f);
    now_ns = 0;
    engine_fixture_close(f);
}

/* Its timer fires, and it runs `late` behind that. */
static void look(struct engine_fixture *f, uint64_t late_ns)
{
    uint64_t one = 1;
    assert_true(due_ns != 0);
    now_ns = due_ns + late_ns;
    due_ns = 0;
    assert_int_equal(write(watch_fd, &one, sizeof(one)), sizeof(one));
    engine_watch_look(f->engine, nobody_is_told, NULL);
    n_looks++;
}

/* Quick messages until `until_ns`, looked at as always. */
static void quick_until(struct engine_fixture *f, struct worker *w, uint64_t until_ns,
                        uint64_t late_ns)
{
    while (due_ns + late_ns < until_ns) {
        worker_looks(w, due_ns + late_ns - (due_ns + late_ns - begin_ns) % pace_ns, SENT);
        look(f, late_ns);
        assert_int_equal(n_held, 0);
    }
    worker_looks(w, until_ns, SENT);
}

/* ---- tests ---- */

/* A quick kind takes long, whenever that begins: what was sent before is carried out as soon. */
static void test_one_that_does_not_return(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    struct worker *w = f.engine->workers[0];
    for (size_t late = 0; late < sizeof(lates_ns) / sizeof(*lates_ns); late++) {
        for (uint64_t phase = 0; phase < PHASES; phase++) {
            uint64_t stands_ns = begin_ns + phase * phase_ns;
            forget(&f);
            worker_begins(w);
            quick_until(&f, w, stands_ns, lates_ns[late]);
            while (!held_ns && n_looks < LOOKS_MAX)
                look(&f, lates_ns[late]);
            assert_in_range(held_ns - stands_ns, 1, STALL_LOOK_NS + lates_ns[late]);
            assert_true(held_ns - stands_ns + pace_ns <= promised_ns + lates_ns[late]);
            assert_true(pace_is_called(w));
        }
    }
    end(&f);
}

/* Messages that are quick no more, each of which returns, so that the count goes on: the worker is
 * called for a look as soon, though nobody can be stopped. */
static void test_a_row_of_slow_ones(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    struct worker *w = f.engine->workers[0];
    f.engine->config.is_handler = NULL;
    for (size_t late = 0; late < sizeof(lates_ns) / sizeof(*lates_ns); late++) {
        for (uint64_t phase = 0; phase < PHASES; phase++) {
            uint64_t slow_ns = begin_ns + phase * phase_ns;
            forget(&f);
            worker_begins(w);
            quick_until(&f, w, slow_ns, lates_ns[late]);
            while (!pace_is_called(w) && n_looks < LOOKS_MAX) {
                commit_flip(w, 0, 0, 0, SENT, 0, 0);
                look(&f, lates_ns[late]);
            }
            assert_in_range(now_ns - slow_ns, 1, STALL_LOOK_NS + lates_ns[late]);
        }
    }
    end(&f);
}

/* Another worker stands in a handler that nothing waits for, and has the timer set at its own
 * times. */
static void test_beside_another_one(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    struct worker *w = f.engine->workers[0], *other = f.engine->workers[1];
    for (uint64_t phase = 0; phase < PHASES; phase++) {
        uint64_t stands_ns = begin_ns + 400 * US + phase * phase_ns;
        forget(&f);
        worker_begins(other);
        worker_looks(other, now_ns, 0);
        now_ns += 400 * US;
        worker_begins(w);
        quick_until(&f, w, stands_ns, 0);
        while (!held_ns && n_looks < LOOKS_MAX)
            look(&f, 0);
        assert_in_range(held_ns - stands_ns, 1, STALL_LOOK_NS);
    }
    end(&f);
}

/* One that cannot be stopped just then is tried again soon, and less and less often: there are
 * no more looks than two for each period, in the end one. */
static void test_it_is_tried_again(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    struct worker *w = f.engine->workers[0];
    forget(&f);
    worker_begins(w);
    while (n_held < 2 && n_looks < LOOKS_MAX)
        look(&f, 0);
    assert_in_range(now_ns - held_ns, 1, STALL_AGAIN_NS);
    while (now_ns < begin_ns + 100 * MS)
        look(&f, 0);
    assert_in_range(n_looks, 1, 100 * MS / STALL_LOOK_NS + 4);
    assert_in_range(n_held, n_looks - 1, n_looks);
    end(&f);
}

/* With nobody in a run the timer is left alone, and with somebody in quick ones all the time it
 * fires once in a period. */
static void test_no_more_looks_than_are_due(void **state)
{
    (void)state;
    struct engine_fixture f;
    begin(&f);
    struct worker *w = f.engine->workers[0];
    forget(&f);
    worker_begins(w);
    quick_until(&f, w, begin_ns + 100 * MS, 0);
    assert_in_range(n_looks, 1, 100 * MS / (STALL_LOOK_NS - pace_ns) + 1);
    worker_ends(w);
    look(&f, 0);
    assert_int_equal(due_ns, 0);
    assert_int_equal(load_relaxed(&f.engine->watch.armed), 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_that_does_not_return),
        cmocka_unit_test(test_a_row_of_slow_ones),
        cmocka_unit_test(test_beside_another_one),
        cmocka_unit_test(test_it_is_tried_again),
        cmocka_unit_test(test_no_more_looks_than_are_due),
    };
    return cmocka_run_group_tests_name("engine: looks at handlers", tests, NULL, NULL);
}
