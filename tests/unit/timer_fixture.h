/* SPDX-License-Identifier: Apache-2.0 */
/* An engine with timers whose workers and control thread are the test's thread: what happens
 * between two turns is the test's to say. For the tests of timers and of questions. */
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include "daemon/engine/run/mailbox.h"
#include "daemon/engine/signal/urgent.h"
#include "daemon/engine/timers/timers.h"
#include "engine_fixture.h"

enum { TIMER_FIXTURE_TIMERS = 64 };

/* What the table of timers says. */
struct timer_fixture_books {
    uint32_t n, watches, stashed, spent, shelved, places[TIMER_CLASSES];
    uint64_t bytes;
};

static inline struct timer_fixture_books timer_fixture_count(struct engine_fixture *f)
{
    const struct engine *e = f->engine;
    struct timer_fixture_books books = { 0 };

    for (uint32_t i = 0; i < load_relaxed(&e->segment.header->timers_high); i++) {
        const struct segment_timer *timer = &e->segment.timers[i];
        uint32_t state = timer_word_state(load_relaxed(&timer->word));
        bool is_shelved = e->timers.shelves.n_slots && load_relaxed(&e->timers.shelves.slot_of[i]);

        books.spent += state == TIMER_SPENT;
        books.shelved += is_shelved;
        if (is_shelved || state == TIMER_LIVE)
            books.places[timer->class]++;
        if (is_shelved || state != TIMER_LIVE)
            continue;
        books.n++;
        books.bytes += TIMER_CLASS_BYTES(timer->class);
        books.watches += timer->watched != 0 || timer->group != 0;
        books.stashed += timer->stashed == TIMER_STASHED;
    }
    return books;
}

/* What the process has counted is what the table says: nothing is counted for nobody, and what has
 * ended has been given back. */
static inline void timer_fixture_assert_books(struct engine_fixture *f)
{
    const struct timers *t = &f->engine->timers;
    const struct timer_owners *const tables[] = { &t->owners, &t->stashed, &t->watched,
                                                  &t->members.joined, &t->kept.of };
    struct timer_fixture_books books = timer_fixture_count(f);

    assert_int_equal(t->n, books.n);
    assert_int_equal(t->bytes, books.bytes);
    assert_int_equal(t->n_watches, books.watches);
    assert_int_equal(t->n_stashed, books.stashed);
    assert_int_equal(t->numbers.fresh - t->numbers.n, books.n + books.shelved + books.spent);
    for (uint32_t class = 0; class < TIMER_CLASSES; class ++)
        assert_int_equal(t->places[class].fresh - t->places[class].n, books.places[class]);
    for (uint32_t slot = 0; slot < load_relaxed(&f->engine->segment.header->slots_high); slot++) {
        uint32_t attached = 0;
        for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
            const struct timer_owner *of = &tables[i]->of[slot];
            assert_int_equal(of->first != 0, of->n != 0);
            assert_true(of->n != 0 || of->weight == 0);
            attached += of->n;
        }
        assert_int_equal(load_relaxed(&t->attached[slot]), attached);
    }
}

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
