/* SPDX-License-Identifier: Apache-2.0 */
/* One half of the plugin `several`: an actor with init arguments, and the plugin's descriptor. */
#include "several.h"

#include <odeon/plugin.h>

ODEON_STATE(left, {
    int64_t total, ticks;
    right_ref peer;
    bool ended;
});

ODEON_INIT(left, struct left_args)
{
    self->total = args->start;
    return 0;
}

ODEON_FINI(left)
{
    self->ended = true;
    odeon_logf(ctx, ODEON_LOG_NOTICE, "left ends with %lld", (long long)self->total);
}

ODEON_RECEIVE(left, several_tick)
{
    self->ticks++;
    int r =
        odeon_spawn_into(ctx, &self->peer, right, .name = "peer", .placement = ODEON_PLACE_HERE);
    if (r < 0) {
        odeon_logf(ctx, ODEON_LOG_ERROR, "no peer: %d", r);
        return ODEON_FINISHED;
    }
    odeon_send(ctx, self->peer, several_point, .x = 1, .y = 2, .label = "here");
    odeon_send_tail(ctx, self->peer, several_tight, "abc", 3, .at = 9);
    odeon_send_any(ctx, self->peer.ref, several_array, .words = { 1, 2, 3, 4 });
    odeon_signal(ctx, odeon_as(left, ctx->self), several_stop);
    odeon_signal_any(ctx, ctx->self, several_tick);
    odeon_send_urgent(ctx, self->peer, several_point, .x = 5, .label = "now");
    odeon_send_urgent_any(ctx, self->peer.ref, several_array, .words = { 6 });
    odeon_signal_urgent(ctx, odeon_as(left, ctx->self), several_stop);
    odeon_signal_urgent_any(ctx, ctx->self, several_tick);
    odeon_timer timer = 0;
    odeon_send_after(ctx, &timer, 1000, self->peer, several_point, .x = 8);
    odeon_send_after_any(ctx, NULL, 1000, self->peer.ref, several_array, .words = { 6 });
    odeon_signal_after(ctx, NULL, 1000, odeon_self(ctx, left), several_stop);
    odeon_signal_every(ctx, NULL, ODEON_SECOND_NS, odeon_self(ctx, left), several_tick);
    odeon_signal_after(ctx, NULL, ODEON_BOOT_TIME(1000), odeon_self(ctx, left), several_stop);
    odeon_signal_every(ctx, NULL, ODEON_BOOT_TIME(1000), odeon_self(ctx, left), several_tick);
    odeon_signal_every(ctx, NULL, 0, odeon_self(ctx, left), several_tick);
    odeon_timer_cancel(ctx, timer);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(left, several_point)
{
    self->total += msg->x * msg->y;
    odeon_reply(ctx, several_point, .x = (int32_t)self->total);
    odeon_reply_signal(ctx, several_tick);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(left, several_text)
{
    size_t n = odeon_tail_size(ctx, msg);
    self->total += (int64_t)n;
    odeon_reply_tail(ctx, several_text, msg->text, n, .line = msg->line + 1);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(left, several_stop)
{
    right_ref named;
    if (odeon_lookup(ctx, "peer", &named) == 0)
        odeon_poison_destroy(ctx, named);
    odeon_stop_any(ctx, ctx->self, ODEON_DELETE);
    return ODEON_DELETE;
}

/* Not in the interface's order: the macro sorts them. */
ODEON_HANDLERS(left, ODEON_ON(left, several_stop), ODEON_ON(left, several_text),
               ODEON_ON(left, several_tick), ODEON_ON(left, several_point));
ODEON_ACTOR_TYPE(left, ODEON_POLICY(ODEON_RESTART_STOP), ODEON_OVERFLOW(ODEON_OVERFLOW_DROP_OLDEST),
                 ODEON_TYPE_VERSION(4));

ODEON_STATELESS(bare);
ODEON_RECEIVE(bare, several_tick)
{
    right_ref other = odeon_spawn(ctx, right);
    left_ref found = odeon_spawn(ctx, left, ODEON_ARGS(struct left_args, .start = 5));
    bare_ref foreign;
    if (odeon_spawn_foreign_into(ctx, &foreign, bare, .name = "far") < 0)
        odeon_log(ctx, ODEON_LOG_WARNING, "no foreign type");
    odeon_poison_delete(ctx, other);
    odeon_poison_finished(ctx, found);
    odeon_spawn(ctx, right, .link = 1);
    return odeon_now_ns(ctx) == 0 ? ODEON_FINISHED : ODEON_DESTROY;
}
ODEON_HANDLERS(bare, ODEON_ON(bare, several_tick));
ODEON_ACTOR_TYPE(bare);

ODEON_PLUGIN_INIT(host)
{
    return host->struct_size >= sizeof(*host) ? 0 : -ENOTSUP;
}
ODEON_PLUGIN_FINI()
{
}
ODEON_PLUGIN("several", "2.1.0", ODEON_TYPE(left), ODEON_TYPE(right), ODEON_TYPE(bare),
             ODEON_TYPE(asker), ODEON_TYPE(filler), ODEON_TYPE(watcher), ODEON_TYPE(door));
