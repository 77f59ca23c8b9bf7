/* SPDX-License-Identifier: Apache-2.0 */
/* A handler that never returns. */
#include "bad.h"

BAD_MESSAGE(hang, "hang", 0, "");

static int hang_hang(void *self, const void *message, struct odeon_context *ctx)
{
    volatile int forever = 1;

    (void)self;
    (void)message;
    (void)ctx;
    while (forever)
        ;
    return ODEON_NODELETE;
}

static const struct odeon_behaviour behaviours[] = { { .message = &hang, .run = hang_hang } };
static struct odeon_actor_type type = { BAD_TYPE_HEAD("hang", behaviours) };
static struct odeon_actor_type *const types[] = { &type };
static struct odeon_message_type *const messages[] = { &hang };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("hang"), .n_types = 1, .n_messages = 1, .types = types, .messages = messages,
};
