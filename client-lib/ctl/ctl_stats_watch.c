/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl stats --watch: what happened in each interval.
 *
 * The segment is opened anew for each interval: a service that was started again has made a new
 * one, and the old mapping would stand still for ever.
 */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/stats_view.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

/* The columns of a line; the other figures are in the block and in JSON. */
static const struct watch_column {
    const char *title, *name;
    int width;
} watch_columns[] = {
    { "MSGS/S", "messages_processed", 11 },
    { "SENT/S", "messages_sent", 11 },
    { "GULPS/S", "gulps", 10 },
    { "GULP-SIZE", "average_gulp_size", 10 },
    { "MISSED/S", "missed_gulps", 9 },
    { "STEALS/S", "steals", 9 },
    { "STOLEN/S", "messages_stolen", 10 },
    { "PARKS/S", "parks", 8 },
    { "WAKES/S", "wakeups_sent", 8 },
    { "FROM-PORTS/S", "port_messages", 13 },
    { "TO-PORTS/S", "port_deliveries", 11 },
    { "FAULTS/S", "faults", 9 },
};
enum { WATCH_COLUMNS = sizeof(watch_columns) / sizeof(watch_columns[0]) };

struct watch {
    struct ctl *ctl;
    const struct snapshot *now, *before;
    double seconds; /* that really passed between them */
};

/* Per second, except averages and gauges. */
static double watch_rate(const struct watch *w, int worker, size_t figure)
{
    double difference = snapshot_difference(w->now, w->before, worker, figure);

    if (figure < w->now->n && w->now->figures[figure].kind != ODEON_STATS_COUNTER)
        return difference;
    return w->seconds > 0 ? difference / w->seconds : 0;
}

static const char *watch_format(double rate, char text[static STATS_VALUE_TEXT])
{
    snprintf(text, STATS_VALUE_TEXT,
             rate >= 100 || rate == 0 ? "%.0f"
             : rate >= 1              ? "%.1f"
                                      : "%.2f",
             rate);
    return text;
}

static void watch_json_rates(struct json *json, const struct watch *w, int worker)
{
    json_begin_object(json, "rates");
    for (size_t i = 0; i < w->now->n; i++)
        if (worker >= 0 || w->now->figures[i].kind != ODEON_STATS_GAUGE)
            json_double(json, w->now->figures[i].name, watch_rate(w, worker, i));
    json_end_object(json);
}

static void watch_print_json(const struct watch *w)
{
    FILE *out = w->ctl->out;
    struct timespec wall;
    struct json json;

    clock_gettime(CLOCK_REALTIME, &wall);
    json_begin_document(&json, out);
    json_uint(&json, "time_ms", (uint64_t)wall.tv_sec * 1000 + (uint64_t)wall.tv_nsec / 1000000);
    json_double(&json, "interval_seconds", w->seconds);
    stats_json_service(&json, w->now);
    watch_json_rates(&json, w, -1);
    if (w->now->n_workers) {
        json_begin_array(&json, "workers");
        for (unsigned k = 0; k < w->now->n_workers; k++) {
            json_begin_object(&json, NULL);
            json_uint(&json, "id", k);
            json_bool(&json, "control", k + 1 == w->now->n_workers);
            watch_json_rates(&json, w, (int)k);
            json_end_object(&json);
        }
        json_end_array(&json);
    }
    json_end_document(&json);
}

static void watch_print_titles(const struct watch *w)
{
    FILE *out = w->ctl->out;

    fprintf(out, "%-8s", "TIME");
    if (w->now->n_workers)
        fprintf(out, " %-7s", "WORKER");
    for (size_t i = 0; i < WATCH_COLUMNS; i++)
        fprintf(out, " %*s", watch_columns[i].width, watch_columns[i].title);
    fputc('\n', out);
}

static void watch_print_line(const struct watch *w, const char *time, int worker)
{
    FILE *out = w->ctl->out;
    char text[STATS_VALUE_TEXT];

    fprintf(out, "%-8s", time);
    if (w->now->n_workers && worker < 0)
        fprintf(out, " %-7s", "all");
    else if (w->now->n_workers)
        fprintf(out, worker + 1 == (int)w->now->n_workers ? " control" : " W%-6d", worker);
    for (size_t i = 0; i < WATCH_COLUMNS; i++)
        fprintf(out, " %*s", watch_columns[i].width,
                watch_format(watch_rate(w, worker, snapshot_find(w->now, watch_columns[i].name)),
                             text));
    fputs(w->now->down && worker < 0 ? "  down\n" : "\n", out);
}

static void watch_print_lines(const struct watch *w, bool titles)
{
    time_t now = time(NULL);
    struct tm local;
    char text[16] = "";

    if (localtime_r(&now, &local))
        (void)strftime(text, sizeof(text), "%H:%M:%S", &local);
    if (titles)
        watch_print_titles(w);
    watch_print_line(w, text, -1);
    for (unsigned k = 0; k < w->now->n_workers; k++)
        watch_print_line(w, text, (int)k);
}

/* Lines that the terminal has; a block that is longer would scroll instead of standing still. */
static unsigned watch_screen_lines(const struct ctl *ctl)
{
    struct winsize size;

    return ioctl(fileno(ctl->out), TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row : 24;
}

/* The first group whole, of the others what has ever happened; *left: lines that are free. */
static void watch_add_group(struct listing *list, const struct watch *w, size_t group,
                            unsigned *left)
{
    bool headed = false;

    for (const char *const *name = stats_groups[group].names; *name; name++) {
        char total[STATS_VALUE_TEXT], rate[STATS_VALUE_TEXT];
        size_t i = snapshot_find(w->now, *name);
        double value = snapshot_value(w->now, -1, i);

        if (i == w->now->n || (group > 0 && value == 0) || *left < (headed ? 1 : 3))
            continue;
        if (!headed) {
            listing_heading(list, stats_groups[group].title);
            *left -= group > 0 ? 2 : 1; /* with the blank line before it */
        }
        headed = true;
        listing_add(list, (struct cell[]){ CELL_TEXT(stats_title(*name)),
                                           CELL_TEXT(stats_format_value(value, total)),
                                           CELL_TEXT(watch_format(watch_rate(w, -1, i), rate)) });
        --*left;
    }
}

/* The block on a terminal: totals and rates of the scheduler's figures, and below them a line for
 * each worker. */
static int watch_print_block(const struct watch *w)
{
    static const struct column columns[] = { { "STATISTIC", "", false },
                                             { "TOTAL", "", true },
                                             { "PER SECOND", "", true } };
    const struct odeon_stats_service *v = &w->now->service;
    struct ctl *ctl = w->ctl;
    struct listing list;
    unsigned screen = watch_screen_lines(ctl),
             fixed = 4 + (w->now->n_workers ? w->now->n_workers + 3 : 0);
    unsigned left = screen > fixed ? screen - fixed : 0;
    char down[96];
    int code;

    fputs("\033[H\033[J", ctl->out);
    stats_describe_down(w->now, down, sizeof(down));
    fprintf(ctl->out,
            "%s%s%s: %u workers, %u queues, %llu actors, %u clients; stealing %s, throughput %u; "
            "every %.2f s\n\n",
            output_bold(ctl, true), *down ? down : v->state_name, output_bold(ctl, false),
            v->workers, v->queues, (unsigned long long)v->actors, v->clients, v->stealing,
            v->throughput, w->seconds);
    listing_begin(&list, ctl, "", columns, 3);
    for (size_t g = 0; g < stats_groups_n && left > 3; g++)
        watch_add_group(&list, w, g, &left);
    code = listing_end(&list, false, 0);
    if (w->now->n_workers) {
        fputc('\n', ctl->out);
        watch_print_lines(w, true);
    }
    return code;
}

/* Until the next whole interval after `begin_ns`; intervals that have been missed are left out. */
static void watch_sleep(uint64_t begin_ns, uint64_t interval_ns)
{
    struct timespec t;
    uint64_t now, until;

    clock_gettime(CLOCK_MONOTONIC, &t);
    now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    until = begin_ns + ((now - begin_ns) / interval_ns + 1) * interval_ns;
    t = (struct timespec){ .tv_sec = (time_t)(until / 1000000000),
                           .tv_nsec = (long)(until % 1000000000) };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static int watch_print(const struct watch *w, uint64_t n)
{
    int code = 0;

    if (w->ctl->json)
        watch_print_json(w);
    else if (w->ctl->terminal)
        code = watch_print_block(w);
    else
        watch_print_lines(w, w->ctl->legend && n == 0);
    return code;
}

int stats_watch(struct ctl *ctl, struct odeon_stats *stats, double seconds, uint64_t count)
{
    bool workers = ctl->option[OPTION_WORKER] != NULL;
    struct snapshot *before = NULL, *now = NULL;
    int r, code = 0;
    uint64_t begin;

    r = snapshot_take(stats, workers, &before);
    if (r < 0) {
        (void)odeon_stats_close(stats);
        return ctl_refuse(ctl, r, "cannot read the statistics");
    }
    begin = before->taken_ns;
    for (uint64_t n = 0; n < count && !code; n++) {
        struct odeon_stats *fresh = NULL;
        struct watch w;

        watch_sleep(begin, (uint64_t)(seconds * 1e9));
        /* else the last one is still mapped, and says that all is down */
        if (stats_open(ctl, true, &fresh) == 0) {
            (void)odeon_stats_close(stats);
            stats = fresh;
        }
        r = snapshot_take(stats, workers, &now);
        if (r < 0) {
            code = ctl_refuse(ctl, r, "cannot read the statistics");
            break;
        }
        w = (struct watch){ .ctl = ctl,
                            .now = now,
                            .before = before,
                            .seconds = (double)(now->taken_ns - before->taken_ns) / 1e9 };
        code = watch_print(&w, n);
        if (!ctl_flush(ctl))
            break; /* ctl_run() says so */
        snapshot_free(before);
        before = now;
        now = NULL;
    }
    snapshot_free(before);
    snapshot_free(now);
    (void)odeon_stats_close(stats);
    return code;
}
