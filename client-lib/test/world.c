/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/test/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/test/fail.h"

void world_at(struct odeon_test *world, const char *file, int line)
{
    world->file = file;
    world->line = line;
}

void world_fail(struct odeon_test *world, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fail_va(world->file, world->line, format, arguments);
}

/* Until it pauses. */
static void world_go_on(struct odeon_test *world)
{
    if (sim.failed || sim.over)
        world_fail(world, "the world has come to an end before");
    sim.steps_max = sim.steps + world->options.steps_max;
    sim.idles = 0;
    sim_run();
    if (sim.failed || sim.over)
        world_fail(world, "%s", world->explain.length ? world->explain.text : sim.what);
}

void world_run_until(struct odeon_test *world, uint64_t until)
{
    world->until = until;
    world_go_on(world);
}

int world_request(struct odeon_test *world, world_request_fn request, void *data)
{
    uint64_t crash_in = sim.crash_at == UINT64_MAX ? UINT64_MAX : sim.crash_at - sim.mutations;

    sim.crash_at = UINT64_MAX; /* world.W3 */
    world->request = request;
    world->request_data = data;
    world->pending = true;
    (void)sim_wake(WAIT_PARKED, WORLD_KEY_REQUEST, 1);
    world->until = sim.now;
    while (world->pending) {
        world_go_on(world);
        if (!world->pending)
            break;
        if (sim.next_deadline == SIM_NEVER)
            world_fail(world, "what the test asks for does not get on, with seed %" PRIu64,
                       world->options.seed);
        world->until = sim.next_deadline;
    }
    if (crash_in != UINT64_MAX)
        sim.crash_at = sim.mutations + crash_in;
    return world->request_result;
}

const struct world_type *world_type_of(struct odeon_test *world,
                                       const struct odeon_message_type *type)
{
    for (size_t i = 0; i < world->n_types; i++) {
        const struct world_type *t = &world->types[i];

        if (strcmp(t->name, type->name) != 0 || t->version != type->version)
            continue;
        if (t->size != type->size || t->has_tail != type->has_tail ||
            strcmp(t->fields, type->fields) != 0)
            world_fail(world,
                       "message %s version %u has %u bytes and the fields '%s' here, and %u bytes "
                       "and '%s' in the plugin",
                       type->name, type->version, type->size, type->fields, t->size, t->fields);
        return t;
    }
    world_fail(world, "no plugin of this world knows a message %s of version %u", type->name,
               type->version);
}

const struct world_type *world_type_get(const struct odeon_test *world, uint16_t id)
{
    for (size_t i = 0; i < world->n_types; i++)
        if (world->types[i].id == id)
            return &world->types[i];
    return NULL;
}

void odeon_test_until_idle(struct odeon_test *world)
{
    world_run_until(world, sim.now);
}

uint64_t odeon_test_now_ns(struct odeon_test *world)
{
    (void)world;
    return sim.now;
}

void odeon_test_advance(struct odeon_test *world, uint64_t ns)
{
    uint64_t until = ns < SIM_NEVER - 1 - sim.now ? sim.now + ns : SIM_NEVER - 1;

    odeon_test_until_idle(world);
    world_run_until(world, until);
}

uint64_t odeon_test_trace(struct odeon_test *world)
{
    return world->trace;
}

uint32_t odeon_test_crashes(struct odeon_test *world)
{
    (void)world;
    return sim.n_crashes;
}
