/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for ports that wait; the interface is in port_waits.h. */
#include "daemon/supervisor/port_waits.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/common/check.h"
#include "daemon/common/log.h"

struct port_waiter {
    struct port_waiter *next;
    uint64_t client_id, asked_ms; /* of the event loop's clock */
    uid_t uid;
    Odeon__Request *request;
};

static void port_waits_append(struct port_waits *waits, struct port_waiter *waiter)
{
    waiter->next = NULL;
    *waits->end = waiter;
    waits->end = &waiter->next;
}

static void port_waits_free(struct port_waiter *waiter)
{
    odeon__request__free_unpacked(waiter->request, NULL);
    free(waiter);
}

static uint32_t port_waits_count(const struct port_waits *waits, uid_t uid)
{
    uint32_t n = 0;

    for (const struct port_waiter *waiter = waits->first; waiter; waiter = waiter->next)
        n += waiter->uid == uid;
    return n;
}

/* True: it has been answered, or nobody waits for the answer. A client that has gone in between, by
 * what others were told, was not there to be forgotten (client.K5). */
static bool port_waits_try(const struct port_waits_world *world, const struct port_waiter *waiter)
{
    struct client *client = clients_find(world->clients, waiter->client_id);
    bool last = uv_now(world->loop) - waiter->asked_ms >= PORT_WAIT_MS ||
                port_table_count_closing(world->ports, waiter->uid) == 0;

    if (!client || client->dropped)
        return true;
    client_end_request(client);
    if (world->try_again(world->userdata, client, waiter->request, last))
        return true;
    client_begin_request(client);
    return false;
}

static void port_waits_on_look(uv_timer_t *timer);

/* At the latest when the first of them has waited long enough. */
static void port_waits_arm(struct port_waits *waits)
{
    uint64_t now_ms = uv_now(waits->world.loop), end_ms;

    if (!waits->first || uv_is_active((uv_handle_t *)&waits->look))
        return;
    end_ms = waits->first->asked_ms + PORT_WAIT_MS;
    uv_timer_start(&waits->look, port_waits_on_look, end_ms > now_ms ? end_ms - now_ms : 0, 0);
}

/* Those that are tried stand in no list: telling may drop clients, and that changes it. */
static void port_waits_on_look(uv_timer_t *timer)
{
    struct port_waits *waits = timer->data;
    struct port_waiter *waiter = waits->first, *next;

    waits->first = NULL;
    waits->end = &waits->first;
    for (; waiter; waiter = next) {
        next = waiter->next;
        if (port_waits_try(&waits->world, waiter))
            port_waits_free(waiter);
        else
            port_waits_append(waits, waiter);
    }
    port_waits_arm(waits);
}

void port_waits_init(struct port_waits *waits, const struct port_waits_world *world)
{
    waits->world = *world;
    waits->first = NULL;
    waits->end = &waits->first;
    uv_timer_init(world->loop, &waits->look);
    waits->look.data = waits;
}

void port_waits_fini(struct port_waits *waits)
{
    check("port_waits.W2", !waits->first); /* their clients have gone */
    uv_close((uv_handle_t *)&waits->look, NULL);
}

bool port_waits_add(struct port_waits *waits, struct client *client, Odeon__Request **request)
{
    struct port_waiter *waiter;

    if (port_waits_count(waits, client->uid) >=
        port_table_count_closing(waits->world.ports, client->uid)) /* port_waits.W1 */
        return false;
    waiter = malloc(sizeof(*waiter));
    if (!waiter)
        return false;
    *waiter = (struct port_waiter){ .client_id = client->id,
                                    .asked_ms = uv_now(waits->world.loop),
                                    .uid = client->uid,
                                    .request = *request };
    *request = NULL;
    client_begin_request(client);
    port_waits_append(waits, waiter);
    port_waits_arm(waits);
    log_debug("client %" PRIu64 " waits for a port until one of its user's has ended", client->id);
    return true;
}

void port_waits_look(struct port_waits *waits)
{
    if (waits->first)
        uv_timer_start(&waits->look, port_waits_on_look, 0, 0);
}

void port_waits_forget(struct port_waits *waits, uint64_t client_id)
{
    struct port_waiter **link = &waits->first;

    while (*link) {
        struct port_waiter *waiter = *link;

        if (waiter->client_id == client_id) {
            *link = waiter->next;
            port_waits_free(waiter);
        } else {
            link = &waiter->next;
        }
    }
    waits->end = link;
}
