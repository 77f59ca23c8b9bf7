/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a seat; the interface is in drain.h. */
#include "daemon/supervisor/drain.h"

#include <inttypes.h>
#include <sys/wait.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/configuration.h"
#include "daemon/supervisor/persist.h"
#include "daemon/supervisor/seat.h"

/* for the executor's own end, after the time to drain; a machine may stand still meanwhile */
#define GRACE_NS UINT64_C(10000000000)

static void drain_on_timeout(uv_timer_t *timer)
{
    struct seat *seat = timer->data;

    log_warning("the executor has not ended in time: it is killed");
    executor_link_kill(&seat->executor);
}

void drain_init(struct seat *seat)
{
    seat->drain = (struct seat_drain){ 0 };
    uv_timer_init(seat->service->loop, &seat->drain.timer);
    seat->drain.timer.data = seat;
}

void drain_fini(struct seat *seat)
{
    uv_close((uv_handle_t *)&seat->drain.timer, NULL);
}

static void drain_send(struct seat *seat)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Drain drain = ODEON__DRAIN__INIT;
    uint64_t now = uv_hrtime();

    drain.timeout_ns = seat->drain.deadline_ns > now ? seat->drain.deadline_ns - now : 0;
    drain.stop = true;
    command.body_case = ODEON__COMMAND__BODY_DRAIN;
    command.drain = &drain;
    seat->drain.id = executor_link_send(&seat->executor, &command, NULL, 0);
}

void drain_go_on(struct seat *seat)
{
    if (seat->stopping && seat->drain.id == 0 && seat->executor.state == LINK_READY)
        drain_send(seat);
}

void drain_cut_short(struct seat *seat)
{
    if (seat->executor.child.pid)
        executor_link_kill(&seat->executor);
    else
        seat->ops->ended(seat);
}

uint64_t drain_most_ns(const struct seat *seat)
{
    return seat->service->config->drain_timeout_ns + GRACE_NS;
}

void drain_begin(struct seat *seat)
{
    uint64_t time_ns = seat->service->config->drain_timeout_ns;

    seat->stopping = true;
    port_waits_look(&seat->waits);
    seat_set_state(seat, SERVICE_DRAINING);
    seat->drain.deadline_ns = uv_hrtime() + time_ns;
    if (seat->executor.state == LINK_DOWN) {
        log_event(LOG_LEVEL_WARNING, CATALOGUE_SERVICE_NOT_DRAINED,
                  "the executor is down: what clients sent to it is not processed");
        seat->ops->ended(seat);
        return;
    }
    uv_timer_start(&seat->drain.timer, drain_on_timeout, drain_most_ns(seat) / 1000000, 0);
    if (seat->executor.state == LINK_READY)
        drain_send(seat);
}

void drain_on_ready(struct seat *seat)
{
    if (seat->stopping)
        drain_send(seat);
}

bool drain_handle_report(struct seat *seat, const Odeon__Report *report)
{
    struct seat_drain *drain = &seat->drain;

    if (report->id == 0 || report->id != drain->id)
        return false;
    if (report->body_case == ODEON__REPORT__BODY_DRAINED && report->drained) {
        drain->drained = true;
        drain->complete = report->drained->complete;
        drain->unreceived = report->drained->unreceived;
        drain->running = report->drained->running;
        drain->untaken = report->drained->untaken;
    } else {
        log_error("the executor refuses to drain: %s: it is killed", report->text);
        executor_link_kill(&seat->executor);
    }
    return true;
}

void drain_on_exit(struct seat *seat, int wait_status)
{
    struct seat_drain *drain = &seat->drain;
    char how[96];

    /* who gave it up has said why; nothing was to be drained */
    if (seat->given_up) {
        seat->ops->ended(seat);
        return;
    }
    child_describe_status(wait_status, how, sizeof(how));
    if (!drain->drained)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_SERVICE_NOT_DRAINED,
                  "the executor has ended (%s) before it had drained: what was still queued is %s",
                  how,
                  persist_is_on(seat->service->persist) ? "kept for a restart, lost with a stop"
                                                        : "lost");
    else if (drain->unreceived > 0)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_SERVICE_NOT_DRAINED,
                  "%" PRIu64 " messages sent but not received%s; %" PRIu64
                  " of them in handlers that have not returned, %" PRIu64
                  " in the rings of clients, the rest in queues",
                  drain->unreceived, drain->complete ? "" : ": the time to drain was over",
                  drain->running, drain->untaken);
    else if (!drain->complete)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_SERVICE_NOT_DRAINED,
                  "not drained: the time to drain was over");
    else
        log_event(LOG_LEVEL_NOTICE, CATALOGUE_SERVICE_DRAINED,
                  "drained: every message that was sent has been received");
    if (drain->drained && !(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0))
        log_warning("the executor ended with %s", how);
    seat->ops->ended(seat);
}
