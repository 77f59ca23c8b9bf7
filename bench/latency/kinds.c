/* SPDX-License-Identifier: Apache-2.0 */
/* The actors that work: latency_kind_0 to _11, which differ in nothing but their names. */
#include "latency.h"
#include "work.h"

#include <odeon/plugin.h>

/* Works, and tells the client when it was done. 1: there is a next step, in `next`. */
static int kinds_step(struct odeon_context *ctx, const struct latency_step *step,
                      struct latency_step *next)
{
    int slow = step->every != 0 && (step->number + 1) % step->every == 0;
    uint64_t ended_ns = work_for(slow ? step->slow_ns : step->work_ns, step->sleeps);

    odeon_send_any(ctx, step->client, latency_done, .number = step->number, .ended_ns = ended_ns);
    *next = *step;
    return ++next->number < step->n;
}

static int kinds_request(struct odeon_context *ctx, const struct latency_request *request)
{
    uint64_t ended_ns = work_for(request->work_ns, request->sleeps);

    odeon_reply(ctx, latency_done, .number = request->number, .ended_ns = ended_ns);
    return ODEON_NODELETE;
}

#define KIND(name_)                                                                                \
    ODEON_INTERFACE(name_, latency_step, latency_request);                                         \
    ODEON_STATELESS(name_);                                                                        \
    ODEON_RECEIVE(name_, latency_step)                                                             \
    {                                                                                              \
        struct latency_step next;                                                                  \
        if (!kinds_step(ctx, msg, &next))                                                          \
            return ODEON_DELETE;                                                                   \
        odeon_send_(ctx, ctx->self, odeon_message_of(latency_step)->id,                            \
                    ODEON_INDEX_(odeon_as(name_, ctx->self), latency_step), &next, sizeof(next));  \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_RECEIVE(name_, latency_request)                                                          \
    {                                                                                              \
        return kinds_request(ctx, msg);                                                            \
    }                                                                                              \
    ODEON_HANDLERS(name_, ODEON_ON(name_, latency_step), ODEON_ON(name_, latency_request));        \
    ODEON_ACTOR_TYPE(name_)

KIND(latency_kind_0);
KIND(latency_kind_1);
KIND(latency_kind_2);
KIND(latency_kind_3);
KIND(latency_kind_4);
KIND(latency_kind_5);
KIND(latency_kind_6);
KIND(latency_kind_7);
KIND(latency_kind_8);
KIND(latency_kind_9);
KIND(latency_kind_10);
KIND(latency_kind_11);
