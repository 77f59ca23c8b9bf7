/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin's file is, before the loader sees it.
 *
 * The dynamic loader trusts what it maps: a truncated file is a bus error, a file for another
 * machine a riddle. This looks at the file through its descriptor, with bounds, and names field,
 * theirs and ours. No state, any thread.
 */
#pragma once

#include "daemon/executor/explain.h"

/* 0; -EINVAL: refused, the text says why; other negative errno: could not be read. */
int plugin_check_file(int fd, struct explain *explain);
