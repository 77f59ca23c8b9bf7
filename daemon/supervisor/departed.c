/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/supervisor/departed.h"

#include <stddef.h>
#include <unistd.h>

#include "daemon/supervisor/client.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/seat_ports.h"
#include "daemon/supervisor/service.h"
#include "proto/port_layout.h"

enum { DEPARTED_LOOK_MS = 1000 };

bool departed_has_open_port(const struct seat *seat, uint64_t client_id)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++)
        if (seat->ports.ports[i].state == PORT_OPEN && seat->ports.ports[i].client_id == client_id)
            return true;
    return false;
}

/* Read from the file: odeond maps nothing that a client can write (supervisor.V1). A client that
 * lies closes its own port. */
static bool departed_has_word(const struct seat_port *port)
{
    uint32_t word = 0;

    return pread(port->client_fd, &word, sizeof(word), offsetof(struct port_client, departed)) ==
               sizeof(word) &&
           word != 0;
}

static void departed_look_at(struct seat *seat, struct client *client)
{
    for (uint32_t i = 0; i < ODEON_PORTS_MAX; i++) {
        struct seat_port *port = &seat->ports.ports[i];

        if (port->state == PORT_OPEN && port->client_id == client->id && departed_has_word(port))
            seat_ports_close(seat, port);
    }
    if (!departed_has_open_port(seat, client->id))
        client_drop(client, NULL);
}

static void departed_look(uv_timer_t *timer)
{
    struct departed *departed = timer->data;
    struct clients *clients = departed->seat->service->clients;
    struct client *next;

    for (struct client *client = clients->first; client; client = next) {
        next = client->next;
        if (!client->channel)
            departed_look_at(departed->seat, client);
    }
    if (clients->n_absent > 0) /* departed.DP1 */
        (void)uv_timer_start(timer, departed_look, DEPARTED_LOOK_MS, 0);
}

void departed_start(struct departed *departed, uv_loop_t *loop, struct seat *seat)
{
    uv_timer_init(loop, &departed->timer);
    uv_unref((uv_handle_t *)&departed->timer); /* nothing waits for it */
    departed->timer.data = departed;
    departed->seat = seat;
    departed_look(&departed->timer);
}
