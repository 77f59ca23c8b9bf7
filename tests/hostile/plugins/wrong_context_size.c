/* SPDX-License-Identifier: Apache-2.0 */
/* Its behaviours expect another context. */
#include "bad.h"

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    .struct_size = sizeof(struct odeon_plugin),
    .abi_major = ODEON_PLUGIN_ABI_MAJOR,
    .abi_minor = ODEON_PLUGIN_ABI_MINOR,
    .context_size = sizeof(struct odeon_context) + 8,
    .message_type_size = sizeof(struct odeon_message_type),
    .name = "wrong_context_size",
    .version = "1.0.0",
};
