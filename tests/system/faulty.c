/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin of test_faults.c, see faulty.h. */
#define _GNU_SOURCE
#include "faulty.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <odeon/plugin.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CONTROL_FD = 3 }; /* of the executor */

void __asan_handle_no_return(void) __attribute__((weak));

ODEON_STATE(faulty_actor, {
    struct faulty_page *page;
    uint32_t index;
});

static volatile int zero, one = 1;
static int *volatile nowhere;

static struct faulty_page *page_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *page =
        fd < 0 ? MAP_FAILED
               : mmap(NULL, sizeof(struct faulty_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (fd >= 0)
        close(fd);
    return page == MAP_FAILED ? NULL : page;
}

ODEON_INIT(faulty_actor, struct faulty_args)
{
    self->index = args->index;
    self->page = page_map(args->page);
    return self->page ? 0 : -ENOENT;
}

ODEON_FINI(faulty_actor)
{
    munmap(self->page, sizeof(*self->page));
}

static __attribute__((noinline)) unsigned recurse(unsigned depth)
{
    volatile char frame[4096];

    frame[0] = (char)depth;
    return depth == UINT32_MAX ? 0 : recurse(depth + 1) + (unsigned)frame[0];
}

static void free_twice(void)
{
    char *volatile p = malloc(40), *volatile q = p;

    free(p);
    free(q);
}

static void ignore(int signal)
{
    (void)signal;
    _exit(3);
}

static void take_signal(void)
{
    struct sigaction action = { .sa_handler = ignore };

    sigaction(SIGSEGV, &action, NULL);
}

static void block_signals(void)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* Ends by a signal, if it is one of these. */
static void fault(enum faulty_how how)
{
    switch (how) {
    case FAULTY_MASK:
        block_signals();
        *nowhere = 1;
        break;
    case FAULTY_HANDLER:
        take_signal();
        *nowhere = 1;
        break;
    case FAULTY_NULL:
        *nowhere = 1;
        break;
    case FAULTY_WILD:
        *(volatile int *)(uintptr_t)0xdeadbeef00 = 1;
        break;
    case FAULTY_JUMP:
        ((void (*)(void))(uintptr_t)0x10)();
        break;
    case FAULTY_STACK:
        (void)recurse(0);
        break;
    case FAULTY_ABORT:
        abort();
    case FAULTY_DOUBLE_FREE:
        free_twice();
        break;
    case FAULTY_DIVIDE:
#if defined(__x86_64__)
        zero = one / zero;
#else
        raise(SIGFPE);
#endif
        break;
    case FAULTY_ILLEGAL:
        __builtin_trap();
    default:
        break;
    }
}

static void eat(void)
{
    const size_t much = (size_t)1 << 30;
    char *memory = mmap(NULL, much, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return;
    memset(memory, 1, much);
    munmap(memory, much);
}

static int64_t processor_time_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* By itself, so that it is stopped in its handler however late anybody else comes to it. Behind
 * that it computes for so little of its own time that nobody may tell of it, and for longer than
 * lies between two looks of who might. */
static void stop(void)
{
    int64_t end_ns;

    (void)kill(getpid(), SIGSTOP);
    end_ns = processor_time_ns() + 100 * 1000 * 1000;
    while (processor_time_ns() < end_ns)
        ;
}

static void do_it(struct faulty_page *page, enum faulty_how how)
{
    fault(how);
    switch (how) {
    case FAULTY_EXIT:
        exit(0);
    case FAULTY_UNDERSCORE_EXIT:
        _exit(0);
    case FAULTY_QUICK_EXIT:
        quick_exit(0);
    case FAULTY_PTHREAD_EXIT:
        /* The frames below never return: AddressSanitizer, where there is one, must not take what
         * it keeps around their variables for variables when it tidies up the thread. */
        if (__asan_handle_no_return)
            __asan_handle_no_return();
        pthread_exit(NULL);
    case FAULTY_SYS_EXIT:
        syscall(SYS_exit, 0);
        break;
    case FAULTY_HANG:
        while (!atomic_load(&page->release))
            syscall(SYS_futex, &page->release, FUTEX_WAIT, 0, NULL, NULL, 0);
        break;
    case FAULTY_LOOP:
        while (!atomic_load_explicit(&page->release, memory_order_relaxed))
            ;
        break;
    case FAULTY_FORK:
        (void)fork(); /* both go on */
        break;
    case FAULTY_CLOSE_ALL:
        closefrom(3);
        break;
    case FAULTY_SIGKILL:
        raise(SIGKILL);
        break;
    case FAULTY_NONSENSE:
        (void)send(CONTROL_FD, "\377\377\377", 3, MSG_DONTWAIT);
        syscall(SYS_exit_group, 0);
        break;
    case FAULTY_EXIT_GROUP:
        syscall(SYS_exit_group, 0);
        break;
    case FAULTY_HUNGRY:
        eat();
        break;
    case FAULTY_NAP:
        nanosleep(&(struct timespec){ .tv_nsec = 300 * 1000 * 1000 }, NULL);
        break;
    case FAULTY_STOP:
        stop();
        break;
    case FAULTY_CHDIR:
        if (chdir("/proc") < 0)
            abort();
        break;
    default:
        break;
    }
}

ODEON_RECEIVE(faulty_actor, faulty_do)
{
    if (ctx->attempts > 0)
        atomic_store(&self->page->mate_at_retry, atomic_load(&self->page->last[1]));
    atomic_fetch_add(&self->page->entered, 1);
    if (ctx->attempts < msg->times)
        do_it(self->page, (enum faulty_how)msg->how);
    atomic_fetch_add(&self->page->done, 1);
    return ODEON_NODELETE;
}

/* What has been counted by an executor that is no more was committed, or is counted again. */
ODEON_RECEIVE(faulty_actor, faulty_count)
{
    uint64_t last = atomic_load(&self->page->last[self->index]);

    if (msg->n != last + 1 && !(msg->n == last && ctx->redelivered))
        atomic_fetch_add(&self->page->out_of_order, 1);
    atomic_store(&self->page->last[self->index], msg->n);
    atomic_fetch_add(&self->page->counted[self->index], 1);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(faulty_actor, ODEON_ON(faulty_actor, faulty_do),
               ODEON_ON(faulty_actor, faulty_count));
ODEON_ACTOR_TYPE(faulty_actor);
ODEON_PLUGIN("faulty", "1.0.0", ODEON_TYPE(faulty_actor));
