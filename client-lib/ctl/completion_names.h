/* SPDX-License-Identifier: Apache-2.0 */
/* Names that the service has, for completion: `kind` is "actors", "types", "plugins", "messages",
 * "groups" or "clients". One thread. The exit code: CTL_DONE also where the service is away. */
#pragma once

#include "client-lib/ctl/ctl.h"

int completion_names_print(struct ctl *ctl, const char *kind);
