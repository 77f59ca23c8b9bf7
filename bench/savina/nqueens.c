/* SPDX-License-Identifier: Apache-2.0 */
/* 28, N-queens: work that makes work, dealt out by one.
 *
 * A master gives work, at first an empty board of `n` by n, to `w` workers in turn. Work is a board
 * with queens in its first columns. Where that are less than `t`, the worker sends the master new
 * work for each place of the next queen that no other one attacks; else it finds all solutions that
 * begin so, and sends the master word of each. Behind that it says that the work is done. When all
 * is, the master stops the workers, each of which says so and ends, and ends.
 * Whether a board is right is looked at from its first queen on, each time, and boards are copied.
 * Messages: 3 a work, less one, one a solution, 2w. Check: the number of solutions.
 *
 * The suite's limit of solutions, at which it stops, and its priorities are left out.
 */
#include "program.h"

enum { NQUEENS_MAX = 14, NQUEENS_WORKERS_MAX = 1000 };

ODEON_ARGUMENTS(nqueens_args, {
    uint32_t n;
    uint32_t t;
    uint32_t w;
});

ODEON_MESSAGE(nqueens_work, 1, {
    uint8_t board[16];
    uint64_t depth;
});
ODEON_SIGNAL(nqueens_result, 1);
ODEON_SIGNAL(nqueens_done, 1);
ODEON_SIGNAL(nqueens_stop, 1);
ODEON_INTERFACE(nqueens_master, nqueens_work, nqueens_result, nqueens_done, nqueens_stop);
ODEON_INTERFACE(nqueens_worker, nqueens_work, nqueens_stop);

static bool nqueens_valid(const struct nqueens_work *work)
{
    for (uint64_t i = 0; i < work->depth; i++)
        for (uint64_t j = i + 1; j < work->depth; j++) {
            int apart = work->board[i] - work->board[j], columns = (int)(j - i);
            if (apart == 0 || apart == columns || apart == -columns)
                return false;
        }
    return true;
}

static struct nqueens_work nqueens_with(const struct nqueens_work *work, uint32_t place)
{
    struct nqueens_work next = *work;
    next.board[next.depth++] = (uint8_t)place;
    return next;
}

/* ---- workers ---- */

struct nqueens_worker_args {
    nqueens_master_ref master;
    uint32_t n, t;
};

ODEON_STATE(nqueens_worker, { struct nqueens_worker_args of; });

ODEON_INIT(nqueens_worker, struct nqueens_worker_args)
{
    self->of = *args;
    return 0;
}

static void nqueens_search(struct nqueens_worker_state *self, struct odeon_context *ctx,
                           const struct nqueens_work *work)
{
    if (work->depth == self->of.n) {
        program_must(ctx, odeon_signal(ctx, self->of.master, nqueens_result));
        return;
    }
    for (uint32_t place = 0; place < self->of.n; place++) {
        struct nqueens_work next = nqueens_with(work, place);
        if (nqueens_valid(&next))
            nqueens_search(self, ctx, &next);
    }
}

static void nqueens_share(struct nqueens_worker_state *self, struct odeon_context *ctx,
                          const struct nqueens_work *work)
{
    struct odeon_message_object *object = odeon_msg_new(ctx, nqueens_work);
    if (object == NULL) {
        program_fail(ctx, -ENOMEM);
        return;
    }
    for (uint32_t place = 0; place < self->of.n; place++) {
        struct nqueens_work next = nqueens_with(work, place);
        if (!nqueens_valid(&next))
            continue;
        *odeon_msg_fields(object, nqueens_work) = next;
        program_must(ctx, odeon_msg_send(ctx, self->of.master, nqueens_work, object));
    }
    odeon_msg_free(ctx, object);
}

ODEON_RECEIVE(nqueens_worker, nqueens_work)
{
    if (msg->depth >= self->of.t || msg->depth == self->of.n)
        nqueens_search(self, ctx, msg);
    else
        nqueens_share(self, ctx, msg);
    program_must(ctx, odeon_signal(ctx, self->of.master, nqueens_done));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(nqueens_worker, nqueens_stop)
{
    program_must(ctx, odeon_signal(ctx, self->of.master, nqueens_stop));
    return ODEON_DELETE;
}

ODEON_HANDLERS(nqueens_worker, ODEON_ON(nqueens_worker, nqueens_work),
               ODEON_ON(nqueens_worker, nqueens_stop));
ODEON_ACTOR_TYPE(nqueens_worker, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the master ---- */

ODEON_STATE(nqueens_master, {
    struct nqueens_args args;
    uint64_t sent, done, results;
    uint32_t stopped;
    nqueens_worker_ref workers[NQUEENS_WORKERS_MAX];
});

ODEON_INIT(nqueens_master, struct nqueens_args)
{
    self->args = *args;
    for (uint32_t i = 0; i < args->w; i++)
        program_must(ctx, odeon_spawn_into(ctx, &self->workers[i], nqueens_worker,
                                           ODEON_ARGS(struct nqueens_worker_args,
                                                      .master = odeon_self(ctx, nqueens_master),
                                                      .n = args->n, .t = args->t)));
    self->sent = 1;
    return odeon_send(ctx, self->workers[0], nqueens_work, .depth = 0);
}

ODEON_RECEIVE(nqueens_master, nqueens_work)
{
    nqueens_worker_ref worker = self->workers[self->sent++ % self->args.w];
    program_must(ctx, odeon_forward(ctx, worker, msg));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(nqueens_master, nqueens_result)
{
    self->results++;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(nqueens_master, nqueens_done)
{
    if (++self->done == self->sent)
        for (uint32_t i = 0; i < self->args.w; i++)
            program_must(ctx, odeon_signal(ctx, self->workers[i], nqueens_stop));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(nqueens_master, nqueens_stop)
{
    if (++self->stopped < self->args.w)
        return ODEON_NODELETE;
    program_report(ctx, .messages = 3 * self->sent - 1 + self->results,
                   .value = (int64_t)self->results);
    return ODEON_DELETE;
}

ODEON_HANDLERS(nqueens_master, ODEON_ON(nqueens_master, nqueens_work),
               ODEON_ON(nqueens_master, nqueens_result), ODEON_ON(nqueens_master, nqueens_done),
               ODEON_ON(nqueens_master, nqueens_stop));
ODEON_ACTOR_TYPE(nqueens_master, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_nqueens, {
    struct program program;
    struct nqueens_args args;
});

static void nqueens_accept(struct savina_nqueens_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, NQUEENS_MAX);
    program_range(&self->program, "t", self->args.t, 1, NQUEENS_MAX);
    program_range(&self->program, "w", self->args.w, 1, NQUEENS_WORKERS_MAX);
}

static int nqueens_step(struct savina_nqueens_state *self, struct odeon_context *ctx)
{
    nqueens_master_ref master;
    self->program.awaited = 1;
    self->program.messages = 2 * self->args.w;
    return odeon_spawn_into(
        ctx, &master, nqueens_master,
        ODEON_ARGS(struct nqueens_args, .n = self->args.n, .t = self->args.t, .w = self->args.w));
}

static void nqueens_verify(struct savina_nqueens_state *self)
{
    static const int64_t solutions[NQUEENS_MAX + 1] = { 0,  1,   0,   0,    2,     10,    4,     40,
                                                        92, 352, 724, 2680, 14200, 73712, 365596 };
    program_expect(&self->program, "solutions", self->program.value, solutions[self->args.n]);
}

PROGRAM(nqueens);
