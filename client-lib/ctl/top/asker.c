/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that takes looks (asker.h). */
#include "client-lib/ctl/top/asker.h"
#include "client-lib/ctl/top/source.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { ASKER_END_MS = 300 };
#define ASKER_AGAIN_NS UINT64_C(250000000)

struct asker {
    struct source *source; /* the thread's */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wished, ended;
    int fd;
    uint64_t every_ns; /* constant */
    /* under the mutex */
    enum view_id view;
    bool is_paused, is_changed, is_over, has_ended;
    struct look *look; /* that has not been taken yet */
};

static struct timespec asker_time(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
                              .tv_nsec = (long)(ns % 1000000000) };
}

static uint64_t asker_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Until there is something to do; false: it is over. *ret_fresh: the time has come. Before that,
 * rows that were asked for too early are asked for again at `again_ns`. */
static bool asker_wait(struct asker *asker, uint64_t next_ns, uint64_t again_ns, bool *ret_fresh)
{
    for (;;) {
        bool is_free = !asker->look, goes_on = is_free && !asker->is_paused;
        struct timespec until = asker_time(next_ns < again_ns ? next_ns : again_ns);
        uint64_t now_ns = asker_now_ns();

        if (asker->is_over)
            return false;
        *ret_fresh = goes_on && now_ns >= next_ns;
        if (*ret_fresh || (is_free && asker->is_changed) || (goes_on && now_ns >= again_ns))
            return true;
        if (goes_on)
            (void)pthread_cond_timedwait(&asker->wished, &asker->mutex, &until);
        else
            (void)pthread_cond_wait(&asker->wished, &asker->mutex);
    }
}

static void asker_hand_out(struct asker *asker, struct look *look)
{
    const uint64_t one = 1;

    asker->look = look;
    if (look && write(asker->fd, &one, sizeof(one)) < 0)
        abort(); /* an eventfd that has been read takes a 1 */
}

static void *asker_main(void *argument)
{
    struct asker *asker = argument;
    uint64_t next_ns = 0, again_ns = UINT64_MAX;
    bool fresh;

    pthread_mutex_lock(&asker->mutex);
    while (asker_wait(asker, next_ns, again_ns, &fresh)) {
        enum view_id view = asker->view;
        bool may_ask = !asker->is_paused;
        struct look *look;

        asker->is_changed = false;
        pthread_mutex_unlock(&asker->mutex);
        if (fresh)
            next_ns = asker_now_ns() + asker->every_ns;
        look = source_look(asker->source, view, fresh, may_ask);
        again_ns = look && look->is_early ? asker_now_ns() + ASKER_AGAIN_NS : UINT64_MAX;
        pthread_mutex_lock(&asker->mutex);
        asker_hand_out(asker, look);
    }
    asker->has_ended = true;
    pthread_cond_signal(&asker->ended);
    pthread_mutex_unlock(&asker->mutex);
    return NULL;
}

static void asker_free(struct asker *asker)
{
    look_free(asker->look);
    source_free(asker->source);
    pthread_cond_destroy(&asker->wished);
    pthread_cond_destroy(&asker->ended);
    pthread_mutex_destroy(&asker->mutex);
    if (asker->fd >= 0)
        close(asker->fd);
    free(asker);
}

/* Signals are for the program's thread. */
static int asker_begin(struct asker *asker)
{
    sigset_t all, before;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    r = pthread_create(&asker->thread, NULL, asker_main, asker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

struct asker *asker_start(struct ctl *ctl, double seconds, enum view_id view)
{
    struct asker *asker = calloc(1, sizeof(*asker));
    pthread_condattr_t attributes;

    if (!asker)
        return NULL;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&asker->wished, &attributes);
    pthread_cond_init(&asker->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&asker->mutex, NULL);
    asker->every_ns = (uint64_t)(seconds * 1e9);
    asker->view = view;
    asker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    asker->source = source_new(ctl);
    if (asker->fd < 0 || !asker->source || asker_begin(asker) != 0) {
        asker_free(asker);
        return NULL;
    }
    return asker;
}

void asker_wish(struct asker *asker, enum view_id view, bool paused)
{
    pthread_mutex_lock(&asker->mutex);
    asker->is_changed = asker->is_changed || view != asker->view;
    asker->view = view;
    asker->is_paused = paused;
    pthread_cond_signal(&asker->wished);
    pthread_mutex_unlock(&asker->mutex);
}

int asker_fd(const struct asker *asker)
{
    return asker->fd;
}

struct look *asker_take(struct asker *asker)
{
    struct look *look;
    uint64_t count;

    pthread_mutex_lock(&asker->mutex);
    look = asker->look;
    asker->look = NULL;
    if (read(asker->fd, &count, sizeof(count)) < 0)
        look = look_free(look); /* nothing has been announced */
    pthread_cond_signal(&asker->wished);
    pthread_mutex_unlock(&asker->mutex);
    return look;
}

struct asker *asker_stop(struct asker *asker)
{
    struct timespec until = asker_time(asker_now_ns() + ASKER_END_MS * UINT64_C(1000000));
    bool has_ended;

    pthread_mutex_lock(&asker->mutex);
    asker->is_over = true;
    pthread_cond_signal(&asker->wished);
    while (!asker->has_ended &&
           pthread_cond_timedwait(&asker->ended, &asker->mutex, &until) != ETIMEDOUT)
        ;
    has_ended = asker->has_ended;
    pthread_mutex_unlock(&asker->mutex);
    if (!has_ended) {
        (void)pthread_detach(asker->thread);
        return NULL;
    }
    (void)pthread_join(asker->thread, NULL);
    asker_free(asker);
    return NULL;
}
