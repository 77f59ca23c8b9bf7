/* SPDX-License-Identifier: Apache-2.0 */
/* Messages as text, for failures, and compared by what they mean.
 *
 * The test's thread, on its own stack.
 */
#pragma once

#include "client-lib/test/world.h"

enum { TEXT_MAX = 600 };

/* "counter_value total=6", cut off; returns `text`. `type` NULL: none of the plugin's. */
const char *text_of(const struct world_type *type, uint16_t id, const void *payload, size_t size,
                    char text[TEXT_MAX]);
/* Two payloads of one type. */
bool text_same(const struct world_type *type, const void *one, size_t one_size, const void *other,
               size_t other_size);
