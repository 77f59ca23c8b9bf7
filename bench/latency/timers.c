/* SPDX-License-Identifier: Apache-2.0 */
/* The actor that measures timers: told once, it arms timers for evenly spaced times, a piece of
 * them in each turn, and tells the client of each that comes for which time it was armed. */
#include "latency.h"

#include <odeon/plugin.h>

/* Armed in one turn. */
enum { TIMERS_STEP = 512 };

ODEON_INTERFACE(latency_timer, latency_arm, latency_due);
ODEON_STATELESS(latency_timer);

static int timers_arm(struct odeon_context *ctx, const struct latency_arm *arm, uint64_t number)
{
    uint64_t due_ns = arm->first_ns + number * arm->period_ns, now_ns = odeon_now_ns(ctx);

    return odeon_send_after(ctx, NULL, due_ns > now_ns ? due_ns - now_ns : 0,
                            odeon_self(ctx, latency_timer), latency_due, .client = arm->client,
                            .number = number, .due_ns = due_ns);
}

ODEON_RECEIVE(latency_timer, latency_arm)
{
    uint64_t number = msg->number;
    int r = 0;

    while (r == 0 && number < msg->n && number < msg->number + TIMERS_STEP)
        r = timers_arm(ctx, msg, number++);
    if (r < 0) /* of which the client hears by its own patience */
        odeon_logf(ctx, ODEON_LOG_ERROR, "timer %llu cannot be armed: %s",
                   (unsigned long long)number, odeon_strerror(r));
    else if (number < msg->n)
        odeon_send(ctx, odeon_self(ctx, latency_timer), latency_arm, .client = msg->client,
                   .first_ns = msg->first_ns, .period_ns = msg->period_ns, .number = number,
                   .n = msg->n);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(latency_timer, latency_due)
{
    odeon_send_any(ctx, msg->client, latency_done, .number = msg->number, .ended_ns = msg->due_ns);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(latency_timer, ODEON_ON(latency_timer, latency_arm),
               ODEON_ON(latency_timer, latency_due));
ODEON_ACTOR_TYPE(latency_timer);
