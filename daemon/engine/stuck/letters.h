/* SPDX-License-Identifier: Apache-2.0 */
/* The dead letters, for people: listed, shown, given to a receiver once more, forgotten.
 *
 * Flushes append them (outbox.c); nobody runs them. What is taken out is left out of a copy in the
 * other buffer, which then becomes the active one; what is replayed is in the control thread's
 * outbox by then.
 *
 * letters.DL1  One flip makes both true: the outbox's committed length, and which buffer is the
 *      active one. Whoever finds such a record stores that into sel, again if need be, before
 *      anybody appends to the dead letters (under their lock; in recovery before the first flush).
 * letters.DL2  Ids rise and are not used twice: the last one (the queue's cursor, which means
 *      nothing else there) is stored before the length.
 *
 * Threads: the control thread; the lock is held against flushes.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Recovery, behind the locks and before any flush: letters.DL1. */
void letters_redo(struct engine *engine);
