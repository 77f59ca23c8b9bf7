/* SPDX-License-Identifier: Apache-2.0 */
/* An engine with timers whose workers and control thread are the test's thread: what happens
 * between two turns is the test's to say. For the tests of timers and of questions. */
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/signal/urgent.h"
#include "engine_fixture.h"

enum { TIMER_FIXTURE_TIMERS = 64 };

static inline struct engine_config timer_fixture_config(void)
{
    struct engine_config config = engine_fixture_config(1, 1);

    config.stealing = STEAL_NONE;
    config.durable_bytes = 64;
    config.timers_max = TIMER_FIXTURE_TIMERS;
    config.timer_bytes = 1 << 20;
    config.stash_max = 8;
    return config;
}

/* Until nothing is left to be run, in either lane: a run ends when its time is over, which on a
 * busy machine is behind any message. */
static inline void timer_fixture_run(struct engine_fixture *f)
{
    for (bool again = true; again;) {
        again = false;
        for (uint32_t q = 0; q < f->engine->segment.n_mailboxes; q++)
            while (urgent_mailbox_has_work(f->engine, q) &&
                   owner_take(&f->engine->sources[q], 0, 0)) {
                mailbox_run(f->engine->workers[0], q, false);
                again = true;
            }
    }
}

/* Another executor, which finds what this one has left, wherever it was. */
static inline void timer_fixture_restart(struct engine_fixture *f, void (*register_types)(void))
{
    struct engine_recovery report;

    f->engine = engine_close(f->engine);
    engine_fixture_reopen(f, &report);
    register_types();
}

/* A process of its own does what is given, and does not survive it. */
static inline void timer_fixture_die(struct engine_fixture *f, void (*act)(void),
                                     void (*register_types)(void))
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    timer_fixture_restart(f, register_types);
}
