/* SPDX-License-Identifier: Apache-2.0 */
/* See places.h. */
#include "daemon/executor/places.h"

#include <string.h>

#include "daemon/executor/command_later.h"
#include "daemon/executor/reconfigure.h"
#include "daemon/executor/turns.h"

enum { AGAIN_MS = 1000 };

static bool places_are_told(const struct executor *executor)
{
    const struct engine_config *config = engine_get_config(executor->engine);
    const struct topology_plan *plan = topology_get_plan(executor->topology);

    return memcmp(config->cpus, plan->cpus, plan->n_workers * sizeof(*plan->cpus)) == 0 &&
           memcmp(config->nodes, plan->nodes, plan->n_workers * sizeof(*plan->nodes)) == 0;
}

static void places_on_again(uv_timer_t *timer)
{
    places_ask(timer->data);
}

/* For command_later.h.  False: workers are on their way. */
static bool places_tell(struct executor *executor, uint64_t command, const Odeon__Request *request)
{
    /* a change in front of it may have told the engine */
    bool done =
        executor->later_ends || (!reconfigure_is_under_way(executor) && places_are_told(executor));
    int r = done ? 0 : reconfigure_places(executor);

    (void)command;
    (void)request;
    if (r == EXECUTOR_LATER)
        return false;
    executor->places_asked = false;
    if (r < 0)
        uv_timer_start(&executor->places_timer, places_on_again, AGAIN_MS, 0);
    else
        places_ask(executor); /* they may be others by now */
    return true;
}

void places_ask(struct executor *executor)
{
    struct command_later *later;

    if (!executor->places_open || executor->places_asked || executor->later_ends ||
        places_are_told(executor))
        return;
    later = command_later_new(executor, 0, NULL, places_tell);
    if (!later) {
        uv_timer_start(&executor->places_timer, places_on_again, AGAIN_MS, 0);
        return;
    }
    executor->places_asked = true;
    command_later_add(executor, later);
}

static void places_look(void *userdata)
{
    struct executor *executor = userdata;

    turns_begin_piece(executor, "processors that come and go");
    (void)topology_refresh(executor->topology);
    places_ask(executor);
}

int places_start(struct executor *executor)
{
    int r;

    uv_timer_init(&executor->loop, &executor->places_timer);
    executor->places_timer.data = executor;
    executor->places_open = true;
    r = topology_watch_start(&executor->topology_watch, &executor->loop, places_look, executor,
                             executor->watch_fd);
    places_look(executor);
    return r;
}

void places_stop(struct executor *executor)
{
    topology_watch_stop(&executor->topology_watch);
    if (executor->places_open)
        uv_close((uv_handle_t *)&executor->places_timer, NULL);
    executor->places_open = false;
}
