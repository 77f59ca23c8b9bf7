/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is wrong with this one: `echo` sends a text back, `relay` passes it on to the actor named
 * by its arguments.
 */
#include <string.h>

#include "bad.h"

struct good_text {
    odeon_ref origin; /* who gets the echo; ODEON_NOBODY: the sender */
    char text[];
};

static struct odeon_message_type good_text = {
    .struct_size = sizeof(struct odeon_message_type),
    .version = 1,
    .name = "good_text",
    .fields = "{ uint64_t origin; char text[]; }",
    .size = sizeof(struct good_text),
    .has_tail = 1,
    .tail_offset = offsetof(struct good_text, text),
};

static int echo_text(void *self, const void *message, struct odeon_context *ctx)
{
    const struct good_text *in = message;
    struct good_text out = { .origin = ODEON_NOBODY };
    size_t n = ctx->message_size - offsetof(struct good_text, text);

    (void)self;
    if (in->origin == ODEON_NOBODY)
        ctx->host->reply_tail(ctx, good_text.id, &out, offsetof(struct good_text, text), in->text,
                              n);
    else
        ctx->host->send_tail(ctx, in->origin, good_text.id, ODEON_BEHAVIOUR_UNKNOWN, &out,
                             offsetof(struct good_text, text), in->text, n);
    return ODEON_NODELETE;
}

struct relay {
    odeon_ref next;
};

static int relay_init(void *self, const void *args, size_t args_size, struct odeon_context *ctx)
{
    struct relay *relay = self;

    (void)ctx;
    if (args_size != sizeof(relay->next))
        return -22; /* EINVAL */
    memcpy(&relay->next, args, sizeof(relay->next));
    return 0;
}

static int relay_text(void *self, const void *message, struct odeon_context *ctx)
{
    const struct relay *relay = self;
    const struct good_text *in = message;
    struct good_text out = { .origin = in->origin != ODEON_NOBODY ? in->origin : ctx->sender };

    ctx->host->send_tail(ctx, relay->next, good_text.id, ODEON_BEHAVIOUR_UNKNOWN, &out,
                         offsetof(struct good_text, text), in->text,
                         ctx->message_size - offsetof(struct good_text, text));
    return ODEON_NODELETE;
}

static const struct odeon_behaviour echo_behaviours[] = { { .message = &good_text,
                                                            .run = echo_text } };
static const struct odeon_behaviour relay_behaviours[] = { { .message = &good_text,
                                                             .run = relay_text } };
static struct odeon_actor_type echo = { BAD_TYPE_HEAD("echo", echo_behaviours) };
static struct odeon_actor_type relay = {
    BAD_TYPE_HEAD("relay", relay_behaviours),
    .state_size = sizeof(struct relay),
    .init = relay_init,
};
static struct odeon_actor_type *const types[] = { &echo, &relay };
static struct odeon_message_type *const messages[] = { &good_text };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("good"), .n_types = 2, .n_messages = 1, .types = types, .messages = messages,
};
