/* SPDX-License-Identifier: Apache-2.0 */
/* What the plugin of test_races.c takes and tells. */
#pragma once

#include <odeon/message.h>

ODEON_MESSAGE(racy_count, 1, { uint64_t by; });
