/* SPDX-License-Identifier: Apache-2.0 */
/* Its init says no: -ENODEV. */
#include "bad.h"

BAD_MESSAGE(ok, "ok", 0, "");
static const struct odeon_behaviour behaviours[] = { { .message = &ok, .run = bad_nothing } };
static struct odeon_actor_type type = { BAD_TYPE_HEAD("init_fails_type", behaviours) };
static struct odeon_actor_type *const types[] = { &type };
static struct odeon_message_type *const messages[] = { &ok };

static int init_fails(const struct odeon_host *host)
{
    (void)host;
    return -19;
}

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("init_fails"), .n_types = 1,       .n_messages = 1, .types = types,
    .messages = messages,          .init = init_fails,
};
