/* SPDX-License-Identifier: Apache-2.0 */
/* Being told by a descriptor: of deliveries, of room. The port's thread; one that posts and another
 * that receives wait in their own calls. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client-lib/src/awaited.h"
#include "client-lib/src/error.h"
#include "client-lib/src/port_explain.h"
#include "client-lib/src/post.h"
#include "client-lib/src/receive.h"
#include "client-lib/src/request.h"

/* 0; -EPIPE: the executor's end is closed. */
static int arm_drain_pipe(struct odeon_port *port)
{
    char bytes[64];
    ssize_t got;

    do
        got = syscall(SYS_read, port->pipe, bytes, sizeof(bytes)); /* connect.C6 */
    while (got > 0 || (got < 0 && errno == EINTR));
    return got == 0 ? -EPIPE : 0;
}

static void arm_delivery(struct odeon_port *port, enum port_wait kind)
{
    uint32_t word = kind == PORT_WAIT_NONE ? kind : port_wait_word(&port->delivery_sequence, kind);

    atomic_store_explicit(&port->mine->delivery_wait, word, memory_order_relaxed);
}

static void arm_room(struct odeon_port *port, enum port_wait kind)
{
    uint32_t word = kind == PORT_WAIT_NONE ? kind : port_wait_word(&port->room_sequence, kind);

    atomic_store_explicit(&port->mine->room_wait, word, memory_order_relaxed);
}

/* 1, 0, or -EPROTO. The clock is looked at before the ring (awaited.A4): who receives behind this
 * tells of a deadline that has been found here when it has taken what is known of the ring: so
 * none is looked for while some of that is left, as the ring would not be looked at. What is kept,
 * or due, can be received from a ring that is not believed, too. */
static int arm_look_for_delivery(struct odeon_port *port)
{
    bool due;
    int result;

    if (!STAILQ_EMPTY(&port->kept) || port->delivery_taken != port->delivery_tail)
        return 1;
    due = awaited_is_due(port);
    result = port_look_for_delivery(port);
    return due ? 1 : result;
}

/* `bytes`: of a record that is to have room, 0: none is. The sum of what is there, 0: armed. */
static int arm(struct odeon_port *port, uint64_t bytes)
{
    int ended = arm_drain_pipe(port), delivery, room = 0;

    /* port_layout.P4, as in receive_sleep_for_delivery() and post_sleep_for_room(); the executor
     * writes a byte to the pipe. Drained before armed [R5_DRAIN]: a byte that comes after that
     * belongs to this arming. */
    arm_delivery(port, PORT_WAIT_PIPE);
    if (bytes)
        arm_room(port, PORT_WAIT_PIPE);
    full_barrier();
    delivery = arm_look_for_delivery(port);
    if (bytes && delivery >= 0)
        room = port_has_room(port, bytes);
    if (delivery != 0 || room != 0) {
        arm_delivery(port, PORT_WAIT_NONE);
        if (bytes)
            arm_room(port, PORT_WAIT_NONE);
        if (delivery < 0 || room < 0)
            return delivery < 0 ? delivery : room;
        return (delivery ? ODEON_PORT_HAS_DELIVERY : 0) | (room ? ODEON_PORT_HAS_ROOM : 0);
    }
    if (ended < 0 && port->client)
        client_poll_events(port->client);
    if (!port_open(port))
        return port_explain(port);
    if (ended == 0)
        return 0;
    /* nobody has the other end any more, and nobody gets it again: the service, or the manager that
     * kept it, has given the port up */
    port_mark_closed(port, -EPIPE, ODEON_CLOSED_SERVICE_GONE,
                     "the service has closed its end of the port");
    return port_explain(port);
}

int odeon_port_arm(struct odeon_port *port)
{
    int result = odeon_port_fd(port);

    if (result < 0)
        return result;
    return port_forked(port) ? port_explain_fork() : arm(port, 0);
}

int odeon_port_arm_room(struct odeon_port *port, size_t size)
{
    uint64_t bytes = envelope_size(size + envelope_prefix_bytes(PREFIX_CLIENT_MAY_SET));
    int result = odeon_port_fd(port);

    if (result < 0)
        return result;
    if (port_forked(port))
        return port_explain_fork();
    result = port_check_alone(port);
    if (result < 0)
        return result;
    if (size > port->payload_max || bytes > port->submission_size)
        return error_set(-EMSGSIZE,
                         "there is never room for %zu bytes: at most %u can be posted, and the "
                         "port's ring has %llu",
                         size, port->payload_max, (unsigned long long)port->submission_size);
    if (!port->room_by_pipe)
        return error_set_literal(-ENOSYS, "the service at which this port was opened tells nobody "
                                          "of room: it is older than odeon_port_arm_room()");
    if (port_open(port))
        port_publish(port);
    return arm(port, bytes);
}
