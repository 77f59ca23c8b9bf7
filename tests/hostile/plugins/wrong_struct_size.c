/* SPDX-License-Identifier: Apache-2.0 */
/* Its descriptor has another size. */
#include "bad.h"

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    .struct_size = offsetof(struct odeon_plugin, start),
    .abi_major = ODEON_PLUGIN_ABI_MAJOR,
    .abi_minor = ODEON_PLUGIN_ABI_MINOR,
    .context_size = sizeof(struct odeon_context),
    .message_type_size = sizeof(struct odeon_message_type),
    .name = "wrong_struct_size",
    .version = "1.0.0",
};
