/* SPDX-License-Identifier: Apache-2.0 */
/* Takes 6 s for its constructor, and is well then. SLOW_NAME, which the build defines, is its
 * name: there are two of them. */
#include "bad.h"

#include <errno.h>
#include <time.h>

BAD_MESSAGE(ok, "ok", 0, "");

static __attribute__((constructor)) void slow_in_load(void)
{
    struct timespec left = { .tv_sec = 6 };

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static const struct odeon_behaviour behaviours[] = { { .message = &ok, .run = bad_nothing } };
static struct odeon_actor_type type = { BAD_TYPE_HEAD(SLOW_NAME, behaviours) };
static struct odeon_actor_type *const types[] = { &type };
static struct odeon_message_type *const messages[] = { &ok };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD(SLOW_NAME), .n_types = 1, .n_messages = 1, .types = types, .messages = messages,
};
