/* SPDX-License-Identifier: Apache-2.0 */
/* When the watchdog is fed; the interface is in watchdog.h. */
#include "daemon/supervisor/watchdog.h"

#include <inttypes.h>
#include <stdio.h>

#include "daemon/common/events.h"
#include "daemon/common/log.h"
#include "daemon/supervisor/seat.h"

enum { LOOKS_A_PERIOD = 3 };

void watchdog_feed(struct seat *seat)
{
    struct seat_watchdog *watchdog = &seat->watchdog;

    seat->ops->alive(seat);
    if (watchdog->withheld)
        log_notice("the watchdog is fed again");
    watchdog->withheld = false;
}

/* Said once, until it is fed again. */
static void watchdog_withhold(struct seat *seat, const char *why)
{
    struct seat_watchdog *watchdog = &seat->watchdog;

    if (!watchdog->withheld)
        log_event(LOG_LEVEL_WARNING, CATALOGUE_WATCHDOG_WITHHELD,
                  "the watchdog is not fed: %s; if that lasts, the service manager starts the "
                  "service again",
                  why);
    watchdog->withheld = true;
}

static void watchdog_ask(struct seat *seat)
{
    Odeon__Command command = ODEON__COMMAND__INIT;
    Odeon__Ok ping = ODEON__OK__INIT;

    command.body_case = ODEON__COMMAND__BODY_PING;
    command.ping = &ping;
    seat->watchdog.ping_id = executor_link_send(&seat->executor, &command, NULL, 0);
}

static void watchdog_on_look(uv_timer_t *timer)
{
    struct seat *seat = timer->data;
    struct seat_watchdog *watchdog = &seat->watchdog;
    bool started = seat->boot.boots != watchdog->boots, silent = watchdog->ping_id != 0 && !started,
         recovers = started || seat->boot.put_off;

    watchdog->boots = seat->boot.boots;
    if (seat->stopping || recovers || seat->boot.rule_stops.held)
        watchdog_feed(seat);
    if (seat->stopping || seat->boot.rule_stops.held)
        return;
    if (seat->executor.state != LINK_READY) {
        watchdog->ping_id = 0;
        if (!recovers)
            watchdog_withhold(seat, "no executor is ready");
        return;
    }
    if (silent)
        watchdog_withhold(seat, "the executor does not answer");
    else
        watchdog_ask(seat);
}

bool watchdog_handle_report(struct seat *seat, const Odeon__Report *report)
{
    const Odeon__Pong *pong = report->body_case == ODEON__REPORT__BODY_PONG ? report->pong : NULL;
    char why[160];

    if (report->id == 0 || report->id != seat->watchdog.ping_id)
        return false;
    seat->watchdog.ping_id = 0;
    if (!pong) {
        watchdog_withhold(seat,
                          "the executor does not understand the question whether it is there");
    } else if (pong->held_elsewhere > 0) {
        snprintf(why, sizeof(why),
                 "%" PRIu32 " of %" PRIu32 " workers stand still, and in no handler",
                 pong->held_elsewhere, pong->workers);
        watchdog_withhold(seat, why);
    } else if (pong->held_in_handlers > 0 && pong->held_in_handlers == pong->workers) {
        snprintf(why, sizeof(why), "all %" PRIu32 " workers are in handlers that do not return",
                 pong->workers);
        watchdog_withhold(seat, why);
    } else {
        watchdog_feed(seat);
    }
    return true;
}

void watchdog_init(struct seat *seat, uint64_t period_us)
{
    uint64_t interval_ms = period_us / 1000 / LOOKS_A_PERIOD;

    uv_timer_init(seat->service->loop, &seat->watchdog.timer);
    seat->watchdog.timer.data = seat;
    if (period_us == 0)
        return;
    if (interval_ms == 0)
        interval_ms = 1;
    uv_timer_start(&seat->watchdog.timer, watchdog_on_look, interval_ms, interval_ms);
}

void watchdog_fini(struct seat *seat)
{
    uv_close((uv_handle_t *)&seat->watchdog.timer, NULL);
}
