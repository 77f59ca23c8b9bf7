/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of a world's executor: begun by recovery, as the service's are, and ended by a stop or
 * by a crash, which the next one follows.
 *
 * On the control fiber, but for what begins and ends a world, which is the main stack's.
 */
#pragma once

#include "client-lib/test/world.h"

/* Fibers and memory of a world whose options are set, and its executor's start. Fails. */
void life_begin(struct odeon_test *world);
/* All of it is gone; orderly, unless the world has failed. */
void life_end(struct odeon_test *world);
