/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl stats: totals since the segment was made, from the segment alone; `--watch` is in
 * ctl_stats_watch.c. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/stats_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What recoveries found, in all (the kind of figure that has no worker). */
static const struct recovery_figure {
    const char *key, *doc;
    size_t offset;
} recovery_figures[] = {
#define RECOVERY(field, text)                                                                      \
    {                                                                                              \
#field, text, offsetof(struct odeon_stats_service, field)                                  \
    }
    RECOVERY(boots, "starts of the executor, each of them a recovery"),
    RECOVERY(recovered_running_handlers, "workers that died inside a handler or before its commit"),
    RECOVERY(recovered_unflushed_outboxes,
             "outboxes with committed messages that were not yet delivered"),
    RECOVERY(recovered_armed_journals, "queue journals that were rolled forward"),
    RECOVERY(recovered_held_locks, "queue locks that a dead worker held"),
    RECOVERY(recovered_parked_batches, "batches without a worker"),
    RECOVERY(recovered_attached_batches, "batches that a worker was running"),
    RECOVERY(recovered_ports_attached, "ports that a worker was reading"),
    RECOVERY(recovered_spawns_undone, "actors whose spawn had not been committed"),
    RECOVERY(recovered_states_undone,
             "kept states set back to before a message that was not finished"),
    RECOVERY(recovered_redeliveries, "messages that were given out again"),
    RECOVERY(recovered_faults, "crashes that were blamed on a message"),
    RECOVERY(recovery_last_ns, "time that the last recovery took, in nanoseconds"),
#undef RECOVERY
};
enum { RECOVERY_FIGURES = sizeof(recovery_figures) / sizeof(recovery_figures[0]) };

static uint64_t ctl_stats_recovery_value(const struct snapshot *s, size_t i)
{
    uint64_t value;

    memcpy(&value, (const char *)&s->service + recovery_figures[i].offset, sizeof(value));
    return value;
}

static void stats_json_figures(struct json *json, const struct snapshot *s, int worker)
{
    json_begin_object(json, "statistics");
    for (size_t i = 0; i < s->n; i++) {
        if (worker < 0 && s->figures[i].kind == ODEON_STATS_GAUGE)
            continue;
        json_double(json, s->figures[i].name, snapshot_value(s, worker, i));
    }
    json_end_object(json);
}

static void stats_print_json(struct ctl *ctl, const struct snapshot *s)
{
    struct json json;

    json_begin_document(&json, ctl->out);
    stats_json_service(&json, s);
    stats_json_figures(&json, s, -1);
    json_begin_object(&json, "recovery");
    for (size_t i = 0; i < RECOVERY_FIGURES; i++)
        json_uint(&json, recovery_figures[i].key, ctl_stats_recovery_value(s, i));
    json_end_object(&json);
    if (s->n_workers) {
        json_begin_array(&json, "workers");
        for (unsigned w = 0; w < s->n_workers; w++) {
            json_begin_object(&json, NULL);
            json_uint(&json, "id", w);
            json_bool(&json, "control", w + 1 == s->n_workers);
            if (s->cpus[w] < 0)
                json_null(&json, "cpu");
            else
                json_uint(&json, "cpu", (uint64_t)s->cpus[w]);
            stats_json_figures(&json, s, (int)w);
            json_end_object(&json);
        }
        json_end_array(&json);
    }
    json_end_document(&json);
}

static void stats_print_header(struct ctl *ctl, const struct snapshot *s)
{
    const struct odeon_stats_service *v = &s->service;
    char down[96];

    stats_describe_down(s, down, sizeof(down));
    if (*down)
        fprintf(ctl->out, "Note: %s.\n", down);
    if (!ctl->legend)
        return;
    if (!s->down)
        fprintf(ctl->out, "%s: ", v->state_name);
    fprintf(ctl->out,
            "%u workers, %u queues, %llu actors, %u plugins, %u clients with %u ports; stealing "
            "%s%s%s, throughput %u\n\n",
            v->workers, v->queues, (unsigned long long)v->actors, v->plugins, v->clients, v->ports,
            v->stealing, *v->steal_mode ? ", " : "", v->steal_mode, v->throughput);
}

/* Columns: name, all workers together, with --worker each of them, documentation. */
struct stats_table {
    const struct snapshot *snapshot;
    struct listing list;
    size_t n_columns;
    struct column *columns;
    struct cell *cells;
    char (*texts)[STATS_VALUE_TEXT];
    char (*titles)[16];
};

static void stats_table_fini(struct stats_table *t)
{
    free(t->columns);
    free(t->cells);
    free(t->texts);
    free(t->titles);
}

static int stats_table_init(struct stats_table *t, struct ctl *ctl, const struct snapshot *s)
{
    size_t n = 3 + (size_t)s->n_workers;

    *t = (struct stats_table){ .snapshot = s, .n_columns = n };
    t->columns = calloc(n, sizeof(*t->columns));
    t->cells = calloc(n, sizeof(*t->cells));
    t->texts = calloc(n, sizeof(*t->texts));
    t->titles = calloc(n, sizeof(*t->titles));
    if (!t->columns || !t->cells || !t->texts || !t->titles) {
        stats_table_fini(t);
        return -ENOMEM;
    }
    t->columns[0] = (struct column){ .title = "STATISTIC" };
    t->columns[1] = (struct column){ .title = "ALL", .right = true };
    for (unsigned w = 0; w < s->n_workers; w++) {
        snprintf(t->titles[w], sizeof(t->titles[w]), w + 1 == s->n_workers ? "CONTROL" : "W%u", w);
        t->columns[2 + w] = (struct column){ .title = t->titles[w], .right = true };
    }
    t->columns[n - 1] = (struct column){ .title = "WHAT IT IS" };
    listing_begin(&t->list, ctl, "", t->columns, n);
    return 0;
}

static void stats_table_add(struct stats_table *t, size_t figure)
{
    const struct snapshot *s = t->snapshot;
    const struct snapshot_figure *f = &s->figures[figure];
    bool state = f->kind == ODEON_STATS_GAUGE && !strcmp(f->name, "state");

    t->cells[0] = CELL_TEXT(stats_title(f->name));
    t->cells[1] = f->kind == ODEON_STATS_GAUGE
                      ? CELL_NONE
                      : CELL_TEXT(stats_format_value(snapshot_value(s, -1, figure), t->texts[1]));
    for (unsigned w = 0; w < s->n_workers; w++) {
        double value = snapshot_value(s, (int)w, figure);
        const char *name = state ? stats_state_name(value) : NULL;

        t->cells[2 + w] = CELL_TEXT(name ? name : stats_format_value(value, t->texts[2 + w]));
    }
    t->cells[t->n_columns - 1] = CELL_TEXT(f->doc);
    listing_add(&t->list, t->cells);
}

static void stats_table_add_groups(struct stats_table *t)
{
    const struct snapshot *s = t->snapshot;
    bool headed = false;

    for (size_t g = 0; g < stats_groups_n; g++) {
        headed = false;
        for (const char *const *name = stats_groups[g].names; *name; name++) {
            size_t i = snapshot_find(s, *name);

            if (i == s->n)
                continue; /* an older service does not count it */
            if (!headed)
                listing_heading(&t->list, stats_groups[g].title);
            headed = true;
            stats_table_add(t, i);
        }
    }
    headed = false;
    for (size_t i = 0; i < s->n; i++) {
        if (stats_is_grouped(s->figures[i].name) ||
            (s->figures[i].kind == ODEON_STATS_GAUGE && !s->n_workers))
            continue;
        if (!headed)
            listing_heading(&t->list, s->n_workers ? "Now, and other" : "Other");
        headed = true;
        stats_table_add(t, i);
    }
}

static void stats_table_add_recovery(struct stats_table *t)
{
    listing_heading(&t->list, "Recovery");
    for (size_t i = 0; i < RECOVERY_FIGURES; i++) {
        for (size_t c = 0; c < t->n_columns; c++)
            t->cells[c] = CELL_NONE;
        t->cells[0] = CELL_TEXT(recovery_figures[i].key);
        t->cells[1] = CELL_NUMBER(ctl_stats_recovery_value(t->snapshot, i));
        t->cells[t->n_columns - 1] = CELL_TEXT(recovery_figures[i].doc);
        listing_add(&t->list, t->cells);
    }
}

static void stats_table_add_cpus(struct stats_table *t)
{
    const struct snapshot *s = t->snapshot;

    if (!s->n_workers)
        return;
    t->cells[0] = CELL_TEXT("cpu");
    t->cells[1] = CELL_NONE;
    for (unsigned w = 0; w < s->n_workers; w++)
        t->cells[2 + w] = s->cpus[w] < 0 ? CELL_NONE : CELL_NUMBER((uint64_t)s->cpus[w]);
    t->cells[t->n_columns - 1] = CELL_TEXT("processor that the worker is bound to");
    listing_add(&t->list, t->cells);
}

static int stats_print_table(struct ctl *ctl, const struct snapshot *s)
{
    struct stats_table t;
    int code;

    stats_print_header(ctl, s);
    if (stats_table_init(&t, ctl, s) < 0)
        return ctl_fail(ctl, CTL_REFUSED,
                        "cannot show the statistics: no memory. Free memory and try again");
    stats_table_add_groups(&t);
    stats_table_add_cpus(&t);
    stats_table_add_recovery(&t);
    code = listing_end(&t.list, false, 0);
    stats_table_fini(&t);
    return code;
}

static int stats_print_once(struct ctl *ctl, struct odeon_stats *stats)
{
    struct snapshot *s = NULL;
    int r, code = 0;

    r = snapshot_take(stats, ctl->option[OPTION_WORKER] != NULL, &s);
    if (r < 0)
        return ctl_refuse(ctl, r, "cannot read the statistics");
    if (ctl->json)
        stats_print_json(ctl, s);
    else
        code = stats_print_table(ctl, s);
    snapshot_free(s);
    return code;
}

/* A number of seconds like 0.2; false: it is none. */
static bool stats_parse_seconds(const char *text, double *ret)
{
    char *end;

    if (*text < '0' || *text > '9') /* no sign, no space, no "inf" */
        return false;
    *ret = strtod(text, &end);
    return !*end && isfinite(*ret) && *ret >= 0.01 && *ret <= 86400;
}

int ctl_stats(struct ctl *ctl)
{
    const char *watch = ctl->option[OPTION_WATCH], *count_text = ctl->option[OPTION_COUNT];
    struct odeon_stats *stats = NULL;
    uint64_t count = UINT64_MAX;
    double seconds = 0;
    int code;

    if (watch && !stats_parse_seconds(watch, &seconds))
        return ctl_fail(
            ctl, CTL_USAGE,
            "--watch: '%s' is not a number of seconds from 0.01 to 86400. Write one like 1 or 0.2",
            watch);
    if (count_text && !watch)
        return ctl_fail(ctl, CTL_USAGE,
                        "--count: it counts the intervals of --watch, which is missing. Write "
                        "--watch SECONDS, too");
    if (count_text && (!ctl_number_parse(count_text, &count) || !count))
        return ctl_fail(ctl, CTL_USAGE,
                        "--count: '%s' is not a number of intervals. Write 1 or more", count_text);
    code = stats_open(ctl, false, &stats);
    if (code)
        return code;
    if (watch)
        return stats_watch(ctl, stats, seconds, count); /* closes it */
    code = stats_print_once(ctl, stats);
    (void)odeon_stats_close(stats);
    return code;
}
