/* SPDX-License-Identifier: Apache-2.0 */
/* See stalls.h. */
#include "daemon/executor/stalls.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/executor/ref_text.h"
#include "daemon/executor/turns.h"

/* What the worker's thread does, in words. */
static const char *stalls_what_it_does(const struct engine_stall *stall)
{
    if (stall->what == ENGINE_STALL_GONE)
        return "ended";
    if (stall->state == 'R')
        return stall->cpu_ns * 2 >= stall->age_ns ? "computing"
                                                  : "computing, with little of a processor";
    return stall->state == '?' ? "doing nobody knows what" : "blocked";
}

static const char *stalls_what_follows(const struct engine_stall *stall)
{
    switch (stall->what) {
    case ENGINE_STALL_ASIDE:
        return ": it has been set aside, the other actors of its queue go on";
    case ENGINE_STALL_KILL:
        return ": it is ended, and the executor with it";
    case ENGINE_STALL_GONE:
        return ": its thread is gone, the executor ends with it";
    default:
        return stall->aside == 0 ? ": it is set aside, the other actors of its queue go on"
                                 : ": the other actors of its queue wait for it";
    }
}

static void stalls_on_stall(void *userdata, const struct engine_stall *stall)
{
    const struct executor *executor = userdata;
    char plugin[ODEON_NAME_MAX + 32], type[ODEON_NAME_MAX + 32], actor[64],
        message[ODEON_NAME_MAX + 32], worker[32];
    const char *const fields[] = {
        CATALOGUE_HANDLER_STALLED, plugin, type, actor, message, worker, NULL
    };
    struct engine_actor_type_view view = { .name = "unknown", .plugin = "unknown" };
    struct engine_message_type message_type = { .name = stall->message_type == MESSAGE_TYPE_INIT
                                                            ? "init"
                                                            : "unknown" };

    if (stall->actor)
        (void)engine_actor_type_get(executor->engine, stall->type, &view);
    (void)engine_message_type_get(executor->engine, (uint16_t)stall->message_type, &message_type);
    snprintf(plugin, sizeof(plugin), "ODEON_PLUGIN=%s", view.plugin);
    snprintf(type, sizeof(type), "ODEON_ACTOR_TYPE=%s", view.name);
    snprintf(actor, sizeof(actor), "ODEON_ACTOR=" REF_FORMAT, REF_ARGS(stall->actor));
    snprintf(message, sizeof(message), "ODEON_MESSAGE=%s", message_type.name);
    snprintf(worker, sizeof(worker), "ODEON_WORKER=%" PRIu32, stall->worker);
    log_fields(LOG_LEVEL_WARNING, fields,
               "a handler of plugin %s has not returned for %" PRIu64
               " ms: actor type %s, actor " REF_FORMAT ", message %s, worker %" PRIu32
               ", %s (%" PRIu64 " ms on a processor)%s",
               view.plugin, stall->age_ns / 1000000, view.name, REF_ARGS(stall->actor),
               message_type.name, stall->worker, stalls_what_it_does(stall),
               stall->cpu_ns / 1000000, stalls_what_follows(stall));
}

static void stalls_on_due(uv_poll_t *poll, int status, int events)
{
    struct executor *executor = poll->data;

    (void)status;
    (void)events;
    turns_begin_piece(executor, "look at handlers");
    engine_watch_look(executor->engine, stalls_on_stall, executor);
}

int stalls_start(struct executor *executor)
{
    int r = uv_poll_init(&executor->loop, &executor->stalls, engine_watch_fd(executor->engine));

    if (r < 0)
        return r;
    executor->stalls.data = executor;
    executor->stalls_open = true;
    return uv_poll_start(&executor->stalls, UV_READABLE, stalls_on_due);
}
