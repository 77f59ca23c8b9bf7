/* SPDX-License-Identifier: Apache-2.0 */
/* A full barrier in every thread of the process, paid for by who asks for it, and not by those who
 * store and look all the time.
 *
 * Threads: the control thread.
 *
 * order_all.OA1  What another thread has stored before it looked at something, and did not see
 *     there what the caller had stored, the caller sees behind this.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Once, before workers run. */
void order_all_open(struct engine *engine);
/* A kernel without it: a full barrier of the caller's alone. The others' stores are then on their
 * way for as long as it takes until the caller looks, which is longer than any store is kept
 * back. */
void order_all(const struct engine *engine);
