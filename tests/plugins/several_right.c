/* SPDX-License-Identifier: Apache-2.0 */
/* The other half of the plugin `several`: an actor without init and fini, and message objects. */
#include "several.h"

#include <odeon/plugin.h>

ODEON_STATE(right, { const struct odeon_message_type *seen; });

ODEON_RECEIVE(right, several_point)
{
    self->seen = odeon_message_of(several_point);
    struct odeon_message_object *object = odeon_msg_new(ctx, several_point);
    if (object == NULL)
        return ODEON_NODELETE;
    odeon_msg_fields(object, several_point)->x = msg->x + 1;
    odeon_msg_set_allocation(object, ODEON_DELETE);
    odeon_msg_set_fini(object, NULL);
    if (odeon_msg_send(ctx, odeon_as(left, ctx->sender), several_point, object) < 0)
        odeon_msg_free(ctx, object);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(right, several_tight)
{
    size_t n = odeon_tail_size(ctx, msg);
    struct odeon_message_object *object = odeon_msg_new_tail(ctx, several_text, n);
    if (object == NULL)
        return ODEON_NODELETE;
    __builtin_memcpy(odeon_msg_fields(object, several_text)->text, msg->text, n);
    if (odeon_msg_send_tail(ctx, odeon_as(left, ctx->sender), several_text, object, n) == 0 &&
        odeon_msg_send_any(ctx, ctx->sender, several_tick, object) != -EINVAL)
        odeon_log(ctx, ODEON_LOG_ERROR, "an object went as another message");
    odeon_msg_free(ctx, object);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(right, several_loose)
{
    return odeon_send_tail_any(ctx, ctx->sender, several_tight, msg->text,
                               odeon_tail_size(ctx, msg), .at = (uint16_t)msg->at) < 0
               ? ODEON_FINISHED
               : ODEON_NODELETE;
}

ODEON_HANDLERS(right, ODEON_ON(right, several_point), ODEON_ON(right, several_tight),
               ODEON_ON(right, several_loose));
ODEON_ACTOR_TYPE(right);

/* Texts from variables, a tail that is not called `text`; what is evaluated how often. */
ODEON_STATE(filler, {
    const char *label;
    int32_t x, asked;
    int result;
});

static filler_ref filler_to(struct filler_state *self, struct odeon_context *ctx)
{
    self->asked++;
    return odeon_self(ctx, filler);
}

static const char *filler_label(struct filler_state *self)
{
    self->asked += 100;
    return self->label;
}

ODEON_RECEIVE(filler, several_point)
{
    self->result = odeon_send(ctx, filler_to(self, ctx), several_point, .x = ++self->x,
                              ODEON_TEXT(label, filler_label(self)), .y = 7);
    if (self->result == 0)
        odeon_reply(ctx, several_point, ODEON_TEXT(label, self->label));
    return ODEON_NODELETE;
}

ODEON_RECEIVE(filler, several_pixels)
{
    size_t n = odeon_tail_size(ctx, msg);
    self->result = odeon_send_tail(ctx, filler_to(self, ctx), several_pixels, msg->pixels, n,
                                   .width = msg->width + 1);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(filler, ODEON_ON(filler, several_point), ODEON_ON(filler, several_pixels));
ODEON_ACTOR_TYPE(filler);

/* The same of questions. */
ODEON_STATE(asker, {
    const char *label;
    uint64_t token;
    int asked, result;
});

static asker_ref asker_to(struct asker_state *self, struct odeon_context *ctx)
{
    self->asked++;
    return odeon_self(ctx, asker);
}

ODEON_RECEIVE(asker, several_point)
{
    struct odeon_promise promise;
    self->result = odeon_ask(ctx, &self->token, ODEON_SECOND_NS, asker_to(self, ctx), several_point,
                             .y = 7, ODEON_TEXT(label, self->label));
    if (self->result == 0)
        self->result = odeon_reply_later(ctx, &promise);
    if (self->result == 0)
        self->result = odeon_answer(ctx, &promise, several_point, ODEON_TEXT(label, self->label));
    if (self->result == 0)
        self->result = odeon_forward(ctx, asker_to(self, ctx), msg);
    return ODEON_NODELETE;
}

ODEON_HANDLERS(asker, ODEON_ON(asker, several_point));
ODEON_ACTOR_TYPE(asker);

/* ... and of monitors. */
ODEON_STATE(watcher, {
    uint64_t monitor, down;
    int result;
});

ODEON_RECEIVE(watcher, several_point)
{
    self->result = odeon_monitor(ctx, &self->monitor, odeon_self(ctx, watcher));
    if (self->result == 0)
        self->result = odeon_monitor_any(ctx, NULL, ctx->sender);
    if (self->result == 0)
        self->result = odeon_demonitor(ctx, self->monitor);
    return ODEON_NODELETE;
}

ODEON_RECEIVE(watcher, odeon_down)
{
    self->down = msg->monitor;
    return ODEON_NODELETE;
}

ODEON_HANDLERS(watcher, ODEON_ON(watcher, several_point), ODEON_ON(watcher, odeon_down));
ODEON_ACTOR_TYPE(watcher);

/* ... and of phases. */
ODEON_STATE(door, { int knocked, ticked, result; });

ODEON_RECEIVE(door, several_point)
{
    self->knocked++;
    self->result = odeon_become(ctx, "open");
    return ODEON_NODELETE;
}

ODEON_RECEIVE(door, several_tick)
{
    self->result = odeon_stash(ctx, msg);
    if (self->result == 0)
        self->ticked = 10 * odeon_unstash_some(ctx, 2) + odeon_unstash(ctx);
    return ODEON_NODELETE;
}

ODEON_RECEIVE_IN(door, open, several_point)
{
    self->knocked += 10;
    return msg->x == 5 ? ODEON_FINISHED : ODEON_NODELETE;
}

ODEON_HANDLERS(door, ODEON_ON(door, several_point), ODEON_ON(door, several_tick));
ODEON_HANDLERS_IN(door, open, ODEON_ON(door, several_tick), ODEON_ON_IN(door, open, several_point));
ODEON_HANDLERS_IN(door, broken, ODEON_ON(door, several_point), ODEON_ON(door, several_tick));
ODEON_ACTOR_TYPE(door, ODEON_BEHAVIOURS_NAME("closed"),
                 ODEON_PHASES(ODEON_PHASE(door, open), ODEON_PHASE(door, broken)));
