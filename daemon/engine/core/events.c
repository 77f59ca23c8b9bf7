/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/events.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "daemon/engine/base/points.h"

int events_open(struct engine *e)
{
    e->events.list = calloc(EVENTS_MAX, sizeof(*e->events.list));
    if (!e->events.list)
        return -ENOMEM;
    e->events.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return e->events.fd < 0 ? -errno : 0;
}

/* What a port's end is told by comes once. All else may come again before it is heard. */
static bool events_is_there(const struct engine *e, const struct engine_event *event)
{
    for (size_t i = 0; i < e->events.n; i++) {
        const struct engine_event *at = &e->events.list[i];
        if (at->kind == event->kind && at->id == event->id && at->generation == event->generation)
            return true;
    }
    return false;
}

void events_push(struct engine *e, enum engine_event_kind kind, uint32_t id, uint32_t generation,
                 uint32_t why)
{
    struct engine_event event = { .kind = kind, .id = id, .generation = generation, .why = why };
    pthread_mutex_lock(&e->events.mutex);
    if (!events_is_there(e, &event)) {
        engine_check("events.V1", e->events.n < EVENTS_MAX);
        if (e->events.n < EVENTS_MAX)
            e->events.list[e->events.n++] = event;
    }
    pthread_mutex_unlock(&e->events.mutex);
    events_ring(e);
}

void events_ring(struct engine *e)
{
    uint64_t one = 1;
    ssize_t r = write(e->events.fd, &one, sizeof(one));
    (void)r;
}

int engine_event_fd(const struct engine *e)
{
    return e->events.fd;
}
