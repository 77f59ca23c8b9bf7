/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/asks/link.h"

#include <errno.h>

#include "daemon/engine/actors/spawn.h"
#include "daemon/engine/timers/timers.h"

static void link_write(struct envelope *at, const struct worker *w,
                       const struct timer_request *request, uint64_t id)
{
    (void)w, (void)id;
    *at = (struct envelope){
        .to = request->to,
        .from = request->watched,
        .type = MESSAGE_TYPE_POISON_DELETE,
        .length = (uint16_t)envelope_prefix_bytes(PREFIX_KIND),
        .behaviour = BEHAVIOUR_NONE,
        .prefix = PREFIX_KIND,
    };
    envelope_word_put(at, PREFIX_KIND, (uint64_t)KIND_DOWN << 56);
}

/* First of the parent itself, whose quota it counts for as long as the turn lasts: an actor that
 * has been spawned cannot be taken back, a timer can. */
int link_spawn(struct worker *w, uint32_t type, const struct engine_spawn *spawn,
               actor_ref *ret_ref)
{
    const struct timer_request request = { .to = w->ctx.self,
                                           .watched = w->ctx.self,
                                           .fill = link_write };
    uint64_t id;
    if (w->ctx.self == 0)
        return -EPERM;
    int r = timers_arm(w, &request, &id);
    if (r < 0)
        return r;
    r = spawn_actor(w, type, w->ctx.self, spawn, ret_ref);
    if (r == 0)
        timers_give(w, id, *ret_ref);
    else
        timers_take_back(w, id);
    return r;
}
