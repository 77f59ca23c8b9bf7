/* SPDX-License-Identifier: Apache-2.0 */
/* See executor_run.h. */
#include "daemon/executor/executor_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/common/log.h"
#include "daemon/executor/broken_rule.h"
#include "daemon/executor/command.h"
#include "daemon/executor/loud_ports.h"
#include "daemon/executor/places.h"
#include "daemon/executor/ports.h"
#include "daemon/executor/post_rate.h"
#include "daemon/executor/progress.h"
#include "daemon/executor/start.h"
#include "daemon/executor/turns.h"
#include "daemon/executor/unbegun.h"

/* Reports that still wait when the process ends have this long to leave. */
enum { FLUSH_MS = 2000 };

static void executor_run_request(struct executor *executor, const Odeon__Command *command,
                                 struct frame *frame)
{
    bool awaited = executor->state == EXECUTOR_PLUGINS &&
                   command->request->body_case == ODEON__REQUEST__BODY_PLUGIN_LOAD;
    unsigned plugins = awaited ? plugin_registry_count(executor->plugins) : 0;

    executor->asker = (struct executor_asker){ .client = command->client_id,
                                               .uid = command->uid,
                                               .bound = command->bound,
                                               .may_register = command->may_register };
    command_run(executor, command->id, command->request, frame);
    if (awaited)
        start_plugin_done(executor, plugin_registry_count(executor->plugins) > plugins);
}

/* What a command is called where turns are told. */
static const char *executor_run_name(const Odeon__Command *command)
{
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(
        &odeon__command__descriptor, (unsigned)command->body_case);

    if (command->body_case == ODEON__COMMAND__BODY_REQUEST)
        field = protobuf_c_message_descriptor_get_field(&odeon__request__descriptor,
                                                        (unsigned)command->request->body_case);
    return field ? field->name : "unknown";
}

static void executor_run_on_command(void *userdata, const Odeon__Command *command,
                                    struct frame *frame)
{
    struct executor *executor = userdata;

    turns_begin_piece(executor, executor_run_name(command));
    switch (command->body_case) {
    case ODEON__COMMAND__BODY_START:
        start_begin(executor, command->id, command->start, frame);
        break;
    case ODEON__COMMAND__BODY_PORT_ADD:
        ports_add(executor, command->id, command->port_add, frame);
        if (executor->state == EXECUTOR_PORTS)
            start_port_done(executor);
        break;
    case ODEON__COMMAND__BODY_PORT_REMOVE:
        ports_remove(executor, command->id, command->port_remove);
        break;
    case ODEON__COMMAND__BODY_DRAIN:
        drain_begin(executor, command->id, command->drain);
        break;
    case ODEON__COMMAND__BODY_PING:
        progress_answer(executor, command->id);
        break;
    case ODEON__COMMAND__BODY_LOG_LEVEL:
        log_set_level((enum log_level)command->log_level->most);
        break;
    case ODEON__COMMAND__BODY_GO_WITHOUT:
        start_go_without(executor);
        break;
    case ODEON__COMMAND__BODY_REQUEST:
        executor_run_request(executor, command, frame);
        break;
    default:
        log_error("the supervisor has sent a command that this executor does not know: are they of "
                  "one version?");
        executor_report_error(executor, command->id, -ENOSYS,
                              "this executor does not know the command");
        break;
    }
}

static void executor_run_on_closed(void *userdata, const char *why)
{
    (void)userdata;
    log_error("%s: the executor ends at once, its segment stays as it is", why);
    _exit(EXIT_FAILURE); /* executor.X1 */
}

static int executor_run_init(struct executor *executor, int control_fd)
{
    static const struct control_handlers handlers = { .command = executor_run_on_command,
                                                      .closed = executor_run_on_closed };
    int r = uv_loop_init(&executor->loop);

    executor->segment_fd = executor->watch_fd = -1;
    if (r < 0)
        return r;
    uv_timer_init(&executor->loop, &executor->drain_timer);
    executor->drain_timer.data = executor;
    uv_timer_init(&executor->loop, &executor->widen_timer);
    executor->widen_timer.data = executor;
    uv_timer_init(&executor->loop, &executor->again_timer);
    executor->again_timer.data = executor;
    uv_timer_init(&executor->loop, &executor->later_timer);
    executor->later_timer.data = executor;
    post_rate_start(executor);
    loud_ports_start(executor);
    unbegun_start(executor);
    turns_start(executor);
    return control_new(&executor->loop, control_fd, &handlers, executor, &executor->control);
}

/* Workers stand still by now, or were never started. */
static void executor_run_fini(struct executor *executor)
{
    executor->control = control_free(executor->control);
    if (executor->events_open)
        uv_close((uv_handle_t *)&executor->events, NULL);
    if (executor->stalls_open)
        uv_close((uv_handle_t *)&executor->stalls, NULL);
    if (executor->timers_open)
        uv_close((uv_handle_t *)&executor->timers, NULL);
    places_stop(executor);
    uv_close((uv_handle_t *)&executor->drain_timer, NULL);
    uv_close((uv_handle_t *)&executor->again_timer, NULL);
    uv_close((uv_handle_t *)&executor->widen_timer, NULL);
    uv_close((uv_handle_t *)&executor->later_timer, NULL);
    post_rate_stop(executor);
    loud_ports_stop(executor);
    unbegun_stop(executor);
    turns_stop(executor);
    actor_quota_fini(&executor->actor_quota);
    uv_run(&executor->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&executor->loop);
    executor->plugins = plugin_registry_free(executor->plugins);
    if (executor->engine)
        executor->engine = engine_close(executor->engine);
    executor->host = host_free(executor->host);
    executor->topology = topology_free(executor->topology);
    if (executor->stats)
        munmap(executor->stats, sizeof(*executor->stats));
    if (executor->segment_fd >= 0)
        close(executor->segment_fd);
    free(executor);
}

int executor_run(int control_fd)
{
    struct executor *executor = calloc(1, sizeof(*executor));
    int status, r;

    if (!executor) {
        log_error("no memory");
        return EXIT_FAILURE;
    }
    executor->entered_ns = uv_hrtime();
    r = executor_run_init(executor, control_fd);
    if (r < 0) {
        log_error("descriptor %d is no connection to a supervisor: %s", control_fd, strerror(-r));
        free(executor);
        return EXIT_FAILURE;
    }
    broken_rule_tell_to(control_fd);
    uv_run(&executor->loop, UV_RUN_DEFAULT);
    r = control_flush(executor->control, FLUSH_MS);
    if (r < 0)
        log_error("the last reports did not reach the supervisor: %s", strerror(-r));
    /* A start that failed half-way may have left workers running: as crash-only as any other
     * end. */
    if (executor->state == EXECUTOR_RUNNING)
        _exit(EXIT_FAILURE);
    status = executor->exit_status;
    executor_run_fini(executor);
    return status;
}
