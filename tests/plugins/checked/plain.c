/* SPDX-License-Identifier: Apache-2.0 */
/* EXPECT: refused message ping has version 1, 0 bytes and undescribed fields
 * A plugin without the macros, whose author has left out what no compiler misses. */
#include <odeon/plugin.h>

static struct odeon_message_type ping = { .struct_size = sizeof(ping),
                                          .version = 1,
                                          .name = "ping" };
static struct odeon_message_type *const messages[] = { &ping };
static int pinged(void *self, const void *message, struct odeon_context *ctx)
{
    return ODEON_NODELETE;
}
static const struct odeon_behaviour behaviours[] = { { .message = &ping, .run = pinged } };
static struct odeon_actor_type pinger = { .struct_size = sizeof(pinger),
                                          .version = 1,
                                          .name = "pinger",
                                          .n_behaviours = 1,
                                          .behaviour_size = sizeof(behaviours[0]),
                                          .behaviours = behaviours };
static struct odeon_actor_type *const types[] = { &pinger };

__attribute__((visibility("default"))) const struct odeon_plugin odeon_plugin_descriptor = {
    .struct_size = sizeof(odeon_plugin_descriptor),
    .abi_major = ODEON_PLUGIN_ABI_MAJOR,
    .abi_minor = ODEON_PLUGIN_ABI_MINOR,
    .context_size = sizeof(struct odeon_context),
    .message_type_size = sizeof(ping),
    .name = "plain",
    .version = "1",
    .n_types = 1,
    .n_messages = 1,
    .types = types,
    .messages = messages,
};
