/* SPDX-License-Identifier: Apache-2.0 */
/* What actors do: lists of what has been read of the service's file (observe_file.h). An observer
 * belongs to one thread at a time.
 *
 * Two looks are kept: what a list says is the difference, or, of totals, the later one. */
#include <odeon/observe.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client-lib/src/admin_call.h"
#include "client-lib/src/connect.h"
#include "client-lib/src/observe_file.h"

struct odeon_observer {
    struct observe_file file;        /* what all looks have in common */
    struct observe_file now, before; /* looks; `before` has none at first */
    uint64_t *traced;                /* [n_workers], the last record of each that was handed out */
};

/* ---- looks ---- */

static int observe_take(struct client_answer *answer, int *ret_fd)
{
    if (answer->fds_lost)
        return error_set_literal(
            -EMFILE, "the answer's descriptor was lost: too many files are open in this process");
    if (answer->n_fds != 1)
        return error_set(-EPROTO, "the service sent %zu descriptors, 1 was expected",
                         answer->n_fds);
    *ret_fd = answer->fds[0];
    answer->fds[0] = -1;
    return 0;
}

static int observe_ask(struct odeon_client *client, int *ret_fd)
{
    Odeon__Observe body = ODEON__OBSERVE__INIT;
    Odeon__Request request = ODEON__REQUEST__INIT;
    struct client_answer answer;
    int r;

    request.body_case = ODEON__REQUEST__BODY_OBSERVE;
    request.observe = &body;
    r = client_call(client, &request, ODEON__REPLY__BODY_OK, &answer);
    if (r < 0)
        return r;
    r = observe_take(&answer, ret_fd);
    client_answer_fini(&answer);
    return r;
}

int odeon_observe_open(struct odeon_client *client, struct odeon_observer **ret)
{
    WITHOUT_CANCELLATION;

    struct odeon_observer *observer;
    int fd = -1, r;

    if (!client || !ret)
        return error_set_literal(-EINVAL, "odeon_observe_open: no client, or no place for it");
    *ret = NULL;
    observer = calloc(1, sizeof(*observer));
    if (!observer)
        return error_set_literal(-ENOMEM, "no memory to observe actors");
    r = observe_ask(client, &fd);
    if (r == 0)
        r = observe_file_open(&observer->file, fd);
    if (r == 0) {
        r = observe_file_look(&observer->file, &observer->now);
        if (r < 0)
            wire_close_fds(&observer->file.fd, 1);
    }
    if (r < 0) {
        free(observer);
        return r;
    }
    *ret = observer;
    return 0;
}

struct odeon_observer *odeon_observe_close(struct odeon_observer *observer)
{
    WITHOUT_CANCELLATION;

    if (observer) {
        observe_file_forget(&observer->now);
        observe_file_forget(&observer->before);
        wire_close_fds(&observer->file.fd, 1);
        free(observer->traced);
        free(observer);
    }
    return NULL;
}

int odeon_observe_look(struct odeon_observer *observer, uint64_t *ret_ns)
{
    WITHOUT_CANCELLATION;

    struct observe_file look;
    int r;

    if (!observer)
        return error_set_literal(-EINVAL, "odeon_observe_look: no observer");
    r = observe_file_look(&observer->file, &look);
    if (r < 0)
        return r;
    observe_file_forget(&observer->before);
    observer->before = observer->now;
    observer->now = look;
    if (ret_ns)
        *ret_ns = look.looked_ns - observer->before.looked_ns;
    return 0;
}

/* ---- types ---- */

/* A counter that has been read while it was written says less than before: nothing then. */
static uint64_t observe_since(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static uint64_t observe_quantile(const uint64_t *now, const uint64_t *before, double share)
{
    uint64_t sum = 0, below = 0, rank;

    for (uint32_t i = 0; i < TIME_CELLS; i++)
        sum += observe_since(now[i], before ? before[i] : 0);
    rank = (uint64_t)((double)sum * share);
    for (uint32_t i = 0; i < TIME_CELLS && sum; i++) {
        below += observe_since(now[i], before ? before[i] : 0);
        if (below > rank || below == sum)
            return time_cell_top(i);
    }
    return 0;
}

static void observe_fill_type(struct odeon_type_figures *row, const struct observe_type *now,
                              const struct observe_type *before)
{
    static const struct observe_type none;
    const struct observe_type *b = before ? before : &none;

    row->messages = observe_since(now->messages, b->messages);
    row->run_ns = observe_since(now->run_ns, b->run_ns);
    row->sends = observe_since(now->sends, b->sends);
    row->waited = observe_since(now->waited, b->waited);
    row->wait_ns = observe_since(now->wait_ns, b->wait_ns);
    row->timed = observe_since(now->timed, b->timed);
    row->samples = observe_since(now->samples, b->samples);
    row->failed = observe_since(now->failed, b->failed);
    row->run_p50_ns = observe_quantile(now->run, b->run, 0.5);
    row->run_p99_ns = observe_quantile(now->run, b->run, 0.99);
    row->run_most_ns = observe_quantile(now->run, b->run, 1);
    row->wait_p50_ns = observe_quantile(now->wait, b->wait, 0.5);
    row->wait_p99_ns = observe_quantile(now->wait, b->wait, 0.99);
    row->wait_most_ns = observe_quantile(now->wait, b->wait, 1);
}

/* A list with room for `n` rows, of which none is in it yet; NULL: no memory. */
static struct odeon_list *observe_list(size_t n, size_t row_size, void **ret_rows)
{
    struct odeon_list *list = arena_new(sizeof(*list));

    *ret_rows = list ? arena_alloc(list, n, row_size) : NULL;
    if (list)
        list->rows = *ret_rows;
    return list;
}

static int observe_hand_out(struct odeon_list *list, struct odeon_list **ret)
{
    if (!list || arena_failed(list)) {
        odeon_list_free(list);
        return error_set_literal(-ENOMEM, "no memory for the list");
    }
    *ret = list;
    return 0;
}

int odeon_observe_types(struct odeon_observer *observer, int total, struct odeon_list **ret)
{
    struct odeon_type_figures *rows;
    struct odeon_list *list;
    void *room;

    if (!observer || !ret)
        return error_set_literal(-EINVAL, "odeon_observe_types: no observer, or no place");
    *ret = NULL;
    list = observe_list(observer->now.n_types, sizeof(*rows), &room);
    rows = room;
    for (uint32_t id = 1; rows && id < observer->now.n_types; id++) {
        const struct observe_type *now = &observer->now.types[id];

        if (now->messages == 0 && now->waited == 0 && now->failed == 0 && now->live == 0)
            continue;
        rows[list->n] = (struct odeon_type_figures){
            .id = id,
            .type = arena_string(list, observer->now.names[id].type),
            .plugin = arena_string(list, observer->now.names[id].plugin),
            .actors = now->live,
            .state_bytes = now->live * observer->now.names[id].state_size,
        };
        observe_fill_type(&rows[list->n++], now,
                          total || id >= observer->before.n_types ? NULL
                                                                  : &observer->before.types[id]);
    }
    return observe_hand_out(list, ret);
}

int odeon_observe_times(struct odeon_observer *observer, uint32_t id, enum odeon_observe_what what,
                        const uint64_t *below_ns, size_t n, uint64_t *ret_counts)
{
    const uint64_t *cells;
    uint64_t sum = 0;
    size_t at = 0;

    if (!observer || !ret_counts || (n && !below_ns) ||
        (what != ODEON_TIMES_RUN && what != ODEON_TIMES_WAIT))
        return error_set_literal(
            -EINVAL, "odeon_observe_times: no observer, no times, no place, or of something else");
    for (size_t i = 1; i < n; i++)
        if (below_ns[i] <= below_ns[i - 1])
            return error_set_literal(-EINVAL, "odeon_observe_times: the times do not rise");
    if (id == 0 || id >= observer->now.n_types)
        return error_set(-ENOENT, "there is no actor type of number %u", id);
    cells = what == ODEON_TIMES_RUN ? observer->now.types[id].run : observer->now.types[id].wait;
    for (uint32_t i = 0; i < TIME_CELLS; i++) {
        /* the last cell has all that is longer, too */
        while (at < n && (time_cell_top(i) >= below_ns[at] || i == TIME_CELLS - 1))
            ret_counts[at++] = sum;
        sum += cells[i];
    }
    ret_counts[n] = sum;
    return 0;
}

/* ---- actors ---- */

static const char *observe_type_name(const struct odeon_observer *observer, uint64_t id)
{
    return id < observer->now.n_types ? observer->now.names[id].type : "";
}

/* Per second of the worker's windows; nanoseconds a second are shares of one. */
static double observe_rate(const struct observe_window *of, uint64_t value, bool is_ns)
{
    double rate = of->span_ns ? (double)value * 1e9 / (double)of->span_ns : 0;

    return is_ns ? rate / 1e9 : rate;
}

static struct odeon_actor_figures *observe_find_actor(struct odeon_list *list, uint64_t ref)
{
    struct odeon_actor_figures *rows = list->rows;

    for (size_t i = 0; i < list->n; i++)
        if (rows[i].ref == ref)
            return &rows[i];
    rows[list->n] = (struct odeon_actor_figures){ .ref = ref };
    return &rows[list->n++];
}

static void observe_add_actors(const struct odeon_observer *observer,
                               const struct observe_window *of, enum odeon_observe_by by,
                               struct odeon_list *list)
{
    bool is_ns = by != ODEON_BY_MESSAGES;

    for (int i = 0; i < 2; i++)
        for (uint32_t k = 0; of->is_late[i] && k < OBSERVED_ACTORS; k++) {
            const struct observed_actor *actor = &of->window[i].actors[by][k];
            struct odeon_actor_figures *row;

            if (actor->ref == 0)
                continue;
            row = observe_find_actor(list, actor->ref);
            row->type = arena_string(list, observe_type_name(observer, actor->type));
            row->most += observe_rate(of, actor->value, is_ns);
            row->least += observe_rate(of, observe_since(actor->value, actor->error), is_ns);
        }
}

static int observe_compare_actors(const void *a, const void *b)
{
    const struct odeon_actor_figures *one = a, *other = b;

    return (one->most < other->most) - (one->most > other->most);
}

int odeon_observe_actors(struct odeon_observer *observer, enum odeon_observe_by by,
                         struct odeon_list **ret)
{
    struct odeon_list *list;
    void *rows;

    if (!observer || !ret || (unsigned)by >= OBSERVED_BY_N)
        return error_set_literal(
            -EINVAL, "odeon_observe_actors: no observer, no place, or by something else");
    *ret = NULL;
    list = observe_list((size_t)observer->now.n_windows * 2 * OBSERVED_ACTORS,
                        sizeof(struct odeon_actor_figures), &rows);
    for (uint32_t i = 0; rows && i < observer->now.n_windows; i++)
        observe_add_actors(observer, &observer->now.windows[i], by, list);
    if (rows)
        qsort(rows, list->n, sizeof(struct odeon_actor_figures), observe_compare_actors);
    return observe_hand_out(list, ret);
}

/* ---- flows ---- */

static struct odeon_flow_figures *observe_find_flow(const struct odeon_observer *observer,
                                                    struct odeon_list *list, uint64_t key)
{
    uint64_t from = key >> 16;
    uint32_t port = from & OBSERVED_PORT ? (uint32_t)(from & ~OBSERVED_PORT) : 0;
    const char *name = from & OBSERVED_PORT ? "port" : observe_type_name(observer, from),
               *to = observe_type_name(observer, key & 0xffff);
    struct odeon_flow_figures *rows = list->rows;

    for (size_t i = 0; i < list->n; i++)
        if (rows[i].port == port && strcmp(rows[i].from, name) == 0 && strcmp(rows[i].to, to) == 0)
            return &rows[i];
    rows[list->n] = (struct odeon_flow_figures){ .from = arena_string(list, name),
                                                 .port = port,
                                                 .to = arena_string(list, to) };
    return &rows[list->n++];
}

static int observe_compare_flows(const void *a, const void *b)
{
    const struct odeon_flow_figures *one = a, *other = b;

    return (one->most < other->most) - (one->most > other->most);
}

int odeon_observe_flows(struct odeon_observer *observer, struct odeon_list **ret)
{
    struct odeon_list *list;
    void *rows;

    if (!observer || !ret)
        return error_set_literal(-EINVAL, "odeon_observe_flows: no observer, or no place");
    *ret = NULL;
    list = observe_list((size_t)observer->now.n_windows * 2 * OBSERVED_FLOWS,
                        sizeof(struct odeon_flow_figures), &rows);
    for (uint32_t i = 0; rows && i < observer->now.n_windows; i++) {
        const struct observe_window *of = &observer->now.windows[i];

        for (int k = 0; k < 2; k++)
            for (uint32_t f = 0; of->is_late[k] && f < OBSERVED_FLOWS; f++) {
                const struct observed_flow *flow = &of->window[k].flows[f];
                struct odeon_flow_figures *row;

                if (flow->key == 0)
                    continue;
                row = observe_find_flow(observer, list, flow->key);
                row->most += observe_rate(of, flow->messages, false);
                row->least += observe_rate(of, observe_since(flow->messages, flow->error), false);
            }
    }
    if (rows)
        qsort(rows, list->n, sizeof(struct odeon_flow_figures), observe_compare_flows);
    return observe_hand_out(list, ret);
}

/* ---- single messages ---- */

/* What is to be added to a time of CLOCK_MONOTONIC for one since 1970. */
static uint64_t observe_epoch_ns(void)
{
    struct timespec real, since_boot;

    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_MONOTONIC, &since_boot);
    return (uint64_t)(real.tv_sec - since_boot.tv_sec) * UINT64_C(1000000000) +
           (uint64_t)real.tv_nsec - (uint64_t)since_boot.tv_nsec;
}

static void observe_fill_traced(const struct odeon_observer *observer, struct odeon_list *list,
                                struct odeon_traced *row, const struct observed_record *record)
{
    uint64_t sender = observed_what_sender(record->what);

    row->to = record->to;
    row->from = record->from;
    row->type = arena_string(list, observe_type_name(observer, observed_what_type(record->what)));
    row->from_type =
        arena_string(list, sender & OBSERVED_PORT ? "port" : observe_type_name(observer, sender));
    row->message = (uint32_t)observed_what_message(record->what);
    row->sends = (uint32_t)observed_what_sends(record->what);
    row->run_ns = record->run_ns;
    row->wait_ns = record->wait_ns;
    row->stands_for = observed_weight_messages(record->weight);
    row->reason = (uint32_t)observed_weight_reason(record->weight);
    row->hops = (uint32_t)observed_weight_hops(record->weight);
    row->at_least = (record->weight & OBSERVED_AT_LEAST) != 0;
    row->trace = record->id;
}

static int observe_compare_traced(const void *a, const void *b)
{
    const struct odeon_traced *one = a, *other = b;

    return (one->began_ns > other->began_ns) - (one->began_ns < other->began_ns);
}

/* Adds a worker's; `records` is room for them. */
static void observe_add_traced(struct odeon_observer *observer, uint32_t worker,
                               struct observed_record *records, struct odeon_list *list,
                               uint64_t *lost)
{
    uint64_t more, epoch = observe_epoch_ns();
    uint32_t n =
        observe_file_trace(&observer->file, worker, &observer->traced[worker], records, &more);
    struct odeon_traced *rows = n ? arena_alloc(list, list->n + n, sizeof(*rows)) : NULL;

    *lost += more;
    if (!rows)
        return;
    if (list->n)
        memcpy(rows, list->rows, list->n * sizeof(*rows));
    for (uint32_t i = 0; i < n; i++) {
        struct odeon_traced *row = &rows[list->n + i];

        row->worker = worker;
        row->began_ns = records[i].began_ns + epoch;
        observe_fill_traced(observer, list, row, &records[i]);
    }
    list->rows = rows;
    list->n += n;
}

int odeon_observe_traced(struct odeon_observer *observer, uint64_t *ret_lost,
                         struct odeon_list **ret)
{
    WITHOUT_CANCELLATION;

    struct observed_record *records;
    struct odeon_list *list;
    uint64_t lost = 0;

    if (!observer || !ret)
        return error_set_literal(-EINVAL, "odeon_observe_traced: no observer, or no place");
    *ret = NULL;
    if (!observer->traced)
        observer->traced = calloc(observer->file.n_workers + 1, sizeof(*observer->traced));
    records = malloc(OBSERVED_RECORDS * sizeof(*records));
    list = observer->traced && records ? arena_new(sizeof(*list)) : NULL;
    for (uint32_t i = observe_file_next_worker(&observer->file, 0);
         list && i < observer->file.n_workers; i = observe_file_next_worker(&observer->file, i + 1))
        observe_add_traced(observer, i, records, list, &lost);
    free(records);
    if (list && list->n)
        qsort(list->rows, list->n, sizeof(struct odeon_traced), observe_compare_traced);
    if (ret_lost)
        *ret_lost = lost;
    return observe_hand_out(list, ret);
}
