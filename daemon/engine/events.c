/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/events.h"

#include <stdlib.h>
#include <unistd.h>

void events_push(struct engine *e, enum engine_event_kind kind, uint32_t port, uint32_t generation,
                 uint32_t why)
{
    pthread_mutex_lock(&e->events_mutex);
    if (e->n_events == e->events_capacity) {
        size_t capacity = e->events_capacity ? 2 * e->events_capacity : 64;
        struct engine_event *events = realloc(e->events, capacity * sizeof(*events));
        if (events) {
            e->events = events;
            e->events_capacity = capacity;
        }
    }
    if (e->n_events < e->events_capacity)
        e->events[e->n_events++] = (struct engine_event){
            .kind = kind, .port = port, .generation = generation, .why = why
        };
    pthread_mutex_unlock(&e->events_mutex);
    uint64_t one = 1;
    ssize_t r = write(e->event_fd, &one, sizeof(one));
    (void)r;
}

int engine_event_fd(const struct engine *e)
{
    return e->event_fd;
}
