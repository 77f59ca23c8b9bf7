/* SPDX-License-Identifier: Apache-2.0 */
/* Its actors crash while they are initialised. */
#include "bad.h"

BAD_MESSAGE(ok, "ok", 0, "");

static int crash_in_init(void *self, const void *args, size_t args_size, struct odeon_context *ctx)
{
    volatile int *volatile nowhere = NULL;

    (void)self;
    (void)args;
    (void)args_size;
    (void)ctx;
    *nowhere = 1;
    return 0;
}

static const struct odeon_behaviour behaviours[] = { { .message = &ok, .run = bad_nothing } };
static struct odeon_actor_type type = { BAD_TYPE_HEAD("crash_in_init", behaviours),
                                        .init = crash_in_init };
static struct odeon_actor_type *const types[] = { &type };
static struct odeon_message_type *const messages[] = { &ok };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("crash_in_init"),
    .n_types = 1,
    .n_messages = 1,
    .types = types,
    .messages = messages,
};
