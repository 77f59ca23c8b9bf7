/* SPDX-License-Identifier: Apache-2.0 */
/* The front: passes each call on to the limiter of its key, and makes that when there is none.
 *
 * It has no table of keys. Limiters are registered by the name FRONT.KEY, and the service keeps
 * names over whatever dies; what is kept here is how many there are, and the few that are about to
 * leave. A name is free when its actor has ended, so that a key has one limiter at any time.
 */
#include "rate_actors.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    FRONT_LEAVING_MAX = 24, /* limiters that leave at a time; others ask again */
    FRONT_NAME_MAX = RATE_FRONT_MAX + RATE_KEY_MAX,
    /* a full bucket takes at most so long: some thirty years */
    FRONT_BURST_SECONDS_MAX = 1000000000,
};

ODEON_STATE(rate_front, {
    uint64_t token_ns, idle_ns;
    uint32_t burst, keys, n_keys, n_leaving;
    odeon_ref leaving[FRONT_LEAVING_MAX];
    char name[RATE_FRONT_MAX];
});

static int front_read(struct rate_front_state *self, const struct rate_front_args *args)
{
    uint64_t per_ns = (uint64_t)(args->per_ms > 0 ? args->per_ms : 1000) * 1000000;

    if (args->rate == 0 || args->burst == 0 || memchr(args->name, '\0', sizeof(args->name)) == NULL)
        return -EINVAL;
    /* rounded up: never more than the rate */
    self->token_ns = (per_ns + args->rate - 1) / args->rate;
    if (self->token_ns > FRONT_BURST_SECONDS_MAX * UINT64_C(1000000000) / args->burst)
        return -ERANGE;
    self->burst = args->burst;
    self->keys = args->keys > 0 ? args->keys : 1000;
    self->idle_ns = (uint64_t)(args->idle_ms > 0 ? args->idle_ms : 60000) * 1000000;
    memcpy(self->name, args->name, sizeof(self->name));
    return 0;
}

ODEON_INIT(rate_front, struct rate_front_args)
{
    rate_front_ref named;
    int r = front_read(self, args);

    if (r < 0) {
        odeon_logf(ctx, ODEON_LOG_ERROR, "rate %u, burst %u or the name cannot be", args->rate,
                   args->burst);
        return r;
    }
    /* limiters find their front by it */
    if (odeon_lookup(ctx, self->name, &named) < 0 || named.ref != ctx->self) {
        odeon_logf(ctx, ODEON_LOG_ERROR,
                   "the front is not registered as '%s', which its "
                   "arguments say",
                   self->name);
        return -EINVAL;
    }
    return 0;
}

/* Whether it is about to leave: the index, or n_leaving. */
static uint32_t front_leaving(const struct rate_front_state *self, odeon_ref limiter)
{
    uint32_t i = 0;

    while (i < self->n_leaving && self->leaving[i] != limiter)
        i++;
    return i;
}

/* With RATE_HOLD_NOTHING a mistake: it forgets those that it has told to leave. */
static bool front_is_leaving(const struct rate_front_state *self, odeon_ref limiter)
{
#ifdef RATE_HOLD_NOTHING
    return false;
#endif
    return front_leaving(self, limiter) < self->n_leaving;
}

/* The name of the key's limiter; -EINVAL: it is no key. */
static int front_name(const struct rate_front_state *self, const char key[static RATE_KEY_MAX],
                      char name[static FRONT_NAME_MAX])
{
    if (key[0] == '\0' || memchr(key, '\0', RATE_KEY_MAX) == NULL)
        return -EINVAL;
    return snprintf(name, FRONT_NAME_MAX, "%s.%s", self->name, key) > 0 ? 0 : -EINVAL;
}

/* The limiter of the key. -EINPROGRESS: it is about to leave; -EINVAL: it is no key; -ENOSPC: there
 * is no room for one more; another error, as of a spawn: not now. */
static int front_limiter(struct rate_front_state *self, struct odeon_context *ctx, const char *key,
                         rate_limiter_ref *ret)
{
    struct rate_limiter_args args = { self->token_ns, self->idle_ns, self->burst, "", "" };
    char name[FRONT_NAME_MAX];
    int r = front_name(self, key, name);

    if (r < 0)
        return r;
    if (odeon_lookup(ctx, name, ret) == 0)
        return front_is_leaving(self, ret->ref) ? -EINPROGRESS : 0;
    if (self->n_keys >= self->keys) /* one that leaves is counted until it has said so */
        return self->n_leaving > 0 ? -EINPROGRESS : -ENOSPC;
    memcpy(args.front, self->name, sizeof(args.front));
    memcpy(args.key, key, sizeof(args.key));
    /* In the front's own queue: what is sent to itself comes behind what it has sent to a limiter
     * before, so that one that leaves has left when a call that was held back comes round. */
    r = odeon_spawn_into(ctx, ret, rate_limiter, .name = name, .placement = ODEON_PLACE_HERE,
                         .args = &args, .args_size = sizeof(args));
    if (r == 0)
        self->n_keys++;
    return r;
}

ODEON_RECEIVE(rate_front, rate_take)
{
    rate_limiter_ref limiter;
    enum rate_outcome outcome;
    int r = front_limiter(self, ctx, msg->key, &limiter);

    if (r == -EINPROGRESS) /* held back: it comes round again, behind rate_left */
        r = odeon_forward(ctx, odeon_self(ctx, rate_front), msg);
    else if (r == 0)
        r = odeon_forward(ctx, limiter, msg);
    if (r == 0)
        return ODEON_NODELETE;
    outcome = r == -EINVAL ? RATE_NO_KEY : r == -ENOSPC ? RATE_NO_ROOM : RATE_BUSY;
    odeon_reply(ctx, rate_answer, .outcome = outcome, .wait_ms = outcome == RATE_BUSY);
    return ODEON_NODELETE;
}

/* Whoever says so: the limiter itself decides whether it leaves. */
ODEON_RECEIVE(rate_front, rate_unused)
{
    char name[FRONT_NAME_MAX];
    rate_limiter_ref limiter;

    if (front_name(self, msg->key, name) < 0 || odeon_lookup(ctx, name, &limiter) < 0 ||
        self->n_leaving == FRONT_LEAVING_MAX || front_is_leaving(self, limiter.ref))
        return ODEON_NODELETE;
    if (odeon_signal(ctx, limiter, rate_leave) == 0)
        self->leaving[self->n_leaving++] = limiter.ref;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(rate_front, rate_left)
{
    uint32_t i = front_leaving(self, ctx->sender);

    if (i == self->n_leaving)
        return ODEON_NODELETE;
    self->leaving[i] = self->leaving[--self->n_leaving];
    if (!msg->stays && self->n_keys > 0)
        self->n_keys--;
    return ODEON_NODELETE;
}

ODEON_HANDLERS(rate_front, ODEON_ON(rate_front, rate_take), ODEON_ON(rate_front, rate_unused),
               ODEON_ON(rate_front, rate_left));
ODEON_ACTOR_TYPE(rate_front, ODEON_POLICY(ODEON_RESTART_KEEP), ODEON_TAKES(rate_front_args));
