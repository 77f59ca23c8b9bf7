/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled for another major version of the interface. */
#include "bad.h"

BAD_EXPORT const struct odeon_plugin odeon_plugin_descriptor = {
    .struct_size = sizeof(struct odeon_plugin),
    .abi_major = ODEON_PLUGIN_ABI_MAJOR + 1,
    .abi_minor = ODEON_PLUGIN_ABI_MINOR,
    .context_size = sizeof(struct odeon_context),
    .message_type_size = sizeof(struct odeon_message_type),
    .name = "wrong_abi",
    .version = "1.0.0",
};
