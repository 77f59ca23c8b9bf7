/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the service (source.h). */
#include "client-lib/ctl/top/source.h"
#include "client-lib/ctl/ctl.h"
#include "client-lib/ctl/stats_view.h"
#include "client-lib/ctl/top/requests.h"
#include "client-lib/ctl/top/threads.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SOURCE_TIMEOUT_NS INT64_C(2000000000)   /* of a request */
#define SOURCE_DENIED_NS  UINT64_C(10000000000) /* until a role is asked for again */

struct source {
    struct ctl *ctl;
    struct odeon_client *client;     /* NULL: none yet, or its service has gone */
    struct odeon_observer *observer; /* NULL: none yet, or the role is missing */
    uint32_t odeond;                 /* whose client and observer they are; 0: not known */
    struct odeon_stats *stats;       /* NULL: there were none yet */
    struct snapshot *now, *before;   /* NULL: there is none */
    uint64_t away_since_ns;          /* 0: it is there */
    uint64_t denied_ns;
    struct requests requests;
    double seconds; /* that the present look of what actors do is of */
    struct threads threads;
    size_t n_shares;
    double *shares;
    char refusal[LOOK_TEXT]; /* why there is no observer; "": nobody has said */
};

static uint64_t source_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct source *source_new(struct ctl *ctl)
{
    struct source *source = calloc(1, sizeof(*source));

    if (!source)
        return NULL;
    source->ctl = ctl;
    source->client = ctl->client;
    ctl->client = NULL;
    if (source->client)
        (void)odeon_client_set_timeout(source->client, SOURCE_TIMEOUT_NS);
    return source;
}

static void source_disconnect(struct source *source)
{
    source->observer = odeon_observe_close(source->observer);
    source->client = odeon_client_disconnect(source->client);
    source->odeond = 0;
    source->denied_ns = 0;
    source->refusal[0] = '\0';
}

struct source *source_free(struct source *source)
{
    if (source) {
        source_disconnect(source);
        requests_fini(&source->requests);
        (void)odeon_stats_close(source->stats);
        snapshot_free(source->now);
        snapshot_free(source->before);
        free(source->shares);
        free(source);
    }
    return NULL;
}

/* ---- statistics ---- */

/* The file is opened anew each time: a service that was started again has made another one. Where
 * there is none, the last one is still mapped, and says that all is down. */
static void source_read_stats(struct source *source)
{
    struct snapshot *snapshot = NULL;
    struct odeon_stats *fresh = NULL;

    if (stats_open(source->ctl, true, &fresh) == 0) {
        (void)odeon_stats_close(source->stats);
        source->stats = fresh;
    }
    if (source->stats && snapshot_take(source->stats, true, &snapshot) == 0) {
        snapshot_free(source->before);
        source->before = source->now;
        source->now = snapshot;
    }
}

static void source_read_shares(struct source *source)
{
    size_t n = source->now ? source->now->service.workers : 0;

    if (n != source->n_shares || !source->shares) {
        free(source->shares);
        source->shares = calloc(n + 1, sizeof(*source->shares));
        source->n_shares = source->shares ? n : 0;
    }
    if (source->shares)
        threads_look(&source->threads, source->now ? (pid_t)source->now->service.executor_pid : 0,
                     source->shares, source->n_shares);
}

static enum look_state source_judge(struct source *source)
{
    enum look_state state = !source->now || source->now->supervisor_down ? LOOK_AWAY
                            : source->now->down                          ? LOOK_EXECUTOR_DOWN
                                                                         : LOOK_UP;

    if (state == LOOK_UP)
        source->away_since_ns = 0;
    else if (!source->away_since_ns)
        source->away_since_ns = source_now_ns();
    return state;
}

/* ---- the connection ---- */

static void source_note_error(char note[static LOOK_TEXT], int error)
{
    const char *why = odeon_error_text();

    snprintf(note, LOOK_TEXT, "%s", why && *why ? why : odeon_strerror(error));
}

/* A client of a service that has gone is of no use to the next one. */
static int source_connect(struct source *source, char note[static LOOK_TEXT])
{
    uint32_t odeond = source->now ? source->now->service.supervisor_pid : 0;
    int r;

    if (source->client && source->odeond && source->odeond != odeond)
        source_disconnect(source);
    source->odeond = odeond;
    if (source->client)
        return 0;
    r = odeon_client_connect(ctl_socket_path(source->ctl), "odeonctl", &source->client);
    if (r < 0) {
        source_note_error(note, r);
        return r;
    }
    (void)odeon_client_set_patience(source->client, 0);
    (void)odeon_client_set_timeout(source->client, SOURCE_TIMEOUT_NS);
    return 0;
}

/* Whether the connection is over for good. */
static void source_mind_error(struct source *source, int error)
{
    if (ctl_exit_of(error) == CTL_UNREACHABLE)
        source_disconnect(source);
}

/* The service's own words say which role it is, and which ones the user has. */
static void source_note_refusal(struct source *source, int error)
{
    source_note_error(source->refusal, error);
    if (error == -EACCES)
        source->denied_ns = source_now_ns();
}

/* What actors do is read from a file that is asked for once. */
static void source_observe(struct source *source)
{
    char note[LOOK_TEXT] = "";
    uint64_t ns = 0;
    int r;

    if (source->now && source->odeond && source->now->service.supervisor_pid != source->odeond)
        source_disconnect(source);
    if (source->observer) {
        r = odeon_observe_look(source->observer, &ns);
        if (r == 0)
            source->seconds = (double)ns / 1e9;
        return;
    }
    if (source->denied_ns && source_now_ns() - source->denied_ns < SOURCE_DENIED_NS)
        return;
    r = source_connect(source, note);
    if (r < 0) {
        snprintf(source->refusal, sizeof(source->refusal), "%s", note);
        return;
    }
    r = odeon_observe_open(source->client, &source->observer);
    source->seconds = 0; /* lists are of all that there was, until there are two looks */
    source->refusal[0] = '\0';
    if (r < 0) {
        source_note_refusal(source, r);
        source_mind_error(source, r);
    }
}

/* ---- rows ---- */

static int source_list_types(struct source *source, struct table *table, struct look *look)
{
    struct odeon_list *types = NULL;
    int r = odeon_observe_types(source->observer, 0, &types);

    if (r < 0)
        return r;
    if (table && !view_add_types(table, types, source->seconds))
        r = -ENOMEM;
    for (size_t i = 0; i < types->n; i++) {
        const struct odeon_type_figures *t = (const struct odeon_type_figures *)types->rows + i;

        if (t->waited && !((double)t->wait_p99_ns <= look->wait_p99_ns)) {
            look->wait_p99_ns = (double)t->wait_p99_ns;
            snprintf(look->wait_type, sizeof(look->wait_type), "%s", t->type);
        }
    }
    odeon_list_free(types);
    return r;
}

static int source_list_actors(struct source *source, struct table *table)
{
    struct odeon_list *by[3] = { NULL, NULL, NULL };
    int r = 0;

    for (unsigned i = 0; i < 3 && r == 0; i++)
        r = odeon_observe_actors(source->observer, (enum odeon_observe_by)i, &by[i]);
    if (r == 0 && !view_add_actors(table, by))
        r = -ENOMEM;
    for (unsigned i = 0; i < 3; i++)
        odeon_list_free(by[i]);
    return r;
}

static int source_list_flows(struct source *source, struct table *table)
{
    struct odeon_list *flows = NULL;
    int r = odeon_observe_flows(source->observer, &flows);

    if (r == 0 && !view_add_flows(table, flows))
        r = -ENOMEM;
    odeon_list_free(flows);
    return r;
}

/* What actors do, for the head of each view, and as rows of those that are about it. */
static void source_fill_observed(struct source *source, struct look *look)
{
    struct table *table = look->view <= VIEW_FLOWS ? view_table(look->view) : NULL;
    int r = table || look->view > VIEW_FLOWS ? 0 : -ENOMEM;

    if (r == 0 && source->seconds > 0)
        r = source_list_types(source, look->view == VIEW_TYPES ? table : NULL, look);
    if (r == 0 && look->view == VIEW_ACTORS)
        r = source_list_actors(source, table);
    if (r == 0 && look->view == VIEW_FLOWS)
        r = source_list_flows(source, table);
    if (r < 0)
        source_note_error(look->note, r);
    if (r < 0 || (look->view == VIEW_TYPES && source->seconds <= 0))
        table = table_free(table); /* of what happens in some time, one look knows nothing */
    look->table = table;
}

static void source_fill_workers(const struct source *source, struct look *look)
{
    if (!source->now)
        return;
    look->table = view_table(VIEW_WORKERS);
    if (look->table && !view_add_workers(look->table, source->now, source->before, source->shares,
                                         source->n_shares))
        look->table = table_free(look->table);
    if (!look->table)
        snprintf(look->note, sizeof(look->note), "no memory for the list");
}

/* source.U1 */
static void source_fill_asked(struct source *source, struct look *look, bool may_ask)
{
    int r;

    if (look->state == LOOK_AWAY)
        return;
    if (!may_ask) {
        snprintf(look->note, sizeof(look->note), "nothing is asked for while it stands still");
        return;
    }
    r = source_connect(source, look->note);
    if (r < 0)
        return;
    r = requests_make(&source->requests, source->client, look->view, source_now_ns(), &look->table);
    if (r == -EAGAIN) {
        look->is_early = true;
    } else if (r < 0) {
        source_note_error(look->note, r);
        source_mind_error(source, r);
    }
}

static void source_fill_view(struct source *source, struct look *look, bool may_ask)
{
    if (source->observer)
        source_fill_observed(source, look);
    if (look->view == VIEW_WORKERS)
        source_fill_workers(source, look);
    else if (requests_are_for(look->view))
        source_fill_asked(source, look, may_ask);
    else if (!source->observer && look->state != LOOK_AWAY)
        snprintf(look->note, sizeof(look->note), "%s", source->refusal);
}

/* ---- looks ---- */

static void source_fill_busy(const struct source *source, struct look *look)
{
    double sum = 0;
    size_t n = 0;

    look->shares = calloc(source->n_shares + 1, sizeof(*look->shares));
    if (!look->shares)
        return;
    look->n_shares = source->n_shares;
    for (size_t i = 0; i < source->n_shares; i++) {
        look->shares[i] = source->shares[i];
        if (!isnan(source->shares[i])) {
            sum += source->shares[i];
            n++;
        }
    }
    if (n)
        look->busy = sum / (double)n;
}

static void source_fill_totals(const struct source *source, struct look *look)
{
    const struct snapshot *now = source->now, *before = source->before;

    look->rate = look->busy = look->wait_p99_ns = (double)NAN;
    if (!now)
        return;
    look->odeond = now->service.supervisor_pid;
    look->workers = now->service.workers;
    look->clients = now->service.clients;
    look->actors = now->service.actors;
    if (now->service.executor_started_ns && now->taken_ns > now->service.executor_started_ns)
        look->uptime_ns = now->taken_ns - now->service.executor_started_ns;
    if (before && now->taken_ns > before->taken_ns) {
        look->seconds = (double)(now->taken_ns - before->taken_ns) / 1e9;
        look->rate =
            snapshot_difference(now, before, -1, snapshot_find(now, "messages_processed")) /
            look->seconds;
    }
    source_fill_busy(source, look);
}

struct look *source_look(struct source *source, enum view_id view, bool fresh, bool may_ask)
{
    struct look *look = calloc(1, sizeof(*look));

    if (!look)
        return NULL;
    if (fresh) {
        source_read_stats(source);
        source_read_shares(source);
    }
    look->view = view;
    look->is_fresh = fresh;
    look->state = source_judge(source);
    if (source->away_since_ns)
        look->away_ns = source_now_ns() - source->away_since_ns;
    if (fresh && look->state != LOOK_AWAY)
        source_observe(source);
    source_fill_totals(source, look);
    source_fill_view(source, look, may_ask);
    return look;
}
