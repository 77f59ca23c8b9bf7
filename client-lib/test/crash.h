/* SPDX-License-Identifier: Apache-2.0 */
/* Around each behaviour of a world: what the trace is made of, and where an executor dies.
 *
 * On the fiber of the worker that runs the behaviour; the engine calls it in the behaviour's place.
 */
#pragma once

#include "client-lib/test/world.h"

/* Another life of the world's executor: what it had begun is forgotten. */
void crash_begin(struct odeon_test *world);
int crash_around(void *self, const void *message, struct engine_context *context);
