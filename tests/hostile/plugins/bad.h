/* SPDX-License-Identifier: Apache-2.0 */
/* What the bad plugins have in common: each is right in everything but the one thing that it is
 * named after.
 *
 * They fill the plain structs of <odeon/plugin.h>, because the short macros would not let them be
 * wrong. */
#pragma once

#include <odeon/plugin.h>

#define BAD_EXPORT __attribute__((visibility("default")))

#define BAD_MESSAGE(symbol, message_name, message_size, message_fields)                            \
    static struct odeon_message_type symbol = {                                                    \
        .struct_size = sizeof(struct odeon_message_type),                                          \
        .version = 1,                                                                              \
        .name = message_name,                                                                      \
        .fields = message_fields,                                                                  \
        .size = message_size,                                                                      \
    }

/* The head of a right struct odeon_actor_type, for a designated initialiser. */
#define BAD_TYPE_HEAD(type_name, type_behaviours)                                                  \
    .struct_size = sizeof(struct odeon_actor_type), .version = 1, .name = type_name,               \
    .n_behaviours = sizeof(type_behaviours) / sizeof((type_behaviours)[0]),                        \
    .behaviour_size = sizeof(struct odeon_behaviour), .behaviours = type_behaviours

/* The head of a right struct odeon_plugin. */
#define BAD_PLUGIN_HEAD(plugin_name)                                                               \
    .struct_size = sizeof(struct odeon_plugin), .abi_major = ODEON_PLUGIN_ABI_MAJOR,               \
    .abi_minor = ODEON_PLUGIN_ABI_MINOR, .context_size = sizeof(struct odeon_context),             \
    .message_type_size = sizeof(struct odeon_message_type), .name = plugin_name,                   \
    .version = "1.0.0"

/* An actor type that accepts `ok` and does nothing, for plugins that are wrong elsewhere. */
static inline int bad_nothing(void *self, const void *message, struct odeon_context *ctx)
{
    (void)self;
    (void)message;
    (void)ctx;
    return ODEON_NODELETE;
}
