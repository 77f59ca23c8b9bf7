/* SPDX-License-Identifier: Apache-2.0 */
/* See contain.h. */
#include "daemon/executor/contain.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/engine/engine.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONTAIN 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
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
    int (*next)(int, const struct sigaction *, struct sigaction *) =
        atomic_load_explicit(&next_sigaction, memory_order_relaxed);

    if (action && atomic_load_explicit(&begun, memory_order_relaxed) &&
        engine_signal_is_fault(signal)) {
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

/* ---- descriptors */

enum { GUARDED_MAX = 4096 };
static _Atomic uint64_t guarded[GUARDED_MAX / 64]; /* control thread; handlers read */

static bool contain_is_guarded(unsigned fd)
{
    return fd < GUARDED_MAX &&
           (atomic_load_explicit(&guarded[fd / 64], memory_order_relaxed) >> (fd % 64) & 1);
}

IN_PLACE_OF_LIBC int close(int fd)
{
    if (fd >= 0 && contain_is_guarded((unsigned)fd)) {
        if (engine_thread_is_worker()) {
            errno = EBADF;
            return -1;
        }
        atomic_fetch_and_explicit(&guarded[fd / 64], ~(UINT64_C(1) << (fd % 64)),
                                  memory_order_relaxed);
    }
    return (int)syscall(SYS_close, fd);
}

/* A worker's: around what is guarded. */
IN_PLACE_OF_LIBC int close_range(unsigned from, unsigned to, int flags)
{
    int r = 0;

    if (from > to) {
        errno = EINVAL;
        return -1;
    }
    for (unsigned fd = from; engine_thread_is_worker() && r == 0 && fd <= to && fd < GUARDED_MAX;
         fd++)
        if (contain_is_guarded(fd)) {
            r = fd > from ? (int)syscall(SYS_close_range, from, fd - 1, flags) : 0;
            from = fd + 1;
        }
    return r == 0 && from <= to ? (int)syscall(SYS_close_range, from, to, flags) : r;
}

IN_PLACE_OF_LIBC void closefrom(int from)
{
    (void)close_range(from < 0 ? 0 : (unsigned)from, ~0U, 0);
}

void contain_guard_descriptor(int fd)
{
    if (fd >= 0 && fd < GUARDED_MAX)
        atomic_fetch_or_explicit(&guarded[fd / 64], UINT64_C(1) << (fd % 64), memory_order_relaxed);
}

void contain_guard_descriptors(void)
{
    DIR *open_ones = opendir("/proc/self/fd");

    for (struct dirent *entry; open_ones && (entry = readdir(open_ones)) != NULL;) {
        int fd = atoi(entry->d_name);

        if (entry->d_name[0] != '.' && fd != dirfd(open_ones))
            contain_guard_descriptor(fd);
    }
    if (open_ones)
        closedir(open_ones);
}

void contain_begin(void)
{
    atomic_store_explicit(&begun, true, memory_order_relaxed);
}

#else

void contain_guard_descriptor(int fd)
{
    (void)fd;
}

void contain_guard_descriptors(void)
{
}

void contain_begin(void)
{
}

#endif
