/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin `bench`: its types, and the actors that clients measure themselves with.
 *
 * bench_sink counts what is posted to it and whether the numbers came one after the other;
 * bench_echo sends each post back to the port it came from; bench_sleeper says how long each post
 * took to get to it.
 */
#include "driver.h"

ODEON_STATE(bench_sink, { uint64_t count, next, out_of_order; });

ODEON_RECEIVE(bench_sink, bench_post)
{
    self->out_of_order += msg->sequence != self->next;
    self->next = msg->sequence + 1;
    self->count++;
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_sink, bench_sink_get)
{
    odeon_reply(ctx, bench_sink_value, .count = self->count, .out_of_order = self->out_of_order);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_sink, bench_quit)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(bench_sink, ODEON_ON(bench_sink, bench_post), ODEON_ON(bench_sink, bench_sink_get),
               ODEON_ON(bench_sink, bench_quit));
ODEON_ACTOR_TYPE(bench_sink);

ODEON_STATELESS(bench_echo);

ODEON_RECEIVE(bench_echo, bench_post)
{
    odeon_reply(ctx, bench_post, .sequence = msg->sequence);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_echo, bench_wide)
{
    odeon_reply(ctx, bench_wide, .sequence = msg->sequence, .last = msg->last);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_echo, bench_quit)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(bench_echo, ODEON_ON(bench_echo, bench_post), ODEON_ON(bench_echo, bench_wide),
               ODEON_ON(bench_echo, bench_quit));
ODEON_ACTOR_TYPE(bench_echo);

ODEON_STATELESS(bench_sleeper);

ODEON_RECEIVE(bench_sleeper, bench_wake)
{
    odeon_reply(ctx, bench_woken, .after_ns = odeon_now_ns(ctx) - msg->posted_ns);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(bench_sleeper, bench_quit)
{
    return ODEON_DELETE;
}

ODEON_HANDLERS(bench_sleeper, ODEON_ON(bench_sleeper, bench_wake),
               ODEON_ON(bench_sleeper, bench_quit));
ODEON_ACTOR_TYPE(bench_sleeper);

/* Types of the other files, whose interfaces are their own. */
ODEON_DECLARE_TYPE(bench_static_actor);
ODEON_DECLARE_TYPE(bench_dynamic_actor);
ODEON_DECLARE_TYPE(bench_ping);
ODEON_DECLARE_TYPE(bench_pong);
ODEON_DECLARE_TYPE(bench_pingpong_local);
ODEON_DECLARE_TYPE(bench_pingpong_cross);
ODEON_DECLARE_TYPE(bench_member);
ODEON_DECLARE_TYPE(bench_executor);
ODEON_DECLARE_TYPE(bench_server);
ODEON_DECLARE_TYPE(bench_repeat);
ODEON_DECLARE_TYPE(bench_balance_one);
ODEON_DECLARE_TYPE(bench_balance_multi);
ODEON_DECLARE_TYPE(bench_balanced);
ODEON_DECLARE_TYPE(bench_matrix);
ODEON_DECLARE_TYPE(bench_row);
ODEON_DECLARE_TYPE(bench_fan_in);
ODEON_DECLARE_TYPE(bench_fan_sender);
ODEON_DECLARE_TYPE(bench_spawn_stop);
ODEON_DECLARE_TYPE(bench_mayfly);
ODEON_DECLARE_TYPE(bench_ask);
ODEON_DECLARE_TYPE(bench_asked);
ODEON_DECLARE_TYPE(bench_forward);
ODEON_DECLARE_TYPE(bench_front);
ODEON_DECLARE_TYPE(bench_timer_arm);
ODEON_DECLARE_TYPE(bench_timer_cancel);
ODEON_DECLARE_TYPE(bench_filler);
ODEON_DECLARE_TYPE(bench_publish);
ODEON_DECLARE_TYPE(bench_listener);

ODEON_PLUGIN("bench", "1.0.0", ODEON_TYPE(bench_static_send), ODEON_TYPE(bench_static_actor),
             ODEON_TYPE(bench_dynamic_send), ODEON_TYPE(bench_dynamic_actor),
             ODEON_TYPE(bench_pingpong_local), ODEON_TYPE(bench_pingpong_cross),
             ODEON_TYPE(bench_ping), ODEON_TYPE(bench_pong), ODEON_TYPE(bench_executor),
             ODEON_TYPE(bench_member), ODEON_TYPE(bench_repeat), ODEON_TYPE(bench_server),
             ODEON_TYPE(bench_balance_one), ODEON_TYPE(bench_balance_multi),
             ODEON_TYPE(bench_balanced), ODEON_TYPE(bench_matrix), ODEON_TYPE(bench_row),
             ODEON_TYPE(bench_fan_in), ODEON_TYPE(bench_fan_sender), ODEON_TYPE(bench_spawn_stop),
             ODEON_TYPE(bench_mayfly), ODEON_TYPE(bench_sink), ODEON_TYPE(bench_echo),
             ODEON_TYPE(bench_sleeper), ODEON_TYPE(bench_ask), ODEON_TYPE(bench_asked),
             ODEON_TYPE(bench_forward), ODEON_TYPE(bench_front), ODEON_TYPE(bench_timer_arm),
             ODEON_TYPE(bench_timer_cancel), ODEON_TYPE(bench_filler), ODEON_TYPE(bench_publish),
             ODEON_TYPE(bench_listener));
