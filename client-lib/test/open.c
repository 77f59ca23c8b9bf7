/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "client-lib/test/life.h"

enum { OPEN_WORKERS = 2, OPEN_STEPS_MAX = 3000000 };

static struct odeon_test open_world; /* the simulator has room for one */
/* One whose opening has failed is ended by the next one. */
static enum { OPEN_NONE, OPEN_BEGUN, OPEN_DONE } open_state;

static void open_check(struct odeon_test *world)
{
    const struct odeon_test_options *o = &world->options;

    if (o->struct_size != sizeof(*o))
        world_fail(world, "options of %u bytes: this library has %zu", o->struct_size, sizeof(*o));
    if (!o->plugin == !o->plugin_file)
        world_fail(world, "a world has a plugin that is linked in, or a plugin_file");
    if (o->workers > WORLD_WORKERS_MAX || o->ports > WORLD_PORTS_MAX ||
        o->detached > WORLD_DETACHED_MAX)
        world_fail(world, "workers=%u ports=%u detached=%u: at most %d of each", o->workers,
                   o->ports, o->detached, WORLD_WORKERS_MAX);
}

static void open_fill(struct odeon_test_options *o)
{
    const char *seed = getenv("ODEON_TEST_SEED");

    o->workers = o->workers ? o->workers : OPEN_WORKERS;
    o->ports = o->ports ? o->ports : 1;
    o->steps_max = o->steps_max ? o->steps_max : OPEN_STEPS_MAX;
    if (o->seed == 0)
        o->seed = seed && *seed ? strtoull(seed, NULL, 0) : 1;
}

struct odeon_test *odeon_test_open_at(const struct odeon_test_options *options, const char *file,
                                      int line)
{
    struct odeon_test *world = &open_world;

    if (open_state == OPEN_DONE)
        odeon_test_fail_at(file, line, "another world is open");
    if (open_state == OPEN_BEGUN)
        life_end(world);
    open_state = OPEN_NONE;
    *world = (struct odeon_test){ .options = *options, .segment_fd = -1, .stats_fd = -1 };
    world_at(world, file, line);
    open_check(world);
    open_fill(&world->options);
    if (options->plugin_file)
        world->plugin_file = strdup(options->plugin_file);
    open_state = OPEN_BEGUN;
    life_begin(world);
    open_state = OPEN_DONE;
    return world;
}

void odeon_test_close(struct odeon_test *world)
{
    if (!world || open_state == OPEN_NONE)
        return;
    open_state = OPEN_NONE;
    life_end(world);
}
