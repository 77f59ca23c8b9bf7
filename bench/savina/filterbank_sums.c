/* SPDX-License-Identifier: Apache-2.0 */
/* What is behind the pipelines of a filter bank, and the same by loops: see filterbank.c. */
#include "filterbank.h"

#include <math.h>
#include <stdlib.h>

/* ---- the integrator ---- */

/* A number of each bank; numbers of one bank come in order, so each row is the next one for it. */
struct filterbank_slots {
    struct filterbank_slots *next;
    uint32_t filled;
    double values[];
};

ODEON_STATE(filterbank_integrator, {
    struct filterbank_end_args of;
    struct filterbank_slots *first;
    uint64_t rows; /* that are full */
    uint32_t ended;
});

ODEON_INIT(filterbank_integrator, struct filterbank_end_args)
{
    self->of = *args;
    return 0;
}

static struct filterbank_slots *filterbank_add_row(struct filterbank_integrator_state *self)
{
    struct filterbank_slots *row, **at = &self->first;
    row = malloc(sizeof(*row) + self->of.args.chan * sizeof(row->values[0]));
    if (row == NULL)
        return NULL;
    row->next = NULL;
    row->filled = 0;
    for (uint32_t j = 0; j < self->of.args.chan; j++)
        row->values[j] = NAN;
    while (*at != NULL)
        at = &(*at)->next;
    return *at = row;
}

ODEON_RECEIVE(filterbank_integrator, filterbank_of_bank)
{
    struct filterbank_slots *row = self->first;
    while (row != NULL && !isnan(row->values[msg->bank]))
        row = row->next;
    if (row == NULL && (row = filterbank_add_row(self)) == NULL) {
        program_fail(ctx, -ENOMEM);
        return ODEON_NODELETE;
    }
    row->values[msg->bank] = msg->value;
    row->filled++;
    row = self->first;
    if (row->filled < self->of.args.chan)
        return ODEON_NODELETE;
    program_must(ctx,
                 odeon_send_tail(ctx, odeon_as(filterbank_combiner, self->of.next), filterbank_row,
                                 row->values, self->of.args.chan * sizeof(row->values[0]),
                                 .number = self->rows++));
    self->first = row->next;
    free(row);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(filterbank_integrator, filterbank_exit)
{
    if (++self->ended < self->of.args.chan)
        return ODEON_NODELETE;
    program_must(ctx,
                 odeon_signal(ctx, odeon_as(filterbank_combiner, self->of.next), filterbank_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(filterbank_integrator, ODEON_ON(filterbank_integrator, filterbank_of_bank),
               ODEON_ON(filterbank_integrator, filterbank_exit));
ODEON_ACTOR_TYPE(filterbank_integrator, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- combiner and sink ---- */

ODEON_STATE(filterbank_combiner, { struct filterbank_end_args of; });

ODEON_INIT(filterbank_combiner, struct filterbank_end_args)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(filterbank_combiner, filterbank_row)
{
    double sum = 0;
    for (size_t i = 0; i < odeon_tail_size(ctx, msg) / sizeof(msg->values[0]); i++)
        sum += msg->values[i];
    program_must(ctx, odeon_send(ctx, odeon_as(filterbank_sink, self->of.next), filterbank_value,
                                 .value = sum));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(filterbank_combiner, filterbank_exit)
{
    program_must(ctx, odeon_signal(ctx, odeon_as(filterbank_sink, self->of.next), filterbank_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(filterbank_combiner, ODEON_ON(filterbank_combiner, filterbank_row),
               ODEON_ON(filterbank_combiner, filterbank_exit));
ODEON_ACTOR_TYPE(filterbank_combiner, ODEON_POLICY(ODEON_RESTART_STOP));

ODEON_STATE(filterbank_sink, {
    uint64_t count;
    double sum;
});

ODEON_RECEIVE(filterbank_sink, filterbank_value)
{
    self->count++;
    self->sum += msg->value;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(filterbank_sink, filterbank_exit)
{
    program_report(ctx, .count = (int64_t)self->count, .sum = self->sum);
    return ODEON_DELETE;
}

ODEON_HANDLERS(filterbank_sink, ODEON_ON(filterbank_sink, filterbank_value),
               ODEON_ON(filterbank_sink, filterbank_exit));
ODEON_ACTOR_TYPE(filterbank_sink, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- by loops ---- */

/* What the filter says of the col numbers up to x[t] (before x there are zeros), in the places in
 * which they lie when so many have come. */
static double filterbank_fir(const struct filterbank_args *args, bool second, uint64_t j,
                             const double *x, int64_t t, int64_t begin)
{
    int64_t col = args->col;
    double sum = 0;
    for (int64_t back = 0; back < col; back++) {
        int64_t from = t - back - (col - 1), place = (t - begin - back) % col;
        sum += (from < 0 ? 0 : x[from]) *
               filterbank_coefficient(args, second, j, (uint64_t)(col - 1 - place));
    }
    return sum;
}

double filterbank_alone(const struct filterbank_args *args)
{
    int64_t sim = args->sim, col = args->col;
    double *x = malloc(2 * (size_t)sim * sizeof(*x)), *y = x + sim, sum = 0;
    for (int64_t t = 0; t < sim && x != NULL; t++)
        x[t] = (double)(t % 1000);
    for (uint32_t j = 0; j < args->chan && x != NULL; j++) {
        for (int64_t t = col - 1; t < sim; t++) { /* y begins with the filter's first number */
            double value = filterbank_fir(args, false, j, x, t, 0);
            y[t - (col - 1)] = (t - (col - 1)) % col == 0 ? value : 0;
        }
        for (int64_t t = col - 1; t < sim - (col - 1); t++)
            sum += filterbank_fir(args, true, j, y, t, 0);
    }
    free(x);
    return sum;
}
