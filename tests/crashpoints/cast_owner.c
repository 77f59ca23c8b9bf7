/* SPDX-License-Identifier: Apache-2.0 */
/* Who loses its state with an executor, and has timers: of a type that begins anew, and of one that
 * stops. */
#include <string.h>

#include "crash.h"
#include "daemon/engine/engine_context.h"

static void owner_arm(struct engine_context *ctx, actor_ref to, uint32_t row, uint32_t number)
{
    static const struct engine_timer_times times = { .delay_ns = 1 };
    const struct item item = { .row = row, .number = number };
    uint64_t timer;
    must("arm", engine_ctx_send_after(ctx, to, item_type, 0, &item, sizeof(item), &times, &timer));
}

/* Its neighbours, which are spawned on the way, arm none. */
int owner_init(void *self, const void *args, size_t size, struct engine_context *ctx)
{
    struct owner_plan *plan = self;
    if (size != sizeof(*plan) || plan->to != 0)
        fail("an owner of timers begins with %zu bytes", size);
    memcpy(plan, args, size);
    if (ctx->self == ledger->actor[0])
        owner_arm(ctx, plan->to, plan->life_row, 1);
    return 0;
}

/* Not noted here: what is not consumed may be a dead letter, which is noted as such. */
int on_item_owner(void *self, const void *message, struct engine_context *ctx)
{
    const struct owner_plan *plan = self;
    struct item item;
    memcpy(&item, message, sizeof(item));
    must("send", engine_ctx_send(ctx, plan->to, item_type, 0, &item, sizeof(item)));
    owner_arm(ctx, plan->to, plan->row, item.number);
    return ALLOCATION_NODELETE;
}
