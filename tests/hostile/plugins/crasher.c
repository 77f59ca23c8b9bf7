/* SPDX-License-Identifier: Apache-2.0 */
/* Crashes on `crash`; on `ok` it counts, and tells its sender the count. */
#include "bad.h"

struct ok_count {
    uint64_t count;
};

BAD_MESSAGE(crash, "crash", 0, "");
BAD_MESSAGE(ok, "ok", 0, "");
BAD_MESSAGE(ok_count, "ok_count", sizeof(struct ok_count), "{ uint64_t count; }");

static int crasher_crash(void *self, const void *message, struct odeon_context *ctx)
{
    volatile int *volatile nowhere = NULL;

    (void)self;
    (void)message;
    (void)ctx;
    *nowhere = 1;
    return ODEON_NODELETE;
}

static int crasher_ok(void *self, const void *message, struct odeon_context *ctx)
{
    struct ok_count *state = self;

    (void)message;
    state->count++;
    ctx->host->reply(ctx, ok_count.id, state, sizeof(*state));
    return ODEON_NODELETE;
}

static const struct odeon_behaviour behaviours[] = { { .message = &crash, .run = crasher_crash },
                                                     { .message = &ok, .run = crasher_ok } };
static struct odeon_actor_type type = { BAD_TYPE_HEAD("crasher", behaviours),
                                        .state_size = sizeof(struct ok_count) };
static struct odeon_actor_type *const types[] = { &type };
static struct odeon_message_type *const messages[] = { &crash, &ok, &ok_count };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("crasher"), .n_types = 1, .n_messages = 3, .types = types, .messages = messages,
};
