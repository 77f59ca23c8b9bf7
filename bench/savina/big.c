/* SPDX-License-Identifier: Apache-2.0 */
/* 7, big: everybody talks to everybody.
 *
 * There are `w` actors and one sink. The head tells the sink and all actors who there is, and sends
 * every actor a first pong, of nobody. An actor that gets a pong from whom it expects it sends a
 * ping to another one, drawn by its generator, perhaps itself, and expects that one's pong; with
 * its `n` pings sent it tells the sink. Who gets a ping sends a pong to who has sent it. When all
 * have told it, the sink tells all to end, and ends. Messages: 2nw + 4w + 1. Check: no pong came
 * from anybody but whom it was expected of, and all pings were sent.
 *
 * The first pongs must find that all know each other. Odeon promises no order across receivers, so
 * each says that it knows, and the head waits: w + 1 messages more, not counted. The table of all
 * is in memory that they share.
 */
#include "lcg.h"
#include "program.h"

enum { BIG_ACTORS_MAX = 20000 };

ODEON_ARGUMENTS(big_args, {
    uint64_t n;
    uint32_t w;
});

ODEON_MESSAGE(big_neighbours, 1, { uint64_t all; }); /* a pointer to the table of them */
ODEON_MESSAGE(big_ping, 1, { int64_t sender; });
ODEON_MESSAGE(big_pong, 1, { int64_t sender; });
ODEON_SIGNAL(big_exit, 1);
ODEON_INTERFACE(big_actor, big_neighbours, big_ping, big_pong, big_exit);
ODEON_INTERFACE(big_sink, big_neighbours, big_exit);

struct big_table {
    uint32_t w;
    big_sink_ref sink;
    big_actor_ref actors[BIG_ACTORS_MAX];
};

/* ---- the sink ---- */

ODEON_STATE(big_sink, {
    const struct big_table *all;
    uint32_t ended;
});

ODEON_RECEIVE(big_sink, big_neighbours)
{
    self->all = (const struct big_table *)(uintptr_t)msg->all;
    program_must(ctx, odeon_signal(ctx, program_head, savina_ready));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(big_sink, big_exit)
{
    if (++self->ended < self->all->w)
        return ODEON_NODELETE;
    for (uint32_t i = 0; i < self->all->w; i++)
        program_must(ctx, odeon_signal(ctx, self->all->actors[i], big_exit));
    return ODEON_DELETE;
}

ODEON_HANDLERS(big_sink, ODEON_ON(big_sink, big_neighbours), ODEON_ON(big_sink, big_exit));
ODEON_ACTOR_TYPE(big_sink, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the actors ---- */

struct big_actor_args {
    int64_t id;
    uint64_t n;
};

ODEON_STATE(big_actor, {
    const struct big_table *all;
    int64_t id, expected;
    uint64_t n, pings, wrong;
    struct lcg lcg;
});

ODEON_INIT(big_actor, struct big_actor_args)
{
    self->id = args->id;
    self->n = args->n;
    self->expected = -1;
    self->lcg.v = (uint64_t)args->id;
    return 0;
}

ODEON_RECEIVE(big_actor, big_neighbours)
{
    self->all = (const struct big_table *)(uintptr_t)msg->all;
    program_must(ctx, odeon_signal(ctx, program_head, savina_ready));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(big_actor, big_ping)
{
    program_must(ctx,
                 odeon_send(ctx, self->all->actors[msg->sender], big_pong, .sender = self->id));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(big_actor, big_pong)
{
    self->wrong += msg->sender != self->expected;
    if (self->pings == self->n) {
        program_must(ctx, odeon_signal(ctx, self->all->sink, big_exit));
        return ODEON_NODELETE;
    }
    self->expected = lcg_int(&self->lcg, self->all->w);
    self->pings++;
    program_must(ctx,
                 odeon_send(ctx, self->all->actors[self->expected], big_ping, .sender = self->id));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(big_actor, big_exit)
{
    program_report(ctx, .count = (int64_t)self->pings, .value = (int64_t)self->wrong);
    return ODEON_DELETE;
}

ODEON_HANDLERS(big_actor, ODEON_ON(big_actor, big_neighbours), ODEON_ON(big_actor, big_ping),
               ODEON_ON(big_actor, big_pong), ODEON_ON(big_actor, big_exit));
ODEON_ACTOR_TYPE(big_actor, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_big, {
    struct program program;
    struct big_args args;
    struct big_table all;
});

static void big_accept(struct savina_big_state *self)
{
    program_range(&self->program, "n", self->args.n, 1, 10000000);
    program_range(&self->program, "w", self->args.w, 1, BIG_ACTORS_MAX);
}

static int big_introduce(struct savina_big_state *self, struct odeon_context *ctx)
{
    struct big_table *all = &self->all;
    all->w = self->args.w;
    int r = odeon_spawn_into(ctx, &all->sink, big_sink);
    for (uint32_t i = 0; i < all->w && r == 0; i++)
        r = odeon_spawn_into(ctx, &all->actors[i], big_actor,
                             ODEON_ARGS(struct big_actor_args, .id = i, .n = self->args.n));
    if (r == 0)
        r = odeon_send(ctx, all->sink, big_neighbours, .all = (uintptr_t)all);
    for (uint32_t i = 0; i < all->w && r == 0; i++)
        r = odeon_send(ctx, all->actors[i], big_neighbours, .all = (uintptr_t)all);
    self->program.wanted = all->w + 1;
    self->program.awaited = all->w;
    self->program.messages = 2 * self->args.n * all->w + 4 * (uint64_t)all->w + 1;
    return r < 0 ? r : PROGRAM_WAIT;
}

static int big_step(struct savina_big_state *self, struct odeon_context *ctx)
{
    int r = 0;
    if (self->all.w == 0)
        return big_introduce(self, ctx);
    for (uint32_t i = 0; i < self->all.w && r == 0; i++)
        r = odeon_send(ctx, self->all.actors[i], big_pong, .sender = -1);
    return r;
}

static void big_verify(struct savina_big_state *self)
{
    program_expect(&self->program, "wrong pongs", self->program.value, 0);
    program_expect(&self->program, "pings", self->program.count,
                   (int64_t)(self->args.n * self->args.w));
}

PROGRAM(big);
