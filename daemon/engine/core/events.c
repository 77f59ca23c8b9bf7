/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/core/events.h"

#include <stdlib.h>
#include <unistd.h>

void events_push(struct engine *e, enum engine_event_kind kind, uint32_t port, uint32_t generation,
                 uint32_t why)
{
    pthread_mutex_lock(&e->events.mutex);
    if (e->events.n == e->events.capacity) {
        size_t capacity = e->events.capacity ? 2 * e->events.capacity : 64;
        struct engine_event *events = realloc(e->events.list, capacity * sizeof(*events));
        if (events) {
            e->events.list = events;
            e->events.capacity = capacity;
        }
    }
    if (e->events.n < e->events.capacity)
        e->events.list[e->events.n++] = (struct engine_event){
            .kind = kind, .port = port, .generation = generation, .why = why
        };
    pthread_mutex_unlock(&e->events.mutex);
    uint64_t one = 1;
    ssize_t r = write(e->events.fd, &one, sizeof(one));
    (void)r;
}

int engine_event_fd(const struct engine *e)
{
    return e->events.fd;
}
