/* SPDX-License-Identifier: Apache-2.0 */
/* What a test asks of actors and about them, on the control fiber. */
#include <errno.h>
#include <string.h>

#include "client-lib/test/world.h"
#include "daemon/engine/actors/actors.h"
#include "daemon/engine/commit/durable.h"

struct actor_spawn {
    const char *type;
    struct engine_spawn spawn;
    odeon_ref ref;
};

static int actor_spawn(struct odeon_test *world, void *data)
{
    struct actor_spawn *wish = data;
    uint32_t type;
    int r = engine_actor_type_find(world->engine, wish->type, &type);

    return r < 0 ? r : engine_actor_spawn_placed(world->engine, type, &wish->spawn, &wish->ref);
}

odeon_ref odeon_test_spawn_at(struct odeon_test *world, const char *type,
                              const struct odeon_spawn_options *options, const char *file, int line)
{
    struct actor_spawn wish = { .type = type };
    int r = options ? host_read_spawn(options, &wish.spawn) : 0;

    world_at(world, file, line);
    if (r == 0)
        r = world_request(world, actor_spawn, &wish);
    if (r == -ENOENT)
        world_fail(world, "there is no actor type %s in the plugin", type);
    if (r < 0)
        world_fail(world, "no actor %s can be made: %s", type, strerror(-r));
    return wish.ref;
}

struct actor_lookup {
    const char *name;
    odeon_ref ref;
};

static int actor_lookup(struct odeon_test *world, void *data)
{
    struct actor_lookup *wish = data;

    return engine_actor_lookup(world->engine, wish->name, &wish->ref);
}

odeon_ref odeon_test_lookup(struct odeon_test *world, const char *name)
{
    struct actor_lookup wish = { .name = name };

    return world_request(world, actor_lookup, &wish) == 0 ? wish.ref : ODEON_NOBODY;
}

static int actor_lives(struct odeon_test *world, void *data)
{
    return engine_actor_lives(world->engine, *(odeon_ref *)data);
}

int odeon_test_lives(struct odeon_test *world, odeon_ref ref)
{
    return world_request(world, actor_lives, &ref);
}

struct actor_state {
    odeon_ref ref;
    uint32_t size;
    const void *state;
};

static int actor_look(struct odeon_test *world, void *data)
{
    struct actor_state *wish = data;
    const struct engine *engine = world->engine;
    struct engine_actor_type_view type;
    struct engine_actor_view view;
    uint32_t slot = actor_ref_slot(wish->ref);
    int r = engine_actor_get(world->engine, wish->ref, &view);

    if (r == 0 && view.type == 0)
        r = -ESRCH;
    if (r == 0)
        r = engine_actor_type_get(world->engine, view.type, &type);
    if (r < 0)
        return r;
    wish->size = type.state_size;
    if (type.restart != RESTART_KEEP)
        wish->state = engine->actors.states[slot];
    else if (durable_is_initialised(engine, slot, actor_ref_generation(wish->ref)))
        wish->state = durable_state(engine, slot)->bytes;
    return 0;
}

const void *odeon_test_state_at(struct odeon_test *world, odeon_ref ref, size_t size,
                                const char *file, int line)
{
    struct actor_state wish = { .ref = ref };

    world_at(world, file, line);
    if (world_request(world, actor_look, &wish) < 0)
        return NULL;
    if (wish.size != size)
        world_fail(world, "the actor's state has %u bytes, not %zu", wish.size, size);
    return wish.state;
}

static int actor_letters(struct odeon_test *world, void *data)
{
    struct engine_dead_letter rows[16];
    uint64_t *sum = data, from = 0;
    bool more = true;

    while (more) {
        size_t n = engine_dead_letters_list(world->engine, from, rows,
                                            sizeof(rows) / sizeof(rows[0]), &more);

        *sum += n;
        from = n > 0 ? rows[n - 1].id + 1 : from;
        more = more && n > 0;
    }
    return 0;
}

uint64_t odeon_test_dead_letters(struct odeon_test *world)
{
    uint64_t sum = 0;

    (void)world_request(world, actor_letters, &sum);
    return sum;
}
