/* SPDX-License-Identifier: Apache-2.0 */
/* The library of shortage.h.  Any thread; what it does itself is not counted. */
#define _GNU_SOURCE
#include "shortage.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* glibc's own, under names that are there before anything has been looked up. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static struct shortage_page *page;
static enum shortage_program program;
static __thread bool inside __attribute__((tls_model("initial-exec")));

/* The library's function of this name behind ours. */
#define NEXT(name_) ((__typeof__(&name_))next(#name_))

static void *next(const char *name)
{
    bool was = inside;
    void *function;

    inside = true; /* a first look-up may allocate */
    function = dlsym(RTLD_NEXT, name);
    inside = was;
    if (!function)
        abort();
    return function;
}

static __attribute__((constructor)) void begin(void)
{
    const char *path = getenv(SHORTAGE_ENVIRONMENT), *name = program_invocation_short_name;
    void *frames[2];
    int fd;

    program = strcmp(name, "odeond") == 0           ? SHORTAGE_ODEOND
              : strcmp(name, "odeon-executor") == 0 ? SHORTAGE_EXECUTOR
                                                    : SHORTAGE_NOBODY;
    if (!path || program == SHORTAGE_NOBODY)
        return;
    (void)backtrace(frames, 2); /* loads what it needs */
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void *map =
        (void *)syscall(SYS_mmap, NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    page = map == MAP_FAILED ? NULL : map;
}

/* Wherever the libraries have been mapped, the same callers have the same key. */
static uint64_t key_of(const char *what, void *const *frames, int n)
{
    uint64_t key = 14695981039346656037u;

    for (; *what; what++)
        key = (key ^ (uint64_t)(unsigned char)*what) * 1099511628211u;
    for (int i = 0; i < n; i++) {
        Dl_info info = { 0 };
        uintptr_t at = (uintptr_t)frames[i];

        if (dladdr(frames[i], &info) != 0)
            at -= (uintptr_t)info.dli_fbase;
        key = (key ^ at) * 1099511628211u;
    }
    return key ? key : 1;
}

static void list_site(const char *what, uint64_t call, void *const *frames, int n)
{
    uint64_t key = key_of(what, frames, n);

    for (uint64_t i = key, end = key + SHORTAGE_SITES_MAX; i != end; i++) {
        struct shortage_site *site = &page->sites[i % SHORTAGE_SITES_MAX];
        uint64_t none = 0;

        if (atomic_compare_exchange_strong(&site->key, &none, key)) {
            site->call = call;
            atomic_fetch_add(&page->n_sites, 1);
            return;
        }
        if (none == key)
            return;
    }
}

static void describe(const char *what, uint64_t call, void *const *frames, int n)
{
    size_t used = (size_t)snprintf(page->where, sizeof(page->where), "%s(), call %llu", what,
                                   (unsigned long long)call);

    for (int i = 0; i < n && used < sizeof(page->where); i++) {
        Dl_info info = { 0 };
        const char *file =
            dladdr(frames[i], &info) != 0 && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
        ptrdiff_t offset = (char *)frames[i] - (char *)info.dli_fbase;

        used += (size_t)snprintf(page->where + used, sizeof(page->where) - used, " < %s+0x%lx",
                                 file ? file + 1 : "?", (long)offset);
        if (info.dli_sname && used < sizeof(page->where))
            used += (size_t)snprintf(page->where + used, sizeof(page->where) - used, " (%s)",
                                     info.dli_sname);
    }
}

/* Whether this call is the one that fails. */
static bool fails(const char *what)
{
    void *frames[SHORTAGE_FRAMES + 2];
    bool fail = false;

    if (!page || inside || atomic_load_explicit(&page->victim, memory_order_acquire) != program)
        return false;
    inside = true;
    uint64_t call = atomic_fetch_add_explicit(&page->calls, 1, memory_order_relaxed) + 1;
    fail = call == atomic_load_explicit(&page->fail_at, memory_order_relaxed);
    if (fail || atomic_load_explicit(&page->list, memory_order_relaxed)) {
        /* this function, and ours of that name */
        int n = backtrace(frames, SHORTAGE_FRAMES + 2) - 2;

        if (fail)
            describe(what, call, frames + 2, n);
        else
            list_site(what, call, frames + 2, n);
    }
    if (fail)
        atomic_store_explicit(&page->failed, 1, memory_order_release);
    inside = false;
    return fail;
}

static bool allocation_fails(const char *what)
{
    if (page && !inside)
        atomic_fetch_add_explicit(&page->allocations[program], 1, memory_order_relaxed);
    return fails(what);
}

#define REFUSE(error_, value_) return (errno = (error_), (value_))

/* ---- memory */

void *malloc(size_t size)
{
    if (allocation_fails("malloc"))
        REFUSE(ENOMEM, NULL);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    if (allocation_fails("calloc"))
        REFUSE(ENOMEM, NULL);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    if (allocation_fails("realloc"))
        REFUSE(ENOMEM, NULL);
    return __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    if (allocation_fails("aligned_alloc"))
        REFUSE(ENOMEM, NULL);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
    void *block = allocation_fails("posix_memalign") ? NULL : __libc_memalign(alignment, size);

    if (block)
        *p = block;
    return block ? 0 : ENOMEM;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (allocation_fails("mmap"))
        REFUSE(ENOMEM, MAP_FAILED);
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

int memfd_create(const char *name, unsigned flags)
{
    if (fails("memfd_create"))
        REFUSE(ENOMEM, -1);
    return (int)syscall(SYS_memfd_create, name, flags);
}

int ftruncate(int fd, off_t size)
{
    if (fails("ftruncate"))
        REFUSE(ENOSPC, -1);
    return (int)syscall(SYS_ftruncate, fd, size);
}

/* ---- descriptors */

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;

    va_start(args, flags);
    if (flags & (O_CREAT | __O_TMPFILE))
        mode = va_arg(args, mode_t);
    va_end(args);
    if (fails("open"))
        REFUSE(EMFILE, -1);
    return NEXT(open)(path, flags, mode);
}

int fcntl(int fd, int command, ...)
{
    va_list args;
    void *argument;

    va_start(args, command);
    argument = va_arg(args, void *);
    va_end(args);
    if ((command == F_DUPFD || command == F_DUPFD_CLOEXEC) && fails("fcntl"))
        REFUSE(EMFILE, -1);
    return NEXT(fcntl)(fd, command, argument);
}

int pipe2(int fds[2], int flags)
{
    if (fails("pipe2"))
        REFUSE(EMFILE, -1);
    return (int)syscall(SYS_pipe2, fds, flags);
}

int eventfd(unsigned count, int flags)
{
    if (fails("eventfd"))
        REFUSE(EMFILE, -1);
    return (int)syscall(SYS_eventfd2, count, flags);
}

int timerfd_create(clockid_t clock, int flags)
{
    if (fails("timerfd_create"))
        REFUSE(EMFILE, -1);
    return (int)syscall(SYS_timerfd_create, clock, flags);
}

int epoll_create1(int flags)
{
    if (fails("epoll_create1"))
        REFUSE(EMFILE, -1);
    return (int)syscall(SYS_epoll_create1, flags);
}

/* Additions only: they alone take memory. */
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD && fails("epoll_ctl"))
        REFUSE(ENOSPC, -1);
    return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
}

int socket(int domain, int type, int protocol)
{
    if (fails("socket"))
        REFUSE(EMFILE, -1);
    return (int)syscall(SYS_socket, domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int fds[2])
{
    if (fails("socketpair"))
        REFUSE(EMFILE, -1);
    return (int)syscall(SYS_socketpair, domain, type, protocol, fds);
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    if (fails("accept4"))
        REFUSE(EMFILE, -1);
    return NEXT(accept4)(fd, address, size, flags);
}

/* ---- threads and processes */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *userdata)
{
    int r;

    if (fails("pthread_create"))
        return EAGAIN;
    inside = true; /* its mappings and blocks are its own */
    r = NEXT(pthread_create)(thread, attributes, run, userdata);
    inside = false;
    return r;
}

pid_t fork(void)
{
    if (fails("fork"))
        REFUSE(EAGAIN, -1);
    return NEXT(fork)();
}
