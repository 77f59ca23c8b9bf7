/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/engine/asks/monitor.h"

#include <errno.h>
#include <string.h>

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/timers/timers.h"

static void monitor_write(struct envelope *at, const struct worker *w,
                          const struct timer_request *request, uint64_t id)
{
    const struct down down = { .ref = request->watched, .monitor = id };
    (void)w;
    *at = (struct envelope){
        .to = request->to,
        .from = request->watched,
        .type = MESSAGE_TYPE_DOWN,
        .length = (uint16_t)(envelope_prefix_bytes(PREFIX_KIND) + sizeof(down)),
        .behaviour = BEHAVIOUR_NONE,
        .prefix = PREFIX_KIND,
    };
    envelope_word_put(at, PREFIX_KIND, (uint64_t)KIND_DOWN << 56);
    memcpy(envelope_payload(at), &down, sizeof(down));
}

int monitor_open(struct worker *w, actor_ref watched, uint64_t *ret_id)
{
    const struct timer_request request = {
        .to = w->ctx.self,
        .watched = watched,
        .fill = monitor_write,
        .size = sizeof(struct down),
    };
    if (w->ctx.self == 0)
        return -EPERM;
    if (!actors_self_accepts(w, MESSAGE_TYPE_DOWN))
        return -EOPNOTSUPP;
    int r = timers_arm(w, &request, ret_id);
    if (r == 0)
        stat_add(w, STAT_monitors, 1);
    return r;
}

int monitor_close(struct worker *w, uint64_t id)
{
    return timers_cancel(w, id, true);
}
