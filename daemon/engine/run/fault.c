/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/run/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "daemon/engine/commit/commit.h"
#include "daemon/engine/commit/durable.h"

static _Thread_local struct worker *this_worker;
/* a fault while a fault is being reported ends at once */
static _Thread_local volatile sig_atomic_t reporting;
static pthread_key_t thread_end;
static pid_t executor_pid;
static _Atomic uint32_t *death_verdict;

enum { FAULT_STACK_BYTES = 128 * 1024 };

static uint64_t fault_instruction_of(const void *context)
{
    const ucontext_t *u = context;
#if defined(__x86_64__)
    return (uint64_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uint64_t)u->uc_mcontext.pc;
#else
    (void)u;
    return 0;
#endif
}

/* Async-signal-safe: stores to the segment.  `count`: of the turn that it is about; `info` and
 * `context`: of a signal, else NULL.
 *
 * The control thread, too, records a worker's: what it reads has been stored before that commit
 * whose count it has seen (acquire); `slot` has not. */
static void fault_record(struct worker *w, uint64_t count, enum segment_fault_kind kind, int signal,
                         const siginfo_t *info, const void *context)
{
    if (!w || w->batch.queue == NO_QUEUE || !load_relaxed(&w->durable->turn))
        return;
    struct segment_fault *fault = &w->durable->fault;
    const struct envelope *running =
        (const struct envelope *)(w->batch.base + commit_cursor(segment_commit_valid(w->durable)));
    /* between two messages there may be anything behind the cursor */
    uint32_t slot = actor_ref_slot(running->to);
    uint64_t key = slot < w->turn.actors_max ? load_relaxed(&w->turn.actors[slot].key) : 0;
    fault->owed = 0;
    fault->kind = (uint32_t)kind;
    fault->signal = (uint32_t)signal;
    fault->attempts = running->attempts + 1u;
    fault->address = info ? (uint64_t)(uintptr_t)info->si_addr : 0;
    fault->instruction = context ? fault_instruction_of(context) : 0;
    fault->actor = running->to;
    fault->message_type = running->type;
    fault->actor_type = segment_type_of_key(&w->engine->segment, actor_key_type(key));
    fault->in_init = actor_key_kind(key) == ACTOR_NEW ||
                     (actor_key_kind(key) == ACTOR_ASIDE && !w->turn.states[slot]) ||
                     (actor_key_kind(key) == ACTOR_KEPT &&
                      !durable_is_initialised(w->engine, slot, actor_key_generation(key)));
    fault->build_id[0] = fault->trace[0] = '\0';
    crash_order();
    fault->tag = count; /* whatever has been committed meanwhile: fault.F2 */
    crash_order();
    stat_add(w, STAT_faults, 1);
    /* another's stack cannot be walked from here */
    if (w->engine->config.trace && w == this_worker && kind != FAULT_THREAD_ENDED)
        w->engine->config.trace(fault->instruction, fault->build_id, fault->trace);
}

/* The bare system calls: the functions may be somebody else's by now (executor/contain.h). */
static _Noreturn void fault_die_by(int signal)
{
    static const struct {
        unsigned long handler, flags, restorer, mask;
    } by_default; /* the kernel's structure */
    uint64_t only = UINT64_C(1) << (signal - 1);
    syscall(SYS_rt_sigaction, signal, &by_default, NULL, sizeof(only));
    /* a handler may have blocked it */
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &only, NULL, sizeof(only));
    raise(signal);
    for (;;)
        syscall(SYS_exit_group, EXIT_FAILURE);
}

/* A signal from outside may come to a thread that has just begun: AddressSanitizer does not know
 * its stack yet, and would report that where it tidies up before a call that does not return. */
#define ON_ANY_STACK __attribute__((no_sanitize("address")))

/* No core: nothing is broken, and a dump of all that is mapped takes long. */
ON_ANY_STACK static _Noreturn void fault_die_without_core(void)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
    fault_die_by(SIGABRT);
}

ON_ANY_STACK static void fault_on_fault(int signal, siginfo_t *info, void *context)
{
    struct worker *w = this_worker;
    if (getpid() != executor_pid || reporting) /* fault.F3 */
        fault_die_by(signal);
    bool sent = info->si_code <= 0, ours = sent && info->si_pid == executor_pid;
    uint64_t condemned = w && ours && signal == SIGABRT ? load_acquire(&w->hold.condemned) : 0;
    if (condemned && condemned != commit_count(w) + 1)
        return; /* it has returned */
    reporting = 1;
    if (!sent || ours) /* fault.F1 */
        fault_record(w, w ? commit_count(w) : 0, condemned ? FAULT_STALLED : FAULT_SIGNAL, signal,
                     sent ? NULL : info, context);
    else
        store_relaxed(death_verdict, VERDICT_EXPLAINED); /* suspect.S1 */
    if (condemned)
        fault_die_without_core();
    fault_die_by(signal);
}

void fault_end_worker(struct worker *w, uint64_t count, enum segment_fault_kind kind)
{
    /* suspect.S1, though the record be void, or a worker that goes on spoil its making */
    store_relaxed(death_verdict, VERDICT_EXPLAINED);
    if (segment_count(w->durable) == count)
        fault_record(w, count, kind, 0, NULL, NULL);
    reporting = 1;
    fault_die_without_core();
}

/* exit() and quick_exit() in a handler come here, too; what else wants to be called at the
 * process's end has no business with a worker that is in a turn. */
void engine_handler_exits(void)
{
    if (!this_worker || getpid() != executor_pid)
        return;
    fault_record(this_worker, commit_count(this_worker), FAULT_EXIT, 0, NULL, NULL);
    syscall(SYS_exit_group, EXIT_FAILURE);
}

/* pthread_exit() in a handler: the thread's worker would never run anything again. */
static void fault_on_thread_end(void *worker)
{
    if (getpid() != executor_pid)
        return;
    fault_record(worker, commit_count(worker), FAULT_THREAD_ENDED, 0, NULL, NULL);
    fault_die_without_core();
}

bool engine_thread_is_worker(void)
{
    return this_worker != NULL;
}

static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };

bool engine_signal_is_fault(int signal)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        if (signals[i] == signal)
            return true;
    return false;
}

struct worker *fault_this_worker(void)
{
    return this_worker;
}

void fault_install(_Atomic uint32_t *verdict)
{
    struct sigaction action = { .sa_sigaction = fault_on_fault,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    sigemptyset(&action.sa_mask);
    if (executor_pid == 0) {
        (void)pthread_key_create(&thread_end, fault_on_thread_end);
        (void)atexit(engine_handler_exits);
        (void)at_quick_exit(engine_handler_exits);
    }
    executor_pid = getpid();
    death_verdict = verdict;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
}

/* A stack of its own: the handler may have run out of the worker's. */
void fault_thread_enter(struct worker *w)
{
    w->signal_stack = malloc(FAULT_STACK_BYTES);
    if (w->signal_stack) {
        stack_t stack = { .ss_sp = w->signal_stack, .ss_size = FAULT_STACK_BYTES };
        sigaltstack(&stack, NULL);
    }
    this_worker = w;
    (void)pthread_setspecific(thread_end, w);
}

void fault_thread_leave(struct worker *w)
{
    stack_t stack = { .ss_flags = SS_DISABLE };
    (void)pthread_setspecific(thread_end, NULL);
    sigaltstack(&stack, NULL);
    this_worker = NULL;
    free(w->signal_stack);
    w->signal_stack = NULL;
}
