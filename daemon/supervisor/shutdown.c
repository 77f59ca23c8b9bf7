/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the service; the interface is in shutdown.h. */
#include <inttypes.h>
#include <sys/wait.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/boot.h"
#include "daemon/supervisor/shutdown.h"
#include "daemon/supervisor/supervisor.h"

/* for the executor's own end, after the time to drain; a machine may stand still meanwhile */
#define GRACE_NS UINT64_C(10000000000)
/* one wish may arrive twice: sent to the process and to its group */
#define REPEAT_NS UINT64_C(200000000)

static void shutdown_on_timeout(uv_timer_t *timer)
{
    struct supervisor *supervisor = timer->data;

    log_warning("the executor has not ended in time: it is killed");
    supervisor->shutdown.killed = true;
    executor_link_kill(&supervisor->executor);
}

void shutdown_init(struct supervisor *supervisor)
{
    supervisor->shutdown = (struct shutdown){ 0 };
    uv_timer_init(&supervisor->loop, &supervisor->shutdown.timer);
    supervisor->shutdown.timer.data = supervisor;
}

void shutdown_fini(struct supervisor *supervisor)
{
    uv_close((uv_handle_t *)&supervisor->shutdown.timer, NULL);
}

static void shutdown_send_drain(struct supervisor *supervisor)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Drain drain = ODEON__DRAIN__INIT;
    uint64_t now = uv_hrtime();

    drain.timeout_ns =
        supervisor->shutdown.deadline_ns > now ? supervisor->shutdown.deadline_ns - now : 0;
    drain.stop = true;
    command.body_case = ODEON__COMMAND__BODY_DRAIN;
    command.drain = &drain;
    supervisor->shutdown.drain_id = executor_link_send(&supervisor->executor, &command, NULL, 0);
}

static void shutdown_begin_again(struct supervisor *supervisor, const char *why)
{
    log_warning("%s again: the executor is killed, nothing more is drained", why);
    supervisor->shutdown.killed = true;
    if (supervisor->executor.child.pid)
        executor_link_kill(&supervisor->executor);
    else
        supervisor_finish(supervisor);
}

void shutdown_begin(struct supervisor *supervisor, const char *why)
{
    struct shutdown *shutdown = &supervisor->shutdown;

    if (supervisor->stopping) {
        if (uv_hrtime() - shutdown->begun_ns >= REPEAT_NS)
            shutdown_begin_again(supervisor, why);
        return;
    }
    shutdown->begun_ns = uv_hrtime();
    log_notice("%s: the service drains and stops", why);
    supervisor->stopping = true;
    notify_stopping(supervisor);
    supervisor_set_state(supervisor, SERVICE_DRAINING);
    supervisor_stop_listening(supervisor);
    boot_stop(supervisor);
    shutdown->deadline_ns = uv_hrtime() + supervisor->config.drain_timeout_ns;
    if (supervisor->executor.state == LINK_DOWN) {
        log_event(LOG_LEVEL_WARNING, CATALOGUE_SERVICE_NOT_DRAINED,
                  "the executor is down: what clients sent to it is not processed");
        supervisor_finish(supervisor);
        return;
    }
    uv_timer_start(&shutdown->timer, shutdown_on_timeout,
                   (supervisor->config.drain_timeout_ns + GRACE_NS) / 1000000, 0);
    if (supervisor->executor.state == LINK_READY)
        shutdown_send_drain(supervisor);
}

void shutdown_on_ready(struct supervisor *supervisor)
{
    if (supervisor->stopping)
        shutdown_send_drain(supervisor);
}

bool shutdown_handle_report(struct supervisor *supervisor, const Odeon__Report *report)
{
    struct shutdown *shutdown = &supervisor->shutdown;

    if (report->id == 0 || report->id != shutdown->drain_id)
        return false;
    if (report->body_case == ODEON__REPORT__BODY_DRAINED && report->drained) {
        shutdown->drained = true;
        shutdown->complete = report->drained->complete;
        shutdown->unreceived = report->drained->unreceived;
    } else {
        log_error("the executor refuses to drain: %s: it is killed", report->text);
        executor_link_kill(&supervisor->executor);
    }
    return true;
}

void shutdown_on_exit(struct supervisor *supervisor, int wait_status)
{
    struct shutdown *shutdown = &supervisor->shutdown;
    char how[96];

    /* supervisor_fail() has said why; nothing was to be drained */
    if (supervisor->exit_status != 0) {
        supervisor_finish(supervisor);
        return;
    }
    child_describe_status(wait_status, how, sizeof(how));
    if (!shutdown->drained)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_SERVICE_NOT_DRAINED,
                  "the executor has ended (%s) before it had drained: what was still queued is %s",
                  how, persist_is_on(supervisor) ? "kept for a restart, lost with a stop" : "lost");
    else if (shutdown->unreceived > 0)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_SERVICE_NOT_DRAINED,
                  "%" PRIu64 " messages sent but not received%s", shutdown->unreceived,
                  shutdown->complete ? "" : ": the time to drain was over");
    else if (!shutdown->complete)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_SERVICE_NOT_DRAINED,
                  "not drained: the time to drain was over");
    else
        log_event(LOG_LEVEL_NOTICE, CATALOGUE_SERVICE_DRAINED,
                  "drained: every message that was sent has been received");
    if (shutdown->drained && !(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0))
        log_warning("the executor ended with %s", how);
    supervisor_finish(supervisor);
}
