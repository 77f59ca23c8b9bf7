/* SPDX-License-Identifier: Apache-2.0 */
/* Never comes out of its constructor. */
#include "bad.h"

#include <unistd.h>

BAD_MESSAGE(ok, "ok", 0, "");

static __attribute__((constructor)) void hang_in_load(void)
{
    for (;;)
        pause();
}

static const struct odeon_behaviour behaviours[] = { { .message = &ok, .run = bad_nothing } };
static struct odeon_actor_type type = { BAD_TYPE_HEAD("hang_in_load", behaviours) };
static struct odeon_actor_type *const types[] = { &type };
static struct odeon_message_type *const messages[] = { &ok };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("hang_in_load"),
    .n_types = 1,
    .n_messages = 1,
    .types = types,
    .messages = messages,
};
