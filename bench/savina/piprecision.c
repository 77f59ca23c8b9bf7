/* SPDX-License-Identifier: Apache-2.0 */
/* 22, precise pi: terms of a series, as long as they count.
 *
 * pi is the sum of t(k) = (4/(8k+1) - 2/(8k+4) - 1/(8k+5) - 1/(8k+6)) / 16^k, here with `p`
 * decimals, each division rounded to them, halves to even. A master asks `w` workers for the first
 * 10w terms, or p, if that is less, in turn. It adds up what they send; unless a term has been so
 * small that it does not count, it asks who has sent it for the next one. When all that was asked
 * for has come, it stops the workers, each of which says so and ends, and ends.
 * Messages: two a term, and 2w. Check: the sum as a loop has it, and digits of pi.
 *
 * Numbers are integers, scaled by 10^p; a term is a message's tail.
 */
#include "decimal.h"
#include "program.h"

#include <stdlib.h>

enum { PIPRECISION_WORKERS_MAX = 1000 };

ODEON_ARGUMENTS(piprecision_args, {
    uint32_t w;
    uint32_t p;
});

ODEON_MESSAGE(piprecision_term, 1, { uint64_t k; });
ODEON_MESSAGE_TAIL(piprecision_value, 1, limbs, {
    uint64_t k;
    uint32_t limbs[];
});
ODEON_SIGNAL(piprecision_stop, 1);
ODEON_INTERFACE(piprecision_master, piprecision_value, piprecision_stop);
ODEON_INTERFACE(piprecision_worker, piprecision_term, piprecision_stop);

static void piprecision_compute(uint32_t *a, const struct decimal_one *one, uint64_t k)
{
    static const struct {
        uint32_t factor, more;
    } parts[] = { { 2, 4 }, { 1, 5 }, { 1, 6 } };
    uint32_t part[DECIMAL_LIMBS_MAX];
    decimal_divide(a, one, 4, 8 * k + 1);
    for (uint32_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        decimal_divide(part, one, parts[i].factor, 8 * k + parts[i].more);
        decimal_add(a, part, one->n, true);
    }
    decimal_shift(a, one->n, 4 * k);
}

/* ---- workers ---- */

struct piprecision_actor_args {
    piprecision_master_ref master;
    const struct decimal_one *one;
    uint32_t *sum;
    struct piprecision_args args;
};

ODEON_STATE(piprecision_worker, { struct piprecision_actor_args of; });

ODEON_INIT(piprecision_worker, struct piprecision_actor_args)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(piprecision_worker, piprecision_term)
{
    uint32_t term[DECIMAL_LIMBS_MAX];
    piprecision_compute(term, self->of.one, msg->k);
    program_must(ctx, odeon_send_tail(ctx, self->of.master, piprecision_value, term,
                                      self->of.one->n * sizeof(term[0]), .k = msg->k));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(piprecision_worker, piprecision_stop)
{
    program_must(ctx, odeon_signal(ctx, self->of.master, piprecision_stop));
    return ODEON_DELETE;
}

ODEON_HANDLERS(piprecision_worker, ODEON_ON(piprecision_worker, piprecision_term),
               ODEON_ON(piprecision_worker, piprecision_stop));
ODEON_ACTOR_TYPE(piprecision_worker, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the master ---- */

ODEON_STATE(piprecision_master, {
    struct piprecision_actor_args of;
    uint64_t asked, came;
    uint32_t stopped;
    bool enough;
    piprecision_worker_ref workers[PIPRECISION_WORKERS_MAX];
});

ODEON_INIT(piprecision_master, struct piprecision_actor_args)
{
    uint32_t w = args->args.w, first = args->args.p < 10 * w ? args->args.p : 10 * w;
    self->of = *args;
    self->of.master = odeon_self(ctx, piprecision_master);
    for (uint32_t i = 0; i < w; i++)
        program_must(ctx, odeon_spawn_into(ctx, &self->workers[i], piprecision_worker,
                                           .args = &self->of, .args_size = sizeof(self->of)));
    for (; self->asked < first; self->asked++)
        program_must(ctx, odeon_send(ctx, self->workers[self->asked % w], piprecision_term,
                                     .k = self->asked));
    return 0;
}

ODEON_RECEIVE(piprecision_master, piprecision_value)
{
    self->came++;
    decimal_add(self->of.sum, msg->limbs, self->of.one->n, false);
    self->enough |= decimal_is_last(msg->limbs, self->of.one->n);
    if (!self->enough)
        program_must(ctx, odeon_send(ctx, odeon_as(piprecision_worker, ctx->sender),
                                     piprecision_term, .k = self->asked++));
    else if (self->came == self->asked)
        for (uint32_t i = 0; i < self->of.args.w; i++)
            program_must(ctx, odeon_signal(ctx, self->workers[i], piprecision_stop));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(piprecision_master, piprecision_stop)
{
    if (++self->stopped < self->of.args.w)
        return ODEON_NODELETE;
    program_report(ctx, .messages = 2 * self->asked);
    return ODEON_DELETE;
}

ODEON_HANDLERS(piprecision_master, ODEON_ON(piprecision_master, piprecision_value),
               ODEON_ON(piprecision_master, piprecision_stop));
ODEON_ACTOR_TYPE(piprecision_master, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_piprecision, {
    struct program program;
    struct piprecision_args args;
    struct decimal_one *one;
    uint32_t *sum;
});

ODEON_FINI(savina_piprecision)
{
    free(self->one);
    free(self->sum);
}

static void piprecision_accept(struct savina_piprecision_state *self)
{
    program_range(&self->program, "w", self->args.w, 1, PIPRECISION_WORKERS_MAX);
    program_range(&self->program, "p", self->args.p, 20, DECIMAL_DIGITS_MAX);
    if (self->program.what[0] == '\0') {
        self->one = decimal_make_one(self->args.p);
        self->sum = calloc(DECIMAL_LIMBS_MAX, sizeof(self->sum[0]));
    }
}

static int piprecision_step(struct savina_piprecision_state *self, struct odeon_context *ctx)
{
    piprecision_master_ref master;
    self->program.awaited = 1;
    self->program.messages = 2 * self->args.w;
    if (self->one == NULL || self->sum == NULL)
        return -ENOMEM;
    return odeon_spawn_into(ctx, &master, piprecision_master,
                            ODEON_ARGS(struct piprecision_actor_args, .one = self->one,
                                       .sum = self->sum, .args = self->args));
}

static void piprecision_verify(struct savina_piprecision_state *self)
{
    static const struct {
        uint32_t p;
        int64_t end;
    } known[] = { { 1000, 92164201989 }, { 5000, 874132604705 }, { 20000, 140490755121 } };
    uint32_t sum[DECIMAL_LIMBS_MAX] = { 0 }, term[DECIMAL_LIMBS_MAX], n = self->one->n;
    uint64_t k = 0;
    do {
        piprecision_compute(term, self->one, k++);
        decimal_add(sum, term, n, false);
    } while (!decimal_is_last(term, n));
    program_expect(&self->program, "end of the sum", decimal_end(self->sum, n),
                   decimal_end(sum, n));
    for (uint32_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].p == self->args.p)
            program_expect(&self->program, "last digits", decimal_end(self->sum, n), known[i].end);
    double pi = 0, one = 0;
    for (uint32_t i = 0; i < n; i++) {
        pi = pi / 4294967296.0 + self->sum[i];
        one = one / 4294967296.0 + self->one->limbs[i];
    }
    program_expect_near(&self->program, "sum", pi / one, 3.14159265358979323846, 1e-12);
}

PROGRAM(piprecision);
