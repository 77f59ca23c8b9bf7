/* SPDX-License-Identifier: Apache-2.0 */
/* On `spender_spend` it opens files until there is no room for more, and keeps them. */
#include <errno.h>
#include <fcntl.h>

#include "bad.h"

struct spender_told {
    uint64_t opened;
    int32_t error;
    uint32_t padding;
};

BAD_MESSAGE(spender_spend, "spender_spend", 0, "");
BAD_MESSAGE(spender_told, "spender_told", sizeof(struct spender_told),
            "{ uint64_t opened; int32_t error; uint32_t padding; }");

static int spender_on_spend(void *self, const void *message, struct odeon_context *ctx)
{
    struct spender_told told = { 0 };

    (void)self;
    (void)message;
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        told.opened++;
    told.error = -errno;
    ctx->host->reply(ctx, spender_told.id, &told, sizeof(told));
    return ODEON_NODELETE;
}

static const struct odeon_behaviour behaviours[] = { { .message = &spender_spend,
                                                       .run = spender_on_spend } };
static struct odeon_actor_type type = { BAD_TYPE_HEAD("spender", behaviours) };
static struct odeon_actor_type *const types[] = { &type };
static struct odeon_message_type *const messages[] = { &spender_spend, &spender_told };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("spender"), .n_types = 1, .n_messages = 2, .types = types, .messages = messages,
};
