/* SPDX-License-Identifier: Apache-2.0 */
/* What the engines of all seeds have done together: a run in which something never happened has not
 * tested it. */
#pragma once

#include <stdbool.h>

#include "daemon/engine/engine.h"

/* Adds what the statistics of an engine say that is about to be closed for good. */
void cover_add(const struct engine *engine);
/* Prints all of it.  False: something has not happened at all. */
bool cover_tell(void);
