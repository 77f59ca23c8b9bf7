/* SPDX-License-Identifier: Apache-2.0 */
/* See unbegun.h. */
#include "daemon/executor/unbegun.h"

#include <odeon/names.h>
#include <stdio.h>

#include "daemon/common/log.h"
#include "daemon/executor/executor.h"
#include "daemon/executor/ref_text.h"
#include "daemon/executor/turns.h"

#define UNBEGUN_AGAIN_NS UINT64_C(1000000000)
enum { UNBEGUN_LOOK_MS = 100 };

static void unbegun_spawner(char text[64], odeon_ref by)
{
    if (by)
        snprintf(text, 64, ", spawned by " REF_FORMAT, REF_ARGS(by));
    else
        text[0] = '\0';
}

static void unbegun_tell(struct executor *executor, uint32_t id, uint64_t now)
{
    struct engine_unbegun_view last;
    struct engine_actor_type_view type;
    uint32_t n = engine_type_unbegun(executor->engine, id, &last);
    char by[64];

    executor->unbegun.types[id].told_ns = now;
    if (n == 0 || engine_actor_type_get(executor->engine, id, &type) < 0)
        return;
    unbegun_spawner(by, last.by);
    if (n == 1)
        log_warning("actor " REF_FORMAT " of type %s%s could not begin: %s", REF_ARGS(last.last),
                    type.name, by, odeon_reason_name(last.reason));
    else
        log_warning("%" PRIu32 " actors of type %s could not begin; the last one, " REF_FORMAT
                    "%s: %s",
                    n, type.name, REF_ARGS(last.last), by, odeon_reason_name(last.reason));
}

/* Of those that wait, those whose time has come, or all. */
static void unbegun_tell_waiting(struct executor *executor, uint64_t now, bool all)
{
    for (uint32_t id = 0; id < ODEON_ACTOR_TYPES_MAX && executor->unbegun.n_waiting > 0; id++) {
        struct unbegun_type *type = &executor->unbegun.types[id];

        if (!type->waits || (!all && now - type->told_ns < UNBEGUN_AGAIN_NS))
            continue;
        type->waits = false;
        executor->unbegun.n_waiting--;
        unbegun_tell(executor, id, now);
    }
}

static void unbegun_on_timer(uv_timer_t *timer)
{
    struct executor *executor = timer->data;

    turns_begin_piece(executor, "actors that could not begin");
    unbegun_tell_waiting(executor, uv_hrtime(), false);
    if (executor->unbegun.n_waiting > 0)
        uv_timer_start(timer, unbegun_on_timer, UNBEGUN_LOOK_MS, 0);
}

void unbegun_start(struct executor *executor)
{
    uv_timer_init(&executor->loop, &executor->unbegun.timer);
    executor->unbegun.timer.data = executor;
    executor->unbegun.open = true;
}

void unbegun_stop(struct executor *executor)
{
    if (!executor->unbegun.open)
        return;
    unbegun_tell_waiting(executor, uv_hrtime(), true);
    uv_close((uv_handle_t *)&executor->unbegun.timer, NULL);
    executor->unbegun.open = false;
}

void unbegun_on_event(struct executor *executor, const struct engine_event *event)
{
    struct unbegun_type *type = &executor->unbegun.types[event->id];
    uint64_t now = uv_hrtime();

    if (type->waits)
        return;
    if (type->told_ns == 0 || now - type->told_ns >= UNBEGUN_AGAIN_NS) {
        unbegun_tell(executor, event->id, now);
        return;
    }
    type->waits = true;
    executor->unbegun.n_waiting++;
    if (!uv_is_active((uv_handle_t *)&executor->unbegun.timer))
        uv_timer_start(&executor->unbegun.timer, unbegun_on_timer, UNBEGUN_LOOK_MS, 0);
}
