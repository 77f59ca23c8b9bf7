/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine's sources are compiled with for the simulator (-include, and -DODEON_SIMULATE):
 * every atomic operation, fence, lock, clock, wait, thread and mapping is a call of the simulator,
 * in which another fiber may go on, a store may be kept back, or all may die.
 *
 * The system's headers come first, so that only what the engine writes itself is replaced. Plain
 * loads and stores stay what they are: who reads them has been told by an atomic one, or has no
 * right to (tests/sim/README.md).
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* ---- words (words.c) ---- */

enum sim_rmw { SIM_EXCHANGE, SIM_ADD, SIM_SUB, SIM_OR, SIM_AND };

uint64_t sim_load(const volatile void *at, unsigned size);
void sim_store(volatile void *at, unsigned size, uint64_t value, memory_order order);
void sim_store_pair(volatile void *at, uint64_t first, uint64_t second);
uint64_t sim_read_modify_write(enum sim_rmw how, volatile void *at, unsigned size, uint64_t value);
_Bool sim_compare_exchange(volatile void *at, unsigned size, void *expected, uint64_t desired);
void sim_fence(memory_order order);
void sim_instruction(void); /* a place between two instructions: somebody else's turn, or the end */
void sim_relax(void);

/* ---- the kernel (kernel.c) ---- */

long sim_syscall(long number, ...);
int sim_clock_gettime(clockid_t clock, struct timespec *ret);
int sim_nanosleep(const struct timespec *duration, struct timespec *left);
int sim_eventfd(unsigned count, int flags);
int sim_timerfd_create(int clock, int flags);
int sim_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                        struct itimerspec *before);
int sim_epoll_create1(int flags);
int sim_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int sim_epoll_wait(int epoll, struct epoll_event *events, int n, int timeout_ms);
int sim_epoll_pwait2(int epoll, struct epoll_event *events, int n, const struct timespec *timeout,
                     const sigset_t *mask);
ssize_t sim_read(int fd, void *data, size_t size);
ssize_t sim_write(int fd, const void *data, size_t size);
int sim_close(int fd);
int sim_fcntl(int fd, int command, ...);
int sim_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *),
                       void *argument);
int sim_pthread_join(pthread_t thread, void **ret);
int sim_pthread_tryjoin_np(pthread_t thread, void **ret);
int sim_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int sim_pthread_mutex_destroy(pthread_mutex_t *mutex);
int sim_pthread_mutex_lock(pthread_mutex_t *mutex);
int sim_pthread_mutex_unlock(pthread_mutex_t *mutex);
int sim_sigaction(int signal, const struct sigaction *action, struct sigaction *before);
int sim_raise(int signal);
int sim_atexit(void (*function)(void));
int sim_sigaltstack(const stack_t *stack, stack_t *before);
int sim_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int sim_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
pid_t sim_getpid(void);

/* ---- memory (memory.c) ---- */

void *sim_malloc(size_t size);
void *sim_calloc(size_t n, size_t size);
void *sim_realloc(void *memory, size_t size);
void *sim_aligned_alloc(size_t alignment, size_t size);
void sim_free(void *memory);
void *sim_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int sim_munmap(void *address, size_t size);

extern int sim_seed_bug; /* tests/seeded/seeds.h: which deliberate bug is on */

#ifdef ODEON_SIMULATE /* the simulator's own files see the functions alone */

#define SIM_TYPE(p) __typeof__((void)0, *(p))
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_weak_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#undef atomic_thread_fence
#undef atomic_signal_fence
#define atomic_load_explicit(p, order) ((SIM_TYPE(p))sim_load((p), sizeof(*(p))))
#define atomic_store_explicit(p, v, order)                                                         \
    sim_store((p), sizeof(*(p)), (uint64_t)(SIM_TYPE(p))(v), (order))
#define SIM_RMW(how, p, v)                                                                         \
    ({ (SIM_TYPE(p)) sim_read_modify_write((how), (p), sizeof(*(p)), (uint64_t)(SIM_TYPE(p))(v)); })
#define atomic_exchange_explicit(p, v, order)  SIM_RMW(SIM_EXCHANGE, p, v)
#define atomic_fetch_add_explicit(p, v, order) SIM_RMW(SIM_ADD, p, v)
#define atomic_fetch_sub_explicit(p, v, order) SIM_RMW(SIM_SUB, p, v)
#define atomic_fetch_or_explicit(p, v, order)  SIM_RMW(SIM_OR, p, v)
#define atomic_fetch_and_explicit(p, v, order) SIM_RMW(SIM_AND, p, v)
#define atomic_compare_exchange_strong_explicit(p, expected, desired, order, failed)               \
    sim_compare_exchange((p), sizeof(*(p)), (expected), (uint64_t)(SIM_TYPE(p))(desired))
#define atomic_compare_exchange_weak_explicit atomic_compare_exchange_strong_explicit
#define atomic_thread_fence(order)            sim_fence(order)
/* no instruction, but a place to die at: crash_order() */
#define atomic_signal_fence(order)        sim_instruction()
#define __builtin_ia32_pause()            sim_relax()
#define syscall                           sim_syscall
#define clock_gettime                     sim_clock_gettime
#define nanosleep                         sim_nanosleep
#define eventfd                           sim_eventfd
#define timerfd_create                    sim_timerfd_create
#define timerfd_settime                   sim_timerfd_settime
#define epoll_create1                     sim_epoll_create1
#define epoll_ctl                         sim_epoll_ctl
#define epoll_wait                        sim_epoll_wait
#define epoll_pwait2                      sim_epoll_pwait2
#define read(fd, data, n)                 sim_read(fd, data, n)
#define write(fd, data, n)                sim_write(fd, data, n)
#define close(fd)                         sim_close(fd)
#define fcntl                             sim_fcntl
#define pthread_create                    sim_pthread_create
#define pthread_join                      sim_pthread_join
#define pthread_tryjoin_np                sim_pthread_tryjoin_np
#define pthread_mutex_init                sim_pthread_mutex_init
#define pthread_mutex_destroy             sim_pthread_mutex_destroy
#define pthread_mutex_lock                sim_pthread_mutex_lock
#define pthread_mutex_unlock              sim_pthread_mutex_unlock
#define sigaction(signal, action, before) sim_sigaction(signal, action, before)
#define atexit(function)                  sim_atexit(function)
#define at_quick_exit(function)           sim_atexit(function)
#define raise(signal)                     sim_raise(signal)
/* saved and restored with each fiber (fiber.c) */
#define _Thread_local __attribute__((section("sim_fiber_local")))
#define sigaltstack(stack, before) sim_sigaltstack(stack, before)
#define sched_setaffinity          sim_sched_setaffinity
#define sched_getaffinity          sim_sched_getaffinity
#define getpid                     sim_getpid
#define malloc(size)               sim_malloc(size)
#define calloc(n, size)            sim_calloc(n, size)
#define realloc(memory, size)      sim_realloc(memory, size)
#define aligned_alloc(a, size)     sim_aligned_alloc(a, size)
#define free(memory)               sim_free(memory)
#define mmap                       sim_mmap
#define munmap                     sim_munmap

#endif
