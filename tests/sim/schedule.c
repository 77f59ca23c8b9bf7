/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is, what time it is, when the engine dies: all drawn from the seed.
 *
 * RANDOM      now and then (`gap` steps on average) any fiber that can run is given the processor.
 * PRIORITIES  the fiber with the highest priority runs until it blocks, or until its priority is
 *             lowered: at `changes` drawn steps, and when it only spins (probabilistic concurrency
 *             testing, Burckhardt et al., ASPLOS 2010).
 *
 * Time passes by `tick_ns` a step, and at once to the next deadline when nobody can run.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

enum {
    TURN_STEPS_MAX = 4000, /* who runs for so long without a pause is spinning */
    CHANGE_STEPS = 60000,  /* PRIORITIES: so many steps, divided by `changes`, between two */
    LOOK_STEPS = 256,
    STEPS_MAX = 3000000,
    IDLES_MAX = 20000,
    JUMP_NS = 100 * 1000 * 1000, /* jumps of time while somebody could run are shorter */
};

struct sim sim;
static struct sim_hooks hooks;

uint64_t random_next(struct sim_random *random) /* splitmix64 */
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t random_below(struct sim_random *random, uint32_t n)
{
    return (uint32_t)((random_next(random) >> 32) * n >> 32);
}

bool random_one_in(struct sim_random *random, uint32_t n)
{
    return n != 0 && random_below(random, n) == 0;
}

/* ---- the end ---- */

static __attribute__((noreturn)) void back_to_main(void)
{
    void *nowhere;
    fiber_change(&nowhere, sim.main_stack, NULL, true);
    __builtin_unreachable();
}

void sim_over(void)
{
    sim.over = true;
    back_to_main();
}

void sim_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sim.what, sizeof(sim.what), format, arguments);
    va_end(arguments);
    sim.failed = true;
    if (!sim.current) { /* between two fibers: there is nothing to go back to */
        printf("seed=%" PRIu64 " steps=%" PRIu64 ": %s, in the simulator itself\n", sim.seed,
               sim.steps, sim.what);
        fflush(stdout);
        _Exit(2);
    }
    back_to_main();
}

/* ---- time ---- */

void sim_deadline_changed(void)
{
    sim.next_deadline = kernel_next_deadline();
    for (uint32_t i = 0; i < FIBERS_MAX; i++)
        if (sim.fibers[i].state == FIBER_BLOCKED && sim.fibers[i].deadline < sim.next_deadline)
            sim.next_deadline = sim.fibers[i].deadline;
}

static void make_ready(struct fiber *f, bool woken)
{
    f->state = FIBER_READY;
    f->woken = woken;
    if (sim.plan.kind == SCHEDULE_PRIORITIES)
        sim.decide_at = sim.steps; /* it may be the one to run now */
}

static void deadlines_pass(void)
{
    if (sim.now < sim.next_deadline)
        return;
    kernel_timers();
    for (uint32_t i = 0; i < FIBERS_MAX; i++)
        if (sim.fibers[i].state == FIBER_BLOCKED && sim.fibers[i].deadline <= sim.now)
            make_ready(&sim.fibers[i], false);
    sim_deadline_changed();
}

/* ---- whose turn ---- */

/* The next one round, behind the one that ran last. */
static struct fiber *choose_next(void)
{
    static uint32_t last;
    struct fiber *found = NULL;
    sim.n_ready = 0;
    for (uint32_t i = 1; i <= FIBERS_MAX; i++) {
        struct fiber *f = &sim.fibers[(last + i) % FIBERS_MAX];
        if (f->state != FIBER_READY)
            continue;
        sim.n_ready++;
        found = found ? found : f;
    }
    last = found ? found->id : last;
    return found;
}

static struct fiber *choose(void)
{
    if (sim.plan.kind == SCHEDULE_ROUND)
        return choose_next();
    struct fiber *found = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < FIBERS_MAX; i++) {
        struct fiber *f = &sim.fibers[i];
        if (f->state != FIBER_READY)
            continue;
        n++;
        if (!found || (sim.plan.kind == SCHEDULE_PRIORITIES ? f->priority > found->priority
                                                            : random_below(&sim.chance, n) == 0))
            found = f;
    }
    return found;
}

bool sim_anybody_can_run(void)
{
    for (uint32_t i = 0; i < FIBERS_MAX; i++)
        if (sim.fibers[i].state == FIBER_READY)
            return true;
    return false;
}

static void enter(struct fiber *next)
{
    struct fiber *before = sim.current;
    next->since = sim.steps;
    if (next == before)
        return;
    sim.current = next;
    sim.trace = (sim.trace ^ next->id) * UINT64_C(0x100000001b3);
    fiber_locals_change(before, next);
    fiber_change(&before->stack_pointer, next->stack_pointer, next, before->state == FIBER_ENDED);
}

static void lower(struct fiber *f)
{
    f->priority = --sim.lowest;
}

/* When to think again. PRIORITIES: who blocks, wakes or spins makes a change; else kept stores are
 * looked at. */
static void plan_next(void)
{
    if (sim.plan.kind != SCHEDULE_PRIORITIES)
        sim.decide_at = sim.steps + 1 + random_below(&sim.chance, 2 * sim.plan.gap);
    else
        sim.decide_at =
            sim.change_at < sim.steps + LOOK_STEPS ? sim.change_at : sim.steps + LOOK_STEPS;
}

static void plan_change(void)
{
    sim.change_at = sim.steps + 1 + random_below(&sim.chance, 2 * CHANGE_STEPS / sim.plan.changes);
}

/* Stores leave other fibers' buffers, too, while those stand still. */
static void stores_leave(void)
{
    for (uint32_t i = 0; i < FIBERS_MAX; i++) {
        struct fiber *f = &sim.fibers[i];
        while (f->n_stores && (sim.steps >= f->stores_due || random_one_in(&sim.chance, 8)))
            stores_leave_one(f);
    }
}

static void decide(void)
{
    if (sim.plan.kind == SCHEDULE_PRIORITIES &&
        (sim.steps >= sim.change_at || sim.steps - sim.current->since > TURN_STEPS_MAX)) {
        lower(sim.current);
        plan_change();
    }
    plan_next();
    stores_leave();
    if (random_one_in(&sim.chance, sim.plan.jump_one_in) && sim.next_deadline > sim.now &&
        sim.next_deadline - sim.now < JUMP_NS)
        sim.now = sim.next_deadline;
    deadlines_pass();
    enter(choose());
}

static void everybody_sleeps(void)
{
    for (uint32_t i = 0; i < FIBERS_MAX; i++)
        stores_empty(&sim.fibers[i]);
    if (++sim.idles > IDLES_MAX)
        sim_fail("livelock: everybody has slept %d times", IDLES_MAX);
    hooks.idle();
    if (choose())
        return;
    if (sim.next_deadline == SIM_NEVER)
        sim_fail("deadlock: everybody sleeps for ever");
    sim.now = sim.next_deadline > sim.now ? sim.next_deadline : sim.now;
    deadlines_pass();
}

static void leave(void)
{
    struct fiber *next;
    sim_deadline_changed();
    while (!(next = choose()))
        everybody_sleeps();
    enter(next);
}

/* ROUND: all that can run do so at the same time. */
static void time_pass(void)
{
    if (sim.plan.kind == SCHEDULE_ROUND && ++sim.n_ticked < sim.n_ready)
        return;
    sim.n_ticked = 0;
    sim.now += sim.plan.tick_ns;
}

void sim_step(unsigned what, uint64_t where, bool changes)
{
    sim.steps++;
    time_pass();
    sim.trace = (sim.trace ^ (where << 8 | what << 1 | changes)) * UINT64_C(0x100000001b3);
    sim.trace ^= sim.trace >> 29;
    if (sim.lines)
        sim.lines[sim.steps % TRACE_LINES] =
            (struct sim_trace_line){ sim.steps, where, sim.now, sim.caller, sim.current->id, what };
    if (sim.steps >= sim.decide_at || sim.now >= sim.next_deadline)
        decide();
    if (sim.steps > sim.steps_max)
        sim_fail("livelock: no end after %" PRIu64 " steps", sim.steps_max);
    if (changes && sim.current->side == SIDE_ENGINE &&
        (++sim.mutations == sim.crash_at || (sim.crash_when && sim.crash_when())))
        sim_crash();
}

void sim_note(uint64_t value)
{
    sim.trace = (sim.trace ^ value) * UINT64_C(0x100000001b3);
}

void sim_yield(void)
{
    if (sim.plan.kind == SCHEDULE_PRIORITIES) {
        lower(sim.current);
        deadlines_pass();
        enter(choose());
    }
}

bool sim_block(enum fiber_wait wait, uint64_t key, uint64_t deadline)
{
    struct fiber *f = sim.current;
    stores_empty(f);
    f->wait = wait;
    f->key = key;
    f->deadline = deadline;
    f->state = FIBER_BLOCKED;
    leave();
    f->wait = WAIT_NONE;
    f->deadline = SIM_NEVER;
    return f->woken;
}

void sim_unblock(struct fiber *f)
{
    if (f->state == FIBER_BLOCKED)
        make_ready(f, true);
}

/* Any of those who wait, in an order of chance. */
unsigned sim_wake(enum fiber_wait wait, uint64_t key, unsigned most)
{
    unsigned n = 0;
    uint32_t first = random_below(&sim.chance, FIBERS_MAX);
    for (uint32_t i = 0; i < FIBERS_MAX && n < most; i++) {
        struct fiber *f = &sim.fibers[(first + i) % FIBERS_MAX];
        if (f->state == FIBER_BLOCKED && f->wait == wait && f->key == key) {
            make_ready(f, true);
            n++;
        }
    }
    return n;
}

void sim_sleep_ns(uint64_t ns)
{
    (void)sim_block(WAIT_SLEEP, 0, sim.now + ns);
}

/* ---- fibers come and go ---- */

static void fiber_enter(void)
{
    struct fiber *self = sim.current;
    fiber_arrived(NULL);
    (void)self->main(self->argument);
    stores_empty(self);
    self->state = FIBER_ENDED;
    (void)sim_wake(WAIT_JOIN, self->id, FIBERS_MAX);
    leave();
    __builtin_unreachable();
}

struct fiber *sim_spawn(enum sim_side side, void *(*main)(void *), void *argument)
{
    for (uint32_t i = 0; i < FIBERS_MAX; i++) {
        struct fiber *f = &sim.fibers[i];
        if (f->state != FIBER_FREE)
            continue;
        *f = (struct fiber){
            .id = i, .side = side, .main = main, .argument = argument, .deadline = SIM_NEVER
        };
        f->priority = random_below(&sim.chance, 1 << 20) + 1;
        fiber_prepare(f, fiber_enter);
        make_ready(f, true);
        return f;
    }
    sim_fail("more than %d fibers", FIBERS_MAX);
}

/* ---- a crash ---- */

enum { BOOT_MUTATIONS = 1600, RUN_MUTATIONS_LOG = 14 };

/* After how many of the engine's changes it comes: now and then while the next engine is being
 * opened and recovers, else some time behind that, any order of magnitude. */
static void crash_plan(void)
{
    sim.crash_at = UINT64_MAX;
    sim.crash_behind_boot = false;
    if (sim.n_crashes >= sim.plan.crashes)
        return;
    if (random_one_in(&sim.chance, 4))
        sim.crash_at = sim.mutations + 1 + random_below(&sim.chance, BOOT_MUTATIONS);
    else
        sim.crash_behind_boot = true;
}

void sim_booted(void)
{
    sim.booted = true;
    if (!sim.crash_behind_boot)
        return;
    sim.crash_behind_boot = false;
    sim.crash_at = sim.mutations + 1 +
                   random_below(&sim.chance, 2u << random_below(&sim.chance, RUN_MUTATIONS_LOG));
}

/* sim.M4: what is under way to memory arrives, each fiber's stores in their order. */
static void stores_arrive(void)
{
    struct fiber *waiting[FIBERS_MAX];
    for (uint32_t n = 1; n > 0;) {
        n = 0;
        for (uint32_t i = 0; i < FIBERS_MAX; i++)
            if (sim.fibers[i].side == SIDE_ENGINE && sim.fibers[i].n_stores)
                waiting[n++] = &sim.fibers[i];
        if (n)
            stores_leave_one(waiting[random_below(&sim.chance, n)]);
    }
}

void sim_crash_soon(uint32_t most)
{
    if (sim.booted && sim.n_crashes < sim.plan.crashes)
        sim.crash_at = sim.mutations + 1 + random_below(&sim.chance, most);
}

/* On the main stack: no fiber of the engine's may be the one that runs. */
static void crash_happen(void)
{
    sim.n_crashes++;
    sim.booted = false;
    sim_note(0xdead);
    stores_arrive();
    for (uint32_t i = 0; i < FIBERS_MAX; i++)
        if (sim.fibers[i].side == SIDE_ENGINE) {
            sim.cut_faults += sim.fibers[i].faulting && sim.fibers[i].state != FIBER_FREE;
            sim.fibers[i].state = FIBER_FREE;
        }
    kernel_crash();
    memory_crash();
    crash_plan();
    hooks.crashed();
    sim_deadline_changed();
}

void sim_crash(void)
{
    sim.crashing = true;
    back_to_main();
}

/* ---- a seed ---- */

static void plan_draw(struct schedule *plan)
{
    struct sim_random *c = &sim.chance;
    *plan = (struct schedule){
        .kind = random_one_in(c, 3) ? SCHEDULE_PRIORITIES : SCHEDULE_RANDOM,
        .gap = 1u << random_below(c, 8),
        .changes = 1 + random_below(c, 24),
        .kept_one_in = random_one_in(c, 4) ? 0 : 2 + random_below(c, 14),
        .kept_steps = 1u << (2 + random_below(c, 10)),
        .jump_one_in = random_one_in(c, 2) ? 0 : 16u << random_below(c, 7),
        .tick_ns = 5u << random_below(c, 6),
        .crashes = random_one_in(c, 3) ? 0 : 1 + random_below(c, 4),
        .thread_fails_one_in = random_one_in(c, 3) ? 4 : 0,
    };
}

const char *schedule_name(void)
{
    static char text[64];
    if (sim.plan.kind == SCHEDULE_PRIORITIES)
        snprintf(text, sizeof(text), "priorities/%u", sim.plan.changes);
    else if (sim.plan.kind == SCHEDULE_ROUND)
        snprintf(text, sizeof(text), "round/%u", sim.plan.gap);
    else
        snprintf(text, sizeof(text), "random/%u", sim.plan.gap);
    return text;
}

void sim_begin(uint64_t seed, const struct sim_hooks *with)
{
    struct sim_trace_line *lines = sim.lines;
    memset(&sim, 0, sizeof(sim));
    sim.lines = lines;
    hooks = *with;
    sim.seed = seed;
    sim.chance.state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
    sim.trace = UINT64_C(0xcbf29ce484222325);
    sim.now = UINT64_C(1000000000);
    sim.steps_max = STEPS_MAX;
    sim.next_deadline = SIM_NEVER;
    plan_draw(&sim.plan);
    crash_plan();
    memory_begin();
    kernel_begin();
}

/* The next one's turn, from the main stack. */
static void begin(void)
{
    sim.current = NULL;
    if (sim.crashing)
        crash_happen();
    sim.crashing = false;
    sim.current = choose();
    fiber_locals_change(NULL, sim.current);
}

void sim_run(void)
{
    if (!sim.paused) {
        plan_change();
        plan_next();
    }
    do {
        if (!sim.paused)
            begin();
        sim.paused = false;
        fiber_change(&sim.main_stack, sim.current->stack_pointer, sim.current, false);
    } while (sim.crashing);
    if (!sim.paused)
        sim.current = NULL;
}

void sim_pause(void)
{
    sim.paused = true;
    fiber_change(&sim.current->stack_pointer, sim.main_stack, NULL, false);
}
