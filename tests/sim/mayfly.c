/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/mayfly.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/engine_context.h"
#include "tests/sim/keeper.h"
#include "tests/sim/workload.h"

enum { MAYFLY_NOBODY = UINT32_MAX /* a moth's keeper */ };

static uint32_t mayfly_type;

int mayfly_spawn(struct engine_context *ctx, const struct promise_message *args, bool link,
                 actor_ref *ret_ref)
{
    struct engine_spawn spawn = {
        .placement = (enum engine_placement)promises_draw_below(PLACE_N),
        .place = ENGINE_ANYWHERE,
        .args = args,
        .args_size = sizeof(*args),
        .link = link,
    };
    if (spawn.placement == PLACE_NODE ||
        (spawn.placement == PLACE_DETACHED && workload.config.detached_max == 0))
        spawn.placement = PLACE_SPREAD;
    int r = engine_ctx_spawn(ctx, mayfly_type, &spawn, ret_ref);
    if (r != -ENOSPC && r != -EAGAIN)
        promises_must(r, "spawn");
    return r;
}

void mayfly_tell(struct engine_context *ctx, actor_ref mayfly, const struct promise_message *args)
{
    struct engine_timer_times times = { .delay_ns = promises_draw_below(600000) };
    uint16_t tick = keeper_get_types()->tick;
    uint64_t id;
    int r = promises_draw_one_in(2) ? engine_ctx_send(ctx, mayfly, tick, 255, args, sizeof(*args))
                                    : -EAGAIN;
    if (r == -EAGAIN)
        r = engine_ctx_send_after(ctx, mayfly, tick, 255, args, sizeof(*args), &times, &id);
    promises_must(r, "tell a mayfly");
}

static int mayfly_init(void *state, const void *args, size_t size, struct engine_context *ctx)
{
    (void)ctx;
    if (size != sizeof(struct promise_message))
        sim_fail("a mayfly's arguments have %zu bytes", size);
    memcpy(state, args, size);
    return 0;
}

static int mayfly_tick(void *state, const void *message, struct engine_context *ctx)
{
    const struct promise_message *self = state, moth = { .keeper = MAYFLY_NOBODY };
    actor_ref child;
    if (self->keeper >= workload.promises.n || memcmp(self, message, sizeof(*self)) != 0)
        sim_fail("a moth is told to speak, or another mayfly");
    int r = engine_ctx_send(ctx, workload.promises.keepers[self->keeper].ref,
                            keeper_get_types()->word, 255, self, sizeof(*self));
    if (promises_is_full(r)) { /* it is told once more */
        mayfly_tell(ctx, ctx->self, self);
        return ALLOCATION_NODELETE;
    }
    promises_must(r, "hear a last word");
    (void)mayfly_spawn(ctx, &moth, true, &child);
    return ALLOCATION_DELETE + (int)(self->number % 3);
}

void mayfly_register(struct engine *e)
{
    const struct engine_behaviour behaviour = { .message_type = keeper_get_types()->tick,
                                                .size = sizeof(struct promise_message),
                                                .run = mayfly_tick };
    mayfly_type = promises_type(
        e, &(struct engine_actor_type_info){
               .name = "mayfly",
               .restart = workload.promises.mayflies_last ? RESTART_KEEP : RESTART_INIT,
               .state_size = sizeof(struct promise_message),
               .n_behaviours = 1,
               .behaviours = &behaviour,
               .init = mayfly_init });
}
