/* SPDX-License-Identifier: Apache-2.0 */
/* What the engine asks the kernel and the thread library for: threads, locks, futexes, eventfd,
 * timerfd, epoll, the clock.
 *
 * A system call is one step, and empties the caller's store buffer. epoll is Linux's as far as the
 * engine uses it: an edge is remembered for each epoll that watches; of those that watch
 * exclusively, all that nobody sleeps in are told, up to the first one in which somebody does
 * (fs/eventpoll.c, ep_poll_callback).
 */
#include "tests/sim/shim.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <ucontext.h>

#include "tests/sim/sim.h"

enum {
    FDS_FIRST = 100000,
    FDS_MAX = 64 * SIM_SCALE,
    OBJECTS_MAX = 64 * SIM_SCALE,
    ITEMS_MAX = 256 * SIM_SCALE * SIM_SCALE
};
enum object_kind { OBJECT_NONE, OBJECT_EVENT, OBJECT_TIMER, OBJECT_EPOLL };

struct object {
    enum object_kind kind;
    uint32_t uses;
    uint64_t count;    /* event: its count; timer: expirations */
    uint64_t deadline; /* timer */
};

struct descriptor {
    int object; /* -1: free */
    enum sim_side side;
};

/* A watched descriptor, in the order in which they were added. */
struct item {
    int epoll, object, fd; /* object -1: free */
    uint32_t events;
    epoll_data_t data;
    bool ready;
};

static struct object objects[OBJECTS_MAX];
static struct descriptor fds[FDS_MAX];
static struct item items[ITEMS_MAX];
static uint32_t n_items;
static void (*on_fault)(int signal, siginfo_t *info, void *context);

/* ---- descriptors ---- */

static int object_new(enum object_kind kind, uint64_t count)
{
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (objects[i].kind == OBJECT_NONE) {
            objects[i] = (struct object){ .kind = kind, .count = count, .deadline = SIM_NEVER };
            return i;
        }
    sim_fail("more than %d kernel objects", OBJECTS_MAX);
}

static int fd_new(int object, enum sim_side side)
{
    for (int i = 0; i < FDS_MAX; i++)
        if (fds[i].object < 0) {
            fds[i] = (struct descriptor){ .object = object, .side = side };
            objects[object].uses++;
            return FDS_FIRST + i;
        }
    sim_fail("more than %d descriptors", FDS_MAX);
}

static struct object *object_of(int fd, enum object_kind kind)
{
    int i = fd - FDS_FIRST;
    if (i < 0 || i >= FDS_MAX || fds[i].object < 0 || objects[fds[i].object].kind != kind)
        sim_fail("descriptor %d is not what it is used as", fd);
    return &objects[fds[i].object];
}

static void items_remove(int epoll, int object, int fd)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n_items; i++)
        if (!((epoll < 0 || items[i].epoll == epoll) && (object < 0 || items[i].object == object) &&
              (fd < 0 || items[i].fd == fd)))
            items[kept++] = items[i];
    n_items = kept;
}

static void fd_close(int i)
{
    int object = fds[i].object;
    fds[i].object = -1;
    if (--objects[object].uses > 0)
        return;
    if (objects[object].kind == OBJECT_EPOLL)
        items_remove(object, -1, -1);
    else
        items_remove(-1, object, -1);
    objects[object].kind = OBJECT_NONE;
}

void kernel_begin(void)
{
    memset(objects, 0, sizeof(objects));
    n_items = 0;
    for (int i = 0; i < FDS_MAX; i++)
        fds[i].object = -1;
}

void kernel_crash(void)
{
    for (int i = 0; i < FDS_MAX; i++)
        if (fds[i].object >= 0 && fds[i].side == SIDE_ENGINE)
            fd_close(i);
}

int kernel_descriptors_open(void)
{
    int n = 0;
    for (int i = 0; i < FDS_MAX; i++)
        n += fds[i].object >= 0 && fds[i].side == SIDE_ENGINE;
    return n;
}

static inline __attribute__((always_inline)) void call(void)
{
    sim.caller = __builtin_return_address(0);
    sim_step(STEP_KERNEL, 0, true);
    stores_empty(sim.current);
}

/* ---- epoll ---- */

static bool object_readable(const struct object *object)
{
    return object->count > 0;
}

static bool epoll_wake(int epoll)
{
    return sim_wake(WAIT_EPOLL, (uint64_t)epoll, 1) > 0;
}

/* Its state has changed: who watches is told. */
static void object_edge(int object)
{
    for (uint32_t i = 0; i < n_items; i++) {
        if (items[i].object != object)
            continue;
        items[i].ready = true;
        if (epoll_wake(items[i].epoll) && (items[i].events & EPOLLEXCLUSIVE))
            return;
    }
}

int sim_epoll_create1(int flags)
{
    (void)flags;
    call();
    return fd_new(object_new(OBJECT_EPOLL, 0), SIDE_ENGINE);
}

int sim_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    call();
    int e = (int)(object_of(epoll, OBJECT_EPOLL) - objects), target = fd - FDS_FIRST;
    if (target < 0 || target >= FDS_MAX || fds[target].object < 0) {
        errno = EBADF;
        return -1;
    }
    bool known = false;
    for (uint32_t i = 0; i < n_items; i++)
        known = known ||
                (items[i].epoll == e && items[i].fd == fd && items[i].object == fds[target].object);
    if (operation == EPOLL_CTL_DEL) {
        items_remove(e, -1, fd);
        errno = ENOENT;
        return known ? 0 : -1;
    }
    if (known) {
        errno = EEXIST;
        return -1;
    }
    if (n_items == ITEMS_MAX)
        sim_fail("more than %d watched descriptors", ITEMS_MAX);
    int object = fds[target].object;
    items[n_items++] = (struct item){ .epoll = e,
                                      .object = object,
                                      .fd = fd,
                                      .events = event->events,
                                      .data = event->data,
                                      .ready = object_readable(&objects[object]) };
    if (object_readable(&objects[object]))
        (void)epoll_wake(e);
    return 0;
}

static int epoll_take(int epoll, struct epoll_event *events, int most)
{
    int n = 0;
    for (uint32_t i = 0; i < n_items && n < most; i++)
        if (items[i].epoll == epoll && items[i].ready) {
            items[i].ready = false; /* EPOLLET: all of the engine's are */
            if (object_readable(&objects[items[i].object]))
                events[n++] = (struct epoll_event){ .events = EPOLLIN, .data = items[i].data };
        }
    return n;
}

bool kernel_epoll_is_ready(int fd)
{
    int epoll = (int)(object_of(fd, OBJECT_EPOLL) - objects);
    for (uint32_t i = 0; i < n_items; i++)
        if (items[i].epoll == epoll && items[i].ready && object_readable(&objects[items[i].object]))
            return true;
    return false;
}

static int epoll_wait_until(int fd, struct epoll_event *events, int n, uint64_t deadline)
{
    call();
    int epoll = (int)(object_of(fd, OBJECT_EPOLL) - objects);
    for (;;) {
        int got = epoll_take(epoll, events, n);
        if (got || sim.now >= deadline || !sim_block(WAIT_EPOLL, (uint64_t)epoll, deadline))
            return got;
    }
}

int sim_epoll_wait(int epoll, struct epoll_event *events, int n, int timeout_ms)
{
    return epoll_wait_until(epoll, events, n,
                            timeout_ms < 0 ? SIM_NEVER : sim.now + (uint64_t)timeout_ms * 1000000);
}

static uint64_t duration_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * UINT64_C(1000000000) + (uint64_t)t->tv_nsec;
}

int sim_epoll_pwait2(int epoll, struct epoll_event *events, int n, const struct timespec *timeout,
                     const sigset_t *mask)
{
    (void)mask;
    return epoll_wait_until(epoll, events, n, timeout ? sim.now + duration_of(timeout) : SIM_NEVER);
}

/* ---- eventfd, timerfd ---- */

int sim_eventfd(unsigned count, int flags)
{
    (void)flags;
    call();
    return fd_new(object_new(OBJECT_EVENT, count), SIDE_ENGINE);
}

void kernel_doorbell_close(int fd)
{
    fd_close(fd - FDS_FIRST);
}

int kernel_doorbell_new(void)
{
    return fd_new(object_new(OBJECT_EVENT, 0), SIDE_CLIENT);
}

ssize_t sim_write(int fd, const void *data, size_t size)
{
    call();
    struct object *object = object_of(fd, OBJECT_EVENT);
    uint64_t add;
    memcpy(&add, data, sizeof(add));
    object->count += add;
    object_edge((int)(object - objects));
    return (ssize_t)size;
}

void kernel_doorbell_ring(int fd)
{
    (void)sim_write(fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

/* What counts: an eventfd, or a timerfd. */
static struct object *counter_of(int fd)
{
    int i = fd - FDS_FIRST;
    bool is_timer =
        i >= 0 && i < FDS_MAX && fds[i].object >= 0 && objects[fds[i].object].kind == OBJECT_TIMER;
    return object_of(fd, is_timer ? OBJECT_TIMER : OBJECT_EVENT);
}

ssize_t sim_read(int fd, void *data, size_t size)
{
    call();
    struct object *object = counter_of(fd);
    if (object->count == 0) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(data, &object->count, sizeof(object->count));
    object->count = 0;
    return (ssize_t)size;
}

int sim_close(int fd)
{
    call();
    if (fd < FDS_FIRST || fds[fd - FDS_FIRST].object < 0)
        sim_fail("descriptor %d is closed, and is not open", fd);
    fd_close(fd - FDS_FIRST);
    return 0;
}

int sim_fcntl(int fd, int command, ...)
{
    call();
    if (command != F_DUPFD_CLOEXEC || fd < FDS_FIRST)
        sim_fail("fcntl %d of descriptor %d", command, fd);
    return fd_new(fds[fd - FDS_FIRST].object, SIDE_ENGINE);
}

int sim_timerfd_create(int clock, int flags)
{
    (void)clock, (void)flags;
    call();
    return fd_new(object_new(OBJECT_TIMER, 0), SIDE_ENGINE);
}

int sim_timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before)
{
    (void)before;
    call();
    struct object *timer = object_of(fd, OBJECT_TIMER);
    uint64_t value = duration_of(&when->it_value);
    timer->count = 0;
    timer->deadline = value == 0 ? SIM_NEVER : flags & TFD_TIMER_ABSTIME ? value : sim.now + value;
    sim_deadline_changed();
    return 0;
}

uint64_t kernel_next_deadline(void)
{
    uint64_t next = SIM_NEVER;
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (objects[i].kind == OBJECT_TIMER && objects[i].deadline < next)
            next = objects[i].deadline;
    return next;
}

void kernel_timers(void)
{
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (objects[i].kind == OBJECT_TIMER && objects[i].deadline <= sim.now) {
            objects[i].deadline = SIM_NEVER;
            objects[i].count++;
            object_edge(i);
        }
}

/* ---- the clock ---- */

int sim_clock_gettime(clockid_t clock, struct timespec *ret)
{
    (void)clock;
    sim_step(STEP_PLACE, 0, false);
    *ret = (struct timespec){ .tv_sec = (time_t)(sim.now / 1000000000),
                              .tv_nsec = (long)(sim.now % 1000000000) };
    return 0;
}

int sim_nanosleep(const struct timespec *duration, struct timespec *left)
{
    (void)left;
    call();
    sim_sleep_ns(duration_of(duration));
    return 0;
}

/* ---- futexes ---- */

/* Two mappings of a word are one word. */
uint64_t kernel_futex_key(const volatile void *word)
{
    uint64_t place = memory_place(word);
    return place ? place : (uint64_t)(uintptr_t)word;
}

static long futex(const volatile void *word, int operation, uint32_t value,
                  const struct timespec *timeout)
{
    call();
    uint64_t key = kernel_futex_key(word);
    if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE)
        return (long)sim_wake(WAIT_FUTEX, key, value > INT32_MAX ? 0 : value);
    if ((uint32_t)word_read(word, 4) != value) {
        errno = EAGAIN;
        return -1;
    }
    if (sim_block(WAIT_FUTEX, key, timeout ? sim.now + duration_of(timeout) : SIM_NEVER))
        return 0;
    errno = ETIMEDOUT;
    return -1;
}

long sim_syscall(long number, ...)
{
    va_list arguments;
    va_start(arguments, number);
    long result = 0;
    if (number == SYS_futex) {
        const volatile void *word = va_arg(arguments, const volatile void *);
        int operation = va_arg(arguments, int);
        uint32_t value = va_arg(arguments, uint32_t);
        result = futex(word, operation, value, va_arg(arguments, const struct timespec *));
    } else if (number == SYS_gettid) {
        result = (long)sim.current->id + 1;
    } else if (number == SYS_membarrier) {
        /* one command says that the other will come, which empties all store buffers */
        call();
        for (uint32_t i = 0; i < FIBERS_MAX; i++)
            stores_empty(&sim.fibers[i]);
    } else if (number == SYS_exit_group) {
        sim.current->faulting = false; /* it is noted */
        sim_crash();
    } else if (number == SYS_rt_sigaction || number == SYS_rt_sigprocmask) {
        call(); /* on its way to die of a signal */
    } else {
        sim_fail("system call %ld is not simulated", number);
    }
    va_end(arguments);
    return result;
}

/* ---- threads and locks ---- */

int sim_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *),
                       void *argument)
{
    (void)attributes;
    call();
    if (sim.booted && random_one_in(&sim.chance, sim.plan.thread_fails_one_in))
        return EAGAIN;
    *thread = sim_spawn(SIDE_ENGINE, main, argument)->id;
    return 0;
}

int sim_pthread_join(pthread_t thread, void **ret)
{
    (void)ret;
    call();
    struct fiber *f = &sim.fibers[thread];
    while (f->state != FIBER_ENDED)
        (void)sim_block(WAIT_JOIN, thread, SIM_NEVER);
    f->state = FIBER_FREE;
    return 0;
}

int sim_pthread_tryjoin_np(pthread_t thread, void **ret)
{
    (void)ret;
    call();
    struct fiber *f = &sim.fibers[thread];
    if (f->state != FIBER_ENDED)
        return EBUSY;
    f->state = FIBER_FREE;
    return 0;
}

static uint64_t *mutex_word(pthread_mutex_t *mutex)
{
    return (uint64_t *)(void *)mutex;
}

int sim_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    (void)attributes;
    memset(mutex, 0, sizeof(*mutex));
    return 0;
}

int sim_pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    if (*mutex_word(mutex))
        sim_fail("a lock is destroyed while it is held");
    return 0;
}

int sim_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    sim_step(STEP_LOCK, (uint64_t)(uintptr_t)mutex, true);
    stores_empty(sim.current);
    while (*mutex_word(mutex))
        (void)sim_block(WAIT_LOCK, (uint64_t)(uintptr_t)mutex, SIM_NEVER);
    *mutex_word(mutex) = sim.current->id + 1;
    return 0;
}

int sim_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    sim_step(STEP_LOCK, (uint64_t)(uintptr_t)mutex, true);
    stores_empty(sim.current);
    if (*mutex_word(mutex) != sim.current->id + 1)
        sim_fail("a lock is given up by who does not hold it");
    *mutex_word(mutex) = 0;
    (void)sim_wake(WAIT_LOCK, (uint64_t)(uintptr_t)mutex, 1);
    return 0;
}

/* ---- signals: a handler's fault, which ends the process ---- */

int sim_sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
    (void)before;
    if (signal == SIGSEGV && (action->sa_flags & SA_SIGINFO))
        on_fault = action->sa_sigaction;
    return 0;
}

int sim_raise(int signal)
{
    sim.current->faulting = false; /* it is noted */
    if (signal > 0)
        sim_crash();
    return EINVAL;
}

int sim_atexit(void (*function)(void))
{
    (void)function; /* a simulated process has no orderly end of its own */
    return 0;
}

void sim_fault(void)
{
    siginfo_t info = { .si_signo = SIGSEGV, .si_code = SEGV_MAPERR };
    ucontext_t context = { .uc_flags = 0 };
    sim.current->faulting = true;
    on_fault(SIGSEGV, &info, &context);
    sim_fail("a fault's signal handler has returned");
}

/* ---- what is asked for, and means nothing here ---- */

int sim_sigaltstack(const stack_t *stack, stack_t *before)
{
    (void)stack, (void)before;
    return 0;
}
int sim_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    (void)pid, (void)size, (void)set;
    return 0;
}
int sim_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    (void)pid;
    memset(set, 0, size);
    return 0;
}
pid_t sim_getpid(void)
{
    return 1;
}
