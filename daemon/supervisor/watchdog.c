/* SPDX-License-Identifier: Apache-2.0 */
/* When the watchdog is fed; the interface is in watchdog.h. */
#include "daemon/supervisor/watchdog.h"

#include <inttypes.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/supervisor.h"

enum { LOOKS_A_PERIOD = 3 };

static void watchdog_feed(struct supervisor *supervisor)
{
    struct watchdog *watchdog = &supervisor->watchdog;

    sd_notify(0, "WATCHDOG=1");
    if (watchdog->withheld)
        log_notice("the watchdog is fed again");
    watchdog->withheld = false;
}

/* Said once, until it is fed again. */
static void watchdog_withhold(struct supervisor *supervisor, const char *why)
{
    struct watchdog *watchdog = &supervisor->watchdog;

    if (!watchdog->withheld)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_WATCHDOG_WITHHELD,
                  "the watchdog is not fed: %s; if that lasts, the service manager starts the "
                  "service again",
                  why);
    watchdog->withheld = true;
}

static void watchdog_ask(struct supervisor *supervisor)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Ok ping = ODEON__OK__INIT;

    command.body_case = ODEON__COMMAND__BODY_PING;
    command.ping = &ping;
    supervisor->watchdog.ping_id = executor_link_send(&supervisor->executor, &command, NULL, 0);
}

static void watchdog_on_look(uv_timer_t *timer)
{
    struct supervisor *supervisor = timer->data;
    struct watchdog *watchdog = &supervisor->watchdog;
    bool started = supervisor->boot.boots != watchdog->boots,
         silent = watchdog->ping_id != 0 && !started;

    watchdog->boots = supervisor->boot.boots;
    if (supervisor->stopping || started || supervisor->boot.rule_stops.held)
        watchdog_feed(supervisor);
    if (supervisor->stopping || supervisor->boot.rule_stops.held)
        return;
    if (supervisor->executor.state != LINK_READY) {
        watchdog->ping_id = 0;
        if (!started)
            watchdog_withhold(supervisor, "no executor is ready");
        return;
    }
    if (silent)
        watchdog_withhold(supervisor, "the executor does not answer");
    else
        watchdog_ask(supervisor);
}

bool watchdog_handle_report(struct supervisor *supervisor, const Odeon__Report *report)
{
    const Odeon__Pong *pong = report->body_case == ODEON__REPORT__BODY_PONG ? report->pong : NULL;
    char why[160];

    if (report->id == 0 || report->id != supervisor->watchdog.ping_id)
        return false;
    supervisor->watchdog.ping_id = 0;
    if (!pong) {
        watchdog_withhold(supervisor,
                          "the executor does not understand the question whether it is there");
    } else if (pong->held_elsewhere > 0) {
        snprintf(why, sizeof(why),
                 "%" PRIu32 " of %" PRIu32 " workers stand still, and in no handler",
                 pong->held_elsewhere, pong->workers);
        watchdog_withhold(supervisor, why);
    } else if (pong->held_in_handlers > 0 && pong->held_in_handlers == pong->workers) {
        snprintf(why, sizeof(why), "all %" PRIu32 " workers are in handlers that do not return",
                 pong->workers);
        watchdog_withhold(supervisor, why);
    } else {
        watchdog_feed(supervisor);
    }
    return true;
}

void watchdog_init(struct supervisor *supervisor)
{
    struct watchdog *watchdog = &supervisor->watchdog;
    uint64_t period_us = 0, interval_ms;

    uv_timer_init(&supervisor->loop, &watchdog->timer);
    watchdog->timer.data = supervisor;
    watchdog->enabled = supervisor->notify.enabled && sd_watchdog_enabled(0, &period_us) > 0;
    if (!watchdog->enabled)
        return;
    interval_ms = period_us / 1000 / LOOKS_A_PERIOD;
    if (interval_ms == 0)
        interval_ms = 1;
    uv_timer_start(&watchdog->timer, watchdog_on_look, interval_ms, interval_ms);
}

void watchdog_fini(struct supervisor *supervisor)
{
    uv_close((uv_handle_t *)&supervisor->watchdog.timer, NULL);
}
