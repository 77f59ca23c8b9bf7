/* SPDX-License-Identifier: Apache-2.0 */
#include "world_plugin.h"

#include <odeon/plugin.h>
#include <stdlib.h>

#define TALLY(actor_, policy_)                                                                     \
    ODEON_STATE(actor_, { int64_t total; });                                                       \
    ODEON_RECEIVE(actor_, tally_add)                                                               \
    {                                                                                              \
        self->total += msg->amount;                                                                \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_RECEIVE(actor_, tally_get)                                                               \
    {                                                                                              \
        odeon_reply(ctx, tally_value, .total = self->total,                                        \
                    .redelivered = (uint8_t)ctx->redelivered, .attempts = (uint8_t)ctx->attempts); \
        return ODEON_NODELETE;                                                                     \
    }                                                                                              \
    ODEON_HANDLERS(actor_, ODEON_ON(actor_, tally_add), ODEON_ON(actor_, tally_get));              \
    ODEON_ACTOR_TYPE(actor_, ODEON_POLICY(policy_))

TALLY(tally, ODEON_RESTART_INIT);
TALLY(kept_tally, ODEON_RESTART_KEEP);
TALLY(stopped_tally, ODEON_RESTART_STOP);

ODEON_STATE(alarm, { odeon_ref port; });
ODEON_RECEIVE(alarm, alarm_set)
{
    alarm_ref me = odeon_self(ctx, alarm);
    self->port = ctx->sender;
    if (msg->period_ns)
        odeon_signal_every(ctx, NULL, msg->period_ns, me, alarm_due);
    else
        odeon_signal_after(ctx, NULL, msg->delay_ns, me, alarm_due);
    return ODEON_NODELETE;
}
ODEON_RECEIVE(alarm, alarm_due)
{
    odeon_send_any(ctx, self->port, alarm_rang, .at_ns = odeon_now_ns(ctx));
    return ODEON_NODELETE;
}
ODEON_HANDLERS(alarm, ODEON_ON(alarm, alarm_set), ODEON_ON(alarm, alarm_due));
ODEON_ACTOR_TYPE(alarm, ODEON_POLICY(ODEON_RESTART_KEEP));

ODEON_STATELESS(relay);
ODEON_RECEIVE(relay, relay_pass)
{
    odeon_send(ctx, odeon_as(listener, msg->to), listener_hears, .port = msg->port,
               .number = msg->number);
    return ODEON_NODELETE;
}
ODEON_HANDLERS(relay, ODEON_ON(relay, relay_pass));
ODEON_ACTOR_TYPE(relay);

ODEON_STATELESS(listener);
ODEON_RECEIVE(listener, listener_hears)
{
    odeon_send_any(ctx, msg->port, tally_value, .total = msg->number);
    return ODEON_NODELETE;
}
ODEON_HANDLERS(listener, ODEON_ON(listener, listener_hears));
ODEON_ACTOR_TYPE(listener);

ODEON_STATELESS(endless);
ODEON_RECEIVE(endless, endless_go)
{
    odeon_signal(ctx, odeon_self(ctx, endless), endless_go);
    return ODEON_NODELETE;
}
ODEON_HANDLERS(endless, ODEON_ON(endless, endless_go));
ODEON_ACTOR_TYPE(endless);

static int64_t census_counted;

ODEON_STATELESS(census);
ODEON_RECEIVE(census, census_count)
{
    odeon_reply(ctx, tally_value, .total = ++census_counted);
    return ODEON_NODELETE;
}
ODEON_HANDLERS(census, ODEON_ON(census, census_count));
ODEON_ACTOR_TYPE(census);

ODEON_STATELESS(tracer);
ODEON_RECEIVE(tracer, tracer_tell)
{
    odeon_send_any(ctx, msg->port, tracer_told, .trace = odeon_trace_id(ctx));
    if (msg->next)
        odeon_send(ctx, odeon_as(tracer, msg->next), tracer_tell, .port = msg->port);
    return ODEON_NODELETE;
}
ODEON_HANDLERS(tracer, ODEON_ON(tracer, tracer_tell));
ODEON_ACTOR_TYPE(tracer);

static volatile uint8_t deadly_sink;

static __attribute__((noinline)) void deadly_deep(unsigned n)
{
    volatile uint8_t much[4096];
    much[n % sizeof(much)] = (uint8_t)n;
    if (n > 0)
        deadly_deep(n - 1);
    deadly_sink = much[0];
}

ODEON_STATELESS(deadly);
ODEON_RECEIVE(deadly, deadly_end)
{
    if (msg->how == 1)
        deadly_deep(1u << 20);
    if (msg->how == 2)
        exit(0);
    if (msg->how == 3)
        quick_exit(0);
    if (msg->call)
        ((void (*)(void))(uintptr_t)msg->call)();
    abort();
}
ODEON_HANDLERS(deadly, ODEON_ON(deadly, deadly_end));
ODEON_ACTOR_TYPE(deadly);

ODEON_PLUGIN("world", "1.0.0", ODEON_TYPE(tally), ODEON_TYPE(kept_tally), ODEON_TYPE(stopped_tally),
             ODEON_TYPE(alarm), ODEON_TYPE(relay), ODEON_TYPE(listener), ODEON_TYPE(endless),
             ODEON_TYPE(deadly), ODEON_TYPE(census), ODEON_TYPE(tracer));
