/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/test/crash.h"

#include "daemon/engine/actors/phases.h"
#include "daemon/engine/commit/commit.h"
#include "daemon/engine/core/core.h"

static struct odeon_test *crash_world;

/* The first change behind the flip is where it dies. */
static bool crash_when_committed(void)
{
    const struct worker *w = crash_world->crash.committing;

    return commit_low(w->slot) != crash_world->crash.committed;
}

void crash_begin(struct odeon_test *world)
{
    crash_world = world;
    world->crash.committing = NULL;
    sim.crash_when = NULL;
}

static void crash_trace(uint64_t value)
{
    crash_world->trace = (crash_world->trace ^ value) * UINT64_C(0x100000001b3);
    crash_world->trace ^= crash_world->trace >> 29;
}

static bool crash_is_here(const struct engine_context *context)
{
    struct world_crash *crash = &crash_world->crash;

    if (crash->message != context->message_type)
        return false;
    if (crash->again == context->self && context->attempts > 0)
        return true;
    return crash->left > 0 && --crash->left == 0;
}

/* world.W3 */
static void crash_wait(void)
{
    while (crash_world->pending && !crash_world->ending)
        (void)sim_block(WAIT_PARKED, WORLD_KEY_DONE, SIM_NEVER);
}

/* Before the behaviour: the executor dies, or the behaviour faults. */
static __attribute__((noreturn)) void crash_before(const struct engine_context *context)
{
    struct world_crash *crash = &crash_world->crash;

    crash_wait();
    if (crash->where == ODEON_TEST_BEFORE)
        sim_crash();
    crash->again = crash->where == ODEON_TEST_FAULT_EACH ? context->self : ODEON_NOBODY;
    sim_fault();
}

static void crash_behind(struct engine_context *context)
{
    struct world_crash *crash = &crash_world->crash;

    crash_wait();
    if (crash->where == ODEON_TEST_BEHIND)
        sim_crash();
    crash->committing = worker_of_context(context);
    crash->committed = commit_low(crash->committing->slot);
    sim.crash_when = crash_when_committed;
}

int crash_around(void *self, const void *message, struct engine_context *context)
{
    const struct engine *engine = crash_world->engine;
    uint64_t key = load_relaxed(&engine->actors.table[actor_ref_slot(context->self)].key);
    odeon_behaviour_fn run = plugin_registry_find_behaviour(
        crash_world->plugins, segment_type_of_key(&engine->segment, actor_key_type(key)),
        phases_name(engine, key), context->message_type);
    bool here = crash_is_here(context);
    int result;

    crash_trace(context->self);
    crash_trace(sim.steps << 24 ^ context->worker << 17 ^ context->redelivered << 16 ^
                context->message_type);
    if (here && crash_world->crash.where != ODEON_TEST_BEHIND &&
        crash_world->crash.where != ODEON_TEST_COMMITTED)
        crash_before(context);
    result = run(self, message, (struct odeon_context *)context);
    if (here)
        crash_behind(context);
    return result;
}

void odeon_test_crash_at_message(struct odeon_test *world, const struct odeon_message_type *type,
                                 uint32_t n, enum odeon_test_crash where)
{
    world->crash = (struct world_crash){ .message = world_type_of(world, type)->id,
                                         .left = n,
                                         .where = where };
}

static int crash_request(struct odeon_test *world, void *data)
{
    (void)data;
    world->pending = false;
    sim_crash();
}

void odeon_test_crash_now(struct odeon_test *world)
{
    odeon_test_until_idle(world);
    (void)world_request(world, crash_request, NULL);
    odeon_test_until_idle(world);
}
