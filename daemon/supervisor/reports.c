/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of an executor; the interface is in reports.h. */
#include "daemon/supervisor/reports.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "daemon/common/log.h"
#include "daemon/supervisor/boot.h"
#include "daemon/supervisor/client.h"
#include "daemon/supervisor/drain.h"
#include "daemon/supervisor/seat.h"
#include "daemon/supervisor/seat_ports.h"
#include "daemon/supervisor/watchdog.h"

static bool reports_on_quota_hit(struct seat *seat, const Odeon__Report *report)
{
    const Odeon__QuotaHit *hit = report->quota_hit;
    struct client *client = clients_find(seat->service->clients, hit->client_id);
    char what[192];

    if (strncmp(hit->quota, "waiting-", 8) == 0)
        snprintf(what, sizeof(what),
                 "posts more than may wait for its receivers: its user's quota-%.60s (%" PRIu64
                 ", and %" PRIu64 " wait in all queues)",
                 hit->quota, hit->limit, hit->held);
    else if (strcmp(hit->quota, "doorbells") == 0)
        snprintf(what, sizeof(what),
                 "rings without end: for a while its doorbell is not listened to");
    else
        snprintf(what, sizeof(what), "is served more slowly: its user's quota-%.60s", hit->quota);
    if (client)
        client_blame(client, what);
    return true;
}

static bool reports_on_rule_broken(struct seat *seat, const Odeon__Report *report)
{
    rule_stops_note(&seat->boot.rule_stops, report->rule_broken);
    return true;
}

/* True: it was theirs.  An answer is known by the command that it names, whatever its kind. */
typedef bool (*report_fn)(struct seat *seat, const Odeon__Report *report);

static const struct {
    Odeon__Report__BodyCase body;
    report_fn handle;
} reports[] = {
    { ODEON__REPORT__BODY_READY, boot_handle_report },
    { ODEON__REPORT__BODY_PORT, seat_ports_handle_report },
    { ODEON__REPORT__BODY_PORT_REMOVED, seat_ports_handle_report },
    { ODEON__REPORT__BODY_PORT_FAULT, seat_ports_handle_report },
    { ODEON__REPORT__BODY_DRAINED, drain_handle_report },
    { ODEON__REPORT__BODY_PONG, watchdog_handle_report },
    { ODEON__REPORT__BODY_QUOTA_HIT, reports_on_quota_hit },
    { ODEON__REPORT__BODY_RULE_BROKEN, reports_on_rule_broken },
};

/* Who asks the executor something, and is told in a report without a kind that it is refused. */
static const report_fn askers[] = { boot_handle_report, seat_ports_handle_report,
                                    drain_handle_report, watchdog_handle_report };

/* What an executor says that has refused its start means nothing, but for why it ends: it has not
 * taken the ports either, for one. */
static bool reports_means_something(const struct seat *seat, const Odeon__Report *report)
{
    return !seat->boot.start_refused || report->body_case == ODEON__REPORT__BODY_RULE_BROKEN;
}

void reports_handle(struct seat *seat, const Odeon__Report *report)
{
    if (!reports_means_something(seat, report))
        return;
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
        if (reports[i].body == report->body_case && reports[i].handle(seat, report))
            return;
    for (size_t i = 0; i < sizeof(askers) / sizeof(askers[0]); i++)
        if (askers[i](seat, report))
            return;
    log_debug("a report of the executor is about nothing known (command %llu)",
              (unsigned long long)report->id);
}
