/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for room in the submission ring (post.h). Who posts, without the turn. */
#include "client-lib/src/post.h"

#include <errno.h>

#include "client-lib/src/error.h"
#include "client-lib/src/port_explain.h"
#include "client-lib/src/port_lock.h"
#include "client-lib/src/request.h"

static int room_look(struct odeon_port *port, uint64_t bytes)
{
    int result;

    port_lock(port);
    result = port_has_room(port, bytes);
    port_unlock(port);
    return result;
}

static int room_spin(struct odeon_port *port, uint64_t bytes)
{
    int64_t end_ns = monotonic_ns() + WAIT_SPIN_NS;
    int result;

    do {
        for (int i = 0; i < 16; i++)
            cpu_relax();
        result = room_look(port, bytes);
    } while (result == 0 && monotonic_ns() < end_ns);
    return result;
}

/* Sleeps once, until the executor has taken something, the deadline, or the slice's end. */
static int room_sleep(struct odeon_port *port, uint64_t bytes, int64_t deadline_ns,
                      int64_t slice_ns)
{
    uint32_t seen = atomic_load_explicit(&port->theirs->room_futex, memory_order_acquire);
    int result;

    /* port_layout.P4: set the word, full barrier, look again; the executor publishes its head, full
     *     barrier,
     * looks at the word and then counts room_futex up.  `seen` was read before: a count that goes
     * up from here on lets the wait return at once. */
    atomic_store_explicit(&port->mine->room_wait,
                          port_wait_word(&port->room_sequence, PORT_WAIT_FUTEX),
                          memory_order_relaxed);
    full_barrier();
    result = room_look(port, bytes);
    if (result == 0 && port_open(port))
        futex_wait_shared(&port->theirs->room_futex, seen, deadline_ns, slice_ns);
    atomic_store_explicit(&port->mine->room_wait, PORT_WAIT_NONE, memory_order_relaxed);
    return result == 0 ? room_look(port, bytes) : result;
}

/* `room_sequence` and the words in the port are this thread's. */
static int room_wait(struct odeon_port *port, uint64_t bytes, int64_t deadline_ns)
{
    int64_t slice_ns = WAIT_SLICE_FIRST_NS;
    int result = port->shared ? 0 : room_spin(port, bytes);

    while (result == 0) {
        if (!port_open(port))
            return port_explain(port);
        if (deadline_ns != DEADLINE_NEVER && monotonic_ns() >= deadline_ns)
            return error_set_literal(-ETIMEDOUT,
                                     "the port's submission ring stayed full: the service takes "
                                     "less than is posted, or stands still");
        result = room_sleep(port, bytes, deadline_ns, slice_ns);
        if (result == 0 && port->client)
            client_poll_events(port->client); /* is the service still there? */
        slice_ns = slice_ns * 2 > WAIT_SLICE_MAX_NS ? WAIT_SLICE_MAX_NS : slice_ns * 2;
    }
    return result < 0 ? result : 0;
}

int port_wait_for_room(struct odeon_port *port, uint64_t bytes, int64_t deadline_ns)
{
    int result;

    port_lock(port);
    port_publish(port); /* what is reserved and not published never makes room */
    port_unlock(port);
    if (!port->shared)
        return room_wait(port, bytes, deadline_ns);
    if (!mutex_lock_until(&port->room_turn, deadline_ns))
        return error_set_literal(-ETIMEDOUT, "the port's submission ring stayed full, and other "
                                             "threads have waited for room all the time");
    result = room_wait(port, bytes, deadline_ns);
    pthread_mutex_unlock(&port->room_turn);
    return result;
}
