/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of the statistics segment and the names of figures (stats_view.h). */
#include "client-lib/ctl/stats_view.h"
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/json.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const group_paper[] = { "actors_created",
                                           "messages_sent",
                                           "gulps",
                                           "average_gulp_size",
                                           "missed_gulps",
                                           "steal_attempts",
                                           "steal_failures_no_candidates",
                                           "steal_failures_lost_race",
                                           "messages_stolen",
                                           "average_steal_size",
                                           NULL };
static const char *const group_paper_titles[] = { "Actors Created",
                                                  "Messages Sent",
                                                  "Gulps",
                                                  "Average Gulp Size",
                                                  "Missed Gulps",
                                                  "Steal Attempts",
                                                  "Steal Failures (no candidates)",
                                                  "Steal Failures (failed swaps / lost race)",
                                                  "Messages Stolen",
                                                  "Average Steal Size" };
static const char *const group_work[] = { "messages_processed",
                                          "gulped_messages",
                                          "steals",
                                          "actors_ended",
                                          "tail_appends",
                                          "flushes",
                                          "flushed_messages",
                                          "crossing_messages",
                                          "batches_parked",
                                          "lock_contended",
                                          NULL };
static const char *const group_steal[] = { "searches",
                                           "sources_moved",
                                           "visits",
                                           "follow_moves",
                                           "sources_lent",
                                           "pack_trials",
                                           "packs",
                                           "steal_attempts_core",
                                           "steal_attempts_l2",
                                           "steal_attempts_l3",
                                           "steal_attempts_node",
                                           "steal_attempts_machine",
                                           "steals_core",
                                           "steals_l2",
                                           "steals_l3",
                                           "steals_node",
                                           "steals_machine",
                                           NULL };
static const char *const group_ports[] = { "port_batches",
                                           "port_messages",
                                           "port_deliveries",
                                           "port_backlogged",
                                           "ports_broken",
                                           "clients_held",
                                           NULL };
static const char *const group_sleep[] = { "parks",
                                           "parks_moderate",
                                           "relaxed_timeouts",
                                           "wakeups_sent",
                                           "wakeups_received",
                                           "wakeups_useful",
                                           "wakeups_spurious",
                                           "client_wakeups",
                                           NULL };
static const char *const group_else[] = { "redeliveries", "dead_letters",  "dead_letters_dropped",
                                          "refusals",     "sends_failed",  "backlog_dropped",
                                          "faults",       "control_waits", NULL };

const struct stats_group stats_groups[] = {
    { "The scheduler", group_paper }, { "Work", group_work },
    { "Stealing", group_steal },      { "Ports", group_ports },
    { "Sleeping", group_sleep },      { "What went otherwise", group_else },
};
const size_t stats_groups_n = sizeof(stats_groups) / sizeof(stats_groups[0]);

const char *stats_title(const char *name)
{
    for (size_t i = 0; group_paper[i]; i++)
        if (!strcmp(group_paper[i], name))
            return group_paper_titles[i];
    return name;
}

bool stats_is_grouped(const char *name)
{
    for (size_t g = 0; g < stats_groups_n; g++)
        for (const char *const *n = stats_groups[g].names; *n; n++)
            if (!strcmp(*n, name))
                return true;
    return false;
}

/* --stats, else $ODEON_STATS, else beside the socket; NULL: no memory. */
static char *stats_path(const struct ctl *ctl)
{
    const char *given = ctl->option[OPTION_STATS], *socket = ctl_socket_path(ctl), *slash;
    char *path = NULL;

    if (!given || !*given)
        given = getenv("ODEON_STATS");
    if (given && *given)
        return strdup(given);
    slash = strrchr(socket, '/');
    if (asprintf(&path, "%.*sstats", slash ? (int)(slash - socket) + 1 : 0, socket) < 0)
        return NULL;
    return path;
}

int stats_open(struct ctl *ctl, bool quiet, struct odeon_stats **ret)
{
    char *path = stats_path(ctl);
    int r, code = 0;

    if (!path)
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot read the statistics: no memory. Free memory and try again");
    r = odeon_stats_open(path, ret);
    if (r < 0 && quiet)
        code = CTL_UNREACHABLE;
    else if (r == -ENOENT)
        code = ctl_fail(ctl, CTL_UNREACHABLE,
                        "cannot read the statistics: no service has left any (%s). Start odeond, "
                        "or name its file with --stats",
                        path);
    else if (r < 0) {
        code = ctl_refuse(ctl, r, "cannot read the statistics (%s)", path);
        if (r != -EPROTO && r != -EACCES && r != -EPERM)
            code = CTL_UNREACHABLE;
    }
    free(path);
    return code;
}

static bool stats_view_process_is_gone(uint32_t pid)
{
    return pid > INT32_MAX || (kill((pid_t)pid, 0) < 0 && errno == ESRCH);
}

/* What the segment says may be older than the death of who wrote it: processes are looked for,
 * too. */
static void stats_view_snapshot_judge(struct snapshot *s)
{
    const struct odeon_stats_service *v = &s->service;

    s->supervisor_down = !strcmp(v->state_name, "stopped") || !v->supervisor_pid ||
                         stats_view_process_is_gone(v->supervisor_pid);
    s->down = s->supervisor_down || !strcmp(v->state_name, "executor-down") ||
              (v->executor_pid && stats_view_process_is_gone(v->executor_pid));
}

static uint64_t stats_view_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void stats_view_snapshot_read(struct snapshot *s, struct odeon_stats *stats)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *name = odeon_stats_name(stats, i), *doc = odeon_stats_doc(stats, i);

        snprintf(s->figures[i].name, STATS_NAME, "%s", name ? name : "?");
        s->figures[i].doc = doc ? doc : "";
        s->figures[i].kind = odeon_stats_kind(stats, i);
        s->values[i] = odeon_stats_value(stats, -1, i);
        for (unsigned w = 0; w < s->n_workers; w++)
            s->values[(w + 1) * s->n + i] = odeon_stats_value(stats, (int)w, i);
    }
    for (unsigned w = 0; w < s->n_workers; w++)
        s->cpus[w] = odeon_stats_cpu(stats, (int)w);
}

int snapshot_take(struct odeon_stats *stats, bool workers, struct snapshot **ret)
{
    struct snapshot *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return -ENOMEM;
    s->service.struct_size = sizeof(s->service);
    s->taken_ns = stats_view_now_ns();
    r = odeon_stats_service(stats, &s->service);
    s->n = odeon_stats_n(stats);
    if (r >= 0 && (s->n > STATS_FIGURES_SANE || s->service.workers > STATS_WORKERS_SANE))
        r = -EPROTO;
    if (r < 0) {
        free(s);
        return r;
    }
    s->n_workers = workers ? s->service.workers + 1 : 0;
    s->figures = calloc(s->n + 1, sizeof(*s->figures));
    s->values = calloc((s->n_workers + 1) * (s->n + 1), sizeof(*s->values));
    s->cpus = calloc(s->n_workers + 1, sizeof(*s->cpus));
    if (!s->figures || !s->values || !s->cpus) {
        snapshot_free(s);
        return -ENOMEM;
    }
    stats_view_snapshot_read(s, stats);
    stats_view_snapshot_judge(s);
    *ret = s;
    return 0;
}

void snapshot_free(struct snapshot *snapshot)
{
    if (!snapshot)
        return;
    free(snapshot->figures);
    free(snapshot->values);
    free(snapshot->cpus);
    free(snapshot);
}

size_t snapshot_find(const struct snapshot *snapshot, const char *name)
{
    for (size_t i = 0; i < snapshot->n; i++)
        if (!strcmp(snapshot->figures[i].name, name))
            return i;
    return snapshot->n;
}

double snapshot_value(const struct snapshot *snapshot, int worker, size_t figure)
{
    size_t block = worker < 0 ? 0 : (size_t)worker + 1;

    if (figure >= snapshot->n || block > snapshot->n_workers)
        return 0;
    return snapshot->values[block * snapshot->n + figure];
}

/* The same one in another snapshot, in which there may be more workers or fewer: the control thread
 * is always the last. False: it is not there. */
static bool stats_view_find_worker(const struct snapshot *now, int worker,
                                   const struct snapshot *other, int *ret_worker)
{
    unsigned id = (unsigned)worker;
    bool control = worker >= 0 && id + 1 == now->n_workers;

    *ret_worker = control ? (int)other->n_workers - 1 : worker;
    return worker < 0 || (control ? other->n_workers > 0 : id + 1 < other->n_workers);
}

static double stats_view_snapshot_count(const struct snapshot *now, const struct snapshot *before,
                                        int worker, const char *name)
{
    double new = snapshot_value(now, worker, snapshot_find(now, name)), old;
    int was;

    if (!stats_view_find_worker(now, worker, before, &was))
        return 0; /* it has come in between, and may have counted long ago */
    old = snapshot_value(before, was, snapshot_find(before, name));
    return new >= old ? new - old : new;
}

double snapshot_difference(const struct snapshot *now, const struct snapshot *before, int worker,
                           size_t figure)
{
    static const struct {
        const char *name, *numerator, *denominator;
    } derived[] = { { "average_gulp_size", "gulped_messages", "gulps" },
                    { "average_steal_size", "messages_stolen", "steals" } };
    const char *name;

    if (figure >= now->n)
        return 0;
    name = now->figures[figure].name;
    if (now->figures[figure].kind == ODEON_STATS_COUNTER)
        return stats_view_snapshot_count(now, before, worker, name);
    for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++)
        if (!strcmp(derived[i].name, name)) {
            double n = stats_view_snapshot_count(now, before, worker, derived[i].denominator);

            return n > 0 ? stats_view_snapshot_count(now, before, worker, derived[i].numerator) / n
                         : 0;
        }
    return snapshot_value(now, worker, figure);
}

const char *stats_format_value(double value, char text[static STATS_VALUE_TEXT])
{
    snprintf(text, STATS_VALUE_TEXT, value == floor(value) ? "%.0f" : "%.2f", value);
    return text;
}

const char *stats_state_name(double value)
{
    static const char *const names[] = { "stopped", "busy", "searching", "parked" };

    for (unsigned i = 0; i < 4; i++)
        if (value == (double)i)
            return names[i];
    return NULL;
}

void stats_describe_down(const struct snapshot *snapshot, char *text, size_t size)
{
    if (snapshot->supervisor_down)
        snprintf(text, size, "the service is down; these are its last figures");
    else if (snapshot->down)
        snprintf(text, size, "the executor is down; these are its last figures");
    else
        text[0] = '\0';
}

void stats_json_service(struct json *json, const struct snapshot *snapshot)
{
    const struct odeon_stats_service *s = &snapshot->service;

    json_begin_object(json, "service");
    json_string(json, "state", s->state_name);
    json_bool(json, "supervisor_running", !snapshot->supervisor_down);
    json_bool(json, "executor_running", !snapshot->down);
    json_uint(json, "workers", s->workers);
    json_uint(json, "queues", s->queues);
    json_string(json, "stealing", s->stealing);
    json_string(json, "steal_mode", s->steal_mode);
    json_uint(json, "throughput", s->throughput);
    json_uint(json, "supervisor_pid", s->supervisor_pid);
    json_uint(json, "executor_pid", s->executor_pid);
    json_uint(json, "executor_restarts", s->executor_restarts);
    json_uint(json, "executor_started_ns", s->executor_started_ns);
    json_uint(json, "clients", s->clients);
    json_uint(json, "ports", s->ports);
    json_uint(json, "plugins", s->plugins);
    json_uint(json, "actors", s->actors);
    json_uint(json, "unreceived", s->unreceived);
    json_uint(json, "reconfigurations", s->reconfigurations);
    json_uint(json, "reconfigure_last_ns", s->reconfigure_last_ns);
    json_uint(json, "reconfigure_longest_ns", s->reconfigure_longest_ns);
    json_uint(json, "control_turn_longest_ns", s->control_turn_longest_ns);
    json_string(json, "control_turn_work", s->control_turn_work);
    json_end_object(json);
}
