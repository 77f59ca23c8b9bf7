/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is wrong with this one either: `marked` accepts a message in two versions, which have one
 * size, the older one first in its list. The older one ends it, `marked_once` knows nothing else.
 */
#include "bad.h"

BAD_MESSAGE(mark_old, "mark", 8, "{ uint32_t a, b; }");
static struct odeon_message_type mark_new = {
    .struct_size = sizeof(struct odeon_message_type),
    .version = 2,
    .name = "mark",
    .fields = "{ uint32_t b, a; }",
    .size = 8,
};

static int mark_end(void *self, const void *message, struct odeon_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    return ODEON_DELETE;
}

static const struct odeon_behaviour both[] = { { .message = &mark_old, .run = mark_end },
                                               { .message = &mark_new, .run = bad_nothing } };
static const struct odeon_behaviour once[] = { { .message = &mark_old, .run = mark_end } };
static struct odeon_actor_type marked = { BAD_TYPE_HEAD("marked", both) };
static struct odeon_actor_type marked_once = { BAD_TYPE_HEAD("marked_once", once) };
static struct odeon_actor_type *const types[] = { &marked, &marked_once };
static struct odeon_message_type *const messages[] = { &mark_old, &mark_new };

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    BAD_PLUGIN_HEAD("two_versions"),
    .n_types = 2,
    .n_messages = 2,
    .types = types,
    .messages = messages,
};
