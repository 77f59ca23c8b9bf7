/* SPDX-License-Identifier: Apache-2.0 */
/* 26, successive over-relaxation: an actor a cell of a grid.
 *
 * A grid has `s` by s cells with drawn values, coloured like a chessboard. A cell knows the two to
 * four beside it. At its start, one of the first colour sends its value to those, which is its
 * first iteration. Whoever has the values of all neighbours makes its own of their sum and its old
 * one, and sends it to them; after 100 iterations it tells the value, and ends. So neighbours are
 * never more than one value ahead. Messages: 400 s (s - 1) + 2 s^2, about. Check: the sum of all
 * values, as two loops by turns have it.
 *
 * The suite cuts the grid in two halves, which introduce their borders to each other. Here the
 * table of all cells is in memory, complete before the first cell is started; values that come to a
 * cell before its start are kept.
 */
#include "lcg.h"
#include "program.h"

#include <stdlib.h>

enum { SOR_ITERATIONS = 100, SOR_SIDE_MAX = 700 };
#define SOR_OMEGA 1.25

ODEON_ARGUMENTS(sor_args, { uint32_t s; });

ODEON_SIGNAL(sor_start, 1);
ODEON_MESSAGE(sor_value, 1, { double value; });
ODEON_INTERFACE(sor_cell, sor_start, sor_value);

struct sor_cell_args {
    const sor_cell_ref *cells;
    double value;
    uint32_t s, place;
};

ODEON_STATE(sor_cell, {
    const sor_cell_ref *cells;
    double value, sum;
    uint32_t s, place;
    uint8_t came, n, iteration;
    bool started;
});

static bool sor_is_first(uint32_t s, uint32_t place)
{
    return (place / s + place % s) % 2 == 0;
}

static uint32_t sor_neighbours(uint32_t s, uint32_t place, uint32_t neighbours[4])
{
    uint32_t n = 0;
    if (place >= s)
        neighbours[n++] = place - s;
    if (place % s > 0)
        neighbours[n++] = place - 1;
    if (place % s < s - 1)
        neighbours[n++] = place + 1;
    if (place < s * (s - 1))
        neighbours[n++] = place + s;
    return n;
}

static double sor_next(double value, double sum)
{
    return SOR_OMEGA / 4 * sum + (1 - SOR_OMEGA) * value;
}

ODEON_INIT(sor_cell, struct sor_cell_args)
{
    uint32_t neighbours[4];
    self->cells = args->cells;
    self->value = args->value;
    self->s = args->s;
    self->place = args->place;
    self->n = (uint8_t)sor_neighbours(args->s, args->place, neighbours);
    return 0;
}

static int sor_tell(struct sor_cell_state *self, struct odeon_context *ctx)
{
    uint32_t neighbours[4];
    sor_neighbours(self->s, self->place, neighbours);
    for (uint32_t i = 0; i < self->n; i++)
        program_must(ctx,
                     odeon_send(ctx, self->cells[neighbours[i]], sor_value, .value = self->value));
    if (++self->iteration < SOR_ITERATIONS)
        return ODEON_NODELETE;
    program_report(ctx, .sum = self->value);
    return ODEON_DELETE;
}

static int sor_go_on(struct sor_cell_state *self, struct odeon_context *ctx)
{
    if (!self->started || self->came < self->n)
        return ODEON_NODELETE;
    self->value = sor_next(self->value, self->sum);
    self->sum = self->came = 0;
    return sor_tell(self, ctx);
}

ODEON_RECEIVE(sor_cell, sor_start)
{
    self->started = true;
    return sor_is_first(self->s, self->place) ? sor_tell(self, ctx) : sor_go_on(self, ctx);
}

ODEON_RECEIVE(sor_cell, sor_value)
{
    self->sum += msg->value;
    self->came++;
    return sor_go_on(self, ctx);
}

ODEON_HANDLERS(sor_cell, ODEON_ON(sor_cell, sor_start), ODEON_ON(sor_cell, sor_value));
ODEON_ACTOR_TYPE(sor_cell, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_sor, {
    struct program program;
    struct sor_args args;
    double *values; /* at first */
    sor_cell_ref *cells;
    uint32_t made, started;
});

ODEON_FINI(savina_sor)
{
    free(self->values);
    free(self->cells);
}

static void sor_accept(struct savina_sor_state *self)
{
    struct lcg lcg = { 10101010 };
    size_t n = (size_t)self->args.s * self->args.s;
    program_range(&self->program, "s", self->args.s, 2, SOR_SIDE_MAX);
    if (self->program.what[0] != '\0')
        return;
    self->values = malloc(n * sizeof(self->values[0]));
    self->cells = malloc(n * sizeof(self->cells[0]));
    for (size_t i = 0; i < n && self->values != NULL; i++)
        self->values[i] = lcg_double(&lcg) * 1e-6;
}

static int sor_step(struct savina_sor_state *self, struct odeon_context *ctx)
{
    uint32_t s = self->args.s, n = s * s;
    self->program.awaited = n;
    self->program.messages = 4 * (uint64_t)SOR_ITERATIONS * s * (s - 1) + 2 * (uint64_t)n;
    if (self->values == NULL || self->cells == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < PROGRAM_TURN; i++) {
        int r = 0;
        if (self->made < n)
            r = odeon_spawn_into(ctx, &self->cells[self->made], sor_cell,
                                 ODEON_ARGS(struct sor_cell_args, .cells = self->cells,
                                            .value = self->values[self->made], .s = s,
                                            .place = self->made));
        else if (self->started < n)
            r = odeon_signal(ctx, self->cells[self->started], sor_start);
        else
            return PROGRAM_DONE;
        if (program_is_full(r))
            break;
        if (r < 0)
            return r;
        if (self->made < n)
            self->made++;
        else
            self->started++;
    }
    return PROGRAM_AGAIN;
}

static void sor_sweep(double *values, uint32_t s, bool first)
{
    uint32_t neighbours[4];
    for (uint32_t i = 0; i < s * s; i++) {
        double sum = 0;
        if (sor_is_first(s, i) != first)
            continue;
        for (uint32_t j = sor_neighbours(s, i, neighbours); j > 0; j--)
            sum += values[neighbours[j - 1]];
        values[i] = sor_next(values[i], sum);
    }
}

static void sor_verify(struct savina_sor_state *self)
{
    static const struct {
        uint32_t s;
        double sum;
    } known[] = { { 20, 4.16268634233e-10 },
                  { 80, 2.66668265343e-07 },
                  { 150, 3.338891394643e-06 } };
    uint32_t s = self->args.s;
    double sum = 0;
    for (uint32_t i = 0; i < SOR_ITERATIONS; i++) {
        sor_sweep(self->values, s, false);
        if (i < SOR_ITERATIONS - 1)
            sor_sweep(self->values, s, true);
    }
    for (uint32_t i = 0; i < s * s; i++)
        sum += self->values[i];
    program_expect_near(&self->program, "sum", self->program.sum, sum, 1e-11);
    for (uint32_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].s == s)
            program_expect_near(&self->program, "sum", self->program.sum, known[i].sum, 1e-11);
}

PROGRAM(sor);
