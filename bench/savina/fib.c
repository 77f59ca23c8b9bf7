/* SPDX-License-Identifier: Apache-2.0 */
/* 29, Fibonacci: a tree of actors that ask and end.
 *
 * The head asks a first actor for the `n`-th number. Whoever is asked for the first or the second
 * one answers 1; else it makes two actors, asks them for the two numbers before, and adds up what
 * they answer. Who has answered ends. There are 2 fib(n) - 1 actors.
 * Messages: twice as many, less one. Check: the number.
 *
 * How much of the tree there is at once is up to who runs it: first come, first served, most of it.
 */
#include "program.h"

ODEON_ARGUMENTS(fib_args, { uint32_t n; });

ODEON_MESSAGE(fib_request, 1, { uint64_t n; });
ODEON_MESSAGE(fib_response, 1, { uint64_t value; });
ODEON_INTERFACE(fib_actor, fib_request, fib_response);

struct fib_actor_args {
    fib_actor_ref parent; /* nobody: this is the first */
};

ODEON_STATE(fib_actor, {
    fib_actor_ref parent;
    uint64_t sum;
    uint32_t responses;
});

ODEON_INIT(fib_actor, struct fib_actor_args)
{
    self->parent = args->parent;
    return 0;
}

static int fib_finish(struct fib_actor_state *self, struct odeon_context *ctx, uint64_t value)
{
    if (self->parent.ref == ODEON_NOBODY)
        program_report(ctx, .value = (int64_t)value);
    else
        program_must(ctx, odeon_send(ctx, self->parent, fib_response, .value = value));
    return ODEON_DELETE;
}

ODEON_RECEIVE(fib_actor, fib_request)
{
    if (msg->n <= 2)
        return fib_finish(self, ctx, 1);
    for (uint64_t before = 1; before <= 2; before++) {
        fib_actor_ref child;
        program_must(ctx, odeon_spawn_into(ctx, &child, fib_actor,
                                           ODEON_ARGS(struct fib_actor_args,
                                                      .parent = odeon_self(ctx, fib_actor))));
        program_must(ctx, odeon_send(ctx, child, fib_request, .n = msg->n - before));
    }
    return ODEON_NODELETE;
}

ODEON_RECEIVE(fib_actor, fib_response)
{
    self->sum += msg->value;
    return ++self->responses < 2 ? ODEON_NODELETE : fib_finish(self, ctx, self->sum);
}

ODEON_HANDLERS(fib_actor, ODEON_ON(fib_actor, fib_request), ODEON_ON(fib_actor, fib_response));
ODEON_ACTOR_TYPE(fib_actor, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_fib, {
    struct program program;
    struct fib_args args;
});

static void fib_accept(struct savina_fib_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, 28);
}

static uint64_t fib_number(uint32_t n)
{
    uint64_t a = 1, b = 1;
    for (uint32_t i = 2; i < n; i++) {
        uint64_t next = a + b;
        a = b;
        b = next;
    }
    return b;
}

static int fib_step(struct savina_fib_state *self, struct odeon_context *ctx)
{
    fib_actor_ref root;
    int r = odeon_spawn_into(ctx, &root, fib_actor,
                             ODEON_ARGS(struct fib_actor_args, .parent = { ODEON_NOBODY }));
    if (r == 0)
        r = odeon_send(ctx, root, fib_request, .n = self->args.n);
    self->program.awaited = 1;
    self->program.messages = 2 * (2 * fib_number(self->args.n) - 1) - 1;
    return r;
}

static void fib_verify(struct savina_fib_state *self)
{
    program_expect(&self->program, "number", self->program.value,
                   (int64_t)fib_number(self->args.n));
}

PROGRAM(fib);
