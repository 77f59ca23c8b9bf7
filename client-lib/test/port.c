/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/test/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/test/world.h"

static void *port_posts_main(void *argument)
{
    struct test_port *port = argument;

    for (;;) {
        struct port_post *post = port->posts;

        if (!post) {
            (void)sim_block(WAIT_PARKED, WORLD_KEY_PORT + port->client.info.id, SIM_NEVER);
            continue;
        }
        port->client.trace = post->trace;
        client_post(&port->client, post->to, post->type, 0, post->correlation, post->payload,
                    post->size);
        port->posts = post->next;
        if (!port->posts)
            port->posts_end = &port->posts;
        free(post);
    }
    return NULL;
}

static void port_keep(struct test_port *port, const struct envelope *envelope)
{
    size_t size = envelope_payload_size(envelope);
    struct port_delivery *delivery = calloc(1, sizeof(*delivery) + size);

    if (!delivery)
        sim_fail("no memory for a message of %zu bytes", size);
    memcpy(delivery->payload, envelope_payload(envelope), size);
    delivery->message = (struct odeon_test_message){ .payload = delivery->payload,
                                                     .size = size,
                                                     .sender = envelope->from,
                                                     .correlation = envelope_correlation(envelope),
                                                     .type = envelope->type };
    *port->deliveries_end = delivery;
    port->deliveries_end = &delivery->next;
}

static void *port_deliveries_main(void *argument)
{
    struct test_port *port = argument;

    for (;;) {
        const struct envelope *envelope = client_next(&port->client);

        if (envelope)
            port_keep(port, envelope);
        else
            client_wait(&port->client);
    }
    return NULL;
}

void port_begin(struct test_port *port, uint32_t id)
{
    client_prepare(&port->client, id);
    port->posts_end = &port->posts;
    port->deliveries_end = &port->deliveries;
    sim_spawn(SIDE_CLIENT, port_posts_main, port);
    sim_spawn(SIDE_CLIENT, port_deliveries_main, port);
}

void port_end(struct test_port *port)
{
    while (port->posts) {
        struct port_post *post = port->posts;

        port->posts = post->next;
        free(post);
    }
    while (port->deliveries)
        (void)port_take(port, &port->deliveries);
    free(port->taken);
    port->taken = NULL;
}

const struct port_delivery *port_take(struct test_port *port, struct port_delivery **at)
{
    free(port->taken);
    port->taken = *at;
    *at = port->taken->next;
    if (!*at)
        port->deliveries_end = at;
    return port->taken;
}

static struct test_port *port_of(struct odeon_test *world, uint32_t id)
{
    if (id >= world->options.ports)
        world_fail(world, "there is no port %u: the world has %u", id, world->options.ports);
    return &world->ports[id];
}

static void port_post(struct test_port *port, odeon_ref to, uint16_t type, const void *payload,
                      size_t size, uint64_t correlation)
{
    struct port_post *post = calloc(1, sizeof(*post) + size);

    if (!post)
        abort();
    *post = (struct port_post){ .to = to,
                                .correlation = correlation,
                                .trace = port->trace,
                                .type = type,
                                .size = (uint16_t)size };
    if (size > 0)
        memcpy(post->payload, payload, size);
    *port->posts_end = post;
    port->posts_end = &post->next;
    (void)sim_wake(WAIT_PARKED, WORLD_KEY_PORT + port->client.info.id, 1);
}

odeon_ref odeon_test_port_ref(struct odeon_test *world, uint32_t port)
{
    return port_of(world, port)->client.ref;
}

void odeon_test_post_at(struct odeon_test *world, uint32_t port, odeon_ref to,
                        const struct odeon_message_type *type, const void *payload, size_t size,
                        uint64_t correlation, const char *file, int line)
{
    world_at(world, file, line);
    if (size > ODEON_PAYLOAD_MAX)
        world_fail(world, "a message has %d bytes at most, not %zu", ODEON_PAYLOAD_MAX, size);
    port_post(port_of(world, port), to, world_type_of(world, type)->id, payload, size, correlation);
}

void odeon_test_traced(struct odeon_test *world, uint32_t port, uint64_t trace)
{
    port_of(world, port)->trace = trace;
}

void odeon_test_stop(struct odeon_test *world, odeon_ref ref, enum odeon_allocation how)
{
    static const uint16_t poison[] = { [ODEON_DELETE] = ODEON_MSG_POISON_DELETE,
                                       [ODEON_DESTROY] = ODEON_MSG_POISON_DESTROY,
                                       [ODEON_FINISHED] = ODEON_MSG_POISON_FINISHED };

    if (how < ODEON_DELETE || how > ODEON_FINISHED)
        world_fail(world, "an actor does not end by %d", (int)how);
    port_post(&world->ports[0], ref, poison[how], NULL, 0, 0);
}

void odeon_test_monitor(struct odeon_test *world, uint32_t port, odeon_ref ref,
                        uint64_t correlation)
{
    port_post(port_of(world, port), ref, MESSAGE_TYPE_PORT_DOWN, NULL, 0, correlation);
}

void odeon_test_demonitor(struct odeon_test *world, uint32_t port, odeon_ref ref,
                          uint64_t correlation)
{
    port_post(port_of(world, port), ref, MESSAGE_TYPE_PORT_DEMONITOR, NULL, 0, correlation);
}

int odeon_test_receive(struct odeon_test *world, uint32_t id, struct odeon_test_message *ret)
{
    struct test_port *port = port_of(world, id);
    const struct world_type *type;

    odeon_test_until_idle(world);
    if (!port->deliveries)
        return 0;
    *ret = port_take(port, &port->deliveries)->message;
    type = world_type_get(world, ret->type);
    ret->name = type ? type->name : ret->type == ODEON_MSG_DOWN ? DOWN_NAME : "odeon_refusal";
    return 1;
}
