/* SPDX-License-Identifier: Apache-2.0 */
/* See timers.h. */
#include "daemon/executor/timers.h"

#include "daemon/executor/turns.h"

static void timers_on_due(uv_poll_t *poll, int status, int events)
{
    struct executor *executor = poll->data;

    (void)status;
    (void)events;
    turns_begin_piece(executor, "timers");
    engine_timers_look(executor->engine);
}

int timers_start(struct executor *executor)
{
    int r = uv_poll_init(&executor->loop, &executor->timers, engine_timers_fd(executor->engine));

    if (r < 0)
        return r;
    executor->timers.data = executor;
    executor->timers_open = true;
    return uv_poll_start(&executor->timers, UV_READABLE, timers_on_due);
}
