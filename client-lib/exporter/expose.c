/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/expose.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <odeon/version.h>

#include "client-lib/exporter/expose_types.h"

enum {
    EXPOSE_FOR_TYPES = 3000, /* series that are kept for types where these are shown */
    EXPOSE_FOR_SERVICE = 200,
    EXPOSE_SUMS = 2, /* of workers: control thread, others */
};

static void expose_one(struct metrics *m, const char *name, enum metrics_type type,
                       const char *unit, const char *help, double value)
{
    metrics_family(m, name, type, unit, help);
    metrics_value(m, NULL, 0, value);
}

/* ---- the service ---- */

static void expose_state(const struct expose *expose, struct metrics *m)
{
    static const char *const states[] = { "starting", "recovering",    "running",
                                          "draining", "executor-down", "stopped" };
    const char *now = expose->figures->service.state_name;

    if (!expose->figures->supervisor_up)
        now = "stopped";
    else if (!expose->figures->executor_up && strcmp(now, "running") == 0)
        now = "executor-down"; /* and not told yet */
    metrics_family(m, "odeon_service_state", METRICS_GAUGE, "",
                   "1 of the state that the service is in, 0 of the others");
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        metrics_value(m, &(struct metrics_label){ "state", states[i] }, 1,
                      strcmp(states[i], now) == 0);
}

static void expose_gauges(const struct figures *figures, struct metrics *m)
{
    const struct odeon_stats_service *s = &figures->service;
    const struct {
        const char *name, *help;
        double value;
    } gauges[] = {
        { "odeon_workers", "worker threads", s->workers },
        { "odeon_queues", "message queues of workers", s->queues },
        { "odeon_clients", "clients that are connected", s->clients },
        { "odeon_ports", "ports that are open", s->ports },
        { "odeon_plugins", "plugins that are loaded", s->plugins },
        { "odeon_actors", "actors that live", (double)s->actors },
        { "odeon_unreceived_messages",
          "messages that were sent and not received at the last stop of the service",
          (double)s->unreceived },
    };

    for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
        expose_one(m, gauges[i].name, METRICS_GAUGE, "", gauges[i].help, gauges[i].value);
}

static double expose_seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void expose_times(const struct figures *figures, struct metrics *m)
{
    const struct odeon_stats_service *s = &figures->service;
    uint64_t up = figures->executor_up && figures->looked_ns > s->executor_started_ns
                      ? figures->looked_ns - s->executor_started_ns
                      : 0;

    expose_one(m, "odeon_executor_uptime_seconds", METRICS_GAUGE, "seconds",
               "time since the executor was ready, 0 while it is down", expose_seconds(up));
    expose_one(m, "odeon_recovery_last_seconds", METRICS_GAUGE, "seconds",
               "how long the last recovery took", expose_seconds(s->recovery_last_ns));
    expose_one(m, "odeon_reconfigure_longest_seconds", METRICS_GAUGE, "seconds",
               "the longest time that workers stood still for a change of settings",
               expose_seconds(s->reconfigure_longest_ns));
    expose_one(m, "odeon_control_turn_longest_seconds", METRICS_GAUGE, "seconds",
               "processor time of the longest turn of the executor's control thread",
               expose_seconds(s->control_turn_longest_ns));
}

static void expose_counts(const struct figures *figures, struct metrics *m)
{
    const struct odeon_stats_service *s = &figures->service;
    const struct {
        const char *name, *help;
        uint64_t value;
    } counts[] = {
        { "odeon_executor_restarts", "executors that were started behind the first one",
          s->executor_restarts },
        { "odeon_reconfigurations", "changes of settings for which workers stood still",
          s->reconfigurations },
        { "odeon_boots", "starts of executors, each of them a recovery", s->boots },
        { "odeon_recovered_running_handlers", "workers that were killed inside a handler",
          s->recovered_running_handlers },
        { "odeon_recovered_redeliveries", "messages that recovery has run again",
          s->recovered_redeliveries },
        { "odeon_recovered_faults", "faults that recovery has blamed on a message",
          s->recovered_faults },
    };

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        expose_one(m, counts[i].name, METRICS_COUNTER, "", counts[i].help, (double)counts[i].value);
}

/* ---- workers ---- */

/* How many blocks may have series of their own (expose.E1): as many, however many workers there
 * are, so that no count moves from one series into another one. */
static unsigned expose_blocks_shown(const struct expose *expose)
{
    size_t n = expose->figures->n + 1,
           most = EXPOSE_SERIES - EXPOSE_FOR_SERVICE - (expose->with_types ? EXPOSE_FOR_TYPES : 0);
    size_t each = most / n;

    return each > EXPOSE_SUMS ? (unsigned)(each - EXPOSE_SUMS) : 0;
}

static void expose_worker(struct metrics *m, const char *worker, double value)
{
    metrics_value(m, &(struct metrics_label){ "worker", worker }, 1, value);
}

/* Of those that are no workers now, who has counted something once. */
static void expose_counter(const struct figures *figures, size_t i, unsigned most,
                           struct metrics *m)
{
    unsigned control = figures->n_blocks - 1, left_out = 0;
    bool summed = false;
    char worker[16];
    double others = 0;

    for (unsigned k = 0; k < control; k++) {
        double value = figures_of_block(figures, i, k);

        if (k >= figures->n_workers && value == 0)
            continue;
        if (k < most) {
            snprintf(worker, sizeof(worker), "%u", k);
            expose_worker(m, worker, value);
        } else {
            left_out += k < figures->n_workers; /* threads of detached actors lie behind those */
            summed = true;
            others += value;
        }
    }
    if (summed)
        expose_worker(m, "other", others);
    metrics_leave_out(m, left_out);
    expose_worker(m, "control", figures_of_block(figures, i, control));
}

static void expose_gauge(const struct figures *figures, size_t i, unsigned most, struct metrics *m)
{
    unsigned shown = most < figures->n_workers ? most : figures->n_workers;
    char worker[16];

    for (unsigned k = 0; k < shown; k++) {
        snprintf(worker, sizeof(worker), "%u", k);
        expose_worker(m, worker, figures_of_block(figures, i, k));
    }
    metrics_leave_out(m, figures->n_workers - shown);
}

/* A figure that is newer than this program may be a counter or a gauge. */
static void expose_figure(const struct figures *figures, size_t i, unsigned most, struct metrics *m)
{
    const struct figure *figure = &figures->figures[i];
    char name[METRICS_NAME];

    if (figure->kind == ODEON_STATS_DERIVED)
        return;
    snprintf(name, sizeof(name), "%s%s",
             figure->kind == ODEON_STATS_GAUGE ? "odeon_worker_" : "odeon_", figure->name);
    if (figure->doc[0] == '\0') {
        metrics_family(m, name, METRICS_UNKNOWN, "",
                       "counted by a service that is newer than this exporter");
        expose_gauge(figures, i, most, m);
    } else if (figure->kind == ODEON_STATS_GAUGE) {
        metrics_family(m, name, METRICS_GAUGE, "", figure->doc);
        expose_gauge(figures, i, most, m);
    } else {
        metrics_family(m, name, METRICS_COUNTER, "", figure->doc);
        expose_counter(figures, i, most, m);
    }
}

static void expose_workers(const struct expose *expose, struct metrics *m)
{
    const struct figures *figures = expose->figures;
    unsigned most = expose_blocks_shown(expose),
             shown = most < figures->n_workers ? most : figures->n_workers;
    char worker[16];

    for (size_t i = 0; i < figures->n; i++)
        expose_figure(figures, i, most, m);
    metrics_family(m, "odeon_worker_cpu", METRICS_GAUGE, "",
                   "number of the processor that the worker is bound to, -1: none");
    for (unsigned k = 0; k < shown; k++) {
        snprintf(worker, sizeof(worker), "%u", k);
        expose_worker(m, worker, figures->cpus[k]);
    }
    metrics_leave_out(m, figures->n_workers - shown);
}

/* ---- the exporter itself ---- */

static void expose_exporter(const struct expose *expose, struct metrics *m)
{
    const struct tally *t = expose->tally;

    metrics_family(m, "odeon_exporter_build_info", METRICS_GAUGE, "",
                   "1: the exporter has this version");
    metrics_value(m, &(struct metrics_label){ "version", ODEON_VERSION }, 1, 1);
    expose_one(m, "odeon_exporter_scrapes", METRICS_COUNTER, "",
               "requests for metrics that were answered", (double)t->scrapes);
    metrics_family(m, "odeon_exporter_refused", METRICS_COUNTER, "",
                   "requests that were refused, by what was wrong with them");
    for (unsigned i = 0; i < TALLY_REFUSALS; i++)
        metrics_value(m, &(struct metrics_label){ "reason", tally_refusals[i] }, 1,
                      (double)t->refused[i]);
    expose_one(m, "odeon_exporter_connections", METRICS_GAUGE, "", "connections that are open now",
               t->connections);
    expose_one(m, "odeon_exporter_accepted", METRICS_COUNTER, "", "connections that were accepted",
               (double)t->accepted);
    metrics_family(m, "odeon_exporter_ended", METRICS_COUNTER, "",
                   "connections that were ended: others needed their place, or they were late");
    metrics_value(m, &(struct metrics_label){ "reason", "others" }, 1, (double)t->ended_for_others);
    metrics_value(m, &(struct metrics_label){ "reason", "late" }, 1, (double)t->ended_late);
    /* the last one, which is about all before */
    expose_one(m, "odeon_exporter_series_left_out", METRICS_GAUGE, "",
               "series that are not here: summed up as other, beyond the bound, or of no name",
               (double)m->left_out);
}

int expose_write(const struct expose *expose, enum metrics_format format, struct buffer *out)
{
    struct metrics m;
    bool is_up = expose->readable && expose->figures->executor_up;

    if (metrics_begin(&m, out, format, EXPOSE_SERIES - EXPOSE_FOR_SERVICE / 2) < 0)
        return -ENOMEM;
    expose_one(&m, "odeon_up", METRICS_GAUGE, "", "1: the executor runs and takes messages", is_up);
    expose_one(&m, "odeon_statistics_readable", METRICS_GAUGE, "",
               "1: there are statistics of a service, if only of one that has stopped",
               expose->readable);
    if (expose->readable) {
        expose_state(expose, &m);
        expose_gauges(expose->figures, &m);
        expose_times(expose->figures, &m);
        expose_counts(expose->figures, &m);
        expose_workers(expose, &m);
    }
    if (expose->with_types)
        expose_types(expose->observed, &m);
    m.most = EXPOSE_SERIES;
    expose_exporter(expose, &m);
    metrics_end(&m);
    return out->failed ? -ENOMEM : 0;
}
