/* SPDX-License-Identifier: Apache-2.0 */
/* Its second actor type keeps a larger state than the service has room for, which shows when the
 * first one has been registered. */
#include "bad.h"

BAD_MESSAGE(ok, "ok", 0, "");
static const struct odeon_behaviour behaviours[] = { { .message = &ok, .run = bad_nothing } };
static struct odeon_actor_type first = { BAD_TYPE_HEAD("half_kept_first", behaviours) };
static struct odeon_actor_type second = {
    BAD_TYPE_HEAD("half_kept_second", behaviours),
    .state_size = 1 << 20,
    .restart = ODEON_RESTART_KEEP,
};
static struct odeon_actor_type *const types[] = { &first, &second };
static struct odeon_message_type *const messages[] = { &ok };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("half_kept"), .n_types = 2, .n_messages = 1, .types = types,
    .messages = messages,
};
