/* SPDX-License-Identifier: Apache-2.0 */
/* See contain.h. */
#include "daemon/executor/contain.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/engine/engine.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONTAIN 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CONTAIN 0
#endif
#endif

#ifndef CONTAIN

static _Atomic bool begun;
static int (*_Atomic next_sigaction)(int, const struct sigaction *, struct sigaction *);

#define IN_PLACE_OF_LIBC __attribute__((visibility("default")))

IN_PLACE_OF_LIBC _Noreturn void _exit(int status)
{
    engine_handler_exits();
    for (;;)
        syscall(SYS_exit_group, status);
}

IN_PLACE_OF_LIBC _Noreturn void _Exit(int status)
{
    _exit(status);
}

IN_PLACE_OF_LIBC int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    enum { KERNEL_SET_BYTES = 8 };
    sigset_t allowed;

    if (set && how != SIG_UNBLOCK && engine_thread_is_worker()) {
        allowed = *set;
        for (int signal = 1; signal < NSIG; signal++)
            if (engine_signal_is_fault(signal))
                sigdelset(&allowed, signal);
        set = &allowed;
    }
    return syscall(SYS_rt_sigprocmask, how, set, old, KERNEL_SET_BYTES) < 0 ? errno : 0;
}

IN_PLACE_OF_LIBC int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    int r = pthread_sigmask(how, set, old);

    if (r != 0)
        errno = r;
    return r == 0 ? 0 : -1;
}

IN_PLACE_OF_LIBC int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    int (*next)(int, const struct sigaction *, struct sigaction *) = atomic_load_explicit(&next_sigaction, memory_order_relaxed);

    if (action && atomic_load_explicit(&begun, memory_order_relaxed) && engine_signal_is_fault(signal)) {
        errno = EPERM;
        return -1;
    }
    if (!next) {
        *(void **)&next = dlsym(RTLD_NEXT, "sigaction");
        atomic_store_explicit(&next_sigaction, next, memory_order_relaxed);
    }
    return next(signal, action, old);
}

IN_PLACE_OF_LIBC sighandler_t signal(int signal, sighandler_t handler)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

    return sigaction(signal, &action, &old) < 0 ? SIG_ERR : old.sa_handler;
}

void contain_begin(void)
{
    atomic_store_explicit(&begun, true, memory_order_relaxed);
}

#else

void contain_begin(void)
{
}

#endif
