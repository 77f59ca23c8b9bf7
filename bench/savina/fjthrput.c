/* SPDX-License-Identifier: Apache-2.0 */
/* 3, fork-join throughput: one sends, many work.
 *
 * There are `a` actors. The head sends `n` rounds, in each of them one message to every actor in
 * turn. For each message an actor computes the square of a sine; it ends with its n-th one.
 * Messages: n * a. Check: so many have been computed.
 *
 * The head sends 4,096 of them in a turn, then goes on in the next one.
 */
#include "lcg.h"
#include "program.h"

enum { FJTHRPUT_ACTORS_MAX = 10000 };

ODEON_ARGUMENTS(fjthrput_args, {
    uint64_t n;
    uint32_t a;
});

ODEON_SIGNAL(fjthrput_work, 1);
ODEON_INTERFACE(fjthrput_actor, fjthrput_work);

struct fjthrput_actor_args {
    uint64_t n;
};

ODEON_STATE(fjthrput_actor, { uint64_t left, n, right; });

ODEON_INIT(fjthrput_actor, struct fjthrput_actor_args)
{
    self->left = self->n = args->n;
    return 0;
}

ODEON_RECEIVE(fjthrput_actor, fjthrput_work)
{
    self->right += lcg_compute() != 0;
    if (--self->left > 0)
        return ODEON_NODELETE;
    program_report(ctx, .count = (int64_t)self->right);
    return ODEON_DELETE;
}

ODEON_HANDLERS(fjthrput_actor, ODEON_ON(fjthrput_actor, fjthrput_work));
ODEON_ACTOR_TYPE(fjthrput_actor, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_fjthrput, {
    struct program program;
    struct fjthrput_args args;
    uint64_t sent;
    fjthrput_actor_ref actors[FJTHRPUT_ACTORS_MAX];
});

static void fjthrput_accept(struct savina_fjthrput_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, 10000000);
    program_range(&self->program, "a", self->args.a, 1, FJTHRPUT_ACTORS_MAX);
}

static int fjthrput_step(struct savina_fjthrput_state *self, struct odeon_context *ctx)
{
    uint64_t all = self->args.n * self->args.a, before = self->sent;
    if (self->sent == 0) {
        for (uint32_t i = 0; i < self->args.a; i++) {
            int r = odeon_spawn_into(ctx, &self->actors[i], fjthrput_actor,
                                     ODEON_ARGS(struct fjthrput_actor_args, .n = self->args.n));
            if (r < 0)
                return r;
        }
        self->program.awaited = self->args.a;
        self->program.messages = all;
    }
    for (; self->sent < all && self->sent - before < PROGRAM_TURN; self->sent++) {
        int r = odeon_signal(ctx, self->actors[self->sent % self->args.a], fjthrput_work);
        if (program_is_full(r))
            break;
        if (r < 0)
            return r;
    }
    return self->sent < all ? PROGRAM_AGAIN : PROGRAM_DONE;
}

static void fjthrput_verify(struct savina_fjthrput_state *self)
{
    program_expect(&self->program, "computed", self->program.count,
                   (int64_t)self->program.messages);
}

PROGRAM(fjthrput);
