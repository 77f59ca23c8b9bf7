/* SPDX-License-Identifier: Apache-2.0 */
/* How full a port is, and what has gone through it. Either of the port's threads. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "client-lib/src/awaited.h"
#include "client-lib/src/error.h"

enum {
    FIGURES_LEAST = sizeof(struct odeon_port_figures), /* of the first version */
    FIGURES_SIZE_MAX = 4096,
};

static void port_figures_fill(const struct odeon_port *port, struct odeon_port_figures *f)
{
    uint64_t head = atomic_load_explicit(&port->theirs->submission_head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&port->mine->submission_tail, memory_order_relaxed);
    uint64_t released = atomic_load_explicit(&port->mine->delivery_head, memory_order_relaxed);
    uint64_t taken = PORT_GET(port->delivery_taken);

    *f = (struct odeon_port_figures){
        .struct_size = sizeof(*f),
        .backlog = atomic_load_explicit(&port->theirs->backlog, memory_order_relaxed),
        .submission_bytes = port->submission_size,
        .submission_used = tail - head,
        .delivery_bytes = port->delivery_size,
        .delivery_waiting =
            atomic_load_explicit(&port->theirs->delivery_tail, memory_order_relaxed) - taken,
        .delivery_held = taken - released,
        .kept_bytes = PORT_GET(port->kept_bytes),
        .posted_bytes = tail,
        .received_bytes = taken,
        .dropped = odeon_port_dropped(port),
        .full = PORT_GET(port->n_full),
        .room_waits = PORT_GET(port->room_sequence) / PORT_WAIT_STEP,
        .delivery_waits = PORT_GET(port->delivery_sequence) / PORT_WAIT_STEP,
        .doorbells = PORT_GET(port->n_doorbells),
    };
    awaited_count(port, &f->awaited, &f->expired);
}

int odeon_port_figures(struct odeon_port *port, struct odeon_port_figures *ret_figures)
{
    struct odeon_port_figures figures;
    uint32_t size;

    if (!port || !ret_figures || ret_figures->struct_size < FIGURES_LEAST ||
        ret_figures->struct_size > FIGURES_SIZE_MAX)
        return error_set_literal(-EINVAL, "odeon_port_figures: no port, or no place for the "
                                          "figures with its struct_size set");
    if (port_forked(port))
        return port_explain_fork();
    size = ret_figures->struct_size;
    memset(ret_figures, 0, size); /* what a later version has is 0 */
    port_figures_fill(port, &figures);
    memcpy(ret_figures, &figures, size < sizeof(figures) ? size : sizeof(figures));
    ret_figures->struct_size = size;
    return 0;
}
