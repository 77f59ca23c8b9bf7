/* SPDX-License-Identifier: Apache-2.0 */
/* The settings that the segment is laid out by. A start that goes on with a segment goes on with
 * its sizes, whatever is configured by then: what lies there was put where they say, and whoever
 * edits a line for the next restart must not find the service down. Pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/executor/settings.h"

enum { SETTINGS_SIZES = 11 };

/* Whether there is such a key, and it is such a setting. */
bool settings_sizes_has(const char *key);
/* All of them, with their values; `index` from 0.  False: behind the last. */
bool settings_sizes_get(const struct settings *settings, unsigned index, const char **ret_key,
                        uint64_t *ret_value);
