/* SPDX-License-Identifier: Apache-2.0 */
/* Giving deliveries back: room of the ring, and what lies beside it. The receiving thread alone;
 * port.h has the invariants (port.L2 to port.L4). */
#include "client-lib/src/release.h"

#include <errno.h>
#include <stdlib.h>

#include "client-lib/src/awaited.h"
#include "client-lib/src/error.h"

static void release_room(struct odeon_port *port, uint64_t cursor)
{
    /* what lies beside the ring does not hold the ring: it may have been given back further */
    if ((int64_t)(cursor - port->delivery_released) < 0)
        cursor = port->delivery_released;
    /* what lies behind the last one that was handed out was dropped, or copied aside */
    if ((int64_t)(cursor - port->delivery_lent) >= 0)
        cursor = port->delivery_taken;
    port->lent = cursor != port->delivery_taken;
    if (port->delivery_released == cursor)
        return;
    port->delivery_released = cursor;
    /* port_layout.P1: publish that nothing in front of the head is read any more; the executor's
     *     acquire of the
     * head lets it write there */
    atomic_store_explicit(&port->mine->delivery_head, cursor, memory_order_release);
    /* as port_layout.P4: the executor sets `backlog`, full barrier, looks at the head again */
    full_barrier();
    if (atomic_load_explicit(&port->theirs->backlog, memory_order_relaxed) != 0)
        port_ring_doorbell(port);
}

void port_give_back(struct odeon_port *port)
{
    if (!port->lent)
        release_room(port, port->delivery_taken);
}

/* The oldest of those that were handed out and lie beside the ring. */
static void release_kept(struct odeon_port *port, struct port_kept *kept)
{
    STAILQ_REMOVE_HEAD(&port->returned, link);
    if (kept->of_awaited)
        awaited_free_kept(port, kept);
    else
        free(kept);
}

void odeon_port_release(struct odeon_port *port)
{
    struct port_kept *kept;

    if (!port || port_forked(port))
        return;
    while ((kept = STAILQ_FIRST(&port->returned)) != NULL)
        release_kept(port, kept);
    release_room(port, port->delivery_taken);
}

/* Where a delivery of the ring ends, as a cursor: false: it is none, or not held. A record ends
 * with its payload and what fills that up to 8 bytes. */
static bool release_find_in_ring(const struct odeon_port *port, const struct odeon_delivery *last,
                                 uint64_t *ret_cursor)
{
    uint64_t held = port->delivery_taken - port->delivery_released;
    uint64_t begin = (uintptr_t)last->data - (uintptr_t)port->delivery, bytes;

    if (begin > 2 * port->delivery_size || last->size > port->delivery_size)
        return false;
    bytes = (begin + ((last->size + UINT64_C(7)) & ~UINT64_C(7)) - port->delivery_released) &
            (port->delivery_size - 1);
    if (bytes == 0)
        bytes = port->delivery_size;
    *ret_cursor = port->delivery_released + bytes;
    return bytes <= held;
}

static const struct port_kept *release_find_kept(const struct odeon_port *port,
                                                 const struct odeon_delivery *last)
{
    const struct port_kept *kept;

    STAILQ_FOREACH(kept, &port->returned, link)
    if (kept->delivery.data == last->data)
        return kept;
    return NULL;
}

int odeon_port_release_until(struct odeon_port *port, const struct odeon_delivery *last)
{
    const struct port_kept *found;
    struct port_kept *kept;
    uint64_t cursor;

    if (!port || !last)
        return error_set_literal(-EINVAL, "odeon_port_release_until: no port or no delivery");
    if (port_forked(port))
        return port_explain_fork();
    if (release_find_in_ring(port, last, &cursor)) {
        /* those that were handed out before it: behind it the ring had been taken further */
        while ((kept = STAILQ_FIRST(&port->returned)) != NULL &&
               (int64_t)(kept->cursor - cursor) < 0)
            release_kept(port, kept);
        release_room(port, cursor);
        return 0;
    }
    found = release_find_kept(port, last);
    if (!found)
        return error_set_literal(-EINVAL, "odeon_port_release_until: this delivery is none that "
                                          "is held: it has been released, or is another port's");
    cursor = found->cursor;
    do {
        kept = STAILQ_FIRST(&port->returned);
        release_kept(port, kept);
    } while (kept != found);
    release_room(port, cursor);
    return 0;
}
