/* SPDX-License-Identifier: Apache-2.0 */
/* 5, thread ring: one ball goes round.
 *
 * There are `n` actors; the head tells each who is the next one, the last one's is the first. Then
 * it sends the first a ping with `r` hops to go. Each sends it on with one hop less; who gets it
 * with none left sends on the end instead, with n hops to go, each of which ends an actor. The
 * last one goes to an actor that has ended. Messages: n + (r + 1) + (n + 1). Check: the pings that
 * all have seen together are r + 1.
 *
 * The head's ping must find that all know their next one. Odeon promises no order across receivers,
 * so each says that it knows, and the head waits: n messages more, not counted.
 */
#include "program.h"

enum { THREADRING_ACTORS_MAX = 20000 };

ODEON_ARGUMENTS(threadring_args, {
    uint32_t n;
    uint64_t r;
});

ODEON_MESSAGE(threadring_next, 1, { odeon_ref next; });
ODEON_MESSAGE(threadring_ping, 1, { uint64_t left; });
ODEON_MESSAGE(threadring_exit, 1, { uint64_t left; });
ODEON_INTERFACE(threadring_actor, threadring_next, threadring_ping, threadring_exit);

struct threadring_actor_args {
    uint32_t n;
};

ODEON_STATE(threadring_actor, {
    threadring_actor_ref next;
    uint64_t pings;
    uint32_t n;
});

ODEON_INIT(threadring_actor, struct threadring_actor_args)
{
    self->n = args->n;
    return 0;
}

ODEON_RECEIVE(threadring_actor, threadring_next)
{
    self->next = odeon_as(threadring_actor, msg->next);
    program_must(ctx, odeon_signal(ctx, program_head, savina_ready));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(threadring_actor, threadring_ping)
{
    self->pings++;
    if (msg->left > 0)
        program_must(ctx, odeon_send(ctx, self->next, threadring_ping, .left = msg->left - 1));
    else
        program_must(ctx, odeon_send(ctx, self->next, threadring_exit, .left = self->n));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(threadring_actor, threadring_exit)
{
    if (msg->left > 0)
        program_must(ctx, odeon_send(ctx, self->next, threadring_exit, .left = msg->left - 1));
    program_report(ctx, .count = (int64_t)self->pings);
    return ODEON_DELETE;
}

ODEON_HANDLERS(threadring_actor, ODEON_ON(threadring_actor, threadring_next),
               ODEON_ON(threadring_actor, threadring_ping),
               ODEON_ON(threadring_actor, threadring_exit));
ODEON_ACTOR_TYPE(threadring_actor, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_threadring, {
    struct program program;
    struct threadring_args args;
    bool told;
    threadring_actor_ref actors[THREADRING_ACTORS_MAX];
});

static void threadring_accept(struct savina_threadring_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, THREADRING_ACTORS_MAX);
    program_range(&self->program, "r", self->args.r, 1, 1000000000);
}

static int threadring_step(struct savina_threadring_state *self, struct odeon_context *ctx)
{
    uint32_t n = self->args.n;
    int r = 0;
    if (self->told) /* all know */
        return odeon_send(ctx, self->actors[0], threadring_ping, .left = self->args.r);
    self->told = true;
    self->program.wanted = self->program.awaited = n;
    self->program.messages = n + (self->args.r + 1) + (n + 1);
    for (uint32_t i = 0; i < n && r == 0; i++)
        r = odeon_spawn_into(ctx, &self->actors[i], threadring_actor,
                             ODEON_ARGS(struct threadring_actor_args, .n = n));
    for (uint32_t i = 0; i < n && r == 0; i++)
        r = odeon_send(ctx, self->actors[i], threadring_next,
                       .next = self->actors[(i + 1) % n].ref);
    return r < 0 ? r : PROGRAM_WAIT;
}

static void threadring_verify(struct savina_threadring_state *self)
{
    program_expect(&self->program, "pings", self->program.count, (int64_t)self->args.r + 1);
}

PROGRAM(threadring);
