/* SPDX-License-Identifier: Apache-2.0 */
/* 21, trapezoidal approximation: a sum in parts.
 *
 * A master has `w` workers, and gives each an equal part of the range from `l` to `r`, whose
 * integral is summed up by `n` trapezoids in all. A worker tells its part of the sum, and ends; so
 * does the master with the last one.
 * f(x) = sin(x^3 - 1) / (x + 1) * sqrt(1 + exp(sqrt(2x))). Messages: 2w + 1. Check: the area, as
 * loops over the same parts have it.
 */
#include "program.h"

#include <math.h>

enum { TRAPEZOID_WORKERS_MAX = 10000 };

ODEON_ARGUMENTS(trapezoid_args, {
    uint32_t n;
    uint32_t w;
    uint32_t l;
    uint32_t r;
});

ODEON_SIGNAL(trapezoid_start, 1);
ODEON_MESSAGE(trapezoid_work, 1, { double from, to, step; });
ODEON_MESSAGE(trapezoid_result, 1, { double area; });
ODEON_INTERFACE(trapezoid_worker, trapezoid_work);
ODEON_INTERFACE(trapezoid_master, trapezoid_start, trapezoid_result);

static double trapezoid_f(double x)
{
    return sin(x * x * x - 1) / (x + 1) * sqrt(1 + exp(sqrt(2 * x)));
}

static double trapezoid_area(const struct trapezoid_work *part)
{
    double h = part->step, sum = 0;
    int64_t n = (int64_t)((part->to - part->from) / h);
    for (int64_t i = 0; i < n; i++) {
        double x = (double)i * h + part->from;
        sum += 0.5 * (trapezoid_f(x) + trapezoid_f(x + h)) * h;
    }
    return sum;
}

static struct trapezoid_work trapezoid_part(const struct trapezoid_args *args, uint32_t i)
{
    double all = (double)args->r - args->l, range = all / args->w, from = args->l + range * i;
    return (struct trapezoid_work){ .from = from, .to = from + range, .step = all / args->n };
}

ODEON_STATELESS(trapezoid_worker);

ODEON_RECEIVE(trapezoid_worker, trapezoid_work)
{
    program_must(ctx, odeon_reply(ctx, trapezoid_result, .area = trapezoid_area(msg)));
    return ODEON_DELETE;
}

ODEON_HANDLERS(trapezoid_worker, ODEON_ON(trapezoid_worker, trapezoid_work));
ODEON_ACTOR_TYPE(trapezoid_worker, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the master ---- */

ODEON_STATE(trapezoid_master, {
    struct trapezoid_args args;
    uint32_t results;
    double area;
});

ODEON_INIT(trapezoid_master, struct trapezoid_args)
{
    self->args = *args;
    return 0;
}

ODEON_RECEIVE(trapezoid_master, trapezoid_start)
{
    for (uint32_t i = 0; i < self->args.w; i++) {
        trapezoid_worker_ref worker;
        struct trapezoid_work part = trapezoid_part(&self->args, i);
        program_must(ctx, odeon_spawn_into(ctx, &worker, trapezoid_worker));
        program_must(ctx, odeon_send(ctx, worker, trapezoid_work, .from = part.from, .to = part.to,
                                     .step = part.step));
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(trapezoid_master, trapezoid_result)
{
    self->area += msg->area;
    if (++self->results < self->args.w)
        return ODEON_NODELETE;
    program_report(ctx, .sum = self->area);
    return ODEON_DELETE;
}

ODEON_HANDLERS(trapezoid_master, ODEON_ON(trapezoid_master, trapezoid_start),
               ODEON_ON(trapezoid_master, trapezoid_result));
ODEON_ACTOR_TYPE(trapezoid_master, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_trapezoid, {
    struct program program;
    struct trapezoid_args args;
});

static void trapezoid_accept(struct savina_trapezoid_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, 1000000000);
    program_range(&self->program, "w", self->args.w, 1, TRAPEZOID_WORKERS_MAX);
    program_range(&self->program, "l", self->args.l, 1, 100);
    program_range(&self->program, "r", self->args.r, (uint64_t)self->args.l + 1, 101);
}

static int trapezoid_step(struct savina_trapezoid_state *self, struct odeon_context *ctx)
{
    trapezoid_master_ref master;
    const struct trapezoid_args *args = &self->args;
    int r = odeon_spawn_into(
        ctx, &master, trapezoid_master,
        ODEON_ARGS(struct trapezoid_args, .n = args->n, .w = args->w, .l = args->l, .r = args->r));
    if (r == 0)
        r = odeon_signal(ctx, master, trapezoid_start);
    self->program.awaited = 1;
    self->program.messages = 2 * (uint64_t)args->w + 1;
    return r;
}

static void trapezoid_verify(struct savina_trapezoid_state *self)
{
    double area = 0;
    for (uint32_t i = 0; i < self->args.w; i++) {
        struct trapezoid_work part = trapezoid_part(&self->args, i);
        area += trapezoid_area(&part);
    }
    program_expect_near(&self->program, "area", self->program.sum, area, 1e-9);
    if (self->args.n == 10000000 && self->args.w == 100 && self->args.l == 1 && self->args.r == 5)
        program_expect_near(&self->program, "area", self->program.sum, 0.271080752, 1e-6);
}

PROGRAM(trapezoid);
