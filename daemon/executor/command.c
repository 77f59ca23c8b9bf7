/* SPDX-License-Identifier: Apache-2.0 */
/* See command.h. */
#include "daemon/executor/command.h"

#include <errno.h>
#include <string.h>

#include "daemon/common/log.h"
#include "daemon/executor/command_later.h"

static const struct command {
    Odeon__Request__BodyCase body;
    command_fn run;
    bool may_wait; /* for workers: it may be answered later */
} commands[] = {
    { ODEON__REQUEST__BODY_LOOKUP, command_lookup, false },
    { ODEON__REQUEST__BODY_MESSAGE_TYPE_INTERN, command_message_type_intern, false },
    { ODEON__REQUEST__BODY_MESSAGE_TYPE_FIND, command_message_type_find, false },
    { ODEON__REQUEST__BODY_MESSAGE_LIST, command_message_list, false },
    { ODEON__REQUEST__BODY_MESSAGE_SHOW, command_message_show, false },
    { ODEON__REQUEST__BODY_PORT_REGISTER, command_port_register, false },
    { ODEON__REQUEST__BODY_SPAWN, command_spawn, false },
    { ODEON__REQUEST__BODY_START_ACTOR, command_start_actor, false },
    { ODEON__REQUEST__BODY_PLUGIN_LOAD, command_plugin_load, false },
    { ODEON__REQUEST__BODY_PLUGIN_UNLOAD, command_plugin_unload, true },
    { ODEON__REQUEST__BODY_PLUGIN_LIST, command_plugin_list, false },
    { ODEON__REQUEST__BODY_TYPE_LIST, command_type_list, false },
    { ODEON__REQUEST__BODY_QUEUE_LIST, command_queue_list, false },
    { ODEON__REQUEST__BODY_TIMER_LIST, command_timer_list, false },
    { ODEON__REQUEST__BODY_MONITOR_LIST, command_monitor_list, false },
    { ODEON__REQUEST__BODY_GROUP_LIST, command_group_list, false },
    { ODEON__REQUEST__BODY_MEMBER_LIST, command_member_list, false },
    { ODEON__REQUEST__BODY_DEAD_LETTER_LIST, command_dead_letter_list, false },
    { ODEON__REQUEST__BODY_DEAD_LETTER_SHOW, command_dead_letter_show, false },
    { ODEON__REQUEST__BODY_DEAD_LETTER_REPLAY, command_dead_letter_replay, false },
    { ODEON__REQUEST__BODY_DEAD_LETTER_PURGE, command_dead_letter_purge, false },
    { ODEON__REQUEST__BODY_TYPE_RELEASE, command_type_release, false },
    { ODEON__REQUEST__BODY_ACTOR_LIST, command_actor_list, false },
    { ODEON__REQUEST__BODY_ACTOR_SHOW, command_actor_show, false },
    { ODEON__REQUEST__BODY_ACTOR_SEND, command_actor_send, false },
    { ODEON__REQUEST__BODY_ACTOR_STOP, command_actor_stop, false },
    { ODEON__REQUEST__BODY_CLIENT_SHOW, command_client_show, false },
    { ODEON__REQUEST__BODY_MEMORY_SHOW, command_memory_show, false },
    { ODEON__REQUEST__BODY_EXECUTOR_SHOW, command_executor_show, false },
    { ODEON__REQUEST__BODY_EXECUTOR_SET, command_executor_set, true },
};

static bool command_may_wait(const Odeon__Request *request)
{
    for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (commands[i].body == request->body_case)
            return commands[i].may_wait;
    return false;
}

static int command_dispatch(struct executor *executor, const Odeon__Request *request,
                            struct frame *frame, struct reply *reply)
{
    /* Plugins come before workers at a start; everything else wants a running engine. */
    bool early = executor->state == EXECUTOR_PLUGINS &&
                 request->body_case == ODEON__REQUEST__BODY_PLUGIN_LOAD;

    bool stops =
        executor->state == EXECUTOR_STOPPING || (executor->later_ends && command_may_wait(request));

    if ((executor->state != EXECUTOR_RUNNING && !early) || stops)
        return explain_set(&reply->explain, -EAGAIN, "the executor is %s: try again",
                           stops ? "about to stop" : "starting");
    for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (commands[i].body == request->body_case)
            return commands[i].run(executor, request, frame, reply);
    return explain_set(
        &reply->explain, -ENOSYS,
        "this executor does not know the request: client and service are of different versions");
}

static void command_report(struct executor *executor, uint64_t command, struct reply *reply)
{
    Odeon__Report report = ODEON__REPORT__INIT;

    report.id = command;
    report.reply = &reply->message;
    report.body_case = ODEON__REPORT__BODY_REPLY;
    if (odeon__report__get_packed_size(&report) > ODEON_CONTROL_FRAME_MAX) {
        explain_set(
            &reply->explain, -EMSGSIZE,
            "the answer does not fit into one frame of the control protocol: ask for fewer rows");
        reply_refuse(reply, -EMSGSIZE);
    }
    control_send(executor->control, &report);
}

/* False: there is no answer yet. */
static bool command_answer(struct executor *executor, uint64_t command,
                           const Odeon__Request *request, struct frame *frame)
{
    struct reply reply;
    int r;

    reply_init(&reply, request->id);
    r = command_dispatch(executor, request, frame, &reply);
    if (r < 0)
        reply_refuse(&reply, r);
    if (r != EXECUTOR_LATER)
        command_report(executor, command, &reply);
    reply_fini(&reply);
    return r != EXECUTOR_LATER;
}

static bool command_again(struct executor *executor, uint64_t command,
                          const Odeon__Request *request)
{
    struct frame nothing = { 0 }; /* none that waits comes with descriptors */

    executor->is_first = true;
    return command_answer(executor, command, request, &nothing);
}

void command_run(struct executor *executor, uint64_t command, const Odeon__Request *request,
                 struct frame *frame)
{
    struct command_later *later = NULL;

    executor->is_first = executor->later == NULL;
    if (command_may_wait(request)) {
        later = command_later_new(executor, command, request, command_again);
        if (!later) { /* before anything has begun */
            executor_report_error(executor, command, -ENOMEM, "no memory for the request");
            return;
        }
    }
    if (command_answer(executor, command, request, frame))
        command_later_free(later);
    else
        command_later_add(executor, later);
}
