/* SPDX-License-Identifier: Apache-2.0 */
/* The limiter: the bucket of one key. Its state is kept, so that a death of the executor gives
 * nobody a full bucket.
 *
 * Its front finds it by its name, and goes on doing so until it has ended. So it does not end by
 * itself: what the front forwards at that moment would be refused. It tells the front that it is
 * not used; the front holds back what comes for it, and says `rate_leave`; it says `rate_left`, and
 * ends in the same turn. It may end only when its bucket is full, for the next one of this key
 * begins with a full one.
 */
#include "bucket.h"
#include "rate_actors.h"

#include <string.h>

enum { LIMITER_AGAIN_NS = 1000 * 1000 };

ODEON_STATE(rate_limiter, {
    struct bucket bucket;
    uint64_t used_ns, token_ns, idle_ns;
    uint32_t burst;
    bool leaving; /* the front waits for rate_left */
    odeon_timer tick;
    char front[RATE_FRONT_MAX];
    char key[RATE_KEY_MAX];
});

/* One tick is armed at a time. One that has been sent already comes, too, and does no harm: behind
 * the limiter's end it is a dead letter. */
static void limiter_arm(struct rate_limiter_state *self, struct odeon_context *ctx, uint64_t in_ns)
{
    rate_limiter_ref me = odeon_self(ctx, rate_limiter);

    if (self->tick != 0)
        odeon_timer_cancel(ctx, self->tick);
    if (odeon_signal_after(ctx, &self->tick, in_ns, me, rate_tick) < 0)
        self->tick = 0;
}

/* How long from now until it may end, if nobody uses it. */
static uint64_t limiter_rests_ns(const struct rate_limiter_state *self, uint64_t now_ns)
{
    uint64_t lacks_ns = bucket_lacks_ns(&self->bucket, now_ns);
    uint64_t idle_ns =
        now_ns < self->used_ns + self->idle_ns ? self->used_ns + self->idle_ns - now_ns : 0;

    return lacks_ns > idle_ns ? lacks_ns : idle_ns;
}

ODEON_INIT(rate_limiter, struct rate_limiter_args)
{
    self->token_ns = args->token_ns;
    self->idle_ns = args->idle_ns;
    self->burst = args->burst;
    memcpy(self->front, args->front, sizeof(self->front));
    memcpy(self->key, args->key, sizeof(self->key));
    self->used_ns = odeon_now_ns(ctx);
    limiter_arm(self, ctx, self->idle_ns);
    return 0;
}

ODEON_RECEIVE(rate_limiter, rate_take)
{
    struct bucket bucket = self->bucket;
    uint64_t now_ns = odeon_now_ns(ctx), wait_ns = 0;
    enum rate_outcome outcome = RATE_NEVER;

    if (msg->cost <= self->burst) {
        wait_ns = bucket_take(&bucket, self->token_ns, self->burst, msg->cost, now_ns);
        outcome = wait_ns == 0 ? RATE_ALLOWED : RATE_LIMITED;
    }
    /* who does not hear that it was allowed has taken nothing */
    if (odeon_reply(ctx, rate_answer, .outcome = outcome,
                    .left = bucket_left(&bucket, self->token_ns, self->burst, now_ns),
                    .wait_ms = (wait_ns + 999999) / 1000000) == 0)
        self->bucket = bucket;
    self->used_ns = now_ns;
    if (self->tick == 0) /* there was no room for one */
        limiter_arm(self, ctx, self->idle_ns);
    return ODEON_NODELETE;
}

static int limiter_leave(struct rate_limiter_state *self, struct odeon_context *ctx)
{
    rate_front_ref front;
    uint64_t stays = limiter_rests_ns(self, odeon_now_ns(ctx)) > 0;

    if (odeon_lookup(ctx, self->front, &front) == 0 &&
        odeon_send(ctx, front, rate_left, .stays = stays) < 0) {
        limiter_arm(self, ctx, LIMITER_AGAIN_NS); /* the front waits for it */
        return ODEON_NODELETE;
    }
    self->leaving = false;
    return stays ? ODEON_NODELETE : ODEON_DELETE;
}

/* The tick looks how long ago the last call was, so that calls need not arm it anew. */
ODEON_RECEIVE(rate_limiter, rate_tick)
{
    rate_front_ref front;
    uint64_t rests_ns = limiter_rests_ns(self, odeon_now_ns(ctx));

    if (ctx->sender != ctx->self || !odeon_is_timer(ctx))
        return ODEON_NODELETE;
    limiter_arm(self, ctx, rests_ns > 0 ? rests_ns : self->idle_ns);
    if (self->tick == 0)
        return ODEON_NODELETE; /* the next call does */
    if (self->leaving)
        return limiter_leave(self, ctx);
    if (rests_ns > 0)
        return ODEON_NODELETE;
    if (odeon_lookup(ctx, self->front, &front) < 0)
        return ODEON_DELETE; /* nobody forwards anything to it */
    /* if there is no room for it, the next tick says it */
    odeon_send(ctx, front, rate_unused, ODEON_TEXT(key, self->key));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(rate_limiter, rate_leave)
{
    rate_front_ref front;

    if (odeon_lookup(ctx, self->front, &front) < 0 || front.ref != ctx->sender)
        return ODEON_NODELETE;
    self->leaving = true;
    return limiter_leave(self, ctx);
}

ODEON_HANDLERS(rate_limiter, ODEON_ON(rate_limiter, rate_take), ODEON_ON(rate_limiter, rate_tick),
               ODEON_ON(rate_limiter, rate_leave));
ODEON_ACTOR_TYPE(rate_limiter, ODEON_POLICY(ODEON_RESTART_KEEP));
