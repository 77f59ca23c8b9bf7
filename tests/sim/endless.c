/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/endless.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/core/core.h"
#include "daemon/engine/engine_context.h"
#include "tests/sim/workload.h"

enum {
    ENDLESS_ONE_IN = 12,
    ENDLESS_SLICE_NS = 5 * 1000 * 1000, /* pace.T4 */
    ENDLESS_SLOW_NS = 100 * 1000,
    ENDLESS_MORE = 4,    /* parks, or turns: of the one in which it came, and of the last one */
    ENDLESS_STEPS = 4,   /* times as many as other loads have */
    ENDLESS_NUMBERS = 8, /* of a lane whose messages wait for a slice each */
    /* At once, of so many bytes: a batch that is not short (place.U6). */
    ENDLESS_CROWD = 20,
    ENDLESS_CROWD_BYTES = 240,
};

static uint32_t endless_type;
static uint16_t again_type;

uint32_t endless_throughput(struct sim_random *random)
{
    return workload.endless.turn_ns ? 1u << 20 : 1u + random_below(random, ENDLESS_THROUGHPUT_MAX);
}

/* Slow turns are counted by the slice: nothing else is to cut a run. */
static void slow_draw(struct endless *endless, struct sim_random *random)
{
    endless->turn_ns = ENDLESS_SLOW_NS + random_below(random, ENDLESS_SLOW_NS);
    endless->turns_max = ENDLESS_SLICE_NS / endless->turn_ns + ENDLESS_MORE;
    workload.n_changes = 0;
    for (uint32_t i = 0; i < workload.n_clients; i++)
        for (uint32_t l = 0; l < workload.clients[i].n_lanes; l++) {
            struct lane *lane = &workload.clients[i].lanes[l];
            lane->urgent = false;
            if (lane->numbers > ENDLESS_NUMBERS)
                lane->numbers = ENDLESS_NUMBERS;
        }
}

/* Nobody is slow there but itself: a seed would take too many of its turns. And nothing is refused,
 * for it would come to an end; nor dropped, for that is noticed when nobody can run. */
void endless_draw(void)
{
    struct sim_random random = { .state = sim.seed ^ UINT64_C(0x2545f4914f6cdd1d) };
    struct endless *endless = &workload.endless;
    if (!random_one_in(&random, ENDLESS_ONE_IN) || workload.overflow != OVERFLOW_NEVER ||
        workload_drops())
        return;
    endless->there = true;
    endless->turns_max = (PLACE_WAITS + ENDLESS_MORE) * ENDLESS_THROUGHPUT_MAX;
    if (random_one_in(&random, 3))
        slow_draw(endless, &random);
    endless->crowd = random_one_in(&random, 2) ? ENDLESS_CROWD : 1;
    if (endless->crowd > 1)
        endless->turns_max += 4 * endless->crowd; /* of two lives, before the wait and behind it */
    sim.steps_max *= ENDLESS_STEPS;
    workload.config.throughput = endless_throughput(&random);
    workload.stall_one_in = 0;
    workload.roots[ENDLESS_MATE].placement = PLACE_PINNED;
    workload.roots[ENDLESS_MATE].place = ENDLESS_WORKER;
    workload.clients[0].lanes[0].roots[0] = ENDLESS_MATE;
    for (uint32_t i = 0; i < workload.n_clients; i++)
        workload.clients[i].lazy = false;
}

/* endless.N1 */
static void endless_count(const struct engine *e)
{
    struct endless *endless = &workload.endless;
    const struct segment_queue *queue =
        &e->segment.queues[e->segment.pinned_first + ENDLESS_WORKER];
    uint32_t active = load_relaxed(&queue->sel) & SEL_ACTIVE;
    if (load_relaxed(&queue->len[active]) == 0 || endless->active != active ||
        endless->crashes != sim.n_crashes) {
        endless->bounded += endless->turns >= endless->turns_max / 2;
        endless->turns = 0;
        endless->active = active;
        endless->crashes = sim.n_crashes;
    } else if (++endless->turns > endless->turns_max) {
        sim_fail("starved: an actor has had %u turns while something waits in its queue",
                 endless->turns);
    }
}

static int endless_run(void *self, const void *message, struct engine_context *ctx)
{
    (void)self;
    if (ctx->trace) /* workload.H7 */
        sim_fail("an actor that nobody traces runs in trace %llu", (unsigned long long)ctx->trace);
    if (workload.engine)
        endless_count(workload.engine);
    if (workload.endless.turn_ns)
        sim_sleep_ns(workload.endless.turn_ns);
    if (workload.endless.halted)
        return ALLOCATION_NODELETE;
    int r = engine_ctx_send(ctx, ctx->self, again_type, 255, message, ctx->message_size);
    if (r < 0)
        sim_fail("an actor cannot send to itself: %s", strerror(-r));
    return ALLOCATION_NODELETE;
}

static int endless_init(void *self, const void *args, size_t args_size, struct engine_context *ctx)
{
    (void)self;
    (void)args;
    (void)args_size;
    (void)ctx;
    return 0;
}

void endless_register(struct engine *e)
{
    int r = engine_message_type_intern(e, "again", 1, sizeof(uint64_t), true, "", &again_type);
    if (r < 0)
        sim_fail("message type: %s", strerror(-r));
    struct engine_behaviour behaviour = {
        .message_type = again_type, .size = sizeof(uint64_t), .has_tail = 1, .run = endless_run
    };
    struct engine_actor_type_info info = { .name = "endless",
                                           .plugin = "simulated",
                                           .version = 1,
                                           .restart = RESTART_INIT,
                                           .state_size = sizeof(uint64_t),
                                           .n_behaviours = 1,
                                           .behaviours = &behaviour,
                                           .overflow = OVERFLOW_POLICY_REJECT,
                                           .init = endless_init };
    r = engine_actor_type_register(e, &info, &endless_type);
    if (r < 0)
        sim_fail("type endless: %s", strerror(-r));
}

/* Two first messages, on both sides of a crash, do no harm. */
void endless_begin(struct engine *e)
{
    struct engine_spawn spawn = { .placement = PLACE_PINNED,
                                  .place = ENDLESS_WORKER,
                                  .name = "endless" };
    static const uint8_t again[ENDLESS_CROWD_BYTES];
    size_t size = workload.endless.crowd > 1 ? sizeof(again) : sizeof(uint64_t);
    actor_ref ref;
    if (!workload.endless.there || workload.endless.told)
        return;
    int r = engine_actor_lookup(e, "endless", &ref);
    if (r == -ENOENT)
        r = engine_actor_spawn_placed(e, endless_type, &spawn, &ref);
    for (uint32_t i = 0; r == 0 && i < workload.endless.crowd; i++)
        r = engine_actor_send(e, ref, again_type, again, size);
    if (r < 0)
        sim_fail("an endless actor: %s", strerror(-r));
    workload.endless.told = true;
}
