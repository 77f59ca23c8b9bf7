/* SPDX-License-Identifier: Apache-2.0 */
/* The simulator's own parts, as they see each other.  One OS thread; fibers take turns.
 *
 * sim.M1  Everything that happens is a function of the seed: no clock, no address, no random number
 *     from outside (memory lies at fixed addresses; the trace's hash proves it).
 * sim.M2  Fibers change places in sim_step() and where they block, nowhere else.
 * sim.M3  Stores leave a fiber's store buffer in their order; its own loads see them at once;
 *     fences, locked instructions and system calls empty it: what x86-64 promises, no more.
 * sim.M4  A crash ends all fibers of the engine's side between two of their steps; what was in
 *     their store buffers is in memory then, as a kill leaves it.  Clients, the segment and the
 *     rings go on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory lies at addresses of its own (sim.M1); or, in a process that is somebody else's, where
 * there is room. */
#ifdef SIM_ANYWHERE
#define SIM_AT(address) NULL
#define SIM_FIXED       0
#else
#define SIM_AT(address) ((void *)(uintptr_t)(address))
#define SIM_FIXED       MAP_FIXED_NOREPLACE
#endif

/* ---- random numbers: one stream for the schedule, one for the workload ---- */

struct sim_random {
    uint64_t state;
};
uint64_t random_next(struct sim_random *random);
uint32_t random_below(struct sim_random *random, uint32_t n);
bool random_one_in(struct sim_random *random, uint32_t n); /* 0: never */

/* ---- fibers (fiber.c) ---- */

enum sim_side { SIDE_ENGINE, SIDE_CLIENT };
enum fiber_state { FIBER_FREE, FIBER_READY, FIBER_BLOCKED, FIBER_ENDED };
enum fiber_wait {
    WAIT_NONE,
    WAIT_FUTEX,
    WAIT_EPOLL,
    WAIT_LOCK,
    WAIT_JOIN,
    WAIT_SLEEP,
    WAIT_PARKED
};

/* How many times as much room as seeds need: tests/counting simulates more workers. */
#ifndef SIM_SCALE
#define SIM_SCALE 1
#endif

enum {
    FIBERS_MAX = 40 * SIM_SCALE,
    STORES_MAX = 12,
    FIBER_LOCALS_MAX = 256,
#ifdef SIM_ANYWHERE
    /* of others' code; valgrind takes a step of 2 MB for a change of stacks */
    FIBER_STACK_BYTES = 4 * 1024 * 1024
#else
    FIBER_STACK_BYTES = 256 * 1024
#endif
};

struct kept_store {
    volatile void *at;
    uint32_t size;
    uint64_t value[2];
};

struct fiber {
    uint32_t id;
    enum fiber_state state;
    enum sim_side side;
    void *stack_pointer;
    uint8_t *stack;
    void *(*main)(void *argument);
    void *argument;
    int64_t priority; /* schedule PCT: the highest one runs */
    uint64_t since;   /* step at which it was given the processor */

    enum fiber_wait wait; /* while blocked */
    uint64_t key, deadline;
    bool woken;
    bool faulting; /* in the engine's handler for a fault */

    /* keeps nothing back: it reads as plain words what it has stored as atomic ones (recovery) */
    bool in_order;
    struct kept_store stores[STORES_MAX]; /* a ring: sim.M3 */
    uint32_t first_store, n_stores;
    uint64_t stores_due; /* step at which the oldest leaves at the latest */

    uint8_t locals[FIBER_LOCALS_MAX]; /* the engine's thread-local variables, while others run */
};

void fiber_prepare(struct fiber *fiber, void (*entry)(void)); /* its stack */
/* To another stack, that of `to` (NULL: the main stack), from one that is left `for_good` or come
 * back to. */
void fiber_change(void **save, void *restore, const struct fiber *to, bool for_good);
/* The first thing on a new stack. */
void fiber_arrived(void *fake);
void fiber_locals_change(struct fiber *from, struct fiber *to);
void fibers_free(void);

/* ---- the schedule (schedule.c) ---- */

/* ROUND: no seed's; the next one that can run, so that all get on alike (tests/counting). */
enum schedule_kind { SCHEDULE_RANDOM, SCHEDULE_PRIORITIES, SCHEDULE_ROUND };

struct schedule {
    enum schedule_kind kind;
    uint32_t gap;         /* steps between two decisions, on average */
    uint32_t changes;     /* PRIORITIES: how often one is lowered without a reason */
    uint32_t kept_one_in; /* 0: stores go to memory at once; n: all but one in n are kept back */
    uint32_t kept_steps;  /* ... for so long at most */
    /* decisions at which time jumps to the next deadline although somebody could run */
    uint32_t jump_one_in;
    uint32_t tick_ns; /* of a step; ROUND: of one of each fiber that can run */
    uint32_t crashes;
    uint32_t thread_fails_one_in; /* threads that cannot be had; those of the start can */
};

struct sim_trace_line {
    uint64_t step, where, now;
    const void *caller;
    uint32_t fiber, kind;
};
enum { TRACE_LINES = 4096 };

struct sim {
    uint64_t seed;
    struct schedule plan;
    struct sim_random chance; /* the schedule's */
    struct fiber fibers[FIBERS_MAX];
    struct fiber *current;
    void *main_stack;
    uint64_t steps, decide_at, change_at, steps_max;
    uint64_t now, next_deadline;
    uint32_t n_ready, n_ticked; /* fibers that could run when one was chosen; steps since `now` */
    uint64_t trace;             /* hash of all steps */
    uint64_t mutations, crash_at, idles;
    uint32_t n_crashes;
    /* handlers whose fault another thread's end may have cut off before it was noted */
    uint32_t cut_faults;
    int64_t lowest;
    const void *caller;           /* where the engine's code took the present step */
    struct sim_trace_line *lines; /* the last ones, a ring; NULL: nobody wants to see them */
    bool failed, over, crashing, crash_behind_boot, booted, paused;
    /* asked at each of the engine's changes: is this where it dies?  NULL: nobody wants to know */
    bool (*crash_when)(void);
    char what[400];
};
extern struct sim sim;

/* What the schedule calls of the workload. */
struct sim_hooks {
    void (*idle)(void);    /* nobody can run: is that right? */
    void (*crashed)(void); /* the engine's fibers are gone: begin anew */
};

void sim_begin(uint64_t seed, const struct sim_hooks *hooks);
/* Runs until sim_over(), or sim_fail(); or until sim_pause(), from where the next call goes on. */
void sim_run(void);
void sim_pause(void);
bool sim_anybody_can_run(void);
__attribute__((noreturn)) void sim_over(void);
__attribute__((noreturn, format(printf, 1, 2))) void sim_fail(const char *format, ...);
const char *schedule_name(void);

struct fiber *sim_spawn(enum sim_side side, void *(*main)(void *), void *argument);
/* A step of the running fiber; `changes`: it is about to change something that outlives the
 * engine. */
void sim_step(unsigned what, uint64_t where, bool changes);
void sim_note(uint64_t value); /* into the trace */
void sim_yield(void);
/* False: the deadline has passed. */
bool sim_block(enum fiber_wait wait, uint64_t key, uint64_t deadline);
void sim_unblock(struct fiber *fiber);
unsigned sim_wake(enum fiber_wait wait, uint64_t key, unsigned most);
void sim_deadline_changed(void);
void sim_sleep_ns(uint64_t ns);
/* The engine is there: a crash may be planned for what it does now. */
void sim_booted(void);
/* Within so many changes, if one is still to come: for what only a crash at this moment shows. */
void sim_crash_soon(uint32_t most);
__attribute__((noreturn)) void sim_crash(void); /* the running fiber is one of the engine's */
#define SIM_NEVER UINT64_MAX

enum sim_step_kind {
    STEP_LOAD = 1,
    STEP_STORE,
    STEP_RMW,
    STEP_CAS,
    STEP_FENCE,
    STEP_PLACE,
    STEP_RELAX,
    STEP_KERNEL,
    STEP_LOCK
};

/* ---- words.c ---- */

void stores_empty(struct fiber *fiber);
void stores_leave_one(struct fiber *fiber);
/* Raw, by who knows that nothing is kept back, or does not mind. */
uint64_t word_read(const volatile void *at, unsigned size);

/* ---- kernel.c ---- */

void kernel_begin(void);
void kernel_crash(void); /* closes what is the engine's */
uint64_t kernel_next_deadline(void);
void kernel_timers(void);
int kernel_doorbell_new(void); /* a client's */
void kernel_doorbell_close(int fd);
/* The running handler touches what it must not: the engine's signal handler, and the end of the
 * process. */
__attribute__((noreturn)) void sim_fault(void);
void kernel_doorbell_ring(int fd);
uint64_t kernel_futex_key(const volatile void *word);
/* Somebody waits here, and nothing that is ready: he sleeps. */
bool kernel_epoll_is_ready(int fd);
int kernel_descriptors_open(void); /* of the engine */

/* ---- memory.c ---- */

void memory_begin(void);
void memory_crash(void); /* everything that the engine has allocated and mapped */
/* A client's mapping of the beginning of a file: its futexes are those of the engine's mapping. */
void memory_share(void *at, uint64_t bytes, int fd);
/* The file behind a mapped address, as one number; 0: none. */
uint64_t memory_place(const volatile void *address);
