/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/stuck/hold.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <ucontext.h>
#include <unwind.h>

#include "daemon/common/clock.h"
#include "daemon/engine/base/futex.h"
#include "daemon/engine/base/points.h"
#include "daemon/engine/run/fault.h"
#include "daemon/engine/signal/help.h"

#define HOLD_SIGNAL (SIGRTMIN + 5)

/* For the control thread to come; it may have to wait for a processor. */
enum { HOLD_OFFER_NS = 20 * 1000 * 1000 };

/* by the linker: the code of the engine, and of all that it is linked into */
extern const char __executable_start[], etext[];

struct walk {
    const struct engine *engine;
    uintptr_t from; /* where the signal came */
    bool begun, inside_handler, decided;
};

/* hold.H1.  Unwinding needs no lock and no memory: tables are found by the dynamic linker's
 * lock-free
 *      look-up. */
static _Unwind_Reason_Code hold_walk_frame(struct _Unwind_Context *frame, void *userdata)
{
    struct walk *walk = userdata;
    int interrupted = 0;
    uintptr_t pc = (uintptr_t)_Unwind_GetIPInfo(frame, &interrupted);
    if (!walk->begun && pc != walk->from)
        return _URC_NO_REASON; /* the signal's own frames */
    walk->begun = true;
    if (!interrupted)
        pc--; /* into the call, not behind it */
    bool handler = walk->engine->config.is_handler(walk->engine->config.userdata, (const void *)pc);
    if (!handler && pc >= (uintptr_t)__executable_start && pc < (uintptr_t)etext) {
        walk->decided = true;
        return _URC_END_OF_STACK;
    }
    walk->inside_handler = handler;
    return _URC_NO_REASON;
}

static uintptr_t hold_interrupted_at(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)context->uc_mcontext.pc;
#endif
}

static void hold_wait(struct worker *w, uint32_t state, uint64_t ns)
{
    futex_wait(&w->hold.state, state,
               &(struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
                                   .tv_nsec = (long)(ns % 1000000000) });
}

/* hold.H5 */
static void hold_stand(struct worker *w)
{
    uint64_t until = clock_now_ns() + HOLD_OFFER_NS, now;
    uint32_t offered = HOLD_OFFERED;
    futex_wake(&w->hold.state, 1);
    help_watch_now(w->engine);
    while (load_acquire(&w->hold.state) == HOLD_OFFERED && (now = clock_now_ns()) < until)
        hold_wait(w, HOLD_OFFERED, until - now);
    if (atomic_compare_exchange_strong_explicit(&w->hold.state, &offered, HOLD_LEFT,
                                                memory_order_acq_rel, memory_order_acquire))
        return; /* [HOLD_LEAVE] */
    while (load_acquire(&w->hold.state) == HOLD_HELD)
        futex_wait(&w->hold.state, HOLD_HELD, NULL);
}

static void hold_on_hold(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    struct worker *w = fault_this_worker();
    (void)signal, (void)info;
    if (w && load_acquire(&w->hold.state) == HOLD_ASKED) {
        struct walk walk = { .engine = w->engine, .from = hold_interrupted_at(context) };
        (void)_Unwind_Backtrace(hold_walk_frame, &walk);
        bool stands = walk.decided && walk.inside_handler;
        uint32_t asked = HOLD_ASKED;
        /* release: what the worker did is the holder's to see; acquire: so is what the holder did,
         * behind the wait */
        if (atomic_compare_exchange_strong_explicit(&w->hold.state, &asked,
                                                    stands ? HOLD_OFFERED : HOLD_REFUSED,
                                                    memory_order_acq_rel, memory_order_relaxed)) {
            if (stands)
                hold_stand(w);
            else
                futex_wake(&w->hold.state, 1);
        }
    }
    errno = saved;
}

void hold_install(void)
{
    struct sigaction action = { .sa_sigaction = hold_on_hold,
                                .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
    sigfillset(&action.sa_mask);
    sigaction(HOLD_SIGNAL, &action, NULL);
}

int hold_ask(struct engine *e, struct worker *w)
{
    if (!e->config.is_handler)
        return -ENOTSUP;
    store_release(&w->hold.state, HOLD_ASKED);
    if (pthread_kill(w->thread, HOLD_SIGNAL) != 0) {
        store_relaxed(&w->hold.state, HOLD_NONE);
        return -EAGAIN;
    }
    return 0;
}

int hold_answer(struct worker *w)
{
    uint32_t state = load_acquire(&w->hold.state);
    if (state == HOLD_ASKED)
        return -EINPROGRESS;
    if (state == HOLD_OFFERED &&
        atomic_compare_exchange_strong_explicit(&w->hold.state, &state, HOLD_HELD,
                                                memory_order_acq_rel, memory_order_acquire)) {
        w->hold.count = segment_count(w->durable); /* [HOLD_TAKE] */
        return 0;
    }
    store_relaxed(&w->hold.state, HOLD_NONE);
    return state == HOLD_REFUSED ? -EAGAIN : -ETIMEDOUT;
}

bool hold_is_answered(const struct worker *w)
{
    uint32_t state = load_acquire(&w->hold.state);
    return state != HOLD_NONE && state != HOLD_ASKED;
}

/* hold.H3, hold.H5 */
void hold_withdraw(struct worker *w)
{
    uint32_t state = load_relaxed(&w->hold.state);
    engine_check("hold.H5", state != HOLD_HELD);
    while (!atomic_compare_exchange_weak_explicit(&w->hold.state, &state, HOLD_NONE,
                                                  memory_order_acq_rel, memory_order_relaxed))
        ;
    if (state == HOLD_OFFERED)
        futex_wake(&w->hold.state, 1);
}

int hold_begin(struct engine *e, struct worker *w, uint64_t timeout_ns)
{
    uint64_t until = clock_now_ns() + timeout_ns, now;
    int r;
    do {
        r = hold_ask(e, w);
        while (r == 0 && load_acquire(&w->hold.state) == HOLD_ASKED &&
               (now = clock_now_ns()) < until) {
            control_waits(e);
            hold_wait(w, HOLD_ASKED, until - now);
        }
        if (r == 0)
            r = hold_answer(w);
    } while (r == -ETIMEDOUT && clock_now_ns() < until); /* it has stood, and nobody came */
    if (r == -EINPROGRESS) {
        hold_withdraw(w);
        r = -ETIMEDOUT;
    }
    return r;
}

void hold_end(struct worker *w)
{
    struct stall_watch *watch = &w->engine->watch.workers[w->id];
    if (watch->count == w->hold.count)
        watch->count = segment_count(w->durable); /* hold.H4 */
    engine_check("hold.H2", load_relaxed(&w->hold.state) == HOLD_HELD);
    store_release(&w->hold.state, HOLD_NONE);
    futex_wake(&w->hold.state, 1);
}
