/* SPDX-License-Identifier: Apache-2.0 */
/* A job: what a producer has put, and who has it. Its state is kept, so it outlives every crash.
 *
 * It answers its consumer itself. A lease has a number, the attempt: who speaks of another one than
 * the running one, or is not the one who has it, is late. The job monitors its consumer, so that
 * one who dies gives the job back at once, and not when the lease is over.
 *
 * The queue monitors the job: that it is done is told by its end, which no full queue can hold up.
 */
#include "work_actors.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A periodic timer is armed all its life: where there is none to be had any more, a lease ends, and
 * what could not be said is said, with the next look. */
enum { ITEM_AGAIN_NS = 1000 * 1000 };
#define ITEM_LOOK_NS (60 * ODEON_SECOND_NS)

enum item_phase {
    ITEM_EMPTY,   /* its work_put is on the way */
    ITEM_WAITING, /* in the queue */
    ITEM_LEASED,
    ITEM_OWES,   /* the lease is over, and the queue has not been told: it was full */
    ITEM_BURIED, /* put away after its last attempt */
};

ODEON_STATE(work_item, {
    uint64_t number, kind, lease_ns, until_ns, monitor;
    odeon_ref consumer;
    odeon_timer tick;
    uint32_t phase, attempt, attempts, size;
    uint32_t limit; /* the last attempt; 0: there is none */
    uint32_t why;   /* the queue is to be told of (enum work_why) */
    char queue[WORK_QUEUE_MAX];
    uint8_t data[WORK_BYTES_MAX];
});
_Static_assert(sizeof(struct work_item_state) <= 4096, "a kept state");

/* The new one first: where there is no room for it the old one stays. */
static int item_arm(struct work_item_state *self, struct odeon_context *ctx, uint64_t in_ns)
{
    odeon_timer tick;
    int r = odeon_signal_after(ctx, &tick, in_ns, odeon_self(ctx, work_item), work_tick);

    if (r < 0)
        return r;
    if (self->tick != 0)
        odeon_timer_cancel(ctx, self->tick);
    self->tick = tick;
    return 0;
}

ODEON_INIT(work_item, struct work_item_args)
{
    self->number = args->number;
    self->lease_ns = args->lease_ns;
    self->attempts = self->limit = args->attempts;
    memcpy(self->queue, args->queue, sizeof(self->queue));
    return odeon_signal_every(ctx, NULL, ITEM_LOOK_NS, odeon_self(ctx, work_item), work_tick);
}

static bool item_is_from_queue(const struct work_item_state *self, struct odeon_context *ctx)
{
    work_queue_ref queue;

    return odeon_lookup(ctx, self->queue, &queue) == 0 && queue.ref == ctx->sender;
}

/* Forwarded by the queue, so that the producer has its answer from here: from whoever has it. */
ODEON_RECEIVE(work_item, work_put)
{
    size_t size = odeon_tail_size(ctx, msg);

    if (self->phase != ITEM_EMPTY || size > WORK_BYTES_MAX)
        return ODEON_NODELETE; /* the queue sends nothing like it */
    self->kind = msg->kind;
    self->size = (uint32_t)size;
    memcpy(self->data, msg->data, size);
    self->phase = ITEM_WAITING;
    odeon_reply(ctx, work_taken, .number = self->number, .outcome = WORK_OK);
    return ODEON_NODELETE;
}

static void item_tell_queue(struct work_item_state *self, struct odeon_context *ctx)
{
    bool last = self->limit > 0 && self->attempt >= self->limit;
    work_queue_ref queue;

    if (odeon_lookup(ctx, self->queue, &queue) == 0 &&
        odeon_send(ctx, queue, work_back, .why = self->why, .buried = last) == 0)
        self->phase = last ? ITEM_BURIED : ITEM_WAITING;
    else
        item_arm(self, ctx, ITEM_AGAIN_NS);
}

/* The lease is over. */
static void item_give_back(struct work_item_state *self, struct odeon_context *ctx,
                           enum work_why why)
{
    if (self->monitor != 0)
        odeon_demonitor(ctx, self->monitor);
    self->monitor = 0;
    self->consumer = ODEON_NOBODY;
    self->phase = ITEM_OWES;
    self->why = why;
    item_tell_queue(self, ctx);
}

/* One whose consumer has no room for it is not lent, which is no attempt. */
ODEON_RECEIVE(work_item, work_lease)
{
    if (!item_is_from_queue(self, ctx) ||
        (self->phase != ITEM_WAITING && self->phase != ITEM_BURIED))
        return ODEON_NODELETE;
    if (self->phase == ITEM_BURIED) /* kicked; no number of a lease comes twice */
        self->limit = self->attempt + self->attempts;
    self->consumer = msg->consumer;
    self->phase = ITEM_LEASED;
    self->until_ns = odeon_now_ns(ctx) + self->lease_ns;
    if (item_arm(self, ctx, self->lease_ns) < 0 ||
        odeon_send_tail_any(ctx, msg->consumer, work_job, self->data, self->size,
                            .number = self->number, .kind = self->kind, .lease_ns = self->lease_ns,
                            .attempt = self->attempt + 1, .attempts = self->limit) < 0) {
        item_give_back(self, ctx, WORK_WHY_FULL);
        return ODEON_NODELETE;
    }
    self->attempt++;
    if (odeon_monitor_any(ctx, &self->monitor, msg->consumer) < 0)
        self->monitor = 0; /* then the lease alone tells */
    return ODEON_NODELETE;
}

/* Whether it is the sender's, by this attempt; answered either way. With WORK_ANY_ATTEMPT a
 * mistake: who has it again may be speaking of the time before. */
static bool item_close(struct work_item_state *self, struct odeon_context *ctx, uint32_t attempt)
{
    bool holds = self->phase == ITEM_LEASED && self->consumer == ctx->sender;

#ifndef WORK_ANY_ATTEMPT
    holds = holds && self->attempt == attempt;
#endif
    odeon_reply(ctx, work_closed, .number = self->number, .attempt = attempt,
                .outcome = holds ? WORK_OK : WORK_LATE);
    return holds;
}

ODEON_RECEIVE(work_item, work_done)
{
    return item_close(self, ctx, msg->attempt) ? ODEON_DELETE : ODEON_NODELETE;
}

ODEON_RECEIVE(work_item, work_failed)
{
    if (item_close(self, ctx, msg->attempt))
        item_give_back(self, ctx, WORK_WHY_OVER);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(work_item, work_more)
{
    if (item_close(self, ctx, msg->attempt))
        self->until_ns = odeon_now_ns(ctx) + self->lease_ns;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(work_item, odeon_down)
{
    if (self->phase == ITEM_LEASED && msg->monitor == self->monitor)
        item_give_back(self, ctx, WORK_WHY_GONE);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(work_item, work_tick)
{
    uint64_t now_ns = odeon_now_ns(ctx);

    if (ctx->sender != ctx->self || !odeon_is_timer(ctx))
        return ODEON_NODELETE;
    if (self->phase == ITEM_LEASED && self->until_ns > now_ns)
        item_arm(self, ctx, self->until_ns - now_ns); /* it has begun anew */
    else if (self->phase == ITEM_LEASED)
        item_give_back(self, ctx, WORK_WHY_OVER);
    else if (self->phase == ITEM_OWES)
        item_tell_queue(self, ctx);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(work_item, ODEON_ON(work_item, work_put), ODEON_ON(work_item, work_lease),
               ODEON_ON(work_item, work_done), ODEON_ON(work_item, work_failed),
               ODEON_ON(work_item, work_more), ODEON_ON(work_item, work_tick),
               ODEON_ON(work_item, odeon_down));
ODEON_ACTOR_TYPE(work_item, ODEON_POLICY(ODEON_RESTART_KEEP));
