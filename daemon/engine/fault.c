/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/fault.h"

#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include "daemon/engine/commit.h"
#include "daemon/engine/durable.h"

static _Thread_local struct worker *this_worker;

enum { FAULT_STACK_BYTES = 64 * 1024 };

static uint64_t instruction_of(const void *context)
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

/* Async-signal-safe: stores to the segment, then the default action for the core dump and the supervisor's eyes. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    struct worker *w = this_worker;
    if (w && w->queue != NO_QUEUE && load_relaxed(&w->durable->turn)) {
        struct segment_fault *fault = &w->durable->fault;
        const struct envelope *running = (const struct envelope *)(w->batch + commit_cursor(w->slot));
        uint32_t slot = actor_ref_slot(running->to); /* between two messages there may be anything behind the cursor */
        uint64_t key = slot < w->actors_max ? load_relaxed(&w->actors[slot].key) : 0;
        fault->signal = (uint32_t)signal;
        fault->attempts = running->attempts + 1u;
        fault->address = (uint64_t)(uintptr_t)info->si_addr;
        fault->instruction = instruction_of(context);
        fault->actor = running->to;
        fault->message_type = running->type;
        fault->actor_type = actor_key_type(key);
        fault->in_init = actor_key_kind(key) == ACTOR_NEW ||
                         (actor_key_kind(key) == ACTOR_KEPT && !durable_is_initialised(w->engine, slot, actor_key_generation(key)));
        crash_order();
        fault->tag = commit_count(w);
        stat_add(w, STAT_faults, 1);
    }
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigaction(signal, &action, NULL);
    raise(signal);
}

struct worker *fault_this_worker(void)
{
    return this_worker;
}

void fault_install(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS };
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    sigemptyset(&action.sa_mask);
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
}

void fault_thread_leave(struct worker *w)
{
    stack_t stack = { .ss_flags = SS_DISABLE };
    sigaltstack(&stack, NULL);
    this_worker = NULL;
    free(w->signal_stack);
    w->signal_stack = NULL;
}
