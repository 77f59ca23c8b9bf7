/* SPDX-License-Identifier: Apache-2.0 */
/* Ports and what becomes of them: the events that workers leave for the control thread. */
#include "daemon/engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/engine/core/core.h"
#include "daemon/engine/ports/port.h"
#include "daemon/engine/signal/quiesce.h"

int engine_port_add(struct engine *e, const struct engine_port_info *info, actor_ref *ret_ref)
{
    return port_add(e, info, ret_ref);
}

int engine_port_remove(struct engine *e, uint32_t id, uint32_t generation)
{
    return port_remove(e, id, generation);
}

bool engine_collect(struct engine *e)
{
    return port_collect(e);
}

bool engine_event_next(struct engine *e, struct engine_event *ret_event)
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
    if (found && ret_event->kind == ENGINE_EVENT_PORT_REMOVED) {
        /* Workers may still hold pointers into its memory until they have passed a quiescent
         * point. */
        port_reap(e, ret_event->port, quiesce_wait(e, 200 * 1000 * 1000));
    }
    return found;
}
