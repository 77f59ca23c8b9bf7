/* SPDX-License-Identifier: Apache-2.0 */
/* Producer-consumer with a bounded buffer (../bndbuffer.c) that goes on where it was when the
 * executor is killed: every state is kept, the head's too, which is the manager.
 *
 * Each of `np` producers makes `i` items, numbered through; the manager holds up to `b` of them,
 * and gives each to one of `nc` consumers. Items cost nothing to make. Check: np * i items were
 * consumed, and the sum of their numbers: whatever was killed in between, none was lost, or
 * consumed twice.
 */
#include "kept.h"

enum { KEPTBUFFER_MAX = 8, KEPTBUFFER_ITEMS_MAX = 24 };

ODEON_ARGUMENTS(keptbuffer_args, {
    uint32_t b;
    uint32_t np;
    uint32_t nc;
    uint32_t i;
});

ODEON_SIGNAL(keptbuffer_produce, 1);
ODEON_MESSAGE(keptbuffer_item, 1, { uint64_t number; });
ODEON_SIGNAL(keptbuffer_free, 1);
ODEON_SIGNAL(keptbuffer_producer_ends, 1);
ODEON_SIGNAL(keptbuffer_exit, 1);
ODEON_MESSAGE(keptbuffer_consumed, 1, { uint64_t items, sum; });
ODEON_INTERFACE(savina_keptbuffer, savina_run, savina_check, keptbuffer_item, keptbuffer_free,
                keptbuffer_producer_ends, keptbuffer_consumed);
ODEON_INTERFACE(keptbuffer_producer, keptbuffer_produce);
ODEON_INTERFACE(keptbuffer_consumer, keptbuffer_item, keptbuffer_exit);

/* ---- producers and consumers ---- */

struct keptbuffer_actor_args {
    savina_keptbuffer_ref manager;
    uint64_t next, end; /* of a producer: numbers of its items */
};

ODEON_STATE(keptbuffer_producer, { struct keptbuffer_actor_args of; });

ODEON_INIT(keptbuffer_producer, struct keptbuffer_actor_args)
{
    self->of = *args;
    return 0;
}

ODEON_RECEIVE(keptbuffer_producer, keptbuffer_produce)
{
    if (self->of.next == self->of.end) {
        kept_must(ctx, odeon_signal(ctx, self->of.manager, keptbuffer_producer_ends));
        return ODEON_DELETE;
    }
    kept_must(ctx, odeon_send(ctx, self->of.manager, keptbuffer_item, .number = self->of.next));
    self->of.next++;
    return ODEON_NODELETE;
}

ODEON_HANDLERS(keptbuffer_producer, ODEON_ON(keptbuffer_producer, keptbuffer_produce));
ODEON_ACTOR_TYPE(keptbuffer_producer, ODEON_POLICY(ODEON_RESTART_KEEP));

ODEON_STATE(keptbuffer_consumer, {
    savina_keptbuffer_ref manager;
    uint64_t items, sum;
});

ODEON_INIT(keptbuffer_consumer, struct keptbuffer_actor_args)
{
    self->manager = args->manager;
    return 0;
}

ODEON_RECEIVE(keptbuffer_consumer, keptbuffer_item)
{
    self->items++;
    self->sum += msg->number;
    kept_must(ctx, odeon_signal(ctx, self->manager, keptbuffer_free));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(keptbuffer_consumer, keptbuffer_exit)
{
    kept_must(ctx, odeon_send(ctx, self->manager, keptbuffer_consumed, .items = self->items,
                              .sum = self->sum));
    return ODEON_DELETE;
}

ODEON_HANDLERS(keptbuffer_consumer, ODEON_ON(keptbuffer_consumer, keptbuffer_item),
               ODEON_ON(keptbuffer_consumer, keptbuffer_exit));
ODEON_ACTOR_TYPE(keptbuffer_consumer, ODEON_POLICY(ODEON_RESTART_KEEP));

/* ---- the manager ---- */

ODEON_STATE(savina_keptbuffer, {
    struct kept_head head;
    struct keptbuffer_args args;
    uint32_t n_free, n_waiting, first, n_held, ended, told;
    keptbuffer_consumer_ref free[KEPTBUFFER_MAX];
    keptbuffer_producer_ref waiting[KEPTBUFFER_MAX];
    uint64_t held[KEPTBUFFER_ITEMS_MAX]; /* first in, first out, from `first` on */
    uint64_t items, sum;
});
KEPT_FITS(savina_keptbuffer);

ODEON_INIT(savina_keptbuffer, struct keptbuffer_args)
{
    self->args = *args;
    return 0;
}

static void keptbuffer_make_actors(struct savina_keptbuffer_state *self, struct odeon_context *ctx)
{
    savina_keptbuffer_ref me = odeon_self(ctx, savina_keptbuffer);
    keptbuffer_producer_ref producer;
    for (uint64_t i = 0; i < self->args.nc; i++)
        kept_must(ctx, odeon_spawn_into(ctx, &self->free[self->n_free++], keptbuffer_consumer,
                                        ODEON_ARGS(struct keptbuffer_actor_args, .manager = me)));
    for (uint64_t i = 0; i < self->args.np; i++) {
        kept_must(ctx, odeon_spawn_into(ctx, &producer, keptbuffer_producer,
                                        ODEON_ARGS(struct keptbuffer_actor_args, .manager = me,
                                                   .next = i * self->args.i,
                                                   .end = (i + 1) * self->args.i)));
        kept_must(ctx, odeon_signal(ctx, producer, keptbuffer_produce));
    }
}

ODEON_RECEIVE(savina_keptbuffer, savina_run)
{
    const struct keptbuffer_args *args = &self->args;
    kept_head_begin(&self->head, ctx);
    if (!kept_in_range(&self->head, ctx, "np", args->np, 1, KEPTBUFFER_MAX) ||
        !kept_in_range(&self->head, ctx, "b", args->b, (uint64_t)args->np + 1,
                       KEPTBUFFER_ITEMS_MAX) ||
        !kept_in_range(&self->head, ctx, "nc", args->nc, 1, KEPTBUFFER_MAX) ||
        !kept_in_range(&self->head, ctx, "i", args->i, 1, 100000000))
        return ODEON_DELETE;
    keptbuffer_make_actors(self, ctx);
    return ODEON_NODELETE;
}

static void keptbuffer_end_if_all_rest(struct savina_keptbuffer_state *self,
                                       struct odeon_context *ctx)
{
    if (self->ended < self->args.np || self->n_free < self->args.nc)
        return;
    for (uint32_t i = 0; i < self->n_free; i++)
        kept_must(ctx, odeon_signal(ctx, self->free[i], keptbuffer_exit));
}

ODEON_RECEIVE(savina_keptbuffer, keptbuffer_item)
{
    if (self->n_free > 0)
        kept_must(ctx, odeon_send(ctx, self->free[--self->n_free], keptbuffer_item,
                                  .number = msg->number));
    else
        self->held[(self->first + self->n_held++) % KEPTBUFFER_ITEMS_MAX] = msg->number;
    keptbuffer_producer_ref producer = odeon_as(keptbuffer_producer, ctx->sender);
    if (self->n_held >= self->args.b - self->args.np)
        self->waiting[self->n_waiting++] = producer;
    else
        kept_must(ctx, odeon_signal(ctx, producer, keptbuffer_produce));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(savina_keptbuffer, keptbuffer_free)
{
    keptbuffer_consumer_ref consumer = odeon_as(keptbuffer_consumer, ctx->sender);
    if (self->n_held == 0) {
        self->free[self->n_free++] = consumer;
        keptbuffer_end_if_all_rest(self, ctx);
        return ODEON_NODELETE;
    }
    kept_must(ctx, odeon_send(ctx, consumer, keptbuffer_item, .number = self->held[self->first]));
    self->first = (self->first + 1) % KEPTBUFFER_ITEMS_MAX;
    self->n_held--;
    if (self->n_waiting > 0)
        kept_must(ctx, odeon_signal(ctx, self->waiting[--self->n_waiting], keptbuffer_produce));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(savina_keptbuffer, keptbuffer_producer_ends)
{
    self->ended++;
    keptbuffer_end_if_all_rest(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(savina_keptbuffer, keptbuffer_consumed)
{
    const struct keptbuffer_args *args = &self->args;
    self->items += msg->items;
    self->sum += msg->sum;
    if (++self->told == args->nc)
        kept_head_done(&self->head, ctx,
                       4 * (uint64_t)args->np * args->i + 2 * (uint64_t)args->np + 2 * args->nc);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(savina_keptbuffer, savina_check)
{
    uint64_t items = (uint64_t)self->args.np * self->args.i, sum = items * (items - 1) / 2;
    kept_tell(ctx, self->items == items && self->sum == sum,
              "%llu items of the sum %llu, not %llu of %llu", (unsigned long long)self->items,
              (unsigned long long)self->sum, (unsigned long long)items, (unsigned long long)sum);
    return ODEON_DELETE;
}

ODEON_HANDLERS(savina_keptbuffer, ODEON_ON(savina_keptbuffer, savina_run),
               ODEON_ON(savina_keptbuffer, savina_check),
               ODEON_ON(savina_keptbuffer, keptbuffer_item),
               ODEON_ON(savina_keptbuffer, keptbuffer_free),
               ODEON_ON(savina_keptbuffer, keptbuffer_producer_ends),
               ODEON_ON(savina_keptbuffer, keptbuffer_consumed));
ODEON_ACTOR_TYPE(savina_keptbuffer, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_TAKES(keptbuffer_args));
