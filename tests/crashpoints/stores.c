/* SPDX-License-Identifier: Apache-2.0 */
/* From store to store, without stepping through what lies between: the world is mapped read-only, so that each store into it faults; the
 * handler lets that one instruction pass, stops behind it for the driver, and makes the page read-only again.  What lies between two such
 * stops has stored nothing, so a kill there leaves the same.  Some hundred times as fast as single steps where a routine mostly looks:
 * recovery.  Elsewhere than on x86-64 the driver steps.
 *
 * The process itself does all of it; one thread. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "crash.h"
#include "daemon/engine/core.h"

#if defined(__x86_64__)

enum { PAGE = 4096, OPEN_MAX_PAGES = 4, TRAP_FLAG = 0x100 };

static struct {
    uint8_t *from;
    uint64_t bytes;
} closed[1 + 2 * N_PORTS];
static unsigned n_closed;
static uint8_t *opened[OPEN_MAX_PAGES]; /* by the present instruction: it may store across a boundary */
static unsigned n_opened;
static volatile uint64_t *place;

static void protection(uint8_t *page, int prot)
{
    if (mprotect(page, PAGE, prot) < 0)
        _exit(3);
}

static void on_store(int signal_number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    uint8_t *page = (uint8_t *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    (void)signal_number;
    for (unsigned i = 0; i < n_closed; i++)
        if (page >= closed[i].from && page < closed[i].from + closed[i].bytes && n_opened < OPEN_MAX_PAGES) {
            protection(page, PROT_READ | PROT_WRITE);
            opened[n_opened++] = page;
            u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
            *place = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
            return;
        }
    signal(SIGSEGV, SIG_DFL); /* a fault of its own: it happens again */
}

static void on_stored(int signal_number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)signal_number;
    (void)info;
    (void)kill(getpid(), SIGSTOP); /* until the driver has seen it */
    while (n_opened > 0)
        protection(opened[--n_opened], PROT_READ);
    u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static void range_close(void *from, uint64_t bytes)
{
    closed[n_closed].from = from;
    closed[n_closed++].bytes = bytes;
    if (mprotect(from, bytes, PROT_READ) < 0)
        fail("a mapping cannot be made read-only");
}

void stores_begin(struct life *life, volatile uint64_t *at)
{
    static const int signals[] = { SIGSEGV, SIGTRAP };
    struct engine *e = life->engine;
    place = at;
    for (unsigned i = 0; i < 2; i++) {
        struct sigaction action = { .sa_sigaction = i == 0 ? on_store : on_stored, .sa_flags = SA_SIGINFO };
        sigemptyset(&action.sa_mask);
        sigaction(signals[i], &action, NULL);
    }
    range_close(e->segment.base, e->segment.size);
    for (uint32_t id = 0; id < N_PORTS; id++)
        if (e->ports[id].client_words) {
            range_close(e->ports[id].client_words, PORT_RING_OFFSET + 2 * PORT_RING);
            range_close(e->ports[id].executor_words, PORT_RING_OFFSET + 2 * PORT_RING);
        }
}

void stores_end(void)
{
    for (unsigned i = 0; i < n_closed; i++)
        if (mprotect(closed[i].from, closed[i].bytes, PROT_READ | PROT_WRITE) < 0)
            _exit(3);
    n_closed = 0;
}

#else

void stores_begin(struct life *life, volatile uint64_t *at)
{
    (void)life;
    (void)at;
}

void stores_end(void)
{
}

#endif
