/* SPDX-License-Identifier: Apache-2.0 */
/* 23, recursive matrix multiplication: jobs that become smaller, dealt out by one.
 *
 * C = A B, of `n` by n numbers, A[i][j] = i, B[i][j] = j. A master gives jobs to `w` workers, each
 * to the one that the place of its block in C says, so that no two work on the same block. A job
 * has blocks of A and B whose product is to be added to one of C. Where they have more than `t`
 * numbers, the worker sends the master the eight jobs of half the side that it consists of; else it
 * multiplies them. Then it says that the job is done. When all are, the master stops the workers,
 * each of which says so and ends, and ends. Messages: 3 a job, less one, and 2w. Check: each number
 * of C is n i j.
 *
 * The matrices are in memory that all share, and made before the clock runs.
 */
#include "program.h"

#include <stdlib.h>

enum { RECMATMUL_WORKERS_MAX = 1000 };

ODEON_ARGUMENTS(recmatmul_args, {
    uint32_t n;
    uint32_t t;
    uint32_t w;
});

ODEON_MESSAGE(recmatmul_job, 1,
              { uint32_t row_a, column_a, row_b, column_b, row_c, column_c, dim, zero; });
ODEON_SIGNAL(recmatmul_done, 1);
ODEON_SIGNAL(recmatmul_stop, 1);
ODEON_INTERFACE(recmatmul_master, recmatmul_job, recmatmul_done, recmatmul_stop);
ODEON_INTERFACE(recmatmul_worker, recmatmul_job, recmatmul_stop);

struct recmatmul_actor_args {
    recmatmul_master_ref master;
    struct recmatmul_args args;
    double *a, *b, *c;
};

/* ---- workers ---- */

ODEON_STATE(recmatmul_worker, { struct recmatmul_actor_args of; });

ODEON_INIT(recmatmul_worker, struct recmatmul_actor_args)
{
    self->of = *args;
    return 0;
}

static void recmatmul_multiply(const struct recmatmul_actor_args *of,
                               const struct recmatmul_job *job)
{
    size_t n = of->args.n;
    for (uint32_t i = 0; i < job->dim; i++)
        for (uint32_t j = 0; j < job->dim; j++) {
            const double *a = of->a + (job->row_a + i) * n + job->column_a;
            const double *b = of->b + job->row_b * n + job->column_b + j;
            double *c = of->c + (job->row_c + i) * n + job->column_c + j, sum = *c;
            for (uint32_t k = 0; k < job->dim; k++)
                sum += a[k] * b[k * n];
            *c = sum;
        }
}

static void recmatmul_halve(struct recmatmul_worker_state *self, struct odeon_context *ctx,
                            const struct recmatmul_job *job)
{
    uint32_t half = job->dim / 2;
    for (uint32_t i = 0; i < 8; i++) { /* row of C and A, column of C and B, what is between */
        uint32_t row = i / 4 * half, column = i / 2 % 2 * half, k = i % 2 * half;
        program_must(ctx, odeon_send(ctx, self->of.master, recmatmul_job, .row_a = job->row_a + row,
                                     .column_a = job->column_a + k, .row_b = job->row_b + k,
                                     .column_b = job->column_b + column, .row_c = job->row_c + row,
                                     .column_c = job->column_c + column, .dim = half));
    }
}

ODEON_RECEIVE(recmatmul_worker, recmatmul_job)
{
    if ((uint64_t)msg->dim * msg->dim > self->of.args.t)
        recmatmul_halve(self, ctx, msg);
    else
        recmatmul_multiply(&self->of, msg);
    program_must(ctx, odeon_signal(ctx, self->of.master, recmatmul_done));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(recmatmul_worker, recmatmul_stop)
{
    program_must(ctx, odeon_signal(ctx, self->of.master, recmatmul_stop));
    return ODEON_DELETE;
}

ODEON_HANDLERS(recmatmul_worker, ODEON_ON(recmatmul_worker, recmatmul_job),
               ODEON_ON(recmatmul_worker, recmatmul_stop));
ODEON_ACTOR_TYPE(recmatmul_worker, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the master ---- */

ODEON_STATE(recmatmul_master, {
    uint32_t w, stopped;
    uint64_t sent, done;
    recmatmul_worker_ref workers[RECMATMUL_WORKERS_MAX];
});

ODEON_INIT(recmatmul_master, struct recmatmul_actor_args)
{
    struct recmatmul_actor_args of = *args;
    of.master = odeon_self(ctx, recmatmul_master);
    self->w = args->args.w;
    for (uint32_t i = 0; i < self->w; i++)
        program_must(ctx, odeon_spawn_into(ctx, &self->workers[i], recmatmul_worker, .args = &of,
                                           .args_size = sizeof(of)));
    self->sent = 1;
    return odeon_send(ctx, self->workers[0], recmatmul_job, .dim = args->args.n);
}

ODEON_RECEIVE(recmatmul_master, recmatmul_job)
{
    self->sent++;
    program_must(ctx,
                 odeon_forward(ctx, self->workers[(msg->row_c + msg->column_c) % self->w], msg));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(recmatmul_master, recmatmul_done)
{
    if (++self->done == self->sent)
        for (uint32_t i = 0; i < self->w; i++)
            program_must(ctx, odeon_signal(ctx, self->workers[i], recmatmul_stop));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(recmatmul_master, recmatmul_stop)
{
    if (++self->stopped < self->w)
        return ODEON_NODELETE;
    program_report(ctx, .messages = 3 * self->sent - 1, .count = (int64_t)self->sent);
    return ODEON_DELETE;
}

ODEON_HANDLERS(recmatmul_master, ODEON_ON(recmatmul_master, recmatmul_job),
               ODEON_ON(recmatmul_master, recmatmul_done),
               ODEON_ON(recmatmul_master, recmatmul_stop));
ODEON_ACTOR_TYPE(recmatmul_master, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_recmatmul, {
    struct program program;
    struct recmatmul_args args;
    double *numbers; /* of A, B and C */
});

ODEON_FINI(savina_recmatmul)
{
    free(self->numbers);
}

static void recmatmul_accept(struct savina_recmatmul_state *self)
{
    size_t n = self->args.n;
    program_range(&self->program, "n", n, 1, 4096);
    program_range(&self->program, "t", self->args.t, 1, 4096 * 4096);
    program_range(&self->program, "w", self->args.w, 1, RECMATMUL_WORKERS_MAX);
    if ((n & (n - 1)) != 0)
        program_refuse(&self->program, "n: is no power of two");
    if (self->program.what[0] == '\0')
        self->numbers = calloc(3 * n * n, sizeof(double));
    for (size_t i = 0; i < n * n && self->numbers != NULL; i++) {
        self->numbers[i] = (double)(i / n);
        self->numbers[n * n + i] = (double)(i % n);
    }
}

static int recmatmul_step(struct savina_recmatmul_state *self, struct odeon_context *ctx)
{
    recmatmul_master_ref master;
    size_t size = (size_t)self->args.n * self->args.n;
    self->program.awaited = 1;
    self->program.messages = 2 * self->args.w;
    if (self->numbers == NULL)
        return -ENOMEM;
    return odeon_spawn_into(ctx, &master, recmatmul_master,
                            ODEON_ARGS(struct recmatmul_actor_args, .args = self->args,
                                       .a = self->numbers, .b = self->numbers + size,
                                       .c = self->numbers + 2 * size));
}

static void recmatmul_verify(struct savina_recmatmul_state *self)
{
    size_t n = self->args.n;
    int64_t wrong = 0;
    for (size_t i = 0; i < n * n; i++)
        wrong += self->numbers[2 * n * n + i] != (double)(n * (i / n) * (i % n));
    program_expect(&self->program, "wrong numbers", wrong, 0);
}

PROGRAM(recmatmul);
