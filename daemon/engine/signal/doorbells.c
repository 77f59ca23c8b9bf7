/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/signal/doorbells.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "daemon/engine/signal/loud.h"
#include "daemon/engine/signal/wake.h"

enum { EVENT_WAKE, EVENT_DOORBELL, EVENT_STALL };

static uint64_t doorbells_event_data(unsigned kind, uint32_t index)
{
    return (uint64_t)kind << 32 | index;
}

int doorbells_open(struct engine *e)
{
    e->watch.rescue_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    e->watch.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return e->watch.rescue_fd < 0 || e->watch.fd < 0 ? -errno : 0;
}

void doorbells_close(struct engine *e)
{
    if (e->watch.rescue_fd >= 0)
        close(e->watch.rescue_fd);
    if (e->watch.fd >= 0)
        close(e->watch.fd);
    e->watch.rescue_fd = e->watch.fd = -1;
}

static int doorbells_add(int epoll_fd, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = { .events = events, .data.u64 = data };
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int doorbells_worker_init(struct worker *w)
{
    w->doorbells.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->doorbells.epoll_fd < 0)
        return -errno;
    w->doorbells.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (w->doorbells.wake_fd < 0)
        return -errno;
    int r = doorbells_add(w->doorbells.epoll_fd, w->doorbells.wake_fd, EPOLLIN | EPOLLET,
                          doorbells_event_data(EVENT_WAKE, 0));
    if (r == 0)
        r = doorbells_add(w->doorbells.epoll_fd, w->engine->watch.rescue_fd,
                          EPOLLIN | EPOLLET | EPOLLEXCLUSIVE, doorbells_event_data(EVENT_STALL, 0));
    return r;
}

void doorbells_worker_fini(struct worker *w)
{
    if (w->doorbells.wake_fd >= 0)
        close(w->doorbells.wake_fd);
    if (w->doorbells.epoll_fd >= 0)
        close(w->doorbells.epoll_fd);
    w->doorbells.wake_fd = w->doorbells.epoll_fd = -1;
}

int doorbells_watch_by(struct worker *w, uint32_t port, int fd)
{
    int r = doorbells_add(w->doorbells.epoll_fd, fd, EPOLLIN | EPOLLET | EPOLLEXCLUSIVE,
                          doorbells_event_data(EVENT_DOORBELL, port));
    return r == -EEXIST ? 0 : r;
}

void doorbells_unwatch_by(struct worker *w, int fd)
{
    (void)epoll_ctl(w->doorbells.epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

int doorbells_watch(struct engine *e, uint32_t port, int fd)
{
    for (uint32_t i = 0; i < engine_workers(e); i++) {
        int r = doorbells_watch_by(e->workers[i], port, fd);
        if (r < 0)
            return r;
    }
    return 0;
}

void doorbells_unwatch(struct engine *e, int fd)
{
    for (uint32_t i = 0; i < engine_workers(e); i++)
        doorbells_unwatch_by(e->workers[i], fd);
}

static unsigned doorbells_note(struct worker *w, const struct epoll_event *event)
{
    struct engine *e = w->engine;
    uint32_t index = (uint32_t)event->data.u64;
    switch (event->data.u64 >> 32) {
    case EVENT_DOORBELL:
        loud_note_bell(&e->ports.table[index]);
        if (load_acquire(&e->ports.table[index].state) == PORT_OPEN)
            source_signal(e, w, engine_source_of_port(e, index));
        return GOT_EVENT;
    case EVENT_STALL:
        store_relaxed(&e->watch.rescue_armed, 0);
        w->loop.stalled = true; /* looked after when awake: a sleeper touches no client memory */
        return GOT_EVENT;
    default:
        return GOT_EVENT | GOT_TOKEN;
    }
}

/* All of them: a doorbell's edge comes to one worker, and what is left here would wait for this
 * one, who may hang in the next handler. */
unsigned doorbells_take(struct worker *w, uint64_t limit_ns)
{
    enum { AT_ONCE = 16 };
    struct epoll_event events[AT_ONCE];
    unsigned got = 0;
    int n;
    do {
        struct timespec limit = { .tv_sec = (time_t)(limit_ns / 1000000000),
                                  .tv_nsec = (long)(limit_ns % 1000000000) };
        /* The ordinary calls are the old ones: valgrind, for one, does not know the newer one. */
        n = limit_ns == WITHOUT_LIMIT || limit_ns == 0
                ? epoll_wait(w->doorbells.epoll_fd, events, AT_ONCE, limit_ns ? -1 : 0)
                : epoll_pwait2(w->doorbells.epoll_fd, events, AT_ONCE, &limit, NULL);
        if (n < 0 && errno == EBADF)
            abort(); /* somebody has closed what is not his: a start makes it anew */
        for (int i = 0; i < n; i++)
            got |= doorbells_note(w, &events[i]);
        limit_ns = 0;
    } while (n == AT_ONCE);
    return got;
}

void doorbells_poll(struct worker *w)
{
    (void)doorbells_take(w, 0);
}
