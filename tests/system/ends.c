/* SPDX-License-Identifier: Apache-2.0 */
/* An actor that watches one of several kinds end, then the next one. It keeps its state. */
#include "tests/system/ends.h"

#include <odeon/plugin.h>
#include <stdbool.h>

ODEON_STATE(ends_watcher, {
    odeon_ref port, child;
    uint64_t last, number, monitor, words;
    uint64_t reason, unmonitored; /* what the child's monitor has said, and it alone */
});
ODEON_STATE(ends_kept, { uint64_t unused; });
ODEON_STATE(ends_plain, { uint64_t unused; });
ODEON_STATE(ends_unbegun, { uint64_t unused; });

static odeon_ref spawn_next(const struct ends_watcher_state *self, struct odeon_context *ctx)
{
    switch (self->number % ENDS_CASES) {
    case ENDS_PLAIN:
        return odeon_spawn(ctx, ends_plain).ref;
    case ENDS_UNBEGUN:
        return odeon_spawn(ctx, ends_unbegun).ref;
    default:
        return odeon_spawn(ctx, ends_kept).ref;
    }
}

static int end_next(const struct ends_watcher_state *self, struct odeon_context *ctx)
{
    if (self->number % ENDS_CASES == ENDS_STOPPED)
        return odeon_stop_any(ctx, self->child, ODEON_DELETE);
    if (self->number % ENDS_CASES == ENDS_UNBEGUN)
        return 0; /* by itself */
    return odeon_send_any(ctx, self->child, ends_now, .to = ctx->self, .number = self->number);
}

static void next(struct ends_watcher_state *self, struct odeon_context *ctx)
{
    uint64_t other = 0;
    int r = 0;

    if (++self->number > self->last)
        return;
    self->words = self->reason = self->unmonitored = 0;
    self->child = spawn_next(self, ctx);
    if (self->number % ENDS_CASES == ENDS_TWICE)
        r = odeon_monitor_any(ctx, &other, self->child);
    if (r == 0 && self->number % ENDS_CASES != ENDS_TOO_LATE)
        r = odeon_monitor_any(ctx, &self->monitor, self->child);
    if (r == 0 && other)
        r = odeon_demonitor(ctx, other);
    if (r == 0)
        r = end_next(self, ctx);
    if (r < 0)
        odeon_send_any(ctx, self->port, ends_heard, .number = self->number, .wrong = __LINE__);
}

ODEON_RECEIVE(ends_watcher, ends_start)
{
    self->port = msg->port;
    self->last = msg->last;
    self->number = 0;
    next(self, ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(ends_watcher, ends_watch)
{
    self->port = msg->port;
    self->number = 0;
    self->last = 0;
    self->child = msg->ref;
    self->reason = self->unmonitored = 0;
    if (odeon_monitor_any(ctx, &self->monitor, msg->ref) < 0)
        odeon_send_any(ctx, self->port, ends_heard, .wrong = __LINE__);
    return ODEON_NODELETE;
}

/* Its last one. */
ODEON_RECEIVE(ends_watcher, ends_word)
{
    if (msg->number != self->number) /* of one that began anew, and was told of */
        return ODEON_NODELETE;
    self->words++;
    if (self->number % ENDS_CASES == ENDS_TOO_LATE &&
        odeon_monitor_any(ctx, &self->monitor, self->child) < 0)
        odeon_send_any(ctx, self->port, ends_heard, .number = self->number, .wrong = __LINE__);
    return ODEON_NODELETE;
}

/* 0, or the line that says what is wrong with this word of an end, which is taken down. */
static uint64_t take(struct ends_watcher_state *self, const struct odeon_context *ctx,
                     const struct odeon_down *down)
{
    if (down->ref != self->child || ctx->sender != down->ref)
        return __LINE__;
    if (down->monitor == 0) {
        self->unmonitored++;
        return down->reason == ODEON_REASON_INIT_FAILED &&
                       self->number % ENDS_CASES == ENDS_UNBEGUN && self->unmonitored == 1
                   ? 0
                   : __LINE__;
    }
    self->reason = down->reason;
    return down->monitor == self->monitor ? 0 : __LINE__;
}

/* Who cannot begin is told of by its monitor. If its executor dies before it has tried, it begins
 * anew: that is all its monitor says, and that it cannot then, either, is said without one. The two
 * come in any order. */
static bool more_is_to_come(const struct ends_watcher_state *self)
{
    if (self->number % ENDS_CASES != ENDS_UNBEGUN)
        return false;
    return self->unmonitored ? self->reason == 0 : self->reason == ODEON_REASON_BEGUN_ANEW;
}

ODEON_RECEIVE(ends_watcher, odeon_down)
{
    uint64_t wrong = take(self, ctx, msg);

    if (wrong == 0 && more_is_to_come(self))
        return ODEON_NODELETE;
    if (self->unmonitored && self->reason != ODEON_REASON_BEGUN_ANEW)
        wrong = __LINE__; /* told twice */
    odeon_send_any(ctx, self->port, ends_heard, .number = self->number, .reason = self->reason,
                   .words = self->words, .wrong = wrong);
    next(self, ctx);
    return ODEON_NODELETE;
}

static int end_now(struct odeon_context *ctx, odeon_ref to, uint64_t number)
{
    (void)odeon_send_any(ctx, to, ends_word, .number = number);
    return ODEON_DELETE;
}

ODEON_RECEIVE(ends_kept, ends_now)
{
    return end_now(ctx, msg->to, msg->number);
}

ODEON_RECEIVE(ends_plain, ends_now)
{
    return end_now(ctx, msg->to, msg->number);
}

ODEON_RECEIVE(ends_unbegun, ends_now)
{
    return end_now(ctx, msg->to, msg->number);
}

ODEON_INIT(ends_unbegun)
{
    return -1;
}

ODEON_HANDLERS(ends_watcher, ODEON_ON(ends_watcher, ends_start), ODEON_ON(ends_watcher, ends_watch),
               ODEON_ON(ends_watcher, ends_word), ODEON_ON(ends_watcher, odeon_down));
ODEON_HANDLERS(ends_kept, ODEON_ON(ends_kept, ends_now));
ODEON_HANDLERS(ends_plain, ODEON_ON(ends_plain, ends_now));
ODEON_HANDLERS(ends_unbegun, ODEON_ON(ends_unbegun, ends_now));
ODEON_ACTOR_TYPE(ends_watcher, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_ACTOR_TYPE(ends_kept, ODEON_POLICY(ODEON_RESTART_KEEP));
ODEON_ACTOR_TYPE(ends_plain);
ODEON_ACTOR_TYPE(ends_unbegun);
ODEON_PLUGIN("ends", "1.0.0", ODEON_TYPE(ends_watcher), ODEON_TYPE(ends_kept),
             ODEON_TYPE(ends_plain), ODEON_TYPE(ends_unbegun));
