/* SPDX-License-Identifier: Apache-2.0 */
#include "client-lib/exporter/expose_types.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXPOSE_TYPES_EACH = 2 * (OBSERVED_TOPS + 3) + 5, /* series of one type */
    EXPOSE_TYPES_LEFT = 120,                         /* series that come behind them */
};

struct expose_type {
    const char *type, *plugin;
    uint64_t messages, sends, failed, actors, state_bytes, run_ns, wait_ns;
    uint64_t run[OBSERVED_TOPS + 1], wait[OBSERVED_TOPS + 1];
};

static void expose_types_add(struct expose_type *to, const struct odeon_type_figures *row,
                             struct observed *observed)
{
    uint64_t run[OBSERVED_TOPS + 1], wait[OBSERVED_TOPS + 1];

    if (!observed_times(observed, row->id, ODEON_TIMES_RUN, run) ||
        !observed_times(observed, row->id, ODEON_TIMES_WAIT, wait))
        return;
    to->messages += row->messages;
    to->sends += row->sends;
    to->failed += row->failed;
    to->actors += row->actors;
    to->state_bytes += row->state_bytes;
    to->run_ns += row->run_ns;
    to->wait_ns += row->wait_ns;
    for (unsigned i = 0; i <= OBSERVED_TOPS; i++) {
        to->run[i] += run[i];
        to->wait[i] += wait[i];
    }
}

/* A type whose name is that of the sum is in the sum. */
static struct expose_type *expose_types_find(struct expose_type *types, size_t n, const char *name)
{
    if (strcmp(name, "other") == 0)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(types[i].type, name) == 0)
            return &types[i];
    return NULL;
}

/* By its number, which a type has for good, whether those before it have done something yet or not:
 * who is shown stays. Numbers begin with 1. Returns how many are, `other` included. */
static size_t expose_types_gather(struct observed *observed, const struct odeon_list *list,
                                  struct expose_type *types, size_t most, size_t *ret_summed)
{
    const struct odeon_type_figures *rows = list->rows;
    struct expose_type other = { .type = "other", .plugin = "" };
    size_t n = 0;

    *ret_summed = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct expose_type *to = expose_types_find(types, n, rows[i].type);

        if (!to && rows[i].id < most && strcmp(rows[i].type, "other") != 0) {
            to = &types[n++];
            *to = (struct expose_type){ .type = rows[i].type, .plugin = rows[i].plugin };
        }
        *ret_summed += !to;
        expose_types_add(to ? to : &other, &rows[i], observed);
    }
    if (*ret_summed)
        types[n++] = other;
    return n;
}

/* One family, whose values are at `offset` of each type. */
static void expose_types_family(const struct expose_type *types, size_t n, struct metrics *m,
                                const char *name, enum metrics_type kind, const char *unit,
                                const char *help, size_t offset)
{
    metrics_family(m, name, kind, unit, help);
    for (size_t i = 0; i < n; i++) {
        uint64_t value;

        memcpy(&value, (const char *)&types[i] + offset, sizeof(value));
        metrics_value(
            m, (struct metrics_label[]){ { "type", types[i].type }, { "plugin", types[i].plugin } },
            2, (double)value);
    }
}

static void expose_types_counts(const struct expose_type *types, size_t n, struct metrics *m)
{
    expose_types_family(types, n, m, "odeon_type_messages", METRICS_COUNTER, "",
                        "messages that actors of the type have run, as estimated from samples",
                        offsetof(struct expose_type, messages));
    expose_types_family(types, n, m, "odeon_type_sends", METRICS_COUNTER, "",
                        "messages that actors of the type have sent, as estimated from samples",
                        offsetof(struct expose_type, sends));
    expose_types_family(types, n, m, "odeon_type_failed", METRICS_COUNTER, "",
                        "messages for actors of the type that could not be run",
                        offsetof(struct expose_type, failed));
    expose_types_family(types, n, m, "odeon_type_actors", METRICS_GAUGE, "",
                        "actors of the type that are alive", offsetof(struct expose_type, actors));
    expose_types_family(types, n, m, "odeon_type_state_bytes", METRICS_GAUGE, "bytes",
                        "what the states of all actors of the type take",
                        offsetof(struct expose_type, state_bytes));
}

static void expose_types_times(const struct expose_type *types, size_t n, struct metrics *m)
{
    metrics_family(m, "odeon_type_run_seconds", METRICS_HISTOGRAM, "seconds",
                   "how long behaviours of the type take for a message");
    for (size_t i = 0; i < n; i++)
        metrics_histogram(m, &(struct metrics_label){ "type", types[i].type }, 1, observed_tops,
                          types[i].run, OBSERVED_TOPS, (double)types[i].run_ns / 1e9);
    metrics_family(m, "odeon_type_wait_seconds", METRICS_HISTOGRAM, "seconds",
                   "how long messages wait in queues for a behaviour of the type");
    for (size_t i = 0; i < n; i++)
        metrics_histogram(m, &(struct metrics_label){ "type", types[i].type }, 1, observed_tops,
                          types[i].wait, OBSERVED_TOPS, (double)types[i].wait_ns / 1e9);
}

void expose_types(struct observed *observed, struct metrics *m)
{
    struct odeon_list *list = NULL;
    struct expose_type *types = NULL;
    size_t room =
        m->most > m->series + EXPOSE_TYPES_LEFT ? m->most - m->series - EXPOSE_TYPES_LEFT : 0;
    size_t most = room / EXPOSE_TYPES_EACH, n, summed = 0;
    bool is_there = observed && odeon_observe_types(observed->observer, 1, &list) == 0 && most > 0;

    metrics_family(m, "odeon_types_readable", METRICS_GAUGE, "",
                   "1: the service tells what actors do; 0: the role observe is missing, or it is "
                   "away");
    metrics_value(m, NULL, 0, is_there);
    types = is_there ? calloc(most, sizeof(*types)) : NULL;
    if (types) {
        n = expose_types_gather(observed, list, types, most, &summed);
        expose_types_counts(types, n, m);
        expose_types_times(types, n, m);
        if (summed)
            metrics_leave_out(m, (summed - 1) * EXPOSE_TYPES_EACH);
    }
    free(types);
    odeon_list_free(list);
}
