/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client-lib/test/text.h"
#include "client-lib/test/world.h"

static bool expect_fits(const struct world_type *type, const struct odeon_test_message *got,
                        const void *payload, size_t size)
{
    return got->type == type->id &&
           (!payload || text_same(type, got->payload, got->size, payload, size));
}

static const char *expect_got(const struct odeon_test *world, const struct port_delivery *delivery,
                              char text[TEXT_MAX])
{
    const struct odeon_test_message *m = &delivery->message;

    return text_of(world_type_get(world, m->type), m->type, m->payload, m->size, text);
}

static const char *expect_wanted(const struct world_type *type, const void *payload, size_t size,
                                 char text[TEXT_MAX])
{
    return payload || type->size == 0 ? text_of(type, type->id, payload, size, text) : type->name;
}

/* What is expected, of a world that is idle. */
static const struct world_type *expect_begin(struct odeon_test *world, uint32_t port,
                                             const struct odeon_message_type *type,
                                             const char *file, int line)
{
    world_at(world, file, line);
    if (port >= world->options.ports)
        world_fail(world, "there is no port %u: the world has %u", port, world->options.ports);
    odeon_test_until_idle(world);
    return world_type_of(world, type);
}

const void *odeon_test_expect_at(struct odeon_test *world, uint32_t port,
                                 const struct odeon_message_type *type, const void *payload,
                                 size_t size, const char *file, int line)
{
    char wanted[TEXT_MAX], got[TEXT_MAX];
    const struct world_type *known = expect_begin(world, port, type, file, line);
    struct test_port *p = &world->ports[port];

    if (!p->deliveries)
        world_fail(world, "expected %s at port %u, and nothing has come",
                   expect_wanted(known, payload, size, wanted), port);
    if (!expect_fits(known, &p->deliveries->message, payload, size))
        world_fail(world, "expected %s at port %u, and %s has come",
                   expect_wanted(known, payload, size, wanted), port,
                   expect_got(world, p->deliveries, got));
    return port_take(p, &p->deliveries)->message.payload;
}

const void *odeon_test_expect_among_at(struct odeon_test *world, uint32_t port,
                                       const struct odeon_message_type *type, const void *payload,
                                       size_t size, const char *file, int line)
{
    char wanted[TEXT_MAX], got[TEXT_MAX];
    const struct world_type *known = expect_begin(world, port, type, file, line);
    struct test_port *p = &world->ports[port];
    unsigned n = 0;

    for (struct port_delivery **at = &p->deliveries; *at; at = &(*at)->next, n++)
        if (expect_fits(known, &(*at)->message, payload, size))
            return port_take(p, at)->message.payload;
    if (n == 0)
        world_fail(world, "expected %s at port %u, and nothing has come",
                   expect_wanted(known, payload, size, wanted), port);
    world_fail(world, "expected %s at port %u among %u messages, the first of which is %s",
               expect_wanted(known, payload, size, wanted), port, n,
               expect_got(world, p->deliveries, got));
}

void odeon_test_expect_none_at(struct odeon_test *world, const char *file, int line)
{
    char got[TEXT_MAX];

    world_at(world, file, line);
    odeon_test_until_idle(world);
    for (uint32_t i = 0; i < world->options.ports; i++)
        if (world->ports[i].deliveries)
            world_fail(world, "expected no message, and %s has come to port %u",
                       expect_got(world, world->ports[i].deliveries, got), i);
}
