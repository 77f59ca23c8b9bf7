/* SPDX-License-Identifier: Apache-2.0 */
/* Ends the process while it is loaded, as long as there is a file that CRASH_FILE names. */
#include "bad.h"

#include <stdlib.h>
#include <unistd.h>

BAD_MESSAGE(ok, "ok", 0, "");

static int crash_when_told(const struct odeon_host *host)
{
    const char *file = getenv("CRASH_FILE");

    (void)host;
    if (file && access(file, F_OK) == 0)
        abort();
    return 0;
}

static const struct odeon_behaviour behaviours[] = { { .message = &ok, .run = bad_nothing } };
static struct odeon_actor_type type = { BAD_TYPE_HEAD("crash_when_told", behaviours) };
static struct odeon_actor_type *const types[] = { &type };
static struct odeon_message_type *const messages[] = { &ok };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("crash_when_told"),
    .n_types = 1,
    .n_messages = 1,
    .types = types,
    .messages = messages,
    .init = crash_when_told,
};
