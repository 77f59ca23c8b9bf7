/* SPDX-License-Identifier: Apache-2.0 */
/* Ports and what becomes of them: the events that workers leave for the control thread. */
#include "daemon/engine/engine.h"

#include <string.h>
#include <unistd.h>

#include "daemon/engine/core/core.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/ports/reap.h"

int engine_port_add(struct engine *e, const struct engine_port_info *info, actor_ref *ret_ref)
{
    return port_add(e, info, ret_ref);
}

int engine_port_remove(struct engine *e, uint32_t id, uint32_t generation)
{
    return port_remove(e, id, generation);
}

bool engine_ports_are_going(const struct engine *e)
{
    return reap_some_wait(e);
}

static bool engine_events_take(struct engine *e, struct engine_event *ret_event)
{
    uint64_t count;
    pthread_mutex_lock(&e->events.mutex);
    bool found = e->events.n > 0;
    if (found) {
        *ret_event = e->events.list[0];
        memmove(e->events.list, e->events.list + 1, --e->events.n * sizeof(*e->events.list));
    } else {
        ssize_t r = read(e->events.fd, &count, sizeof(count));
        (void)r;
    }
    pthread_mutex_unlock(&e->events.mutex);
    return found;
}

bool engine_event_next(struct engine *e, struct engine_event *ret_event)
{
    while (engine_events_take(e, ret_event)) {
        if (ret_event->kind != ENGINE_EVENT_PORT_REMOVED)
            return true;
        /* told when nobody can look at its memory any more */
        reap_port(e, ret_event->id, ret_event->why);
    }
    (void)reap_collect(e);
    return reap_next(e, ret_event);
}
