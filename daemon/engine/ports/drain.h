/* SPDX-License-Identifier: Apache-2.0 */
/* Draining a port's backlog: what a full delivery ring left goes to the ring when its client has
 * made room (docs/engine.md, Ports as sources). Rules deliver.D1 to deliver.D6 are deliver.h's.
 *
 * Threads: the worker that holds the port's owner word.
 *
 * drain.D7  A runner that finds no room for the oldest record attaches nothing: it says that there
 *     is a backlog, looks at the client's head behind a full barrier, and leaves [BL_HEAD].  With
 *     drop-oldest it may have to drop and looks further.
 */
#pragma once

#include "daemon/engine/core/core.h"

/* Moves what fits from the backlog to the ring. The caller runs the port and is attached to
 * nothing. */
void drain_backlog(struct worker *w, uint32_t port);
