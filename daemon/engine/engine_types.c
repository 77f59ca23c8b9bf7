/* SPDX-License-Identifier: Apache-2.0 */
/* Actor types that are run from now on, or not any more: what follows from it for their actors. */
#include "daemon/engine/engine.h"

#include "daemon/engine/actors/actors.h"
#include "daemon/engine/timers/owed.h"
#include "daemon/engine/timers/timers.h"

int engine_actor_type_register_made(struct engine *e, const struct engine_actor_type_info *info,
                                    struct actor_type *made, uint32_t *ret_id)
{
    int r = actor_types_register(e, info, made, ret_id);
    if (r == 0)
        owed_look(e);
    return r;
}

int engine_actor_type_register(struct engine *e, const struct engine_actor_type_info *info,
                               uint32_t *ret_id)
{
    struct actor_type *made;
    uint32_t id;
    int r = actor_types_look(e, info, &id);
    if (r == 0)
        r = engine_actor_type_make(info, &made);
    if (r < 0)
        return r;
    r = engine_actor_type_register_made(e, info, made, ret_id);
    if (r < 0)
        engine_actor_type_unmake(made);
    return r;
}

int engine_actor_type_release(struct engine *e, uint32_t id)
{
    int r = actor_types_release(e, id);
    if (r == 0)
        owed_look(e);
    return r;
}

void engine_type_quarantined(struct engine *e, uint32_t type)
{
    lock_take(&e->timers.mutex);
    watches_type_quarantined(e, type);
    timers_set_clock(e);
    lock_give(&e->timers.mutex);
}
