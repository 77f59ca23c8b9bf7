/* SPDX-License-Identifier: Apache-2.0 */
/* More behaviours than an index of one byte can tell apart. */
#include "bad.h"

BAD_MESSAGE(ok, "ok", 0, "");
static const struct odeon_behaviour behaviours[300] = { { .message = &ok, .run = bad_nothing } };
static struct odeon_actor_type type = { BAD_TYPE_HEAD("oversized_behaviours_type", behaviours) };
static struct odeon_actor_type *const types[] = { &type };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("oversized_behaviours"),
    .n_types = 1,
    .types = types,
};
