/* SPDX-License-Identifier: Apache-2.0 */
/* odeonctl top: what actors do now, by type, by actor, by flow. On a terminal a program of its own
 * (top/); else each look is a table, or with --json a document of one line. */
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/output.h"
#include "client-lib/ctl/top/figure.h"
#include "client-lib/ctl/top/program.h"

#include <odeon/observe.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOP_SECONDS     1.0
#define TOP_PATIENCE_NS INT64_C(5000000000) /* with a service that is started again */

enum top_view { TOP_TYPES, TOP_ACTORS, TOP_FLOWS, TOP_N };
static const char *const top_views[TOP_N] = { "types", "actors", "flows" };
static const char *const top_sorts[] = {
    [ODEON_BY_RUN] = "run", [ODEON_BY_MESSAGES] = "messages", [ODEON_BY_WAIT] = "wait"
};
enum { TOP_SORTS = sizeof(top_sorts) / sizeof(top_sorts[0]) };

struct top {
    struct ctl *ctl;
    struct odeon_observer *observer;
    enum top_view view;
    enum odeon_observe_by by;
    bool total;
    double seconds;  /* between looks, at least */
    double passed;   /* since the look before, or since odeond's start */
    uint32_t odeond; /* whose file is read: its process; 0: none yet */
    uint64_t count;
};

/* ---- views ---- */

static double top_type_key(const struct odeon_type_figures *t, enum odeon_observe_by by)
{
    return by == ODEON_BY_RUN        ? (double)t->run_ns
           : by == ODEON_BY_MESSAGES ? (double)t->messages
                                     : (double)t->wait_ns;
}

static int top_compare_types(const void *a, const void *b, void *top)
{
    enum odeon_observe_by by = ((const struct top *)top)->by;
    double one = top_type_key(a, by), other = top_type_key(b, by);

    return (one < other) - (one > other);
}

static void top_add_type(struct listing *listing, const struct odeon_type_figures *t,
                         double seconds)
{
    double rate = seconds > 0 ? (double)t->messages / seconds : 0,
           share = seconds > 0 ? (double)t->run_ns / 1e9 / seconds : 0,
           sends = seconds > 0 ? (double)t->sends / seconds : 0;
    struct figure texts[] = { figure_rate(rate),           figure_share(share),
                              figure_time(t->run_p50_ns),  figure_time(t->run_p99_ns),
                              figure_time(t->wait_p50_ns), figure_time(t->wait_p99_ns),
                              figure_rate(sends) };

    listing_add(listing,
                (struct cell[]){
                    CELL_TEXT(t->type), CELL_TEXT(t->plugin), CELL_REAL(rate, texts[0].text),
                    CELL_REAL(share, texts[1].text), CELL_SHOWN(t->run_p50_ns, texts[2].text),
                    CELL_SHOWN(t->run_p99_ns, texts[3].text),
                    CELL_SHOWN(t->wait_p50_ns, texts[4].text),
                    CELL_SHOWN(t->wait_p99_ns, texts[5].text), CELL_REAL(sends, texts[6].text),
                    CELL_NUMBER(t->messages), CELL_NUMBER(t->timed), CELL_NUMBER(t->samples),
                    CELL_NUMBER(t->failed), CELL_NUMBER(t->actors), CELL_NUMBER(t->state_bytes) });
}

static int top_print_types(struct top *top)
{
    static const struct column columns[] = {
        { "TYPE", "type", false },
        { "PLUGIN", "plugin", false },
        { "MSGS/S", "messages_per_second", true },
        { "RUNS", "run_share", true },
        { "RUN P50", "run_p50_ns", true },
        { "RUN P99", "run_p99_ns", true },
        { "WAIT P50", "wait_p50_ns", true },
        { "WAIT P99", "wait_p99_ns", true },
        { "SENDS/S", "sends_per_second", true },
        { "MESSAGES", "messages", true },
        { "TIMED", "timed", true },
        { "SAMPLES", "samples", true },
        { "FAILED", "failed", true },
        { "ACTORS", "actors", true },
        { "STATE BYTES", "state_bytes", true },
    };
    struct listing listing;
    struct odeon_list *list = NULL;
    struct odeon_type_figures *rows;
    int r = odeon_observe_types(top->observer, top->total, &list);

    if (r < 0)
        return ctl_refuse(top->ctl, r, "cannot list what types do");
    rows = list->rows;
    if (list->n)
        qsort_r(rows, list->n, sizeof(*rows), top_compare_types, top);
    listing_begin(&listing, top->ctl, top_views[TOP_TYPES], columns, 15);
    for (size_t i = 0; i < list->n && listing.n_rows < top->ctl->limit; i++)
        if (rows[i].messages || rows[i].waited || rows[i].failed || rows[i].state_bytes)
            top_add_type(&listing, &rows[i], top->passed);
    r = listing_end(&listing, false, 0);
    odeon_list_free(list);
    return r;
}

static int top_print_actors(struct top *top)
{
    const struct column columns[] = {
        { "REF", "ref", true },
        { "TYPE", "type", false },
        { top->by == ODEON_BY_RUN        ? "RUNS"
          : top->by == ODEON_BY_MESSAGES ? "MSGS/S"
                                         : "WAITING",
          top->by == ODEON_BY_RUN        ? "run_share"
          : top->by == ODEON_BY_MESSAGES ? "messages_per_second"
                                         : "messages_waiting",
          true },
        { "AT LEAST", "at_least", true },
    };
    struct listing listing;
    struct odeon_list *list = NULL;
    const struct odeon_actor_figures *rows;
    int r = odeon_observe_actors(top->observer, top->by, &list);

    if (r < 0)
        return ctl_refuse(top->ctl, r, "cannot list what actors do");
    rows = list->rows;
    listing_begin(&listing, top->ctl, top_views[TOP_ACTORS], columns, 4);
    for (size_t i = 0; i < list->n && i < top->ctl->limit; i++) {
        bool is_run = top->by == ODEON_BY_RUN;
        struct figure most = is_run ? figure_share(rows[i].most) : figure_rate(rows[i].most),
                      least = is_run ? figure_share(rows[i].least) : figure_rate(rows[i].least);

        listing_add(&listing, (struct cell[]){ CELL_REF(rows[i].ref), CELL_TEXT(rows[i].type),
                                               CELL_REAL(rows[i].most, most.text),
                                               CELL_REAL(rows[i].least, least.text) });
    }
    r = listing_end(&listing, false, 0);
    odeon_list_free(list);
    return r;
}

static int top_print_flows(struct top *top)
{
    static const struct column columns[] = {
        { "FROM", "from", false },
        { "PORT", "port", true },
        { "TO", "to", false },
        { "MSGS/S", "messages_per_second", true },
        { "AT LEAST", "at_least", true },
    };
    struct listing listing;
    struct odeon_list *list = NULL;
    const struct odeon_flow_figures *rows;
    int r = odeon_observe_flows(top->observer, &list);

    if (r < 0)
        return ctl_refuse(top->ctl, r, "cannot list who sends to whom");
    rows = list->rows;
    listing_begin(&listing, top->ctl, top_views[TOP_FLOWS], columns, 5);
    for (size_t i = 0; i < list->n && i < top->ctl->limit; i++) {
        struct figure most = figure_rate(rows[i].most), least = figure_rate(rows[i].least);
        bool is_port = strcmp(rows[i].from, "port") == 0;

        listing_add(&listing,
                    (struct cell[]){ CELL_TEXT(rows[i].from),
                                     is_port ? CELL_NUMBER(rows[i].port) : CELL_NONE,
                                     CELL_TEXT(rows[i].to), CELL_REAL(rows[i].most, most.text),
                                     CELL_REAL(rows[i].least, least.text) });
    }
    r = listing_end(&listing, false, 0);
    odeon_list_free(list);
    return r;
}

static int top_print_view(struct top *top)
{
    static int (*const prints[TOP_N])(struct top * top) = { [TOP_TYPES] = top_print_types,
                                                            [TOP_ACTORS] = top_print_actors,
                                                            [TOP_FLOWS] = top_print_flows };

    return prints[top->view](top);
}

/* A look is a line: rows begin lines of their own, and in a string there is none. */
static int top_print_json(struct top *top)
{
    FILE *out = top->ctl->out;
    char *text = NULL;
    size_t size = 0;
    int code;

    top->ctl->out = open_memstream(&text, &size);
    if (!top->ctl->out) {
        top->ctl->out = out;
        return ctl_fail(top->ctl, CTL_REFUSED, "no memory to print what actors do");
    }
    code = top_print_view(top);
    fclose(top->ctl->out);
    top->ctl->out = out;
    for (size_t i = 0; i < size; i++)
        if (text[i] != '\n')
            fputc(text[i], out);
    fputc('\n', out);
    free(text);
    return code;
}

static int top_print(struct top *top)
{
    if (top->ctl->json)
        return top_print_json(top);
    return top_print_view(top);
}

/* ---- the command ---- */

/* Whether it is for somebody in front of a terminal, and not for a program or a file. */
static bool top_is_interactive(const struct ctl *ctl)
{
    static const enum option batch[] = { OPTION_BATCH, OPTION_JSON,  OPTION_COUNT,
                                         OPTION_TOTAL, OPTION_LIMIT, OPTION_NO_LEGEND };

    for (size_t i = 0; i < sizeof(batch) / sizeof(batch[0]); i++)
        if (ctl->option[batch[i]])
            return false;
    return program_can_run(ctl);
}

/* Of a view that is a list of another command, too, that one prints the table. */
static int top_parse_view(struct top *top, enum view_id *ret_shown)
{
    const char *word = top->ctl->n_words ? top->ctl->words[0] : top_views[TOP_TYPES];

    *ret_shown = view_find(word);
    if (*ret_shown == VIEW_N)
        return ctl_fail(top->ctl, CTL_USAGE,
                        "top: there is no view '%s'. Write types, actors, flows, queues, workers, "
                        "clients or users",
                        word);
    if (top_is_interactive(top->ctl))
        return 0;
    for (top->view = 0; top->view < TOP_N && strcmp(word, top_views[top->view]) != 0;)
        top->view++;
    if (top->view == TOP_N)
        return ctl_fail(top->ctl, CTL_USAGE,
                        "top: '%s' is a view for a terminal. %s prints it as a table", word,
                        views[*ret_shown].tables);
    return 0;
}

static int top_parse_sort(struct top *top)
{
    const char *word = top->ctl->option[OPTION_SORT];
    unsigned by = ODEON_BY_RUN;

    while (word && by < TOP_SORTS && strcmp(word, top_sorts[by]) != 0)
        by++;
    if (by == TOP_SORTS)
        return ctl_fail(top->ctl, CTL_USAGE,
                        "--sort: '%s' is no figure to sort by. Write run, messages or wait", word);
    top->by = (enum odeon_observe_by)by;
    return 0;
}

static int top_parse_times(struct top *top)
{
    const char *watch = top->ctl->option[OPTION_WATCH], *count = top->ctl->option[OPTION_COUNT];
    char *end;

    top->seconds = TOP_SECONDS;
    if (watch) {
        top->seconds = strtod(watch, &end);
        if (end == watch || *end || !(top->seconds >= 0.1 && top->seconds <= 86400))
            return ctl_fail(top->ctl, CTL_USAGE,
                            "--watch: '%s' is not a number of seconds from 0.1 to 86400", watch);
    }
    top->count = watch ? UINT64_MAX : 1;
    if (count && (!ctl_number_parse(count, &top->count) || top->count == 0))
        return ctl_fail(top->ctl, CTL_USAGE, "--count: '%s' is not a number of looks, 1 or more",
                        count);
    return 0;
}

static void top_sleep(double seconds)
{
    struct timespec t = { .tv_sec = (time_t)seconds,
                          .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

/* Another odeond has a file of its own, of which this is the first look. */
static int top_open(struct top *top, uint32_t odeond)
{
    int r;

    odeon_observe_close(top->observer);
    top->observer = NULL;
    r = odeon_observe_open(top->ctl->client, &top->observer);
    if (r < 0)
        return ctl_refuse(top->ctl, r, "cannot observe actors");
    top->odeond = odeond;
    return 0;
}

/* Whether the service is there, which one it is, and since when. */
static int top_find_service(struct top *top, double *ret_age)
{
    struct odeon_status *status = NULL;
    int r = odeon_service_status(top->ctl->client, &status), code;

    if (r < 0)
        return ctl_refuse(top->ctl, r, "the service does not answer");
    *ret_age = (double)status->uptime_ns / 1e9;
    code = status->supervisor_pid == top->odeond ? 0 : top_open(top, status->supervisor_pid);
    odeon_result_free(status);
    return code;
}

/* Types are compared with the look before, of the same file; what actors and flows do is told by
 * windows of the service's own. */
static int top_look(struct top *top, bool first)
{
    bool compares = top->view == TOP_TYPES && !top->total;
    uint32_t odeond = top->odeond;
    uint64_t ns = 0;
    double age;
    int code, r;

    if (!first || compares)
        top_sleep(top->seconds);
    code = top_find_service(top, &age);
    if (code)
        return code;
    if (compares && top->odeond != odeond)
        top_sleep(top->seconds);
    r = odeon_observe_look(top->observer, &ns);
    if (r < 0)
        return ctl_refuse(top->ctl, r, "cannot read what actors do");
    top->passed = top->total ? age : (double)ns / 1e9;
    return 0;
}

static int top_run(struct top *top)
{
    double age;
    int code = top_find_service(top, &age);

    for (uint64_t n = 0; n < top->count && !code; n++) {
        code = top_look(top, n == 0);
        if (!code)
            code = top_print(top);
        if (!ctl_flush(top->ctl))
            break; /* ctl_run() says so */
    }
    return code;
}

static int top_run_program(struct top *top, enum view_id view)
{
    const struct program_options options = { .view = view, .by = top->by, .seconds = top->seconds };

    return program_run(top->ctl, &options);
}

int ctl_top(struct ctl *ctl)
{
    struct top top = { .ctl = ctl, .total = ctl->option[OPTION_TOTAL] != NULL };
    enum view_id view;
    int code = top_parse_view(&top, &view);

    if (!code)
        code = top_parse_sort(&top);
    if (!code)
        code = top_parse_times(&top);
    if (!code)
        code = ctl_connect(ctl);
    if (code)
        return code;
    if (top_is_interactive(ctl))
        return top_run_program(&top, view);
    if (top.count > 1)
        (void)odeon_client_set_patience(ctl->client, TOP_PATIENCE_NS);
    code = top_run(&top);
    odeon_observe_close(top.observer);
    return code;
}
