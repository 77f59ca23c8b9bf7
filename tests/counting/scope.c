/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/counting/scope.h"

#include <string.h>

#include "daemon/engine/ports/port.h"
#include "daemon/engine/run/steal.h"
#include "daemon/engine/send/flush.h"
#include "daemon/engine/signal/wake.h"
#include "tests/counting/lines.h"
#include "tests/sim/sim.h"

enum { ENTRY_BYTES = 96, MESSAGE_LINES = 1 << 13, SPAN_LINES = 1 << 13 };
static_assert((int)FIBERS_MAX <= (int)LINE_THREADS_MAX, "a fiber is a thread");

/* Functions whose accesses are a unit. Which one is said by a counter of the worker's: `then` when
 * it has grown meanwhile, else `otherwise`. */
static const struct span_kind {
    const void *function;
    enum stat_index stat;
    enum unit then, otherwise;
    bool by_stat; /* as many units as the counter has grown by */
} kinds[] = {
    { (const void *)flush_from, STAT_flushes, UNIT_GROUP, UNIT_GROUP, true },
    { (const void *)steal_try, STAT_steals, UNIT_SEARCH_FOUND, UNIT_SEARCH_FAILED, false },
    { (const void *)source_signal_append, STAT_wakeups_sent, UNIT_WAKE, UNIT_SIGNAL, false },
    { (const void *)wake_one, STAT_wakeups_sent, UNIT_HELPER, UNIT_HELPER, false },
    { (const void *)port_run, STAT_port_messages, UNIT_VISIT, UNIT_VISIT_EMPTY, false },
};
enum { KINDS_N = sizeof(kinds) / sizeof(kinds[0]) };

struct span {
    bool on;
    int64_t depth; /* of calls, when it began */
    uint64_t stat;
    struct line_set set;
    struct tally tally;
};

struct thread {
    const struct worker *worker; /* NULL: its accesses are not counted */
    int64_t depth;
    uint32_t n_spans; /* that are on */
    struct line_set set;
    struct span spans[KINDS_N];
};

static struct {
    bool on, measuring;
    const struct engine *engine;
    uint64_t crossing;
    struct tally tallies[UNITS_N];
    struct thread threads[FIBERS_MAX];
} scope;

static const char *const names[UNITS_N] = {
    "message", "group",  "search-failed", "search-found", "signal",
    "wake",    "helper", "visit",         "visit-empty",
};

const char *unit_name(enum unit unit)
{
    return names[unit];
}

const struct tally *scope_tally(enum unit unit)
{
    return &scope.tallies[unit];
}

uint64_t scope_crossing(void)
{
    return scope.crossing;
}

bool scope_is_measuring(void)
{
    return scope.measuring;
}

void scope_begin(const struct engine *engine)
{
    words_init(engine);
    lines_init(words_name);
    scope.engine = engine;
    scope.on = true;
}

void scope_measure(bool on)
{
    if (on) {
        memset(scope.tallies, 0, sizeof(scope.tallies));
        scope.crossing = 0;
    }
    for (uint32_t i = 0; i < FIBERS_MAX; i++)
        for (uint32_t k = 0; k < KINDS_N; k++)
            scope.threads[i].spans[k].on = false;
    for (uint32_t i = 0; i < FIBERS_MAX; i++)
        scope.threads[i].n_spans = 0;
    scope.measuring = on;
}

void scope_end(void)
{
    scope.on = scope.measuring = false;
    lines_free();
    for (uint32_t i = 0; i < FIBERS_MAX; i++) {
        line_set_free(&scope.threads[i].set);
        for (uint32_t k = 0; k < KINDS_N; k++)
            line_set_free(&scope.threads[i].spans[k].set);
    }
}

void scope_thread_is(uint32_t fiber, const struct worker *worker)
{
    struct thread *t = &scope.threads[fiber];
    t->worker = worker;
    line_set_init(&t->set, MESSAGE_LINES);
    for (uint32_t k = 0; k < KINDS_N; k++)
        line_set_init(&t->spans[k].set, SPAN_LINES);
}

/* The running thread, if it is a worker's. */
static struct thread *scope_thread(void)
{
    struct thread *t = sim.current ? &scope.threads[sim.current->id] : NULL;
    return t && t->worker ? t : NULL;
}

/* ---- what is counted ---- */

static void scope_tally_add(struct tally *tally, struct line_set *set, const struct line_seen *seen,
                            bool locked)
{
    struct tally_word *word = &tally->words[seen->word];
    bool is_new = line_set_add(set, seen->line) && seen->shared;
    tally->lines += is_new;
    tally->foreign += seen->foreign;
    tally->locked += locked;
    word->lines += is_new;
    word->foreign += seen->foreign;
    word->locked += locked;
}

static void scope_count(struct thread *t, const struct line_seen *seen, bool locked)
{
    scope_tally_add(&scope.tallies[UNIT_MESSAGE], &t->set, seen, locked);
    for (uint32_t k = 0; t->n_spans && k < KINDS_N; k++)
        if (t->spans[k].on)
            scope_tally_add(&t->spans[k].tally, &t->spans[k].set, seen, locked);
}

/* Stacks, and what stands for thread-local storage, are nobody else's. */
static bool scope_is_private(uint64_t address)
{
    extern uint8_t __start_sim_fiber_local[], __stop_sim_fiber_local[];
    return address - (uint64_t)(uintptr_t)sim.current->stack < FIBER_STACK_BYTES ||
           (address >= (uint64_t)(uintptr_t)__start_sim_fiber_local &&
            address < (uint64_t)(uintptr_t)__stop_sim_fiber_local);
}

void scope_access(const volatile void *at, size_t bytes, bool writes, bool locked)
{
    uint64_t address = (uint64_t)(uintptr_t)at, end = address + bytes;
    if (!scope.on || !sim.current || bytes == 0 || scope_is_private(address))
        return;
    struct thread *t = scope_thread();
    while (address < end) {
        struct line_seen seen = lines_see(sim.current->id, t != NULL, address, writes);
        if (t && scope.measuring)
            scope_count(t, &seen, locked);
        locked = false;
        address = (address / LINE_BYTES + 1) * LINE_BYTES;
    }
}

void scope_barrier(void)
{
    struct thread *t = scope_thread();
    if (!t || !scope.measuring)
        return;
    scope.tallies[UNIT_MESSAGE].locked++;
    scope.tallies[UNIT_MESSAGE].words[WORD_FENCE].locked++;
    for (uint32_t k = 0; t->n_spans && k < KINDS_N; k++)
        if (t->spans[k].on) {
            t->spans[k].tally.locked++;
            t->spans[k].tally.words[WORD_FENCE].locked++;
        }
}

/* A group for a queue, or a gulp, whose lock only the runner takes. */
void scope_lock_taken(const volatile void *at)
{
    struct thread *t = scope_thread();
    int64_t queue = t && scope.measuring ? words_queue_of_lock((uint64_t)(uintptr_t)at) : -1;
    if (queue < 0)
        return;
    uint32_t mailbox = segment_mailbox(&scope.engine->segment, (uint32_t)queue);
    scope.crossing += own_worker(load_relaxed(scope.engine->sources[mailbox].own)) != t->worker->id;
}

void scope_message(void)
{
    struct thread *t = scope_thread();
    if (!t)
        return;
    line_set_next(&t->set);
    scope.tallies[UNIT_MESSAGE].n += scope.measuring;
}

/* ---- units ---- */

static uint64_t scope_stat(const struct thread *t, const struct span_kind *kind)
{
    return load_relaxed(&t->worker->stats->value[kind->stat]);
}

void scope_function_begins(uintptr_t pc)
{
    struct thread *t = scope_thread();
    if (!t)
        return;
    t->depth++;
    for (uint32_t k = 0; scope.measuring && k < KINDS_N; k++) {
        struct span *span = &t->spans[k];
        if (pc - (uintptr_t)kinds[k].function >= ENTRY_BYTES || span->on)
            continue;
        span->on = true;
        t->n_spans++;
        span->depth = t->depth;
        span->stat = scope_stat(t, &kinds[k]);
        line_set_next(&span->set);
        memset(&span->tally, 0, sizeof(span->tally));
        return;
    }
}

static void scope_tally_sum(struct tally *sum, const struct tally *tally)
{
    sum->lines += tally->lines;
    sum->foreign += tally->foreign;
    sum->locked += tally->locked;
    for (uint32_t i = 0; i < WORDS_N; i++) {
        sum->words[i].lines += tally->words[i].lines;
        sum->words[i].foreign += tally->words[i].foreign;
        sum->words[i].locked += tally->words[i].locked;
    }
}

void scope_function_ends(void)
{
    struct thread *t = scope_thread();
    if (!t)
        return;
    for (uint32_t k = 0; t->n_spans && k < KINDS_N; k++) {
        struct span *span = &t->spans[k];
        if (!span->on || span->depth != t->depth)
            continue;
        span->on = false;
        t->n_spans--;
        uint64_t grown = scope_stat(t, &kinds[k]) - span->stat;
        struct tally *sum = &scope.tallies[grown ? kinds[k].then : kinds[k].otherwise];
        sum->n += kinds[k].by_stat ? grown : 1;
        scope_tally_sum(sum, &span->tally);
    }
    t->depth--;
}
