/* SPDX-License-Identifier: Apache-2.0 */
/* 10, producer-consumer with a bounded buffer.
 *
 * A manager makes `np` producers and `nc` consumers; it holds items for which no consumer is free,
 * and producers that wait because there are b - np items already. A producer that is told to
 * produce makes an item, at a cost of `pc`, and sends it to the manager; after `i` items it says
 * instead that it ends. The manager gives an item to a consumer that is free, else keeps it, and
 * tells the producer to produce the next one, unless it has too many: then the producer waits. A
 * consumer works on its item, at a cost of `cc`, and says that it is free: it gets the next item,
 * and a producer that waits goes on. When all producers have ended and all consumers are free, the
 * manager ends them. Messages: 4 np i + 2 np + nc. Check: np * i items were consumed.
 */
#include "lcg.h"
#include "program.h"

enum { BNDBUFFER_MAX = 5000 }; /* of producers, consumers, items */

ODEON_ARGUMENTS(bndbuffer_args, {
    uint32_t b;
    uint32_t np;
    uint32_t nc;
    uint32_t i;
    uint32_t pc;
    uint32_t cc;
});

ODEON_SIGNAL(bndbuffer_produce, 1);
ODEON_MESSAGE(bndbuffer_item, 1, { double value; });
ODEON_SIGNAL(bndbuffer_free, 1);
ODEON_SIGNAL(bndbuffer_producer_ends, 1);
ODEON_SIGNAL(bndbuffer_exit, 1);
ODEON_INTERFACE(bndbuffer_manager, bndbuffer_item, bndbuffer_free, bndbuffer_producer_ends);
ODEON_INTERFACE(bndbuffer_producer, bndbuffer_produce);
ODEON_INTERFACE(bndbuffer_consumer, bndbuffer_item, bndbuffer_exit);

static double bndbuffer_work(double value, uint32_t cost)
{
    struct lcg lcg = { cost };
    uint32_t steps = cost > 0 ? cost * 100 : 1;
    for (uint32_t i = 0; i < steps; i++)
        value += log(fabs(lcg_double(&lcg)) + 0.01);
    return value;
}

/* ---- producers and consumers ---- */

struct bndbuffer_actor_args {
    bndbuffer_manager_ref manager;
    uint32_t cost, items;
};

ODEON_STATE(bndbuffer_producer, {
    struct bndbuffer_actor_args of;
    double item;
    uint32_t made;
});

ODEON_INIT(bndbuffer_producer, struct bndbuffer_actor_args)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(bndbuffer_producer, bndbuffer_produce)
{
    if (self->made == self->of.items) {
        program_must(ctx, odeon_signal(ctx, self->of.manager, bndbuffer_producer_ends));
        return ODEON_DELETE;
    }
    self->made++;
    self->item = bndbuffer_work(self->item, self->of.cost);
    program_must(ctx, odeon_send(ctx, self->of.manager, bndbuffer_item, .value = self->item));
    return ODEON_NODELETE;
}

ODEON_HANDLERS(bndbuffer_producer, ODEON_ON(bndbuffer_producer, bndbuffer_produce));
ODEON_ACTOR_TYPE(bndbuffer_producer, ODEON_POLICY(ODEON_RESTART_STOP));

ODEON_STATE(bndbuffer_consumer, {
    struct bndbuffer_actor_args of;
    double sum;
    uint64_t consumed;
});

ODEON_INIT(bndbuffer_consumer, struct bndbuffer_actor_args)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(bndbuffer_consumer, bndbuffer_item)
{
    self->sum = bndbuffer_work(self->sum + msg->value, self->of.cost);
    self->consumed++;
    program_must(ctx, odeon_signal(ctx, self->of.manager, bndbuffer_free));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bndbuffer_consumer, bndbuffer_exit)
{
    program_report(ctx, .count = (int64_t)self->consumed);
    return ODEON_DELETE;
}

ODEON_HANDLERS(bndbuffer_consumer, ODEON_ON(bndbuffer_consumer, bndbuffer_item),
               ODEON_ON(bndbuffer_consumer, bndbuffer_exit));
ODEON_ACTOR_TYPE(bndbuffer_consumer, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the manager ---- */

/* First in, first out. */
struct bndbuffer_queue {
    uint32_t first, n;
    union {
        odeon_ref ref;
        double value;
    } items[BNDBUFFER_MAX + 1];
};

#define bndbuffer_put(queue_, field_, value_)                                                      \
    ((queue_)->items[((queue_)->first + (queue_)->n++) % (BNDBUFFER_MAX + 1)].field_ = (value_))
#define bndbuffer_take(queue_, field_)                                                             \
    ((queue_)->n--, (queue_)->first = ((queue_)->first + 1) % (BNDBUFFER_MAX + 1),                 \
     (queue_)->items[((queue_)->first + BNDBUFFER_MAX) % (BNDBUFFER_MAX + 1)].field_)

ODEON_STATE(bndbuffer_manager, {
    struct bndbuffer_args args;
    struct bndbuffer_queue consumers, producers, pending;
    uint32_t ended;
});

ODEON_INIT(bndbuffer_manager, struct bndbuffer_args)
{
    bndbuffer_producer_ref producer;
    bndbuffer_consumer_ref consumer;
    bndbuffer_manager_ref me = odeon_self(ctx, bndbuffer_manager);
    self->args = *args;
    for (uint32_t i = 0; i < args->nc; i++) {
        program_must(ctx, odeon_spawn_into(ctx, &consumer, bndbuffer_consumer,
                                           ODEON_ARGS(struct bndbuffer_actor_args, .manager = me,
                                                      .cost = args->cc)));
        bndbuffer_put(&self->consumers, ref, consumer.ref);
    }
    for (uint32_t i = 0; i < args->np; i++) {
        program_must(ctx, odeon_spawn_into(ctx, &producer, bndbuffer_producer,
                                           ODEON_ARGS(struct bndbuffer_actor_args, .manager = me,
                                                      .cost = args->pc, .items = args->i)));
        program_must(ctx, odeon_signal(ctx, producer, bndbuffer_produce));
    }
    return 0;
}

static int bndbuffer_end_if_done(struct bndbuffer_manager_state *self, struct odeon_context *ctx)
{
    if (self->ended < self->args.np || self->consumers.n < self->args.nc)
        return ODEON_NODELETE;
    while (self->consumers.n > 0)
        program_must(
            ctx,
            odeon_signal(ctx, odeon_as(bndbuffer_consumer, bndbuffer_take(&self->consumers, ref)),
                         bndbuffer_exit));
    return ODEON_DELETE;
}

ODEON_RECEIVE(bndbuffer_manager, bndbuffer_item)
{
    if (self->consumers.n == 0)
        bndbuffer_put(&self->pending, value, msg->value);
    else
        program_must(ctx,
                     odeon_send(ctx,
                                odeon_as(bndbuffer_consumer, bndbuffer_take(&self->consumers, ref)),
                                bndbuffer_item, .value = msg->value));
    if (self->pending.n >= self->args.b - self->args.np)
        bndbuffer_put(&self->producers, ref, ctx->sender);
    else
        program_must(
            ctx, odeon_signal(ctx, odeon_as(bndbuffer_producer, ctx->sender), bndbuffer_produce));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bndbuffer_manager, bndbuffer_free)
{
    if (self->pending.n == 0) {
        bndbuffer_put(&self->consumers, ref, ctx->sender);
        return bndbuffer_end_if_done(self, ctx);
    }
    program_must(ctx, odeon_send(ctx, odeon_as(bndbuffer_consumer, ctx->sender), bndbuffer_item,
                                 .value = bndbuffer_take(&self->pending, value)));
    if (self->producers.n > 0)
        program_must(
            ctx,
            odeon_signal(ctx, odeon_as(bndbuffer_producer, bndbuffer_take(&self->producers, ref)),
                         bndbuffer_produce));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bndbuffer_manager, bndbuffer_producer_ends)
{
    self->ended++;
    return bndbuffer_end_if_done(self, ctx);
}

ODEON_HANDLERS(bndbuffer_manager, ODEON_ON(bndbuffer_manager, bndbuffer_item),
               ODEON_ON(bndbuffer_manager, bndbuffer_free),
               ODEON_ON(bndbuffer_manager, bndbuffer_producer_ends));
ODEON_ACTOR_TYPE(bndbuffer_manager, ODEON_POLICY(ODEON_RESTART_STOP));

/* ---- the head ---- */

ODEON_STATE(savina_bndbuffer, {
    struct program program;
    struct bndbuffer_args args;
});

static void bndbuffer_accept(struct savina_bndbuffer_state *self)
{
    const struct bndbuffer_args *args = &self->args;
    program_range(&self->program, "np", args->np, 1, BNDBUFFER_MAX - 1);
    program_range(&self->program, "b", args->b, (uint64_t)args->np + 1, BNDBUFFER_MAX);
    program_range(&self->program, "nc", args->nc, 1, BNDBUFFER_MAX);
    program_range(&self->program, "i", args->i, 1, 10000000);
    program_range(&self->program, "pc", args->pc, 1, 10000);
    program_range(&self->program, "cc", args->cc, 1, 10000);
}

static int bndbuffer_step(struct savina_bndbuffer_state *self, struct odeon_context *ctx)
{
    const struct bndbuffer_args *args = &self->args;
    bndbuffer_manager_ref manager;
    self->program.awaited = args->nc;
    self->program.messages = 4 * (uint64_t)args->np * args->i + 2 * (uint64_t)args->np + args->nc;
    return odeon_spawn_into(ctx, &manager, bndbuffer_manager,
                            ODEON_ARGS(struct bndbuffer_args, .b = args->b, .np = args->np,
                                       .nc = args->nc, .i = args->i, .pc = args->pc,
                                       .cc = args->cc));
}

static void bndbuffer_verify(struct savina_bndbuffer_state *self)
{
    program_expect(&self->program, "items", self->program.count,
                   (int64_t)self->args.np * self->args.i);
}

PROGRAM(bndbuffer);
