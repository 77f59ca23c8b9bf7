/* SPDX-License-Identifier: Apache-2.0 */
/* What the kept plugins speak, whatever their ABI: a sum that is added to and asked for. The test
 * includes it, too; none of it may ever change. */
#pragma once

#include <odeon/message.h>

ODEON_MESSAGE(kept_add, 1, { int64_t amount; });
ODEON_SIGNAL(kept_get, 1);
ODEON_MESSAGE(kept_value, 1, { int64_t total, starts; });
